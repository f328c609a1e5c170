"""What messages may show of a file: the path of a value, the value itself, and the name of a character.

Nothing below a secret field is shown: `password: {text}` is a secret to its author and a key to YAML.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from reconciler.model.kinds import KINDS, cache_by_kinds

TreePath = Sequence[str | int]
# Returns the words in front of the sentence, and how many steps of the path they have named.
Subject = Callable[[dict[str, Any], TreePath], tuple[str, int]]


# Fields whose value no message may show: those of manifests, and those of `service.auth`. The latter may be
# written as if it were the secret itself, so messages show only its known keys.
_AUTH = ("service", "auth")
_AUTH_SECRET = frozenset({"username", "password", "api_key"})
_AUTH_KEYS = _AUTH_SECRET | {"send_key"}


@cache_by_kinds
def _secret_fields() -> frozenset[str]:
    return frozenset[str]().union(*(kind.secret for kind in KINDS.values()))


@cache_by_kinds
def secret_keys() -> frozenset[str]:
    """Return the keys of which messages may show neither the value nor anything below."""
    return _secret_fields() | _AUTH_SECRET | {_AUTH[-1]}


def no_subject(_root: dict[str, Any], _path: TreePath) -> tuple[str, int]:
    """Name no entity: the sentence has the whole dotted path."""
    return "", 0


def format_path(path: TreePath) -> str:
    """Return a path as people write it: `service.auth`, `manifests[2]`."""
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def redact_path(path: TreePath) -> tuple[str | int, ...]:
    """Return the part of a path that may be shown: up to a secret field, nothing below it."""
    steps = tuple(path)
    for end in range(1, len(steps)):
        if _names_secret(steps[:end]) or (steps[:end][-2:] == _AUTH and steps[end] not in _AUTH_KEYS):
            return steps[:end]
    return steps


def is_secret_path(path: TreePath) -> bool:
    """Whether the value at a path is a secret, contains one, or is below one."""
    steps = tuple(path)
    return _names_secret(steps) or steps[-2:] == _AUTH or redact_path(steps) != steps


def _names_secret(steps: tuple[str | int, ...]) -> bool:
    return bool(steps) and (
        steps[-1] in _secret_fields() or (steps[-3:-1] == _AUTH and steps[-1] in _AUTH_SECRET)
    )


# --- Characters -----------------------------------------------------------------------------------
#
# One rule for files, cells, variables and payload text. Characters that XML cannot contain, or that a
# reviewer cannot see, are refused here and not in the middle of an apply.

# C0 without tab, LF and CR; DEL and C1 (NEL is a line break to some parsers); line and paragraph
# separators; marks and overrides of writing direction; the BOM inside a text; lone surrogates;
# the two code points that XML has no form for.
UNFIT_CHARACTERS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
# The value of an environment variable is one line: its breaks are refused too.
UNFIT_IN_LINE = re.compile(f"{UNFIT_CHARACTERS.pattern[:-1]}\t\n\r]")

_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BEYOND = frozenset("\ufffe\uffff")
_SEPARATORS = frozenset("\u2028\u2029")


def describe_character(character: str) -> str:
    """Return the name of a character, without the character itself."""
    code = f"U+{ord(character):04X}"
    if character == "\0":
        return f"the character NUL ({code})"
    if character in _DIRECTION:
        return f"the bidirectional control character {code} ({unicodedata.name(character).lower()})"
    if "\ud800" <= character <= "\udfff":
        return f"half of a surrogate pair ({code})"
    if character in _SEPARATORS:
        return f"the invisible line break {code} ({unicodedata.name(character).lower()})"
    if character in _BEYOND:
        return f"{code}, which is not a character"
    if character == "\ufeff":
        return f"a byte order mark inside the text ({code})"
    return f"the control character {code}"


CHARACTER_HINT = "remove it; invisible characters, and characters that XML cannot contain, are not sent"


def show_value(text: str, *, most: int = 60) -> str:
    """Return a value for a message: short, on one line, escaped."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.encode("unicode_escape").decode("ascii") if not cut.isprintable() else cut
