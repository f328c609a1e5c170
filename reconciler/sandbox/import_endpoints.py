"""What the address of imports does: contacts out of a resource, added or updated, never deleted.

Belongs here: fetch, apply the rules, keep, answer. Not here: the rules (bulk.py, contacts.py).
"""

from reconciler.sandbox import bulk, contacts
from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.endpoints import new_contact, require_free_username
from reconciler.sandbox.records import Body, Contact


def create_import(call: Call) -> Answer:
    """Every row of the resource is a contact: 202, and here they are there at once. All of them, or none."""
    body = call.body()
    asked = bulk.read_import(body)
    resource = bulk.named_resource(body.get("resourceId"), call.shelf.resources)
    rows = bulk.contact_bodies(asked, resource)
    written = [_read(row) for row in rows]
    known = bulk.directory(call.shelf.contacts())
    for row, said in zip(rows, written, strict=True):
        there = None if asked.mode == "duplicate" else _known(row, known)
        if there is None:
            kept = new_contact(call, said)
        elif asked.mode == "replace":
            kept = contacts.edited(there, row, now=call.config.clock())
        else:
            continue
        require_free_username(call, kept.fields, owner=kept.id)
        call.state.put_contact(kept)
        known.update(dict.fromkeys(bulk.known_as(row), kept))
    return Answer(202)


def _read(row: Body) -> contacts.Written:
    contacts.require_name(row)
    return contacts.read_contact(row)


def _known(row: Body, known: dict[tuple[str, str], Contact]) -> Contact | None:
    return next((known[key] for key in bulk.known_as(row) if key in known), None)
