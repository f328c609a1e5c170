"""`contacts search` at work: walks the list of contacts until enough were found, and adds their addresses.

Belongs here: which calls are made, and when they end. Whoever a list shows too briefly is read alone.
Not here: who fits (messaging/contact_search.py), what is shown (messaging/reports.py).
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import click
from msgspec import structs

from reconciler.cli.console import output
from reconciler.cli.session import open_store
from reconciler.cli.verbs.calling import reading, show, workspace_id
from reconciler.errors import NotFound, StoreError
from reconciler.manifest.flatten import list_known_fields
from reconciler.messaging import contact_search
from reconciler.messaging.reports import contact_lines, contact_values
from reconciler.model.documents import Scalar
from reconciler.model.kinds import CONTACT
from reconciler.model.messages import ContactQuery, ContactRow, ContactsFound
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.service.client import Page, ReadCollection, Reader
from reconciler.service.paging import Found, Query
from reconciler.service.profile import load_profile

Fields = Mapping[str, Scalar]


def search(
    *,
    filters: dict[str, str],
    shown: tuple[str, ...],
    sort: tuple[str, ...],
    order: str,
    limit: int,
    workspace: str,
    as_json: bool,
    **given: Any,
) -> int:
    """Show the contacts of a workspace whose fields contain the texts of the filters."""
    if order == "desc" and not sort:
        raise click.UsageError("--order needs --sort.")
    asked = ContactQuery(filters, shown, sort, order == "desc", limit)

    async def find(reader: Reader, settings: Settings) -> tuple[ContactQuery, ContactsFound]:
        query = checked_query(settings, asked)
        where = await workspace_id(reader, settings, workspace)
        found = await find_contacts(reader.contacts, query, workspace=where)
        return query, with_addresses(found, settings, workspace, where)

    query, found = reading(given, find)
    return show(contact_values(found), contact_lines(found, query.shown, workspace), as_json=as_json)


def checked_query(settings: Settings, asked: ContactQuery) -> ContactQuery:
    """Return the query with fields of a contact of this deployment. Raises InputError, SettingsError."""
    profile = load_profile(settings.service.profile)
    aliases = {
        theirs: ours
        for names in (profile.field_names, profile.search_names)
        for ours, theirs in names.items()
    }
    declarable = list_known_fields({})[CONTACT.name].union(settings.contact_fields)
    known, shown = (
        contact_search.searchable_fields(declarable),
        contact_search.display_only_fields(declarable),
    )
    return contact_search.check_contact_query(asked, known, aliases, shown)


def with_addresses(
    found: ContactsFound, settings: Settings, workspace: str, workspace_id: str
) -> ContactsFound:
    """Return the same with the addresses under which the store knows them.

    A store that cannot be read takes nothing away from what was found: a note says that there are none.
    """
    try:
        with open_store(settings, create=False) as store:
            records = store.recorded((Workspace(workspace, workspace_id),)).entities
    except StoreError as error:
        output.note(f"addresses are not shown: {error}\n  next: {error.next}")
        return found
    known = {one.remote_id: address for address, one in records.items() if address.kind == CONTACT.name}
    rows = tuple(structs.replace(row, address=known.get(row.contact_id, "")) for row in found.contacts)
    return structs.replace(found, contacts=rows)


async def find_contacts(contacts: ReadCollection, query: ContactQuery, *, workspace: str) -> ContactsFound:
    """Return the first contacts of a workspace that fit, up to the limit of the query; no addresses yet.

    A list that changed while it was read is read once more. Raises what the client raises.
    """
    found = await _walk(contacts, query, workspace)
    return await _walk(contacts, query, workspace) if found.trouble else found


async def _walk(contacts: ReadCollection, query: ContactQuery, workspace: str) -> ContactsFound:
    rows: list[ContactRow] = []
    trouble = ""
    async with aclosing(_pages(contacts, query, workspace)) as pages:
        async for page in pages:
            trouble = trouble or page.trouble
            fitting = await _fitting(contacts, page, query, workspace)
            room = query.limit - len(rows)
            rows += fitting[:room]
            if len(fitting) > room or (len(rows) == query.limit and not page.last):
                return ContactsFound(tuple(rows), more=True)
    return ContactsFound(tuple(rows), trouble=trouble)


async def _pages(contacts: ReadCollection, query: ContactQuery, workspace: str) -> AsyncGenerator[Page, None]:
    """All pages of the search. No more are under way at once than fill the limit, if everybody fits."""
    sort = ("-" if query.descending else "") + ",".join(query.sort) if query.sort else ""
    asked = Query(
        query.filters, contact_search.list_fields(query), contact_search.asks_custom_fields(query), sort
    )
    first = await contacts.page(asked, workspace=workspace)
    left = -(-query.limit // max(1, len(first.rows))) - 1
    async with aclosing(contacts.pages(asked, first, workspace=workspace, window=max(1, left))) as pages:
        async for page in pages:
            yield page


async def _fitting(
    contacts: ReadCollection, page: Page, query: ContactQuery, workspace: str
) -> list[ContactRow]:
    """Return who of a page fits, in its order."""
    known: list[tuple[Found, Fields]] = [
        (row, contact_search.searchable_values(row.body)) for row in page.rows
    ]
    if not contact_search.provides_fields([row.body for row in page.rows], query):
        likely = [
            row for row, fields in known if contact_search.matches_query(query, fields, contact_search.BRIEF)
        ]
        known = await _alone(contacts, likely, workspace)
    return [
        ContactRow(row.remote_id, "", {name: fields[name] for name in query.shown if name in fields})
        for row, fields in known
        if contact_search.matches_query(query, fields)
    ]


async def _alone(contacts: ReadCollection, rows: list[Found], workspace: str) -> list[tuple[Found, Fields]]:
    """Return each of these as it is when it is read alone; who has gone meanwhile is left out."""

    async def one(row: Found) -> Found | None:
        try:
            return await contacts.get(row.remote_id, workspace=workspace)
        except NotFound:
            return None

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(row)) for row in rows]
    return [
        (found, contact_search.searchable_values(found.body)) for task in tasks if (found := task.result())
    ]
