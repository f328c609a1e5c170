"""Which files a load has read, by what they held: to be compared with the commit that a run names.

What counts are the bytes that were read. A second read of the same file could be of other ones.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from reconciler.core.runs.committed import input_file, input_in_parts
from reconciler.model.inputs import BlobIds, InputFile

_AT_ONCE = 1024 * 1024  # bytes


class ReadLog:
    """The files of one load, each once for each content. Outside of a git repository nothing is computed."""

    def __init__(self, root: Path) -> None:
        """`root` is the folder of the settings, resolved."""
        self._root = root
        self._wanted = is_in_repository(root)
        self._files: dict[tuple[str, bytes], InputFile] = {}

    @property
    def files(self) -> tuple[InputFile, ...]:
        """What was read so far."""
        return tuple(self._files.values())

    def note(self, path: Path, data: bytes) -> None:
        """Remember a file with the bytes that were read of it."""
        if self._wanted:
            self._keep(input_file(str(path), data))

    def note_open(self, path: Path, handle: int, size: int, digest: bytes) -> None:
        """Remember a file that was read in parts, from its descriptor; size and digest are of what was read.

        It is read once more. Where it is another one by now, nothing is known of what was read, and it is no
        file of any commit.
        """
        if not self._wanted:
            return
        found = input_in_parts(str(path), lambda: _parts_of(handle), size)
        self._keep(found if found.digest == digest else InputFile(str(path), 0, digest, BlobIds(b"", b"")))

    def note_links(self, path: Path) -> None:
        """Remember each link on the way to a path below the root: it decides which file is read."""
        if not self._wanted or not path.is_relative_to(self._root):
            return
        at = self._root
        for part in path.relative_to(self._root).parts:
            at = at / part
            if at.is_symlink():
                target = os.fsencode(at.readlink())
                self._keep(input_file(str(at), target, link=True))

    def _keep(self, file: InputFile) -> None:
        self._files[file.path, file.digest] = file


def _parts_of(handle: int) -> Iterator[bytes]:
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, _AT_ONCE):
        yield part


def is_in_repository(folder: Path) -> bool:
    """Whether git would look for a repository here."""
    return any(os.path.lexists(one / ".git") for one in (folder, *folder.parents))
