import asyncio
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from engine.bench import JANE, SAM, ZOE, Bench, only, person, phone, results, upload
from msgspec import structs
from waiting import for_ever
from wire import Rule, Send, answered, lost_after, wrong

from reconciler.model.address import contact_address
from reconciler.model.runs import Run
from reconciler.store.database import Store
from reconciler.store.locks import Lock

MANY = [contact_address("ops", f"person-{number:02}") for number in range(20)]
PEOPLE = [person(address) for address in MANY]


def counted(run: Run) -> Counter[str]:
    return Counter(results(run).values())


def test_refused_credentials_end_the_run_at_once(tmp_path: Path) -> None:
    """E3: after the first 401 no write leaves, for whatever change."""
    bench = Bench(tmp_path, concurrency=1)

    run = bench.apply(*PEOPLE, rules=[Rule("POST", answered(401), nth=5)])

    assert counted(run) == {"applied": 4, "failed": 1, "not attempted": 15}
    assert bench.wire.count()["POST"] == 5
    assert bench.wire.sent[-1][0] == "POST"
    assert run.exit_code == 6
    assert "does not accept the user name" in run.stopped
    assert len(bench.live()) == 4


@pytest.mark.parametrize("concurrency", [1, 4, 16])
def test_after_a_401_to_a_look_no_write_leaves(tmp_path: Path, concurrency: int) -> None:
    bench = Bench(tmp_path, concurrency=concurrency)

    run = bench.apply(*PEOPLE, rules=[Rule("GET", answered(401), nth=1)])

    first = [path for _, path in bench.wire.sent]
    assert len(bench.wire.writes()) < concurrency
    assert counted(run)["failed"] == 1
    assert len(first) <= 2 * concurrency


def test_a_spent_quota_ends_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    spent = answered(403, {"X-Error-Code": "ERR_403_DEVELOPER_OVER_QPD"})

    run = bench.apply(*PEOPLE, rules=[Rule("POST", spent, nth=2)])

    assert counted(run) == {"applied": 1, "failed": 1, "not attempted": 18}


def test_asked_to_stop_it_finishes_what_is_under_way(tmp_path: Path) -> None:
    """P19: the calls in flight end, are recorded, and nothing else begins."""
    bench = Bench(tmp_path, concurrency=4)

    async def asked(request: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        return await send()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", asked, nth=6)])

    done = counted(run)
    assert set(done) == {"applied", "not attempted"}
    assert 6 <= done["applied"] <= 9
    assert (run.exit_code, run.outcome) == (130, "interrupted")
    assert run.stopped
    assert len(bench.live()) == done["applied"]
    assert len(bench.recorded().entities) == done["applied"]
    not_attempted = next(one for one in run.outcomes if one.result == "not attempted")
    assert "asked to stop" in not_attempted.what
    assert not_attempted.next


def test_what_was_left_is_done_by_the_next_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=4)

    async def asked(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        return await send()

    bench.apply(*PEOPLE, rules=[Rule("POST", asked, nth=6)])
    run = bench.apply(*PEOPLE)

    assert run.exit_code == 0
    assert len(bench.live()) == len(PEOPLE)
    assert bench.changes(*PEOPLE) == []


@pytest.mark.parametrize("landed", [True, False])
def test_asked_twice_it_stops_at_once_and_says_what_is_in_doubt(tmp_path: Path, *, landed: bool) -> None:
    bench = Bench(tmp_path, concurrency=1)

    async def hangs(_: httpx2.Request, send: Send) -> httpx2.Response:
        if landed:
            await send()
        bench.stop.signal()
        bench.stop.signal()
        await for_ever()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", hangs, nth=3)])

    assert counted(run) == {"applied": 2, "in doubt": 1, "not attempted": 17}
    assert run.exit_code == 130
    assert set(bench.recorded().doubts) == {MANY[2]}
    assert bench.apply(*PEOPLE).exit_code == 0
    assert len(bench.live()) == len(PEOPLE)


def test_asked_once_it_does_not_wait_for_ever(tmp_path: Path) -> None:
    """P19: a call that hangs has a time of grace."""
    bench = Bench(tmp_path, concurrency=1)

    async def hangs(_: httpx2.Request, __: Send) -> httpx2.Response:
        bench.stop.signal()
        await for_ever()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", hangs, nth=3)])

    assert counted(run) == {"applied": 2, "in doubt": 1, "not attempted": 17}


def test_stopped_during_the_read_back_it_leaves_the_write_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    bench.apply(person())

    async def hangs(_: httpx2.Request, __: Send) -> httpx2.Response:
        bench.stop.signal()
        bench.stop.signal()
        await for_ever()

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("GET", hangs, nth=2)])

    assert only(run).result == "in doubt"
    assert "before it was read back" in only(run).what
    assert "jobTitle" not in bench.recorded().entities[JANE].sent
    assert bench.live()[0]["jobTitle"] == "Engineer"
    assert bench.apply(person(jobTitle="Engineer")).outcomes == ()
    assert [outcome.result for outcome in bench.settled] == ["applied"]


