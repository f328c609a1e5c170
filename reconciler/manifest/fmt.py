"""A manifest in its canonical form: the same meaning, every comment kept; or why it stays unchanged.

Pure: bytes in, bytes out.

    text ─▶ parse_layout ─▶ write_layout ─▶ read both, compare ─▶ FormattedManifest
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches, unified_diff
from typing import Any

import yaml
from msgspec import Struct

from reconciler.errors import Problem
from reconciler.manifest.entries import Steps, find_kind_at, kinds_by_plural, name_entry
from reconciler.manifest.export import YAML_WORDS, quote_yaml
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import cache_by_kinds, child_kinds
from reconciler.parsing.display import secret_keys
from reconciler.parsing.tree import Tree, read_tree
from reconciler.parsing.yaml_reader import fit_escapes, parse_events, remove_fill
from reconciler.schema.shipped import read_schema

# --- A manifest as it was written -----------------------------------------------------------------
#
# The YAML parser says where keys and values begin and end. The text between them is layout and contains the
# comments. Only texts that our reader accepts are parsed here: no alias, no anchor, no tag, one document.
#
#     # leading: comments above a key move with it; a blank line above them ends a group
#     - item  # beside
#     # trailing: deeper than the next key, or the last of a bracket

_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True, eq=False)
class LayoutNode:
    """A scalar, or a mapping or list with its entries. `start` and `end` are indexes in the text."""

    start: int
    end: int
    line: int
    column: int
    raw: str = ""
    value: str = ""
    style: str = ""  # of a scalar: "" plain, else its first character
    mapping: bool = False
    flow: bool = False
    keeps: bool = False  # it contains a text whose final blank lines count, so keys are not sorted
    inline: bool = False  # brackets in one line
    entries: "list[WrittenEntry] | None" = None
    trailing: list[str] = field(default_factory=list)
    owner: "WrittenEntry | None" = None


@dataclass(slots=True, eq=False)
class WrittenEntry:
    """A key and its value, or an item of a list, with its comments; "" is a blank line."""

    start: int
    line: int
    within: LayoutNode
    key: LayoutNode | None = None
    value: LayoutNode = field(default_factory=lambda: LayoutNode(0, 0, 0, 0))
    leading: list[str] = field(default_factory=list)
    beside: str = ""
    beside_column: int = 0


@dataclass(slots=True)
class Layout:
    """A whole file. `before` are the comments above its `---`, where it has one (`marked`)."""

    text: str
    root: LayoutNode
    entries: list[WrittenEntry]
    comments: list[str]
    marked: bool = False
    before: list[str] = field(default_factory=list)


def normalize_newlines(text: str) -> str:
    """Return a text with one line feed at each line end, as `parse_layout` needs it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_layout(text: str) -> Layout:
    """Return the layout of a text with normalized newlines, comments attached to their entries."""
    fit = fit_escapes(text, parse_events)
    reading = _LayoutReader(text)
    for event in parse_events(fit.text):
        if fit.filled and type(event) is yaml.ScalarEvent:
            event.value = remove_fill(event.value)
        reading.add_event(event)
    assert reading.root is not None  # noqa: S101 - our reader has found a mapping there
    source = Layout(text, reading.root, reading.entries, [], marked=reading.marked is not None)
    _CommentAttacher(source, reading).attach_all()
    return source


