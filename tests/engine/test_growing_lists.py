"""What is held of the rows of a list while its pages arrive (engine/lists.py)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.lists import GrowingList, HeldList, ListedRows, PackedList
from reconciler.model.kinds import KINDS
from reconciler.service.paging import Found

CONTACT = KINDS["contact"]
CHANGED = "2026-03-01T09:00:00+00:00"

values = st.recursive(
    st.text(max_size=5) | st.booleans() | st.none() | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(st.sampled_from(["firstName", "customFields", "new"]), values)


@given(st.lists(st.tuples(bodies, st.sampled_from([CHANGED, CHANGED, CHANGED, "", None]))), st.integers(1, 4))
def test_packed_rows_say_what_held_ones_do(given: list[tuple[dict[str, Any], str | None]], page: int) -> None:
    """Whatever a service shows: rows without a time of change, and numbers that fit no packed form."""
    rows = [
        Found(f"ID{number}", body if at is None else {**body, "lastModifiedTime": at}, CHANGED)
        for number, (body, at) in enumerate(given)
    ]
    packed, held = PackedList(CONTACT), HeldList()
    for start in range(0, len(rows), page):
        for one in (packed, held):
            one.add(rows[start : start + page])

    assert list(packed.finish().items()) == list(held.finish().items())


@pytest.mark.parametrize(
    ("body", "packs"),
    [
        ({"lastModifiedTime": CHANGED, "new": 2**64 - 1}, True),
        ({"lastModifiedTime": CHANGED, "new": 2**64}, False),
        ({"lastModifiedTime": "yesterday"}, False),
        ({}, False),
    ],
    ids=["a number of 64 bits", "a longer number", "no time", "nothing"],
)
def test_a_row_that_cannot_be_kept_keeps_the_whole_list_from_it(body: dict[str, Any], *, packs: bool) -> None:
    """A number of more than 64 bits, in a field that nobody knows, once ended a plan with a traceback."""
    rows = PackedList(CONTACT)
    rows.add([Found("A", {"lastModifiedTime": CHANGED}, CHANGED), Found("B", body, CHANGED)])

    found = rows.finish()

    assert isinstance(found, ListedRows) is packs
    assert found["B"].body == body


def test_of_a_list_that_nobody_asks_for_again_no_row_is_held() -> None:
    """A first plan of 100,000 people judges each row when it comes: held, they are 150 MiB."""
    rows = GrowingList()
    rows.add([Found("A", {"firstName": "Ada"}, CHANGED)])

    assert not rows.finish()
