"""One life of a world, drawn from its seed: what is declared, who runs when, and what goes wrong.

rounds of (declare, run, wait) under faults, kills, stops, jumps and somebody else  ->  the quiet
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import memory
from simulation import people
from simulation.ending import quiet
from simulation.modelservice import SIDS, Switches
from simulation.people import NAMES
from simulation.universe import End, Fate, Universe, fresh_template

from reconciler.model.snapshots import Desired

# Half of the work of a life of three to seven runs was its quiet end, in which nothing fails: longer lives
# meet as many faults in less time, and what one run left behind meets more runs.
RUNS = (8, 16)
WAITS = (0.0, 3.0, 30.0, 320.0, 700.0)  # seconds between two runs; the lease ends within the longer ones
EVERY = 0.25  # of the runs meet each kind of fate
VANISHES = (
    0.02  # of the runs lose their store: afterwards much that the other fates need is not known any more
)


@dataclass
class Life:
    """What came of one seed."""

    seed: int
    trace: str = ""
    violations: list[str] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    writes: int = 0
    edits: int = 0
    steps: int = 0

    @property
    def replay(self) -> str:
        """The one line that plays this life again."""
        return f"script/soak --seeds {self.seed}:{self.seed + 1}"

    def failure(self) -> str:
        """What a failing test says."""
        return f"seed {self.seed}: {self.violations[0]}\n  next: {self.replay}"


def lived(seed: int) -> Life:
    """Live through one seed."""
    with ground() as folder:
        chance = Random(f"story {seed}")
        universe = Universe(
            seed,
            folder,
            template(),
            switches=Switches.drawn(chance),
            concurrency=chance.choice((1, 2, 3, 4)),
            workspaces=chance.choice((("ops",), ("ops",), ("lab", "ops"))),
        )
        try:
            universe.loop.run(_story(universe, chance))
            return _told(universe)
        finally:
            universe.close()


def _told(universe: Universe) -> Life:
    oracle = universe.oracle
    return Life(
        universe.seed,
        universe.trace,
        list(oracle.violations),
        Counter(oracle.known),
        Counter(universe.faults.struck),
        Counter(end.word for end in universe.ends),
        oracle.requests,
        oracle.writes,
        universe.somebody.edits,
        universe.loop.steps,
    )


async def _story(universe: Universe, chance: Random) -> None:
    _populate(universe, chance)
    universe.faults.on = True
    if chance.random() < 0.6:
        universe.often_s = chance.choice((0.05, 0.2, 1.0))
    mark = universe.switches.mark
    desired = people.drawn(chance, mark=mark, workspaces=universe.workspaces)
    verb = "apply"
    for _ in range(chance.randrange(*RUNS)):
        if chance.random() < 0.5:
            desired = people.drawn(chance, mark=mark, workspaces=universe.workspaces)
        end = await universe.run(desired, verb=verb, fate=drawn_fate(chance))
        await universe.pass_s(chance.choice(WAITS[3:] if end.word == "killed" else WAITS))
        verb = "resume" if chance.random() < 0.4 else "apply"
        if universe.oracle.violations:
            return
    await quiet(universe, desired)


def drawn_fate(chance: Random) -> Fate:
    """Most runs meet nothing, some meet one thing, few meet several."""

    def at(most: int) -> int:
        return chance.randrange(1, most) if chance.random() < EVERY else 0

    stops = at(250)
    return Fate(
        kill_at_effect=at(60),
        kill_at_step=at(250),
        stop_at_steps=(stops, stops + chance.randrange(1, 60)) if stops else (),
        jump_at_step=at(150),
        jump_s=chance.choice((-3600.0, 3600.0, 120.0)),
        freeze_at_step=at(150),
        freeze_s=chance.choice((5.0, 400.0)),
        skew_s=chance.choice((-3600.0, -5.0, 5.0, 3600.0)) if chance.random() < EVERY else 0.0,
        vanish_at_step=chance.randrange(20, 250) if chance.random() < VANISHES else 0,
    )


def _populate(universe: Universe, chance: Random) -> None:
    """Who is there before: strangers, people whom we will declare, the same ones in another workspace."""
    model = universe.model
    for number in range(chance.randrange(4)):
        body = {
            "firstName": f"old{number}",
            "lastName": "Roe",
            "workEmailAddress1": f"old{number}@example.com",
            "customFields": [{"fieldName": "badge", "fieldValue": "7", "searchKey": "custom_badge"}],
        }
        universe.oracle.edited(model.create("contact", SIDS["ops"], body))
    for name in NAMES:
        for sid in SIDS.values():
            if chance.random() < 0.15:
                body = {"firstName": name, "lastName": "Was", "workEmailAddress1": f"{name}@example.com"}
                universe.oracle.edited(model.create("contact", sid, body))


@contextmanager
def ground() -> Iterator[Path]:
    """A folder in memory where there is one: the disk's own slowness proves nothing here."""
    with tempfile.TemporaryDirectory(dir=memory.place()) as folder:
        yield Path(folder)


@cache
def template() -> Path:
    """An empty store, for as long as this process lasts."""
    _kept.append(tempfile.TemporaryDirectory())
    return fresh_template(Path(_kept[-1].name))


_kept: list["tempfile.TemporaryDirectory[str]"] = []

__all__ = ["Desired", "End", "Life", "drawn_fate", "ground", "lived", "template"]
