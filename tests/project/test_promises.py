"""Promises of the verbs that hold by one line each: what was used, what is gone on with, and where."""

from pathlib import Path

import postgres
import psycopg
import pytest
from msgspec import structs
from store.support import file_of
from world import ALLOWED, Agreeing, World

from reconciler import pipeline
from reconciler.engine.context import StopFlag
from reconciler.errors import StalePlan, StoreError, UnsafePlan
from reconciler.model.plans import Consent, Options
from reconciler.model.runs import Run
from reconciler.model.settings import Limits, WorkspaceRef
from reconciler.sandbox.app import SandboxConfig

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane@example.com"}
SAM = {"firstName": "Sam", "lastName": "Lee", "workEmailAddress1": "sam@example.com"}


class Stopping(Agreeing):
    """Agrees, and asks the run to stop before its first write."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = StopFlag()

    def agrees(self, _planned: pipeline.PlanResult) -> bool:
        self.stop.signal()
        return True


def stopped(world: World) -> None:
    """Begin a run that ends before it has sent anything, and can be gone on with."""
    observer = Stopping()
    run = applied(world, observer, observer.stop)
    assert run is not None
    assert run.outcome == "interrupted"
    assert "POST" not in world.sent()


def applied(world: World, observer: Agreeing, stop: StopFlag) -> Run | None:
    return world.run(
        pipeline.apply(
            world.settings,
            pipeline.validate(world.settings, world.environ),
            world.dependencies,
            options=Options(),
            consent=ALLOWED,
            saved=None,
            fail_fast=False,
            stop=stop,
            observer=observer,
        )
    )


def test_a_saved_plan_is_used_though_what_it_says_is_still_so(tmp_path: Path) -> None:
    """E11: what was approved is approved once, also where a second time would write nothing new."""
    world = World(tmp_path)
    world.write({"contacts": {"jane": JANE}})
    world.apply()
    saved = world.plan().plan
    world.apply(saved=saved)
    world.sent()

    with pytest.raises(StalePlan, match="applied before"):
        world.apply(saved=saved)

    assert set(world.sent()) == {"GET"}


def test_an_undo_is_used_though_what_it_says_is_still_so(tmp_path: Path) -> None:
    """The same for an undo; with nothing left to do it would be safe, and is refused all the same."""
    world = World(tmp_path)
    world.write({"contacts": {"jane": JANE}})
    undo = world.apply_with_undo()

    assert world.undo(undo).outcome == "done"
    world.sent()
    with pytest.raises(StalePlan, match="applied before"):
        world.undo(undo)

    assert set(world.sent()) <= {"GET"}


def test_an_undo_is_held_by_the_guard_like_any_other_plan(tmp_path: Path) -> None:
    """Hundreds of entities that a run has made are not deleted without consent."""
    world = World(tmp_path)
    world.write({"contacts": {f"p{n}": {**SAM, "workEmailAddress1": f"p{n}@example.com"} for n in range(20)}})
    undo = world.apply_with_undo()
    world.sent()

    with pytest.raises(UnsafePlan):
        world.undo(undo, consent=Consent())

    assert set(world.sent()) <= {"GET"}


def test_a_run_is_not_gone_on_with_in_another_workspace_of_the_same_alias(tmp_path: Path) -> None:
    """The plan was agreed to for the place that its alias meant then."""
    config = SandboxConfig(workspaces=(("Ops", "AB12"), ("Lab", "CD34")))
    world = World(tmp_path, config=config, workspaces={"ops": WorkspaceRef(name="Ops")})
    world.write({"workspace": "ops", "contacts": {"jane": JANE, "sam": SAM}})
    stopped(world)
    world.settings = structs.replace(world.settings, workspaces={"ops": WorkspaceRef(name="Lab")})

    with pytest.raises(StalePlan, match="ops now has another id"):
        world.resume()

    assert set(world.sent()) == {"GET"}


def test_a_run_can_be_gone_on_with_until_its_successor_is_written_down(tmp_path: Path) -> None:
    """What is left of it is nowhere else: it is let go of after the new run stands, not before."""
    world = World(tmp_path)
    world.write({"contacts": {"jane": JANE, "sam": SAM}})
    stopped(world)
    with file_of(tmp_path / "store.db") as store:
        store.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'full'); END")
    store.close()

    with pytest.raises(StoreError):
        world.resume()

    with file_of(tmp_path / "store.db") as store:
        store.execute("DROP TRIGGER full")
    store.close()
    assert set(world.sent()) == {"GET"}
    run = world.resume()
    assert run is not None
    assert run.count("applied") == 2


def test_every_verb_takes_its_turns_from_the_pace_of_a_shared_store(tmp_path: Path) -> None:
    """Whoever uses the same store and credentials is counted together: plans too, which only read."""
    limits = Limits(requests_per_second=100, settle_s=0)
    with postgres.database() as url, psycopg.connect(url, autocommit=True) as store:
        world = World(tmp_path, changes={"store": url}, service={"limits": limits})
        world.write({"contacts": {"jane": JANE}})
        for verb in (world.apply, world.plan):
            verb()
            assert store.execute("DELETE FROM reconciler.paces RETURNING rate").rowcount == 1
