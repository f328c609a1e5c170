"""Runs at once with a store each, as on two CI runners: the lock in the service keeps them apart."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from random import Random

import effort
import pytest
import tally
from msgspec import structs
from simulation.modelservice import Switches
from simulation.oracle import FROZEN_TWICE, OVERWRITTEN, OVERWRITTEN_FROZEN, UNAWARE
from simulation.people import desire, person
from simulation.scenarios import AT_ONCE, SCENARIOS, live, world
from simulation.test_concurrency import alone
from simulation.universe import End, Fate, Universe, lease_s

from reconciler.core.runs.ticket import is_ticket_name, spread_s
from reconciler.model.snapshots import Desired

CONTESTED = ("creates with devices", "updates", "deletes", "mixed", "adoption")
CHUNKS, SEEDS = 9, effort.count(small=2, full=56)  # 504 interleavings


def fate(chance: Random) -> Fate:
    """A third of the runs are frozen, some beyond the lease; some are killed or have another clock."""
    frozen, killed, jumps = chance.random() < 0.35, chance.random() < 0.25, chance.random() < 0.5
    return Fate(
        freeze_at_step=chance.randrange(1, 250) if frozen else 0,
        freeze_s=chance.choice((3.0, 15.0, lease_s / 2, lease_s + chance.uniform(1.0, 200.0))),
        kill_at_effect=chance.randrange(1, 60) if killed else 0,
        jump_at_step=1 if jumps else 0,  # its clock is another one from the beginning
        jump_s=chance.choice((-3600.0, -5.0, 5.0, 301.0, 3600.0)),
    )


def service(chance: Random) -> Switches:
    """A service whose lists lag behind by less than the settle window, each write by a time of its own."""
    return Switches(
        lag_s=chance.choice((0.0, 1.0, 6.0, 9.5)),
        uneven=chance.random() < 0.5,
        page=chance.choice((20, 20, 2)),
        counted=chance.random() < 0.8,
    )


def copied(universe: Universe, name: str) -> None:
    """Copy the store as it is, what stands in its log included."""
    with (
        closing(sqlite3.connect(universe.store)) as one,
        closing(sqlite3.connect(universe.folder / name)) as two,
    ):
        one.backup(two)
    (universe.folder / name).chmod(0o600)


def tickets(universe: Universe) -> list[str]:
    """The tickets that are left at the service."""
    return [
        str(row.body["name"]) for row in universe.model.rows.values() if is_ticket_name(row.body.get("name"))
    ]


def written(universe: Universe, wanted: Desired) -> End:
    """Let one more run write: it removes what killed runs left behind."""
    more = structs.replace(wanted, entities={**wanted.entities, **desire(person("zed")).entities})
    return universe.loop.run(universe.run(more, own="own-0.db"))


def interleaved(seed: int) -> tuple[int, Counter[str]]:
    """Let them all run; claim that it ends as with one of them. Return how many ran, and what is known."""
    chance = Random(f"own stores {seed}")
    name = CONTESTED[seed % len(CONTESTED)]
    scenario, wanted = SCENARIOS[name], alone(name)
    with world(replace(scenario, switches=service(chance)), seed=seed) as universe:
        count = chance.choice(AT_ONCE)
        universe.patience_s = chance.choice((0.0, 0.0, 120.0, 900.0))
        for number in range(count):  # as a cache hands the same store to every runner
            copied(universe, f"own-{number}.db")

        async def one(number: int) -> None:
            await universe.pass_s(chance.choice((0.0, 0.02, 1.0, 5.0, 20.0)))
            await universe.run(scenario.wanted, fate=fate(chance), own=f"own-{number}.db")

        async def all_of_them() -> None:
            tasks = [universe.loop.create_task(one(number)) for number in range(count)]
            for task in tasks:
                await task
            await universe.pass_s(2 * 3600 + lease_s)

        universe.loop.run(all_of_them())
        universe.patience_s = 0.0
        for end in universe.ends[-count:]:
            assert end.word in {
                "done",
                "killed",
                "LockHeld",
                "partial",
                "locked",
                "failed",
                "in doubt",
                "Unavailable",
                "StoreError",  # a run that was frozen while it waited for its store
                "stale",  # another one deleted somebody between the list and the look: contradicted (M8)
                "UnsafePlan",  # others changed a list while it was read: no delete follows from it (G4)
            }, f"seed {seed}: {end}"
        last = universe.loop.run(universe.run(scenario.wanted, own="own-0.db", verb="resume"))
        last = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        assert last.word == "done", f"seed {seed}: {last.word} {last.error}"
        universe.loop.run(universe.pass_s(60))
        assert universe.oracle.violations == [], f"seed {seed}: {universe.oracle.violations}"
        assert universe.oracle.known[FROZEN_TWICE] == universe.oracle.known[OVERWRITTEN] == 0, f"seed {seed}"
        again = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        assert (again.word, again.writes) == ("done", 0), f"seed {seed}"
        left = tickets(universe)
        assert left == [] or any(end.word == "killed" for end in universe.ends), f"seed {seed}: {left}"
        assert [row for row in live(universe) if not is_ticket_name(row[2])] == wanted, f"seed {seed}"
        if left:
            assert written(universe, scenario.wanted).word == "done", f"seed {seed}"
            assert tickets(universe) == [], f"seed {seed}"
        return count, universe.oracle.known


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs_with_stores_of_their_own_end_as_one_run(chunk: int) -> None:
    """The likeliest accident of CI: nobody is there twice, nothing is lost, and no ticket is left."""
    runs, known = 0, Counter[str]()
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        count, seen = interleaved(seed)
        runs, known = runs + count, known + seen

    tally.count("own stores", "runs in one loop", SEEDS)
    tally.count("runs side by side", "with stores of their own", runs)
    for what in (UNAWARE, OVERWRITTEN_FROZEN):
        tally.count("published exceptions seen", what, known[what])
    tally.count("duplicates", "own stores", 0)
    tally.count("lost updates", "own stores", 0)


def at_once(universe: Universe, wanted: Desired, count: int) -> list[End]:
    """Let that many runs begin in the same moment, each with a store of its own; return how they ended."""

    async def all_of_them() -> list[End]:
        names = [f"own-{number}.db" for number in range(count)]
        for name in names:
            copied(universe, name)
        runs = [universe.loop.create_task(universe.run(wanted, own=name)) for name in names]
        return [await run for run in runs]

    return universe.loop.run(all_of_them())


KILLED = ("one create", "creates with devices", "updates", "deletes")


@effort.sample(2)
@pytest.mark.parametrize("name", KILLED)
def test_killed_at_any_effect_the_next_runner_ends_what_it_began(name: str) -> None:
    """A ticket that nobody removes holds others up until its lease ends, and no longer."""
    scenario, wanted = SCENARIOS[name], alone(name)
    effect, points = 1, 0
    while True:
        with world(scenario) as universe:
            copied(universe, "own-0.db")
            copied(universe, "own-1.db")
            first = universe.loop.run(
                universe.run(scenario.wanted, own="own-1.db", fate=Fate(kill_at_effect=effect))
            )
            if first.word != "killed":
                break
            universe.loop.run(universe.pass_s(lease_s + 4 * universe.settle_s))
            end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
            assert end.word == "done", (effect, end)
            assert written(universe, scenario.wanted).word == "done"
            assert tickets(universe) == [], effect
            assert [row for row in live(universe) if row[2] != "zed@example.com"] == wanted, effect
            assert universe.oracle.violations == [], effect
        points, effect = points + 1, effect + effort.count(small=17, full=1)
    tally.count("crash points", f"with a lock in the service: {name}", points)
    tally.count("faults injected", "with a lock in the service: killed at an effect", points)
    assert effect > 30


def test_a_store_knows_the_tickets_of_its_own_dead_run() -> None:
    """Who resumes on the same store waits for no lease: the dead run would need the store's lock to write."""
    scenario, wanted = SCENARIOS["creates with devices"], alone("creates with devices")
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        killed = universe.loop.run(
            universe.run(scenario.wanted, own="own-0.db", fate=Fate(kill_at_effect=40))
        )
        universe.loop.run(universe.pass_s(lease_s + 1))  # the lease of the store's lock
        assert len(tickets(universe)) == 1
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db", verb="resume"))

        assert (killed.word, end.word) == ("killed", "done")
        assert tickets(universe) == []
        assert live(universe) == wanted


