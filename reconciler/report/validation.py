"""What `validate` found, in every format of `--report`: mistakes and warnings, each with its place.

Values are quoted here: they stand in the same repository, and a value of the environment is never shown.
"""

from collections.abc import Sequence

from msgspec import Struct

from reconciler.errors import Problem
from reconciler.model.notices import Notice
from reconciler.report import forge as annotations
from reconciler.report import forge as widget
from reconciler.report import junit as tests
from reconciler.report import metrics as textfile
from reconciler.report import sarif as log
from reconciler.report.escaping import escape_ci_commands, escape_ci_commands_in_json
from reconciler.report.json import problems_json
from reconciler.report.lines import count, notice_lines, plain
from reconciler.report.markdown import Section, code, fitted, markdown_max, prose
from reconciler.report.metrics import Metric
from reconciler.report.remarks import Remark, remarks_of_check
from reconciler.report.text import problem_lines


class Validated(Struct, frozen=True):
    """Every mistake in file order, and every warning."""

    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...] = ()


def markdown(validated: Validated) -> str:
    """Return the mistakes, then the warnings: at most 60,000 characters, and what is cut is counted."""
    head = f"## validate\n\n**{_headline(validated)}**\n\n"
    problems, notices = validated.problems, validated.notices
    sections = [
        Section("Mistakes", len(problems), (_item(one.where, one.what, one.next) for one in problems)),
        Section(
            "Warnings",
            len(notices),
            (_item(one.place or one.subject, f"{one.subject}: {one.what}", one.next) for one in notices),
        ),
    ]
    return head + fitted(sections, markdown_max - len(head))


def _item(where: str, what: str, step: str) -> str:
    then = f"  - next: {prose(step)}\n" if step else ""
    return f"- {code(where)}: {prose(what)}\n{then}"


def _headline(validated: Validated) -> str:
    mistakes = count(len(validated.problems), "mistake") if validated.problems else "No mistakes"
    return f"{mistakes}, {count(len(validated.notices), 'warning')}."


def text(validated: Validated) -> str:
    """Return the mistakes, the warnings and their number as plain text."""
    lines = [*problem_lines(validated.problems), *notice_lines(validated.notices, full=True)]
    return escape_ci_commands(plain(lines)) + f"{_headline(validated)}\n"


def json(validated: Validated) -> str:
    """Return what `--format json` prints of good manifests; of others with their problems."""
    return (
        escape_ci_commands_in_json(problems_json(validated.problems, notices=validated.notices)).rstrip("\n")
        + "\n"
    )


def junit(validated: Validated) -> str:
    """Return a suite a file and a test a mistake; one test that passes where there is none."""
    found = [tests.of_place(one) for one in _found(validated)]
    return tests.junit_suites("reconciler validate", found or [tests.Test("manifests", "no mistakes")])


def sarif(validated: Validated) -> str:
    """Return the mistakes and warnings as a SARIF log."""
    return log.sarif_log(_found(validated))


def github(validated: Validated) -> str:
    """Return the mistakes and warnings as annotations."""
    return annotations.annotate_remarks(_found(validated))


def gitlab(validated: Validated) -> str:
    """Return the mistakes and warnings as Code Quality."""
    return widget.code_quality(_found(validated))


def prometheus(validated: Validated) -> str:
    """Return the number of mistakes and that of warnings as a textfile of Prometheus."""
    return textfile.prometheus_text(validation_metrics(validated))


def validation_metrics(validated: Validated) -> tuple[Metric, ...]:
    """Return the number of mistakes and that of warnings."""
    labels = {"command": "validate"}
    mistakes, warnings = len(validated.problems), len(validated.notices)
    return (
        Metric("mistakes", "Mistakes in manifests and rosters.", ((labels, mistakes),)),
        Metric("warnings", "Warnings about what manifests and rosters say.", ((labels, warnings),)),
    )


def _found(validated: Validated) -> Sequence[Remark]:
    return remarks_of_check(validated.problems, validated.notices)
