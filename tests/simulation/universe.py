"""One world under one seed: a service, a network, a disk, people, time, and runs of the program in it.

Everything under test is the real thing from the pipeline down to the store. `Universe.run` starts a run as a
process and returns how it ended; what it must not do is the oracle's business.
"""

import asyncio
import itertools
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from msgspec import UNSET
from simulation import disk
from simulation.faults import Faults
from simulation.modelservice import EPOCH, SIDS, Model, Switches
from simulation.modelwire import Answer
from simulation.network import HOST, Network, Request
from simulation.oracle import Oracle, Seat
from simulation.somebody import Somebody
from simulation.virtualloop import HERE, Killed, Process, VirtualLoop

from reconciler import pipeline
from reconciler.engine.context import StopFlag
from reconciler.errors import ReconcilerError
from reconciler.model.plans import Change, Consent, Options, Plan, action_of
from reconciler.model.runs import Outcome, Run
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, LockSettings, Service, Settings, WorkspaceRef
from reconciler.model.snapshots import Desired
from reconciler.service.http.limiter import Timing
from reconciler.store.database import Store

T = TypeVar("T")

BASE = f"https://{HOST}"
ORIGIN = f"{BASE}:443"
AUTH = Auth(Secret("demo-user"), Secret("demo-password"), Secret("demo-key"))
ALLOWED = Consent(deletes=10_000, creates=10_000, updates=10_000, moves=10_000)
lease_s = 300.0  # the program's own number, written down here as well
edits_max = 40  # by somebody during one run: nobody types through the whole of a long wait
SLOW_S = (1.0, 20.0, 200.0)  # how long a store that hangs takes; the last is beyond half of a lease
DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR_WRITE")


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one process, by the number of its effect or step; 0 is never."""

    kill_at_effect: int = 0
    kill_at_step: int = 0
    stop_at_steps: tuple[int, ...] = ()
    cancel_at_step: int = 0  # what a signal does before the plan is agreed to
    silent_at_step: int = 0  # from then on its store answers nothing, until it is asked no more
    mistake_at_step: int = 0  # the next work beside the loop raises what no part of the program expects
    jump_at_step: int = 0
    jump_s: float = 0.0
    freeze_at_step: int = 0
    freeze_s: float = 0.0
    skew_s: float = 0.0  # how wrong the clock of its machine is, from the beginning
    vanish_at_step: int = 0  # somebody removes the folder of the store under it


@dataclass(eq=False)
class End:
    """How a run ended: `word` is its outcome, the kind of its error, or "killed"."""

    word: str
    run: Run | None = None
    error: str = ""
    writes: int = 0
    effects: int = 0
    steps: int = 0


@dataclass(eq=False)
class Universe:
    """A world. `template` is an empty store that is copied into `folder`."""

    seed: int
    folder: Path
    template: Path
    switches: Switches = field(default_factory=Switches)
    settle_s: float = 10.0
    concurrency: int = 3
    workspaces: tuple[str, ...] = ("ops",)

    def __post_init__(self) -> None:
        self.chance = Random(f"world {self.seed}")
        self.loop = VirtualLoop(Random(f"order {self.seed}"))  # type: ignore[abstract]  # no sockets here
        self.faults = Faults(self.seed)
        self.faults.on = False
        self.model = Model(self.switches, self.loop.time)
        self.store = disk.laid(self.template, self.folder)
        self.oracle = Oracle(self.model, self.store, {sid: alias for alias, sid in SIDS.items()})
        self.network = Network(
            self.loop,
            self.model,
            self.faults,
            self,
            Random(f"network {self.seed}"),
        )
        self.network.settle_s = self.settle_s
        self.somebody = Somebody(self.model, self.oracle, Random(f"somebody {self.seed}"))
        self.per_second = 0.0  # turns that a run takes; 0: as many as it can
        self.patience_s = 0.0  # how long a run waits for a lock
        self.deadline_s = Limits().deadline_s
        self.released: tuple[str, ...] = ()  # whose create in doubt an operator lets go out again
        self.fail_fast = False
        self.often_s = 0.0  # how often somebody acts while a run is under way; 0: never
        self.running = 0
        self._edits_max = 0
        self.ends: list[End] = []
        self._trace = sha256()
        self._fates: dict[Process, Fate] = {}
        self._mistaken: Process | None = None
        self._silent: Process | None = None
        self._given_up = False
        self.silent_at = self.signalled_at = 0.0  # when a store said nothing at first; the last signal
        self._over: dict[Process, Any] = {}
        self._tasks: dict[Process, asyncio.Task[End]] = {}
        self._stops: dict[Process, StopFlag] = {}
        self._cancelled: set[Process] = set()  # those that somebody cancelled
        self._numbers = itertools.count(1)
        self._stack = ExitStack()
        self._stack.enter_context(disk.hooked(self))

    def close(self) -> None:
        """Let go of everything, dead processes included."""
        for process in self._fates:
            process.alive = False
        self.loop.end()
        for process in self._fates:
            for handle in process.handles:
                handle.close()
        self.oracle.close()
        self._stack.close()

    @property
    def trace(self) -> str:
        """A hash over everything that happened, in its order."""
        return self._trace.hexdigest()

    def note(self, what: str) -> None:
        """Let the trace know."""
        told = what.replace(str(self.folder), "")  # named anew for every world
        self._trace.update(f"{self.loop.time():.6f} {told}\n".encode())

    # Runs.

    def go(self, desired: Desired, *, verb: str = "apply", fate: Fate | None = None) -> End:
        """Run it alone, to its end."""
        return self.loop.run(self.run(desired, verb=verb, fate=fate))

    async def run(
        self, desired: Desired, *, verb: str = "apply", fate: Fate | None = None, own: str = ""
    ) -> End:
        """Carry out one verb as a process of its own; `own` is the file of a store that only it uses."""
        process = Process(f"run-{next(self._numbers)}", skew_s=fate.skew_s if fate else 0.0)
        if process.skew_s:
            self.faults.count("machine with another clock")
        seat = Seat(process, desired, own=self.folder / own if own else None, at_once=self.concurrency)
        self.oracle.seats[process] = seat
        self._fates[process] = fate or Fate()
        stop = self._stops[process] = StopFlag()
        process.on_step = self._stepped
        over = self._over[process] = self.loop.create_future()
        self.note(f"{process.name} begins to {verb}")
        before = self.oracle.writes
        self.running += 1
        self._edits_max = self.somebody.edits + edits_max
        self._act_later()
        task = self._tasks[process] = self.loop.start(process, self._verb(verb, desired, seat, stop))
        task.add_done_callback(lambda _: None if over.done() else over.set_result(None))
        await over
        self.running -= 1
        end = self._ended(process, task) if process.alive else End("killed")
        end.writes = self.oracle.writes - before
        end.effects, end.steps = process.effects, process.steps
        process.alive = False  # whatever it may have left running ends with it
        self.note(f"{process.name} ended: {end.word}")
        self.ends.append(end)
        return end

    def _ended(self, process: Process, task: "asyncio.Task[End]") -> End:
        if task.cancelled():
            if process not in self._cancelled:
                self.oracle.broken("a run ended as cancelled, and nobody had cancelled it")
            return End("cancelled")
        error = task.exception()
        if error is None:
            return task.result()
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.oracle.broken(f"a run raised {error!r} in {place.filename}:{place.lineno}")
        return End("mistake", error=repr(error))

    def signal(self, *, cancels: bool = False) -> None:
        """Send a signal to the last run; `cancels` is what it does before its plan is agreed to."""
        self._signal(list(self._tasks)[-1], cancels=cancels)

    async def _verb(self, verb: str, desired: Desired, seat: Seat, stop: StopFlag) -> End:
        settings, outside, observer = self.settings(seat.own), self._outside(seat), _Observer(self, seat)
        try:
            if verb == "resume":
                run = await pipeline.resume(
                    settings, desired, outside, stop=stop, observer=observer, fail_fast=self.fail_fast
                )
            else:
                run = await pipeline.apply(
                    settings,
                    desired,
                    outside,
                    options=Options(again=self.released or UNSET),
                    consent=ALLOWED,
                    saved=None,
                    fail_fast=self.fail_fast,
                    stop=stop,
                    observer=observer,
                )
        except ReconcilerError as error:
            return End(type(error).__name__, error=str(error))
        except BaseExceptionGroup as group:  # reads side by side end so; the command line unpacks it as well
            mistakes = group.split(ReconcilerError)[1]
            if mistakes is not None:
                raise
            return End(type(_leaf(group)).__name__, error=str(_leaf(group)))
        return End(run.outcome if run else "nothing", run)

    def settings(self, own: Path | None = None) -> Settings:
        """The settings of every run here; one with a store of its own keeps a lock in the service."""
        limits = Limits(
            requests_per_second=self.per_second,
            concurrency=self.concurrency,
            settle_s=self.settle_s,
            deadline_s=self.deadline_s,
        )
        return Settings(
            root=str(self.folder),
            manifests=(),
            service=Service(base_url=BASE, auth=AUTH, format=self.switches.form, limits=limits),
            workspaces={alias: WorkspaceRef(id=SIDS[alias]) for alias in self.workspaces},
            store=f"sqlite:///{own.name}" if own else "sqlite:///store.db",
            lock=LockSettings(in_service="always" if own else "never", timeout_s=self.patience_s),
            stack="test",
            mark=self.switches.mark,
        )

    def _outside(self, seat: Seat) -> pipeline.Dependencies:
        process = seat.process

        def now() -> datetime:
            return EPOCH + timedelta(seconds=self.loop.time() + process.skew_s)

        def run_id() -> str:
            seat.runs.append(f"00000000-0000-4000-8000-{next(self._numbers):012d}")
            return seat.runs[-1]

        return pipeline.Dependencies(
            now=now,
            token=lambda: f"token-{next(self._numbers):08d}",
            run_id=run_id,
            timing=Timing(self.loop.time, _sleep, self.network._chance.random, now),
            connections=self.network.wire(process),
            offload=self._offload,
        )

    async def _offload(self, work: Callable[[], T]) -> T:
        if self.faults.strikes("slow store", 0.05):
            await _sleep(self.chance.choice(SLOW_S))
        if self._mistaken == HERE.get():
            self._mistaken = None
            raise RuntimeError("a mistake of ours")
        if self._silent is not None and self._silent == HERE.get() and _asks_the_store(work):
            await self._says_nothing()
        return await self.loop.run_in_executor(None, work)

    async def _says_nothing(self) -> None:
        """Hang until whoever waits gives up; from then on the store itself refuses."""
        if not self._given_up:
            self.silent_at = self.silent_at or self.loop.time()
            try:
                await self.loop.create_future()
            finally:
                self._given_up = True

    def open_store(self) -> Store:
        """The store as somebody who looks at it afterwards."""
        return Store.open(
            "sqlite:///store.db",
            origin=ORIGIN,
            stack="test",
            now=lambda: EPOCH + timedelta(seconds=self.loop.time()),
            token=lambda: f"token-{next(self._numbers):08d}",
            root=str(self.folder),
            create=False,
        )

    # Time and people.

    async def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        await _sleep(seconds)

    def _somebody_acts(self) -> None:
        """Somebody acts now and then, as long as a run is under way."""
        if self.often_s and self.running and self.somebody.edits < self._edits_max:
            self.somebody.act()
            self.note(f"somebody acted {self.somebody.edits}")
            self._act_later()

    def _act_later(self) -> None:
        if self.often_s:
            wait = self.chance.expovariate(1.0 / self.often_s)
            self.loop.call_later(wait, self._somebody_acts, context=Context())

    # What everything on the wire and the disk passes (network.Judge, disk.Watcher).

    def effect(self, process: Process, what: str) -> None:
        process.effects += 1
        self.note(f"{process.name} {process.effects} {what}")
        if self._fates[process].kill_at_effect == process.effects:
            self._kill(process, "killed at an effect")
            if HERE.get() is process:
                raise Killed

    def disk_fails(self, process: Process, moment: str) -> str:
        if not self.faults.strikes(f"disk {moment} a commit", 0.04):
            return ""
        self.note(f"{process.name} the disk fails {moment}")
        return self.faults.chance.choice(DISK_ERRORS)

    def committed(self, process: Process) -> None:
        self.oracle.committed(process)

    def leaves(self, request: Request) -> None:
        self.oracle.leaves(request)

    def arrived(self, request: Request, answer: Answer) -> None:
        self.note(f"{request} {answer.status} {len(answer.body)} {request.late}")
        self.oracle.arrived(request, answer)

    def told(self, request: Request, status: int) -> None:
        self.note(f"{request} told {status}")
        self.oracle.told(request, status)

    def _signal(self, process: Process, *, cancels: bool) -> None:
        self.faults.count("signal")
        self.signalled_at = self.loop.time()
        if cancels:
            self._cancelled.add(process)
            self._tasks[process].cancel()
        else:
            self._stops[process].signal()

    def _stepped(self, process: Process) -> None:
        fate = self._fates[process]
        step = process.steps
        if step == fate.kill_at_step:
            self._kill(process, "killed at a step")
        if step in fate.stop_at_steps:
            self._signal(process, cancels=False)
        if step == fate.cancel_at_step:
            self._signal(process, cancels=True)
        if step == fate.silent_at_step:
            self.faults.count("silent store")
            self._silent = process
        if step == fate.mistake_at_step:
            self._mistaken = process
        if step == fate.jump_at_step:
            self.faults.count("clock jump")
            process.skew_s += fate.jump_s
        if step == fate.vanish_at_step:
            self.faults.count("store removed under a run")
            self.note(f"{process.name} loses its store")
            disk.removed(self.oracle.seats[process].own or self.store)
            self.oracle.vanished(process)
        if step == fate.freeze_at_step:
            self.faults.count("frozen")
            process.thaws_at = self.loop.time() + fate.freeze_s

    def _kill(self, process: Process, how: str) -> None:
        self.faults.count(how)
        self.note(f"{process.name} {how}")
        process.kill()
        over = self._over[process]
        if not over.done():
            over.set_result(None)


class _Observer:
    """Looks on for one run: tells the oracle what was planned, and agrees."""

    def __init__(self, universe: Universe, seat: Seat) -> None:
        self._universe = universe
        self._seat = seat

    def unfinished(self, runs: tuple[Any, ...]) -> None:
        last: Plan | None = runs[-1].plan if runs else None
        allowed = last.changes if last else ()
        self._resumed = frozenset((change.address, action_of(change)) for change in allowed)

    def doubtful(self, why: str) -> None:
        self._universe.note(f"doubtful: {why}")

    def beyond(self, changes: tuple[Change, ...]) -> None:
        self._universe.note(f"beyond {len(changes)}")

    def planned(self, planned: pipeline.PlanResult) -> None:
        plan = planned.plan
        owned = {one.remote_id for one in planned.recorded.entities.values()}
        owned |= {one.remote_id for one in plan.adoptions}
        self._universe.note(f"{self._seat.process.name} planned {len(plan.changes)} {plan.fingerprint}")
        self._universe.oracle.planned(self._seat, plan, owned)

    def waits(self, what: str) -> None:
        self._universe.note(f"{self._seat.process.name} {what}")

    def stale(self, _saved: Plan, _planned: pipeline.PlanResult) -> None:
        """Never here: nothing is saved."""

    def agrees(self, _planned: pipeline.PlanResult) -> bool:
        return True

    def ended(self, outcome: Outcome) -> None:
        self._universe.oracle.claimed(self._seat, outcome)
        self._universe.note(f"{outcome.address} {outcome.action} {outcome.result} {outcome.what}")


def _asks_the_store(work: Callable[[], object]) -> bool:
    """Whether this work waits for the store: not what is computed beside the loop, nor files, nor git."""
    func = getattr(work, "func", work)
    module = str(getattr(func, "__module__", ""))
    beside = (
        "reconciler.core",
        "reconciler.model",
        "reconciler.environment",
        "reconciler.engine.planning",
        "reconciler.engine.lists",
        "simulation.",
    )
    return not module.startswith(beside) and getattr(func, "__name__", "") != "_learn"


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(max(0.0, seconds))


def fresh_template(folder: Path) -> Path:
    """An empty store, once for many worlds."""
    store = Store.open(
        "sqlite:///template.db",
        origin=ORIGIN,
        stack="test",
        now=lambda: EPOCH,
        token=lambda: "salt",
        root=str(folder),
    )
    store.close()
    return folder / "template.db"
