"""INT and TERM, once and twice, at chance moments of apply and resume: an end in good order."""

import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from cli.hands import heard
from crash.ground import Ground, ground, mail
from waiting import patience_s

people = 40
projects = 10
signals_per_project = effort.count(small=4, full=8)
ends_within_s = patience_s  # a busy machine takes its time; what hangs takes for ever


@effort.sample(1)
@pytest.mark.parametrize("seed", range(projects))
def test_stopped_again_and_again_it_ends_in_time_and_nothing_is_twice(seed: int, tmp_path: Path) -> None:
    """The exit code says how it ended, no traceback, the lock is free, and the next run goes on."""
    chance = Random(seed)
    with ground(tmp_path / "project", latency_ms=30) as place:
        place.declare(people)
        sent: Counter[str] = Counter()
        number = 0
        while sent.total() < signals_per_project:
            number += 1
            words = ("resume",) if chance.random() < 0.4 else ("apply", "--yes")
            kind = chance.choice([signal.SIGINT, signal.SIGTERM])
            code = _stopped(place, words, kind, chance)
            assert code in {0, 5, 6, 8, 130}, place.said()
            assert "Traceback" not in place.said()
            if code == 0:
                place.declare(people, title=f"Title {number}")
            else:
                sent[kind.name.removeprefix("SIG")] += 1
        place.declare(people, title="Duty Manager")
        assert place.run("resume") in (0, 5), place.said()
        assert place.run("apply", "--yes") == 0, place.said()
        assert place.live() == Counter({mail(one): 1 for one in range(people)})
        assert place.devices() == Counter({f"phone-{one}": 1 for one in range(0, people, 3)})
    for name, count in sent.items():
        tally.count("signals", name, count)


def test_a_signal_while_it_waits_for_what_is_in_doubt_ends_the_wait(tmp_path: Path) -> None:
    """Ctrl-C there ends the wait; what is in doubt stays so for the next run."""
    with ground(tmp_path / "project") as place:
        place.environ = {"RECONCILER_SERVICE_LIMITS_SETTLE_S": "300"}
        place.declare(5, devices=False)
        fault = {"fault": "drop-before", "method": "POST", "path": "*/contacts", "times": 1}
        place.service.call("POST", "/_sandbox/faults", fault)
        with place.start("apply", "--yes") as process:
            assert place.wait_for_writes(5, process), place.said()
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            code = process.wait(ends_within_s)  # long before the wait would be over
        assert code == 130, place.said()
        assert "in doubt" in place.said()
        assert place.open_intents() == 1

        place.environ = {"RECONCILER_SERVICE_LIMITS_SETTLE_S": "0"}
        assert place.run("resume") == 0, place.said()
        assert place.live() == Counter({mail(one): 1 for one in range(5)})
    tally.count("signals", "TERM")


def _stopped(place: Ground, words: tuple[str, ...], kind: signal.Signals, chance: Random) -> int:
    """Return the exit code of a command that was asked to stop once, or twice in a row."""
    with place.start(*words) as process:
        heard(process)  # before that it is the interpreter that starts, and not our program
        try:
            return process.wait(chance.uniform(0, 0.7))
        except subprocess.TimeoutExpired:
            process.send_signal(kind)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(kind)
        try:
            return process.wait(ends_within_s)
        finally:
            process.kill()
