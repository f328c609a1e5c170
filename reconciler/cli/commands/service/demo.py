"""`reconciler demo`: the whole story with the real commands against a sandbox of its own."""

import click

from reconciler.cli.dispatch import runs


@click.command()
@runs("service.demo.story:demo")
def command() -> None:
    """See the program at work in half a minute, offline: plan, apply, drift, repair, prune, and a refusal.

    It starts a sandbox on a free port of this machine and runs the real commands in a temporary
    folder. Nothing is sent to another machine, and the folder is removed.

    Writes a temporary folder.

    Exit codes: 0 every step went as expected, 1 a step did not, 130 interrupted.

    \b
    Example:
        reconciler demo
    """
