"""An entry of the cache: what one manifest declares as bytes, and back. Pure.

    magic, the HMAC-SHA256 of what it was made for and of all that follows,
    sections, each behind its length in 8 bytes: the manifest without entities, then 10,000 entities in each

Entities that are alike in their keys stand together, column by column, and a column with few values holds
each once: that is smaller, and quicker to make entities of. Nothing here decides what may be kept
(loading.py).
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from itertools import islice

import msgspec
from msgspec import Struct

from reconciler.core.declared.apart import ManifestPart
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Place, Scalar
from reconciler.model.notices import Notice
from reconciler.model.snapshots import Entity, Scope

MAGIC = b"reconciler cache 2\n"
_CHUNK = 10_000  # entities that are made at once: what one takes besides them is gone before the next
_FEW = 256  # different values of a column, so that one byte says which
_SEAL = 32  # bytes
_LENGTH = 8  # bytes

_Removed = tuple[str, str, int, int]  # address, file, line, column


class _Column(Struct, array_like=True):
    """The values of one field: one for each entity; or the different ones, and `which` of them each has."""

    values: list[str | bool]
    which: bytes = b""


class _Alike(Struct, array_like=True):
    """Entities with the same keys in the same order, of one file, with the same controls."""

    file: str
    paths: tuple[str, ...]
    controls: Controls
    devices_in_scope: bool
    addresses: list[str]
    lines: list[int]
    columns: list[int]
    fields: list[_Column]


class _Entry(Struct, array_like=True):
    """`rosters` are the digests of the tables that the manifest names, by their components from the root."""

    rosters: list[tuple[tuple[str, ...], bytes]]
    scopes: list[tuple[str, str]]
    notices: list[Notice]
    removed: list[_Removed]
    former: list[str]
    claims: list[str]
    rows: int


class KeptPart(Struct, frozen=True):
    """A part, and the digests of the rosters that it was made of, by their components from the root.

    `seal` is that of its entry: another part, or the same of other files, has another one.
    """

    part: ManifestPart
    rosters: Mapping[tuple[str, ...], bytes]
    seal: bytes = b""


def encoded(kept: KeptPart, *, key: bytes, made_for: bytes) -> list[bytes]:
    """Return the entry, in pieces, of a part without content. `made_for` says what it follows from."""
    part = kept.part
    entry = _Entry(
        list(kept.rosters.items()),
        [(scope.kind, scope.workspace) for scope in sorted(part.scopes)],
        list(part.notices),
        [(address, place.file, place.line, place.column) for address, place in part.removed.items()],
        sorted(part.former),
        sorted(part.claims),
        part.rows,
    )
    sections = [_pack(entry), *map(_pack, _chunks(part.entities.values()))]
    pieces = [piece for one in sections for piece in (len(one).to_bytes(_LENGTH), one)]
    return [MAGIC, _seal(pieces, key, made_for), *pieces]


def decoded(data: bytes, *, key: bytes, made_for: bytes) -> KeptPart | None:
    """Return what `encoded` made of this for the same key and the same purpose; None for anything else."""
    start = len(MAGIC) + _SEAL
    seal, body = data[len(MAGIC) : start], memoryview(data)[start:]
    if not data.startswith(MAGIC) or not compare_digest(seal, _seal([body], key, made_for)):
        return None
    try:
        head, *chunks = _sections(body)
        entry = msgspec.msgpack.decode(head, type=_Entry)
        entities = {
            entity.address: entity
            for chunk in chunks
            for alike in msgspec.msgpack.decode(chunk, type=list[_Alike])
            for entity in _entities(alike)
        }
    except (msgspec.MsgspecError, LookupError, ValueError):  # sealed by us, and still not ours
        return None
    part = ManifestPart(
        entities,
        frozenset(Scope(*one) for one in entry.scopes),
        tuple(entry.notices),
        {Address(text): Place(file, line, column) for text, file, line, column in entry.removed},
        frozenset(map(Address, entry.former)),
        frozenset(entry.claims),
        entry.rows,
    )
    return KeptPart(part, dict(entry.rosters), seal)


def _seal(pieces: Iterable[bytes | memoryview], key: bytes, made_for: bytes) -> bytes:
    made = hmac.new(key, sha256(made_for).digest(), "sha256")
    for piece in pieces:
        made.update(piece)
    return made.digest()


def _sections(body: memoryview) -> Iterator[memoryview]:
    while body:
        end = _LENGTH + int.from_bytes(body[:_LENGTH])
        yield body[_LENGTH:end]
        body = body[end:]


def _pack(value: object) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=str.__str__, order="deterministic")


def _chunks(entities: Iterable[Entity]) -> Iterator[list[_Alike]]:
    left = iter(entities)
    while some := list(islice(left, _CHUNK)):
        groups: dict[tuple[object, ...], list[Entity]] = {}
        for one in some:
            controls = b"" if one.controls == _NONE else _pack(one.controls)
            alike = (one.place.file, tuple(one.fields), controls, one.devices_in_scope)
            groups.setdefault(alike, []).append(one)
        yield [_alike(group) for group in groups.values()]


def _alike(group: Sequence[Entity]) -> _Alike:
    first = group[0]
    return _Alike(
        first.place.file,
        tuple(first.fields),
        first.controls,
        first.devices_in_scope,
        [one.address for one in group],
        [one.place.line for one in group],
        [one.place.column for one in group],
        [_column(values) for values in zip(*(one.fields.values() for one in group), strict=True)],
    )


def _column(values: Sequence[Scalar]) -> _Column:
    different = {value: number for number, value in enumerate(dict.fromkeys(values))}
    if len(different) > min(_FEW, len(values) // 2):
        return _Column(list(values))
    return _Column(list(different), bytes(different[value] for value in values))


def _entities(alike: _Alike) -> Iterator[Entity]:
    file, paths, controls, devices = alike.file, alike.paths, alike.controls, alike.devices_in_scope
    columns = (
        map(one.values.__getitem__, one.which) if one.which else iter(one.values) for one in alike.fields
    )
    rows = zip(*columns, strict=True) if paths else ((),) * len(alike.addresses)
    for text, line, column, row in zip(alike.addresses, alike.lines, alike.columns, rows, strict=True):
        place = Place(file, line, column)
        yield Entity(Address(text), dict(zip(paths, row, strict=True)), place, controls, None, devices)


_NONE = Controls()
