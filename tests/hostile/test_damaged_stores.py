"""Stores that a real run has filled, damaged at random: an error in our words, or what was there before."""

import dataclasses
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from clock import Clock
from engine.bench import ORIGIN, SAM, WORKSPACES, ZOE, Bench, person
from hostile import corpora, damage
from msgspec import structs
from store.support import record, store_at
from wire import Rule, lost_before

from reconciler.errors import LockHeld, SettingsError, StoreError
from reconciler.model.address import contact_address
from reconciler.model.automation import ApprovalAnswer, ApprovalCode, Counted, Question, WrongTries
from reconciler.model.plans import Consent, Plan
from reconciler.model.runs import Context, Intent, Outcome, Run
from reconciler.store.database import Store
from reconciler.store.records import Batch

EACH = effort.count(small=3, full=20)  # of each kind
NEW = contact_address("ops", "somebody-new")
PAUSED_UNTIL = datetime(2999, 1, 1, tzinfo=UTC)
QUESTION = Question(
    *("Q1", "7f3a" * 16, "2026-03-01T12:00:00+00:00", "2999-01-01T00:00:00+00:00"),
    counts={"delete": 1},
    codes={"maria": ApprovalCode("ab" * 16, "2026-03-01T12:00:00+00:00")},
    wrong={"": WrongTries(1)},
)
ANSWER = ApprovalAnswer("Q1", "maria", "give", "2026-03-01T12:10:00+00:00", "code")
ELSEWHERE = "https://old.example.com"


@dataclasses.dataclass(frozen=True)
class Good:
    """A store that is whole: copies with a log beside it and in one file, an older one, and what is in it."""

    copies: tuple[Path, Path]
    older: Path
    content: dict[str, object]
    plan: Plan


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Good:
    """The store of a service that took some people, and then lost an answer; a run holds its lock."""
    folder = tmp_path_factory.mktemp("good")
    bench = Bench(folder / "live")
    people = [person(contact_address("ops", f"person-{number}")) for number in range(12)]
    bench.apply(*people)
    with closing(sqlite3.connect(folder / "live" / damage.NAME)) as holding:
        holding.execute("SELECT count(*) FROM entities").fetchone()  # the log stays, with the older commits
        bench.apply(*people, person(SAM))
        with store_at(folder / "live" / damage.NAME, origin=ELSEWHERE, clock=Clock()) as former:
            former.remember([record(SAM), record(ZOE)], WORKSPACES)
        damage.copied(folder / "live", folder / "older")
        bench.apply(*people[2:], person(SAM), person(ZOE), rules=[Rule("POST", lost_before)])
        with bench.store() as store:
            store.use_plan("a-plan")
            store.pause(PAUSED_UNTIL, "stocktaking")
            store.ask_question(QUESTION)
            store.record_answer(lambda known, _now: Counted("give", known.questions[0], ANSWER))
            lock = store.lock_for("run-held")
            lock.take()
            plans = [one.plan for one in store.unfinished() if one.plan]
            damage.copied(folder / "live", folder / "logged")
    damage.copied(folder / "logged", folder / "whole")
    damage.settled(folder / "whole")
    with opened(folder / "whole", create=False) as store:
        content = {name: look(store) for name, look in LOOKS.items()}
    return Good((folder / "logged", folder / "whole"), folder / "older", content, plans[0])


def opened(folder: Path, *, create: bool) -> Store:
    return store_at(folder / damage.NAME, create=create, origin=ORIGIN, clock=Clock())


LOOKS: dict[str, Callable[[Store], object]] = {
    "recorded": lambda store: store.recorded(WORKSPACES),
    "unfinished": lambda store: store.unfinished(),
    "history": lambda store: store.history(10_000),
    "one run's history": lambda store: store.history(3, run="run"),
    "verification": lambda store: store.verify(None),
    "head": lambda store: store.head(),
    # Who holds it is for people: a letter of a name may be another one, but held is never free.
    "lock": lambda store: store.holder() is not None,
    "pause": lambda store: store.paused(),
    "approvals": lambda store: store.approvals(),
    "pace": lambda store: store.pace("credential", 10.0),
}


