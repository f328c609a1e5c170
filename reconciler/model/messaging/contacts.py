"""Contacts as a person looks them up: what was asked for, and who was found.

Nothing here is planned or applied.
"""

from collections.abc import Mapping

from msgspec import Struct

from reconciler.model.documents import Scalar


class ContactQuery(Struct, frozen=True):
    """Which contacts are wanted, what is shown of them, and in which order.

    `filters` map a field to the text that it contains; all of them have to fit. Fields are ours
    (`custom.employeeId`). `sort` are fields; none: the order of the service.
    """

    filters: Mapping[str, str] = {}
    shown: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    descending: bool = False
    limit: int = 100


class ContactRow(Struct, frozen=True):
    """One contact: the service's id, our address where one is recorded or "", and the fields asked for."""

    contact_id: str
    address: str
    fields: Mapping[str, Scalar]


class ContactsFound(Struct, frozen=True):
    """Who was found. `more`: the search ended at its limit. `trouble`: why somebody may be missing, or ""."""

    contacts: tuple[ContactRow, ...]
    more: bool = False
    trouble: str = ""
