"""Secrets that nobody declares and a PUT has to carry: what a look shows of one, and what that is worth.

    a value that can be the secret      the PUT carries it, and the read-back has to show the same
    nothing, where the service needs one   no PUT: it would take the secret away
    a mask in its place                 no PUT: it would put the mask in the place of the secret

Which form a GET has is not known (docs/service.md, devices). So everything that may stand for a secret, and
is not one, is a row of MASKS; a new form is one row. Which fields these are: `readable_secrets` of a kind. No
value gets into a message, and none is kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from reconciler.core.comparing.diff import ignored
from reconciler.core.comparing.normalize import SECRET, live
from reconciler.core.text import fold_case
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Update
from reconciler.model.snapshots import Entity, LiveEntity

# Characters. A token of a push platform has 64 or more, and what stands for one often its last four.
secret_length_min = 8
# Contacts whose devices show one value. A duty phone may stand under two of them.
alike_min = 3

_WORDS = frozenset(
    {
        *("redacted", "hidden", "masked", "secret", "withheld", "removed", "concealed", "obfuscated"),
        *(
            "confidential",
            "protected",
            "private",
            "encrypted",
            "sensitive",
            "filtered",
            "omitted",
            "censored",
        ),
        *("null", "none", "nil", "undefined", "unknown", "unavailable", "empty", "default", "placeholder"),
        *("notshown", "notavailable", "notdisclosed", "notset", "password", "token", "string", "value"),
        *("pushtoken", "devicetoken", "hiddenvalue", "redactedvalue", "maskedvalue", "secretvalue"),
    }
)
# Parts of a name for something that is not shown, such as `token-not-shown`, and what says that it is not.
_PARTS = frozenset({*"na", *("push", "device", "api", "key", "data", "is", "the", "by", "for", "policy")})
_NOT_SHOWN = frozenset(
    {
        *("redacted", "hidden", "masked", "withheld", "removed", "concealed", "obfuscated", "filtered"),
        *("omitted", "censored", "not", "shown", "available", "unavailable", "undisclosed", "disclosed"),
        *("encrypted", "confidential", "placeholder", "undefined", "null", "na"),
    }
)
# What pads a mask, and is in no token: those are base64url, hexadecimal, and ":" between two parts.
_DOTS = "*•●∙·⋅…█▒░■◦○※⚫"
_PADDED = re.compile(
    rf"[{re.escape(_DOTS)}]|\.\.|^[xX]{{4}}|[xX]{{4}}$|^[#?]{{3}}|[#?]{{3}}$|[xX]{{8}}"
    r"|^([-_=~+/])\1{3}|([-_=~+/])\2{3}$"
)
# A token may end in brackets (`ExponentPushToken[...]`), and begins with none.
_BRACKETED = re.compile(r"^(?:<.*>|\[.*\]|\(.*\)|\{.*\}|\$\{.*|%.*%|__.*__)$|^[\[(<{].*[\])>}]", re.DOTALL)
_IN_BRACKETS = re.compile(r"[\[(<{]([^\[\](){}<>]*)[\])>}]")
# No platform writes them into a token: those are letters, digits and what a URL may hold.
_IN_NO_TOKEN = re.compile(r"[^\x20-\x7e]|[(){}<>|\\^`\";]")
_DIGEST = re.compile(
    r"^(?:secret|sha-?\d+|md5|hmac|scrypt|bcrypt|argon2\w*|pbkdf2)[:$]|^\$\w+\$", re.IGNORECASE
)
_SIGN = re.compile(r"[^a-z0-9]")
# As Apple once wrote a token: eight groups of eight digits, in angle brackets.
_IN_GROUPS = re.compile(r"<?[0-9a-fA-F]{8}(?: [0-9a-fA-F]{8}){7,}>?")


class Mask(Struct, frozen=True):
    """One form of what is shown in the place of a secret, and what is said of it. `example` has the form."""

    says: str
    example: str
    fits: Callable[[str], object]


def is_word(text: str) -> bool:
    """Whether nothing but the words of a placeholder stands there: `[REDACTED]`, `NOT_AVAILABLE`."""
    folded = fold_case(text)
    words = _SIGN.sub(" ", folded).split()
    named = not _NOT_SHOWN.isdisjoint(words) or folded.startswith("n/a")
    return "".join(words) in _WORDS or (named and _WORDS.union(_PARTS, _NOT_SHOWN).issuperset(words))


def _is_hidden_in_brackets(text: str) -> bool:
    return _BRACKETED.match(text) is not None or any(map(is_word, _IN_BRACKETS.findall(text)))


MASKS: tuple[Mask, ...] = (
    Mask("is shorter than a secret can be", "1234", lambda text: len(text) < secret_length_min),
    Mask("holds blanks or control characters", "not shown here", re.compile(r"[\s\x00-\x1f\x7f]").search),
    Mask("is filled up with the signs of a mask", "************1234", _PADDED.search),
    Mask("stands in brackets", "<not-shown>", _is_hidden_in_brackets),
    Mask("is a word that stands for a hidden value", "REDACTED", is_word),
    Mask("is a digest", f"{SECRET}0123456789abcdef", _DIGEST.match),
    Mask("holds signs that are in no token", "jetón-0001-verborgen", _IN_NO_TOKEN.search),
    Mask("repeats one or two signs", "00000000-0000-0000", lambda text: len({*fold_case(text)}) <= 2),  # noqa: PLR2004 - the row says which number
)


_NO_TEXT = "is shown as something that is no text"


def why_no_secret(value: Scalar) -> str:
    """Return why a shown value cannot be the secret itself, as the end of a sentence; "" where it can be."""
    if value == "":
        return "is not shown"
    if isinstance(value, bool):
        return _NO_TEXT
    if _IN_GROUPS.fullmatch(value):
        value = value.strip("<>").replace(" ", "")
    return next((one.says for one in MASKS if one.fits(value)), "")


def values_of_several(rows: Iterable[LiveEntity]) -> frozenset[str]:
    """Return the values that stand for a secret everywhere: half of the entities of a workspace show them.

    And several contacts do: the devices of one are in each workspace that shares her, and some share a phone.
    """
    holders: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for row in rows:
        for path in KINDS[row.kind].readable_secrets & row.fields.keys():
            values = holders.setdefault((row.kind, row.workspace, path), {})
            values.setdefault(str(row.fields[path]), set()).add(row.parent_id or row.remote_id)
    return frozenset(
        value
        for values in holders.values()
        for value, ids in values.items()
        if len(ids) >= alike_min and 2 * len(ids) >= sum(map(len, values.values()))
    )


def _why_not_carried(kind: Kind, fresh: Mapping[str, Any], path: str, shown: Scalar) -> str:
    """Return why what a body shows of a secret cannot be it; `shown` is its normal form, always a text."""
    number = isinstance(fresh.get(kind.wire.get(path, path)), int | float)
    return _NO_TEXT if number else why_no_secret(shown)


class UnusableSecret(Struct, frozen=True):
    """A secret that a PUT would take away or spoil: its field, and why, as the end of a sentence."""

    path: str
    why: str


def undeclared_secrets(entity: Entity, change: Update) -> tuple[str, ...]:
    """Return the readable secrets that an update leaves to whoever set them: not declared, or ignored."""
    written = {field.path for field in change.fields}
    return tuple(
        sorted(
            path
            for path in KINDS[change.address.kind].readable_secrets - written
            if not entity.fields.get(path) or ignored(entity, path)
        )
    )


def unusable_secrets(
    fresh: Mapping[str, Any], entity: Entity, change: Update, shared: frozenset[str] = frozenset()
) -> Iterator[UnusableSecret]:
    """Yield each undeclared secret that a PUT of `fresh` would lose. `shared` are values of several entities.

    One that the service does not need, and does not show, may not be set at all: it is none of them.
    """
    kind = KINDS[change.address.kind]
    shown = live(kind.name, fresh)
    for path in undeclared_secrets(entity, change):
        value = shown.get(path, "")
        why = _why_not_carried(kind, fresh, path, value) or (
            "is the same for several of them" if value in shared else ""
        )
        if why and (value != "" or path in kind.required):
            yield UnusableSecret(path, why)


def stand_in_secrets(fresh: Mapping[str, Any], entity: Entity, change: Update) -> Fields:
    """Return the declared secrets that a PUT of `fresh` would spoil: a look shows no value of them."""
    kind = KINDS[change.address.kind]
    if kind.readable_secrets.isdisjoint(entity.fields):
        return {}
    left = {*undeclared_secrets(entity, change), *(field.path for field in change.fields)}
    shown = live(kind.name, fresh)
    return {
        path: entity.fields[path]
        for path in sorted(kind.readable_secrets - left)
        if _why_not_carried(kind, fresh, path, shown.get(path, ""))
    }


def lost_secrets(
    looked: Mapping[str, Any], found: Mapping[str, Any], entity: Entity, change: Update
) -> tuple[str, ...]:
    """Return the undeclared secrets that a PUT has carried, and that are not shown as they were before it."""
    paths = undeclared_secrets(entity, change)
    if not paths:
        return ()
    before, after = live(change.address.kind, looked), live(change.address.kind, found)
    return tuple(path for path in paths if path in before and after.get(path, "") != before[path])
