"""A signal that is ignored when the program begins stays ignored, in every command that hears signals."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli.hands import PLAIN, Project, Service
from cli.test_demo import sandboxes
from cli.test_process import hooked
from cli.test_sandbox import contacts
from waiting import patience_s, readable, until

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAMES = [one.name for one in SIGNALS]
ENDED_BY = {signal.SIGINT: signal.SIGTERM, signal.SIGTERM: signal.SIGINT}


def ignoring(number: signal.Signals, *words: str) -> list[str]:
    """The command line of a command whose caller ignores this signal."""
    trap = f'trap "" {number.name.removeprefix("SIG")}; exec "$@"'
    return ["sh", "-c", trap, "sh", sys.executable, "-m", "reconciler", *words]


@contextmanager
def started(
    number: signal.Signals, words: Sequence[str], *, cwd: Path, env: dict[str, str], **streams: Any
) -> Iterator["subprocess.Popen[str]"]:
    """The command, whose caller ignores this signal."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    with subprocess.Popen(ignoring(number, *words), cwd=cwd, env=env, text=True, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def is_ignored_by(process: "subprocess.Popen[str]", number: signal.Signals) -> bool:
    """Whether the kernel drops this signal before the process sees it."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return bool(int(status.partition("SigIgn:")[2].split(maxsplit=1)[0], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", SIGNALS, ids=NAMES)
def test_an_ignored_signal_is_ignored_from_the_first_import_to_the_last(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """A script's job behind `&` ignores SIGINT, nohup SIGHUP, `trap "" TERM` SIGTERM: the work goes on."""
    code = (
        "import _signal\n"
        f"_signal.signal({int(number)}, _signal.SIG_IGN)\n"
        "def at(place):\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
    )
    ended = hooked(code, "plan", cwd=project.folder, env=project.environ(service))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "5 creates" in ended.stdout


@pytest.mark.parametrize("number", SIGNALS, ids=NAMES)
def test_a_run_goes_on_under_a_signal_that_is_ignored(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """It would stop half way, and exit with 130 though nobody meant it."""
    env = project.environ(service) | {"RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "10"}
    with started(number, ["apply", "--yes"], cwd=project.folder, env=env) as process:
        until(service.writes, "the first write")
        process.send_signal(number)
        process.send_signal(number)
        printed, said = process.communicate(timeout=patience_s)

    assert process.returncode == 0, said
    assert "5 applied" in printed


@pytest.mark.parametrize("number", SIGNALS[:2], ids=NAMES[:2])
@pytest.mark.parametrize(
    "words",
    [("sandbox", "--port", "0"), ("callbacks", "listen", "--port", "0", "--no-key")],
    ids=["sandbox", "listen"],
)
def test_a_server_serves_on_under_a_signal_that_is_ignored(
    words: tuple[str, ...], number: signal.Signals, project: Project, service: Service
) -> None:
    """`reconciler sandbox &` in a script is not to end at the Ctrl-C that is meant for the foreground."""
    env = project.environ(service)
    with started(number, words, cwd=project.folder, env=env) as process:
        ready = process.stdout if words[0] == "sandbox" else process.stderr
        assert ready is not None
        first = ready.readline()
        process.send_signal(number)
        ignored = is_ignored_by(process, number)
        if words[0] == "sandbox":
            assert contacts(first.split()[-1])[0] == 200
        process.send_signal(ENDED_BY[number])
        process.communicate(timeout=patience_s)

    assert "http://127.0.0.1:" in first
    assert ignored
    assert process.returncode == 0


@pytest.mark.parametrize("number", SIGNALS, ids=NAMES)
def test_a_question_waits_on_under_a_signal_that_is_ignored(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """The question has handlers of its own."""
    screen, terminal = pty.openpty()
    env = project.environ(service) | {"NO_COLOR": "1", "TERM": "xterm"}
    streams = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
    with started(number, ["apply"], cwd=project.folder, env=env, **streams) as process:
        os.close(terminal)
        try:
            shown = b""
            while b"[yes/no] " not in shown:
                assert readable(screen)
                shown += os.read(screen, 65_536)
            process.send_signal(number)
            ignored = is_ignored_by(process, number)
            os.write(screen, b"no\n")
            while readable(screen):
                try:
                    shown += os.read(screen, 65_536)
                except OSError:  # the other side has gone
                    break
            code = process.wait(patience_s)
        finally:
            os.close(screen)

    assert ignored
    assert (code, service.writes()) == (7, []), shown.decode()


def test_a_demo_that_ignores_a_signal_still_ends_its_sandbox(tmp_path: Path) -> None:
    """What it starts ignores the same signal: it passes on the one it got, and kills the sandbox."""
    env = {**PLAIN, "TMPDIR": str(tmp_path)}
    streams = {"stderr": subprocess.STDOUT}
    with started(signal.SIGTERM, ["demo"], cwd=tmp_path, env=env, **streams) as process:
        assert process.stdout is not None
        while "$ reconciler" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGTERM)
        ignored = is_ignored_by(process, signal.SIGTERM)
        assert sandboxes(tmp_path)
        process.send_signal(signal.SIGHUP)
        printed, _ = process.communicate(timeout=patience_s)

    assert ignored
    assert process.returncode == 130, printed
    assert sandboxes(tmp_path) == set()
