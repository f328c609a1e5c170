"""`reconciler validate`: settings and manifests checked offline. Sends nothing, reads no secret."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.cache_option
@options.report_option
@options.format_option
@click.option(
    "--without-variables",
    is_flag=True,
    help="Accept variables that are not set, and ask no directory: each is a warning, and not checked.",
)
@runs("project.validate:validate")
def command() -> None:
    """Check the settings and every manifest offline, and show all mistakes at once.

    At most 1,000 mistakes are shown, with the number of the others. For a file that is not YAML, only
    that is shown.

    Values that are probably wrong, such as a phone number in no known range, are warnings. They do not
    change the exit code (`checks` of the settings).

    Use --without-variables where secrets must not be, as in a pull request: manifests that take values
    from the environment are still checked, and so is what stands beside a roster from a directory. `plan`
    and `apply` need every value.

    Reads settings, manifests, the files they name and the directories that rosters come from; writes
    nothing, but FILE of --report, and what it keeps of large manifests below .reconciler/cache.

    Exit codes: 0 no mistakes, 1 a directory did not answer or a report could not be written, 3 mistakes.

    \b
    Examples:
        reconciler validate
        reconciler validate --report sarif=out.sarif --report html=out.html
    """
