"""Planning at work: read what is live and recorded, make the plan from it, and judge whether it is safe.

`make_fresh_plan` comes first; then the plan cache, the records of a former address, and a saved undo. An
apply plans with the run's own client, `plan` with one that cannot write. What the plan says is decided in
core/planning/plan.py.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Container, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct, structs

from reconciler.concurrency import gather_limited
from reconciler.core.compare import password_digests
from reconciler.core.desired.resolve import add_forgotten
from reconciler.core.desired.value_forms import is_placeholder
from reconciler.core.feed import NewestRows
from reconciler.core.planning import select
from reconciler.core.planning.delta import MovedScope
from reconciler.core.planning.fingerprint import is_noop_plan, manifest_digest, repeat_noop_plan
from reconciler.core.planning.notices import restored_notices
from reconciler.core.planning.plan import MovedPlan, make_plan_of_moved, make_usable_plan
from reconciler.core.planning.records import SAME_SERVICE, choose_origin
from reconciler.core.planning.unplanned import (
    PlanInputs,
    judge_failed_reads,
    leave_out,
    list_scopes,
    why_nothing_is_planned,
)
from reconciler.core.review.display_names import DisplayName, make_display_name, no_name
from reconciler.core.review.guard import check_plan
from reconciler.core.review.named_consents import match_consents
from reconciler.core.runs.recover import InterruptedRun, doubtful_store_notice
from reconciler.core.runs.undo import BY_MANIFEST, narrow_undo, undo_as_desired
from reconciler.engine.context import Dependencies, ReadContext, RunContext, format_utc
from reconciler.engine.delta import BaselineAfterApply, DeclaredDigests, DeltaInputs, DeltaPlanner
from reconciler.engine.lists import ListCacheRequest, RowCache, is_list_unchanged, open_row_cache
from reconciler.engine.live import make_readers, read_scopes
from reconciler.engine.targets import add_records, find_plan_inputs, resolve_target
from reconciler.errors import (
    Malformed,
    ManifestError,
    Refused,
    ServiceError,
    SettingsError,
    StalePlan,
    UnsafePlan,
)
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.model.address import Address
from reconciler.model.documents import Content
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.plans import ACTION_WORDS, Consent, Options, Plan, PlanMoment, Target, Verdict
from reconciler.model.runs import ROWS_OF, Outcome, Running
from reconciler.model.snapshots import DeletedEntity, Desired, Live, NotPlanned, Recorded, Scope
from reconciler.store.database import Store

# --- A plan made afresh ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan, whether it is safe, and the snapshots it was made from.

    `unfinished` are interrupted runs; `running` is one that is alive. `conflicts` are changes of an undo that
    a later run has overtaken: nothing is planned for them. `whom` gives the display name of an entity; it
    computes nothing until it is called. `rest` has what a delta plan leaves out of the snapshots. `baseline`
    keeps the baseline of the next plan, where that is worth waiting for what an apply records.
    """

    plan: Plan
    verdict: Verdict
    desired: Desired
    live: Live
    recorded: Recorded
    calls: int
    unfinished: tuple[InterruptedRun, ...] = ()
    running: Running | None = None
    conflicts: tuple[Outcome, ...] = ()
    whom: DisplayName = no_name
    rest: Mapping[Scope, MovedScope] = field(default_factory=dict)
    baseline: BaselineAfterApply | None = None


