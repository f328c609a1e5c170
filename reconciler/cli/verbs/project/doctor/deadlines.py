"""Work with a deadline, in a thread of its own, so that a call that hangs delays nothing else.

Only that belongs here. A thread cannot be ended from outside: one that is late is left behind, and ends
with the process, so this is for work that changes nothing.
"""

import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def run_within(work: Mapping[str, Callable[[], T]], timeout_s: float) -> dict[str, T]:
    """Return what each piece of work returned, all of them begun at once; what was late is missing.

    The work must not raise: what it raised would be missing too.
    """
    done: SimpleQueue[tuple[str, T]] = SimpleQueue()
    for name, each in work.items():
        # Bound as defaults: the loop's names change before a thread has looked at them.
        Thread(target=lambda name=name, each=each: done.put((name, each())), daemon=True).start()
    ends_at = time.monotonic() + timeout_s
    found: dict[str, T] = {}
    while len(found) < len(work):
        try:
            name, result = done.get(timeout=max(0.0, ends_at - time.monotonic()))
        except Empty:
            break
        found[name] = result
    return found
