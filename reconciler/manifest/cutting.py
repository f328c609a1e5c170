r"""The text of a manifest or a CSV roster as entries, and what is left where the text of most is known.

An entry whose text was read before, in the same place of the same surroundings, is not parsed again: its
lines are blanked, and the one parser reads the rest, so that every line has the number that it has in the
file. Nothing here reads YAML or CSV by itself. Whether a cut was right is proved by the parser:

- Where a run of entries is blanked stands `KEY: |` in their column. Only a block mapping takes that, and only
  in the section that it was cut from; each must be found there, at its place, or everything is read.
- A text is known only where the parser said, at the whole file, that an entry begins in its first line and
  the next one, another key of the root, or the end of the file right behind it.
- Rows of CSV are lines where the file has as many records as lines.

Whatever cannot be proved so is not cut, and is parsed like any other file.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b, sha256
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from reconciler.manifest.entries import kinds_by_plural, top_level_kinds
from reconciler.model.documents import Document
from reconciler.model.kinds import cache_by_kinds
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree import TREE_BYTES_MAX, Tree
from reconciler.parsing.tree_builder import pack_position

TEXT_DIGEST_BYTES = 16


class EntryText(NamedTuple):
    """The text of one entry: its bytes from `start` to `end`, the line of the first, and the digest."""

    start: int
    end: int
    line: int
    digest: bytes


class StandIn(NamedTuple):
    """What stands for a run of blanked entries: a key of a section, and its place."""

    section: str
    key: str
    line: int
    column: int


class CutText(Struct, frozen=True):
    """A file of which known entries are blanked. `whole` is the SHA-256 of the file.

    `known` are the digests of the blanked entries, each with the line of its entry, in the order of the file.
    """

    whole: bytes
    text: bytes
    known: tuple[tuple[bytes, int], ...]
    stand_ins: tuple[StandIn, ...] = ()


class Cuts(Struct, frozen=True):
    """What is cut of manifests, by their names, and of rosters, by path components from the root."""

    manifests: Mapping[str, CutText] = {}
    rosters: Mapping[tuple[str, ...], CutText] = {}


# --- Manifests ------------------------------------------------------------------------------------


class Section(NamedTuple):
    """The entries of one kind as texts, and the column of their keys, from 0."""

    plural: str
    column: int
    texts: tuple[EntryText, ...]


@cache_by_kinds
def _section_heads() -> re.Pattern[bytes]:
    names = "|".join(map(re.escape, sorted(top_level_kinds())))
    return re.compile(rb"\n(%s):[ \t]*(?:#[^\n]*)?\r?(?=\n)" % names.encode())


# All begin with a line end, which is searched for quickly.
_OUTSIDE = re.compile(rb"\n[^ #\r\n]")
_FIRST = re.compile(rb"\n( *)[^ #\r\n]")


def cut_sections(data: bytes) -> tuple[Section, ...]:
    """Return the entries of a manifest as they seem to stand; none where nothing of it is to be cut.

    The text of an entry ends where the next line begins that is indented no deeper, comments aside.
    """
    # `${` takes from outside of the file; a carriage return alone ends a line for some.
    if b"${" in data or data.count(b"\r") != data.count(b"\r\n") or len(data) > TREE_BYTES_MAX:
        return ()
    return tuple(_cut_sections(data))


def _cut_sections(data: bytes) -> Iterator[Section]:
    line, at = 1, 0
    for head in _section_heads().finditer(data):
        begin = head.end()
        outside = _OUTSIDE.search(data, begin)
        end = outside.start() + 1 if outside else len(data)
        first = _FIRST.search(data, begin, end)
        column = len(first[1]) if first else 0
        if not column:
            continue
        less = (
            re.compile(rb"\n {1,%d}[^ #\r\n]" % (column - 1)).search(data, begin, end) if column > 1 else None
        )
        end = less.start() + 1 if less else end
        entry = re.compile(rb"\n {%d}[^ #\r\n]" % column)
        starts = [found.start() + 1 for found in entry.finditer(data, begin, end)]
        plural = head[1].decode()
        front = b"%s %d\n" % (head[1], column)
        texts = []
        for start, stop in pairwise([*starts, end]):
            line += data.count(b"\n", at, start)
            at = start
            digest = blake2b(front + data[start:stop], digest_size=TEXT_DIGEST_BYTES).digest()
            texts.append(EntryText(start, stop, line, digest))
        yield Section(plural, column, tuple(texts))


def list_proved_texts(
    data: bytes, tree: Tree, documents: Sequence[Document], known: Collection[int]
) -> list[bytes]:
    """Return by line, from 0, the digest of each text that the parser found to be an entry; b"" elsewhere.

    `tree` and `documents` are what the file says; where it was cut, entries begin in the `known` lines too.
    """
    roots = {place.line for place in tree.places(tree.value)}
    found = [b""] * (data.count(b"\n") + 2)
    for section in cut_sections(data):
        kind = kinds_by_plural()[section.plural].name
        begun = {
            one.place.line
            for one in documents
            if one.kind == kind and one.origin is None and one.place.column == section.column + 1
        }
        begun |= {one.line for one in section.texts}.intersection(known)
        # Keys of one mapping are all in brackets or none: where the first text is the first key, none is.
        if not section.texts or section.texts[0].line not in begun:
            continue
        ends = begun | roots
        for one, line in zip(section.texts, _next_lines(data, section.texts), strict=True):
            ended = line in ends if one.end < len(data) else data.endswith(b"\n")
            # A block text may depend on how deep the line below it stands.
            if one.line in begun and ended and not _BLOCK_TEXT.search(data, one.start, one.end):
                found[one.line] = one.digest
    return found


_BLOCK_TEXT = re.compile(rb"[|>]")


def _next_lines(data: bytes, texts: Sequence[EntryText]) -> list[int]:
    last = texts[-1]
    return [*(one.line for one in texts[1:]), last.line + data.count(b"\n", last.start, last.end)]


def cut_manifest(data: bytes, known: Collection[bytes]) -> CutText | None:
    """Return a manifest without the entries whose texts are known; None where it is to be read whole."""
    if find_stand_in(data) is not None:
        return None
    whole = sha256(data).digest()
    pieces: list[bytes] = []
    taken: list[tuple[bytes, int]] = []
    stand_ins: list[StandIn] = []
    at = 0
    for section in cut_sections(data):
        run: list[EntryText] = []
        for one in (*section.texts, None):
            if one is not None and one.digest in known:
                run.append(one)
            elif run:
                start, end = run[0].start, run[-1].end
                key = f"cut-{len(stand_ins)}-{whole[:8].hex()}"
                stand_ins.append(StandIn(section.plural, key, run[0].line, section.column + 1))
                blank = b"\n" * data.count(b"\n", start, end)
                pieces += [data[at:start], b" " * section.column, key.encode(), b": |", blank]
                taken += [(text.digest, text.line) for text in run]
                run, at = [], end
    if not taken or len({digest for digest, _ in taken}) != len(taken):
        return None
    return CutText(whole, b"".join([*pieces, data[at:]]), tuple(taken), tuple(stand_ins))


def remove_stand_ins(tree: Tree, stand_ins: Sequence[StandIn]) -> Tree | None:
    """Return the tree of a cut text without what stands for the entries; None where that is not at its place.

    Then a cut was wrong, or the file has a mistake: all of it is to be read.
    """
    if tree.broken or tree.problems:
        return None
    value = dict(tree.value)
    for plural in {one.section for one in stand_ins}:
        section = value.get(plural)
        if not isinstance(section, dict):
            return None
        marks = dict(zip(section, tree.packed_places(section), strict=True))
        for one in stand_ins:
            if one.section == plural and (
                section.get(one.key) != "" or marks.pop(one.key) != pack_position(one.line, one.column)
            ):
                return None
        value[plural] = {key: section[key] for key in marks}
        tree.record_positions(value[plural], list(marks.values()))
    tree.record_positions(value, tree.packed_places(tree.value))
    return tree.with_value(value, tree.partial)


# --- CSV rosters ----------------------------------------------------------------------------------


def digest_lines(data: bytes) -> list[bytes]:
    """Return by line, from 0, the digest of each row as it seems to stand; b"" for the header.

    The digest of a row covers the header too: another header makes another person of the same cells. The list
    is empty where nothing is to be cut.
    """
    if data.count(b"\r") != data.count(b"\r\n"):
        return []
    lines = data.split(b"\n")
    heads = 2 if b"sep=" in lines[0].lower() else 1
    front = blake2b(b"\n".join(lines[:heads]), digest_size=TEXT_DIGEST_BYTES).digest()
    rows = (blake2b(front + line, digest_size=TEXT_DIGEST_BYTES).digest() for line in lines[heads:])
    return [*[b""] * (heads + 1), *rows]


def cut_roster(data: bytes, known: Collection[bytes]) -> CutText | None:
    """Return a CSV roster with an empty line for each known row; None where it is to be read whole."""
    taken = tuple((one, line) for line, one in enumerate(digest_lines(data)) if one in known)
    if not taken or len({digest for digest, _ in taken}) != len(taken) or find_stand_in(data) is not None:
        return None
    lines = data.split(b"\n")
    for _, number in taken:
        lines[number - 1] = b""
    return CutText(sha256(data).digest(), b"\n".join(lines), taken)
