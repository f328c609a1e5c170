"""Delta plans (rule R11): only what moved since the last plan is planned, with everything that it may meet.

    the last plan, its inputs    --make_baseline--> Baseline of each scope: who is settled or a stranger
    the inputs of now, by digest --find_rest------> MovedScope: those of them that did not move (the rest)
    what moved, and its links    --close_over-----> whoever shares an id, a name, a mark or an identity
                                                    with it leaves the rest, until nobody does

    plan of all = plan of what moved + counts of the rest

A settled entity is declared, recorded under its own address and live under the recorded id, and nothing of it
changes: that depends on these three alone. A stranger is a live row that is not recorded, and that shares
nothing with a settled entity. Everything else counts as moved in every plan. So the rest
says nothing in a plan but how many there are, as long as nothing outside of it meets it: matching,
duplicates, renames, marks and lookalikes all go by what `Linking` follows. Devices go with their contact,
which is never settled. The law is in tests/laws/test_delta.py.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain, compress
from typing import Any

import msgspec
from msgspec import Struct

from reconciler.core.compare.diff import unchanged_since_apply
from reconciler.core.compare.identity import fields_beside, identity_of, looks_like
from reconciler.core.compare.match import former_names
from reconciler.core.entity_table import DIGEST_BYTES, digest_entity, has_secret
from reconciler.core.planning.records import RefreshedRecord
from reconciler.core.planning.scopes import RestCounts
from reconciler.core.rules import Rules
from reconciler.core.text import trim_edges
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.plans import Create, Plan
from reconciler.model.snapshots import (
    Desired,
    Entity,
    Live,
    LiveEntity,
    Recorded,
    RecordedEntity,
    Scope,
)

# --- Digests of the inputs ------------------------------------------------------------------------


Digests = Mapping[Any, bytes]  # by address, or by the id of a row


def digest_declared(entity: Entity) -> bytes:
    """Return what stands for a declared entity, as `EntityTable.digest_of` does; b"" where nothing does.

    Nothing stands for one that holds a secret: it counts as moved in every plan.
    """
    if has_secret(entity) or entity.unowned_paths or entity.unset_paths:
        return b""
    return digest_entity(entity, "")


def digest_record(record: RecordedEntity) -> bytes:
    """Return what stands for a record."""
    return _digest(record)


def digest_row(row: LiveEntity) -> bytes:
    """Return what stands for a live entity, but for when it was seen."""
    known = None if row.known is None else sorted(row.known)
    return _digest((row.remote_id, row.fields, row.parent_id, known, row.modified, row.devices_known))


def _digest(value: object) -> bytes:
    encoded = msgspec.msgpack.encode(value, enc_hook=str.__str__, order="deterministic")
    return blake2b(encoded, digest_size=DIGEST_BYTES).digest()


# --- The baseline: who the last plan had nothing to say of ----------------------------------------

# A link and the number of its owner in one number, so that a sorted column of them is the index.
_LINK_BITS, _OWNER_BITS = 40, 24
units_max = 1 << _OWNER_BITS


class Baseline(Struct, frozen=True, array_like=True, gc=False):
    """The settled entities and the strangers of one scope, by columns.

    `addresses` are those of settled entities; `remote_ids` theirs in the same order, then those of strangers.
    `digests` are, for each settled entity, those of what is declared, recorded and live, then those of the
    strangers. `links` is a sorted column of links with their owners (see `_pack_links`).
    """

    kind: str
    workspace: str
    addresses: tuple[str, ...] = ()
    remote_ids: tuple[str, ...] = ()
    digests: bytes = b""
    links: bytes = b""

    @property
    def scope(self) -> Scope:
        """The scope that it is of."""
        return Scope(self.kind, self.workspace)


class Members(Struct, frozen=True):
    """Some of what is declared, recorded and live in a scope, the devices of its contacts left out.

    `names` are addresses that something else names: those under `removed:`, and the contacts of devices.
    `ids` are those of what we deleted.
    """

    entities: Mapping[Address, Entity] = {}
    records: Mapping[Address, RecordedEntity] = {}
    rows: Sequence[LiveEntity] = ()
    names: Collection[str] = ()
    ids: Collection[str] = ()

    def joined(self, other: "Members") -> "Members":
        """Return these and others, which name nobody besides."""
        entities, records = {**self.entities, **other.entities}, {**self.records, **other.records}
        return Members(entities, records, (*self.rows, *other.rows), self.names, self.ids)


class Wanted(Struct, frozen=True):
    """Whoever left the rest: addresses, with the digests of their records, and the ids of their rows."""

    records: Mapping[Address, bytes] = {}
    remote_ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anybody did."""
        return bool(self.records or self.remote_ids)


