"""The lists of docs/architecture.md that say what calls what, held against the code."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"

_LINE = re.compile(r"(?P<number>[0-9]+)\. `(?P<file>[a-z_/]+\.py)`: `(?P<name>\w+)` - \S.*")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Hop(NamedTuple):
    """One line of a list: a function, and the file in which it is."""

    file: str
    name: str


@cache
def hops(command: str) -> tuple[Hop, ...]:
    """Return the list below the line that begins with a command."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"\n`{command}`, ")
    found = list(map(_LINE.fullmatch, after.split("\n\n")[1].splitlines()))
    assert [match and int(match["number"]) for match in found] == list(range(1, len(found) + 1))
    return tuple(Hop(match["file"], match["name"]) for match in found if match)


@cache
def functions(hop: Hop) -> tuple[_Function, ...]:
    """Return every function of this name in the file, methods and inner ones included."""
    tree = ast.parse((ROOT / "reconciler" / hop.file).read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, _Function) and node.name == hop.name)


def called(function: _Function) -> set[str]:
    """Return the last part of every name that a function calls, here or in a lambda within it."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    named = {node.id for node in calls if isinstance(node, ast.Name)}
    return named | {node.attr for node in calls if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(("command", "most"), [("reconciler apply", 15), ("reconciler plan", 10)])
def test_a_call_takes_few_hops_from_the_command_to_the_request(command: str, most: int) -> None:
    """Whoever asks what a command does has to follow it through all of them."""
    assert 0 < len(hops(command)) <= most


@pytest.mark.parametrize("command", ["reconciler apply", "reconciler plan"])
def test_every_listed_function_is_there_and_calls_the_next_one(command: str) -> None:
    """A list that left a hop out, or named one that is gone, would send its reader the wrong way.

    What is handed on, as in `finish(lambda signals: _verb(...))`, is called by the hop that hands it on.
    """
    listed = hops(command)
    calls = [{name for one in functions(hop) for name in called(one)} for hop in listed]

    assert [hop for hop in listed if not functions(hop)] == []
    assert [
        hop
        for at, hop in enumerate(listed)
        if at and hop.name not in set().union(*calls[max(0, at - 3) : at])
    ] == []
