"""Several runs at once on one store and one service: who is frozen or loses the lock does no harm."""

from random import Random

import pytest
import tally
from simulation.scenarios import SCENARIOS, live, world
from simulation.universe import Fate, lease_s

CHUNKS, SEEDS = 10, 56  # 560 interleavings
CONTESTED = ("creates with devices", "updates", "deletes", "mixed", "adoption")
LOST = "edited between look and write, and overwritten"


def fate(chance: Random) -> Fate:
    """Half of the runs are frozen for longer than the lease, or have a clock that jumps."""
    frozen, jumps = chance.random() < 0.4, chance.random() < 0.3
    return Fate(
        freeze_at_step=chance.randrange(1, 120) if frozen else 0,
        freeze_s=lease_s + chance.uniform(1.0, 200.0),
        jump_at_step=chance.randrange(1, 120) if jumps else 0,
        jump_s=chance.choice((-3600.0, 3600.0, 301.0)),
    )


def interleaved(seed: int) -> tuple[int, int]:
    """Let them all run; claim that it ends as with one of them. Return how many ran and who came too late."""
    chance = Random(f"runs {seed}")
    scenario = SCENARIOS[CONTESTED[seed % len(CONTESTED)]]
    with world(scenario, seed=0) as universe:
        assert universe.go(scenario.wanted).word == "done"
        wanted = live(universe)
    with world(scenario, seed=seed) as universe:
        count = chance.randrange(2, 9)

        async def one() -> None:
            await universe.pass_s(chance.choice((0.0, 0.02, 1.0, lease_s + 1)))
            await universe.run(scenario.wanted, fate=fate(chance))

        async def all_of_them() -> None:
            tasks = [universe.loop.create_task(one()) for _ in range(count)]
            for task in tasks:
                await task
            await universe.pass_s(2 * 3600 + lease_s)

        universe.loop.run(all_of_them())
        last = universe.go(scenario.wanted)
        assert last.word == "done", f"seed {seed}: {last.word} {last.error}"
        assert universe.oracle.violations == [], f"seed {seed}: {universe.oracle.violations}"
        assert live(universe) == wanted, f"seed {seed}"
        assert universe.go(scenario.wanted).writes == 0, f"seed {seed}"
        assert universe.oracle.known[LOST] == 0, f"seed {seed}"
        return count, universe.oracle.known["sent by a holder that could not know yet"]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs_side_by_side_end_as_one_run(chunk: int) -> None:
    """Nobody is there twice, no update is lost, and who lost the lock writes nothing once it could know."""
    runs = late = 0
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        count, unaware = interleaved(seed)
        runs, late = runs + count, late + unaware

    tally.count("interleavings", "runs in one loop", SEEDS)
    tally.count("interleavings' runs", "all", runs)
    tally.count("interleavings' runs", "writes of a holder that could not know yet", late)
    tally.count("duplicates", "interleavings", 0)
    tally.count("lost updates", "interleavings", 0)
    assert runs > 2 * SEEDS
