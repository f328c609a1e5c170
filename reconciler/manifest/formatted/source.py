"""A manifest as it was written: its nodes with their places in the text, and every comment at its entry.

The YAML parser says where keys and values begin and end. What it skips between them is layout, and holds the
comments. Only texts that our reader accepts come here: no alias, no anchor, no tag, one document.

    # leading                 comments above a key move with it; a blank line above them ends a group
    key: value  # beside
    list:       # beside
      - item
      # trailing              deeper than the next key, or the last of a bracket
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from reconciler.parsing.yaml_reader import fit_escapes, parse_events, remove_fill

_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True, eq=False)
class Node:
    """A scalar, or a mapping or list with its entries. `start` and `end` count characters of the text."""

    start: int
    end: int
    line: int
    column: int
    raw: str = ""
    value: str = ""
    style: str = ""  # of a scalar: "" plain, else its first character
    mapping: bool = False
    flow: bool = False
    keeps: bool = False  # a text whose blank lines at the end count is in it: it stays where it is
    inline: bool = False  # a bracket that ends in the line where it begins
    entries: "list[WrittenEntry] | None" = None
    trailing: list[str] = field(default_factory=list)
    owner: "WrittenEntry | None" = None


@dataclass(slots=True, eq=False)
class WrittenEntry:
    """A key and its value, or an item of a list, with the comments that belong to it; "" is a blank line."""

    start: int
    line: int
    within: Node
    key: Node | None = None
    value: Node = field(default_factory=lambda: Node(0, 0, 0, 0))
    leading: list[str] = field(default_factory=list)
    beside: str = ""
    beside_column: int = 0


@dataclass(slots=True)
class Layout:
    """A whole file. `before` are the comments above its `---`, where it has one (`marked`)."""

    text: str
    root: Node
    entries: list[WrittenEntry]
    comments: list[str]
    marked: bool = False
    before: list[str] = field(default_factory=list)


def with_newlines(text: str) -> str:
    """Return a text whose line ends are one character each, as `parsed` takes it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parsed(text: str) -> Layout:
    """Return the parts of a text with line ends of one character, comments attached to their entries."""
    fit = fit_escapes(text, parse_events)
    reading = _Reading(text)
    for event in parse_events(fit.text):
        if fit.filled and type(event) is yaml.ScalarEvent:
            event.value = remove_fill(event.value)
        reading.take(event)
    assert reading.root is not None  # noqa: S101 - our reader has found a mapping there
    source = Layout(text, reading.root, reading.entries, [], marked=reading.marked is not None)
    _Attaching(source, reading).all()
    return source


