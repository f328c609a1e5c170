"""How many requests at once, how many in a second, and a write right behind its look.

The arithmetic of a pace is in core/calls.py, as is why a request is repeated; a pace that several processes
share is in the store.

    request ──▶ place (so many at once) ──▶ turn (so many a second) ──▶ begins
                                              ▲ asked of a Pace, several at a time where that takes time
"""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Protocol

from msgspec import structs

from reconciler.core import calls as paces
from reconciler.errors import NotSent, StoreError
from reconciler.instrumentation import step_log

# --- A look and its write -------------------------------------------------------------------------
#
# One place and turns that are all due already, so that nothing comes between the two:
#
#     place ──▶ turns of the look and of the write ──▶ look ──▶ answered ──▶ at most `gap_s` ──▶ write
#                                                                              │ more: LookAgain, not sent


class LookAgain(NotSent):
    """The write would have left too long after its look. It was not sent."""


@dataclass(slots=True)
class WriteGaps:
    """Seconds from the answer of a look to its write, and how often a write was held back as too late."""

    seconds: list[float] = field(default_factory=list)
    again: int = 0


class LookWritePair:
    """What is left of the turns of one look and its write, and when the look was answered."""

    def __init__(self, reads: int, gap_s: float) -> None:
        self.reads = reads
        self.written = False
        self.gap_s = gap_s
        self.answered_at: float | None = None
        self.sent_at = 0.0
        self.turn = asyncio.Lock()  # one call of a pair at a time: it has one place

    def late_s(self, now: float) -> float:
        """How many seconds the look is old; 0 where nobody has looked."""
        return 0.0 if self.answered_at is None else now - self.answered_at

    def check(self, now: float) -> None:
        """Return where the write may leave now. Raises LookAgain."""
        late_s = self.late_s(now)
        if late_s > self.gap_s:
            raise LookAgain(
                f"the write could not follow the read of its entity at once: {late_s * 1000:.0f} ms lay "
                "between."
            )
        self.sent_at = now


# What one program does between an answer and the next request, 64 at once do one after the other.
class AdaptiveConcurrency:
    """How many pairs may be under way at once: halved when one was late, one more after as many in time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Return when there is room."""
        while self._inside >= int(self._limit):
            room = asyncio.get_running_loop().create_future()
            self._waiting.append(room)
            try:
                await room
            # Room may have been given to it already: passed on, or it would be lost for good.
            except asyncio.CancelledError:
                self._wake()
                raise
        self._inside += 1

    def leave(self, *, late: bool) -> None:
        """Make room, and learn from how it went."""
        self._inside -= 1
        # Additive growth, multiplicative fall, as in TCP (RFC 5681, 3.1): it settles below what is too much.
        grown = min(self._limit + 1.0 / self._limit, float(self._most))
        self._limit = max(1.0, self._limit / 2.0) if late else grown
        for _ in range(int(self._limit) - self._inside):
            self._wake()

    def _wake(self) -> None:
        while self._waiting:
            room = self._waiting.popleft()
            if not room.done():
                room.set_result(None)
                return


# --- Clocks, sleep and chance, as values that a test can choose -----------------------------------


def _utc_now() -> datetime:
    return datetime.now(UTC)


def elapsed_s() -> float:
    """Return seconds that only rise, those included in which this machine slept."""
    # Not `time.monotonic`: on Linux and macOS it stands still while the machine sleeps. A lease and a settle
    # window do not, and a write that waited through a night must be known to be old.
    return _elapsed()


def _find_clock() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):  # Linux; macOS, whose own counts sleep
        number = getattr(time, name, None)
        if number is not None:
            return partial(time.clock_gettime, number)
    return time.monotonic


_elapsed = _find_clock()


@dataclass(frozen=True, slots=True)
class Timing:
    """`monotonic` in seconds from any zero, `sleep` for seconds, `random` from 0 to 1, `now` with zone.

    `gap_s` is how many seconds after the answer to its look a write may leave. A test that counts calls
    allows more than a busy machine takes.
    """

    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]
    now: Callable[[], datetime] = _utc_now
    gap_s: float = 0.05

    @classmethod
    def real(cls) -> "Timing":
        """The system's own."""
        return cls(monotonic=elapsed_s, sleep=asyncio.sleep, random=random.random)


# Seconds, or the distance of two turns if that is more. A shared turn that is used later than this runs into
# those of others, and is given up for a new one. A shared pace keeps 5 % below its ceiling for the same
# reason: so much, and as much on the way to the service, and no second sees more than the ceiling and one.
late_max_s = 0.025
# Turns that one request may lose so, on a machine that is far behind; then it begins all the same.
late_retries_max = 8

# Turns a second. Where no limit was set, what was seen when the service first refused is taken for one; but a
# quiet moment says nothing about what the service can take, and this is what every plan of it allows.
ceiling_least = 10.0


_window_s = 1.0
_rounding_s = 1e-6
_tick_s = 0.001


