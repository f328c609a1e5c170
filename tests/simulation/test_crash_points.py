"""Killed before and after every effect, one after the other, a run ends in the end as if it had not been.

Effects are what the outside can see: each request before it is sent, each write after it was carried out and
before its answer is there, each commit before and after it. All of them are tried, none is drawn.
"""

from collections.abc import Callable

import effort
import pytest
import tally
from simulation.scenarios import SCENARIOS, Live, Scenario, live, world
from simulation.universe import Fate, Universe, lease_s

LEASE_OVER_S = lease_s + 5
APPLIED_AGAIN = ("one create", "updates", "deletes", "mixed")
TWICE = "one create"


def unstopped(scenario: Scenario) -> tuple[Live, int]:
    """What a run leaves that nobody kills, and how many effects it has."""
    with world(scenario) as universe:
        end = universe.go(scenario.wanted)
        assert end.word == "done", end.error
        assert not universe.oracle.violations
        return live(universe), end.effects


def ended(universe: Universe, scenario: Scenario, verb: str, wanted: Live) -> None:
    """Go on with what was killed, and claim that it is as if it had not been."""
    universe.loop.run(universe.pass_s(LEASE_OVER_S))
    end = universe.go(scenario.wanted, verb=verb)
    if end.word == "nothing":  # it was killed before it wrote down that it had begun
        end = universe.go(scenario.wanted)
    assert end.word == "done", (end.word, end.error, end.run)
    assert live(universe) == wanted
    again = universe.go(scenario.wanted)
    if (
        again.run and again.run.outcomes
    ):  # content cannot be read back: what was in doubt is uploaded once more
        assert {(one.address.kind, one.action) for one in again.run.outcomes} == {("resource", "update")}
        again = universe.go(scenario.wanted)
    assert (again.word, again.writes) == ("done", 0)
    assert universe.oracle.violations == []
    with universe.open_store() as store:
        assert store.unfinished() == ()


def at_every_point(scenario: Scenario, then: Callable[[Universe, Live], None]) -> int:
    """Kill at each effect in turn; return how many there are."""
    wanted, effects = unstopped(scenario)
    points = range(1, effects + 1, effort.count(small=20, full=1))
    for effect in points:
        with world(scenario) as universe:
            killed = universe.go(scenario.wanted, fate=Fate(kill_at_effect=effect))
            assert killed.word == "killed", (effect, killed.word)
            then(universe, wanted)
    tally.count("faults injected", "crash points: killed at an effect", len(points))
    return len(points)


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_effect_and_resumed_it_ends_as_if_it_had_not_been(name: str) -> None:
    """Whatever is on disk and on the wire at that moment, resume finds out and goes on."""
    scenario = SCENARIOS[name]

    points = at_every_point(scenario, lambda universe, wanted: ended(universe, scenario, "resume", wanted))

    tally.count("crash points", f"{name}, resumed", points)


@pytest.mark.parametrize("name", APPLIED_AGAIN)
def test_killed_at_any_effect_and_applied_again_it_ends_as_if_it_had_not_been(name: str) -> None:
    """Who does not know of resume, and applies, loses nothing by it."""
    scenario = SCENARIOS[name]

    points = at_every_point(scenario, lambda universe, wanted: ended(universe, scenario, "apply", wanted))

    tally.count("crash points", f"{name}, applied again", points)


def test_a_resume_that_is_killed_at_any_effect_can_be_resumed() -> None:
    """The way out of a crash must not be the one place where a crash does harm."""
    scenario = SCENARIOS[TWICE]
    wanted, effects = unstopped(scenario)
    points = 0
    # From before the request to the end of the run.
    for effect in range(effects - 8, effects + 1, effort.count(small=9, full=1)):
        second = 0
        while True:
            second += 1
            with world(scenario) as universe:
                universe.go(scenario.wanted, fate=Fate(kill_at_effect=effect))
                universe.loop.run(universe.pass_s(LEASE_OVER_S))
                end = universe.go(scenario.wanted, verb="resume", fate=Fate(kill_at_effect=second))
                if end.word != "killed":
                    break
                points += 1
                ended(universe, scenario, "resume", wanted)

    tally.count("crash points", "the resume itself", points)
    assert points > effort.count(small=10, full=50)
