"""Trees, and the pieces of a pack, as git writes them. Nothing here reads a file.

Source: git, Documentation/gitformat-pack.txt; what is damaged raises ValueError.
"""

import re
from collections.abc import Iterator

COMMIT, TREE, BLOB, TAG = "commit", "tree", "blob", "tag"
# Types of the entries of a pack, by number; the last two are told as changes of another object.
PACKED = {1: COMMIT, 2: TREE, 3: BLOB, 4: TAG}
OFFSET_DELTA, NAMED_DELTA = 6, 7
FOLDER = "040000"  # the mode of a tree in a tree
_MODES = {b"40000": FOLDER, b"100644": "100644"}
_ENTRIES = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)
}  # by the size of an id
_COPY = 0x80
_varint_max = 10  # bytes of a number: 64 bits fit
_copy_max = 0x10000  # bytes, where a copy has no size


def tree_entries(data: bytes, id_size: int) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield mode, name and id of each entry of a tree."""
    at = 0
    for found in _ENTRIES[id_size].finditer(data):
        if found.start() != at:
            break
        at = found.end()
        mode, name, oid = found.groups()
        yield _MODES.get(mode) or mode.decode(), name, oid
    if at != len(data):
        raise ValueError("a tree has an entry that cannot be read")


def tree_of(commit: bytes) -> bytes:
    """Return the id of the tree of a commit."""
    head, _, rest = commit.partition(b"\n")
    if not head.startswith(b"tree ") or not rest:
        raise ValueError("a commit names no tree")
    return bytes.fromhex(head[5:].decode("ascii"))


def entry_head(data: bytes) -> tuple[int, int, int]:
    """Return type, size and where the content begins, of an entry of a pack that begins here."""
    one = data[0]
    rest, at = _varint(data, 1) if one & _COPY else (0, 1)
    return one >> 4 & 7, rest << 4 | one & 15, at


def base_distance(data: bytes, at: int) -> tuple[int, int]:
    """Return how far before its own beginning the base of an entry begins, and where the content begins."""
    one = data[at]
    found, at = one & 0x7F, at + 1
    while one & _COPY:
        one = data[at]
        found, at = (found + 1) << 7 | one & 0x7F, at + 1
    return found, at


def result_size(delta: bytes) -> int:
    """Return how long the object is that a delta makes, in bytes."""
    return _varint(delta, _varint(delta, 0)[1])[0]


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return the object that a delta makes of its base."""
    base_size, at = _varint(delta, 0)
    size, at = _varint(delta, at)
    if base_size != len(base):
        raise ValueError("a delta is of another object")
    parts, made = list[bytes](), 0
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & _COPY:
            start = length = 0
            for bit in range(4):
                if code >> bit & 1:
                    start |= delta[at] << 8 * bit
                    at += 1
            for bit in range(3):
                if code >> (4 + bit) & 1:
                    length |= delta[at] << 8 * bit
                    at += 1
            part = base[start : start + (length or _copy_max)]
        elif code:
            part = delta[at : at + code]
            at += code
        else:
            raise ValueError("a delta has a command that is reserved")
        made += len(part)
        if made > size:
            break
        parts.append(part)
    if made != size:
        raise ValueError("a delta makes an object of another size")
    return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for number in range(_varint_max):
        one = data[at + number]
        found |= (one & 0x7F) << 7 * number
        if not one & _COPY:
            return found, at + number + 1
    raise ValueError("a number has too many digits")
