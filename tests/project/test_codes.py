"""Codes: one for each kind of mistake, given where it is found; a catalogue with examples that are run."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest
from manifest.project import RULES as PROJECT_RULES
from manifest.project import Project
from manifest.test_all_at_once import CATALOGUE, Mistake
from manifest.test_all_at_once import _problems as problems_with

import reconciler
from reconciler import errors
from reconciler.cli.commands.explain import explain_codes, is_code
from reconciler.cli.console import error_text
from reconciler.cli.main import run
from reconciler.core.desired.resolve import resolve_desired
from reconciler.errors import UnknownAddress
from reconciler.model.codes import (
    CODES,
    ERROR_CODES,
    PROBLEM_CODES,
    ROSTER_EXAMPLE,
    RULE_CODES,
    SKIP_CODES,
    Code,
)
from reconciler.model.plans import SkipReason
from reconciler.report.codes import code_page
from reconciler.report.lines import plain


def errors_by_name() -> dict[str, type[errors.ReconcilerError]]:
    found = {name: one for name, one in vars(errors).items() if isinstance(one, type)}
    return {name: one for name, one in found.items() if issubclass(one, errors.ReconcilerError)}


SHOWN = [one for one in PROBLEM_CODES if one.wrong]


def found(root: Path, one: Code, text: str) -> set[str]:
    """The codes of everything that is wrong with an example."""
    project = Project(root / "p")
    project.variables = ["EXAMPLE_*"]
    if one.roster:
        project.write("manifests/staff.csv", text)
    project.manifest(ROSTER_EXAMPLE if one.roster else text)
    loaded = project.load()
    problems = {*loaded.problems, *resolve_desired(loaded.manifests, PROJECT_RULES).problems}
    return {problem.code for problem in problems}


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.code)
def test_the_wrong_example_has_its_code_and_no_other(one: Code, tmp_path: Path) -> None:
    """Who reads it sees that very mistake."""
    assert found(tmp_path, one, one.wrong) == {one.code}


@pytest.mark.parametrize("one", [one for one in SHOWN if one.right], ids=lambda one: one.code)
def test_the_right_example_is_right(one: Code, tmp_path: Path) -> None:
    assert found(tmp_path, one, one.right) == set()


@pytest.mark.parametrize("mistake", CATALOGUE[:60] + CATALOGUE[-20:])
def test_every_mistake_of_the_catalogue_has_a_code_of_its_own_kind(tmp_path: Path, mistake: Mistake) -> None:
    """The code of whatever is left over says nothing."""
    found = problems_with(tmp_path / "p", [mistake])

    assert all(one.code != "E100" for one in found)


def test_no_code_stands_twice() -> None:
    assert len(CODES) == len([*ERROR_CODES, *PROBLEM_CODES, *RULE_CODES])


def test_every_class_of_error_has_a_row_of_its_own() -> None:
    """Also one that another module derives, which has that of the class above it."""

    def below(kind: type[errors.ReconcilerError]) -> list[type[errors.ReconcilerError]]:
        return [kind, *chain.from_iterable(map(below, kind.__subclasses__()))]

    every = below(errors.ReconcilerError)
    own = [kind for kind in every if kind.__module__ == errors.__name__]
    codes = [kind.error_code for kind in own]
    assert len(set(codes)) == len(codes)
    assert {*codes, error_text.usage_code} == {one.code for one in ERROR_CODES}
    assert {kind.error_code for kind in every} == set(codes)


def _texts(module: Path) -> Iterator[str]:
    """Every text of a module that is written by itself: no part of a longer one."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _used() -> set[str]:
    package = Path(reconciler.__file__).parent
    modules = [one for one in package.rglob("*.py") if one != package / "model" / "codes.py"]
    texts = {text for module in modules for text in _texts(module)}
    return {text for text in texts if re.fullmatch(r"E[0-9]{3}|[ACDGMX][0-9]{1,2}", text)}


def test_every_code_that_is_given_stands_in_the_catalogue_and_every_row_is_given() -> None:
    """A code without a row explains nothing, and a row that nothing gives is read by nobody."""
    assert _used() | set(SKIP_CODES.values()) == CODES.keys()


def test_no_problem_is_made_without_a_code() -> None:
    """Code scanning groups by it, and whoever searches for the mistake searches for it."""
    with pytest.raises(TypeError, match="code"):
        errors.Problem("a.yaml", 1, 1, "jobTitle is null, which is not allowed.")  # type: ignore[call-arg]  # that is the test


def test_every_reason_of_a_skip_has_the_code_of_its_rule() -> None:
    assert SKIP_CODES.keys() == {*get_args(SkipReason)}
    assert set(SKIP_CODES.values()) <= {one.code for one in RULE_CODES}


def test_the_page_of_all_codes_is_that_of_the_table() -> None:
    """script/generate-docs writes it."""
    page = Path(__file__).parents[2] / "docs" / "errors.md"
    assert page.read_text(encoding="utf-8") == code_page(CODES.values())


@pytest.mark.parametrize("text", ["E201", "e201", "[E201]", "G1"])
def test_a_code_is_explained_as_it_is_printed(text: str) -> None:
    assert is_code(text)
    assert CODES[text.strip("[]").upper()].title in plain(explain_codes([text]).lines())


def test_a_code_that_does_not_exist_is_no_success() -> None:
    """And names those near it."""
    with pytest.raises(UnknownAddress, match="E999") as caught:
        explain_codes(["E999"])

    assert caught.value.next


def test_an_address_is_no_code() -> None:
    assert not is_code("contact/ops/jane-doe")
    assert not is_code("jane")


def test_an_explanation_for_programs_has_every_part() -> None:
    (told,) = explain_codes(["E501"]).codes
    assert told.wrong == CODES["E501"].wrong
    assert told.beside == ROSTER_EXAMPLE


def test_mistakes_are_shown_with_their_codes() -> None:
    """At the end of the message. What ends the command has its code in JSON."""
    problem = errors.Problem(
        "a.yaml", 1, 1, "contact/ops/jane: fristName is not a field of a contact.", code="E201"
    )
    several = errors.ManifestError("the manifests cannot be used: 1 mistake.", problems=(problem,))

    assert "is not a field of a contact. [E201]\n" in plain(error_text.error_lines(several))
    told = json.loads(error_text.error_json(several))
    assert (told["code"], told["problems"][0]["code"]) == ("E002", "E201")
    assert json.loads(error_text.usage_json("no.", "see --help"))["code"] == "E064"


def test_the_command_explains_codes_and_addresses_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """A code needs no project; both at once would be two answers."""
    assert run(["explain", "E201", "G1"]) == 0
    told = capsys.readouterr().out
    assert "fristName" in told
    assert CODES["G1"].title in told
    assert run(["explain", "E201", "contact/ops/jane-doe"]) == 64


@pytest.mark.parametrize("name", sorted(set(errors_by_name()) - {"ProgramError"}))
def test_the_sentence_of_every_error_ends_in_its_code(name: str) -> None:
    """In a log there is no JSON, and `reconciler explain` needs the code; the words before it stay first."""
    error = getattr(errors, name)("it failed.", next="do this")

    shown = plain(error_text.error_lines(error)).splitlines()

    assert shown == [f"it failed. [{error.error_code}]", "  next: do this"]
