"""Runs at once with a store each, as on two CI runners: the lock in the service keeps them apart."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest
import tally
from msgspec import structs
from simulation.modelservice import Switches
from simulation.oracle import FROZEN_TWICE, OVERWRITTEN, OVERWRITTEN_FROZEN, UNAWARE
from simulation.people import desire, person
from simulation.scenarios import SCENARIOS, live, world
from simulation.test_concurrency import alone
from simulation.universe import End, Fate, Universe, lease_s

from reconciler.core.ticket import reserved
from reconciler.model.snapshots import Desired

CONTESTED = ("creates with devices", "updates", "deletes", "mixed", "adoption")
CHUNKS, SEEDS = 4, 6


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
    return [str(row.body["name"]) for row in universe.model.rows.values() if reserved(row.body.get("name"))]


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
        count = chance.randrange(2, 9)
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
        assert [row for row in live(universe) if not reserved(row[2])] == wanted, f"seed {seed}"
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

    tally.count("interleavings", "own stores", SEEDS)
    tally.count("runs side by side", "with stores of their own", runs)
    for what in (UNAWARE, OVERWRITTEN_FROZEN):
        tally.count("published exceptions seen", what, known[what])
    tally.count("duplicates", "own stores", 0)
    tally.count("lost updates", "own stores", 0)
