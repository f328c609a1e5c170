"""Claims about the pace in a shared store: a laptop and three runners together are no faster than one."""

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import postgres
import psycopg
import pytest
from service.support import KEY, PASSWORD, USER, service
from simulation.virtualloop import in_no_time, pause
from store.pacing_agent import NotingPace
from waiting import for_ever, patience_s

from reconciler.errors import StoreError
from reconciler.service.client import pace_key_and_rate
from reconciler.service.http.limiter import Limiter, Timing
from reconciler.store.adapter import Connection, Mode, Observer
from reconciler.store.connection import Database, open_database
from reconciler.store.shared_pace import SharedPace, _Difference, pace_answer_max_s, pace_share

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


class StoreClock(Observer):
    """The clock of a store's server, which shows what it is told to, to these databases."""

    def __init__(self, url: str, *databases: Database) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        for each in (
            "CREATE TABLE reconciler.shown (now double precision)",
            "INSERT INTO reconciler.shown VALUES (1e9)",
            """CREATE FUNCTION reconciler.clock_timestamp() RETURNS timestamptz LANGUAGE sql
            AS 'SELECT to_timestamp(now) FROM reconciler.shown'""",
        ):
            self._connection.execute(each.encode())
        for database in databases:
            assert database.pool is not None
            database.pool.observers.append(self)

    def began(self, connection: Connection, mode: Mode) -> None:  # noqa: ARG002 - as it is called
        connection.execute("SET LOCAL search_path = reconciler, pg_catalog")

    def show(self, seconds: float) -> None:
        self._connection.execute("UPDATE reconciler.shown SET now = 1e9 + %s", (seconds,))

    def close(self) -> None:
        self._connection.close()


@contextmanager
def with_clock(url: str, count: int) -> Iterator[tuple[StoreClock, list[Database]]]:
    """So many programs with one store, whose clock stands still."""
    with ExitStack() as held:
        databases = [held.enter_context(opened(url)) for _ in range(count)]
        yield held.enter_context(closing(StoreClock(url, *databases))), databases


async def in_place(change: Callable[[], Any]) -> Any:
    return change()


def standing(database: Database, credential: str, per_second: float) -> SharedPace:
    """A pace for which no time passes."""
    return SharedPace(database, credential, per_second, monotonic=lambda: 0.0)


def test_turns_follow_each_other_at_five_per_cent_below_the_ceiling(url: str) -> None:
    """What is kept back is for the delays between several machines and the service."""

    async def main(database: Database) -> list[tuple[float, float]]:
        pace = standing(database, ME, 40)
        return [await pace.reserve(4) for _ in range(3)]

    with with_clock(url, 1) as (_, [database]):
        taken = asyncio.run(main(database))

    spacing_s = 1 / (40 * pace_share)
    assert [spacing for _, spacing in taken] == pytest.approx([spacing_s] * 3)
    assert [wait_s for wait_s, _ in taken] == pytest.approx([0, 4 * spacing_s, 8 * spacing_s], abs=1e-6)


def test_two_who_ask_for_the_first_time_at_once_both_get_their_turns(url: str) -> None:
    """One of them makes the row; the other must neither fail nor get the same turns."""
    begin = threading.Barrier(8)

    def one() -> tuple[float, float, int]:
        with opened(url) as database:
            pace = NotingPace(database, ME, 10)
            begin.wait()
            asyncio.run(pace.reserve(1))
            return pace.got[0]

    with opened(url), ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: one(), range(8)))

    assert len(rows(url)) == 1
    assert apart(got)


def apart(got: Iterable[tuple[float, float, int]]) -> bool:
    """Whether none of these turns begins before those that came before it are over."""
    found = sorted((begins_at, begins_at + spacing_s * turns) for begins_at, spacing_s, turns in got)
    return all(later[0] >= sooner[1] - 1e-6 for sooner, later in pairwise(found))


def test_who_is_throttled_slows_everybody(url: str) -> None:
    """The service refuses the credential, not the program."""

    async def main(first: Database, second: Database) -> tuple[float, float]:
        await standing(first, ME, 40).slowed(5)
        return await standing(second, ME, 40).reserve(1)

    with with_clock(url, 2) as (_, [first, second]):
        found = asyncio.run(main(first, second))

    assert found == pytest.approx((5, 2 / (40 * pace_share)), abs=1e-6)


def test_other_credentials_are_not_slowed(url: str) -> None:
    async def main(database: Database) -> tuple[float, float]:
        await SharedPace(database, ME, 40).slowed(5)
        return await SharedPace(database, ME[::-1], 40).reserve(1)

    with opened(url) as database:
        wait_s, spacing_s = asyncio.run(main(database))

    assert wait_s == 0
    assert spacing_s == pytest.approx(1 / (40 * pace_share))


def test_a_plan_counts_too_though_it_only_reads_the_store(url: str) -> None:
    """Most calls are those of plans; left out, they would be on top of the limit."""
    with opened(url), opened(url, create=False) as database:
        asyncio.run(SharedPace(database, ME, 10).reserve(5))

    assert len(rows(url)) == 1


def test_the_credential_itself_is_nowhere_in_the_store(url: str) -> None:
    """A keyed hash: who reads the store can neither use the credential nor try out guesses."""
    with opened(url) as database:
        credential, per_second = pace_key_and_rate(service(requests_per_second=7), database.salt)
        asyncio.run(SharedPace(database, credential, per_second).reserve(1))

    kept = repr(rows(url))
    assert credential in kept
    assert not [secret for secret in (USER, PASSWORD, KEY) if secret in kept]


