"""The process around a command: its first instruction, its three streams, its signals, its end."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import effort
import pytest
from cli.hands import PLAIN, Project, Service, heard
from waiting import patience_s

from reconciler import signals
from reconciler.cli.console import error_text
from reconciler.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ends_within_s = 25.0  # promised are 2; a busy machine takes longer, and what nobody ends takes 30 or more

# Runs the command line behind it, and does `at(number)` at every import, the first being number 1.
HOOKED = """
import _signal, os, sys, time
seen = []
def hook(event, arguments):
    if event == "import":
        seen.append(arguments[0])
        at(len(seen))
from reconciler.cli.entry import main
sys.addaudithook(hook)
"""
STOPPED = "stopped before anything was written. [E043]\n  next: run it again\n"


def hooked(code: str, *arguments: str, cwd: Path, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """The command, with `def at(number)` from `code` called at each import."""
    return subprocess.run(
        [sys.executable, "-c", f"{code}\n{HOOKED}main()", *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def test_nothing_is_loaded_before_signals_are_heard(tmp_path: Path) -> None:
    """Each import is a moment in which a signal ends the process as the interpreter likes."""
    code = (
        "def at(number):\n"
        "    if _signal.getsignal(_signal.SIGTERM) == _signal.SIG_DFL:\n"
        "        os.write(2, seen[-1].encode() + b' ')\n"
    )
    listed = "import sys; a = set(sys.modules); import reconciler.cli.entry; print(*set(sys.modules) - a)"
    first = hooked(code, "--version", cwd=tmp_path, env=PLAIN)
    before = subprocess.run(
        [sys.executable, "-c", listed],
        capture_output=True,
        text=True,
        check=True,
        timeout=patience_s,
    )

    assert (first.returncode, first.stderr) == (0, "")
    loaded = set(before.stdout.split())
    assert {name for name in loaded if name.startswith("reconciler")} == {
        "reconciler",
        "reconciler.cli",
        "reconciler.cli.entry",
        "reconciler.signals",
    }
    assert not loaded & {"typing", "enum", "signal", "re", "click", "collections"}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("place", [1, 2, 10, 60, 150, 250, 350])
def test_a_signal_while_it_starts_is_130(
    number: signal.Signals, place: int, project: Project, service: Service
) -> None:
    """At whichever import it comes, and though the main thread hangs there."""
    code = (
        "def at(number):\n"
        f"    if number == {place}:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "        time.sleep(60)\n"
    )
    ended = hooked(code, "plan", cwd=project.folder, env=project.environ(service))

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", STOPPED)


def test_a_program_hears_of_it_in_json(project: Project, service: Service) -> None:
    """The last words are those of every other error, though nothing has been loaded that could write them."""
    code = "def at(number):\n    os.kill(os.getpid(), 15)\n    time.sleep(60)\n"
    ended = hooked(code, "plan", "--format", "json", cwd=project.folder, env=project.environ(service))
    error = Interrupted("stopped before anything was written.", next="run it again")

    assert (ended.returncode, ended.stderr) == (130, "")
    assert ended.stdout == error_text.error_json(error) + "\n" == signals.STOPPED_JSON.decode()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_any_moment_is_130_or_comes_too_late(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """From the first instruction to the last: no traceback, no death by the signal."""
    found = set()
    for delay_ms in (0, 1, 3, 10, 30, 60, 100, 150, 250, 400):
        with project.start_cold(service, "plan", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            if heard(process):
                time.sleep(delay_ms / 1000)
                process.send_signal(number)
            _, said = process.communicate(timeout=patience_s)
        assert "Traceback" not in said
        found.add(process.returncode)

    assert found <= {0, 130}
    assert 130 in found


def test_a_closed_terminal_does_not_end_what_was_told_to_stay(project: Project, service: Service) -> None:
    """`nohup reconciler apply` means it."""
    words = [sys.executable, "-m", "reconciler", "plan"]
    with subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words],
        cwd=project.folder,
        env=project.environ(service),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert heard(process)
        process.send_signal(signal.SIGHUP)
        _, said = process.communicate(timeout=patience_s)

    assert (process.returncode, said) == (0, "")


COMMANDS = {
    "plan": ("plan",),
    "apply": ("apply", "--yes"),
    "validate": ("validate",),
    "history": ("history",),
    "messages send": ("messages", "send", "--to", "+61491570156", "--subject", "Night", "--body", "Come?"),
}
CLOSED = [closed for count in (1, 2, 3) for closed in combinations("012", count)]


def with_closed(
    closed: tuple[str, ...], words: tuple[str, ...], project: Project, service: Service
) -> "subprocess.CompletedProcess[str]":
    """The command, born with these streams closed."""
    redirections = " ".join(f"{one}<&-" for one in closed)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "reconciler", *words],
        cwd=project.folder,
        env=project.environ(service),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


@effort.sample(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_closed_streams_are_no_accident(command: str, project: Project, service: Service) -> None:
    """A result that nobody can get is said before anything is written; the other two are not needed."""
    for closed in (one for one in CLOSED if "1" in one):
        ended = with_closed(closed, COMMANDS[command], project, service)

        assert (ended.returncode, ended.stdout) == (1, ""), closed
        told = "" if "2" in closed else "standard output cannot be written: it is closed. Nothing was done.\n"
        assert ended.stderr.startswith(told)
        assert "Traceback" not in ended.stderr
    assert service.requests() == []
    assert not (project.folder / ".reconciler").exists()

    for closed in (one for one in CLOSED if "1" not in one):
        ended = with_closed(closed, COMMANDS[command], project, service)

        assert (ended.returncode, bool(ended.stdout), ended.stderr) == (0, True, ""), (closed, ended)


def test_the_null_device_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Or the next file that is opened does: a database, which somebody then prints into."""
    code = (
        "def at(number):\n"
        "    if number == 1:\n"
        "        null = os.stat(os.devnull).st_rdev\n"
        "        print(*(os.fstat(one).st_rdev == null and os.get_inheritable(one) for one in (0, 2)))\n"
    )
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" 0<&- 2<&-', "sh", sys.executable, "-c", f"{code}\n{HOOKED}main()"],
        cwd=tmp_path,
        env=PLAIN,
        stdout=subprocess.PIPE,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (64, "True True\n")


