import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tally
from clock import Clock
from store.support import WORKSPACES, pass_time, record, store_at
from waiting import patience_s

from reconciler.errors import CorruptRecord, InputError, LockHeld
from reconciler.store.database import Store
from reconciler.store.locks import lease_s
from reconciler.store.records import Batch

TESTS = str(Path(__file__).parents[1])

# Another process that takes the lock, says so, and then does what it is told on its input.
OTHER = """
import sys
sys.path.insert(0, sys.argv[2])
from store.support import store_at
with store_at(sys.argv[1], prefix="other") as store, store.lock("run-other"):
    print("held", flush=True)
    sys.stdin.readline()
"""

# Another process that wants the lock so many times, and says each time whether it was alone within.
FIGHTER = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
from store.support import store_at
from reconciler.errors import LockHeld
url, _, witness, name, times = sys.argv[1:]
taken = 0
with store_at(url, prefix=name) as store:
    until = time.monotonic() + 240
    while taken < int(times) and time.monotonic() < until:
        try:
            with store.lock(name):
                os.close(os.open(witness, os.O_CREAT | os.O_EXCL))
                taken += 1
                os.unlink(witness)
        except LockHeld:
            time.sleep(0.005)
print(taken)
"""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(store_url: str, clock: Clock) -> Iterator[Store]:
    with store_at(store_url, clock=clock, prefix="first") as opened:
        yield opened


@pytest.fixture
def rival(store: Store, store_url: str, clock: Clock) -> Iterator[Store]:
    with store_at(store_url, clock=clock, prefix="second") as opened:
        yield opened


def start_other(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER, url, TESTS]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=patience_s)


def test_a_second_writer_is_told_who_writes_and_since_when(store: Store, rival: Store, clock: Clock) -> None:
    with store.lock("run-1"):
        pass_time(store, clock, 150)
        held = rival.holder()
        with pytest.raises(LockHeld) as caught, rival.lock("run-2"):
            pass
    assert held is not None
    assert f"process {os.getpid()}" in str(caught.value)
    assert f"run run-1, since {held.since} (2 min)" in str(caught.value)
    assert f"unlock --force {held.id}`" in caught.value.next
    assert held.expires in caught.value.next
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


def test_other_stacks_write_at_the_same_time(store_url: str, store: Store) -> None:
    with (
        store.lock("run-1") as lock,
        store_at(store_url, stack="other") as other,
        other.lock("run-2") as another,
    ):
        lock.check()
        another.check()


def test_a_lock_past_its_lease_is_taken_over_and_its_holder_finds_out(
    store: Store, rival: Store, clock: Clock
) -> None:
    """A run on another machine may be gone without a word; one that was only asleep must stop writing."""
    with store.lock("run-1") as lock:
        pass_time(store, clock, lease_s + 1)
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
            pass_time(store, clock, lease_s * 0.8)
            lock.check()
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass


def test_a_late_check_keeps_a_lock_that_nobody_took(store: Store, clock: Clock) -> None:
    with store.lock("run-1") as lock:
        pass_time(store, clock, lease_s * 3)
        lock.check()


def test_a_live_process_keeps_others_out_and_an_ended_one_does_not(store_url: str, store: Store) -> None:
    process = start_other(store_url)
    try:
        with pytest.raises(LockHeld, match=f"process {process.pid}"), store.lock("run-1"):
            pass
    finally:
        finish(process)
    with store.lock("run-1") as lock:
        lock.check()


def test_the_lock_of_a_killed_process_is_taken_over_at_once(
    store_url: str, store: Store, clock: Clock
) -> None:
    """A build that was cancelled is the usual reason, and nobody wants to wait for a lease then."""
    at_once = sys.platform.startswith(
        "linux"
    )  # elsewhere nothing tells two machines apart: the lease decides
    process = start_other(store_url)
    process.kill()
    finish(process)
    pass_time(store, clock, 0 if at_once else lease_s + 1)
    with store.lock("run-1") as lock:
        lock.check()


def asked_for(process: "subprocess.Popen[str]") -> None:
    """Return when it has ended and its parent knows: its number is free."""
    process.wait(timeout=patience_s)


def unasked(process: "subprocess.Popen[str]") -> None:
    """Return when it has ended and its number is not free."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("wait", [asked_for, unasked])
