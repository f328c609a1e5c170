"""Names, identity keys and numbers as text: which are the same, which form they take, which are none."""

from pathlib import Path

from hostile import corpora
from hostile.corpora import Case

from reconciler.core.compare.identity import identity_key
from reconciler.core.compare.normalize import normalize_value
from reconciler.core.text import slugify
from reconciler.model.address import ENTITY_NAME
from reconciler.model.kinds import CONTACT

PATHS = ("workEmailAddress1", "workMobilePhone1", "firstName")


def said_slug(case: Case, _folder: Path) -> str:
    """The name that a roster's row with this text gets, or why it gets none."""
    name = slugify(case.text)
    assert slugify(name) == name
    if not ENTITY_NAME.fullmatch(name):
        return f"value: no name, {len(name)} characters"
    assert name.isascii()
    return f"value: {name}"


def said_pair(case: Case, _folder: Path) -> str:
    """Whether two values of an identity field are one person; symmetric, and the same at a second look."""
    name, one, other = case.raw
    path = CONTACT.identity_path(name)
    keys = {identity_key(path, one), identity_key(path, other)}
    assert keys == {identity_key(path, key) for key in keys}
    return f"{'same' if len(keys) == 1 else 'different'}: {path}"


def said_fold(case: Case, _folder: Path) -> str:
    """The normal form of a declared value, which is its own normal form."""
    kind, path, value = case.raw
    found = normalize_value(kind, path, value)
    assert normalize_value(kind, path, found) == found
    return f"value: {found!a}"


@corpora.each("names")
def test_every_name_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A name is a-z, 0-9 and hyphens, whatever somebody is called; what leaves nothing is told."""
    corpora.claim(case, "names", lambda: said_slug(case, tmp_path))


@corpora.each("identities")
def test_every_pair_of_identities_meets_its_line(case: Case, tmp_path: Path) -> None:
    """Letter case, letter by letter, counts in no address, and nothing else is guessed."""
    corpora.claim(case, "identity keys", lambda: said_pair(case, tmp_path))


@corpora.each("values")
def test_every_value_meets_its_line(case: Case, tmp_path: Path) -> None:
    """Equal means equal: known spellings fold to one, and no number, flag or date is made of a text."""
    corpora.claim(case, "values of fields", lambda: said_fold(case, tmp_path))
