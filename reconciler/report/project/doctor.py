"""What `reconciler doctor` found, as a table and as JSON. Nothing is looked at here."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from reconciler.model.notices import CheckResult, CheckState
from reconciler.report.escaping import escape_control
from reconciler.report.json import report_json
from reconciler.report.lines import BLANK, Line, Style, count, line, pad, width

_STATES: Mapping[CheckState, tuple[str, Style]] = {
    "ok": ("ok", "create"),
    "warn": ("warn", "update"),
    "fail": ("FAIL", "delete"),
    "unchecked": ("-", "dim"),
}
_state_columns = 4


def doctor_lines(findings: Sequence[CheckResult]) -> tuple[Line, ...]:
    """Return a line for each finding, what to do below it, and the counts at the end."""
    return (*_rows(findings), BLANK, _summary(findings))


def failed_lines(findings: Sequence[CheckResult]) -> tuple[Line, ...]:
    """Return the lines of what failed: for a log that does not hold the table."""
    return tuple(_rows([one for one in findings if one.state == "fail"]))


def _rows(findings: Sequence[CheckResult]) -> list[Line]:
    wide = max((width(escape_control(one.name)) for one in findings), default=0)
    lines: list[Line] = []
    for one in findings:
        word, style = _STATES[one.state]
        lines.append(line((pad(word, _state_columns), style), "  ", pad(one.name, wide), "  ", one.what))
        if one.next:
            lines.append(line(" " * (_state_columns + wide + 4), ("next: ", "bold"), one.next))
    return lines


def doctor_json(findings: Sequence[CheckResult]) -> str:
    """Return the findings for programs; exit code 1 where one of them failed."""
    return report_json({"checks": tuple(map(structs.asdict, findings))}, exit_code(findings))


def exit_code(findings: Sequence[CheckResult]) -> int:
    """Return 1 where anything failed, else 0: a warning is no failure."""
    return 1 if any(one.state == "fail" for one in findings) else 0


def _summary(findings: Sequence[CheckResult]) -> Line:
    failed, warned, open_ = (
        sum(1 for one in findings if one.state == state) for state in ("fail", "warn", "unchecked")
    )
    parts = (
        f"{failed} failed" if failed else "nothing failed",
        count(warned, "warning") if warned else "",
        f"{open_} not checked" if open_ else "",
    )
    return line(", ".join(filter(None, parts)) + ".")
