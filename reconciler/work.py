"""What the verbs of pipeline.py do alike: plan, hold what a writing run holds, settle, carry out.

Wiring only: every decision is in core/, every effect in service/, store/ and apply/. Which of these
steps make up a verb, and in which order, is said in pipeline.py.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Protocol, TypeVar

from msgspec import structs

from reconciler.apply import engine, exclusion
from reconciler.apply.exclusion import Turn
from reconciler.apply.exits import cut_short, with_notices, with_settled
from reconciler.apply.opening import close_all, end, opened
from reconciler.apply.recovery import Settling, settle_unfinished
from reconciler.core import select
from reconciler.core.guard import Consent, guard
from reconciler.core.plan import Moment, Rules, make_plan
from reconciler.core.records import refreshed
from reconciler.core.recover import Unfinished, doubtful
from reconciler.core.twins import ambiguous, seen
from reconciler.core.undo import BY_MANIFEST, desired_of, fitting, inverse
from reconciler.errors import Interrupted, SettingsError, StalePlan, StoreError, UnsafePlan
from reconciler.live import read_live
from reconciler.model.address import Address
from reconciler.model.changes import Change
from reconciler.model.context import Context
from reconciler.model.outcomes import Outcome, Run
from reconciler.model.plans import Options, Plan, Target, Verdict, Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded
from reconciler.service.client import Connections, Reader, ServiceClient, open_client, paced
from reconciler.service.limiter import Pace
from reconciler.service.profile import load_profile
from reconciler.service.timing import Timing
from reconciler.service.urls import origin
from reconciler.store.aside import Offload, aside, within
from reconciler.store.database import Store
from reconciler.store.lock import Lock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outside:
    """What the verbs get from outside the program: time, chance, and the way to the service.

    `now` tells UTC; `token` gives fresh random text, `run_id` a UUID; `context` says where we are;
    `offload` runs what waits for the store's disk, beside the event loop or in place; `connections`
    replaces the network (tests); `unattended` says that nobody can be asked here.
    """

    now: Callable[[], datetime]
    token: Callable[[], str]
    run_id: Callable[[], str]
    timing: Timing
    context: Callable[[], Context] = Context
    connections: Connections | None = None
    offload: Offload = aside
    unattended: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, whether it is safe, the snapshots it was made from; `unfinished` are runs that did not end."""

    plan: Plan
    verdict: Verdict
    desired: Desired
    live: Live
    recorded: Recorded
    calls: int
    unfinished: tuple[Unfinished, ...] = ()


KeepUndo = Callable[[Plan], None]


class Watch(Protocol):
    """Whoever looks on while a plan is applied, and has a say before the first write."""

    def unfinished(self, runs: tuple[Unfinished, ...]) -> None:
        """Hear of earlier runs that did not finish, before what they left in doubt is looked for."""

    def doubtful(self, why: str) -> None:
        """Hear why the store may lack what was sent lately, before that is waited for."""

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Hear what planning now would do besides what is resumed, and what is not done."""

    def planned(self, planned: Planned) -> None:
        """Hear of the plan, before it is decided whether it is safe."""

    def waits(self, what: str) -> None:
        """Hear that the run takes the lock in the service, or why it goes without one."""

    def stale(self, saved: Plan, planned: Planned) -> None:
        """Hear that the saved plan is not what would be done now; StalePlan follows."""

    def agrees(self, planned: Planned) -> bool:
        """Say whether this safe plan may be carried out."""

    def ended(self, outcome: Outcome) -> None:
        """Hear how one change ended."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run that may write: what it is about, and everything that it holds while it lasts."""

    settings: Settings
    desired: Desired
    outside: Outside
    stop: engine.StopFlag
    store: Store
    lock: Lock
    client: ServiceClient
    run: str
    began: float  # on the monotonic clock
    locked_at: float  # on the monotonic clock; whoever held the lock before sends nothing after that
    fail_fast: bool
    turn: Turn  # the lock in the service, used or not

    async def plan(self, options: Options, consent: Consent, *, salt: str) -> Planned:
        """Plan afresh, with the client and the store that this run holds."""
        return await make(
            self.settings,
            self.desired,
            self.outside,
            self.client,
            self.store,
            options=options,
            consent=consent,
            salt=salt,
        )

    async def ask(self, call: Callable[[Store], T]) -> T:
        """Return what `call` returns of the store, beside the event loop. Raises StoreError, in time."""
        return await within(self.outside.offload, partial(call, self.store), give_up=self.store.give_up)

    def options(self) -> engine.ApplyOptions:
        """How the plan is carried out; the deadline is what is left of the whole run's, the plan included."""
        limits = self.settings.service.limits
        return engine.ApplyOptions(
            run=self.run,
            rules=_rules(self.settings),
            fail_fast=self.fail_fast,
            concurrency=limits.concurrency,
            settle_s=limits.settle_s,
            deadline_s=limits.deadline_s - (self.outside.timing.monotonic() - self.began),
        )

    async def alone(self, watch: "Watch") -> bool:
        """Whether the lock in the service was taken just now: what was read before may be old.

        Nothing is called where it is held already, or not used. Raises LockHeld, Interrupted.
        """
        if self.turn.taken:
            return False
        if self.turn.says:
            watch.waits(self.turn.says)
        return await self.turn.take()


