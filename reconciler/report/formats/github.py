"""The report as annotations of a GitHub Actions job: `cat FILE` in a step, and they stand beside the lines.

The summary of the job is another report, Markdown. Values are escaped as GitHub's own toolkit does it, so
that a runner finds no command in them. Source: actions/toolkit, packages/core/src/command.ts.
"""

from collections.abc import Sequence
from itertools import groupby

from reconciler.model.documents import openable_file
from reconciler.report.formats.remarks import Level, Remark, remarks
from reconciler.report.inert import inert, without_orders
from reconciler.report.lines import count
from reconciler.report.plan.review import Review

# GitHub shows ten errors, ten warnings and ten notices of a step, and drops the others in silence.
_annotations_max = 10

_message_max = 1_000  # characters of one annotation

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github(review: Review) -> str:
    """Return a workflow command a line for what asks for attention: of each level ten, the last a count."""
    return rendered(remarks(review))


def rendered(found: Sequence[Remark]) -> str:
    """Return remarks, the worst first, as workflow commands; a line of plain text where there are none."""
    by_level = groupby(found, key=lambda one: one.level)
    lines = [line for level, these in by_level for line in _of_level(level, [*these])]
    return "".join(f"{line}\n" for line in lines or ["nothing asks for attention"])


def _of_level(level: Level, found: Sequence[Remark]) -> list[str]:
    if len(found) <= _annotations_max:
        return [_command(level, one) for one in found]
    shown = found[: _annotations_max - 1]
    rest = Remark(found[0].rule, "", f"and {count(len(found) - len(shown), 'more remark')} of this level.")
    return [_command(level, one) for one in (*shown, rest)]


def _command(level: Level, found: Remark) -> str:
    about = {"file": openable_file(found.file), "line": found.line, "col": found.column, "title": found.rule}
    named = ",".join(f"{name}={_property(str(value))}" for name, value in about.items() if value)
    said = without_orders(inert(found.said, limit=_message_max)).translate(_DATA)
    return f"::{_COMMANDS[level]} {named}::{said}"


def _property(text: str) -> str:
    return without_orders(inert(text)).translate(_PROPERTY)
