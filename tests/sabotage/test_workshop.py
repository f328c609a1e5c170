"""The interpreter of a copy: tests that run there find what they need, and nothing of the original."""

import subprocess
import sys
from pathlib import Path

from sabotage.workshop import interpreter


def test_a_copy_has_the_programs_of_libraries_and_not_ours(tmp_path: Path) -> None:
    """In a copy without linters six tests failed, under every condition of script/flaky."""
    programs = Path(interpreter(tmp_path)).parent
    ours = Path(sys.executable).parent

    assert {one.name for one in ours.iterdir()} - {one.name for one in programs.iterdir()} <= {"reconciler"}
    assert not (programs / "reconciler").exists()
    assert subprocess.run([programs / "ruff", "--version"], capture_output=True, check=False).returncode == 0


def test_a_copy_runs_its_own_code(tmp_path: Path) -> None:
    package = tmp_path / "reconciler"
    package.mkdir()
    package.joinpath("__init__.py").write_text("", encoding="utf-8")

    words = [interpreter(tmp_path), "-c", "import reconciler, click; print(reconciler.__file__)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path.parent)

    assert done.stdout.strip() == str(package / "__init__.py")
