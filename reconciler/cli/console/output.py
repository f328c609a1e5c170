"""The only module that prints. Data goes to stdout, everything else to stderr.

What is printed is decided by the commands and rendered by report/. How an error looks (error_text.py) and
what only a terminal gets (terminal.py) is imported where it is needed: start-up is a promise
(docs/performance.md). Text may hold live data, so everything passes `escape_control`: nothing is read as
markup, or as a command by the runner of a CI service.
"""

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from reconciler import signals
from reconciler.errors import FileError, ReconcilerError
from reconciler.report.escaping import (
    escape_ci_commands,
    escape_ci_commands_in_json,
    escape_control,
    is_hidden,
)

if TYPE_CHECKING:
    from types import ModuleType

    from reconciler.cli.console.progress import Bars, LiveLines
    from reconciler.report.lines import Line

# --- Streams: whether a person looks at one, whether it is coloured, which secrets none may show -----------


Conceal = Callable[[Iterable[str]], Iterable[str]]

_concealing: list[Conceal] = []  # what hides our secrets, once they are known
_besides: list[Conceal] = []  # and those that are read later, where they are needed
_project = [""]
_told = [False]
_began_at = [time.time()]


def conceal(hide: Conceal | None) -> None:
    """Let everything that is printed from now on pass `hide`; None: nothing is hidden, as at the start.

    It gets the pieces of a text, and yields those of the same text without our secrets.
    """
    _concealing[:] = [] if hide is None else [hide]


def conceal_also(hide: Conceal) -> None:
    """Let everything that is printed from now on pass `hide` as well."""
    _besides.append(hide)


def hide_secrets(text: str) -> str:
    """Return the text without our secrets, once they are known."""
    return "".join(hide_secrets_in_pieces((text,)))


def hide_secrets_in_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same for a text that comes in pieces."""
    for hide in (*_concealing, *_besides):
        pieces = hide(pieces)
    return iter(pieces)


def reset_command() -> None:
    """Forget what an earlier command of this process knew: its secrets, its project, when it began."""
    conceal(None)
    _besides.clear()
    _project[:] = [""]
    set_verbose(wanted=False)
    _began_at[:] = [time.time()]


def set_project_folder(folder: str) -> None:
    """Remember the folder from which manifests are named."""
    _project[:] = [folder]


def project_folder() -> str:
    """Return the folder from which manifests are named; "" where it is not known, which is where we are."""
    return _project[-1]


def command_began_at() -> float:
    """Return when this command began, in seconds since 1970."""
    return _began_at[-1]


def set_verbose(*, wanted: bool) -> None:
    """Remember whether steps are shown on stderr, line by line."""
    _told[:] = [wanted]


def is_verbose() -> bool:
    """Whether -v was given."""
    return _told[-1]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream: a terminal, not a CI log that pretends to be one."""
    if stream is None or stream.closed or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def wants_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands, otherwise a terminal decides. Empty means unset."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return is_terminal(stream)


_columns_min = 40  # a terminal that says less is none to read on

_unread: set[TextIO] = set()  # streams whose reader has gone: what is written there leads nowhere
_half_written: set[TextIO] = (
    set()
)  # streams that hold the beginning of a text, of which the rest is not made yet


def data(text: str) -> None:
    """Print what the command was asked for on stdout."""
    _send(sys.stdout, _inert_lines(text))


def lines(rendered: "Sequence[Line]") -> bool:
    """Print rendered lines on stdout, in colour where colour is wanted; false where its reader has gone."""
    return not rendered or _send_lines(sys.stdout, rendered)


def json(text: str) -> bool:
    """Print JSON text on stdout: never coloured, still JSON, and inert on a terminal all the same.

    False where its reader has gone.
    """
    return _send(sys.stdout, inert_json(text))


def json_pieces(pieces: Iterable[str]) -> bool:
    """Print the same of a text that comes in pieces of whole lines."""
    return _send_pieces(sys.stdout, map(_inert_json, pieces))


