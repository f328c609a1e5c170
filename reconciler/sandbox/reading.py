"""What a body gives, by name: what is there, what must be there, what must be a text.

Belongs here: the checks that every kind of document has, and their sentences. Not here: the fields of any.
"""

from collections.abc import Container, Iterable, Mapping
from typing import TypeVar

from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import invalid, malformed

Word = TypeVar("Word", bound=str)


def present(body: Body, *, without: Container[str] = ()) -> Body:
    """What the body gives; null counts as absent, and so does what only the service writes: `without`."""
    return {name: value for name, value in body.items() if value is not None and name not in without}


def require(given: Body, names: Iterable[str]) -> None:
    """Refuses (422) a body in which one of these is missing or empty; all of them are named."""
    missing = [name for name in names if given.get(name) in (None, "")]
    if missing:
        raise invalid(f"{', '.join(missing)}: required and missing")


def require_texts(given: Body, names: Iterable[str]) -> None:
    """Refuses (422) anything but a text under one of these names."""
    for name in names:
        if not isinstance(given.get(name, ""), str):
            raise invalid(f"{name} must be a string")


def text(given: Body, name: str, characters_max: int | None = None) -> str:
    """The text under this name, "" where there is none; refuses (422) anything else, and one too long."""
    require_texts(given, (name,))
    value = str(given.get(name, ""))
    if characters_max is not None and len(value) > characters_max:
        raise invalid(f"{name} has {len(value)} characters; the limit is {characters_max}")
    return value


def choice(given: Body, name: str, words: tuple[Word, ...], default: str = "") -> Word:
    """The one of these words that stands under this name; refuses (422) any other."""
    for word in words:
        if given.get(name, default) == word:
            return word
    raise invalid(f"{name} must be {' or '.join(words)}")


def asked(query: Mapping[str, str], name: str, words: tuple[Word, ...]) -> Word:
    """The one of these words that a query asks for in any letter case, or the first; refuses (400) others."""
    wanted = query.get(name, words[0]).lower()
    for word in words:
        if wanted == word:
            return word
    raise malformed(f"{name} must be {' or '.join(words)}")
