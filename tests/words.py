"""Looks for words in text that also holds identifiers.

Ids, digests and tokens are drawn at random: a short word is part of one sooner or later. A test that looks
for it with `in` fails by chance. A whole word is not.
"""

import re


def says(text: str, word: str) -> bool:
    """Whether `text` holds `word` with no letter or digit before or after it, in whatever case."""
    return re.search(rf"(?<![0-9a-z]){re.escape(word)}(?![0-9a-z])", text, re.IGNORECASE) is not None
