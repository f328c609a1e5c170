"""READ FIRST. The commands that plan and write, a function each, and what they do in which order.

The path of the data, which the functions below follow:

1. Load. Manifests -> documents (`load_project`) -> DESIRED (`resolve_desired`). `validate` ends here.
2. Read. The store -> RECORDED; the service -> LIVE (engine/live.py). Only GETs are sent.
3. Plan. DESIRED + LIVE + RECORDED -> PLAN, and the guard's verdict on it (`make_fresh_plan`). `plan`, `list`,
   `explain` and `export` end here: they write nothing.
4. Lock and settle. The lock of the store, and the one in the service where it is used; then what earlier runs
   left in doubt is settled by looking at the service (`settle_earlier_runs`).
5. Plan again, under the lock, and compare: `apply` with the saved plan that was reviewed, `resume` with what
   the interrupted run had left. `undo` plans nothing: it takes the undo that a run left, if unchanged
   (`load_undo` finds it in the store).
6. Execute. Each change of the plan: look, record the intent, write, read back, record the outcome -> RUN
   (`execute_plan`).

`sync` is 1 to 3 and then, where the policy says so, 4 to 6 by `apply` of exactly that plan.

Only the order is here: core/ decides, and what several commands do alike is in engine/.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from reconciler.concurrency import pause_collector
from reconciler.core.desired.isolate import drop_problems, isolate_mistakes
from reconciler.core.desired.resolve import Resolved, add_forgotten, resolve_desired
from reconciler.core.planning.fingerprint import restate_manifest_digest
from reconciler.core.planning.select import EVERYTHING, Selection, find_selected_workspaces
from reconciler.core.planning.unplanned import leave_out_of_desired, make_not_planned_error
from reconciler.core.review.decide import CheckVerdict, Decision
from reconciler.core.review.guard import NO_CONSENT, add_consent, choose_consent
from reconciler.core.review.named_consents import list_idle_consents
from reconciler.core.review.saved_plans import narrow_saved_plan, seal_plan_pieces, why_expired, why_stale
from reconciler.core.review.sync_results import find_sync_exit_code
from reconciler.core.rules import make_rules
from reconciler.core.runs.kept_undo import choose_undo, renew_undo
from reconciler.core.runs.recover import InterruptedRun, find_remaining, is_store_doubtful
from reconciler.core.runs.undo import BY_MANIFEST, is_undo_proved, undo_as_desired
from reconciler.core.views.explain import make_explanations
from reconciler.core.views.inventory import Inventory, make_inventory, narrow_desired
from reconciler.directories.answers import ReadOnce
from reconciler.engine.context import Dependencies, RunContext, StopFlag, format_utc
from reconciler.engine.execute import Execution, KeepUndo, execute_plan
from reconciler.engine.explaining import (
    add_explain_plan,
    is_in_plan_scope,
    load_explain_evidence,
    narrow_to_workspaces,
)
from reconciler.engine.exporting import ExportRequest, ExportResult, export_scopes
from reconciler.engine.planning import (
    PlanResult,
    find_cached_plan,
    judge_plan,
    make_fresh_plan,
    make_undo,
    open_plan_cache,
)
from reconciler.engine.recover import settle_earlier_runs
from reconciler.engine.resources import RunObserver, open_for_reading, open_for_writing, open_run_store
from reconciler.engine.service_lock import acquire_service_lock
from reconciler.engine.syncing import (
    SyncEvidence,
    decide_sync,
    load_sync_evidence,
    record_failed_sync,
    record_sync,
    settle_open_question,
)
from reconciler.environment.commits import require_descent, require_signed_commit
from reconciler.environment.programs import run_judging_program
from reconciler.errors import (
    DirectoryError,
    LockHeld,
    ManifestError,
    Problem,
    ReconcilerError,
    StalePlan,
    StoreError,
)
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.manifest.cache import Declaration, ManifestCache
from reconciler.manifest.cutting import Cuts
from reconciler.manifest.load import load_project
from reconciler.manifest.selected import select_manifests
from reconciler.manifest.sources import is_without_manifests
from reconciler.model.address import Address, parse_address
from reconciler.model.plans import Consent, Explanation, Options, Plan
from reconciler.model.runs import Outcome, Run
from reconciler.model.secrets import NO_FILES
from reconciler.model.settings import Notify, Settings
from reconciler.model.snapshots import Desired, Recorded, Scope
from reconciler.service.profile import bring_kinds
from reconciler.store.database import Store, await_store
from reconciler.version import __version__

if TYPE_CHECKING:
    from reconciler.messaging.approvals import AskResult
    from reconciler.messaging.messages import Messages

__all__ = [
    "Dependencies",
    "PlanResult",
    "RunObserver",
    "Synced",
    "apply",
    "end_failed_sync",
    "expiry_reason",
    "explain",
    "export",
    "list_entities",
    "load_declaration",
    "load_partial_declaration",
    "load_undo",
    "plan",
    "resolve_manifests",
    "resume",
    "sync",
    "undo",
    "validate",
    "why_stale",
    "workspace_mismatch",
]

# Whether a plan may be carried out now: the question that approved it, or ""; or an error.
Approve = Callable[[RunContext, PlanResult], Awaitable[str]]

_PLAN_AND_APPLY = "reconciler plan, then reconciler apply"

# --- 1. Load: what the manifests declare -----------------------------------------------------------


def validate(
    settings: Settings, environ: Mapping[str, str], *, all_values: bool = True, asks: bool = True
) -> Desired:
    """Return everything declared. Raises ManifestError with every mistake of every file, DirectoryError.

    No calls but to the directories that rosters come from.
    """
    desired = load_declaration(settings, environ, all_values=all_values, asks=asks, strict=True).desired
    idle = tuple(list_idle_consents(desired))
    return structs.replace(desired, notices=(*desired.notices, *idle)) if idle else desired


def load_declaration(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    all_values: bool = True,
    asks: bool = True,
    strict: bool = False,
    selection: Selection = EVERYTHING,
) -> Declaration:
    """Return everything declared, and the digest of all that it was made from, where that is known.

    Of a `selection` what it may be about is enough: the manifests of other workspaces are not read.

    Workspaces with mistakes are left out where others have none, but for `strict`, here and in the settings:
    `mistakes` has them, and `not_planned` of what is declared says which workspaces those are.

    Without `all_values` a variable that is not set is a notice, and its value is missing from the result; no
    file of secrets is opened. That is for checks where secrets must not be, and for nothing else. Without
    `asks` the same is true of directories. With `caches` of the settings, large manifests that are unchanged
    are not read again; the result is the same.
    """
    settings = _leave_out_secret_files(settings, all_values=all_values)
    bring_kinds(settings.service.profile)
    settings, unread = select_manifests(settings, find_selected_workspaces(selection))
    asked = ReadOnce(settings.directories, asks=asks)
    with record_span("manifests") as notes:
        cache = ManifestCache(settings, environ, directories=asked) if settings.caches else None
        with pause_collector():
            known = cache.load() if cache is not None else None
        if known is None:
            found = resolve_manifests(
                settings, environ, all_values=all_values, strict=strict, cache=cache, directories=asked
            )
            known = Declaration(found.desired, inputs=found.inputs, mistakes=found.problems)
        notes["entities"] = len(known.desired.entities)
    if unread:
        known = structs.replace(known, desired=structs.replace(known.desired, unread=unread))
    return known


def load_partial_declaration(settings: Settings, environ: Mapping[str, str]) -> Desired:
    """Return what is declared so far: there may be no manifest yet, and no variable has to be set."""
    bring_kinds(settings.service.profile)
    root = Path(settings.root).resolve()
    found = []
    for source in settings.manifests:
        path = root / source
        if path.exists() and not is_without_manifests(path, root):
            found.append(source)
    if not found:
        return Desired({}, frozenset())
    partial_settings = structs.replace(settings, manifests=tuple(found))
    return load_declaration(partial_settings, environ, all_values=False).desired


def resolve_manifests(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    all_values: bool = True,
    strict: bool = False,
    cache: ManifestCache | None = None,
    directories: ReadOnce | None = None,
) -> Resolved:
    """Read all manifests, and return everything declared with its places; it refers to every document.

    Where there is no mistake, `cache` gets it. Mistakes leave their workspaces out, as `load_declaration`
    says, and are the `problems` of the result. Otherwise raises ManifestError with every mistake, or
    DirectoryError where the only mistakes are directories that did not answer.
    """
    settings = _leave_out_secret_files(settings, all_values=all_values)
    bring_kinds(settings.service.profile)
    took = start_stopwatch()
    with pause_collector():
        cuts = Cuts() if cache is not None else None
        loaded = load_project(settings, environ, directories=directories, cuts=cuts)
        found = structs.replace(resolve_desired(loaded.manifests, make_rules(settings)), inputs=loaded.files)
    unset = () if all_values else loaded.unset
    problems = {*loaded.problems, *found.problems} - {one.problem for one in unset}
    files, entries = len(loaded.manifests), loaded.documents
    step_log.info(
        "manifests read; files: %d, entries: %d, mistakes: %d, %.1f s", files, entries, len(problems), took()
    )
    if problems:
        strict = strict or settings.strict_scopes == "always"
        harmless = frozenset(one.problem for one in unset)
        faulty = drop_problems(loaded.faulty, harmless)
        rules = make_rules(settings)
        usable = None if strict else isolate_mistakes(loaded.manifests, faulty, loaded.others, rules)
        # There may be no other manifest yet where not all values are needed, as for an export.
        if usable is None or (all_values and usable.is_empty):
            raise _make_manifest_error(problems, failed=frozenset(loaded.failed))
        return structs.replace(usable.resolved, problems=usable.problems, inputs=loaded.files)
    if not unset and not loaded.unasked:
        return found if cache is None else cache.store(loaded, found)
    notices = (*found.desired.notices, *loaded.unchecked)
    return structs.replace(found, desired=structs.replace(found.desired, notices=notices))


def _leave_out_secret_files(settings: Settings, *, all_values: bool) -> Settings:
    """Return the settings, without their files of secrets where not all values are needed."""
    return settings if all_values else structs.replace(settings, variable_files=NO_FILES)


def _make_manifest_error(
    problems: Collection[Problem], failed: frozenset[Problem]
) -> ManifestError | DirectoryError:
    """Return the error with all mistakes in file order; a DirectoryError where only directories failed."""
    ordered = sorted(problems, key=lambda one: (one.file, one.line, one.column, one.what))
    if failed.issuperset(problems):
        what = "nothing can be planned: a directory did not answer, or gave an invalid answer."
        return DirectoryError(what, next="fix the errors above and retry", problems=tuple(ordered))
    count = "1 mistake" if len(problems) == 1 else f"{len(problems):,} mistakes"
    return ManifestError(f"the manifests cannot be used: {count}.", problems=tuple(ordered))


# --- 2 and 3. Read and plan: nothing is written ----------------------------------------------------


async def plan(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    *,
    options: Options,
    consent: Consent,
    made_of: str = "",
    salt: str = "",
) -> PlanResult:
    """Return what apply would do. Sends nothing but GET, and writes nothing anywhere.

    `made_of` is that of the Declaration whose `desired` this is: with it, the plan cache may be used. With
    the `salt` of an earlier plan it has that plan's fingerprint if it does the same.
    """
    async with open_for_reading(settings, desired, dependencies) as context:
        plan_cache = await open_plan_cache(context, options, made_of)
        planned = await find_cached_plan(context, plan_cache, consent)
        planned = planned or await make_fresh_plan(
            context, options, consent, salt=salt, plan_cache=plan_cache
        )
        planned = _add_consent(await _add_commit(planned, dependencies), consent)
        found = await context.ask(Store.standing)
        return replace(planned, unfinished=found.left, running=found.running)


def _add_consent(planned: PlanResult, consent: Consent) -> PlanResult:
    """Return a plan that carries the consent that was given to it."""
    return replace(planned, plan=add_consent(planned.plan, consent))


async def _add_commit(planned: PlanResult, dependencies: Dependencies) -> PlanResult:
    """Return a plan that names the commit of its manifests, where that is known; reading it may be slow."""
    commit = (await dependencies.offload(dependencies.context)).commit
    return replace(planned, plan=structs.replace(planned.plan, commit=commit)) if commit else planned


async def list_entities(
    settings: Settings, desired: Desired, dependencies: Dependencies, *, selection: Selection, everyone: bool
) -> Inventory:
    """Return every selected entity of the scopes with its owner. Sends nothing but GET, and writes nothing.

    With `everyone` unmanaged entities too. Raises UnknownAddress.
    """
    async with open_for_reading(settings, narrow_desired(desired, selection), dependencies) as context:
        planned = await make_fresh_plan(context, Options(), Consent(), everyone=everyone)
    return make_inventory(
        leave_out_of_desired(desired, planned.plan.left_out),
        planned.live,
        planned.recorded,
        planned.plan,
        rules=context.rules,
        aliases=settings.workspaces,
        selection=selection,
    )


async def explain(
    settings: Settings,
    declared: Resolved,
    dependencies: Dependencies,
    *,
    addresses: Sequence[str],
    selection: Selection,
    offline: bool,
) -> tuple[Explanation, ...]:
    """Return what is known of each address, once each in their order, and why a plan writes it or not.

    Sends nothing but GET, and nothing at all where `offline`, or where no manifest declares any of their
    kinds. Raises UnknownAddress for a text that is no address, or is neither declared nor recorded; and the
    reason where the workspace of one of them cannot be planned, for nothing is known of it then.
    """
    settings = structs.replace(settings, strict_scopes="always")
    for address in filter(None, map(parse_address, addresses)):
        for one in declared.desired.not_planned:
            if one.covers(address):
                raise make_not_planned_error(one, declared.problems)
    declared = structs.replace(declared, desired=structs.replace(declared.desired, not_planned=()))
    async with open_run_store(settings, dependencies, create=False) as store:
        loading = partial(load_explain_evidence, store, addresses, declared, make_rules(settings), selection)
        wanted, known = await await_store(dependencies.offload, loading, give_up=store.give_up)
    planned = () if offline else tuple(one for one in wanted if is_in_plan_scope(declared.desired, one))
    found = {one.address: one for one in make_explanations([a for a in wanted if a not in planned], known)}
    if planned:
        desired = narrow_to_workspaces(declared.desired, planned)
        async with open_for_reading(settings, desired, dependencies) as context:
            known = await add_explain_plan(context, known, planned)
        found |= {one.address: one for one in make_explanations(planned, known)}
    return tuple(found[one] for one in wanted)


async def export(
    settings: Settings,
    declared: Desired,
    dependencies: Dependencies,
    *,
    scopes: Collection[Scope],
    wishes: ExportRequest,
) -> ExportResult:
    """Return the undeclared live entities of these scopes as entries of manifests. Sends nothing but GET.

    A workspace that cannot be read completely, or whose manifests have mistakes, is left out and named.
    """
    async with open_for_reading(settings, declared, dependencies) as context:
        return await export_scopes(context, scopes, wishes)


# --- 4 to 6. Lock and settle, plan again, execute --------------------------------------------------


async def apply(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    *,
    options: Options,
    consent: Consent,
    saved: Plan | None,
    fail_fast: bool,
    stop: StopFlag,
    observer: RunObserver,
    keep_undo: KeepUndo | None = None,
    approve: Approve | None = None,
) -> Run | None:
    """Plan afresh, and carry out exactly that plan if it is safe, still the same as `saved`, and agreed to.

    Holds the lock from before the plan to after the last write; the one in the service too, where it is used
    and there is something to write. What an earlier run left in doubt is settled first. None where `observer`
    disagreed. `keep_undo` gets the plan that undoes what was applied. `approve` is asked last, under the
    lock: it may raise, and returns the question that approved the plan, which is used up, or "". Raises
    LockHeld, StalePlan, UnsafePlan and Interrupted before any write.
    """
    if options.undo_of or options.undo_proof:
        raise StalePlan("this plan undoes a run, and is not what the manifests say.", next=_PLAN_AND_APPLY)
    if saved and saved.left_out and settings.strict_scopes == "always":
        names = ", ".join(dict.fromkeys(one.workspace for one in saved.left_out))
        what = f"this plan leaves out {names}, and strict_scopes says all or nothing."
        raise StalePlan(what, next=_PLAN_AND_APPLY)
    consent = choose_consent(saved, consent) if saved else consent
    async with (
        open_for_writing(settings, desired, dependencies, stop, observer, fail_fast=fail_fast) as context,
        acquire_service_lock(context, observer.waits) as lock,
    ):
        unfinished = await context.ask(Store.unfinished)
        # Where there is, or may be, something to write, the lock is taken while earlier runs are settled.
        has_changes = saved is not None and bool(saved.changes)
        if has_changes or unfinished:
            lock.start()
        settled = await settle_earlier_runs(context, unfinished, observer, released=options.released)
        # What the saved plan left out was reviewed by nobody, whether it could be planned now or not.
        left = saved.left_out if saved else ()
        planning = partial(make_fresh_plan, context, options, consent, left=left)
        if has_changes:
            planned = await lock.read(partial(planning, salt=saved.salt if saved else ""))
        else:
            planned = await planning(salt=saved.salt if saved else "")
        if not has_changes and planned.plan.changes and planned.verdict.safe:
            lock.start()
            # Planned once more under the lock: another run may have written before.
            if lock.used:
                planned = await lock.read(partial(planning, salt=planned.plan.salt))
        planned = await _add_commit(planned, dependencies)
        # The consent of `adopt` and `forget` follows from the command itself: no person gave a number.
        given = (saved.consent or NO_CONSENT) if saved else consent if options.verb == "apply" else NO_CONSENT
        planned = _add_consent(planned, given)
        if saved:
            declared = leave_out_of_desired(add_forgotten(desired, options), left)
            if saved.manifest_digest != planned.plan.manifest_digest:
                saved = restate_manifest_digest(saved, declared)
            saved = narrow_saved_plan(saved, planned.plan, declared, strict=context.strict)
        if saved and (why := why_stale(saved, planned.plan, context.now(), hours=settings.plan_expires_h)):
            observer.stale(saved, planned)
            raise StalePlan(why, next="plan again, and review it")
        # What was found is recorded by now; what is still in doubt counts against this run too.
        in_doubt = tuple(one for one in settled if one.result == "in doubt")
        question = await approve(context, planned) if approve else ""
        task = Execution(
            "sync" if approve else options.verb,
            planned,
            consent,
            unfinished,
            saved=saved,
            settled=in_doubt,
            keep_undo=keep_undo,
            question=question,
        )
        return await execute_plan(context, task, observer)


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync came to.

    `run` is there where it applied the plan, `asked` where people have to approve it; `check` is what
    policy.check said.
    """

    planned: PlanResult
    decision: Decision
    exit_code: int
    run: Run | None = None
    asked: "AskResult | None" = None
    check: CheckVerdict | None = None