def inert_json(text: str) -> str:
    """Return JSON text as it is printed: still JSON, inert on a terminal, and no order to a CI runner."""
    return _inert_json(text).rstrip("\n") + "\n"


def _inert_json(text: str) -> str:
    return escape_ci_commands_in_json(re.sub("[^\n -~]", _json_escape, text))


def document(text: str) -> bool:
    """Print a file of ours on stdout as it is, so that it can be redirected into one.

    False where its reader has gone.
    """
    return _send(sys.stdout, text.rstrip("\n") + "\n")


def note(text: str) -> None:
    """Print what accompanies the data on stderr."""
    _send(sys.stderr, _inert_lines(text))


def note_lines(rendered: "Sequence[Line]") -> None:
    """Print rendered lines that accompany the data on stderr."""
    if rendered:
        _send_lines(sys.stderr, rendered)


class OutputLost(FileError):
    """Stdout cannot be written: what there is to say can only be said on stderr."""


def failure(error: ReconcilerError, *, as_json: bool) -> None:
    """Print an error: every problem with its place, the sentence, its reasons and the way on.

    As JSON on stdout, and in words on stderr too: a job that keeps the document in a file has them in its
    log. Once alone where both lead to one place. Behind half a document no JSON may follow.
    """
    from reconciler.cli.console import error_text  # noqa: PLC0415 - only an error pays for it
    from reconciler.environment.run_context import is_in_ci  # noqa: PLC0415 - as above

    if as_json and not isinstance(error, OutputLost) and sys.stdout not in _half_written:
        try:
            if json(error_text.error_json(error)) and _is_one_place():
                return
        except OutputLost:
            pass  # stderr says it instead, and the exit code stays that of the error
    with suppress(OutputLost):  # there is no output left
        columns = _terminal_columns(sys.stderr) if sys.stderr is not None else 0
        # The terminal of the author; that of a CI job is a log, which others read.
        whole = columns > 0 and not is_in_ci(os.environ)
        rendered = error_text.error_lines(
            error, columns=columns, whole=whole, project=project_folder(), since=command_began_at()
        )
        _send_lines(sys.stderr, rendered)


def usage(sentence: str, hint: str, *, as_json: bool) -> None:
    """Print a mistake in the command line itself."""
    from reconciler.cli.console import error_text  # noqa: PLC0415 - only an error pays for it

    with suppress(OutputLost):
        if as_json and json(error_text.usage_json(sentence, hint)) and _is_one_place():
            return
    with suppress(OutputLost):
        note(f"{sentence}\n  next: {hint}")


def explain_failure(rendered: "Sequence[Line]") -> None:
    """Say on stderr why a command failed whose report is on stdout; nothing where both lead to one place."""
    if rendered and not _is_one_place():
        with suppress(OutputLost):
            note_lines(rendered)


def _is_one_place() -> bool:
    """Whether stdout and stderr are one terminal, pipe or file, so that what one says is seen with the other.

    Not where nobody reads stdout any more.
    """
    if sys.stdout is None or sys.stderr is None or sys.stdout in _unread:
        return False
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # a stream without a descriptor
        return False


