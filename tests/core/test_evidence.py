"""Who is gone, by the look and the list together: the table of M8, from the outside."""

from itertools import product
from typing import get_args

import pytest

from reconciler.core.compare.evidence import (
    ABSENCE,
    ListSays,
    MissedLook,
    is_wrong_service,
    judge_absence,
)


def test_the_table_has_a_row_for_every_two_things_that_may_be_said() -> None:
    """A pair without a row would end a run in the middle."""
    looks = ("shown", *get_args(MissedLook))

    assert set(ABSENCE) == set(product(looks, get_args(ListSays)))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("look", get_args(MissedLook))
def test_nobody_whom_the_list_shows_is_gone(look: MissedLook, *, twice: bool) -> None:
    """Evidence that she is there wins, however often a look finds nothing."""
    assert judge_absence(look, "shows", twice=twice) == "in doubt"


@pytest.mark.parametrize("twice", [False, True])
def test_a_list_that_is_absent_says_nothing_of_anybody(*, twice: bool) -> None:
    """A workspace that answers 404 for a while has lost nobody."""
    assert judge_absence("absent", "absent", twice=twice) == "in doubt"


@pytest.mark.parametrize("listed", get_args(ListSays))
@pytest.mark.parametrize("twice", [False, True])
def test_whoever_became_somebody_else_is_not_gone(listed: ListSays, *, twice: bool) -> None:
    """Merged by the service, she is reached under another id: forgotten, she is nobody's there."""
    assert judge_absence("elsewhere", listed, twice=twice) == "in doubt"


def test_gone_needs_the_list_or_two_looks() -> None:
    """One 404 alone is a fault of the service as often as the truth."""
    assert judge_absence("absent", "lacks") == "gone"
    assert judge_absence("absent", "unread") == "in doubt"
    assert judge_absence("absent", "unread", twice=True) == "gone"


@pytest.mark.parametrize(("right", "wrong", "is_wrong"), [(0, 1, False), (0, 3, True), (1, 3, False)])
def test_only_looks_that_are_all_wrong_speak_of_the_address(
    right: int, wrong: int, *, is_wrong: bool
) -> None:
    """One that was merged, or two of a small list, is a conflict of theirs."""
    assert is_wrong_service(right=right, wrong=wrong) == is_wrong
