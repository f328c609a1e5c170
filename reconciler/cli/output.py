"""The only module that prints. Data goes to stdout, everything else to stderr.

Belongs here: streams, colour, progress bars, the one question, and how an error looks. Not here: what
is said (report/ renders, the commands decide). Text may hold live data, so everything passes
`report.inert`, and nothing is ever read as markup, nor as an order by the runner of a CI service.
"""

import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from reconciler.cli import signals
from reconciler.errors import (
    FileError,
    InputError,
    LockHeld,
    Problem,
    ProgramError,
    ReconcilerError,
    ServiceError,
    UnsafePlan,
)
from reconciler.report.inert import inert, is_hidden, json_without_orders, without_orders

if TYPE_CHECKING:  # rich and msgspec are imported where they are used: start-up is a promise
    from rich.console import Console
    from rich.live import Live as RichLive
    from rich.progress import Progress, TaskID

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

_columns_min = 40  # a terminal that says less is none to read on

_concealing: list[Callable[[str], str]] = []  # what hides our secrets, once they are known
_unread: set[TextIO] = set()  # streams whose reader has gone: what is written there leads nowhere


def conceal(hide: Callable[[str], str] | None) -> None:
    """Let everything that is printed from now on pass `hide`; None: nothing is hidden, as at the start."""
    _concealing[:] = [] if hide is None else [hide]


def data(text: str) -> None:
    """Print what the command was asked for on stdout."""
    _send(sys.stdout, _inert_lines(text))


def lines(rendered: "Sequence[Line]") -> bool:
    """Print rendered lines on stdout, in colour where colour is wanted; false where its reader has gone."""
    return _send_lines(sys.stdout, rendered)


def json(text: str) -> bool:
    """Print JSON text on stdout: never coloured, still JSON, and inert on a terminal all the same.

    False where its reader has gone.
    """
    return _send(sys.stdout, inert_json(text))


def inert_json(text: str) -> str:
    """Return JSON text as it is printed: still JSON, inert on a terminal, and no order to a CI runner."""
    return json_without_orders(re.sub("[^\n -~]", _json_escape, text)).rstrip("\n") + "\n"


def document(text: str) -> None:
    """Print a file of ours on stdout as it is, so that it can be redirected into one."""
    _send(sys.stdout, text.rstrip("\n") + "\n")


def note(text: str) -> None:
    """Print what accompanies the data on stderr."""
    _send(sys.stderr, _inert_lines(text))


def note_lines(rendered: "Sequence[Line]") -> None:
    """Print rendered lines that accompany the data on stderr."""
    _send_lines(sys.stderr, rendered)


class OutputLost(FileError):
    """Stdout cannot be written: what there is to say can only be said on stderr."""


def failure(error: ReconcilerError, *, as_json: bool) -> None:
    """Print an error: every problem with its place, the sentence, its reasons and the way on."""
    if as_json and not isinstance(error, OutputLost):
        try:
            json(error_json(error))
        except OutputLost:
            pass  # a person is told instead, and the exit code stays that of the error
        else:
            return
    with suppress(OutputLost):  # nobody is left who could be told
        _send_lines(sys.stderr, error_lines(error))


problems_max = 1000  # mistakes shown of one run; nobody reads more, and a terminal keeps no more


def error_lines(error: ReconcilerError) -> "tuple[Line, ...]":
    """Problems first, in file order; then the sentence, its reasons and what to do."""
    from reconciler.report.lines import line, sentence  # noqa: PLC0415 - only an error pays for it

    shown: list[Line] = []
    problems = _problems(error)
    for problem in problems[:problems_max]:
        shown += sentence(f"{problem.where}: ", problem.what, problem.next, style="bold")
    if len(problems) > problems_max:
        shown.append(line(f"and {len(problems) - problems_max:,} more"))
    said = sentence("", str(error), "")
    if isinstance(error, UnsafePlan):
        said += [line(f"  {reason}") for reason in error.reasons if reason not in str(error)]
    if isinstance(error, ProgramError):
        said += [line(f"  {place}") for place in error.places]
    if error.next:
        said.append(line(("  next: ", "bold"), error.next))
    return (*shown, *said)