NOBODY = Wanted()


class MovedScope:
    """The rest of one scope: who of its baseline neither moved nor meets anybody who did.

    `rest` has a 1 for each of them, in the order of `baseline.remote_ids`.
    """

    def __init__(self, baseline: Baseline, rest: bytearray, linking: "Linking") -> None:
        self.baseline = baseline
        self.rest = rest
        self._linking = linking
        self._links = memoryview(_read_links(baseline.links))

    @property
    def counts(self) -> RestCounts:
        """How many the rest are."""
        number = len(self.baseline.addresses)
        return RestCounts(self.rest.count(1, 0, number), self.rest.count(1, number))

    def take_rows(self, now: Digests) -> Wanted:
        """Take out of the rest whose row has another digest now, or is there no more, and return them.

        Without the ids of their rows: those are now among the rows that are not in the rest.
        """
        before, known, size = bytes(self.rest), self.baseline, DIGEST_BYTES
        number = len(known.addresses)
        rows = chain(
            _column(known.digests, 2 * size, 3 * size, number),
            _column(known.digests, 3 * size * number, size, len(known.remote_ids) - number),
        )
        _keep_unmoved(self.rest, known.remote_ids, now, rows)
        return Wanted(self.records_left(before))

    def records_left(self, before: bytes) -> dict[Address, bytes]:
        """Return the digests of the records of those who are in the rest no more, and were `before`."""
        each = enumerate(zip(self.baseline.addresses, before, self.rest, strict=False))
        left = ((number, address) for number, (address, was, still) in each if was and not still)
        return {Address(address): self._record_digest(number) for number, address in left}

    def take_strangers(self) -> None:
        """Take every stranger out of the rest."""
        number = len(self.baseline.addresses)
        self.rest[number:] = bytes(len(self.rest) - number)

    def rest_addresses(self) -> Iterator[str]:
        """Yield the addresses of the settled entities in the rest."""
        return (one for one, still in zip(self.baseline.addresses, self.rest, strict=False) if still)

    def rest_ids(self) -> Iterator[str]:
        """Yield the ids of the rows in the rest."""
        return (one for one, still in zip(self.baseline.remote_ids, self.rest, strict=True) if still)

    def pull_in(self, members: Members) -> Wanted:
        """Return who leaves the rest because `members` may meet them, and take them out of it.

        To be asked again with what is declared, recorded and live of those, until nobody leaves any more.
        """
        links, ids, addresses = self._linking.of_members(members)
        found = {number for link in links for number in self._owners(link)}
        found.update(number for one in ids if (number := self._by_id.get(one)) is not None)
        found.update(number for one in addresses if (number := self._by_address.get(one)) is not None)
        left = sorted(number for number in found if self.rest[number])
        for number in left:
            self.rest[number] = 0
        known = self.baseline
        settled = [one for one in left if one < len(known.addresses)]
        records = {Address(known.addresses[one]): self._record_digest(one) for one in settled}
        return Wanted(records, tuple(known.remote_ids[one] for one in left))

    def is_settled(self, kind: str, fields: Fields) -> bool:
        """Whether a settled entity of the rest has, or looks as if it had, an identity of these fields."""
        owners = (one for link in self._linking.of_fields(kind, fields) for one in self._owners(link))
        return any(self.rest[one] for one in owners if one < len(self.baseline.addresses))

    def _record_digest(self, number: int) -> bytes:
        start = (3 * number + 1) * DIGEST_BYTES
        return self.baseline.digests[start : start + DIGEST_BYTES]

    def _owners(self, link: int) -> Iterator[int]:
        start = bisect_left(self._links, link << _OWNER_BITS)
        while start < len(self._links) and self._links[start] >> _OWNER_BITS == link:
            yield self._links[start] & (units_max - 1)
            start += 1

    @cached_property
    def _by_id(self) -> Mapping[str, int]:
        return {one: number for number, one in enumerate(self.baseline.remote_ids)}

    @cached_property
    def _by_address(self) -> Mapping[str, int]:
        return {one: number for number, one in enumerate(self.baseline.addresses)}


