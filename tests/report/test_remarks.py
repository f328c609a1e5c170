"""SARIF, JUnit, GitHub and GitLab: held to what their readers take, and to what a reader must not miss."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given
from jsonschema import Draft7Validator, Draft202012Validator
from msgspec import structs
from report import cases
from report.characters import list_acting_characters
from report.html.test_page import assert_closed
from report.reviews import ACTING, REVIEWS, acting, acting_run, reviews
from report.strategies import calm
from report.test_markdown import assert_inert

from reconciler.errors import Problem
from reconciler.model.codes import CODES
from reconciler.model.documents import openable_file, sheet_file_name
from reconciler.model.notices import Notice
from reconciler.model.plans import GuardReason, Verdict
from reconciler.model.runs import Outcome
from reconciler.report.escaping import escape_control
from reconciler.report.forge import github, gitlab
from reconciler.report.junit import junit
from reconciler.report.remarks import RULES, list_remarks
from reconciler.report.report_formats import CHECKS, FORMATS
from reconciler.report.review_builder import split_place
from reconciler.report.review_document import Review, Validated
from reconciler.report.sarif import sarif

HOSTILE = pytest.mark.parametrize("review", [made(text) for text in ACTING for made in (acting, acting_run)])


def closed(required: str, **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["error", "warning", "note"]}
MESSAGE = closed("text", text=TEXT)
ARTIFACT = closed("uri", uri={"type": "string", "pattern": r"^[!-~]+$"}, uriBaseId={"const": "%SRCROOT%"})
REGION = closed("startLine", startLine=NUMBER, startColumn=NUMBER)
LOCATION = closed(
    "",
    physicalLocation=closed("artifactLocation", artifactLocation=ARTIFACT, region=REGION),
    logicalLocations={"type": "array", "items": closed("fullyQualifiedName", fullyQualifiedName=TEXT)},
)
RESULT = closed(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId={"enum": [*RULES, *CODES]},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
)
RULE = closed(
    "id shortDescription defaultConfiguration",
    id={"enum": [*RULES]},
    shortDescription=MESSAGE,
    defaultConfiguration=closed("level", level=LEVEL),
)
MISTAKE = closed(
    "id shortDescription fullDescription help defaultConfiguration",
    id={"enum": [*CODES]},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=closed("level", level={"const": "error"}),
)
DRIVER = closed(
    "name rules",
    name={"const": "reconciler"},
    rules={"type": "array", "items": {"oneOf": [RULE, MISTAKE]}, "uniqueItems": True},
)
# What of the SARIF 2.1.0 schema we use, and nothing that is not in it.
SARIF = Draft202012Validator(
    closed(
        "$schema version runs",
        **{
            "$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"},
            "version": {"const": "2.1.0"},
            "runs": {
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": closed(
                    "tool columnKind results",
                    tool=closed("driver", driver=DRIVER),
                    columnKind={"const": "unicodeCodePoints"},
                    results={"type": "array", "items": RESULT},
                ),
            },
        },
    )
)

STANDARDS = Path(__file__).parent / "standards"
# The whole of both standards, as they were published (standards/README.md). Ours above and below allow less.
SARIF_OF_OASIS = Draft7Validator(
    json.loads((STANDARDS / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
)
JUNIT_OF_JENKINS = xmlschema.XMLSchema(STANDARDS / "junit-10.xsd")

COUNTS = {"tests", "failures", "errors"}
# Element -> its attributes, and the elements that may stand in it, as readers of JUnit XML agree.
JUNIT: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "time", *COUNTS}, {"testsuite"}),
    "testsuite": ({"name", "time", "skipped", *COUNTS}, {"testcase"}),
    "testcase": ({"classname", "name", "time"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}


def checked_sarif(review: Review) -> dict[str, Any]:
    run: dict[str, Any] = assert_sarif(sarif(review))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    return run


def assert_sarif(text: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(text)
    SARIF.validate(log)
    SARIF_OF_OASIS.validate(log)
    return log


def checked_junit(review: Review) -> ET.Element:
    return assert_junit(junit(review))


def assert_junit(text: str) -> ET.Element:
    root = ET.fromstring(text)  # noqa: S314 - our own report
    JUNIT_OF_JENKINS.validate(root)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, inside = JUNIT[element.tag]
        assert set(element.attrib) == attributes
        assert {child.tag for child in element} <= inside
    for outer in (root, *root):
        cases_of = [*outer.iter("testcase")]
        assert int(outer.attrib["tests"]) == len(cases_of)
        for word in ("failure", "error"):
            assert int(outer.attrib[f"{word}s"]) == sum(1 for one in cases_of if one.find(word) is not None)
    names = [(one.attrib["classname"], one.attrib["name"]) for one in root.iter("testcase")]
    assert len(names) == len(set(names))
    return root


@calm
@given(reviews())
def test_every_format_is_what_its_reader_takes(review: Review) -> None:
    """A service drops a file that it cannot read, mostly in silence."""
    checked_sarif(review)
    checked_junit(review)
    assert list(json.loads(gitlab(review))) == ["create", "update", "delete"]


@HOSTILE
def test_hostile_text_changes_no_structure(review: Review) -> None:
    """Elements, rules, commands and links come from us alone."""
    run = checked_sarif(review)
    said = " ".join(one["message"]["text"] for one in run["results"])
    checked_junit(review)

    assert "](" not in said
    assert re.search(r"(?<!\{)\{(\{\{)*(?!\{)", said) is None
    for line in github(review).splitlines():
        assert re.fullmatch(r"::(error|warning|notice) (\w+=[^,:\r\n]+,)*title=[\w-]+::[^\r\n]*", line)
        assert "##[" not in line
        assert "##vso[" not in line


@pytest.mark.parametrize("text", ACTING)
def test_a_runner_reads_back_what_was_said(text: str) -> None:
    """Unescaped as the runner does it, an annotation says what the text says."""
    notice = Notice("duplicate", "contact/ops/x", text, place="a,b:c%.yaml:3")
    review = Review(
        "plan", structs.replace(cases.EMPTY, notices=(notice,)), REVIEWS["plan"].verdict, 0, show_values=True
    )
    (line,) = github(review).splitlines()
    properties, _, data = line.removeprefix("::warning ").partition("::")
    read = data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")

    assert properties == "file=a%2Cb%3Ac%25.yaml,line=3,title=notice"
    assert read.replace("\\x23", "#") == f"contact/ops/x: {escape_control(text)}".replace("\\x23", "#")


@calm
@given(reviews())
def test_a_runner_shows_all_annotations_that_there_are(review: Review) -> None:
    """GitHub shows ten of each level, and drops the others in silence."""
    lines = [line for line in github(review).splitlines() if line.startswith("::")]
    levels = [line.split(" ")[0] for line in lines]

    assert all(levels.count(level) <= 10 for level in levels)
    assert levels == sorted(levels)  # errors before warnings
    assert (not lines) == (not list_remarks(review))


def test_what_is_not_shown_is_counted() -> None:
    review = Review("plan", cases.LONG, cases.REFUSED, 7)
    lines = github(review).splitlines()

    assert lines[-1] == "::warning title=delete::and 32 more remarks of this level."
    assert len([line for line in lines if line.startswith("::warning")]) == 10


@pytest.mark.parametrize("name", REVIEWS)
def test_tests_fail_where_the_command_does_or_somebody_has_to_look(name: str) -> None:
    """A green tab of tests beside a run that failed would be believed."""
    review = REVIEWS[name]
    root = checked_junit(review)
    failed = int(root.attrib["failures"]) + int(root.attrib["errors"])

    assert bool(failed) == (review.exit_code != 0)


def test_a_run_that_was_cut_short_has_a_test_that_fails() -> None:
    """None of its changes failed: they were not attempted, and that alone would be green."""
    outcomes = (Outcome(cases.JANE.address, "update", "not attempted"),)
    run = structs.replace(cases.DONE, outcome="interrupted", exit_code=130, outcomes=outcomes)
    root = checked_junit(structs.replace(REVIEWS["run-done"], run=run, exit_code=130))

    assert root.attrib["failures"] == "1"


def test_a_change_has_the_same_name_in_a_plan_and_in_its_run() -> None:
    """So a service that keeps a history of tests shows what became of it."""
    plan, run = (
        {one.attrib["name"] for one in checked_junit(REVIEWS[name]).iter("testcase")}
        for name in ("plan", "run")
    )

    assert {f"{one.action} {one.address}" for one in cases.PARTIAL.outcomes} <= run
    assert {
        "update contact/ops/jane-doe",
        "create contact/ops/sam-lee",
        "delete contact/ops/old-hand",
    } <= plan & run


def test_a_finding_keeps_its_fingerprint_where_lines_move() -> None:
    """Otherwise a line added above closes every finding of a file and opens it anew."""
    notice = cases.TYPO
    before, after = (
        sarif(Review("plan", structs.replace(cases.EMPTY, notices=(one,)), REVIEWS["plan"].verdict, 0))
        for one in (notice, structs.replace(notice, place="manifests/ops.yaml:99"))
    )
    digests = [json.loads(one)["runs"][0]["results"][0]["partialFingerprints"] for one in (before, after)]

    assert digests[0] == digests[1]
    assert before != after


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("manifests/ops.yaml:14:7", ("manifests/ops.yaml", 14, 7)),
        ("manifests/ops.yaml:14", ("manifests/ops.yaml", 14, 0)),
        ("manifests/ops.yaml", ("manifests/ops.yaml", 0, 0)),
        ("C:/a b/x.yaml:2", ("C:/a b/x.yaml", 2, 0)),
        ("", ("", 0, 0)),
        ("a:b", ("a:b", 0, 0)),
    ],
)
def test_a_place_is_taken_apart(place: str, expected: tuple[str, int, int]) -> None:
    assert split_place(place) == expected


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif"])
def test_a_place_in_a_sheet_is_annotated_in_its_spreadsheet(name: str) -> None:
    """A file of that name and its sheet there is not, so an annotation of it would be shown nowhere."""
    checked = Validated(
        (Problem(sheet_file_name("people/Staff.xlsx", "Night & day!"), 3, 2, "a mistake", code="E100"),)
    )

    text = CHECKS[name](checked)
    assert "people/Staff.xlsx" in text
    assert "Night" not in text


@pytest.mark.parametrize("place", ["people/staff.csv", "a.xlsx/b!c.yaml", "a!b.yaml", "staff.xlsx", ""])
def test_every_other_place_is_a_file(place: str) -> None:
    assert openable_file(place) == place


@pytest.mark.parametrize("text", ACTING)
def test_mistakes_that_quote_hostile_text_change_no_structure(text: str) -> None:
    """A manifest of a pull request is whatever somebody proposes."""
    problems = (
        Problem(f"a/{text}.yaml", 3, 2, text, text, code="E100"),
        Problem("b.yaml", 0, 0, text, code="E100"),
    )
    checked = Validated(problems, (Notice("value", text, text, text, "c.yaml:4"),))

    assert_sarif(CHECKS["sarif"](checked))
    assert_junit(CHECKS["junit"](checked))
    assert_inert(CHECKS["markdown"](checked))
    assert " ".join(escape_control(text).split()) in assert_closed(CHECKS["html"](checked)).text
    issues = json.loads(CHECKS["gitlab"](checked))
    assert [set(one) for one in issues] == [
        {"description", "check_name", "fingerprint", "severity", "location"}
    ] * 3
    assert [one["location"]["lines"]["begin"] for one in issues] == [3, 1, 4]
    assert all(re.match(r"::(error|warning) \w+=", line) for line in CHECKS["github"](checked).splitlines())
    acting = {name: list_acting_characters(name, render(checked)) for name, render in CHECKS.items()}
    assert {name: found for name, found in acting.items() if found} == {}


def test_code_scanning_groups_mistakes_by_their_code_and_explains_it() -> None:
    """A hundred misspelt fields are one thing to learn; the help stands beside them."""
    slip = "contact/ops/jane-doe: fristName is not a field of a contact."
    problems = tuple(Problem("ops.yaml", line, 5, slip, code="E201") for line in (3, 9))
    checked = Validated((*problems, Problem("b.yaml", 0, 0, "another thing.", code="E100")), ())

    run = assert_sarif(CHECKS["sarif"](checked))["runs"][0]
    rules = run["tool"]["driver"]["rules"]

    assert sorted(one["ruleId"] for one in run["results"]) == ["E100", "E201", "E201"]
    assert [one["id"] for one in rules] == ["E100", "E201"]
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == [
        one["ruleId"] for one in run["results"]
    ]
    assert CODES["E201"].means in rules[1]["help"]["text"]


def test_every_format_of_a_plan_that_many_read_is_one_of_validate_too() -> None:
    """Nobody has to learn which command knows which format."""
    assert CHECKS.keys() == FORMATS.keys()


def test_no_remark_is_without_a_sentence() -> None:
    """A reader of SARIF refuses the whole file for one message without text."""
    run = structs.replace(cases.PARTIAL, stopped="", outcomes=())
    review = structs.replace(
        REVIEWS["plan"], verdict=Verdict((GuardReason("G1", "", 1, 1, "", ""),)), run=None
    )

    (refused,) = (one for one in checked_sarif(review)["results"] if one["ruleId"] == "refused")
    assert refused["message"]["text"] == RULES["refused"][1]
    assert checked_sarif(structs.replace(review, run=run))["results"]


def test_a_run_counts_what_was_applied_for_the_widget() -> None:
    """What was planned is no news after the run."""
    assert json.loads(gitlab(REVIEWS["run"])) == {"create": 1, "update": 0, "delete": 0}
    assert json.loads(gitlab(REVIEWS["plan"])) == {"create": 3, "update": 3, "delete": 1}
