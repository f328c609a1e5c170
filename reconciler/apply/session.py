"""What the changes of one run share: the inputs, the ids that are known, what is in doubt, whether to go on.

No call is made here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from reconciler.apply.ledger import Ledger
from reconciler.apply.stop import Halt, StopFlag
from reconciler.core.plan import Rules
from reconciler.core.proofs import texts
from reconciler.core.records import traced
from reconciler.core.stretch import stretched
from reconciler.model.address import Address
from reconciler.model.changes import Change, Create, Update, action
from reconciler.model.journal import Intent
from reconciler.model.outcomes import Outcome, Result
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired, LiveEntity, Recorded, RecordedEntity
from reconciler.service.client import Collection, Found, ServiceClient
from reconciler.service.http.timing import Timing
from reconciler.store.lock import lease_s
from reconciler.store.recorded import Batch

RESUME = "reconciler resume"
_tick_s = 0.01  # a sleep may end a little early, and then the deadline is not over yet
GO_ON = f"{RESUME}   (goes on with what is left), or plan again"


class ApplyOptions(Struct, frozen=True):
    """How a plan is carried out. Seconds; `concurrency` is how many changes are under way at once."""

    run: str
    rules: Rules
    fail_fast: bool = False
    concurrency: int = 8
    settle_s: float = 10.0
    deadline_s: float = 3600.0


class NotDone(Exception):
    """The change ends so, and nothing was sent for it."""

    def __init__(self, result: Result, what: str, next: str = "") -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.result = result
        self.what = what
        self.next = next


class Doubt(Struct, frozen=True):
    """A write that was sent and whose answer is unknown. `parent_id` is the contact of a device.

    `at` is its intent's time. `lost_at` is when its answer was given up, on the monotonic clock: one settle
    window later it can no longer land. `answered`: the service said that it is done, and does not show it.
    `before` is what the look right before an update showed.
    """

    change: Change
    parent_id: str
    at: datetime
    lost_at: float
    what: str
    answered: bool = False
    before: Found | None = None


@dataclass(slots=True)
class Session:
    """One run. `salt` is the store's; `records` are what we own, by the addresses of the plan.

    `now` is the store's time, for what people read. What decides is measured by `timing.monotonic`: a clock
    that is set while the run lasts changes nothing.
    """

    plan: Plan
    desired: Desired
    client: ServiceClient
    ledger: Ledger
    options: ApplyOptions
    timing: Timing
    now: Callable[[], datetime]
    stop: StopFlag
    salt: str
    records: dict[Address, RecordedEntity]
    ids: dict[str, str]  # alias of a workspace -> the service's id
    contacts: dict[Address, str]  # contacts that the plan found -> remote id
    devices: dict[Address, tuple[Address, ...]]  # contacts -> their recorded devices
    ends_at: float  # on the monotonic clock
    outcomes: dict[Address, Outcome] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    lost: Callable[[], str] = str  # why the lock in the service is not ours any more, or ""
    halted: Halt | None = None
    shown: dict[Address, LiveEntity] = field(default_factory=dict)  # as the service showed it after our write
    # kind, alias, remote id -> the address it is recorded or was made for; None: the plan saw it, not ours
    known: dict[tuple[str, str, str], Address | None] = field(default_factory=dict)
    adopting: frozenset[Address] = field(init=False)  # what the plan's updates adopt

    def __post_init__(self) -> None:
        self.adopting = frozenset(
            one.address for one in self.plan.changes if isinstance(one, Update) and one.adopts
        )

    def keep(self, record: RecordedEntity, row: LiveEntity | None = None) -> Batch:
        """Return what a write that is done leaves in the store, and remember `row`, what was seen of it.

        What an undo gives back is ours no longer.
        """
        if row is not None:
            self.shown[record.address] = row
        if record.address in self.plan.gone:
            return Batch(forget=(record.address,))
        adopted = self.plan.created_at if record.address in self.adopting else ""
        return Batch(remember=(traced(record, self.records.get(record.address), adopted=adopted),))

    def known_id(self, address: Address, remote_id: str) -> str:
        """Why what was just made for `address` cannot have this id; "" where nothing speaks against it."""
        owner = self.known.get((address.kind, address.workspace, remote_id), address)
        if owner == address:
            return ""
        return f"is {owner}" if owner else "was there before"

    def claim(self, address: Address, remote_id: str) -> None:
        """From now on the id belongs to this address: what was made is seen to be it."""
        self.known[address.kind, address.workspace, remote_id] = address

    def collection(self, address: Address) -> Collection:
        """The collection that an address belongs to."""
        return self.client.of(address.kind)

    def workspace(self, address: Address) -> str:
        """The service's id of an address's workspace."""
        return self.ids[address.workspace]

    def parent_id(self, change: Change) -> str:
        """The remote id of the contact a device belongs to, "" for every other kind.

        Raises NotDone where the contact should have been made in this run, and was not (rule A6).
        """
        above = change.address.above
        if above is None:
            return ""
        outcome = self.outcomes.get(above)
        made = outcome is not None and outcome.action == "create"
        if outcome is not None and made and not outcome.written:
            raise NotDone("skipped", f"its contact {above} was not created: {outcome.result}.", "plan again")
        planned = "" if isinstance(change, Create) else change.parent_id
        found = outcome.remote_id if outcome is not None and made else planned or self.contacts.get(above)
        if not found:
            raise NotDone("failed", f"its contact {above} is not known at the service.", "plan again")
        return found

    def halt(self, halt: Halt) -> None:
        """Begin nothing new. The first reason stays."""
        self.halted = self.halted or halt

    def over(self) -> Halt | None:
        """Why nothing new may begin, or None."""
        broken = self.ledger.broken
        if broken is not None:
            self.halt(Halt("store", str(broken), broken.next))
        lost = self.lost()
        if lost:
            self.halt(Halt("lock", lost, "let the other run end, then plan and apply again"))
        if self.stop.asked:
            self.halt(Halt("interrupted", "the run was asked to stop.", GO_ON))
        if self.timing.monotonic() >= self.ends_at:
            what = f"the run's deadline of {self.options.deadline_s:g} s has passed."
            self.halt(Halt("deadline", what, f"{GO_ON}; or raise service.limits.deadline_s"))
        return self.halted

    async def stretch(self, address: Address) -> None:
        """Compute beside the event loop what the record of a password takes: a look must not wait for it."""
        entity = self.desired.entities.get(address)
        for text in texts(entity, self.salt) if entity else ():
            await self.ledger.beside(partial(stretched, text, self.salt))

    async def before_call(self, change: Change, parent_id: str, at: datetime) -> None:
        """No look and no write begins before this has returned. Raises NotDone, LockHeld, StoreError."""
        self._go_on()
        # For people: a process that is killed right after this may hold the lock until its lease is over,
        # and what it sent may be under way for as long as a settle window. Nothing is decided by it.
        until = self._until(lease_s + self.options.settle_s)
        began = self.timing.monotonic()
        await self.ledger.before_call(_intent(change, parent_id, at, until))
        self.still(began)  # writing it down may have taken a while

    def still(self, began: float) -> None:
        """Return where what was intended at `began`, on the monotonic clock, may be sent. Raises NotDone."""
        self._go_on()
        self._awake(self.timing.monotonic() - began)

    @staticmethod
    def _awake(passed_s: float) -> None:
        """Raise NotDone where so much time has passed that somebody else may hold the lock, and have looked.

        Half of a lease: the other half is for the request, which is not sent when it is old either.
        """
        if passed_s > lease_s / 2:
            what = f"this machine stood still for {passed_s:.0f} s; nothing was sent."
            raise NotDone("not attempted", what, GO_ON)

    def _go_on(self) -> None:
        halt = self.over()
        if halt is not None:
            raise NotDone("not attempted", halt.what, halt.next)

    def doubted(self, doubt: Doubt) -> Intent:
        """The line of the journal that stands from now on for a write whose answer is known to be lost."""
        return _intent(doubt.change, doubt.parent_id, doubt.at, self._until(self.options.settle_s))

    async def pause(self, seconds: float) -> None:
        """Wait, but not past the moment in which the run is asked to stop, nor past its deadline."""
        left_s = max(0.0, self.ends_at - self.timing.monotonic()) + _tick_s
        await self.stop.pause(self.timing.sleep(min(seconds, left_s)))

    def _until(self, seconds: float) -> str:
        """Return the store's time in so many seconds (ISO 8601, UTC; whole seconds, rounded up)."""
        return _full_second(self.now() + timedelta(seconds=seconds))