def list_settled_records(baseline: Baseline, rest: bytes) -> Iterator[tuple[Address, bytes]]:
    """Yield the address and the record's digest of each settled entity that `rest` has a 1 for."""
    digests = _column(baseline.digests, DIGEST_BYTES, 3 * DIGEST_BYTES, len(baseline.addresses))
    settled = zip(baseline.addresses, digests, strict=True)
    return ((Address(one), digest) for one, digest in compress(settled, rest))


def find_rest(
    baseline: Baseline,
    linking: "Linking",
    *,
    declared: Digests,
    recorded: Digests | None,
    rest: bytes = b"",
) -> MovedScope:
    """Return who of a baseline is declared and recorded as then, by digests of now; `take_rows` comes next.

    None: all records are as they were. `rest` has a 0 for whoever is known to have moved.
    """
    size, number = DIGEST_BYTES, len(baseline.addresses)
    still = bytearray(rest or b"\1" * len(baseline.remote_ids))
    _keep_unmoved(still, baseline.addresses, declared, _column(baseline.digests, 0, 3 * size, number))
    if recorded is not None:
        column = _column(baseline.digests, size, 3 * size, number)
        _keep_unmoved(still, baseline.addresses, recorded, column)
    return MovedScope(baseline, still, linking)


def _keep_unmoved(rest: bytearray, names: Sequence[str], now: Digests, then: Iterable[bytes]) -> None:
    """Take out of the rest who has another digest than then, or none."""
    for number, (name, digest) in enumerate(zip(names, then, strict=True)):
        if now.get(name) != digest:
            rest[number] = 0


def _column(digests: bytes, start: int, step: int, number: int) -> Iterator[bytes]:
    return (digests[at : at + DIGEST_BYTES] for at in range(start, start + number * step, step))


def make_baseline(
    scope: Scope,
    members: Members,
    settled: Iterable[Address],
    linking: "Linking",
    *,
    restless_ids: Collection[str] = (),
    digests: "DigestsOf",
    before: MovedScope | None = None,
) -> Baseline:
    """Return the baseline after a plan of `members`, beside which the rest of `before` stays as it is.

    `settled` are the addresses of which that plan found nothing to change, `restless_ids` rows that are to be
    read or looked at in every plan.
    """
    there = {row.remote_id: row for row in members.rows}
    builder = BaselineBuilder(scope, linking, restless_ids=restless_ids, before=before)
    for address in settled:
        entity, own = members.entities.get(address), members.records.get(address)
        row = there.get(own.remote_id) if own else None
        if entity is not None and own is not None and row is not None:
            builder.add(entity, own, row, (digests.declared(entity), digests.record(own), digests.row(row)))
    taken = {record.remote_id for record in members.records.values()}
    for record in members.records.values():
        taken.update(record.earlier)
    return builder.make((row, digests.row(row)) for row in there.values() if row.remote_id not in taken)


