"""JSON reports: harmless to look at, complete, and the same for the same value."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from report import cases
from report.strategies import calm, plans, runs, verdicts

from reconciler.errors import Problem
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan, Verdict
from reconciler.model.runs import EXIT_CODE_WORDS, Run
from reconciler.report.json import drift_json, plan_json, problems_json, run_json
from reconciler.report.values import MASK

codes = st.sampled_from(sorted(EXIT_CODE_WORDS))


def opened(text: str) -> dict[str, Any]:
    """The document, after the checks that hold for every one of them."""
    assert all(char == "\n" or char.isprintable() for char in text)
    document: dict[str, Any] = json.loads(text)
    assert document["version"] == 1
    assert document["outcome"] == EXIT_CODE_WORDS[document["exit_code"]]
    return document


@calm
@given(plans(), verdicts, codes)
def test_a_plan_in_json_is_the_plan_of_the_file_without_its_salt(
    plan: Plan, verdict: Verdict, code: int
) -> None:
    """Escapes for the eye change nothing for a program; the salt would let weak secrets be guessed."""
    document = opened(plan_json(plan, verdict, code))
    whole = json.loads(encode_json(plan))
    del whole["salt"]

    assert document["plan"] == whole
    assert document["exit_code"] == code
    assert document["verdict"]["safe"] is (not verdict.reasons)
    assert document["counts"]["deletes"] == plan.count("delete")
    assert plan_json(plan, verdict, code) == plan_json(plan, verdict, code)


@calm
@given(runs())
def test_a_run_in_json_reads_back_as_the_run(run: Run) -> None:
    text = run_json(run)

    opened(text)
    assert decode_json(text, Run) == run


@calm
@given(plans())
def test_drift_in_json_says_by_its_exit_code_whether_there_is_any(plan: Plan) -> None:
    document = opened(drift_json(plan))

    assert document["exit_code"] == (2 if document["drifts"] else 0)


def test_problems_in_json_carry_their_places() -> None:
    document = opened(
        problems_json([Problem("ops.yaml", 3, 5, "\x1b[2J is not a field.", "remove it", code="E201")])
    )

    assert document["exit_code"] == 3
    assert document["problems"] == [
        {
            "file": "ops.yaml",
            "line": 3,
            "column": 5,
            "what": "\x1b[2J is not a field.",
            "next": "remove it",
            "code": "E201",
        }
    ]
    assert opened(problems_json([]))["exit_code"] == 0


def test_a_secret_field_holds_its_mask_in_json_and_nothing_else() -> None:
    """A program may see that a secret changes; what it is, nobody sees."""
    document = opened(plan_json(cases.MIXED, Verdict(), 2))
    found = []
    for change in document["plan"]["changes"]:
        kind = KINDS[change["address"].partition("/")[0]]
        fields = change.get("fields", {})
        if isinstance(fields, list):
            found += [f[end] for f in fields if f["path"] in kind.secret for end in ("before", "after")]
        else:
            found += [value for path, value in fields.items() if path in kind.secret]

    assert len(found) == 3
    assert all(value.startswith(MASK) for value in found)
