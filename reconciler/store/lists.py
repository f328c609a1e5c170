"""Files of what lists showed, below `.reconciler/cache/lists/`: private, whole, sealed, and never needed.

    <digest>.list    the seal (32 octets), then what was kept

Belongs here: where they lie, reading and writing them whole. Not here: what is in them (work/remembering.py).
Nothing here fails: a file that is gone, damaged, a link, of another store or not ours to write was not
remembered. The seal is keyed by the store's salt, so nothing that somebody without it wrote is believed.
"""

import hashlib
import hmac
import os
import stat
from contextlib import suppress
from pathlib import Path

from reconciler.store.folder import NAME, make_private

octets_max = 1024 * 1024 * 1024  # of one file; a list of a million rows has some 400 MB

_seal_octets = 32
_on_the_way = ("cache", "lists")  # folders below that of the store


class KeptLists:
    """The lists of a project whose settings lie in `root`; `salt` is that of its store."""

    def __init__(self, root: Path, salt: str) -> None:
        self._home = root / NAME
        self._key = hashlib.blake2b(salt.encode(), person=b"reconciler.list").digest()
        self.seals: dict[str, bytes] = {}  # of what was read and written here, by name

    def read(self, name: str) -> bytes | None:
        """Return what was kept under a name; None where that is nothing, or not what we wrote."""
        self.seals.pop(name, None)
        seal, data = self._taken(name, octets_max)
        if not hmac.compare_digest(seal, self._seal(name, data)):
            return None
        self.seals[name] = seal
        return data

    def seal(self, name: str) -> bytes:
        """Return the seal of what is kept under a name, the rest unseen; b"" where that is nothing.

        The same seal stood on the same octets: what was read or written with it is kept still.
        """
        return self._taken(name, 0)[0]

    def _taken(self, name: str, most: int) -> tuple[bytes, bytes]:
        """Return a file's seal, and at most so many octets behind it; nothing where it is not such a file."""
        try:
            if not all(_is_folder(one) for one in self._folders()):
                return b"", b""
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(self._place(name), flags), "rb") as file:
                about = os.fstat(file.fileno())
                if not stat.S_ISREG(about.st_mode) or not _seal_octets < about.st_size <= octets_max:
                    return b"", b""
                # As much is set aside at once, so not the limit itself; what is added meanwhile is not ours.
                return file.read(_seal_octets), file.read(min(most, about.st_size - _seal_octets))
        except OSError:
            return b"", b""

    def write(self, name: str, data: bytes | None) -> None:
        """Keep this under a name, for nobody else to read; None: nothing."""
        # Not durable on purpose: what a crash leaves half is no list, and it costs a scan.
        self.seals.pop(name, None)
        with suppress(OSError):
            place = self._place(name)
            if data is None:
                place.unlink(missing_ok=True)
            elif self._made():
                for left in place.parent.glob(f"{place.stem}.*.part"):  # of a process that was killed
                    left.unlink(missing_ok=True)
                unfinished = place.with_suffix(f".{os.getpid()}.part")
                try:
                    seal = self._seal(name, data)
                    _put(unfinished, seal, data)
                    unfinished.replace(place)
                    self.seals[name] = seal
                finally:
                    unfinished.unlink(missing_ok=True)

    def _made(self) -> bool:
        """Whether the folder is there, made where it was not, and all of the way to it is ours."""
        make_private(self._home)
        for folder in self._folders():
            if not folder.exists():
                folder.mkdir(mode=0o700)
            if not _is_folder(folder):
                return False
        return True

    def _folders(self) -> tuple[Path, ...]:
        first, second = _on_the_way
        return self._home, self._home / first, self._home / first / second

    def _place(self, name: str) -> Path:
        return self._home.joinpath(*_on_the_way, f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.list")

    def _seal(self, name: str, data: bytes) -> bytes:
        digest = hashlib.blake2b(key=self._key, digest_size=_seal_octets)
        digest.update(hashlib.sha256(name.encode()).digest())
        digest.update(data)
        return digest.digest()


def _put(place: Path, *parts: bytes) -> None:
    place.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
        for part in parts:
            file.write(part)


def _is_folder(path: Path) -> bool:
    """Whether it is a folder itself, and not a link to one."""
    return stat.S_ISDIR(path.lstat().st_mode)
