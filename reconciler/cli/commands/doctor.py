"""`reconciler doctor`: is everything there, reachable and allowed? Writes nothing."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


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
@runs("doctor.looks:doctor")
def command() -> None:
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
    """
