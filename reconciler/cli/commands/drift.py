"""`reconciler drift`: live against what we last applied, apart from what git wants. Sends nothing but GET."""

from typing import Any

import click

from reconciler.cli import options, output


@click.command(short_help="Show what changed behind our back since the last apply.")
@options.settings_options
@options.selection_options
@options.full_option
@options.format_option
def command(*, full: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Show what somebody else changed on the service since the last apply.

    What the manifests want beyond that is not drift; `reconciler plan` shows it. A second live entity for
    one that is declared or recorded is drift, whoever made it.

    Reads settings, manifests, the store and the service; writes nothing.

    Exit codes: 0 no drift, 1 failed, 2 drift found, 3 input invalid.

    \b
    Examples:
        reconciler drift
        reconciler drift --only kind:device --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.commands.plan import planned_for  # noqa: PLC0415 - loads much
    from reconciler.report.drift import drift_lines, drifts  # noqa: PLC0415 - the same
    from reconciler.report.json import drift_json  # noqa: PLC0415 - the same

    plan = planned_for(given).plan
    if format == "json":
        output.json(drift_json(plan))
    else:
        output.lines(drift_lines(plan, full=full))
    return 2 if drifts(plan) else 0
