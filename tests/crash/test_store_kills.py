"""The store under SIGKILL: what it said was kept is there, and no half of anything."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import effort
import postgres
import pytest
import tally
from crash import storewriter
from crash.storewriter import WORKSPACES, address, open_store

kills = effort.count(small=8, full=50)  # of one store in one file
kills_served = effort.count(small=4, full=20)  # of one on a server: each writer connects anew


@effort.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_killed_writer_was_told_is_there(seed: int, tmp_path: Path) -> None:
    """An intent that is not on disk although its commit returned would be a write nobody looks for."""
    _kill_writers(f"sqlite:///{tmp_path / 'store.db'}", Random(seed), kills)
    tally.count("store kills", "SQLite", kills)


def test_the_same_holds_on_a_server_that_outlives_its_writers() -> None:
    with postgres.database() as url:
        _kill_writers(url, Random(4), kills_served)
    tally.count("store kills", "PostgreSQL", kills_served)


@effort.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_holds_when_the_server_itself_is_killed(seed: int) -> None:
    """A commit that returned has to survive the server: it is the disk that counts."""
    chance = Random(seed)
    with postgres.own_server() as server, _forge() as forge:
        for round_ in range(3):
            run = f"run-{round_}"
            with forge.writer(server.url(), run) as told:
                told.until(chance.randrange(5, 40))
                server.kill()
            server.start()
            _holds(server.url(), run, told)
            tally.count("store kills", "the PostgreSQL server")


def _kill_writers(url: str, chance: Random, count: int) -> None:
    with _forge() as forge:
        for round_ in range(count):
            run = f"run-{round_}"
            with forge.writer(url, run) as told:
                told.until(chance.randrange(1, 25))
                time.sleep(chance.uniform(0, 0.004))
                told.kill()
            _holds(url, run, told)


def _holds(url: str, run: str, told: "Told") -> None:
    """Claim that the store knows what was told, that nothing is torn, and that the chain is whole."""
    with open_store(url) as store:
        (left,) = (one for one in store.unfinished() if one.run == run)
        endings = {entry.intent.address: entry.ending for entry in left.entries}
        recorded = {one for one in store.recorded(WORKSPACES).entities if f"/{run}-" in one}

        assert {address(run, number) for number in told.intents} <= endings.keys()
        applied = {one for one, ending in endings.items() if ending == "applied"}
        assert {address(run, number) for number in told.results} <= applied
        assert recorded == applied
        assert store.verify(None).what == ""
        store.close_run(run, "failed")


@dataclass
class Told:
    """What a writer said was kept, and its process."""

    lines: Iterator[str]
    child: int
    intents: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)

    def until(self, commits: int) -> None:
        """Read until this many commits were told."""
        for _ in range(commits):
            self.hear(next(self.lines))

    def hear(self, line: str) -> None:
        word, number = line.split()
        (self.intents if word == "intent" else self.results).add(int(number))

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)


@dataclass
class Forge:
    """The parent of the writers."""

    process: "subprocess.Popen[str]"

    @contextmanager
    def writer(self, url: str, run: str) -> Iterator[Told]:
        """Give a writer at work. Afterwards it has ended, and everything it said was heard."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{url} {run}\n")
        self.process.stdin.flush()
        lines = iter(self.process.stdout.readline, "")
        early, child = [], 0
        while not child:
            line = next(lines)
            child = int(line.split()[1]) if line.startswith("child") else 0
            early += [] if child else [line]
        told = Told(lines, child)
        for line in early:
            told.hear(line)
        yield told
        for line in lines:
            if line == "ended\n":
                return
            told.hear(line)


@contextmanager
def _forge() -> Iterator[Forge]:
    with subprocess.Popen(
        [sys.executable, storewriter.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Forge(process)
        finally:
            process.kill()
