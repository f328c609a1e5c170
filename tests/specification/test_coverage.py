"""Every statement of the specification has a test that names it, and every test names one that exists."""

from collections.abc import Callable

import pytest
from specification.statements import claims, statements


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
