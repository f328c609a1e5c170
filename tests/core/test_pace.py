"""Claims about a pace: whoever shares it, no second sees more turns than its ceiling, and one more."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.calls import (
    Pace,
    begin_pace,
    halving_s,
    pace_rate,
    rate_growth,
    rate_min,
    reserve_turns,
    slow_down,
)

ceilings = st.sampled_from([0.3, 0.5, 1.0, 2.5, 10.0, 40.0, 1000.0])
# What happens to a pace: some time passes, then somebody takes turns, or hears that a call was throttled.
steps = st.lists(
    st.tuples(
        st.floats(0, 5),
        st.one_of(st.integers(1, 40).map(float), st.tuples(st.just("throttled"), st.floats(0, 60))),
    ),
    max_size=40,
)


def turns_of(
    pace: Pace,
    now: float,
    ceiling: float,
    taken: list[tuple[float, float | tuple[str, float]]],
    jumps: tuple[float, ...] = (),
) -> list[float]:
    """When every turn begins, in true seconds; a jump turns the clock of the pace back, at each step."""
    begins: list[float] = []
    back_s = 0.0
    for number, (passed_s, step) in enumerate(taken):
        now += passed_s
        back_s += jumps[number % len(jumps)] if jumps else 0.0
        if isinstance(step, tuple):
            pace = slow_down(pace, now - back_s, ceiling, step[1])
            continue
        pace, begins_at, spacing_s = reserve_turns(pace, now - back_s, int(step), ceiling)
        begins += [begins_at + back_s + spacing_s * turn for turn in range(int(step))]
    return begins


@given(ceiling=ceilings, taken=steps)
def test_turns_never_come_closer_than_the_ceiling_says(
    ceiling: float, taken: list[tuple[float, float | tuple[str, float]]]
) -> None:
    """Whoever takes them, however many at once, and whatever was throttled in between."""
    begins = turns_of(begin_pace(0.0, ceiling), 0.0, ceiling, taken)

    assert all(later - sooner >= (1 - 1e-6) / ceiling for sooner, later in pairwise(begins))


@given(ceiling=ceilings, taken=steps)
def test_no_second_sees_more_turns_than_the_ceiling_and_one(
    ceiling: float, taken: list[tuple[float, float | tuple[str, float]]]
) -> None:
    """The service counts its own seconds, wherever they begin."""
    begins = turns_of(begin_pace(0.0, ceiling), 0.0, ceiling, taken)

    for start in begins:
        assert sum(start <= one < start + 1 - 1e-6 for one in begins) <= ceiling + 1


@given(
    ceiling=ceilings,
    taken=steps,
    jumps=st.lists(st.sampled_from([0.0, 0.0, 0.01, 1.0, 3600.0, 1e9]), min_size=1, max_size=5).map(tuple),
)
def test_a_clock_that_is_turned_back_never_gives_a_burst(
    ceiling: float, taken: list[tuple[float, float | tuple[str, float]]], jumps: tuple[float, ...]
) -> None:
    """A server whose clock is set would let everybody press at once, and be throttled for it."""
    begins = turns_of(begin_pace(2e9, ceiling), 2e9, ceiling, taken, jumps)

    assert all(later - sooner >= 0.999 / ceiling - 1e-5 for sooner, later in pairwise(begins))


@given(back_s=st.floats(0, 1e9), turns=st.integers(1, 100))
def test_a_clock_that_is_turned_back_makes_nobody_wait_for_it(back_s: float, turns: int) -> None:
    """Waiting until it is again as late as it was would stop every program for an hour."""
    pace, _, spacing_s = reserve_turns(begin_pace(2e9, 10.0), 2e9, turns, 10.0)

    _, begins_at, _ = reserve_turns(pace, 2e9 - back_s, 1, 10.0)

    assert begins_at - (2e9 - back_s) <= turns * spacing_s + 1e-5


@given(idle_s=st.floats(0, 1e6), turns=st.integers(1, 50))
def test_what_was_not_used_is_gone(idle_s: float, turns: int) -> None:
    """Turns saved up over a quiet hour would be a burst of an hour's turns."""
    pace, first_at, _ = reserve_turns(begin_pace(0.0, 10.0), 0.0, turns, 10.0)

    _, begins_at, spacing_s = reserve_turns(pace, first_at + idle_s, turns, 10.0)

    assert begins_at >= first_at + idle_s
    assert spacing_s == pytest.approx(0.1)