def error_json(error: ReconcilerError) -> str:
    """`{"outcome", "exit_code", "error", "problems"}`: the form of every error with --format json.

    Where there are more than 1,000 problems, `more` says how many are left out.
    """
    about: dict[str, Any] = {"kind": type(error).__name__, "message": str(error), "next": error.next}
    if isinstance(error, ServiceError):
        about |= {"method": error.method, "path": error.path, "status": error.status, "code": error.code}
    if isinstance(error, UnsafePlan):
        about["reasons"] = error.reasons
    if isinstance(error, ProgramError):
        about["places"] = error.places
    if isinstance(error, LockHeld) and error.running is not None:
        about["running"] = error.running
    return _encoded(error.outcome, error.exit_code, about, _problems(error))


def _problems(error: ReconcilerError) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, InputError) else ()


def usage(sentence: str, hint: str, *, as_json: bool) -> None:
    """Print a mistake in the command line itself."""
    with suppress(OutputLost):
        if as_json:
            json(_encoded("usage", 64, {"kind": "UsageError", "message": sentence, "next": hint}, ()))
        else:
            note(f"{sentence}\n  next: {hint}")


def _encoded(outcome: str, exit_code: int, about: Mapping[str, Any], problems: tuple[Problem, ...]) -> str:
    import msgspec  # noqa: PLC0415 - only an error in JSON pays for it

    whole: dict[str, Any] = {
        "outcome": outcome,
        "exit_code": exit_code,
        "error": about,
        "problems": problems[:problems_max],
    }
    if len(problems) > problems_max:
        whole["more"] = len(problems) - problems_max
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream: a terminal, not a CI log that pretends to be one."""
    if stream is None or stream.closed or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def can_ask() -> bool:
    """Whether a question would reach a person and an answer could come back: never where `CI` is set."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(question: str) -> bool:
    """Ask on stderr; only the word yes is yes. End of input is no; a signal is KeyboardInterrupt."""
    with _interruptible() as pipe:
        _send(sys.stderr, without_orders(inert(question)) + " [yes/no] ")
        # A signal that comes right before a read, or to another thread, does not end the read. The octet that
        # it leaves in the pipe is there whenever it came.
        if sys.platform != "win32" and pipe in select.select([sys.stdin, pipe], [], [])[0]:
            raise KeyboardInterrupt
        return sys.stdin.readline().strip().lower() == "yes"


