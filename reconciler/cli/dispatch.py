"""What happens when a command is invoked: its function runs, and its result is printed.

Commands import what they work with inside their functions, so `--help`, `--version` and completion load no
client, no store and no validator. How a command is written: results.py.
"""

import ast
import linecache
from collections.abc import Callable, Generator
from functools import update_wrapper
from importlib import import_module
from inspect import unwrap
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.console import output

if TYPE_CHECKING:
    from reconciler.cli.results import CommandResult, ResultWork


class CommandWork:
    """The callback of a command: its function is called with the options, and what it returns is printed.

    It returns a result; or it yields one, which is printed before it goes on; or it returns the exit code,
    where it printed everything itself. It gets the option `--format` (as_json, form) only if it names that
    parameter.
    """

    def __init__(self, function: "Callable[..., CommandResult | ResultWork[Any] | int]") -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, **given: Any) -> int:
        """Run the function, print its result, and return the exit code."""
        from reconciler.cli.telemetry.recording import current_telemetry

        with current_telemetry().of_command(click.get_current_context().command_path):
            code = self.function.__code__
            takes = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            form = given.get("form") or ("json" if given.get("as_json") else "text")
            for name in ("form", "as_json"):
                if name in given and name not in takes:
                    del given[name]
            result = self.function(**given)
            if isinstance(result, Generator):
                return _print_yielded(result, form)
            return result if isinstance(result, int) else print_result(result, form)


def prints_result(function: "Callable[..., CommandResult | ResultWork[Any] | int]") -> CommandWork:
    """Decorate the function of a command."""
    return CommandWork(function)


def _print_yielded(work: "ResultWork[Any]", form: str) -> int:
    """Print the result that a command yields, let it go on, and return the exit code of the process."""
    result = next(work)
    try:
        code = print_result(result, form)
    except BaseException as error:
        work.throw(error)  # what the command has to do in any case is done there, and the error comes back
        raise
    try:
        next(work)
    except StopIteration as end:
        return code if end.value else _exit_code_of_missing_files(code)
    raise AssertionError("a command yields one result")


def print_result(result: "CommandResult", form: str) -> int:
    """Print a result as text, json or csv, and return the exit code of the process.

    That is the code of the result; 1 where a report is missing, unless the code tells of worse.
    """
    output.note_lines(result.notes(form))
    try:
        is_read = _print_form(result, form)
    except output.OutputLost as error:
        if result.shown_again_by:
            lost = f"the report could not be printed: {error}"
            raise output.OutputLost(lost, next=result.shown_again_by) from error
        raise
    if result.shown_again_by and not is_read:
        output.note(
            f"the report was cut off because its reader closed the output.\n  next: {result.shown_again_by}"
        )
    output.explain_failure(result.failure_lines())
    return _exit_code_of_missing_files(result.exit_code) if result.reports_missing else result.exit_code


def _print_form(result: "CommandResult", form: str) -> bool:
    """Print a result on stdout, and return whether somebody reads it."""
    from reconciler.cli.results import FileText

    if isinstance(result, FileText):
        return output.document(result.content)
    if form == "json":
        from reconciler.report.json import report_pieces

        return output.json_pieces(report_pieces(result.document(), result.exit_code))
    if form == "csv":
        is_read = output.document(result.csv())
        output.note_lines(result.csv_notes())
        return is_read
    if text := result.text():
        output.data(text)
    return output.lines(result.lines())


def _exit_code_of_missing_files(code: int) -> int:
    return 1 if code in {0, 2} else code


class Completes:
    """What a shell offers for an option or argument: what `complete_NAME` of completions.py returns."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        """Import the function, and return what it offers."""
        module = import_module("reconciler.cli.completions")
        offer: Callable[..., list[Any]] = getattr(module, f"complete_{self.name}")
        return offer(ctx, parameter, incomplete)


def restore_help(command: click.Command) -> None:
    """Give a command, and those below it, the help that PYTHONOPTIMIZE=2 took away with the docstrings.

    It is read from the source of the declaration; without one the line in the list of commands is left.
    """
    if command.help is None and command.callback is not None:
        command.help = _read_docstring(unwrap(command.callback)) or command.short_help
    for below in getattr(command, "commands", {}).values():
        restore_help(below)


def _read_docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function of a module, as it is written in its file."""
    source = "".join(linecache.getlines(function.__code__.co_filename))
    found = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))
    return next((ast.get_docstring(one) for one in found if one.name == function.__name__), None)