class _NotNow(Exception):
    """Under the lock the policy says something else than before: a window has closed, or somebody paused."""

    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision


async def sync(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    *,
    made_of: str,
    stop: StopFlag,
    observer: RunObserver,
    allow_rewind: bool = False,
) -> Synced:
    """Plan, and do what `policy` of the settings says: apply exactly that plan, ask, wait, report or refuse.

    Asks nobody here, and may be called as often as wanted; what it found is recorded for `status`, an error
    too. What an earlier run left in doubt is settled first. With nothing to do it takes no lock. `made_of` as
    in `plan`, `observer` as in `apply`; with `allow_rewind` any commit will do. Raises as `apply`,
    CommitRewound and CommitUnsigned, and LockHeld, which is not recorded: whoever has the lock says how it
    ended.
    """
    settling = partial(_settle, settings, desired, dependencies, stop, observer)
    try:
        planned, evidence = await _plan_to_sync(settings, desired, dependencies, made_of)
        if planned.unfinished or is_store_doubtful(planned.plan):
            await settling()
            planned, evidence = await _plan_to_sync(settings, desired, dependencies, made_of)
        await _require_commit(settings, planned.plan, evidence, dependencies, allow_rewind=allow_rewind)
        check = await _judge_by_program(settings, planned, dependencies)
        decision = decide_sync(planned.plan, planned.verdict, settings.policy, evidence, check)
        run = None
        # Earlier runs are closed by the next one, also where that has nothing to do.
        if decision.action == "apply" or (decision.action == "nothing" and planned.unfinished):

            async def approve(context: RunContext, now_planned: PlanResult) -> str:
                again = await context.ask(load_sync_evidence)
                await _require_commit(settings, planned.plan, again, dependencies, allow_rewind=allow_rewind)
                found = decide_sync(now_planned.plan, now_planned.verdict, settings.policy, again, check)
                if found.action not in ("apply", "nothing"):
                    raise _NotNow(found)
                question = again.question_for(now_planned.plan, settings.policy)
                if question:
                    await context.ask(lambda store: settle_open_question(store, question, settings.policy))
                return question

            try:
                run = await apply(
                    settings,
                    desired,
                    dependencies,
                    options=planned.plan.options,
                    consent=planned.plan.consent or NO_CONSENT,
                    saved=planned.plan,
                    fail_fast=False,
                    stop=stop,
                    observer=observer,
                    approve=approve,
                )
            except _NotNow as late:
                decision = late.decision
        asked = await _ask_people(settings, planned.plan, dependencies) if decision.action == "ask" else None
        code = find_sync_exit_code(planned.plan, planned.verdict, planned.desired, decision, run)
        await record_sync(settings, dependencies, planned.plan, decision, run, exit_code=code)
    except LockHeld:
        raise
    except ReconcilerError as error:
        await end_failed_sync(settings, dependencies, error)
        raise
    await tell_state(settings, dependencies)
    return Synced(planned, decision, code, run, asked, check)


