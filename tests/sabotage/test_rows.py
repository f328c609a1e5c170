"""Every row of the defects applies to the code as it is, without a run of any test."""

from collections import Counter
from pathlib import Path

import pytest
from sabotage.anchors import NoPlaceError, Package
from sabotage.defects import DEFECTS, defect
from specification.mutants import MUTANTS

ROOT = Path(__file__).parents[2]


def test_every_defect_has_its_place() -> None:
    """A row that no longer applies proves nothing. The failure names every such row and the reason."""
    package, found = Package(ROOT), []
    for one in DEFECTS:
        try:
            one.check(package, ROOT)
        except NoPlaceError as error:
            found.append(str(error))

    assert not found, "\n".join(found)


def test_every_defect_names_a_function_that_exists() -> None:
    """A row of a function that is gone is looked for in the whole package, and may find a twin elsewhere.

    So two rows once stood in the client after the sandbox was renamed, where none of their tests look.
    """
    package = Package(ROOT)
    gone = [
        (one.name, edit.within)
        for one in (*DEFECTS, *MUTANTS)
        for edit in one.edits
        if not one.file and edit.within and not package.has(edit.within)
    ]

    assert gone == []


def test_every_defect_has_a_name_of_its_own() -> None:
    """The report counts names."""
    names = Counter(one.name for one in DEFECTS)

    assert [name for name, number in names.items() if number > 1] == []


def test_every_defect_names_a_test_that_exists() -> None:
    """An unknown test ends pytest with an error and an error is no verdict."""
    named = {test.partition("[")[0] for one in DEFECTS for test in one.tests}
    missing = []
    for test in sorted(named):
        path, *names = test.split("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        missing += [test] if not text or any(f"{name}(" not in text for name in names[-1:]) else []

    assert missing == []


def test_a_row_for_text_names_its_file() -> None:
    """What is not Python has no functions: the text must be there once."""
    row = {
        "name": "x",
        "file": "schemas/plan.schema.json",
        "old": '"$schema"',
        "new": '"schema"',
        "tests": [],
    }

    planted = defect(row).planted(Package(ROOT, "reconciler/core"), ROOT)

    assert '"schema"' in planted["schemas/plan.schema.json"]


def test_a_text_that_is_gone_fails_with_the_name_of_the_row() -> None:
    row = {"name": "left behind", "file": "README.md", "old": "no such text", "new": "", "tests": []}

    with pytest.raises(NoPlaceError, match=r"the row 'left behind' no longer applies: .* 0 times"):
        defect(row).planted(Package(ROOT, "reconciler/core"), ROOT)


def test_a_row_says_either_where_in_the_code_or_which_file() -> None:
    with pytest.raises(AssertionError, match="say `in`, or `file`"):
        defect({"name": "neither", "old": "a", "new": "b", "tests": []})
