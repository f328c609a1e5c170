"""Whether the bytes that a run read are those of a commit: git's ids, computed here, and git's line ends.

Pure functions of bytes and of what git says of its tree. Only line ends are converted. Every other filter is
a command or a key, so what is behind one counts as another content; a file of git-lfs alone is known by the
pointer in the commit.

Source: git, Documentation/gitattributes.txt (text, eol) and convert.c; git-lfs, docs/spec.md.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from reconciler.model.documents import BlobIds, InputDifference, InputFile

_AT_ONCE = 1024 * 1024  # bytes that are hashed at once: of a large file there is no second copy
POINTER_MAX = 1024  # bytes of a pointer of git-lfs
_POINTER = re.compile(
    rb"version https?://[^\n]+\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize ([0-9]+)\n\Z"
)
LINK, MODULE = "120000", "160000"  # modes of git: a symbolic link, the commit of a submodule


class TreeEntry(Struct, frozen=True):
    """What a commit has at a path."""

    mode: str
    oid: bytes


class Attributes(Struct, frozen=True):
    """What git says of the line ends of a path; each is as `git check-attr` writes it."""

    text: str = "unspecified"
    eol: str = "unspecified"
    crlf: str = "unspecified"  # the older name of `text`


def make_input_file(path: str, data: bytes, *, link: bool = False) -> InputFile:
    """Return what is remembered of a file with these bytes."""
    view = memoryview(data)
    starts = range(0, len(data), _AT_ONCE)
    return make_input_file_from_parts(
        path, lambda: (bytes(view[at : at + _AT_ONCE]) for at in starts), len(data), link=link
    )


def make_input_file_from_parts(
    path: str, read: Callable[[], Iterable[bytes]], size: int, *, link: bool = False
) -> InputFile:
    """Return the same of a file of this size in bytes; each `read` yields it from its beginning."""
    digest, ends, returns, last, binary = hashlib.sha256(), 0, 0, b"", False

    def watched() -> Iterator[bytes]:
        nonlocal ends, returns, last, binary
        for part in read():
            digest.update(part)
            ends += part.count(b"\r\n") + (last == b"\r" and part[:1] == b"\n")
            returns += part.count(b"\r")
            binary = binary or b"\0" in part
            last = part[-1:]
            yield part

    blob = compute_blob_ids(watched(), size)
    unix = compute_blob_ids(convert_to_unix_ends(read()), size - ends) if ends else None
    text = not binary and returns == ends
    return InputFile(path, size, digest.digest(), blob, unix, text=text, link=link)


def compute_blob_ids(parts: Iterable[bytes], size: int) -> BlobIds:
    """Return the ids of a content of this size in bytes."""
    made = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    for one in made:
        one.update(b"blob %d\0" % size)
    for part in parts:
        for one in made:
            one.update(part)
    return BlobIds(*(one.digest() for one in made))


def convert_to_unix_ends(parts: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield a content with "\n" in the place of "\r\n", though one may stand across two parts."""
    held = b""
    for part in parts:
        whole = held + part
        held = b"\r" if whole.endswith(b"\r") else b""
        yield whole[: len(whole) - len(held)].replace(b"\r\n", b"\n")
    yield held


def why_not_committed(file: InputFile, entry: TreeEntry | None) -> str:
    """Return why a file is not what the commit has at its path, or ""; line ends are not converted."""
    if entry is None:
        return "is in no commit"
    if file.link != (entry.mode == LINK):
        return (
            "is a symbolic link in one of the two" if entry.mode != MODULE else "is a submodule in the commit"
        )
    return "" if file.blob.fits(entry.oid) else "differs from the commit"


def matches_with_unix_ends(file: InputFile, entry: TreeEntry) -> bool:
    """Whether a file is what the commit has, but for the line ends of Windows."""
    return not file.link and file.unix is not None and file.unix.fits(entry.oid)


def converts_ends(found: Attributes, autocrlf: str, *, text: bool) -> bool:
    """Whether git would write the line ends of a file as those of Unix into a commit.

    `autocrlf` is the setting core.autocrlf; `text`: the file looks like a text.
    """
    said = found.text if found.text != "unspecified" else _CRLF.get(found.crlf, found.crlf)
    if said == "unspecified" and found.eol in ("lf", "crlf"):
        said = "set"
    if said == "unspecified":
        said = "auto" if autocrlf.lower() in ("true", "yes", "on", "1", "input") else "unset"
    return said == "set" or (said == "auto" and text)


_CRLF = {"set": "set", "unset": "unset", "input": "set"}


def is_pointer_to(pointer: bytes, file: InputFile) -> bool:
    """Whether the commit has the pointer of git-lfs that names just these bytes."""
    found = _POINTER.match(pointer)
    return (
        found is not None and bytes.fromhex(found[1].decode()) == file.digest and int(found[2]) == file.size
    )


def find_unread_manifests(
    tree: Mapping[str, TreeEntry], sources: Sequence[str], read: Iterable[str], suffixes: Sequence[str]
) -> Iterator[InputDifference]:
    """Yield each manifest of the commit below the sources that was not read: its people would look removed.

    All paths begin at the folder of the repository; "" is that folder.
    """
    known = set(read)
    for path, entry in tree.items():
        is_one = entry.mode != MODULE and path.lower().endswith(tuple(suffixes)) and path not in known
        if is_one and any(is_below_source(path, source) for source in sources):
            yield InputDifference(path, "is in the commit, and was not there to be read")


def is_below_source(path: str, source: str) -> bool:
    """Whether a path is one of the sources or below one, and no part of it begins with a dot."""
    if path == source:
        return True
    below = path if not source else path.removeprefix(f"{source}/") if path.startswith(f"{source}/") else "."
    return not any(part.startswith(".") for part in below.split("/"))


def is_generated(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path fits one of the patterns: `*` is a part of a name, `**` any number of folders."""
    return any(_compile_pattern(pattern).fullmatch(path) for pattern in patterns)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(_GLOB.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)


_GLOB = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def without_generated(
    found: Iterable[InputDifference], *, settings: str, patterns: Sequence[str]
) -> tuple[InputDifference, ...]:
    """Return what is not as in the commit and not said to be made by an earlier step, in the order of paths.

    The settings say so, and count only as they are committed: where they differ, nothing is taken out.
    """
    every = tuple(sorted(set(found)))
    if any(one.path == settings for one in every):
        return every
    return tuple(one for one in every if not is_generated(one.path, patterns))
