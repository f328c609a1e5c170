"""What a signal does to this process, from the first instruction of the program to the last.

One handler is installed once and never replaced, so there is no moment at which a signal does what the
interpreter would do by default. What it means is a *reaction*, which the commands exchange. Signals are
read by a thread of their own: a main thread that hangs in a disk, a database or a name server hears
nothing. A signal that is ignored when the process begins stays ignored. Standard library only, and as
little of it as possible: every import is a moment without a handler.

Not here: what an apply does when it is asked to stop (engine/context.py).
"""

# The C part of `signal`: `signal` itself imports `enum`, which takes longer than everything here.
import _signal  # type: ignore[import-not-found]  # typeshed does not know it
import _thread
import os
import sys
import time
from itertools import pairwise

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # What a signal means now. Called in the thread of the signals, with its number. Returns in how many
    # seconds the process ends whatever it does, or None where it gets all the time that it takes.
    Reaction = Callable[[int], float | None]

interrupted = 130  # 128 + SIGINT, as shells report it
# Together they are what is promised: 2 seconds from the second signal to the end, whatever hangs.
at_once_s = 1.5  # seconds for an end in good order
last_words_s = 0.4  # seconds for words and traces: a pipe without a reader takes none

STOPPED = b"stopped before anything was written. [E043]\n  next: run it again\n"
STOPPED_JSON = b"""\
{
  "version": 1,
  "outcome": "interrupted",
  "exit_code": 130,
  "code": "E043",
  "error": {
    "kind": "Interrupted",
    "message": "stopped before anything was written.",
    "next": "run it again"
  },
  "problems": []
}
"""


def end_now(words: bytes = STOPPED, *, json: bytes = b"", code: int = interrupted) -> None:
    """End the process with `code` and these last words, without waiting for anything.

    What `add_cleanup` was given is called first. No other thread is waited for, no buffer is flushed.
    """
    done = _thread.allocate_lock()
    done.acquire()

    def last() -> None:
        try:
            _run_cleanups()
            os.write(1 if json else 2, json or words)
        except OSError:  # there is no output left
            pass
        finally:
            done.release()

    try:
        _thread.start_new_thread(last, ())  # a pipe without a reader would block for ever
    except RuntimeError:  # there can be no more threads
        os._exit(code)
    done.acquire(timeout=last_words_s)
    os._exit(code)


def _run_cleanups() -> None:
    for tidy in reversed(_tidy):
        try:
            tidy()
        except OSError:  # the end comes, whatever is left behind
            continue


def end_before_start(_number: int) -> None:
    """End at once: nothing has been written, and nothing is held that a kill would not let go of."""
    end_now(json=STOPPED_JSON if wants_json(sys.argv) and not _handler.shown else b"")


def leave_to_server(_number: int) -> None:
    """Do nothing here: a server has taken the signals, and ends in its own time."""


def was_ignored_at_start(number: int) -> bool:
    """Whether this signal was ignored when the process began, which stays so.

    A shell lets a job behind `&` ignore SIGINT, `nohup` SIGHUP, `trap "" TERM` SIGTERM: somebody has decided
    that the work goes on. POSIX says that a signal that is ignored on entry to a program is not caught.
    """
    ignored: bool = _signal.getsignal(number) == _signal.SIG_IGN
    return ignored


class HoldWhileReporting:
    """Let the report of what was written get out. A second signal ends the process all the same."""

    def __init__(self, already: int = 0) -> None:
        self._count = already

    def __call__(self, _number: int) -> float | None:
        """Count one more signal."""
        self._count += 1
        return at_once_s if self._count > 1 else None


def wants_json(arguments: "Sequence[str]") -> bool:
    """Whether the command line asks for JSON: known also where the rest of it cannot be understood."""
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


class _SignalHandler:
    """The handler of the process, the pipe that it fills, and what is to be done."""

    def __init__(self) -> None:
        self.reaction: Reaction = end_before_start
        self.words, self.code = STOPPED, interrupted
        self.shown = False  # whether something was printed on stdout, behind which no JSON may follow
        self._filled = -1  # the end of the pipe that the handler writes to

    def take(self) -> None:
        readable, self._filled = os.pipe()
        os.set_blocking(self._filled, False)
        self.claim()
        _thread.start_new_thread(self._listen, (readable,))
        for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
            if not was_ignored_at_start(number):
                _signal.signal(number, self._arrived)

    def claim(self) -> bool:
        """Have the numbers of signals written to our pipe; return whether they were before."""
        if self._filled < 0:
            return True
        before: int = _signal.set_wakeup_fd(self._filled, warn_on_full_buffer=False)
        return before == self._filled

    def _arrived(self, number: int, _frame: object) -> None:
        """Pass on, in the main thread, what an event loop had written to a pipe of its own."""
        if not self.claim():
            os.write(self._filled, bytes((number,)))

    def _listen(self, readable: int) -> None:
        while True:
            for number in os.read(readable, 64):
                self.hear(number)

    def hear(self, number: int) -> None:
        """Do what this signal means now."""
        left_s = self.reaction(number)
        if left_s is not None:
            _thread.start_new_thread(self._end_in, (left_s,))

    def _end_in(self, left_s: float) -> None:
        time.sleep(left_s)
        end_now(self.words, code=self.code)


_handler = _SignalHandler()
_tidy: "list[Callable[[], object]]" = []


def take_over_signals() -> None:
    """From now on signals do what `set_reaction` said last; before that they end the process with 130."""
    if sys.platform != "win32":  # there Ctrl-C stays a KeyboardInterrupt
        _handler.take()


def hear_in_event_loop() -> None:
    """Hear signals also where the main thread hangs. To be called within an event loop: it has a pipe too."""
    _handler.claim()


def set_reaction(reaction: "Reaction", words: bytes = STOPPED, *, code: int = interrupted) -> None:
    """Let signals do this from now on. `words` and `code` are those of an end by force."""
    _handler.reaction, _handler.words, _handler.code = reaction, words, code


def note_result_shown() -> None:
    """Note that the command has begun to print its result."""
    _handler.shown = True


def add_cleanup(tidy: "Callable[[], object]") -> "Callable[[], None]":
    """Have `tidy` called where a signal ends the process; return what takes that back."""
    _tidy.append(tidy)
    return lambda: _tidy.remove(tidy)
