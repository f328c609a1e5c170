"""The real command, killed at chance moments and run again until it ends: everybody once, nobody twice."""

import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from crash.ground import Ground, ground, kill, mail

people = 60
kills_per_project = effort.count(small=3, full=10)
projects = 20
# Seconds within which a command is killed, from its start: planning takes the first third, writing the rest.
killed_within_s = 0.6


@effort.sample(1)
@pytest.mark.parametrize("seed", range(projects))
def test_killed_again_and_again_it_ends_as_if_never_killed(seed: int, tmp_path: Path) -> None:
    """Whatever was under way is settled by looking: no person and no device twice, none missing."""
    chance = Random(seed)
    with ground(tmp_path / "project", latency_ms=15) as place:
        place.declare(people)
        kills = under_way = 0
        for number in range(200):
            if kills == kills_per_project:
                break
            words = ("resume",) if number and chance.random() < 0.5 else ("apply", "--yes")
            if _killed(place, words, chance.uniform(0.05, killed_within_s)):
                kills += 1
                under_way += bool(place.open_intents())
            else:
                place.declare(people, title=f"Title {number}")
        assert kills == kills_per_project
        title = "Duty Manager"
        place.declare(people, title=title)
        _ends_well(place, title)

    tally.count("real kills", "SIGKILL", kills)
    tally.count("real kills with a write under way", "SIGKILL", under_way)
    tally.count("duplicates", "real kills", 0)


def test_killed_in_the_middle_of_a_thousand_creates_it_ends_with_a_thousand(tmp_path: Path) -> None:
    """The words of the promise, with the numbers in them."""
    thousand = effort.count(small=200, full=1_000)
    with ground(tmp_path / "project", latency_ms=30) as place:
        place.declare(thousand, devices=False)
        with place.start("apply", "--yes") as process:
            assert place.wait_for_writes(thousand // 2, process), place.said()
            assert kill(process)
        half = sum(place.live().values())
        assert thousand // 2 <= half < thousand

        assert place.run("resume") == 0, place.said()

        assert place.live() == Counter({mail(number): 1 for number in range(thousand)})
        place.forget_requests()
        assert place.run("apply", "--yes") == 0, place.said()
        assert place.service.writes() == []
    tally.count("real kills", "SIGKILL", 1)


def _killed(place: Ground, words: tuple[str, ...], after_s: float) -> bool:
    """Whether the command was still at work when it was killed."""
    with place.start(*words) as process:
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            return kill(process)
    assert process.returncode in (0, 6, 8), place.said()
    return False


def _ends_well(place: Ground, title: str) -> None:
    """Let it end, and claim that the service holds what the manifest says, and nothing twice."""
    assert place.run("resume") in (0, 5), place.said()
    assert place.run("apply", "--yes") == 0, place.said()
    assert place.live() == Counter({mail(number): 1 for number in range(people)})
    assert place.devices() == Counter({f"phone-{number}": 1 for number in range(0, people, 3)})
    place.forget_requests()
    assert place.run("apply", "--yes") == 0, place.said()
    assert place.service.writes() == []
    assert title in place.project.manifest.read_text()