class BaselineBuilder:
    """Makes a baseline from settled entities, one after the other, and from strangers."""

    def __init__(
        self,
        scope: Scope,
        linking: "Linking",
        *,
        restless_ids: Collection[str] = (),
        before: MovedScope | None = None,
    ) -> None:
        """`restless_ids` and `before` are as in `make_baseline`."""
        self._linking = linking
        self._restless = restless_ids
        self._columns = _Columns(scope, before)

    def add(
        self, entity: Entity, record: RecordedEntity, row: LiveEntity, digests: tuple[bytes, bytes, bytes]
    ) -> bool:
        """Add a settled entity with the digests of what is declared, recorded and live, if it is at rest.

        Return whether it is.
        """
        if row.remote_id in self._restless or not all(digests) or not _is_at_rest(record, row):
            return False
        links = self._linking.of_settled(entity, record, row)
        self._columns.add_settled(entity.address, row.remote_id, digests, links)
        return True

    def settled_ids(self) -> Sequence[str]:
        """Return the ids of the rows of what was added."""
        return self._columns.settled_ids

    def make(self, strangers: Iterable[tuple[LiveEntity, bytes]]) -> Baseline:
        """Return the baseline. `strangers` are the rows of nobody here, with their digests."""
        linking = self._linking
        candidates = [
            (row.remote_id, digest, linking.of_row(row))
            for row, digest in strangers
            if row.remote_id not in self._restless and not linking.is_marked(row)
        ]
        met = self._columns.find_links(set[int]().union(*(links for _, _, links in candidates)))
        # A stranger that meets what is not settled joins it in every plan (`pull_in`).
        for remote_id, digest, links in candidates:
            if links.isdisjoint(met):
                self._columns.add_stranger(remote_id, digest, links)
        return self._columns.make()


class DigestsOf(Struct, frozen=True):
    """What stands for the inputs of a plan; b"" for what nothing stands for."""

    declared: Callable[[Entity], bytes] = digest_declared
    record: Callable[[RecordedEntity], bytes] = digest_record
    row: Callable[[LiveEntity], bytes] = digest_row


class ScopeDigests(Struct, frozen=True):
    """What stands for the inputs of a plan in one scope, and the rows that every plan reads or looks at."""

    digests: DigestsOf
    restless_ids: Collection[str] = ()


class BaselinesAfterApply:
    """Makes the baselines that a plan right after an apply would keep, without that plan.

    What an apply records before its first change (`refresh_records`) says of an entity just what was found
    live; so the next plan has nothing to say of it. What is to be changed is settled for neither.
    """

    def __init__(
        self,
        plan: Plan,
        settled: Iterable[Address],
        recorded: Recorded,
        scopes: Mapping[Scope, ScopeDigests],
        linking: "Linking",
    ) -> None:
        """`plan` found these settled, from these records; `scopes` are those to make a baseline of."""
        self._scopes = scopes
        self._linking = linking
        self._builders = {
            scope: BaselineBuilder(scope, linking, restless_ids=one.restless_ids)
            for scope, one in scopes.items()
        }
        known = recorded.entities
        # Those whose record stays as it is.
        self._left = {one: known[one] for one in settled if one in known}
        names = (plan.renames.get(one, one) for one in known)
        self._with_devices = {one.above for one in names if one.above}
        # Of whoever is changed the record comes later.
        self._taken = {one.remote_id for one in plan.changes if not isinstance(one, Create)}
        for record in known.values():
            self._taken.update((record.remote_id, *record.earlier))

    def add(self, found: RefreshedRecord, digest: bytes) -> bool:
        """Take a record that was written, and what stands for it; return whether its entity is settled."""
        entity, record, row = found.entity, found.record, found.row
        scope, address = Scope.of(entity.address), entity.address
        self._left.pop(address, None)
        alone = not entity.devices_in_scope and address not in self._with_devices
        if scope in self._scopes and alone and unchanged_since_apply(entity, row, record):
            return self._add(scope, entity, record, row, digest)
        self._taken.update((record.remote_id, *record.earlier))
        return False

    def make(self, desired: Desired, live: Live) -> dict[Scope, Baseline]:
        """Return the baselines, once every record is written that changes before the first change."""
        found, left = {}, dict[Scope, list[RecordedEntity]]()
        for address, record in self._left.items():
            left.setdefault(Scope.of(address), []).append(record)
        for scope, one in self._scopes.items():
            there = {row.remote_id: row for row in live.entities[scope]}
            for record in left.get(scope, ()):
                if (row := there.get(record.remote_id)) is not None:
                    entity, digest = desired.entities[record.address], one.digests.record(record)
                    self._add(scope, entity, record, row, digest)
            builder = self._builders[scope]
            for remote_id in (*builder.settled_ids(), *self._taken):
                there.pop(remote_id, None)
            found[scope] = builder.make((row, one.digests.row(row)) for row in there.values())
        return found

    def _add(
        self, scope: Scope, entity: Entity, record: RecordedEntity, row: LiveEntity, digest: bytes
    ) -> bool:
        of, builder = self._scopes[scope].digests, self._builders[scope]
        if not builder.add(entity, record, row, (of.declared(entity), digest, of.row(row))):
            self._taken.update((record.remote_id, *record.earlier))
            return False
        return True


