"""The PostgreSQL server that all processes of a run of the tests share.

The first process that asks starts it, in a process of its own that lives as long as somebody uses the server.
It is there for whoever asks, however the others ended:

- Every process that uses the server locks `users` (shared) until it is gone. The keeper asks for that lock
  alone: when it gets it, nobody is left. It stops the server and moves the folder away *before* it lets go of
  the lock, so that nobody joins a server that is about to end.
- The keeper locks `serving` while it lives. Where nobody holds it, the next one who asks starts a new keeper.
- The keeper starts a server that died again.
- What a killed run left behind is removed by the next one.

Locks are flock(2): the system releases them when a process ends, whatever ended it.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PREFIX = "reconciler-tests-"
_GONE = ".gone-"  # in the name of a folder that somebody removes
_look_s = 0.1  # between two looks of the keeper whether it is still needed, and the server still there

_joined: list[Path] = []  # the folder of the run, once this process is one of its users


def address() -> dict[str, Any]:
    """Return host, port and password of the server of this run, which runs."""
    folder = _joined[0] if _joined else _join()
    with _alone(folder / "start"):
        if not _is_locked(folder / "serving"):
            _begin(folder)
        found: dict[str, Any] = json.loads((folder / "address.json").read_text())
        return found


def _join() -> Path:
    """Return the folder of the run, after having become one of its users."""
    import postgres  # noqa: PLC0415 - it imports this module

    # The workers of one run have that name in common; without workers there is one process.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(16)
    folder = postgres.open_folder() / f"{_PREFIX}{run}"
    while True:
        folder.mkdir(mode=0o711, exist_ok=True)
        assert folder.stat().st_uid == os.geteuid()
        with suppress(FileNotFoundError):
            # Kept open until the process ends: that is what it is for.
            users = os.open(folder / "users", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(users, fcntl.LOCK_SH)
            if _is_same(users, folder / "users"):
                _joined.append(folder)
                return folder
            os.close(users)


def _is_same(descriptor: int, path: Path) -> bool:
    """Whether the file is still where it was opened: a folder that was moved away took its file along."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _is_locked(path: Path) -> bool:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _begin(folder: Path) -> None:
    """Start a keeper. Returns when its server answers."""
    _clear(folder)
    with (folder / "log").open("ab") as log:
        # Whatever became of our own standard streams, the keeper has its own: a descriptor from 0 to 2 that
        # is something else is overwritten sooner or later.
        began = subprocess.run(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
    if began.returncode:
        raise RuntimeError((folder / "log").read_text(errors="replace")[-2000:])


def _clear(folder: Path) -> None:
    """Remove what a killed keeper left in a folder: its server, and the data of that."""
    _kill_server(folder / "data")
    (folder / "address.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "data", ignore_errors=True)


def _kill_server(data: Path) -> None:
    with suppress(OSError, ValueError):
        process = int((data / "postmaster.pid").read_text().splitlines()[0])
        # Another process may have the number by now.
        while str(data).encode() in Path(f"/proc/{process}/cmdline").read_bytes():
            os.killpg(process, signal.SIGKILL)
            time.sleep(_look_s)


# The keeper.


def _keep(folder: Path) -> bool:
    """Start a server and keep it while it is used. Returns, in the process that asked, whether it serves."""
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        return os.read(reads, 5) == b"ready"
    os.close(reads)
    os.setsid()  # Ctrl-C is meant for the tests
    from postgres import Server  # noqa: PLC0415 - it imports this module

    with (folder / "users").open("r+") as users, (folder / "serving").open("w") as serving:
        fcntl.flock(serving, fcntl.LOCK_EX)
        with Server(folder) as server:
            _publish(folder, server.address)
            os.write(writes, b"ready")
            os.close(writes)
            _remove_leftovers(folder)
            while not _is_ours_alone(users):
                if not server.runs():
                    server.start()
                time.sleep(_look_s)
        # Somebody else may have moved it away between two looks, and a new user have made another one.
        if _is_same(users.fileno(), folder / "users"):
            _remove(folder)
    return True


def _publish(folder: Path, where: dict[str, Any]) -> None:
    whole = folder / "address.json.new"
    whole.touch(mode=0o600)
    whole.write_text(json.dumps(where))
    whole.rename(folder / "address.json")


def _is_ours_alone(users: Any) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(folder: Path) -> None:
    """Take a folder away at once, so that nobody meets a part of it. The caller holds `users` alone."""
    gone = folder.with_name(f"{folder.name}{_GONE}{secrets.token_hex(4)}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _remove_leftovers(ours: Path) -> None:
    """Remove the servers and folders of runs that nobody belongs to any more."""
    for folder in ours.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder == ours or folder.stat().st_uid != os.geteuid():
                continue
            if _GONE in folder.name:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            with (folder / "users").open("r+") as users:
                if not _is_ours_alone(users) or not _is_same(users.fileno(), folder / "users"):
                    continue
                if _is_locked(folder / "serving"):
                    continue  # its keeper is about to look
                _clear(folder)
                _remove(folder)


if __name__ == "__main__":
    sys.exit(not _keep(Path(sys.argv[1])))
