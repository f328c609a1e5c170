"""What docs/architecture.md says of the code, held against it: which paths there are, and what calls what."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"

_LINE = re.compile(r"(?P<number>[0-9]+)\. `(?P<file>[a-z_/]+\.py)`: `(?:\w+\.)?(?P<name>\w+)` - \S.*")
_PATH = re.compile(r"`([\w.-]*/[\w/.-]*|\w+\.py)`")
_MODULE = re.compile(r"(?<![\w/.])(?:[a-z_]+/)+[a-z_]+\.py\b")
_QUOTED = re.compile(r"`([^`\n]+)`")
_NAMED = re.compile(r"`([\w.]+)` in `([\w/]+\.py)`")
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


def is_there(path: str) -> bool:
    """Whether a path of the page is one of the package, or of the whole project."""
    return (ROOT / "reconciler" / path).exists() or (ROOT / path).exists()


def defined(file: str) -> set[str]:
    """Return the names of a file: classes, functions, constants; methods also behind that of their class."""
    path = next(one for one in (ROOT / "reconciler" / file, ROOT / file) if one.is_file())
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    constants = {
        target.id
        for one in tree.body
        if isinstance(one, ast.Assign | ast.AnnAssign)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name)
    }
    plain = {node.name for node in nodes if isinstance(node, ast.ClassDef | _Function)}
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return (
        constants
        | plain
        | {f"{one.name}.{node.name}" for one in classes for node in one.body if isinstance(node, _Function)}
    )


def test_every_path_of_the_page_is_there() -> None:
    """A file that was moved would send its reader to nothing."""
    named = _PATH.findall(PAGE.read_text(encoding="utf-8"))

    assert len(named) > 30
    assert [path for path in named if not is_there(path)] == []


def test_every_function_that_the_page_names_is_in_its_file() -> None:
    """The page sends its reader to names that search finds."""
    named = _NAMED.findall(PAGE.read_text(encoding="utf-8"))

    assert len(named) > 5
    assert [(name, file) for name, file in named if name not in defined(file)] == []


def test_every_path_in_a_comment_or_docstring_of_the_package_is_there() -> None:
    """Code that was moved leaves such words behind, and they send their reader to nothing."""
    there = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("[!.]*/**/*.py")]
    stale = [
        f"{file.relative_to(ROOT).as_posix()}: {path}"
        for file in (ROOT / "reconciler").rglob("*.py")
        for path in _MODULE.findall(file.read_text(encoding="utf-8"))
        if not any(one.endswith(f"/{path}") for one in there)
    ]

    assert there
    assert stale == []


def test_every_module_that_a_page_names_is_there() -> None:
    """A guide that names a file which was moved stops its reader at the first step."""
    bases = [ROOT, *(ROOT / name for name in ("reconciler", "tests", "script", "bench"))]
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "tests" / "README.md"]
    named = [
        (page, path)
        for page in pages
        for quoted in _QUOTED.findall(page.read_text(encoding="utf-8"))
        for path in _MODULE.findall(quoted)  # `commands/NAME.py` stands for any file
    ]

    assert len({page for page, _ in named}) > 5
    assert [
        f"{page.relative_to(ROOT).as_posix()}: {path}"
        for page, path in named
        if not any((base / path).is_file() for base in bases)
    ] == []


def test_the_page_is_read_in_ten_minutes() -> None:
    """It says where the hard decisions are; names are unique, so that search finds the rest."""
    assert len(PAGE.read_text(encoding="utf-8").split()) < 2_000
