import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec
import pytest
from cli.hands import PLAIN
from served import sandbox
from waiting import patience_s

from reconciler.cli.main import COMMANDS, cli
from reconciler.signals import wants_json
from reconciler.version import __version__

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def loaded(*arguments: str) -> set[str]:
    """The modules that a command line has imported when it ends."""
    code = (
        "import sys; from reconciler.cli.main import run; "
        "code = run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=True,
    )
    return set(done.stderr.split())


def test_a_plan_does_not_load_what_only_refused_files_need() -> None:
    """The library that explains takes a tenth of a second, and nearly every file is as it should be."""
    code = "import sys; import reconciler.cli.planning; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=patience_s, check=True
    )

    assert not {"jsonschema", "referencing", "attr"} & set(done.stdout.split())


def test_version_imports_next_to_nothing() -> None:
    """Start-up is what every use pays: the budget is 0.12 s (docs/performance.md)."""
    modules = loaded("--version")

    heavy = {
        "rich",
        "msgspec",
        "httpx2",
        "sqlalchemy",
        "yaml",
        "jsonschema",
        "jsonschema_rs",
        "starlette",
        "asyncio",
    }
    assert not modules & heavy
    assert {name for name in modules if name.startswith("reconciler.")} <= {
        "reconciler.cli",
        "reconciler.cli.console",
        "reconciler.cli.main",
        "reconciler.version",
        "reconciler.cli.console.crash_report",
        "reconciler.cli.console.output",
        "reconciler.signals",
        "reconciler.errors",
        "reconciler.report",
        "reconciler.report.escaping",
    }


def test_help_imports_no_command() -> None:
    """The list of commands is a table; a command's own help imports that command and no library."""
    folder = "reconciler.cli.commands"
    with_sandbox = loaded("sandbox", "--help")
    declared = {name.removeprefix(folder) for name in with_sandbox if name.startswith(folder)}

    assert not {name for name in loaded("--help") if name.startswith(folder)}
    assert declared == {"", ".sandbox"}
    assert "starlette" not in with_sandbox


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help(name: str, run: Run) -> None:
    """A verb, what it reads and writes, exit codes and a real example."""
    done = run(name, "--help")

    assert done.returncode == 0
    assert "Exit codes:" in done.stdout
    assert f"reconciler {name}" in done.stdout.split("xample", 1)[1]
    command = cli.get_command(cli.make_context("reconciler", ["--help"], resilient_parsing=True), name)
    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name]


def _helps(command: click.Command, above: click.Context | None, name: str) -> Iterator[str]:
    """The help of a command and of all below it, as a terminal of 80 columns gets it."""
    ctx = click.Context(command, above, info_name=name, terminal_width=80)
    yield command.get_help(ctx)
    if isinstance(command, click.Group):
        for one in command.list_commands(ctx):
            below = command.get_command(ctx, one)
            assert below is not None
            yield from _helps(below, ctx, one)


def test_help_breaks_no_word_at_eighty_columns() -> None:
    """What is wider is broken by the terminal, in the middle of a word."""
    lines = [one for text in _helps(cli, None, "reconciler") for one in text.splitlines()]

    assert [one for one in lines if len(one) > 80] == []
    assert len(lines) > 600


# Prints the help of every command, as `_helps` does.
PRINTS_HELP = """
import click
from reconciler.cli.main import cli
def show(command, above, name):
    ctx = click.Context(command, above, info_name=name, terminal_width=80)
    print(command.get_help(ctx))
    if isinstance(command, click.Group):
        for one in command.list_commands(ctx):
            show(command.get_command(ctx, one), ctx, one)
show(cli, None, "reconciler")
"""


def printed_help(level: str) -> list[str]:
    """All help as a process prints it that optimizes so far."""
    environ = {**PLAIN, "PYTHONOPTIMIZE": level, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PRINTS_HELP]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.split("\n")


