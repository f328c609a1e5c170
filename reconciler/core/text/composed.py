"""Unicode normal forms in linear time, whatever the text is.

Belongs here: how a text is normalized. Not here: which texts are (normalize.py, the readers of manifests).
"""

import unicodedata
from typing import Literal

# Marks on one letter are sorted by insertion: a run of 100,000 takes half a minute. Written languages stack
# four, Unicode's stream-safe format allows 30 (UAX 15). A text with a longer run stays as it is.
marks_max = 256


def normalized(form: Literal["NFC", "NFD", "NFKD"], text: str) -> str:
    """Return `text` in this normal form; as it stands where more than 256 marks follow one another."""
    if len(text) > marks_max and not text.isascii() and _piled(text):
        return text
    return unicodedata.normalize(form, text)


def _piled(text: str) -> bool:
    run = 0
    for combining in map(unicodedata.combining, text):
        run = run + 1 if combining else 0
        if run > marks_max:
            return True
    return False
