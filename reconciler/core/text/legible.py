"""Text that came from bytes: whether it is text, and how bytes that are none are shown.

The system hands over arguments, paths and variables as bytes. Python makes half of a surrogate pair of each
byte that is no UTF-8 (PEP 383): no JSON, no database and no service takes that, and a path that holds it
names a file that half of the libraries cannot open.
"""

import re

_HALF = re.compile("[\ud800-\udfff]")


def why_no_text(text: str) -> str:
    """Return what keeps this from being text, as the end of a sentence about it; "" where nothing does."""
    if "\0" in text:
        return "holds the character NUL"
    return "holds bytes that are not UTF-8" if _HALF.search(text) else ""


def legible(text: str) -> str:
    r"""Return a text in which each byte that is no UTF-8 is its escape (`\xff`): fit for every output."""
    return _HALF.sub(_escape, text)


def _escape(found: "re.Match[str]") -> str:
    number = ord(found[0])
    is_byte = 0xDC80 <= number <= 0xDCFF  # noqa: PLR2004 - the range of PEP 383
    return f"\\x{number - 0xDC00:02x}" if is_byte else f"\\u{number:04x}"
