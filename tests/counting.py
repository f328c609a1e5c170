"""Which tests count something: those whose names lead to `effort` or `tally`, however far away.

    counting(tests / "laws" / "test_undo.py")   {"EXAMPLES", "test_an_undo_is_planned_from_what_is_live", ...}

A name leads to another that stands in its definition: a constant, a helper, a decorator, a fixture among the
arguments, a string that is a name. What a module imports from another one of the tests leads on there. Too
many names are found rather than too few: a proof that is left out would be missed, one too many takes time.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ROOTS = frozenset({"effort", "tally"})
_FOR_ALL = ("pytestmark",)  # holds for every test of its module


@cache
def counting(module: Path) -> frozenset[str]:
    """Return the names of a test module's top level that lead to what counts."""
    tree = ast.parse(module.read_text("utf-8"))
    uses, found = _uses(tree), _imported(tree)
    if module.name.startswith("test_"):
        found |= _fixtures(module.parent)
    while True:
        more = {name for name, used in uses.items() if name not in found and not found.isdisjoint(used)}
        if not more:
            break
        found |= more
    return frozenset(uses if found.intersection(_FOR_ALL) else found)


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Return what each name of the top level is defined with."""
    uses: dict[str, set[str]] = {}
    for statement in tree.body:
        used = {*_mentioned(statement)}
        for name in _defined(statement):
            uses.setdefault(name, set()).update(used)
    return uses


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    else:  # whatever a statement assigns, also within an `if`, a `with` or a loop
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _mentioned(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that a module imports and that count where they come from."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_bound(one) for one in node.names if one.name in ROOTS or _counts(one.name)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            file = _file(node.module)
            names = _names(file) if file else frozenset()
            inner = {one.name for one in node.names if _counts(f"{node.module}.{one.name}")}
            found |= {one.asname or one.name for one in node.names if one.name in names | inner}
    return found


def _bound(one: ast.alias) -> str:
    return one.asname or one.name.partition(".")[0]


def _counts(name: str) -> bool:
    """Whether anything counts in the module of the tests that has this name, if there is one."""
    file = _file(name)
    return file is not None and bool(_names(file))


def _names(file: Path) -> frozenset[str]:
    if file.stem in ROOTS or file in _under_way:
        return frozenset()
    _under_way.append(file)
    try:
        return counting(file)
    finally:
        _under_way.pop()


_under_way: list[Path] = []  # of two modules that import each other, one is read without the other


def _file(name: str) -> Path | None:
    path = TESTS.joinpath(*name.split(".")).with_suffix(".py")
    return path if path.is_file() else None


def _fixtures(folder: Path) -> frozenset[str]:
    """Return the fixtures that count, of this folder's conftest and of those above it but the first."""
    if folder == TESTS or TESTS not in folder.parents:
        return frozenset()
    file = folder / "conftest.py"
    return (_names(file) if file.is_file() else frozenset()) | _fixtures(folder.parent)
