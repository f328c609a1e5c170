"""How a command finds what does its work: a function of another module, imported when the command is invoked.

A command is a declaration: options, help, and the name of that function. So `--help`, `--version` and
completion load no client, no store and no validator, and modules that do work import all they need at
their top. `tests/cli/test_dispatch.py` holds options and parameters together.
"""

from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from typing import Any

import click


class Runs:
    """The callback of a declared command. `target` is `module:function`, below `reconciler.cli.verbs`."""

    def __init__(self, target: str, declaration: Callable[[], None]) -> None:
        self.target = target
        update_wrapper(self, declaration)

    def __call__(self, **given: Any) -> int:
        """Run the function with the options as keyword arguments, and return the exit code."""
        return self.load()(**given)

    def load(self) -> Callable[..., int]:
        """Import the module, and return the function."""
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


def runs(target: str) -> Callable[[Callable[[], None]], Runs]:
    """Decorate a declaration whose work is done by the function `target`."""
    return lambda declaration: Runs(target, declaration)