async def end_failed_sync(settings: Settings, dependencies: Dependencies, error: ReconcilerError) -> None:
    """Record for `status` that a sync ended with an error, also before there was a plan, and tell of it."""
    await record_failed_sync(settings, dependencies, error)
    await tell_state(settings, dependencies)


async def tell_state(settings: Settings, dependencies: Dependencies) -> None:
    """Tell whom `notify` of the settings names if the state of the stack has changed. Fails nothing.

    What could not be delivered is kept for `status`, and told by the next call.
    """
    if settings.notify == Notify():
        return
    from reconciler.messaging.client import open_service_client  # noqa: PLC0415 - slow to load, seldom needed
    from reconciler.messaging.notifications import tell_changes  # noqa: PLC0415 - the same

    @asynccontextmanager
    async def open_sender() -> "AsyncIterator[Messages]":
        timing, connections = dependencies.timing, dependencies.connections
        async with open_service_client(settings.service, timing=timing, connections=connections) as client:
            yield client.messages

    with suppress(StoreError):  # how the sync ended says more
        async with open_run_store(settings, dependencies, create=True) as store:
            await tell_changes(
                settings,
                store,
                open_sender,
                offload=dependencies.offload,
                now=lambda: dependencies.now().timestamp(),
            )


async def _settle(
    settings: Settings, desired: Desired, dependencies: Dependencies, stop: StopFlag, observer: RunObserver
) -> None:
    """Look for what earlier runs left in doubt, and record what was found. Writes nothing else."""
    async with (
        open_for_writing(settings, desired, dependencies, stop, observer, fail_fast=False) as context,
        acquire_service_lock(context, observer.waits) as lock,
    ):
        unfinished = await context.ask(Store.unfinished)
        if unfinished:
            lock.start()
        await settle_earlier_runs(context, unfinished, observer)


