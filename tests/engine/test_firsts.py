"""The first create of a scope has to be found by its own lookup; else the run stops with one made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from engine.bench import JANE, SAM, Bench, jane_is_made, nap, person, phone, results, upload
from wire import Fault, Rule, Send, answered, edited
from world import World

from reconciler.core.compare.bodies import make_create_body
from reconciler.model.address import contact_address
from reconciler.model.runs import Run
from reconciler.service.client import EntityClient
from reconciler.service.http.limiter import Timing

CROWD = [
    person(contact_address("ops", f"p{n:02}"), workEmailAddress1=f"p{n:02}@example.com", firstName=f"P{n}")
    for n in range(30)
]
END = b'{"status": "No records found", "link": []}'
PARTIAL = 6


def says_nobody(lies: Callable[[], bool] = lambda: True) -> Fault:
    """Every search is answered with "No records found", for as long as this is so."""

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        response = await send()
        searched = any(name.startswith("workEmailAddress") for name in request.url.params)
        if not (searched and lies()):
            return response
        headers = {"content-type": response.headers["content-type"], "date": response.headers["date"]}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(END))

    return fault


def stopped_with_one(run: Run) -> str:
    """What is said where one was made, and the others were not begun."""
    outcomes = list(results(run).values())
    assert (outcomes.count("applied"), outcomes.count("not attempted")) == (1, len(outcomes) - 1)
    assert run.exit_code == PARTIAL
    return run.stopped


async def everybody_is_there(client: EntityClient) -> None:
    for one in CROWD:
        await client.contacts.create(make_create_body(one), workspace="AB12")


def test_a_search_that_finds_nobody_makes_one_person_twice_and_no_more(tmp_path: Path) -> None:
    """With a lost store and such a search a whole roster was created again: 100 of 100."""
    bench = Bench(tmp_path)

    run = bench.apply(*CROWD, meanwhile=everybody_is_there, rules=[Rule("GET", says_nobody())])

    said = stopped_with_one(run)
    assert "a lookup by workEmailAddress1 does not find it" in said
    assert "@" not in said
    assert bench.wire.count()["POST"] == 1
    assert len(bench.live()) == len(CROWD) + 1
    assert "identity" in run.outcomes[-1].next


def test_the_normal_case_takes_one_call_a_scope_and_stays_parallel(tmp_path: Path) -> None:
    """The first contact goes alone; each later one waits until as many are under way as may be.

    A machine that is busy starts them one by one. Where they never come together, one wait says so for all.
    """
    bench = Bench(tmp_path)
    at_once = bench.service.limits.concurrency
    under_way, most, begun, turns = [0], [0], [0], [100]

    async def slow(request: httpx2.Request, send: Send) -> httpx2.Response:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        begun[0] += request.url.path.endswith("/contacts")
        while begun[0] > 1 and most[0] < at_once and turns[0] > 0:
            turns[0] -= 1
            await nap(0.1)
        under_way[0] -= 1
        return await send()

    run = bench.apply(*CROWD, upload("a"), upload("b"), rules=[Rule("POST", slow)])

    assert run.exit_code == 0
    assert bench.wire.count() == {"GET": len(CROWD) + 2 + 2, "POST": len(CROWD) + 2}
    assert most[0] == at_once


@pytest.mark.parametrize("looks", [1, 3, 6])
def test_an_index_that_lags_is_waited_for(tmp_path: Path, looks: int) -> None:
    bench = Bench(tmp_path, settle_s=10)
    blind = [looks]

    def lies() -> bool:
        if not any(method == "POST" for method, _ in bench.wire.sent) or not blind[0]:
            return False
        blind[0] -= 1
        return True

    run = bench.apply(*CROWD[:5], rules=[Rule("GET", says_nobody(lies))])

    assert run.exit_code == 0
    assert bench.wire.count() == {"GET": 5 + 1 + looks, "POST": 5}


def test_an_index_is_waited_for_within_the_settle_window_and_in_few_looks(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settle_s=10)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await nap(0)

    bench.timing = Timing(monotonic=bench.timing.monotonic, sleep=sleep, random=lambda: 0.0)

    run = bench.apply(*CROWD[:5], rules=[Rule("GET", says_nobody())])

    stopped_with_one(run)
    waits = [seconds for seconds in slept if seconds != 8.0]  # that is how long a run waits after a signal
    assert sum(waits) == pytest.approx(10)
    assert bench.wire.count() == {"GET": 1 + 1 + len(waits), "POST": 1}
    assert len(waits) <= 6


def test_a_create_that_conflicts_is_not_the_first(tmp_path: Path) -> None:
    """It was not made by us, so finding it shows nothing; the next one is looked for."""
    bench = Bench(tmp_path)

    run = bench.apply(person(), person(SAM), CROWD[0], meanwhile=jane_is_made)

    assert results(run)[str(JANE)] == "conflict"
    assert list(results(run).values()).count("applied") == 2
    assert bench.wire.count() == {"GET": 3 + 1, "POST": 2}


def test_a_service_that_ignores_filters_is_compared_exactly(tmp_path: Path) -> None:
    """The search shows everybody; the one that was made is among them."""
    bench = Bench(tmp_path)
    bench.apply(person())

    async def arm(_client: EntityClient) -> None:
        async with httpx2.AsyncClient(
            transport=bench.wire.inner, base_url="http://x", auth=("demo", "demo")
        ) as control:
            rule = {"fault": "ignored-filter", "method": "GET", "times": None}
            assert (await control.post("/_sandbox/faults", json=rule)).status_code == 201

    run = bench.apply(person(), *CROWD, meanwhile=arm)

    assert run.exit_code == 0
    assert bench.wire.count()["POST"] == len(CROWD)


def test_devices_that_their_contact_does_not_show_are_made_once(tmp_path: Path) -> None:
    """Devices are looked for in their contact's document; one that hides them makes each again."""
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))

    run = bench.apply(
        person(),
        phone(),
        phone(name="tablet"),
        person(SAM),
        rules=[Rule("GET", edited(lambda body: body.update(devices=[])))],
    )

    assert "a lookup by appId and deviceName does not find it" in stopped_with_one(run)
    assert bench.wire.count()["POST"] == 1