def test_asked_to_stop_it_does_not_wait_for_what_is_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settle_s=3600, concurrency=1)

    async def asked(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        return await send()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", lost_after, nth=1), Rule("POST", asked, nth=2)])

    assert results(run)[str(MANY[0])] == "in doubt"
    assert run.exit_code == 130


def test_the_deadline_of_the_run_works_the_same_way(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    bench.deadline_s = 0.0

    run = bench.apply(*PEOPLE)

    assert counted(run) == {"not attempted": 20}
    assert "deadline of 0 s" in run.stopped
    assert run.exit_code == 130
    assert bench.wire.sent == []


def test_fail_fast_begins_nothing_after_a_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    bench.fail_fast = True

    run = bench.apply(*PEOPLE, rules=[Rule("POST", answered(422), nth=2)])

    assert counted(run) == {"applied": 1, "failed": 1, "not attempted": 18}
    assert "--fail-fast" in run.stopped
    assert run.exit_code == 6


def test_fail_fast_looks_for_what_is_in_doubt(tmp_path: Path) -> None:
    """Nothing new begins, and what was sent is reported as it is: a wait without a look has no use."""
    bench = Bench(tmp_path, concurrency=1)
    bench.fail_fast = True

    run = bench.apply(*PEOPLE, rules=[Rule("POST", lost_after, nth=2)])

    assert counted(run) == {"applied": 2, "not attempted": 18}
    assert "--fail-fast" in run.stopped
    assert bench.wire.count()["POST"] == 2


def test_a_lost_lock_ends_the_run_before_the_next_write(tmp_path: Path) -> None:
    """P7: somebody else is the writer now."""
    bench = Bench(tmp_path, concurrency=1)

    def taken(store: Store, _: Lock) -> None:
        with store._database.writing() as connection:
            connection.execute("UPDATE locks SET nonce = 'another', holder = 'somebody'")

    run = bench.apply(*PEOPLE, sabotage=taken)

    assert counted(run) == {"not attempted": 20}
    assert "taken from this run, by somebody" in run.stopped
    assert run.exit_code == 4
    assert bench.wire.writes() == []


def test_a_store_that_fails_ends_the_run(tmp_path: Path) -> None:
    """What is done has to be written down before anything else is done."""
    bench = Bench(tmp_path, concurrency=1)

    def broken(store: Store, _: Lock) -> None:
        with store._database.writing() as connection:
            connection.execute("DROP TABLE entities")

    run = bench.apply(*PEOPLE, sabotage=broken, rules=[])

    assert counted(run) == {"applied": 1, "not attempted": 19}
    assert "not recorded" in run.outcomes[0].what
    assert run.outcomes[0].next
    assert run.exit_code == 6
    assert len(bench.wire.writes()) == 1


def test_a_mistake_of_ours_ends_the_run_and_names_its_place(tmp_path: Path) -> None:
    """A program that is wrong must not go on writing."""
    bench = Bench(tmp_path)
    wrong = structs.replace(upload(), content=None)

    run = bench.apply(wrong, person(), phone())

    assert counted(run) == {"failed": 1, "not attempted": 2}
    assert "AssertionError in bodies.py:" in run.outcomes[0].what
    assert "a bug in this program" in run.stopped
    assert run.exit_code == 1
    assert bench.wire.writes() == []


def test_a_mistake_after_the_request_was_sent_leaves_it_in_doubt(tmp_path: Path) -> None:
    """What was sent is never forgotten, whatever went wrong with us."""
    bench = Bench(tmp_path, concurrency=1)

    run = bench.apply(person(), person(SAM), rules=[Rule("POST", wrong)])

    assert counted(run) == {"in doubt": 1, "not attempted": 1}
    assert "ZeroDivisionError" in run.outcomes[0].what
    assert "canary" not in repr(run)
    assert run.exit_code == 8
    assert set(bench.recorded().doubts) == {JANE}


def test_a_mistake_after_the_write_leaves_it_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    bench.apply(person(), person(SAM))

    run = bench.apply(
        person(jobTitle="Engineer"), person(SAM, jobTitle="Engineer"), rules=[Rule("GET", wrong, nth=2)]
    )

    assert counted(run) == {"in doubt": 1, "not attempted": 1}
    assert "a bug in this program" in run.outcomes[0].what
    assert run.exit_code == 8
    assert "jobTitle" not in bench.recorded().entities[JANE].sent


def test_a_refusal_of_the_read_back_ends_the_run_and_leaves_the_write_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)
    bench.apply(person(), person(SAM))

    run = bench.apply(
        person(jobTitle="Engineer"),
        person(SAM, jobTitle="Engineer"),
        rules=[Rule("GET", answered(401), nth=2)],
    )

    assert counted(run) == {"in doubt": 1, "not attempted": 1}
    assert run.exit_code == 8
    assert bench.wire.count()["PUT"] == 1


def test_a_store_that_cannot_be_read_ends_the_run_before_a_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def broken(store: Store, _: Lock) -> None:
        with store._database.writing() as connection:
            connection.execute("DROP TABLE locks")

    run = bench.apply(person(), sabotage=broken)

    assert only(run).result == "not attempted"
    assert run.exit_code == 1
    assert run.stopped
    assert bench.wire.writes() == []


def test_a_mistake_of_the_listener_ends_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=1)

    def wrong(_: object) -> None:
        raise ZeroDivisionError

    bench.on_outcome = wrong
    with pytest.raises(ZeroDivisionError):
        bench.apply(*PEOPLE)
    assert len(bench.wire.writes()) == 1
    assert len(bench.recorded().entities) == 1