async def _plan_to_sync(
    settings: Settings, desired: Desired, dependencies: Dependencies, made_of: str
) -> tuple[PlanResult, SyncEvidence]:
    """Return a plan and what decides about it; the salt of an open question makes it known again."""
    async with open_run_store(settings, dependencies, create=False) as store:
        evidence = await await_store(
            dependencies.offload, partial(load_sync_evidence, store), give_up=store.give_up
        )
    planning = partial(
        plan, settings, desired, dependencies, options=Options(), consent=NO_CONSENT, made_of=made_of
    )
    planned = await planning(salt=evidence.salt)
    wanted = planned.plan.empty or evidence.concerns(planned.plan, settings.policy)
    if evidence.salt and not wanted:
        planned = await planning()
    return planned, evidence


async def _require_commit(
    settings: Settings,
    plan: Plan,
    evidence: SyncEvidence,
    dependencies: Dependencies,
    *,
    allow_rewind: bool,
) -> None:
    """Raise CommitRewound or CommitUnsigned where a plan with something to do is not from a good commit."""
    if plan.empty or settings.policy.mode == "report":
        return
    root, commit = Path(settings.root), plan.commit or ""
    if not allow_rewind:
        await dependencies.offload(partial(require_descent, root, commit, evidence.last_commit))
    if settings.policy.signed_by:
        signers = root / settings.policy.signed_by
        await dependencies.offload(partial(require_signed_commit, root, commit, signers))


