"""A quick run tries every claim, and the proofs leave out no case."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNTING = """
import effort, pytest
TRIED = effort.count(small=3, full=1000)
@effort.sample(2)
@pytest.mark.parametrize("seed", range(TRIED and 9))
def test_seed(seed):
    assert TRIED == EXPECTED
def test_once():
    pass
def deep():
    return TRIED
@pytest.fixture
def given():
    return deep()
def test_by_a_fixture(given):
    assert given == EXPECTED
@effort.proofs_only()
def test_long():
    pass
"""
# Plugins that are installed and not needed take longer to load than these tests to run.
_QUICKLY = ("--disable-plugin-autoload", "-p", "xdist.plugin")
HELPER = "import tally\ndef counted():\n    tally.count('rows', 'any')\ndef plain():\n    pass\n"
BY_A_HELPER = """
import tally
from helper import counted, plain
def test_counted():
    counted()
def test_plain():
    plain()
"""
OTHER = "def test_other():\n    pass\n"
MANY = """
import tally, pytest
@pytest.mark.parametrize("row", range(12))
def test_every_row(row):
    tally.count("rows", "any")
@pytest.mark.parametrize("row", range(8))
def test_every_case(row):
    pass
"""


def ran(folder: Path, expected: int, *arguments: str) -> list[str]:
    """Run a small suite under our conftest, and return the tests that ran, in order."""
    lines = [line.partition(" ") for line in output(folder, expected, *arguments) if "::test_" in line]
    assert all("PASSED" in rest for _, _, rest in lines), lines
    return [name.partition("::")[2] for name, _, _ in lines]


def output(folder: Path, expected: int, *arguments: str) -> list[str]:
    """Run a small suite under our conftest, and return the lines that are printed."""
    tests = folder / "tests"
    tests.mkdir()
    for name in ("conftest.py", "counting.py", "effort.py", "memory.py", "tally.py"):
        (tests / name).write_text((ROOT / "tests" / name).read_text())
    (tests / "test_counting.py").write_text(COUNTING.replace("EXPECTED", str(expected)))
    (tests / "helper.py").write_text(HELPER)
    (tests / "test_helped.py").write_text(BY_A_HELPER)
    (tests / "test_many.py").write_text(MANY)
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
QUICK = [
    "test_seed[0]",
    "test_seed[4]",
    "test_once",
    "test_by_a_fixture",
    "test_counted",
    "test_plain",
    *(f"test_every_row[{number}]" for number in range(0, 12, 3)),
    *(f"test_every_case[{number}]" for number in range(8)),
    "test_other",
]


def test_everything_at_once_is_quick_and_leaves_out_what_is_for_the_proofs_only(tmp_path: Path) -> None:
    """Of many cases four are taken where the proofs take all, and all where they take none."""
    assert ran(tmp_path, 3) == QUICK


def test_workers_take_the_same_cases_as_one_process(tmp_path: Path) -> None:
    """A worker parses the command line itself, where nothing is said of what everything at once means."""
    lines = output(tmp_path, 3, "-n", "2")

    assert "2 workers [19 items]" in lines, lines
    assert " 19 passed in " in lines[-1]


def test_who_names_tests_gets_every_case(tmp_path: Path) -> None:
    assert ran(tmp_path, 3, "tests/test_counting.py") == [
        *SEEDS,
        "test_once",
        "test_by_a_fixture",
        "test_long",
    ]


def test_the_proofs_have_full_counts_of_what_counts(tmp_path: Path) -> None:
    """The rest is proved by script/test already, also where it stands in the same module.

    A test counts by a constant, a fixture, or what it has imported. Too little was counted here, so the run
    fails.
    """
    found = ran(tmp_path, 1000, "--effort", "proofs")

    rows = [f"test_every_row[{number}]" for number in range(12)]
    assert found == [*SEEDS, "test_by_a_fixture", "test_long", "test_counted", *rows]
    assert (tmp_path / "reliability.json").exists()


def test_a_quick_run_writes_no_report(tmp_path: Path) -> None:
    ran(tmp_path, 3)

    assert not (tmp_path / "reliability.json").exists()


def test_a_shuffled_run_holds_the_same_tests(tmp_path: Path) -> None:
    """The order is drawn from the seed alone, so that every worker has the same."""
    found = ran(tmp_path, 3, "--shuffle", "7")

    assert sorted(found) == sorted(QUICK)
    assert found != QUICK
