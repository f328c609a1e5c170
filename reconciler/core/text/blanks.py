"""Blanks at the edges of a text: which characters are such, and a text without them.

Belongs here: the characters. Not here: which values lose their edges (core/declared/resolve.py) and what is
said of it (core/declared/values/blanks.py).
"""

import unicodedata

# What Unicode calls White_Space, which `str.strip` knows; and what has no width and is copied along with a
# text from a web page or a chat: the zero-width space, joiners, the byte order mark, the Mongolian separator.
_WHITE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_WIDTHLESS = "\u180e\u200b\u200c\u200d\u2060\ufeff"
EDGES = _WHITE + _WIDTHLESS

_BREAKS = "\r\n"
_NAMES = {
    " ": "a blank",
    "\t": "a tab",
    "\n": "a line break",
    "\r": "a line break",
    "\ufeff": "a byte order mark",
}


def trim_edges(text: str) -> str:
    """Return `text` without blanks at its edges; the same object where it has none."""
    return text.strip() if text.isascii() else text.strip(EDGES)


def trim_breaks(text: str) -> str:
    """Return `text` without line breaks at its edges; other blanks stay."""
    return text.strip(_BREAKS)


def has_edges(text: str) -> bool:
    """Whether blanks stand at an edge of `text`."""
    return trim_edges(text) != text


def is_blank(text: str) -> bool:
    """Whether `text` holds nothing but blanks, or nothing at all."""
    return not trim_edges(text)


def describe_edges(text: str) -> str:
    """Return which blanks stand where: `begins with a blank and ends with a no-break space (U+00A0)`."""
    if is_blank(text):
        return "holds nothing but blanks"
    start = f"begins with {_name(text[0])}" if text[0] in EDGES else ""
    end = f"ends with {_name(text[-1])}" if text[-1] in EDGES else ""
    return " and ".join(filter(None, (start, end)))


def _name(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    name, code = unicodedata.name(char, "control character").lower(), f"U+{ord(char):04X}"
    return f"{'an' if name[0] in 'aeio' else 'a'} {name} ({code})"
