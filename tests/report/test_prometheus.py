"""The report as a textfile of Prometheus: what its collector takes, and what alerts can be made of."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from report import cases
from report.reviews import REVIEWS, reviews
from report.strategies import calm

from reconciler.errors import Problem
from reconciler.model.plans import SkipReason
from reconciler.model.runs import Result
from reconciler.report.escaping import escape_control
from reconciler.report.metrics import prometheus
from reconciler.report.report_formats import CHECKS
from reconciler.report.review_document import Review, Validated

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(
    rf"(reconciler_[a-z_]+)\{{({LABEL}(?:,{LABEL})*)\}} (-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
)
ABOUT = re.compile(r"# (HELP|TYPE) (reconciler_[a-z_]+) ([^\n]+)")
_UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    """One series with its value."""

    name: str
    labels: dict[str, str]
    value: float


def samples(text: str) -> Iterator[Sample]:
    """Yield what a strict reader of the format finds; it fails for what the collector refuses."""
    about: dict[str, list[str]] = {}
    for line in text.removesuffix("\n").split("\n"):
        if found := ABOUT.fullmatch(line):
            about.setdefault(found[2], []).append(found[1])
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        assert about[found[1]] == ["HELP", "TYPE"], "each once, and before the first sample"
        labels = {}
        for label in re.findall(LABEL, found[2]):
            name, _, value = label.partition("=")
            labels[name] = re.sub(r"\\.", lambda one: _UNESCAPED[one[0]], value[1:-1])
        yield Sample(found[1], labels, float(found[3]))


def told(name: str, review: Review) -> dict[str, float]:
    """Return the values of one metric by the last of its labels."""
    found = [one for one in samples(prometheus(review)) if one.name == f"reconciler_{name}"]
    return {list(one.labels.values())[-1]: one.value for one in found}


@calm
@given(review=reviews(), stack=st.text(max_size=8))
def test_the_collector_can_read_it(review: Review, stack: str) -> None:
    """One that it cannot read takes the metrics of the whole machine with it."""
    target = structs.replace(review.plan.target, stack=stack)
    review = structs.replace(review, plan=structs.replace(review.plan, target=target))
    found = list(samples(prometheus(review)))

    names = [name for name, _ in groupby(one.name for one in found)]
    series = [(one.name, tuple(sorted(one.labels.items()))) for one in found]
    assert len(names) == len(set(names)), "the samples of a metric stand together"
    assert len(series) == len(set(series)), "no series is there twice"
    assert {one.labels["stack"] for one in found} == {escape_control(stack)}
    assert {one.labels["command"] for one in found} == {review.command}


@pytest.mark.parametrize("review", REVIEWS)
def test_it_names_nobody(review: str) -> None:
    """It may be read by others, and is kept for months elsewhere."""
    text = prometheus(REVIEWS[review])
    plan = REVIEWS[review].plan

    assert [one.address for one in plan.changes if one.address.partition("/")[2] in text] == []
    assert [one.address for one in plan.skips if str(one.address).rpartition("/")[2] in text] == []


def test_what_an_alarm_needs_is_there_when_it_is_zero() -> None:
    """A series that appears with the first failure raises none: nothing was before it."""
    done = REVIEWS["run-done"]

    assert told("outcomes", done).keys() == {*get_args(Result)}
    assert told("outcomes", done)["in doubt"] == 0
    assert told("left_alone", REVIEWS["plan-empty"]) == dict.fromkeys(get_args(SkipReason), 0)
    assert [*told("refusals", REVIEWS["plan-empty"]).values()] == [0]
    assert told("drifted", REVIEWS["drift-none"]) == {"drift": 0}


def test_the_numbers_are_those_of_the_plan_and_of_the_run() -> None:
    run, plan = REVIEWS["run"], cases.MIXED
    actions = [one for one in samples(prometheus(run)) if one.name == "reconciler_planned_changes"]

    assert sum(one.value for one in actions) == len(plan.changes)
    assert {
        word: sum(one.value for one in actions if one.labels["action"] == word)
        for word in ("create", "update", "delete")
    } == {word: plan.count(word) for word in ("create", "update", "delete")}
    assert sum(told("outcomes", run).values()) == len(cases.PARTIAL.outcomes)
    assert told("exit_code", run) == {"apply": 8}
    assert told("calls", run) == cases.PARTIAL.calls
    assert told("drifted", REVIEWS["drift"]) == {"drift": 5}
    assert told("refusals", REVIEWS["plan-refused"])["plan"] > 0


def test_of_manifests_mistakes_and_warnings_are_counted() -> None:
    found = Validated((Problem("manifests/ops.yaml", 3, 1, "fristName is not a field.", code="E208"),))

    assert [(one.name, one.value) for one in samples(CHECKS["prometheus"](found))] == [
        ("reconciler_mistakes", 1),
        ("reconciler_warnings", 0),
    ]
