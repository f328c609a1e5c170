"""`reconciler demo`: the whole story with the real commands against a sandbox of its own."""

import click

from reconciler.cli.dispatch import runs


@click.command(short_help="See all of it in half a minute, offline.")
@runs("demo.story:demo")
def command() -> None:
    """See all of it in half a minute, offline: plan, apply, drift, repair, prune, and a refusal.

    It starts a sandbox on a free port of this machine and runs the real commands in a temporary
    folder. Nothing is sent anywhere, and nothing is left behind.

    Writes a temporary folder.

    Exit codes: 0 all went as told, 1 something did not, 130 interrupted.

    \b
    Example:
        reconciler demo
    """