def _is_at_rest(record: RecordedEntity, row: LiveEntity) -> bool:
    """Whether the record of a settled entity says what its row shows, and nothing of time or of other ids."""
    shown = {path: row.fields[path] for path in record.sent if path in row.fields}
    return (
        shown == record.shown
        and not record.flaps
        and not record.earlier
        and record.parent_id == row.parent_id
    )


class _Columns:
    """The columns of a baseline: the rest of `before`, then what is added, and all strangers at the end."""

    def __init__(self, scope: Scope, before: MovedScope | None) -> None:
        self._scope = scope
        self._old = before.baseline if before else Baseline(scope.kind, scope.workspace)
        rest, number, size = before.rest if before else b"", len(self._old.addresses), DIGEST_BYTES
        self._kept = [at for at in range(number) if rest[at]]
        self._kept_strangers = [at for at in range(number, len(self._old.remote_ids)) if rest[at]]
        self._addresses = [self._old.addresses[at] for at in self._kept]
        self.settled_ids = [self._old.remote_ids[at] for at in self._kept]
        self._digests = bytearray().join(
            self._old.digests[at * 3 * size : (at + 1) * 3 * size] for at in self._kept
        )
        self._links = array("Q")
        self._strangers: list[tuple[str, bytes, set[int]]] = []

    def add_settled(
        self, address: Address, remote_id: str, digests: tuple[bytes, bytes, bytes], links: set[int]
    ) -> None:
        """Add a settled entity, with the digests of what is declared, recorded and live."""
        place = len(self.settled_ids)
        self._addresses.append(address)
        self.settled_ids.append(remote_id)
        self._digests += b"".join(digests)
        self._links.extend(link << _OWNER_BITS | place for link in links)

    def find_links(self, wanted: Collection[int]) -> set[int]:
        """Return which of these links the added entities have."""
        links = (one >> _OWNER_BITS for one in self._links) if wanted else ()
        return {link for link in links if link in wanted}

    def add_stranger(self, remote_id: str, digest: bytes, links: set[int]) -> None:
        """Add a live row of nobody here."""
        self._strangers.append((remote_id, digest, links))

    def make(self) -> Baseline:
        """Return the baseline."""
        old, size, settled = self._old, DIGEST_BYTES, len(self.settled_ids)
        ids, digests = [*self.settled_ids], self._digests
        start = 2 * size * len(old.addresses)
        for at in self._kept_strangers:
            ids.append(old.remote_ids[at])
            digests += old.digests[start + at * size : start + (at + 1) * size]
        places = {at: place for place, at in enumerate(self._kept)}
        places |= {at: settled + place for place, at in enumerate(self._kept_strangers)}
        self._links.extend(_kept_links(old.links, places))
        for remote_id, digest, links in self._strangers:
            place = len(ids)
            ids.append(remote_id)
            digests += digest
            self._links.extend(link << _OWNER_BITS | place for link in links)
        columns = tuple(self._addresses), tuple(ids), bytes(digests)
        return Baseline(self._scope.kind, self._scope.workspace, *columns, _write_links(self._links))


def _kept_links(column: bytes, places: Mapping[int, int]) -> Iterator[int]:
    owner = units_max - 1
    for one in _read_links(column):
        place = places.get(one & owner)
        if place is not None:
            yield one & ~owner | place


def _read_links(column: bytes) -> "array[int]":
    links = array("Q", column)
    if sys.byteorder == "big":
        links.byteswap()
    return links


