"""`reconciler completion`: the few lines of a shell that ask this program what fits at the cursor."""

import click
from click.shell_completion import get_completion_class

from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import FileText

SHELLS = ("bash", "zsh", "fish")
# How click tells a completion from a command: `_RECONCILER_COMPLETE=bash_complete reconciler`.
_PROGRAM, _VARIABLE = "reconciler", "_RECONCILER_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@prints_result
def completion_command(*, shell: str) -> FileText:
    """Print the script that completes `reconciler` in bash (4.4 or newer), zsh or fish.

    The script completes commands, options and their choices, files, codes of errors, the environments and
    workspaces of the settings, and the addresses in manifests of up to 2 MiB, but not the addresses that come
    from rosters. Completion works offline and reads no secrets.

    Writes nothing. To install the script, redirect the output to the file below, and open a new shell:

    \b
        bash   ~/.local/share/bash-completion/completions/reconciler
        zsh    a folder of $fpath, as _reconciler
        fish   ~/.config/fish/completions/reconciler.fish

    Without the package bash-completion, put `eval "$(reconciler completion bash)"` into ~/.bashrc.

    Exit codes: 0 printed; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler completion bash
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices of the argument are those of click
    # Not source(): it would start the bash of this machine, which need not be the one that reads this.
    found = kind(click.Command(_PROGRAM), {}, _PROGRAM, _VARIABLE)
    return FileText(content=found.source_template % found.source_vars())
