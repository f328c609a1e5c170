"""What is tried before a change lands: a part of the planted defects each day, and of all else everything."""

import effort
import pytest


def test_three_days_plant_every_defect_once(request: pytest.FixtureRequest) -> None:
    """A defect that no day plants would be missed for ever."""
    items = [
        pytest.Function.from_parent(request.node.parent, name=f"test_a[{number}]", callobj=lambda: None)
        for number in range(100)
    ]
    for item in items:
        item.add_marker(effort.landing_part(3))
    days = [effort.pick_landing_parts(items, day) for day in (738_000, 738_001, 738_002)]

    assert sorted(map(len, days)) == [33, 33, 34]
    assert set().union(*days) == set(items)


def test_what_is_not_marked_is_tried_every_day(request: pytest.FixtureRequest) -> None:
    items = [
        pytest.Function.from_parent(request.node.parent, name=f"test_a[{number}]", callobj=lambda: None)
        for number in range(7)
    ]

    assert effort.pick_landing_parts(items, 738_000) == set(items)


def test_of_many_cases_every_other_one_is_tried(request: pytest.FixtureRequest) -> None:
    """Two days try all of them."""
    items = [
        pytest.Function.from_parent(request.node.parent, name=f"test_a[{number}]", callobj=lambda: None)
        for number in range(20)
    ]
    days = [effort.pick_landing_parts(items, day) for day in (738_000, 738_001)]

    assert [len(one) for one in days] == [10, 10]
    assert set().union(*days) == set(items)
