"""Keyed digests of people and of secrets, for places in which neither may stand: a fast one and a slow one.

Which form the digest of a secret field has is decided in core/compare/normalize.py.
"""

import hashlib
import hmac
from collections.abc import Iterable
from functools import lru_cache

# --- Fast: one key for each purpose, derived from the store's salt --------------------------------
#
# A digest of one purpose never equals one of another.


def keyed_digest(salt: str, purpose: str, text: str) -> str:
    """Return 32 hexadecimal digits that stand for `text`; only who has the salt can tell for which."""
    # A key of its own for each purpose: who sees the hash of one cannot look it up among those of another.
    # 128 of its 256 bits are kept: still enough that no two texts meet by chance.
    key = hmac.digest(salt.encode(), f"reconciler {purpose}".encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()[:32]


# --- Slow: scrypt over the secrets that people choose ---------------------------------------------
#
# A password is compared with the one that was last sent, so the store has to keep something of it. Of a fast
# digest, a million words are tried in a second; of this one, about a hundred. Which values a plan compares,
# and how few calls of scrypt that takes, is in core/compare/password_digests.py.


# scrypt: 8 MiB and about 13 ms of one core for each call; 16 MiB are customary for logins. Computed in
# threads: the library lets go of the interpreter.
cost = 2**13
block = 8
_memory_max = 32 * 1024 * 1024  # bytes that OpenSSL may take; it needs 128 * cost * block
_digits = 16  # bytes
_stretched_max = 200_000  # values; over it, all of them are computed anew
_cached_max = 10_000  # results; a proof is made once to compare it, and is kept at the end of the run

_stretched_cache: dict[tuple[str, str], str] = {}


def stretch_secret(text: str, salt: str) -> str:
    """Return 32 hexadecimal digits that stand for `text` under `salt`, the store's; computed once."""
    found = _stretched_cache.get((text, salt))
    if found is None:
        found = compute_scrypt(text, f"reconciler secret {salt}")
        learn_stretched(((text, found),), salt)
    return found


def find_stretched(text: str, salt: str) -> str:
    """Return what `stretch_secret` would, where that is known in this process; else ""."""
    return _stretched_cache.get((text, salt), "")


def learn_stretched(pairs: Iterable[tuple[str, str]], salt: str) -> None:
    """Remember results of `stretch_secret`: texts, their digits. They must be right (see `prove_pairs`)."""
    if len(_stretched_cache) >= _stretched_max:
        forget_stretched()
    _stretched_cache.update({(text, salt): digits for text, digits in pairs})


def forget_stretched() -> None:
    """Forget all results, as a new process has none."""
    _stretched_cache.clear()
    compute_scrypt.cache_clear()


def prove_pairs(pairs: Iterable[tuple[str, str]], salt: str) -> str:
    """Return 32 hexadecimal digits that prove to a reader who has the texts that these pairs belong together.

    A pair is a text and its `stretch_secret`. A pair that matched once stays right. Somebody who has the
    digits and the proof can try all its texts at once, and each try takes a call of scrypt: no less than
    trying the digits of one text, where every other text is known, and far more where they are not.
    """
    everything = "\n".join(f"{text} {digits}" for text, digits in sorted(set(pairs)))
    return compute_scrypt(hashlib.sha256(everything.encode()).hexdigest(), f"reconciler proof {salt}")


@lru_cache(maxsize=_cached_max)
def compute_scrypt(text: str, salt: str) -> str:
    """Return 32 hexadecimal digits that take about 13 ms to compute."""
    return hashlib.scrypt(
        text.encode(),
        salt=salt.encode(),
        n=cost,
        r=block,
        p=1,
        maxmem=_memory_max,
        dklen=_digits,
    ).hex()
