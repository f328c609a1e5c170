"""The one server of a run of the tests is there for whoever asks, whatever happened to the others."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import postgres
import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from waiting import until

TESTS = Path(__file__).parents[1]
# Asks for a database, uses it, writes the server's port where the first argument says, and ends.
USER = """
import sys, psycopg, postgres, postgres_shared
with postgres.database() as url:
    psycopg.connect(url).close()
open(sys.argv[1], "w").write(str(postgres_shared.address()["port"]))
"""


@pytest.fixture
def run() -> Iterator[str]:
    """The name of a run of its own."""
    name = secrets.token_hex(16)
    yield name
    assert is_gone(folder_of(name))


def folder_of(run: str) -> Path:
    return postgres.open_folder() / f"reconciler-tests-{run}"


def is_gone(path: Path) -> bool:
    """Wait until something is gone."""
    until(lambda: not path.exists(), f"the end of {path.name}")
    return True


def user(run: str, found: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Start a process that is a user of the server of a run."""
    environ = {**os.environ, "PYTEST_XDIST_TESTRUNUID": run, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen([*words, sys.executable, "-c", USER, str(found)], env=environ)


def stays(run: str) -> "subprocess.Popen[bytes]":
    """Start a user that stays until it is told to end, and wait until the server is there."""
    environ = {**os.environ, "PYTEST_XDIST_TESTRUNUID": run, "PYTHONPATH": str(TESTS)}
    source = "import postgres\nurl = postgres.url()\nprint(flush=True)\ninput()\n"
    staying = subprocess.Popen(
        [sys.executable, "-c", source], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert staying.stdout is not None
    assert staying.stdout.readline() == b"\n"
    return staying


def ends(staying: "subprocess.Popen[bytes]") -> None:
    staying.communicate(b"\n")


def test_who_comes_while_the_server_ends_gets_a_server(run: str, tmp_path: Path) -> None:
    """The last user is gone, the next one comes: once it met a server that was about to end."""
    for number in range(4):
        assert user(run, tmp_path / "first").wait() == 0
        later = user(run, tmp_path / "second", "/bin/sh", "-c", f'sleep 0.0{2 * number}; exec "$@"', "sh")
        assert later.wait() == 0


def test_closed_standard_streams_keep_nobody_from_a_server(run: str, tmp_path: Path) -> None:
    """Descriptors 0 to 2 are the first that are given out again, and what they held was overwritten."""
    closed = user(run, tmp_path / "port", "/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")

    assert closed.wait() == 0
    assert (tmp_path / "port").read_text().isdigit()


@pytest.mark.parametrize("who", ["the server", "the keeper", "both"])
def test_a_server_that_was_killed_is_there_again(run: str, who: str, tmp_path: Path) -> None:
    staying = stays(run)
    server = int((folder_of(run) / "data" / "postmaster.pid").read_text().splitlines()[0])
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    for process in {"the server": [server], "the keeper": [keeper], "both": [keeper, server]}[who]:
        os.kill(process, signal.SIGKILL)

    assert user(run, tmp_path / "port").wait() == 0

    ends(staying)


def test_what_a_killed_run_left_is_removed(run: str, tmp_path: Path) -> None:
    """Its server would run for ever, and its folder fill the disk."""
    other = secrets.token_hex(16)
    staying = stays(other)
    server = int((folder_of(other) / "data" / "postmaster.pid").read_text().splitlines()[0])
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    staying.kill()
    staying.communicate()

    assert user(run, tmp_path / "port").wait() == 0

    assert is_gone(folder_of(other))
    assert is_gone(Path(f"/proc/{server}/exe"))  # of a process that nobody has waited for, this is gone too


def test_two_runs_have_a_server_each(run: str, tmp_path: Path) -> None:
    staying = stays(run)
    other = secrets.token_hex(16)

    assert user(other, tmp_path / "port").wait() == 0

    here = json.loads((folder_of(run) / "address.json").read_text())
    assert here["port"] != int((tmp_path / "port").read_text())
    ends(staying)


def test_a_server_keeps_its_port_while_it_is_down(tmp_path: Path) -> None:
    """A test that kills its server goes on with the same URL."""
    with postgres.own_server() as server:
        port = server.address["port"]
        server.kill()
        with pytest.raises(OSError, match="in use"):
            _take(port)
        server.start()

        assert server.address["port"] == port


def _take(port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))


def test_what_a_server_shares_is_in_its_folder_and_goes_with_it() -> None:
    """Killed servers of many runs filled the memory that a container has for all of them."""
    with psycopg.connect(postgres.url()) as connection:
        found = connection.execute("SHOW dynamic_shared_memory_type").fetchone()

    assert found == ("mmap",)


def test_no_server_is_left_when_nobody_uses_it(run: str, tmp_path: Path) -> None:
    assert user(run, tmp_path / "port").wait() == 0

    assert is_gone(folder_of(run))


UNTIDY = (
    "CREATE TABLE left_behind (x int)",
    "CREATE SCHEMA other; CREATE VIEW other.one AS SELECT 1",
    "DROP SCHEMA public",
    "ALTER DATABASE {name} SET timezone = 'UTC'",
    "ALTER DATABASE {name} CONNECTION LIMIT 3",
    "REVOKE CONNECT ON DATABASE {name} FROM PUBLIC",
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
    "SELECT lo_create(0)",
)
CONTENT = """
SELECT (SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace WHERE nspname !~ '^pg_toast'),
    (SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public'),
    (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
    (SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_default_acl),
    (SELECT (datacl::text, datconnlimit) FROM pg_database WHERE datname = current_database()),
    current_setting('timezone'), (SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend')
"""


def test_a_database_that_somebody_had_is_as_a_new_one() -> None:
    """It is emptied rather than made anew: no test may find data or connections of another."""
    new = content(postgres.url())
    for untidy in UNTIDY:
        with postgres.database() as url:
            connection = psycopg.connect(url, autocommit=True)
            connection.execute(SQL(untidy).format(name=Identifier(url.rpartition("/")[2])))
        with postgres.database() as url:
            until(partial(is_as, new, url), f"a new database after {untidy}")
        connection.close()


def is_as(new: object, url: str) -> bool:
    """Whether nobody finds anything else there. A server hears of a closed connection a moment later."""
    return content(url) == new


def content(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute(CONTENT).fetchone()
