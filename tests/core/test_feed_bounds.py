"""How far a list is followed in order of change."""

import pytest

from reconciler.core.feed import DONE, MORE, FeedWalk, RememberedList
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


def test_people_edited_in_one_second_are_followed_by_the_rows_that_show_the_order() -> None:
    """They fill a page in the list's own order; the next page proves that it was the order of change."""
    times = {f"ID{n}": float(n) for n in range(100)} | {"ID98": 99.0}
    rows = {one: make_feed_row(one, at, {}, "") for one, at in times.items()}
    edited: list[FeedRow | None] = [
        make_feed_row(f"ID{n}", 2000.0, {"jobTitle": "Pilot"}, "") for n in range(18)
    ]
    walk = FeedWalk(RememberedList(make_feed_rows(rows.values()), 1000.0, 20, "2026-01-01"))

    first = walk.take([*edited, rows["ID98"], rows["ID99"]], total=100, last=False)
    second = walk.take([rows[f"ID{n}"] for n in range(97, 77, -1)], total=100, last=False)

    assert (first, second) == (MORE, DONE)


def test_rows_of_one_time_are_followed_for_one_page_more() -> None:
    """A service that ignores the order would be followed to the end of its list otherwise."""
    known = RememberedList(
        make_feed_rows(make_feed_row(f"ID{n}", 5.0, {}, "") for n in range(200)), 1000.0, 20, "2026-01-01"
    )
    walk = FeedWalk(known)
    pages: list[list[FeedRow | None]] = [
        [make_feed_row(f"ID{n}", 5.0, {}, "") for n in range(start, start + 20)] for start in (0, 20)
    ]

    first, second = (walk.take(rows, total=200, last=False) for rows in pages)

    assert (first, second.why) == (MORE, "its order of change is the order of the list")
