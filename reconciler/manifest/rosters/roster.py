"""The rows of a roster become contacts: templates over columns, one Document for each row.

An empty cell means absent: a field whose columns are all empty in a row is unmanaged there, so that a
half-filled spreadsheet clears nothing. A template without columns applies to every row, and "" in its place
clears the field in every row.
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
        """Return the text for one row; None where the template has columns and all of them are empty.

        A single column is used unchanged; composed text is trimmed, because an empty cell leaves the spaces
        around it.
        """
        columns = self.columns
        if columns and all(is_blank(row[column]) for column in columns):
            return None
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            return row[piece] if isinstance(piece, int) else piece
        text = "".join(row[piece] if isinstance(piece, int) else piece for piece in self.pieces)
        return trim_edges(text) if columns else text


class TemplateMistake(Struct, frozen=True):
    """What is wrong with a template. `unknown_column`: it names a column that the header does not have."""

    what: str
    hint: str
    unknown_column: bool = True


def compile_template(
    text: str, header: Sequence[str], *, secret: bool = False, titled: bool = True
) -> RowTemplate | TemplateMistake:
    """Return the template of `text` for these columns, or its mistake.

    A lone brace is reported before an unknown column. A `secret` text is not quoted. Without `titled`, the
    first row may be personal data instead of a header, and is not quoted either.
    """
    unknown: TemplateMistake | None = None
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
            what = f"unmatched brace in {where}."
            return TemplateMistake(what, "write {Column}, or {{ for a brace", unknown_column=False)
        elif (name := normalize_column(column)) in header:
            pieces.append(header.index(name))
        else:
            unknown = unknown or _explain_unknown_column(column, header, secret=secret, titled=titled)
    pieces.append(text[at:])
    return unknown or RowTemplate(_join_literals(pieces))


def list_template_columns(text: str) -> frozenset[str]:
    """Return the columns that a template names, even those that the roster lacks."""
    return frozenset(normalize_column(found[1]) for found in _PIECE.finditer(text) if found[1] is not None)


def _explain_unknown_column(
    column: str, header: Sequence[str], *, secret: bool, titled: bool
) -> TemplateMistake:
    if not titled:
        listed = "check that the first row of the roster contains the names of its columns"
    else:
        listed = f"the columns are: {show_value(', '.join(header), most=200)}"
    if secret:
        return TemplateMistake("this template names a column that the roster does not have.", listed)
    return TemplateMistake(
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
_SHARED_TEXTS_MAX = 20_000  # texts; those that are frequent occur early
_COLLISIONS_SHOWN_MAX = 20  # with a wrong column every row would be one


class _FieldTemplate(NamedTuple):
    """How a field is filled in each row. `bare`: the column, where its cell is the value; else None."""

    path: str
    template: RowTemplate
    columns: tuple[int, ...]
    bare: int | None
    flag: bool


class Roster:
    """One entry of `rosters` with its table. Call `documents()` first, then read `problems`.

    `unread` are fields whose templates could not be read. A row with a wrong cell is a document too; one
    without a valid name is called `(row 17)`, which no entry of a manifest can be called.
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
        self._name = self._compile_template([*path, "name"], entry["name"])
        templates = dict(self._compile_fields([*path, CONTACT.plural], contacts, ""))
        self._fields = {path: template for path, template in templates.items() if template is not None}
        self._unread = unread | (templates.keys() - self._fields.keys())
        where = [*path, CONTACT.plural, "meta", "tags"]
        tags: dict[str, str] = self._meta.get("tags", {})
        compiled_tags = {key: self._compile_template([*where, key], text) for key, text in tags.items()}
        self._tags = {key: template for key, template in compiled_tags.items() if template is not None}
        if self._name is not None and not self._name.columns:
            hint = "use a column that differs in every row, such as {Employee ID}"
            what = "the name is the same for every row."
            self.problems.append(tree.problem([*path, "name"], what, hint, code="E504"))
            self._name = None
        self._filled = tuple(_prepare_field(path, template) for path, template in self._fields.items())
        self._cells: dict[tuple[str, ...], Mapping[str, int]] = {}  # by the fields that a row has
        self._shared_texts: dict[str, str] = {}  # so that equal texts are in memory once
        self._reported: set[tuple[int, int]] = set()  # unusable cells that were reported
        self._origin = self._build_origin()
        self._control_places = locate_controls(tree, self._meta)

    def _build_origin(self) -> Origin:
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
        """Return one contact for each row."""
        named: dict[str, int] = {}
        collisions = 0
        found: list[Document] = []
        for row in self._table.rows:
            name = self._build_name(row)
            if name in named:
                collisions += 1
                if collisions <= _COLLISIONS_SHOWN_MAX:
                    self._report_collision(row, name, named[name])
                name = ""
            elif name:
                named[name] = row[0]
            found.append(self._build_document(name or f"(row {row[0]})", row))
        if collisions > _COLLISIONS_SHOWN_MAX:
            rest = f"{collisions - _COLLISIONS_SHOWN_MAX} more rows have the name of another row."
            hint = "build `name` from a column that differs in every row"
            self.problems.append(Problem(self._table.file, 0, 0, rest, hint, code="E504"))
        return tuple(found)

    def _compile_template(self, path: TreePath, text: str) -> RowTemplate | None:
        place = self._tree.place(path)
        secret = is_secret_path(path) or place in self._tree.hidden
        result = compile_template(text, self._table.header, secret=secret, titled=self._titled)
        if isinstance(result, RowTemplate):
            return None if self._table.doubtful.intersection(result.columns) else result
        if self._table.named or not result.unknown_column:
            self.problems.append(self._tree.problem(path, result.what, result.hint, code="E507"))
        return None

    def _compile_fields(
        self, path: TreePath, node: dict[str, Any], above: str
    ) -> Iterator[tuple[str, RowTemplate | None]]:
        for key, value in node.items():
            if not above and key == "meta":
                continue
            if isinstance(value, dict):
                yield from self._compile_fields([*path, key], value, f"{above}{key}.")
            else:
                yield above + key, self._compile_template([*path, key], value)

    def _build_name(self, row: TableRow) -> str:
        """Return the name of a row; "" where it has none, which is then reported."""
        number, cells = row
        if self._name is None or self._is_unreadable(number, self._name.columns):
            return ""
        text = self._name.render(cells) or ""
        name = slugify(text)
        if ENTITY_NAME.fullmatch(name):
            return name
        cell = self._first_cell(self._name)
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

    def _report_collision(self, row: TableRow, name: str, first: int) -> None:
        cell = self._first_cell(self._name)
        before = self._table.place(first).file if self._table.names else f"row {first}"
        what = f"the name {name} is already that of {before}."
        hint = "correct one of the rows, or build `name` from a column that differs in every row"
        self.problems.append(self._table.place(row[0], cell).problem(what, hint, code="E504"))

    def _build_document(self, name: str, row: TableRow) -> Document:
        number, cells = row
        fields: dict[str, Scalar] = {}
        bad = number in self._table.unread or number in self._table.unusable
        unread, shared = self._unread, self._shared_texts
        for path, template, columns, bare, flag in self._filled:
            if bad and self._is_unreadable(number, columns):
                unread |= {path}
                continue
            text = template.render(cells) if bare is None else cells[bare]
            if text is None or (bare is not None and is_blank(text)):
                continue
            fields[path] = self._read_flag(path, text, row, template) if flag else shared.get(text, text)
        if len(shared) < _SHARED_TEXTS_MAX:
            shared.update((text, text) for text in fields.values() if isinstance(text, str))
        place = self._table.place(number, self._first_cell(self._name))
        return Document(
            kind=CONTACT.name,
            name=name,
            place=place,
            fields=fields,
            places=RowPlaces(place.file, place.line, self._field_cells(tuple(fields))),
            controls=self._build_controls(row),
            unread=unread,
            origin=self._origin,
            control_places=self._control_places,
        )

    def _field_cells(self, paths: tuple[str, ...]) -> Mapping[str, int]:
        cells = self._cells.get(paths)
        if cells is None:
            cells = self._cells[paths] = {path: self._first_cell(self._fields[path]) for path in paths}
        return cells

    def _is_unreadable(self, number: int, columns: tuple[int, ...]) -> bool:
        """Whether one of these cells could not be read or is unusable; the latter is reported once."""
        unread, unusable = self._table.unread.get(number, ()), self._table.unusable.get(number, {})
        if not unread and not unusable:  # nearly every row
            return False
        wrong = [column for column in columns if column in unusable]
        for column in wrong:
            if (number, column) not in self._reported:
                self._reported.add((number, column))
                cell = (
                    "the cell" if not self._table.names else f"its {show_value(self._table.header[column])!r}"
                )
                what = f"{cell} contains {unusable[column]}; expected one text."
                place = self._table.place(number, self._cell_number(column))
                self.problems.append(place.problem(what, self._table.mend, code="E510"))
        return bool(wrong) or any(column in unread for column in columns)

    def _first_cell(self, template: RowTemplate | None) -> int:
        """Return the number of the first cell that a template uses, 0 where it uses none."""
        columns = template.columns if template is not None else ()
        return self._cell_number(columns[0]) if columns else 0

    def _cell_number(self, column: int) -> int:
        return 0 if self._table.keyed else column + 1

    def _read_flag(self, path: str, text: str, row: TableRow, template: RowTemplate) -> Scalar:
        value = _FLAGS.get(trim_edges(text).lower())
        if value is None:
            what = f"{path} must be true or false, yes or no. It is {show_value(text)!r}."
            place = self._table.place(row[0], self._first_cell(template))
            self.problems.append(place.problem(what, "write yes or no into the cell", code="E506"))
            return False
        return value

    def _build_controls(self, row: TableRow) -> Controls:
        if not self._meta:
            return _NO_CONTROLS
        tags: dict[str, str] = {}
        for key, template in self._tags.items():
            text = None if self._is_unreadable(row[0], template.columns) else template.render(row[1])
            if text is not None:
                tags[key] = text
                if len(text) > _TAG_MAX:
                    what = f"the tag {show_value(key)} has {len(text)} characters; the limit is {_TAG_MAX}."
                    hint = "use another column for this tag"
                    place = self._table.place(row[0], self._first_cell(template))
                    self.problems.append(place.problem(what, hint, code="E205"))
        return read_controls({**self._meta, "tags": tags})


def _has_header(entry: dict[str, Any], table: RosterTable) -> bool:
    """Whether the first row is a header: a template uses one of its columns.

    Otherwise the data of the first person would be quoted as the names of the columns.
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
