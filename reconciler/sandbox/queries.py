"""One page of a list: which rows, what the status says, which links lead on.

Source: specification 8; docs/service.md, lists (recorded).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import urlencode

from reconciler.sandbox.documents import contact_value
from reconciler.sandbox.records import QUERY_NAMES, STRUCTURED, Body, Contact, lower_letters
from reconciler.sandbox.refusals import malformed, query_choice

rows_max = 20  # rows of one page; more are given for limit=0 alone, and fewer only when asked for

PageRow = TypeVar("PageRow")


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows a request asks for; a limit of 0 is none."""

    offset: int
    limit: int

    def cut(self, rows: Sequence[PageRow]) -> Sequence[PageRow]:
        """The rows of this page."""
        return rows[self.offset : self.offset + self.limit] if self.limit else rows[self.offset :]


def read_page(query: Mapping[str, str], *, zero: Literal["20", "all"]) -> Page:
    """The page that offset and limit name; refuses (400) what is no number, and a sortOrder that is none.

    More than 20 rows give 20. `zero` says what limit=0 gives, which older clients write for "all".
    """
    read_order(query)
    limit = min(_read_number(query, "limit", rows_max), rows_max)
    if limit == 0 and zero == "20":
        limit = rows_max
    return Page(offset=_read_number(query, "offset", 0), limit=limit)


def read_order(query: Mapping[str, str]) -> Literal["asc", "desc"]:
    """The order that a query asks for, asc when it does not say; refuses (400) any other."""
    return query_choice(query, "sortOrder", ("asc", "desc"))


def status_text(first: int, last: int, total: int) -> str:
    """Like "1 to 20 of 55", with the four spaces that the service sends behind it."""
    return f"{first} to {last} of {total}    "


def page_document(
    key: str,
    rows: list[Body],
    *,
    page: Page,
    total: int,
    address: str,
    query: Mapping[str, str],
    prev_rel: str,
) -> Body:
    """The list document: rows, status, links to other pages; past the end there is no collection key.

    Without a limit the last row counts as number 0: "1 to 0 of 203" (recorded).
    """
    if not rows:
        return {"status": "No records found", "link": []}
    last = page.offset + len(rows) if page.limit else 0
    status = status_text(page.offset + 1, last, total)
    return {key: rows, "status": status, "link": _page_links(page, total, address, query, prev_rel)}


def whole_document(key: str, rows: list[Body]) -> Body:
    """The document of a list that has no pages."""
    if not rows:
        return {"status": "No records found", "link": []}
    return {key: rows, "status": status_text(1, len(rows), len(rows)), "link": []}


def _page_links(page: Page, total: int, address: str, query: Mapping[str, str], prev_rel: str) -> list[Body]:
    others = {name: value for name, value in query.items() if name not in ("offset", "limit")}
    return [
        {
            "uri": f"{address}?{urlencode({'offset': offset, 'limit': page.limit, **others})}",
            "rel": rel,
            "method": "GET",
        }
        for rel, offset in _neighbouring_pages(page, total, prev_rel)
    ]


def _neighbouring_pages(page: Page, total: int, prev_rel: str) -> Iterator[tuple[str, int]]:
    """The pages that a page has links to, by the relation and the offset of each."""
    if page.limit and page.offset + page.limit < total:
        yield "next", page.offset + page.limit
    if page.limit and page.offset > 0:
        yield prev_rel, max(0, page.offset - page.limit)


def _read_number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise malformed(f"{name} must be a whole number from 0")
    return int(text)


# --- What a list of contacts is asked for: filters, order, additional fields ----------------------
#
# Source: specification 4.2; docs/service.md, lists (contains, fields=, customFields=, aliases).


custom_prefix = "custom_"
NO_FILTERS = frozenset({"apikey", "limit", "offset", "sortorder", "sortfields", "fields", "customfields"})
"""Parameters of a list of contacts that name no field, in lower case."""
KNOWN_FIELDS = frozenset(QUERY_NAMES.values())


@dataclass(frozen=True, slots=True)
class ContactQuery:
    """The rows wanted, and their order. `filters` and `sort` name documented fields, others in lower case."""

    filters: tuple[tuple[str, str], ...] = ()
    sort: tuple[str, ...] = ()
    descending: bool = False

    @property
    def plain(self) -> bool:
        """Everything in the order of creation: a slice answers it."""
        return not self.filters and not self.sort and not self.descending


def read_contact_query(query: Mapping[str, str]) -> ContactQuery:
    """The filters and the order that a query asks for; refuses (400) any sortOrder but asc and desc.

    Every parameter that asks for nothing else names a field, in any case: a documented one, or one that
    clients have added. Where nobody has such a field it finds nobody; ignored it would find everybody.
    """
    filters = []
    for name, value in query.items():
        if name.lower() not in NO_FILTERS:
            filters.append((_column_name(name), lower_letters(value)))
    order = read_order(query)
    wanted = (name.strip() for name in query.get("sortFields", "").split(","))
    return ContactQuery(tuple(filters), tuple(_column_name(name) for name in wanted if name), order == "desc")


def read_added_fields(query: Mapping[str, str]) -> tuple[str, ...]:
    """The contact fields that fields= adds to each row: documented names in any case, others as written."""
    names = (name.strip() for name in query.get("fields", "").split(","))
    structured = {name.lower(): name for name in STRUCTURED}
    return tuple(
        structured.get(name.lower()) or QUERY_NAMES.get(name.lower(), name) for name in names if name
    )


def wants_custom_fields(query: Mapping[str, str]) -> bool:
    """Are custom fields to be shown? They are hidden unless asked for."""
    return query.get("customFields", "").lower() == "true"


def column_text(contact: Contact, column: str) -> str:
    """What a filter or a sort on this column compares, case folded; empty where nothing stands there."""
    if column.startswith(custom_prefix):
        found = (item["fieldValue"] for item in contact.custom if column in _custom_names(item))
        value: object = next(found, "")
    elif column == "lastModifiedTime":
        value = contact.modified.isoformat()  # one form for all, so that sorting by time sorts by time
    elif column in KNOWN_FIELDS:
        value = contact_value(contact, column)
    else:
        value = next((value for name, value in contact.fields.items() if name.lower() == column), "")
    return lower_letters("\n".join(_texts_within(value)))


def _custom_names(item: Body) -> tuple[str, str]:
    """The query names of a custom field: its searchKey, and its name behind the prefix, in lower case."""
    return str(item["searchKey"]).lower(), f"{custom_prefix}{item['fieldName']}".lower()


def _texts_within(value: object) -> Iterator[str]:
    """Every text within a value: of messaging options and locations each part is compared."""
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from _texts_within(part)
        case list():
            for part in value:
                yield from _texts_within(part)


def _column_name(name: str) -> str:
    """The documented field of this name, or the name in lower case: a custom field, or one of one's own."""
    return QUERY_NAMES.get(name.lower(), name.lower())
