"""Letter case as the sandbox compares it: letter by letter, so that `strauss` is not found by `strauß`.

The specification does not say how the service does it; this is how most programs do.
"""


def small(text: str) -> str:
    """The text in small letters; a letter whose small one would be two stays as it is."""
    return text.lower() if text.isascii() else "".join(map(_small, text))


def _small(letter: str) -> str:
    lower = letter.lower()
    return lower if len(lower) == 1 else letter