async def make_fresh_plan(
    context: ReadContext,
    options: Options,
    consent: Consent,
    *,
    salt: str = "",
    everyone: bool = False,
    plan_cache: "PlanCache | None" = None,
    left: Iterable[NotPlanned] = (),
) -> PlanResult:
    """Return what there is to do now, and whether it is safe. Sends nothing but GET, and writes nothing.

    With `everyone`, `live` also holds the entities that the plan only counts; the plan is the same.
    `plan_cache` keeps a plan with nothing to do. `left` is left out beside what cannot be planned; nothing of
    that is in the snapshots of the result.
    """
    selection = select.Selection(options.only, options.excluded)
    target = plan_cache.target if plan_cache else None  # the same, as a plan with options has no cache
    wanted = add_forgotten(context.desired, options)
    inputs = await find_plan_inputs(context, wanted, selection, left, target=target)
    lists = plan_cache.lists if plan_cache else await open_row_cache(context)
    gone = await context.ask(lambda store: store.deleted(inputs.target.workspaces))
    whole = options == Options() and not everyone and not inputs.left_out.not_planned
    delta = DeltaPlanner(context, inputs.target, lists) if whole and lists else None
    task = _PlanTask(context, options, gone, salt or context.dependencies.token(), plan_cache)
    made = await _plan_moved(task, delta, inputs) if delta else None
    if made is None:
        made = await _plan_everything(task, delta, inputs, lists, everyone=everyone)
    plan = made.plan
    verdict = judge_plan(context, plan, consent)
    calls = sum(context.client.calls.values())
    three = (made.inputs.desired, made.inputs.live, made.inputs.recorded)
    display_name = make_display_name(plan, *three, context.rules)
    return PlanResult(plan, verdict, *three, calls, whom=display_name, rest=made.rest, baseline=made.baseline)


@dataclass(frozen=True, slots=True)
class _PlanTask:
    """What is planned: with which options and salt, and what we had deleted before."""

    context: ReadContext
    options: Options
    gone: tuple[DeletedEntity, ...]
    salt: str
    plan_cache: "PlanCache | None"


class _MadePlan(Struct, frozen=True):
    """A plan, what it was made from, and what it leaves out of that because it did not move."""

    plan: Plan
    inputs: PlanInputs
    rest: Mapping[Scope, MovedScope] = {}
    baseline: BaselineAfterApply | None = None


async def _plan_everything(
    task: _PlanTask, delta: DeltaPlanner | None, inputs: PlanInputs, lists: RowCache | None, *, everyone: bool
) -> _MadePlan:
    """Read everything, and plan it."""
    context, options = task.context, task.options
    selection = select.Selection(options.only, options.excluded)
    inputs = add_records(inputs, await _load_records(context, inputs.desired, inputs.target, options))
    unknown = list_scopes(inputs.left_out.not_planned, inputs.desired.unread)
    selected, selected_records = _apply_selection(selection, inputs.desired, inputs.recorded, unknown)
    readers = make_readers(
        context.client,
        selected,
        selected_records,
        workspaces={one.alias: one.id for one in inputs.target.workspaces},
        rules=context.rules,
        concurrency=context.limits.concurrency,
        everyone=everyone,
        lists=lists,
        deleted=task.gone,
    )
    failed: dict[Scope, ServiceError] = {}
    computing = _compute_proofs(inputs.desired, inputs.recorded, context.dependencies, asked=selected)
    async with _run_beside(computing):
        live = await read_scopes(readers, None if context.strict else failed)
    if delta and delta.why:
        reads = tuple(structs.replace(one, compared=delta.why) for one in live.reads)
        live = structs.replace(live, reads=reads)
    unread = judge_failed_reads(failed, [one.scope for one in live.reads]) if failed else []
    inputs = leave_out(structs.replace(inputs, live=live), unread)
    if why_nothing_is_planned(unread, selection, inputs.desired):
        raise failed[min(failed)]  # nothing else was asked for
    moment = make_moment(context, await context.ask(Store.now), task.salt)
    planning = partial(make_usable_plan, inputs, options=options, rules=context.rules, moment=moment)
    made, inputs = await _compute_plan(task, partial(planning, strict=context.strict))
    if delta and not inputs.left_out.not_planned:
        declared = DeclaredDigests(inputs.desired.entities)
        read = DeltaInputs(inputs.desired, inputs.live, inputs.recorded, readers, declared)
        after = await delta.follow_apply(made, read) if isinstance(context, RunContext) else None
        await delta.keep(made, read, anew=True)  # also where nobody agrees to the apply
        return _MadePlan(made.plan, inputs, baseline=after)
    return _MadePlan(made.plan, inputs)


