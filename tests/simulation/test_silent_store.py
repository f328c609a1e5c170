"""A store that answers nothing from some step of an apply on: the run ends in time, by a virtual clock."""

from collections import Counter

import effort
import pytest
import tally
from simulation.scenarios import SCENARIOS, world
from simulation.universe import Fate

SCENARIO = SCENARIOS["mixed"]
answer_max_s = 12.0  # the program's own number, written down here as well
LOST: tuple[dict[int, str], ...] = (
    {},
    {3: "no answer before"},
    {2: "reset after", 3: "late"},
)  # what its writes meet, by their number
stride = effort.count(small=41, full=5)


@pytest.mark.parametrize("deadline_s", [12.0, 40.0])
@pytest.mark.parametrize("lost", LOST, ids=["", "no answer", "lost"])
def test_an_apply_whose_store_falls_silent_ends_within_12_s_of_its_deadline(
    lost: dict[int, str], deadline_s: float
) -> None:
    """Also with writes in doubt, whose window would be over later; and no answer is waited for twice."""
    step, met, words = 16, True, Counter[str]()
    while met:
        with world(SCENARIO) as universe:
            universe.deadline_s, universe.per_second = deadline_s, 1.0
            universe.network.scripted = {universe.network.writes + at: what for at, what in lost.items()}
            began = universe.loop.time()
            end = universe.loop.run(universe.run(SCENARIO.wanted, fate=Fate(silent_at_step=step)))
            by = max(began + deadline_s, universe.silent_at) + answer_max_s + 0.1
            assert universe.loop.time() <= by, (step, end.word)
            assert universe.oracle.violations == [], step
            words[end.word] += 1
            met, step = step <= end.steps, step + stride

    tally.count("faults injected", "store falls silent under an apply", words.total())
    assert words.total() > 2


@pytest.mark.parametrize("signals", [1, 2])
def test_signals_end_an_apply_whose_store_fell_silent(signals: int) -> None:
    """The one answer that is waited for has 12 s. A second signal ends the process itself within 2."""
    step, met = 16, True
    while met:
        with world(SCENARIO) as universe:
            universe.per_second = 1.0
            universe.network.scripted = {universe.network.writes + 2: "reset after"}
            stops = tuple(range(step + 2, step + 2 + signals))
            fate = Fate(silent_at_step=step, stop_at_steps=stops)
            end = universe.loop.run(universe.run(SCENARIO.wanted, fate=fate))
            by = max(universe.signalled_at, universe.silent_at) + answer_max_s + 0.1
            assert end.steps < stops[-1] or universe.loop.time() <= by, (step, end.word)
            assert universe.oracle.violations == [], step
            met, step = step <= end.steps, step + stride


def test_a_run_does_not_wait_beyond_its_deadline() -> None:
    """Nothing may be looked at after it, so nothing is gained by waiting for the end of a settle window."""
    with world(SCENARIO) as universe:
        universe.deadline_s, universe.settle_s, began = 5.0, 30.0, universe.loop.time()
        universe.network.scripted = {universe.network.writes + 1: "reset after"}
        end = universe.loop.run(universe.run(SCENARIO.wanted))

        assert end.run is not None
        assert "in doubt" in {one.result for one in end.run.outcomes}
        assert universe.loop.time() - began <= 5.1
