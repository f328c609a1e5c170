"""From the inbox to the output: each reply is printed, then marked as printed, one after the other.

The order is what no reply is lost by: on disk in the inbox, acknowledged, in the event file, on standard
output, noted as told. A kill before the last step tells the last ones again, with the same ids.

Belongs here: the one teller of an inbox. Not here: receiving (listening.py), how a line reads (report/).
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from reconciler import signals
from reconciler.cli.console import output
from reconciler.cli.verbs.service.callbacks import pipe
from reconciler.errors import FileError, Interrupted, LockHeld
from reconciler.messaging.inbox import EventFile, Inbox, StoredReply
from reconciler.messaging.reports import reply_json, reply_lines
from reconciler.ownership import find_fault
from reconciler.report.lines import count

if sys.platform != "win32":
    import fcntl

_idle_s = 0.5  # seconds between two looks whether anybody still reads, while nothing is to be told
_unread_s = 0.05  # seconds between two looks whether the reader has taken what was written
_STOPPED = b"stopped: the last reply may be printed again.\n  next: reconciler callbacks inbox\n"
patience_s = 0.3  # seconds that a reader who sleeps gets after we were asked to stop


@dataclass(slots=True)
class ReplySink:
    """Where replies are handed over: the event file first, then standard output.

    A reply counts as told when the reader of a pipe has taken its line out: what a pipe still holds when
    its reader dies is lost with it. Elsewhere it counts when it is written.
    """

    inbox: Inbox
    events: EventFile | None
    as_json: bool
    replies: int = 0
    _handed: deque[tuple[int, int]] = field(default_factory=deque)  # bytes written up to its end, its number
    _written: int = 0
    _last: int = 0

    @property
    def unread(self) -> bool:
        """Whether something was written that the reader has not taken."""
        return bool(self._handed)

    def tell_all(self, give_up: Callable[[], bool]) -> bool:
        """Hand over all that waits, oldest first; return whether it was all. Raises FileError, StoreError."""
        return all(
            not give_up() and self._tell(kept, give_up) for kept in self.inbox.untold(after=self._last)
        )

    def note_read(self) -> None:
        """Note as told what the reader has taken."""
        self._note(self._written - pipe.unread())

    def finish(self) -> None:
        """Note as told what the pipe holds, for its reader will take it. Raises OutputLost without one."""
        if self._handed:
            pipe.require_reader()
            self._note(self._written)

    def _tell(self, kept: StoredReply, give_up: Callable[[], bool]) -> bool:
        if self.events is not None:
            self.events.append(reply_json(kept.reply, kept.received_at, kept.id), kept.id)
        line = line_of(kept, as_json=self.as_json)
        if not pipe.deliver(line, give_up):
            return False
        self._written += len(line)
        self._last = kept.number
        self._handed.append((self._written, kept.number))
        self.note_read()
        return True

    def _note(self, taken: int) -> None:
        while self._handed and self._handed[0][0] <= taken:
            self.inbox.told(self._handed[0][1])
            self._handed.popleft()
            self.replies += 1


def line_of(kept: StoredReply, *, as_json: bool) -> bytes:
    """Return what is printed for one reply."""
    if as_json:
        text = output.inert_json(reply_json(kept.reply, kept.received_at, kept.id))
    else:
        text = output.for_stdout(reply_lines(kept.reply, kept.received_at))
    return text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")


class Teller:
    """Prints from the inbox in a thread of its own, so that a slow reader does not delay the receiver."""

    def __init__(self, sink: ReplySink) -> None:
        self._sink = sink
        self._news = Event()
        self._stop_at: float | None = None
        self._thread = Thread(target=self._run, name="teller", daemon=True)
        self.error: Exception | None = None

    def start(self) -> None:
        """Tell what waits already, and from now on what comes."""
        self._news.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that there is more to tell."""
        self._news.set()

    def stop(self) -> None:
        """Tell what can be told at once, and end; `error` is what ended it before, if anything did."""
        self._stop_at = time.monotonic() + patience_s
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._stop_at is None:
                self._news.wait(_unread_s if self._sink.unread else _idle_s)
                self._news.clear()
                pipe.require_reader()
                self._sink.tell_all(self._is_late)
                self._sink.note_read()
            self._sink.tell_all(self._is_late)
            self._sink.finish()
        except Exception as error:  # noqa: BLE001 - raised by the listener, which ends
            self.error = error

    def _is_late(self) -> bool:
        return self._stop_at is not None and time.monotonic() > self._stop_at


def inbox(*, everything: bool, inbox: str, as_json: bool) -> int:
    """Tell what waits in an inbox, or show everything that it keeps."""
    (show_all if everything else tell_waiting)(Path(inbox), as_json=as_json)
    return 0


def tell_waiting(path: Path, *, as_json: bool) -> None:
    """Tell what waits in an inbox, once, and return when the reader has taken it.

    Raises FileError, StoreError, LockHeld; Interrupted at a signal.
    """
    _require(path)
    stop = Event()
    with closing(Inbox.open(path)) as inbox, only_teller(path):
        sink = ReplySink(inbox, None, as_json)
        # A signal ends it between two replies, so that none is printed and not noted.
        signals.set_reaction(lambda _number: ending(stop), _STOPPED)
        whole = sink.tell_all(stop.is_set)
        while sink.unread and not stop.wait(_unread_s):
            pipe.require_reader()
            sink.note_read()
        sink.finish()
    told = f"{count(sink.replies, 'reply', 'replies')} printed"
    if not whole:
        raise Interrupted(f"stopped: {told}.", next="print the others: reconciler callbacks inbox")
    output.note(f"{told}.")


def show_all(path: Path, *, as_json: bool) -> None:
    """Show everything that an inbox keeps, and note nothing. Raises FileError, StoreError."""
    _require(path)
    with closing(Inbox.open(path)) as inbox:
        kept, waiting = inbox.replies(), len(inbox.untold())
        for one in kept:
            pipe.deliver(line_of(one, as_json=as_json), lambda: False)
    output.note(f"{count(len(kept), 'reply', 'replies')} kept, {waiting:,} not printed.")


def ending(stop: Event) -> float:
    """Ask a teller to end; it has as long for it as a second signal leaves to any command."""
    stop.set()
    return signals.at_once_s


def _require(path: Path) -> None:
    if not path.exists():
        raise FileError(f"there is no inbox at {path}.", next="name the inbox of the listener: --inbox FILE")


@contextmanager
def only_teller(inbox: Path) -> Iterator[None]:
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