def test_who_comes_second_is_told_who_writes_and_for_how_long() -> None:
    """Exit code 4, without a ticket and without a write, while the other is at work."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        ends = [
            universe.loop.create_task(universe.run(scenario.wanted, own=f"own-{number}.db"))
            for number in (0, 1)
        ]
        for number in (0, 1):
            copied(universe, f"own-{number}.db")

        async def both() -> list[End]:
            return [await end for end in ends]

        found = sorted(universe.loop.run(both()), key=lambda end: end.word)

        assert [end.word for end in found] == ["LockHeld", "done"]
        assert "the lock of stack test in the service is held by" in found[0].error
        assert universe.oracle.writes == 1


def test_with_patience_every_run_comes_to_its_end() -> None:
    """lock.timeout_s, --lock-timeout: the others wait, find everything done, and write nothing."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        universe.patience_s = 600.0
        assert [end.word for end in at_once(universe, scenario.wanted, 4)] == ["done"] * 4
        assert universe.oracle.writes == 1
        assert tickets(universe) == []


@pytest.mark.parametrize("trouble", ["reset after", "reset before", "503 after", "429", "late"])
def test_a_ticket_whose_answer_is_lost_is_found_by_its_nonce_or_made_again(trouble: str) -> None:
    """Its creation is a write as any other: it may have been carried out."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        universe.network.scripted = {1: trouble}
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        universe.loop.run(universe.pass_s(60))

        assert (end.word, end.writes) == ("done", 1)
        assert tickets(universe) == []
        assert universe.oracle.violations == []


def test_a_ticket_that_cannot_be_removed_at_once_is_removed_later() -> None:
    """The last write of a run is the removal of its ticket."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        universe.network.scripted = {3: "reset before", 4: "500 before"}
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))

        assert end.word == "done"
        assert tickets(universe) == []


