"""Exported entries as manifests: their YAML, rosters for many of them, and which file holds which.

core/export.py decides which entries are exported; drop_invalid.py drops what manifests may not contain.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

from msgspec import Struct

from reconciler.core.desired.value_forms import make_placeholder
from reconciler.core.export import Exported
from reconciler.core.text import slugify
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.parsing.tree import TREE_BYTES_MAX, Tree, read_tree

# --- Values and entries as YAML -------------------------------------------------------------------
#
# The text reads back as exactly the same values. A small writer, not a library: a value that is not certainly
# safe gets double quotes, with the escapes that YAML and JSON share. Live values may be hostile; they stay
# text.

YamlNode = Union[str, bool, list[str], "Mapping[str, YamlNode]"]

_INDENT = "  "
# A letter first, and no character after it that YAML gives a meaning: no colon, no number sign, no quotes.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.@+/-]| (?=[A-Za-z0-9_.@+/-]))*", re.ASCII)
# Words that some YAML readers take for a boolean or null. Ours takes all but null as text.
YAML_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


def write_scalar(value: Scalar) -> str:
    """Return one value as YAML. `${` in it is text and is escaped as `$${`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote_yaml(value.replace("${", "$${"))


def quote_yaml(text: str) -> str:
    """Return a text as YAML, in double quotes unless it is certainly safe without."""
    if _PLAIN.fullmatch(text) and text.casefold() not in YAML_WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def nest_fields(kind: Kind, fields: Mapping[str, str]) -> dict[str, YamlNode]:
    """Return flat fields, whose values are YAML already, as a nested entry in the order of the kind."""
    order = {field.name: index for index, field in enumerate(kind.fields)}
    entry: dict[str, YamlNode] = {}
    for path in sorted(fields, key=lambda path: (order.get(path.partition(".")[0], len(order)), path)):
        node: dict[str, YamlNode] = entry
        *above, last = split_field_path(kind, path)
        for step in above:
            node = node.setdefault(step, {})  # type: ignore[assignment]  # no field is both a text and a mapping
        node[last] = fields[path]
    return entry


def split_field_path(kind: Kind, path: str) -> list[str]:
    """Return the keys of a flat path. The name of a custom field may contain dots."""
    head, dot, rest = path.partition(".")
    if not dot or head not in kind.structured:
        return [path]
    return [head, *_STEPS_BELOW[kind.structured[head]](rest)]


# The keys below a field, by its shape: the names of custom values are not split.
_STEPS_BELOW: Mapping[FieldShape, Callable[[str], list[str]]] = require_rows(
    FieldShape,
    {
        "scalar": lambda rest: [rest],
        "content": lambda rest: [rest],
        "custom": lambda rest: [rest],
        "channels": lambda rest: rest.split("."),
        "group": lambda rest: rest.split("."),
    },
)


def write_mapping(node: Mapping[str, YamlNode], depth: int) -> str:
    """Return a mapping as lines at this depth. Its leaves are YAML already; keys are quoted here."""
    lines = []
    for key, value in node.items():
        start = f"{_INDENT * depth}{quote_yaml(key)}:"
        if isinstance(value, Mapping):
            lines.append(f"{start}\n{write_mapping(value, depth + 1)}" if value else f"{start} {{}}\n")
        elif isinstance(value, list):
            lines.append(f"{start} [{', '.join(map(quote_yaml, value))}]\n")
        else:
            lines.append(f"{start} {value}\n")
    return "".join(lines)


# --- Many entries of one kind as a roster ---------------------------------------------------------
#
# A CSV file, and the manifest that says what its columns mean. An empty cell is an absent field. An entry
# that a row cannot express exactly stays in YAML.

ROSTER_ROWS_MIN = 201  # entries; fewer are easier to read as YAML
_NAME = "name"  # the column of names
# What a spreadsheet takes for a formula. Phone numbers with a leading + are none.
_FORMULA = re.compile(r"[=@\t]|[+-](?![0-9 ()-]+$)")


def select_roster_rows(scope: Scope, entries: Sequence[Exported]) -> list[Exported]:
    """Return the entries that become rows; none if they are too few or their kind has no rosters."""
    if not KINDS[scope.kind].rosters or len(entries) < ROSTER_ROWS_MIN:
        return []
    owners = {one.address.above for one in entries}
    found = [one for one in entries if one.address not in owners and _fits_row(scope, one)]
    return found if len(found) >= ROSTER_ROWS_MIN else []


def _fits_row(scope: Scope, one: Exported) -> bool:
    """Whether a row expresses the entry: no children, controls or variables, and cells that stay text."""
    plain = one.address.kind == scope.kind and not one.variables and not one.ignored and not one.content
    named = slugify(one.address.name) == one.address.name and _NAME not in one.fields
    return plain and named and all(map(_is_safe_cell, map(_format_cell, one.fields.values())))


