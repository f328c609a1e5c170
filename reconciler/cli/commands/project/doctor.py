"""`reconciler doctor`: is everything there, reachable and allowed? Writes nothing."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
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
@options.format_option
@runs("project.doctor.looks:doctor")
def command() -> None:
    """Check everything that a run needs, each part on its own, and say how to fix what is wrong.

    Checks settings, secrets (never shown), manifests, the store with its lock, unfinished runs, history
    and the duplicates that the last run saw, the service with credentials, workspaces, the
    order of its lists and clock, limits, file permissions, proxy and certificates with their origin,
    versions and extras. It works even if most of them are broken.

    Reads all of these, the service with two GETs; writes nothing.

    Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 64 usage.

    \b
    Examples:
        reconciler doctor
        reconciler doctor --offline --format json
    """
