"""The function of a command takes its options, its result is printed, and its module is cheap to import."""

import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click
import pytest
from cli.hands import PLAIN
from waiting import patience_s

from reconciler.cli import results
from reconciler.cli.console.output import OutputLost
from reconciler.cli.dispatch import CommandWork, prints_result
from reconciler.cli.main import COMMANDS
from reconciler.cli.result_schemas import command_leaves, result_types
from reconciler.cli.results import CommandResult, FileText, ResultWork
from reconciler.report.lines import Line, line


@pytest.mark.parametrize(("name", "command"), [*command_leaves()])
def test_the_function_of_a_command_takes_just_its_options(name: str, command: click.Command) -> None:
    """Click calls it with these names: a type checker sees neither."""
    work = command.callback
    assert isinstance(work, CommandWork)
    options = {str(parameter.name) for parameter in command.params if parameter.expose_value}
    function = inspect.signature(work.function)
    options -= {"as_json", "form"} - {*function.parameters}

    function.bind(**dict.fromkeys(options))
    assert function.return_annotation in {int, FileText} or result_types(command), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_no_engine(name: str) -> None:
    """Help and completion import the module of the command, and nothing that is slow to load."""
    code = f"import sys; from reconciler.cli.main import run; run([{name!r}, '--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=patience_s, check=True
    )

    heavy = {"asyncio", "httpx2", "jsonschema_rs", "rich", "sqlalchemy", "sqlite3", "starlette", "yaml"}
    heavy |= {"reconciler.pipeline", "reconciler.cli.session", "reconciler.settings.reader"}
    assert not heavy & set(done.stdout.split())


def test_the_pattern_of_a_command_runs(repository: Path) -> None:
    """Whoever adds a command begins with a copy of it."""
    block = re.search(r"\n\n((?:    .*\n|\n)+?)- ", results.__doc__ or "")
    assert block is not None
    (repository / "holder.py").write_text(textwrap.dedent(block[1]))
    code = (
        "import sys; from reconciler.cli.main import cli, run; from holder import holder_command; "
        "cli.add_command(holder_command); sys.exit(run(['holder', *sys.argv[1:]]))"
    )

    def said(*words: str) -> str:
        line = [sys.executable, "-c", code, *words]
        done = subprocess.run(
            line, cwd=repository, env=PLAIN, capture_output=True, text=True, timeout=patience_s, check=True
        )
        assert done.stderr == ""
        return done.stdout

    assert said() == "ops: free\n"
    expected = {"version": 1, "outcome": "done", "exit_code": 0, "stack": "ops", "holder": None}
    assert json.loads(said("--format", "json")) == expected
    assert "Show who holds the lock." in said("--help")


class Told(CommandResult, frozen=True):
    """A result of one word."""

    word: str

    def lines(self) -> Sequence[Line]:
        """Return it."""
        return (line(self.word),)


@pytest.mark.parametrize(("is_written", "code"), [(True, 0), (False, 1)])
def test_a_command_goes_on_when_its_result_is_printed(
    capsys: pytest.CaptureFixture[str], *, is_written: bool, code: int
) -> None:
    """Reports and the undo file come after the text; one that could not be written changes the exit code."""
    printed: list[str] = []

    @click.command()
    @prints_result
    def command() -> ResultWork[Told]:
        yield Told(word="done")
        printed.append(capsys.readouterr().out)
        return is_written

    assert command.main([], standalone_mode=False) == code
    assert printed == ["done\n"]


def test_a_command_ends_its_work_though_its_result_cannot_be_printed() -> None:
    """A full disk behind standard output loses no undo file."""
    written: list[str] = []

    @click.command()
    @prints_result
    def command() -> ResultWork[Told]:
        try:
            yield Told(word="done")
        finally:
            written.append("undo")
        return True

    with Path("/dev/full").open("w") as full, redirect_stdout(full), pytest.raises(OutputLost):
        command.main([], standalone_mode=False)
    assert written == ["undo"]