def _write_links(links: "array[int]") -> bytes:
    found = array("Q", sorted(links))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def close_over(
    moved: MovedScope, members: Members, load: Callable[[Wanted], Members], wanted: Wanted = NOBODY
) -> Members:
    """Return `members`, who is `wanted` besides, and whoever they meet, who leave the rest of `moved`.

    `load` gives what is declared, recorded and live of those.
    """
    found = members.joined(load(wanted)) if wanted else members
    joining = found
    while more := moved.pull_in(joining):
        joining = load(more)
        found = found.joined(joining)
    return found


# --- Links: everything by which two things may meet in a plan --------------------------------------
#
#     a declared entity   its identities (our mark is one), our mark with its name, its name before a rename
#     a record            what it showed of its identities, its ids
#     a live row          its identities
#
# An identity counts by what it looks like, which is the same for any two that are one, and for lookalikes.


class Linking:
    """The links under the rules of a project, as numbers keyed by `salt`: they tell nothing of a person."""

    def __init__(self, rules: Rules, salt: str) -> None:
        self._rules = rules
        self._key = blake2b(salt.encode(), digest_size=32, person=b"delta links").digest()
        # By kind: each identity, with all paths that decide what it is.
        self._paths: dict[str, list[tuple[Key, tuple[str, ...]]]] = {}

    def of_entity(self, entity: Entity) -> set[int]:
        """Return the links of a declared entity that are no addresses."""
        kind = entity.address.kind
        return self.of_fields(kind, entity.fields) | self._mark_links(entity.address)

    def of_record(self, record: RecordedEntity) -> set[int]:
        """Return the links of a record that are no ids."""
        return self.of_fields(record.address.kind, record.shown)

    def of_row(self, row: LiveEntity) -> set[int]:
        """Return the links of a live row that are no ids."""
        return self.of_fields(row.kind, row.fields)

    def is_marked(self, row: LiveEntity) -> bool:
        """Whether a row carries our mark, with whatever name."""
        path = self._rules.mark_of(row.kind)
        return bool(path) and trim_edges(str(row.fields.get(path, ""))).startswith(self._rules.mark_text(""))

    def of_members(self, members: Members) -> tuple[set[int], set[str], set[str]]:
        """Return all links of these, the ids that they have or name, and the addresses."""
        # Who is declared or recorded under an address of the rest is in the rest with all of it. So is a row.
        links, ids, addresses = set[int](), set(members.ids), set(members.names)
        for entity in members.entities.values():
            links |= self.of_entity(entity)
        addresses.update(former_names(members.entities.values()).values())
        for record in members.records.values():
            links |= self.of_record(record)
            ids.update((record.remote_id, *record.earlier))
        for row in members.rows:
            links |= self.of_row(row)
        return links, ids, addresses

    def of_settled(self, entity: Entity, record: RecordedEntity, row: LiveEntity) -> set[int]:
        """Return the links of an entity, of its record and of its row, which mostly are the same."""
        return self._mark_links(entity.address) | self.of_fields(
            row.kind, entity.fields, record.shown, row.fields
        )

    def of_fields(self, kind: str, *each: Fields) -> set[int]:
        """Return the links of the identities of these fields."""
        found = set[int]()
        if kind not in self._paths:
            self._paths[kind] = [(key, (*key, *fields_beside(key))) for key in self._rules.keys(kind)]
        for key, paths in self._paths[kind]:
            before = None
            for fields in each:
                values = tuple(map(fields.get, paths))
                if values == before:
                    continue
                before = values
                if identity_of(key, fields) is not None:
                    found.add(self._link(key, fields))
        return found

    def _mark_links(self, address: Address) -> set[int]:
        path = self._rules.mark_of(address.kind)
        fields = {path: self._rules.mark_text(address.name)} if path else {}
        return {self._link((path,), fields)} if path else set()

    def _link(self, key: Key, fields: Fields) -> int:
        text = "\0".join(("+".join(key), *(looks_like(path, fields) for path in key)))
        return int.from_bytes(blake2b(text.encode(), digest_size=_LINK_BITS // 8, key=self._key).digest())
