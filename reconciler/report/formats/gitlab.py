"""The report for the widget of a GitLab merge request: how much is created, updated and deleted.

It is what `artifacts:reports:terraform` takes, a file with exactly these three keys, so it names nobody.
Mistakes in manifests have a place, and are Code Quality (`artifacts:reports:codequality`).
Source: GitLab, lib/gitlab/ci/parsers/terraform/tfplan.rb, and the documentation of Code Quality.
"""

from collections.abc import Sequence

from reconciler.model.documents import openable_file
from reconciler.report.envelope import json_text
from reconciler.report.formats.remarks import Level, Remark
from reconciler.report.inert import inert, json_without_orders
from reconciler.report.plan.review import Review

_ACTIONS = ("create", "update", "delete")  # in this order: old versions compare the list of keys

_SEVERITIES: dict[Level, str] = {"error": "critical", "warning": "minor", "note": "info"}


def gitlab(review: Review) -> str:
    """Return how many changes of each action there are; of a run, how many were applied."""
    counts = {word: review.plan.count(word) for word in _ACTIONS}
    if review.run is not None:
        applied = [one.action for one in review.run.outcomes if one.result == "applied"]
        counts = {word: applied.count(word) for word in _ACTIONS}
    return "{" + ", ".join(f'"{word}": {number}' for word, number in counts.items()) + "}\n"


def quality(found: Sequence[Remark]) -> str:
    """Return remarks that have a file as GitLab's Code Quality report; none for an empty list."""
    return json_without_orders(json_text([_issue(one) for one in found if one.file]))


def _issue(found: Remark) -> dict[str, object]:
    return {
        "description": inert(found.said),
        "check_name": found.rule,
        "fingerprint": found.digest,
        "severity": _SEVERITIES[found.level],
        "location": {"path": inert(openable_file(found.file)), "lines": {"begin": max(found.line, 1)}},
    }
