import asyncio
from pathlib import Path

import httpx2
import pytest
from engine.bench import (
    JANE,
    SAM,
    Bench,
    edit,
    jane_is_made,
    lands_late,
    only,
    person,
    phone,
    results,
    upload,
)
from wire import Rule, Send, answered, lost_after, lost_before

from reconciler.core.calls import retry_burst, retry_share, tries_max
from reconciler.core.compare.bodies import make_create_body
from reconciler.model.address import contact_address, device_address
from reconciler.service.http.limiter import Timing

PIXEL = device_address("ops", "jane", "pixel")


def test_a_create_whose_answer_was_lost_is_found_and_adopted(tmp_path: Path) -> None:
    """Rule A9: never sent again; looked for when it can no longer land."""
    bench = Bench(tmp_path)

    run = bench.apply(person(custom__badge="7"), rules=[Rule("POST", lost_after)])

    assert only(run).result == "applied"
    assert "its answer was lost" in only(run).what
    assert run.exit_code == 0
    assert bench.wire.count()["POST"] == 1
    assert len(bench.live()) == 1
    assert bench.recorded().doubts == {}
    assert bench.recorded().entities[JANE].remote_id == only(run).remote_id
    assert bench.changes(person(custom__badge="7")) == []


def test_a_create_that_never_landed_stays_in_doubt(tmp_path: Path) -> None:
    """It may be on its way still: sending it again is how two are made."""
    bench = Bench(tmp_path, settle_s=300)

    run = bench.apply(person(), person(SAM), rules=[Rule("POST", lost_before, nth=1)])

    assert sorted(results(run).values()) == ["applied", "in doubt"]
    doubt = next(one for one in run.outcomes if one.result == "in doubt")
    assert doubt.next == "reconciler resume: it waits, looks again, and sends nothing twice"
    assert (run.exit_code, run.outcome) == (8, "in doubt")
    assert bench.wire.count()["POST"] == 2
    assert set(bench.recorded().doubts) == {doubt.address}
    assert len(bench.live()) == 1


def test_what_is_in_doubt_is_made_again_only_after_a_look(tmp_path: Path) -> None:
    """However late it is by the clock: a plan without the lock cannot know, and leaves it alone."""
    bench = Bench(tmp_path, settle_s=300)
    bench.apply(person(), rules=[Rule("POST", lost_before)])

    bench.pass_(86_400)
    assert bench.changes(person()) == []
    run = bench.apply(person())

    assert only(run).result == "applied"
    assert bench.recorded().doubts == {}
    assert len(bench.live()) == 1


def test_a_create_that_lands_late_within_the_window_makes_one(tmp_path: Path) -> None:
    """Looking at once would not have found it, and would have sent a second one."""
    bench = Bench(tmp_path, settle_s=5)
    late: list[asyncio.Task[httpx2.Response]] = []

    run = bench.apply(person(), rules=[Rule("POST", lands_late(bench, late, 2.0))])

    assert only(run).result == "applied"
    assert len(late) == 1
    assert len(bench.live()) == 1


def test_a_create_that_lands_after_the_run_is_adopted_by_the_next(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settle_s=30)
    run = bench.apply(person(), rules=[Rule("POST", lost_before)])
    assert only(run).result == "in doubt"

    async def lands() -> None:
        async with bench.client() as client:
            await jane_is_made(client)

    asyncio.run(lands())
    again = bench.apply(person())

    assert [one.result for one in bench.settled] == ["applied"]
    assert (again.outcomes, again.exit_code) == ((), 0)
    assert len(bench.live()) == 1
    assert bench.recorded().doubts == {}


