"""Slow digests of the secrets that people choose, and which of them a plan will ask for.

A password is compared with the one that was last sent, so the store has to keep something of it. Of a fast
digest, a million words are tried in a second; of this one, about a hundred. Each distinct value costs that
time once in a process, and may be computed ahead, in threads: the library lets go of the interpreter.
"""

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from reconciler.model.address import Address
from reconciler.model.entities import Entity
from reconciler.model.kinds import KINDS

# scrypt: 8 MiB and about 15 ms of one core for each value. 10,000 contacts with a password of their own cost
# a plan 75 s on two cores; with the 16 MiB that are customary for logins it would be 160 s.
cost = 2**13
block = 8
_memory_max = 32 * 1024 * 1024  # bytes that OpenSSL may take; it needs 128 * cost * block
_digits = 16  # bytes
_cached_max = 200_000  # values; over it, the oldest are computed anew


@lru_cache(maxsize=_cached_max)
def stretched(text: str, salt: str) -> str:
    """Return 32 hexadecimal digits that stand for `text` under `salt`, the store's."""
    return hashlib.scrypt(
        text.encode(),
        salt=f"reconciler secret {salt}".encode(),
        n=cost,
        r=block,
        p=1,
        maxmem=_memory_max,
        dklen=_digits,
    ).hex()


def guessable(entities: Mapping[Address, Entity], known: Iterable[Address]) -> tuple[str, ...]:
    """Return the distinct values, as written, of the chosen secrets of these entities; sorted."""
    kinds = {name: kind.guessable for name, kind in KINDS.items() if kind.guessable}
    found = set[str]()
    for address in known:
        entity = entities.get(address)
        if entity is not None and address.kind in kinds:
            found.update(str(entity.fields[path]) for path in kinds[address.kind] if entity.fields.get(path))
    return tuple(sorted(found))
