"""Every statement of the specification has a planted defect, and a test that names it must catch that."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import effort
import pytest
import tally
from sabotage.anchors import NoPlaceError, Package
from sabotage.trial import ROOT, Trials, trials
from specification.mutants import BY_STATEMENT, MUTANTS, mistakes, rows
from specification.statements import claims, statements

FILES = sorted({test.partition("::")[0] for tests in claims().values() for test in tests})
ONE = {"statement": "8/limit", "in": "f", "old": "a", "new": "b", "chapter": "8"}


@pytest.fixture(scope="session")
def package() -> Package:
    return Package(ROOT)


@pytest.fixture(scope="session")
def process() -> Iterator[Trials]:
    with trials(FILES) as started:
        yield started


def test_every_statement_has_a_mutant_and_every_mutant_a_statement() -> None:
    """None is left out, so nothing is claimed by a test that cannot fail."""
    assert mistakes(rows()) == []
    assert len(BY_STATEMENT) == 240
    assert all(BY_STATEMENT.values())


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ([ONE], []),
        ([], ["8/limit: has no row"]),
        ([ONE, {**ONE, "statement": "8/limt"}], ["8/limt: there is no such statement"]),
        ([{**ONE, "chapter": "7"}], ["8/limit: stands in 7.toml"]),
        (
            [{**ONE, "name": "x"}],
            ["8/limit: has in, name, new, old, statement, and needs in, new, old, statement"],
        ),
        ([ONE, {**ONE, "old": "b"}], []),
    ],
    ids=["as it should be", "no row", "no statement", "another chapter", "another key", "two rows"],
)
def test_a_statement_without_a_row_and_a_row_without_a_statement_are_told(
    written: list[dict[str, Any]], told: list[str]
) -> None:
    """Whoever adds, renames or removes either sees at once what is missing."""
    others = [{**ONE, "statement": one, "chapter": one[0]} for one in statements() if one != "8/limit"]

    assert mistakes([*others, *written]) == told


def test_every_mutant_has_its_place_and_no_two_are_alike(package: Package) -> None:
    """A row that no longer applies proves nothing. The failure names every such row and the reason."""
    found, planted = [], Counter[str]()
    for one in MUTANTS:
        try:
            planted[str(one.planted(package, ROOT))] += 1
        except NoPlaceError as error:
            found.append(str(error))

    assert not found, "\n".join(found)
    assert [number for number in planted.values() if number > 1] == []


def test_a_trial_tells_red_from_green_and_both_from_no_verdict(process: Trials) -> None:
    """An error of the trial itself is neither caught nor missed."""
    test = ("sandbox/test_paging.py::test_a_single_page_has_no_links",)
    path = "reconciler/sandbox/queries.py"
    text = (ROOT / path).read_text(encoding="utf-8")

    changes = {
        "green": text,
        "red": text.replace("page.offset + page.limit < total", "True"),
        "crashed": text.replace("page.offset + page.limit < total", "None < total"),
        "no module": "raise ValueError",
    }

    found = {name: process.run(test, {path: change}).verdict for name, change in changes.items()}
    assert found == {"green": "green", "red": "red", "crashed": "error", "no module": "none"}
    assert process.run(test, {path: changes["red"]}).case == test[0]
    assert process.run_unchanged(test[0]).verdict == "green"
    assert process.run([f"{test[0]}_any_more"], {path: text}).verdict == "none"
    assert process.run(test, {"reconciler/cli/main.py": ""}).verdict == "none"


@effort.proofs_only()
def test_without_a_mutant_the_tests_are_green(process: Trials) -> None:
    """A test that is red anyway catches nothing."""
    everything = sorted({test for tests in claims().values() for test in tests})

    assert process.run(everything, {}).verdict == "green"


@effort.sample(8)
@pytest.mark.parametrize("statement", statements())
def test_the_tests_that_name_a_statement_catch_its_mutants(
    statement: str, process: Trials, package: Package
) -> None:
    """Each mutant turns a test red, and each test turns red: one that cannot claims nothing."""
    caught: set[str] = set()
    tally.count("mutants missed", "any", 0)
    for mutant in BY_STATEMENT[statement]:
        result = process.run(mutant.tests, mutant.planted(package, ROOT), all_red=True)
        assert result.verdict != "none", f"{statement}: {result.told}"
        if result.verdict == "green":
            tally.count("mutants missed", statement)
        assert result.verdict == "red", f"{statement}: nothing turned red in {mutant.tests}"
        tally.count("mutants caught", statement)
        caught |= result.red

    assert caught == set(claims()[statement]), "these name the statement, and no mutant of it turns them red"
