"""The private folder of a project, `.reconciler`, and the cache below it that every command can do without.

    .reconciler/                  the store, inboxes, and the cache; mode 0700, and ignored by git
    .reconciler/cache/            files that only this account can have written (ownership.py)
    .reconciler/cache/lists/      what lists of the service showed: `ListCache`

What is in there is people's data, and belongs in no commit.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from reconciler.ownership import Folder

STATE_FOLDER = ".reconciler"  # the one that the settings' defaults name
CACHE_FOLDER = "cache"

_GITIGNORE = "*\n"  # git takes nothing of this folder, this file included


def make_private_folder(folder: Path) -> None:
    """Make the folder with mode 0700 whatever the umask; an older one keeps its rights. Raises OSError.

    Ours is also kept out of git: `git add` of everything would commit the store. A .gitignore that is there
    already is left as it is, and where none can be written nothing fails.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    if folder.name == STATE_FOLDER:
        with suppress(OSError):
            # Closed to others as all that lies here is: no exception to know about.
            descriptor = os.open(folder / ".gitignore", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, 0o600)  # whatever the umask is
                file.write(_GITIGNORE)


class CacheFolder(Folder):
    """The cache of the project whose settings lie in `root`, or a folder below it.

    A file that is gone, damaged, a link, or that another account can have written reads as no file, and one
    that cannot be written is not: nothing here raises.
    """

    def __init__(self, root: Path, *parts: str) -> None:
        super().__init__(root, (STATE_FOLDER, CACHE_FOLDER, *parts))
        self._state_folder = root / STATE_FOLDER

    def write(self, name: str, pieces: Iterable[bytes | memoryview], *, once: bool = False) -> bool:
        """Write a file as `Folder.write` does, in a state folder that is private and out of git's sight."""
        with suppress(OSError):
            make_private_folder(self._state_folder)
            return super().write(name, pieces, once=once)
        return False


# --- What lists showed ------------------------------------------------------------------------------------
#
#     <digest>.list    the seal (32 bytes), then the content
#
# What the content is: engine/lists.py. The seal is keyed by the store's salt: it shows of which store a
# list is, and proves nothing about its writer, for every plan reads the salt.

list_bytes_max = 1024 * 1024 * 1024  # of one file; a list of a million rows has some 400 MB
_seal_bytes = 32
_LISTS = "lists"


class ListCache:
    """The lists of a project whose settings lie in `root`; `salt` is that of its store."""

    def __init__(self, root: Path, salt: str) -> None:
        self._folder = CacheFolder(root, _LISTS)
        self._key = hashlib.blake2b(salt.encode(), person=b"reconciler.list").digest()
        self.seals: dict[str, bytes] = {}  # of what was read and written here, by name

    def read(self, name: str) -> bytes | None:
        """Return what was kept under a name; None where that is nothing, or not what we wrote."""
        self.seals.pop(name, None)
        seal, data = self._taken(name, list_bytes_max)
        if not hmac.compare_digest(seal, self.make_seal(name, (data,))):
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
        place = _list_file_name(name)
        with (
            suppress(OSError, ValueError),
            self._folder.open_file(place, bytes_max=list_bytes_max) as (file, size),
        ):
            if size > _seal_bytes:
                # As much is set aside at once, so not the limit itself; what is added meanwhile is not ours.
                return file.read(_seal_bytes), file.read(min(most, size - _seal_bytes))
        return b"", b""

    def write(self, name: str, data: Sequence[bytes | memoryview] | None) -> None:
        """Keep these, one behind the other, under a name, readable by this account alone; None: remove it."""
        # Not durable on purpose: what a crash leaves half is no list, and it costs a scan.
        self.seals.pop(name, None)
        place = _list_file_name(name)
        if data is None:
            self._folder.remove(place)
            return
        # Of a process that was killed; the second form is that of earlier versions.
        stem = place.removesuffix(".list")
        unfinished = re.compile(rf"\.{stem}\.list\.[0-9a-f]+|{stem}\.[0-9]+\.part")
        self._folder.clear(unfinished, now_s=time.time(), old_s=0)
        seal = self.make_seal(name, data)
        if self._folder.write(place, (seal, *data)):
            self.seals[name] = seal

    def adopt(self, name: str, seal: bytes, data: bytes) -> bool:
        """Keep what somebody with the same salt sealed elsewhere; False where the seal is not that of it."""
        if not hmac.compare_digest(seal, self.make_seal(name, (data,))):
            return False
        self.write(name, (data,))
        self.seals[name] = seal  # also where nothing can be written here
        return True

    def make_seal(self, name: str, data: Iterable[bytes | memoryview]) -> bytes:
        """Return the seal of these, one behind the other, under a name."""
        digest = hashlib.blake2b(key=self._key, digest_size=_seal_bytes)
        digest.update(hashlib.sha256(name.encode()).digest())
        for piece in data:
            digest.update(piece)
        return digest.digest()


def find_cache_fault(root: Path) -> tuple[str, str] | None:
    """Return which folder of a project's cache is not ours alone, and why; None where nothing is wrong."""
    return CacheFolder(root, _LISTS).fault()


def _list_file_name(name: str) -> str:
    return f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.list"


# --- The key of the account that seals cached manifests, in its home and never in a project ---------
#
# A project's folder comes and goes: a CI server restores it from what another job left, a colleague sends it,
# a backup holds it. The writer of such a folder must not decide what reviewed manifests mean, so what proves
# an entry is not in there. Nothing else is sealed with this key, and whoever can read it is this account, or
# root.


CACHE_KEY_NAME = "cache.key"
_KEY_BYTES = 32
_KEY_FOLDER = "reconciler"


def read_cache_key(
    environ: Mapping[str, str], *, make: bool, chance: Callable[[int], bytes] = secrets.token_bytes
) -> bytes | None:
    """Return the key of this account, made where `make` says so; None where there is none."""
    state = find_state_folder(environ)
    if state is None:
        return None
    folder = Folder(state, (_KEY_FOLDER,))
    found = folder.read(CACHE_KEY_NAME, bytes_max=_KEY_BYTES)
    if found is None and make:
        try:
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return None
        folder.write(CACHE_KEY_NAME, [chance(_KEY_BYTES)], once=True)
        found = folder.read(CACHE_KEY_NAME, bytes_max=_KEY_BYTES)
    return found if found is not None and len(found) == _KEY_BYTES else None


def find_state_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder for what programs keep between runs, by the XDG base directory specification."""
    for name, below in (("XDG_STATE_HOME", ()), ("HOME", (".local", "state"))):
        path = Path(environ.get(name, ""))
        if path.is_absolute() and "\0" not in str(path):
            return path.joinpath(*below)
    return None
