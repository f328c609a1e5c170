"""Progress, counted from log records of calls and rows, so that no layer passes it along.

On a terminal bars show it. Elsewhere stderr gets a line every 30 seconds, so that a CI job is seen to be
alive; a command that takes less prints none. The words are in report/progress.py.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from reconciler import instrumentation
from reconciler.instrumentation import ReadProgress
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.report.lines import Line
from reconciler.report.progress import ProgressLine, format_progress, format_progress_rest

every_s = 30.0  # between two lines where no terminal is
_refresh_s = 0.2  # between two looks of a bar; a faster one only flickers
_TOLD = (instrumentation.call_log, instrumentation.reading_log)


# --- What is shown in place. These classes show nothing: stderr is no terminal. terminal.py draws ---------


class Bars:
    """Progress on stderr, one bar for each thing that advances. This one shows nothing: it is no terminal."""

    def advance(self, what: str, done: int, total: int | None, more: str = "") -> None:
        """Show that `done` of `total` are done; without a total the bar only shows that work goes on.

        `more` stands behind the numbers.
        """

    def clear(self) -> None:
        """Take all bars away, so that text or a question may follow. They may come again."""


class LiveLines:
    """Lines on stderr that are shown in place of those before. Here `shown` is false: it is no terminal."""

    shown = False

    def update(self, rendered: Sequence[Line]) -> None:
        """Show these lines now."""

    def clear(self) -> None:
        """Take the lines away."""


# --- Counting ---------------------------------------------------------------------------------------------


class Watch(logging.Handler, Bars):
    """Counts log records, and passes the numbers to the bars of a terminal, if there are any."""

    def __init__(self, bars: Bars, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._bars = bars
        self._clock = clock
        self._what = ""
        self._done = 0
        self._total: int | None = None
        self._calls = 0
        self._reached: dict[Scope, ReadProgress] = {}
        self._began = self._drawn = clock()

    def advance(self, what: str, done: int, total: int | None, more: str = "") -> None:  # noqa: ARG002 - the signature of bars
        """Note how far it is; counting begins anew with something new."""
        if what != self._what:
            self._what, self._calls, self._reached, self._began = what, 0, {}, self._clock()
        self._done, self._total = done, total
        self._draw()

    def clear(self) -> None:
        """Take the bars away."""
        self._bars.clear()
        self._what = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Count one call, or note how far a list is read."""
        told = record.args[0] if isinstance(record.args, tuple) and record.args else None
        if isinstance(told, ReadProgress):
            self._reached[told.scope] = told
        else:
            self._calls += 1
        if self._what and self._clock() - self._drawn >= _refresh_s:
            self._draw()

    def now(self) -> ProgressLine | None:
        """Return how far it is; None where nothing is under way."""
        if not self._what:
            return None
        done, total, things = self._done, self._total, ""
        if self._reached and total is None:
            lists = self._reached.values()
            done = sum(one.rows for one in lists)
            total = None if any(one.total is None for one in lists) else sum(one.total or 0 for one in lists)
            kinds = sorted({KINDS[one.scope.kind].plural for one in lists})
            things = " and ".join(kinds) if len(kinds) < 3 else "entities"  # noqa: PLR2004 - a line is short
        return ProgressLine(self._what, done, total, things, self._calls, self._clock() - self._began)

    def _draw(self) -> None:
        self._drawn = self._clock()
        if (one := self.now()) is not None:
            self._bars.advance(one.what, one.done, one.total, format_progress_rest(one))


@contextmanager
def watch_progress(
    bars: Bars, say: Callable[[str], None] | None, *, wait_s: float = every_s
) -> Iterator[Watch]:
    """Yield bars that count. With `say`, which prints a line, one comes whenever so many seconds are over."""
    watch, over = Watch(bars), threading.Event()
    speaker = (
        threading.Thread(target=_report_regularly, args=(watch, say, over, wait_s), daemon=True)
        if say
        else None
    )
    before = [logger.level for logger in _TOLD]
    for logger in _TOLD:
        logger.addHandler(watch)
        logger.setLevel(logging.DEBUG)
    if speaker is not None:
        speaker.start()
    try:
        yield watch
    finally:
        over.set()
        for logger, level in zip(_TOLD, before, strict=True):
            logger.removeHandler(watch)
            logger.setLevel(level)


def _report_regularly(watch: Watch, say: Callable[[str], None], over: threading.Event, wait_s: float) -> None:
    while not over.wait(wait_s):
        if (one := watch.now()) is not None:
            with suppress(Exception):  # a line that cannot be printed ends nothing
                say(f"{format_progress(one)}.")
