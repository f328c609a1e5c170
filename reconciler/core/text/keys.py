"""Whether a text is a private key that stands where the name of something is due.

Belongs here: how keys begin, and what is shown in their place. Not here: reading keys (files/encryption.py).
"""

import re

# Keys of age and of its plugins, and the beginning of those of SSH and OpenSSL: in any letter case, with any
# dash. `age-secret-key.txt` is the name of a file.
_SIGN = re.compile(
    r"age[^0-9a-z]?(?:secret[^0-9a-z]?key|plugin[^0-9a-z][0-9a-z-]{1,40})[^0-9a-z]?1[0-9a-z]{12}"
    r"|begin [a-z0-9 ]{0,40}private key",
    re.IGNORECASE,
)
# A step of a path that is longer than names of files are, or is written as base64 is.
_UNSIGNED = re.compile(r"[0-9A-Za-z+=_-]{41,}|(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[0-9A-Za-z+=]{24,}")


def is_key(text: str) -> bool:
    """Whether a text holds a private key, by its form."""
    return bool(_SIGN.search(text))


def may_be_key(text: str) -> bool:
    """Whether a text that names nothing may be a piece of a key, without its beginning."""
    return is_key(text) or "\n" in text or any(map(_UNSIGNED.fullmatch, text.split("/")))


def mask_key(text: str) -> str:
    """Return a text as it may be shown where the name of something is due."""
    return "(a private key)" if is_key(text) else text