def test_a_credential_is_a_user_and_a_key_at_an_origin() -> None:
    """These are what the service counts by; each change of one is another quota."""
    mine, _ = pace_key_and_rate(service(), "salt")

    assert pace_key_and_rate(service("http://SERVICE.test/v1"), "salt")[0] == mine
    others = (
        pace_key_and_rate(service(), "pepper"),
        pace_key_and_rate(service("http://other.test"), "salt"),
        pace_key_and_rate(service(key="another"), "salt"),
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

    assert wait_s <= 10 / (10 * pace_share)
    assert spacing_s == pytest.approx(1 / (10 * pace_share))


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
    assert spacing_s == pytest.approx(1 / (10 * pace_share))


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

    assert "this user lacks a permission. From here on this run keeps a pace of its own." in said
    assert rows(url) == []


def test_who_holds_the_row_for_good_stops_nobody(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A machine that fell asleep within its transaction."""
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 50).reserve(1))
        with psycopg.connect(url) as sleeper:
            sleeper.execute("SELECT * FROM reconciler.paces FOR UPDATE")
            said = goes_on(database, caplog)

    assert "did not finish in time" in said


def test_a_store_that_goes_away_stops_nobody(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as database:
        asyncio.run(SharedPace(database, ME, 50).reserve(1))
        postgres.drop(url)

        said = goes_on(database, caplog)

    assert "keeps a pace of its own" in said


def test_a_store_that_never_answers_is_an_error_in_time(url: str) -> None:
    """The thread may be stuck for as long as it likes; the run is not."""

    async def main(database: Database) -> float:
        async def offload(_change: Callable[[], object]) -> object:
            return await for_ever()

        with pytest.raises(StoreError, match="did not answer within"):
            await SharedPace(database, ME, 50, offload=offload).reserve(1)
        return asyncio.get_running_loop().time()

    with opened(url) as database:
        assert in_no_time(main(database)) == pace_answer_max_s


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


@dataclass
class Fleet:
    """Programs that share a pace, each of which wants all of it, and when their calls began."""

    clock: StoreClock
    databases: list[Database]
    quota: int = 40
    lasts_s: float = 5.0
    sent: list[tuple[float, int]] = field(default_factory=list)
    asked: int = 0

    async def run(self) -> None:
        await asyncio.gather(*(self._program(number) for number in range(len(self.databases))))

    async def _program(self, number: int) -> None:
        loop = asyncio.get_running_loop()

        async def offload(change: Callable[[], Any]) -> Any:
            self.asked += 1
            self.clock.show(loop.time())
            return change()

        def monotonic() -> float:
            return loop.time() + 1_000 * number  # each machine was started at another time

        pace = SharedPace(self.databases[number], ME, self.quota, offload=offload, monotonic=monotonic)
        limiter = Limiter(pace, concurrency=16, timing=Timing(monotonic, asyncio.sleep, lambda: 0.5))

        async def calls() -> None:
            while loop.time() < self.lasts_s:
                async with limiter:
                    self.sent.append((loop.time(), number))
                    await pause(0.05 * (1 + number))

        await asyncio.gather(*(calls() for _ in range(16)))


def test_a_laptop_and_three_runners_stay_below_the_quota_together(url: str) -> None:
    """Four programs, each of which wants all of 40 a second and not its quarter.

    No second at the service sees more than the quota, and what they reach together is at least 94 % of it;
    each gets its part, and the store is not asked for every request.
    """
    with with_clock(url, 4) as (clock, databases):
        fleet = Fleet(clock, databases)
        in_no_time(fleet.run())

    moments = [at for at, _ in fleet.sent if at < fleet.lasts_s]
    assert max(sum(start <= one < start + 1 for one in moments) for start in moments) <= fleet.quota
    assert len(moments) >= 0.94 * fleet.quota * fleet.lasts_s
    parts = [sum(1 for _, name in fleet.sent if name == each) for each in range(4)]
    assert min(parts) >= len(fleet.sent) / 8
    assert fleet.asked < len(fleet.sent) / 2


ANSWER = b'{"id":"%b","firstName":"Jane","link":[]}'


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Know every contact."""
    with suppress(asyncio.IncompleteReadError, OSError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            body = ANSWER % head.split(b"?")[0].rpartition(b"/")[2]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    writer.close()


def test_programs_that_share_a_store_share_their_turns(url: str) -> None:
    """Real processes, sockets and clocks: their turns lie apart, and nobody calls without one."""

    async def agent(base_url: str, name: str) -> dict[str, Any]:
        how = (str(AGENT), url, base_url, name, "40", "200", "16")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *how,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(process.communicate(), patience_s)
        found: dict[str, Any] = json.loads(said)
        return found

    async def main() -> tuple[dict[str, Any], dict[str, Any]]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await asyncio.gather(agent(base_url, "4C8FE1A2"), agent(base_url, "5D9AF2B3"))

    with opened(url):
        said = asyncio.run(main())

    assert apart(
        (begins_at, spacing_s, turns) for one in said for begins_at, spacing_s, turns in one["turns"]
    )
    assert all(one["calls"] >= 40 for one in said)
    assert all(one["calls"] <= sum(turns for *_, turns in one["turns"]) for one in said)
