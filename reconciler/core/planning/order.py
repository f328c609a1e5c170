"""Waves: what may run together, and what has to wait for it.

creates and updates in the order of the kinds' waves: parents before children
deletes the other way round, after all else
"""

from collections.abc import Iterable

from reconciler.model.kinds import KINDS, cache_by_kinds
from reconciler.model.plans import Change, Delete


@cache_by_kinds
def _last() -> int:
    # One more than twice the last wave, so that deletes count down after everything that is made: what goes
    # away last can be looked at longest (A5; tests/core/test_order.py).
    return 2 * max(kind.wave for kind in KINDS.values()) + 1


def wave(change: Change) -> int:
    """Return the number of the wave that a change belongs to (planning rule A5)."""
    number = KINDS[change.address.kind].wave
    return _last() - number if isinstance(change, Delete) else number


def ordered(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes by wave, then by address: the order in which a plan holds them."""
    # Ties by address: the same changes are the same bytes, however they were found (law 3).
    return tuple(sorted(changes, key=lambda change: (wave(change), change.address)))


def waves(changes: Iterable[Change]) -> tuple[tuple[Change, ...], ...]:
    """Return the non-empty waves in order; inside a wave nothing depends on anything."""
    groups: dict[int, list[Change]] = {}
    for change in ordered(changes):
        groups.setdefault(wave(change), []).append(change)
    return tuple(tuple(group) for group in groups.values())
