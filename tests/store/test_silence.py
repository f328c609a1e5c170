"""A store that takes everything and answers nothing: given up in time, and not asked again."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import effort
import httpx2
import pytest
from msgspec import structs
from store.silence import Proxy, deaf, proxy
from store.support import WORKSPACES, record, store_at
from wire import Send
from world import World

from reconciler.concurrency import BUSY, run_in_thread
from reconciler.errors import StoreError
from reconciler.store.database import Store, await_store
from reconciler.store.postgres import NoAnswer, ServerConnection, _limit_time

PATIENCE = {"connect_timeout": 2}  # seconds; the least that the driver knows


@pytest.fixture
def way(postgres_url: str) -> Iterator[Proxy]:
    with proxy(postgres_url) as made:
        yield made


@effort.sample(1)  # each waits for as long as the driver has to, at the least: two seconds
@pytest.mark.parametrize("create", [True, False])
def test_a_server_that_accepts_and_never_answers_is_given_up(*, create: bool) -> None:
    with deaf() as server:
        with pytest.raises(StoreError, match="it does not answer") as caught:
            store_at(server.url(**PATIENCE), create=create)
        assert server.called.is_set()
        assert caught.value.next


def remembered(store: Store) -> None:
    store.remember([record()], WORKSPACES)


def locked(store: Store) -> None:
    store.lock_for("run-1").take()


@effort.sample(1)
@pytest.mark.parametrize("ask", [remembered, locked])
def test_a_server_that_falls_silent_is_given_up_at_every_statement(
    way: Proxy, ask: Callable[[Store], object]
) -> None:
    """Its own limits end nothing: it is not there to keep them, and the network takes what is sent.

    It is waited for once. A connection that is gone is made anew, and a silent one is not: the server would
    be waited for as long again.
    """
    with store_at(way.url(**PATIENCE)) as store:
        way.silent.set()
        calls = way.calls
        with pytest.raises(StoreError, match="it does not answer"):
            ask(store)
        assert way.calls == calls


def test_who_did_not_answer_once_is_not_asked_again(way: Proxy) -> None:
    """The end of a run asks several times; each would be waited for as long as the first."""
    with store_at(way.url(**PATIENCE)) as store:
        way.silent.set()
        with pytest.raises(StoreError) as first:
            remembered(store)
        way.silent.clear()
        with pytest.raises(StoreError) as second:
            remembered(store)
        assert second.value is first.value.__cause__ or str(second.value) == str(first.value)
    with store_at(way.url(**PATIENCE)) as store:
        assert store.recorded(WORKSPACES).entities == {}


def test_a_commit_without_an_answer_may_have_been_kept_and_is_an_error(way: Proxy) -> None:
    """Nobody may take it for durable; the next look tells."""
    with store_at(way.url(**PATIENCE)) as store:

        def silent_commit() -> None:
            with store._database.writing():
                way.silent.set()

        with pytest.raises(StoreError, match="it does not answer"):
            silent_commit()


def test_a_hanging_store_holds_up_neither_the_loop_nor_the_end_of_the_process() -> None:
    """Threads of `asyncio.to_thread` are waited for at the end of a loop; ours are left behind."""
    hanging, told = Event(), list[StoreError]()

    async def main() -> None:
        with pytest.raises(StoreError, match="did not answer within"):
            await await_store(run_in_thread, hanging.wait, give_up=told.append, seconds=0.01)
        waiting = asyncio.create_task(run_in_thread(hanging.wait))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with asyncio.Runner() as runner:
        runner.run(main())
    try:
        left = [one for one in threading.enumerate() if one.name.startswith(BUSY)]
        assert len(left) >= 2
        assert all(one.daemon for one in left)
        assert len(told) == 1
    finally:
        hanging.set()


def test_a_thread_is_used_again_when_its_work_has_ended_and_not_while_it_hangs() -> None:
    """An apply commits hundreds of times a minute. What waits behind a hang would hang as well."""
    hanging = Event()

    async def main() -> set[int]:
        held = asyncio.create_task(run_in_thread(hanging.wait))
        found = set()
        for _ in range(20):
            await asyncio.sleep(0.001)  # a thread is free a moment after its result is there
            found.add(await asyncio.wait_for(run_in_thread(threading.get_ident), 5))
        hanging.set()
        await held
        return found

    assert len(asyncio.run(main())) < 5


def test_a_forked_process_starts_threads_of_its_own() -> None:
    """A fork takes no threads along: work that is given to one of the parent's would never be done."""
    code = (
        "import asyncio, os, time; from reconciler.concurrency import BUSY, run_in_thread\n"
        "asyncio.run(run_in_thread(int)); time.sleep(0.1)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    asyncio.run(asyncio.wait_for(run_in_thread(int), 5)); os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "7\n"


def test_what_is_raised_aside_is_raised_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise StoreError("the disk is full.")

    async def main() -> int:
        with pytest.raises(StoreError, match="the disk is full"):
            await run_in_thread(fail)
        return await run_in_thread(lambda: 7)

    assert asyncio.run(main()) == 7


def test_a_store_that_falls_silent_ends_the_run_before_the_next_write(way: Proxy, tmp_path: Path) -> None:
    """Nothing is sent without its intent, and nobody waits for the store a second time."""
    world = World(tmp_path, changes={"store": way.url(**PATIENCE)})
    limits = structs.replace(world.settings.service.limits, concurrency=1)
    world.settings = structs.replace(
        world.settings, service=structs.replace(world.settings.service, limits=limits)
    )
    people = {f"p{n}": {"firstName": "P", "workEmailAddress1": f"p{n}@example.com"} for n in range(5)}
    world.write({"contacts": people})

    async def silencing(_: httpx2.Request, send: Send) -> httpx2.Response:
        answer = await send()
        way.silent.set()
        return answer

    world.meets(silencing, "POST", nth=2)
    _, run = world.apply()

    assert world.wire.count()["POST"] == 2
    assert "answer" in run.stopped
    assert (run.count("applied"), run.count("not attempted")) == (2, 3)
    assert run.exit_code != 0


def test_who_was_given_up_is_not_asked_again(tmp_path: Path) -> None:
    """Whoever gave it up from outside, because its disk hangs, ends soon: nothing else hangs as long."""
    silence = StoreError("the store did not answer.")
    with store_at(tmp_path / "store.db") as store:
        store.give_up(silence)
        with pytest.raises(StoreError) as caught:
            store.recorded(WORKSPACES)
    assert caught.value is silence


def test_the_driver_is_asked_whether_it_should_go_on() -> None:
    """Each time that it has waited a little, and each time that a little has arrived."""
    conversation = _limit_time((one for one in range(3)), 0.0)
    next(conversation)
    time.sleep(0.001)
    with pytest.raises(NoAnswer):
        conversation.send(None)


class _Driver:
    """What the driver gives, as far as it takes rows."""

    def __init__(self) -> None:
        self.taken: list[Sequence[object]] = []

    def cursor(self) -> AbstractContextManager["_Driver"]:
        return nullcontext(self)

    def executemany(self, _: bytes, rows: Sequence[object]) -> None:
        self.taken.append(rows)


@pytest.mark.parametrize("many", [0, 1, 1_000, 1_001, 2_500])
def test_many_rows_are_many_answers(many: int) -> None:
    """Who adopts a hundred thousand people writes for longer than any one answer may take.

    A healthy server that was busy with them was given up as silent after ten seconds.
    """
    cursor: Any = _Driver()

    ServerConnection(cursor).execute_many("INSERT", [{"number": number} for number in range(many)])

    assert [row["number"] for rows in cursor.taken for row in rows] == list(range(many))
    assert all(len(rows) <= 1_000 for rows in cursor.taken)
