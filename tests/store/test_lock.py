import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from store.support import Clock, store_at

from reconciler.errors import CorruptRecord, LockHeld
from reconciler.store.database import Store
from reconciler.store.lock import Lock, lease_s

# Another process that takes the lock, says so, and then does what it is told on its input.
OTHER = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from store.support import store_at
with store_at(Path(sys.argv[1]), prefix="other") as store, store.lock("run-other"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with store_at(tmp_path / "store.db", clock=clock, prefix="first") as opened:
        yield opened


@pytest.fixture
def rival(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with store_at(tmp_path / "store.db", clock=clock, prefix="second") as opened:
        yield opened


def start_other(path: Path) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", OTHER, str(path), tests]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=20)


def test_a_second_writer_is_told_who_writes_and_since_when(store: Store, rival: Store, clock: Clock) -> None:
    with store.lock("run-1"):
        clock.pass_(150)
        with pytest.raises(LockHeld) as caught, rival.lock("run-2"):
            pass
    assert f"process {os.getpid()}" in str(caught.value)
    assert "run run-1, since 2026-03-01T12:00:00+00:00 (2 min)" in str(caught.value)
    assert caught.value.next
    assert caught.value.exit_code == 4


def test_the_lock_is_let_go_of_on_every_way_out(store: Store, rival: Store) -> None:
    def interrupted() -> None:
        with store.lock("run-1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with rival.lock("run-2"):
        pass
    with store.lock("run-3") as lock:
        lock.check()


def test_other_stacks_write_at_the_same_time(tmp_path: Path, store: Store) -> None:
    with (
        store.lock("run-1") as lock,
        store_at(tmp_path / "store.db", stack="other") as other,
        other.lock("run-2") as another,
    ):
        lock.check()
        another.check()


def test_a_lock_past_its_lease_is_taken_over_and_its_holder_finds_out(
    store: Store, rival: Store, clock: Clock
) -> None:
    """A run on another machine may be gone without a word; one that was only asleep must stop writing."""
    with store.lock("run-1") as lock:
        clock.pass_(lease_s + 1)
        with rival.lock("run-2") as taken:
            taken.check()
            with pytest.raises(LockHeld, match=r"was taken from this run, by .* run run-2"):
                lock.check()
            lock.release()
            taken.check()
        with pytest.raises(LockHeld, match="was taken from this run"):
            lock.check()


def test_a_run_that_goes_on_checking_keeps_its_lock(store: Store, rival: Store, clock: Clock) -> None:
    with store.lock("run-1") as lock:
        for _ in range(20):
            clock.pass_(lease_s * 0.8)
            lock.check()
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass


def test_a_late_check_keeps_a_lock_that_nobody_took(store: Store, clock: Clock) -> None:
    with store.lock("run-1") as lock:
        clock.pass_(lease_s * 3)
        lock.check()


def test_a_live_process_keeps_others_out_and_an_ended_one_does_not(tmp_path: Path, store: Store) -> None:
    process = start_other(tmp_path / "store.db")
    try:
        with pytest.raises(LockHeld, match=f"process {process.pid}"), store.lock("run-1"):
            pass
    finally:
        finish(process)
    with store.lock("run-1") as lock:
        lock.check()


def test_the_lock_of_a_killed_process_is_taken_over_at_once(
    tmp_path: Path, store: Store, clock: Clock
) -> None:
    """A build that was cancelled is the usual reason, and nobody wants to wait for a lease then."""
    at_once = sys.platform.startswith(
        "linux"
    )  # elsewhere nothing tells two machines apart: the lease decides
    process = start_other(tmp_path / "store.db")
    process.kill()
    finish(process)
    clock.pass_(0 if at_once else lease_s + 1)
    with store.lock("run-1") as lock:
        lock.check()


@pytest.mark.parametrize("wait", [lambda process: process.wait(timeout=20), lambda _: time.sleep(0.3)])
def test_a_killed_process_holds_nothing_though_its_parent_has_not_asked_for_it(
    tmp_path: Path, store: Store, clock: Clock, wait: Callable[[subprocess.Popen[str]], object]
) -> None:
    """It keeps its number as a zombie; in a container without a proper first process, for ever."""
    process = start_other(tmp_path / "store.db")
    process.kill()
    wait(process)
    clock.pass_(0 if sys.platform.startswith("linux") else lease_s + 1)
    try:
        with store.lock("run-1") as lock:
            lock.check()
    finally:
        finish(process)


def test_a_process_number_of_another_machine_says_nothing(store: Store, rival: Store) -> None:
    """The number of a dead process here may be that of a live one there."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=20)
    with store.lock("run-1"):
        with store._database.writing() as connection:
            connection.execute(text("UPDATE locks SET seat = 'elsewhere', pid = :pid"), {"pid": process.pid})
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass


def test_of_two_processes_that_fight_for_the_lock_one_gets_it(tmp_path: Path, store: Store) -> None:
    script = OTHER.replace("sys.stdin.readline()", "import time; time.sleep(0.5)")
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", script, str(tmp_path / "store.db"), tests]
    fighters = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    spoken = [fighter.communicate(timeout=30) for fighter in fighters]
    winners = [out for out, _ in spoken if out == b"held\n"]
    losers = [errors for out, errors in spoken if not out]
    # Started apart, both may get it, one after the other; never is it refused to both.
    assert len(winners) + len(losers) == 2
    assert winners
    assert all(b"LockHeld" in errors for errors in losers)


def test_of_two_that_saw_the_same_holder_one_takes_over(store: Store, rival: Store, clock: Clock) -> None:
    """Where a database lets both look at once, the row decides: it changes from exactly that holder."""
    with store.lock("run-1") as lock, store._database.writing() as connection:
        seen = lock._holder(connection)
        assert seen is not None
        assert not lock._written(connection, None)
        second, third = (
            Lock(rival._database, rival._owner, run=name, nonce=name, now=clock) for name in ("two", "three")
        )
        assert second._written(connection, seen)
        assert not third._written(connection, seen)


def test_a_lease_is_not_renewed_for_a_lock_that_was_taken(store: Store, rival: Store, clock: Clock) -> None:
    with store.lock("run-1") as lock:
        clock.pass_(lease_s + 1)
        with rival.lock("run-2") as taken:
            with pytest.raises(LockHeld, match="run run-2"):
                lock._renew()
            taken.check()


def test_a_damaged_lock_row_is_said_so(store: Store, rival: Store) -> None:
    with store.lock("run-1") as lock:
        with store._database.writing() as connection:
            connection.execute(text("UPDATE locks SET expires = 'soon'"))
        with pytest.raises(CorruptRecord, match="lock is damaged"):
            lock.check()
        with pytest.raises(CorruptRecord), rival.lock("run-2"):
            pass