async def _plan_moved(task: _PlanTask, delta: DeltaPlanner, everything: PlanInputs) -> _MadePlan | None:
    """Read and plan what moved since the last plan (rule R11); None where everything has to be planned."""
    context, declared = task.context, everything.desired
    found = await delta.read_moved(declared, task.gone)
    if found is None:
        return None
    recorded = found.recorded
    if declared.answers:
        recorded = structs.replace(recorded, answered=await _load_directory_rows(context))
    inputs = structs.replace(everything, desired=found.desired, live=found.live, recorded=recorded)
    moment = make_moment(context, await context.ask(Store.now), task.salt)

    def planning() -> tuple[MovedPlan, PlanInputs]:
        made = make_plan_of_moved(
            inputs.desired,
            inputs.live,
            inputs.recorded,
            target=inputs.target,
            options=task.options,
            rules=context.rules,
            moment=moment,
            rest=found.counts,
            digest=manifest_digest(declared, moment.salt),
        )
        return made, inputs

    try:
        # Before the plan and not beside the reading: what is compared is known only now.
        await _compute_proofs(found.desired, recorded, context.dependencies, asked=found.desired)
        made, inputs = await _compute_plan(task, planning, declared.entities)
    except (ManifestError, Malformed) as error:
        # Which workspaces are left out for it is found by planning everything.
        step_log.info("everything is planned: %s", error)
        return None
    await delta.keep(made, found)
    return _MadePlan(made.plan, inputs, found.moved)


async def _load_records(context: ReadContext, desired: Desired, target: Target, options: Options) -> Recorded:
    """Return what the store knows of these workspaces, and of the directories of their rosters."""
    with record_span("records") as notes:
        recorded = await context.ask(lambda store: store.recorded(target.workspaces))
        if options.same_service is True:
            recorded = await merge_former_records(context, target, recorded)
        notes["entities"] = len(recorded.entities)
    step_log.info("declared: %d, recorded: %d", len(desired.entities), len(recorded.entities))
    if desired.answers:
        recorded = structs.replace(recorded, answered=await _load_directory_rows(context))
    return recorded


async def _load_directory_rows(context: ReadContext) -> dict[str, int]:
    """Return how many rows each directory had when a whole plan was applied last (rule G7)."""
    looked = await context.ask(lambda store: store.last_look(ROWS_OF))
    seen = looked.seen.items() if looked else ()
    return {word.removeprefix(ROWS_OF): number for word, number in seen if word.startswith(ROWS_OF)}


def _apply_selection(
    selection: select.Selection, desired: Desired, recorded: Recorded, unknown: Collection[Scope]
) -> tuple[Desired, Recorded]:
    """Return what is selected of both. Raises UnknownAddress where the selection names nothing.

    Of the scopes in `unknown` nothing is in either.
    """
    select.check_selection(selection, select.list_addresses(desired, recorded), unknown)
    return select.narrow_snapshots(selection, desired, recorded)


# Of one core and 8 MiB each; the event loop needs little meanwhile, and what is computed depends on no order.
_threads = min(8, os.cpu_count() or 1)