def test_a_throttled_call_halves_the_rate() -> None:
    pace = slow_down(begin_pace(0.0, 40.0), 0.0, 40.0)

    assert pace_rate(pace, 0.0, 40.0) == 20.0


@pytest.mark.parametrize("asked_s", [0.0, 7.0])
def test_sixteen_calls_throttled_at_once_are_one_halving(asked_s: float) -> None:
    """They were all sent at the old rate, and say one thing: that it was too much."""
    pace = begin_pace(0.0, 40.0)
    for call in range(16):
        pace = slow_down(pace, call * 0.06, 40.0, asked_s)

    assert pace.rate == 20.0


@given(moments=st.lists(st.floats(0, 30), min_size=1, max_size=60).map(sorted))
def test_two_halvings_are_never_closer_than_a_second(moments: list[float]) -> None:
    pace, halved = begin_pace(0.0, 40.0), []
    for now in moments:
        before = pace
        pace = slow_down(pace, now, 40.0)
        if pace.changed_at != before.changed_at:
            halved.append(now)

    assert halved[0] == moments[0]
    assert all(later - sooner >= halving_s for sooner, later in pairwise(halved))


@given(moments=st.lists(st.floats(0, 500), max_size=80).map(sorted), ceiling=ceilings)
def test_however_often_it_is_throttled_it_goes_on(moments: list[float], ceiling: float) -> None:
    """Below the floor a run would never end, and say nothing about why."""
    pace = begin_pace(0.0, ceiling)
    for now in moments:
        pace = slow_down(pace, now, ceiling)
        assert min(rate_min, ceiling) <= pace_rate(pace, now, ceiling) <= ceiling


def test_throttling_that_does_not_end_is_halved_every_second() -> None:
    """Also where the service names a pause each time: that must not put off the next halving for ever."""
    pace, rates = begin_pace(0.0, 40.0), []
    for tick in range(100):
        pace = slow_down(pace, tick * 0.5, 40.0, 1.0)
        rates.append(pace.rate)

    assert rates[-1] < 10.0


@given(moments=st.lists(st.floats(0, 30), min_size=1, max_size=30).map(sorted), ceiling=ceilings)
def test_the_ceiling_is_reached_again_within_twenty_seconds(moments: list[float], ceiling: float) -> None:
    """A storm that is over must not slow a whole run."""
    pace = begin_pace(0.0, ceiling)
    for now in moments:
        pace = slow_down(pace, now, ceiling)

    assert pace_rate(pace, moments[-1] + 1 / rate_growth, ceiling) == ceiling


def test_it_grows_by_adding_and_slowly() -> None:
    """A twentieth a second: what the service allows is passed by five per cent at most, once a second."""
    pace = slow_down(begin_pace(0.0, 40.0), 0.0, 40.0)

    assert [pace_rate(pace, second, 40.0) for second in (0.0, 1.0, 2.0, 10.0, 60.0)] == [20, 22, 24, 40, 40]


def test_the_wish_of_the_service_is_waited_for_by_everybody() -> None:
    pace, _, _ = reserve_turns(begin_pace(0.0, 10.0), 0.0, 1, 10.0)

    pace = slow_down(pace, 0.0, 10.0, 7.0)

    assert reserve_turns(pace, 1.0, 1, 10.0)[1] == 7.0


def test_a_pause_is_no_time_to_grow_in() -> None:
    """After a minute's pause at the service's wish everybody would come back at full speed."""
    pace = slow_down(begin_pace(0.0, 40.0), 0.0, 40.0, 60.0)

    assert pace_rate(pace, 60.0, 40.0) == 20.0


def test_everybody_keeps_to_a_limit_of_his_own() -> None:
    """Two programs with other settings share a pace: each is as slow as it was told to be, or slower."""
    pace, _, spacing_s = reserve_turns(begin_pace(0.0, 10.0), 0.0, 1, 2.0)
    assert spacing_s == 0.5

    _, begins_at, spacing_s = reserve_turns(pace, 0.0, 1, 10.0)

    assert (begins_at, spacing_s) == (0.5, 0.1)
