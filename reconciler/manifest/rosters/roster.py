"""A roster's rows become contacts: templates over columns, one Document a row.

An empty cell means absent: a field whose columns are all empty in a row is not ours there, so that
a half-filled spreadsheet clears nothing. Text in a template without columns stands for every row,
and "" there clears the field for every row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from reconciler.core.compare.normalize import is_flag
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import is_blank, slugify, trim_edges
from reconciler.errors import Problem
from reconciler.manifest.flatten import RowPlaces, locate_controls, read_controls
from reconciler.manifest.rosters.table import RosterTable, TableRow, normalize_column
from reconciler.model.address import ENTITY_NAME
from reconciler.model.documents import Controls, Document, Origin, Scalar
from reconciler.model.kinds import CONTACT
from reconciler.parsing.display import TreePath, is_secret_path, show_value
from reconciler.parsing.tree import Tree

# --- Templates: `{Column}` in a text; `{{` and `}}` are braces ------------------------------------

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class RowTemplate(Struct, frozen=True):
    """A compiled template: literals, and columns by number from 0."""

    pieces: tuple[str | int, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it takes from, in order of their first use."""
        return tuple(dict.fromkeys(piece for piece in self.pieces if isinstance(piece, int)))

    def render(self, row: Sequence[str]) -> str | None:
        """Return the text for one row; None where it has columns and all of them are empty here.

        A single bare column is taken as it is; text put together is trimmed, because an empty cell
        leaves its spaces behind.
        """
        columns = self.columns
        if columns and all(is_blank(row[column]) for column in columns):
            return None
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            return row[piece] if isinstance(piece, int) else piece
        text = "".join(row[piece] if isinstance(piece, int) else piece for piece in self.pieces)
        return trim_edges(text) if columns else text


class UnknownColumn(Struct, frozen=True):
    """A template that names a column which the header does not have: sentence and hint."""

    what: str
    hint: str


def compile_template(
    text: str, header: Sequence[str], *, secret: bool = False, titled: bool = True
) -> RowTemplate | UnknownColumn | tuple[str, str]:
    """Return the template that `text` writes for these columns, or what is wrong: sentence and hint.

    A brace that is left alone is told rather than a column that is not there. Nothing of a `secret` text is
    quoted. Without `titled`, the first row may be no header but somebody's data, and is not quoted either.
    """
    unknown: UnknownColumn | None = None
    pieces: list[str | int] = []
    at = 0
    for found in _PIECE.finditer(text):
        pieces.append(text[at : found.start()])
        at = found.end()
        column = found[1]
        if found[0] in ("{{", "}}"):
            pieces.append(found[0][0])
        elif column is None:
            where = "this template" if secret else repr(show_value(text))
            return f"a brace is left alone in {where}.", "write {Column}, or {{ for a brace"
        elif (name := normalize_column(column)) in header:
            pieces.append(header.index(name))
        else:
            unknown = unknown or _explain_unknown_column(column, header, secret=secret, titled=titled)
    pieces.append(text[at:])
    return unknown or RowTemplate(_join_literals(pieces))


def list_template_columns(text: str) -> frozenset[str]:
    """Return the columns that a template names, whether a roster has them or not."""
    return frozenset(normalize_column(found[1]) for found in _PIECE.finditer(text) if found[1] is not None)


def _explain_unknown_column(
    column: str, header: Sequence[str], *, secret: bool, titled: bool
) -> UnknownColumn:
    if not titled:
        listed = "check that the first row of the roster holds the names of its columns"
    else:
        listed = f"the columns are: {show_value(', '.join(header), most=200)}"
    if secret:
        return UnknownColumn("this template names a column that the roster does not have.", listed)
    return UnknownColumn(
        f"the roster has no column {show_value(column)!r}.", did_you_mean("column", column, header, listed)
    )


def _join_literals(pieces: list[str | int]) -> tuple[str | int, ...]:
    joined: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return tuple(joined) or ("",)


# --- Rows -----------------------------------------------------------------------------------------

_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
_TAG_MAX = 256  # characters, as in common.schema.json
_TITLES_SHOWN_MAX = 20  # columns in one hint
_HINT_MAX = 120  # characters of their names
_KNOWN_MAX = 20_000  # texts; what occurs often occurs early
_COLLISIONS_SHOWN_MAX = 20  # a wrong column would be one for every row


class _FieldTemplate(NamedTuple):
    """How a field is filled in each row. `bare` is the index of the column whose cell it is, else None."""

    path: str
    template: RowTemplate
    columns: tuple[int, ...]
    bare: int | None
    flag: bool


