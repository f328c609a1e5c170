"""Files that a run has read, by digests of just the bytes that were read: what is compared with a commit."""

from msgspec import Struct


class BlobIds(Struct, frozen=True):
    """The ids that git would give to a content, in its two formats of objects."""

    sha1: bytes
    sha256: bytes

    def fits(self, oid: bytes) -> bool:
        """Whether an object of this id has just this content."""
        return oid in (self.sha1, self.sha256)


class InputFile(Struct, frozen=True):
    """One file, or one link on the way to one, whose content is then the path that it leads to.

    `path` is absolute; `digest` the SHA-256 of the bytes alone. `unix` are the ids with the line ends of
    Unix, None where there are no others. `text`: git takes it for a text where nothing says what it is.
    """

    path: str
    size: int
    digest: bytes
    blob: BlobIds
    unix: BlobIds | None = None
    text: bool = True
    link: bool = False


class Inputs(Struct, frozen=True):
    """What a run was made of: the files that it read, and where it looked for manifests (absolute paths).

    `settings` is the file of the settings, "" where there is none; `generated` are patterns of paths below
    its folder `root` that it says are made by an earlier step.
    """

    files: tuple[InputFile, ...] = ()
    sources: tuple[str, ...] = ()
    root: str = ""
    settings: str = ""
    generated: tuple[str, ...] = ()


class InputDifference(Struct, frozen=True, order=True):
    """A file that was read, or should have been, and is not as in the commit; `why` ends a sentence of it."""

    path: str
    why: str
