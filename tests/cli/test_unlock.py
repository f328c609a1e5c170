"""unlock as a process: it takes a lock from exactly one holder, and from nobody by mistake."""

import pytest
from cli.hands import Project, Service
from cli.keeping import RUN, store_file, store_of, told

from reconciler.errors import LockHeld


def test_without_force_nothing_is_unlocked_and_the_way_is_explained(
    project: Project, service: Service
) -> None:
    """The run may be writing: without its id the lock must not be taken from it."""
    with store_of(project, service) as store, store.lock(RUN) as lock:
        done = project.run(service, "unlock")
        lock.check()

    assert (done.returncode, done.stdout) == (64, "")
    assert "--force ID" in done.stderr
    assert "reconciler lock" in done.stderr


def test_the_right_id_frees_the_lock_and_says_what_comes_next(project: Project, service: Service) -> None:
    """The run that had it finds out before its next write; who took it stands in the history."""
    with store_of(project, service) as store, store.lock(RUN) as lock:
        holder = store.holder()
        assert holder is not None
        done = project.run(service, "unlock", "--force", holder.id)
        with pytest.raises(LockHeld):
            lock.check()
        assert store.holder() is None
        entries = store.history()

    assert (done.returncode, done.stderr) == (0, "")
    assert f"it was taken from {holder.holder}, run {RUN}." in done.stdout
    assert "next: reconciler resume" in done.stdout
    assert [(one.event, one.run) for one in entries] == [("unlocked", RUN)]
    assert entries[0].who
    shown = project.run(service, "history").stdout
    assert "the lock was released by force" in shown


def test_another_id_changes_nothing_and_says_who_holds_it(project: Project, service: Service) -> None:
    """Between the look and the word another run may have begun: it keeps its lock."""
    with store_of(project, service) as store, store.lock(RUN) as lock:
        before = store.holder()
        done = project.run(service, "unlock", "--force", "0123456789ab")
        as_json = told(project.run(service, "unlock", "--force", "0123456789ab", "--format", "json"))
        lock.check()
        after = store.holder()
        entries = store.history()

    assert before is not None
    assert after is not None
    assert (done.returncode, done.stdout) == (4, "")
    assert before.id in done.stderr
    assert "Nothing was changed." in done.stderr
    assert (as_json["outcome"], as_json["exit_code"]) == ("locked", 4)
    assert (after.nonce, after.counter) == (before.nonce, before.counter)
    assert entries == ()


def test_the_id_of_a_run_before_does_not_unlock_the_one_after(project: Project, service: Service) -> None:
    """Ids are of one taking of the lock, not of a place or a person."""
    with store_of(project, service) as store:
        with store.lock(RUN):
            old = store.holder()
        assert old is not None
        with store.lock(RUN) as lock:
            done = project.run(service, "unlock", "--force", old.id)
            lock.check()

    assert done.returncode == 4


def test_a_free_lock_is_said_to_be_free_already(project: Project, service: Service) -> None:
    """Two people who both unlock: the second has nothing to do, and makes no store to say so."""
    none = project.run(service, "unlock", "--force", "0123456789ab")
    assert not store_file(project).exists()
    with store_of(project, service) as store, store.lock(RUN):
        pass
    free = project.run(service, "unlock", "--force", "0123456789ab")
    as_json = told(project.run(service, "unlock", "--force", "0123456789ab", "--format", "json"))

    assert none.returncode == free.returncode == 0
    assert none.stdout == free.stdout == "the lock of stack quickstart is free.\n"
    assert as_json["taken_from"] is None


@pytest.mark.parametrize("given", ["", "%", "0123456789ab\x1b[2J", "' OR 1=1 --", "0" * 4_000])
def test_no_odd_id_unlocks_anything(given: str, project: Project, service: Service) -> None:
    """What is typed is compared, and neither run nor shown raw."""
    with store_of(project, service) as store, store.lock(RUN) as lock:
        done = project.run(service, "unlock", "--force", given)
        lock.check()

    assert done.returncode == 4
    assert "\x1b" not in done.stderr
    assert len(done.stderr) < 1_000