def can_ask() -> bool:
    """Whether a question would reach a person and an answer could come back: never where `CI` is set."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(question: str) -> bool:
    """Ask on stderr; only the word yes is yes. End of input is no; a signal is KeyboardInterrupt."""
    with _wait_interruptibly() as pipe:
        _send(sys.stderr, escape_ci_commands(escape_control(question)) + " [yes/no] ")
        # A signal that comes right before a read, or to another thread, does not end the read. The octet that
        # it leaves in the pipe is there whenever it came.
        if sys.platform != "win32" and pipe in select.select([sys.stdin, pipe], [], [])[0]:
            raise KeyboardInterrupt
        return sys.stdin.readline().strip().lower() == "yes"


@contextmanager
def _wait_interruptibly() -> Iterator[int]:
    """Let signals end a wait for a person: what is yielded can be read from as soon as there was one."""
    # An event loop's own handlers run only when it runs.
    numbers = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else []))
    readable, filled = os.pipe()
    os.set_blocking(filled, False)
    heard_by = signal.set_wakeup_fd(filled, warn_on_full_buffer=False)
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in numbers
        if not signals.was_ignored_at_start(number)
    }
    try:
        yield readable
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(heard_by, warn_on_full_buffer=False)
        os.close(readable)
        os.close(filled)


@contextmanager
def progress() -> "Iterator[Bars]":
    """Yield bars that are gone at the end, whatever happens. Where no terminal is, a line comes at times."""
    from reconciler.cli.console.progress import Bars, watch_progress  # noqa: PLC0415 - `--version` does without

    terminal = is_terminal(sys.stderr)
    # Bars and the lines of -v would be drawn over each other.
    bars = _terminal().TerminalBars(coloured=_colours_stderr()) if terminal and not is_verbose() else Bars()
    with watch_progress(bars, None if terminal else note) as watch:
        try:
            yield watch
        finally:
            bars.clear()


@contextmanager
def live() -> "Iterator[LiveLines]":
    """Yield a place for lines that are gone at the end, whatever happens."""
    from reconciler.cli.console.progress import LiveLines  # noqa: PLC0415 - `--version` does without

    terminal = is_terminal(sys.stderr)
    place = _terminal().TerminalLines(hide_secrets, coloured=_colours_stderr()) if terminal else LiveLines()
    try:
        yield place
    finally:
        place.clear()


def _colours_stderr() -> bool:
    return wants_colour(sys.stderr, os.environ)


def _terminal() -> "ModuleType":
    from reconciler.cli.console import terminal  # noqa: PLC0415 - 60 ms, only where colour or bars are shown

    return terminal


def _send_lines(stream: TextIO | None, rendered: "Sequence[Line]") -> bool:
    return stream is not None and _send(stream, _render_text(stream, rendered, _terminal_columns(stream)))


def _terminal_columns(stream: TextIO) -> int:
    """Return how wide a terminal is; 0 for a file or a pipe, whose lines are not broken."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # no descriptor, or a terminal that does not say how wide it is
        return 0


def render_for_stdout(rendered: "Sequence[Line]") -> str:
    """Return rendered lines as they are printed on stdout, but for the width of a terminal."""
    return _render_text(sys.stdout, rendered, 0)


def _render_text(stream: TextIO, rendered: "Sequence[Line]", columns: int) -> str:
    from reconciler.report import lines as layout  # noqa: PLC0415 - with the lines it is there already

    if columns >= _columns_min:
        rendered = layout.wrap_lines(rendered, columns)
    coloured = wants_colour(stream, os.environ)
    return escape_ci_commands(
        _terminal().colour_lines(stream, rendered) if coloured else layout.plain(rendered)
    )


def _inert_lines(text: str) -> str:
    return escape_ci_commands("".join(f"{escape_control(line)}\n" for line in text.rstrip("\n").split("\n")))


def _json_escape(match: re.Match[str]) -> str:
    """JSON knows only escapes of 16 bits: a character beyond them takes two."""
    if not is_hidden(match[0]):
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _send(stream: TextIO | None, text: str) -> bool:
    return _send_pieces(stream, (text,))


def _send_pieces(stream: TextIO | None, pieces: Iterable[str]) -> bool:
    """Write and flush. A reader who left is no error, but false: the command's own result stands."""
    if stream is None:
        return False
    try:
        for piece in hide_secrets_in_pieces(pieces):
            if stream is sys.stdout:
                signals.note_result_shown()
            _half_written.add(stream)
            stream.write(_replace_unencodable(stream, piece))
        _half_written.discard(stream)
        stream.flush()
    except BrokenPipeError:
        silence_stream(stream)
        _unread.add(stream)
    except OSError as error:
        silence_stream(stream)
        raise OutputLost(
            f"standard output cannot be written: {(error.strerror or 'it is broken').lower()}.",
            next="free space, or write elsewhere",
        ) from error
    return stream not in _unread


def _replace_unencodable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def silence_stream(stream: TextIO | None) -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush does not complain."""
    if stream is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except OSError:  # a stream without a descriptor has nothing left to flush
        return
