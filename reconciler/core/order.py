"""Waves: what may run together, and what has to wait for it.

1 resources   2 contacts   3 devices            creates and updates: parents before children
4 devices     5 contacts   6 resources          deletes: the other way round, after all else
"""

from collections.abc import Iterable

from reconciler.model.changes import Change, Delete

_WAVES = {
    ("resource", False): 1,
    ("contact", False): 2,
    ("device", False): 3,
    ("device", True): 4,
    ("contact", True): 5,
    ("resource", True): 6,
}


def wave(change: Change) -> int:
    """Return the number of the wave that a change belongs to (planning rule A5)."""
    return _WAVES[change.address.kind, isinstance(change, Delete)]


def ordered(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes by wave, then by address: the order in which a plan holds them."""
    return tuple(sorted(changes, key=lambda change: (wave(change), change.address)))


def waves(changes: Iterable[Change]) -> tuple[tuple[Change, ...], ...]:
    """Return the non-empty waves in order; inside a wave nothing depends on anything."""
    groups: dict[int, list[Change]] = {}
    for change in ordered(changes):
        groups.setdefault(wave(change), []).append(change)
    return tuple(tuple(group) for group in groups.values())
