"""Fault points by name, with two levels of chance, and how often each has struck.

A point is active in a quarter of the worlds, some in more, and strikes there each fourth time it is passed,
or more often where the weather is bad. Rates that are low and always on never reach the states that lie
behind ten faults in a row; rates that are always high never reach those behind ten successes.
"""

from collections import Counter
from random import Random

active_share = 0.25
strike_shares = (0.25, 0.4, 0.6)  # the weather of a world: calm, rough or bad, a third of the worlds each


class Faults:
    """The points of one world. Which are active depends on the seed and the point's name alone."""

    def __init__(self, seed: int) -> None:
        self.on = True
        self.struck: Counter[str] = Counter()
        self.chance = Random(f"faults {seed}")
        self._seed = seed
        self.strike_share = Random(f"weather {seed}").choice(strike_shares)
        self._active: dict[str, bool] = {}

    def active(self, point: str, share: float = active_share) -> bool:
        """Whether this point, which may strike in `share` of all worlds, may strike in this one."""
        if point not in self._active:
            drawn = Random(f"{self._seed} {point}").random()
            self._active[point] = drawn < share
        return self._active[point]

    def strikes(self, point: str, share: float) -> bool:
        """Whether it happens now; counted if so."""
        if not (self.on and self.active(point) and self.chance.random() < share):
            return False
        self.count(point)
        return True

    def count(self, point: str) -> None:
        """Count a fault that was decided elsewhere."""
        self.struck[point.partition(":")[0]] += 1
