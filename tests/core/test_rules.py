"""The page of the planning rules and the code that cites it say the same."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
RULE = re.compile(r"\b[SMDXGRA]\d{1,2}\b")
STATED = set(re.findall(r"^(?:- \*\*|\| )([A-Z]\d+)(?:\*\*| \|)", PAGE, re.MULTILINE))
# Every rule that the planner decides, and how many there are of each letter.
DECIDED = {
    f"{letter}{number}"
    for letter, last in zip("SMDXG", (4, 6, 6, 5, 4), strict=True)
    for number in range(1, last + 1)
}


def docstrings(path: Path) -> str:
    """All docstrings of a module in one text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n".join(ast.get_docstring(one) or "" for one in ast.walk(tree) if isinstance(one, holders))


def cited(folder: str) -> dict[str, set[str]]:
    """The rules that docstrings below `folder` cite, by file."""
    files = sorted((ROOT / folder).rglob("*.py"))
    ours = (path for path in files if "sandbox" not in path.relative_to(ROOT).parts)
    return {path.name: set(RULE.findall(docstrings(path))) for path in ours}


def test_every_rule_that_code_cites_is_on_the_page() -> None:
    """A number that leads nowhere explains nothing."""
    unknown = {name: rules - STATED for name, rules in cited("reconciler").items() if rules - STATED}

    assert unknown == {}


def test_every_rule_of_planning_is_on_the_page_and_claimed_by_a_test() -> None:
    """A rule without a test is a wish; the ranges of a docstring do not count."""
    tests = cited("tests/core")
    claimed = set().union(*(tests[name] for name in tests if name != "test_rules.py"))

    assert STATED >= DECIDED
    # S3 and S4 are the loader's and the resolver's: golden/unreadable-manifest, golden/unknown-workspace.
    assert DECIDED - claimed <= {"S3", "S4"}
