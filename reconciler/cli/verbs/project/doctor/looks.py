"""`reconciler doctor` at work: every look, in the order of the table. Writes nothing."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from reconciler.cli.console import output
from reconciler.cli.verbs.project.doctor import checks, outside
from reconciler.cli.verbs.project.doctor.deadlines import run_within
from reconciler.cli.verbs.project.doctor.surroundings import Surroundings, broken, guarded, surroundings_of
from reconciler.model.notices import CheckResult
from reconciler.report.project.doctor import doctor_json, doctor_lines, exit_code, failed_lines

Look = Callable[[Surroundings], tuple[CheckResult, ...]]
Step = Callable[[Surroundings], tuple[Surroundings, tuple[CheckResult, ...]]]


def doctor(*, offline: bool, timeout_s: float, as_json: bool, **given: Any) -> int:
    """Show what every look has found."""
    if timeout_s != timeout_s:  # noqa: PLR0124 - not a number, which no range keeps out
        raise click.UsageError("--timeout takes seconds.")
    found = _found(given["config"], given["environment"], timeout_s, offline=offline)
    if as_json:
        output.json(doctor_json(found))
    else:
        output.lines(doctor_lines(found))
    output.explain_failure(failed_lines(found))
    return exit_code(found)


def _found(
    config: str | None, environment: str | None, timeout_s: float, *, offline: bool
) -> tuple[CheckResult, ...]:
    """Return all findings in the order of the table: first what others need, then the rest side by side."""
    around = surroundings_of(os.environ, config, environment, timeout_s)
    findings: tuple[CheckResult, ...] = ()
    for name, step in (("settings", checks.settings), ("secrets", checks.secrets)):
        around, found = _step(name, step, around)
        findings += found
    looks: dict[str, Look] = {
        "manifests": checks.manifests,
        "store": outside.store,
        **({} if offline else {"service": outside.service}),
        "limits": checks.limits,
        "files": checks.files,
        "proxies": checks.way,
        "program": checks.program,
        "extras": checks.parts,
    }
    return findings + _side_by_side(looks, around)


def _step(name: str, step: Step, around: Surroundings) -> tuple[Surroundings, tuple[CheckResult, ...]]:
    """Return what a step found, and the surroundings after it: the same where it was late or broke."""

    def tried() -> tuple[Surroundings, tuple[CheckResult, ...]]:
        try:
            return step(around)
        except Exception as error:  # noqa: BLE001 - see `guarded`
            return around, broken(name, error)

    done = run_within({name: tried}, around.timeout_s)
    return done.get(name, (around, (_late(name, around.timeout_s),)))


def _side_by_side(looks: Mapping[str, Look], around: Surroundings) -> tuple[CheckResult, ...]:
    work = {name: partial(guarded, name, partial(look, around)) for name, look in looks.items()}
    done = run_within(work, around.timeout_s)
    return tuple(one for name in looks for one in done.get(name, (_late(name, around.timeout_s),)))


def _late(name: str, timeout_s: float) -> CheckResult:
    return CheckResult(name, "fail", f"no answer within {timeout_s:g} s", "give it more time with --timeout")
