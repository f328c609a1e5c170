"""Reports for the places where GitHub and GitLab show them beside the changed lines.

GitHub: annotations of an Actions job (`cat FILE` in a step); the summary of the job is the Markdown report.
Values are escaped as GitHub's own toolkit does it, so that a runner finds no command in them (source:
actions/toolkit, packages/core/src/command.ts). GitLab: the widget of a merge request, and Code Quality.
"""

from collections.abc import Sequence
from itertools import groupby

from reconciler.model.documents import openable_file
from reconciler.report.escaping import escape_ci_commands, escape_ci_commands_in_json, escape_control
from reconciler.report.json import json_text
from reconciler.report.lines import count
from reconciler.report.remarks import Level, Remark, list_check_remarks, list_remarks
from reconciler.report.review_document import Review, Validated

# GitHub shows ten errors, ten warnings and ten notices of a step, and drops the others silently.
_annotations_max = 10

_message_max = 1_000  # characters of one annotation

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github(review: Review) -> str:
    """Return a workflow command for each remark: at most ten of a level, the last one a count."""
    return annotate_remarks(list_remarks(review))


def annotate_remarks(found: Sequence[Remark]) -> str:
    """Return remarks, the worst first, as workflow commands; a line of plain text where there are none."""
    by_level = groupby(found, key=lambda one: one.level)
    lines = [line for level, these in by_level for line in _annotate_level(level, [*these])]
    return "".join(f"{line}\n" for line in lines or ["nothing needs attention"])


def _annotate_level(level: Level, found: Sequence[Remark]) -> list[str]:
    if len(found) <= _annotations_max:
        return [_write_command(level, one) for one in found]
    shown = found[: _annotations_max - 1]
    rest = Remark(found[0].rule, "", f"and {count(len(found) - len(shown), 'more remark')} of this level.")
    return [_write_command(level, one) for one in (*shown, rest)]


def _write_command(level: Level, found: Remark) -> str:
    about = {"file": openable_file(found.file), "line": found.line, "col": found.column, "title": found.rule}
    named = ",".join(f"{name}={_escape_property(str(value))}" for name, value in about.items() if value)
    said = escape_ci_commands(escape_control(found.said, limit=_message_max)).translate(_DATA)
    return f"::{_COMMANDS[level]} {named}::{said}"


def _escape_property(text: str) -> str:
    return escape_ci_commands(escape_control(text)).translate(_PROPERTY)


# --- GitLab: the widget of a merge request counts what is created, updated and deleted --------------
#
# It is what `artifacts:reports:terraform` takes, a file with exactly these three keys, so it holds no names.
# Mistakes in manifests have a place, and are Code Quality (`artifacts:reports:codequality`).
# Source: GitLab, lib/gitlab/ci/parsers/terraform/tfplan.rb, and the documentation of Code Quality.


_ACTIONS = ("create", "update", "delete")  # in this order: old versions compare the list of keys

_SEVERITIES: dict[Level, str] = {"error": "critical", "warning": "minor", "note": "info"}


def gitlab(review: Review) -> str:
    """Return how many changes of each action there are; of a run, how many were applied."""
    counts = {word: review.plan.count(word) for word in _ACTIONS}
    if review.run is not None:
        applied = [one.action for one in review.run.outcomes if one.result == "applied"]
        counts = {word: applied.count(word) for word in _ACTIONS}
    return "{" + ", ".join(f'"{word}": {number}' for word, number in counts.items()) + "}\n"


def _make_issue(found: Remark) -> dict[str, object]:
    return {
        "description": escape_control(found.said),
        "check_name": found.rule,
        "fingerprint": found.digest,
        "severity": _SEVERITIES[found.level],
        "location": {
            "path": escape_control(openable_file(found.file)),
            "lines": {"begin": max(found.line, 1)},
        },
    }


def gitlab_of_checks(result: Validated) -> str:
    """Return the mistakes and warnings as Code Quality."""
    return escape_ci_commands_in_json(
        json_text(
            [_make_issue(one) for one in list_check_remarks(result.problems, result.notices) if one.file]
        )
    )


def github_of_checks(result: Validated) -> str:
    """Return the mistakes and warnings as annotations."""
    return annotate_remarks(list_check_remarks(result.problems, result.notices))
