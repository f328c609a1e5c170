"""Each known way to break a promise is planted, and the tests must turn red.

First in the memory of a process that has imported all the rest (trial.py), and of the commands that it
forks. Tests that start the program as a process of its own do not see the defect there, and some notice it
only among many examples, so what stays green is planted in a copy as well (workshop.py), which has such a
process of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import effort
import pytest
import tally
from sabotage.anchors import Package
from sabotage.defects import DEFECTS, Defect
from sabotage.trial import ROOT, Trials, trials
from sabotage.workshop import Workshop

# Where tests start the program as a process of its own, with an interpreter, a shell or a terminal: a defect
# in memory is none there. What stays green or comes to no verdict elsewhere (it looks at a file, or starts
# one process of many) is tried in the copy too.
COMMANDS = (
    "tests/cli/test_completion.py",
    "tests/cli/test_ignored_signals.py",
    "tests/cli/test_output.py",
    "tests/cli/test_process.py",
    "tests/crash/",
    "tests/examples/",
)
IN_MEMORY = bool(effort.count(small=0, full=1))


def is_inside(tests: Sequence[str]) -> bool:
    """Whether tests can notice a defect that is in memory alone. A few rows are not worth that process."""
    return IN_MEMORY and not any(test.startswith(COMMANDS) for test in tests)


FILES = [test for test in COMMANDS if test.endswith(".py")]  # they import all that is needed
CHOSEN = sorted(set(chain.from_iterable(defect.tests for defect in DEFECTS)))
# Those that need the copy stand together, so that one or two workers of a run make it, and not all.
ROWS = sorted(DEFECTS, key=lambda defect: bool(defect.file) or not is_inside(defect.tests))
INSIDE = [test.removeprefix("tests/") for test in CHOSEN if is_inside([test])]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def beside(workshop: Workshop) -> Iterator[Trials]:
    """The process of the copy. The example that notices a defect may be one of the later ones."""
    files = [test.removeprefix("tests/") for test in FILES]
    with trials(files, root=workshop.folder, python=workshop.python_path, effort="full") as started:
        started.wait_until_ready()
        yield started


@pytest.fixture(scope="session")
def copy(request: pytest.FixtureRequest) -> Callable[[], tuple[Workshop, Trials]]:
    """Make the copy and its process once something asks for them: most workers never do."""
    return lambda: (request.getfixturevalue("workshop"), request.getfixturevalue("beside"))


@pytest.fixture(scope="session")
def package() -> Package:
    return Package(ROOT)


@pytest.fixture(scope="session")
def process() -> Iterator[Trials | None]:
    if not INSIDE:
        yield None
        return
    with trials(sorted({test.partition("::")[0] for test in INSIDE})) as started:
        yield started


def test_the_copy_is_what_is_tested(workshop: Workshop) -> None:
    """Otherwise every defect would be planted beside what runs."""
    assert workshop.module_file().is_relative_to(workshop.folder)


@effort.sample(4)
@effort.landing_part(6)
@pytest.mark.parametrize("defect", ROWS, ids=[defect.name.replace(" ", "-") for defect in ROWS])
def test_a_planted_defect_is_caught(
    copy: Callable[[], tuple[Workshop, Trials]], process: Trials | None, package: Package, defect: Defect
) -> None:
    """A suite that stays green over a broken promise proves nothing of the promise."""
    red = is_caught_inside(process, package, defect) or is_caught_outside(*copy(), defect)

    tally.count("sabotages missed", "any", 0)
    if not red:
        tally.count("sabotages missed", defect.name)
    assert red, f"{defect.name}: nothing turned red in {defect.tests}"
    tally.count("sabotages caught", defect.name)


def is_caught_inside(process: Trials | None, package: Package, defect: Defect) -> bool:
    if process is None or defect.file or not is_inside(defect.tests):
        return False
    tests = [test.removeprefix("tests/") for test in defect.tests]
    result = process.run(tests, defect.planted(package, ROOT))
    return result.verdict == "red" and is_green(process, result.case)


def is_caught_outside(workshop: Workshop, beside: Trials, defect: Defect) -> bool:
    tests = [test.removeprefix("tests/") for test in defect.tests]
    with workshop.planted(defect):
        result = beside.run(tests, {})
    assert result.verdict != "none", result
    return result.verdict != "green" and is_green(beside, result.case)


def is_green(process: Trials, case: str) -> bool:
    """Claim that what turned red does so for the defect: a test that is red anyway catches nothing."""
    unchanged = process.run_unchanged(case)
    assert unchanged.verdict == "green", f"{case}, without any defect: {unchanged}"
    return True
