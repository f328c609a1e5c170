"""The pace that all runs with one credential share: a row in a shared store, on that store's clock.

All runs take turns from one row, so together they stay below the service's limit, and a refusal of one
slows all. It is a courtesy: a run that cannot reach the row goes on by a pace of its own. The arithmetic is
in core/calls.py, the waiting in service/http/limiter.py. Only a keyed hash of the credential arrives here.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct, structs

from reconciler.concurrency import run_in_thread, time_limit
from reconciler.core import calls as paces
from reconciler.errors import StoreError
from reconciler.store.adapter import Connection, UnexpectedRows
from reconciler.store.connection import Database
from reconciler.store.schema import PACES

# Of the ceiling. Between this row and the service's door lie the delays of several machines: with 5 % kept
# back, requests that arrive up to 50 ms late never pass the ceiling together (see service/http/limiter.py).
pace_share = 0.95
ahead_s = 0.5  # seconds' worth of turns taken at once: a few transactions a second, whatever the rate
pace_answer_max_s = 5.0  # seconds; a limit that costs more than the calls it spaces is no help
statement_max_s = 2.0  # seconds, at the server, so that no statement waits on for a run that has gone
ahead_max_s = (
    600.0  # seconds; a pace that is further ahead was not left by this program (it pauses for 60 at most)
)

_CHANGE = (
    "UPDATE paces SET rate = :rate, changed_at = :changed_at, next_at = :next_at, seen_at = :seen_at "
    "WHERE credential = :credential"
)


class SharedPace:
    """The pace of one credential, shared by all runs with the same store, which must be `shared`.

    `ceiling` is our own limit in turns a second, 0 for none known; others may have another, and each keeps to
    its own. Raises StoreError where the store does not answer, or may not be written.
    """

    def __init__(
        self,
        database: Database,
        credential: str,
        per_second: float,
        *,
        offload: Callable[[Callable[[], Any]], Awaitable[Any]] = run_in_thread,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ceiling = per_second
        self.ahead_s = ahead_s
        self._database = database
        self._credential = credential
        self._offload = offload
        self._monotonic = monotonic
        self._turn = asyncio.Lock()
        self._difference = _Difference()

    async def reserve(self, turns: int) -> tuple[float, float]:
        """Take so many turns; return the seconds until the first begins, and those between two."""

        def take(pace: paces.Pace, now: float) -> tuple[paces.Pace, tuple[float, float]]:
            after, begins_at, spacing_s = paces.reserve_turns(pace, now, turns, self._limit)
            return after, (begins_at, spacing_s)

        begins_at, spacing_s = await self._transaction(take)
        return max(begins_at + self._difference.seconds - self._monotonic(), 0.0), spacing_s

    async def slowed(self, asked_s: float) -> None:
        """Halve the rate of all runs, at most once a second, and pause all for `asked_s` seconds."""

        def slow(pace: paces.Pace, now: float) -> tuple[paces.Pace, tuple[float, float]]:
            return paces.slow_down(pace, now, self._limit, asked_s), (now, 0.0)

        await self._transaction(slow)

    @property
    def _limit(self) -> float:
        return self.ceiling * pace_share

    async def _transaction(
        self, change: Callable[[paces.Pace, float], tuple[paces.Pace, tuple[float, float]]]
    ) -> tuple[float, float]:
        """Change the row, and return what `change` returns beside the new pace."""
        try:
            async with time_limit(pace_answer_max_s), self._turn:
                done: _Done = await self._offload(lambda: self._change_row(change))
        except TimeoutError:
            raise StoreError(
                f"the store {self._database.name}: it did not answer within {pace_answer_max_s:g} s.",
                next="check the store; calls keep to a pace of their own meanwhile",
            ) from None
        self._difference.saw(done.asked_at, done.now, done.answered_at)
        return done.found

    def _change_row(
        self, change: Callable[[paces.Pace, float], tuple[paces.Pace, tuple[float, float]]]
    ) -> "_Done":
        # A store that was opened for reading is written too: a plan's calls count.
        with self._database.changing_rows() as connection:
            # Nothing is lost with this row: it need not be on the disk before the answer.
            self._database.engine.relax_transaction(connection, statement_max_s)
            asked_at = self._monotonic()
            pace, now = self._read(connection)
            answered_at = self._monotonic()
            after, found = change(pace, now)
            connection.execute(_CHANGE, {**structs.asdict(after), "credential": self._credential})
        return _Done(found, asked_at, now, answered_at)

    def _read(self, connection: Connection) -> tuple[paces.Pace, float]:
        """Return the pace and the store's time, once no other run can change it."""
        engine = self._database.engine
        row = engine.read_pace(connection, self._credential)
        if row is None:
            # Last used when the clock began. Several runs may do this at once: one of them makes the row.
            new = {"rate": self._limit, "changed_at": 0.0, "next_at": 0.0, "seen_at": 0.0}
            mine = {"credential": self._credential, **new}
            connection.execute(f"{PACES.insert} ON CONFLICT DO NOTHING", mine)
            row = engine.read_pace(connection, self._credential)
            if row is None:
                raise UnexpectedRows
        *known, now = row
        pace = paces.Pace(*known)
        return (pace if _is_believable(pace, now) else paces.begin_pace(now, self._limit)), now


class _Done(Struct, frozen=True):
    """What a transaction found, and the store's `now` between two moments of our own clock."""

    found: tuple[float, float]
    asked_at: float
    now: float
    answered_at: float


class _Difference:
    """What to add to a time of the store's clock to have it on ours: never too early, by the fastest answer.

    Each answer only says that its `now` lay between asking and hearing. Taking the end of the shortest such
    stretch keeps the turns of one program as far apart as the store spaced them, however uneven answers are.
    """

    def __init__(self) -> None:
        self.seconds = math.inf

    def saw(self, asked_at: float, now: float, answered_at: float) -> None:
        """Learn from one answer. A difference that cannot be true any more (a clock was set) is given up."""
        self.seconds = min(self.seconds, answered_at - now)
        if self.seconds < asked_at - now:
            self.seconds = answered_at - now


def _is_believable(pace: paces.Pace, now: float) -> bool:
    """Whether this program can have left such a row: a clock that was turned back is no reason for doubt."""
    last = max(now, pace.seen_at)
    return (
        all(map(math.isfinite, structs.astuple(pace)))
        and max(pace.changed_at, pace.next_at) < last + ahead_max_s
    )
