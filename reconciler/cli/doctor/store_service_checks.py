"""The checks of `reconciler doctor` outside of this process: the store and the service. They only read."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import structs

from reconciler.cli.doctor.check_context import Surroundings, make_unchecked, run_guarded
from reconciler.cli.doctor.machine_checks import OPEN_TO_OTHERS, read_mode
from reconciler.cli.session import open_store, read_utc_clock
from reconciler.core.feed import why_not_feed
from reconciler.core.rules import resolve_workspace
from reconciler.core.runs.recover import RunStatus
from reconciler.engine.resources import choose_unused_lock
from reconciler.errors import (
    CorruptRecord,
    NotFound,
    ReconcilerError,
    ServiceError,
    SettingsError,
    StoreError,
    Throttled,
    Unauthorized,
)
from reconciler.model.notices import CheckResult, CheckState
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.report.lines import count
from reconciler.service.client import Reader, open_reader
from reconciler.service.http import urls
from reconciler.service.http.connections import DatedConnections, next_hop, open_connections, probe_connection
from reconciler.service.http.limiter import Timing
from reconciler.service.paging import Query
from reconciler.service.profile import load_profile
from reconciler.settings.network import read_network
from reconciler.settings.reader import ReadSettings
from reconciler.store.database import Store
from reconciler.store.locks import holder_process_ended

_OF_THE_STORE = ("lock", "service lock", "last run", "duplicates", "history")
_OF_THE_SERVICE = ("credentials", "workspaces", "feed", "clock")

# Further apart, what one side calls a moment ago is another minute for the other: plans expire at the
# wrong time, and who compares our history with the service's log is misled. Seconds.
clock_warn_s = 30


def check_store(around: Surroundings) -> tuple[CheckResult, ...]:
    """Whether the store can be read, who holds its lock, what was left open, whether its history is whole."""
    if around.read is None:
        return tuple(make_unchecked(name, "the settings") for name in ("store", *_OF_THE_STORE))
    settings = around.read.settings
    try:
        opened = open_store(settings, create=False)
    except ReconcilerError as error:
        failed = CheckResult("store", "fail", str(error), error.next)
        return failed, *(make_unchecked(name, "the store") for name in _OF_THE_STORE)
    with opened as found:
        looks: tuple[Callable[[Store], tuple[CheckResult, ...]], ...]
        looks = (
            _check_lock,
            partial(_check_service_lock, settings),
            _check_last_run,
            _check_duplicates,
            _check_history,
        )
        named = zip(_OF_THE_STORE, looks, strict=True)
        rest = [one for name, look in named for one in run_guarded(name, partial(look, found))]
        try:
            found.check_records()
        except StoreError as error:
            return CheckResult("store", "fail", str(error), error.next), *rest
        return *_check_store_place(found, settings), *rest


def _check_store_place(store: Store, settings: Settings) -> Iterator[CheckResult]:
    if store.shared:
        yield CheckResult("store", "ok", f"{store.product}, shared by all its users")
        return
    path = Path(settings.store.removeprefix("sqlite:///"))
    shown = path.relative_to(settings.root) if path.is_relative_to(settings.root) else path
    if not path.exists():
        yield CheckResult("store", "ok", f"{shown}: does not exist yet; the first apply creates it")
        return
    if sys.platform != "win32" and read_mode(path) & OPEN_TO_OTHERS:
        yield CheckResult(
            "store", "warn", f"others may read {shown}, which holds people's data", f"chmod 600 {shown}"
        )
    else:
        yield CheckResult("store", "ok", f"{shown}, on this machine only")


def _check_lock(store: Store) -> tuple[CheckResult, ...]:
    holder = store.holder()
    if holder is None:
        return (CheckResult("lock", "ok", "free"),)
    what = f"held by {holder.holder}, run {holder.run}, since {holder.since}"
    running = store.standing().running
    if running is not None and running.run == holder.run:
        what = f"{what}; {running.how_far}"
        return (CheckResult("lock", "warn", what, "reconciler lock   (shows when it ends)"),)
    why = "that process has ended" if holder_process_ended(holder) else f"its lease ended at {holder.expires}"
    return (CheckResult("lock", "warn", f"{what}; {why}", "reconciler resume"),)


def _check_service_lock(settings: Settings, store: Store) -> tuple[CheckResult, ...]:
    """Say when a run takes the lock in the service; whether it is held, `lock --in-service` tells."""
    try:
        without = choose_unused_lock(settings, shared=store.shared, unattended=True)
    except SettingsError as error:
        return (CheckResult("service lock", "fail", str(error), error.next),)
    if without is None:
        when = "by every run" if settings.lock.in_service == "always" else "in non-interactive runs (CI)"
        return (
            CheckResult(
                "service lock", "ok", f"used {when}, so that runs with separate stores exclude each other"
            ),
        )
    if without.says:
        hint = "let all runs share one store (postgresql://...)"
        return (CheckResult("service lock", "warn", without.says, hint),)
    why = "runs share the store" if store.shared else "lock.in_service is never"
    return (CheckResult("service lock", "ok", f"not used: {why}"),)


def _check_last_run(store: Store) -> tuple[CheckResult, ...]:
    try:
        standing = store.standing()
    except CorruptRecord:  # where the lock cannot be read, its own line says so
        standing = RunStatus(None, store.unfinished())
    running, left = standing.running, standing.left
    if running is not None and not left:
        return (CheckResult("last run", "ok", f"under way: {running.how_far}"),)
    if not left:
        return (CheckResult("last run", "ok", "every run has finished"),)
    open_ = sum(1 for one in left for entry in one.entries if entry.open)
    doubts = f"{count(open_, 'change')} in doubt"
    what = f"{count(len(left), 'run')} not finished, {doubts}; the last began {left[-1].started_at}"
    return (
        CheckResult("last run", "warn", what, "reconciler resume   (checks first; nothing is sent twice)"),
    )


def _check_duplicates(store: Store) -> tuple[CheckResult, ...]:
    """Say what the last run saw that looked. Looking anew takes many calls; a plan does, and names both."""
    looked = store.last_look()
    if looked is None:
        return (CheckResult("duplicates", "ok", "not known: no run has looked for duplicates yet"),)
    twice, ambiguous = (looked.seen.get(word, 0) for word in ("twice", "ambiguous"))
    by = f"run {looked.run}, which ended {looked.ended_at}"
    if not twice and not ambiguous:
        return (CheckResult("duplicates", "ok", f"none found by {by}"),)
    parts = (
        f"{count(twice, 'entity', 'entities')} live twice" if twice else "",
        f"{count(ambiguous, 'entity', 'entities')} ambiguous" if ambiguous else "",
    )
    what = f"{', '.join(filter(None, parts))}; found by {by}"
    return (CheckResult("duplicates", "warn", what, "reconciler plan   (checks again, and names both)"),)


def _check_history(store: Store) -> tuple[CheckResult, ...]:
    found = store.verify(None)
    if found.broken_at:
        hint = "compare the store with a copy of it, and with the heads that runs reported"
        return (CheckResult("history", "fail", found.what, hint),)
    if found.head is None:
        return (CheckResult("history", "ok", "nothing is recorded yet"),)
    return (
        CheckResult(
            "history", "ok", f"{count(found.entries, 'entry', 'entries')}, unbroken; head {found.head}"
        ),
    )


def check_service(around: Surroundings) -> tuple[CheckResult, ...]:
    """Whether the service answers, knows our credentials and workspaces, and has our time. Two GETs."""
    if around.read is None or not around.read.settings.service.base_url:
        return tuple(make_unchecked(name, "the settings") for name in ("service", *_OF_THE_SERVICE))
    if around.complete is None:
        return _check_connection(around.read, around), *(
            make_unchecked(name, "the secrets") for name in _OF_THE_SERVICE
        )
    return asyncio.run(_ask_service(around.complete, around.timeout_s))


def _check_connection(read: ReadSettings, around: Surroundings) -> CheckResult:
    """Return whether the first hop accepts connections; nothing is sent."""
    network, wrong = read_network(read.layers, around.environ)
    if wrong:
        return make_unchecked("service", "proxies and certificates")
    service = structs.replace(read.settings.service, network=network)
    stop = next_hop(service)
    try:
        probe_connection(service, around.timeout_s)
    except OSError as error:
        what = f"{stop} does not accept a connection: {(error.strerror or 'no answer in time').lower()}"
        return CheckResult("service", "fail", what, "check service.base_url and the network")
    return CheckResult("service", "ok", f"{stop} accepts connections; no request was sent")


async def _ask_service(settings: Settings, timeout_s: float) -> tuple[CheckResult, ...]:
    limits = settings.service.limits
    hurried = structs.replace(limits, timeout_s=min(limits.timeout_s, timeout_s), deadline_s=timeout_s)
    asked = structs.replace(settings.service, limits=hurried)
    connections = DatedConnections(open_connections(asked))
    origin = urls.origin_of(asked.base_url)
    try:
        async with open_reader(asked, timing=Timing.real(), connections=connections) as reader:
            known = await _one_get(reader, settings)
            feed = await _check_contact_feed(reader, known, settings)
    except ServiceError as error:
        return *_describe_refusal(error, origin), _check_clock(connections)
    finally:
        await connections.aclose()
    return (
        CheckResult("service", "ok", f"{origin} answers"),
        CheckResult("credentials", "ok", "accepted"),
        *_check_workspaces(known, settings),
        feed,
        _check_clock(connections),
    )


async def _one_get(reader: Reader, settings: Settings) -> tuple[Workspace, ...]:
    """Ask for the workspaces where the settings name some, else for one contact of the default one."""
    if any(alias != "default" for alias in settings.workspaces):
        return await reader.workspaces.list()
    await reader.contacts.page(Query(custom=False), limit=1)
    return ()


async def _check_contact_feed(
    reader: Reader, known: tuple[Workspace, ...], settings: Settings
) -> CheckResult:
    """Return whether contacts can be read by what changed in their list. One more GET, where that is used."""
    if not load_profile(settings.service.profile).contact_feed:
        return CheckResult("feed", "ok", "the profile says that there is none: lists are read completely")
    alias, ref = next(iter(settings.workspaces.items()))
    changed = reader.contacts.kind.listing.changed
    try:
        workspace = "" if alias == "default" else resolve_workspace(alias, ref, known).id
        page = await reader.contacts.page(Query(custom=False, sort=f"-{changed}"), workspace=workspace)
        why = why_not_feed([row.body.get(changed) for row in page.rows], page.total)
    except SettingsError:
        return make_unchecked("feed", "the workspaces")
    except ServiceError as error:
        why = str(error).rstrip(".")
    if why:
        hint = "lists are read completely instead; contact_feed: false in a profile skips the attempt"
        return CheckResult("feed", "warn", f"contacts in {alias}: {why}", hint)
    what = f"contacts in {alias}: newest changes first, {count(page.total or 0, 'row')} in all"
    return CheckResult("feed", "ok", what)


def _describe_refusal(error: ServiceError, origin: str) -> tuple[CheckResult, ...]:
    """Return what an error of the one GET says of the service, the credentials and the workspaces."""
    waiting = make_unchecked("workspaces", "the credentials"), make_unchecked("feed", "the credentials")
    if isinstance(error, Unauthorized):
        return (
            CheckResult("service", "ok", f"{origin} answers"),
            CheckResult("credentials", "fail", str(error), error.next),
            *waiting,
        )
    state: CheckState = "fail"
    hint = error.next
    if isinstance(error, Throttled):
        state, hint = "warn", error.next or "ask again later"
    elif isinstance(error, NotFound):
        hint = "check the path of service.base_url"
    return (
        CheckResult("service", state, str(error), hint),
        make_unchecked("credentials", "the service"),
        *waiting,
    )


def _check_workspaces(known: tuple[Workspace, ...], settings: Settings) -> Iterator[CheckResult]:
    """Yield one line where every alias is one workspace of the account, else one for each that is not."""
    named = {alias: ref for alias, ref in settings.workspaces.items() if alias != "default"}
    if not named:
        yield CheckResult("workspaces", "ok", "the default one, which has no id")
        return
    good = []
    for alias, ref in named.items():
        try:
            good.append(resolve_workspace(alias, ref, known).alias)
        except SettingsError as error:
            yield CheckResult("workspaces", "fail", str(error), error.next)
    if len(good) == len(named):
        yield CheckResult("workspaces", "ok", f"{len(good)} of {len(named)} known: {', '.join(good)}")


def _check_clock(connections: DatedConnections) -> CheckResult:
    theirs = connections.told
    if theirs is None:
        return make_unchecked("clock", "an answer of the service with a date")
    apart_s = round((read_utc_clock() - theirs).total_seconds())
    if abs(apart_s) <= clock_warn_s:
        return CheckResult("clock", "ok", f"within {clock_warn_s} s of the service's")
    side = "ahead of" if apart_s > 0 else "behind"
    return CheckResult(
        "clock", "warn", f"{abs(apart_s):,} s {side} the service's", "set this machine's clock"
    )
