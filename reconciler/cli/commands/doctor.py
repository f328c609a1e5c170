"""`reconciler doctor`: is everything there, reachable and allowed? Writes nothing."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.model.notices import CheckResult, CheckState
from reconciler.report.escaping import escape_control
from reconciler.report.lines import BLANK, Line, Style, count, line, pad_text, width

if TYPE_CHECKING:
    from reconciler.cli.doctor.check_context import Surroundings

# --- What `reconciler doctor` found, as a table and as JSON. Nothing is looked at here ------------


_STATES: Mapping[CheckState, tuple[str, Style]] = {
    "ok": ("ok", "create"),
    "warn": ("warn", "update"),
    "fail": ("FAIL", "delete"),
    "unchecked": ("-", "dim"),
}
_state_columns = 4


class DoctorResult(CommandResult, frozen=True):
    """What was checked. The exit code is 1 where anything failed; a warning is no failure."""

    title: ClassVar[str] = "What was checked"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1)
    checks: Annotated[tuple[CheckResult, ...], Doc("In the order in which one rests on the other.")]

    @property
    def exit_code(self) -> int:
        """1 where anything failed, else 0."""
        return 1 if any(one.state == "fail" for one in self.checks) else 0

    def lines(self) -> Sequence[Line]:
        """Return a line for each check, what to do below it, and the counts at the end."""
        return (*_check_lines(self.checks), BLANK, _count_states(self.checks))

    def failure_lines(self) -> Sequence[Line]:
        """Return the lines of what failed: for a log that does not hold the table."""
        return tuple(_check_lines([one for one in self.checks if one.state == "fail"]))


def _check_lines(findings: Sequence[CheckResult]) -> list[Line]:
    wide = max((width(escape_control(one.name)) for one in findings), default=0)
    lines: list[Line] = []
    for one in findings:
        word, style = _STATES[one.state]
        lines.append(
            line((pad_text(word, _state_columns), style), "  ", pad_text(one.name, wide), "  ", one.what)
        )
        if one.next:
            lines.append(line(" " * (_state_columns + wide + 4), ("next: ", "bold"), one.next))
    return lines


def _count_states(findings: Sequence[CheckResult]) -> Line:
    failed, warned, open_ = (
        sum(1 for one in findings if one.state == state) for state in ("fail", "warn", "unchecked")
    )
    parts = (
        f"{failed} failed" if failed else "nothing failed",
        count(warned, "warning") if warned else "",
        f"{open_} not checked" if open_ else "",
    )
    return line(", ".join(filter(None, parts)) + ".")


@click.command()
@click.option("--offline", is_flag=True, help="Skip the service.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.1, max=600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long one check may take. A slow check fails, and does not delay the others.",
)
@options.settings_options
@options.format_option
@prints_result
def doctor_command(*, offline: bool, timeout_s: float, **given: Any) -> DoctorResult:
    """Check everything that a run needs, one part at a time, and say how to fix problems.

    Checks the settings, secrets (never shown), manifests, the store with its lock, unfinished runs and
    history, duplicates that the last run saw, the service with its credentials, workspaces, clock, order of
    lists and limits, file permissions, proxy and certificates, versions and extras. It works even if most
    parts are broken.

    Reads all of these, and sends the service two GETs; writes nothing.

    Exit codes: 0 no check failed, though there may be warnings; 1 a check failed; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler doctor
        reconciler doctor --offline --format json
    """
    if timeout_s != timeout_s:  # noqa: PLR0124 - not a number, which no range keeps out
        raise click.UsageError("--timeout takes seconds.")
    return DoctorResult(checks=_run_checks(given["config"], given["environment"], timeout_s, offline=offline))


# --- `reconciler doctor` at work: every look, in the order of the table. Writes nothing -----------


Look = Callable[["Surroundings"], tuple[CheckResult, ...]]
Step = Callable[["Surroundings"], tuple["Surroundings", tuple[CheckResult, ...]]]


def _run_checks(
    config: str | None, environment: str | None, timeout_s: float, *, offline: bool
) -> tuple[CheckResult, ...]:
    """Return all findings in the order of the table: first what others need, then the rest side by side."""
    from reconciler.cli.doctor import machine_checks, store_service_checks
    from reconciler.cli.doctor.check_context import find_surroundings

    around = find_surroundings(os.environ, config, environment, timeout_s)
    findings: tuple[CheckResult, ...] = ()
    for name, step in (
        ("settings", machine_checks.check_settings),
        ("secrets", machine_checks.check_secrets),
    ):
        around, found = _run_step(name, step, around)
        findings += found
    looks: dict[str, Look] = {
        "manifests": machine_checks.check_manifests,
        "store": store_service_checks.check_store,
        **({} if offline else {"service": store_service_checks.check_service}),
        "limits": machine_checks.check_limits,
        "files": machine_checks.check_files,
        "proxies": machine_checks.check_network_route,
        "program": machine_checks.check_program,
        "extras": machine_checks.check_extras,
    }
    return findings + _run_side_by_side(looks, around)


def _run_step(
    name: str, step: Step, around: "Surroundings"
) -> "tuple[Surroundings, tuple[CheckResult, ...]]":
    """Return what a step found, and the surroundings after it: the same where it was late or broke."""
    from reconciler.cli.doctor.check_context import describe_broken_check, run_within

    def tried() -> "tuple[Surroundings, tuple[CheckResult, ...]]":
        try:
            return step(around)
        except Exception as error:  # noqa: BLE001 - see `run_guarded`
            return around, describe_broken_check(name, error)

    done = run_within({name: tried}, around.timeout_s)
    return done.get(name, (around, (_time_out(name, around.timeout_s),)))


def _run_side_by_side(looks: Mapping[str, Look], around: "Surroundings") -> tuple[CheckResult, ...]:
    from reconciler.cli.doctor.check_context import run_guarded, run_within

    work = {name: partial(run_guarded, name, partial(look, around)) for name, look in looks.items()}
    done = run_within(work, around.timeout_s)
    return tuple(one for name in looks for one in done.get(name, (_time_out(name, around.timeout_s),)))


def _time_out(name: str, timeout_s: float) -> CheckResult:
    return CheckResult(name, "fail", f"no answer within {timeout_s:g} s", "allow more time with --timeout")