@dataclass(frozen=True, slots=True)
class Undoing:
    """An undo about to be carried out: the work, with its entities; the plan; what is a conflict already."""

    work: Work
    planned: Planned
    conflicts: tuple[Outcome, ...]


@asynccontextmanager
async def writing(
    settings: Settings, desired: Desired, outside: Outside, stop: engine.StopFlag, *, fail_fast: bool
) -> AsyncIterator[Work]:
    """Hold the lock, the store and the client; all three are let go of on every way out. Raises LockHeld.

    The lock in the service is not taken yet (`Work.alone`), and removed on every way out where it was.
    """
    run, began, timing = outside.run_id(), outside.timing.monotonic(), outside.timing
    async with AsyncExitStack() as held:
        store = await held.enter_async_context(opened(settings, outside, create=True))
        lock, turn = await held.enter_async_context(
            exclusion.locks(
                settings,
                store,
                run=run,
                unattended=outside.unattended,
                timing=timing,
                token=outside.token,
                stop=stop,
                connections=outside.connections,
                offload=outside.offload,
            )
        )
        locked_at = timing.monotonic()
        pace, connections = shared_pace(settings, store), outside.connections
        client = await held.enter_async_context(
            open_client(settings.service, timing=timing, connections=connections, pace=pace)
        )
        yield Work(
            settings, desired, outside, stop, store, lock, client, run, began, locked_at, fail_fast, turn
        )


def shared_pace(settings: Settings, store: Store) -> Pace | None:
    """Return the pace that everybody with these credentials and this store shares; None where nobody does."""
    return store.pace(*paced(settings.service, store.salt)) if store.shared else None


async def settle(work: Work, unfinished: tuple[Unfinished, ...], watch: Watch) -> tuple[Outcome, ...]:
    """Return what became of what earlier runs left in doubt. Raises Interrupted where there was no time.

    A store that may lack such runs is waited for in the same way, and accepted as it is afterwards.
    """
    if not unfinished and not work.store.doubtful:
        return ()
    if work.store.doubtful:
        watch.doubtful(work.store.doubtful)
    if unfinished:
        watch.unfinished(unfinished)
    settings, outside = work.settings, work.outside
    unread = any(one.plan is None for one in unfinished)
    workspaces = await _workspaces(work.client, settings, work.desired) if unread else ()
    how = Settling(
        target=Target(origin(settings.service.base_url), settings.stack, workspaces),
        client=work.client,
        store=work.store,
        lock=work.lock,
        locked_at=work.locked_at,
        options=work.options(),
        timing=outside.timing,
        now=work.lock.now,
        stop=work.stop,
        offload=outside.offload,
    )
    outcomes = await settle_unfinished(unfinished, work.desired, how)
    if work.stop.asked:
        raise Interrupted("stopped before anything was written.", next="reconciler resume")
    await work.ask(Store.accept)
    return outcomes


