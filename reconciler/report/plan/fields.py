"""Fields of changes as aligned lines: `path  before  →  after   cause`, or `path  value`.

Belongs here: columns, and which fields of a create matter at first sight. Not here: headlines, order.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, FieldChange
from reconciler.report.inert import inert
from reconciler.report.lines import Line, Style, count, cut, line, pad, screen_columns, width
from reconciler.report.values import Shown, pair, short_digest, shown, size, value_max

_indent = 4
_path_max = 32  # columns; a longer path pushes its own row to the right and no other
_arrow = "  →  "

# A create shows its kind's headline first. The rest is counted, and shown with --full.
_few = 4  # fields that are shown whatever their names are


class ShownField(Struct, frozen=True, gc=False):
    """One field of a change, before and after as they are shown."""

    path: str
    before: Shown
    after: Shown
    cause: str


class Columns(Struct, frozen=True, gc=False):
    """The widths that all rows of a report share.

    `value` is the widest value that stays in its column, `screen` where a broken row ends (0: nowhere).
    """

    path: int
    before: int
    after: int
    value: int
    screen: int


def rows(kind: str, fields: Iterable[FieldChange], *, full: bool) -> list[ShownField]:
    """Return the fields of one update, ready for `columns` and `row_lines`."""
    limit = 0 if full else value_max
    return [ShownField(inert(field.path), *pair(kind, field, limit=limit), field.cause) for field in fields]


def columns(all_rows: Sequence[ShownField], *, full: bool) -> Columns:
    """Return widths with which ordinary rows fit a screen; rows that cannot are broken at the arrow."""
    path = min(max((width(row.path) for row in all_rows), default=0), _path_max)
    cause = max((len(row.cause) for row in all_rows), default=0)
    value = (screen_columns - _indent - path - 2 - len(_arrow) - 3 - cause) // 2
    short = [row for row in all_rows if _fits(row, value)]
    return Columns(
        path=path,
        before=max((width(row.before.text) for row in short), default=0),
        after=max((width(row.after.text) for row in short), default=0),
        value=value,
        screen=0 if full else screen_columns,
    )


def _fits(row: ShownField, value: int) -> bool:
    return max(width(row.before.text), width(row.after.text)) <= value


def row_lines(row: ShownField, at: Columns) -> list[Line]:
    """Return one line, or two where a value is too long to stand beside the other."""
    path = " " * _indent + pad(row.path, at.path) + "  "
    cause: tuple[str, Style] = (row.cause, "warn" if row.cause in {"drifted", "both"} else "dim")
    if _fits(row, at.value):
        before = _styled(row.before, at.before)
        return [line(path, before, (_arrow, "dim"), _styled(row.after, at.after), "   ", cause)]
    under = " " * (width(path) - len(_arrow) + 2)
    room = at.screen - width(path) - 3 - len(row.cause) if at.screen else 0
    return [
        line(path, _styled(row.before, cut_at=room)),
        line(under, (_arrow[2:], "dim"), _styled(row.after, cut_at=room), "   ", cause),
    ]


def _styled(value: Shown, columns: int = 0, *, cut_at: int = 0) -> tuple[str, Style]:
    text = cut(value.text, cut_at) if cut_at else value.text
    return pad(text, columns), "dim" if value.placeholder else ""


def create_lines(
    change: Create, *, full: bool, sizes: Mapping[Address, int], contents: Mapping[Address, str]
) -> list[Line]:
    """Return the fields of what is made: the important ones, or all of them.

    `sizes` are octets of content by address, where the caller knows them; `contents` the files it is in.
    """
    kind = change.address.kind
    paths = list(change.fields) if full else _important(kind, change.fields)
    columns = min(max((width(inert(path)) for path in paths), default=0), _path_max)
    lines = []
    for path in sorted(paths) if full else paths:
        value = _content(change, sizes, contents) if path == KINDS[kind].content else ""
        about = (
            Shown(value) if value else shown(kind, path, change.fields[path], limit=0 if full else value_max)
        )
        lines.append(line(" " * _indent, pad(path, columns), "  ", _styled(about)))
    left = (
        len(change.fields)
        - len(paths)
        - (not full and KINDS[kind].content in paths and "mimeType" in change.fields)
    )
    if left > 0:
        lines.append(_more(left))
    return lines


def _more(left: int) -> Line:
    return line((" " * _indent + f"… and {count(left, 'more field')} (--full shows all)", "dim"))


def _important(kind: str, fields: Fields) -> list[str]:
    """Return the paths to show of a create: the important ones, else the first few by name."""
    named = [path for path in KINDS[kind].headline if path in fields]
    others = [path for path in sorted(fields) if path not in named and path != "mimeType"]
    return named + others[: max(_few - len(named), 0)] if len(fields) > _few else named + others


def _content(change: Create, sizes: Mapping[Address, int], contents: Mapping[Address, str]) -> str:
    """Return `manifests/sites.csv, 12.4 KiB, text/csv`; the digest where the size is not known."""
    octets = sizes.get(change.address)
    digest = str(change.fields[KINDS[change.address.kind].content])
    first = short_digest(digest) if octets is None else size(octets)
    return ", ".join(
        filter(None, [inert(contents.get(change.address, "")), first, str(change.fields.get("mimeType", ""))])
    )


def delete_lines(before: Fields, kind: str, *, full: bool) -> list[Line]:
    """Return what goes away, as it is now: the important fields, or all of them."""
    paths = sorted(before) if full else _important(kind, before)
    columns = min(max((width(inert(path)) for path in paths), default=0), _path_max)
    limit = 0 if full else value_max
    lines = [
        line(" " * _indent, pad(path, columns), "  ", _styled(shown(kind, path, before[path], limit=limit)))
        for path in paths
    ]
    return [*lines, _more(len(before) - len(paths))] if len(before) > len(paths) else lines
