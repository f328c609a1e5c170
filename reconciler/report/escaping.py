"""The one choke point that makes live data harmless on a terminal.

Every text that people of the service, or their programs, can write passes here before it is shown.
No colour, no layout and no knowledge of plans belong here.
"""

import re
from unicodedata import category

# Python calls these printable, but they leave no ink: two names that differ in them look alike.
# Combining grapheme joiner, Hangul fillers, Khmer inherent vowels, Mongolian selectors, blank Braille.
_NO_INK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0",
)

# The runners of CI services read the output of a job, and obey some of it: GitHub a line that begins with
# `::`, with spaces (or our colours) before it or not, and in its older form `##[` anywhere in a line; Azure
# `##[` and `##vso[`; TeamCity `##teamcity[`. Such a line can set variables of later steps.
_LINE_START = r"(?:\A|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
_COLONS = re.compile(rf"{_LINE_START}((?:[^\S\n\r]|\x1b\[[0-9;]*m)*):(?=:)")
_HASHES = re.compile(r"#(?=#\w*\[)")

# Written languages stack up to three marks on a letter. More of them climb over the lines above.
_marks_max = 4


def escape_control(text: str, *, limit: int = 0) -> str:
    r"""Return `text` as printable characters that cannot move a cursor, hide, or reorder a line.

    Controls, line ends, bidi and zero-width characters, odd spaces, tags, private and lone surrogate
    code points are shown as the escapes that Python would write (`\n`, `\x1b`, `\u202e`). All other
    text is unchanged, whatever its script. At most `limit` characters (0: no limit), the last one an
    ellipsis where something was cut. Applying it twice changes nothing, so a backslash stays as it is:
    a text that spells an escape looks like the character it spells.
    """
    if limit:
        text = text[: limit + 1]  # enough: an escape is never shorter than what it stands for
    if not (text.isascii() and text.isprintable()):
        text = _escape_characters(text)
    return text if not limit or len(text) <= limit else text[: limit - 1] + "…"


def escape_ci_commands(text: str) -> str:
    r"""Return printed text in which the runner of a CI service finds nothing to obey.

    One character of each order is shown as its escape: `\x3a:set-env`, `\x23#[group]`. All else is unchanged.
    """
    return _HASHES.sub(r"\\x23", _COLONS.sub(r"\1\\x3a", text))


def escape_ci_commands_in_json(text: str) -> str:
    r"""Return JSON text that means the same, and in which no runner finds an order.

    `##[` stands in texts alone, where `\u0023` is the same character. No line of our JSON begins with `::`.
    """
    return _HASHES.sub(r"\\u0023", text)


def _escape_characters(text: str) -> str:
    shown = []
    marks = 0
    for char in text:
        marks = marks + 1 if category(char) in {"Mn", "Me"} else 0
        shown.append(
            char.encode("unicode_escape").decode("ascii")
            if is_hidden(char) or _is_piled(char, marks)
            else char
        )
    return "".join(shown)


def is_hidden(char: str) -> bool:
    """Whether this one character acts, or is not seen, when it is printed."""
    return not char.isprintable() or char in _NO_INK


def _is_piled(char: str, marks: int) -> bool:
    """Whether this mark is one too many. One variation selector chooses a glyph; a row of them hides text."""
    return marks > _marks_max or (
        marks > 1 and ("\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef")
    )
