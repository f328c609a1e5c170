"""However a run ends, its ticket of the lock in the service is removed: it would hold up others."""

from collections import Counter
from dataclasses import replace

import effort
import pytest
import tally
from simulation.modelservice import Switches
from simulation.scenarios import SCENARIOS, live, world
from simulation.test_own_stores import copied, tickets, written
from simulation.universe import End, Fate, Universe, lease_s

SCENARIO = SCENARIOS["creates with devices"]
ONE = SCENARIOS["one create"]
WAYS = ("asked to stop", "asked twice", "cancelled", "a mistake of ours", "its store is gone")
removal = 3  # of one create: the ticket is the first write, the contact the second


def fate(way: str, step: int) -> Fate:
    match way:
        case "asked to stop":
            return Fate(stop_at_steps=(step,))
        case "asked twice":
            return Fate(stop_at_steps=(step, step + 1))
        case "cancelled":
            return Fate(cancel_at_step=step)
        case "a mistake of ours":
            return Fate(mistake_at_step=step)
        case _:
            return Fate(vanish_at_step=step)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_ends_a_run_its_ticket_is_removed(way: str) -> None:
    """At every step of a run: before the ticket is there, while it waits, writes, and removes it."""
    stride, words = effort.count(small=31, full=6), Counter[str]()
    step, met = 7, True
    while met:
        with world(SCENARIO) as universe:
            copied(universe, "own-0.db")
            end = universe.loop.run(universe.run(SCENARIO.wanted, own="own-0.db", fate=fate(way, step)))
            assert tickets(universe) == [], (step, end.word)
            words[end.word] += 1
            met, step = step <= end.steps, step + stride

    tally.count("ways out with a lock in the service", way, words.total())
    assert words.total() > 5
    assert len(words) > 1 or way == "cancelled"


def test_a_run_that_is_out_of_time_removes_its_ticket() -> None:
    """The removal has time of its own, or a deadline that passes while the lock is taken would leave it."""
    words = Counter[str]()
    deadlines = range(1, 41, effort.count(small=9, full=1))
    for deadline_s in deadlines:
        with world(SCENARIO) as universe:
            copied(universe, "own-0.db")
            universe.per_second, universe.deadline_s = 1.0, float(deadline_s)
            words[universe.loop.run(universe.run(SCENARIO.wanted, own="own-0.db")).word] += 1
            assert tickets(universe) == [], deadline_s

    tally.count("ways out with a lock in the service", "out of time", len(deadlines))
    assert {"Unavailable", "partial", "done"} <= set(words)


@pytest.mark.parametrize("trouble", ["422", "403", "reset after"])
def test_a_run_that_fails_fast_removes_its_ticket(trouble: str) -> None:
    with world(SCENARIO) as universe:
        copied(universe, "own-0.db")
        universe.fail_fast, universe.network.scripted = True, {2: trouble}
        end = universe.loop.run(universe.run(SCENARIO.wanted, own="own-0.db"))

        assert end.run is not None
        assert trouble == "403" or "--fail-fast is set" in end.run.stopped
        assert tickets(universe) == []


def signalled(universe: Universe, *, signals: int = 1, cancels: bool, at: int = removal) -> tuple[End, float]:
    """Send signals while this write of the run is under way. Return its end, how long after the first."""

    async def both() -> tuple[End, float]:
        run = universe.loop.create_task(universe.run(ONE.wanted, own="own-0.db"))
        while universe.network.writes < at:
            await universe.pass_s(0.01)
        began = universe.loop.time()
        for _ in range(signals):
            universe.signal(cancels=cancels)
            await universe.pass_s(0.01)
        return await run, universe.loop.time() - began

    copied(universe, "own-0.db")
    return universe.loop.run(both())


@pytest.mark.parametrize("cancels", [True, False])
def test_a_signal_does_not_end_the_removal(*, cancels: bool) -> None:
    """It is the last thing that a run does, so a signal that comes late meets it."""
    with world(ONE) as universe:
        universe.network.scripted = {removal: "reset before"}
        end, _ = signalled(universe, cancels=cancels)

        assert end.word == ("cancelled" if cancels else "done")
        assert tickets(universe) == []


@pytest.mark.parametrize("cancels", [True, False])
def test_a_ticket_that_is_being_created_is_waited_for_and_removed(*, cancels: bool) -> None:
    """No list shows it yet: whoever looked for it instead would leave it there."""
    with world(replace(ONE, switches=Switches(lag_s=9.5))) as universe:
        end, _ = signalled(universe, cancels=cancels, at=1)

        assert end.word == ("cancelled" if cancels else "Interrupted")
        assert tickets(universe) == []


@pytest.mark.parametrize(
    ("signals", "cancels", "limit_s"),
    [(0, False, 66.0), (1, False, 6.0), (1, True, 6.0), (2, False, 1.1), (2, True, 1.1)],
)
def test_a_service_that_says_nothing_holds_up_the_end_for_a_while_only(
    signals: int, limit_s: float, *, cancels: bool
) -> None:
    """What could not be removed ends with its lease, and the next run removes it."""
    with world(ONE) as universe:
        copied(universe, "own-1.db")
        wanted = dict.fromkeys(range(removal, removal + 20), "no answer before")
        universe.network.scripted = wanted
        _, took_s = signalled(universe, signals=signals, cancels=cancels)
        universe.network.scripted = {}

        assert took_s <= limit_s + 0.1
        assert len(tickets(universe)) == 1
        universe.loop.run(universe.pass_s(lease_s + 4 * universe.settle_s))
        assert written(universe, ONE.wanted).word == "done"
        assert tickets(universe) == []
        assert universe.oracle.violations == []
        assert len(live(universe)) == 2
