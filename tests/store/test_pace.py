"""Claims about the pace in a shared store: a laptop and three runners together are no faster than one."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Self

import postgres
import psycopg
import pytest
from service.support import KEY, PASSWORD, USER, service
from waiting import patience_s

from reconciler.errors import StoreError
from reconciler.service.client import paced
from reconciler.service.limiter import Limiter, late_max_s
from reconciler.service.timing import Timing
from reconciler.store.connection import Database, open_database
from reconciler.store.pace import SharedPace, _Difference, answer_max_s, share

TESTS = Path(__file__).parents[1]
AGENT = Path(__file__).with_name("pacing_agent.py")
ME = "0123456789abcdef0123456789abcdef"  # stands for a credential


@pytest.fixture
def url() -> Iterator[str]:
    with postgres.database() as made:
        yield made


@contextmanager
def opened(url: str, *, create: bool = True) -> Iterator[Database]:
    database = open_database(url, root="", create=create, token=lambda: "salt", now=lambda: datetime.now(UTC))
    try:
        yield database
    finally:
        database.close()


def statement(url: str, what: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(what.encode())


def left_behind(url: str, values: str) -> None:
    """Make the row what somebody else left behind."""
    statement(url, f"UPDATE reconciler.paces SET {values}")  # noqa: S608 - values of this file


def rows(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT * FROM reconciler.paces").fetchall()


def test_turns_follow_each_other_at_five_per_cent_below_the_ceiling(url: str) -> None:
    """What is kept back is for the delays between several machines and the service."""

    async def main(database: Database) -> list[tuple[float, float]]:
        pace = SharedPace(database, ME, 40)
        return [await pace.reserve(4) for _ in range(3)]

    with opened(url) as database:
        taken = asyncio.run(main(database))

    spacing_s = 1 / (40 * share)
    assert [spacing for _, spacing in taken] == pytest.approx([spacing_s] * 3)
    assert taken[0][0] == 0
    assert taken[2][0] == pytest.approx(8 * spacing_s, abs=0.1)


def test_two_who_ask_for_the_first_time_at_once_both_get_their_turns(url: str) -> None:
    """One of them makes the row; the other must neither fail nor get the same turns."""
    begin = threading.Barrier(8)

    def one() -> float:
        async def main() -> float:
            with opened(url) as database:
                pace = SharedPace(database, ME, 10)
                begin.wait()
                wait_s, _ = await pace.reserve(1)
                return time.monotonic() + wait_s

        return asyncio.run(main())

    with opened(url), ThreadPoolExecutor(8) as pool:
        begins = sorted(pool.map(lambda _: one(), range(8)))

    assert len(rows(url)) == 1
    assert all(later - sooner > 0.08 for sooner, later in pairwise(begins))


def test_who_is_throttled_slows_everybody(url: str) -> None:
    """The service refuses the credential, not the program."""

    async def main(first: Database, second: Database) -> tuple[float, float]:
        await SharedPace(first, ME, 40).slowed(5)
        return await SharedPace(second, ME, 40).reserve(1)

    with opened(url) as first, opened(url) as second:
        wait_s, spacing_s = asyncio.run(main(first, second))

    assert 4 < wait_s <= 5
    assert spacing_s == pytest.approx(2 / (40 * share))


def test_other_credentials_are_not_slowed(url: str) -> None:
    async def main(database: Database) -> tuple[float, float]:
        await SharedPace(database, ME, 40).slowed(5)
        return await SharedPace(database, ME[::-1], 40).reserve(1)

    with opened(url) as database:
        wait_s, spacing_s = asyncio.run(main(database))

    assert wait_s == 0
    assert spacing_s == pytest.approx(1 / (40 * share))


def test_a_plan_counts_too_though_it_only_reads_the_store(url: str) -> None:
    """Most calls are those of plans; left out, they would be on top of the limit."""
    with opened(url), opened(url, create=False) as database:
        asyncio.run(SharedPace(database, ME, 10).reserve(5))

    assert len(rows(url)) == 1


def test_the_credential_itself_is_nowhere_in_the_store(url: str) -> None:
    """A keyed hash: who reads the store can neither use the credential nor try out guesses."""
    with opened(url) as database:
        credential, per_second = paced(service(requests_per_second=7), database.salt)
        asyncio.run(SharedPace(database, credential, per_second).reserve(1))

    kept = repr(rows(url))
    assert credential in kept
    assert not [secret for secret in (USER, PASSWORD, KEY) if secret in kept]


def test_a_credential_is_a_user_and_a_key_at_an_origin() -> None:
    """These are what the service counts by; each change of one is another quota."""
    mine, _ = paced(service(), "salt")

    assert paced(service("http://SERVICE.test/v1"), "salt")[0] == mine
    others = (
        paced(service(), "pepper"),
        paced(service("http://other.test"), "salt"),
        paced(service(key="another"), "salt"),
    )
    assert mine not in [credential for credential, _ in others]
    assert len(mine) == 32


@pytest.mark.parametrize("hour_s", [3600, -3600])
def test_a_server_whose_clock_is_set_neither_stops_nor_floods(url: str, hour_s: int) -> None:
    """A row that was written an hour ahead, or an hour ago, by the clock that the server shows now."""
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 10).reserve(10))
        move = "seen_at = seen_at + {0}, next_at = next_at + {0}, changed_at = changed_at + {0}"
        left_behind(url, move.format(hour_s))
        wait_s, spacing_s = asyncio.run(SharedPace(database, ME, 10).reserve(5))

    assert wait_s <= 10 / (10 * share)
    assert spacing_s == pytest.approx(1 / (10 * share))


@pytest.mark.parametrize(
    "damage",
    ["next_at = 'NaN'", "next_at = 1e300", "rate = 'Infinity'", "seen_at = '-Infinity'", "changed_at = 1e15"],
)
def test_a_row_that_nobody_can_have_written_is_begun_anew(url: str, damage: str) -> None:
    """Nobody waits for a thousand years because of a row that holds nothing worth keeping."""
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 10).reserve(1))
        left_behind(url, damage)

        wait_s, spacing_s = asyncio.run(SharedPace(database, ME, 10).reserve(1))

    assert wait_s == 0
    assert spacing_s == pytest.approx(1 / (10 * share))


@pytest.mark.parametrize("rate", [0, -1, 1e-300, 1e300])
def test_a_rate_out_of_bounds_is_brought_within(url: str, rate: float) -> None:
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 10).reserve(1))
        left_behind(url, f"rate = {rate}")

        _, spacing_s = asyncio.run(SharedPace(database, ME, 10).reserve(1))

    assert 1 / 10 <= spacing_s <= 2


def goes_on(database: Database, caplog: pytest.LogCaptureFixture) -> str:
    """Ten turns by a limiter whose shared pace fails; what the log says of it."""
    begins: list[float] = []

    async def main() -> None:
        limiter = Limiter(SharedPace(database, ME, 50), concurrency=8, timing=Timing.real())

        async def turn() -> None:
            async with limiter:
                begins.append(time.monotonic())

        await asyncio.gather(*(turn() for _ in range(10)))
        await limiter.slowed()

    with caplog.at_level(logging.INFO, logger="reconciler"):
        asyncio.run(main())
    assert begins[-1] - begins[0] >= 8 / 50
    [record] = caplog.records
    return record.getMessage()


def test_who_may_not_write_keeps_a_pace_of_his_own(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A plan with a role that only reads must not fail for want of a courtesy."""
    with opened(url):
        statement(url, "DROP ROLE IF EXISTS looks_on")
        statement(url, "CREATE ROLE looks_on LOGIN PASSWORD 'invented'")
    statement(url, "GRANT USAGE ON SCHEMA reconciler TO looks_on")
    statement(url, "GRANT SELECT ON ALL TABLES IN SCHEMA reconciler TO looks_on")
    reader = f"postgresql://looks_on:invented@{url.partition('@')[2]}"

    with opened(reader, create=False) as database:
        said = goes_on(database, caplog)

    assert "this user may not do that. From here on this run keeps a pace of its own." in said
    assert rows(url) == []


