"""The cyclic collector, and where it is left out: it would walk many new values again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Load without the cyclic collector.

    What is loaded is left to it afterwards: a program that plans many times must not keep all of it for ever.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
