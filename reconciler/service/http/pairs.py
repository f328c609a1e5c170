"""A look and the write after it, with nothing between them: one place, and turns that are all due already.

    place ──▶ turns of the look and of the write ──▶ look ──▶ answered ──▶ at most `gap_s` ──▶ write
                                                                             │ more: LookAgain, not sent

Belongs here: what one pair may still use, how long ago its look was answered, how many pairs may be under way
at once. Not here: the turns themselves (limiter.py), looking again (applying/step.py).
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from reconciler.errors import NotSent


class LookAgain(NotSent):
    """The write would have left too long after its look. It was not sent."""


@dataclass(slots=True)
class Gaps:
    """Seconds from the answer of a look to its write, and how often a write was held back as too late."""

    seconds: list[float] = field(default_factory=list)
    again: int = 0


class Pair:
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
            raise LookAgain(f"could not look and write at once: {late_s * 1000:.0f} ms lay between them.")
        self.sent_at = now


# What one program does between an answer and the next request, 64 at once do one after the other.
class Crowd:
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
