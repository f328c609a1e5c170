"""The objects of a git repository, read from its files: loose ones, those of packs, and borrowed ones.

Belongs here: finding an object by its id, and making sure that its content is what the id names. Not here:
which commit is looked at (repository.py), and the formats (core/git.py). Nothing is fetched: what is
not there is absent. Whoever wrote the files, sizes are limited before anything is unpacked.
"""

import errno
import hashlib
import os
import stat
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self

from reconciler.core.git import (
    NAMED_DELTA,
    OFFSET_DELTA,
    PACKED,
    apply_delta,
    read_base_distance,
    read_entry_head,
    read_result_size,
)

object_max = 64 * 1024 * 1024  # bytes; a folder with a million files takes 40 MiB
_made_max = 32 * object_max  # bytes of all that one chain of deltas makes on its way
_stores_max = 20  # folders of objects that borrow from each other
_chain_max = 4096  # deltas for one object; git makes no longer ones
_open_max = 64  # files at the same time
_cached_max = 32 * 1024 * 1024  # bytes of objects that others are made of
_piece = 4096  # bytes that are read at once of a pack
_scan_max = 4096  # ids that are read at once of an index
_ids_max = 512  # as many pieces of an index are kept
_INDEX_2 = b"\xfftOc\x00\x00\x00\x02"
_fan = 256 * 4  # bytes at the beginning of an index: how many ids begin with each byte, or a smaller one
_FAR = 0x80000000  # an offset that stands in the table of the large ones


class ObjectTooLarge(ValueError):
    """An object is longer than what is wanted of it."""


def read_regular_file(path: Path, most: int) -> bytes | None:
    """Return what a regular file holds; None where there is none.

    Raises OSError where it cannot be read, ValueError where it has more than `most` bytes.
    """
    try:
        with open_regular_file(path) as file:
            parts, left = list[bytes](), most + 1
            while left and (part := file.read(left)):
                parts.append(part)
                left -= len(part)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not left:
        raise ValueError(f"{path} has more than {most} bytes")
    return b"".join(parts)


