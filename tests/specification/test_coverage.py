"""Every statement of the specification has a test that names it, and every test names one that exists."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
TESTS = HERE.parent
folders = ("sandbox", "service", "receiver", "specification")  # where statements of the service are tested


@cache
def statements() -> dict[str, str]:
    """Id -> label, for every statement."""
    sections: dict[str, dict[str, str]] = yaml.safe_load((HERE / "statements.yaml").read_text("utf-8"))
    return {f"{section}/{name}": label for section, rows in sections.items() for name, label in rows.items()}


@cache
def claims() -> dict[str, list[str]]:
    """Id -> the tests that are marked with it."""
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


def test_every_statement_has_a_test(
    record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A row, a rule or a cell that no test names may be forgotten without anybody noticing."""
    without = [statement for statement in statements() if statement not in claims()]
    tests = {test for found in claims().values() for test in found}

    record_property("statements", len(statements()))
    with capsys.disabled():
        text = f"{len(statements())} statements of the specification, {len(tests)} tests name them"
        print(f" {text}", end=" ")  # noqa: T201 - the number is a promise
    assert without == []


def test_every_marker_names_a_statement() -> None:
    """A slip in an id would claim nothing."""
    assert {claim: tests for claim, tests in claims().items() if claim not in statements()} == {}


def test_only_tests_are_marked_and_each_statement_once_a_test() -> None:
    for found in claims().values():
        assert len(set(found)) == len(found)
        assert all(test.partition("::")[2].startswith("test_") for test in found)


def test_every_section_is_there() -> None:
    """The table of contents of the specification; the introduction is 0."""
    sections = list(dict.fromkeys(statement.partition("/")[0] for statement in statements()))

    parts = {"2": 7, "3": 2, "4": 6}
    whole: list[str] = []
    for section in map(str, range(10)):
        whole += [section] if section not in ("2", "3") else []  # these two say nothing above their parts
        whole += [f"{section}.{part + 1}" for part in range(parts.get(section, 0))]
    assert sections == whole
