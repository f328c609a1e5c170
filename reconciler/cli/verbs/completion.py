"""`reconciler completion` at work: click's script for a shell, which asks this program."""

import click
from click.shell_completion import get_completion_class

from reconciler.cli.console import output

# How click tells a completion from a command: `_RECONCILER_COMPLETE=bash_complete reconciler`.
_PROGRAM, _VARIABLE = "reconciler", "_RECONCILER_COMPLETE"


def completion(*, shell: str) -> int:
    """Print the script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices of the argument are those of click
    # Not source(): it would start the bash of this machine, which need not be the one that reads this.
    found = kind(click.Command(_PROGRAM), {}, _PROGRAM, _VARIABLE)
    output.document(found.source_template % found.source_vars())
    return 0