class TooLate(Exception):
    """The turn would begin after the time that was given for all of them."""


class Pacer(Protocol):
    """Whom a limiter asks for turns. Raises StoreError where it cannot tell.

    `ceiling` is in turns a second, 0 for none known: then nobody asks. `ahead_s` is how many seconds'
    worth of turns to ask for at once; 0 where asking costs nothing.
    """

    ceiling: float
    ahead_s: float

    async def reserve(self, turns: int) -> tuple[float, float]:
        """Take so many turns; return the seconds until the first begins, and those between two."""

    async def slowed(self, asked_s: float) -> None:
        """Hear that a call was throttled, and for how many seconds the service wants nothing (0: no wish)."""


class LocalPace:
    """A pace that this process keeps by itself. Nobody else is asked, and nothing is kept.

    It goes on with another one's `rate`, from `next_at` on, or begins with the ceiling (rate 0) at once.
    """

    def __init__(self, ceiling: float, *, timing: Timing, rate: float = 0.0, next_at: float = 0.0) -> None:
        self.ceiling = ceiling
        self.ahead_s = 0.0
        self._timing = timing
        self._rate = rate
        self._next_at = next_at
        self._pace: paces.Pace | None = None

    async def reserve(self, turns: int) -> tuple[float, float]:
        """Take so many turns; return the seconds until the first begins, and those between two."""
        now = self._timing.monotonic()
        self._pace, begins_at, spacing_s = paces.reserve_turns(self._at(now), now, turns, self.ceiling)
        return begins_at - now, spacing_s

    async def slowed(self, asked_s: float) -> None:
        """Halve the rate, at most once a second, and pause for `asked_s` seconds."""
        now = self._timing.monotonic()
        self._pace = paces.slow_down(self._at(now), now, self.ceiling, asked_s)

    def _at(self, now: float) -> paces.Pace:
        if self._pace:
            return self._pace
        return structs.replace(paces.begin_pace(now, self._rate or self.ceiling), next_at=self._next_at)


