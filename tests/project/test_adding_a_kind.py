"""docs/adding-a-kind.md, done: one row here, one in the sandbox and one golden case are a kind."""

import re
import shutil
import subprocess
from pathlib import Path

from sabotage.workshop import ROOT, Workshop

PAGE = ROOT / "docs" / "adding-a-kind.md"
# What the copy is asked to do with its new kind, over both forms: a plan, an apply, and nothing left to do.
TRIED = """
import sys
from pathlib import Path
from world import World

for form in ("json", "xml"):
    root = Path(sys.argv[1]) / form
    root.mkdir()
    world = World(root, service={"format": form})
    world.write({"templates": {"hello": {"name": "hello", "body": "Good morning", "type": "defaultReply"}}})
    planned, run = world.apply()
    assert [change.address for change in planned.plan.changes] == ["template/default/hello"], planned
    assert run.exit_code == 0, run.outcomes
    assert world.plan().plan.changes == ()
    world.write({"templates": {}})
    planned, run = world.apply()
    assert [type(change).__name__ for change in planned.plan.changes] == ["Delete"], planned
    assert world.plan().plan.changes == ()
"""


def change() -> str:
    """The change that the page shows."""
    found = re.search(r"^```diff\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def test_one_file_here_one_of_the_sandbox_and_a_golden_case_are_a_kind() -> None:
    """A new kind stays cheap: whoever needs a third file has found a column that is missing."""
    files = re.findall(r"^\+\+\+ b/(.*)$", change(), re.MULTILINE)

    golden = [file for file in files if file.startswith("tests/golden/")]
    assert [file for file in files if file not in golden] == [
        "reconciler/model/kinds.py",
        "reconciler/sandbox/collections.py",
    ]
    assert len({file.split("/")[2] for file in golden}) == 1


def test_the_change_of_the_page_adds_a_kind(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "copy")
    shutil.copytree(ROOT / "script", workshop.folder / "script")
    patched = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=workshop.folder,
        input=change(),
        text=True,
        capture_output=True,
        check=False,
    )
    assert patched.returncode == 0, patched.stderr

    workshop.python("script/generate_schemas.py")
    tests = workshop.run(
        ["tests/pipeline/test_kinds.py", "tests/pipeline/test_golden.py", "-k", "template or schemas"]
    )
    assert tests.returncode == 0, tests.stdout[-3000:]
    assert int(re.findall(r"(\d+) passed", tests.stdout)[0]) > 10
    (tmp_path / "tried.py").write_text(TRIED, "utf-8")
    (tmp_path / "worlds").mkdir()
    workshop.python(str(tmp_path / "tried.py"), str(tmp_path / "worlds"), path=workshop.folder / "tests")
