"""`reconciler doctor`: is everything there, reachable and allowed? Writes nothing."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output

if TYPE_CHECKING:
    from reconciler.cli.doctor.surroundings import Surroundings
    from reconciler.model.findings import Finding

    Look = Callable[[Surroundings], tuple[Finding, ...]]
    Step = Callable[[Surroundings], tuple[Surroundings, tuple[Finding, ...]]]


@click.command(short_help="Check that everything is there, reachable and allowed.")
@options.settings_options
@click.option("--offline", is_flag=True, help="Leave out the service.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.1, max=600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long one look may take; a slow one is a failure, and hides no other.",
)
@options.format_option
def command(*, offline: bool, timeout_s: float, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Look at everything that a run needs, each thing by itself, and say what to do where it is not well.

    Settings, secrets (never shown), manifests, the store with its lock, unfinished runs, history and
    the number of twins that the last run saw, the service with credentials, workspaces and clock,
    limits, rights of files, the proxy and the certificates in effect and who decided, versions. Works
    also when most of it is broken.

    Reads all of these, the service with a single GET; writes nothing.

    Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 64 usage.

    \b
    Examples:
        reconciler doctor
        reconciler doctor --offline --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.report.doctor import doctor_json, doctor_lines, exit_code  # noqa: PLC0415 - slow to load

    if timeout_s != timeout_s:  # noqa: PLR0124 - not a number, which no range keeps out
        raise click.UsageError("--timeout takes seconds.")
    found = _found(given["config"], given["environment"], timeout_s, offline=offline)
    if format == "json":
        output.json(doctor_json(found))
    else:
        output.lines(doctor_lines(found))
    return exit_code(found)


def _found(
    config: str | None, environment: str | None, timeout_s: float, *, offline: bool
) -> "tuple[Finding, ...]":
    """Return all findings in the order of the table: first what others need, then the rest side by side."""
    from reconciler.cli.doctor import checks, outside  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.doctor.surroundings import begun  # noqa: PLC0415 - the same

    around = begun(os.environ, config, environment, timeout_s)
    findings: tuple[Finding, ...] = ()
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
    }
    return findings + _side_by_side(looks, around)


def _step(name: str, step: "Step", around: "Surroundings") -> "tuple[Surroundings, tuple[Finding, ...]]":
    """Return what a step found, and the surroundings after it: the same where it was late or broke."""
    from reconciler.cli.doctor.deadlines import together  # noqa: PLC0415 - where looks begin
    from reconciler.cli.doctor.surroundings import broken  # noqa: PLC0415 - the same

    def guarded() -> "tuple[Surroundings, tuple[Finding, ...]]":
        try:
            return step(around)
        except Exception as error:  # noqa: BLE001 - see `alone`
            return around, broken(name, error)

    done = together({name: guarded}, around.timeout_s)
    return done.get(name, (around, (_late(name, around.timeout_s),)))


def _side_by_side(looks: "Mapping[str, Look]", around: "Surroundings") -> "tuple[Finding, ...]":
    from reconciler.cli.doctor.deadlines import together  # noqa: PLC0415 - where looks begin
    from reconciler.cli.doctor.surroundings import alone  # noqa: PLC0415 - the same

    work = {name: partial(alone, name, partial(look, around)) for name, look in looks.items()}
    done = together(work, around.timeout_s)
    return tuple(one for name in looks for one in done.get(name, (_late(name, around.timeout_s),)))


def _late(name: str, timeout_s: float) -> "Finding":
    from reconciler.model.findings import Finding  # noqa: PLC0415 - only what is late pays for it

    return Finding(name, "fail", f"no answer within {timeout_s:g} s", "give it more time with --timeout")
