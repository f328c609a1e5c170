"""Contacts that were looked up: as lines, and as JSON.

People's data: only the fields that were asked for, whole, and made inert. Not here: who is found
(core/searching.py), exit codes (cli/).
"""

from collections.abc import Sequence

from reconciler.model.documents import Scalar
from reconciler.model.kinds import CONTACT
from reconciler.model.messaging.contacts import ContactsFound
from reconciler.report.lines import Line, count, line, table


def contact_lines(found: ContactsFound, columns: Sequence[str], workspace: str) -> tuple[Line, ...]:
    """List who was found: id, address, and these fields; then how many, and whether that may be all."""
    rows = [
        (one.contact_id, one.address, *(_cell(one.fields.get(name, "")) for name in columns))
        for one in found.contacts
    ]
    summary = count(len(rows), CONTACT.name) if rows else f"no contact of workspace {workspace} fits"
    if found.more:
        summary += "; there may be more: raise --limit"
    lines = table((CONTACT.name, "address", *columns), rows, summary, last=0)
    if not found.trouble:
        return lines
    return (*lines, line(("! ", "warn"), f"somebody may be missing: {found.trouble}."))


def contact_values(found: ContactsFound) -> dict[str, object]:
    """Return the same for the JSON form; a field that a contact has not is left out."""
    return {
        CONTACT.plural: [
            {"contact_id": one.contact_id, "address": one.address or None, "fields": one.fields}
            for one in found.contacts
        ],
        "more": found.more,
        "trouble": found.trouble,
    }


def _cell(value: Scalar) -> str:
    return value if isinstance(value, str) else str(value).lower()
