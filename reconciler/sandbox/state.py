"""The state of the service: its workspaces and their records, the next id; in a file if one is given."""

import sqlite3
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.faults import Faults
from reconciler.sandbox.queries import ContactQuery, column_text
from reconciler.sandbox.records import (
    Callback,
    CallbackCall,
    Contact,
    Mail,
    Message,
    Record,
    Resource,
    StoredRecord,
    Workspace,
    make_id,
)

# --- The file that a sandbox's state survives in: one table of records, written through -----------


application_id = 0x53424F58  # "SBOX"; marks the file as ours, so that no other database is ever written to
DATA_FILE_SCHEMA = """
create table if not exists records (
  kind text not null, id text not null, position integer not null, body blob not null, primary key (kind, id)
) without rowid;
create table if not exists counters (name text primary key, value integer not null) without rowid;
"""


class DataFileError(OSError):
    """The data file cannot be opened, read or written; the message names it and the cause."""


StoredRow = tuple[str, str, int, bytes]  # kind, id, position, body


class Storage:
    """One open data file, held alone: a second sandbox on the same file is refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            # Used by one thread at a time: made by the caller, then kept by the server's own thread.
            self._file = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
        self.close = weakref.finalize(self, self._file.close)
        try:
            with self._explained():
                self._prepare()
        except DataFileError:
            self.close()
            raise

    def rows(self) -> Iterator[StoredRow]:
        """Everything kept, by kind and then in the order of its positions."""
        with self._explained():
            yield from self._file.execute(
                "select kind, id, position, body from records order by kind, position"
            )

    def counter(self, name: str) -> int:
        """The number last kept under this name, or 0."""
        with self._explained():
            found = self._file.execute("select value from counters where name = ?", (name,)).fetchone()
        return int(found[0]) if found else 0

    def save(
        self, rows: Iterable[StoredRow], *, counters: dict[str, int], gone: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Keeps the rows and the counters and drops what is gone (kind, id): all of it or nothing."""
        with self._explained():
            self._file.execute("begin")
            try:
                self._file.executemany("insert or replace into records values (?, ?, ?, ?)", rows)
                self._file.executemany("insert or replace into counters values (?, ?)", counters.items())
                self._file.executemany("delete from records where kind = ? and id = ?", gone)
                self._file.execute("commit")
            except sqlite3.Error:
                if self._file.in_transaction:
                    self._file.execute("rollback")
                raise

    def _prepare(self) -> None:
        self._file.execute("pragma locking_mode = exclusive")
        (owner,) = self._file.execute("pragma application_id").fetchone()
        (tables,) = self._file.execute("select count(*) from sqlite_master").fetchone()
        if tables and owner != application_id:
            raise DataFileError(f"{self._path}: the data file belongs to another program")
        self._file.execute("pragma journal_mode = wal")
        # The file outlives the process whenever it ends; a power cut is not among the promises.
        self._file.execute("pragma synchronous = off")
        self._file.execute(f"pragma application_id = {application_id}")
        self._file.executescript(DATA_FILE_SCHEMA)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as cause:
            raise DataFileError(f"{self._path}: the data file cannot be used: {cause}") from cause


# --- The records of one workspace, in memory, in the order in which lists show them ---------------


views_max = 8  # answers of searches kept while nothing changes, so that walking their pages costs one search

columns_max = 200  # fields whose texts are kept for searches; names are free, so there is no end of them

_number = attrgetter("number")


class Shelf:
    """One workspace; `id` and `name` are "" for the default one."""

    def __init__(self, wid: str, name: str) -> None:
        self.id = wid
        self.name = name
        self.resources: dict[str, Resource] = {}  # least recently updated first
        self._contacts: dict[str, Contact] = {}
        self._records: dict[str, dict[str, Any]] = {"contact": self._contacts, "resource": self.resources}
        self._order: list[Contact] = []  # by creation, that is by number
        self._columns: dict[str, list[str]] = {}  # texts to search, aligned with _order
        self._views: dict[ContactQuery, list[Contact]] = {}

    def records(self, name: str) -> dict[str, Any]:
        """The records of the collection of this name by id, those that were put last at the end."""
        return self._records.setdefault(name, {})

    def contact(self, contact_id: str) -> Contact | None:
        """The contact with this id, if it stands here."""
        return self._contacts.get(contact_id)

    def contacts(self) -> Iterator[Contact]:
        """All contacts, in the order of creation."""
        return iter(self._order)

    def put_contact(self, contact: Contact) -> None:
        """The contact stands here afterwards: in its old place, or behind the others when it is new."""
        self._views.clear()
        if contact.id in self._contacts:
            place = self._place(contact)
            self._order[place] = contact
            for name, column in self._columns.items():
                column[place] = column_text(contact, name)
        else:
            self._order.append(contact)
            for name, column in self._columns.items():
                column.append(column_text(contact, name))
        self._contacts[contact.id] = contact

    def drop_contact(self, contact: Contact) -> None:
        """Delete the contact and its devices."""
        self._views.clear()
        place = self._place(contact)
        del self._order[place], self._contacts[contact.id]
        for column in self._columns.values():
            del column[place]

    def find(self, question: ContactQuery) -> list[Contact]:
        """The contacts that answer the question, in its order. Not to be changed."""
        if question.plain:
            return self._order
        view = self._views.get(question)
        if view is None:
            while len(self._views) >= views_max:
                del self._views[next(iter(self._views))]
            view = self._views[question] = self._sorted(self._matching(question), question)
        return view

    def _matching(self, question: ContactQuery) -> list[Contact]:
        if not question.filters:
            return list(self._order)
        (first, needle), *others = question.filters
        places = [place for place, text in enumerate(self._column(first)) if needle in text]
        for name, wanted in others:
            column = self._column(name)
            places = [place for place in places if wanted in column[place]]
        return [self._order[place] for place in places]

    def _sorted(self, found: list[Contact], question: ContactQuery) -> list[Contact]:
        if question.sort:
            found.sort(key=lambda contact: [column_text(contact, name) for name in question.sort])
        if question.descending:
            found.reverse()
        return found

    def _column(self, name: str) -> list[str]:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= columns_max:
                self._columns.clear()
            column = self._columns[name] = [column_text(contact, name) for contact in self._order]
        return column

    def _place(self, contact: Contact) -> int:
        return bisect_left(self._order, contact.number, key=_number)