class _LayoutReader:
    """Builds nodes from events, and collects the spans of scalars, where a `#` is not a comment."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: LayoutNode | None = None
        self.entries: list[WrittenEntry] = []
        self.spans: list[tuple[int, int]] = []
        self.kept_lines: list[
            tuple[int, int]
        ] = []  # first and last lines of texts whose final blank lines count
        self.marked: int | None = None
        self._open: list[LayoutNode] = []
        self._pending: WrittenEntry | None = None  # the entry whose key was read

    def add_event(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._add_node(self._scalar(event))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            mark = event.start_mark
            node = LayoutNode(mark.index, mark.index, mark.line, mark.column, entries=[])
            node.mapping, node.flow = kind is yaml.MappingStartEvent, bool(event.flow_style)
            self._add_node(node)
            self._open.append(node)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end_container(event)
        elif kind is yaml.DocumentStartEvent and event.explicit:
            self.marked = event.end_mark.index

    def _scalar(self, event: Any) -> LayoutNode:
        start, end = event.start_mark, event.end_mark
        raw = self.text[start.index : end.index]
        style = event.style or ""
        if style in ("|", ">"):
            if "+" in raw.split("\n", 1)[0].split("#")[0]:
                self.kept_lines.append((start.line, end.line))
                raw = raw.removesuffix("\n")
            else:
                raw = raw.rstrip(" \n")
        self.spans.append((start.index, start.index + len(raw)))
        node = LayoutNode(
            start.index, start.index + len(raw), start.line, start.column, raw, event.value, style
        )
        node.keeps = (
            raw.startswith(("|", ">")) and bool(self.kept_lines) and self.kept_lines[-1][0] == start.line
        )
        return node

    def _add_node(self, node: LayoutNode) -> None:
        above = self._open[-1] if self._open else None
        if above is None:
            self.root = node
        elif above.mapping and self._pending is None:
            self._pending = WrittenEntry(node.start, node.line, above, key=node)
            self._append_entry(above, self._pending)
        else:
            entry = self._pending or self._add_item(above, node)
            entry.value, node.owner, self._pending = node, entry, None

    def _add_item(self, above: LayoutNode, node: LayoutNode) -> WrittenEntry:
        start, line = node.start, node.line
        if not above.flow:
            before = above.entries[-1].value.end if above.entries else above.start
            between = _COMMENT.sub(lambda found: " " * len(found[0]), self.text[before : node.start])
            start = before + between.rindex("-")
            line -= self.text.count("\n", start, node.start)
        entry = WrittenEntry(start, line, above)
        self._append_entry(above, entry)
        return entry

    def _append_entry(self, above: LayoutNode, entry: WrittenEntry) -> None:
        assert above.entries is not None  # noqa: S101 - only containers are open
        above.entries.append(entry)
        self.entries.append(entry)

    def _end_container(self, event: Any) -> None:
        node = self._open.pop()
        assert node.entries is not None  # noqa: S101 - the same
        if node.flow:
            node.end = event.end_mark.index
            node.inline = event.end_mark.line == node.line
        node.keeps = any(entry.value.keeps for entry in node.entries)
        if not node.flow and node.entries:
            node.end = node.entries[-1].value.end


class _CommentAttacher:
    """Attaches every comment to one entry, to the end of one container, or above the `---`."""

    def __init__(self, source: Layout, reading: _LayoutReader) -> None:
        self._source = source
        self._spans = reading.spans
        self._marked = reading.marked
        self._starts = [entry.start for entry in source.entries]
        text = source.text
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        kept = {line for first, last in reading.kept_lines for line in range(first, last)}
        rows = text.split("\n")
        # A final blank line of a text that keeps them belongs to that text.
        self._blank = {at for at, row in enumerate(rows) if not row.strip()} - kept
        self._gap = -1  # the number of the entry after the last comment
        self._lowest = 0  # the column of the last comment of this gap that ended a container

    def attach_all(self) -> None:
        for start, text in self._comments():
            self._source.comments.append(text)
            line = bisect_right(self._lines, start) - 1
            alone = not self._source.text[self._lines[line] : start].strip()
            (self._attach_own_line if alone else self._attach_beside)(start, line, text)
        for entry in self._source.entries:
            if not self._source.text[self._lines[entry.line] : entry.start].strip():
                self._keep_blank_above(entry.leading, entry.line)

    def _comments(self) -> Iterator[tuple[int, str]]:
        text, at = self._source.text, 0
        for start, end in [*self._spans, (len(text), len(text))]:
            for found in _COMMENT.finditer(text, at, start):
                yield found.start(), found[0].rstrip()
            at = end

    def _neighbours(self, start: int) -> tuple[WrittenEntry | None, WrittenEntry | None, int]:
        """Return the entries before and after a place, and the number of the latter."""
        number = bisect_right(self._starts, start)
        entries = self._source.entries
        return (
            entries[number - 1] if number else None,
            entries[number] if number < len(entries) else None,
            number,
        )

    def _attach_beside(self, start: int, line: int, text: str) -> None:
        owner, after, _ = self._neighbours(start)
        while owner is not None and owner.within.flow and start >= owner.within.end:
            owner = owner.within.owner
        if owner is None:
            (after.leading if after else self._source.root.trailing).append(text)
        elif owner.beside:
            owner.leading.append(text)
        else:
            owner.beside, owner.beside_column = text, start - self._lines[line]

    def _attach_own_line(self, start: int, line: int, text: str) -> None:
        if self._marked is not None and start < self._marked:
            self._keep_blank_above(self._source.before, line)
            self._source.before.append(text)
            return
        place = self._choose_list(start, start - self._lines[line])
        self._keep_blank_above(place, line)
        place.append(text)

    def _choose_list(self, start: int, column: int) -> list[str]:
        """Return the list for a comment on a line of its own."""
        before, after, number = self._neighbours(start)
        if before is None:
            return after.leading if after else self._source.root.trailing
        bracket: LayoutNode | None = before.value if before.value.flow else before.within
        while bracket is not None and not (bracket.flow and bracket.start < start < bracket.end):
            bracket = bracket.owner.within if bracket.owner else None
        if bracket is not None:
            return after.leading if after and after.start < bracket.end else bracket.trailing
        if start < before.value.start and (before.value.entries is None or before.value.flow):
            return before.leading
        return self._choose_by_column(before, after, number, column)

    def _choose_by_column(
        self, before: WrittenEntry, after: WrittenEntry | None, number: int, column: int
    ) -> list[str]:
        if number != self._gap:
            self._gap, self._lowest = number, column
        if after is not None and after.within is before.value:
            return after.leading
        self._lowest = min(self._lowest, column)
        ended: LayoutNode | None = before.within
        while ended is not None and (ended.flow or ended.column > self._lowest):
            ended = ended.owner.within if ended.owner else None
        common = after.within if after is not None else self._source.root
        if ended is None or ended is common or (after is not None and self._lowest <= common.column):
            self._lowest = 0
            return after.leading if after is not None else self._source.root.trailing
        return ended.trailing

    def _keep_blank_above(self, place: list[str], line: int) -> None:
        if line - 1 in self._blank and (not place or place[-1]):
            place.append("")


# --- The order of keys ----------------------------------------------------------------------------
#
# Entries, tags, custom fields and the columns of rows keep their order. All other keys follow the order of
# the kind, as an export writes them. It follows from the table of kinds and from the schema.

KeyRank = Callable[[str], tuple[int, str]]


def rank_keys_at(path: Steps) -> KeyRank | None:
    """Return the sort key for the keys of the mapping at a path; None where their order is kept."""
    match path:
        case ():
            return _rank_by_list(_list_schema_keys()["manifest"])
        case ("defaults" | "removed",):
            return _rank_by_list(tuple(kinds_by_plural()))
        case ("consent", int()):
            return _rank_by_list(_list_schema_keys()["consent"])
        case ("rosters", int()):
            return _rank_by_list(_list_schema_keys()["roster"])
        case ("defaults", str(plural), *rest) | ("rosters", int(), str(plural), *rest):
            kind = kinds_by_plural().get(plural)
            return _rank_below(kind, tuple(rest)) if kind else None
    found = find_kind_at(path)
    return _rank_below(found[0], path[found[1] :]) if found else None


def _rank_below(kind: Kind, rest: Steps) -> KeyRank | None:
    """Return the rank of the keys at the end of a path that begins in an entry."""
    if not rest:
        return _rank_by_list(list_body_keys(kind.name))
    head = rest[0]
    if len(rest) <= _SORTED_DEPTH[kind.structured.get(str(head), "scalar")]:
        return lambda key: (0, key)  # as an export writes them
    if len(rest) == 1 and head in ("meta", kind.content):
        return _rank_by_list(_list_schema_keys()["meta" if head == "meta" else "content"])
    return None


# How deep below a field its keys are sorted by name, by the shape of the field. Custom values keep their
# order.
_SORTED_DEPTH: Mapping[FieldShape, int] = require_rows(
    FieldShape, {"scalar": 0, "content": 0, "custom": 0, "channels": 2, "group": 1}
)


@cache_by_kinds
def list_body_keys(kind: str) -> tuple[str, ...]:
    """Return every key of an entry in order: fields, children, meta."""
    row = next(one for one in kinds_by_plural().values() if one.name == kind)
    return (*(field.name for field in row.keys), *(child.plural for child in child_kinds(kind)), "meta")


@cache_by_kinds
def _list_schema_keys() -> Mapping[str, tuple[str, ...]]:
    schema = read_schema("manifest")
    named = {"consent": "consent", "roster": "roster", "meta": "reactivableMeta", "content": "content"}
    parts = {name: tuple(schema["$defs"][at]["properties"]) for name, at in named.items()}
    return {**parts, "manifest": tuple(schema["properties"])}


def _rank_by_list(keys: Sequence[str]) -> KeyRank:
    known = _number_keys(tuple(keys))
    return lambda key: (known.get(key, len(known)), "")  # unknown ones last; sorting keeps their order


@cache_by_kinds
def _number_keys(keys: tuple[str, ...]) -> Mapping[str, int]:
    return {key: number for number, key in enumerate(keys)}


# --- The canonical text ---------------------------------------------------------------------------
#
# Two spaces for each level, keys in order, quotes where another reader may need them. Brackets in one line
# stay; brackets over several lines become blocks. Lines are never broken or joined.

_INDENT = "  "
_HEADER = re.compile(r"([|>])([-+0-9]*)(.*)")
# Numbers in YAML 1.2 that are none in 1.1; the library knows those of 1.1.
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_RESOLVER: Any = yaml.resolver.Resolver()
_TEXT = _RESOLVER.DEFAULT_SCALAR_TAG


def write_layout(source: Layout) -> str:
    """Return the formatted text."""
    lines = [*source.before, *(["---"] if source.marked else [])]
    lines += _write_block(source.root, 0, ())
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(lines) + "\n"


def _write_block(node: LayoutNode, depth: int, path: Steps) -> list[str]:
    """Return the lines of a container with entries, and of the comments at its end."""
    pad = _INDENT * depth
    lines: list[str] = []
    for head, entries in _group_by_blank_lines(node, path):
        lines += [f"{pad}{text}".rstrip() for text in head]
        for number, entry, leading in entries:
            lines += [f"{pad}{text}" for text in leading]
            if entry.key is None:
                lines += _write_item(entry, depth, (*path, number))
            else:
                key = _write_scalar(entry.key, depth, top=False)
                lines += _write_value(f"{pad}{key}:", entry, depth, (*path, entry.key.value))
    if lines and not lines[0]:
        lines.pop(0)
    return lines + [f"{pad}{text}".rstrip() for text in node.trailing]


_PlacedEntry = tuple[int, WrittenEntry, list[str]]  # its number, itself, and the comments that move with it


def _group_by_blank_lines(node: LayoutNode, path: Steps) -> Iterator[tuple[list[str], list[_PlacedEntry]]]:
    """Yield groups of entries between blank lines, sorted, each after the comments that stay above it."""
    groups: list[tuple[list[str], list[_PlacedEntry]]] = [([], [])]
    for number, entry in enumerate(node.entries or ()):
        leading = _collect_leading(entry)
        # Comments above the first key of a file are about the file; others stay up to the last blank line.
        cut = max((at for at, text in enumerate(leading, 1) if not text), default=0)
        if not path and not number:
            cut = len(leading)
        if cut:
            groups.append((leading[:cut], []))
        groups[-1][1].append((number, entry, leading[cut:]))
    rank = rank_keys_at(path) if node.mapping and not node.keeps else None
    if rank is not None:
        for _, group in groups:
            group.sort(key=lambda one: rank(one[1].key.value if one[1].key else ""))
    yield from groups


def _collect_leading(entry: WrittenEntry) -> list[str]:
    """Return the comments above an entry, and those inside that the canonical form has no place for."""
    value = entry.value
    inside = list(value.trailing) if value.entries is not None and not value.entries else []
    moves = entry.beside and entry.key is None and _is_block(value)
    return [*entry.leading, *(text for text in inside if text), *([entry.beside] if moves else [])]


def _is_block(node: LayoutNode) -> bool:
    return bool(node.entries) and not node.inline


def _write_item(entry: WrittenEntry, depth: int, path: Steps) -> list[str]:
    pad = _INDENT * depth
    if not _is_block(entry.value):
        return _write_value(f"{pad}-", entry, depth, path)
    lines = _write_block(entry.value, depth + 1, path)
    # Comments above the first key go above the dash, not after it.
    comments = next(at for at, line in enumerate(lines) if line and not line.lstrip().startswith("#"))
    above = [f"{pad}{line.strip()}" for line in lines[:comments] if line]
    return [*above, f"{pad}- {lines[comments].lstrip()}", *lines[comments + 1 :]]


def _write_value(start: str, entry: WrittenEntry, depth: int, path: Steps) -> list[str]:
    """Return the lines of an entry whose first one begins with `start`."""
    value = entry.value
    if _is_block(value):
        return [_append_comment(start, entry), *_write_block(value, depth + 1, path)]
    if value.entries is not None:
        return [_append_comment(f"{start} {_write_brackets(value, depth, path)}", entry)]
    if value.style in ("|", ">"):
        first, *rest = _write_text_block(entry, depth)
        return [f"{start} {first}", *rest]
    *lines, last = f"{start} {_write_scalar(value, depth, top=path == ('version',))}".split("\n")
    return [*lines, _append_comment(last, entry)]


def _append_comment(line: str, entry: WrittenEntry) -> str:
    """Return a line with its comment, in the column where it was if there is room."""
    if not entry.beside:
        return line
    return f"{line}{' ' * max(2, entry.beside_column - len(line))}{entry.beside}"


def _write_brackets(node: LayoutNode, depth: int, path: Steps) -> str:
    """Return a container in one line."""
    if not node.mapping:
        inner = [_write_inline(one.value, depth, (*path, at)) for at, one in enumerate(node.entries or ())]
        return f"[{', '.join(inner)}]"
    pairs = []
    for _, group in _group_by_blank_lines(node, path):
        for _, one, _ in group:
            assert one.key is not None  # noqa: S101 - the entries of a mapping have keys
            key = _write_scalar(one.key, depth, top=False)
            pairs.append(f"{key}: {_write_inline(one.value, depth, (*path, one.key.value))}")
    return f"{{{', '.join(pairs)}}}"


def _write_inline(node: LayoutNode, depth: int, path: Steps) -> str:
    return (
        _write_scalar(node, depth, top=False) if node.entries is None else _write_brackets(node, depth, path)
    )


def _write_scalar(node: LayoutNode, depth: int, *, top: bool) -> str:
    """Return a scalar with the quotes it needs. `top`: the version of the file, a number to editors."""
    text, raw = node.value, node.raw
    if "\n" in raw:  # the reader joins lines, whatever their indentation
        first, *rest = raw.split("\n")  # an escaped space may end a line
        return "\n".join(
            [first, *(f"{_INDENT * (depth + 1)}{line}" if line else "" for line in map(str.lstrip, rest))]
        )
    plain = quote_yaml(text)
    if node.style == "":
        return plain if _needs_quotes(text) and not top else raw
    if plain == text:
        return text
    as_it_is = node.style == '"' or '"' in text or "\\" in text
    return raw if as_it_is else plain


def _needs_quotes(text: str) -> bool:
    """Whether another YAML reader takes an unquoted text for another type. Flags stay unquoted."""
    if text in ("true", "false"):
        return False
    if text in ("-", "?"):  # allowed unquoted in brackets alone
        return True
    known = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) != _TEXT
    return known or text.casefold() in YAML_WORDS or _NUMBER.fullmatch(text) is not None


def _write_text_block(entry: WrittenEntry, depth: int) -> Iterator[str]:
    """Yield the lines of a text behind `|` or `>`, with the indentation of this depth."""
    value = entry.value
    header, *lines = value.raw.split("\n")
    found = _HEADER.fullmatch(header)
    assert found is not None  # noqa: S101 - the parser has read it
    digits = "".join(filter(str.isdigit, found[2]))
    above = entry.within.column
    filled = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
    cut = above + int(digits) if digits else (filled[0] if filled else 0)
    sign = found[2].replace(digits, "2") if digits else found[2]
    if value.value and not value.value.endswith("\n"):  # the file may end in this text, without a line end
        sign = f"{'2' if digits else ''}-"
    yield f"{found[1]}{sign}{found[3].rstrip()}"
    for line in lines:
        yield f"{_INDENT * (depth + 1)}{line[cut:]}" if line[cut:] else ""


# --- Formatting: the meaning is compared every time -----------------------------------------------

_LEFT = "the file is unchanged"


class FormattedManifest(Struct, frozen=True):
    """The bytes of a file in canonical form; with `problems` they are those that were given."""

    data: bytes
    problems: tuple[Problem, ...] = ()


def format_manifest(data: bytes, file: str) -> FormattedManifest:
    """Return a manifest in canonical form: our reader reads the same values, and the comments are the same.

    `file` is its name in messages. Line ends are those of the first line; a byte order mark is removed. A
    file that cannot be read, is not a manifest, or would change its meaning is returned unchanged, with the
    reason.
    """
    tree = read_tree(data, file, subject=name_entry)
    if tree.problems:
        return FormattedManifest(data, tree.problems)
    if "workspace" not in tree.value:
        what = f"this is not a manifest: it has no `workspace`; {_LEFT}."
        hint = "pass manifests, or the folder that contains them"
        return FormattedManifest(data, (Problem(file, 1, 1, what, hint, code="E116"),))
    text = data.decode("utf-8-sig")
    first, found, _ = text.partition("\n")
    source = parse_layout(normalize_newlines(text))
    made = write_layout(source)
    after = (made.replace("\n", "\r\n") if found and first.endswith("\r") else made).encode()
    if after == data:
        return FormattedManifest(data)
    again = read_tree(after, file, subject=name_entry)
    problem = _find_difference(tree, again) or _find_lost_comment(file, source.comments, made)
    return FormattedManifest(data, (problem,)) if problem else FormattedManifest(after)


def _find_difference(before: Tree, after: Tree) -> Problem | None:
    """Return the first difference between two trees; None if there is none."""
    path: Steps | None = ()
    if not after.problems:
        path = next(_find_unlike_paths(before.value, after.value, ()), None)
    if path is None:
        return None
    place = before.place(path)
    what = f"formatting would change the meaning of this; {_LEFT}."
    hint = "rewrite this differently or exclude the file, and report a bug"
    return place.problem(what, hint, code="E100")


def _find_unlike_paths(before: Any, after: Any, path: Steps) -> Iterator[Steps]:
    """Yield the paths at which two values differ. The order of keys counts where it is kept."""
    if type(before) is not type(after) or (not isinstance(before, dict | list) and before != after):
        yield path
    elif isinstance(before, list):
        if len(before) != len(after):
            yield path
        for at, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _find_unlike_paths(one, other, (*path, at))
    elif isinstance(before, dict):
        same = list(before) == list(after) if rank_keys_at(path) is None else before.keys() == after.keys()
        if not same:
            yield path
            return
        for key, one in before.items():
            yield from _find_unlike_paths(one, after[key], (*path, key))


def _find_lost_comment(file: str, comments: list[str], made: str) -> Problem | None:
    """Return a problem if the formatted text does not have the same comments."""
    if Counter(comments) == Counter(parse_layout(made).comments):
        return None
    what = f"formatting would lose a comment; {_LEFT}."
    hint = "put comments on lines of their own, and report a bug"
    return Problem(file, 1, 1, what, hint, code="E100")


# --- The diff, without possible secrets -----------------------------------------------------------

_REFERENCE = re.compile(r"[\"']?\$\{env:[A-Z0-9_]+\}[\"']?", re.ASCII | re.IGNORECASE)
_SECRET = "(secret)"  # noqa: S105 - the word that stands for one


def diff_formatted(file: str, before: bytes, after: bytes) -> Iterator[str]:
    """Yield the lines of a unified diff of two versions of one manifest, without line ends."""
    yield from unified_diff(
        _redact_lines(before), _redact_lines(after), f"{file} (current)", f"{file} (formatted)", lineterm=""
    )


def _redact_lines(data: bytes) -> list[str]:
    """Return the lines of a valid manifest, with the values of secret fields replaced."""
    text = normalize_newlines(data.decode("utf-8-sig"))
    entries = parse_layout(text).entries
    secrets = {name.lower() for name in secret_keys()}
    written = {entry.key.value for entry in entries if entry.key is not None}
    keys = {key for key in written if _may_hold_secret(key, secrets)}
    parts, at = [], 0
    for entry in entries:
        if entry.key is None or entry.key.value not in keys or entry.value.start < at:
            continue
        start, end = entry.value.start, entry.value.end
        if not _REFERENCE.fullmatch(text[start:end]):
            parts += [text[at:start], _SECRET, "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*parts, text[at:]]).splitlines()


def _may_hold_secret(key: str, secrets: Collection[str]) -> bool:
    """Whether a key is that of a secret field, or similar to one; `secrets` are in lower case."""
    return bool(get_close_matches(key.lower(), secrets, n=1, cutoff=0.8))