@asynccontextmanager
async def _run_beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run this while the body runs; it has ended at the end, or is cancelled where the body raises."""
    beside = asyncio.ensure_future(work)
    try:
        yield
        await beside
    finally:
        beside.cancel()


async def _compute_proofs(
    desired: Desired, recorded: Recorded, dependencies: Dependencies, *, asked: Desired
) -> None:
    """Compute the slow digests that the plan compares.

    In threads: a lock is held meanwhile and has to be renewed, and reading mostly waits for the service.
    """
    found = password_digests.partition_digests(desired.entities, recorded, asked.entities)
    each = [(part, recorded.proofs.get(key, "")) for key, part in found.items() if part.asked]
    shares = [share for start in range(_threads) if (share := each[start::_threads])]
    computing = (dependencies.offload(partial(_compute_share, one, recorded.salt)) for one in shares)
    await asyncio.gather(*computing)


def _compute_share(share: Iterable[tuple[password_digests.DigestPart, str]], salt: str) -> None:
    for part, proof in share:
        password_digests.learn_digests(part, proof, salt)


async def _compute_plan(
    task: _PlanTask,
    planning: Callable[[], tuple[MovedPlan, PlanInputs]],
    declared: Container[Address] | None = None,
) -> tuple[MovedPlan, PlanInputs]:
    """Return the plan of `planning`, with notices of a doubtful store and of what is live again.

    It carries the consent of manifests that it uses. `declared` is everything declared, where the plan is
    made of a part of it. A no-op plan goes into the cache.
    """
    context = task.context
    took = start_stopwatch(context.timing.monotonic)
    # In a thread: it may compute a slow digest that was not precomputed, of a renamed contact's password.
    with record_span("plan") as notes:
        made, inputs = await context.dependencies.offload(planning)
        plan = _add_restored_notices(made.plan, inputs, task.gone)
        entities = inputs.desired.entities if declared is None else declared
        plan = match_consents(plan, inputs.desired.consents, declared=entities, deleted=task.gone)
        notes.update({f"{word}s": plan.count(word) for word in ACTION_WORDS.values()})
        notes.update(records=plan.to_keep, left_alone=len(plan.skips), not_planned=len(plan.left_out))
    if why := context.store.doubtful:
        plan = structs.replace(plan, notices=(*plan.notices, doubtful_store_notice(why)))
    if task.plan_cache:
        await task.plan_cache.keep(plan)
    _log_plan(plan, sum(context.client.calls.values()), took())
    return structs.replace(made, plan=plan), inputs


def _add_restored_notices(plan: Plan, inputs: PlanInputs, gone: tuple[DeletedEntity, ...]) -> Plan:
    """Return the plan, with a notice for each entity that we deleted and that is live again."""
    live, recorded = inputs.live, inputs.recorded
    added = tuple(restored_notices(plan, gone, live, recorded)) if live.again else ()
    return structs.replace(plan, notices=(*plan.notices, *added)) if added else plan


def _log_plan(plan: Plan, calls: int, seconds: float) -> None:
    counts = ", ".join(f"{word}s: {plan.count(word)}" for word in ("delete", "update", "create"))
    what = "planned; changes: %d (%s), records to update: %d, left alone: %d, calls so far: %d, %.1f s"
    step_log.info(what, len(plan.changes), counts, plan.to_keep, len(plan.skips), calls, seconds)


def make_moment(context: ReadContext, now: datetime, salt: str) -> PlanMoment:
    """Return when a plan is made and expires, and its salt."""
    expires = now + timedelta(hours=context.settings.plan_expires_h)
    return PlanMoment(salt, format_utc(now), format_utc(expires))


def judge_plan(context: ReadContext, plan: Plan, consent: Consent) -> Verdict:
    """Return the guard's verdict on a plan, by the settings and by what the service can do."""
    contents = list_written_contents(plan, context.desired)
    unprovided = {one for one, content in contents.items() if is_placeholder(content.data)}
    return check_plan(plan, context.settings.guard, consent, context.missing, unprovided)


def list_written_contents(plan: Plan, desired: Desired) -> dict[Address, Content]:
    """Return the payload of each change that declares one, by address: the plan itself has its digest."""
    # Not of everything declared: of what a plan leaves as it is, no entity has to be decoded.
    declared = (desired.entities.get(change.address) for change in plan.changes)
    return {one.address: one.content for one in declared if one is not None and one.content is not None}


def check_plan_safe(verdict: Verdict) -> None:
    """Raise UnsafePlan with every reason where the guard has refused the plan."""
    if not verdict.safe:
        raise UnsafePlan(
            "the plan is refused; nothing was written.",
            reasons=tuple(reason.what for reason in verdict.reasons),
            next=verdict.reasons[0].next,
        )


# --- The plan cache: a no-op plan is reused while its inputs are unchanged ------------------------
#
#     the digest of the manifests, the target, the state of the records, the state of each cached list
#         unchanged ──▶ one page of each list, newest changes first ──▶ unchanged ──▶ the cached plan
#
# So a plan with nothing to do neither loads its records nor decodes its lists. With any difference or doubt
# the plan is made afresh. The cached plan lies beside the cached lists, sealed as they are. Which plans are
# no-ops is decided in core/planning/; what proves that a list is unchanged, in core/feed.py.


_plan_cache_form = "3"  # of what is kept; another one is not read


