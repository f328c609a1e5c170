"""`reconciler plan`: what apply would do, and why. Sends nothing but GET."""

import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output

if TYPE_CHECKING:
    from reconciler.core.guard import Consent
    from reconciler.model.address import Address
    from reconciler.model.plans import Options
    from reconciler.pipeline import Planned


@click.command(short_help="Show what apply would do, and why.")
@options.settings_options
@options.selection_options
@options.consent_options
@click.option("--output", "-o", "file", metavar="FILE", help="Write the plan to FILE, readable by you alone.")
@options.recipients_options
@options.detailed_option
@options.full_option
@options.format_option
def command(*, file: str | None, detailed_exitcode: bool, full: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Compare the manifests with what is live, and show what would change and why.

    Nothing is written to the service, whatever the plan says. With -o the plan can be reviewed and
    then carried out with `reconciler apply FILE`, which refuses it when anything has moved since.
    With --encrypt-to, or plan.recipients in the settings, FILE can be read by those people alone.

    Reads settings, manifests, the store and the service; writes FILE with -o.

    Exit codes: 0 planned, 1 failed, 2 changes or records to keep found (--detailed-exitcode),
    3 input invalid, 5 planned, but somebody is ambiguous, 7 refused by a guard.

    \b
    Examples:
        reconciler plan
        reconciler plan -o plan.json --only workspace:ops
        reconciler plan -o plan.age --recipients-file team.keys
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.files.planfile import write_plan  # noqa: PLC0415 - loads much that --help does not need
    from reconciler.core.recover import Standing  # noqa: PLC0415 - the same
    from reconciler.report.json import plan_json  # noqa: PLC0415 - the same
    from reconciler.report.text import plan_lines  # noqa: PLC0415 - the same
    from reconciler.report.unfinished import running_lines, unfinished_lines  # noqa: PLC0415 - the same

    before = time.monotonic()
    recipients = recipients_of(given, file is not None, "-o FILE")
    planned = planned_for(given)
    if file is not None and planned.verdict.safe:
        write_plan(Path(file), planned.plan, recipients)
    code = exit_code(planned, detailed=detailed_exitcode)
    if planned.running is not None:
        output.note_lines(running_lines(planned.running))
    if planned.unfinished:
        output.note_lines(unfinished_lines(planned.unfinished, "reconciler resume"))
    if format == "json":
        standing = Standing(planned.running, planned.unfinished)
        output.json(plan_json(planned.plan, planned.verdict, code, standing))
        return code
    output.lines(
        plan_lines(
            planned.plan,
            planned.verdict,
            full=full,
            next_step=next_step(file, given),
            seconds=time.monotonic() - before,
            sizes=sizes(planned),
        )
    )
    return code


# What of a command line leads to the same plan, and so belongs to the command that carries it out.
_REPEATED = {
    "config": "--config",
    "environment": "--environment",
    "only": "--only",
    "excluded": "--except",
    "reactivate": "--reactivate",
    "allow_deletes": "--allow-deletes",
    "allow_creates": "--allow-creates",
    "allow_updates": "--allow-updates",
}
_IN_THE_FILE = {"only", "excluded", "reactivate"}  # a plan file holds these, and apply refuses them beside it


def next_step(file: str | None, given: Mapping[str, Any]) -> str:
    """Return the command that carries out this plan and no other: same environment, same consent."""
    words = ["reconciler", "apply", *([file] if file else [])]
    for name, flag in _REPEATED.items():
        value = given.get(name)
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        if not (file and name in _IN_THE_FILE):
            words += [word for each in values for word in (flag, str(each))]
    return shlex.join(words)


def planned_for(given: Mapping[str, Any]) -> "Planned":
    """Return the plan that the options of a command line ask for."""
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import finish, outside, settings_of  # noqa: PLC0415 - the same

    settings = settings_of(given["config"], given["environment"], service=True)
    desired = pipeline.validate(settings, os.environ)
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        return finish(
            lambda _signals: pipeline.plan(
                settings, desired, outside(settings), options=options_of(given), consent=consent_of(given)
            )
        )


def recipients_of(given: Mapping[str, Any], wanted: bool, option: str) -> tuple[str, ...]:  # noqa: FBT001 - named where it is called
    """Return the public keys that a file is encrypted to: of the options and of the settings.

    They are read before anything is planned. Raises InputError, FileError; `option` names the file.
    """
    if not wanted:
        if given["encrypt_to"] or given["recipients_file"]:
            raise click.UsageError(f"--encrypt-to and --recipients-file are about a file: give {option}.")
        return ()
    from reconciler.cli.files.encryption import check_recipients, read_recipients  # noqa: PLC0415 - loads much that --help does not need
    from reconciler.cli.running import settings_of  # noqa: PLC0415 - the same

    settings = settings_of(given["config"], given["environment"], service=False)
    files = (key for name in given["recipients_file"] for key in read_recipients(Path(name)))
    recipients = (*settings.plan_recipients, *given["encrypt_to"], *files)
    if recipients:
        check_recipients(recipients)
    return recipients


def options_of(given: Mapping[str, Any]) -> "Options":
    """Return what the options of a command line say about which plan is made."""
    from reconciler.model.plans import Options  # noqa: PLC0415 - loads much that --help does not need

    return Options(given["only"], given["excluded"], given.get("reactivate", ()))


def consent_of(given: Mapping[str, Any]) -> "Consent":
    """Return the numbers that a person has agreed to on the command line."""
    from reconciler.core.guard import Consent  # noqa: PLC0415 - loads much that --help does not need

    return Consent(*(given.get(f"allow_{what}") or 0 for what in ("deletes", "creates", "updates")))


def exit_code(planned: "Planned", *, detailed: bool) -> int:
    """Return 7 for a refused plan, 5 where somebody is ambiguous, 2 for work (where asked for), else 0."""
    from reconciler.core.twins import ambiguous  # noqa: PLC0415 - loads much that --help does not need

    if not planned.verdict.safe:
        return 7
    if ambiguous(planned.plan, planned.desired):
        return 5
    return 2 if detailed and (planned.plan.changes or planned.plan.to_keep) else 0


def sizes(planned: "Planned") -> "dict[Address, int]":
    """Return the octets of content by address, which the plan itself does not hold."""
    return {
        address: len(entity.content.data)
        for address, entity in planned.desired.entities.items()
        if entity.content is not None
    }