def test_a_lookup_that_finds_two_stops_the_run(tmp_path: Path) -> None:
    """The lookup before it had found none: it is wrong, or a gateway sends requests twice."""
    bench = Bench(tmp_path)

    async def twice(_: httpx2.Request, send: Send) -> httpx2.Response:
        await send()
        return await send()

    run = bench.apply(*CROWD, rules=[Rule("POST", twice)])

    assert "finds 2 (ids " in stopped_with_one(run)
    assert len(bench.live()) == 2


def test_a_lookup_that_fails_stops_the_run_as_well(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    sent = lambda: any(method == "POST" for method, _ in bench.wire.sent)  # noqa: E731 - one expression

    run = bench.apply(*CROWD, rules=[Rule("GET", answered(500), when=sent)])

    assert "the lookup failed" in stopped_with_one(run)
    assert len(bench.live()) == 1


def test_the_run_may_be_stopped_while_the_index_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settle_s=10)

    def lies() -> bool:
        if any(method == "POST" for method, _ in bench.wire.sent):
            bench.stop.signal()
            return True
        return False

    run = bench.apply(*CROWD, rules=[Rule("GET", says_nobody(lies))])

    assert (run.count("applied"), run.exit_code) == (1, 130)
    assert len(bench.live()) == 1
    assert bench.apply(*CROWD).exit_code == 0
    assert len(bench.live()) == len(CROWD)


def test_what_was_made_is_recorded_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """Once the search works again, nothing has to be repaired."""
    bench = Bench(tmp_path)
    bench.apply(*CROWD, rules=[Rule("GET", says_nobody())])

    run = bench.apply(*CROWD)

    assert (run.count("applied"), run.exit_code) == (len(CROWD) - 1, 0)
    assert len(bench.live()) == len(CROWD)


def test_an_undo_that_creates_again_is_held_to_the_same(tmp_path: Path) -> None:
    world = World(tmp_path)
    people: dict[str, Any] = {
        name: {"firstName": name.title(), "lastName": "Doe", "workEmailAddress1": f"{name}@example.com"}
        for name in ("ada", "ben", "cleo", "dora")
    }
    world.write({"contacts": people})
    world.apply()
    world.write({"contacts": {"ada": people["ada"]}})
    saved = world.apply_with_undo()
    world.meets(says_nobody(), "GET")

    run = world.undo(saved)

    assert "workEmailAddress1" in stopped_with_one(run)