def test_cancelled_from_outside_it_records_what_is_done(tmp_path: Path) -> None:
    bench = Bench(tmp_path, concurrency=2)
    reached = asyncio.Event()

    async def hangs(_: httpx2.Request, send: Send) -> httpx2.Response:
        await send()
        reached.set()
        await for_ever()

    async def work() -> None:
        task = asyncio.create_task(bench.apply_async(*PEOPLE, rules=[Rule("POST", hangs, nth=5)]))
        await reached.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())

    recorded = bench.recorded()
    assert len(recorded.entities) + len(recorded.doubts) == len(bench.live())
    assert len(recorded.doubts) >= 1
    bench.pass_(60)
    assert bench.apply(*PEOPLE).exit_code == 0
    assert len(bench.live()) == len(PEOPLE)


def test_a_failed_contact_skips_its_devices_and_nothing_else(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    people = (person(), person(SAM), person(ZOE))
    phones = (phone(), phone(SAM), phone(ZOE))

    run = bench.apply(*people, *phones, rules=[Rule("POST", answered(422), nth=2)])

    assert counted(run) == {"applied": 4, "failed": 1, "skipped": 1}
    failed = next(one for one in run.outcomes if one.result == "failed")
    skipped = next(one for one in run.outcomes if one.result == "skipped")
    assert skipped.address.above == failed.address