def test_what_was_made_by_somebody_else_is_not_taken_for_what_we_sent(tmp_path: Path) -> None:
    """After a doubt only what is seen counts as sent; otherwise a difference would be learnt as normal."""
    bench = Bench(tmp_path)

    async def instead(request: httpx2.Request, _: object) -> httpx2.Response:
        async with bench.client() as client:
            bench.wire.rules = []
            body = {**make_create_body(person()), "jobTitle": "Director"}
            await client.contacts.create(body, workspace="AB12")
        raise httpx2.ReadError("lost", request=request)

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("POST", instead)])

    assert only(run).result == "applied"
    assert "jobTitle" not in bench.recorded().entities[JANE].sent
    assert bench.changes(person(jobTitle="Engineer")) == [("update", str(JANE))]


def test_a_value_that_the_service_rewrites_settles_after_a_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    wanted = person(timezone="Australia/Melbourne")
    bench.apply(wanted, rules=[Rule("POST", lost_after)])

    bench.apply(wanted)

    assert bench.changes(wanted) == []
    assert len(bench.live()) == 1


def test_several_that_could_be_ours_leave_it_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    async def twice(request: httpx2.Request, send: object) -> httpx2.Response:
        bench.wire.rules = []
        async with bench.client() as client:
            await jane_is_made(client)
            await jane_is_made(client)
        raise httpx2.ReadError("lost", request=request)

    run = bench.apply(person(), rules=[Rule("POST", twice)])

    assert only(run).result == "in doubt"
    assert "2 matching entities exist" in only(run).what
    assert bench.recorded().entities == {}


def test_devices_of_a_contact_in_doubt_are_skipped(tmp_path: Path) -> None:
    """Also when it turns out to exist: by then its wave is over, and the next run makes them."""
    bench = Bench(tmp_path)

    run = bench.apply(person(), phone(), rules=[Rule("POST", lost_after, nth=1)])

    assert results(run) == {str(JANE): "applied", str(PIXEL): "skipped"}
    assert "in doubt" in run.outcomes[1].what
    assert results(bench.apply(person(), phone())) == {str(PIXEL): "applied"}


@pytest.mark.parametrize("kind", ["device", "resource"])
def test_other_kinds_are_adopted_just_so(tmp_path: Path, kind: str) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())
    wanted = (person(), phone() if kind == "device" else upload())

    run = bench.apply(*wanted, rules=[Rule("POST", lost_after)])

    assert only(run).result == "applied"
    assert bench.wire.count()["POST"] == 1
    if kind == "device":
        assert bench.changes(*wanted) == []


def test_an_update_whose_answer_was_lost_is_looked_at(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", lost_after)])

    assert only(run).result == "applied"
    assert bench.wire.count()["PUT"] == 1
    assert bench.changes(person(jobTitle="Engineer")) == []


def test_an_update_that_never_landed_is_not_repeated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", lost_before)])

    assert only(run).result == "in doubt"
    assert run.exit_code == 8
    assert bench.wire.count()["PUT"] == 1
    assert bench.changes(person(jobTitle="Engineer")) == [("update", str(JANE))]


def test_a_delete_whose_answer_was_lost_is_looked_at(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), phone())

    run = bench.apply(rules=[Rule("DELETE", lost_after)])

    assert only(run).result == "applied"
    assert bench.wire.count()["DELETE"] == 1
    assert bench.recorded().entities == {}


def test_a_delete_that_never_landed_is_not_repeated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(rules=[Rule("DELETE", lost_before)])

    assert only(run).result == "in doubt"
    assert bench.wire.count()["DELETE"] == 1
    assert set(bench.recorded().entities) == {JANE}


def test_a_doubt_that_cannot_be_looked_at_stays_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    later = Rule("GET", answered(500), when=lambda: bench.wire.count()["POST"] > 0)
    run = bench.apply(person(), rules=[Rule("POST", lost_after), later])

    assert only(run).result == "in doubt"
    assert "The lookup failed" in only(run).what
    assert set(bench.recorded().doubts) == {JANE}


