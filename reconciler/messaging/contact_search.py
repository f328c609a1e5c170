"""Contact search: the list of contacts is read until enough match; which match says contact_query.py.

A contact that a list shows too briefly to compare is read alone. A list that changed while it was read is
read once more.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from reconciler.errors import NotFound
from reconciler.messaging.contact_query import (
    BRIEF,
    asks_custom_fields,
    list_fields,
    matches_query,
    provides_fields,
    searchable_values,
)
from reconciler.messaging.values import ContactQuery, ContactRow, ContactsFound
from reconciler.model.documents import Scalar
from reconciler.service.entities import ReadCollection
from reconciler.service.paging import Found, Page, Query


async def find_contacts(contacts: ReadCollection, query: ContactQuery, *, workspace: str) -> ContactsFound:
    """Return the first contacts of a workspace that match, up to the limit of the query.

    `workspace` is the service's id. Raises what the client raises.
    """
    found = await _search_once(contacts, query, workspace)
    return await _search_once(contacts, query, workspace) if found.trouble else found


async def _search_once(contacts: ReadCollection, query: ContactQuery, workspace: str) -> ContactsFound:
    rows: list[ContactRow] = []
    trouble = ""
    async with aclosing(_read_pages(contacts, query, workspace)) as pages:
        async for page in pages:
            trouble = trouble or page.trouble
            fitting = await _select_matching(contacts, page, query, workspace)
            room = query.limit - len(rows)
            rows += fitting[:room]
            if len(fitting) > room or (len(rows) == query.limit and not page.last):
                return ContactsFound(tuple(rows), more=True)
    return ContactsFound(tuple(rows), trouble=trouble)


async def _read_pages(
    contacts: ReadCollection, query: ContactQuery, workspace: str
) -> AsyncGenerator[Page, None]:
    """Yield all pages. No more are requested at once than fill the limit if every contact matches."""
    sort = ("-" if query.descending else "") + ",".join(query.sort) if query.sort else ""
    asked = Query(query.filters, list_fields(query), asks_custom_fields(query), sort)
    first = await contacts.page(asked, workspace=workspace)
    left = -(-query.limit // max(1, len(first.rows))) - 1
    async with aclosing(contacts.pages(asked, first, workspace=workspace, window=max(1, left))) as pages:
        async for page in pages:
            yield page


async def _select_matching(
    contacts: ReadCollection, page: Page, query: ContactQuery, workspace: str
) -> list[ContactRow]:
    """Return the contacts of a page that match, in its order."""
    known = [(row, searchable_values(row.body)) for row in page.rows]
    if not provides_fields([row.body for row in page.rows], query):
        likely = [row for row, fields in known if matches_query(query, fields, BRIEF)]
        known = await _read_alone(contacts, likely, workspace)
    return [
        ContactRow(row.remote_id, {name: fields[name] for name in query.shown if name in fields})
        for row, fields in known
        if matches_query(query, fields)
    ]


async def _read_alone(
    contacts: ReadCollection, rows: list[Found], workspace: str
) -> list[tuple[Found, dict[str, Scalar]]]:
    """Return each of these contacts as it is when it is read alone, without those that are gone by now."""

    async def read(row: Found) -> Found | None:
        try:
            return await contacts.get(row.remote_id, workspace=workspace)
        except NotFound:
            return None

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(row)) for row in rows]
    return [(found, searchable_values(found.body)) for task in tasks if (found := task.result())]