def open_regular_file(path: Path | str) -> FileIO:
    """Open a regular file: a pipe or a device would let us wait, or never end. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return FileIO(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "is not a regular file", str(path))


class ObjectStore:
    """The objects below a folder. `read` is all that callers need; files stay open until `close`."""

    def __init__(self, folder: Path, id_size: int) -> None:
        """`id_size` is that of an id in bytes: 20 for SHA-1, 32 for SHA-256."""
        self._id_size = id_size
        self._folders = tuple(_with_alternates(folder))
        self._loose_folders: dict[str, list[str]] = {}
        for one in self._folders:
            for below in one.iterdir() if one.is_dir() else ():
                self._loose_folders.setdefault(below.name, []).append(str(below))
        self._packs: tuple[_Pack, ...] | None = None
        self._files: OrderedDict[Path, FileIO] = OrderedDict()
        self._cached: dict[tuple[_Pack, int], tuple[str, bytes]] = {}
        self._cached_bytes = 0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its files."""
        self.close()

    def close(self) -> None:
        """Close the files that were read."""
        while self._files:
            self._files.popitem()[1].close()

    def read(self, oid: bytes, most: int = object_max) -> tuple[str, bytes] | None:
        """Return type and content of an object; None where it is not there.

        Raises ValueError where it is damaged, ObjectTooLarge where it has more than `most` bytes.
        """
        try:
            found = self._loose(oid, most) or self._packed(oid, most)
        except ObjectTooLarge:
            raise
        except (OSError, zlib.error, IndexError, OverflowError, MemoryError) as error:
            raise ValueError(f"object {oid.hex()} cannot be read: {error}") from error
        if found is not None and self._id(*found) != oid:
            raise ValueError(f"object {oid.hex()} is damaged: its content has another id")
        return found

    def _id(self, kind: str, data: bytes) -> bytes:
        made = hashlib.sha1(usedforsecurity=False) if self._id_size == 20 else hashlib.sha256()  # noqa: PLR2004 - of SHA-1
        made.update(b"%s %d\0" % (kind.encode(), len(data)))
        made.update(data)
        return made.digest()

    def _loose(self, oid: bytes, most: int) -> tuple[str, bytes] | None:
        name = oid.hex()
        for folder in self._loose_folders.get(name[:2], ()):
            try:
                file = open_regular_file(f"{folder}/{name[2:]}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            with file:
                unpack = zlib.decompressobj()
                head = unpack.decompress(file.read(_piece) or b"", 64)
                words, _, begin = head.partition(b"\0")
                kind, _, size = words.partition(b" ")
                if int(size) > most:
                    raise ObjectTooLarge(f"object {name} has {int(size)} bytes")
                return kind.decode(), begin + _inflate(
                    unpack, unpack.unconsumed_tail, file, int(size) - len(begin)
                )
        return None

    def _packed(self, oid: bytes, most: int) -> tuple[str, bytes] | None:
        if self._packs is None:
            self._packs = tuple(one for folder in self._folders for one in _open_packs(folder / "pack"))
        for pack in self._packs:
            offset = self._offset(pack, oid)
            if offset is not None:
                return self._entry(pack, offset, most)
        return None

    def _file(self, path: Path) -> FileIO:
        """Return an open file; the one that was used longest ago is closed where there are too many."""
        found = self._files.pop(path, None) or open_regular_file(path)
        self._files[path] = found
        if len(self._files) > _open_max:
            self._files.popitem(last=False)[1].close()
        return found

    def _offset(self, pack: "_Pack", oid: bytes) -> int | None:
        """Return where a pack has an object, as its index says."""
        file = self._file(pack.index)
        if not pack.fan:
            head = _read_at(file, 0, _fan + 8)
            pack.is_old = not head.startswith(_INDEX_2)
            pack.fan = head[:_fan] if pack.is_old else head[8:]
            if not pack.is_old and len(head) < _fan + 8:
                raise ValueError("an index of a pack is cut off")
        count = _read_number(pack.fan[-4:])
        first = oid[0]
        low = _read_number(pack.fan[4 * first - 4 : 4 * first]) if first else 0
        high = _read_number(pack.fan[4 * first : 4 * first + 4])
        # The first version has the offset before each id, the second has tables of ids, sums and offsets.
        start, step = (_fan, self._id_size + 4) if pack.is_old else (_fan + 8, self._id_size)
        skip = 4 if pack.is_old else 0
        while high - low > _scan_max:
            middle = (low + high) // 2
            here = _read_at(file, start + middle * step + skip, self._id_size)
            low, high = (middle, high) if here <= oid else (low, middle)
        ids = pack.ids.get(low)
        if ids is None:
            ids = _read_at(file, start + low * step, max(high - low, 0) * step)
            if len(pack.ids) < _ids_max:
                pack.ids[low] = ids
        at = ids.find(oid)
        while at >= 0 and (at - skip) % step:
            at = ids.find(oid, at + 1)
        if at < 0:
            return None
        number = (at - skip) // step
        if pack.is_old:
            return _read_number(ids[number * step : number * step + 4])
        sums = start + count * step
        offset = _read_number(_read_at(file, sums + (count + low + number) * 4, 4))
        if offset & _FAR:
            offset = _read_number(_read_at(file, sums + count * 8 + (offset & ~_FAR) * 8, 8))
        return offset

    def _entry(self, pack: "_Pack", offset: int, most: int) -> tuple[str, bytes]:
        """Return the object of a pack at an offset: what deltas make of the base that they lead to."""
        deltas, used, total = list[tuple[int, bytes]](), 0, 0
        while (found := self._cached.get((pack, offset))) is None:
            file = self._file(pack.path)
            data = _read_at(file, offset, _piece)
            number, size, begin = read_entry_head(data)
            limit = most if number in PACKED and not deltas else object_max
            if size > limit or used + size > object_max:
                raise ObjectTooLarge(f"an object of {pack.path.name} has {size} bytes")
            base = offset
            if number == OFFSET_DELTA:
                distance, begin = read_base_distance(data, begin)
                base = offset - distance
            elif number == NAMED_DELTA:
                named = self._offset(pack, data[begin : begin + self._id_size])
                if named is None:
                    raise ValueError("a delta is of an object that its pack does not have")
                base, begin = named, begin + self._id_size
                file = self._file(pack.path)
            file.seek(offset + len(data))
            content = _inflate(zlib.decompressobj(), data[begin:], file, size)
            if number in PACKED:
                found = PACKED[number], content
                self._cache(pack, offset, found)
                break
            if number not in (OFFSET_DELTA, NAMED_DELTA) or base < 0 or len(deltas) == _chain_max:
                raise ValueError("an entry of a pack cannot be read")
            made = read_result_size(content)
            total += made
            if made > (object_max if deltas else most) or total > _made_max:
                raise ObjectTooLarge(f"an object of {pack.path.name} has {made} bytes")
            deltas.append((offset, content))
            used, offset = used + size, base
        kind, content = found
        for at, delta in reversed(deltas):
            content = apply_delta(content, delta)
            self._cache(pack, at, (kind, content))
        if len(content) > most:
            raise ObjectTooLarge(f"an object of {pack.path.name} has {len(content)} bytes")
        return kind, content

    def _cache(self, pack: "_Pack", offset: int, found: tuple[str, bytes]) -> None:
        """Keep what other objects may be made of."""
        size = len(found[1])
        if self._cached_bytes + size > _cached_max:
            self._cached.clear()
            self._cached_bytes = 0
        if size <= _cached_max:
            self._cached[pack, offset] = found
            self._cached_bytes += size


class _Pack:
    """A pack and its index, of which the beginning is kept."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.path = index.with_suffix(".pack")
        self.fan = b""
        self.ids: dict[int, bytes] = {}
        self.is_old = False


def _open_packs(folder: Path) -> Iterator[_Pack]:
    """Yield the packs of a folder, the newest first: there most is found."""
    try:
        found = [
            (one.stat().st_mtime_ns, one.name) for one in os.scandir(folder) if one.name.endswith(".idx")
        ]
    except OSError:
        return
    for _, name in sorted(found, reverse=True):
        yield _Pack(folder / name)


def _with_alternates(folder: Path) -> Iterator[Path]:
    """Yield a folder of objects and those that it borrows from, each once."""
    left, seen = [folder], set[str]()
    while left and len(seen) < _stores_max:
        one = left.pop(0)
        real = os.path.realpath(one)
        if real in seen:
            continue
        seen.add(real)
        yield one
        lines = (read_regular_file(one / "info" / "alternates", 64 * 1024) or b"").split(b"\n")
        wanted = (line for line in lines if line and not line.startswith(b"#") and b"\0" not in line)
        left += (one / os.fsdecode(line) for line in wanted)


def _read_at(file: FileIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size) or b""


def _read_number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _inflate(unpack: "zlib._Decompress", data: bytes, file: FileIO, size: int) -> bytes:
    """Return the next `size` bytes that are packed in `data` and what follows it in the file, and no more."""
    parts, left = list[bytes](), size
    while left > 0:
        part = unpack.decompress(data, left)
        parts.append(part)
        left -= len(part)
        data = unpack.unconsumed_tail
        if unpack.eof or (not data and not part and not (data := file.read(_piece) or b"")):
            break
        data = data or (file.read(16 * _piece) or b"" if left else b"")
    if left:
        raise ValueError("an object is cut off")
    return b"".join(parts)
