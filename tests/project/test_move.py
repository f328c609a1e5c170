"""script/move: what it renames, what it must not, and that a move of the project can be taken back."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import effort
import pytest
from project.test_tidy import ROOT, committed, modules, name, tree

CONTRACTS = """\
[[tool.importlinter.contracts]]
name = "layers"
type = "layers"
containers = ["reconciler.live"]
layers = ["scopes", "told"]
"""
FILES = {
    "pyproject.toml": CONTRACTS,
    "docs/page.md": "`reached` in `live/told.py` tells how far a list is; `reached` is a word.\n",
    "reconciler/__init__.py": "",
    "reconciler/live/__init__.py": "",
    "reconciler/live/told.py": '''\
"""How far a list is read."""

from typing import Literal

__all__ = ["Reached", "reached"]


class Reached:
    """So many rows."""

    def rows_so_far(self) -> "Reached":
        return self


# Above the function, because it says why.
def reached(rows: int) -> Literal["reached"]:
    """`reached` tells it."""
    return "reached" if rows else reached(1)
''',
    "reconciler/live/scopes.py": '''\
"""Reads lists."""

from reconciler.live import told
from reconciler.live.told import Reached, reached


def read(given: "Reached | None") -> object:
    """Read a list."""
    print([reached(row) for row in range(3)], told.reached(2), given)
    return reached


def count(reached: int) -> int:
    """A local name of the same spelling is another thing."""
    return [reached for reached in range(reached)][0]


class Counter:
    """As is a name of a class, which its methods do not see."""

    reached = 1

    def go(self) -> object:
        """Go."""
        return reached(self.reached)
''',
    "tests/test_scopes.py": "from reconciler.live.told import reached as told\n\nassert told(1)\n",
    "tests/sabotage/defects/live.toml": (
        "[[defect]]\nname = 'nothing is reached'\nin = 'told:reached'\nold = 'reached(1)'\nnew = '1'\n"
        "tests = ['tests/test_scopes.py']\n"
    ),
}


class Project:
    """A project in a folder, with the tool in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def move(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the tool."""
        command = [sys.executable, "-B", str(self.folder / "script" / "move.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def all_texts(self) -> dict[str, bytes]:
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        paths = [self.folder / name for name in listed.stdout.splitlines()]
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths if path.is_file()
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    for path in ("script/move.py", "tests/sabotage/anchors.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return Project(tmp_path)


def test_a_name_is_renamed_where_it_is_meant_and_nowhere_else(project: Project) -> None:
    """A word that is spelt alike is a local name, a value, or English."""
    moved = project.move("reconciler/live/told.py:reached", "report_progress")

    assert moved.returncode == 0, moved.stderr
    told, scopes = project.text("reconciler/live/told.py"), project.text("reconciler/live/scopes.py")
    assert 'def report_progress(rows: int) -> Literal["reached"]:' in told
    assert '__all__ = ["Reached", "report_progress"]' in told
    assert 'return "reached" if rows else report_progress(1)' in told
    assert "`report_progress` tells it." in told
    assert "from reconciler.live.told import Reached, report_progress" in scopes
    assert "[report_progress(row) for row in range(3)], told.report_progress(2)" in scopes
    assert "return [reached for reached in range(reached)][0]" in scopes
    assert "    reached = 1\n" in scopes
    assert "return report_progress(self.reached)" in scopes
    assert "import report_progress as told" in project.text("tests/test_scopes.py")
    assert "`report_progress` in `live/told.py`" in project.text("docs/page.md")
    defect = project.text("tests/sabotage/defects/live.toml")
    assert "in = 'told:report_progress'\nold = 'report_progress(1)'" in defect
    assert "name = 'nothing is reached'" in defect


def test_a_name_in_a_quoted_annotation_follows(project: Project) -> None:
    assert project.move("reconciler/live/told.py:Reached", "ReadProgress").returncode == 0
    assert 'def rows_so_far(self) -> "ReadProgress":' in project.text("reconciler/live/told.py")
    assert 'def read(given: "ReadProgress | None")' in project.text("reconciler/live/scopes.py")


def test_a_module_takes_imports_contracts_defects_and_docs_with_it(project: Project) -> None:
    assert project.move("reconciler/live/told.py", "reconciler/live/progress.py").returncode == 0

    scopes = project.text("reconciler/live/scopes.py")
    assert "from reconciler.live import progress\n" in scopes
    assert "from reconciler.live.progress import Reached, reached\n" in scopes
    assert "progress.reached(2)" in scopes
    assert 'layers = ["scopes", "progress"]' in project.text("pyproject.toml")
    assert "in = 'progress:reached'" in project.text("tests/sabotage/defects/live.toml")
    assert "`reached` in `live/progress.py`" in project.text("docs/page.md")


def test_a_definition_moves_with_its_comment_and_every_import_follows(project: Project) -> None:
    """`module.name` becomes an import of the name, so that no module is imported for a name it has not."""
    (project.folder / "reconciler" / "logbook.py").write_text('"""Names of logs."""\n', "utf-8")

    moved = project.move("reconciler/live/told.py:reached", "reconciler/logbook.py:report_progress")

    assert moved.returncode == 0, moved.stderr
    log, scopes = project.text("reconciler/logbook.py"), project.text("reconciler/live/scopes.py")
    assert "# Above the function, because it says why.\ndef report_progress" in log
    assert "from typing import Literal" in log
    assert "reached(" not in project.text("reconciler/live/told.py")
    assert "from reconciler.logbook import report_progress" in scopes
    assert "range(3)], report_progress(2)" in scopes
    compile(scopes, "scopes", "exec")


def test_a_module_is_added_to_another_one_that_used_it(project: Project) -> None:
    """What both import stands once, nothing is imported from the module that is gone, and rows follow."""
    moved = project.move("reconciler/live/told.py", "+reconciler/live/scopes.py")

    assert moved.returncode == 0, moved.stdout + moved.stderr
    scopes = project.text("reconciler/live/scopes.py")
    assert not (project.folder / "reconciler" / "live" / "told.py").exists()
    assert scopes.startswith('"""Reads lists."""\n\nfrom typing import Literal\n')
    assert "# --- How far a list is read ---" in scopes
    assert "# Above the function, because it says why.\ndef reached" in scopes
    assert scopes.index("def reached") < scopes.index("def read(")
    assert "import told" not in scopes
    assert "live.told" not in scopes
    assert "for row in range(3)], reached(2)" in scopes
    assert "from reconciler.live.scopes import reached as told" in project.text("tests/test_scopes.py")
    assert 'layers = ["scopes"]' in project.text("pyproject.toml")
    assert "in = 'scopes:reached'" in project.text("tests/sabotage/defects/live.toml")
    assert "`reached` in `live/scopes.py`" in project.text("docs/page.md")
    compile(scopes, "scopes", "exec")


def test_a_module_is_added_behind_one_that_does_not_use_it(project: Project) -> None:
    assert project.move("reconciler/live/scopes.py", "+reconciler/live/told.py").returncode == 0

    told = project.text("reconciler/live/told.py")
    assert told.index("def reached") < told.index("# --- Reads lists ---") < told.index("def read(")
    assert "\nfrom reconciler" not in told


def test_a_module_is_not_added_where_a_name_would_mean_two_things(project: Project) -> None:
    other = project.folder / "reconciler" / "live" / "other.py"
    other.write_text('"""Other."""\n\nfrom json import loads as read\n\nreached = read("1")\n', "utf-8")
    before = project.all_texts()

    refused = project.move("reconciler/live/scopes.py", "+reconciler/live/other.py")

    assert refused.returncode == 2
    assert "reached is reconciler.live.told.reached and reconciler.live.other.reached" in refused.stderr
    assert "read is reconciler.live.scopes.read and json.loads: rename first" in refused.stderr
    assert project.all_texts() == before


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("reconciler/live/nothing.py", "reconciler/live/a.py", "reconciler/live/nothing.py is not there"),
        ("reconciler/live/told.py", "reconciler/live/scopes.py", "scopes.py is there already"),
        ("reconciler/live/told.py:nothing", "other", "told.py defines no nothing"),
        ("reconciler/live/told.py:reached", "Reached", "told.py has Reached already"),
        ("reconciler/live/told.py:reached", "read", "scopes.py has read already"),
        ("reconciler/live/told.py:reached", "reconciler/absent.py", "reconciler/absent.py is not there"),
        ("reconciler/live/told.py:Reached.absent", "other", "absent is a method or field in 0 classes"),
    ],
)
def test_a_move_that_cannot_be_made_writes_nothing(project: Project, old: str, new: str, why: str) -> None:
    """Half a rename would have to be undone by hand."""
    before = project.all_texts()

    refused = project.move(old, new)

    assert refused.returncode == 2
    assert why in refused.stderr
    assert project.all_texts() == before


def test_a_defect_that_lost_its_place_is_named(project: Project) -> None:
    """It would plant nothing, and its promise would be held by nobody."""
    file = project.folder / "tests" / "sabotage" / "defects" / "live.toml"
    file.write_text(file.read_text("utf-8").replace("reached(1)", "reached(7)"), "utf-8")

    moved = project.move("reconciler/live/told.py:Reached", "ReadProgress")

    assert moved.returncode == 1
    assert "name = 'nothing is reached': the row has no place" in moved.stdout


def moves_of_the_project() -> tuple[str, str]:
    """Return a package, every fortieth module and a public function of each, moved; and the way back.

    The new name of a function is as long as the old one. A longer one may break a line, and a line that the
    formatter broke behind a comma stays broken.
    """
    found = [(path, functions) for path in modules() if (functions := public_functions(path))]
    pairs = [("reconciler/store", "reconciler/store_moved")]
    for path, functions in found[::40]:
        if (place := name(path)) and not place.startswith("reconciler/store"):
            moved = place.replace(".py", "_moved.py")
            pairs += [(f"{place}:{functions[0]}", f"{place}:{functions[0][:-1]}0"), (place, moved)]
    there = "".join(f"{old} {new}\n" for old, new in pairs)
    return there, "".join(f"{new} {old}\n" for old, new in reversed(pairs))


def public_functions(path: Path) -> list[str]:
    """Those whose name stands in this module alone: another one of its name may be bound beside it."""
    every = [
        one.name for module in modules() for one in tree(module).body if isinstance(one, ast.FunctionDef)
    ]
    own = [one.name for one in tree(path).body if isinstance(one, ast.FunctionDef)]
    return [one for one in own if "_" in one[1:-1] and not one.startswith("_") and every.count(one) == 1]


@effort.proofs_only()
def test_moves_over_the_whole_project_and_back_change_nothing(tmp_path: Path) -> None:
    """Imports, planted defects and docs carry each move, there and back."""
    for path in committed():
        target = tmp_path / "there" / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    project = Project(tmp_path / "there")
    subprocess.run(["git", "init", "--quiet"], cwd=project.folder, check=True)
    before = project.all_texts()

    for moves in moves_of_the_project():
        (tmp_path / "moves.txt").write_text(moves, "utf-8")
        moved = project.move("--file", str(tmp_path / "moves.txt"))
        assert moved.returncode == 0, moved.stdout + moved.stderr
        imported = subprocess.run(
            [
                sys.executable,
                "-B",
                "-c",
                "import reconciler.cli.main, reconciler.library, reconciler.pipeline",
            ],
            cwd=project.folder,
            env={"PYTHONPATH": str(project.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert imported.returncode == 0, imported.stderr

    assert project.all_texts() == before
