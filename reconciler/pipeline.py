"""READ FIRST. One short function a verb: validate, plan, apply. Wiring only; every decision is in core/.

manifests --load--> documents --resolve--> DESIRED --+
                                                     +- plan -> PLAN - guard -> verdict
service --read_live---------------------> LIVE ------+            |
                                                     |            v
store ----recorded----------------------> RECORDED --+          apply -> run
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from msgspec import structs

from reconciler.apply import engine
from reconciler.core import select
from reconciler.core.guard import Consent, guard
from reconciler.core.plan import Moment, Rules, make_plan
from reconciler.core.records import refreshed
from reconciler.core.resolve import ResolveRules, resolve
from reconciler.errors import ManifestError, SettingsError, StalePlan, StoreError, UnsafePlan
from reconciler.live import read_live
from reconciler.manifest.load import load
from reconciler.model.context import Context
from reconciler.model.outcomes import Outcome, Run
from reconciler.model.plans import Options, Plan, Target, Verdict, Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Live, Recorded
from reconciler.service.client import Connections, Reader, open_client, open_reader
from reconciler.service.profile import load_profile
from reconciler.service.timing import Timing
from reconciler.service.urls import origin
from reconciler.store.database import Store


@dataclass(frozen=True, slots=True)
class Outside:
    """What the verbs get from outside the program: time, chance, and the way to the service.

    `now` tells UTC; `token` gives fresh random text, `run_id` a UUID; `context` says where we are;
    `connections` replaces the network (tests).
    """

    now: Callable[[], datetime]
    token: Callable[[], str]
    run_id: Callable[[], str]
    timing: Timing
    context: Callable[[], Context] = Context
    connections: Connections | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, whether it is safe, and the three snapshots it was made from."""

    plan: Plan
    verdict: Verdict
    desired: Desired
    live: Live
    recorded: Recorded
    calls: int


class Watch(Protocol):
    """Whoever looks on while a plan is applied, and has a say before the first write."""

    def planned(self, planned: Planned) -> None:
        """Hear of the plan, before it is decided whether it is safe."""

    def stale(self, saved: Plan, planned: Planned) -> None:
        """Hear that the saved plan is not what would be done now; StalePlan follows."""

    def agrees(self, planned: Planned) -> bool:
        """Say whether this safe plan may be carried out."""

    def ended(self, outcome: Outcome) -> None:
        """Hear how one change ended."""


def validate(settings: Settings, environ: Mapping[str, str]) -> Desired:
    """Return everything declared. Raises ManifestError with every mistake of every file; calls nobody."""
    with _no_collector():
        loaded = load(
            [Path(path) for path in settings.manifests],
            root=Path(settings.root),
            environ=environ,
            variables=settings.variables,
            extra_contact_fields=settings.contact_fields,
        )
        resolved = resolve(loaded.manifests, _resolve_rules(settings))
    problems = sorted(
        {*loaded.problems, *resolved.problems}, key=lambda one: (one.file, one.line, one.column)
    )
    if problems:
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ManifestError(f"the manifests cannot be used: {count}.", problems=tuple(problems))
    return resolved.desired


async def plan(
    settings: Settings, desired: Desired, outside: Outside, *, options: Options, consent: Consent
) -> Planned:
    """Return what apply would do. Sends nothing but GET, and writes nothing anywhere."""
    with _open_store(settings, outside, create=False) as store:
        async with open_reader(
            settings.service, timing=outside.timing, connections=outside.connections
        ) as reader:
            return await _plan(settings, desired, outside, reader, store, options=options, consent=consent)


