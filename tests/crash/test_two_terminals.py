"""Two terminals, and more, that apply at once on one PostgreSQL: the end is that of one."""

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import effort
import postgres
import pytest
import tally
import warm
from crash.ground import Ground, beside, ended_s, ground, kill, mail

people = 30
locked = 4  # exit code: somebody else is the writer


@effort.sample(1)
@pytest.mark.parametrize("terminals", [2, 3, 4])
def test_terminals_at_once_end_with_the_state_of_one(terminals: int, tmp_path: Path) -> None:
    """One writes, the others are told who; when they have tried until done, everybody is there once."""
    with postgres.database() as url, ground(tmp_path / "project", latency_ms=10) as place:
        place.environ = {"RECONCILER_STORE": url}
        place.declare(people)
        codes = _all_at_once(place, terminals)
        place.forget_requests()
        assert place.run("apply", "--yes") == 0, place.said()

        assert place.service.writes() == []
        assert place.live() == Counter({mail(number): 1 for number in range(people)})
        assert place.devices() == Counter({f"phone-{number}": 1 for number in range(0, people, 3)})
        assert codes[0] == terminals
    tally.count("interleavings", "terminals on one PostgreSQL", terminals)


def test_a_killed_holder_of_the_lock_is_followed_by_the_next(tmp_path: Path) -> None:
    """On the same machine the lock of an ended process is free; what it had under way is settled first."""
    with postgres.database() as url, ground(tmp_path / "project", latency_ms=30) as place:
        place.environ = {"RECONCILER_STORE": url}
        place.declare(people)
        with place.start("apply", "--yes") as process:
            assert place.wait_for_writes(people // 2, process), place.said()
            assert kill(process)

        assert place.run("apply", "--yes") == 0, place.said()
        assert place.live() == Counter({mail(number): 1 for number in range(people)})
    tally.count("real kills", "SIGKILL")


@effort.proofs_only()
def test_runners_with_a_store_each_end_with_the_state_of_one(tmp_path: Path) -> None:
    """As in CI: three machines, three SQLite stores, one service, and nobody who could be asked."""
    with ground(tmp_path / "one", latency_ms=10) as place:
        places = [place, *(beside(place, tmp_path / name) for name in ("two", "three"))]
        for one in places:
            one.environ = {"RECONCILER_LOCK_IN_SERVICE": "auto"}
            one.declare(people)
        with ExitStack() as stack:
            running = [
                stack.enter_context(one.start("apply", "--yes", "--lock-timeout", "50")) for one in places
            ]
            codes = [process.wait(ended_s) for process in running]

        assert codes == [0, 0, 0], [one.said() for one in places]
        assert place.live() == Counter({mail(number): 1 for number in range(people)})
        assert place.devices() == Counter({f"phone-{number}": 1 for number in range(0, people, 3)})
        assert place.service.call("GET", "/resources").get("resources", []) == []
    tally.count("own stores", "real processes", 3)


def _all_at_once(place: Ground, terminals: int) -> Counter[int]:
    """Let that many commands run until each has ended well; return how they ended in the end."""
    running = [place.start("apply", "--yes") for _ in range(terminals)]
    ended: Counter[int] = Counter()
    until = time.monotonic() + ended_s
    while running:
        process = running.pop(0)
        assert time.monotonic() < until
        code = process.wait(ended_s)
        if code == locked:
            running.append(_again(place))
        else:
            assert code == 0, place.said()
            ended[code] += 1
    return ended


def _again(place: Ground) -> warm.Command:
    time.sleep(0.1)
    return place.start("apply", "--yes")