class Limiter:
    """`async with limiter:` is one request's turn.

    At most `concurrency` turns at once. They begin as far apart as `pace` says, one after the other, so that
    no second ever sees a burst: the service counts by its own clock, not by ours. A turn that would begin at
    `ends_at` or later raises TooLate. A shared pace that fails is left for a local one, for good.
    """

    def __init__(
        self, pace: Pacer, *, concurrency: int, timing: Timing, ends_at: float = float("inf")
    ) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._gate = asyncio.Lock()
        self._pace = pace
        self._timing = timing
        self._ends_at = ends_at
        self._waiting = 0
        self._reserved = _Reserved()
        self._resumes_at = float("-inf")
        self._recent = _Recent()
        self._sent: deque[float] = deque()  # moments of the last second

    async def pair(self, reads: int) -> None:
        """Take one place, and the turns of a look of `reads` calls and of a write; all of them are due now.

        `done` gives the place back. Raises TooLate.
        """
        await self._places.acquire()
        try:
            await self._turn(reads + 1)
        except BaseException:
            self._places.release()
            raise

    def done(self) -> None:
        """Give a pair's place back."""
        self._places.release()

    async def look(self, pair: LookWritePair) -> None:
        """Return when a call of a pair's look may begin: at once, unless it takes more than expected."""
        if not pair.reads:
            await self._turn()
            return
        pair.reads -= 1
        while (wait_s := self._wait_s()) > 0:
            await self._timing.sleep(wait_s)
        self._note()

    def write(self, pair: LookWritePair) -> None:
        """Return where a pair's write may begin now. Raises LookAgain: it waits for nothing."""
        # A wait would make its look old: the caller looks again, which costs less than a wrong write.
        if self._wait_s() > 0:
            raise LookAgain(
                "the write could not follow the read of its entity at once, because of the limit on requests."
            )
        pair.written = True
        self._note()

    def _wait_s(self) -> float:
        """Seconds until a request may begin without a second that sees more than the ceiling and one."""
        now, ceiling = self._timing.monotonic(), self._pace.ceiling
        if ceiling <= 0:
            return 0.0
        while self._sent and self._sent[0] <= now - _window_s + _rounding_s:
            self._sent.popleft()
        # Turns that are evenly spaced put one more than the ceiling into a second that has both its ends.
        room_at = self._sent[0] + _window_s if len(self._sent) > math.ceil(ceiling) else now
        return max(room_at, self._resumes_at) - now

    def _note(self) -> None:
        now = self._timing.monotonic()
        if self._pace.ceiling > 0:
            self._sent.append(now)
        else:
            self._recent.note(now)

    async def __aenter__(self) -> None:
        await self._places.acquire()
        try:
            await self._turn()
        except BaseException:
            self._places.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()

    async def slowed(self, asked_s: float = 0.0) -> None:
        """Hear that a call was throttled: the rate is halved, and nobody begins for `asked_s` seconds."""
        now = self._timing.monotonic()
        if self._pace.ceiling <= 0:
            self._pace.ceiling = max(self._recent.per_second(now), ceiling_least)
        self._resumes_at = max(self._resumes_at, now + asked_s)
        # They were taken at the rate that proved to be too fast.
        self._reserved.turns = 0
        try:
            await self._pace.slowed(asked_s)
        except StoreError as error:
            self._keep_own_pace(error)
            await self._pace.slowed(asked_s)

    async def _turn(self, turns: int = 0) -> None:
        """Wait for one turn, which is used now; or for so many of a pair, which are used later."""
        if self._pace.ceiling <= 0:
            if not turns:
                self._note()
            return
        self._waiting += 1
        try:
            # One at a time, first come first served: whoever is in here sleeps until its turn begins.
            async with self._gate:
                for _ in range(turns or 1):
                    await self._begin()
                if not turns:
                    self._note()
        finally:
            self._waiting -= 1

    async def _begin(self) -> None:
        for _ in range(late_retries_max):
            begins_at = await self._next()
            if max(begins_at, self._resumes_at) >= self._ends_at:
                raise TooLate
            await self._sleep_until(max(begins_at, self._timing.monotonic() + self._wait_s()))
            if begins_at >= self._resumes_at and not self._is_late(begins_at):
                return

    async def _next(self) -> float:
        """When the next turn begins, of those reserved or of new ones."""
        usable_at = self._timing.monotonic() - late_max_s
        if not self._reserved.any_since(usable_at):
            self._reserved = await self._reserve()
        return self._reserved.take()

    async def _reserve(self) -> "_Reserved":
        # Turns that nobody uses are lost to all who share the pace: no more than are waited for.
        ahead = int(self._pace.ahead_s * self._rate)
        turns = max(min(self._waiting, ahead), 1)
        try:
            wait_s, spacing_s = await self._pace.reserve(turns)
        except StoreError as error:
            self._keep_own_pace(error)
            turns = 1
            wait_s, spacing_s = await self._pace.reserve(turns)
        return _Reserved(self._timing.monotonic() + wait_s, spacing_s, turns)

    def _is_late(self, begins_at: float) -> bool:
        """Whether a turn is over. One of our own pace never is: the next is reserved when it has begun."""
        late_s = self._timing.monotonic() - begins_at
        return self._pace.ahead_s > 0 and late_s > max(late_max_s, self._reserved.spacing_s)

    @property
    def _rate(self) -> float:
        return 1.0 / self._reserved.spacing_s if self._reserved.spacing_s else self._pace.ceiling

    async def _sleep_until(self, begins_at: float) -> None:
        """Sleep until then, and through every pause that somebody hears of meanwhile."""
        left_s = begins_at - self._timing.monotonic()
        while left_s > _rounding_s:
            await self._timing.sleep(left_s)
            # Some event loops wake up early, by less than a millisecond: then at least so long once more.
            left_s = max(begins_at, self._resumes_at) - self._timing.monotonic()
            left_s = max(left_s, _tick_s) if left_s > _rounding_s else 0.0

    def _keep_own_pace(self, error: StoreError) -> None:
        # A limit is a courtesy: nothing that must be safe depends on it, so no run ends for want of one.
        if not isinstance(self._pace, LocalPace):
            step_log.info("%s From here on this run keeps a pace of its own.", error)
            after = self._reserved.begins_at
            self._pace = LocalPace(self._pace.ceiling, timing=self._timing, rate=self._rate, next_at=after)


class _Reserved:
    """Turns that were taken and not used yet: when the next one begins, and how many there are."""

    __slots__ = ("begins_at", "spacing_s", "turns")

    def __init__(self, begins_at: float = 0.0, spacing_s: float = 0.0, turns: int = 0) -> None:
        self.begins_at = begins_at
        self.spacing_s = spacing_s
        self.turns = turns

    def any_since(self, moment: float) -> bool:
        """Let go of the turns before `moment`. Whether any are left."""
        while self.turns and self.begins_at < moment:
            self.take()
        return self.turns > 0

    def take(self) -> float:
        """When the next turn begins, which is then used."""
        begins_at = self.begins_at
        self.begins_at += self.spacing_s
        self.turns -= 1
        return begins_at


class _Recent:
    """How many turns began in the last whole second, or in this one if those are more."""

    def __init__(self) -> None:
        self._second = self._now = self._before = 0

    def note(self, now: float) -> None:
        """A turn began."""
        self._roll(int(now))
        self._now += 1

    def per_second(self, now: float) -> float:
        """Turns a second."""
        self._roll(int(now))
        return float(max(self._now, self._before))

    def _roll(self, second: int) -> None:
        if second != self._second:
            # A second without any turn lies between: the one before it says nothing about now.
            self._before = self._now if second == self._second + 1 else 0
            self._second, self._now = second, 0
