"""Lives of worlds under seeds: whatever fails, no rule is broken, and the declared state is reached.

What goes wrong is in network.py, disk.py and story.py, the rules are in oracle.py and ending.py. A failure
names its seed and the command that plays it again; `script/soak` looks for new ones.
"""

from collections import Counter

import effort
import pytest
import tally
from simulation.story import Life, lived

CHUNKS, SEEDS = 40, effort.count(small=4, full=15)
REPLAYED = effort.count(small=1, full=4)  # seeds of a chunk that are lived twice
REPLAYED_CHUNKS = 10  # chunks that have such

# What a fault can come to for the one whose run met it: it ended well all the same, or it was refused.
SURVIVED = frozenset({"done", "partial", "in doubt", "interrupted", "failed", "stale", "nothing"})
KILLED = frozenset({"killed"})


@effort.sample(2)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_goes_wrong_no_rule_is_broken_and_it_comes_right(chunk: int) -> None:
    """P1 to P7 and P18 of the promises, judged from outside the program."""
    lives = [lived(seed) for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS)]

    assert [life.failure() for life in lives if life.violations] == []
    told(lives)
    if chunk < REPLAYED_CHUNKS:
        first = lives[:REPLAYED]
        assert [lived(life.seed).trace for life in first] == [life.trace for life in first]
        tally.count("seeds replayed", "the same trace", len(first))


def told(lives: list[Life]) -> None:
    """Count what was done to them, and what became of it."""
    faults: Counter[str] = sum((life.faults for life in lives), Counter())
    ends: Counter[str] = sum((life.ends for life in lives), Counter())
    known: Counter[str] = sum((life.known for life in lives), Counter())
    for kind, number in faults.items():
        tally.count("faults injected", f"simulation: {kind}", number)
    for word, number in ends.items():
        section = "survived" if word in SURVIVED else "killed" if word in KILLED else "refused"
        tally.count(section, f"simulation: {word}", number)
    for what, number in known.items():
        tally.count("published exceptions seen", what, number)
    tally.count("outside edits", "simulation", sum(life.edits for life in lives))
    tally.count("requests", "simulation", sum(life.requests for life in lives))
    for section in ("duplicates", "lost updates", "unplanned deletes"):
        tally.count(section, "simulation", 0)
    tally.note("seeds of the simulation", f"0 to {CHUNKS * SEEDS - 1}; script/soak --seeds FROM:TO")
