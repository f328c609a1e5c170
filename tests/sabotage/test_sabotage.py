"""Each known way to break a promise is planted in a copy, and the tests must turn red."""

from itertools import chain

import effort
import pytest
import tally
from sabotage.defects import DEFECTS, Defect
from sabotage.workshop import THOROUGHLY, Workshop, caught

parts = 12  # in which the tests run without a defect, so that all workers of a run share them


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


def test_the_copy_is_what_is_tested(workshop: Workshop) -> None:
    """Otherwise every defect would be planted beside what runs."""
    assert workshop.module_file().is_relative_to(workshop.folder)


@effort.proofs_only()
@pytest.mark.parametrize("part", range(parts))
def test_without_a_defect_the_tests_are_green(workshop: Workshop, part: int) -> None:
    """A test that is red anyway catches nothing."""
    chosen = sorted(set(chain.from_iterable(defect.tests for defect in DEFECTS)))

    result = workshop.run(chosen[part::parts])

    assert result.returncode == 0, result.stdout[-3000:]


@effort.sample(6)
@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.name.replace(" ", "-") for defect in DEFECTS])
def test_a_planted_defect_is_caught(workshop: Workshop, defect: Defect) -> None:
    """A suite that stays green over a broken promise proves nothing of the promise."""
    with workshop.planted(defect):
        result = workshop.run(defect.tests, *THOROUGHLY)

    tally.count("sabotages missed", "any", 0)
    if not caught(result):
        tally.count("sabotages missed", defect.name)
    assert caught(result), f"{defect.name}: nothing turned red in {defect.tests}"
    tally.count("sabotages caught", defect.name)