def test_who_holds_the_row_for_good_stops_nobody(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A machine that fell asleep within its transaction."""
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 50).reserve(1))
        with psycopg.connect(url) as sleeper:
            sleeper.execute("SELECT * FROM reconciler.paces FOR UPDATE")
            began = time.monotonic()
            said = goes_on(database, caplog)

    assert "takes too long" in said
    assert time.monotonic() - began < answer_max_s


def test_a_store_that_goes_away_stops_nobody(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 50).reserve(1))
        postgres.drop(url)

        said = goes_on(database, caplog)

    assert "keeps a pace of its own" in said


def test_a_store_that_never_answers_is_an_error_in_time(url: str) -> None:
    """The thread may be stuck for as long as it likes; the run is not."""
    stuck = threading.Event()

    async def main(database: Database) -> float:
        async def offload(_change: Callable[[], object]) -> object:
            return await asyncio.to_thread(stuck.wait, 30)

        pace = SharedPace(database, ME, 50, offload=offload)
        began = time.monotonic()
        with pytest.raises(StoreError, match="did not answer within"):
            await pace.reserve(1)
        stuck.set()
        return time.monotonic() - began

    with opened(url) as database:
        assert asyncio.run(main(database)) < answer_max_s + 1


def test_the_fastest_answer_tells_the_difference_of_two_clocks() -> None:
    """Uneven answers must not move turns: only the shortest way back says when the store's now was."""
    difference = _Difference()
    for asked_at, now, answered_at in [(0, 100.01, 0.5), (1, 101.001, 1.002), (2, 102.3, 2.9)]:
        difference.saw(asked_at, now, answered_at)

    assert difference.seconds == pytest.approx(-99.999)


def test_a_difference_that_cannot_be_true_any_more_is_given_up() -> None:
    """The store's clock was set back by an hour: by the old difference every turn would be long over."""
    difference = _Difference()
    difference.saw(0, 5000, 0.01)

    difference.saw(10, 1410, 10.02)

    assert difference.seconds == pytest.approx(10.02 - 1410)


ANSWER = b'{"id":"%b","firstName":"Jane","link":[]}'


class Counting:
    """A service on loopback that knows every contact, and remembers when it was asked for which."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, str]] = []
        self.port = 0
        self.stalled_s = 0.0  # how long this machine stood still at most, beyond what nobody notices
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(patience_s)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        beat = self._loop.create_task(self._beat())
        self._loop.run_forever()
        beat.cancel()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _beat(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            self.stalled_s = max(self.stalled_s, time.monotonic() - began - 0.01 - late_max_s)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                remote_id = head.split(b"?")[0].rpartition(b"/")[2]
                self.seen.append((time.monotonic(), remote_id.decode()))
                body = ANSWER % remote_id
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            writer.close()


def test_a_laptop_and_three_runners_stay_below_the_quota_together(url: str) -> None:
    """Four processes, each of which wants all of 40 a second and not its quarter.

    No second at the service sees more than the quota and one, and what they reach together is at least
    85 % of it; each gets its part, and the store is not asked for every request. Of each process the first
    call is left out: it loads the code of the network on its way, and arrives when it arrives. Where the
    machine itself stands still, what piled up meanwhile arrives at once; that is measured, and allowed for.
    """
    quota = 40
    names = ("4C8FE1A2", "5D9AF2B3", "6EABA3C4", "7FBCB4D5")
    with opened(url), Counting() as service_:
        agents = [
            subprocess.Popen(
                [
                    sys.executable,
                    AGENT,
                    url,
                    f"http://127.0.0.1:{service_.port}",
                    name,
                    "5",
                    str(quota),
                    "16",
                ],
                env={**os.environ, "PYTHONPATH": str(TESTS)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in names
        ]
        said = [json.loads(agent.communicate(timeout=patience_s)[0]) for agent in agents]
    firsts = [min(at for at, name in service_.seen if name == each) for each in names]
    moments = [at for at, _ in service_.seen if at not in firsts]
    began = max(firsts)
    ended = min(max(at for at, name in service_.seen if name == each) for each in names)
    together = [name for at, name in service_.seen if began <= at < ended]

    most = quota + 1 + int(quota * service_.stalled_s)
    assert max(sum(start <= one < start + 1 for one in moments) for start in moments) <= most
    assert len(together) / (ended - began) >= 0.85 * quota
    assert all(together.count(name) >= len(together) / 8 for name in names)
    assert sum(one["asked"] for one in said) < sum(one["calls"] for one in said) / 2
