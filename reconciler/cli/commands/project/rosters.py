"""`reconciler rosters`: what directories say, as files that git holds."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.group(name="rosters", no_args_is_help=False)
def command() -> None:
    """Look at what the directories say that rosters come from.

    Exit codes: 0 done, 1 failed, 2 the file differs (--check), 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler rosters snapshot staff
        reconciler rosters snapshot staff --into people/staff.csv --check
    """


@command.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    metavar="FILE",
    shell_complete=Completes("files"),
    help="The CSV file. Default: rosters/NAME.csv beside the settings.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 2 if the file is not what it would be.")
@click.option("--force", is_flag=True, help="Replace a file that has other columns, or is none of CSV.")
@options.settings_options
@runs("project.rosters:snapshot")
def snapshot() -> None:
    """Write what a directory of the settings says to a CSV file.

    Its rows are sorted, so that a commit of it shows who comes and who goes. A roster with `file:` in the
    place of `directory:` declares the same from it, and needs no directory. A column in which any cell is
    no text (bytes, a list, several values) is left out, and told: no roster can take from it.

    A file that has the same columns is replaced, whole or not at all; any other stays, unless --force.
    Cells are as the directory says them: one that begins with = is a formula to a spreadsheet.

    Reads the settings, the secrets of this directory, and the directory; calls no service.

    Exit codes: 0 done, or nothing to do; 1 the directory did not answer, or the file cannot be written;
    2 the file differs (--check); 3 the directory is not described, or answers what no roster may hold.

    \b
    Examples:
        reconciler rosters snapshot staff
        reconciler rosters snapshot staff --into people/staff.csv --check
    """
