"""Connections to PostgreSQL that wait for an answer so long and no longer, by this machine's clock.

The limits that the server keeps (postgres.py) end nothing where it takes our words and says nothing: the
other side acknowledges what arrives, so that the network is no help either. Loads the driver.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")


class NoAnswer(psycopg.OperationalError):
    """The server took what we sent, and answered nothing for too long."""


class _Patient(psycopg.Connection[Any]):
    """A connection that waits for each answer so long and no longer, whatever the other side does.

    Everything that talks to the server (statements, commit, rollback) passes `wait`. The driver asks every
    tenth of a second whether it should go on; a server that trickles is asked as well.
    """

    answer_max_s = 0.0  # seconds

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **words: Any) -> T:
        """Return what `gen` returns. Raises NoAnswer, and then the connection is closed."""
        try:
            return super().wait(_timed(gen, self.answer_max_s), *args, **words)
        except NoAnswer:
            self.pgconn.finish()  # nothing more is said on it; the pool takes another one
            raise


def _timed(gen: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    ends_at = time.monotonic() + seconds
    try:
        state = next(gen)
        while True:
            ready = yield state
            state = gen.send(ready)
            if time.monotonic() > ends_at:
                raise NoAnswer(f"timeout: no answer within {seconds:g} s")
    except StopIteration as ended:
        value: T = ended.value
        return value


def connect(_dialect: object, _record: object, cargs: Sequence[Any], cparams: Mapping[str, Any]) -> _Patient:
    """Return a connection, in the place of the one that the driver would make by itself."""
    connection = _Patient.connect(*cargs, **cparams)
    connection.answer_max_s = float(cparams["connect_timeout"])  # one patience for the call and every answer
    return connection


def is_silence(error: BaseException) -> bool:
    """Whether the server did not answer in time, in a conversation or when it was called."""
    return isinstance(error, (NoAnswer, psycopg.errors.ConnectionTimeout))