@contextmanager
def _interruptible() -> Iterator[int]:
    """Let signals end a wait for a person: an event loop's own handlers run only when it runs.

    What is yielded can be read from as soon as there was a signal.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else []))
    readable, filled = os.pipe()
    os.set_blocking(filled, False)
    heard_by = signal.set_wakeup_fd(filled, warn_on_full_buffer=False)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield readable
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(heard_by, warn_on_full_buffer=False)
        os.close(readable)
        os.close(filled)


def _nothing() -> None:
    """Stand in for what is to be taken back, where there is nothing."""


def _give_cursor_back() -> None:
    """Clear the line and show the cursor, which a progress bar hides, where a signal ends the process."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"\r\x1b[2K\x1b[?25h")


class Bars:
    """Progress on stderr, one bar for each thing that advances; on a terminal only, else nothing."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._gone = _nothing

    def advance(self, what: str, done: int, total: int | None) -> None:
        """Show that `done` of `total` are done; without a total the bar only shows that work goes on."""
        if not is_terminal(sys.stderr):
            return
        if self._bars is None:
            self._bars = self._started()
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task("", total=total)
        shown = inert(what) if total is None else f"{inert(what)} {done:,}/{total:,}"
        self._bars.update(self._tasks[what], description=shown, completed=done, total=total)

    def clear(self) -> None:
        """Take all bars away, so that text or a question may follow. They may come again."""
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._tasks = None, {}
        self._gone()
        self._gone = _nothing

    def _started(self) -> "Progress":
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - 60 ms

        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        bars = Progress(*columns, console=_console(sys.stderr), transient=True)
        self._gone = signals.before_the_end(_give_cursor_back)
        bars.start()
        return bars


@contextmanager
def progress() -> Iterator[Bars]:
    """Yield bars that are gone at the end, whatever happens."""
    bars = Bars()
    try:
        yield bars
    finally:
        bars.clear()


class Live:
    """Lines on stderr that are shown in place of those before; on a terminal only (`shown`), else nothing."""

    def __init__(self) -> None:
        self.shown = is_terminal(sys.stderr)
        self._display: RichLive | None = None
        self._gone = _nothing

    def update(self, rendered: "Sequence[Line]") -> None:
        """Show these lines now."""
        if not self.shown:
            return
        from rich.live import Live as RichLive  # noqa: PLC0415 - 60 ms
        from rich.text import Text  # noqa: PLC0415 - the same

        if self._display is None:
            self._gone = signals.before_the_end(_give_cursor_back)
            self._display = RichLive(console=_console(sys.stderr), auto_refresh=False, transient=True)
            self._display.start()
        rows = (
            Text.assemble(*((_hidden(span.text), _STYLES.get(span.style, "")) for span in spans))
            for spans in rendered
        )
        self._display.update(Text("\n").join(rows), refresh=True)

    def clear(self) -> None:
        """Take the lines away."""
        if self._display is not None:
            self._display.stop()
        self._display = None
        self._gone()
        self._gone = _nothing


@contextmanager
def live() -> Iterator[Live]:
    """Yield a place for lines that are gone at the end, whatever happens."""
    place = Live()
    try:
        yield place
    finally:
        place.clear()


def wants_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands, otherwise a terminal decides. Empty means unset."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return is_terminal(stream)


def _send_lines(stream: TextIO | None, rendered: "Sequence[Line]") -> bool:
    return stream is not None and _send(stream, _coloured(stream, _fitting(stream, rendered)))


def _fitting(stream: TextIO, rendered: "Sequence[Line]") -> "Sequence[Line]":
    """Return lines that a terminal breaks nowhere; for a file or a pipe they stay as they are."""
    from reconciler.report.lines import wrapped  # noqa: PLC0415 - with the lines it is there already

    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # no descriptor, or a terminal that does not say how wide it is
        columns = 0
    return wrapped(rendered, columns) if columns >= _columns_min else rendered


def for_stdout(rendered: "Sequence[Line]") -> str:
    """Return rendered lines as they are printed on stdout."""
    return _coloured(sys.stdout, rendered)


def _coloured(stream: TextIO, rendered: "Sequence[Line]") -> str:
    if not wants_colour(stream, os.environ):
        from reconciler.report.lines import plain  # noqa: PLC0415 - with the lines it is there already

        return without_orders(plain(rendered))
    from rich.text import Text  # noqa: PLC0415 - 60 ms, only where colour is shown

    console = _console(stream)
    with console.capture() as captured:
        for spans in rendered:
            text = Text.assemble(*((span.text, _STYLES.get(span.style, "")) for span in spans))
            console.print(text, soft_wrap=True)
    return without_orders(captured.get())


def _console(stream: TextIO) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - 60 ms, only where colour or bars are shown

    return Console(
        file=stream,
        force_terminal=True,
        color_system="standard" if wants_colour(stream, os.environ) else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _inert_lines(text: str) -> str:
    return without_orders("".join(f"{inert(line)}\n" for line in text.rstrip("\n").split("\n")))


def _json_escape(match: re.Match[str]) -> str:
    """JSON knows only escapes of 16 bits: a character beyond them takes two."""
    if not is_hidden(match[0]):
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _send(stream: TextIO | None, text: str) -> bool:
    """Write and flush. A reader who left is no error, but false: the command's own result stands."""
    if stream is None:
        return False
    if stream is sys.stdout:
        signals.shown()
    try:
        stream.write(_encodable(stream, _hidden(text)))
        stream.flush()
    except BrokenPipeError:
        silence(stream)
        _unread.add(stream)
    except OSError as error:
        silence(stream)
        raise OutputLost(
            f"standard output cannot be written: {(error.strerror or 'it is broken').lower()}.",
            next="make room, or write to another place",
        ) from error
    return stream not in _unread


def _hidden(text: str) -> str:
    """Return the text without our secrets, once they are known."""
    for hide in _concealing:
        text = hide(text)
    return text


def _encodable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def silence(stream: TextIO | None) -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush does not complain."""
    if stream is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except OSError:  # a stream without a descriptor has nothing left to flush
        return
