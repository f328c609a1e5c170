"""The command in a process of its own that starts at once: forked from one that has everything loaded.

    done = warm.run("plan", "--out", "plan.json", cwd=folder, env={...})
    with warm.start("apply", "--yes", cwd=folder, env={...}, stdout=subprocess.PIPE) as command: ...

A start of the interpreter with all of the program's imports takes ten times as long as most commands. Here a
server process imports them once; each command is a fork of it with its own environment, folder, arguments,
umask and standard streams, and runs the program's entry from its first line. Where a test is about the start
itself, a signal during it, or a terminal, it starts `python -m reconciler` as everybody does.

The environment decides about encodings before any code runs: where it holds such a variable, the command is
started as a real process.
"""

import atexit
import fcntl
import gc
import importlib
import json
import logging
import os
import pkgutil
import random
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from copies import copied
from waiting import patience_s, readable

_message_max = 200_000  # bytes of a request
_FDS = 4  # standard input, output and error, and the pipe that gets the exit code
_EXAMPLE = Path(__file__).parents[1] / "examples" / "quickstart"
_CREDENTIALS = {
    "SVC_USER": "demo",
    "SVC_PASSWORD": "demo",
    "SVC_API_KEY": "demo-key",
    "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
    "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
    "RECONCILER_LOCK_IN_SERVICE": "never",
}
_EXERCISES = ("validate", "plan", "apply --yes", "apply --yes", "plan", "list", "history")
_LATE = (
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "email_validator",
    "httpcore2",
    "phonenumbers",
    "psycopg",
    "truststore",
    "uvloop",
)
_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_")  # what a process reads before our code runs


