"""Declared entities as columns of bytes: nothing of an entity is decoded until somebody asks for it. Pure.

Of a hundred thousand entities that are as they were, a plan needs the addresses, and 16 bytes of each. So the
entities of a manifest are kept in blocks, and a block is decoded when one of its entities is asked for.
`EntityRows` are the entities of one manifest; an `EntityTable` joins those of several, and is the mapping
that `Desired.entities` needs.
"""

from array import array
from bisect import bisect_right
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, chain

import msgspec
from msgspec import Struct

from reconciler.core.compare.normalize import normalize_fields, redact_for_plan
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Place, Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Entity

DIGEST_BYTES = 16
BLOCK_ROWS = 512  # entities decoded at once: few where one is asked for, enough for columns to pay
_SMALL_BLOCKS = 64  # blocks with few entities, before all are written anew

# --- Digests --------------------------------------------------------------------------------------


def digest_entity(entity: Entity, salt: str) -> bytes:
    """Return 16 bytes that differ where what is declared differs. `salt` keys secrets, and nothing else.

    In normal form: a space, a place or another spelling is no other wish. A secret that people choose is left
    out: the digest of the manifests stands in plan files, and nobody can try words on it.
    """
    kind = entity.address.kind
    fields = redact_for_plan(kind, normalize_fields(kind, entity.fields), salt)
    wish = encode_json((entity.address, fields, entity.controls, entity.devices_in_scope))
    return blake2b(wish, digest_size=DIGEST_BYTES).digest()


class DigestedEntities(dict[Address, Entity]):
    """Decoded entities in the order of their addresses, each with the digest that `digest_entity` returns."""

    def __init__(self, entities: Mapping[Address, Entity], digests: Mapping[Address, bytes]) -> None:
        super().__init__((one, entities[one]) for one in sorted(entities))
        self._column = b"".join(digests[one] for one in self)

    def digests(self) -> Iterator[bytes]:
        """Yield the digests in the order of the addresses."""
        return (
            self._column[start : start + DIGEST_BYTES] for start in range(0, len(self._column), DIGEST_BYTES)
        )

    def digest_of(self, address: Address) -> bytes:
        """Return the digest of the entity of an address."""
        start = self._numbers[address] * DIGEST_BYTES
        return self._column[start : start + DIGEST_BYTES]

    @cached_property
    def _numbers(self) -> Mapping[Address, int]:
        return {one: number for number, one in enumerate(self)}


def has_secret(entity: Entity) -> bool:
    """Whether an entity declares a secret, so that its digest depends on the salt."""
    return not KINDS[entity.address.kind].secret.isdisjoint(entity.fields)


def list_digests(entities: Mapping[Address, Entity], salt: str) -> Iterator[bytes]:
    """Yield the digest of each entity, in the order of their addresses."""
    if isinstance(entities, DigestedEntities):
        yield from entities.digests()
    elif isinstance(entities, EntityTable):
        for address in entities:
            yield entities.digest_of(address) or digest_entity(entities[address], salt)
    else:
        for address in sorted(entities):
            yield digest_entity(entities[address], salt)


# --- One block as bytes, and back -----------------------------------------------------------------
#
# Entities with the same keys stand column by column, and a column with few different values holds each once:
# that is smaller, and faster to decode.

_FEW = 256  # different values of a column, so that one byte tells which one an entity has


class _Column(Struct, array_like=True):
    """One value for each entity; or the different values, and in `which` the index of each entity's value."""

    values: list[str | bool]
    which: bytes = b""


class _Alike(Struct, array_like=True):
    """Entities with the same keys in the same order, of one file, with the same controls."""

    file: str
    paths: tuple[str, ...]
    controls: Controls
    devices_in_scope: bool
    addresses: list[str]
    columns: list[int]
    fields: list[_Column]


def _group_alike(entities: Iterable[Entity]) -> list[list[Entity]]:
    groups: dict[tuple[object, ...], list[Entity]] = {}
    for one in entities:
        controls = b"" if one.controls == _NO_CONTROLS else _pack_value(one.controls)
        alike = (one.place.file, tuple(one.fields), controls, one.devices_in_scope)
        groups.setdefault(alike, []).append(one)
    return list(groups.values())


