"""How the cost of some work grows with its input: 8 times the input may cost at most 24 times the time.

Linear work costs 8 times as much, quadratic work 64 times. What is measured is the processor time of this
thread alone, without the collector, and the least of several measures: neither load nor other tests count.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

FACTOR = 8  # how much larger the large input is
RATIO_MAX = 24.0  # quadratic work would give 64
_TRIES = 6  # a measure can be too long by chance, never too short: the least of them is the nearest
# On a machine that is shared, what disturbs one measure lasts for seconds, and thirty of a few milliseconds
# each are over before it. What linear work may then seem to be is measured further; what is beyond that does
# grow.
_DOUBTFUL, _TRIES_IN_DOUBT, _DOUBT_S = 32.0, 30, 15.0
_HOPELESS_S = 2.0  # no large input here takes so long, and no measure would be forty times too long
_FLOOR_S = 0.0005  # less than this is not measured well; a small input costs at least so much here


def ratio(work: Callable[[T], object], make: Callable[[int], T], size: int) -> float:
    """Return how many times as long `work` takes for the input of 8 times the size, at best."""
    small, large = make(size), make(FACTOR * size)
    work(small)
    shortest, longest = _seconds(work, small), _seconds(work, large)
    tried, ends = 0, time.monotonic() + _DOUBT_S
    while tried < _TRIES_IN_DOUBT or time.monotonic() < ends:
        shortest = min(shortest, _seconds(work, small))
        found = longest / max(shortest, _FLOOR_S)
        if found <= RATIO_MAX or longest > _HOPELESS_S or (tried >= _TRIES and found > _DOUBTFUL):
            break
        longest = min(longest, _seconds(work, large))
        tried += 1
    return longest / max(shortest, _FLOOR_S)


@contextmanager
def bounded(seconds_max: float) -> Iterator[None]:
    """Hold what is done inside to a bound: of what hangs, and no measure of speed.

    At least a hundred times what the work takes. A process of many tests has a gigabyte that the collector
    goes through, and other threads; neither counts.
    """
    spent = _Spent()
    with spent.measured():
        yield
    assert spent.seconds < seconds_max


def _seconds(work: Callable[[T], object], given: T) -> float:
    spent = _Spent()
    with spent.measured():
        work(given)
    return spent.seconds


class _Spent:
    """Processor time of this thread, without the collector."""

    seconds = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        collecting = gc.isenabled()
        gc.disable()
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds = time.thread_time() - began
            if collecting:
                gc.enable()
