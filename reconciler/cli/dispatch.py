"""How a command finds what does its work: a function of another module, imported when the command is invoked.

A command is a declaration: options, help, and the name of that function. So `--help`, `--version` and
completion load no client, no store and no validator, and modules that do work import all they need at
their top. `tests/cli/test_dispatch.py` holds options and parameters together.
"""

import ast
import linecache
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from inspect import unwrap
from typing import Any

import click


class Runs:
    """The callback of a declared command. `target` is `module:function`, below `reconciler.cli.verbs`.

    `needs` is an extra without which it cannot work (extras.py); "" for none.
    """

    def __init__(self, target: str, declaration: Callable[[], None], needs: str) -> None:
        self.target = target
        self.needs = needs
        update_wrapper(self, declaration)

    def __call__(self, **given: Any) -> int:
        """Run the function with the options as keyword arguments, and return the exit code."""
        recording = import_module("reconciler.cli.telemetry.recording")
        with recording.telemetry().of_command(click.get_current_context().command_path):
            return self.load()(**given)

    def load(self) -> Callable[..., int]:
        """Import the module, and return the function. Raises MissingExtra."""
        if self.needs:
            import_module("reconciler.extras").require(self.needs)
        module, name = self.target.split(":")
        function: Callable[..., int] = getattr(import_module(f"reconciler.cli.verbs.{module}"), name)
        return function


class Completes:
    """What a shell offers for an option or argument. `name` is a function of completing.py."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        """Import the function, and return what it offers."""
        offer: Callable[..., list[Any]] = getattr(import_module("reconciler.cli.completing"), self.name)
        return offer(ctx, parameter, incomplete)


def restore_help(command: click.Command) -> None:
    """Give a command, and those below it, the help that PYTHONOPTIMIZE=2 took away with the docstrings.

    It is read from the source of the declaration; without one the line in the list of commands is left.
    """
    if command.help is None and command.callback is not None:
        command.help = _docstring(unwrap(command.callback)) or command.short_help
    for below in getattr(command, "commands", {}).values():
        restore_help(below)


def _docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function of a module, as it is written in its file."""
    source = "".join(linecache.getlines(function.__code__.co_filename))
    found = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))
    return next((ast.get_docstring(one) for one in found if one.name == function.__name__), None)


def runs(target: str, *, needs: str = "") -> Callable[[Callable[[], None]], Runs]:
    """Decorate a declaration whose work is done by the function `target`, with the extra `needs`."""
    return lambda declaration: Runs(target, declaration, needs)
