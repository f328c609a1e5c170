"""What list rows can tell, and reading several things at once.

Belongs here: which fields show that a row is whole or brief, the fields to ask for, the devices in a
contact. Not here: which rows are needed (scopes.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from reconciler.errors import Malformed
from reconciler.model.kinds import KINDS
from reconciler.service.found import Found, Page, remote_id

# A field of every whole contact that brief rows lack: a row that shows it has honoured `fields=`.
WITNESS = "mri"
# Fields of every whole contact that are never asked for by name: a row that shows one is whole.
WHOLE = frozenset({"locations", "type"})
# Parts of a contact that are lists, by their name in a row, and the paths that they become.
LISTS = {"messagingoptions": "messagingOptions.", "customFields": "custom."}
# What any list row of a contact tells, however brief.
BRIEF = frozenset({"firstName", "lastName", "status"})

T = TypeVar("T")
R = TypeVar("R")


async def together(items: Sequence[T], work: Callable[[T], Awaitable[R]], limit: int) -> list[R]:
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


def devices_of(contact: Found) -> list[Found]:
    """Return the devices that a contact's whole body shows. Raises Malformed for one without an id."""
    rows = contact.body.get("devices")
    bodies = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    devices = [Found(remote_id(body, "devices"), body, contact.date) for body in bodies]
    if not all(device.remote_id for device in devices):
        raise Malformed(f"contact {contact.remote_id}: the service shows a device without an id.")
    return devices


def list_fields(wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the contact fields to ask a list for: what will be compared, and the witness."""
    plain = {path for path in wanted if "." not in path} - KINDS["contact"].write_only
    options = {"messagingoptions" for path in wanted if path.startswith("messagingOptions.")}
    return tuple(sorted(plain | options | {WITNESS}))


def size(page: Page) -> int:
    """Return how many rows its first page shows that a list has on each."""
    return len(page.rows) or 1
