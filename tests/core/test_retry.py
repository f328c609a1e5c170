"""Claims about table A8: what a failure means, when a call is repeated, and how long it waits."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.calls import (
    A8,
    Failure,
    GiveUp,
    LookFirst,
    Retry,
    RetryBudget,
    RetryMeaning,
    backoff_max_s,
    decide_retry,
    parse_http_date,
    parse_retry_after_s,
    retry_after_max_s,
    retry_wait_s,
    tries_max,
)

METHODS = ("GET", "POST", "PUT", "DELETE")

# The table of docs/planning.md once more, by hand: failure, GET, POST, PUT and DELETE.
WANTED = {
    Failure.NEVER_SENT: (Retry, Retry, Retry),
    Failure.LOST: (Retry, LookFirst, LookFirst),
    Failure.THROTTLED: (Retry, GiveUp, GiveUp),
    Failure.STOPPED: (GiveUp, GiveUp, GiveUp),
    Failure.ABSENT: (GiveUp, GiveUp, GiveUp),
    Failure.REFUSED: (GiveUp, GiveUp, GiveUp),
}


def cells() -> Iterator[tuple[Failure, str, type]]:
    for failure, (get, post, put) in WANTED.items():
        yield from ((failure, "GET", get), (failure, "POST", post), (failure, "PUT", put))
        yield failure, "DELETE", put


def asked(method: str, failure: Failure, attempt: int = 1, **changed: float) -> Retry | GiveUp | LookFirst:
    given = {"chance": 0.5, "left_s": 30.0, **changed}
    return decide_retry(method, failure, attempt, budget=RetryBudget(), **given)


@pytest.mark.parametrize(("failure", "method", "wanted"), list(cells()))
def test_every_cell_of_the_table_is_decided_as_planned(failure: Failure, method: str, wanted: type) -> None:
    assert isinstance(asked(method, failure), wanted)


def test_the_table_has_a_cell_for_every_failure_and_method() -> None:
    """A missing cell would be a traceback in the middle of a run."""
    assert {(f, m) for f, row in A8.items() for m in row} == set(product(Failure, METHODS))


@given(
    failure=st.sampled_from(Failure),
    method=st.sampled_from(("POST", "PUT", "DELETE")),
    attempt=st.integers(1, 5),
    seconds=st.tuples(st.floats(0, 1000), st.floats(0, 1000)),
)
def test_a_write_that_may_have_arrived_is_never_repeated(
    failure: Failure, method: str, attempt: int, seconds: tuple[float, float]
) -> None:
    """The one rule that no wait, budget or deadline may bend: a repeat makes a second contact."""
    left_s, asked_s = seconds
    decision = decide_retry(
        method, failure, attempt, budget=RetryBudget(), chance=0.5, left_s=left_s, asked_s=asked_s
    )

    assert not isinstance(decision, Retry) or failure is Failure.NEVER_SENT


@given(failure=st.sampled_from(Failure), method=st.sampled_from(METHODS), chance=st.floats(0, 1))
def test_no_call_is_tried_more_often_than_three_times(failure: Failure, method: str, chance: float) -> None:
    decision = decide_retry(method, failure, tries_max, budget=RetryBudget(), chance=chance, left_s=1e9)

    assert not isinstance(decision, Retry)


def test_giving_up_says_how_often_it_was_tried() -> None:
    assert asked("GET", Failure.LOST, tries_max) == GiveUp("tried 3 times")


def test_the_deadline_wins_over_the_wait() -> None:
    """A service that asks for a minute does not make a call of thirty seconds last for a minute."""
    assert isinstance(asked("GET", Failure.THROTTLED, asked_s=40.0, left_s=30.0), GiveUp)
    assert isinstance(asked("GET", Failure.THROTTLED, asked_s=20.0, left_s=30.0), Retry)


@given(attempt=st.integers(1, 50), chance=st.floats(0, 1))
def test_the_wait_without_a_wish_stays_below_its_cap(attempt: int, chance: float) -> None:
    assert 0.0 <= retry_wait_s(attempt, chance) <= backoff_max_s


def test_the_wait_is_spread_over_its_whole_range() -> None:
    """Full jitter: eight programs that failed together must not come back together."""
    waits = [retry_wait_s(2, number / 8) for number in range(8)]

    assert min(later - sooner for sooner, later in pairwise(waits)) >= 0.05


def test_a_wish_is_a_lower_bound_and_the_spread_comes_on_top() -> None:
    """Coming back together at the very moment the service named would be the next storm."""
    assert retry_wait_s(1, 0.0, 5.0) == 5.0
    assert 5.0 < retry_wait_s(1, 1.0, 5.0) < 6.0


@pytest.mark.parametrize("asked_s", [61.0, 3600.0, 1e300, float("inf")])
def test_no_wish_makes_us_wait_longer_than_its_cap(asked_s: float) -> None:
    assert retry_wait_s(1, 0.0, asked_s) == retry_after_max_s


@given(calls=st.integers(0, 20_000))
def test_a_dead_service_sees_ten_per_cent_more_calls_and_no_storm(calls: int) -> None:
    repeats = 0
    for made in range(1, min(calls, 2000) + 1):
        for attempt in (1, 2):
            decision = decide_retry(
                "GET", Failure.LOST, attempt, budget=RetryBudget(made, repeats), chance=0.5, left_s=30
            )
            if not isinstance(decision, Retry):
                break
            repeats += 1

    assert repeats <= 11 + calls * 0.1


def test_a_spent_budget_says_so() -> None:
    decision = decide_retry("GET", Failure.LOST, 1, budget=RetryBudget(100, 20), chance=0.5, left_s=30)

    assert decision == GiveUp("not tried again: too many calls of this run failed already")


NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
DATE = format_datetime(NOW, usegmt=True)


RETRY_AFTER_WANTED: tuple[tuple[str, float], ...] = (
    ("0", 0.0),
    ("1", 1.0),
    (" 5 ", 5.0),
    ("59", 59.0),
    ("60", 60.0),
    ("61", retry_after_max_s),
    ("315360000", retry_after_max_s),
    ("999999999999", retry_after_max_s),
    ("9999999999999", 0.0),
    ("-1", 0.0),
    ("+1", 0.0),
    ("1.5", 0.0),
    ("1_0", 0.0),
    ("1e3", 0.0),
    ("0x10", 0.0),
    ("١٢", 0.0),
    ("", 0.0),
    (" ", 0.0),
    ("soon", 0.0),
    ("NaN", 0.0),
    ("inf", 0.0),
    ("1;2", 0.0),
    ("1, 2", 0.0),
    ("\x00", 0.0),
    (DATE, 0.0),
    (format_datetime(NOW + timedelta(seconds=7), usegmt=True), 7.0),
    (format_datetime(NOW + timedelta(hours=7), usegmt=True), retry_after_max_s),
    (format_datetime(NOW + timedelta(days=3650), usegmt=True), retry_after_max_s),
    (format_datetime(NOW - timedelta(seconds=7), usegmt=True), 0.0),
    (format_datetime(NOW - timedelta(days=3650), usegmt=True), 0.0),
    ("Wednesday, 04-Mar-26 05:06:17 GMT", 10.0),
    ("Wed Mar  4 05:06:17 2026", 10.0),
    ("Wed, 04 Mar 2026 05:06:17 +0000", 10.0),
    ("Wed, 04 Mar 2026 15:06:17 +1000", 10.0),
    ("Wed, 99 Mar 2026 05:06:17 GMT", 0.0),
    ("Wed, 04 Foo 2026 05:06:17 GMT", 0.0),
    ("Wed, 04 Mar 99999 05:06:17 GMT", 0.0),
    ("Mon, 00 Jan 0000 00:00:00 GMT", 0.0),
    ("Wed, 04 Mar 2026", 0.0),
    ("GMT", 0.0),
    ("Wed, 04 Mar 2026 05:06:17 GMT" * 9, 0.0),
    ("9" * 100_000, 0.0),
    ("1e9", 0.0),
    ("1000000000", retry_after_max_s),
    ("-0", 0.0),
    ("-1e9", 0.0),
    ("0.5", 0.0),
    ("120.0", 0.0),
    ("07", 7.0),
    ("60s", 0.0),
    ("PT60S", 0.0),
    ("1 2", 0.0),
    ("null", 0.0),
    ('"5"', 0.0),
)
RETRY_AFTER = tuple(text for text, _ in RETRY_AFTER_WANTED)


def test_there_are_at_least_forty_texts() -> None:
    assert len(set(RETRY_AFTER)) >= 40


@pytest.mark.parametrize(("text", "wanted"), RETRY_AFTER_WANTED, ids=lambda value: repr(value)[:40])
def test_retry_after_is_read_in_both_forms_and_clamped(text: str, wanted: float) -> None:
    assert parse_retry_after_s(text, DATE) == wanted


def test_a_retry_after_date_is_measured_by_the_services_own_clock() -> None:
    """Our clock may be years off: it counts only where nothing else is known."""
    years_off = datetime(2020, 1, 1, tzinfo=UTC)

    assert parse_retry_after_s("Wed, 04 Mar 2026 05:06:17 GMT", DATE, now=years_off) == 10.0
    assert parse_retry_after_s(DATE, "") == 0.0
    assert parse_retry_after_s(DATE, "yesterday") == 0.0


@pytest.mark.parametrize("dated", ["", "yesterday", "Wed, 99 Mar 2026 05:06:17 GMT", "0"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Wed, 04 Mar 2026 05:06:17 GMT", 10.0),  # as far ahead as it says
        ("Wed, 04 Mar 2026 05:06:08 GMT", 1.0),
        ("Wed, 04 Mar 2026 05:06:00 GMT", 1.0),  # over, by a clock that may be wrong
        ("Sun, 04 Mar 2001 05:06:07 GMT", 1.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 1.0),
        ("Wed, 04 Mar 2026 05:59:07 GMT", retry_after_max_s),
        ("Mon, 04 Mar 2097 05:06:07 GMT", retry_after_max_s),  # years ahead
        ("Wed, 99 Mar 2026 05:06:17 GMT", 0.0),  # no date
        ("tomorrow", 0.0),
        ("", 0.0),
        ("7", 7.0),  # seconds need no clock
    ],
)
def test_a_retry_after_date_without_a_date_is_measured_by_what_is_known(
    text: str, wanted: float, dated: str
) -> None:
    """Servers without a clock of their own send none (RFC 9110, 6.6.1); their wish counts all the same."""
    now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

    assert parse_retry_after_s(text, dated, now=now) == wanted


@given(text=st.text(max_size=80), answered=st.text(max_size=40))
def test_no_retry_after_text_breaks_or_passes_the_cap(text: str, answered: str) -> None:
    assert 0.0 <= parse_retry_after_s(text, answered) <= retry_after_max_s


@given(moment=st.datetimes(datetime(1970, 1, 1), datetime(2099, 1, 1)))  # noqa: DTZ001 - made aware below
def test_an_http_date_is_read_back_as_it_was_written(moment: datetime) -> None:
    aware = moment.replace(microsecond=0, tzinfo=UTC)

    assert parse_http_date(format_datetime(aware, usegmt=True)) == aware


def test_a_look_first_cell_is_no_doubt() -> None:
    """A throttled write was most likely not done; who calls looks once and may send it again."""
    assert A8[Failure.THROTTLED]["POST"] is RetryMeaning.LOOK