class _CachedList(Struct, frozen=True, array_like=True):
    """One list: what it was asked for, its state (engine/lists.py), and its newest rows."""

    asked: ListCacheRequest
    state: tuple[str, ...]
    newest: NewestRows


class _CachedPlan(Struct, frozen=True, array_like=True):
    """What a plan was made from, and the plan in JSON."""

    followed_from: tuple[str, ...]
    lists: tuple[_CachedList, ...]
    plan: bytes


async def open_plan_cache(context: ReadContext, options: Options, made_of: str) -> "PlanCache | None":
    """Return the cache of the no-op plan of these manifests; None where none can be used.

    `made_of` is the digest of everything that the declaration was made from; "" where that is not known.
    """
    usable = made_of and options == Options() and not context.desired.not_planned
    lists = await open_row_cache(context) if usable else None
    state = await context.ask(Store.state) if lists else ""
    if lists is None or not state:
        return None
    try:
        target = await resolve_target(context, context.desired)
    except SettingsError:  # of one workspace perhaps: it is left out, or ends the run, where a plan is made
        return None
    return PlanCache(context, lists, target, made_of, state)


async def find_cached_plan(
    context: ReadContext, plan_cache: "PlanCache | None", consent: Consent
) -> PlanResult | None:
    """Return what `make_fresh_plan` would where nothing changed since a no-op plan (rule R10); else None.

    Its `live` and `recorded` are empty: neither was needed.
    """
    if plan_cache is None:
        return None
    with record_span("again") as notes:
        before = await plan_cache.find_unchanged()
        notes["found"] = before is not None
    if before is None:
        return None
    moment = make_moment(context, await context.ask(Store.now), context.dependencies.token())
    plan = await context.dependencies.offload(partial(repeat_noop_plan, before, context.desired, moment))
    live, calls = Live({}, plan.reads), sum(context.client.calls.values())
    return PlanResult(plan, judge_plan(context, plan, consent), context.desired, live, Recorded({}), calls)


class PlanCache:
    """The last no-op plan of these manifests, target and records, if there is one."""

    def __init__(
        self, context: ReadContext, lists: RowCache, target: Target, made_of: str, state: str
    ) -> None:
        self.target = target
        self.lists = lists
        self._context = context
        self._state = state
        self._name = f"{target.origin}\n{target.stack}\nstandstill"
        self._followed_from = (_plan_cache_form, encode_json(target).decode(), made_of, state)

    async def find_unchanged(self) -> Plan | None:
        """Return that plan where nothing has changed since, by one call for each list; else None.

        None too where a list cannot be read: what that means is judged where a plan is made.
        """
        kept, plan = await self._context.dependencies.offload(self._read)
        changed = list[Scope]()

        async def ask(one: _CachedList) -> None:
            # Side by side: one list that has changed is enough, and the others are read anyway.
            try:
                same = bool(changed) or await is_list_unchanged(self._context.client, one.asked, one.newest)
            except ServiceError:
                same = False
            if not same:
                changed.append(one.asked.scope)

        await gather_limited(kept, ask, self._context.limits.concurrency)
        if changed:
            step_log.info("%s: not as it was when a plan said nothing", changed[0])
            return None
        if plan is not None:
            step_log.info("nothing has changed since a plan said nothing; lists: %d", len(kept))
        return plan

    async def keep(self, plan: Plan) -> None:
        """Keep a no-op plan that was made from followed lists alone."""
        if is_noop_plan(plan) and (lists := self._list_followed(plan)):
            # Records that were written meanwhile may have been written before they were loaded, or after.
            if await self._context.ask(Store.state) != self._state:
                return
            data = msgspec.msgpack.encode(_CachedPlan(self._followed_from, lists, encode_json(plan)))
            await self._context.dependencies.offload(partial(self.lists.files.write, self._name, (data,)))

    def _read(self) -> tuple[tuple[_CachedList, ...], Plan | None]:
        """Return the cached lists and plan, where everything on this side is as it was then."""
        data = self.lists.files.read(self._name)
        try:
            kept = msgspec.msgpack.decode(data, type=_CachedPlan) if data else None
            if kept is None or kept.followed_from != self._followed_from:
                return (), None
            plan = decode_json(kept.plan, Plan)
        except msgspec.MsgspecError:  # written in another form by a version that did not change the number
            return (), None
        as_then = (one.state == self.lists.state(one.asked, now=True) for one in kept.lists)
        due = any(self.lists.why_whole(one.newest) for one in kept.lists)
        return (kept.lists, plan) if all(as_then) and not due else ((), None)

    def _list_followed(self, plan: Plan) -> tuple[_CachedList, ...]:
        """Return the lists that a plan was made from; none where anything else was read for it."""
        found = []
        for read in plan.reads:
            asked, newest, calls = self.lists.newest.get(read.scope, (None, None, 0))
            state = self.lists.state(asked, now=False) if asked else ()
            alone = read.how == "feed" and read.complete and read.calls == calls
            if asked is None or newest is None or not state or not alone:
                return ()
            found.append(_CachedList(asked, state, newest))
        return tuple(found)


