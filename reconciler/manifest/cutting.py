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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b, sha256
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from msgspec import Struct

from reconciler.manifest.entries import kinds_by_plural, top_level_kinds
from reconciler.model.documents import Document
from reconciler.model.kinds import cache_by_kinds
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree import TREE_BYTES_MAX, Tree
from reconciler.parsing.tree_builder import pack_position

TEXT_DIGEST_BYTES = 16


class CutText(Struct, frozen=True):
    """A file of which known entries are blanked. `whole` is the SHA-256 of the file.

    `known` are the digests of the blanked entries, each with the line of its entry, in the order of the file.
    `sections` are those that the manifest was cut into; `rest` are the digests of the other rows of a roster,
    by their lines.
    """

    whole: bytes
    text: bytes
    known: tuple[tuple[bytes, int], ...]
    stand_ins: tuple["BlankedRun", ...] = ()
    sections: tuple["EntrySection", ...] = ()
    rest: Mapping[int, bytes] = {}


class Cuts(Struct, frozen=True):
    """What is cut of manifests, by their names, and of rosters, by path components from the root."""

    manifests: Mapping[str, CutText] = {}
    rosters: Mapping[tuple[str, ...], CutText] = {}


# --- Manifests ------------------------------------------------------------------------------------


class EntrySection(NamedTuple):
    """The entries of one kind as texts, and the column of their keys, from 0.

    `starts` are the first bytes of the texts, and `lines` their numbers, with those behind the last text at
    the end.
    """

    plural: str
    column: int
    starts: Sequence[int]
    lines: Sequence[int]

    def digests(self, data: bytes) -> Sequence[bytes]:
        """Return the digest of each text of the file `data`; in another section the same text has another."""
        front = b"%s %d\n" % (self.plural.encode(), self.column)
        return [
            blake2b(front + data[start:stop], digest_size=TEXT_DIGEST_BYTES).digest()
            for start, stop in pairwise(self.starts)
        ]


class BlankedRun(NamedTuple):
    """A run of blanked entries, by their numbers in a section, and the key that stands for them."""

    section_number: int
    section: EntrySection
    numbers: range
    key: str


class PlacedEntry(NamedTuple):
    """An entry of a section: its name, its body, and the position of its name as one integer."""

    name: str
    body: dict[str, Any]
    packed: int


@cache_by_kinds
def _section_heads() -> re.Pattern[bytes]:
    names = "|".join(map(re.escape, sorted(top_level_kinds())))
    return re.compile(rb"\n(%s):[ \t]*(?:#[^\n]*)?\r?(?=\n)" % names.encode())


# All begin with a line end, which is searched for quickly.
_OUTSIDE = re.compile(rb"\n[^ #\r\n]")
_FIRST = re.compile(rb"\n( *)[^ #\r\n]")


def cut_sections(data: bytes) -> tuple[EntrySection, ...]:
    """Return the entries of a manifest as they seem to stand; none where nothing of it is to be cut.

    The text of an entry ends where the next line begins that is indented no deeper, comments aside.
    """
    # `${` takes from outside of the file; a carriage return alone ends a line for some.
    if b"${" in data or data.count(b"\r") != data.count(b"\r\n") or len(data) > TREE_BYTES_MAX:
        return ()
    return tuple(_cut_sections(data))


def _cut_sections(data: bytes) -> Iterator[EntrySection]:
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
        starts.append(end)
        line += data.count(b"\n", at, starts[0])
        at = starts[-1]
        count = data.count
        lines = [*accumulate((count(b"\n", *one) for one in pairwise(starts)), initial=line)]
        line = lines[-1]
        yield EntrySection(head[1].decode(), column, starts, lines)


def list_proved_texts(
    data: bytes,
    sections: Sequence[EntrySection],
    tree: Tree,
    documents: Sequence[Document],
    cut: CutText | None,
) -> Mapping[int, bytes]:
    """Return the digest of each text that the parser found to be an entry, by its first line.

    `tree` and `documents` are what the file says; where it was cut, what is left of it, and the texts are
    those of the rest. `sections` are those of the file.
    """
    roots = {place.line for place in tree.places(tree.value)}
    plain = _BLOCK_TEXT.search(data) is None
    known = frozenset(line for _, line in cut.known) if cut else frozenset()
    found: dict[int, bytes] = {}
    for section in sections:
        kind = kinds_by_plural()[section.plural].name
        begun = {
            one.place.line
            for one in documents
            if one.kind == kind and one.origin is None and one.place.column == section.column + 1
        }
        # Keys of one mapping are all in brackets or none: where the first text is the first key, none is.
        first = section.lines[0]
        if first not in begun and first not in known:
            continue
        digests = section.digests(data)
        for number, line in enumerate(section.lines[:-1]):
            if line not in begun or line in known:
                continue
            below, start, end = section.lines[number + 1], *section.starts[number : number + 2]
            ended = below in begun or below in known or below in roots
            if end == len(data):
                ended = data.endswith(b"\n")
            # A block text may depend on how deep the line below it stands.
            if ended and (plain or not _BLOCK_TEXT.search(data, start, end)):
                found[line] = digests[number]
    return found


