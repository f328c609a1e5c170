"""How a stack stands, from rows of the store alone: the tables of rules, and their laws."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import get_args

import effort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from reconciler.core.views.status import (
    HEALTH_STATES,
    SYNC_STATES,
    HealthState,
    RunRow,
    StackRows,
    StackStatus,
    SyncState,
    WorkspaceRow,
    judge_stack,
    judge_stacks,
)
from reconciler.model.automation import (
    ApprovalAnswer,
    ApprovalCode,
    Pause,
    Question,
    QuestionState,
    SyncResult,
)
from reconciler.model.runs import EXIT_CODE_WORDS

LAW = settings(max_examples=effort.count(small=60, full=400))
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ORIGIN = "https://api.example.com"


def hour(number: int) -> str:
    """Return the moment of this hour of the day of NOW."""
    return NOW.replace(hour=number).isoformat(timespec="seconds")


def run(number: int, exit_code: int = 0, *, command: str = "apply", outcome: str | None = None) -> RunRow:
    """Return a run that ended in this hour."""
    word = EXIT_CODE_WORDS[exit_code] if outcome is None else outcome
    return RunRow(f"run-{number}", command, hour(number), hour(number) if word else "", word, exit_code)


def ops(applied: int | None = None, *, in_doubt: int = 0) -> WorkspaceRow:
    return WorkspaceRow("ops", "" if applied is None else hour(applied), in_doubt)


def synced(number: int, exit_code: int = 0, workspace: str = "") -> SyncResult:
    """Return what a sync found in this hour; a failure is the second in a row."""
    since = hour(number - 1) if exit_code == 1 else ""
    word = EXIT_CODE_WORDS.get(exit_code, "new")
    return SyncResult(workspace, hour(number), word, exit_code, failing_since=since)


CODES = {"anna": ApprovalCode("d1", hour(10)), "ben": ApprovalCode("d2", hour(10))}
ASKED = Question("7k3q", "7f3a", hour(10), hour(20), codes=CODES)

STACKS: dict[str, tuple[StackRows, SyncState, HealthState]] = {
    "nothing was ever done": (StackRows(ORIGIN, "ops"), "unknown", "unknown"),
    "an apply of everything": (
        StackRows(ORIGIN, "ops", (ops(9),), (run(9),)),
        "synced",
        "healthy",
    ),
    "an apply of a part alone": (
        StackRows(ORIGIN, "ops", (ops(),), (run(9),)),
        "unknown",
        "healthy",
    ),
    "a partial apply": (
        StackRows(ORIGIN, "ops", (ops(9),), (run(9, 6), run(8))),
        "out of sync",
        "failing",
    ),
    "an apply of a part after a partial one": (
        StackRows(ORIGIN, "ops", (ops(9),), (run(10), run(9, 6))),
        "out of sync",
        "failing",
    ),
    "an apply of everything after a partial one": (
        StackRows(ORIGIN, "ops", (ops(10),), (run(10), run(9, 6))),
        "synced",
        "healthy",
    ),
    "a resume after a partial one": (
        StackRows(ORIGIN, "ops", (ops(9),), (run(10, command="resume"), run(9, 6))),
        "synced",
        "healthy",
    ),
    "a run that was killed": (
        StackRows(ORIGIN, "ops", (ops(8),), (run(9, outcome=""),)),
        "out of sync",
        "failing",
    ),
    "a run that was killed at a request": (
        StackRows(ORIGIN, "ops", (ops(8, in_doubt=1),), (run(9, outcome=""),)),
        "out of sync",
        "in doubt",
    ),
    "a run that is under way": (
        StackRows(ORIGIN, "ops", (ops(8),), (run(9, outcome=""),), under_way="run-9"),
        "synced",
        "progressing",
    ),
    "a run that has not begun to write": (
        StackRows(ORIGIN, "ops", (ops(8),), (), under_way="run-9"),
        "synced",
        "progressing",
    ),
    "a sync that found nothing": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11),)),
        "synced",
        "healthy",
    ),
    "a sync that only reports": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11, 2),)),
        "out of sync",
        "healthy",
    ),
    "an apply of everything after it": (
        StackRows(ORIGIN, "ops", (ops(12),), (run(12),), results=(synced(11, 2),)),
        "synced",
        "healthy",
    ),
    "a sync that fails": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11, 1),)),
        "unknown",
        "failing",
    ),
    "a sync outside of its window": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11, 10),)),
        "out of sync",
        "healthy",
    ),
    "a sync that waits": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11, 9),), questions=(ASKED,)),
        "waiting",
        "healthy",
    ),
    "a question that has expired": (
        StackRows(
            ORIGIN,
            "ops",
            results=(synced(11, 2),),
            questions=(structs.replace(ASKED, expires_at=hour(11)),),
        ),
        "out of sync",
        "healthy",
    ),
    "a change that is approved, and not applied yet": (
        StackRows(
            ORIGIN,
            "ops",
            (ops(8),),
            results=(synced(11, 9),),
            questions=(structs.replace(ASKED, state="approved"),),
        ),
        "out of sync",
        "healthy",
    ),
    "one of two workspaces waits": (
        StackRows(
            ORIGIN,
            "ops",
            results=(synced(11, 9), synced(11, 0, "ops"), synced(11, 9, "lab")),
            questions=(ASKED,),
        ),
        "waiting",
        "healthy",
    ),
    "a pause": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11, 10),), pause=Pause(hour(9), hour(20))),
        "paused",
        "healthy",
    ),
    "a pause without an end": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11),), pause=Pause(hour(9), "")),
        "paused",
        "healthy",
    ),
    "a pause that is over": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(11),), pause=Pause(hour(9), hour(12))),
        "synced",
        "healthy",
    ),
    "nobody has synced for three hours": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(8),), expect_every_s=3 * 3600),
        "synced",
        "stale",
    ),
    "nobody had to sync before now": (
        StackRows(ORIGIN, "ops", (ops(8),), results=(synced(9),), expect_every_s=3 * 3600),
        "synced",
        "healthy",
    ),
    "people apply by hand, and the timer has stopped": (
        StackRows(
            ORIGIN,
            "ops",
            (ops(11),),
            (run(11),),
            results=(synced(8),),
            expect_every_s=3 * 3600,
        ),
        "synced",
        "stale",
    ),
    "people apply by hand, often enough": (
        StackRows(ORIGIN, "ops", (ops(11),), (run(11),), expect_every_s=3 * 3600),
        "synced",
        "healthy",
    ),
    "somebody should have synced, and never did": (
        StackRows(ORIGIN, "ops", expect_every_s=3600),
        "unknown",
        "stale",
    ),
    "a wrong policy": (
        StackRows(ORIGIN, "ops", (ops(9),), (run(9),), policy_mistakes=2),
        "synced",
        "failing",
    ),
    "an ending of a newer version": (
        StackRows(ORIGIN, "ops", results=(synced(9, 77),)),
        "unknown",
        "failing",
    ),
    "rows that cannot be read": (
        StackRows(ORIGIN, "ops", damage="the store's record of the lock is damaged"),
        "unknown",
        "unknown",
    ),
}


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_is_in_the_state_of_the_first_rule_that_holds(name: str) -> None:
    rows, sync, health = STACKS[name]

    found = judge_stack(rows, NOW)

    assert (found.sync.state, found.health.state) == (sync, health)


def test_what_needs_somebody_says_what_to_do() -> None:
    """Whoever is woken by it reads why, and the command that comes next."""
    found = [judge_stack(rows, NOW) for rows, _, _ in STACKS.values()]

    assert [one for one in found if one.needs_somebody and not (one.health.why and one.health.next)] == []
    assert [one for one in found if one.fine != (one.sync.state == "synced" and not one.health.why)] == [
        judge_stack(STACKS[name][0], NOW)
        for name in ("a run that is under way", "a run that has not begun to write")
    ]


def test_failing_since_is_the_first_of_the_failures_in_a_row() -> None:
    """Of runs by hand as of those that `sync` counts."""
    by_hand = StackRows(ORIGIN, "ops", (ops(7),), (run(10, 6), run(9, 8), run(8, 6), run(7)))
    by_sync = StackRows(ORIGIN, "ops", results=(synced(11, 1),))

    assert judge_stack(by_hand, NOW).health.since == hour(8)
    assert judge_stack(by_sync, NOW).health.since == hour(10)


def test_a_stack_says_which_workspace_it_is_because_of() -> None:
    rows = StackRows(ORIGIN, "ops", results=(synced(11), synced(11, 2, "lab"), synced(11, 0, "ops")))

    found = judge_stack(rows, NOW)

    assert found.sync.why == "lab: changes were found and only reported"
    assert [(one.workspace, one.sync.state) for one in found.workspaces] == [
        ("lab", "out of sync"),
        ("ops", "synced"),
    ]


def test_what_a_person_or_a_sync_wrote_stands_apart_from_the_words_of_the_program() -> None:
    """It may name somebody: pages show `why` alone."""
    result = structs.replace(synced(11, 7), reason="contact/ops/jane-doe is protected")
    failing = judge_stack(StackRows(ORIGIN, "ops", results=(result,)), NOW)
    pause = Pause(hour(9), hour(20), "Jane is on leave")
    paused = judge_stack(StackRows(ORIGIN, "ops", pause=pause, results=(synced(11, 10),)), NOW)

    assert (failing.health.why, failing.health.reason) == ("the plan was refused", result.reason)
    assert (paused.sync.why, paused.sync.reason) == ("syncing is paused", pause.reason)


def test_a_change_waits_for_those_who_were_asked_and_have_not_answered() -> None:
    given = ApprovalAnswer("7k3q", "anna", "give", hour(11), "code")
    rows = StackRows(ORIGIN, "ops", results=(synced(11, 9),), questions=(ASKED,), answers=(given,))

    found = judge_stack(rows, NOW)

    assert (found.approvals_open, found.waiting_for) == (1, ("ben",))


def test_changes_are_those_of_the_last_sync_where_nothing_was_applied_since() -> None:
    result = structs.replace(synced(11, 2, "ops"), counts={"create": 2, "delete": 1})
    rows = StackRows(ORIGIN, "ops", (ops(8),), (run(8),), results=(result,))
    applied = structs.replace(rows, workspaces=(ops(12),), runs=(run(12),))

    assert [one.changes for one in judge_stack(rows, NOW).workspaces] == [3]
    assert [one.changes for one in judge_stack(applied, NOW).workspaces] == [0]


def test_a_stack_was_read_when_its_workspace_that_was_read_first_was() -> None:
    both = (ops(9), WorkspaceRow("lab", hour(7)))
    one = (ops(9), WorkspaceRow("lab"))

    assert judge_stack(StackRows(ORIGIN, "ops", both), NOW).last_read == hour(7)
    assert judge_stack(StackRows(ORIGIN, "ops", one), NOW).last_read == ""
    assert judge_stack(StackRows(ORIGIN, "ops", one, results=(synced(11),)), NOW).last_read == hour(11)


def test_a_run_is_shown_with_what_it_did_and_never_with_who_it_was() -> None:
    counts = {"create applied": 3, "update in doubt": 1, "seen twice": 7}
    rows = StackRows(ORIGIN, "ops", runs=(structs.replace(run(9, 8), counts=counts), run(8, outcome="")))

    shown = judge_stack(rows, NOW).runs

    assert [(one.outcome, one.applied, one.not_applied) for one in shown] == [
        ("in doubt", 3, 1),
        ("interrupted", 0, 0),
    ]


# --- Laws -------------------------------------------------------------------------------------------------

moments = st.sampled_from([hour(number) for number in range(12)])
codes = st.sampled_from([*EXIT_CODE_WORDS, 9, 10, 77])
aliases = st.sampled_from(["default", "lab", "ops"])
run_rows = st.builds(
    RunRow,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["apply", "adopt", "resume", "sync"]),
    moments,
    moments,
    st.sampled_from(["", "done", "partial"]),
    codes,
)
sync_rows = st.builds(
    SyncResult, st.one_of(st.just(""), aliases), moments, st.just("word"), codes, commit=st.just("c0ffee")
)
questions = st.builds(
    Question,
    st.just("q"),
    st.just("7f3a"),
    moments,
    st.sampled_from([hour(9), hour(20)]),
    state=st.sampled_from(get_args(QuestionState)),
)
stack_rows = st.builds(
    StackRows,
    st.just(ORIGIN),
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(
        st.builds(WorkspaceRow, aliases, st.one_of(st.just(""), moments), st.integers(0, 2)),
        unique_by=lambda one: one.workspace,
    ).map(tuple),
    st.lists(run_rows, max_size=4).map(tuple),
    st.sampled_from(["", "a"]),
    st.lists(sync_rows, max_size=4, unique_by=lambda one: one.workspace).map(tuple),
    st.none() | st.builds(Pause, moments, st.sampled_from(["", hour(9), hour(20)])),
    st.lists(questions, max_size=2).map(tuple),
    st.just(()),
    st.sampled_from([0, 3600, 6 * 3600]),
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from(["", "damaged"]),
)


def ranks(one: StackStatus) -> tuple[int, int]:
    return SYNC_STATES.index(one.sync.state), HEALTH_STATES.index(one.health.state)


@LAW
@given(rows=stack_rows)
def test_a_stack_is_as_bad_as_its_worst_workspace(rows: StackRows) -> None:
    found = judge_stack(rows, NOW)

    for one in found.workspaces:
        assert SYNC_STATES.index(found.sync.state) <= SYNC_STATES.index(one.sync.state)
        assert HEALTH_STATES.index(found.health.state) <= HEALTH_STATES.index(one.health.state)


@LAW
@given(stacks=st.lists(stack_rows, max_size=6), chance=st.randoms())
def test_totals_are_those_of_the_stacks_in_whatever_order_they_come(
    stacks: list[StackRows], chance: Random
) -> None:
    found = judge_stacks(stacks, NOW)
    shuffled = [*stacks]
    chance.shuffle(shuffled)

    assert sum(found.sync.values()) == sum(found.health.values()) == len(found.stacks) == len(stacks)
    assert set(found.sync) == {*get_args(SyncState)}
    assert set(found.health) == {*get_args(HealthState)}
    again = judge_stacks(shuffled, NOW)
    assert (again.sync, again.health) == (found.sync, found.health)
    assert sorted(map(ranks, again.stacks)) == sorted(map(ranks, found.stacks))


@LAW
@given(stacks=st.lists(stack_rows, max_size=6))
def test_what_is_not_fine_stands_before_what_is(stacks: list[StackRows]) -> None:
    shown = judge_stacks(stacks, NOW).stacks

    assert [one.fine for one in shown] == sorted(one.fine for one in shown)
    worst = [HEALTH_STATES.index(one.health.state) for one in shown if not one.fine]
    assert worst == sorted(worst)


@LAW
@given(rows=stack_rows, hours=st.integers(0, 48))
def test_time_alone_makes_nobody_better_than_a_pause_that_ends(rows: StackRows, hours: int) -> None:
    """Without a new row a health only gets worse: silence is never good news."""
    now, later = judge_stack(rows, NOW), judge_stack(rows, NOW + timedelta(hours=hours))

    assert HEALTH_STATES.index(later.health.state) <= HEALTH_STATES.index(now.health.state)
    # An approval that nobody used expires, and a pause ends.
    assert now.sync.state in {later.sync.state, "paused", "waiting"} or now.sync.why == "a change is approved"
