"""The listener: takes replies into the inbox, and prints each of them once, one after the other.

A reply goes through these steps, so that none is lost: on disk in the inbox, acknowledged, in the event file,
on the output, noted as printed. A kill before the last step prints the last ones again, with the same ids.

A thread prints (ReplyPrinter), so that a slow reader does not delay the receiver. HTTP: receiver.py,
receiver_server.py. The inbox: inbox.py.
"""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from threading import Event, Thread
from typing import Protocol

from reconciler import asgi_server, signals
from reconciler.errors import FileError, Interrupted, LockHeld
from reconciler.messaging import receiver_server
from reconciler.messaging.inbox import EventFile, Inbox, StoredReply
from reconciler.messaging.receiver import ReceiverConfig, RefusedRequest, create_keeper
from reconciler.messaging.reports import reply_json
from reconciler.ownership import find_fault
from reconciler.report.lines import count

if sys.platform != "win32":
    import fcntl

patience_s = 0.3  # seconds that a reader who sleeps gets after we were asked to stop
_idle_s = 0.5  # seconds between two looks whether anybody still reads, while there is nothing to print
_unread_s = 0.05  # seconds between two looks whether the reader has taken what was written
_STOPPED_PRINTING = b"stopped: the last reply may be printed again.\n  next: reconciler callbacks inbox\n"
_LATER = "the next listener prints them, or: reconciler callbacks inbox"
_STOPPED_LISTENING = f"stopped: what was not printed is kept in the inbox; {_LATER}\n".encode()


class ReplyOutput(Protocol):
    """Where replies are printed, and what is said of them; the caller gives it."""

    @property
    def lost(self) -> type[Exception]:
        """What is raised where the output has no reader any more, or no room."""

    def encode(self, stored: StoredReply) -> bytes:
        """Return what is printed for one reply."""

    def deliver(self, data: bytes, give_up: Callable[[], bool]) -> bool:
        """Write `data` at once; return whether all of it was written. Raises `lost`.

        While there is no reader, `give_up` is asked whether to end.
        """

    def require_reader(self) -> None:
        """Raise `lost` where the output has no reader."""

    def count_unread(self) -> int:
        """Return how many bytes a pipe holds that its reader has not taken; 0 where that is unknown."""

    def note(self, text: str) -> None:
        """Print a note for the operator."""


# --- Printing from the inbox ------------------------------------------------------------------------------


@dataclass(slots=True)
class ReplySink:
    """Where replies are handed over: the event file first, then the output.

    A reply counts as printed when the reader of a pipe has taken its line out: what a pipe still holds when
    its reader dies is lost with it. Elsewhere it counts when it is written.
    """

    inbox: Inbox
    events: EventFile | None
    output: ReplyOutput
    replies: int = 0
    _handed: deque[tuple[int, int]] = field(default_factory=deque)  # bytes written up to its end, its number
    _written: int = 0
    _last: int = 0

    @property
    def unread(self) -> bool:
        """Whether something was written that the reader has not taken."""
        return bool(self._handed)

    def print_waiting(self, give_up: Callable[[], bool]) -> bool:
        """Hand over all that waits, oldest first; return whether it was all. Raises FileError, StoreError."""
        waiting = self.inbox.waiting(after=self._last)
        return all(not give_up() and self._print(stored, give_up) for stored in waiting)

    def note_read(self) -> None:
        """Note as printed what the reader has taken."""
        self._note(self._written - self.output.count_unread())

    def finish(self) -> None:
        """Note as printed what the pipe holds, for its reader will take it. Raises `lost` without one."""
        if self._handed:
            self.output.require_reader()
            self._note(self._written)

    def _print(self, stored: StoredReply, give_up: Callable[[], bool]) -> bool:
        if self.events is not None:
            self.events.append(reply_json(stored.reply, stored.received_at, stored.id), stored.id)
        line = self.output.encode(stored)
        if not self.output.deliver(line, give_up):
            return False
        self._written += len(line)
        self._last = stored.number
        self._handed.append((self._written, stored.number))
        self.note_read()
        return True

    def _note(self, taken: int) -> None:
        while self._handed and self._handed[0][0] <= taken:
            self.inbox.mark_delivered(self._handed[0][1])
            self._handed.popleft()
            self.replies += 1