@pytest.mark.parametrize("status", [429, 503])
def test_a_throttled_create_is_sent_again_after_a_look(tmp_path: Path, status: int) -> None:
    bench = Bench(tmp_path)

    run = bench.apply(person(), rules=[Rule("POST", answered(status, {"Retry-After": "1"}), nth=1)])

    assert only(run).result == "applied"
    # Of a 503 nobody knows whether it was done: so who may be it under another identity is looked for too, by
    # names and among what is as recent (A12).
    looks = ["GET", "GET", "GET"] if status == 503 else ["GET"]
    assert [method for method, _ in bench.wire.sent] == ["GET", "POST", *looks, "GET", "POST", "GET"]
    assert len(bench.live()) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_throttled_create_that_was_done_all_the_same_makes_one(tmp_path: Path, status: int) -> None:
    """Usually it means that nothing was done, but no specification says so."""
    bench = Bench(tmp_path)

    run = bench.apply(person(), rules=[Rule("POST", answered(status, done=True))])

    assert only(run).result == "applied"
    assert bench.wire.count()["POST"] == 1
    assert len(bench.live()) == 1
    assert bench.changes(person()) == []


def test_a_write_that_is_throttled_again_and_again_fails_after_three_tries(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    run = bench.apply(person(), rules=[Rule("POST", answered(429))])

    assert only(run).result == "failed"
    assert bench.wire.count()["POST"] == 3
    assert bench.live() == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_throttled_create_is_in_doubt_when_the_run_ends_before_the_look(
    status: int, tmp_path: Path
) -> None:
    """A throttled request may have been carried out: called failed, the next run would make it again."""
    bench = Bench(tmp_path)

    async def done_and_stopped(_: httpx2.Request, send: Send) -> httpx2.Response:
        await send()
        bench.stop.signal()
        return httpx2.Response(status, stream=httpx2.ByteStream(b"{}"))

    run = bench.apply(person(), rules=[Rule("POST", done_and_stopped)])

    assert only(run).result == "in doubt"
    assert set(bench.recorded().doubts) == {JANE}
    assert len(bench.live()) == 1


def test_a_throttled_create_is_in_doubt_when_the_look_fails(tmp_path: Path) -> None:
    """The same: its absence was not observed."""
    bench = Bench(tmp_path)
    posted = Rule("POST", answered(429, done=True))

    run = bench.apply(person(), rules=[posted, Rule("GET", answered(500), when=lambda: posted.seen > 0)])

    assert (only(run).result, run.exit_code) == ("in doubt", 8)
    assert set(bench.recorded().doubts) == {JANE}
    assert (len(bench.live()), bench.wire.count()["POST"]) == (1, 1)


def test_a_create_that_is_throttled_the_last_time_is_looked_for_too(tmp_path: Path) -> None:
    """Done in the third try and refused in words: found, and recorded."""
    bench = Bench(tmp_path)

    async def done_the_third_time(_: httpx2.Request, send: Send) -> httpx2.Response:
        if bench.wire.count()["POST"] == tries_max:
            await send()
        return httpx2.Response(429, stream=httpx2.ByteStream(b"{}"))

    run = bench.apply(person(), rules=[Rule("POST", done_the_third_time)])

    assert only(run).result == "applied"
    assert (len(bench.live()), set(bench.recorded().entities)) == (1, {JANE})


def test_a_service_that_takes_no_write_sees_a_tenth_more_of_them_and_no_storm(tmp_path: Path) -> None:
    """Rule A10: the budget holds for writes that are sent again after a look as well."""
    people = [
        person(contact_address("ops", f"p{n}"), workEmailAddress1=f"p{n}@example.com") for n in range(40)
    ]
    bench = Bench(tmp_path)
    bench.deadline_s = 3600.0
    passed = [0.0]

    async def skip(seconds: float) -> None:
        passed[0] += seconds
        bench.pass_(seconds)
        await asyncio.sleep(0)

    bench.timing = Timing(monotonic=lambda: passed[0], sleep=skip, random=lambda: 0.0)

    run = bench.apply(*people, rules=[Rule("POST", answered(429))])

    assert {outcome.result for outcome in run.outcomes} == {"failed"}
    sent, others = bench.wire.count()["POST"], bench.wire.count()["GET"]
    assert sent <= len(people) + retry_burst + 1 + retry_share * (sent + others)
    assert bench.live() == []


def test_a_throttled_update_that_was_edited_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    async def busy(request: httpx2.Request, _: object) -> httpx2.Response:
        bench.wire.rules = []
        async with bench.client() as client:
            await edit(client, "jane@example.com", jobTitle="Director")
        return httpx2.Response(429, stream=httpx2.ByteStream(b""))

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", busy)])

    assert only(run).result == "conflict"
    assert bench.live()[0]["jobTitle"] == "Director"


def test_a_throttled_update_and_delete_are_not_done_twice(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))

    run = bench.apply(
        person(jobTitle="Engineer"),
        rules=[Rule("PUT", answered(503, done=True)), Rule("DELETE", answered(503, done=True))],
    )

    assert results(run) == {str(JANE): "applied", str(SAM): "applied"}
    assert (bench.wire.count()["PUT"], bench.wire.count()["DELETE"]) == (1, 1)


