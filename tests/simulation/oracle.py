"""The judge outside the code under test: what was sent, by whom, with what right, and what it did.

It believes nothing that a run says. It sees the requests as they leave, the store through a connection of
its own, and what every write did to the model. A broken rule is kept as a sentence in `violations`; what is
published as not promised is counted in `known`, by its name.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulation import modelwire
from simulation.modelservice import OFFSETS, WRITE_ONLY, Body, Model, Write
from simulation.modelwire import Answer, Asked
from simulation.network import HOST, Request
from simulation.virtualloop import Process

from reconciler.core.runs.ticket import is_ticket_name, parse_ticket
from reconciler.model.address import Address
from reconciler.model.plans import Change, Create, Delete, Plan, Update, action_of
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import Desired, Entity

sends_max = 3  # of one change within one run
SERVERS_OWN = frozenset({"mri", "lastModifiedTime", "type", "url", "locations", "id"})
NEVER_SHOWN = frozenset({"content", "password", "secretAnswer"})  # by the names of a manifest
STOPS = frozenset({401})
UNAWARE = "sent by a run that was frozen past its lease, before it could know"
FROZEN_TWICE = "made twice, by a run that was frozen past its lease"
LOST_TWICE = "made twice: it was under way when the store was removed, and nobody knew of it"
UNDER_WAY_S = 40.0  # how long an answer can be waited for, and a write that was sent can still land
OVERWRITTEN_FROZEN = "overwritten by a run that was frozen past its lease"
OVERWRITTEN = "edited between look and write, and overwritten"
SWALLOWED = "edited between a write and reading it back, and taken for the service's own words"
OVERWRITTEN_LATE = "edited before a write landed late, and overwritten"

Flat = dict[str, Any]
Key = tuple[str, ...]


@dataclass(eq=False)
class Seat:
    """One run as the oracle sees it."""

    process: Process
    desired: Desired
    plan: Plan | None = None
    planned_at: float = 0.0
    runs: list[str] = field(default_factory=list)  # the names it goes by in the store
    limits: frozenset[tuple[str, str]] | None = None  # of a resumed run: address and action of the old plan
    at_plan: dict[str, Flat] = field(default_factory=dict)  # remote id -> what was there when it had planned
    # By the task that read, because it is the one that writes: what was there when it was last read whole,
    # and when somebody was last looked for in a list.
    seen: dict[tuple[int, str], Flat] = field(default_factory=dict)
    looked_at: dict[tuple[int, str, str, str], float] = field(default_factory=dict)
    sends: Counter[str] = field(default_factory=Counter)
    refused: bool = False  # the service does not accept its credentials, and it knows
    intent_at: int = 0  # number of its last commit
    lost_at: float | None = None  # when the store was removed under it
    sent_since: int = 0  # writes that it sent after that
    at_once: int = 1  # so many changes are under way at once
    wrote: dict[str, Flat] = field(default_factory=dict)  # what its writes left
    wrote_at: dict[str, float] = field(default_factory=dict)  # and when
    own: Path | None = None  # its own store, where it shares none
    intent_s: float = 0.0  # when its last commit was


@dataclass(eq=False)
class Made:
    """Who made an entity, and how."""

    by: str  # a run's name, "somebody", or "the network"
    at: float
    late: str = ""


def _opened(store: Path) -> tuple[sqlite3.Connection, int]:
    return sqlite3.connect(store, isolation_level=None), store.stat().st_ino


class Oracle:
    """See the module."""

    def __init__(self, model: Model, store: Path, aliases: Mapping[str, str]) -> None:
        self.violations: list[str] = []
        self.known: Counter[str] = Counter()
        self.seats: dict[Process, Seat] = {}
        self.made: dict[str, Made] = {}
        self.ours: set[str] = set()
        self.states: dict[
            str, list[tuple[float, Flat]]
        ] = {}  # remote id -> when it was written, and what it was then
        self.swallowed: dict[tuple[str, str], Any] = {}  # edits between a write and its being read back
        self._edited_at: dict[tuple[str, str], float] = {}  # when somebody else last wrote a field
        self.requests = 0
        self.writes = 0
        self._model = model
        self._aliases = aliases  # the service's id of a workspace -> alias
        self._path = store
        self._store, self._inode = _opened(store)
        self.lost: list[float] = []  # when the store was removed under a run
        self._commits = 0
        self._mails: dict[str, str] = {}  # contacts that were ever there -> their address
        self._unaware: set[int] = set()  # requests that left after the lock was lost, of whoever was frozen
        self._basis: dict[int, Flat] = {}  # numbers of requests -> what their sender had read last
        self._looked: dict[int, float] = {}  # numbers of requests -> when their sender had last looked
        self._taken_at = 0  # number of the commit by which the lock last changed hands
        self._holder = ""
        self._own: dict[Path, sqlite3.Connection] = {}
        self.tickets: dict[str, str] = {}  # remote ids of the tickets that were ever there -> the run

    def close(self) -> None:
        self._store.close()
        for store in self._own.values():
            store.close()

    def _store_of(self, seat: Seat) -> sqlite3.Connection:
        if seat.own is None:
            self._follow()
            return self._store
        if seat.own not in self._own:
            self._own[seat.own] = sqlite3.connect(seat.own, isolation_level=None)
        return self._own[seat.own]

    def _follow(self) -> None:
        """Look at the store that is there now: the one from before may have been removed."""
        if self._path.exists() and self._path.stat().st_ino != self._inode:
            self._store.close()
            self._store, self._inode = _opened(self._path)

    def broken(self, what: str) -> None:
        """Keep a broken rule, and the moment."""
        self.violations.append(f"at {self._model.now():.2f} s: {what}")

    # What happens.

    def planned(self, seat: Seat, plan: Plan, owned: set[str]) -> None:
        """A run has its plan: nothing that is not in it may be written from now on."""
        seat.plan, seat.planned_at = plan, self._model.now()
        seat.at_plan = {one: self._flat(one) for one in self._model.rows}
        self.ours |= owned

    def vanished(self, process: Process) -> None:
        """The store is removed under a run: what it was about to write down is nowhere from now on."""
        self.seats[process].lost_at = self._model.now()
        self.lost.append(self._model.now())

    def committed(self, process: Process) -> None:
        """Something of a run is durable. Notes who holds the lock now."""
        self._commits += 1
        self._follow()
        row = self._store.execute("SELECT nonce FROM locks").fetchone()
        holder = str(row[0]) if row else ""
        if holder != self._holder:
            self._holder, self._taken_at = holder, self._commits
        seat = self.seats.get(process)
        if seat is not None:
            seat.intent_at, seat.intent_s = self._commits, self._model.now()

    def leaves(self, request: Request) -> None:
        """Hold a request against every rule at the moment in which it leaves."""
        self.requests += 1
        if request.host != HOST:
            self.broken(f"{request} went to {request.host}")
        if not request.writes:
            return
        seat = self.seats[request.process]
        if self._about_tickets(seat, request):
            return
        self.writes += 1
        change = self._change(seat, request)
        if change is None:
            self.broken(f"{request} of {request.process.name} is in no plan of its")
            return
        what = f"{request} of {request.process.name} for {change.address}"
        asked = modelwire.taken_apart(request.method, request.path, request.query)
        self._basis[request.number] = seat.seen.get((request.task, asked.one), {})
        # As it leaves: a request may be on its way for seconds, and its sender looks for others meanwhile.
        place = (request.task, asked.kind, asked.workspace, asked.parent)
        self._looked[request.number] = seat.looked_at.get(place, -1.0)
        self._intended(seat, request, change, what)
        seat.sends[change.address] += 1
        if seat.sends[change.address] > sends_max:
            self.broken(f"{what} was sent {seat.sends[change.address]} times")
        if seat.refused:
            self.broken(f"{what} was sent after the credentials were refused")

    def told(self, request: Request, status: int) -> None:
        """An answer has reached its sender."""
        seat = self.seats[request.process]
        if status in STOPS:
            seat.refused = True

    def arrived(self, request: Request, answer: Answer) -> None:
        """The service has dealt with a request: remember what a reader saw, judge what a writer did."""
        seat = self.seats[request.process]
        if answer.write is None:
            if not request.writes and answer.status == 200:
                self._read(seat, request)
            return
        self.did(seat, request, answer.write)

    def did(self, seat: Seat, request: Request, write: Write) -> None:
        """Judge one write by what it did."""
        if self._ticket(write):
            return
        self._known_mail(write)
        self._became(write)
        if write.after is not None:
            seat.wrote[write.id] = flat(write.after)
            seat.wrote_at[write.id] = self._model.now()
        match write.method:
            case "POST":
                self._created(seat, request, write)
            case "PUT":
                self._replaced(seat, request, write)
            case "DELETE":
                self._deleted(seat, request, write)

    def edited(self, write: Write) -> None:
        """Somebody else has written."""
        self._known_mail(write)
        before, after = flat(write.before or {}), flat(write.after or {})
        for path in before.keys() | after.keys():
            if before.get(path) != after.get(path):
                self._edited_at[write.id, path] = self._model.now()
        self._became(write)
        if write.method == "POST":
            self.made[write.id] = Made("somebody", self._model.now())

    def claimed(self, seat: Seat, outcome: Outcome) -> None:
        """A run says how a change ended. What it calls applied was so at some moment since it was planned."""
        if outcome.result != "applied" or seat.plan is None:
            return
        change = next((one for one in seat.plan.changes if one.address == outcome.address), None)
        if change is None or action_of(change) != outcome.action:
            return  # settled for an earlier run, whose plan is not this one's
        if not self._true(seat, change, outcome):
            self.broken(
                f"{seat.process.name} says that {outcome.action} {outcome.address} is applied: {outcome.what}"
            )

    def _true(self, seat: Seat, change: Change, outcome: Outcome) -> bool:
        states = [state for at, state in self.states.get(outcome.remote_id, ()) if at >= seat.planned_at]
        match change:
            case Delete():
                return outcome.remote_id not in self._model.rows
            case Create(address=address):
                entity = seat.desired.entities[address]
                wanted = natural(address.kind, dict(entity.fields), "")[-1]
                return any(natural(address.kind, state, "")[-1] == wanted for state in states)
            case Update(address=address, fields=fields):
                entity = seat.desired.entities[address]
                paths = [field.path for field in fields if field.path not in NEVER_SHOWN]
                edited = [path for path in paths if self._is_swallowed(seat, outcome.remote_id, path)]
                live = self._flat(outcome.remote_id)
                self.swallowed |= {(outcome.remote_id, path): live.get(path) for path in edited}
                paths = [path for path in paths if path not in edited]
                return not paths or any(all(holds(entity, p, state) for p in paths) for state in states)

    def _is_swallowed(self, seat: Seat, one: str, path: str) -> bool:
        """Whether somebody wrote this field after the run did, which then took that for its own write.

        The service had ignored the field; else it would have been so for a moment.
        """
        return self._edited_at.get((one, path), -1.0) >= seat.wrote_at.get(one, float("inf"))

    # Rules of sending.

    def _intended(self, seat: Seat, request: Request, change: Change, what: str) -> None:
        """An intent is durable, and the lock was still ours when it became so."""
        if seat.lost_at is not None:
            self._without_store(seat, what)
            return
        store = self._store_of(seat)
        if seat.own is not None and not self._stands(seat):
            # The last look at the lease came right after the intent; whoever was frozen since cannot know.
            if not seat.intent_s < seat.process.thaws_at <= self._model.now():
                self.broken(f"{what} left without a ticket in the service")
            self.known[UNAWARE] += 1
            self._unaware.add(request.number)
        held = any(run in seat.runs for (run,) in store.execute("SELECT run FROM locks"))
        if seat.own is None and not held and seat.intent_at <= self._taken_at:
            self.known[UNAWARE] += 1  # its intent was durable before, and may be settled by now
            self._unaware.add(request.number)
            return
        if not held:
            self.broken(f"{what} left though the lock had been lost before its intent")
        rows = store.execute("SELECT run, ending FROM journal WHERE address = ?", (str(change.address),))
        if not any(run in seat.runs and ending == "" for run, ending in rows):
            self.broken(f"{what} left without an intent in the store")

    def _without_store(self, seat: Seat, what: str) -> None:
        """Only writes whose intent was durable before the store was removed may still leave."""
        seat.sent_since += 1
        if seat.sent_since > seat.at_once:
            self.broken(
                f"{what} left {self._model.now() - (seat.lost_at or 0):.1f} s after its store was removed"
            )

    # The lock in the service.

    def _stands(self, seat: Seat) -> bool:
        """Whether a ticket of this run is there, whatever lists show."""
        return any(run in seat.runs for one, run in self.tickets.items() if one in self._model.rows)

    def _about_tickets(self, seat: Seat, request: Request) -> bool:
        """Whether a request is about a ticket; only its own run changes one."""
        asked = modelwire.taken_apart(request.method, request.path, request.query)
        if asked.kind != "resource":
            return False
        if request.method == "POST":
            return is_ticket_name(modelwire._body(self._model, request.content).get("name"))
        if asked.one in self.tickets and request.method == "PUT" and self.tickets[asked.one] not in seat.runs:
            self.broken(f"{request} of {seat.process.name} renewed a ticket of another run")
        return asked.one in self.tickets

    def _ticket(self, write: Write) -> bool:
        """Whether a write was about a ticket; who holds it is in its name."""
        body = write.after if write.after is not None else write.before
        if write.kind != "resource" or body is None or not is_ticket_name(body["name"]):
            return False
        found = parse_ticket(str(body["name"]))
        assert found is not None
        self.tickets[write.id] = found.run
        return True

    def _change(self, seat: Seat, request: Request) -> Change | None:
        """The change of the run's plan that a request carries out."""
        asked = modelwire.taken_apart(request.method, request.path, request.query)
        alias = self._aliases.get(asked.workspace, "?")
        for change in seat.plan.changes if seat.plan else ():
            address = change.address
            if (address.kind, address.workspace) != (asked.kind, alias):
                continue
            if self._carries_out(seat, request, asked, change):
                action = {Create: "create", Update: "update", Delete: "delete"}[type(change)]
                if seat.limits is not None and (address, action) not in seat.limits:
                    self.broken(f"{request}: {action} {address} was not in the plan that is gone on with")
                return change
        return None

    def _carries_out(self, seat: Seat, request: Request, asked: Asked, change: Change) -> bool:
        match request.method, change:
            case "PUT", Update(remote_id=one):
                return one == asked.one
            case "DELETE", Delete(remote_id=one):
                return one == asked.one
            case "POST", Create(address=address):
                body = modelwire._body(self._model, request.content)
                declared = seat.desired.entities[address].fields
                wanted = natural(address.kind, dict(declared), self._parent_mail(seat, address))
                return wanted == natural(address.kind, body, self._mail(asked.parent))
        return False

    def _parent_mail(self, seat: Seat, address: Address) -> str:
        above = address.above
        parent = seat.desired.entities.get(above) if above else None
        return str(parent.fields.get("workEmailAddress1", "")).casefold() if parent else ""

    def _mail(self, parent: str) -> str:
        return self._mails.get(parent, "")

    def _became(self, write: Write) -> None:
        if write.after is not None:
            self.states.setdefault(write.id, []).append((self._model.now(), flat(write.after)))

    def _known_mail(self, write: Write) -> None:
        if write.kind == "contact" and write.after is not None:
            self._mails[write.id] = str(write.after.get("workEmailAddress1", "")).casefold()

    # Rules of what a write does.

    def _created(self, seat: Seat, request: Request, write: Write) -> None:
        by = "the network" if request.copy else seat.process.name
        frozen = "frozen" if request.number in self._unaware else ""
        self.made[write.id] = Made(by, self._model.now(), request.late or frozen)
        self.ours.add(write.id)
        assert write.after is not None
        key = natural(write.kind, write.after, write.parent)
        twins = [
            row
            for row in self._model.of(write.kind, write.workspace)
            if row.id != write.id and natural(row.kind, row.body, row.parent) == key
        ]
        for twin in twins:
            self._twin(seat, request, write, self.made[twin.id])

    def _twin(self, seat: Seat, request: Request, write: Write, other: Made) -> None:
        """Two live entities with one natural key: by whose hand?"""
        if request.copy or other.by == "the network":
            self.known["made twice by the network"] += 1
        elif "late beyond" in (request.late, other.late):
            self.known["landed later than the settle window"] += 1
        elif any(lost_at - UNDER_WAY_S < other.at < lost_at + UNDER_WAY_S for lost_at in self.lost):
            self.known[LOST_TWICE] += 1
        elif request.number in self._unaware or other.late == "frozen":
            self.known[FROZEN_TWICE] += 1
        elif other.by == "somebody":
            if other.at + self._model.switches.lag_s < self._looked[request.number]:
                self.broken(f"{request} made a second {write.kind} of what somebody had made before the look")
            self.known["somebody made the same between look and write"] += 1
        else:
            self.broken(
                f"{request} of {seat.process.name} made a second {write.kind}: {other.by} had made one"
            )

    def _replaced(self, seat: Seat, request: Request, write: Write) -> None:
        if request.copy:
            return
        assert write.before is not None
        assert write.after is not None
        change = self._change(seat, request)
        managed = {field.path for field in change.fields} if isinstance(change, Update) else set()
        if isinstance(change, Update) and change.adopts:
            self.ours.add(write.id)  # it carries our mark from now on, where there is one, recorded or not
        before, after = flat(write.before), flat(write.after)
        sent = flat(modelwire._body(self._model, request.content))
        seen, planned = self._basis[request.number], seat.at_plan.get(write.id, {})
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) == after.get(path) or path in WRITE_ONLY:
                continue
            if path not in before and path not in sent:
                continue  # the service's own addition to what was sent
            if before.get(path) != seen.get(path):
                frozen = OVERWRITTEN_FROZEN if request.number in self._unaware else OVERWRITTEN
                self.known[OVERWRITTEN_LATE if request.late else frozen] += 1
            elif path not in managed:
                self.broken(f"{request} changed {path}, which it had read and nobody declared")
            elif seen.get(path) != planned.get(path):
                self.broken(f"{request} overwrote an edit of {path} that it had seen")

    def _deleted(self, seat: Seat, request: Request, write: Write) -> None:
        assert write.before is not None
        if write.id not in self.ours:
            self.broken(f"{request} deleted what was never ours")
        if not isinstance(self._change(seat, request), Delete):
            self.broken(f"{request} deleted what no plan deletes")
        before = flat(write.before)
        seen, planned = self._basis[request.number], seat.at_plan.get(write.id, {})
        seen = {path: value for path, value in seen.items() if not path.startswith("devices.")}
        planned = {path: value for path, value in planned.items() if not path.startswith("devices.")}
        if seen != planned:
            self.broken(f"{request} deleted what it had seen to be changed")
        if before != seen:
            self.known["edited between look and delete"] += 1

    # What is known of the service.

    def _read(self, seat: Seat, request: Request) -> None:
        asked = modelwire.taken_apart(request.method, request.path, request.query)
        now = self._model.now()
        if not asked.one:
            seat.looked_at[request.task, asked.kind, asked.workspace, ""] = now
            return
        seat.seen[request.task, asked.one] = shown = self._flat(asked.one)
        for path, value in seat.wrote.get(asked.one, {}).items():
            if shown.get(path) != value:
                self.swallowed[asked.one, path] = shown.get(path)
        if asked.kind == "contact":
            seat.looked_at[request.task, "device", asked.workspace, asked.one] = now

    def _flat(self, one: str) -> Flat:
        row = self._model.rows.get(one)
        return {} if row is None else flat(row.body)


