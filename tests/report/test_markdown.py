"""Markdown as its consumers read it: parsed as CommonMark, and as the extensions that services add."""

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import structs
from report import cases
from report.reviews import ACTING, REVIEWS, SAFE, acting, acting_run, many, reviews
from report.strategies import calm

from reconciler.model.address import contact_address
from reconciler.model.plans import Consent, Delete
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.markdown import comment, format_code_span, markdown, markdown_max
from reconciler.report.review_document import Review

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
BLOCKS = {"heading", "paragraph", "bullet_list", "list_item", "inline"}
INLINE = {"text", "code_inline", "strong_open", "strong_close"}
# What stands outside of code spans: words of ours, and nothing that any service acts on.
PLAIN = re.compile(r"[A-Za-z0-9 .,;:!?()'→-]*")

CUT = re.compile(r"\*\*and ([\d,]+) more")


def inlines(text: str) -> list[Token]:
    tokens = PARSER.parse(text)
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= BLOCKS
    return [child for token in tokens for child in token.children or ()]


def assert_inert(text: str) -> None:
    found = inlines(text)

    assert {token.type for token in found} <= INLINE
    assert [
        token.content for token in found if token.type == "text" and not PLAIN.fullmatch(token.content)
    ] == []
    assert not any(line.startswith(("/", "\t", "    ")) for line in text.splitlines())


@calm
@given(reviews())
def test_nothing_from_outside_is_more_than_text_in_a_code_span(review: Review) -> None:
    """Mentions, links, images, HTML, tables, tasks, commands at the start of a line: none can be made."""
    text = markdown(review)

    assert_inert(text)
    assert len(text) <= markdown_max


@pytest.mark.parametrize("text", ACTING)
def test_text_that_tries_to_act_is_shown_and_does_not(text: str) -> None:
    assert_inert(markdown(acting(text)))
    assert_inert(markdown(acting_run(text)))


@pytest.mark.parametrize("text", [*ACTING, "a", " a ", "`", "``a", "a`b", " ", "  "])
def test_a_code_span_reads_as_the_text_that_it_was_made_of(text: str) -> None:
    """A fence that is too short, or a space that is taken off, would change a name."""
    (token,) = inlines(f"x {format_code_span(text)} y")[1:2]

    assert token.content == escape_ci_commands(escape_control(text, limit=200))


def test_the_sentence_that_matters_stands_first_and_deletes_come_next() -> None:
    """Who reads two lines has read what cannot be taken back."""
    lines = [line for line in markdown(REVIEWS["plan"]).splitlines() if line]

    assert lines[1] == "**1 contact will be deleted.**"
    assert "1 device will be deleted with it." in lines[2]
    assert lines[3] == "### Deletes (1)"


def test_every_change_is_in_it_once() -> None:
    """A report that hides a change would be approved for what it does not say."""
    changes = markdown(REVIEWS["plan"]).partition("### Records")[0]

    assert [changes.count(f"\n- `{change.address}`") for change in cases.MIXED.changes] == [1] * 7


def test_what_does_not_fit_is_counted_and_deletes_are_there() -> None:
    """A service refuses a comment that is too long, and a reader who is not told trusts half of it."""
    plan = many(3_000)
    text = markdown(structs.replace(REVIEWS["plan"], plan=plan))
    sections = {part.split(" (")[0]: part for part in text.split("### ")[1:]}
    listed = {name: part.count("\n- `contact/") for name, part in sections.items()}
    more = {
        name: sum(int(each.replace(",", "")) for each in CUT.findall(part)) for name, part in sections.items()
    }

    assert markdown_max * 0.9 < len(text) <= markdown_max
    assert next(iter(sections)) == "Deletes"
    assert listed["Deletes"] == 1_000
    assert {name: listed[name] + more[name] for name in ("Deletes", "Updates", "Creates")} == dict.fromkeys(
        ("Deletes", "Updates", "Creates"), 1_000
    )
    assert_inert(text)


def test_no_number_of_deletes_hides_why_a_plan_is_refused() -> None:
    """Deletes come first, and the refusal is still to be read."""
    deletes = tuple(
        Delete(contact_address("ops", f"old-{each}"), "8F", {"firstName": "Old"}) for each in range(10_000)
    )
    text = markdown(Review("plan", structs.replace(cases.LONG, changes=deletes), cases.REFUSED, 7))

    assert "### Deletes (10,000)" in text
    assert "10,000 contacts would be deleted" in text
    assert "- refused: the plan deletes 41 entities" in text
    assert len(text) <= markdown_max