def test_a_killed_process_holds_nothing_though_its_parent_has_not_asked_for_it(
    store_url: str, store: Store, clock: Clock, wait: Callable[[subprocess.Popen[str]], object]
) -> None:
    """It keeps its number as a zombie; in a container without a proper first process, for ever."""
    process = start_other(store_url)
    process.kill()
    wait(process)
    pass_time(store, clock, 0 if sys.platform.startswith("linux") else lease_s + 1)
    try:
        with store.lock("run-1") as lock:
            lock.check()
    finally:
        finish(process)


def test_a_process_number_of_another_machine_says_nothing(store: Store, rival: Store) -> None:
    """The number of a dead process here may be that of a live one there."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=patience_s)
    with store.lock("run-1"):
        with store._database.writing() as connection:
            connection.execute("UPDATE locks SET seat = 'elsewhere', pid = :pid", {"pid": process.pid})
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass


def test_of_two_processes_that_fight_for_the_lock_one_gets_it(store_url: str, store: Store) -> None:
    script = OTHER.replace("sys.stdin.readline()", "import time; time.sleep(0.5)")
    command = [sys.executable, "-c", script, store_url, TESTS]
    fighters = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    spoken = [fighter.communicate(timeout=patience_s) for fighter in fighters]
    winners = [out for out, _ in spoken if out == b"held\n"]
    losers = [errors for out, errors in spoken if not out]
    # Started apart, both may get it, one after the other; never is it refused to both.
    assert len(winners) + len(losers) == 2
    assert winners
    assert all(b"LockHeld" in errors for errors in losers)


def test_many_processes_are_within_one_at_a_time_and_each_take_counts(
    store_url: str, store: Store, tmp_path: Path
) -> None:
    """A number given twice could not tell an older writer from a newer one."""
    fighters, times = 3, 12
    commands = [
        [sys.executable, "-c", FIGHTER, store_url, TESTS, str(tmp_path / "within"), f"run-{n}", str(times)]
        for n in range(fighters)
    ]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    spoken = [process.communicate(timeout=patience_s) for process in processes]
    with store.lock("run-last") as lock:
        assert lock.counter == fighters * times + 1
    assert spoken == [(f"{times}\n", "")] * fighters
    tally.count("interleavings", "takes of the lock by real processes", fighters * times)


def test_the_counter_rises_with_every_take_and_never_falls(store: Store, rival: Store, clock: Clock) -> None:
    """What was written under a number can be told from what a later writer wrote."""
    counters = []
    for holder in (store, rival, store):
        with holder.lock("run") as lock:
            counters.append(lock.counter)
            found = holder.holder()
            assert found is not None
            assert found.counter == lock.counter
    with store.lock("run") as lock:
        counters.append(lock.counter)
        pass_time(store, clock, lease_s + 1)
        with rival.lock("run") as taken:
            counters.append(taken.counter)
    assert counters == [1, 2, 3, 4, 5]
    assert store.holder() is None


def test_what_needs_the_lock_is_not_kept_without_it(store: Store, rival: Store, clock: Clock) -> None:
    """Checked in the transaction that writes, there is no moment between the check and what it allows."""

    def write() -> None:
        with store._database.writing() as connection:
            connection.execute("INSERT INTO plans_used VALUES ('salt', 'run-1', '')")
            lock.check_in(connection)

    with store.lock("run-1") as lock:
        write()
        with store._database.writing() as connection:
            connection.execute("DELETE FROM plans_used")
        pass_time(store, clock, lease_s + 1)
        with rival.lock("run-2"):
            with pytest.raises(LockHeld, match="run run-2"):
                write()
            with store._database.reading() as connection:
                assert connection.execute("SELECT count(*) FROM plans_used").scalar() == 0


def test_the_lease_is_renewed_by_what_is_written_under_it(store: Store, rival: Store, clock: Clock) -> None:
    """A run that writes needs no other sign of life."""
    with store.lock("run-1") as lock:
        for _ in range(3):
            pass_time(store, clock, lease_s * 0.8)
            store.record([], WORKSPACES, lock=lock)
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass


def test_a_recorded_result_needs_the_lock_that_was_given_with_it(
    store: Store, rival: Store, clock: Clock
) -> None:
    with store.lock("run-1") as lock:
        pass_time(store, clock, lease_s + 1)
        with rival.lock("run-2"), pytest.raises(LockHeld):
            store.record([Batch(remember=(record(),))], WORKSPACES, lock=lock)
    assert store.recorded(WORKSPACES).entities == {}


def test_a_clock_that_is_put_back_does_not_make_a_lease_endless(clock: Clock, tmp_path: Path) -> None:
    """Nobody could ever take over from a run that then dies elsewhere."""
    with (
        store_at(tmp_path / "store.db", clock=clock, prefix="first") as store,
        store_at(tmp_path / "store.db", clock=clock, prefix="second") as rival,
        store.lock("run-1") as lock,
    ):
        clock.pass_s(-50 * 365 * 86_400)
        lock.check()
        clock.pass_s(lease_s + 1)
        with rival.lock("run-2"), pytest.raises(LockHeld):
            lock.check()


def test_the_time_of_the_store_goes_on_by_the_monotonic_clock(store_url: str) -> None:
    """Learnt when the lock is taken: a clock that is set here afterwards is not asked."""
    clock, passed = Clock(), [0.0]
    with store_at(store_url, clock=clock, monotonic=lambda: passed[0]) as store, store.lock("run-1") as lock:
        began = lock.now()
        clock.pass_s(-86_400)
        passed[0] += 7.0
        assert (lock.now() - began).total_seconds() == 7.0
        assert abs((store.now() - began).total_seconds()) < 60 or not store.shared


@pytest.mark.parametrize("years", [-50, 50])
def test_machines_with_wrong_clocks_agree_on_a_shared_store(postgres_url: str, years: int) -> None:
    """The lease lives on the server's clock: nobody takes over because his own is fast, or waits for ever."""
    wrong = Clock()
    wrong.pass_s(years * 365 * 86_400)
    with (
        store_at(postgres_url, prefix="first") as store,
        store_at(postgres_url, clock=wrong, prefix="second") as rival,
        store.lock("run-1") as lock,
    ):
        with pytest.raises(LockHeld), rival.lock("run-2"):
            pass
        pass_time(store, wrong, lease_s + 1)
        with rival.lock("run-2") as taken:
            taken.check()
            with pytest.raises(LockHeld):
                lock.check()


