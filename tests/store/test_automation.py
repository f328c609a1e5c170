"""Pauses, questions, answers, what syncs found and what was told, in each kind of database."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import connect

import pytest
from clock import Clock
from msgspec import structs
from store.remembering import CONSENT, CONTEXT, PLAN, Crash, begin, everything, run_of, store_of, watched
from store.support import JANE, ORIGIN, WORKSPACES, record

from reconciler.errors import CorruptRecord, NotApproved
from reconciler.model.automation import (
    ApprovalAnswer,
    ApprovalCode,
    Approvals,
    Counted,
    Question,
    QuestionState,
    SyncResult,
    Told,
    WrongTries,
)
from reconciler.store.database import Store, list_stacks

FAR = "2999-01-01T00:00:00+00:00"
QUESTION = Question(
    "Q7K2",
    PLAN.fingerprint,
    "2026-03-01T12:00:00+00:00",
    FAR,
    salt=PLAN.salt,
    commit="4f" * 20,
    counts={"delete": 4},
    danger="contact/ops/jane-doe",
    quorum=2,
    codes={
        "maria": ApprovalCode("ab" * 16, "2026-03-01T12:00:00+00:00", sent_at="2026-03-01T12:00:01+00:00")
    },
    wrong={"": WrongTries(3, ("2026-03-01T12:00:02+00:00",))},
)
ANSWER = ApprovalAnswer("Q7K2", "maria", "give", "2026-03-01T12:10:00+00:00", "code", "sms")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def put(store: Store, question: Question = QUESTION, *, state: QuestionState = "open") -> None:
    """Ask a question, and let it be in a state."""
    store.ask_question(question)
    changed = structs.replace(question, state=state)
    store.record_answer(lambda _known, _now: Counted("give", changed, recorded=False))


def answer(store: Store, said: ApprovalAnswer = ANSWER) -> Counted:
    return store.record_answer(
        lambda known, _now: Counted("give", known.questions[-1], said, approver=said.approver)
    )


# --- Pauses -----------------------------------------------------------------------------------------------


def test_a_pause_stands_until_its_time_and_is_in_the_history(store: Store) -> None:
    until = datetime(2999, 1, 1, 2, tzinfo=UTC).astimezone(UTC)
    made = store.pause(until, "stocktaking")

    assert store.paused() == made
    assert (made.until, made.reason) == ("2999-01-01T02:00:00+00:00", "stocktaking")
    assert made.who
    (entry,) = store.history()
    assert (entry.event, entry.until, entry.reason, entry.run) == ("paused", made.until, "stocktaking", "")
    assert store.verify(None).broken_at == 0


def test_a_pause_whose_time_is_over_is_none(store: Store) -> None:
    """Also for whoever ends it: there is nothing to end, and nothing is written."""
    store.pause(datetime(2020, 1, 1, tzinfo=UTC), "long ago")
    before = everything(store)

    assert store.paused() is None
    assert store.unpause() is None
    assert everything(store) == before


def test_a_pause_is_replaced_by_a_later_one_and_ended_once(store: Store) -> None:
    store.pause(datetime(2998, 1, 1, tzinfo=UTC), "one")
    store.pause(datetime(2999, 1, 1, tzinfo=UTC), "two")

    ended = store.unpause()

    assert ended is not None
    assert ended.reason == "two"
    assert store.paused() is None
    assert store.unpause() is None
    assert [one.event for one in store.history()] == ["paused", "paused", "unpaused"]


def test_a_pause_is_of_one_stack(store: Store, store_url: str) -> None:
    store.pause(datetime(2999, 1, 1, tzinfo=UTC), "")
    with store_of(store_url, stack="other") as other:
        assert other.paused() is None


# --- Questions and answers --------------------------------------------------------------------------------


def test_a_question_and_its_answer_are_read_as_they_were_written(store: Store) -> None:
    assert store.ask_question(QUESTION) == QUESTION
    answer(store)

    assert store.approvals() == Approvals((QUESTION,), (ANSWER,))
    assert store.open_questions() == (QUESTION,)
    asked, answered = store.history()
    assert (asked.event, asked.question, asked.fingerprint, asked.counts) == (
        "asked",
        "Q7K2",
        PLAN.fingerprint,
        {"delete": 4},
    )
    told = (answered.event, answered.question, answered.outcome, answered.who, answered.action)
    assert told == ("answered", "Q7K2", "give", "maria", "code")


def test_a_plan_that_is_asked_about_already_is_not_asked_about_again(store: Store) -> None:
    """A `sync` is called every minute; approvers get one message."""
    store.ask_question(QUESTION)
    before = everything(store)

    assert store.ask_question(structs.replace(QUESTION, question="OTHER", codes={})) == QUESTION
    assert everything(store) == before


def test_a_question_that_has_expired_is_asked_again(store: Store) -> None:
    old = structs.replace(QUESTION, expires_at="2020-01-01T00:00:00+00:00")
    store.ask_question(old)
    assert store.open_questions() == ()

    assert store.ask_question(structs.replace(QUESTION, question="NEXT")).question == "NEXT"
    assert [one.question for one in store.open_questions()] == ["NEXT"]


@pytest.mark.parametrize("state", ["open", "approved"])
def test_another_plan_supersedes_what_was_asked_before(store: Store, state: QuestionState) -> None:
    """An approval that was given is not one of the new plan."""
    put(store, state=state)
    store.ask_question(structs.replace(QUESTION, question="NEXT", fingerprint="ff" * 32))

    assert {one.question: one.state for one in store.approvals().questions} == {
        "Q7K2": "superseded",
        "NEXT": "open",
    }
    assert store.history()[-1].before == "Q7K2"


def test_of_machines_that_ask_at_once_one_does(store_url: str) -> None:
    def ask(number: int) -> str:
        with store_of(store_url) as one:
            return one.ask_question(structs.replace(QUESTION, question=f"Q{number}")).question

    store_of(store_url).close()
    with ThreadPoolExecutor(6) as pool:
        asked = set(pool.map(ask, range(6)))
    with store_of(store_url) as store:
        assert [one.question for one in store.approvals().questions] == list(asked)


def test_of_replies_that_come_at_once_each_knows_the_others(store_url: str) -> None:
    """Or two of them would both be the last that is missing."""
    with store_of(store_url) as store:
        store.ask_question(QUESTION)

    def reply(number: int) -> int:
        def count(known: Approvals, _now: datetime) -> Counted:
            said = structs.replace(ANSWER, approver=f"approver-{number}")
            return Counted(str(len(known.answers)), known.questions[-1], said)

        with store_of(store_url) as one:
            return int(one.record_answer(count).word)

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(reply, range(6))) == list(range(6))


def test_questions_of_90_days_ago_are_forgotten_with_their_answers(store: Store) -> None:
    old = structs.replace(QUESTION, asked_at="2025-01-01T00:00:00+00:00")
    put(store, old, state="used")
    answer(store)

    store.ask_question(structs.replace(QUESTION, question="NEXT"))

    assert [one.question for one in store.approvals().questions] == ["NEXT"]
    assert store.approvals().answers == ()
    store.check_whole()


def begin_with(store: Store, run: str = "run-1", question: str = "Q7K2") -> None:
    store.begin(run, "sync", PLAN, CONSENT, CONTEXT, question=question)


def test_the_run_that_begins_uses_the_approval_up(store: Store) -> None:
    put(store, state="approved")

    begin_with(store)

    assert store.approvals().questions[0].state == "used"
    assert store.history()[-1].question == "Q7K2"
    with pytest.raises(NotApproved, match="question Q7K2 is used"):
        begin_with(store, "run-2")


@pytest.mark.parametrize("state", ["open", "refused", "used", "superseded", "expired"])
def test_a_question_that_is_not_approved_lets_no_run_begin(store: Store, state: QuestionState) -> None:
    put(store, state=state)
    before = everything(store)

    with pytest.raises(NotApproved, match=f"question Q7K2 is {state}") as caught:
        begin_with(store)

    assert "reconciler approvals list" in caught.value.next
    assert everything(store) == before


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (structs.replace(QUESTION, question="OTHER"), "nobody was asked about it"),
        (structs.replace(QUESTION, fingerprint="ff" * 32), "the approval is for another plan"),
        (structs.replace(QUESTION, expires_at="2020-01-01T00:00:00+00:00"), "the approval expired at 2020"),
    ],
)
def test_an_approval_of_another_plan_or_another_time_lets_no_run_begin(
    store: Store, question: Question, why: str
) -> None:
    put(store, question, state="approved")
    before = everything(store)
    with pytest.raises(NotApproved, match=why):
        begin_with(store)
    assert everything(store) == before


def test_an_approval_of_another_stack_lets_no_run_begin(store: Store, store_url: str) -> None:
    put(store, state="approved")
    with store_of(store_url, stack="other") as other, pytest.raises(NotApproved, match="nobody was asked"):
        begin_with(other)


def test_of_runs_that_begin_at_once_one_has_the_approval(store_url: str) -> None:
    with store_of(store_url) as store:
        put(store, state="approved")

    def run(number: int) -> bool:
        with store_of(store_url) as one, suppress(NotApproved):
            begin_with(one, f"run-{number}")
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(run, range(4))) == [False, False, False, True]


def test_killed_anywhere_the_approval_is_used_with_its_run_or_neither(store: Store) -> None:
    """Used without a run, somebody is asked again; a run without the use, one approval counts twice."""
    put(store, state="approved")
    before = everything(store)
    stops = 0
    while store.approvals().questions[0].state == "approved":
        stops += 1
        with watched(store) as statements, suppress(Crash):
            statements.fatal = stops
            begin_with(store)
        if statements.fatal <= len(statements.seen) and store.approvals().questions[0].state == "approved":
            assert everything(store) == before
    assert stops > 5
    assert [one.run for one in store.unfinished()] == ["run-1"]


# --- Damage -----------------------------------------------------------------------------------------------

DAMAGE = [
    "DELETE FROM pauses",
    "UPDATE pauses SET until = '2020-01-01T00:00:00+00:00'",
    "UPDATE pauses SET stack = 'other'",
    "DELETE FROM seals WHERE name = 'pauses'",
    "DELETE FROM questions",
    "UPDATE questions SET state = 'approved'",
    "UPDATE questions SET quorum = 1",
    "UPDATE questions SET fingerprint = 'ff'",
    "UPDATE questions SET codes = '{}'",
    "UPDATE questions SET wrong = 'many'",
    "DELETE FROM answers",
    "UPDATE answers SET approver = 'eve'",
    "UPDATE answers SET verdict = 'refuse'",
    "UPDATE answers SET question = 'OTHER'",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_what_could_let_a_plan_through_and_is_not_as_it_was_written_is_damage(
    store: Store, statement: str
) -> None:
    store.pause(datetime(2999, 1, 1, tzinfo=UTC), "")
    store.ask_question(QUESTION)
    answer(store)
    with store._database.writing() as connection:
        assert connection.execute(statement).rowcount

    looks: tuple[Callable[[], object], ...] = (store.paused, store.approvals)
    look = looks["pauses" not in statement]
    for one in (look, store.check_whole):
        with pytest.raises(CorruptRecord, match="is damaged for stack default"):
            one()


def test_what_a_sync_found_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    """Nothing seals it, for nothing is decided by it; but no traceback either."""
    path = tmp_path / "store.db"
    with store_of(f"sqlite:///{path}") as store:
        store.record_sync([SyncResult("", FAR, "done")])
        store.note_telling(Told("webhook", "stack", "aa", FAR))
        with closing(connect(path)) as raw, raw:
            raw.execute("UPDATE sync_results SET counts = 'x'")
            raw.execute("UPDATE told SET failed_times = 'x'")
        for look in (store.sync_results, store.told):
            with pytest.raises(CorruptRecord, match="a row cannot be read"):
                look()


# --- What syncs found -------------------------------------------------------------------------------------


def test_a_sync_replaces_what_the_one_before_found(store: Store) -> None:
    """A workspace that is no longer in the settings does not stay as a ghost."""
    store.record_sync([SyncResult("", "t1", "done"), SyncResult("ops", "t1", "done", counts={"update": 2})])
    store.record_sync([SyncResult("lab", "t2", "done"), SyncResult("", "t2", "done", expect_every_s=3600)])

    assert [(one.workspace, one.at, one.expect_every_s) for one in store.sync_results()] == [
        ("", "t2", 3600),
        ("lab", "t2", 0),
    ]


def test_failing_is_since_the_first_failure_and_good_is_the_last_that_was(store: Store) -> None:
    """A refusal to write in this hour is no failure."""
    told = []
    for at, exit_code in (("t1", 0), ("t2", 1), ("t3", 8), ("t4", 10), ("t5", 7)):
        store.record_sync([SyncResult("", at, "word", exit_code)])
        (found,) = store.sync_results()
        told.append((found.failing_since, found.last_good))

    assert told == [("", "t1"), ("t2", "t1"), ("t2", "t1"), ("", "t4"), ("t5", "t4")]


def apply_run(store: Store, run: str, commit: str, *, whole: bool, outcome: str = "done") -> None:
    store.begin(run, "apply", PLAN, CONSENT, structs.replace(CONTEXT, commit=commit))
    store.end(run_of(run=run, outcome=outcome), WORKSPACES if whole else ())


def test_the_last_applied_commit_is_of_a_whole_plan_that_was_carried_out(store: Store) -> None:
    """A selection, a failure and a run that has not ended applied no commit."""
    assert store.last_applied_commit() == ""
    apply_run(store, "run-1", "aa" * 20, whole=True)
    apply_run(store, "run-2", "bb" * 20, whole=True)
    apply_run(store, "run-3", "cc" * 20, whole=False)
    apply_run(store, "run-4", "dd" * 20, whole=True, outcome="partial")
    begin(store, "run-5")

    assert store.last_applied_commit() == "bb" * 20


def test_every_stack_of_a_store_is_listed_once(store_url: str) -> None:
    with store_of(store_url) as store, store_of(store_url, stack="other") as other:
        store.remember([record(JANE)], WORKSPACES)
        store.record_sync([SyncResult("", FAR, "done")])
        other.record_sync([SyncResult("", FAR, "failed", 1)])

    assert list_stacks(store_url, now=Clock()) == ((ORIGIN, "default"), (ORIGIN, "other"))


def test_a_store_that_is_not_there_has_no_stacks_and_no_questions(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    assert list_stacks(url, now=Clock()) == ()
    with store_of(url, create=False) as store:
        assert (store.paused(), store.approvals(), store.open_questions()) == (None, Approvals(), ())
        assert (store.sync_results(), store.told(), store.last_applied_commit()) == ((), (), "")


# --- Notifications ----------------------------------------------------------------------------------------


def test_news_are_told_once_over_each_channel(store: Store) -> None:
    """Of two machines, and of two runs of the same machine; another state is news again."""
    news = Told("webhook", "stack", "aa", FAR)

    assert store.claim_telling(news)
    assert not store.claim_telling(structs.replace(news, at="later"))
    assert store.claim_telling(structs.replace(news, channel="sms"))
    assert store.claim_telling(structs.replace(news, digest="bb"))
    assert store.claim_telling(news)


def test_of_machines_that_tell_at_once_one_does(store_url: str) -> None:
    def claim(_: int) -> bool:
        with store_of(store_url) as store:
            return store.claim_telling(Told("webhook", "stack", "aa", FAR))

    store_of(store_url).close()
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(claim, range(4))) == [False, False, False, True]


def test_how_a_telling_went_is_kept(store: Store) -> None:
    failed = Told("webhook", "stack", "aa", FAR, failed_times=3, last_error="no answer")
    store.claim_telling(structs.replace(failed, failed_times=0, last_error=""))
    store.note_telling(failed)
    assert store.told() == (failed,)


def test_a_machine_whose_clock_is_ahead_ends_no_pause_of_a_shared_store(postgres_url: str) -> None:
    """The time is that of the server, which all who share it agree on."""
    ahead = Clock()
    ahead.pass_s(10 * 365 * 86_400)
    with store_of(postgres_url, clock=ahead) as store:
        store.pause(store.now() + timedelta(hours=1), "")
        store.ask_question(
            structs.replace(QUESTION, expires_at=(store.now() + timedelta(hours=1)).isoformat())
        )

        assert store.paused() is not None
        assert len(store.open_questions()) == 1
