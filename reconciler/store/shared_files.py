"""What runs keep in a store that several machines share: bytes by name, for a machine that has none.

A courtesy as the shared pace is: who may not read or write these tables goes on without, and whoever can do
without what is in them. They are made when something is kept first, so a store needs no migration for them.
A seal arrives with the bytes and says whose they are; it is compared where they are read (private_cache.py).

Bytes are kept in parts of equal size, packed. Who keeps bytes that differ in a few places from those of
before sends the parts in which they do.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import blake2b

from msgspec import Struct

from reconciler.store.adapter import Connection
from reconciler.store.connection import Database
from reconciler.store.schema import KEPT, KEPT_PARTS
from reconciler.store.sealed_tables import OWNED, Owner

part_bytes = 128 * 1024
file_bytes_max = 256 * 1024 * 1024  # of one name, unpacked; a list of 100,000 people has some 40 MB
stack_bytes_max = 512 * 1024 * 1024  # of all names of a stack together
kept_for = timedelta(days=30)  # since it was kept last
shared_statement_max_s = 10.0  # seconds, at the server

_parts_at_once = 64  # sent, packed, in one go
_NAMED = f"{OWNED} AND name = :name"
_CREATE = "CREATE TABLE "
_IF_NONE = "CREATE TABLE IF NOT EXISTS "


class SharedFile(Struct, frozen=True):
    """What is kept under a name, and its seal."""

    seal: bytes
    data: bytes


class SharedFiles:
    """What is kept for one origin and stack. Everything it cannot do is a StoreError."""

    def __init__(
        self,
        database: Database,
        owner: Owner,
        now: Callable[[], datetime],
        *,
        file_max: int = file_bytes_max,
        stack_max: int = stack_bytes_max,
    ) -> None:
        self._file_max = file_max
        self._stack_max = stack_max
        self._database = database
        self._owner = owner
        self._now = now

    def seal(self, name: str) -> bytes:
        """Return the seal of what is kept under a name; b"" where that is nothing."""
        with self._database.reading() as connection:
            if not self._is_there(connection):
                return b""
            query = f"SELECT seal FROM kept WHERE {_NAMED}"
            return _unhex(connection.execute(query, self._key(name)).scalar())

    def read(self, name: str) -> SharedFile | None:
        """Return what is kept under a name; None where that is nothing, or cannot be unpacked."""
        with self._database.reading() as connection:
            if not self._is_there(connection):
                return None
            head = connection.execute(f"SELECT seal, size FROM kept WHERE {_NAMED}", self._key(name)).first()
            if head is None or not 0 < head[1] <= self._file_max:
                return None
            try:
                data = b"".join(_read_parts(connection, self._key(name), head[1]))
            except zlib.error:
                return None
        return SharedFile(_unhex(head[0]), data) if len(data) == head[1] else None

    def write(self, name: str, seal: bytes, pieces: Iterable[bytes | memoryview]) -> bool:
        """Keep these, one behind the other, under a name; False where they are too many.

        What nobody has kept again for 30 days goes.
        """
        data, key = b"".join(pieces), self._key(name)
        if len(data) > self._file_max:
            return False
        now = self._now()
        told = {"seal": seal.hex(), "size": len(data), "kept_at": now.isoformat(timespec="seconds")}
        with self._changing() as connection:
            if not self._is_there(connection):
                connection.execute(f"{_IF_NONE}{KEPT.create.removeprefix(_CREATE)}")
                connection.execute(f"{_IF_NONE}{KEPT_PARTS.create.removeprefix(_CREATE)}")
            begun = {**key, **told, "seal": ""}
            connection.execute(f"{KEPT.insert} ON CONFLICT DO NOTHING", begun)
            # One writer of a name at a time: parts of two would be a file of neither.
            connection.execute(f"SELECT seal FROM kept WHERE {_NAMED} FOR UPDATE", key).all()
            self._remove_old(connection, now)
            others = connection.execute(
                f"SELECT coalesce(sum(size), 0) FROM kept WHERE {OWNED} AND name <> :name", key
            ).scalar()
            if others + len(data) > self._stack_max:
                self._remove(connection, [name])
                return False
            _write_parts(connection, key, data)
            change = f"UPDATE kept SET seal = :seal, size = :size, kept_at = :kept_at WHERE {_NAMED}"
            connection.execute(change, {**key, **told})
        return True

    def remove(self, name: str) -> None:
        """Let nothing be kept under a name."""
        with self._changing() as connection:
            if self._is_there(connection):
                self._remove(connection, [name])

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        # A store that was opened for reading is written too, where its user may: no record is in here.
        with self._database.changing_rows() as connection:
            self._database.engine.relax_transaction(connection, shared_statement_max_s)
            yield connection

    def _remove_old(self, connection: Connection, now: datetime) -> None:
        old = f"SELECT name FROM kept WHERE {OWNED} AND kept_at < :until FOR UPDATE SKIP LOCKED"
        until = (now - kept_for).isoformat(timespec="seconds")
        found = connection.execute(old, {**self._owner.key(), "until": until}).all()
        self._remove(connection, [name for (name,) in found])

    def _remove(self, connection: Connection, names: list[str]) -> None:
        for table in (KEPT_PARTS, KEPT) if names else ():
            gone = f"DELETE FROM {table.name} WHERE {OWNED} AND name IN (:names)"
            connection.execute(gone, {**self._owner.key(), "names": names})

    def _is_there(self, connection: Connection) -> bool:
        return {KEPT.name, KEPT_PARTS.name} <= {*self._database.tables(connection)}

    def _key(self, name: str) -> dict[str, str]:
        return {**self._owner.key(), "name": name}


def _read_parts(connection: Connection, key: Mapping[str, str], size: int) -> Iterator[bytes]:
    """Yield the parts of a name. Raises zlib.error for one that is none."""
    # A few at a time: the server has the same seconds for each answer, however slow the way is.
    query = f"SELECT data FROM kept_parts WHERE {_NAMED} AND part >= :start AND part < :end ORDER BY part"
    for start in range(0, -(-size // part_bytes), _parts_at_once):
        for (packed,) in connection.execute(query, {**key, "start": start, "end": start + _parts_at_once}):
            yield _unpack(packed)


def _write_parts(connection: Connection, key: Mapping[str, str], data: bytes) -> None:
    """Let these be the parts of a name: only what differs is sent."""
    parts = [memoryview(data)[start : start + part_bytes] for start in range(0, len(data), part_bytes)]
    digests = [blake2b(part, digest_size=16).hexdigest() for part in parts]
    known: dict[int, str] = dict(
        connection.execute(f"SELECT part, digest FROM kept_parts WHERE {_NAMED}", key).all()
    )
    changed = [one for one, digest in enumerate(digests) if known.get(one) != digest]
    gone = known.keys() - range(len(parts)) | known.keys() & changed
    if gone:
        sql = f"DELETE FROM kept_parts WHERE {_NAMED} AND part IN (:parts)"
        connection.execute(sql, {**key, "parts": sorted(gone)})
    for start in range(0, len(changed), _parts_at_once):
        rows = [
            {**key, "part": one, "digest": digests[one], "data": zlib.compress(parts[one], 1)}
            for one in changed[start : start + _parts_at_once]
        ]
        connection.execute_many(KEPT_PARTS.insert, rows)


def _unpack(packed: bytes) -> bytes:
    """Return the bytes of a part. Raises zlib.error for what is none."""
    opened = zlib.decompressobj()
    data = opened.decompress(packed, part_bytes)
    if opened.unconsumed_tail or not opened.eof:
        raise zlib.error("it is longer than a part, or cut")
    return data


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(str(text or ""))
    except ValueError:
        return b""
