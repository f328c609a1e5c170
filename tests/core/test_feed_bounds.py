"""How far a list is followed in order of change."""

import pytest

from reconciler.core.feed import MORE, FeedWalk, RememberedList
from reconciler.core.feed_rows import FeedRow, make_feed_row, make_feed_rows

KNOWN = RememberedList(
    make_feed_rows(make_feed_row(f"ID{n}", float(n), {}, "") for n in range(100)), 1000.0, 20, "2026-01-01"
)


def _new(start: int, number: int) -> list[FeedRow | None]:
    """New rows, newest first."""
    return [make_feed_row(f"NEW{n}", 1e9 - n, {}, "") for n in range(start, start + number)]


@pytest.mark.parametrize("total", [201, 10_000, 999_999_999])
def test_a_list_that_grew_without_measure_is_not_followed(total: int) -> None:
    """New rows for ever, below a total that is never reached: reading the list itself finds that out."""
    judged = FeedWalk(KNOWN).take(_new(0, 20), total=total, last=False)

    assert judged.why == "it has more than twice the rows that it had"


@pytest.mark.parametrize("total", [120, 200])
def test_a_list_that_grew_by_some_rows_is_followed(total: int) -> None:
    """As many people come at once as there were."""
    assert FeedWalk(KNOWN).take(_new(0, 20), total=total, last=False) == MORE
