"""Pages that follow from the program: fields, schemas, exit codes; and numbers that were measured."""

import re
import subprocess
import sys
from pathlib import Path

from reconciler.model.kinds import BUILT_IN_KINDS
from reconciler.model.runs import EXIT_CODE_WORDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_pages_are_those_of_the_tables() -> None:
    """Nobody edits what is generated; and what is stale is told."""
    done = subprocess.run(
        [sys.executable, ROOT / "script" / "generate_reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, ""), "run script/generate-docs"


def test_every_field_and_every_schema_is_there() -> None:
    fields, schemas = text("fields.md"), text("schemas.md")
    names = {
        path.relative_to(ROOT / "schemas").as_posix().removesuffix(".schema.json")
        for path in (ROOT / "schemas").rglob("*.schema.json")
    }

    assert [
        one.name for kind in BUILT_IN_KINDS.values() for one in kind.fields if f"`{one.name}`" not in fields
    ] == []
    assert {name for name in names if f"[`{name}`]" not in schemas} == {"common"}, "parts of others, no file"


def test_every_exit_code_has_a_section_that_ends_so() -> None:
    """Its commands are run by test_docs.py, so that what it shows is how a command really ends."""
    sections = re.split(r"^## ", text("guides/exit-codes.md"), flags=re.MULTILINE)
    shown = {one.partition("\n")[0]: one for one in sections}

    for code, word in EXIT_CODE_WORDS.items():
        section = shown[f"{code}: {word}"]
        assert f"$ echo $?\n{code}\n" in section
        assert code == 0 or "**Go on**" in section


def test_the_comparison_has_the_numbers_of_the_measurements() -> None:
    """Whoever measures anew sees here which sentence is no longer true."""
    rows = re.findall(
        r"^\| ([\d,]+) \| ([^|]+?) \| ([\d.]+) \| [^|]*\|$", text("performance.md"), re.MULTILINE
    )
    times = {(people, beside): float(factor) for people, beside, factor in rows}
    page = text("comparison.md")

    assert f"{times['100,000', 'octoDNS, first plan']:.1f} times the processor time" in page
    assert f"| {times['100,000', 'octoDNS, nothing to do, by feed and cache']:.0f} times |" in page
    assert f"{times['1,000', 'octoDNS, nothing to do, by feed and cache']:.1f} times: hardly more" in page
    assert f"{times['1,000', 'octoDNS, first plan']:.1f} times: **less**" in page
    assert f"takes {times['10,000', 'a stock script']:.0f} times the processor time" in page
