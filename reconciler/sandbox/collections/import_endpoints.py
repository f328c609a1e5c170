"""What the address of imports does: contacts out of a resource, added or updated, never deleted.

Belongs here: fetch, apply the rules, keep, answer. Not here: the rules (bulk.py, contacts.py).
"""

from collections.abc import Mapping

from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.collections import bulk
from reconciler.sandbox.collections.table import new_contact, username_taken
from reconciler.sandbox.entities import contacts
from reconciler.sandbox.records import Body, Contact


def create_import(call: Call) -> Answer:
    """Every row of the resource is a contact: 202, and here they are there at once. All of them, or none."""
    body = call.body()
    asked = bulk.read_import(body)
    resource = bulk.named_resource(body.get("resourceId"), call.shelf.resources)
    rows = bulk.contact_bodies(asked, resource)
    written = [_read(row) for row in rows]
    kept = _kept(call, asked, rows, written)
    _require_free_usernames(call, kept)
    call.state.put_contacts(kept.values())
    return Answer(202)


def _kept(
    call: Call, asked: bulk.Import, rows: list[Body], written: list[contacts.Written]
) -> dict[str, Contact]:
    """Every contact that the import makes or changes, as it is afterwards, by id. Nothing is stored yet."""
    known = bulk.directory(call.shelf.contacts())
    kept: dict[str, Contact] = {}
    for row, said in zip(rows, written, strict=True):
        there = None if asked.mode == "duplicate" else _known(row, known)
        if there is None:
            after = new_contact(call, said)
        elif asked.mode == "replace":
            after = contacts.edited(there, row, now=call.config.clock())
        else:
            continue
        kept[after.id] = after
        known.update(dict.fromkeys(bulk.known_as(row), after))
    return kept


def _require_free_usernames(call: Call, kept: Mapping[str, Contact]) -> None:
    """Refuses (422) an import after which two contacts of the company would have one name of an account."""
    holders: dict[str, str] = {}
    for contact in kept.values():
        name = str(contact.fields.get("username") or "")
        before = call.state.usernames.get(name, contact.id)
        still = before not in kept  # else it is one of these, with the name that it has now
        if name and (holders.setdefault(name, contact.id) != contact.id or (still and before != contact.id)):
            raise username_taken()


def _read(row: Body) -> contacts.Written:
    contacts.require_name(row)
    return contacts.read_contact(row)


def _known(row: Body, known: dict[tuple[str, str], Contact]) -> Contact | None:
    return next((known[key] for key in bulk.known_as(row) if key in known), None)
