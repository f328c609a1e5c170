"""How reading is reported, and what list rows show.

Reading itself: all scopes together in live.py, one of them in scopes.py.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from reconciler.errors import Malformed
from reconciler.instrumentation import reading_log
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import child_kinds
from reconciler.model.snapshots import Scope
from reconciler.service.paging import Found, Page, remote_id

# --- Progress: how far a list is read (cli/console/progress.py shows it) --------------------------


class ReadProgress(Struct, frozen=True):
    """So many rows of a scope's list have been read, of so many (None: the service does not say)."""

    scope: Scope
    rows: int
    total: int | None


def report_progress(scope: Scope, rows: int, total: int | None) -> None:
    """Tell how far a list is read, if anybody listens."""
    reading_log.debug("%s", ReadProgress(scope, rows, total))


# --- What list rows show, and reading several things at once --------------------------------------
#
# Which fields show that a row is whole or brief: model/kinds.py.


T = TypeVar("T")
R = TypeVar("R")


async def gather_limited(items: Sequence[T], work: Callable[[T], Awaitable[R]], limit: int) -> list[R]:
    """Return the results in the order of the items, with at most `limit` of them under way."""
    results: dict[int, R] = {}
    queue = iter(enumerate(items))

    async def worker() -> None:
        for index, item in queue:
            results[index] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(limit, len(items))):
            group.create_task(worker())
    return [results[index] for index in range(len(items))]


def iterate_children(kind: Kind, whole: Found) -> Iterator[tuple[Kind, Found]]:
    """Yield the entities in a whole body that belong to it. Raises Malformed for one without an id."""
    for child in child_kinds(kind.name):
        rows = whole.body.get(child.rows_key)
        for body in (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ():
            found = Found(remote_id(body, child.segment), body, whole.date)
            if not found.remote_id:
                what = f"the service shows a {child.name} without an id."
                raise Malformed(f"{kind.name} {whole.remote_id}: {what}")
            yield child, found


def choose_list_fields(kind: Kind, wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the fields to ask a list of brief rows for: what will be compared, and the witness."""
    heads = {path.partition(".")[0] for path in wanted} - kind.write_only
    # Custom fields are asked for by a parameter of their own (service/paging.py).
    names = {kind.wire.get(head, head) for head in heads - {kind.custom}}
    return tuple(sorted(names | {kind.listing.witness} - {""}))


def find_shown_paths(
    kind: Kind, rows: Sequence[Found], asked: tuple[str, ...], wanted: frozenset[str]
) -> frozenset[str] | None:
    """Return the paths that such list rows show, of those wanted, or None where they show everything.

    `asked` are the fields that they were asked for.
    """
    listing = kind.listing
    if not kind.brief or any(listing.whole & row.body.keys() for row in rows):
        return None
    if not any(listing.witness in row.body for row in rows):
        return listing.always
    shown = listing.always | {kind.ours.get(name, name) for name in asked}
    for head, shape in kind.structured.items():
        key = kind.wire.get(head, head)
        if any(row.body.get(key) or (key in row.body and _EMPTY_TELLS[shape]) for row in rows):
            shown |= {path for path in wanted if path.startswith(f"{head}.")}
    return shown


# Whether an empty value of a brief row says that the entity has none, by the shape of its field.
# Every brief row has `messagingoptions: []`, which says nothing; one row that has some tells.
_EMPTY_TELLS: Mapping[FieldShape, bool] = require_rows(
    FieldShape, {"scalar": True, "content": True, "custom": True, "channels": False, "group": True}
)


def count_page_rows(page: Page) -> int:
    """Return how many rows its first page shows that a list has on each."""
    return len(page.rows) or 1
