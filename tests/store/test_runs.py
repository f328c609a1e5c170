from collections.abc import Iterator

import pytest
from clock import Clock
from hypothesis import given, settings
from laws.test_planning import made
from laws.worlds import World, worlds
from msgspec import structs
from store.remembering import (
    CONSENT,
    CONTEXT,
    PLAN,
    begin,
    ended,
    everything,
    intent,
    plan_of,
    run_of,
    store_of,
)
from store.support import JANE, SAM, WORKSPACES, named_rows, record, seal_again

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.runs.recover import InterruptedRun, Recovery, sort_out_run
from reconciler.errors import StoreError
from reconciler.model.encoding import encode_json
from reconciler.model.plans import Consent
from reconciler.model.runs import JournalEntry, Result
from reconciler.store.database import Store
from reconciler.store.history import _decode_run_plan as read_plan
from reconciler.store.records import Batch
from reconciler.store.schema import RUNS


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def kept(store: Store) -> tuple[int, int]:
    """Return how many intents and how many plans are kept."""
    with store._database.reading() as connection:
        intents = connection.execute("SELECT count(*) FROM journal").scalar()
        plans = connection.execute("SELECT count(*) FROM runs WHERE plan <> ''").scalar()
    return int(intents), int(plans)


def test_a_store_that_does_not_exist_has_no_unfinished_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A plan leaves no trace, and asks for none."""
    folder = tmp_path_factory.mktemp("nothing")
    with store_of(f"sqlite:///{folder}/store.db", create=False) as store:
        assert store.unfinished() == ()
        assert store.holder() is None
    assert list(folder.iterdir()) == []


def test_a_run_that_died_before_its_first_intent_is_unfinished_with_all_it_knew(store_url: str) -> None:
    with store_of(store_url) as store:
        begin(store)
    with store_of(store_url, create=False) as store:
        (run,) = store.unfinished()
    assert run == InterruptedRun("run-1", "apply", "2026-03-01T12:00:00+00:00", PLAN, CONSENT, ())
    assert sort_out_run(run) == Recovery((), (), (JANE, SAM))


def test_a_run_is_written_down_with_who_where_and_how_it_ended(store: Store) -> None:
    begin(store)
    store.end(run_of(ended(), ended(SAM, "failed"), outcome="partial"))
    with store._database.reading() as connection:
        (row,) = named_rows(connection.execute("SELECT * FROM runs"))
    assert (row["run"], row["command"], row["fingerprint"]) == ("run-1", "apply", PLAN.fingerprint)
    assert (row["outcome"], row["ended_at"]) == ("partial", "2026-03-01T12:00:09+00:00")
    assert row["counts"] == '{"create applied":1,"create failed":1}'
    assert row["context"] == encode_json(CONTEXT).decode()
    assert " on " in row["who"]


@pytest.mark.parametrize("result", ["applied", "skipped", "conflict", "failed"])
def test_a_run_that_ended_leaves_neither_intents_nor_a_plan(store: Store, result: Result) -> None:
    """The plan holds people's data; it stays no longer than somebody may need it."""
    begin(store)
    store.record([Batch(intents=(intent(),))], ())
    assert kept(store) == (1, 1)
    store.record([Batch(ended=(ended(JANE, result),))], ())
    store.end(run_of(ended(JANE, result)))
    assert kept(store) == (0, 0)
    assert store.unfinished() == ()


def test_a_run_that_ended_with_something_in_doubt_is_unfinished_until_that_is_settled(store: Store) -> None:
    begin(store)
    store.record([Batch(intents=(intent(), intent(SAM)), ended=(ended(SAM),))], ())
    store.end(run_of(ended(JANE, "in doubt"), ended(SAM), outcome="in doubt"))
    (run,) = store.unfinished()
    assert sort_out_run(run) == Recovery((SAM,), (intent(),), ())
    store.close_run("run-1", "settled")
    assert kept(store) == (2, 1), "closed without having looked, it is still in doubt"
    begin(store, "run-2")
    store.record([Batch(absent=(JANE,))], ())
    store.close_run("run-1", "settled")
    assert [one.run for one in store.unfinished()] == ["run-2"]
    assert kept(store) == (0, 1)


def test_a_run_that_left_something_undone_can_be_gone_on_with(store: Store) -> None:
    """Ctrl-C ends a run in good order; the rest of its plan is still what somebody agreed to."""
    begin(store)
    store.record([Batch(intents=(intent(),), ended=(ended(),))], ())
    store.end(run_of(ended(), ended(SAM, "not attempted"), outcome="interrupted"))
    (run,) = store.unfinished()
    assert run.plan == PLAN
    assert sort_out_run(run) == Recovery((JANE,), (), (SAM,))
    store.close_run("run-1", "resumed")
    assert store.unfinished() == ()
    assert kept(store) == (0, 0)


