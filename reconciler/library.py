"""The library: plan a project and apply it from a program, in a new event loop or in the caller's.

Nothing is printed and nothing is asked; progress can be followed with `logging` (instrumentation.py). The
steps are in pipeline.py.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from reconciler import pipeline
from reconciler.core.planning.deletes import uncertain_notices
from reconciler.core.planning.select import Selection
from reconciler.core.review.drift import Drift, count_not_applied, find_drift
from reconciler.core.review.guard import plan_exit_code
from reconciler.core.runs.recover import InterruptedRun, RunStatus
from reconciler.engine.context import StopFlag
from reconciler.environment.checkout import collect_inputs, read_checkout
from reconciler.environment.run_context import read_context
from reconciler.errors import InputError, Refused, unwrap_exception_group
from reconciler.manifest.cache import Declaration
from reconciler.model.plans import Change, Consent, Options, Plan, Verdict
from reconciler.model.runs import Outcome, Run
from reconciler.model.settings import Settings
from reconciler.pipeline import Dependencies, PlanResult
from reconciler.private_cache import find_state_folder
from reconciler.report.json import plan_json
from reconciler.settings.reader import read_settings

T = TypeVar("T")

_EVERYTHING, _NOTHING = Options(), Consent()


class Project(Struct, frozen=True):
    """A folder with `reconciler.yaml`, and which section of it: what `--config` and `--environment` say.

    The file is looked for as by every command: in `folder`, then in those above. `environ` is what settings
    and manifests may take variables from; None: the environment of this process.
    """

    folder: str | os.PathLike[str] = "."
    environment: str | None = None
    config: str | None = None
    environ: Mapping[str, str] | None = None

    def settings(self) -> Settings:
        """Return the settings, complete with secrets. Raises SettingsError with every mistake."""
        read = read_settings(
            config=self.config,
            environment=self.environment,
            cwd=Path(self.folder).absolute(),
            environ=self.variables,
            service=True,
        )
        return structs.replace(read.settings, caches=True)

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that settings and manifests may use."""
        return os.environ if self.environ is None else self.environ


class Proposal(Struct, frozen=True):
    """A plan, the guard's verdict on it, and the state of earlier runs.

    `ambiguous`: a declared entity matches several live ones, or the other way round.
    """

    plan: Plan
    verdict: Verdict
    ambiguous: bool = False
    standing: RunStatus = RunStatus(None, ())

    @property
    def safe(self) -> bool:
        """Whether the guard would let it be applied; else `verdict.reasons` say why not."""
        return self.verdict.safe

    @property
    def empty(self) -> bool:
        """Whether an apply would change nothing, neither at the service nor in the store."""
        return self.plan.empty

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """What others changed since the last apply, as `reconciler drift` tells it, by address."""
        return find_drift(self.plan)

    @property
    def unapplied(self) -> tuple[str, ...]:
        """The workspaces without a baseline: no record and no finished apply is in this store."""
        return self.plan.unapplied or ()

    @property
    def not_applied_yet(self) -> int:
        """How many declared entities have no record: they were declared since the last apply."""
        return count_not_applied(self.plan)

    def json(self) -> str:
        """Return what `reconciler plan --format json --detailed-exitcode` prints: schema plan-report."""
        code = plan_exit_code(self.plan, self.verdict, ambiguous=self.ambiguous, detailed=True)
        return plan_json(self.plan, self.verdict, code, self.standing)


async def plan_async(
    project: Project, *, options: Options = _EVERYTHING, consent: Consent = _NOTHING
) -> Proposal:
    """Return what apply would do. Sends nothing but GET, and changes nothing anywhere.

    Raises SettingsError, ManifestError, UnknownAddress, ServiceError, StoreError.
    """
    settings, declared, dependencies = await asyncio.to_thread(_read_project, project, options)
    planning = pipeline.plan(
        settings,
        declared.desired,
        dependencies,
        options=options,
        consent=consent,
        made_of=declared.made_of,
    )
    return _make_proposal(await _unwrap_errors(planning))


