"""What undoes the last runs: kept for some days and so many runs, sealed, and found by an id."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from clock import Clock
from msgspec import structs
from store.remembering import CONSENT, CONTEXT, PLAN, Crash, ended, run_of, store_of, watched
from store.support import WORKSPACES

from reconciler.errors import CorruptRecord
from reconciler.model.plans import Plan
from reconciler.store.database import Store
from reconciler.store.undos import find_outdated, runs_max


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def undo_of(run: str) -> Plan:
    return structs.replace(PLAN, salt=f"salt of {run}", options=structs.replace(PLAN.options, undo_of=run))


def carry_out(store: Store, run: str, *, days: int = 7) -> None:
    store.begin(run, "apply", PLAN, CONSENT, CONTEXT)
    done = structs.replace(run_of(ended()), run=run)
    store.end(done, WORKSPACES, undo=undo_of(run), undo_days=days)


def kept(store: Store) -> list[str]:
    """The runs that keep an undo."""
    with store._database.reading() as connection:
        return [run for (run,) in connection.execute("SELECT run FROM undos ORDER BY run")]


def test_what_undoes_a_run_is_kept_with_its_end_and_found_by_its_id(store: Store) -> None:
    """Whole, or by its first characters; with everything that else is known of the run."""
    carry_out(store, "3f2a-1")

    for named in ("3f2a-1", "3f"):
        found = store.run_to_undo(named)
        assert found.kept == undo_of("3f2a-1")
        assert [(one.run, one.command, one.applied, one.cut_off) for one in found.runs] == [
            ("3f2a-1", "apply", 1, False)
        ]
        assert (found.undone_by, found.elsewhere) == ("", ())


def test_an_undo_that_was_carried_out_says_by_which_run(store: Store) -> None:
    carry_out(store, "3f2a-1")
    store.begin("8c00-2", "undo", PLAN, CONSENT, CONTEXT)
    assert store.use_plan(undo_of("3f2a-1").salt)

    found = store.run_to_undo("3f2a-1")

    assert (found.undone_by, found.undone_at) == ("8c00-2", "2026-03-01T12:00:00+00:00")


def test_several_runs_and_those_of_other_stacks_are_told_apart(store: Store, store_url: str) -> None:
    """A pattern of the database's language is no pattern here."""
    carry_out(store, "3f2a-1")
    carry_out(store, "3f2a-2")
    with store_of(store_url, stack="other") as other:
        carry_out(other, "77-1")

    assert [one.run for one in store.run_to_undo("3f2a").runs] == ["3f2a-1", "3f2a-2"]
    assert store.run_to_undo("3f2a").kept is None
    assert [one.stack for one in store.run_to_undo("77").elsewhere] == ["other"]
    assert (store.run_to_undo("77").runs, store.run_to_undo("77-1").kept) == ((), None)
    assert [store.run_to_undo(one).runs for one in ("3f2a%", "_f2a-1", "zz")] == [(), (), ()]


def test_a_run_that_was_cut_off_is_known_as_such(store: Store) -> None:
    """It has written something, perhaps: "nothing to undo" would be untrue."""
    store.begin("3f2a-1", "apply", PLAN, CONSENT, CONTEXT)
    before = store.run_to_undo("3f")
    store.close_run("3f2a-1", "interrupted")

    assert [one.runs[0].cut_off for one in (before, store.run_to_undo("3f"))] == [True, True]


def test_undos_go_by_days(tmp_path: Path) -> None:
    """They hold values of people who were deleted. By the store's clock, which a server has of its own."""
    clock = Clock()
    with store_of(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        carry_out(store, "run-0")
        for _ in range(2):
            clock.pass_s(7 * 86_400 - 60)
            carry_out(store, "run-1" if kept(store) == ["run-0"] else "run-2")

        assert kept(store) == ["run-1", "run-2"]


def test_undos_go_by_number(store: Store) -> None:
    """They lie in the way of every backup."""
    for number in range(1, runs_max + 3):
        carry_out(store, f"run-{number:02}")

    assert kept(store) == [f"run-{number:02}" for number in range(3, runs_max + 3)]
    store.check_whole()


def test_the_newest_undos_stay_as_far_as_there_is_room() -> None:
    """One that takes all the room by itself is not kept at all."""
    known = [("newest", "2026-03-03", 30), ("before", "2026-03-02", 60), ("first", "2026-03-01", 20)]

    def outdated(**limits: int) -> list[str]:
        return find_outdated(known, since="2026-01-01", **limits)

    assert outdated() == []
    assert outdated(characters=109) == ["first"]
    assert outdated(characters=89) == ["before", "first"]
    assert outdated(characters=29) == ["newest", "before", "first"]
    assert outdated(runs=1) == ["before", "first"]
    assert find_outdated(known, since="2026-03-02") == ["first"]


def test_zero_days_keep_nothing_and_drop_what_there_is(store: Store) -> None:
    carry_out(store, "run-1")
    carry_out(store, "run-2", days=0)

    assert kept(store) == []


def test_a_run_that_does_not_say_leaves_the_undos_of_others(store: Store) -> None:
    """One that is cancelled ends without a word of it."""
    carry_out(store, "run-1")
    store.begin("run-2", "apply", PLAN, CONSENT, CONTEXT)
    store.end(structs.replace(run_of(ended()), run="run-2"))

    assert kept(store) == ["run-1"]


DAMAGE = [
    "DELETE FROM undos",
    "UPDATE undos SET plan = replace(plan, 'jane', 'june')",
    "UPDATE undos SET run = 'run-2'",
    "UPDATE undos SET stack = 'other'",
    "UPDATE undos SET plan = '{}'",
    "DELETE FROM seals WHERE name = 'undos'",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_an_undo_that_is_not_as_it_was_written_is_damage(store: Store, statement: str) -> None:
    """It would be written to the service, and no manifest says what it should be."""
    carry_out(store, "run-1")
    with store._database.writing() as connection:
        assert connection.execute(statement).rowcount

    for look in (lambda: store.run_to_undo("run-1"), store.check_whole):
        with pytest.raises(CorruptRecord, match="undos is damaged for stack default"):
            look()


def test_an_undo_is_kept_with_the_end_of_its_run_or_not_at_all(store: Store) -> None:
    """Killed at each statement: an undo of a run that goes on would undo half of it."""
    store.begin("run-1", "apply", PLAN, CONSENT, CONTEXT)
    done, fatal = run_of(ended()), 0
    while True:
        fatal += 1
        with watched(store) as statements:
            statements.fatal = fatal
            try:
                store.end(done, WORKSPACES, undo=undo_of("run-1"), undo_days=7)
            except Crash:
                assert kept(store) == []
                assert store.run_to_undo("run-1").runs[0].cut_off
                continue
        break

    assert fatal > 5
    assert kept(store) == ["run-1"]
