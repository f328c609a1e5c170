"""Entities and their owners: as lines, as JSON, as a table for spreadsheets.

Data of people is escaped; a headline holds no secret. What is listed is decided in core/views/inventory.py.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from reconciler.core.views.inventory import Inventory, Listed, State, Unread
from reconciler.model.kinds import KINDS
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import Line, count, line, notice_lines, table

_STATES: tuple[State, ...] = ("owned", "declared", "drifted", "unmanaged")
_name_max = 60  # columns of a name on a screen; CSV and JSON have all of it

# What a spreadsheet takes for a formula, or for the start of one where it splits cells at semicolons; the
# wide forms are read so too in some languages. Behind an apostrophe it is text.
_FORMULA = re.compile(r"(\A|;)(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")

NULLABLE = ("address", "remote_id", "place", "planned")  # null in JSON where an entity has none
COLUMNS = ("state", "address", "kind", "workspace", "remote_id", "name", "declared", "planned")


def listing_lines(found: Inventory, shown: Sequence[Listed]) -> tuple[Line, ...]:
    """Return a table of these rows, how many there are of each state, what was not read, and notices."""
    planned = any(one.planned for one in shown)
    head = ("state", "address", "id", "declared", *(("plan",) if planned else ()), "name")
    rows = [
        (
            one.state,
            one.address or f"({one.kind} in {one.workspace})",
            one.remote_id,
            one.place,
            *((one.planned,) if planned else ()),
            join_headline(one),
        )
        for one in shown
    ]
    return (*table(head, rows, _summarize_listing(found, shown), last=_name_max), *_list_unknown(found))


def listing_values(found: Inventory, shown: Sequence[Listed]) -> dict[str, Any]:
    """Return the same for the JSON form; what an entity has not is null."""
    entities = []
    for one in shown:
        values = structs.asdict(one)
        entities.append(
            {name: None if name in NULLABLE and not value else value for name, value in values.items()}
        )
    return {
        "entities": entities,
        "unread": [structs.asdict(one) for one in found.unread],
        "incomplete": found.incomplete,
        "notices": found.notices,
        "not_planned": found.not_planned,
    }


def listing_csv(shown: Sequence[Listed]) -> str:
    """Return these rows as CSV, with a heading; no cell acts on a spreadsheet, a terminal or a CI runner."""
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    write.writerow(COLUMNS)
    for one in shown:
        cells = (
            one.address,
            one.kind,
            one.workspace,
            one.remote_id,
            join_headline(one),
            one.place,
            one.planned,
        )
        write.writerow((one.state, *map(escape_cell, cells)))
    return text.getvalue()


def escape_cell(text: str) -> str:
    """Return a text that a spreadsheet shows as it is: one that would be a formula begins with an apostrophe.

    That is so for a telephone number as well, which would lose its plus: `'+61491570156`.
    """
    return _FORMULA.sub(r"\1'", escape_ci_commands(escape_control(text)))


def unread_lines(found: Inventory) -> tuple[Line, ...]:
    """Return what no manifest declares, and the notices, for a form that has no place for them."""
    return tuple(_list_unknown(found))


def join_headline(one: Listed) -> str:
    """Return the fields that identify an entity to a person, in the order of its kind."""
    return " ".join(str(value) for value in one.headline.values())


def _summarize_listing(found: Inventory, shown: Sequence[Listed]) -> str:
    number = Counter(one.state for one in shown)
    states = ", ".join(f"{number[state]:,} {state}" for state in _STATES if number[state])
    total = count(len(shown), "entity", "entities") + (f": {states}" if states else "")
    return f"{total}   {count(found.calls, 'call')}"


def _list_unknown(found: Inventory) -> Iterator[Line]:
    for scope in found.incomplete:
        yield line(("! ", "warn"), f"{scope}: the list is incomplete; entities may be missing.")
    none = [_name_scope(one) for one in found.unread if not one.recorded]
    if none:
        yield line(("not declared by any manifest, so not read: " + ", ".join(none), "dim"))
    for one in found.unread:
        if one.recorded:
            what = (
                f"{_name_scope(one)}: {one.recorded:,} recorded, but not declared by any manifest; not read"
            )
            yield line((what, "warn"))
    yield from notice_lines(found.notices, full=True)


def _name_scope(one: Unread) -> str:
    return f"{KINDS[one.kind].plural} in {one.workspace}"
