"""What every format of `--report` keeps to, and what each looks like (golden_reviews/)."""

import os
import re
from html import unescape as html_unescape
from pathlib import Path

import growth
import pytest
from hypothesis import given
from msgspec import structs
from report import cases
from report.characters import list_acting_characters
from report.reviews import ACTING, REVIEWS, acting, acting_run, many, reviews
from report.strategies import calm

from reconciler.report.json import drift_json, plan_json, run_json
from reconciler.report.report_formats import FORMATS
from reconciler.report.review_builder import build_review
from reconciler.report.review_document import Review

GOLDEN = Path(__file__).parent / "golden_reviews"
# By format: how its golden files in golden_reviews/ end.
SUFFIXES = {
    "markdown": "md",
    "comment": "comment.md",
    "junit": "xml",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "prometheus": "prom",
}
# `text` and `json` have their golden files in golden/, `html` has tests of its own in html/.
GOLDEN_ELSEWHERE = {"text", "json", "html"}

seconds_max = 20.0  # of our own processor time for 10,000 changes, on a machine that does other things too

every = pytest.mark.parametrize("name", FORMATS)


@pytest.mark.parametrize("review", REVIEWS)
@pytest.mark.parametrize("name", SUFFIXES)
def test_a_report_is_its_golden_file(name: str, review: str) -> None:
    """Other people's programs and services read it: a change of it has to be seen."""
    path = GOLDEN / f"{review}.{SUFFIXES[name]}"
    text = FORMATS[name](REVIEWS[review])
    if os.environ.get("RENEW_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")


def test_every_format_has_golden_files() -> None:
    """Without them a new format would be tested for what it must not hold, and never read."""
    missing = sorted(FORMATS.keys() - SUFFIXES.keys() - GOLDEN_ELSEWHERE)
    advice = f"add {missing} to SUFFIXES, and run with RENEW_GOLDEN=1" if missing else "a format is gone"

    assert SUFFIXES.keys() | GOLDEN_ELSEWHERE == FORMATS.keys(), advice


def test_every_golden_file_of_a_format_belongs_to_a_review() -> None:
    """A golden file without a case would stay in the tree unchecked."""
    kept = {path.name for path in GOLDEN.iterdir()}

    assert kept == {f"{review}.{suffix}" for review in REVIEWS for suffix in SUFFIXES.values()}


def test_json_is_what_the_commands_print() -> None:
    """One shape for programs, whichever way they get it."""
    plan, drift, run = (REVIEWS[name] for name in ("plan", "drift", "run"))

    assert FORMATS["json"](plan) == plan_json(plan.plan, plan.verdict, 0).rstrip("\n") + "\n"
    assert FORMATS["json"](drift) == drift_json(drift.plan).rstrip("\n") + "\n"
    assert FORMATS["json"](run) == run_json(cases.PARTIAL).rstrip("\n") + "\n"


def test_text_of_a_run_tells_the_plan_and_every_outcome() -> None:
    """What was meant and what came of it stand in one file."""
    text = FORMATS["text"](REVIEWS["run"])

    assert all(str(one.address) in text for one in (*cases.MIXED.changes, *cases.PARTIAL.outcomes))
    assert "Nothing was written" not in text


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
@pytest.mark.parametrize("review", REVIEWS)
def test_forms_for_people_show_every_entry_of_the_document(name: str, review: str) -> None:
    """What one of them shows and another does not is decided once, where the document is built."""
    shown = re.sub(r"<[^>]+>", "", html_unescape(FORMATS[name](REVIEWS[review])))
    document = build_review(REVIEWS[review])
    entries = [one for section in document.sections for one in section.make_entries()]

    assert [one.subject for one in entries if one.subject not in shown] == []
    codes = {one.code for one in (*entries, *document.refusals) if one.code}
    assert [code for code in sorted(codes) if f"[{code}]" not in shown] == []


@every
@calm
@given(review=reviews())
def test_no_report_holds_a_character_that_acts_or_hides(name: str, review: Review) -> None:
    """A file is looked at in terminals, browsers and editors; XML does not even allow some of them."""
    text = FORMATS[name](review)

    assert text.endswith("\n")
    assert list_acting_characters(name, text) == []
    assert text == FORMATS[name](review)


@every
@pytest.mark.parametrize("review", REVIEWS)
def test_no_report_holds_a_secret_or_the_salt(name: str, review: str) -> None:
    """With the salt of a plan its masks could be tried out against guesses."""
    text = FORMATS[name](REVIEWS[review])

    assert cases.MIXED.salt not in text
    assert name == "json" or "secret:" not in text  # a mask without its salt says nothing


PERSONAL = ("Night", "Duty Manager", "+12025550143", "Otto", "+61491570156", "Sam", "sam.lee@", "Australia")


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"text", "json"}))
@pytest.mark.parametrize("review", [name for name in REVIEWS if name != "plan-values"])
def test_a_report_for_many_readers_names_fields_and_no_values(name: str, review: str) -> None:
    """It is posted where everybody with the repository reads it."""
    text = FORMATS[name](REVIEWS[review])

    assert [value for value in PERSONAL if value in text] == []


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"text", "json"}))
def test_without_values_no_report_quotes_the_mark_of_another_owner(name: str) -> None:
    """A mark is a custom field, and its value is whatever somebody wrote there."""
    mark = "carries the mark of another owner (a-mark); never written."
    skip = structs.replace(cases.PROTECTED, reason="foreign mark", what=mark)
    plan = structs.replace(cases.MIXED, skips=(skip,))

    assert "a-mark" not in FORMATS[name](Review("plan", plan, REVIEWS["plan"].verdict, 0))


@every
@pytest.mark.parametrize("text", ACTING)
def test_hostile_text_stays_inert_in_every_format(name: str, text: str) -> None:
    """Names, values and sentences of the service are whatever somebody wrote there."""
    for review in (acting(text), acting_run(text)):
        made = FORMATS[name](review)

        assert list_acting_characters(name, made) == []


@every
def test_ten_thousand_changes_are_quick_in_every_format(name: str) -> None:
    """A first apply of a large project is the report that people wait for."""
    review = structs.replace(REVIEWS["plan"], plan=many(10_000))

    with growth.bounded(seconds_max):
        assert FORMATS[name](review)


@every
@pytest.mark.parametrize("show_values", [False, True])
def test_names_beside_addresses_stand_only_where_values_may(name: str, *, show_values: bool) -> None:
    """Whoever may not see a value may not learn whose it is either; a person reads both in one place."""
    for review in ("plan", "drift", "run"):
        made = structs.replace(REVIEWS[review], show_values=show_values, whom=lambda _one: "Quinn <Quill>")
        text = FORMATS[name](made)

        assert "<Quill>" not in text or name in {"text", "markdown"}  # there in a code span
        assert ("Quinn" in text) == (name == "text" or (name in {"html", "markdown"} and show_values))
