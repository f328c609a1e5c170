"""What earlier runs left in doubt: found, absent, or not to be told; and how few commits a run needs."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from engine.bench import JANE, ORIGIN, SAM, TARGET, Bench, desire, only, person, phone, results
from store.support import seal_again
from wire import Rule, answered, lost_after, lost_before

from reconciler.engine.context import StopFlag
from reconciler.engine.recover import settle_unfinished
from reconciler.model.address import contact_address, device_address
from reconciler.model.runs import Outcome
from reconciler.store.database import Store, Workspaces
from reconciler.store.locks import Lock
from reconciler.store.records import Batch
from reconciler.store.schema import RUNS


def in_doubt(bench: Bench) -> list[str]:
    """What is open in the journal now."""
    with bench.store() as store:
        entries = [entry for one in store.unfinished() for entry in one.entries]
    return sorted(str(entry.intent.address) for entry in entries if entry.open)


def forget_plans(bench: Bench) -> None:
    """As if another version of the program had written what is unfinished."""
    with bench.store() as store, store._database.writing() as connection:
        connection.execute("UPDATE runs SET plan = '{}' WHERE plan <> ''")
        seal_again(connection, RUNS)


def test_what_is_not_there_when_it_can_no_longer_land_is_closed(tmp_path: Path) -> None:
    """It may be made now; it is not reported as done, nor kept in doubt for ever."""
    bench = Bench(tmp_path)
    bench.apply(person(), rules=[Rule("POST", lost_before)])
    assert in_doubt(bench) == [str(JANE)]

    run = bench.apply(person())

    assert bench.settled == ()
    assert only(run).result == "applied"
    assert in_doubt(bench) == []
    assert len(bench.live()) == 1


def test_an_update_and_a_delete_are_found_by_what_they_did(tmp_path: Path) -> None:
    """Neither of them makes anything whose identity could be looked for."""
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))
    unseen = Rule("GET", answered(500), when=lambda: bench.wire.count()["DELETE"] > 0)
    rules = [Rule("PUT", lost_after), Rule("DELETE", lost_after), unseen]
    run = bench.apply(person(jobTitle="Engineer"), rules=rules)
    assert set(results(run).values()) == {"in doubt"}

    again = bench.apply(person(jobTitle="Engineer"))

    assert {str(one.address): one.result for one in bench.settled} == {
        str(JANE): "applied",
        str(SAM): "applied",
    }
    assert again.outcomes == ()
    assert set(bench.recorded().entities) == {JANE}
    assert in_doubt(bench) == []


def test_what_cannot_be_looked_at_stays_open_until_it_can(tmp_path: Path) -> None:
    """A service that does not answer says nothing about what it has done."""
    bench = Bench(tmp_path)
    silent = Rule("GET", answered(500), when=lambda: bench.wire.count()["POST"] > 0)
    bench.apply(person(), rules=[Rule("POST", lost_after), silent])

    bench.wire.rules = [Rule("GET", answered(500))]
    with bench.store() as store, store.lock("run") as lock:
        found = asyncio.run(settle(bench, store, lock))
    bench.wire.rules = []

    assert [(one.result, one.address) for one in found] == [("in doubt", JANE)]
    assert "the lookup failed" in found[0].what
    assert in_doubt(bench) == [str(JANE)]
    bench.apply(person())
    assert in_doubt(bench) == []
    assert len(bench.live()) == 1


async def settle(bench: Bench, store: Store, lock: Lock) -> tuple[Outcome, ...]:
    bench.stop = StopFlag()
    async with bench.client() as client:
        context = bench.context("settling", desire(person()), store, lock, client)
        return await settle_unfinished(store.unfinished(), context, TARGET)


def test_a_device_whose_contact_is_gone_is_not_there(tmp_path: Path) -> None:
    """Without its contact there is no device, wherever its request has gone."""
    bench = Bench(tmp_path)
    bench.apply(person())
    bench.apply(person(), phone(), rules=[Rule("POST", lost_before)])
    assert in_doubt(bench) == [str(device_address("ops", "jane", "pixel"))]

    async def away() -> None:
        async with bench.client() as client:
            rows = await client.contacts.list(workspace="AB12")
            await client.contacts.delete(rows[0].remote_id, workspace="AB12")

    asyncio.run(away())
    run = bench.apply(person(), phone())

    assert bench.settled == ()
    assert set(results(run).values()) == {"applied"}
    assert in_doubt(bench) == []


def test_without_a_plan_the_manifest_says_how_to_recognize_it(tmp_path: Path) -> None:
    """Where neither says so, it stays open and names the way on."""
    bench = Bench(tmp_path)
    silent = Rule("GET", answered(500), when=lambda: bench.wire.count()["POST"] > 0)
    bench.apply(person(), rules=[Rule("POST", lost_after), silent])
    forget_plans(bench)

    bench.apply(person(SAM))
    assert [one.result for one in bench.settled] == ["in doubt"]
    assert "declare it again" in bench.settled[0].next
    bench.apply(person(), person(SAM))

    assert [one.result for one in bench.settled] == ["applied"]
    assert in_doubt(bench) == []
    assert len(bench.live()) == 2


def test_without_a_plan_updates_and_deletes_are_left_to_the_next_plan(tmp_path: Path) -> None:
    """What an update was to do is not known; what is live now is what the next plan compares."""
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))
    unseen = Rule("GET", answered(500), when=lambda: bench.wire.count()["DELETE"] > 0)
    rules = [Rule("PUT", lost_before), Rule("DELETE", lost_after), unseen]
    bench.apply(person(jobTitle="Engineer"), rules=rules)
    forget_plans(bench)

    run = bench.apply(person(jobTitle="Engineer"))

    assert [one.address for one in bench.settled] == [SAM]
    assert results(run) == {str(JANE): "applied"}
    assert (in_doubt(bench), len(bench.live())) == ([], 1)


class Counted(Store):
    """A store that counts its transactions."""

    written = 0

    def record(self, batches: Iterable[Batch], workspaces: Workspaces, *, lock: Lock | None = None) -> None:
        Counted.written += 1
        super().record(batches, workspaces, lock=lock)


class CountedBench(Bench):
    def store(self) -> Store:
        return Counted.open(
            "sqlite:///store.db",
            origin=ORIGIN,
            stack="default",
            now=self.now,
            token=lambda: next(self._tokens),
            root=str(self.folder),
        )


def test_two_hundred_creates_share_their_commits(tmp_path: Path) -> None:
    """Each needs two, before and after its call; sixteen at a time make far fewer of four hundred."""
    bench = CountedBench(tmp_path, concurrency=16)
    before = Counted.written

    run = bench.apply(*(person(contact_address("ops", f"person-{number}")) for number in range(200)))

    assert run.count("applied") == 200
    assert Counted.written - before < 100
