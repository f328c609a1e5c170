"""Everything the service knows: its workspaces, what stands in each, the next id; in a file if one is given.

Belongs here: the one place where state changes. Not here: rules about content, the wire, HTTP.
"""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.faults import Faults
from reconciler.sandbox.keeping.mail import Callback, CallbackCall, Mail, Message
from reconciler.sandbox.keeping.people import invented
from reconciler.sandbox.keeping.shelf import Shelf
from reconciler.sandbox.keeping.storage import DataFileError, Row, Storage
from reconciler.sandbox.records import Contact, Kept, Record, Resource, Workspace, make_id

VALUES: dict[str, type[Kept]] = {"resource": Resource, "callback": Callback}
"""Of the rows whose records are no plain ones."""


class State:
    """The shelves by workspace id ("" is the default one), and the changes that they go through."""

    def __init__(self, config: SandboxConfig) -> None:
        self.config = config
        self.shelves: dict[str, Shelf] = {"": Shelf("", "")}
        self.workspaces: dict[str, Workspace] = {}  # the named ones, in the order of their creation
        self.mail = Mail(self.shelves[""].records("callback"))
        self.faults = Faults(config.faults)
        self.usernames: dict[str, str] = {}  # of portal accounts, unique in the company -> contact id
        self._homes: dict[str, tuple[str, str]] = {}  # device id -> workspace id, contact id
        self._number = 0
        self._storage = Storage(Path(config.data)) if config.data is not None else None
        if self._storage is not None:
            self._load(self._storage)
        self._add_workspaces(config.named_workspaces())
        if config.contacts and (self._storage is None or not self._storage.counter("invented")):
            self._invent(config.contacts)

    def close(self) -> None:
        """The data file is closed; nothing is lost."""
        if self._storage is not None:
            self._storage.close()

    def new_id(self, kind: str) -> tuple[str, int]:
        """An id and a number that no record had before, also not in an earlier run on the same file."""
        self._number += 1
        return make_id(kind, self._number), self._number

    def contact_of_device(self, device_id: str) -> Contact | None:
        """The contact that has this device, in whichever workspace."""
        home = self._homes.get(device_id)
        return self.shelves[home[0]].contact(home[1]) if home else None

    def put_contact(self, contact: Contact) -> None:
        """The contact is kept, in the place of its former value if there was one."""
        self.put_contacts([contact])

    def put_contacts(self, contacts: Iterable[Contact]) -> None:
        """All of these are kept, each in the place of its former value if there was one; or none is."""
        kept = list(contacts)
        self._save(_row("contact", one) for one in kept)
        for contact in kept:
            self._place_contact(contact)

    def drop_contact(self, contact: Contact) -> None:
        """The contact and its devices are gone."""
        self._save([], gone=[("contact", contact.id)])
        self._forget(contact)
        self.shelves[contact.workspace].drop_contact(contact)

    def put_record(self, name: str, record: Kept, *, last: bool = False) -> None:
        """The record of this collection is kept: in its old place, or `last` behind the others."""
        self._number += last
        place = self._number if last else record.number
        self._save([(name, record.id, place, msgspec.json.encode(record))])
        records = self.shelves[record.workspace].records(name)
        if last:
            records.pop(record.id, None)
        records[record.id] = record

    def drop_records(self, name: str, records: Iterable[Kept]) -> int:
        """These records of the collection are gone; the answer is how many they were."""
        gone = list(records)
        self._save([], gone=[(name, record.id) for record in gone])
        for record in gone:
            del self.shelves[record.workspace].records(name)[record.id]
        return len(gone)

    def expire_resources(self) -> None:
        """What was not updated for as long as resources are kept is gone."""
        if self.config.resource_days is None:
            return
        limit = self.config.clock() - timedelta(days=self.config.resource_days)
        everything = (one for shelf in self.shelves.values() for one in shelf.resources.values())
        old = [one for one in everything if one.modified is not None and one.modified <= limit]
        if old:
            self.drop_records("resource", old)

    def put_workspace(self, workspace: Workspace) -> None:
        """The workspace is kept: in its old place, or behind the others when it is new."""
        known = list(self.workspaces)
        place = known.index(workspace.id) if workspace.id in known else len(known)
        self._save([("workspace", workspace.id, place + 1, msgspec.json.encode(workspace))])
        self._place_workspace(workspace)

    def put_message(self, message: Message, calls: Iterable[CallbackCall] = ()) -> None:
        """The message is kept as it is now, and with it the calls that its change is a reason for."""
        self._save([_row("message", message), *(_row("call", call) for call in calls)])
        self.mail.put_message(message)
        for call in calls:
            self.mail.put_call(call)

    def drop_callback(self, callback: Callback) -> None:
        """The callback is gone, with its calls; none of them is tried again."""
        calls = self.mail.calls_of(callback)
        self._save([], gone=[("callback", callback.id), *(("call", call.id) for call in calls)])
        self.mail.drop_calls(calls)
        del self.mail.callbacks[callback.id]

    def put_calls(self, calls: Iterable[CallbackCall]) -> None:
        """The calls are kept as they are now."""
        kept = list(calls)
        self._save(_row("call", call) for call in kept)
        for call in kept:
            self.mail.put_call(call)

    def _place_contact(self, contact: Contact) -> None:
        shelf = self.shelves[contact.workspace]
        former = shelf.contact(contact.id)
        if former is not None:
            self._forget(former)
        username = contact.fields.get("username")
        if isinstance(username, str):
            self.usernames[username] = contact.id
        for device in contact.devices:
            self._homes[device.id] = (contact.workspace, contact.id)
        shelf.put_contact(contact)

    def _forget(self, contact: Contact) -> None:
        name = str(contact.fields.get("username"))
        if self.usernames.get(name) == contact.id:  # another contact of the same import may have it by now
            del self.usernames[name]
        for device in contact.devices:
            self._homes.pop(device.id, None)

    def _add_workspaces(self, named: Iterable[tuple[str, str]]) -> None:
        for name, wid in named:
            if wid not in self.workspaces:
                self.put_workspace(Workspace(wid, name))

    def _place_workspace(self, workspace: Workspace) -> None:
        self.workspaces[workspace.id] = workspace
        self.shelves.setdefault(workspace.id, Shelf(workspace.id, workspace.name)).name = workspace.name

    def _invent(self, count: int) -> None:
        people = list(invented(count, after=self._number))
        self._number += count
        self._save([_row("contact", one) for one in people], counters={"invented": count})
        for contact in people:
            self.shelves[""].put_contact(contact)

    def _load(self, storage: Storage) -> None:
        self._number = storage.counter("number")
        rows = sorted(
            storage.rows(), key=lambda row: row[0] != "workspace"
        )  # shelves first; otherwise as they came
        for kind, record_id, _, body in rows:
            try:
                self._place(kind, body)
            except (msgspec.DecodeError, KeyError) as cause:  # KeyError: of a workspace that is not there
                damage = f"{self.config.data}: the data file is damaged: {kind} {record_id} cannot be read"
                raise DataFileError(damage) from cause

    def _place(self, kind: str, body: bytes) -> None:
        match kind:
            case "workspace":
                self._place_workspace(msgspec.json.decode(body, type=Workspace))
            case "contact":
                self._place_contact(msgspec.json.decode(body, type=Contact))
            case "message":
                self.mail.put_message(msgspec.json.decode(body, type=Message))
            case "call":
                self.mail.put_call(msgspec.json.decode(body, type=CallbackCall))
            case _:  # a collection that is a row, also one that this sandbox was not started with
                record = msgspec.json.decode(body, type=VALUES.get(kind, Record))
                self.shelves[record.workspace].records(kind)[record.id] = record

    def _save(
        self,
        rows: Iterable[Row],
        *,
        gone: Iterable[tuple[str, str]] = (),
        counters: dict[str, int] | None = None,
    ) -> None:
        if self._storage is not None:
            self._storage.save(rows, counters={"number": self._number, **(counters or {})}, gone=gone)


def _row(kind: str, kept: Kept) -> Row:
    return kind, kept.id, kept.number, msgspec.json.encode(kept)
