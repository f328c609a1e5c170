"""What every command that talks to the service needs: settings, clock, randomness, an event loop, signals."""

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import structs

from reconciler import pipeline, signals
from reconciler.cli.console import output
from reconciler.cli.options import CACHES, STRICT
from reconciler.core.planning.select import Selection
from reconciler.database_urls import hide_url_password as shown_store
from reconciler.engine.context import StopFlag, token_bytes
from reconciler.environment.checkout import Checkout, collect_inputs, read_checkout
from reconciler.environment.run_context import read_context
from reconciler.errors import Interrupted, SettingsError, unwrap_exception_group
from reconciler.extras import is_extra_installed
from reconciler.instrumentation import current_trace_id, step_log
from reconciler.manifest.cache import Declaration
from reconciler.model.documents import InputFile
from reconciler.model.runs import Context
from reconciler.model.settings import Settings
from reconciler.pipeline import Dependencies
from reconciler.private_cache import STATE_FOLDER, find_cache_fault, find_state_folder
from reconciler.service.http.auth import Concealed, Credentials
from reconciler.service.http.urls import origin_of
from reconciler.settings.layers import SettingLayers
from reconciler.settings.reader import ReadSettings, read_settings, working_folder
from reconciler.store.database import Store

T = TypeVar("T")

_IN_DOUBT = b"stopped at once: requests under way are in doubt.\n  next: reconciler resume\n"
_UNTOLD = b"stopped before the report was printed.\n  next: reconciler history\n"


def load_settings(
    config: str | None, environment: str | None, *, service: bool, without: str = ""
) -> Settings:
    """Return the settings that this process was given. Raises SettingsError.

    With `service` they hold our secrets, which from now on are hidden in everything that is printed.
    `without` as in `read_settings`.
    """
    read = read_settings(
        config=config,
        environment=environment,
        cwd=working_folder(),
        environ=os.environ,
        service=service,
        revealed=_hide_secret,
        without=without,
    )
    settings = structs.replace(read.settings, caches=_is_set(CACHES))
    if _is_set(STRICT):
        settings = structs.replace(settings, strict_scopes="always")
    _tell_settings(read)
    if settings.caches:
        _note_distrust(settings)
    output.set_project_folder(settings.root)
    if service:
        output.conceal(Credentials(settings.service.auth, settings.service.network.proxy).conceal_pieces)
    return settings


def _hide_secret(secret: str) -> None:
    """Hide a secret that is read where it is needed, in everything that is printed from now on."""
    output.conceal_also(Concealed((secret,)).conceal_pieces)


