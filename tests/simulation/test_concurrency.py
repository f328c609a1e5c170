"""Several runs at once on one store and one service: who is frozen or loses the lock does no harm."""

from collections import Counter
from functools import cache
from random import Random

import effort
import pytest
import tally
from simulation.ending import tidied
from simulation.oracle import FROZEN_TWICE, OVERWRITTEN, OVERWRITTEN_FROZEN, UNAWARE
from simulation.scenarios import AT_ONCE, SCENARIOS, Live, live, world
from simulation.universe import Fate, lease_s

CHUNKS, SEEDS = 9, effort.count(small=8, full=56)  # 504 interleavings
CONTESTED = ("creates with devices", "updates", "deletes", "mixed", "adoption")


def fate(chance: Random) -> Fate:
    """Half of the runs are frozen for longer than the lease, or have a clock that jumps."""
    frozen, jumps = chance.random() < 0.4, chance.random() < 0.3
    return Fate(
        freeze_at_step=chance.randrange(1, 120) if frozen else 0,
        freeze_s=lease_s + chance.uniform(1.0, 200.0),
        jump_at_step=chance.randrange(1, 120) if jumps else 0,
        jump_s=chance.choice((-3600.0, 3600.0, 301.0)),
    )


@cache
def alone(name: str) -> Live:
    """What one run leaves that has the world for itself."""
    with world(SCENARIOS[name], seed=0) as universe:
        assert universe.go(SCENARIOS[name].wanted).word == "done"
        return live(universe)


def interleaved(seed: int) -> tuple[int, Counter[str]]:
    """Let them all run; claim that it ends as with one of them. Return how many ran, and what is known."""
    chance = Random(f"runs {seed}")
    name = CONTESTED[seed % len(CONTESTED)]
    scenario, wanted = SCENARIOS[name], alone(name)
    with world(scenario, seed=seed) as universe:
        count = chance.choice(AT_ONCE)

        async def one() -> None:
            await universe.pass_s(chance.choice((0.0, 0.02, 1.0, lease_s + 1)))
            await universe.run(scenario.wanted, fate=fate(chance))

        async def all_of_them() -> None:
            tasks = [universe.loop.create_task(one()) for _ in range(count)]
            for task in tasks:
                await task
            await universe.pass_s(2 * 3600 + lease_s)

        universe.loop.run(all_of_them())
        if universe.oracle.known[FROZEN_TWICE]:  # reported as ambiguous, and a person removes one
            tidied(universe)
            universe.loop.run(universe.pass_s(60))
        last = universe.go(scenario.wanted)
        assert last.word == "done", f"seed {seed}: {last.word} {last.error}"
        assert universe.oracle.violations == [], f"seed {seed}: {universe.oracle.violations}"
        assert live(universe) == wanted, f"seed {seed}"
        assert universe.go(scenario.wanted).writes == 0, f"seed {seed}"
        assert universe.oracle.known[OVERWRITTEN] == 0, f"seed {seed}"
        for kind, number in universe.faults.struck.items():
            tally.count("faults injected", f"side by side: {kind}", number)
        return count, universe.oracle.known


@effort.sample(2)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs_side_by_side_end_as_one_run(chunk: int) -> None:
    """Nobody is there twice, no update is lost, and who lost the lock writes nothing once it could know."""
    runs, known = 0, Counter[str]()
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        count, seen = interleaved(seed)
        runs, known = runs + count, known + seen

    tally.count("interleavings", "runs in one loop", SEEDS)
    tally.count("runs side by side", "in one loop", runs)
    for what in (UNAWARE, FROZEN_TWICE, OVERWRITTEN_FROZEN):
        tally.count("published exceptions seen", what, known[what])
    tally.count("duplicates", "interleavings", 0)
    tally.count("lost updates", "interleavings", 0)
    assert runs > 2 * SEEDS
