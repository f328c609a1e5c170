"""One page says that a list stands still only where the walk of that page would end, with nothing newer."""

from collections.abc import Callable, Sequence

import pytest
from msgspec import structs

from reconciler.core.feed import DONE, FeedWalk, NewestRows, RememberedList, is_first_page_unchanged
from reconciler.core.feed_rows import FeedRow, make_feed_row, make_feed_rows

SETTLED, TOTAL, PAGE = 900.0, 40, 4
# In the list's own order; the four that changed last are neither first nor in the order of their changes.
LIST = tuple(
    make_feed_row(f"A{n}", 100.0 + (n * 7) % TOTAL, {"id": f"A{n}", "job": "Nurse"}, "then")
    for n in range(TOTAL)
)
KNOWN = RememberedList(make_feed_rows(LIST), SETTLED, PAGE, "2026-03-01T09:00:00+00:00")
FIRST = tuple(
    structs.replace(row, date="now") for row in sorted(LIST, key=lambda row: row.at, reverse=True)[:PAGE]
)


def newest() -> NewestRows:
    """Return what the walk of the first page notes."""
    walk = FeedWalk(KNOWN)
    assert walk.take(FIRST, total=TOTAL, last=False) == DONE
    return walk.newest(KNOWN)


def test_the_same_page_says_so() -> None:
    """However often it is asked: when a row was read is no part of it."""
    assert is_first_page_unchanged(newest(), FIRST, total=TOTAL, last=False)


def _edited(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    first = page[0]
    return [make_feed_row(first.remote_id, first.at, {**first.body, "job": "Pilot"}, first.date), *page[1:]]


def _newer(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return [structs.replace(page[0], at=SETTLED), *page[1:]]


def _somebody_else(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return [*page[:-1], structs.replace(page[-1], remote_id="B1")]


def _without_its_time(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return [*page[:-1], None]


def _twice(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return [*page, page[-1]]


def _out_of_order(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return [*page[:-2], page[-1], page[-2]]


def _one_alone(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return page[:1]


def _from_further_below(page: Sequence[FeedRow]) -> Sequence[FeedRow | None]:
    return page[1:]


@pytest.mark.parametrize(
    "change",
    [
        _edited,
        _newer,
        _somebody_else,
        _without_its_time,
        _twice,
        _out_of_order,
        _one_alone,
        _from_further_below,
    ],
)
def test_another_page_does_not(change: Callable[[Sequence[FeedRow]], Sequence[FeedRow | None]]) -> None:
    """Each may hide a change behind it."""
    assert not is_first_page_unchanged(newest(), change(FIRST), total=TOTAL, last=False)


@pytest.mark.parametrize(
    ("total", "last"), [(TOTAL - 1, False), (TOTAL + 1, False), (None, False), (TOTAL, True)]
)
def test_a_list_of_another_length_does_not(total: int | None, last: bool) -> None:  # noqa: FBT001 - a column
    """Somebody was deleted or added, or nobody knows."""
    assert not is_first_page_unchanged(newest(), FIRST, total=total, last=last)


def test_somebody_who_was_not_shown_and_changed_later_does_not() -> None:
    """Then the order of the page is not that of the changes."""
    late = structs.replace(newest(), others_at=FIRST[-1].at + 1)

    assert not is_first_page_unchanged(late, FIRST, total=TOTAL, last=False)


def test_the_own_order_of_the_list_proves_nothing() -> None:
    """A service that ignores the order that it was asked for shows just that."""
    own = structs.replace(newest(), places=tuple(range(PAGE)))

    assert not is_first_page_unchanged(own, FIRST, total=TOTAL, last=False)
