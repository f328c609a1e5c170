"""Which characters a manifest may hold: one rule for files, cells, variables and payload text.

A character is refused here and not half-way through an apply: XML cannot carry it, or a reviewer
cannot see it. Only the rule belongs here; who found the character, and where, is the caller's.
"""

import re
import unicodedata

# C0 without tab, LF and CR; DEL and C1 (NEL is a line break to some parsers); line and paragraph
# separators; marks and overrides of writing direction; the BOM inside a text; lone surrogates;
# the two code points that XML has no form for.
UNFIT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
# The value of an environment variable is one line: its breaks are refused too.
UNFIT_LINE = re.compile(f"{UNFIT.pattern[:-1]}\t\n\r]")

_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BEYOND = frozenset("\ufffe\uffff")
_SEPARATORS = frozenset("\u2028\u2029")


def complaint(character: str) -> str:
    """Return the noun phrase that says which character this is, without ever printing it."""
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


HINT = "remove it; no character that is invisible or unfit for XML is sent"