def _build_alike(group: Sequence[Entity]) -> _Alike:
    first = group[0]
    return _Alike(
        first.place.file,
        tuple(first.fields),
        first.controls,
        first.devices_in_scope,
        [one.address for one in group],
        [one.place.column for one in group],
        [_build_column(values) for values in zip(*(one.fields.values() for one in group), strict=True)],
    )


def _build_column(values: Sequence[Scalar]) -> _Column:
    different = {value: number for number, value in enumerate(dict.fromkeys(values))}
    if len(different) > min(_FEW, len(values) // 2):
        return _Column(list(values))
    return _Column(list(different), bytes(different[value] for value in values))


def _restore_entities(alike: _Alike, lines: Iterator[int]) -> Iterator[Entity]:
    file, paths, controls, devices = alike.file, alike.paths, alike.controls, alike.devices_in_scope
    columns = (
        map(one.values.__getitem__, one.which) if one.which else iter(one.values) for one in alike.fields
    )
    rows = zip(*columns, strict=True) if paths else ((),) * len(alike.addresses)
    for text, column, row in zip(alike.addresses, alike.columns, rows, strict=True):
        place = Place(file, next(lines), column)
        yield Entity(Address(text), dict(zip(paths, row, strict=True)), place, controls, None, devices)


def _pack_value(value: object) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=str.__str__, order="deterministic")


_NO_CONTROLS = Controls()

# --- The entities of one manifest -----------------------------------------------------------------


class EntityRows:
    """The entities of one manifest, in the order of its entries. A row is the number of one of them.

    A slot is the number of an entity in the blocks, of which some may be used no more. `lines` are where
    entities begin, `digests` those of `digest_entity`.
    """

    def __init__(
        self,
        addresses: list[Address],
        digests: bytes,
        slots: Sequence[int],
        lines: Sequence[int],
        blocks: Sequence[bytes | memoryview],
    ) -> None:
        self.addresses = addresses
        self.digests = digests
        self.slots = slots
        self.lines = lines
        self.blocks = blocks
        self._decoded: dict[int, list[Entity]] = {}

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> "EntityRows":
        """Return the rows of entities without payloads and without secrets, in their order."""
        every = list(entities)
        slots, blocks = array("I"), []
        for start in range(0, len(every), BLOCK_ROWS):
            groups = _group_alike(every[start : start + BLOCK_ROWS])
            numbers = {one.address: slot for slot, one in enumerate(chain.from_iterable(groups), start)}
            slots.extend(numbers[one.address] for one in every[start : start + BLOCK_ROWS])
            blocks.append(_pack_value([_build_alike(group) for group in groups]))
        return cls(
            [one.address for one in every],
            b"".join(digest_entity(one, "") for one in every),
            slots,
            array("I", (one.place.line for one in every)),
            blocks,
        )

    def replace_rows(self, runs: Iterable[tuple[int, int, int]], added: "EntityRows") -> "EntityRows":
        """Return these rows without all that are in none of the runs, and with those `added` behind them.

        A run is its first row, the row behind its last one, and by how many lines its entities have moved.
        """
        addresses: list[Address] = []
        digests: list[bytes] = []
        slots, lines = array("I"), array("I")
        for first, end, moved in runs:
            addresses += self.addresses[first:end]
            digests.append(self.digests[first * DIGEST_BYTES : end * DIGEST_BYTES])
            slots.extend(self.slots[first:end])
            lines.extend([line + moved for line in self.lines[first:end]] if moved else self.lines[first:end])
        front = len(self.blocks) * BLOCK_ROWS
        slots.extend(front + slot for slot in added.slots)
        lines.extend(added.lines)
        rows = EntityRows(
            [*addresses, *added.addresses],
            b"".join((*digests, added.digests)),
            slots,
            lines,
            [*self.blocks, *added.blocks],
        )
        # Each edit leaves a block behind that has few entities, and entities in others that nobody has.
        enough = 2 * len(rows.addresses) // BLOCK_ROWS + _SMALL_BLOCKS
        return rows if len(rows.blocks) <= enough else EntityRows.of(rows.entities())

    def entity(self, row: int) -> Entity:
        """Return the entity of a row; all of its block are decoded with it."""
        block, at = divmod(self.slots[row], BLOCK_ROWS)
        if block not in self._decoded:
            start = block * BLOCK_ROWS
            lines = iter(self._lines_by_slot[start : start + BLOCK_ROWS])
            every = msgspec.msgpack.decode(self.blocks[block], type=list[_Alike])
            self._decoded[block] = [one for alike in every for one in _restore_entities(alike, lines)]
        return self._decoded[block][at]

    def digests_by_address(self) -> Iterator[tuple[Address, bytes]]:
        """Yield each address with the digest of its entity."""
        starts = range(0, len(self.digests), DIGEST_BYTES)
        each = (self.digests[start : start + DIGEST_BYTES] for start in starts)
        return zip(self.addresses, each, strict=True)

    @cached_property
    def _lines_by_slot(self) -> "array[int]":
        found = array("I", bytes(4 * BLOCK_ROWS * len(self.blocks)))
        for slot, line in zip(self.slots, self.lines, strict=True):
            found[slot] = line
        return found

    def entities(self) -> Iterator[Entity]:
        """Yield every entity, in the order of the rows."""
        return map(self.entity, range(len(self.addresses)))


