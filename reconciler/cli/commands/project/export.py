"""`reconciler export`: what is live, as manifests. Sends nothing but GET."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@click.option(
    "--into",
    metavar="FOLDER",
    help="The folder to write to. Default: the first folder under `manifests:` of the settings.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SELECTOR",
    help="Only these: contact, kind:resource, workspace:ops. Repeatable.",
)
@click.option(
    "--timezone",
    default="",
    metavar="NAME",
    help="Write this time zone where the service shows its offset. Default: time zones are left out.",
)
@click.option(
    "--devices",
    "look",
    is_flag=True,
    help="Look for devices: one call for each contact whose row in the list does not show them.",
)
@click.option(
    "--env-file",
    metavar="FILE",
    help="Declare push tokens too, by variables, and write their values to this new file, readable by you "
    "alone. In a repository it has to be ignored by git.",
)
@click.option(
    "--secrets-file",
    metavar="FILE",
    help="The same, encrypted for plan.recipients of the settings: such a file may be committed.",
)
@options.recipients_options
@options.full_option
@options.format_option
@runs("project.export:export")
def command() -> None:
    """Write what is live as manifests whose plan is empty.

    What is declared already, by its record or its identity, stays as it is: a second export adds what is new,
    at the end of files that it wrote, else in new ones. Whatever cannot be exported is listed. Push tokens
    are left out: a device that exists is managed without. Keys of callbacks become variables of the
    environment. Content of resources cannot be read back: a placeholder stands there, and nothing is uploaded
    until you replace it.

    Reads settings, manifests, the store and the service; writes manifests, and the file of --env-file or
    --secrets-file.

    Exit codes: 0 exported, also if there was nothing new; 1 failed, 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler export
        reconciler export --only contact --devices --timezone Australia/Melbourne
        reconciler export --into people --only workspace:ops --format json
        reconciler export --devices --env-file tokens.env
    """