def test_a_lock_is_taken_away_from_exactly_the_holder_that_was_named(store: Store, rival: Store) -> None:
    """Between a look and the word, another run may have become the writer: that one is not meant."""
    with store.lock("run-1"):
        seen = rival.holder()
    assert seen is not None
    with pytest.raises(InputError, match="is free"):
        rival.unlock(seen.id)
    with store.lock("run-2") as lock:
        for wrong in (seen.id, "", lock._mine.nonce + "x", "%"):
            with pytest.raises(LockHeld, match="has another id") as caught:
                rival.unlock(wrong)
            assert caught.value.next
            lock.check()
        now = rival.holder()
        assert now is not None
        assert rival.unlock(now.id) == now
        assert rival.holder() is None
        with pytest.raises(LockHeld, match="was taken from this run"):
            lock.check()
    with rival.lock("run-3") as lock:
        assert lock.counter == 3


def test_who_took_a_lock_away_stands_in_the_history(store: Store, rival: Store) -> None:
    with store.lock("run-1"):
        found = rival.holder()
        assert found is not None
        rival.unlock(found.id)
    assert [(line.event, line.run) for line in rival.history()] == [("unlocked", "run-1")]


def test_a_store_that_is_not_there_has_a_free_lock(tmp_path: Path) -> None:
    with store_at(tmp_path / "store.db", create=False) as store:
        assert store.holder() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("database", "damage"),
    [
        ("sqlite", "expires = 'soon'"),
        ("postgresql", "expires = 'soon'"),
        ("sqlite", "counter = 'many'"),
        ("sqlite", "nonce = x'00ff'"),
        ("sqlite", "expires = '2026-03-01'"),
        ("sqlite", "since = '', expires = ''"),
    ],
)
def test_a_damaged_lock_row_is_said_so_and_keeps_others_out(
    database: str, damage: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Taken for a free lock, it would let two write."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    if database == "postgresql":
        url = request.getfixturevalue("postgres_url")
    with (
        store_at(url, prefix="first") as store,
        store_at(url, prefix="second") as rival,
        store.lock("run-1") as lock,
    ):
        with store._database.writing() as connection:
            connection.execute(f"UPDATE locks SET {damage}")  # noqa: S608 - the test's own words
        with pytest.raises(CorruptRecord, match="lock is damaged") as caught:
            lock.check()
        assert caught.value.next
        with pytest.raises(CorruptRecord), rival.lock("run-2"):
            pass
