"""A plan made afresh: what is live and what is recorded for these manifests, and whether it is safe.

Belongs here: what an apply plans with the run's own client, and what `plan` does with one that cannot write.
Not here: what the plan says (core/plan.py), how little is read (live.py).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import structs

from reconciler.core import proofs, select
from reconciler.core.guard import Consent, guard
from reconciler.core.plan import Moment, Rules, make_plan
from reconciler.core.recover import Unfinished, doubtful
from reconciler.errors import SettingsError, UnsafePlan
from reconciler.live import read_live
from reconciler.model.plans import Options, Plan, Target, Verdict, Workspace
from reconciler.model.running import Running
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Live, Recorded
from reconciler.service.client import Reader
from reconciler.service.http.urls import origin
from reconciler.service.profile import load_profile
from reconciler.store.aside import within
from reconciler.store.database import Store
from reconciler.work.outside import Outside

# Of one core and 8 MiB each; the event loop needs little meanwhile, and what is computed depends on no order.
_threads = min(8, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, whether it is safe, and the snapshots it was made from.

    `unfinished` are runs that did not end and that nobody carries out; `running` is one that is alive.
    """

    plan: Plan
    verdict: Verdict
    desired: Desired
    live: Live
    recorded: Recorded
    calls: int
    unfinished: tuple[Unfinished, ...] = ()
    running: Running | None = None


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
    workspaces = await named_workspaces(reader, settings, desired)
    recorded = await within(outside.offload, partial(store.recorded, workspaces), give_up=store.give_up)
    selection = select.Selection(options.only, options.excluded)
    select.check(selection, select.known(desired, recorded))
    rules = rules_of(settings)
    wanted, remembered = select.focus(selection, desired, recorded)
    async with _stretching(desired, recorded, outside, asked=wanted):
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
    planning = partial(
        make_plan,
        desired,
        live,
        recorded,
        target=Target(origin(settings.service.base_url), settings.stack, workspaces),
        options=options,
        rules=rules,
        moment=Moment(salt or outside.token(), utc_text(now), utc_text(expires)),
    )
    # Beside the event loop: it may compare a password that nobody foresaw, of somebody with another name.
    made = await outside.offload(planning)
    if store.doubtful:
        made = structs.replace(made, notices=(*made.notices, doubtful(store.doubtful)))
    verdict = guard(made, settings.guard, consent, load_profile(settings.service.profile).missing)
    return Planned(made, verdict, desired, live, recorded, sum(reader.calls.values()))


@asynccontextmanager
async def _stretching(
    desired: Desired, recorded: Recorded, outside: Outside, *, asked: Desired
) -> AsyncIterator[None]:
    """Compute the slow digests that the plan compares, beside what is done inside: known when it has ended.

    In threads: a lock is held meanwhile and has to be renewed, and reading mostly waits for the service.
    """
    found = proofs.partition(desired.entities, recorded, asked.entities)
    each = [(part, recorded.proofs.get(key, "")) for key, part in found.items() if part.asked]
    shares = [share for start in range(_threads) if (share := each[start::_threads])]
    ahead = [asyncio.ensure_future(outside.offload(partial(_learn, s, recorded.salt))) for s in shares]
    try:
        yield
        await asyncio.gather(*ahead)
    finally:
        for one in ahead:
            one.cancel()


def _learn(share: Iterable[tuple[proofs.Part, str]], salt: str) -> None:
    for part, proof in share:
        proofs.learn(part, proof, salt)


def check_safe(verdict: Verdict) -> None:
    """Return where nothing speaks against a plan. Raises UnsafePlan with every reason."""
    if not verdict.safe:
        raise UnsafePlan(
            "the plan is refused; nothing was written.",
            reasons=tuple(reason.what for reason in verdict.reasons),
            next=verdict.reasons[0].next,
        )


async def named_workspaces(reader: Reader, settings: Settings, desired: Desired) -> tuple[Workspace, ...]:
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


def rules_of(settings: Settings) -> Rules:
    """Return the rules of planning that these settings say."""
    return Rules(settings.stack, settings.identity, settings.mark, adopt=settings.adopt == "always")


def utc_text(moment: datetime) -> str:
    """Return a moment as plans and reports write it: ISO 8601 in UTC, whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")
