"""`reconciler validate`: settings and manifests checked offline. Calls nobody, reads no secret."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command(short_help="Check settings and manifests offline, all problems at once.")
@options.settings_options
@options.format_option
@click.option(
    "--without-variables",
    is_flag=True,
    help="Take variables that are not set for given: each is a warning, and its value is not checked.",
)
@runs("verbs.validate:validate")
def command() -> None:
    """Check the settings and every manifest, offline, and show all mistakes at once.

    Of more than 1,000 mistakes the first 1,000 are shown, and how many more there are. Of a file that
    is no YAML, that alone is shown.

    Values that are probably wrong, such as a phone number in no known range, are warnings: they are shown
    and change no exit code (`checks` of the settings).

    Where secrets must not be, as in a pull request, use --without-variables: manifests whose values come
    from the environment are checked all the same. `plan` and `apply` need every value.

    Reads settings, manifests and the files they name; writes nothing.

    Exit codes: 0 no mistakes, 3 mistakes.

    \b
    Example:
        reconciler validate
    """
