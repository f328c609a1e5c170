"""slug: any text as a name of the manifest language. One function, for rosters and for exports."""

import re

from reconciler.core.text.composed import normalized

# Letters that NFKD does not take apart, as their own languages write them in ASCII.
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "œ": "oe"})
_OTHERS = re.compile(r"[^a-z0-9]+")


def slug(text: str) -> str:
    """Return `text` as a name: ASCII, lower case, a hyphen for everything else; "" where nothing is left."""
    plain = normalized("NFKD", text.lower().translate(_LETTERS))
    return _OTHERS.sub("-", plain.encode("ascii", "ignore").decode().lower()).strip("-")