def _intent(change: Change, parent_id: str, at: datetime, until: str) -> Intent:
    known = "" if isinstance(change, Create) else change.remote_id
    return Intent(change.address, action(change), at.isoformat(timespec="seconds"), until, known, parent_id)


def _full_second(moment: datetime) -> str:
    """Return the moment as text, rounded up to a whole second."""
    return (moment + timedelta(microseconds=999_999)).isoformat(timespec="seconds")


def known_contacts(plan: Plan, records: dict[Address, RecordedEntity]) -> dict[Address, str]:
    """Return the remote ids of the contacts that the plan found, recorded or not."""
    known = {address: record.remote_id for address, record in records.items() if address.kind == "contact"}
    known |= {one.address: one.remote_id for one in plan.adoptions if one.address.kind == "contact"}
    for change in plan.changes:
        if change.address.kind == "contact" and isinstance(change, Update):
            known[change.address] = change.remote_id
    return known


def renamed(recorded: Recorded, plan: Plan) -> dict[Address, RecordedEntity]:
    """Return the records under the addresses that the plan knows them by."""
    return {plan.renames.get(address, address): record for address, record in recorded.entities.items()}


def known_ids(
    plan: Plan, records: dict[Address, RecordedEntity], live: Iterable[LiveEntity] = ()
) -> dict[tuple[str, str, str], Address | None]:
    """Return every remote id that is recorded, planned for or live, and whose it is: nothing new has it."""
    known: dict[tuple[str, str, str], Address | None] = {
        (row.kind, row.workspace, row.remote_id): None for row in live
    }
    ours = [(address, record.remote_id) for address, record in records.items()]
    ours += [(one.address, one.remote_id) for one in plan.adoptions]
    ours += [(one.address, one.remote_id) for one in plan.changes if not isinstance(one, Create)]
    for address, remote_id in ours:
        known[address.kind, address.workspace, remote_id] = address
    return known


def by_contact(records: Iterable[Address]) -> dict[Address, tuple[Address, ...]]:
    """Return the recorded devices of every contact that has some."""
    devices: dict[Address, tuple[Address, ...]] = {}
    for address in records:
        if address.above is not None:
            devices[address.above] = (*devices.get(address.above, ()), address)
    return devices