def _is_set(name: str) -> bool:
    """Whether this command has an option, and it says so: caching manifests, or all or nothing."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(name))


def read_declaration(settings: Settings, only: Sequence[str] = ()) -> Declaration:
    """Return what the manifests declare, and print the mistakes of workspaces that are left out.

    With `only`, selectors, the manifests of workspaces that none of them may name are not read.

    Raises ManifestError, DirectoryError where none can be planned.
    """
    declared = pipeline.load_declaration(settings, os.environ, selection=Selection(tuple(only)))
    if declared.mistakes:
        from reconciler.report.text import problem_lines  # noqa: PLC0415 - where there are some

        output.note_lines(problem_lines(declared.mistakes))
    return declared


def _tell_settings(read: ReadSettings) -> None:
    """Tell which settings and which store these are, and who decided so."""
    layers, store = read.layers, next(one for one in read.layers.values.values() if one.path == ("store",))
    environment = (
        f", environment {layers.environment} ({layers.environment_origin})" if layers.environment else ""
    )
    shown = shown_store(read.settings.store)
    note_service_links(layers)
    _tell_once(f"settings: {layers.shown}{environment}; store: {shown} ({store.origin})")


def note_service_links(layers: SettingLayers) -> None:
    """Note which variables of our prefix are no settings, because Kubernetes made them."""
    if layers.service_links:
        names, services = sorted(layers.service_links), sorted(set(layers.service_links.values()))
        others = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        _note_once(
            f"variables that Kubernetes sets for the Service {', '.join(services)} are ignored: "
            f"{names[0]}{others}.\n"
            "  next: nothing to do; enableServiceLinks: false in the pod prevents these variables"
        )


def _note_distrust(settings: Settings) -> None:
    """Note that the cache of a project is not used, because another user can have written it."""
    if fault := find_cache_fault(Path(settings.root)):
        where, why = fault
        _note_once(
            f"the cache in {STATE_FOLDER}/cache is not used, because of {where}: {why}. "
            "Everything is read again.\n"
            f"  next: make {where} writable for you alone: chown, and chmod go-w"
        )


@cache
def _note_once(what: str) -> None:
    """Note something about the settings of this process, which a command may read several times."""
    output.note(what)


@cache
def _tell_once(what: str) -> None:
    """Tell a step of this command that is taken wherever it is needed."""
    step_log.info("%s", what)


def read_project_checkout(settings: Settings, inputs: Sequence[InputFile] = ()) -> Checkout:
    """Return the commit that is checked out, and what of these inputs and of the settings is not as in it."""
    root = Path(settings.root).resolve()
    return read_checkout(root, collect_inputs(settings, inputs))


def read_run_context(
    settings: Settings, inputs: Sequence[InputFile] = (), checkout: Checkout | None = None
) -> Context:
    """Return where we are: commit, trace id, container, region. `inputs` are the files of the manifests."""
    return read_context(
        os.environ,
        Path(settings.root),
        random=secrets.token_hex,
        recorded=current_trace_id(),
        checkout=checkout or read_project_checkout(settings, inputs),
    )


def make_dependencies(settings: Settings, context: Context | None = None) -> Dependencies:
    """Return the real clock, the real chance, the real network, and where we are, where that is known yet."""
    return Dependencies.real(
        lambda: context or read_run_context(settings),
        unattended=not output.can_ask(),
        state=find_state_folder(os.environ),
    )


def with_lock_timeout(settings: Settings, lock_timeout_s: float | None) -> Settings:
    """Return the settings with `--lock-timeout`, where it was given."""
    if lock_timeout_s is None:
        return settings
    return structs.replace(settings, lock=structs.replace(settings.lock, timeout_s=lock_timeout_s))


def with_refresh_mode(settings: Settings, mode: str | None) -> Settings:
    """Return the settings with `--refresh`, where it was given."""
    if mode is None:
        return settings
    return structs.replace(settings, refresh=structs.replace(settings.refresh, mode=mode))


class Signals:
    """What signals do: end everything before `apply_begins`, stop it cleanly from then on.

    When an apply has ended the first does nothing any more: its report must get out. The second one of a
    process ends it within `signals.at_once_s`, also where a thread hangs that nobody can end.
    """

    def __init__(self) -> None:
        self.stop = StopFlag()
        self._applying = False
        self._task: asyncio.Task[Any] | None = None
        self._count = 0

    def apply_begins(self, words: bytes = _IN_DOUBT) -> None:
        """From now on writes are under way: the first signal finishes them, the second ends at once.

        `words` are said where that end does not come by itself.
        """
        self._applying = True
        signals.set_reaction(self._heard, words)

    def listen(self) -> None:
        """Take the signals of this process, for the task that calls."""
        self._task = asyncio.current_task()
        signals.hear_in_event_loop()  # or only uvloop would hear them, and not while something hangs in it
        signals.set_reaction(self._heard)

    def work_ended(self) -> None:
        """Let nothing cut off the report of what was written; where nothing was, end at the next signal."""
        if self._applying:
            signals.set_reaction(signals.HoldWhileReporting(self._count), _UNTOLD)
        else:
            signals.set_reaction(signals.end_before_start)

    def _heard(self, _number: int) -> float | None:
        """Pass a signal on to the loop. Runs in the thread of the signals."""
        self._count += 1
        with suppress(RuntimeError):  # the loop has just been closed: the end is near anyway
            assert self._task is not None  # noqa: S101 - `listen` comes first
            self._task.get_loop().call_soon_threadsafe(self._arrived)
        return signals.at_once_s if self._count > 1 else None

    def _arrived(self) -> None:
        if self._applying:
            self.stop.signal()
        elif self._task is not None:
            self._task.cancel()


def run_to_end(work: Callable[[Signals], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `work`, run in an event loop of its own. Raises single errors, never a group."""
    heard = Signals()

    async def listening() -> T:
        heard.listen()
        return await work(heard)

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(listening())
    except asyncio.CancelledError:
        raise Interrupted("stopped before anything was written.", next="run it again") from None
    except BaseExceptionGroup as group:
        raise unwrap_exception_group(group) from None
    finally:
        heard.work_ended()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where it is installed, None for Python's own."""
    if not is_extra_installed("fast"):
        return None
    import uvloop  # noqa: PLC0415 - an extra

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


# --- The store of the settings, for commands that only look at it -----------------------------------------
#
# No secret of the service is read, and nothing is called but the store.


def read_utc_clock() -> datetime:
    """Return this machine's time, in UTC."""
    return datetime.now(UTC)


@contextmanager
def open_project_store(given: Mapping[str, Any], *, create: bool = False) -> Iterator[tuple[Store, Settings]]:
    """Yield the store that the options of a command line lead to, and the settings.

    Raises SettingsError, StoreError. Without `create` a store that is not there is empty, and stays away.
    """
    settings = load_settings(given["config"], given["environment"], service=False)
    with open_store(settings, create=create) as store:
        yield store, settings


def open_store(settings: Settings, *, create: bool, clock: Callable[[], datetime] = read_utc_clock) -> Store:
    """Return the store of these settings. Raises SettingsError, StoreError."""
    if not settings.service.base_url:
        raise SettingsError(
            "service.base_url is not set; the store needs it to tell services apart.",
            next="write service.base_url, or set RECONCILER_SERVICE_BASE_URL",
        )
    return Store.open(
        settings.store,
        origin=origin_of(settings.service.base_url),
        stack=settings.stack,
        now=clock,
        token=lambda: secrets.token_hex(token_bytes),
        root=settings.root,
        create=create,
    )