RECORD_TYPES: dict[str, type[StoredRecord]] = {"resource": Resource, "callback": Callback}
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

    def close(self) -> None:
        """Close the data file; nothing is lost."""
        if self._storage is not None:
            self._storage.close()

    def new_id(self, kind: str) -> tuple[str, int]:
        """A new id and number, also unused in earlier runs with the same file."""
        self._number += 1
        return make_id(kind, self._number), self._number

    def add_invented(self, count: int, invent: Callable[[int], Iterable[Contact]]) -> None:
        """Keep `count` invented contacts, once for each data file; `invent` takes the last number in use."""
        if not count or (self._storage is not None and self._storage.counter("invented")):
            return
        people = list(invent(self._number))
        self._number += count
        self._save([_stored_row("contact", one) for one in people], counters={"invented": count})
        for contact in people:
            self.shelves[""].put_contact(contact)

    def contact_of_device(self, device_id: str) -> Contact | None:
        """The contact with this device, in any workspace."""
        home = self._homes.get(device_id)
        return self.shelves[home[0]].contact(home[1]) if home else None

    def put_contact(self, contact: Contact) -> None:
        """Store the contact in place of its former value, if there was one."""
        self.put_contacts([contact])

    def put_contacts(self, contacts: Iterable[Contact]) -> None:
        """Store all contacts in place of their former values, or none."""
        kept = list(contacts)
        self._save(_stored_row("contact", one) for one in kept)
        for contact in kept:
            self._place_contact(contact)

    def drop_contact(self, contact: Contact) -> None:
        """The contact and its devices are gone."""
        self._save([], gone=[("contact", contact.id)])
        self._forget(contact)
        self.shelves[contact.workspace].drop_contact(contact)

    def put_record(self, name: str, record: StoredRecord, *, last: bool = False) -> None:
        """The record of this collection is kept: in its old place, or `last` behind the others."""
        self._number += last
        place = self._number if last else record.number
        self._save([(name, record.id, place, msgspec.json.encode(record))])
        records = self.shelves[record.workspace].records(name)
        if last:
            records.pop(record.id, None)
        records[record.id] = record

    def drop_records(self, name: str, records: Iterable[StoredRecord]) -> int:
        """These records of the collection are gone; the answer is how many they were."""
        gone = list(records)
        self._save([], gone=[(name, record.id) for record in gone])
        for record in gone:
            del self.shelves[record.workspace].records(name)[record.id]
        return len(gone)

    def expire_resources(self) -> None:
        """Delete resources that were not updated within their retention."""
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
        self._save([_stored_row("message", message), *(_stored_row("call", call) for call in calls)])
        self.mail.put_message(message)
        for call in calls:
            self.mail.put_call(call)

    def drop_callback(self, callback: Callback) -> None:
        """Delete the callback and its calls; none is tried again."""
        calls = self.mail.calls_of(callback)
        self._save([], gone=[("callback", callback.id), *(("call", call.id) for call in calls)])
        self.mail.drop_calls(calls)
        del self.mail.callbacks[callback.id]

    def put_calls(self, calls: Iterable[CallbackCall]) -> None:
        """The calls are kept as they are now."""
        kept = list(calls)
        self._save(_stored_row("call", call) for call in kept)
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
                record = msgspec.json.decode(body, type=RECORD_TYPES.get(kind, Record))
                self.shelves[record.workspace].records(kind)[record.id] = record

    def _save(
        self,
        rows: Iterable[StoredRow],
        *,
        gone: Iterable[tuple[str, str]] = (),
        counters: dict[str, int] | None = None,
    ) -> None:
        if self._storage is not None:
            self._storage.save(rows, counters={"number": self._number, **(counters or {})}, gone=gone)


def _stored_row(kind: str, kept: StoredRecord) -> StoredRow:
    return kind, kept.id, kept.number, msgspec.json.encode(kept)