class Roster:
    """One entry of `rosters` with the table it names. `documents()` first, `problems` afterwards.

    `unread` are fields whose templates could not be read. A row that is wrong in one cell is a document all
    the same; one without a name of its own is called `(row 17)`, which is no name that a manifest could have.
    """

    def __init__(
        self, tree: Tree, path: TreePath, table: RosterTable, unread: frozenset[str] = frozenset()
    ) -> None:
        self._tree = tree
        self._path = list(path)
        self._table = table
        self.problems: list[Problem] = []
        entry: dict[str, Any] = tree.value["rosters"][self._path[-1]]
        contacts: dict[str, Any] = entry[CONTACT.plural]
        self._meta = contacts.get("meta", {})
        self._titled = _has_header(entry, table)
        self._name = self._compile([*path, "name"], entry["name"])
        templates = dict(self._templates([*path, CONTACT.plural], contacts, ""))
        self._fields = {path: template for path, template in templates.items() if template is not None}
        self._unread = unread | (templates.keys() - self._fields.keys())
        where = [*path, CONTACT.plural, "meta", "tags"]
        tags: dict[str, str] = self._meta.get("tags", {})
        compiled_tags = {key: self._compile([*where, key], text) for key, text in tags.items()}
        self._tags = {key: template for key, template in compiled_tags.items() if template is not None}
        if self._name is not None and not self._name.columns:
            hint = "put a column into it that differs in every row, such as {Employee ID}"
            what = "the name is the same for every row."
            self.problems.append(tree.problem([*path, "name"], what, hint, code="E504"))
            self._name = None
        self._filled = tuple(_prepare_field(path, template) for path, template in self._fields.items())
        self._cells: dict[tuple[str, ...], Mapping[str, int]] = {}  # of rows that have the same fields
        self._known: dict[str, str] = {}  # texts that occurred, so that each is there once
        self._told: set[tuple[int, int]] = set()  # cells that may not be used, and were told
        self._origin = self._shared()
        self._control_places = locate_controls(tree, self._meta)

    def _shared(self) -> Origin:
        titles = self._table.header
        columns = {
            path: tuple(titles[column] for column in template.columns)
            for path, template in self._fields.items()
            if template.columns
        }
        templates = {
            path: self._tree.place([*self._path, CONTACT.plural, *path.split(".")]) for path in self._fields
        }
        return Origin(columns, templates)

    def documents(self) -> tuple[Document, ...]:
        """Return one contact for each row that could be read."""
        named: dict[str, int] = {}
        collisions = 0
        found: list[Document] = []
        for row in self._table.rows:
            name = self._named(row)
            if name in named:
                collisions += 1
                if collisions <= _COLLISIONS_SHOWN_MAX:
                    self._collision(row, name, named[name])
                name = ""
            elif name:
                named[name] = row[0]
            found.append(self._document(name or f"(row {row[0]})", row))
        if collisions > _COLLISIONS_SHOWN_MAX:
            rest = f"{collisions - _COLLISIONS_SHOWN_MAX} more rows have a name that is taken."
            hint = "build `name` from a column that differs in every row"
            self.problems.append(Problem(self._table.file, 0, 0, rest, hint, code="E504"))
        return tuple(found)

    def _compile(self, path: TreePath, text: str) -> RowTemplate | None:
        place = self._tree.place(path)
        secret = is_secret_path(path) or place in self._tree.hidden
        result = compile_template(text, self._table.header, secret=secret, titled=self._titled)
        if isinstance(result, RowTemplate):
            return None if self._table.doubtful.intersection(result.columns) else result
        if not isinstance(result, UnknownColumn):
            self.problems.append(self._tree.problem(path, *result, code="E507"))
        elif self._table.named:
            self.problems.append(self._tree.problem(path, result.what, result.hint, code="E507"))
        return None

    def _templates(
        self, path: TreePath, node: dict[str, Any], above: str
    ) -> Iterator[tuple[str, RowTemplate | None]]:
        for key, value in node.items():
            if not above and key == "meta":
                continue
            if isinstance(value, dict):
                yield from self._templates([*path, key], value, f"{above}{key}.")
            else:
                yield above + key, self._compile([*path, key], value)

    def _named(self, row: TableRow) -> str:
        """Return the name of a row, or "" where it has none; then that was said."""
        number, cells = row
        if self._name is None or self._lost(number, self._name.columns):
            return ""
        text = self._name.render(cells) or ""
        name = slugify(text)
        if ENTITY_NAME.fullmatch(name):
            return name
        cell = self._cell(self._name)
        what, code = "the name of this row would be empty: it contains no a-z and no 0-9.", "E503"
        if name:
            what = f"the name of this row would have {len(name)} characters; the limit is 100."
            code = "E205"
        titles = self._table.header[:_TITLES_SHOWN_MAX]
        others = [title[:_HINT_MAX] for index, title in enumerate(titles) if index != self._name.columns[0]]
        known = show_value(", ".join(others), most=_HINT_MAX)
        hint = f"fill the cell, or build `name` from another column: {known}"
        self.problems.append(self._table.place(number, cell).problem(what, hint, code))
        return ""

    def _collision(self, row: TableRow, name: str, first: int) -> None:
        cell = self._cell(self._name)
        before = self._table.place(first).file if self._table.names else f"row {first}"
        what = f"the name {name} is that of {before} already."
        hint = "correct one of the rows, or build `name` from a column that differs in every row"
        self.problems.append(self._table.place(row[0], cell).problem(what, hint, code="E504"))

    def _document(self, name: str, row: TableRow) -> Document:
        number, cells = row
        fields: dict[str, Scalar] = {}
        bad = number in self._table.unread or number in self._table.unusable
        unread, known = self._unread, self._known
        for path, template, columns, bare, flag in self._filled:
            if bad and self._lost(number, columns):
                unread |= {path}
                continue
            text = template.render(cells) if bare is None else cells[bare]
            if text is None or (bare is not None and is_blank(text)):
                continue
            fields[path] = self._flag(path, text, row, template) if flag else known.get(text, text)
        if len(known) < _KNOWN_MAX:
            known.update((text, text) for text in fields.values() if isinstance(text, str))
        place = self._table.place(number, self._cell(self._name))
        return Document(
            kind=CONTACT.name,
            name=name,
            place=place,
            fields=fields,
            places=RowPlaces(place.file, place.line, self._cells_of(tuple(fields))),
            controls=self._controls(row),
            unread=unread,
            origin=self._origin,
            control_places=self._control_places,
        )

    def _cells_of(self, paths: tuple[str, ...]) -> Mapping[str, int]:
        cells = self._cells.get(paths)
        if cells is None:
            cells = self._cells[paths] = {path: self._cell(self._fields[path]) for path in paths}
        return cells

    def _lost(self, number: int, columns: tuple[int, ...]) -> bool:
        """Whether one of these cells could not be read, or may not be used, which is told once."""
        unread, unusable = self._table.unread.get(number, ()), self._table.unusable.get(number, {})
        if not unread and not unusable:  # as of nearly every row
            return False
        wrong = [column for column in columns if column in unusable]
        for column in wrong:
            if (number, column) not in self._told:
                self._told.add((number, column))
                cell = (
                    "the cell" if not self._table.names else f"its {show_value(self._table.header[column])!r}"
                )
                what = f"{cell} holds {unusable[column]}; expected one text."
                place = self._table.place(number, self._at(column))
                self.problems.append(place.problem(what, self._table.mend, code="E510"))
        return bool(wrong) or any(column in unread for column in columns)

    def _cell(self, template: RowTemplate | None) -> int:
        """Return the number of the first cell that a template takes from, 0 where there is none."""
        columns = template.columns if template is not None else ()
        return self._at(columns[0]) if columns else 0

    def _at(self, column: int) -> int:
        return 0 if self._table.keyed else column + 1

    def _flag(self, path: str, text: str, row: TableRow, template: RowTemplate) -> Scalar:
        value = _FLAGS.get(trim_edges(text).lower())
        if value is None:
            what = f"{path} must be true or false, yes or no. It is {show_value(text)!r}."
            place = self._table.place(row[0], self._cell(template))
            self.problems.append(place.problem(what, "write yes or no into the cell", code="E506"))
            return False
        return value

    def _controls(self, row: TableRow) -> Controls:
        if not self._meta:
            return _NO_CONTROLS
        tags: dict[str, str] = {}
        for key, template in self._tags.items():
            text = None if self._lost(row[0], template.columns) else template.render(row[1])
            if text is not None:
                tags[key] = text
                if len(text) > _TAG_MAX:
                    what = f"the tag {show_value(key)} has {len(text)} characters; the limit is {_TAG_MAX}."
                    hint = "take another column for this tag"
                    place = self._table.place(row[0], self._cell(template))
                    self.problems.append(place.problem(what, hint, code="E205"))
        return read_controls({**self._meta, "tags": tags})


def _has_header(entry: dict[str, Any], table: RosterTable) -> bool:
    """Whether the first row is a header: a template takes from one of its columns.

    Without a header the first person's cells would be listed as the names of the columns.
    """
    waiting: list[Any] = [entry["name"], entry[CONTACT.plural]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, str) and not list_template_columns(node).isdisjoint(table.header):
            return True
    return False


_NO_CONTROLS = Controls()


def _prepare_field(path: str, template: RowTemplate) -> _FieldTemplate:
    bare = template.pieces[0] if len(template.pieces) == 1 else None
    flag = is_flag(CONTACT.name, path)
    return _FieldTemplate(path, template, template.columns, bare if isinstance(bare, int) else None, flag)