def _is_safe_cell(text: str) -> bool:
    return not _FORMULA.match(text) and "\n" not in text and "\r" not in text


def _format_cell(value: Scalar) -> str:
    return value if isinstance(value, str) else str(value).lower()


def write_roster_table(rows: Sequence[Exported]) -> str:
    """Return the CSV file: a column for each field that any of them has, a row for each, by name."""
    columns = _list_columns(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_NAME, *columns])
    writer.writerows(
        [one.address.name, *(_format_cell(one.fields.get(at, "")) for at in columns)] for one in rows
    )
    return text.getvalue()


def write_roster_template(scope: Scope, rows: Sequence[Exported], file: str) -> str:
    """Return the section of a manifest that says what the columns of the file mean."""
    kind = KINDS[scope.kind]
    fields = nest_fields(kind, {path: f'"{{{path}}}"' for path in _list_columns(rows)})
    start = f'rosters:\n  - file: {quote_yaml(file)}\n    name: "{{{_NAME}}}"\n    {kind.plural}:\n'
    return start + write_mapping(fields, 3)


def _list_columns(rows: Iterable[Exported]) -> list[str]:
    """Return the paths that any row has, in the order of the fields of the kind."""
    found = {path for one in rows for path in one.fields}
    kind = KINDS[next(iter(rows)).address.kind]
    order = {field.name: index for index, field in enumerate(kind.fields)}
    return sorted(found, key=lambda path: (order.get(path.partition(".")[0], len(order)), path))


def split_rows(rows: Sequence[Exported], most: int) -> Iterator[list[Exported]]:
    """Yield the rows in parts; the file of each has at most about `most` characters."""
    part: list[Exported] = []
    size = 0
    for one in rows:
        length = sum(len(_format_cell(value)) + 3 for value in one.fields.values()) + len(one.address.name)
        if part and size + length > most:
            yield part
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield part


# --- Entries as files -----------------------------------------------------------------------------

_FILE_MAX = 4 * 1024 * 1024  # characters of a file: a manifest may have 10 MiB, and people add to it
_HEADER = (
    "# Written by `reconciler export`. Edit it freely: a later export adds new entries\n"
    "# and changes nothing that is here.\n"
)


class WrittenFile(Struct, frozen=True):
    """One file of an export, its name relative to the folder."""

    name: str
    data: bytes


class EntryGroup(Struct, frozen=True):
    """One top-level entry and its children."""

    entry: Exported
    inside: tuple[Exported, ...] = ()


def group_entries(entries: Iterable[Exported]) -> tuple[EntryGroup, ...]:
    """Return top-level entries with their children, in the order of addresses."""
    below: dict[Address, list[Exported]] = {}
    for one in sorted(entries, key=lambda one: one.address):
        below.setdefault(one.address.above or one.address, []).append(one)
    found = []
    for top, ones in sorted(below.items()):
        entry = next((one for one in ones if one.address == top), None)
        if entry is not None:
            found.append(EntryGroup(entry, tuple(one for one in ones if one is not entry)))
    return tuple(found)


def write_head(scope: Scope) -> str:
    """Return the beginning of a manifest of a scope, up to its entries."""
    return f"{_write_start(scope)}{KINDS[scope.kind].plural}:\n"


def _write_start(scope: Scope) -> str:
    return f"{_HEADER}version: 1\nworkspace: {quote_yaml(scope.workspace)}\n\n"


def split_entries(entries: Iterable[Exported]) -> Iterator[list[EntryGroup]]:
    """Yield the entries of a scope in parts that each fit into a file."""
    part: list[EntryGroup] = []
    size = 0
    for group in group_entries(entries):
        length = len(write_entry(group))
        if part and size + length > _FILE_MAX:
            yield part
            part, size = [], 0
        part.append(group)
        size += length
    if part:
        yield part


def write_section(part: Sequence[EntryGroup]) -> str:
    """Return the text of entries below the key of their section."""
    return "".join(map(write_entry, part))


def write_entry(group: EntryGroup) -> str:
    """Return one entry as lines of a manifest."""
    body = _build_body(group.entry)
    for one in group.inside:
        kind = KINDS[one.address.kind]
        node = body.setdefault(kind.plural, {})
        assert isinstance(node, dict)  # noqa: S101 - no field is called like a kind
        node[one.address.name] = _build_body(one)
    return write_mapping({group.entry.address.name: body}, 1)


def _build_body(one: Exported) -> dict[str, YamlNode]:
    kind = KINDS[one.address.kind]
    texts = {path: write_scalar(value) for path, value in one.fields.items()}
    texts |= {path: f'"${{env:{name}}}"' for path, name in one.variables.items()}
    body = nest_fields(kind, texts)
    if one.content:
        body[kind.content] = {"file": quote_yaml(placeholder_name(one))}
    if one.ignored:
        body["meta"] = {"ignore": list(one.ignored)}
    return body


