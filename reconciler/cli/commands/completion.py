"""`reconciler completion`: the few lines of a shell that ask this program what fits at the cursor."""

import click

from reconciler.cli.dispatch import runs

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@runs("completion:completion")
def command() -> None:
    """Print the script that completes `reconciler` in bash (4.4 or newer), zsh or fish.

    Completes commands, options and their choices, files, environments and workspaces of the settings,
    addresses of manifests up to 2 MiB, rosters left out, and codes. Everything is read offline, and no
    secret is.

    Writes nothing. To install it, send the output to where your shell looks for it, and open a new shell:

    \b
        bash   ~/.local/share/bash-completion/completions/reconciler
        zsh    a folder of $fpath, as _reconciler
        fish   ~/.config/fish/completions/reconciler.fish

    Without the package bash-completion, put `eval "$(reconciler completion bash)"` into ~/.bashrc.

    Exit codes: 0 printed, 64 usage.

    \b
    Example:
        reconciler completion bash
    """
