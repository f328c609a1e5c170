"""What is kept between runs, by name: in the cache of this project, and in the store where machines share it.

    read     the project's cache; where that has nothing, as on a fresh machine, what the store keeps
    write    both

All of it can be done without: whatever the store cannot read or write, as for a user who may only read, is
not kept there, and nothing is said. Both copies are believed by the seal alone (private_cache.py).
"""

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from reconciler.errors import StoreError
from reconciler.private_cache import ListCache
from reconciler.store.shared_files import SharedFiles


class KeptFiles:
    """The files of one project and account.

    `account` stands for the credentials: what one may see of the service is not kept in the place of what
    another one sees. `shared` is None where the store is not shared.
    """

    def __init__(self, files: ListCache, shared: SharedFiles | None, *, account: str) -> None:
        self._files = files
        self._shared = shared
        self._account = account

    @property
    def seals(self) -> dict[str, bytes]:
        """The seals of what was read and written here, by name."""
        return self._files.seals

    def read(self, name: str) -> bytes | None:
        """Return what was kept under a name; None where that is nothing, or not what we wrote."""
        data = self._files.read(name)
        if data is None and self._shared is not None:
            with suppress(StoreError):
                return self._read_shared(self._shared, name)
        return data

    def _read_shared(self, shared: SharedFiles, name: str) -> bytes | None:
        """Return what the store keeps under a name, from now on in the project's cache too; else None."""
        shared_name = self._shared_name(name)
        found = shared.read(shared_name)
        if found is not None and self._files.adopt(name, found.seal, found.data):
            return found.data
        if shared.seal(shared_name):
            shared.remove(shared_name)  # damaged: parts that are as they should be are not sent again
        return None

    def seal(self, name: str) -> bytes:
        """Return the seal of what is kept under a name, the rest unseen; b"" where that is nothing."""
        seal = self._files.seal(name)
        if not seal and self._shared is not None:
            with suppress(StoreError):
                return self._shared.seal(self._shared_name(name))
        return seal

    def write(self, name: str, data: Sequence[bytes | memoryview] | None) -> None:
        """Keep these, one behind the other, under a name; None: nothing."""
        self._files.write(name, data)
        if self._shared is None:
            return
        shared_name = self._shared_name(name)
        with suppress(StoreError):
            if data is None:
                self._shared.remove(shared_name)
            else:
                seal = self.seals.get(name) or self._files.make_seal(name, data)
                self._shared.write(shared_name, seal, data)

    def _shared_name(self, name: str) -> str:
        return sha256(f"{self._account}\n{name}".encode()).hexdigest()[:32]