def placeholder_name(one: Exported) -> str:
    """Return the name of the placeholder of a payload, which the service does not return."""
    kind, workspace, name = one.address.split("/")
    return f"content/{workspace}-{KINDS[kind].plural}/{name}.placeholder"


def placeholder_data(one: Exported) -> bytes:
    """Return the content of the placeholder, which is to be replaced by the real payload."""
    return make_placeholder(str(one.fields.get("mimeType", "")))


def build_export_files(
    scope: Scope, entries: Sequence[Exported], taken: Iterable[str] = ()
) -> tuple[WrittenFile, ...]:
    """Return the new files of a scope. None has a name in `taken`, whatever its letter case."""
    names = {name.casefold() for name in taken}
    stem = f"{scope.workspace}-{KINDS[scope.kind].plural}"
    found = []
    rows = select_roster_rows(scope, entries)
    for some in split_rows(rows, _FILE_MAX):
        name = _pick_free_name(stem, names)
        table = f"{name.removesuffix('.yaml')}.csv"
        found.append(WrittenFile(table, write_roster_table(some).encode()))
        found.append(
            WrittenFile(name, (_write_start(scope) + write_roster_template(scope, some, table)).encode())
        )
    known = {one.address for one in rows}
    rest = split_entries(one for one in entries if one.address not in known)
    found += [
        WrittenFile(_pick_free_name(stem, names), (write_head(scope) + write_section(part)).encode())
        for part in rest
    ]
    return (*found, *build_placeholders(entries))


def build_placeholders(entries: Iterable[Exported]) -> tuple[WrittenFile, ...]:
    """Return the placeholders of payloads, which the service does not return."""
    return tuple(WrittenFile(placeholder_name(one), placeholder_data(one)) for one in entries if one.content)


def _pick_free_name(stem: str, taken: set[str]) -> str:
    number, name = 1, f"{stem}.yaml"
    while not taken.isdisjoint({name.casefold(), f"{name.casefold().removesuffix('.yaml')}.csv"}):
        number += 1
        name = f"{stem}-{number}.yaml"
    taken.add(name.casefold())
    return name


def list_scope_files(scope: Scope, there: Iterable[str]) -> tuple[str, ...]:
    """Return the names in a folder that an export gives to files of a scope, newest first."""
    stem = f"{scope.workspace}-{KINDS[scope.kind].plural}"
    form = re.compile(rf"{re.escape(stem)}(?:-([0-9]{{1,6}}))?\.yaml")
    found = [(int(match[1] or 1), name) for name in there if (match := form.fullmatch(name))]
    return tuple(name for _, name in sorted(found, reverse=True))


# --- New entries at the end of a manifest that people have edited ---------------------------------
#
# The existing bytes do not change.

_COLUMN = 3  # of the names of entries, from 1: they are indented by two spaces


def append_entries(data: bytes, scope: Scope, entries: Sequence[Exported]) -> bytes | None:
    """Return a manifest with entries added after its last one; None where that is not possible.

    It is possible where the file ends with the section of this kind, in block style, and has no defaults or
    tags, which would change the new entries. The result is read back: the old entries, then the new ones.
    """
    tree = read_tree(data, "manifest.yaml")
    if not _ends_with_section(tree, scope):
        return None
    text = data if data.endswith(b"\n") else data + b"\n"
    extended = text + write_section(group_entries(entries)).encode()
    again = read_tree(extended, "manifest.yaml")
    plural = KINDS[scope.kind].plural
    names = [group.entry.address.name for group in group_entries(entries)]
    before: dict[str, Any] = tree.value[plural]
    after = again.value.get(plural, {})
    unchanged = {**again.value, plural: {name: after.get(name) for name in before}} == tree.value
    complete = unchanged and list(after) == [*before, *names]
    return extended if complete and not again.problems and len(extended) <= TREE_BYTES_MAX // 2 else None


def _ends_with_section(tree: Tree, scope: Scope) -> bool:
    """Whether a file is a manifest of this workspace that ends with the section of this kind."""
    value, plural = tree.value, KINDS[scope.kind].plural
    if tree.problems or tree.again or value.get("workspace") != scope.workspace:
        return False
    entries = value.get(plural)
    if (
        list(value)[-1] != plural
        or not isinstance(entries, dict)
        or not entries
        or {"defaults", "tags"} & {*value}
    ):
        return False
    places = list(tree.places(entries))
    first = tree.place([plural]).line
    lines = [first, *(place.line for place in places)]
    return all(place.column == _COLUMN for place in places) and len(set(lines)) == len(lines)