def test_closing_a_run_does_not_change_how_it_said_it_ended(store: Store) -> None:
    begin(store)
    store.end(run_of(ended(JANE, "not attempted"), outcome="interrupted"))
    store.close_run("run-1", "settled")
    begin(store, "run-2")
    store.close_run("run-2", "settled")
    with store._database.reading() as connection:
        rows = connection.execute("SELECT run, outcome, ended_at FROM runs ORDER BY run").all()
    assert [tuple(row) for row in rows] == [
        ("run-1", "interrupted", "2026-03-01T12:00:09+00:00"),
        ("run-2", "settled", "2026-03-01T12:00:00+00:00"),
    ]


def test_closing_what_nobody_knows_changes_nothing_but_the_history(store: Store) -> None:
    begin(store)
    before = everything(store)
    store.close_run("run-9", "settled")
    after = everything(store)
    assert {name for name in before if before[name] != after[name]} == {"audit", "seals"}


def test_unfinished_runs_come_in_the_order_of_their_beginning_whatever_the_clock_says(store_url: str) -> None:
    """The last of them is the one that is gone on with; two may begin within a second."""
    clock = Clock()
    with store_of(store_url, clock=clock) as store, store_of(store_url, stack="other") as other:
        for run, seconds in (("run-9", 0), ("run-1", 0), ("run-5", -3600), ("run-3", 7200)):
            clock.pass_s(seconds)
            begin(store, run)
            begin(other, f"other-{run}")
        assert [one.run for one in store.unfinished()] == ["run-9", "run-1", "run-5", "run-3"]


def test_a_run_that_left_something_in_doubt_is_unfinished_though_its_plan_is_gone(store: Store) -> None:
    """An older version of this program kept the doubt, and no plan."""
    begin(store)
    store.record([Batch(intents=(intent(),))], ())
    store.end(run_of(ended(JANE, "in doubt"), outcome="in doubt"))
    save(store, "")
    (run,) = store.unfinished()
    assert run.plan is None
    assert sort_out_run(run) == Recovery((), (intent(),), ())


def test_the_intents_of_a_run_come_in_the_order_of_their_writing(store: Store) -> None:
    begin(store)
    early, late = intent(SAM), structs.replace(intent(JANE), at="2026-03-01T12:00:01+00:00")
    store.record([Batch(intents=(early,))], ())
    store.record([Batch(intents=(late,))], ())
    (run,) = store.unfinished()
    assert run.entries == (JournalEntry("run-1", early), JournalEntry("run-1", late))


def save(store: Store, plan: str) -> None:
    """Put a text in the place of the plan that was saved."""
    with store._database.writing() as connection:
        connection.execute("UPDATE runs SET plan = :plan", {"plan": plan})
        seal_again(connection, RUNS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version":2', '"version":3'),
        ("jane-doe", "jane-roe"),
        ("AB12", "CD34"),
        (encode_json(PLAN).decode(), "{}"),
        (encode_json(PLAN).decode(), "not a plan"),
        (encode_json(PLAN).decode(), "[]"),
    ],
)
def test_a_plan_that_is_not_the_one_that_was_saved_is_none(store: Store, old: str, new: str) -> None:
    """Nobody agreed to that; what is in doubt can be settled without it."""
    begin(store)
    store.record([Batch(intents=(intent(),))], ())
    assert old in encode_json(PLAN).decode()
    save(store, encode_json(PLAN).decode().replace(old, new))
    (run,) = store.unfinished()
    assert run.plan is None
    assert run.consent == CONSENT
    assert sort_out_run(run) == Recovery((), (intent(),), ())


def test_a_whole_plan_of_another_version_is_none(store: Store) -> None:
    """It may mean something else by the same words."""
    newer = structs.replace(PLAN, version=PLAN.version + 1)
    begin(store, plan=structs.replace(newer, fingerprint=fingerprint(newer)))
    (run,) = store.unfinished()
    assert run.plan is None


@pytest.mark.parametrize("text_", ["", "{", '{"deletes":"many"}', "[]"])
def test_a_consent_that_cannot_be_read_is_none(store: Store, text_: str) -> None:
    """Whoever cannot show that a person agreed has to ask again."""
    begin(store)
    with store._database.writing() as connection:
        connection.execute("UPDATE runs SET consent = :consent", {"consent": text_})
        seal_again(connection, RUNS)
    assert store.unfinished()[0].consent == Consent()


@settings(max_examples=60)
@given(worlds())
def test_any_plan_comes_back_as_it_was(world: World) -> None:
    plan = made(world)
    assert read_plan(encode_json(plan).decode()) == plan


def test_what_is_recorded_carries_the_name_of_its_run(store: Store) -> None:
    begin(store, "run-7")
    store.remember([record()], WORKSPACES)
    with store._database.reading() as connection:
        assert connection.execute("SELECT run FROM entities").scalar() == "run-7"


def test_two_runs_of_one_name_are_not_possible(store: Store) -> None:
    """Its intents would be taken for each other's."""
    begin(store)
    before = everything(store)
    with pytest.raises(StoreError):
        begin(store, plan=plan_of(SAM))
    assert everything(store) == before


def test_a_plan_is_used_once(store: Store) -> None:
    assert store.use_plan("plan-salt")
    assert not store.use_plan("plan-salt")
    assert store.use_plan("another")
