"""`sync`: the plan that was decided about is applied and no other; everything else writes nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import structs
from wire import Send, answered
from world import Agreeing, World

from reconciler import pipeline
from reconciler.core.review.approvals import make_question
from reconciler.engine.context import StopFlag
from reconciler.errors import LockHeld, ReconcilerError, Unauthorized
from reconciler.model.automation import ApprovalAnswer, Counted, SyncResult
from reconciler.model.plans import Consent, Plan
from reconciler.model.runs import Context
from reconciler.model.settings import AskWhen, Limits, LockSettings, Policy, Refresh, Windows
from reconciler.pipeline import Synced
from reconciler.service.http.urls import origin_of
from reconciler.store.database import Store

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane@example.com"}
APPLY = Policy(mode="apply", drift="repair")
TWO = {"contacts": {"jane-doe": JANE, "sam-lee": {**JANE, "workEmailAddress1": "sam@example.com"}}}
ONE = {"contacts": {"jane-doe": JANE}}


def world_of(path: Path, policy: Policy = APPLY, **changes: Any) -> World:
    return World(path, changes={"policy": policy, **changes})


def sync(world: World, observer: Agreeing | None = None, **policy: Any) -> Synced:
    changed = structs.replace(world.settings.policy, **policy)
    settings = structs.replace(world.settings, policy=changed)
    declared = pipeline.load_declaration(settings, world.environ)
    return world.run(
        pipeline.sync(
            settings,
            declared.desired,
            world.dependencies,
            made_of=declared.made_of,
            stop=StopFlag(),
            observer=observer or Agreeing(),
        )
    )


@contextmanager
def store_of(world: World) -> Iterator[Store]:
    with Store.open(
        world.settings.store,
        origin=origin_of(world.settings.service.base_url),
        stack=world.settings.stack,
        now=world.clock,
        token=world.dependencies.token,
        root=world.settings.root,
    ) as store:
        yield store


def results(world: World) -> tuple[SyncResult, ...]:
    with store_of(world) as store:
        return store.sync_results()


def wrote(world: World) -> bool:
    return bool(world.sent().keys() - {"GET"})


def approve(world: World, plan: Plan) -> None:
    """Let one person approve a plan, as `reconciler approvals` records it."""
    with store_of(world) as store:
        asked = store.ask_question(
            make_question(plan, world.settings.policy, question="Q7K2", now=world.clock())
        )
        given = ApprovalAnswer(asked.question, "maria", "give", world.clock().isoformat(), "forge")
        approved = structs.replace(asked, state="approved")
        store.record_answer(lambda _known, _now: Counted("give", approved, given))


def test_without_a_policy_changes_are_reported_and_nothing_is_written(tmp_path: Path) -> None:
    world = world_of(tmp_path, Policy())
    world.write(TWO)

    synced = sync(world)

    assert (synced.decision.action, synced.exit_code, synced.run) == ("report", 2, None)
    assert not wrote(world)
    whole, default = results(world)
    assert (whole.workspace, whole.exit_code, whole.counts) == ("", 2, {"create": 2})
    assert (default.workspace, default.decision, default.counts) == ("default", "report", {"create": 2})


def test_what_the_policy_allows_is_applied_and_shown_as_sync_in_the_history(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(TWO)

    synced = sync(world)

    assert (synced.decision.action, synced.exit_code) == ("apply", 0)
    assert synced.run is not None
    assert synced.run.count("applied") == 2
    assert synced.run.fingerprint == synced.planned.plan.fingerprint
    with store_of(world) as store:
        assert {entry.command for entry in store.history(10) if entry.event == "began"} == {"sync"}
    whole, default = results(world)
    assert (whole.exit_code, whole.counts, whole.run) == (0, {}, synced.run.run)
    assert (default.outcome, default.last_good) == ("done", whole.at)


def test_nothing_to_do_costs_one_call_a_list_and_no_lock(tmp_path: Path) -> None:
    """Whoever holds the lock meanwhile is not in the way."""
    world = world_of(tmp_path)
    world.write(TWO)
    sync(world)
    world.clock.pass_s(60)
    world.sent()

    with store_of(world) as store, store.lock("11111111-0000-4000-8000-000000000000"):
        synced = sync(world)

    assert (synced.decision.action, synced.exit_code) == ("nothing", 0)
    assert sum(world.sent().values()) == 1


def test_a_second_timer_ends_with_lock_held_and_leaves_what_the_first_found(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(ONE)
    sync(world)
    before = results(world)
    world.write(TWO)
    world.sent()

    lock_of_another = "11111111-0000-4000-8000-000000000000"
    with store_of(world) as store, store.lock(lock_of_another), pytest.raises(LockHeld):
        sync(world)

    assert results(world) == before
    assert not wrote(world)


def test_what_needs_a_person_waits_and_the_approved_plan_is_applied_once(tmp_path: Path) -> None:
    """The question is used up in the transaction that begins the run: it never counts for another plan."""
    world = world_of(tmp_path)
    world.write(TWO)
    sync(world)
    world.write(ONE)
    world.sent()

    asked = sync(world)
    assert (asked.decision.action, asked.exit_code) == ("ask", 9)
    assert not wrote(world)
    approve(world, asked.planned.plan)
    done = sync(world)

    assert done.run is not None
    assert (done.decision.action, done.run.count("applied")) == ("apply", 1)
    with store_of(world) as store:
        assert [one.state for one in store.approvals().questions] == ["used"]
    world.write({"contacts": {}})
    assert sync(world).decision.action == "ask"


def test_an_approval_is_for_the_plan_that_was_asked_about_and_no_other(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(TWO)
    sync(world)
    world.write(ONE)
    approve(world, sync(world).planned.plan)
    world.write({"contacts": {"jane-doe": {**JANE, "jobTitle": "Lead"}}})

    assert (sync(world).decision.action, wrote(world)) == ("ask", True)  # the first sync wrote
    assert not wrote(world)


def test_a_question_that_nobody_needs_any_more_is_in_no_plans_way(tmp_path: Path) -> None:
    """The salt of a question is for the plan that it approves; another one may be applied twice alike."""
    world = world_of(tmp_path)
    world.write(TWO)
    sync(world)
    free = AskWhen(deletes=False)
    for _ in range(2):
        world.write(ONE)
        assert sync(world).decision.action == "ask"
        assert sync(world, ask_when=free).decision.action == "apply"
        world.write(TWO)
        assert sync(world).decision.action == "apply"


def test_a_quorum_that_is_lowered_counts_for_a_question_that_is_open(tmp_path: Path) -> None:
    world = world_of(tmp_path, structs.replace(APPLY, quorum=1))
    world.write(TWO)
    sync(world)
    world.write(ONE)
    plan = sync(world).planned.plan
    with store_of(world) as store:
        (asked,) = store.open_questions()
        given = ApprovalAnswer(asked.question, "maria", "give", world.clock().isoformat(), "forge")
        store.record_answer(lambda _known, _now: Counted("give", None, given))
        assert store.open_questions()[0].state == "open"

    synced = sync(world)
    assert (synced.decision.action, plan.fingerprint) == ("apply", synced.planned.plan.fingerprint)


def test_a_refused_plan_is_not_asked_about_again(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(TWO)
    sync(world)
    world.write(ONE)
    plan = sync(world).planned.plan
    with store_of(world) as store:
        asked = store.ask_question(make_question(plan, APPLY, question="Q7K2", now=world.clock()))
        no = ApprovalAnswer(asked.question, "maria", "refuse", world.clock().isoformat(), "forge")
        store.record_answer(
            lambda _known, _now: Counted("refuse", structs.replace(asked, state="refused"), no)
        )

    synced = sync(world)
    assert (synced.decision.action, synced.exit_code) == ("refuse", 7)


def test_a_pause_that_begins_while_the_lock_is_taken_is_obeyed(tmp_path: Path) -> None:
    """What was decided before the lock may be minutes old when it is ours."""
    world = world_of(tmp_path)
    world.write(TWO)
    reads = []

    def pause_at_second_read() -> bool:
        reads.append(1)
        if len(reads) == 2:
            with store_of(world) as store:
                store.pause(world.clock() + timedelta(hours=1), "moving")
        return False

    world.meets(answered(500), "GET")
    world.wire.rules[-1].when = pause_at_second_read
    synced = sync(world)

    assert len(reads) > 1
    assert (synced.decision.action, synced.exit_code, synced.run) == ("wait", 10, None)
    assert not wrote(world)
    world.clock.pass_s(3600)
    assert sync(world).decision.action == "apply"


def test_a_closed_window_holds_the_plan_back_until_it_opens(tmp_path: Path) -> None:
    """The clock here begins on a Sunday, at noon in UTC."""
    world = world_of(tmp_path, structs.replace(APPLY, windows=Windows("UTC", ("0 9 * * MON for 1h",))))
    world.write(TWO)

    synced = sync(world)

    assert (synced.exit_code, synced.decision.until) == (10, "2026-03-02T09:00:00+00:00")
    assert results(world)[0].next_window == "2026-03-02T09:00:00+00:00"
    world.clock.pass_s((datetime.fromisoformat(synced.decision.until) - world.clock()).total_seconds())
    assert sync(world).decision.action == "apply"


def test_what_an_interrupted_run_left_is_settled_first_and_its_run_is_closed(tmp_path: Path) -> None:
    """Also where there is nothing left to do: the next sync takes no lock for it again."""
    world = world_of(tmp_path)
    world.write(ONE)
    plan = sync(world).planned.plan
    with store_of(world) as store, store.lock("11111111-0000-4000-8000-000000000000"):
        store.begin("11111111-0000-4000-8000-000000000000", "apply", plan, Consent(), Context())

    observer = Agreeing()
    synced = sync(world, observer)

    assert [one.run for one in observer.left] == ["11111111-0000-4000-8000-000000000000"]
    assert synced.exit_code == 0
    with store_of(world) as store:
        assert not store.unfinished()


def test_an_error_is_recorded_by_its_code_without_its_text(tmp_path: Path) -> None:
    """`status` says since when it fails; a message may hold a path or a name."""
    world = world_of(tmp_path)
    world.write(ONE)
    sync(world)
    world.clock.pass_s(60)
    good = results(world)[0]
    world.meets(answered(401), "GET")

    with pytest.raises(Unauthorized):
        sync(world)
    world.clock.pass_s(60)
    with pytest.raises(ReconcilerError):
        sync(world)

    whole, default = results(world)
    assert (whole.exit_code, whole.last_good, whole.reason) == (
        1,
        good.at,
        "The credentials are refused, or the quota is used up [E027]",
    )
    assert whole.failing_since == (datetime.fromisoformat(good.at) + timedelta(seconds=60)).isoformat()
    assert default.exit_code == 0


# --- policy.check -------------------------------------------------------------------------------------------


def script(tmp_path: Path, text: str) -> tuple[str, ...]:
    (tmp_path / "check.py").write_text(text, "utf-8")
    return (sys.executable, "-I", "check.py", "one word; $(two)")


def test_a_check_reads_the_plan_and_its_exit_code_is_the_verdict(tmp_path: Path) -> None:
    """It gets no variable, its words as they are written, and the plan that `plan -o` writes."""
    says = """
