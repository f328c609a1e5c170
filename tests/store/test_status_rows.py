"""What a store says of each of its stacks, for `reconciler status`: on every engine."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from clock import Clock
from msgspec import structs
from store.remembering import CONTEXT, PLAN, begin, ended, intent, run_of, store_of, watched
from store.support import ORIGIN, SAM

from reconciler.core.views.status import RunRow, StackRows, judge_stacks
from reconciler.errors import StoreError
from reconciler.model.automation import ApprovalAnswer, ApprovalCode, Counted, Question, SyncResult, Told
from reconciler.report.metrics import prometheus_of_status
from reconciler.report.status_pages import status_pages
from reconciler.store.database import Store
from reconciler.store.records import Batch
from reconciler.store.schema import (
    ANSWERS,
    JOURNAL,
    LOCKS,
    PAUSES,
    QUESTIONS,
    RUNS,
    SYNC_RESULTS,
    TOLD,
    WORKSPACES,
    Table,
)
from reconciler.store.status_rows import runs_shown

NOON = "2026-03-01T12:00:00+00:00"
SHOWN = (LOCKS, WORKSPACES, RUNS, JOURNAL, PAUSES, QUESTIONS, ANSWERS, SYNC_RESULTS, TOLD)
GIVEN = ApprovalAnswer("7k3q", "anna", "give", NOON, "terminal")
WHOLE = PLAN.target.workspaces
END = "2026-03-01T12:00:09+00:00"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def only(store: Store) -> StackRows:
    (found,) = store.status_rows()
    return found


def test_of_a_store_that_is_not_there_a_stack_knows_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("nothing")
    with store_of(f"sqlite:///{folder}/store.db", create=False) as store:
        assert store.status_rows(everyone=True) == (StackRows(ORIGIN, "default"),)
    assert list(folder.iterdir()) == []


def test_a_run_and_the_workspaces_it_applied_are_told(store: Store) -> None:
    begin(store)
    store.end(run_of(ended(), ended(SAM)), WHOLE)

    found = only(store)

    assert found.runs == (
        RunRow("run-1", "apply", NOON, END, "done", 0, found.runs[0].counts, CONTEXT.commit),
    )
    assert found.runs[0].counts["create applied"] == 2
    assert [(one.workspace, bool(one.applied), one.in_doubt) for one in found.workspaces] == [
        ("default", True, 0),
        ("lab", True, 0),
        ("ops", True, 0),
    ]
    assert found.under_way == ""


def test_a_request_is_in_doubt_unless_its_run_is_under_way(store: Store) -> None:
    """Each of a live run is open for a moment: that is no doubt."""
    with store.lock("run-1"):
        begin(store)
        store.record([Batch(intents=(intent(), intent(SAM)))], WHOLE)
        alive = only(store)
    left = only(store)

    assert (alive.under_way, [one.in_doubt for one in alive.workspaces if one.workspace == "ops"]) == (
        "run-1",
        [0],
    )
    assert (left.under_way, [one.in_doubt for one in left.workspaces if one.workspace == "ops"]) == ("", [2])


def test_only_the_last_runs_of_a_stack_are_read_the_newest_first(store: Store) -> None:
    for number in range(runs_shown + 3):
        begin(store, f"run-{number}")
        store.end(run_of(ended(), run=f"run-{number}"))

    found = [one.run for one in only(store).runs]

    assert found == [f"run-{number}" for number in range(runs_shown + 2, 2, -1)]


def test_what_automation_recorded_is_told(store: Store) -> None:
    pause = store.pause(datetime(2126, 3, 2, tzinfo=UTC), "stocktaking")
    question = Question("7k3q", PLAN.fingerprint, NOON, END, codes={"anna": ApprovalCode("d", NOON)})
    store.ask_question(question)
    store.record_sync(
        [SyncResult("", NOON, "changes", 2, expect_every_s=900), SyncResult("ops", NOON, "changes", 2)]
    )
    store.note_telling(Told("hook", "state", "d", NOON, failed_times=2))
    store.note_telling(Told("mail", "state", "d", NOON))

    found = only(store)

    assert found.pause == pause
    assert found.questions == (question,)
    assert found.results == store.sync_results()
    assert (found.expect_every_s, found.undelivered) == (900, 1)


def test_every_stack_of_the_store_is_told_in_as_many_statements_as_one(store_url: str) -> None:
    for stack in ("a", "b", "c"):
        with store_of(store_url, stack=stack) as store:
            begin(store, f"run-{stack}")
            store.end(run_of(ended(), run=f"run-{stack}"), WHOLE)
    with store_of(store_url, stack="new") as store:
        with watched(store) as one:
            store.status_rows()
        with watched(store) as all_of_them:
            found = store.status_rows(everyone=True)

    assert [one.stack for one in found] == ["a", "b", "c", "new"]
    assert [[run.run for run in one.runs] for one in found] == [["run-a"], ["run-b"], ["run-c"], []]
    assert len(all_of_them.seen) == len(one.seen)


def test_rows_that_cannot_be_read_make_their_own_stack_unknown_and_no_other(store_url: str) -> None:
    """A page about a thousand stacks is not lost with one of them."""
    for stack in ("a", "b"):
        with store_of(store_url, stack=stack) as store:
            begin(store, f"run-{stack}")
            store.end(run_of(ended(), run=f"run-{stack}"), WHOLE)
            with store._database.writing() as connection:
                if stack == "a":
                    connection.execute("UPDATE runs SET started_at = 'noon' WHERE stack = 'a'")
            found = store.status_rows(everyone=True)

    assert [bool(one.damage) for one in found] == [True, False]
    assert (found[0].runs, len(found[1].runs)) == ((), 1)


ODD: tuple[object, ...] = (
    b"\xff",
    7,
    2**62,
    "noon",
    "2026-03-01",
    "",
    "9999-12-31T23:59:59+00:00",
    "0001-01-01T00:00:00+14:00",
)


@pytest.mark.parametrize("table", SHOWN, ids=[one.name for one in SHOWN])
def test_whatever_stands_in_a_row_is_told_or_is_damage(tmp_path: Path, table: Table) -> None:
    """Somebody or a disk changed one column of one row: the page of all other stacks is written."""
    file = tmp_path / "store.db"
    with store_of(f"sqlite:///{file}") as store:
        store.lock_for("run-1").take()
        begin(store)
        store.record([Batch(intents=(intent(),))], WHOLE)
        begin(store, "run-2")
        store.end(run_of(ended(), run="run-2"), WHOLE)
        store.pause(datetime(2126, 3, 2, tzinfo=UTC), "stocktaking")
        store.ask_question(
            Question("7k3q", PLAN.fingerprint, NOON, END, codes={"anna": ApprovalCode("d", NOON)})
        )
        store.record_answer(lambda known, _now: Counted("give", known.questions[0], GIVEN))
        store.record_sync([SyncResult("", NOON, "done", expect_every_s=900)])
        store.note_telling(Told("hook", "state", "d", NOON, failed_times=2))
    whole = file.read_bytes()
    for column in table.columns:
        for value in ODD:
            file.write_bytes(whole)
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute(
                    f"UPDATE {table.name} SET {column} = ? "  # noqa: S608 - our names
                    f"WHERE rowid = (SELECT min(rowid) FROM {table.name})",
                    (value,),
                )
            with suppress(StoreError), store_of(f"sqlite:///{file}", create=False) as store:
                status = judge_stacks(store.status_rows(everyone=True), datetime(2026, 3, 2, tzinfo=UTC))
                assert dict(status_pages(status, "0123"))
                assert prometheus_of_status(status)


def test_a_workspace_is_told_once_by_the_alias_that_it_has_now(store_url: str) -> None:
    clock = Clock()
    with store_of(store_url, clock=clock) as store:
        begin(store)
        store.end(run_of(ended()), WHOLE)
        renamed = tuple(
            structs.replace(one, alias="field" if one.alias == "ops" else one.alias) for one in WHOLE
        )
        clock.pass_s(60)
        begin(store, "run-2")
        store.end(run_of(ended(), run="run-2"), renamed)

        found = only(store).workspaces

    assert [one.workspace for one in found] == ["default", "field", "lab"]
    assert found[1].applied > NOON