class PlainRows:
    """Entities that are decoded already, as rows in their order. No digest is known."""

    digests = b""

    def __init__(self, entities: Mapping[Address, Entity]) -> None:
        self.addresses = list(entities)
        self._entities = list(entities.values())

    def entity(self, row: int) -> Entity:
        """Return the entity of a row."""
        return self._entities[row]

    def entities(self) -> Iterator[Entity]:
        """Yield every entity, in the order of the rows."""
        return iter(self._entities)

    def pack(self) -> EntityRows:
        """Return the same rows in blocks, with their digests."""
        return EntityRows.of(self._entities)


# --- The entities of several manifests ------------------------------------------------------------


class EntityTable(Mapping[Address, Entity]):
    """The entities of several manifests, in the order of their addresses.

    An entity is decoded when it is asked for; all are when `values` or `items` is called. Where an address
    occurs twice, its last entity counts, and `is_unique` is false.
    """

    def __init__(self, parts: Iterable[EntityRows | PlainRows]) -> None:
        self._parts = tuple(parts)
        every = [one for part in self._parts for one in part.addresses]
        self._starts = [0, *accumulate(len(part.addresses) for part in self._parts)]
        self._numbers = dict(zip(every, range(len(every)), strict=True))
        self._ordered = sorted(self._numbers)
        self._whole: dict[Address, Entity] | None = None
        self.is_unique = len(self._numbers) == len(every)

    def __getitem__(self, address: Address) -> Entity:
        """Return the entity of an address. Raises KeyError."""
        if self._whole is not None:
            return self._whole[address]
        part, row = self._locate(address)
        return part.entity(row)

    def __contains__(self, address: object) -> bool:
        """Whether an entity has this address; nothing is decoded."""
        return address in self._numbers

    def __iter__(self) -> Iterator[Address]:
        """Yield every address in its order; nothing is decoded."""
        return iter(self._ordered)

    def __len__(self) -> int:
        """Return the number of entities."""
        return len(self._ordered)

    def values(self) -> ValuesView[Entity]:
        """Return every entity, in the order of the addresses."""
        return self._decode_all().values()

    def items(self) -> ItemsView[Address, Entity]:
        """Return every address and its entity, in the order of the addresses."""
        return self._decode_all().items()

    def digest_of(self, address: Address) -> bytes:
        """Return what `digest_entity` returns, without decoding the entity; b"" where it is not known.

        It is not known of an entity with a secret, nor of any in a manifest that is not cached.
        """
        part, row = self._locate(address)
        return part.digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]

    def _locate(self, address: Address) -> tuple[EntityRows | PlainRows, int]:
        number = self._numbers[address]
        part = bisect_right(self._starts, number) - 1
        return self._parts[part], number - self._starts[part]

    def _decode_all(self) -> dict[Address, Entity]:
        if self._whole is None:
            known = {one.address: one for part in self._parts for one in part.entities()}
            self._whole = {address: known[address] for address in self._ordered}
        return self._whole
