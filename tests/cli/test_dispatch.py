"""The function of a command takes just its options, and its module is cheap to import."""

import inspect
import subprocess
import sys

import click
import pytest
from waiting import patience_s

from reconciler.cli.dispatch import CommandWork
from reconciler.cli.main import COMMANDS
from reconciler.cli.result_schemas import command_leaves, result_types
from reconciler.cli.results import FileText


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
