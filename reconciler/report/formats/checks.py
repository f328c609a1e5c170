"""What `validate` found, in every format of `--report`: mistakes and warnings, each with its place.

Values are quoted here: they stand in the same repository, and a value of the environment is never shown.
"""

from collections.abc import Sequence

from msgspec import Struct

from reconciler.errors import Problem
from reconciler.model.notices import Notice
from reconciler.report.formats import github as annotations
from reconciler.report.formats import gitlab as widget
from reconciler.report.formats import junit as tests
from reconciler.report.formats import sarif as log
from reconciler.report.formats.commonmark import Section, code, fitted, prose
from reconciler.report.formats.findings import Finding, findings_of_check
from reconciler.report.formats.markdown import markdown_max
from reconciler.report.inert import json_without_orders, without_orders
from reconciler.report.json import problems_json
from reconciler.report.lines import count, notice_lines, plain
from reconciler.report.text import problem_lines


class Checked(Struct, frozen=True):
    """Every mistake in file order, and every warning."""

    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...] = ()


def markdown(checked: Checked) -> str:
    """Return the mistakes, then the warnings: at most 60,000 characters, and what is cut is counted."""
    head = f"## validate\n\n**{_headline(checked)}**\n\n"
    problems, notices = checked.problems, checked.notices
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


def _headline(checked: Checked) -> str:
    mistakes = count(len(checked.problems), "mistake") if checked.problems else "No mistakes"
    return f"{mistakes}, {count(len(checked.notices), 'warning')}."


def text(checked: Checked) -> str:
    """Return the mistakes, the warnings and their number as plain text."""
    lines = [*problem_lines(checked.problems), *notice_lines(checked.notices, full=True)]
    return without_orders(plain(lines)) + f"{_headline(checked)}\n"


def json(checked: Checked) -> str:
    """Return what `--format json` prints of good manifests; of others with their problems."""
    return json_without_orders(problems_json(checked.problems, notices=checked.notices)).rstrip("\n") + "\n"


def junit(checked: Checked) -> str:
    """Return a suite a file and a test a mistake; one test that passes where there is none."""
    found = [tests.of_place(one) for one in _found(checked)]
    return tests.rendered("reconciler validate", found or [tests.Test("manifests", "no mistakes")])


def sarif(checked: Checked) -> str:
    """Return the mistakes and warnings as a SARIF log."""
    return log.rendered(_found(checked))


def github(checked: Checked) -> str:
    """Return the mistakes and warnings as annotations."""
    return annotations.rendered(_found(checked))


def gitlab(checked: Checked) -> str:
    """Return the mistakes and warnings as Code Quality."""
    return widget.quality(_found(checked))


def _found(checked: Checked) -> Sequence[Finding]:
    return findings_of_check(checked.problems, checked.notices)