async def _ask_people(settings: Settings, plan: Plan, dependencies: Dependencies) -> "AskResult":
    """Ask the approvers about a plan, unless they are asked already; say whom the message did not reach."""
    from reconciler.messaging.approvals import ask_for_approval  # noqa: PLC0415 - slow to load, seldom needed
    from reconciler.messaging.client import open_service_client  # noqa: PLC0415 - the same

    timing, connections = dependencies.timing, dependencies.connections
    async with (
        open_run_store(settings, dependencies, create=True) as store,
        open_service_client(settings.service, timing=timing, connections=connections) as client,
    ):
        return await ask_for_approval(
            plan,
            settings,
            store,
            client,
            offload=dependencies.offload,
            token=dependencies.token,
        )


async def _judge_by_program(
    settings: Settings, planned: PlanResult, dependencies: Dependencies
) -> CheckVerdict | None:
    """Return what `policy.check` says of a plan; None without a program, or with nothing to judge."""
    if not settings.policy.check or planned.plan.empty or not planned.verdict.safe:
        return None
    plan_file = b"".join(seal_plan_pieces(planned.plan, __version__))
    judging = partial(
        run_judging_program,
        settings.policy.check,
        given=plan_file,
        folder=Path(settings.root),
        timeout_s=settings.policy.check_timeout_s,
    )
    ended = await dependencies.offload(judging)
    return CheckVerdict(passed=ended.exit_code == 0, what=ended.why or ended.text)