async def carry_out(
    work: Work,
    planned: Planned,
    watch: Watch,
    *,
    command: str,
    consent: Consent,
    unfinished: tuple[Unfinished, ...],
    left: Plan | None = None,
    settled: tuple[Outcome, ...] = (),
    keep_undo: KeepUndo | None = None,
) -> Run:
    """Return the finished run: its row has ended, and the earlier runs are closed whose place it takes.

    `left` is what of the plan is carried out, where that is not all of it; `settled` is what was found out
    about the earlier runs, and belongs to the report of this one. `keep_undo` gets the plan that undoes what
    was applied, however the run ended.
    """
    store, made, context = work.store, left or planned.plan, work.outside.context()
    # The new run stands before the old ones are closed: killed in between, there is one to resume.
    await work.ask(lambda store: store.begin(work.run, command, made, consent, context))
    await work.ask(partial(close_all, unfinished))
    await work.ask(lambda store: _keep_records(store, planned))
    shown: dict[Address, LiveEntity] = {}
    result = await _applied(work, made, planned, watch, shown)
    if keep_undo is not None:
        undo = inverse(made, result, shown, planned.recorded, moment=_moment(work), key=store.salt)
        keep_undo(undo)
    own = {outcome.address for outcome in result.outcomes}
    for outcome in settled:
        if outcome.address not in own:
            watch.ended(outcome)
    resumes = unfinished[-1].run if command == "resume" else ""
    result = with_settled(result, settled)
    result = structs.replace(result, context=context, resumes=resumes, records=planned.plan.to_keep)
    result = structs.replace(result, seen=seen(planned.plan, planned.desired))
    result = with_notices(result, planned.plan.notices, ambiguous(planned.plan, planned.desired))
    with suppress(StoreError):  # what was done is recorded; that it ended must not hide how it ended
        head = await work.ask(partial(end, result))
        return structs.replace(result, audit_head=str(head or ""))
    return result


def _moment(work: Work) -> Moment:
    now = work.lock.now()
    expires = now + timedelta(hours=work.settings.plan_expires_h)
    return Moment(work.outside.token(), _text(now), _text(expires))


async def _applied(
    work: Work, made: Plan, planned: Planned, watch: Watch, shown: dict[Address, LiveEntity]
) -> Run:
    outside, heard = work.outside, dict[Address, Outcome]()

    def ended(outcome: Outcome) -> None:
        heard[outcome.address] = outcome
        watch.ended(outcome)

    try:
        return await engine.apply(
            made,
            work.desired,
            planned.recorded,
            client=work.client,
            store=work.store,
            lock=work.lock,
            options=work.options(),
            timing=outside.timing,
            now=work.lock.now,
            stop=work.stop,
            on_outcome=ended,
            offload=outside.offload,
            shown=shown,
            lost=work.turn.lost,
            live=chain.from_iterable(planned.live.entities.values()),
        )
    except BaseException:
        now = _text(work.lock.now())
        with suppress(StoreError):
            await work.ask(lambda store: store.end(cut_short(made, heard, run=work.run, at=now)))
        raise


def check_safe(verdict: Verdict) -> None:
    """Return where nothing speaks against a plan. Raises UnsafePlan with every reason."""
    if not verdict.safe:
        raise UnsafePlan(
            "the plan is refused; nothing was written.",
            reasons=tuple(reason.what for reason in verdict.reasons),
            next=verdict.reasons[0].next,
        )


