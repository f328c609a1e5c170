"""The gaps between looks and writes of one run, as two numbers. Measuring them is service/http/pairs.py."""

import math
from collections.abc import Sequence

from reconciler.model.run.outcomes import Gap


def gap_of(seconds: Sequence[float], looked_again: int = 0) -> Gap | None:
    """Return median and 99th percentile (nearest rank) of these gaps, or None where there are none."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    return Gap(len(ordered), _ms(ordered, 0.5), _ms(ordered, 0.99), looked_again)


def _ms(ordered: Sequence[float], share: float) -> float:
    # Nearest rank: a gap that was measured, never one between two. The limit that it is read against is 50 ms
    # (rule A9).
    return round(ordered[math.ceil(share * len(ordered)) - 1] * 1000, 1)
