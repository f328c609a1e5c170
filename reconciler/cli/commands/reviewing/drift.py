"""`reconciler drift`: live against what we last applied, apart from what git wants. Sends nothing but GET."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.cache_option
@options.selection_options
@options.same_service_option
@options.refresh_option
@options.report_options
@options.full_option
@options.format_option
@runs("reviewing.plan:drift")
def command() -> None:
    """Show what others changed on the service since the last apply.

    Changes in the manifests are not drift; `reconciler plan` shows them. A second live entity for a
    declared or recorded one is drift, whoever created it. What was declared since the last apply is
    counted as not yet applied.

    Reads settings, manifests, the store and the service; writes nothing, but FILE of --report,
    and what it keeps of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 no drift, 1 failed, or nothing to compare with in a workspace, 2 drift found, 3 input
    invalid.

    \b
    Examples:
        reconciler drift
        reconciler drift --only kind:device --format json
    """