async def make(
    settings: Settings,
    desired: Desired,
    outside: Outside,
    reader: Reader,
    store: Store,
    *,
    options: Options,
    consent: Consent,
    salt: str = "",
) -> Planned:
    """Return what there is to do now, and whether it is safe. Sends nothing but GET, and writes nothing."""
    workspaces = await _workspaces(reader, settings, desired)
    recorded = await within(outside.offload, partial(store.recorded, workspaces), give_up=store.give_up)
    selection = select.Selection(options.only, options.excluded)
    select.check(selection, select.known(desired, recorded))
    rules = _rules(settings)
    wanted, remembered = select.focus(selection, desired, recorded)
    live = await read_live(
        reader,
        wanted,
        remembered,
        workspaces={one.alias: one.id for one in workspaces},
        rules=rules,
        concurrency=settings.service.limits.concurrency,
    )
    now = await within(outside.offload, store.now, give_up=store.give_up)
    expires = now + timedelta(hours=settings.plan_expires_h)
    made = make_plan(
        desired,
        live,
        recorded,
        target=Target(origin(settings.service.base_url), settings.stack, workspaces),
        options=options,
        rules=rules,
        moment=Moment(salt or outside.token(), _text(now), _text(expires)),
    )
    if store.doubtful:
        made = structs.replace(made, notices=(*made.notices, doubtful(store.doubtful)))
    verdict = guard(made, settings.guard, consent, load_profile(settings.service.profile).missing)
    return Planned(made, verdict, desired, live, recorded, sum(reader.calls.values()))


async def make_undo(work: Work, saved: Plan, consent: Consent, done: Collection[Address] = ()) -> Undoing:
    """Return what of a saved undo may be carried out now; `done` was, by a run that did not finish.

    Raises StalePlan for one that is meant for another place.
    """
    settings = work.settings
    desired = desired_of(saved, Recorded({}))
    workspaces = await _workspaces(work.client, settings, desired)
    target = Target(origin(settings.service.base_url), settings.stack, workspaces)
    if target != saved.target:
        raise StalePlan("the undo is meant for another service, stack or workspace.", next=BY_MANIFEST)
    recorded = await work.ask(lambda store: store.recorded(workspaces))
    fit = fitting(saved, recorded, done)
    missing = load_profile(settings.service.profile).missing
    verdict = guard(fit.plan, settings.guard, consent, missing)
    desired = desired_of(fit.plan, recorded)
    planned = Planned(fit.plan, verdict, desired, Live({}), recorded, sum(work.client.calls.values()))
    return Undoing(replace(work, desired=desired), planned, fit.conflicts)


async def _workspaces(reader: Reader, settings: Settings, desired: Desired) -> tuple[Workspace, ...]:
    """Return the workspaces that the manifests speak of, each known to the service (planning rule S4)."""
    aliases = sorted({scope.workspace for scope in desired.scopes})
    named = [alias for alias in aliases if alias != "default"]
    live = await reader.workspaces.list() if named else ()
    found = [Workspace("default", "")] if "default" in aliases else []
    for alias in named:
        ref = settings.workspaces[alias]
        fits = [one for one in live if ref.id in ("", one.id) and ref.name in ("", one.name)]
        if len(fits) != 1:
            wanted = " and ".join(
                f"{key} {value!r}" for key, value in (("id", ref.id), ("name", ref.name)) if value
            )
            several = "more than one workspace" if fits else "no workspace"
            raise SettingsError(
                f"workspace {alias}: the service has {several} with {wanted}.",
                next="it has "
                + (", ".join(f"{one.name} ({one.id})" for one in live[:10]) or "none but the default one"),
            )
        found.append(Workspace(alias, fits[0].id, fits[0].name))
    return tuple(sorted(found))


def _keep_records(store: Store, planned: Planned) -> None:
    """Bring the store to what the plan found, before anything is written to the service."""
    made, workspaces = planned.plan, planned.plan.target.workspaces
    store.rename(made.renames.items(), workspaces)
    store.forget(made.gone, workspaces)
    store.remember(refreshed(made, planned.desired, planned.live, planned.recorded), workspaces)


def _rules(settings: Settings) -> Rules:
    return Rules(settings.stack, settings.identity, settings.mark, adopt=settings.adopt == "always")


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
