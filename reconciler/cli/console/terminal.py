"""What only a terminal gets: colour, progress bars, and lines that are shown in place.

Imported where colour or a bar is shown: `rich` takes 60 ms.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import Console
from rich.live import Live as RichLive
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from reconciler import signals
from reconciler.cli.console.progress import Bars, LiveLines
from reconciler.report.escaping import escape_control
from reconciler.report.lines import Line

# Style of a span -> rich's name for it. Red is kept for what goes away or went wrong.
_STYLES = {
    "create": "green",
    "update": "yellow",
    "delete": "red",
    "warn": "magenta",
    "dim": "dim",
    "bold": "bold",
}


def open_console(stream: TextIO, *, coloured: bool) -> Console:
    """Return a console that takes nothing as markup and guesses nothing about the stream."""
    return Console(
        file=stream,
        force_terminal=True,
        color_system="standard" if coloured else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def colour_lines(stream: TextIO, rendered: Sequence[Line]) -> str:
    """Return rendered lines with the colours of their styles."""
    shown = open_console(stream, coloured=True)
    with shown.capture() as captured:
        for spans in rendered:
            shown.print(_style_spans(spans), soft_wrap=True)
    return captured.get()


class TerminalBars(Bars):
    """Progress on stderr, one bar for each thing that advances."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._gone = _do_nothing

    def advance(self, what: str, done: int, total: int | None, more: str = "") -> None:
        """Show that `done` of `total` are done; without a total the bar only shows that work goes on."""
        if self._bars is None:
            self._bars = self._started()
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task("", total=total)
        shown = escape_control(what) if total is None else f"{escape_control(what)} {done:,}/{total:,}"
        shown += f" ({escape_control(more)})" if more else ""
        self._bars.update(self._tasks[what], description=shown, completed=done, total=total)

    def clear(self) -> None:
        """Take all bars away, so that text or a question may follow. They may come again."""
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._tasks = None, {}
        self._gone()
        self._gone = _do_nothing

    def _started(self) -> Progress:
        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        bars = Progress(*columns, console=open_console(sys.stderr, coloured=self._coloured), transient=True)
        self._gone = signals.add_cleanup(_give_cursor_back)
        bars.start()
        return bars


class TerminalLines(LiveLines):
    """Lines on stderr that are shown in place of those before."""

    shown = True

    def __init__(self, hide: Callable[[str], str], *, coloured: bool) -> None:
        self._hide = hide  # our secrets
        self._coloured = coloured
        self._display: RichLive | None = None
        self._gone = _do_nothing

    def update(self, rendered: Sequence[Line]) -> None:
        """Show these lines now."""
        if self._display is None:
            self._gone = signals.add_cleanup(_give_cursor_back)
            self._display = RichLive(
                console=open_console(sys.stderr, coloured=self._coloured), auto_refresh=False, transient=True
            )
            self._display.start()
        rows = (_style_spans(spans, self._hide) for spans in rendered)
        self._display.update(Text("\n").join(rows), refresh=True)

    def clear(self) -> None:
        """Take the lines away."""
        if self._display is not None:
            self._display.stop()
        self._display = None
        self._gone()
        self._gone = _do_nothing


def _style_spans(spans: Line, hide: Callable[[str], str] = str) -> Text:
    return Text.assemble(*((hide(span.text), _STYLES.get(span.style, "")) for span in spans))


def _do_nothing() -> None:
    """Stand in for what is to be taken back, where there is nothing."""


def _give_cursor_back() -> None:
    """Clear the line and show the cursor, which a progress bar hides, where a signal ends the process."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"\r\x1b[2K\x1b[?25h")
