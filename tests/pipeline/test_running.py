"""A run that is alive: whoever looks meanwhile hears who writes, since when and how far, not of a crash."""

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from clock import Clock
from msgspec import structs
from wire import Send
from world import ALLOWED, Agreeing, World

from reconciler import pipeline
from reconciler.core.runs.recover import RunStatus
from reconciler.engine.context import StopFlag
from reconciler.errors import LockHeld
from reconciler.model.plans import Consent, Options
from reconciler.model.runs import Run, Running
from reconciler.store.database import Store
from reconciler.store.locks import lease_s

PEOPLE = ("ada", "bo", "cy", "di")
RUN = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four people are declared, one call at a time."""
    world = World(tmp_path)
    # Patient with the service, too: a wait within a request is longer than any of a service that answers.
    limits = structs.replace(world.settings.service.limits, concurrency=1, timeout_s=120)
    world.settings = structs.replace(
        world.settings, service=structs.replace(world.settings.service, limits=limits)
    )
    world.write({"contacts": {name: person(name) for name in PEOPLE}})
    return world


def person(name: str) -> dict[str, Any]:
    return {
        "firstName": name.title(),
        "lastName": "Example",
        "workEmailAddress1": f"{name}@example.com",
    }


def applied(world: World, then: Callable[[], Awaitable[None]]) -> Run:
    """Apply; `then` happens when two of four people are recorded, and the third is on its way."""
    desired = pipeline.validate(world.settings, {})

    async def meanwhile(_: httpx2.Request, send: Send) -> httpx2.Response:
        await then()
        return await send()

    world.meets(meanwhile, "POST", nth=3)
    run = world.run(verb(world, desired, world.dependencies, Agreeing()))
    assert run is not None
    return run


async def verb(world: World, desired: Any, outside: pipeline.Dependencies, observer: Agreeing) -> Run | None:
    return await pipeline.apply(
        world.settings,
        desired,
        outside,
        options=Options(),
        consent=ALLOWED,
        saved=None,
        fail_fast=False,
        stop=StopFlag(),
        observer=observer,
    )


def test_a_plan_made_during_a_run_says_who_runs_and_how_far_and_not_that_it_did_not_finish(
    world: World,
) -> None:
    """A hint to `resume` while the run lasts would make people wait for its lock, or take it by force."""
    seen: list[pipeline.PlanResult] = []

    async def plan() -> None:
        desired = pipeline.validate(world.settings, {})
        seen.append(
            await pipeline.plan(
                world.settings, desired, world.dependencies, options=Options(), consent=Consent()
            )
        )

    run = applied(world, plan)

    running = seen[0].running
    assert running is not None
    assert (running.run, running.command, running.ended, running.changes) == (run.run, "apply", 2, 4)
    assert (running.since, seen[0].unfinished) == ("2026-03-01T12:00:00+00:00", ())
    assert "apply, 2 of 4 changes ended" in running.how_far
    under_way = [skip for skip in seen[0].plan.skips if skip.reason == "in doubt"]
    assert [skip.next for skip in under_way] == ["wait until that run ends, then plan again"]
    assert world.plan().running is None


def test_an_apply_during_a_run_is_told_how_far_that_one_is(world: World) -> None:
    """Exit code 4; how long the wait may be is what the reader wants to know."""
    caught: list[LockHeld] = []

    async def second() -> None:
        desired = pipeline.validate(world.settings, {})
        with pytest.raises(LockHeld) as held:
            await verb(world, desired, world.dependencies, Agreeing())
        caught.append(held.value)

    run = applied(world, second)

    told = caught[0]
    assert str(told).endswith("; apply, 2 of 4 changes ended.")
    assert told.running is not None
    assert told.running["run"] == run.run
    assert (told.running["ended"], told.running["changes"]) == (2, 4)
    assert run.exit_code == 0


def test_an_apply_that_waits_for_the_lock_says_so_at_once_and_then_seldom(world: World) -> None:
    """A minute without output looks like a command that hangs; a line a second hides everything else."""
    settings = structs.replace(world.settings, lock=structs.replace(world.settings.lock, timeout_s=65))
    world.settings = settings
    observer = Agreeing()

    async def second() -> None:
        desired = pipeline.validate(settings, {})
        with pytest.raises(LockHeld):
            await verb(world, desired, world.dependencies, observer)

    applied(world, second)

    assert len(observer.waited) == 3
    assert observer.waited[0].startswith("waiting, 65 s at most: the lock of stack test is held by ")
    assert all("apply, 2 of 4 changes ended" in said for said in observer.waited)


@pytest.fixture
def store(world: World) -> Iterator[Store]:
    tokens = iter(f"store-{number}" for number in range(100))
    with Store.open(
        f"sqlite:///{world.root}/store.db",
        origin="http://127.0.0.1:8480",
        stack="test",
        now=world.clock,
        token=tokens.__next__,
    ) as opened:
        yield opened


def test_a_run_is_alive_while_it_holds_the_lock_and_its_lease_lives(world: World, store: Store) -> None:
    """Without a lease it counts as one that did not finish."""
    plan = world.plan().plan
    with store.lock(RUN):
        waiting = store.standing()
        store.begin(RUN, "apply", plan, Consent(), world.dependencies.context())
        begun = store.standing()
        world.clock.pass_s(lease_s + 1)
        late = store.standing()
    free = store.standing()

    assert waiting.running is not None
    assert (waiting.running.how_far, waiting.left) == ("it has not begun to write", ())
    assert begun.running is not None
    assert (begun.running.how_far, begun.left) == ("apply, 0 of 4 changes ended", ())
    for ended in (late, free):
        assert ended.running is None
        assert [one.run for one in ended.left] == [RUN]


def test_without_a_store_nobody_runs(tmp_path: Path) -> None:
    with Store.open(
        f"sqlite:///{tmp_path}/none.db", origin="x", stack="x", now=Clock(), token=str, create=False
    ) as none:
        assert none.standing() == RunStatus(None, ())
        assert none.running() is None


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (Running("r", "h", "s", "apply", 1, 1), "apply, 1 of 1 change ended"),
        (Running("r", "h", "s", "resume", 12, 4000), "resume, 12 of 4,000 changes ended"),
        (Running("r", "h", "s", "apply", 3), "apply, 3 changes ended"),
        (Running("r", "h", "s"), "it has not begun to write"),
    ],
)
def test_how_far_a_run_is_reads_as_half_a_sentence(running: Running, said: str) -> None:
    """The number of all changes is not known of a run that an older version began."""
    assert running.how_far == said


def test_the_time_of_a_run_counts_from_the_lock_on(world: World) -> None:
    """Its calls do: a run that planned for a minute and wrote at once took a minute, and not 0.0 s."""
    locked_at = world.clock.now

    async def slow(_: httpx2.Request, send: Send) -> httpx2.Response:
        world.clock.pass_s(10)
        return await send()

    world.meets(slow, "GET")

    _, run = world.apply()

    reads = [method for method, _ in world.wire.sent].count("GET")
    assert reads > 0
    assert datetime.fromisoformat(run.started_at) == locked_at
    assert datetime.fromisoformat(run.ended_at) >= locked_at + timedelta(seconds=10 * reads)
