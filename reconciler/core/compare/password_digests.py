"""Which declared passwords are as they were last sent: proved for many at once, else compared one by one.

    declared ----> texts --+
                           +-- pairs, in parts --> the part's proof fits --> all of them are as sent
    recorded --> digests --+                       it does not           --> each one by itself

The digest of each value decides, as without this module. A proof only says that digests are known to belong
to these values, so one that is missing, old or damaged costs time and nothing else. scrypt is called in
core/digests.py; store/records.py keeps the proofs.
"""

from collections.abc import Collection, Iterator, Mapping
from zlib import crc32

from msgspec import Struct

from reconciler.core import digests
from reconciler.core.compare.diff import is_ignored_path
from reconciler.core.compare.match import former_names
from reconciler.core.compare.normalize import SLOW, mask_secret, normalize_value
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Entity, Proofs, Recorded

# Proofs in a workspace. A plan that finds everything as it was takes one call of scrypt for each part; a
# value that changed takes one for each value of its part more. Of 10,000 values that is 100 each: 1.3 s.
parts_per_workspace = 100


class DigestPart(Struct, frozen=True):
    """Some values: every pair of a text and the digits recorded for it, and the texts to be compared now."""

    pairs: tuple[tuple[str, str], ...]
    asked: frozenset[str]


def partition_digests(
    entities: Mapping[Address, Entity],
    recorded: Recorded,
    asked: Collection[Address] = (),
    *,
    parts: int = parts_per_workspace,
) -> dict[tuple[str, int], DigestPart]:
    """Return by workspace and number everything declared that is recorded as a slow digest.

    A digest decides about its number, so a value stays in its part until it changes.
    `asked` are the addresses that a plan is about; parts that it does not touch are there as well.
    """
    pairs: dict[tuple[str, int], set[tuple[str, str]]] = {}
    wanted: dict[tuple[str, int], set[str]] = {}
    for address, text, digits in _recorded_digests(entities, recorded):
        # crc32 deals evenly and is the same in every process, as `hash` is not; nothing secret hangs on it.
        key = address.workspace, crc32(digits.encode()) % parts
        pairs.setdefault(key, set()).add((text, digits))
        if address in asked:
            wanted.setdefault(key, set()).add(text)
    nothing = set[str]()
    return {
        key: DigestPart(tuple(sorted(found)), frozenset(wanted.get(key, nothing)))
        for key, found in sorted(pairs.items())
    }


def learn_digests(part: DigestPart, proof: str, salt: str) -> None:
    """Know the slow digests of what is asked for in a part: by its proof where it fits, else one by one."""
    # For one value a proof costs as much as the digest itself (`--only`), so it is not looked at.
    if len(part.asked) > 1 and proof and digests.prove_pairs(part.pairs, salt) == proof:
        digests.learn_stretched(part.pairs, salt)
    else:
        for text in sorted(part.asked):
            digests.stretch_secret(text, salt)


def prove_digests(
    entities: Mapping[Address, Entity], recorded: Recorded, *, parts: int = parts_per_workspace
) -> Proofs:
    """Return the proof of every part all of whose digests are known to be right; others are left out.

    No digest is computed for it, but a proof is, unless it was just compared.
    """
    salt = recorded.salt
    # Of a failed update the store holds the digest of before: a proof over that would say that the new value
    # had been sent (tests/core/test_proofs.py).
    return {
        key: digests.prove_pairs(part.pairs, salt)
        for key, part in partition_digests(entities, recorded, parts=parts).items()
        if len(part.pairs) > 1
        and all(digests.find_stretched(text, salt) == digits for text, digits in part.pairs)
    }


def declares_passwords(entities: Mapping[Address, Entity]) -> bool:
    """Whether a secret that people choose is declared at all."""
    return any(KINDS[address.kind].guessable & entity.fields.keys() for address, entity in entities.items())


def digest_texts(entity: Entity, salt: str) -> tuple[str, ...]:
    """Return what the slow digests of an entity's secrets are made of, for those that people choose."""
    return tuple(text for _, text in _guessable_texts(entity, salt))


def _recorded_digests(
    entities: Mapping[Address, Entity], recorded: Recorded
) -> Iterator[tuple[Address, str, str]]:
    former = former_names(entities.values())
    for address, entity in entities.items():
        # Under the former name too (M6), or all of a renamed roster would be compared one by one.
        record = recorded.entities.get(address) or recorded.entities.get(former.get(address, address))
        if record is None:
            continue
        for path, text in _guessable_texts(entity, recorded.salt):
            known = record.sent.get(path)
            # What `meta.ignore` names is used on create alone: people change a first password, and whoever
            # declares it cannot know the new one.
            if isinstance(known, str) and known.startswith(SLOW) and not is_ignored_path(entity, path):
                yield address, text, known.removeprefix(SLOW)


def _guessable_texts(entity: Entity, salt: str) -> Iterator[tuple[str, str]]:
    kind = KINDS[entity.address.kind]
    for path in sorted(kind.guessable.intersection(entity.fields)):
        value = normalize_value(kind.name, path, entity.fields[path])
        if value:
            yield path, str(mask_secret(value, salt))