class ReplyPrinter:
    """Prints from the inbox in a thread of its own, so that a slow reader does not delay the receiver."""

    def __init__(self, sink: ReplySink) -> None:
        self._sink = sink
        self._news = Event()
        self._stop_at: float | None = None
        self._thread = Thread(target=self._run, name="reply-printer", daemon=True)
        self.error: Exception | None = None

    def start(self) -> None:
        """Print what waits already, and from now on what comes."""
        self._news.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that there is more to print."""
        self._news.set()

    def stop(self) -> None:
        """Print what can be printed at once, and end; `error` is what ended it before, if anything did."""
        self._stop_at = time.monotonic() + patience_s
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._stop_at is None:
                self._news.wait(_unread_s if self._sink.unread else _idle_s)
                self._news.clear()
                self._sink.output.require_reader()
                self._sink.print_waiting(self._is_late)
                self._sink.note_read()
            self._sink.print_waiting(self._is_late)
            self._sink.finish()
        except Exception as error:  # noqa: BLE001 - raised by the listener, which ends
            self.error = error

    def _is_late(self) -> bool:
        return self._stop_at is not None and time.monotonic() > self._stop_at


def print_waiting_replies(path: Path, output: ReplyOutput) -> None:
    """Print what waits in an inbox, once, and return when the reader has taken it.

    Raises FileError, StoreError, LockHeld; Interrupted at a signal.
    """
    _require_inbox(path)
    stop = Event()
    with closing(Inbox.open(path)) as inbox, lock_reply_output(path):
        sink = ReplySink(inbox, None, output)
        # A signal ends it between two replies, so that none is printed and not noted.
        signals.set_reaction(lambda _number: _ask_to_end(stop), _STOPPED_PRINTING)
        whole = sink.print_waiting(stop.is_set)
        while sink.unread and not stop.wait(_unread_s):
            output.require_reader()
            sink.note_read()
        sink.finish()
    printed = f"{count(sink.replies, 'reply', 'replies')} printed"
    if not whole:
        raise Interrupted(f"stopped: {printed}.", next="print the others: reconciler callbacks inbox")
    output.note(f"{printed}.")


def print_all_replies(path: Path, output: ReplyOutput) -> None:
    """Print everything that an inbox keeps, and note nothing. Raises FileError, StoreError."""
    _require_inbox(path)
    with closing(Inbox.open(path)) as inbox:
        replies, waiting = inbox.replies(), len(inbox.waiting())
        for one in replies:
            output.deliver(output.encode(one), lambda: False)
    output.note(f"{count(len(replies), 'reply', 'replies')} kept, {waiting:,} not printed.")


def _ask_to_end(stop: Event) -> float:
    """Ask the printer to end; it has as long for it as a second signal leaves to any command."""
    stop.set()
    return signals.at_once_s


def _require_inbox(path: Path) -> None:
    if not path.exists():
        raise FileError(f"there is no inbox at {path}.", next="name the inbox of the listener: --inbox FILE")


@contextmanager
def lock_reply_output(inbox: Path) -> Iterator[None]:
    """Be the only process that prints from this inbox, so that each reply is printed once. Raises LockHeld.

    The lock is a file beside the inbox; the system frees it when its holder ends, however that happens.
    """
    if sys.platform == "win32":  # there one has to see to it oneself
        yield
        return
    path = inbox.with_name(f"{inbox.name}.lock")
    if fault := find_fault(path, "--inbox", closed=False):
        raise FileError(f"{path}: cannot be used: {fault[0]}.", next=fault[1])
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written: {(error.strerror or 'no reason given').lower()}.",
            next="check that you may write in that folder, or name another place with --inbox",
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockHeld(
                f"the replies of {inbox} are being printed by another command.",
                next="see what is there: reconciler callbacks inbox --all; or stop the other command",
            ) from None
        yield


# --- Listening --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListenRequest:
    """What one `callbacks listen` was asked for. `open_socket` opens its port, and raises where it cannot."""

    config: ReceiverConfig
    inbox: Path
    events: Path | None
    open_socket: Callable[[], AbstractContextManager[socket]]


@dataclass(slots=True)
class RefusalCounts:
    """Requests that were not answered with 200, counted by their reason."""

    note: Callable[[str], None]
    counted: Counter[str] = field(default_factory=Counter)

    def add(self, refused: RefusedRequest) -> None:
        """Count one more; each reason is reported once: many would fill a log."""
        self.counted[refused.why] += 1
        if self.counted[refused.why] == 1:
            self.note(
                f"refused with {refused.status}: {refused.what}\n  later ones of this kind are only counted"
            )


def run_listener(request: ListenRequest, output: ReplyOutput) -> None:
    """Take replies until a signal. Raises FileError for a port, a file or an output that cannot be used."""
    refusals, stop = RefusalCounts(output.note), Event()
    with ExitStack() as held:
        inbox = held.enter_context(closing(Inbox.open(request.inbox)))
        held.enter_context(lock_reply_output(request.inbox))
        events = held.enter_context(closing(EventFile(request.events))) if request.events else None
        sink = ReplySink(inbox, events, output)
        printer = ReplyPrinter(sink)
        listening = held.enter_context(request.open_socket())
        app = create_keeper(request.config, inbox, printer.wake, refusals.add)
        signals.set_reaction(lambda _number: _ask_to_end(stop), _STOPPED_LISTENING, code=0)
        printer.start()
        try:
            receiver_server.serve_receiver(
                app,
                listening,
                on_ready=lambda: output.note(_ready_note(asgi_server.socket_url(listening), request)),
                asked=lambda: stop.is_set() or printer.error is not None,
            )
        finally:
            _end_listening(printer, sink, refusals, asked=stop.is_set())


def _end_listening(printer: ReplyPrinter, sink: ReplySink, refusals: RefusalCounts, *, asked: bool) -> None:
    """Stop printing, and say what was printed. Raises what ended the printer, unless we were asked to end."""
    printer.stop()
    waiting = len(sink.inbox.waiting())
    sink.output.note(
        f"stopped: {count(sink.replies, 'reply', 'replies')}, {refusals.counted.total():,} refused."
        + (f"\n  {waiting:,} not printed: {_LATER}" if waiting else "")
    )
    # Ctrl-C ends all of a pipeline: that our reader went first is no error.
    if printer.error is not None and not (asked and isinstance(printer.error, sink.output.lost)):
        raise printer.error


def _ready_note(where: str, request: ListenRequest) -> str:
    config = request.config
    way = f"the header {config.header}" if config.how == "header" else "the query (auth=...)"
    key = (
        f"with its key in {way}" if config.key else "without a key: any caller that can reach it is accepted"
    )
    return (
        f"listening at {where}{config.path}, {key}\n"
        f"  kept in {request.inbox}; one line a reply on standard output\n"
        "  register it: reconciler callbacks create NAME URL, where URL leads here; stop with Ctrl-C"
    )
