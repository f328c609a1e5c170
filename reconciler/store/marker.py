"""The marker beside a store's file: that there was a store here, which one, and how far it had come.

    store.db       the store; every commit that changes a row raises its generation (`PRAGMA user_version`)
    store.db.id    the marker: the store's id, and the generation of the last commit, as far as it is known

A missing or empty file looks like a store that nobody has made yet. With a marker beside it, it is a store
that was lost. The store commits first and the marker follows, so a marker that is ahead tells of commits
which the store does not hold: an older copy was put back. A marker that is behind says nothing.

Only the file is here: what follows from it is said in sqlite.py.
"""

import errno
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

import msgspec

from reconciler.database_urls import MARKER_ENDING
from reconciler.errors import StoreError

_id_digits = 32  # of a SHA-256: enough to tell stores apart, and nothing of the salt can be found out
_generation_digits = 12  # always as many, so that a marker is overwritten in its place
_size_max = 4096  # octets; ours has about a hundred


class Marker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file says. `generation` is a number with leading zeros."""

    version: int
    id: str
    generation: str

    @property
    def number(self) -> int:
        """The generation; -1 where it is no number."""
        return int(self.generation) if self.generation.isascii() and self.generation.isdigit() else -1


def marker_of(path: Path) -> Path:
    """Return where the marker of a store's file lies."""
    return path.with_name(path.name + MARKER_ENDING)


def store_id(salt: str) -> str:
    """Return the id of the store with this salt, which is not told by it."""
    return sha256(b"reconciler store\0" + salt.encode()).hexdigest()[:_id_digits]


def is_marked(path: Path) -> bool:
    """Whether there is a marker, readable or not. Raises StoreError where that cannot be seen."""
    try:
        marker_of(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unusable_marker(path, error) from error
    return True


def read_marker(path: Path) -> Marker | None:
    """Return what the marker says; None where there is none, or none that can be read."""
    try:
        with os.fdopen(_open_marker(path, os.O_RDONLY), "rb") as file:
            text = file.read(_size_max)
    except OSError:  # somebody who may only read the store may not be able to read the marker
        return None
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(text, type=Marker)
        if found.number >= 0:
            return found
    return None


def write_marker(path: Path, salt: str, generation: int) -> None:
    """Write the marker, private, and durable when this returns. Raises StoreError."""
    place = marker_of(path)
    try:
        descriptor, unfinished = mkstemp(prefix=f"{place.name}.", dir=place.parent)  # 0600
        try:
            os.write(descriptor, _encode_marker(salt, generation))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        Path(unfinished).chmod(0o600)  # whatever the umask is
        Path(unfinished).replace(place)
        _sync_folder(place.parent)
    except OSError as error:
        raise _unusable_marker(path, error) from error


def update_marker(path: Path, salt: str, generation: int) -> None:
    """Let the marker say how far the store has come; it need not be durable, a marker may be behind.

    One that is gone, or is no marker, is made again. Raises StoreError.
    """
    text = _encode_marker(salt, generation)
    try:
        descriptor = _open_marker(path, os.O_WRONLY)
        try:
            whole = os.fstat(descriptor).st_size == len(text) and os.write(descriptor, text) == len(text)
        finally:
            os.close(descriptor)
    except OSError:
        whole = False
    if not whole:
        write_marker(path, salt, generation)


def _open_marker(path: Path, access: int) -> int:
    """Return a descriptor of the marker, which is a file of its own. Raises OSError.

    Whoever may write in the folder of a store could lead a name there to another file of ours, or to a pipe.
    """
    links = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(marker_of(path), access | links)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it is not a file of its own")
    return descriptor


def _encode_marker(salt: str, generation: int) -> bytes:
    said = Marker(1, store_id(salt), f"{generation:0{_generation_digits}d}")
    return msgspec.json.encode(said) + b"\n"


def _sync_folder(folder: Path) -> None:
    # The name is durable only when its folder is. Windows has no way to ask for it, and does it by itself.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable_marker(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the store {path}: its marker {marker_of(path).name} cannot be used: {error.strerror}.",
        next="check the rights of that file and its folder, and that the disk has room",
    )
