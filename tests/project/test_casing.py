"""Full case folding makes texts of two people equal: it stands only where the reason is written here."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2] / "reconciler"
ALLOWED = {
    "core/compare/identity.py": "what only looks the same is for warnings, and decides nothing",
    "core/export.py": "new names: file systems and shells fold as they like, so more is taken",
    "manifest/fmt.py": "words of YAML: one more is quoted",
    "manifest/export.py": "names of files, and words of YAML: one more is taken, or quoted",
}


def test_nothing_is_compared_by_full_case_folding() -> None:
    """`casefold` makes one of `strauß` and `strauss`; letter case is core/text.py."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if re.search(r"(?<!`str)\.casefold\b(?!`)", path.read_text("utf-8"))
    }

    assert found == {*ALLOWED}


def test_compatibility_forms_are_for_warnings_and_new_names() -> None:
    """NFKC makes one of full-width letters and others, of ligatures and of what they stand for."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if re.search(r"NFK[CD]", path.read_text("utf-8"))
    }

    # A reply with a word that only looks like a code is unclear: it counts for nothing.
    assert found == {"core/compare/identity.py", "core/text.py", "core/review/approvals.py"}