def natural(kind: str, body: Mapping[str, Any], parent: str) -> Key:
    """What makes two entities the same to people."""
    match kind:
        case "contact":
            return (str(body.get("workEmailAddress1", "")).strip().casefold(),)
        case "device":
            return (parent, str(body.get("appId", "")), str(body.get("deviceName", "")))
        case _:
            return (str(body.get("name", "")).strip(),)


def flat(body: Body) -> Flat:
    """A body by paths, without what the service rewrites with every write."""
    found: Flat = {}
    for key, value in body.items():
        if key == "customFields":
            found |= {f"custom.{row['fieldName']}": row["fieldValue"] for row in value}
        elif key == "messagingoptions":
            for row in value:
                channel = row.get("channel")
                found |= {
                    f"messagingOptions.{channel}.{name}": one
                    for name, one in row.items()
                    if name != "channel" and one != ""
                }
        elif key not in SERVERS_OWN:
            found[key] = value
    return found


def holds(entity: Entity, path: str, live: Flat) -> bool:
    """Whether the service holds what is declared, in its own form."""
    declared, found = entity.fields.get(path, ""), live.get(path, "")
    if path in ("content", "status"):
        return True  # never shown; the service's own
    if path.endswith(".enabled") and declared == "":
        return found in ("", False)  # a channel that is kept says "false" where nothing is sent
    if path == "timezone":
        return str(found) == OFFSETS.get(str(declared), "")
    return str(found).casefold() == str(declared).casefold()
