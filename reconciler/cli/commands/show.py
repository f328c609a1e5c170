"""`reconciler show`: a saved plan, as text or JSON. Reads the file, and a key where it is encrypted."""

import os
from pathlib import Path

import click

from reconciler.cli import options, output


@click.command(short_help="Show a saved plan.")
@click.argument("file")
@options.identity_option
@options.full_option
@options.format_option
def command(file: str, *, identity: str | None, full: bool, format: str) -> int:  # noqa: A002 - the option's name
    """Show the plan that `reconciler plan -o FILE`, or the undo that `apply --undo FILE` wrote.

    The guard is asked again when the plan is applied; here its default limits are shown.

    Reads FILE; writes nothing, and calls nobody.

    Exit codes: 0 shown, 1 file unreadable, 3 no plan, or changed, 5 made by another version.

    \b
    Example:
        reconciler show plan.json --full
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.files.planfile import read_plan  # noqa: PLC0415 - loads much that --help does not need
    from reconciler.core.guard import Consent, guard  # noqa: PLC0415 - the same
    from reconciler.model.settings import GuardLimits  # noqa: PLC0415 - the same
    from reconciler.report.json import plan_json  # noqa: PLC0415 - the same
    from reconciler.report.text import plan_lines  # noqa: PLC0415 - the same

    plan = read_plan(Path(file), identity=identity, environ=os.environ)
    verdict = guard(plan, GuardLimits(), Consent())
    if format == "json":
        output.json(plan_json(plan, verdict, 0))
    else:
        output.lines(plan_lines(plan, verdict, full=full, next_step=f"reconciler apply {file}"))
    return 0
