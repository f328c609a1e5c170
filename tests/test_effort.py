"""A quick run tries every claim, and the proofs leave out no case."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTING = """
import effort, pytest
TRIED = effort.count(small=3, full=1000)
@effort.sample(2)
@pytest.mark.parametrize("seed", range(TRIED and 9))
def test_seed(seed):
    assert TRIED == EXPECTED
def test_once():
    pass
@effort.proofs_only()
def test_long():
    pass
"""
# Plugins that are installed and not needed take longer to load than these tests to run.
_QUICKLY = ("--disable-plugin-autoload", "-p", "xdist.plugin")
OTHER = "def test_other():\n    pass\n"


def ran(folder: Path, expected: int, *arguments: str) -> list[str]:
    """Run a small suite under our conftest, and return the tests that ran, in order."""
    lines = [line.partition(" ") for line in output(folder, expected, *arguments) if "::test_" in line]
    assert all("PASSED" in rest for _, _, rest in lines), lines
    return [name.partition("::")[2] for name, _, _ in lines]


def output(folder: Path, expected: int, *arguments: str) -> list[str]:
    """Run a small suite under our conftest, and return the lines that are printed."""
    tests = folder / "tests"
    tests.mkdir()
    for name in ("conftest.py", "effort.py", "tally.py"):
        (tests / name).write_text((ROOT / "tests" / name).read_text())
    (tests / "test_counting.py").write_text(COUNTING.replace("EXPECTED", str(expected)))
    (tests / "test_other.py").write_text(OTHER)
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *_QUICKLY, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


SEEDS = [f"test_seed[{number}]" for number in range(9)]


def test_everything_at_once_is_quick_and_leaves_out_what_is_for_the_proofs_only(tmp_path: Path) -> None:
    assert ran(tmp_path, 3) == ["test_seed[0]", "test_seed[4]", "test_once", "test_other"]


def test_workers_take_the_same_cases_as_one_process(tmp_path: Path) -> None:
    """A worker parses the command line itself, where nothing is said of what everything at once means."""
    lines = output(tmp_path, 3, "-n", "2")

    assert "2 workers [4 items]" in lines, lines
    assert " 4 passed in " in lines[-1]


def test_who_names_tests_gets_every_case(tmp_path: Path) -> None:
    assert ran(tmp_path, 3, "tests/test_counting.py") == [*SEEDS, "test_once", "test_long"]


def test_the_proofs_have_full_counts_of_what_counts(tmp_path: Path) -> None:
    """The rest is proved by script/test already. Too little was counted here, so the run fails."""
    assert ran(tmp_path, 1000, "--effort", "proofs") == [*SEEDS, "test_once", "test_long"]
    assert (tmp_path / "reliability.json").exists()


def test_a_quick_run_writes_no_report(tmp_path: Path) -> None:
    ran(tmp_path, 3)

    assert not (tmp_path / "reliability.json").exists()


def test_a_shuffled_run_holds_the_same_tests(tmp_path: Path) -> None:
    """The order is drawn from the seed alone, so that every worker has the same."""
    found = ran(tmp_path, 3, "--shuffle", "7")

    assert sorted(found) == sorted(["test_seed[0]", "test_seed[4]", "test_once", "test_other"])
    assert found != ["test_seed[0]", "test_seed[4]", "test_once", "test_other"]
