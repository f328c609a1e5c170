"""Two timers call sync on one PostgreSQL store and are killed at chance moments: everybody is there once."""

import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import effort
import postgres
import pytest
import tally
from crash.ground import Ground, ground, kill, mail
from waiting import patience_s

people = 40
kills_per_project = effort.count(small=3, full=10)
projects = 20
# Seconds within which a sync is killed, from its start: planning takes the first third, writing the rest.
killed_within_s = 0.8
# Done, somebody else had the lock, somebody else's change, in part, in doubt: all that a timer meets.
EXPECTED = frozenset({0, 4, 5, 6, 8})
POLICY = {
    "RECONCILER_POLICY_MODE": "apply",
    "RECONCILER_POLICY_DRIFT": "repair",
    "RECONCILER_POLICY_ASK_WHEN_DELETES": "false",
}


@effort.sample(1)
@effort.landing_part(4)
@pytest.mark.parametrize("seed", range(projects))
def test_timers_that_are_killed_end_as_one_that_never_was(seed: int, tmp_path: Path) -> None:
    """Both edit-and-sync and sync-at-once; whatever was under way is settled by the next timer."""
    chance = Random(seed)
    kills = 0
    with postgres.database() as url, ground(tmp_path / "project", latency_ms=15) as place:
        place.environ = {"RECONCILER_STORE": url, **POLICY}
        place.declare(people)
        for number in range(200):
            if kills >= kills_per_project:
                break
            kills += _two_timers(place, chance)
            if chance.random() < 0.4:
                place.declare(people, title=f"Title {number}")
        assert kills >= kills_per_project
        place.declare(people, title="Duty Manager")
        _ends_well(place)

    tally.count("real kills", "SIGKILL of a sync", kills)
    for rule in ("duplicates", "lost updates", "unplanned deletes"):
        tally.count(rule, "kills of a sync", 0)


def _two_timers(place: Ground, chance: Random) -> int:
    """Start one sync, and often a second one; kill the first. Return how many were killed at work."""
    with place.start("sync") as first:
        try:
            first.wait(chance.uniform(0.05, killed_within_s))
        except subprocess.TimeoutExpired:
            second = place.start("sync") if chance.random() < 0.5 else None
            try:
                killed = int(kill(first))
            finally:
                if second is not None:
                    assert second.wait(patience_s) in EXPECTED, place.said()
            return killed
    assert first.returncode in EXPECTED, place.said()
    return 0


def _ends_well(place: Ground) -> None:
    """Let a timer find the end, and claim that the service holds what is declared, and nothing twice."""
    for _ in range(4):
        if place.run("sync") == 0:
            break
    assert place.live() == Counter({mail(number): 1 for number in range(people)})
    assert place.devices() == Counter({f"phone-{number}": 1 for number in range(0, people, 3)})
    place.forget_requests()
    assert place.run("sync") == 0, place.said()
    assert place.service.writes() == []