async def resume(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    *,
    stop: StopFlag,
    observer: RunObserver,
    fail_fast: bool,
) -> Run | None:
    """Settle what earlier runs left in doubt, then carry out exactly what is left of the last one's plan.

    Further changes of a plan made now are given to `observer`, and not carried out. None where there is
    nothing to resume. The consent is the one that was given to that run, and `observer` is not asked again.
    The run's outcomes begin with what was settled. Raises LockHeld, StalePlan, UnsafePlan, Interrupted before
    any write.
    """
    async with open_run_store(settings, dependencies, create=False) as store:
        known = await await_store(dependencies.offload, store.unfinished, give_up=store.give_up)
        if not known and not store.doubtful:
            return None
    async with (
        open_for_writing(settings, desired, dependencies, stop, observer, fail_fast=fail_fast) as context,
        acquire_service_lock(context, observer.waits) as lock,
    ):
        unfinished = await context.ask(Store.unfinished)
        if unfinished and not expiry_reason(unfinished[-1], context.now()):
            lock.start()
        settled = await settle_earlier_runs(context, unfinished, observer)
        if not unfinished:
            return None
        last = unfinished[-1]
        if why := expiry_reason(last, context.now()):
            raise StalePlan(
                f"{why} The outcome of its last requests was looked up at the service.", next=_PLAN_AND_APPLY
            )
        assert last.plan is not None  # noqa: S101 - a plan that cannot be read has expired
        left: Plan | None = None
        if last.plan.options.undo_of:  # it comes from the store, so nothing about it is to be proved
            undoing = partial(make_undo, context, last.plan, last.consent, _list_finished(last, settled))
            planned = await lock.read(undoing)
        else:
            planning = partial(make_fresh_plan, context, last.plan.options, last.consent, salt=last.plan.salt)
            planning = partial(planning, left=last.plan.left_out)
            planned = _add_consent(await lock.read(planning), last.plan.consent or NO_CONSENT)
            left = _select_remaining(last.plan, planned.plan, observer)
            planned = replace(planned, verdict=judge_plan(context, left, last.consent))
        settled = (*settled, *planned.conflicts)
        task = Execution("resume", planned, last.consent, unfinished, left=left, settled=settled)
        return await execute_plan(context, task, observer)


