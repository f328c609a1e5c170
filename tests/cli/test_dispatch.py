"""A command is a declaration: it names the function that does its work, which takes just its options."""

import inspect
from collections.abc import Iterator

import click
import pytest

from reconciler.cli.dispatch import Runs
from reconciler.cli.main import COMMANDS, cli


def declared() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", each) for below, each in command.commands.items())
        else:
            yield name, command


@pytest.mark.parametrize(("name", "command"), [*declared()])
def test_every_command_names_a_function_that_takes_its_options(name: str, command: click.Command) -> None:
    """It is imported when the command is invoked: a type checker sees neither the name nor the parameters."""
    assert isinstance(command.callback, Runs), name
    options = {str(parameter.name) for parameter in command.params if parameter.expose_value}

    function = inspect.signature(command.callback.load())

    function.bind(**dict.fromkeys(options))
    assert function.return_annotation is int
