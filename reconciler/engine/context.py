"""The context of a run: what it gets from outside the program, what it holds, and what may stop it.

`Dependencies` are time, chance and the way to the service. resources.py makes a `ReadContext` or `RunContext`
once, and it is passed down whole, from the verb to the last call. Nothing in it is replaced; what changes
while a run lasts (lock, stop flag, client) has its own interface.
"""

import asyncio
import secrets
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct

from reconciler.concurrency import run_in_thread
from reconciler.core.rules import Rules, make_rules
from reconciler.model.runs import Context
from reconciler.model.settings import Limits, Settings
from reconciler.model.snapshots import Desired
from reconciler.service.client import EntityClient, Reader
from reconciler.service.http.connections import Connections
from reconciler.service.http.limiter import Timing
from reconciler.service.profile import load_profile
from reconciler.store.database import Offload, Store, await_store
from reconciler.store.locks import Lock

W = TypeVar("W")

# --- Why a run stops early ------------------------------------------------------------------------
#
# Asked from outside, out of time, or because going on would be wrong. What follows: execute.py, outcomes.py.


StopCause = Literal[
    "interrupted",  # a signal
    "deadline",  # the run's own time is over
    "credentials",  # refused, or the day's quota is spent: every further call would be too
    "lock",  # somebody else is the writer now
    "store",  # what is done could not be recorded
    "unconfirmed",  # what was created is not found by the lookup that decides about every create
    "fail-fast",  # asked for with --fail-fast
    "mistake",  # ours: a program that is wrong must not go on writing
]


class StopReason(Struct, frozen=True):
    """Why a run stopped early, in a sentence, and what to do next."""

    reason: StopCause
    what: str
    next: str = ""


class StopFlag:
    """Set from outside by signals. First: finish what is under way. Second: stop at once.

    Belongs to one event loop, once a run has begun; `signal` may be called before that too.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._now = asyncio.Event()

    def signal(self) -> None:
        """Ask the run to end; asked a second time, it ends at once."""
        (self._now if self._asked.is_set() else self._asked).set()

    @property
    def asked(self) -> bool:
        """Whether nothing new may begin."""
        return self._asked.is_set()

    async def wait_asked(self) -> None:
        """Return when the run is asked to end."""
        await self._asked.wait()

    async def unless_asked(self, work: Awaitable[W]) -> W | None:
        """Return what `work` returns, or None where the run is asked to end first. Raises what it raises."""
        working, asked = asyncio.ensure_future(work), asyncio.ensure_future(self.wait_asked())
        try:
            await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            # Both, and awaited: a task that is never awaited warns at the end of the process.
            for task in (working, asked):
                task.cancel()
            await asyncio.gather(working, asked, return_exceptions=True)

    async def wait_now(self) -> None:
        """Return when the run has to end at once."""
        await self._now.wait()

    async def wait_patiently(self, work: "asyncio.Task[Any]", limits_s: tuple[float, float, float]) -> None:
        """Wait for `work`, which cleans up, and return when it is done or its time is over.

        The first limit holds without a signal, the second after one, the third after two. Where a signal
        cancels the caller instead, before this or during it, the wait becomes shorter and goes on;
        CancelledError is raised afterwards.
        """
        unasked_s, asked_s, hurried_s = limits_s
        this = asyncio.current_task()
        try:
            if not self.asked and not (this is not None and this.cancelling()):
                await _wait_for_either(work, self.wait_asked(), unasked_s)
        finally:
            await _wait_for_either(work, self.wait_now(), asked_s)
            await asyncio.wait({work}, timeout=hurried_s)


async def _wait_for_either(
    work: "asyncio.Task[Any]", signal: Coroutine[Any, Any, None], limit_s: float
) -> None:
    """Return when `work` is done, when the signal comes, or after `limit_s`."""
    heard = asyncio.create_task(signal)
    try:
        await asyncio.wait({work, heard}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()


# --- Dependencies and contexts --------------------------------------------------------------------


T = TypeVar("T")

token_bytes = 16  # 128 bits: no two runs or plans of this world share one


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the verbs get from outside the program: time, chance, and the way to the service.

    `now` gives UTC; `token` fresh random text, `run_id` a UUID; `context` where the run takes place;
    `offload` runs what waits for the store's disk, in a thread or in place; `connections` replaces the
    network (tests); `unattended`: no person can be asked; `state` is the account's folder for state files.
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
    """What a run holds that only reads: its `client` cannot write."""

    settings: Settings
    desired: Desired
    dependencies: Dependencies
    store: Store
    client: Reader

    @property
    def timing(self) -> Timing:
        """The monotonic clock, and sleep."""
        return self.dependencies.timing

    @property
    def limits(self) -> Limits:
        """The limits of calls to the service, and of the run's time."""
        return self.settings.service.limits

    @property
    def rules(self) -> Rules:
        """The rules of planning that the settings say."""
        return make_rules(self.settings)

    @property
    def strict(self) -> bool:
        """Whether a workspace that cannot be planned stops the run."""
        return self.settings.strict_scopes == "always"

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The kinds and actions that the deployment does not offer."""
        return load_profile(self.settings.service.profile).missing

    async def ask(self, call: Callable[[Store], T]) -> T:
        """Return what `call` returns of the store, run in a thread. Raises StoreError, in time."""
        return await await_store(
            self.dependencies.offload, partial(call, self.store), give_up=self.store.give_up
        )


class ServiceLock:
    """The lock in the service, as a run sees it; this one is for runs that do not use it.

    `says` is what a person should know before it is taken. While it is being taken, `may_read` is set once
    reads show everything that earlier runs wrote; each time that turns out to be wrong, `readings` rises, and
    what was read has to be read again.
    """

    def __init__(self, says: str = "", *, used: bool = False) -> None:
        self.says = says
        self.used = used
        self.taken = False
        self.may_read = asyncio.Event()
        self.readings = 0

    async def take(self) -> bool:
        """Take the lock, and return whether it was taken now. Raises LockHeld, Interrupted, ServiceError."""
        self.says = ""  # once is enough
        return False

    def lost(self) -> str:
        """Return why nothing may be sent any more, or "". Asked before every write; makes no call."""
        return ""


@dataclass(frozen=True, slots=True)
class RunContext(ReadContext):
    """What a run holds that may write.

    `now` is the store's time, for people. Decisions use `timing.monotonic`, so that a clock that is set
    during the run changes nothing. `began` and `locked_at` are moments of that clock: the previous holder of
    the lock sends nothing after `locked_at`. `service_lock` is one without effect where none is used.
    """

    client: EntityClient
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
