"""What a parser says, without the text of the file that it quotes: that may be a secret."""

import re

# A message up to its first quoted text. The few signs are those that YAML itself expects.
_OWN_WORDS = re.compile(r"(?:[^'\"]|'[]},:?-]')*")
_CHARACTER = re.compile("^found character .* that cannot", re.DOTALL)


def unquoted(said: str | None) -> str:
    """Return the parser's own words of a message; "it cannot be read" where it has none."""
    words = _CHARACTER.sub("found character that cannot", said or "").partition(", but ")[0]
    found = _OWN_WORDS.match(words)
    return (found[0].strip() if found else "") or "it cannot be read"