def test_a_create_without_a_usable_answer_is_settled_by_looking(tmp_path: Path) -> None:
    """A success of unknown shape, as from a gateway, says nothing about what was made."""
    bench = Bench(tmp_path)

    run = bench.apply(person(), rules=[Rule("POST", answered(200, done=True))])

    assert only(run).result == "applied"
    assert len(bench.live()) == 1


def test_a_write_that_cannot_be_read_back_is_in_doubt_and_claims_nothing(tmp_path: Path) -> None:
    """Success is what reads back: the service said yes, and nobody has seen it. The next run looks."""
    bench = Bench(tmp_path)
    bench.apply(person())
    unreadable = Rule("GET", answered(500), when=lambda: bench.wire.count()["PUT"] > 0)

    run = bench.apply(person(jobTitle="Engineer"), rules=[unreadable])

    assert (only(run).result, run.exit_code) == ("in doubt", 8)
    assert "not read back" in only(run).what
    assert "jobTitle" not in bench.recorded().entities[JANE].sent
    assert "firstName" in bench.recorded().entities[JANE].sent
    assert bench.apply(person(jobTitle="Engineer")).outcomes == ()
    assert [outcome.result for outcome in bench.settled] == ["applied"]
    assert bench.recorded().entities[JANE].sent["jobTitle"] == "Engineer"


def test_a_device_in_doubt_whose_contact_is_gone_stays_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())
    later = Rule("GET", answered(404), when=lambda: bench.wire.count()["POST"] > 0)

    run = bench.apply(person(), phone(), rules=[Rule("POST", lost_before), later])

    assert only(run).result == "in doubt"
    assert "a read of its contact does not find it" in only(run).what


def test_an_update_in_doubt_of_what_is_gone_stays_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())
    later = Rule("GET", answered(404), when=lambda: bench.wire.count()["PUT"] > 0)

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", lost_after), later])

    assert only(run).result == "in doubt"
    assert only(run).remote_id
    assert bench.changes(person(jobTitle="Engineer")) == []


def test_a_doubt_about_what_cannot_be_read_stays_one(tmp_path: Path) -> None:
    """The content of a resource is never shown, so that looking at it proves nothing."""
    bench = Bench(tmp_path)
    bench.apply(upload())

    run = bench.apply(upload(data=b"a,b\n3,4\n5,6\n"), rules=[Rule("PUT", lost_after)])

    assert only(run).result == "in doubt"
    assert bench.wire.count()["PUT"] == 1
    again = bench.apply(upload(data=b"a,b\n3,4\n5,6\n"))
    assert only(again).result == "applied"
    assert bench.changes(upload(data=b"a,b\n3,4\n5,6\n")) == []
