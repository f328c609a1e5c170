"""Runs that are cut off, and what the next ones make of it: as if nothing had happened, and nothing twice."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import effort
import httpx2
import pytest
import tally
from msgspec import structs
from store.support import file_of, seal_file_again
from wire import Send, Wire, answered
from world import ALLOWED, Agreeing, World

from reconciler import pipeline
from reconciler.core.runs.recover import InterruptedRun, sort_out_run
from reconciler.engine.context import StopFlag
from reconciler.errors import Interrupted, StalePlan, StoreError, Unauthorized, UnsafePlan
from reconciler.model.plans import Consent, Options
from reconciler.model.runs import Run
from reconciler.service.paging import Query
from reconciler.store.database import Store

T = TypeVar("T")

_NO_PROCESS = 4_194_305  # above the highest number that Linux gives to a process


class Killed(Wire):
    """The wire and the disk of a process that is killed at one of its effects: what it did, stays done.

    Effects are counted before and after each request and each commit beside the loop. At effect number
    `at` the store is copied; from then on nothing reaches the service, and `after` puts the copy back.
    """

    def __init__(self, world: World, at: int = 0) -> None:
        super().__init__(world.wire.inner)
        self.world, self.at, self.effects, self.dead = world, at, 0, False
        self.copy = world.root / "copy.db"
        self.arrived: list[tuple[str, str]] = []
        self.unwritten: list[str] = []  # requests that write and whose intent was not on disk
        self.opened: list[Store] = []  # a process that is gone holds no file open; this one would
        world.wire = self
        world.dependencies = replace(world.dependencies, connections=self, offload=self.in_place)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._effect()
        if self.dead:
            raise httpx2.ConnectError("killed", request=request)
        if request.method != "GET" and not self._intents():
            self.unwritten.append(f"{request.method} {request.url.path}")
        self.arrived.append((request.method, request.url.path))
        answer = await super().handle_async_request(request)
        self._effect()
        if self.dead:
            raise httpx2.ReadError("killed", request=request)
        return answer

    async def in_place(self, work: Callable[[], T]) -> T:
        self._effect()
        if self.dead:
            raise StoreError("killed")
        result = work()
        if isinstance(result, Store):
            self.opened.append(result)
        self._effect()
        return result

    def _effect(self) -> None:
        self.effects += 1
        if self.effects == self.at:
            self.dead = True
            self.copy.unlink(missing_ok=True)
            with file_of(self._store) as ours, file_of(self.copy) as copied:
                ours.backup(copied)

    def _intents(self) -> list[str]:
        """What the journal says on disk, seen by somebody else, at this very moment."""
        with file_of(self._store) as other:
            return [row[0] for row in other.execute("SELECT address FROM journal WHERE ending = ''")]

    def after(self) -> None:
        """The process is gone: what it wrote until then is there, and its lock belongs to nobody."""
        if self.dead:
            for store in self.opened:
                store.close()
            for path in self.world.root.glob("store.db*"):
                path.unlink()
            with file_of(self.copy) as copied, file_of(self._store) as ours:
                copied.execute("UPDATE locks SET pid = ?", (_NO_PROCESS,))
                copied.commit()
                copied.backup(ours)
        self.dead, self.at = False, 0

    @property
    def _store(self) -> Path:
        return self.world.root / "store.db"


class Timed(Wire):
    """A wire that knows how long after its making the first request left."""

    def __init__(self, world: World) -> None:
        super().__init__(world.wire.inner)
        self.world, self.began, self.first_after_s = world, world.clock.now, -1.0
        world.dependencies = replace(world.dependencies, connections=self)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.first_after_s < 0:
            self.first_after_s = (self.world.clock.now - self.began).total_seconds()
        return await super().handle_async_request(request)


def person(name: str, **more: Any) -> dict[str, Any]:
    fields = {"firstName": name.title(), "lastName": "Doe", "workEmailAddress1": f"{name}@example.com"}
    return {**fields, **more}


PHONE = {
    "pixel": {
        "deviceName": "Pixel",
        "appId": "app-1",
        "platform": "GCM",
        "deviceOS": "Android",
        "deviceModel": "Pixel 8",
        "pushToken": "token-of-pixel",
    }
}
BEFORE = {"contacts": {name: person(name) for name in ("jane", "sam", "lee")}}
AFTER = {
    "contacts": {
        "jane": person("jane", jobTitle="Engineer"),
        "sam": person("sam"),
        "ada": person("ada"),
        "zoe": person("zoe", devices=PHONE),
    }
}
WRITES = Counter({"POST": 3, "PUT": 1, "DELETE": 1})


def built(folder: Path, *, concurrency: int = 2, **limits: Any) -> World:
    """A world with three people; what comes next is not applied yet."""
    folder.mkdir(exist_ok=True)
    world = World(folder)
    changed = structs.replace(world.settings.service.limits, concurrency=concurrency, **limits)
    service = structs.replace(world.settings.service, limits=changed)
    world.settings = structs.replace(world.settings, service=service)
    world.write(BEFORE)
    world.apply()
    world.write(AFTER)
    return world


def killed(world: World, at: int, *, resume: bool = False, options: Options | None = None) -> Killed:
    """Apply, or resume, and be killed at this effect."""
    wire = Killed(world, at)
    try:
        if resume:
            world.resume()
        else:
            world.apply(options=options)
    except Exception:
        assert wire.dead, "only a killed process may end so"
        if not wire.dead:
            raise
    wire.after()
    return wire


def gone_on(
    made: Callable[[str], World], *, options: Options | None = None
) -> Iterator[tuple[World, Killed, Killed]]:
    """Yield a world for each effect at which an apply was killed, after a resume and another apply.

    `made` makes a world under a name, always the same one. A quick run takes every fifth effect. With each
    world comes what the killed process sent, and what those after it did.
    """
    whole = made("whole")
    wire = Killed(whole)
    whole.apply(options=options)
    for at in range(1, wire.effects + 1, effort.count(small=5, full=1)):
        world = made(f"at-{at}")
        died = killed(world, at, options=options)
        after = Killed(world)
        world.resume()
        world.apply(options=options)
        yield world, died, after


def live(world: World) -> list[tuple[str, str, int]]:
    """Everybody at the service, with their title and the number of their devices."""

    async def work() -> list[tuple[str, str, int]]:
        async with world.client() as client:
            rows = await client.contacts.list()
            found = [(await client.contacts.get(row.remote_id)).body for row in rows]
        return sorted(
            (one["workEmailAddress1"], one.get("jobTitle", ""), len(one.get("devices", []))) for one in found
        )

    return world.run(work())


WANTED = [
    ("ada@example.com", "", 0),
    ("jane@example.com", "Engineer", 0),
    ("sam@example.com", "", 0),
    ("zoe@example.com", "", 1),
]


def writes(*wires: Killed) -> Counter[str]:
    return Counter(method for wire in wires for method, _ in wire.arrived if method != "GET")


def converged(world: World) -> None:
    """Live is as declared, everybody once, and nothing is left to do or to resume."""
    assert live(world) == WANTED
    planned = world.plan()
    assert (planned.plan.changes, planned.unfinished) == ((), ())
    assert world.resume() is None


def effects(folder: Path) -> int:
    world = built(folder)
    wire = Killed(world)
    world.apply()
    assert (wire.unwritten, writes(wire)) == ([], WRITES)
    return wire.effects


@pytest.mark.parametrize("then", ["resume", "apply"])
def test_killed_at_any_effect_and_gone_on_with_it_ends_as_if_never_killed(tmp_path: Path, then: str) -> None:
    """Law 5, exhaustively: before and after every request and every commit. Nothing is sent twice."""
    for at in range(1, effects(tmp_path / "whole") + 1, effort.count(small=13, full=2)):
        world = built(tmp_path / f"{then}-{at}")
        first = killed(world, at)
        second = Killed(world)

        run = world.resume() if then == "resume" else None
        if run is None:
            _, run = world.apply()

        assert (run.exit_code, first.unwritten + second.unwritten) == (0, []), at
        assert writes(first, second) == WRITES, at
        converged(world)
        tally.count("crash points", f"of an apply, gone on with by {then}")


def test_a_resume_that_is_killed_itself_is_resumed(tmp_path: Path) -> None:
    """Whatever happens, there is one way on."""
    middle = effects(tmp_path / "whole") // 2
    for at in range(1, 60, effort.count(small=14, full=3)):
        world = built(tmp_path / str(at))
        first = killed(world, middle)
        second = killed(world, at, resume=True)
        third = Killed(world)

        world.resume()

        assert writes(first, second, third) == WRITES, at
        converged(world)
        tally.count("crash points", "of a resume, resumed")


def test_no_write_leaves_before_its_intent_is_on_disk(tmp_path: Path) -> None:
    """Seen from outside, by another connection, at the moment of every POST, PUT and DELETE."""
    world = built(tmp_path, concurrency=8)
    world.write({"contacts": {f"person-{n}": person(f"person-{n}") for n in range(40)}})
    wire = Killed(world)

    world.apply()

    assert wire.unwritten == []
    assert writes(wire) == {"POST": 40, "DELETE": 3}


def halfway(world: World) -> Killed:
    """Killed when the first answer of a POST is on its way back: one is made, and nobody was told."""

    class AtPost(Killed):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            answer = await super().handle_async_request(request)
            if request.method == "POST" and not self.dead and not self.copy.exists():
                self.at = self.effects + 1
                self._effect()
                raise httpx2.ReadError("killed", request=request)
            return answer

    wire = AtPost(world)
    world.apply()
    wire.after()
    return wire


def test_what_was_made_and_not_recorded_is_found_and_reported(tmp_path: Path) -> None:
    world = built(tmp_path, concurrency=1)
    halfway(world)

    observer = Agreeing()
    run = world.resume(observer)

    assert run is not None
    assert [len(sort_out_run(one).in_doubt) for one in observer.left] == [1]
    assert run.outcomes[0].result == "applied"
    assert "but not recorded then; it exists, recognized by" in run.outcomes[0].what
    assert run.resumes == observer.left[0].run
    assert run.audit_head.partition(":")[0].isdigit()
    assert sorted(one.address for one in run.outcomes) == sorted({one.address for one in run.outcomes})
    converged(world)


def test_what_is_in_doubt_is_waited_out_before_it_is_looked_for(tmp_path: Path) -> None:
    """Rule A9: a request of a killed process may land after its lock was taken, for one settle window."""
    world = built(tmp_path, concurrency=1, settle_s=10)
    halfway(world)
    began = world.clock.now

    world.resume()

    assert (world.clock.now - began).total_seconds() >= 10
    converged(world)


@pytest.mark.parametrize("apart_s", [-43_200, -5, 5, 43_200])
@pytest.mark.parametrize("then", ["resume", "apply"])
def test_another_clock_or_one_that_was_set_shortens_no_wait(tmp_path: Path, then: str, apart_s: int) -> None:
    """What the killed run wrote down is in the times of another clock than the next run reads.

    Nothing follows from them: one whole window is waited by the monotonic clock, and then it looks.
    """
    world = built(tmp_path, concurrency=1, settle_s=10)
    wire = halfway(world)
    right = world.dependencies.now
    world.dependencies = replace(world.dependencies, now=lambda: right() + timedelta(seconds=apart_s))

    second = Timed(world)
    run = world.resume() if then == "resume" else world.apply()[1]

    assert run is not None
    assert second.first_after_s >= 10
    assert writes(wire) + Counter(method for method, _ in second.sent if method != "GET") == WRITES
    converged(world)


@pytest.mark.parametrize("then", ["resume", "apply"])
def test_an_older_store_that_was_put_back_is_waited_for_before_anything_is_asked(
    tmp_path: Path, then: str
) -> None:
    """It does not know what was sent since: that may be on its way still, and must be seen by the look."""
    world = built(tmp_path, settle_s=10)
    backup = shutil.copyfile(tmp_path / "store.db", tmp_path / "backup")
    world.apply()
    shutil.copyfile(backup, tmp_path / "store.db")

    notices = world.plan().plan.notices
    timed = Timed(world)
    if then == "resume":
        assert world.resume() is None
    _, run = world.apply()

    assert [notice.kind for notice in notices] == ["store"]
    assert timed.first_after_s >= 10
    assert {method for method, _ in timed.sent} == {"GET"}
    assert run.exit_code == 0
    assert live(world) == WANTED
    assert world.plan().plan.notices == ()
    again = Timed(world)
    world.apply()
    assert again.first_after_s == 0


def test_asked_to_stop_while_it_waits_for_an_older_store_it_stays_doubtful(tmp_path: Path) -> None:
    world = built(tmp_path, settle_s=10)
    backup = shutil.copyfile(tmp_path / "store.db", tmp_path / "backup")
    world.apply()
    shutil.copyfile(backup, tmp_path / "store.db")
    stop = StopFlag()
    stop.signal()

    with pytest.raises(Interrupted):
        applied(world, world.dependencies, stop)

    assert [notice.kind for notice in world.plan().plan.notices] == ["store"]


def test_what_landed_is_recognized_though_the_manifest_has_changed(tmp_path: Path) -> None:
    """It was sent under the identity of then; looked for under that of now, it would be made twice."""
    world = built(tmp_path, concurrency=1)
    wire = halfway(world)
    changed = {"contacts": {**AFTER["contacts"], "ada": person("ada", workEmailAddress1="ada.k@example.com")}}
    world.write(changed)

    observer = Agreeing()
    run = world.resume(observer)

    assert run is not None
    assert [str(one.address) for one in observer.besides] == ["contact/default/ada"]
    assert "ada@example.com" in [mail for mail, _, _ in live(world)]
    _, done = world.apply()
    assert done.exit_code == 0
    assert [mail for mail, _, _ in live(world)].count("ada.k@example.com") == 1
    assert len(live(world)) == len(WANTED)
    assert writes(wire)["POST"] == WRITES["POST"]


def test_what_landed_and_is_declared_no_longer_is_ours_and_pruned_by_a_plan(tmp_path: Path) -> None:
    """Resume deletes nothing that its plan did not delete; the next plan shows it."""
    world = built(tmp_path, concurrency=1)
    halfway(world)
    world.write({"contacts": {k: v for k, v in AFTER["contacts"].items() if k != "ada"}})

    observer = Agreeing()
    world.resume(observer)

    assert [type(one).__name__ for one in observer.besides] == ["Delete"]
    assert len(live(world)) == len(WANTED)
    world.apply()
    assert [mail for mail, _, _ in live(world)] == [m for m, _, _ in WANTED if not m.startswith("ada")]


def test_two_like_what_was_sent_end_as_a_conflict_and_say_so(tmp_path: Path) -> None:
    """It has landed, so nothing is in doubt; which of them is ours cannot be told, so a person decides."""
    world = built(tmp_path, concurrency=1)
    halfway(world)

    async def another(client: Any) -> None:
        await client.contacts.create(person("ada"))

    world.behind_our_back(another)
    run = world.resume()

    assert run is not None
    assert (run.outcomes[0].result, run.exit_code) == ("conflict", 5)
    assert "2 matching entities exist" in run.outcomes[0].what
    assert world.plan().unfinished == ()

    async def away(client: Any) -> None:
        rows = await client.contacts.search(Query({"workEmailAddress1": "ada@example.com"}))
        await client.contacts.delete(rows[1].remote_id)

    world.behind_our_back(away)
    world.apply()
    converged(world)


@pytest.mark.parametrize("broken", ["UPDATE runs SET plan = '{}' WHERE plan <> ''"])
def test_a_plan_that_cannot_be_read_is_settled_by_the_manifest(tmp_path: Path, broken: str) -> None:
    """Another version of the program wrote it: what it left in doubt is found all the same."""
    world = built(tmp_path, concurrency=1)
    wire = halfway(world)
    with file_of(tmp_path / "store.db") as store:
        store.execute(broken)
    seal_file_again(tmp_path / "store.db")

    with pytest.raises(StalePlan, match="cannot be read"):
        world.resume()
    second = Killed(world)
    world.apply()

    assert writes(wire, second) == WRITES
    converged(world)


def test_an_expired_plan_is_settled_and_not_carried_out(tmp_path: Path) -> None:
    world = built(tmp_path, concurrency=1)
    halfway(world)
    world.clock.pass_s(25 * 3600)
    second = Killed(world)

    with pytest.raises(StalePlan, match="expired at"):
        world.resume()

    assert writes(second) == {}
    left = world.plan().unfinished
    assert [sort_out_run(one).in_doubt for one in left] == [()]
    world.apply()
    converged(world)


def test_an_alias_that_means_another_workspace_now_is_not_gone_on_with(tmp_path: Path) -> None:
    world = built(tmp_path)
    planned = world.plan().plan
    where = [structs.replace(one, id="AB12") for one in planned.target.workspaces]
    other = structs.replace(planned, target=structs.replace(planned.target, workspaces=tuple(where)))

    assert pipeline.workspace_mismatch(planned, planned) == ""
    assert pipeline.workspace_mismatch(planned, other) == "workspace default now has another id."


def test_the_consent_of_then_holds_and_no_more_than_that(tmp_path: Path) -> None:
    """A guard that a person lifted stays lifted for this plan; one that nobody lifted does not."""
    world = built(tmp_path, concurrency=1)
    more = {name: person(name) for name in ("kim", "max", "eve")}
    world.write({"contacts": {**BEFORE["contacts"], **more}})
    world.apply()
    world.write({"contacts": {"ada": person("ada")}})  # and six deletes, which is nearly everybody
    halfway(world)
    with file_of(tmp_path / "store.db") as store:
        kept = store.execute("SELECT consent FROM runs WHERE plan <> ''").fetchone()[0]
        store.execute("UPDATE runs SET consent = '{}' WHERE plan <> ''")
    seal_file_again(tmp_path / "store.db")

    second = Killed(world)
    with pytest.raises(UnsafePlan):
        world.resume()
    assert writes(second) == {}

    with file_of(tmp_path / "store.db") as store:
        store.execute("UPDATE runs SET consent = ? WHERE plan <> ''", (kept,))
    seal_file_again(tmp_path / "store.db")
    world.resume()
    assert [mail for mail, _, _ in live(world)] == ["ada@example.com"]


def test_where_nothing_is_left_resume_calls_nobody_and_makes_no_store(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(BEFORE)

    assert world.resume() is None
    assert list(tmp_path.glob("store.db*")) == []
    world.apply()
    world.sent()
    assert world.resume() is None
    assert world.sent() == {}


def test_a_run_that_was_asked_to_stop_is_gone_on_with(tmp_path: Path) -> None:
    """Ctrl-C is no crash, and leaves a rest all the same."""
    world = built(tmp_path, concurrency=1)
    stop = StopFlag()

    async def stopping(_: httpx2.Request, send: Send) -> httpx2.Response:
        stop.signal()
        return await send()

    world.meets(stopping, "POST")
    run = applied(world, world.dependencies, stop)
    world.wire.rules.clear()
    assert (run.exit_code, run.count("applied"), run.count("not attempted")) == (130, 1, 4)

    done = world.resume()

    assert done is not None
    assert (done.exit_code, done.count("applied")) == (0, 4)
    converged(world)


def applied(world: World, outside: pipeline.Dependencies, stop: StopFlag) -> Run:
    run = world.run(
        pipeline.apply(
            world.settings,
            pipeline.validate(world.settings, world.environ),
            outside,
            options=Options(),
            consent=ALLOWED,
            saved=None,
            fail_fast=False,
            stop=stop,
            observer=Agreeing(),
        )
    )
    assert run is not None
    return run


def test_asked_to_stop_while_it_waits_nothing_is_settled_and_nothing_lost(tmp_path: Path) -> None:
    world = built(tmp_path, concurrency=1, settle_s=10)
    halfway(world)
    stop = StopFlag()
    stop.signal()
    second = Killed(world)

    with pytest.raises(Interrupted):
        applied(world, world.dependencies, stop)

    assert second.arrived == []
    world.resume()
    converged(world)


def test_refused_credentials_while_settling_end_it_and_free_the_lock(tmp_path: Path) -> None:
    world = built(tmp_path, concurrency=1)
    halfway(world)

    world.sent()
    world.meets(answered(401))
    with pytest.raises(Unauthorized):
        applied(world, world.dependencies, StopFlag())

    assert world.sent() == {"GET": 1}
    world.wire.rules.clear()
    world.resume()
    converged(world)


def test_a_declined_apply_leaves_the_earlier_run_to_be_resumed(tmp_path: Path) -> None:
    """Its plan is still what somebody agreed to."""
    world = built(tmp_path, concurrency=1)
    halfway(world)

    class Declining(Agreeing):
        def agrees(self, _planned: pipeline.PlanResult) -> bool:
            return False

    declined = world.run(
        pipeline.apply(
            world.settings,
            pipeline.validate(world.settings, world.environ),
            world.dependencies,
            options=Options(),
            consent=Consent(),
            saved=None,
            fail_fast=False,
            stop=StopFlag(),
            observer=Declining(),
        )
    )

    assert declined is None
    run = world.resume()
    assert run is not None
    converged(world)


def test_a_plan_of_an_unfinished_run_is_named_by_the_next_plan(tmp_path: Path) -> None:
    world = built(tmp_path, concurrency=1)
    halfway(world)

    left: Mapping[str, InterruptedRun] = {one.run: one for one in world.plan().unfinished}

    assert [one.command for one in left.values()] == ["apply"]
