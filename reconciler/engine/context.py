"""What one run holds while it lasts: settings, time, chance, store, client, locks, the flag that stops it.

Made once (resources.py) and passed down whole, from the verb to the last call. Nothing is done with it here,
and nothing in it is replaced; what changes while a run lasts (lock, stop flag, client) has its own interface.
"""

import asyncio
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from reconciler.concurrency import run_in_thread
from reconciler.core.rules import Rules, make_rules
from reconciler.engine.stop import StopFlag
from reconciler.model.runs import Context
from reconciler.model.settings import Limits, Settings
from reconciler.model.snapshots import Desired
from reconciler.service.client import Connections, Reader, ServiceClient
from reconciler.service.http.limiter import Timing
from reconciler.service.profile import load_profile
from reconciler.store.aside import Offload, within
from reconciler.store.database import Store
from reconciler.store.lock import Lock

T = TypeVar("T")

token_bytes = 16  # 128 bits: no two runs or plans of this world share one


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the verbs get from outside the program: time, chance, and the way to the service.

    `now` tells UTC; `token` gives fresh random text, `run_id` a UUID; `context` says where we are;
    `offload` runs what waits for the store's disk, beside the event loop or in place; `connections`
    replaces the network (tests); `unattended` says that nobody can be asked here; `state` is the folder of
    this account for what programs keep.
    """

    now: Callable[[], datetime]
    token: Callable[[], str]
    run_id: Callable[[], str]
    timing: Timing
    context: Callable[[], Context] = Context
    connections: Connections | None = None
    offload: Offload = run_in_thread
    unattended: bool = False
    state: Path | None = None

    @classmethod
    def real(
        cls, context: Callable[[], Context], *, unattended: bool, state: Path | None = None
    ) -> "Dependencies":
        """Return the real clock, the real chance and the real network."""
        return cls(
            now=lambda: datetime.now(UTC),
            token=lambda: secrets.token_hex(token_bytes),
            run_id=lambda: str(uuid.uuid4()),
            timing=Timing.real(),
            context=context,
            unattended=unattended,
            state=state,
        )


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What a run holds that only reads: `client` cannot write then."""

    settings: Settings
    desired: Desired
    outside: Dependencies
    store: Store
    client: Reader

    @property
    def timing(self) -> Timing:
        """The time that only goes on, and sleep."""
        return self.outside.timing

    @property
    def limits(self) -> Limits:
        """How hard the run may press on the service, and how long it may take."""
        return self.settings.service.limits

    @property
    def rules(self) -> Rules:
        """The rules of planning that the settings say."""
        return make_rules(self.settings)

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The kinds and actions that the deployment does not offer."""
        return load_profile(self.settings.service.profile).missing

    async def ask(self, call: Callable[[Store], T]) -> T:
        """Return what `call` returns of the store, beside the event loop. Raises StoreError, in time."""
        return await within(self.outside.offload, partial(call, self.store), give_up=self.store.give_up)


class ServiceLock:
    """The lock in the service, as a run sees it; this one is for runs that do not use it.

    `says` is what a person should know of it before it is taken. While it is being taken, `may_read` is set
    from when on everything shows that runs before this one wrote; each time that turns out to be untrue,
    `readings` rises, and what was read is to be read again.
    """

    def __init__(self, says: str = "", *, used: bool = False) -> None:
        self.says = says
        self.used = used
        self.taken = False
        self.may_read = asyncio.Event()
        self.readings = 0

    async def take(self) -> bool:
        """Hold it; whether it was taken now. Raises LockHeld, Interrupted, ServiceError."""
        self.says = ""  # once is enough
        return False

    def lost(self) -> str:
        """Return why nothing may be sent any more, or "". Asked before every write; makes no call."""
        return ""


@dataclass(frozen=True, slots=True)
class RunContext(ReadContext):
    """What a run holds that may write.

    `now` is the store's time, for what people read. What decides is measured by `timing.monotonic`: a clock
    that is set while the run lasts changes nothing. `began` and `locked_at` are moments of that clock: who
    held the lock before us sends nothing after `locked_at`. `service_lock` is there also where none is used.
    """

    client: ServiceClient
    lock: Lock
    service_lock: ServiceLock
    stop: StopFlag
    now: Callable[[], datetime]
    run: str
    began: float
    locked_at: float
    fail_fast: bool = False

    @property
    def ends_at(self) -> float:
        """When the time of the whole run is over, planning included; on the monotonic clock."""
        return self.began + self.limits.deadline_s


def format_utc(moment: datetime) -> str:
    """Return a moment as plans and reports write it: ISO 8601 in UTC, whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")
