"""`reconciler fmt`: manifests in one form, so that a review shows what was meant and nothing else."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=Completes("files"))
@click.option("--check", is_flag=True, help="Write nothing; exit with 2 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change. Exits like --check.")
@options.settings_options
@runs("project.fmt:fmt")
def command() -> None:
    """Bring manifests into one form: the order of keys, quotes, indentation, blank lines.

    What a manifest says stays the same, and so does every comment. Each file is read again after formatting
    and compared; one that would say something else is left as it is, and told.

    Keys are in the order in which `export` writes them. Entries, tags, custom fields and columns stay in
    yours. A blank line ends a group of keys, and keys are sorted within their group; a comment above a key
    moves with it. A value gets quotes where other readers of YAML would see a number, a date or a truth
    value, and loses those that it does not need.

    PATH is a manifest, or a folder of them. Default: the manifests of the settings. JSON manifests,
    rosters and the settings are left alone.

    Needs no secret, no variable and no service. Reads manifests and, where there are any, the settings;
    writes manifests.

    Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 2 not formatted (--check,
    --diff); 3 a file cannot be read.

    \b
    Examples:
        reconciler fmt
        reconciler fmt --check manifests/
        reconciler fmt --diff manifests/ops.yaml
    """
