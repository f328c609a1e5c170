"""What every command that talks to the service needs: settings, clock, chance, an event loop, signals.

Only this wiring belongs here. What is done is in pipeline.py, what is shown in the commands.
"""

import asyncio
import os
import secrets
import signal
import sys
import uuid
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from reconciler.apply.stop import StopFlag
from reconciler.cli.context import read_context
from reconciler.cli.settings import read_settings, working_folder
from reconciler.errors import Interrupted, ReconcilerError
from reconciler.model.settings import Settings
from reconciler.pipeline import Outside
from reconciler.service.timing import Timing

T = TypeVar("T")

token_bytes = 16  # 128 bits: no two runs or plans of this world share one


def settings_of(config: str | None, environment: str | None, *, service: bool) -> Settings:
    """Return the settings that this process was given. Raises SettingsError."""
    return read_settings(
        config=config, environment=environment, cwd=working_folder(), environ=os.environ, service=service
    ).settings


def outside(settings: Settings) -> Outside:
    """Return the real clock, the real chance, the real network, and where we are."""
    return Outside(
        now=lambda: datetime.now(UTC),
        token=lambda: secrets.token_hex(token_bytes),
        run_id=lambda: str(uuid.uuid4()),
        timing=Timing.real(),
        context=lambda: read_context(os.environ, Path(settings.root), random=secrets.token_hex),
    )


class Signals:
    """What SIGINT and SIGTERM do: end everything before `apply_begins`, stop it cleanly from then on.

    When an apply has ended they do nothing any more: its report must get out.
    """

    def __init__(self) -> None:
        self.stop = StopFlag()
        self._applying = False
        self._task: asyncio.Task[Any] | None = None

    def apply_begins(self) -> None:
        """From now on writes are under way: the first signal finishes them, the second ends at once."""
        self._applying = True

    def listen(self) -> None:
        """Take both signals of this process, for the task that calls."""
        self._task = asyncio.current_task()
        if sys.platform == "win32":  # its loops take no signals: Ctrl-C stays a KeyboardInterrupt
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._arrived)

    def work_ended(self) -> None:
        """Let nothing cut off the report of what was written."""
        if not self._applying or sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    def _arrived(self) -> None:
        if self._applying:
            self.stop.signal()
        elif self._task is not None:
            self._task.cancel()


def finish(work: Callable[[Signals], Coroutine[Any, Any, T]]) -> T:
    """Return what `work` returns, run in an event loop of its own. Raises what a user can meet, plainly."""
    signals = Signals()

    async def listening() -> T:
        signals.listen()
        result = await work(signals)
        signals.work_ended()
        return result

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(listening())
    except asyncio.CancelledError:
        raise Interrupted("stopped before anything was written.", next="run it again") from None
    except BaseExceptionGroup as group:
        # Reads run side by side; when the service refuses, several of them may say so at once.
        told, others = group.split(ReconcilerError)
        if told is None or others is not None:
            raise
        raise next(_leaves(told)) from None


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where there is one: half the time for each request."""
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - not there on Windows

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