def test_the_help_of_every_command_is_whole_without_docstrings() -> None:
    """Some images set PYTHONOPTIMIZE=2: a command that does not say what it does is no command."""
    assert printed_help("2") == printed_help("")


@pytest.mark.parametrize("words", [("plan",), ("messages", "send"), ()])
def test_python_oo_shows_the_same_help(words: tuple[str, ...], run: Run) -> None:
    """The way from the first instruction on is another one than a function that is called."""
    command = [sys.executable, "-OO", "-m", "reconciler", *words, "--help"]
    environ = {**PLAIN, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    assert done.stdout == run(*words, "--help").stdout
    assert "Exit codes:" in done.stdout


def test_the_version_is_data(run: Run) -> None:
    """Scripts read it."""
    done = run("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"reconciler {__version__}\n", "")


MISTAKES = {
    "": "no command given.",
    "plam": "'plam' is not a command. Did you mean plan?",
    "--nosuch": "no such option '--nosuch'.",
    "config --fromat json": "no such option '--fromat'. Did you mean '--format'?",
    "config --format xml": "invalid value for '--format': 'xml' is not one of 'text', 'json'.",
    "config extra": "got unexpected extra argument (extra)",
    "sandbox --port 70000": "invalid value for '--port': 70000 is not in the range 0<=x<=65535.",
    "sandbox --workspace =A": "invalid value for '--workspace': '=A' is not NAME or NAME=ID.",
    "sandbox --workspace A=x/y": "workspaces: 'x/y' of 'A' is not upper-case hexadecimal.",
    "sandbox --link-base here": "link_base: 'here' is no origin, as https://api.example.com.",
    "sandbox --link-base https://a.example/b": (
        "link_base: 'https://a.example/b' is no origin, as https://api.example.com."
    ),
    "sandbox --fault latency,foo=1": (
        "invalid value for '--fault': 'latency,foo=1': a fault has no option 'foo'; it has method, path, "
        "nth, times, probability, seed, seconds, keep, rows, words, host, field, how, status."
    ),
    "sandbox --fault latency,seconds=x": (
        "invalid value for '--fault': 'latency,seconds=x': seconds cannot be 'x'."
    ),
    "sandbox --username a:b": "username: a colon cannot be sent with the Basic scheme.",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_in_the_command_line_is_64(typed: str, run: Run) -> None:
    """What was wrong, and where help is; the code is one that no result uses."""
    done = run(*typed.split())

    command = typed.split(maxsplit=1)[0] if " " in typed else ""
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == f"{MISTAKES[typed]}\n  next: {f'reconciler {command}'.strip()} --help\n"


def test_errors_are_json_where_json_was_asked_for(run: Run, repository: Path) -> None:
    """A program that parses stdout must not have to read sentences when it fails."""
    usage = run("config", "--nosuch", "--format", "json")
    (repository / "reconciler.yaml").write_text("version: 1\nstak: ops\n")
    invalid = run("config", "--format=json")

    assert usage.returncode == 64
    assert msgspec.json.decode(usage.stdout)["outcome"] == "usage"
    assert invalid.returncode == 3
    found = msgspec.json.decode(invalid.stdout)
    assert (found["outcome"], found["exit_code"], found["error"]["kind"]) == ("invalid", 3, "SettingsError")
    assert found["problems"][0] == {
        "file": "reconciler.yaml",
        "line": 2,
        "column": 1,
        "what": "stak is not a field of a settings file.",
        "next": "did you mean stack?",
        "code": "E201",
    }
    assert usage.stderr == "no such option '--nosuch'.\n  next: reconciler config --help\n"
    assert invalid.stderr.startswith("reconciler.yaml:2:1: stak is not a field of a settings file. [E201]\n")


def test_the_wish_for_json_is_seen_in_both_spellings() -> None:
    """Also where the rest of the line cannot be parsed."""
    assert wants_json(["plan", "--format", "json"])
    assert wants_json(["plan", "--format=json"])
    assert not wants_json(["plan", "--format", "text", "json"])


BROKEN = """
import asyncio, json, logging, sys, threading
import click
from reconciler.cli import entry, main

class Fragile:
    def __del__(self):
        fail()

def fail():
    raise ValueError("canary" + chr(10) + "::set-env name=A::b" + chr(10) + "##[group]" + chr(27) + "[2J")

async def lonely():
    task = asyncio.create_task(behind())
    await asyncio.wait([task])
    del task

async def behind():
    fail()

async def side_by_side():
    async with asyncio.TaskGroup() as group:
        group.create_task(behind())

@click.command()
@click.option("--format", default="text")
def fails(format):
    try:
        fail()
    except ValueError:
        raise KeyError("canary") from None

@click.command()
def survives():
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    Fragile()
    asyncio.run(lonely())
    logging.getLogger("library").error("x" + chr(10) + "::set-env name=A::b")

@click.command()
def grouped():
    asyncio.run(side_by_side())

@click.command()
def system():
    open("/canary/canary")

for command in (fails, survives, grouped, system):
    main.cli.add_command(command, command.name)
entry.main()
"""


def _broken(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The program with commands that hold a mistake, run as it is run; nothing that they hold is printed."""
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, *arguments],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert not [word for word in ("canary", "Traceback", "##[", "\x1b") if word in printed]
    assert not [line for line in printed.splitlines() if line.lstrip().startswith("::")]
    return done


def test_a_mistake_of_ours_is_an_error_without_values() -> None:
    """Its text may be live data, a secret or an order to a CI runner; where it is can be reported."""
    done = _broken("fails")

    first, place, *_, way = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"a bug in reconciler, not in your files: KeyError at reconciler\.\S+:\d+ \w+\. \[E044\]", first
    )
    assert re.fullmatch(r"  __main__:\d+ fails", place)
    assert way.startswith("  next: report it")


def test_a_mistake_of_ours_is_json_where_json_is_wanted() -> None:
    """A program that reads our output learns that it failed, and where."""
    done = _broken("fails", "--format", "json")

    document = msgspec.json.decode(done.stdout)
    assert done.returncode == 1
    assert done.stderr.startswith("a bug in reconciler, not in your files: KeyError at ")
    assert (document["outcome"], document["exit_code"]) == ("failed", 1)
    assert document["error"]["kind"] == "ProgramError"
    assert document["error"]["places"][0].endswith(" fails")
    assert document["error"]["next"]


@pytest.mark.parametrize(("command", "behind"), [("grouped", "ValueError, caused by"), ("system", "system")])
def test_what_is_behind_a_mistake_is_named_without_its_text(command: str, behind: str) -> None:
    """A task of a group fails within an exception that says nothing; the system's errors hold paths."""
    done = _broken(command)

    assert done.returncode == 1
    assert behind in done.stderr
    assert (os.strerror(errno.ENOENT).lower() in done.stderr) is (command == "system")


def test_mistakes_in_threads_and_tasks_are_told_like_all_others() -> None:
    """Nobody waits for them, so Python and the event loop would print them themselves."""
    done = _broken("survives")

    told = [line for line in done.stderr.splitlines() if line.startswith("a bug in reconciler")]
    assert done.returncode == 0
    assert len(told) == 3
    assert all("ValueError at __main__:" in line for line in told)
    assert "library: x\n\\x3a:set-env name=A::b\n" in done.stderr


def test_ctrl_c_is_130() -> None:
    """Shells and CI systems know this number."""
    with sandbox() as (_, process):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience_s)

    assert process.returncode == 0  # the sandbox is meant to be stopped so

    code = (
        "import signal, sys; from reconciler.cli import main; "
        # A job in the background, as a build may be, is born deaf to Ctrl-C.
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "main.Commands.get_command = lambda *_: signal.raise_signal(signal.SIGINT); "
        "sys.exit(main.run(['plan']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=patience_s, check=False
    )
    said = "stopped before anything was written. [E043]\n  next: run it again"
    assert (done.returncode, done.stderr.strip()) == (130, said)
