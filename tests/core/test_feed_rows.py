"""Rows in columns say what the rows said, however they were changed, packed and opened again."""

from random import Random

import pytest

from reconciler.core.feed import RememberedList, pack_list, unpack_list
from reconciler.core.feed_rows import FeedRow, FeedRows, make_feed_row, make_feed_rows

_KEY = ("contacts",)


def _row(chance: Random, number: int) -> FeedRow:
    # Ids of several lengths, some the beginning of others, some beyond ASCII.
    remote_id = f"{'Ä' if number % 7 == 0 else 'A'}{number}"
    body = {"id": remote_id, "job": chance.choice(("", "Nurse", "Pilot " * 40)), "tags": [number]}
    return make_feed_row(remote_id, chance.randrange(10**6) / 8, body, f"date {chance.randrange(5)}")


def _reopened(rows: FeedRows) -> FeedRows:
    known = unpack_list(b"".join(pack_list(RememberedList(rows, 1.5, 20, "then", "late"), _KEY)), _KEY)
    assert known is not None
    assert (known.settled, known.step, known.completed, known.caught) == (1.5, 20, "then", "late")
    return known.rows


def _says(rows: FeedRows, expected: dict[str, FeedRow]) -> None:
    assert [*rows] == [*expected.values()]
    assert [*rows.ids()] == [*expected]
    assert [*rows.times] == [row.at for row in expected.values()]
    assert [*rows.digests()] == [(one, row.digest) for one, row in expected.items()]
    for place, (remote_id, row) in enumerate(expected.items()):
        assert rows.place_of(remote_id) == place
        assert rows.id_at(place) == remote_id
        assert rows.row(place).body == row.body
    for absent in ("", "A", "A99999", "Ä", "zz"):
        assert rows.place_of(absent) is None


@pytest.mark.parametrize("seed", range(40))
def test_columns_say_what_a_plain_list_of_rows_does(seed: int) -> None:
    """Rows that come, change, show the same at another time, and go; written and opened at any moment."""
    chance = Random(seed)
    # Every other list has ids of ASCII alone.
    numbers = iter([number for number in range(1, 10_000) if seed % 2 or number % 7])
    expected = {
        row.remote_id: row for row in (_row(chance, next(numbers)) for _ in range(chance.choice((0, 1, 30))))
    }
    rows = make_feed_rows(expected.values())
    for _ in range(12):
        _says(rows, expected)
        if chance.random() < 0.5:
            rows = _reopened(rows)
        changed = [
            make_feed_row(
                one, chance.random(), expected[one].body if chance.random() < 0.5 else {"now": seed}, "later"
            )
            for one in chance.sample([*expected], len(expected) // 4)
        ]
        new = [_row(chance, next(numbers)) for _ in range(chance.choice((0, 0, 1, 3, 60)))]
        rows = rows.with_rows((*changed, *new))
        expected |= {row.remote_id: row for row in (*changed, *new)}
        gone = chance.sample([*expected], chance.choice((0, 0, min(2, len(expected)))))
        rows = rows.without(gone)
        for one in gone:
            del expected[one]
    _says(_reopened(rows), expected)


def test_changed_rows_leave_the_bytes_of_the_others_where_they_are() -> None:
    """Three changed rows of a list add three bodies; nothing is decoded or copied for the rest."""
    chance = Random(1)
    rows = _reopened(make_feed_rows(_row(chance, number) for number in range(1, 2_000)))
    before, _ = rows.bodies

    changed = rows.with_rows(
        make_feed_row(rows.id_at(place), 1.0, {"job": "Chef"}, "now") for place in (5, 7, 9)
    )

    kept, added = changed.bodies
    assert kept is before
    assert len(added) == 3 * len(make_feed_row("", 1.0, {"job": "Chef"}, "").packed)


def test_bodies_that_no_row_has_any_more_do_not_pile_up() -> None:
    """A list that changes every hour is no longer than twice its rows, whenever it was read whole."""
    rows = make_feed_rows(make_feed_row(f"A{n}", 1.0, {"turn": 0}, "") for n in range(100))
    needed = sum(map(len, rows.bodies))
    for turn in range(1, 50):
        rows = _reopened(
            rows.with_rows(make_feed_row(f"A{n}", 1.0, {"turn": turn}, f"{turn}") for n in range(100))
        )
        assert sum(map(len, rows.bodies)) <= 2 * needed
        assert len(rows.columns.dates) <= 2


def test_an_id_that_comes_twice_is_no_list() -> None:
    """It would have two places."""
    row = make_feed_row("A1", 1.0, {}, "")

    with pytest.raises(ValueError, match="twice"):
        make_feed_rows([row, row])
