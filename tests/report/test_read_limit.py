"""What a plan says of lists of which only the changes were read."""

import json
from typing import Any

import pytest
from core.build import RULES, desired, live, planned
from msgspec import structs

from reconciler.model.plans import Plan, Verdict
from reconciler.model.snapshots import Read, Scope
from reconciler.report.html import html
from reconciler.report.json import drift_json, plan_json
from reconciler.report.markdown import markdown
from reconciler.report.phrases import describe_read_limit
from reconciler.report.review_document import Review
from reconciler.report.text import drift_lines, plan_lines

OPS = Scope("contact", "ops")
FOLLOWED = Read(OPS, "feed", 3, 400, 8_000, complete=True, completed="2026-11-25T14:02:09+00:00")
SCANNED = Read(OPS, "scan", 403, 0, 8_000, complete=True)
AGAIN = structs.replace(FOLLOWED, how="again", calls=1)
COMMANDS = ("plan", "drift")


def nothing(*reads: Read) -> Plan:
    return structs.replace(planned(desired(), live(), rules=RULES), reads=reads)


def said(command: str, plan: Plan) -> dict[str, str]:
    """What every form says, by its name."""
    verdict = Verdict(())
    review = Review(command, plan, verdict, 0)
    lines = plan_lines(plan, verdict) if command == "plan" else drift_lines(plan)
    return {
        "text": "\n".join("".join(span.text for span in one) for one in lines),
        "markdown": markdown(review).partition("### ")[0].replace("`", ""),
        "html": html(review),
    }


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("read", [FOLLOWED, AGAIN], ids=["followed", "found again"])
def test_whoever_says_that_all_is_as_it_should_be_says_what_was_read(read: Read, command: str) -> None:
    """An edit that moves no time of change hides until the next complete read."""
    for form, text in said(command, nothing(read)).items():
        assert "as far as was read" in text, form
        assert "complete read on 2026-11-25 14:02 UTC" in text, form
        assert "contacts in ops" in text, form


@pytest.mark.parametrize("command", COMMANDS)
def test_after_a_complete_read_nothing_is_limited(command: str) -> None:
    for form, text in said(command, nothing(SCANNED)).items():
        assert "as far as was read" not in text, form


def test_of_several_lists_the_oldest_complete_read_counts() -> None:
    other = structs.replace(FOLLOWED, scope=Scope("contact", "eu"), completed="2026-11-24T09:00:00+00:00")

    told = describe_read_limit([FOLLOWED, SCANNED, other])

    assert "contacts in eu, contacts in ops, only the 6 pages" in told
    assert "2026-11-24 09:00 UTC" in told


def as_json(command: str, plan: Plan) -> dict[str, Any]:
    text = plan_json(plan, Verdict(()), 0) if command == "plan" else drift_json(plan)
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("read", [FOLLOWED, AGAIN], ids=["followed", "found again"])
def test_json_tells_the_same_of_what_was_read(read: Read, command: str) -> None:
    """A dashboard that shows "no drift" has to be able to say since when that is known."""
    plan = nothing(read, structs.replace(SCANNED, scope=Scope("resource", "ops")))

    limit = as_json(command, plan)["as_far_as_read"]

    assert limit == {
        "scopes": [{"kind": "contact", "workspace": "ops"}],
        "pages": read.calls,
        "complete_at": "2026-11-25T14:02:09+00:00",
    }
    assert f"{limit['pages']} page" in describe_read_limit(plan.reads)


@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_a_complete_read_has_no_limit(command: str) -> None:
    assert as_json(command, nothing(SCANNED))["as_far_as_read"] is None
    assert as_json(command, nothing())["as_far_as_read"] is None


@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_several_lists_names_each_and_the_oldest_complete_read(command: str) -> None:
    older = "2026-11-24T09:00:00+00:00"
    other = structs.replace(FOLLOWED, scope=Scope("contact", "eu"), completed=older)

    limit = as_json(command, nothing(FOLLOWED, SCANNED, other))["as_far_as_read"]

    assert [one["workspace"] for one in limit["scopes"]] == ["eu", "ops"]
    assert (limit["pages"], limit["complete_at"]) == (6, older)
