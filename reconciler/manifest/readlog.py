"""Which files a load has read, by what they held: to be compared with the commit that a run names.

What counts are the bytes that were read. A second read of the same file could be of other ones.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from reconciler.core.runs.committed import input_file, input_in_parts
from reconciler.model.documents import BlobIds, InputFile

_AT_ONCE = 1024 * 1024  # bytes
_links_max = 40  # on the way to one file, as Linux has it


class ReadLog:
    """The files of one load, each once for each content. Outside of a git repository nothing is computed."""

    def __init__(self, root: Path) -> None:
        """`root` is the folder of the settings, resolved."""
        self._top = next((one for one in (root, *root.parents) if os.path.lexists(one / ".git")), None)
        self._wanted = self._top is not None
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
        """Remember each link of the repository on the way to an absolute path: it decides which file is read.

        A link may lead to another one, and a folder on the way may be one. Links outside are of the machine.
        """
        if self._top is None:
            return
        at, left, links = Path(path.anchor), [*path.parts[1:]][::-1], 0
        while left and links < _links_max:
            part = left.pop()
            if part == os.pardir:
                at = at.parent
                continue
            here = at / part
            try:
                target = here.readlink()
            except (OSError, ValueError):  # no link, or nothing at all
                at = here
                continue
            links += 1
            if here.is_relative_to(self._top):
                self._keep(input_file(str(here), os.fsencode(target), link=True))
            if target.is_absolute():
                at = Path(target.anchor)
            left += [one for one in target.parts if one != target.anchor][::-1]

    def _keep(self, file: InputFile) -> None:
        self._files[file.path, file.digest] = file


def _parts_of(handle: int) -> Iterator[bytes]:
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, _AT_ONCE):
        yield part


def is_in_repository(folder: Path) -> bool:
    """Whether git would look for a repository here."""
    return any(os.path.lexists(one / ".git") for one in (folder, *folder.parents))