def test_the_outcome_of_every_change_of_a_run_is_told() -> None:
    """Whoever reads the comment decides whether to resume."""
    text = markdown(REVIEWS["run"])

    assert (
        text.index("### Deletes (1)") < text.index("### Not as planned (6)") < text.index("### Updates (3)")
    )
    assert all(f"`{one.address}`" in text for one in cases.PARTIAL.outcomes)
    assert "**1 in doubt, 2 failed, 1 conflict and 1 of 7 changes applied.**" in text


def test_values_are_there_where_they_are_asked_for() -> None:
    shown = markdown(REVIEWS["plan-values"])

    assert "`department`: `Night` → `Operations`, drifted" in shown
    assert "`password`: `(secret)`" in shown
    assert "Night" not in markdown(Review("plan", cases.MIXED, SAFE, 0))


# --- A comment that names nobody --------------------------------------------------------------------------


def assert_inert_comment(text: str) -> None:
    """The report's own rules, beside one folded part whose lines are code."""
    parts = PARSER.parse(text)
    own = [part for part in parts if part.type in {"html_block", "fence"}]
    told = {part.content.strip() for part in own if part.type == "html_block"}

    assert told <= {"<details><summary>What changes, and why</summary>", "</details>"}
    assert [part.type for part in own] in ([], ["html_block", "fence", "html_block"])
    lines = text.splitlines()
    folded = [line for part in own if part.map for line in lines[part.map[0] : part.map[1]]]
    rest = [line for line in lines if line not in folded]
    assert_inert("\n".join(rest))


@calm
@given(reviews())
def test_a_comment_is_inert_and_has_room_in_a_pull_request(review: Review) -> None:
    text = comment(review)

    assert_inert_comment(text)
    assert len(text) <= markdown_max


@pytest.mark.parametrize("text", ACTING)
def test_text_that_tries_to_act_does_not_in_a_comment(text: str) -> None:
    """The alias of a workspace, a stack and a rule are all that others could have written of it."""
    assert_inert_comment(comment(acting(text)))
    assert_inert_comment(comment(acting_run(text)))


@pytest.mark.parametrize("review", REVIEWS)
def test_a_comment_names_nobody(review: str) -> None:
    """More people read a pull request than may read a plan."""
    text, plan = comment(REVIEWS[review]), REVIEWS[review].plan
    named = [*(one.address for one in plan.changes), *(one.address for one in plan.skips), *plan.gone]

    assert [one for one in named if f"/{one.rpartition('/')[2]}" in text or one in text] == []
    assert [one for one in named if one.rpartition("/")[2] in text] == []


def test_a_comment_of_a_selection_with_consent_names_nobody() -> None:
    """Whom consent concerns and what was selected are addresses too; the number is enough."""
    plan = structs.replace(
        cases.MIXED,
        consent=Consent(deletes=4),
        options=structs.replace(cases.MIXED.options, only=(str(cases.OLD_HAND.address),)),
    )
    text = comment(structs.replace(REVIEWS["plan"], plan=plan))

    assert "`--allow-deletes` 4" in text
    assert "old-hand" not in text


def test_a_comment_says_which_rule_refuses_and_what_lifts_it() -> None:
    """Whoever reads it alone knows why nothing happens, and what a maintainer may agree to."""
    text = comment(REVIEWS["plan-refused"])

    assert "**Refused; nothing is written: 2 contacts would be deleted.**" in text
    assert "- `G1` Too many deletes: 41 (the limit is 25)\n" in text
    assert "`--allow-deletes N` allows the deletes for one run." in text


def test_a_comment_counts_what_has_no_room() -> None:
    """A plan of many workspaces still fits."""
    changes = tuple(
        structs.replace(cases.OLD_HAND, address=contact_address(f"w{each}", "p")) for each in range(1_000)
    )
    text = comment(structs.replace(REVIEWS["plan"], plan=structs.replace(cases.MIXED, changes=changes)))

    assert text.count("\n- 1 contact in ") == 200
    assert "  and 800 more lines\n" in text
    assert len(text) <= markdown_max
