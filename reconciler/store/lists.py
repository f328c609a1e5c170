"""Files of what lists showed, below `.reconciler/cache/lists/`: private, whole, sealed, and never needed.

    <digest>.list    the seal (32 octets), then what was kept

Belongs here: where they lie, reading and writing them whole. Not here: what is in them (work/remembering.py).
Nothing here fails: a file that is gone, damaged, a link, of another store, or that another account can have
written was not remembered (ownership.py). The seal is keyed by the store's salt: it tells of which store a
list is, and proves nothing about who wrote it, for everybody who plans reads the salt.
"""

import hashlib
import hmac
import re
import time
from contextlib import suppress
from pathlib import Path

from reconciler.ownership import Folder
from reconciler.store.folder import NAME, make_private

octets_max = 1024 * 1024 * 1024  # of one file; a list of a million rows has some 400 MB

_seal_octets = 32
_ON_THE_WAY = (NAME, "cache", "lists")  # folders below that of the settings


class KeptLists:
    """The lists of a project whose settings lie in `root`; `salt` is that of its store."""

    def __init__(self, root: Path, salt: str) -> None:
        self._home = root / NAME
        self._folder = Folder(root, _ON_THE_WAY)
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
        place = _file_of(name)
        with (
            suppress(OSError, ValueError),
            self._folder.open_file(place, bytes_max=octets_max) as (file, size),
        ):
            if size > _seal_octets:
                # As much is set aside at once, so not the limit itself; what is added meanwhile is not ours.
                return file.read(_seal_octets), file.read(min(most, size - _seal_octets))
        return b"", b""

    def write(self, name: str, data: bytes | None) -> None:
        """Keep this under a name, for nobody else to read; None: nothing."""
        # Not durable on purpose: what a crash leaves half is no list, and it costs a scan.
        self.seals.pop(name, None)
        place = _file_of(name)
        if data is None:
            self._folder.remove(place)
            return
        with suppress(OSError):
            make_private(self._home)
            # Of a process that was killed; the second form is that of earlier versions.
            stem = place.removesuffix(".list")
            unfinished = re.compile(rf"\.{stem}\.list\.[0-9a-f]+|{stem}\.[0-9]+\.part")
            self._folder.clear(unfinished, now_s=time.time(), old_s=0)
            seal = self._seal(name, data)
            if self._folder.write(place, (seal, data)):
                self.seals[name] = seal

    def _seal(self, name: str, data: bytes) -> bytes:
        digest = hashlib.blake2b(key=self._key, digest_size=_seal_octets)
        digest.update(hashlib.sha256(name.encode()).digest())
        digest.update(data)
        return digest.digest()


def find_cache_fault(root: Path) -> tuple[str, str] | None:
    """Which folder of a project's cache is not ours alone, and why; None where nothing is wrong with it."""
    return Folder(root, _ON_THE_WAY).fault()


def _file_of(name: str) -> str:
    return f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.list"