def test_a_run_with_nothing_to_write_takes_no_ticket() -> None:
    """Most applies of a schedule change nothing: they cost no window and no call more."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        began, requests = universe.loop.time(), universe.oracle.requests
        again = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))

        assert (again.word, again.writes) == ("done", 0)
        assert universe.loop.time() - began < 1.0
        assert universe.oracle.requests - requests <= 4


def test_the_lock_costs_a_window_and_a_few_calls() -> None:
    """A look, the ticket, five looks while it waits, its removal; and the plan is made a second time."""
    scenario = SCENARIOS["one create"]
    calls, took_s = [], []
    for own in ("", "own-0.db"):
        with world(scenario) as universe:
            copied(universe, "own-0.db")
            began = universe.loop.time()
            assert universe.loop.run(universe.run(scenario.wanted, own=own)).word == "done"
            calls.append(universe.oracle.requests)
            took_s.append(universe.loop.time() - began)
    plan = 3  # the workspaces, the contacts, the resources

    assert calls[1] - calls[0] <= 8 + plan
    assert took_s[1] - took_s[0] <= 10 + spread_s + 2


def test_a_long_run_renews_its_ticket_and_keeps_it() -> None:
    """A lease is shorter than a large apply."""
    scenario = SCENARIOS["creates with devices"]
    with world(scenario) as universe:
        for number in (0, 1):
            copied(universe, f"own-{number}.db")
        universe.per_second = 0.025

        async def second() -> End:
            await universe.pass_s(400.0)
            return await universe.run(scenario.wanted, own="own-1.db")

        async def both() -> tuple[End, End]:
            one = universe.loop.create_task(universe.run(scenario.wanted, own="own-0.db"))
            other = universe.loop.create_task(second())
            return await one, await other

        one, other = universe.loop.run(both())
        assert (one.word, other.word) == ("done", "LockHeld"), (one, other)
        assert universe.oracle.violations == []
        assert tickets(universe) == []


def test_a_run_that_was_frozen_past_its_lease_writes_nothing_more() -> None:
    """Somebody else may have gone on: whoever thaws asks its own lease before every write."""
    scenario = SCENARIOS["creates with devices"]
    with world(scenario) as universe:
        for number in (0, 1):
            copied(universe, f"own-{number}.db")
        frozen = Fate(freeze_at_step=164, freeze_s=lease_s + 200.0)

        async def second() -> End:
            await universe.pass_s(lease_s + 60.0)
            return await universe.run(scenario.wanted, own="own-1.db")

        async def both() -> tuple[End, End]:
            one = universe.loop.create_task(universe.run(scenario.wanted, own="own-0.db", fate=frozen))
            other = universe.loop.create_task(second())
            return await one, await other

        one, other = universe.loop.run(both())
        assert other.word == "done"
        assert one.word in {"partial", "locked", "in doubt"}, one
        assert "its lease ended" in str(one.run)
        assert universe.oracle.violations == []


@pytest.mark.parametrize("effect", [14, 15, 16])
def test_a_lost_ticket_holds_up_no_later_run_of_its_store(effect: int) -> None:
    """Killed before it was written down as a run; one that had nothing to write held the lock since."""
    scenario, nothing = SCENARIOS["one create"], Desired({}, frozenset())
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        killed = universe.loop.run(
            universe.run(scenario.wanted, own="own-0.db", fate=Fate(kill_at_effect=effect))
        )
        universe.loop.run(
            universe.pass_s(lease_s + 1)
        )  # the lease of the store's lock; the ticket's is longer
        held = len(tickets(universe))
        between = universe.loop.run(universe.run(nothing, own="own-0.db"))
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))

        assert (killed.word, held) == ("killed", 1)
        assert (between.word, between.writes) == ("done", 0)
        assert end.word == "done", end
        assert tickets(universe) == []


def test_a_ticket_whose_removal_was_refused_holds_up_no_later_run_of_its_store() -> None:
    """The run had ended well, and only the service says otherwise."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        universe.network.scripted = dict.fromkeys(range(3, 40), "reset before")
        first = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        universe.network.scripted = {}

        assert (first.word, len(tickets(universe))) == ("done", 1)
        assert written(universe, scenario.wanted).word == "done"
        assert tickets(universe) == []


def test_a_copy_of_the_store_waits_for_the_ticket_of_a_run_that_it_does_not_know() -> None:
    """A cache of CI hands one store to several runners: the same salt is not the same store."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        for number in (0, 1):
            copied(universe, f"own-{number}.db")
        killed = universe.loop.run(
            universe.run(scenario.wanted, own="own-1.db", fate=Fate(kill_at_effect=15))
        )
        universe.loop.run(universe.pass_s(1.0))
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))

        assert (killed.word, len(tickets(universe)), end.word) == ("killed", 1, "LockHeld")


def test_what_an_earlier_run_left_is_settled_while_the_lock_waits() -> None:
    """Both wait for the settle window; one after the other they took 26 s."""
    scenario = SCENARIOS["one create"]
    with world(scenario) as universe:
        copied(universe, "own-0.db")
        universe.network.scripted = {2: "reset before"}  # 1 is the ticket
        doubted = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))
        universe.network.scripted = {}
        began = universe.loop.time()
        end = universe.loop.run(universe.run(scenario.wanted, own="own-0.db"))

        assert (doubted.word, end.word) == ("in doubt", "done")
        assert universe.loop.time() - began <= 10 + spread_s + 3
        assert universe.oracle.violations == []