def writes(plan: Plan) -> dict[str, Callable[[Store], object]]:
    """Everything that changes a store, in an order that makes sense."""
    outcome = Outcome(NEW, "create", "applied")
    ended = Run("run-new", plan.fingerprint, "2026-03-01", "2026-03-01", "done", 0, outcomes=(outcome,))
    intent = Intent(NEW, "create", "2026-03-01T12:00:00+00:00", "2026-03-01T12:05:00+00:00")
    return {
        "now": lambda store: store.now(),
        "lock": lambda store: store.lock_for("run-new").take(),
        "unlock": lambda store: store.unlock(held.id) if (held := store.holder()) else None,
        "lock again": _locked,
        "ask": lambda store: store.ask_question(structs.replace(QUESTION, question="Q2", fingerprint="ff")),
        "answer": lambda store: store.record_answer(
            lambda known, _now: Counted("give", known.questions[-1], structs.replace(ANSWER, question="Q2"))
        ),
        "begin": lambda store: store.begin("run-new", "apply", plan, Consent(), Context()),
        "use a plan": lambda store: store.use_plan("a-plan"),
        "intend": lambda store: store.record([Batch(intents=(intent,), found=(ZOE,))], WORKSPACES),
        "record": lambda store: store.record([Batch(remember=(record(NEW),), ended=(outcome,))], WORKSPACES),
        "rename": lambda store: store.rename([(NEW, contact_address("ops", "renamed"))], WORKSPACES),
        "end": lambda store: store.end(ended),
        "unpause": lambda store: store.unpause(),
        "close": lambda store: store.close_run("run-held", "settled"),
        "accept": lambda store: store.accept(),
        "forget": lambda store: store.forget([contact_address("ops", "renamed")], WORKSPACES),
    }


def _locked(store: Store) -> None:
    with store.lock("run-new") as lock:
        lock.check()
        store.record([Batch()], WORKSPACES, lock=lock)


def ended_with(store: Store, look: Callable[[Store], object]) -> object:
    """What a look or a write returns, or the error that it ends with, which says what to do."""
    try:
        return look(store)
    except (StoreError, SettingsError, LockHeld) as error:
        return Failed(corpora.told(error))


class Failed(str):
    """An error's sentence."""

    __slots__ = ()


class Doubtful(Failed):
    """Why the store may lack what was written later."""

    __slots__ = ()


def looked(folder: Path) -> dict[str, object]:
    """What each look at the store ends with; doubtful is an end for all of them."""
    try:
        store = opened(folder, create=False)
    except (StoreError, SettingsError) as error:
        return dict.fromkeys(LOOKS, Failed(corpora.told(error)))
    with store:
        found = {name: ended_with(store, look) for name, look in LOOKS.items()}
        return dict.fromkeys(LOOKS, Doubtful(store.doubtful)) if store.doubtful else found


def written(folder: Path, plan: Plan) -> None:
    """Change the store in every way; each one ends well, or with an error of ours."""
    try:
        store = opened(folder, create=True)
    except (StoreError, SettingsError) as error:
        corpora.told(error)
        return
    with store:
        for work in writes(plan).values():
            ended_with(store, work)


def differing(content: dict[str, object], found: dict[str, object]) -> list[str]:
    """The looks that ended with neither an error nor what was there before."""
    return [
        name
        for name, value in found.items()
        if not isinstance(value, Failed) and value != content[name] and not getattr(value, "broken_at", 0)
    ]


@pytest.mark.parametrize("kind", damage.KINDS)
def test_no_damage_ends_in_a_traceback_or_passes_for_another_content(
    kind: str, good: Good, tmp_path: Path
) -> None:
    """A record that is missing without an error is a person who is made again, or is nobody's any more."""
    for seed in range(EACH):
        rng = Random(f"{kind} {seed}")
        folder = tmp_path / str(seed)
        damage.copied(good.copies[seed % 2], folder)
        what = damage.KINDS[kind](folder, rng, good.older)
        before = (folder / damage.NAME).read_bytes()
        beside = Path(f"{folder / damage.NAME}-wal").exists()

        found = looked(folder)
        assert differing(good.content, found) == [], (kind, seed, what)
        after = (folder / damage.NAME).read_bytes()
        written(folder, good.plan)
        again = looked(folder)

        # What is beside it is brought into the file by whoever reads it last; nothing else changes it.
        assert before == after or beside, (kind, seed, what)
        # Only what is doubtful is good again after somebody has accepted it, and the row of a lock after an
        # unlock, which writes all of it; nothing else is healed by writing.
        heals = isinstance(found["recorded"], Doubtful) or what.startswith("locks.")
        if isinstance(found["recorded"], Failed) and not heals:
            assert any(isinstance(one, Failed) for one in again.values()), (kind, seed, what)
        tally.count("damaged stores", kind)
        shutil.rmtree(folder)


def test_the_store_that_is_damaged_has_something_of_everything(good: Good) -> None:
    """Damage to an empty table would prove nothing."""
    with closing(sqlite3.connect(good.copies[1] / damage.NAME)) as database:
        counts = {
            table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - our names
            for table in damage.TABLES
        }
    assert all(counts.values()), counts
    assert counts["entities"] > 10
    assert getattr(good.content["recorded"], "elsewhere", ())
    assert looked(good.copies[0]) == good.content
