"""Which live entity is this declared one? Recorded id, then our mark, then identity, exactly.

The service's search answers "contains" and may ignore a filter; what it returned is compared again
here. Ambiguity is a result: it is reported, never resolved by taking the first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from reconciler.core.compare.identity import identity_of, identity_text
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity


class Recognized(Struct, frozen=True, gc=False):
    """The live entity that a declared one is, and how it was recognized.

    `by` is `record`, or the paths of the identity joined by `+`. `record` is the address it was
    recorded under, where it was: another one than the declared one after a rename.
    """

    live: LiveEntity
    by: str
    record: Address | None = None


class Matches(Struct, frozen=True, gc=False):
    """Every declared entity that is live, or whose match is in question.

    `ambiguous` maps to the remote ids of all candidates; `claimed` to the declared address that the
    one candidate belongs to by its record or by a stronger identity; `contested` holds groups of
    declared addresses that match one live entity alike (an input error, rule M4).
    """

    found: Mapping[Address, Recognized]
    ambiguous: Mapping[Address, tuple[str, ...]]
    claimed: Mapping[Address, Address]
    contested: tuple[tuple[Address, ...], ...]


def match_entities(
    entities: Sequence[Entity],
    live: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    *,
    keys: tuple[Key, ...],
    former: Mapping[Address, Address],
) -> Matches:
    """Find the live entity of each declared one, within one scope (or one contact's devices).

    `records` are the recorded entities of this scope, declared or not; `former` maps a declared
    address to the one it was recorded under before a rename. Source: planning rules M1 to M4, M6.
    """
    # A page walk may show one row twice: that is one entity, and no ambiguity.
    by_id = {row.remote_id: row for row in live}
    found = dict(_match_by_record(entities, by_id, records, former))
    unfound = [one for one in entities if one.address not in found]
    # Usually every entity is found by its record, and no identity has to be compared.
    index = IdentityIndex(by_id.values() if unfound else (), keys)
    open_ = {one.address: index.candidates(one.fields) for one in unfound}
    # Rule M3: reported, never resolved by taking the first.
    ambiguous = {
        one: tuple(sorted(row.remote_id for row in rows)) for one, (_, rows) in open_.items() if len(rows) > 1
    }
    alone = [(by, rows[0], one) for one, (by, rows) in open_.items() if len(rows) == 1]
    del index, open_  # of 100,000 they take 25 MiB
    strength = ["+".join(key) for key in keys]
    alone.sort(key=lambda one: strength.index(one[0]))
    claimed = {}
    owner = {record.remote_id: address for address, record in records.items()}
    # Who has a live entity by its record or by a stronger identity keeps it: docs/planning.md, M3.
    held = {hit.live.remote_id: ("record", address) for address, hit in found.items()}
    for by, row, address in alone:
        reason, holder = held.setdefault(row.remote_id, (by, address))
        if reason == by:
            found[address] = Recognized(row, by, owner.get(row.remote_id))
        else:
            claimed[address] = holder
    return Matches(found, ambiguous, claimed, _find_contested(found))


def _match_by_record(
    entities: Iterable[Entity],
    by_id: Mapping[str, LiveEntity],
    records: Mapping[Address, RecordedEntity],
    former: Mapping[Address, Address],
) -> Iterator[tuple[Address, Recognized]]:
    """Yield what is live under its recorded id (rule M1). An own record goes before a former name's (M6)."""
    for entity in entities:
        record = records.get(entity.address) or records.get(former.get(entity.address, entity.address))
        row = by_id.get(record.remote_id) if record else None
        if record and row:
            yield entity.address, Recognized(row, "record", record.address)


def former_names(entities: Iterable[Entity]) -> dict[Address, Address]:
    """Return the address before its rename of every entity that says `meta.renamedFrom` (rule M6)."""
    return {
        one.address: Address(f"{one.address.rpartition('/')[0]}/{one.controls.renamed_from}")
        for one in entities
        if one.controls.renamed_from
    }


def shared_identity(fields: Fields, live_fields: Fields, keys: tuple[Key, ...]) -> str:
    """Return the first identity by which the two are the same (its paths joined by `+`), or ""."""
    for key in keys:
        value = identity_of(key, fields)
        if value is not None and value == identity_of(key, live_fields):
            return "+".join(key)
    return ""


class HasFields(Protocol):
    """Anything with flat fields: a live entity, or a declared one."""

    @property
    def fields(self) -> Fields:
        """Its fields."""
        ...


K = TypeVar("K", bound=HasFields)


class IdentityIndex(Generic[K]):
    """Entities by identity: built once, asked for every entity of the other side."""

    def __init__(self, entities: Iterable[K], keys: tuple[Key, ...]) -> None:
        self._rows: dict[Key, dict[str | tuple[str, ...], list[K]]] = {key: defaultdict(list) for key in keys}
        for row in entities:
            for key, rows in self._rows.items():
                if value := _make_index_value(key, row.fields):
                    rows[value].append(row)

    def candidates(self, fields: Fields) -> tuple[str, list[K]]:
        """Return the first identity that any of them shares, and all that share it; else ("", [])."""
        for key, rows in self._rows.items():
            value = _make_index_value(key, fields)
            if value and value in rows:
                return "+".join(key), rows[value]
        return "", []

    def sharing(self, fields: Fields) -> list[K]:
        """Return all that share any identity, however weak; one that shares several stands there as often."""
        return [
            one for key, rows in self._rows.items() for one in rows.get(_make_index_value(key, fields), ())
        ]


def _make_index_value(key: Key, fields: Fields) -> str | tuple[str, ...]:
    """Return what `identity_of` does, without a tuple around one text; "" for None."""
    return identity_text(key[0], fields) if len(key) == 1 else identity_of(key, fields) or ""


def _find_contested(found: Mapping[Address, Recognized]) -> tuple[tuple[Address, ...], ...]:
    first: dict[str, Address] = {}
    groups: dict[str, set[Address]] = {}
    for address, hit in found.items():
        other = first.setdefault(hit.live.remote_id, address)
        if other != address:
            groups.setdefault(hit.live.remote_id, {other}).add(address)
    return tuple(sorted(tuple(sorted(group)) for group in groups.values()))