class _Reading:
    """Events become nodes; the spans of scalars are remembered, for a `#` in them is no comment."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: Node | None = None
        self.entries: list[WrittenEntry] = []
        self.spans: list[tuple[int, int]] = []
        self.kept: list[tuple[int, int]] = []  # first and last lines of texts whose last blank lines count
        self.marked: int | None = None
        self._open: list[Node] = []
        self._due: WrittenEntry | None = None  # the entry whose key was read

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._node(self._scalar(event))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            mark = event.start_mark
            node = Node(mark.index, mark.index, mark.line, mark.column, entries=[])
            node.mapping, node.flow = kind is yaml.MappingStartEvent, bool(event.flow_style)
            self._node(node)
            self._open.append(node)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end(event)
        elif kind is yaml.DocumentStartEvent and event.explicit:
            self.marked = event.end_mark.index

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark, event.end_mark
        raw = self.text[start.index : end.index]
        style = event.style or ""
        if style in ("|", ">"):
            if "+" in raw.split("\n", 1)[0].split("#")[0]:
                self.kept.append((start.line, end.line))
                raw = raw.removesuffix("\n")
            else:
                raw = raw.rstrip(" \n")
        self.spans.append((start.index, start.index + len(raw)))
        node = Node(start.index, start.index + len(raw), start.line, start.column, raw, event.value, style)
        node.keeps = raw.startswith(("|", ">")) and bool(self.kept) and self.kept[-1][0] == start.line
        return node

    def _node(self, node: Node) -> None:
        above = self._open[-1] if self._open else None
        if above is None:
            self.root = node
        elif above.mapping and self._due is None:
            self._due = WrittenEntry(node.start, node.line, above, key=node)
            self._join(above, self._due)
        else:
            entry = self._due or self._item(above, node)
            entry.value, node.owner, self._due = node, entry, None

    def _item(self, above: Node, node: Node) -> WrittenEntry:
        start, line = node.start, node.line
        if not above.flow:
            before = above.entries[-1].value.end if above.entries else above.start
            between = _COMMENT.sub(lambda found: " " * len(found[0]), self.text[before : node.start])
            start = before + between.rindex("-")
            line -= self.text.count("\n", start, node.start)
        entry = WrittenEntry(start, line, above)
        self._join(above, entry)
        return entry

    def _join(self, above: Node, entry: WrittenEntry) -> None:
        assert above.entries is not None  # noqa: S101 - only containers are open
        above.entries.append(entry)
        self.entries.append(entry)

    def _end(self, event: Any) -> None:
        node = self._open.pop()
        assert node.entries is not None  # noqa: S101 - the same
        if node.flow:
            node.end = event.end_mark.index
            node.inline = event.end_mark.line == node.line
        node.keeps = any(entry.value.keeps for entry in node.entries)
        if not node.flow and node.entries:
            node.end = node.entries[-1].value.end


class _Attaching:
    """Every comment goes to one entry, to the end of one container, or above the `---`."""

    def __init__(self, source: Layout, reading: _Reading) -> None:
        self._source = source
        self._spans = reading.spans
        self._marked = reading.marked
        self._starts = [entry.start for entry in source.entries]
        text = source.text
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        kept = {line for first, last in reading.kept for line in range(first, last)}
        rows = text.split("\n")
        # A blank line at the end of a text that keeps them belongs to that text.
        self._blank = {at for at, row in enumerate(rows) if not row.strip()} - kept
        self._gap = -1  # the number of the entry that the last comment stood before
        self._lowest = 0  # the column of the last comment of this gap that ended a container

    def all(self) -> None:
        for start, text in self._comments():
            self._source.comments.append(text)
            line = bisect_right(self._lines, start) - 1
            alone = not self._source.text[self._lines[line] : start].strip()
            (self._alone if alone else self._beside)(start, line, text)
        for entry in self._source.entries:
            if not self._source.text[self._lines[entry.line] : entry.start].strip():
                self._blank_above(entry.leading, entry.line)

    def _comments(self) -> Iterator[tuple[int, str]]:
        text, at = self._source.text, 0
        for start, end in [*self._spans, (len(text), len(text))]:
            for found in _COMMENT.finditer(text, at, start):
                yield found.start(), found[0].rstrip()
            at = end

    def _around(self, start: int) -> tuple[WrittenEntry | None, WrittenEntry | None, int]:
        """Return the entries before and behind a place, and the number of the latter."""
        number = bisect_right(self._starts, start)
        entries = self._source.entries
        return (
            entries[number - 1] if number else None,
            entries[number] if number < len(entries) else None,
            number,
        )

    def _beside(self, start: int, line: int, text: str) -> None:
        owner, after, _ = self._around(start)
        while owner is not None and owner.within.flow and start >= owner.within.end:
            owner = owner.within.owner
        if owner is None:
            (after.leading if after else self._source.root.trailing).append(text)
        elif owner.beside:
            owner.leading.append(text)
        else:
            owner.beside, owner.beside_column = text, start - self._lines[line]

    def _alone(self, start: int, line: int, text: str) -> None:
        if self._marked is not None and start < self._marked:
            self._blank_above(self._source.before, line)
            self._source.before.append(text)
            return
        place = self._place(start, start - self._lines[line])
        self._blank_above(place, line)
        place.append(text)

    def _place(self, start: int, column: int) -> list[str]:
        """Return the list that a comment on a line of its own belongs to."""
        before, after, number = self._around(start)
        if before is None:
            return after.leading if after else self._source.root.trailing
        bracket: Node | None = before.value if before.value.flow else before.within
        while bracket is not None and not (bracket.flow and bracket.start < start < bracket.end):
            bracket = bracket.owner.within if bracket.owner else None
        if bracket is not None:
            return after.leading if after and after.start < bracket.end else bracket.trailing
        if start < before.value.start and (before.value.entries is None or before.value.flow):
            return before.leading
        return self._by_column(before, after, number, column)

    def _by_column(
        self, before: WrittenEntry, after: WrittenEntry | None, number: int, column: int
    ) -> list[str]:
        if number != self._gap:
            self._gap, self._lowest = number, column
        if after is not None and after.within is before.value:
            return after.leading
        self._lowest = min(self._lowest, column)
        ended: Node | None = before.within
        while ended is not None and (ended.flow or ended.column > self._lowest):
            ended = ended.owner.within if ended.owner else None
        common = after.within if after is not None else self._source.root
        if ended is None or ended is common or (after is not None and self._lowest <= common.column):
            self._lowest = 0
            return after.leading if after is not None else self._source.root.trailing
        return ended.trailing

    def _blank_above(self, place: list[str], line: int) -> None:
        if line - 1 in self._blank and (not place or place[-1]):
            place.append("")