def test_a_stream_that_cannot_be_written_is_a_closed_one(project: Project, service: Service) -> None:
    """`apply 1</dev/null`: open, and of no use."""
    words = [sys.executable, "-m", "reconciler", "apply", "--yes"]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" 1</dev/null', "sh", *words],
        cwd=project.folder,
        env=project.environ(service),
        stderr=subprocess.PIPE,
        timeout=patience_s,
        check=False,
    )

    assert (ended.returncode, service.requests()) == (1, [])


def test_a_full_output_is_noticed_before_anything_is_written(project: Project, service: Service) -> None:
    """The report of an apply has to be possible before there is something to report."""
    with Path("/dev/full").open("w") as full:
        words = ("apply", "--yes", "--format", "json")
        with project.start_cold(service, *words, stdout=full, stderr=subprocess.PIPE) as process:
            said = process.communicate(timeout=patience_s)[1]

    assert (process.returncode, service.requests()) == (1, [])
    assert said.startswith("standard output cannot be written: no space left on device. Nothing was done.\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_report_that_nobody_reads_is_kept_and_said_to_be(
    form: str, project: Project, service: Service
) -> None:
    """The reader of the pipe goes while the command works; what was written to the service was written."""
    words = ("apply", "--yes", "--format", form)
    with project.start_cold(service, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        said = process.communicate(timeout=patience_s)[1]
    run = said.partition("holds the run ")[2].partition(")")[0]

    assert process.returncode == 0
    assert said.startswith(
        "the report was cut off because its reader closed the output.\n  next: reconciler history "
    )
    assert f'"run": "{run}"' in project.run(service, "history", "--format", "json").stdout
    assert len(service.contacts()) == 3


@contextmanager
def silence() -> Iterator[tuple[str, socket.socket]]:
    """The URL of a database that takes a connection, and never says a word; and its socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(patience_s)
        yield f"postgresql://reconciler@127.0.0.1:{server.getsockname()[1]}/reconciler", server


@pytest.mark.parametrize("words", [("plan",), ("apply", "--yes"), ("history",)])
def test_a_second_signal_ends_it_whatever_hangs(
    words: tuple[str, ...], project: Project, service: Service
) -> None:
    """A store that takes the connection and answers nothing is waited for by threads that nobody can end."""
    code, said = signalled(project, service, words, "", signal.SIGTERM, signal.SIGINT)

    assert code == 130
    assert "Traceback" not in said


def signalled(
    project: Project, service: Service, words: tuple[str, ...], options: str, *signals_: signal.Signals
) -> tuple[int, str]:
    """How a command ends, and what it says, that gets these while it waits for a store that says nothing."""
    with (
        silence() as (url, server),
        project.start(
            service,
            *words,
            env={"RECONCILER_STORE": f"{url}{options}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        connection, _ = server.accept()
        with connection:
            for number in signals_:
                process.send_signal(number)
            _, said = process.communicate(timeout=ends_within_s)
    return process.wait(), said


# A command whose main thread hangs in its event loop, with its last words going where nobody reads.
HANGS = """
import os, sys, time
from reconciler import signals
signals.take_over_signals()
from reconciler.cli.session import run_to_end
async def work(heard):
    if "apply" in sys.argv:
        heard.apply_begins()
    if "full" in sys.argv:
        os.set_blocking(2, False)
        while True:
            try:
                os.write(2, b"x" * 4096)
            except BlockingIOError:
                break
        os.set_blocking(2, True)
    os.write(1, b"here\\n")
    time.sleep(600)
run_to_end(work)
"""


@pytest.mark.parametrize("stage", ["plan", "apply"])
@pytest.mark.parametrize("words", ["read", "full"])
def test_a_second_signal_ends_it_though_the_main_thread_hangs(stage: str, words: str) -> None:
    """A thread of its own hears signals; a full pipe holds up the last words, and not the end."""
    with subprocess.Popen(
        [sys.executable, "-c", HANGS, stage, words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGINT)
            assert process.wait(ends_within_s) == 130
            said = process.communicate(timeout=patience_s)[1]
        finally:
            process.kill()

    if words == "read":
        doubt = "stopped at once: requests under way are in doubt.\n  next: reconciler resume\n"
        assert said == {"plan": STOPPED, "apply": doubt}[stage]


@pytest.mark.parametrize("words", [("plan",), ("apply", "--yes"), ("resume",)])
def test_the_first_signal_is_heard_while_a_store_says_nothing(
    words: tuple[str, ...], project: Project, service: Service
) -> None:
    """What waits for a store waits beside the loop: the end needs no second signal."""
    code, said = signalled(project, service, words, "?connect_timeout=600", signal.SIGTERM)

    assert code == 130
    assert said.endswith(STOPPED)
    assert service.requests() == []


def test_two_seconds_are_two_seconds() -> None:
    """The first signal gives all the time that a clean end needs; the second gives what is promised."""
    too_late = signals.HoldWhileReporting()
    already = signals.HoldWhileReporting(already=1)

    assert [too_late(15), too_late(15)] == [None, signals.at_once_s]
    assert already(2) == signals.at_once_s
    assert signals.at_once_s + signals.last_words_s < 2


def test_nothing_of_the_working_directory_is_imported(tmp_path: Path) -> None:
    """A checkout may hold a `json.py`, and whoever runs us there has the credentials."""
    for name in ("json", "signal", "typing", "click", "yaml", "email"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "schema", "manifest"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s,
    )

    assert (done.returncode, done.stderr) == (0, "")