import json, os, sys
plan = json.load(sys.stdin)
print(sorted(os.environ.keys() - {"LC_CTYPE"}), sys.argv[1], len(plan["changes"]), "changes")
sys.exit(len(plan["changes"]) > 1)
"""
    world = world_of(tmp_path)
    world.write(TWO)

    refused = sync(world, check=script(tmp_path, says))
    assert (refused.decision.action, refused.exit_code, wrote(world)) == ("refuse", 7, False)
    assert refused.check is not None
    assert refused.check.what == "[] one word; $(two) 2 changes"
    world.write(ONE)
    assert sync(world, check=script(tmp_path, says)).decision.action == "apply"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import time; time.sleep(600)", "it took longer than 1 s, and was killed"),
        ("import os; os.kill(os.getpid(), 9)", ""),
        ("import sys; sys.stdout.write('x' * 9_000_000 + 'end'); sys.exit(1)", "x" * 4093 + "end"),
        ("import os, sys; os.close(0); print('no'); sys.exit(3)", "no"),
        ("import os, subprocess, sys; subprocess.Popen(['sleep', '600']); sys.exit(1)", ""),
    ],
)
def test_a_check_that_hangs_dies_or_shouts_refuses(tmp_path: Path, text: str, what: str) -> None:
    """Whatever it does, the sync ends in time, and nothing is written."""
    world = world_of(tmp_path)
    world.write(TWO)

    refused = sync(world, check=script(tmp_path, text), check_timeout_s=1)

    assert (refused.exit_code, wrote(world)) == (7, False)
    assert refused.check is not None
    assert refused.check.what == what


def test_a_check_that_is_not_there_refuses(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(TWO)

    for words, why in ((("no-such-program",), "was not found"), (("./missing",), "cannot be started")):
        refused = sync(world, check=words)
        assert refused.exit_code == 7
        assert refused.check is not None
        assert why in refused.check.what


def test_nothing_to_do_needs_no_check(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(ONE)
    sync(world)

    assert sync(world, check=("no-such-program",)).exit_code == 0


def test_the_script_of_the_page_refuses_a_delete(tmp_path: Path) -> None:
    """What docs/automation.md shows works as it stands."""
    page = (Path(__file__).parents[2] / "docs" / "automation.md").read_text("utf-8")
    text = page.partition("```python\n")[2].partition("```")[0]
    world = world_of(tmp_path)
    world.write(TWO)
    assert sync(world, check=script(tmp_path, text)).decision.action == "apply"
    world.write(ONE)

    refused = sync(world, check=script(tmp_path, text))

    assert refused.decision.action == "refuse"
    assert refused.check is not None
    assert refused.check.what == "delete by hand: contact/default/sam-lee"


# --- The lease of the lock ----------------------------------------------------------------------------------


class Intruding(Agreeing):
    """Another machine, which tries to take the lock when the plan was made under it."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.taken: list[bool] = []

    def planned(self, planned: pipeline.PlanResult) -> None:
        super().planned(planned)
        with store_of(self.world) as store:
            try:
                with store.lock("22222222-0000-4000-8000-000000000000"):
                    self.taken.append(True)
            except LockHeld:
                self.taken.append(False)


@pytest.mark.parametrize("lease_s", [30, 300])
def test_a_run_keeps_its_lock_while_the_service_makes_it_wait(tmp_path: Path, lease_s: int) -> None:
    """A short lease is renewed meanwhile, or a slow plan would lose its lock to the next timer."""
    changes = {"policy": APPLY, "lock": LockSettings(lease_s=lease_s), "refresh": Refresh(mode="full")}
    patient = Limits(requests_per_second=0, settle_s=0, timeout_s=200)
    world = World(tmp_path, changes=changes, service={"limits": patient})
    crowd = {f"p-{n}": {**JANE, "workEmailAddress1": f"p{n}@example.com"} for n in range(25)}
    world.write({"contacts": crowd})
    sync(world)
    world.write({"contacts": {**crowd, "jane-doe": JANE}})

    async def slow(_request: httpx2.Request, send: Send) -> httpx2.Response:
        await world.clock.sleep(25)  # for each of the two pages of the list
        return await send()

    world.meets(slow, "GET")
    observer = Intruding(world)
    sync(world, observer)

    assert observer.taken == [False]