async def apply_async(
    project: Project,
    approved: Plan | Callable[[Proposal], bool],
    *,
    options: Options = _EVERYTHING,
    consent: Consent = _NOTHING,
    fail_fast: bool = False,
    ended: Callable[[Outcome], object] | None = None,
) -> Run:
    """Carry out an approved plan, if it is still what there is to do; or a new plan, once it is approved.

    `approved` is that plan, or what decides about a new one with these `options`: it is called in the event
    loop, with a plan that is safe, while the run holds its lock. `ended` is called with each outcome. How
    each change ended is in the Run too: a change that did not go well is no error.

    A saved plan is carried out with the consent it was planned with; one that is given here may repeat it,
    and counts only for a plan without any. Raises ConsentDiffers for another.

    Cancelled while changes are written, it stops as the command stops at a signal: changes under way are
    finished and recorded, then CancelledError is raised. Cancelled once more it ends at once, and requests
    under way are in doubt. Raises Refused where a plan was not approved; UnsafePlan, StalePlan,
    LockHeld, and what `plan_async` raises: all before anything is written.
    """
    saved = approved if isinstance(approved, Plan) else None
    if saved is not None and options != _EVERYTHING:
        raise InputError("the options belong to the plan, and it has its own.", next="leave them out")
    options = saved.options if saved is not None else options
    settings, declared, dependencies = await asyncio.to_thread(_read_project, project, options)
    observer = _CallbackObserver((lambda _: True) if isinstance(approved, Plan) else approved, ended)
    applying = pipeline.apply(
        settings,
        declared.desired,
        dependencies,
        options=options,
        consent=consent,
        saved=saved,
        fail_fast=fail_fast,
        stop=observer.stop,
        observer=observer,
    )
    run = await _run_until_stopped(_unwrap_errors(applying), observer)
    if run is None:
        raise Refused("the plan was not approved; nothing was written.", next="plan again, and approve it")
    return run


def plan(project: Project, *, options: Options = _EVERYTHING, consent: Consent = _NOTHING) -> Proposal:
    """Return what apply would do, as `plan_async` does, for a program without an event loop."""
    return _run_in_new_loop(lambda: plan_async(project, options=options, consent=consent))


def apply(
    project: Project,
    approved: Plan | Callable[[Proposal], bool],
    *,
    options: Options = _EVERYTHING,
    consent: Consent = _NOTHING,
    fail_fast: bool = False,
    ended: Callable[[Outcome], object] | None = None,
) -> Run:
    """Carry out a plan, as `apply_async` does, for a program without an event loop.

    Ctrl-C while changes are written stops it as it stops the command; KeyboardInterrupt is raised then.
    """
    return _run_in_new_loop(
        lambda: apply_async(
            project, approved, options=options, consent=consent, fail_fast=fail_fast, ended=ended
        )
    )


class _CallbackObserver:
    """The observer of a run without a terminal: calls what the caller gave."""

    def __init__(
        self, approve: Callable[[Proposal], bool], ended: Callable[[Outcome], object] | None
    ) -> None:
        self.stop = StopFlag()
        self.writes = False
        self._approve = approve
        self._ended = ended

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        """Earlier runs are settled; the steps are logged."""

    def doubtful(self, why: str) -> None:
        """The wait is logged."""

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Only of what is resumed."""

    def planned(self, planned: PlanResult) -> None:
        """What is not safe is raised."""

    def waits(self, what: str) -> None:
        """The wait is logged."""

    def stale(self, saved: Plan, planned: PlanResult) -> None:
        """StalePlan says why."""

    def agrees(self, planned: PlanResult) -> bool:
        """Whether the caller approves; from then on a cancellation lets writes end."""
        self.writes = self._approve(_make_proposal(planned))
        return self.writes

    def ended(self, outcome: Outcome) -> None:
        """Pass it on."""
        if self._ended is not None:
            self._ended(outcome)


def _make_proposal(planned: PlanResult) -> Proposal:
    standing = RunStatus(planned.running, planned.unfinished)
    return Proposal(
        planned.plan, planned.verdict, bool(uncertain_notices(planned.plan, planned.desired)), standing
    )


def _read_project(project: Project, options: Options) -> tuple[Settings, Declaration, Dependencies]:
    """Return the settings, the declaration, and the real clock, chance and network, without a terminal."""
    settings = project.settings()
    selection = Selection(options.only, options.excluded)
    declared = pipeline.load_declaration(settings, project.variables, selection=selection)
    root = Path(settings.root)
    checkout = read_checkout(root.resolve(), collect_inputs(settings, declared.inputs))
    context = partial(read_context, project.variables, root, random=secrets.token_hex, checkout=checkout)
    dependencies = Dependencies.real(context, unattended=True, state=find_state_folder(project.variables))
    return settings, declared, dependencies


async def _run_until_stopped(work: Coroutine[Any, Any, T], observer: _CallbackObserver) -> T:
    """Return what `work` returns; where this task is cancelled meanwhile, only once it has ended."""
    working, cancelled = asyncio.ensure_future(work), False
    while not working.done():
        try:
            await asyncio.wait({working})
        except asyncio.CancelledError:
            cancelled = True
            if observer.writes:
                observer.stop.signal()
            else:
                working.cancel()
    if cancelled:
        await asyncio.gather(
            working, return_exceptions=True
        )  # or asyncio would warn that its error was never retrieved
        raise asyncio.CancelledError
    return working.result()


async def _unwrap_errors(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns. Raises one error alone, also where several reads raise it."""
    try:
        return await work
    except BaseExceptionGroup as group:
        raise unwrap_exception_group(group) from None


def _run_in_new_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what `work` returns, in an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    raise InputError("an event loop runs here already.", next="await plan_async() or apply_async()")