def _list_finished(last: InterruptedRun, settled: tuple[Outcome, ...]) -> set[Address]:
    """Return the addresses whose changes an earlier run has carried out."""
    ended = {entry.intent.address for entry in last.entries if entry.ending in {"applied", "skipped"}}
    return ended | {outcome.address for outcome in settled if outcome.result == "applied"}


def _select_remaining(old: Plan, fresh: Plan, observer: RunObserver) -> Plan:
    """Return what is left of an earlier run's plan; `observer` gets all other changes. Raises StalePlan."""
    if why := workspace_mismatch(old, fresh):
        raise StalePlan(why, next=_PLAN_AND_APPLY)
    remaining = find_remaining(old, fresh)
    if remaining.beyond:
        observer.beyond(remaining.beyond)
    return remaining.plan


def expiry_reason(last: InterruptedRun, now: datetime) -> str:
    """Return why nothing more of an earlier run's plan may be carried out, or ""."""
    if last.plan is None:
        return f"the plan of run {last.run} cannot be read: another version of this program wrote it."
    if last.plan.expires_at and datetime.fromisoformat(last.plan.expires_at) <= now:
        return f"the plan of run {last.run} expired at {last.plan.expires_at}."
    return ""


def workspace_mismatch(old: Plan, fresh: Plan) -> str:
    """Return why two plans are about different workspaces, or ""."""
    ids = {one.alias: one.id for one in old.target.workspaces}
    others = [one.alias for one in fresh.target.workspaces if ids.get(one.alias, one.id) != one.id]
    return f"workspace {others[0]} now has another id." if others else ""