def run(
    *arguments: str, cwd: Path, env: Mapping[str, str], given: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `reconciler` with these arguments to its end. Without `given` its standard input is empty."""
    if not _forkable(env):
        return _real(*arguments, cwd=cwd, env=env, given=given)
    with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        read.write((given or "").encode())
        read.seek(0)
        with start(*arguments, cwd=cwd, env=env, stdin=read, stdout=out, stderr=err) as command:
            code = command.wait(patience_s)
        return subprocess.CompletedProcess(arguments, code, _text(out), _text(err))


def _real(
    *arguments: str, cwd: Path, env: Mapping[str, str], given: str | None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "reconciler", *arguments],
        cwd=cwd,
        env=env,
        input=given or "",
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


class Command:
    """A command under way, with what `subprocess.Popen` of text has of the same names.

    Streams that were asked for as PIPE are here. Where the block of a `with` fails, it is killed.
    """

    def __init__(self, arguments: tuple[str, ...], answer: IO[bytes], *ours: int | None) -> None:
        self.args = arguments
        self.stdout, self.stderr = (_pipe(one) for one in ours)
        self.pid = int(answer.readline())
        self.returncode: int | None = None
        self._answer = answer

    def poll(self) -> int | None:
        """Return the exit code, or minus the signal that ended it; None while it runs."""
        if self.returncode is None and readable(self._answer, 0):
            with self._answer:
                self.returncode = int(self._answer.readline())
        return self.returncode

    def wait(self, timeout: float = patience_s) -> int:
        """Return the exit code once it has ended. Raises TimeoutExpired, and leaves it running."""
        if self.returncode is None and not readable(self._answer, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float = patience_s) -> tuple[str, str]:
        """Return what is left of its output and of its errors, once it has ended."""
        texts = ["", ""]

        def read(number: int, stream: IO[str]) -> None:
            texts[number] = stream.read()

        streams = [(number, one) for number, one in enumerate((self.stdout, self.stderr)) if one]
        readers = [threading.Thread(target=read, args=each, daemon=True) for each in streams]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout)
        self.wait(timeout)
        self._close()
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        """Send a signal, where it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended just now
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as the system would."""
        self.send_signal(signal.SIGKILL)

    def _close(self) -> None:
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed:
            self.kill()
        self._close()
        self.wait()


def _pipe(descriptor: int | None) -> IO[str] | None:
    return None if descriptor is None else os.fdopen(descriptor, encoding="utf-8")


Stream = IO[Any] | int | None  # a file, a descriptor, PIPE or DEVNULL; None is the stream of the tests


def start(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    pipesize: int = 0,
) -> Command:
    """Start `reconciler` with these arguments and streams; `pipesize` in bytes, 0 for the usual one."""
    assert _forkable(env), "the environment holds what a process reads before any of our code runs"
    umask = os.umask(0)
    os.umask(umask)
    asked = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "umask": umask}
    with ExitStack() as sent:
        reads: list[int | None] = []
        descriptors: list[int] = []
        for number, stream in enumerate((stdin, stdout, stderr)):
            read, descriptor = _descriptor(number, stream, sent)
            if read is not None and pipesize:
                fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, pipesize)
            reads.append(read)
            descriptors.append(descriptor)
        answer, told = _channel(sent)
        socket.send_fds(_server(), [json.dumps(asked).encode()], [*descriptors, told])
    return Command(arguments, os.fdopen(answer, "rb", buffering=0), *reads[1:])


def _descriptor(number: int, stream: Stream, sent: ExitStack) -> tuple[int | None, int]:
    """Return our end, where there is one, and the command's, which is closed here once it was sent."""
    if stream == subprocess.PIPE:
        return _channel(sent)
    if stream == subprocess.DEVNULL:
        return None, sent.enter_context(Path(os.devnull).open("r+b")).fileno()
    if stream is None:
        return None, number
    return None, stream if isinstance(stream, int) else stream.fileno()


def _channel(sent: ExitStack) -> tuple[int, int]:
    reads, writes = os.pipe()
    sent.callback(os.close, writes)
    return reads, writes


def in_a_shell(python: str) -> tuple[str, int]:
    """Return what runs the command in `sh` as a program, and a descriptor that the shell has to inherit."""
    door = _server().fileno()
    return f'exec {python} -I -S -c {shlex.quote(_CLIENT)} {door} "$@"', door


_CLIENT = """
import json, os, signal, socket, sys
umask = os.umask(0)
os.umask(umask)
asked = {"arguments": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ), "umask": umask}
reads, writes = os.pipe()
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [json.dumps(asked).encode()], [0, 1, 2, writes])
os.close(writes)
with os.fdopen(reads) as answer:
    process = int(answer.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(process, number))
    sys.exit(int(answer.readline()))
"""


def _forkable(env: Mapping[str, str]) -> bool:
    return not any(
        name.startswith(_AT_START) and (name, text) != ("LANG", "C.UTF-8") for name, text in env.items()
    )


_here: list[socket.socket] = []  # the way to a server that is a fork of this process


def serve_here() -> None:
    """Let the commands from now on be forks of this process as it is now: with the code that it has.

    It has one thread, and has called `load`.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        try:
            ours.close()
            logging.root.handlers.clear()  # those of pytest
            warnings.simplefilter("default")
            _serve(its)
        finally:
            os._exit(0)
    its.close()
    _here[:] = [ours]


def _server() -> socket.socket:
    return _here[0] if _here else _started()


@cache
def _started() -> socket.socket:
    """Start the server of this process. It ends with it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}
    process = subprocess.Popen(
        [sys.executable, __file__, str(its.fileno())],
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
        env=environ | {"LANG": "C.UTF-8", "PYTHONWARNINGS": "default"},
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# The server.


def _serve(asks: socket.socket) -> None:
    """Fork a command for each request, and write its process id and then its code to its last descriptor."""
    assert threading.active_count() == 1, "a fork takes one thread along: something was started by an import"
    reads, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    answers: dict[int, int] = {}  # by process id, where its end is told
    with selectors.DefaultSelector() as waiting:
        waiting.register(asks, selectors.EVENT_READ)
        waiting.register(reads, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in waiting.select()}
            if reads in ready:
                os.read(reads, 1_000)
                _tell(answers)
            if asks.fileno() not in ready:
                continue
            data, descriptors, *_ = socket.recv_fds(asks, _message_max, _FDS)
            if not data:
                return
            process = os.fork()
            if not process:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                waiting.close()
                for descriptor in (asks.detach(), reads, wakes, *answers.values()):
                    os.close(descriptor)
                _become(json.loads(data), descriptors)
            for descriptor in descriptors[:-1]:
                os.close(descriptor)
            answers[process] = descriptors[-1]
            os.write(descriptors[-1], b"%d\n" % process)


def _tell(answers: dict[int, int]) -> None:
    """Tell how those ended that have ended."""
    while answers:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        descriptor = answers.pop(process)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(descriptor, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(descriptor)


def load() -> None:
    """Import what any command may import, and what libraries import when they are first used."""
    import reconciler  # noqa: PLC0415 - the server alone pays for it
    from reconciler.concurrency import BUSY, IDLE  # noqa: PLC0415 - the same

    gc.disable()  # nothing of this goes away
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    _exercise()
    for one in threading.enumerate():  # it waits a moment for more work
        if one.name.startswith((IDLE, BUSY)):
            one.join(patience_s)
    # The sweeps of a command's own collector would copy every page of what is loaded.
    gc.collect()
    gc.freeze()
    gc.enable()


def _exercise() -> None:
    """Make what a process makes once, such as patterns, decoders and the SQL of statements."""
    from reconciler.cli.main import run as command  # noqa: PLC0415 - the server alone pays for it
    from reconciler.sandbox.app import SandboxConfig, running_sandbox  # noqa: PLC0415 - the same

    usual = dict(os.environ)
    with ExitStack() as ended:
        folder = Path(ended.enter_context(tempfile.TemporaryDirectory()))
        copied(_EXAMPLE, folder / "project")
        address = ended.enter_context(running_sandbox(SandboxConfig()))
        nobody = ended.enter_context(Path(os.devnull).open("w"))
        ended.enter_context(redirect_stdout(nobody))
        ended.enter_context(redirect_stderr(nobody))
        ended.callback(os.environ.update, usual)
        ended.callback(os.environ.clear)
        os.environ.clear()
        os.environ.update(_CREDENTIALS | {"RECONCILER_SERVICE_BASE_URL": address})
        config = ["--config", str(folder / "project" / "reconciler.yaml")]
        for line in _EXERCISES:
            assert command([*line.split(), *config]) == 0


def _become(asked: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be what a new process would be, and run the program."""
    for number, descriptor in enumerate(descriptors[:-1]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.umask(asked["umask"])
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    random.seed()
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115 - they stay
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115 - the same
    sys.argv = ["reconciler", *asked["arguments"]]
    try:
        entry = importlib.import_module("reconciler.cli.entry")
        entry.main()
    finally:
        os._exit(1)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as socket_of_the_tests:
        load()
        _serve(socket_of_the_tests)
