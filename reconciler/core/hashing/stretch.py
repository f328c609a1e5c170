"""scrypt over the secrets that people choose: what stands for one of them, and what proves many of them.

A password is compared with the one that was last sent, so the store has to keep something of it. Of a fast
digest, a million words are tried in a second; of this one, about a hundred. Which values a plan compares, and
how few calls of scrypt that takes, is in proofs.py.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

# scrypt: 8 MiB and about 13 ms of one core for each call; 16 MiB are customary for logins. Computed in
# threads: the library lets go of the interpreter.
cost = 2**13
block = 8
_memory_max = 32 * 1024 * 1024  # bytes that OpenSSL may take; it needs 128 * cost * block
_digits = 16  # bytes
_told_max = 200_000  # values; over it, all of them are computed anew
_cached_max = 10_000  # results; a proof is made once to compare it, and is kept at the end of the run

_told: dict[tuple[str, str], str] = {}


def stretched(text: str, salt: str) -> str:
    """Return 32 hexadecimal digits that stand for `text` under `salt`, the store's; computed once."""
    found = _told.get((text, salt))
    if found is None:
        found = scrypt(text, f"reconciler secret {salt}")
        tell(((text, found),), salt)
    return found


def told(text: str, salt: str) -> str:
    """Return what `stretched` would, where that is known in this process; else ""."""
    return _told.get((text, salt), "")


def tell(pairs: Iterable[tuple[str, str]], salt: str) -> None:
    """Let `stretched` know its results: of each text, its digits. They must be right (see `proof`)."""
    if len(_told) >= _told_max:
        forget()
    _told.update({(text, salt): digits for text, digits in pairs})


def forget() -> None:
    """Know no results any more, as a new process does."""
    _told.clear()
    scrypt.cache_clear()


def proof(pairs: Iterable[tuple[str, str]], salt: str) -> str:
    """Return 32 hexadecimal digits that show, to whoever has the texts, that these pairs are the right ones.

    A pair is a text and its `stretched`. One that fits once is right for ever. Somebody who has the digits
    and the proof can try all texts of it at once, and each try takes a call of scrypt: no less than trying
    the digits of one text, where every other text is known, and far more where they are not.
    """
    everything = "\n".join(f"{text} {digits}" for text, digits in sorted(set(pairs)))
    return scrypt(hashlib.sha256(everything.encode()).hexdigest(), f"reconciler proof {salt}")


@lru_cache(maxsize=_cached_max)
def scrypt(text: str, salt: str) -> str:
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