# --- `--same-service`: records of a former address of the service become ours here ----------------
#
# Which address is meant is decided in core/planning/records.py; store/records.py moves the rows. A plan
# moves nothing: it compares with both.


async def merge_former_records(context: ReadContext, target: Target, recorded: Recorded) -> Recorded:
    """Return the records as they will be once those of the other address are taken over; writes nothing.

    Raises InputError where several addresses may be meant, Refused where the service is known to be another.
    """
    former = choose_origin(recorded, stack=target.stack)
    if not former:
        return recorded
    await _check_same_company(context, target, former)
    theirs = await context.ask(lambda store: store.recorded(target.workspaces, at=former))
    return structs.replace(
        recorded,
        entities={**theirs.entities, **recorded.entities},
        doubts={**theirs.doubts, **recorded.doubts},
        unapplied=recorded.unapplied & theirs.unapplied,
        elsewhere=tuple(one for one in recorded.elsewhere if one.origin != former),
    )


async def take_over_records(context: RunContext, target: Target) -> None:
    """Move the records of the former address in one transaction, noted in both histories.

    Raises LockHeld where a run writes under the other address, InputError and Refused as above.
    """
    recorded = await context.ask(lambda store: store.recorded(target.workspaces))
    former = choose_origin(recorded, stack=target.stack)
    if not former:
        return  # an interrupted run has moved them
    company = await _check_same_company(context, target, former)
    moved = await context.ask(lambda store: store.take_over(former, target.workspaces, company=company))
    step_log.info("records taken over: %d", moved)


async def _check_same_company(context: ReadContext, target: Target, former: str) -> str:
    """Return the company's id, or "" if the service does not show it. Raises Refused where it has changed."""
    company = await context.client.company_id()
    before = await context.ask(lambda store: store.company(former))
    if company and before and company != before:
        raise Refused(
            f"{SAME_SERVICE}: {target.origin} is not the service of {former}: GET / names another company.",
            next="check service.base_url and the credentials; nothing was moved and nothing was sent",
        )
    return company


# --- A saved undo, and what of it may be carried out now ------------------------------------------


async def make_undo(
    context: RunContext, saved: Plan, consent: Consent, done: Collection[Address] = ()
) -> PlanResult:
    """Return the part of a saved undo that may be carried out now; an interrupted run has done `done`.

    Raises StalePlan for an undo of another service, stack or workspace.
    """
    target = await resolve_target(context, undo_as_desired(saved, Recorded({})))
    if target != saved.target:
        raise StalePlan("the undo belongs to another service, stack or workspace.", next=BY_MANIFEST)
    recorded = await context.ask(lambda store: store.recorded(target.workspaces))
    fit = narrow_undo(saved, recorded, done)
    verdict, desired = judge_plan(context, fit.plan, consent), undo_as_desired(fit.plan, recorded)
    calls = sum(context.client.calls.values())
    live = Live({})
    name = make_display_name(fit.plan, desired, live, recorded, context.rules)
    return PlanResult(fit.plan, verdict, desired, live, recorded, calls, conflicts=fit.conflicts, whom=name)
