"""Which logs there are, by name: the one table of it; and a watch for what a line tells.

Belongs here: names, and how long something took. Not here: who listens (cli/console/logs.py,
cli/console/progress.py), what a line says, which is decided where it happens. No line holds a secret, nor
anything of a person but the address of what is written. Nothing is decided by this watch: runs have a clock
of their own.
"""

import logging
import time
from collections.abc import Callable

STEPS = "reconciler.steps"  # what a command does, a sentence each
CALLS = "reconciler.calls"  # each try of a call to the service (service/http/told.py)
READING = "reconciler.reading"  # how far a list is read (engine/progress.py)

steps = logging.getLogger(STEPS)
calls = logging.getLogger(CALLS)
reading = logging.getLogger(READING)

for _name in ("httpx2", "httpcore2"):
    # Below WARNING they write whole URLs, and links from answers; either may hold a key.
    logging.getLogger(_name).setLevel(logging.WARNING)


def stopwatch(clock: Callable[[], float] = time.monotonic) -> Callable[[], float]:
    """Return what tells the seconds since now."""
    began = clock()
    return lambda: clock() - began