async def apply(
    settings: Settings,
    desired: Desired,
    outside: Outside,
    *,
    options: Options,
    consent: Consent,
    saved: Plan | None,
    fail_fast: bool,
    stop: engine.StopFlag,
    watch: Watch,
) -> Run | None:
    """Plan afresh, and carry out exactly that plan if it is safe, still what `saved` says, and agreed to.

    Holds the lock from before the plan to after the last write. The run is None where `watch` disagreed.
    Raises LockHeld, StalePlan, UnsafePlan before any write.
    """
    run = outside.run_id()
    began = outside.timing.monotonic()
    with _open_store(settings, outside, create=True) as store, store.lock(run) as lock:
        async with open_client(
            settings.service, timing=outside.timing, connections=outside.connections
        ) as client:
            planned = await _plan(
                settings,
                desired,
                outside,
                client,
                store,
                options=options,
                consent=consent,
                salt=saved.salt if saved else "",
            )
            if saved and (why := outdated(saved, planned.plan, outside.now())):
                watch.stale(saved, planned)
                raise StalePlan(why, next="plan again, and review it")
            watch.planned(planned)
            if not planned.verdict.safe:
                raise UnsafePlan(
                    "the plan is refused; nothing was written.",
                    reasons=tuple(reason.what for reason in planned.verdict.reasons),
                    next=planned.verdict.reasons[0].next,
                )
            if not watch.agrees(planned):
                return None
            if saved and not store.use_plan(saved.salt):
                raise StalePlan("this plan was carried out before.", next="plan again")
            store.begin(run, "apply", planned.plan.fingerprint)
            _keep_records(store, planned)
            result = await engine.apply(
                planned.plan,
                desired,
                planned.recorded,
                client=client,
                store=store,
                lock=lock,
                options=_apply_options(
                    settings, run, outside.timing.monotonic() - began, fail_fast=fail_fast
                ),
                timing=outside.timing,
                now=outside.now,
                stop=stop,
                on_outcome=watch.ended,
            )
            result = structs.replace(result, context=outside.context())
            with suppress(StoreError):
                store.end(result)  # what was done is recorded; that it ended must not hide how it ended
            return result


def outdated(saved: Plan, fresh: Plan, now: datetime) -> str:
    """Return why `saved` may not be carried out any more, or "" (planning rule A1)."""
    if saved.expires_at and datetime.fromisoformat(saved.expires_at) <= now:
        return f"the plan expired at {saved.expires_at}."
    if saved.fingerprint != fresh.fingerprint:
        return "the plan is stale: what would be done now is not what it says."
    return ""


async def _plan(
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
    workspaces = await _workspaces(reader, settings, desired)
    recorded = store.recorded(workspaces)
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
    now = outside.now()
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
    verdict = guard(made, settings.guard, consent, load_profile(settings.service.profile).missing)
    return Planned(made, verdict, desired, live, recorded, sum(reader.calls.values()))


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


def _open_store(settings: Settings, outside: Outside, *, create: bool) -> Store:
    return Store.open(
        settings.store,
        origin=origin(settings.service.base_url),
        stack=settings.stack,
        now=outside.now,
        token=outside.token,
        root=settings.root,
        create=create,
    )


def _rules(settings: Settings) -> Rules:
    return Rules(settings.stack, settings.identity, settings.mark, adopt=settings.adopt == "always")


def _apply_options(settings: Settings, run: str, past_s: float, *, fail_fast: bool) -> engine.ApplyOptions:
    limits = settings.service.limits
    return engine.ApplyOptions(
        run=run,
        rules=_rules(settings),
        fail_fast=fail_fast,
        concurrency=limits.concurrency,
        settle_s=limits.settle_s,
        deadline_s=limits.deadline_s - past_s,  # of the whole run, the plan included
    )


def _resolve_rules(settings: Settings) -> ResolveRules:
    return ResolveRules(
        workspaces=frozenset(settings.workspaces) | {"default"},
        identity=settings.identity,
        mark=settings.mark,
        stack=settings.stack,
        device_limit=settings.device_limit,
    )


@contextmanager
def _no_collector() -> Iterator[None]:
    """Load without the cyclic collector, which would walk every document again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
