"""What a list of contacts is asked for: filters, order, additional fields.

Belongs here: reading the query, and the text that a filter or a sort compares. Not here: walking the contacts
(shelf.py), pages (paging.py).
Source: specification 4.2; docs/service.md, lists (contains, fields=, customFields=, aliases).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reconciler.sandbox.casing import small
from reconciler.sandbox.entities.fields import QUERY_NAMES, STRUCTURED
from reconciler.sandbox.entities.wire import contact_value
from reconciler.sandbox.paging import read_order
from reconciler.sandbox.records import Body, Contact

custom_prefix = "custom_"
NO_FILTERS = frozenset({"apikey", "limit", "offset", "sortorder", "sortfields", "fields", "customfields"})
"""Parameters of a list of contacts that name no field, in lower case."""
KNOWN = frozenset(QUERY_NAMES.values())


@dataclass(frozen=True, slots=True)
class Question:
    """The rows wanted, and their order. `filters` and `sort` name documented fields, others in lower case."""

    filters: tuple[tuple[str, str], ...] = ()
    sort: tuple[str, ...] = ()
    descending: bool = False

    @property
    def plain(self) -> bool:
        """Everything in the order of creation: a slice answers it."""
        return not self.filters and not self.sort and not self.descending


def read_question(query: Mapping[str, str]) -> Question:
    """The filters and the order that a query asks for; refuses (400) any sortOrder but asc and desc.

    Every parameter that asks for nothing else names a field, in any case: a documented one, or one that
    clients have added. Where nobody has such a field it finds nobody; ignored it would find everybody.
    """
    filters = []
    for name, value in query.items():
        if name.lower() not in NO_FILTERS:
            filters.append((_column(name), small(value)))
    order = read_order(query)
    wanted = (name.strip() for name in query.get("sortFields", "").split(","))
    return Question(tuple(filters), tuple(_column(name) for name in wanted if name), order == "desc")


def read_added(query: Mapping[str, str]) -> tuple[str, ...]:
    """The contact fields that fields= adds to each row: documented names in any case, others as written."""
    names = (name.strip() for name in query.get("fields", "").split(","))
    structured = {name.lower(): name for name in STRUCTURED}
    return tuple(
        structured.get(name.lower()) or QUERY_NAMES.get(name.lower(), name) for name in names if name
    )


def wants_custom(query: Mapping[str, str]) -> bool:
    """Are custom fields to be shown? They are hidden unless asked for."""
    return query.get("customFields", "").lower() == "true"


def column_text(contact: Contact, column: str) -> str:
    """What a filter or a sort on this column compares, case folded; empty where nothing stands there."""
    if column.startswith(custom_prefix):
        found = (item["fieldValue"] for item in contact.custom if column in _custom_names(item))
        value: object = next(found, "")
    elif column == "lastModifiedTime":
        value = contact.modified.isoformat()  # one form for all, so that sorting by time sorts by time
    elif column in KNOWN:
        value = contact_value(contact, column)
    else:
        value = next((value for name, value in contact.fields.items() if name.lower() == column), "")
    return small("\n".join(_texts(value)))


def _custom_names(item: Body) -> tuple[str, str]:
    """The query names of a custom field: its searchKey, and its name behind the prefix, in lower case."""
    return str(item["searchKey"]).lower(), f"{custom_prefix}{item['fieldName']}".lower()


def _texts(value: object) -> Iterator[str]:
    """Every text within a value: of messaging options and locations each part is compared."""
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)


def _column(name: str) -> str:
    """The documented field of this name, or the name in lower case: a custom field, or one of one's own."""
    return QUERY_NAMES.get(name.lower(), name.lower())
