"""A plan made afresh: what is live and what is recorded for these manifests, and whether it is safe.

Belongs here: what an apply plans with the run's own client, and what `plan` does with one that cannot write.
Not here: what the plan says (core/planning/plan.py), how little is read (live/).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from msgspec import structs

from reconciler.core.compare import password_digests
from reconciler.core.desired.resolve import add_forgotten
from reconciler.core.desired.value_forms import is_placeholder
from reconciler.core.planning import select
from reconciler.core.planning.fingerprint import repeat_noop_plan
from reconciler.core.planning.notices import restored_notices
from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.scopes import PlanMoment
from reconciler.core.review.display_names import DisplayName, make_display_name, no_name
from reconciler.core.review.guard import check_plan
from reconciler.core.runs.recover import InterruptedRun, doubtful_store_notice
from reconciler.engine.context import Dependencies, ReadContext, format_utc
from reconciler.engine.list_cache import open_row_cache
from reconciler.engine.plan_cache import PlanCache
from reconciler.engine.reading import read_live
from reconciler.engine.rehoming import merge_former_records
from reconciler.engine.targets import resolve_target
from reconciler.errors import UnsafePlan
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.model.plans import ACTION_WORDS, Consent, Options, Plan, Target, Verdict
from reconciler.model.runs import ROWS_OF, Outcome, Running
from reconciler.model.snapshots import DeletedEntity, Desired, Live, Recorded
from reconciler.store.database import Store

# Of one core and 8 MiB each; the event loop needs little meanwhile, and what is computed depends on no order.
_threads = min(8, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan, whether it is safe, and the snapshots it was made from.

    `unfinished` are runs that did not end and that nobody carries out; `running` is one that is alive.
    `conflicts` are changes of an undo that a later run has overtaken: nothing is planned for them.
    `make_display_name` says who an entity is; it costs nothing until it is asked.
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


async def find_cached_plan(
    context: ReadContext, standstill: PlanCache | None, consent: Consent
) -> PlanResult | None:
    """Return what `make_fresh_plan` would, where nothing has changed since a plan said nothing (rule R10).

    Else None. Its `live` and `recorded` are empty: nothing of them was needed.
    """
    if standstill is None:
        return None
    with record_span("again") as notes:
        before = await standstill.again()
        notes["found"] = before is not None
    if before is None:
        return None
    moment = make_moment(context, await context.ask(Store.now), context.outside.token())
    plan = await context.outside.offload(partial(repeat_noop_plan, before, context.desired, moment))
    live, calls = Live({}, plan.reads), sum(context.client.calls.values())
    return PlanResult(plan, judge_plan(context, plan, consent), context.desired, live, Recorded({}), calls)


async def make_fresh_plan(
    context: ReadContext,
    options: Options,
    consent: Consent,
    *,
    salt: str = "",
    everyone: bool = False,
    standstill: PlanCache | None = None,
) -> PlanResult:
    """Return what there is to do now, and whether it is safe. Sends nothing but GET, and writes nothing.

    With `everyone`, `live` also holds whom the plan only counts; the plan is the same. `standstill` knows the
    target, and keeps a plan that says nothing.
    """
    desired, outside = add_forgotten(context.desired, options), context.outside
    target = standstill.target if standstill else await resolve_target(context, desired)
    recorded = await _load_records(context, desired, target, options)
    lists = standstill.lists if standstill else await open_row_cache(context)
    wanted, remembered = _apply_selection(options, desired, recorded)
    gone = await context.ask(lambda store: store.deleted(target.workspaces))
    async with _precompute_proofs(desired, recorded, outside, asked=wanted):
        live = await read_live(
            context.client,
            wanted,
            remembered,
            workspaces={one.alias: one.id for one in target.workspaces},
            rules=context.rules,
            concurrency=context.limits.concurrency,
            everyone=everyone,
            lists=lists,
            deleted=gone,
        )
    moment = make_moment(context, await context.ask(Store.now), salt or outside.token())
    planning = partial(make_plan, desired, live, recorded, rules=context.rules, moment=moment)
    planning = partial(planning, target=target, options=options)
    plan = await _compute_plan(
        context, partial(_add_restored_notices, planning, gone, live, recorded), standstill
    )
    verdict, who = (
        judge_plan(context, plan, consent),
        make_display_name(plan, desired, live, recorded, context.rules),
    )
    calls = sum(context.client.calls.values())
    return PlanResult(plan, verdict, desired, live, recorded, calls, whom=who)


async def _load_records(context: ReadContext, desired: Desired, target: Target, options: Options) -> Recorded:
    """Return what the store knows of these workspaces, and of the directories that are taken from."""
    with record_span("records") as notes:
        recorded = await context.ask(lambda store: store.recorded(target.workspaces))
        if options.same_service is True:
            recorded = await merge_former_records(context, target, recorded)
        notes["entities"] = len(recorded.entities)
    step_log.info("declared: %d, recorded: %d", len(desired.entities), len(recorded.entities))
    return (
        structs.replace(recorded, answered=await _load_directory_rows(context))
        if desired.answers
        else recorded
    )


async def _load_directory_rows(context: ReadContext) -> dict[str, int]:
    """Return how many rows each directory had when a whole plan was applied last (rule G7)."""
    looked = await context.ask(lambda store: store.last_look(ROWS_OF))
    seen = looked.seen.items() if looked else ()
    return {word.removeprefix(ROWS_OF): number for word, number in seen if word.startswith(ROWS_OF)}


def _add_restored_notices(
    planning: Callable[[], Plan], gone: tuple[DeletedEntity, ...], live: Live, recorded: Recorded
) -> Plan:
    """Return what `planning` does, with a notice for each that we deleted and that is live again."""
    plan = planning()
    told = tuple(restored_notices(plan, gone, live, recorded)) if live.again else ()
    return structs.replace(plan, notices=(*plan.notices, *told)) if told else plan


async def _compute_plan(
    context: ReadContext, planning: Callable[[], Plan], standstill: PlanCache | None
) -> Plan:
    """Return what `planning` does, with what there is to say of the store; kept, where it says nothing."""
    took = start_stopwatch(context.timing.monotonic)
    # Beside the event loop: it may compare a password that was not computed before, of a renamed contact.
    with record_span("plan") as notes:
        plan = await context.outside.offload(planning)
        notes.update({f"{word}s": plan.count(word) for word in ACTION_WORDS.values()})
        notes.update(records=plan.to_keep, left_alone=len(plan.skips))
    if why := context.store.doubtful:
        plan = structs.replace(plan, notices=(*plan.notices, doubtful_store_notice(why)))
    if standstill:
        await standstill.keep(plan)
    _log_plan(plan, sum(context.client.calls.values()), took())
    return plan


def _apply_selection(options: Options, desired: Desired, recorded: Recorded) -> tuple[Desired, Recorded]:
    """Return what the selection is about. Raises UnknownAddress where it names nothing."""
    selection = select.Selection(options.only, options.excluded)
    select.check_selection(selection, select.list_addresses(desired, recorded))
    return select.narrow_snapshots(selection, desired, recorded)


def _log_plan(plan: Plan, calls: int, seconds: float) -> None:
    counts = ", ".join(f"{word}s: {plan.count(word)}" for word in ("delete", "update", "create"))
    what = "planned; changes: %d (%s), records to keep: %d, left alone: %d, calls so far: %d, %.1f s"
    step_log.info(what, len(plan.changes), counts, plan.to_keep, len(plan.skips), calls, seconds)


def make_moment(context: ReadContext, now: datetime, salt: str) -> PlanMoment:
    """Return when a plan is made and expires, and its salt."""
    expires = now + timedelta(hours=context.settings.plan_expires_h)
    return PlanMoment(salt, format_utc(now), format_utc(expires))


def judge_plan(context: ReadContext, plan: Plan, consent: Consent) -> Verdict:
    """Return whether a plan is safe, by the guard of the settings and what the service can do."""
    contents = ((one, entity.content) for one, entity in context.desired.entities.items())
    unprovided = {one for one, content in contents if content is not None and is_placeholder(content.data)}
    return check_plan(plan, context.settings.guard, consent, context.missing, unprovided)


@asynccontextmanager
async def _precompute_proofs(
    desired: Desired, recorded: Recorded, outside: Dependencies, *, asked: Desired
) -> AsyncIterator[None]:
    """Compute the slow digests that the plan compares, beside what is done inside: known when it has ended.

    In threads: a lock is held meanwhile and has to be renewed, and reading mostly waits for the service.
    """
    found = password_digests.partition_digests(desired.entities, recorded, asked.entities)
    each = [(part, recorded.proofs.get(key, "")) for key, part in found.items() if part.asked]
    shares = [share for start in range(_threads) if (share := each[start::_threads])]
    ahead = [
        asyncio.ensure_future(outside.offload(partial(_compute_proofs, s, recorded.salt))) for s in shares
    ]
    try:
        yield
        await asyncio.gather(*ahead)
    finally:
        for one in ahead:
            one.cancel()


def _compute_proofs(share: Iterable[tuple[password_digests.DigestPart, str]], salt: str) -> None:
    for part, proof in share:
        password_digests.learn_digests(part, proof, salt)


def check_plan_safe(verdict: Verdict) -> None:
    """Return where the guard accepts a plan. Raises UnsafePlan with every reason."""
    if not verdict.safe:
        raise UnsafePlan(
            "the plan is refused; nothing was written.",
            reasons=tuple(reason.what for reason in verdict.reasons),
            next=verdict.reasons[0].next,
        )