_BLOCK_TEXT = re.compile(rb"[|>]")


def cut_manifest(data: bytes, known: Collection[bytes]) -> CutText | None:
    """Return a manifest without the entries whose texts are known; None where it is to be read whole."""
    if find_stand_in(data) is not None:
        return None
    sections = cut_sections(data)
    digests = [section.digests(data) for section in sections]
    blanked = [{number for number, one in enumerate(each) if one in known} for each in digests]
    text, stand_ins = blank_entries(data, sections, blanked)
    taken = tuple(
        (digests[run.section_number][number], run.section.lines[number])
        for run in stand_ins
        for number in run.numbers
    )
    if not taken or len({digest for digest, _ in taken}) != len(taken):
        return None
    return CutText(sha256(data).digest(), text, taken, stand_ins, sections)


def blank_entries(
    data: bytes, sections: Sequence[EntrySection], blanked: Sequence[Collection[int]]
) -> tuple[bytes, tuple[BlankedRun, ...]]:
    """Return the text of a manifest without the blanked entries, and what stands for each run of them.

    `blanked` are the numbers of entries of each section. Every line keeps its number.
    """
    mark = sha256(data).hexdigest()[:16]
    pieces: list[bytes] = []
    stand_ins: list[BlankedRun] = []
    at = 0
    for number, section in enumerate(sections):
        for numbers in _find_runs(len(section.starts) - 1, blanked[number]):
            key = f"cut-{len(stand_ins)}-{mark}"
            stand_ins.append(BlankedRun(number, section, numbers, key))
            blank = b"\n" * (section.lines[numbers.stop] - section.lines[numbers.start])
            pieces += [
                data[at : section.starts[numbers.start]],
                b" " * section.column,
                key.encode(),
                b": |",
                blank,
            ]
            at = section.starts[numbers.stop]
    return b"".join([*pieces, data[at:]]), tuple(stand_ins)


def _find_runs(count: int, blanked: Collection[int]) -> Iterator[range]:
    """Yield each run of blanked numbers below `count`."""
    kept = [number for number in range(count) if number not in blanked]
    for before, behind in pairwise([-1, *kept, count]):
        if behind - before > 1:
            yield range(before + 1, behind)


def replace_stand_ins(
    tree: Tree, stand_ins: Sequence[BlankedRun], entries: Iterable[Iterable[PlacedEntry]]
) -> Tree | None:
    """Return the tree of a cut text with `entries`, those of each run, where something stands for them.

    None where that is not at its place, and where a name occurs twice: a cut was wrong, or the file has a
    mistake, and all of it is to be read.
    """
    if tree.broken or tree.problems:
        return None
    waiting = dict(zip((one.key for one in stand_ins), zip(stand_ins, entries, strict=True), strict=True))
    value = dict(tree.value)
    for plural in dict.fromkeys(one.section.plural for one in stand_ins):
        section = value.get(plural)
        if not isinstance(section, dict):
            return None
        whole: dict[str, Any] = {}
        marks: list[int] = []
        for (name, body), mark in zip(section.items(), tree.packed_places(section), strict=True):
            run, placed = waiting.pop(name, (None, ()))
            if run is None:
                whole[name] = body
                marks.append(mark)
                continue
            place = pack_position(run.section.lines[run.numbers.start], run.section.column + 1)
            if (run.section.plural, body, place) != (plural, "", mark):
                return None
            for one in placed:
                whole[one.name] = one.body
                marks.append(one.packed)
        if len(whole) != len(marks):
            return None
        value[plural] = whole
        tree.record_positions(whole, marks)
    if waiting:
        return None
    tree.record_positions(value, tree.packed_places(tree.value))
    return tree.with_value(value, tree.partial)


# --- CSV rosters ----------------------------------------------------------------------------------


def digest_lines(data: bytes) -> dict[int, bytes]:
    """Return the digest of each row as it seems to stand, by its line; none where nothing is to be cut.

    The digest of a row covers the header too: another header makes another person of the same cells.
    """
    if data.count(b"\r") != data.count(b"\r\n"):
        return {}
    lines = data.split(b"\n")
    heads = 2 if b"sep=" in lines[0].lower() else 1
    front = blake2b(b"\n".join(lines[:heads]), digest_size=TEXT_DIGEST_BYTES).digest()
    rows = (blake2b(front + line, digest_size=TEXT_DIGEST_BYTES).digest() for line in lines[heads:])
    return dict(enumerate(rows, start=heads + 1))


def cut_roster(data: bytes, known: Collection[bytes]) -> CutText | None:
    """Return a CSV roster with an empty line for each known row; None where it is to be read whole."""
    digests = digest_lines(data)
    taken = tuple((digest, line) for line, digest in digests.items() if digest in known)
    if not taken or len({digest for digest, _ in taken}) != len(taken) or find_stand_in(data) is not None:
        return None
    lines = data.split(b"\n")
    for _, line in taken:
        lines[line - 1] = b""
    rest = {line: digest for line, digest in digests.items() if digest not in known}
    return CutText(sha256(data).digest(), b"\n".join(lines), taken, rest=rest)
