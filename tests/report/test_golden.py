"""The reports as people see them, one file each in golden/.

To renew them after a change that is meant: `RENEW_GOLDEN=1 script/test tests/report/test_golden.py`, then
read the difference in git before it is committed. They have to look good at 100 columns.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec import structs
from report import cases

from reconciler.errors import Problem
from reconciler.model.address import Address, contact_address
from reconciler.model.plans import Verdict
from reconciler.report.json import drift_json, plan_json, problems_json, run_json
from reconciler.report.lines import Line, screen_columns, width
from reconciler.report.plan_difference import plan_difference
from reconciler.report.text import drift_lines, plain, plan_lines, problem_lines, run_lines

GOLDEN = Path(__file__).parent / "golden"
SAFE = Verdict()
APPLY = "reconciler apply plan.json"
PROBLEMS = (
    Problem(
        "manifests/ops.yaml",
        14,
        7,
        "contact/ops/jane-doe: fristName is not a field of a contact.",
        "did you mean firstName?",
        code="E201",
    ),
    Problem("people/staff.csv", 3, 2, "contact/ops/1042: the e-mail address is empty.", code="E100"),
)
SIZES = {cases.IMPORT.address: 12_698}
WHOM = {
    contact_address("ops", "jane-doe"): "Jane Doe, jane.doe@example.com",
    contact_address("ops", "ann-poe"): "Ann Poe, ann.poe@example.com",
    contact_address("ops", "chief"): "Carl \x1b[2J" + "Chief " * 20,
}


def who(address: Address) -> str:
    """Say who somebody is, of some."""
    return WHOM.get(address, "")


TEXTS: Mapping[str, Callable[[], tuple[Line, ...]]] = {
    "plan-mixed": lambda: plan_lines(cases.MIXED, SAFE, next_step=APPLY, seconds=1.23, sizes=SIZES, whom=who),
    "plan-full": lambda: plan_lines(cases.MIXED, SAFE, full=True, next_step=APPLY, seconds=1.23, sizes=SIZES),
    "plan-empty": lambda: plan_lines(cases.EMPTY, SAFE, next_step=APPLY),
    "plan-refused": lambda: plan_lines(cases.LONG, cases.REFUSED, next_step=APPLY, seconds=104.0),
    "plan-wide": lambda: plan_lines(cases.WIDE, SAFE, next_step="reconciler apply"),
    "drift": lambda: drift_lines(cases.MIXED, whom=who),
    "drift-none": lambda: drift_lines(cases.EMPTY),
    "run-done": lambda: run_lines(cases.DONE),
    "run-full": lambda: run_lines(cases.DONE, full=True, verbose=True),
    "run-in-doubt": lambda: run_lines(cases.PARTIAL),
    "run-nothing": lambda: run_lines(
        structs.replace(cases.DONE, outcomes=(), adopted=0, calls={"GET": 27}, gap=None)
    ),
    "difference": lambda: plan_difference(cases.MIXED, cases.LATER),
    "problems": lambda: problem_lines(PROBLEMS),
}
DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "plan": lambda: plan_json(cases.MIXED, SAFE, 2),
    "run": lambda: run_json(cases.PARTIAL),
    "drift": lambda: drift_json(cases.MIXED),
    "problems": lambda: problems_json(PROBLEMS),
}


def compare(path: Path, text: str) -> None:
    if os.environ.get("RENEW_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TEXTS)
def test_a_report_reads_as_its_golden_file(name: str) -> None:
    """What people read is reviewed as what it is: text, in a file, in a pull request."""
    compare(GOLDEN / f"{name}.txt", plain(TEXTS[name]()))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_json_report_is_its_golden_file(name: str) -> None:
    """Other people's programs read it: a change of its shape has to be seen."""
    compare(GOLDEN / f"{name}.json", DOCUMENTS[name]())


def test_every_golden_file_belongs_to_a_case() -> None:
    """A golden file without a case would stay in the tree unchecked."""
    kept = {path.name for path in GOLDEN.iterdir()}

    assert kept == {f"{name}.txt" for name in TEXTS} | {f"{name}.json" for name in DOCUMENTS}


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"plan-full"}))
def test_tables_fit_a_hundred_columns(name: str) -> None:
    """Columns that wrap cannot be read. Sentences may wrap; they have no columns."""
    rows = [
        line
        for line in plain(TEXTS[name]()).splitlines()
        if "→" in line or line.startswith(("- ", "~ ", "+ "))
    ]

    assert [row for row in rows if width(row) > screen_columns] == []
