"""The statements of the specification, and the tests that name them.

Belongs here: reading statements.yaml and the markers of the tests. Not here: claims about either.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
TESTS = HERE.parent
folders = ("sandbox", "service", "messaging", "specification")  # where statements of the service are tested


@cache
def statements() -> dict[str, str]:
    """Id -> label, for every statement."""
    sections: dict[str, dict[str, str]] = yaml.safe_load((HERE / "statements.yaml").read_text("utf-8"))
    return {f"{section}/{name}": label for section, rows in sections.items() for name, label in rows.items()}


@cache
def claims() -> dict[str, list[str]]:
    """Id -> the tests that are marked with it, as `folder/file::test` below tests/."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        for path in sorted((TESTS / folder).glob("test_*.py")):
            for test, statement in marked(ast.parse(path.read_text("utf-8"))):
                found[statement].append(f"{folder}/{path.name}::{test}")
    return found


def marked(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Every test with every id in its marker. They are read, not imported: whatever runs, all are known."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec":
                    yield from ((node.name, ast.literal_eval(one)) for one in decorator.args)