async def load_undo(settings: Settings, dependencies: Dependencies, named: str) -> Plan:
    """Return the plan that undoes a run of the history, as one that is made now. Only the store is read.

    `named` is the id of the run, or its first characters. Raises UnknownRun, NotUndoable, StalePlan.
    """
    async with open_run_store(settings, dependencies, create=False) as store:
        finding = partial(Store.run_to_undo, store, named)
        found = await await_store(dependencies.offload, finding, give_up=store.give_up)
        chosen = choose_undo(named, found, key=store.salt)
        now = await await_store(dependencies.offload, store.now, give_up=store.give_up)
        expires = now + timedelta(hours=settings.plan_expires_h)
        return renew_undo(chosen, now=format_utc(now), expires=format_utc(expires), key=store.salt)


async def undo(
    settings: Settings,
    saved: Plan,
    dependencies: Dependencies,
    *,
    consent: Consent,
    fail_fast: bool,
    stop: StopFlag,
    observer: RunObserver,
) -> Run | None:
    """Carry out a saved undo, once and before it expires, if a run with this store made it.

    Nothing is planned afresh, because no manifest declares the former state; each change passes the same look
    as any other, and an entity that has changed since that run is a conflict. None where `observer`
    disagreed. Raises LockHeld, StalePlan, UnsafePlan, Interrupted before any write.
    """
    nothing = undo_as_desired(saved, Recorded({}))
    async with (
        open_for_writing(settings, nothing, dependencies, stop, observer, fail_fast=fail_fast) as context,
        acquire_service_lock(context, observer.waits) as lock,
    ):
        if why := why_expired(saved, context.now(), hours=settings.plan_expires_h):
            raise StalePlan(why, next=_PLAN_AND_APPLY)
        unfinished = await context.ask(Store.unfinished)
        await settle_earlier_runs(context, unfinished, observer)
        if not is_undo_proved(saved, context.store.salt):
            raise StalePlan(
                "the undo was not made by a run with this store, or it was changed since.",
                next=f"set `store` to that of the run; or {BY_MANIFEST}",
            )
        planned = await lock.read(partial(make_undo, context, saved, consent))
        task = Execution("undo", planned, consent, unfinished, settled=planned.conflicts, saved=saved)
        return await execute_plan(context, task, observer)
