"""`reconciler contacts`: looks contacts up in the service, whether a manifest declares them or not."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs

limit_default = 100
limit_max = 100_000


@click.group(name="contacts", no_args_is_help=False)
def command() -> None:
    """Search the contacts that the service has now. Nothing is written.

    Exit codes: 0 done, also if none was found; 1 failed, 3 input invalid, 64 usage,
    130 interrupted.

    \b
    Example:
        reconciler contacts search lastName=Doe
    """


def _filters(_ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]) -> dict[str, str]:
    """Return fields and texts. A text is never repeated in an error: somebody may search for a secret."""
    found: dict[str, str] = {}
    for number, given in enumerate(written, 1):
        field, equals, text = given.partition("=")
        if not equals or not field or not text.strip():
            raise click.BadParameter(f"filter {number} is not FIELD=TEXT, as in lastName=Doe.")
        if field in found:
            raise click.BadParameter(f"filter {number} names a field that was given before.")
        found[field] = text
    return found


@command.command(short_help="Search contacts by any field.")
@click.argument("filters", nargs=-1, metavar="[FIELD=TEXT]...", callback=_filters)
@click.option(
    "--field",
    "shown",
    multiple=True,
    metavar="NAME",
    help="Show this field too, besides id, address, username and names. Repeatable.",
)
@click.option("--sort", multiple=True, metavar="NAME", help="Sort by this field. Repeatable.")
@click.option(
    "--order",
    type=click.Choice(("asc", "desc")),
    default="asc",
    show_default=True,
    help="The order of --sort.",
)
@click.option(
    "--limit",
    type=options.Count(min=1, max=limit_max),
    default=limit_default,
    show_default=True,
    metavar="N",
    help="Show at most N contacts. As many pages are read as needed.",
)
@options.workspace_option
@options.settings_options
@options.format_option
@runs("service.contacts:search")
def search() -> None:
    """Find the contacts of a workspace whose fields contain the given texts; without any, list all.

    Case is ignored, and all filters must match. Name a field as in a manifest, a custom field as
    custom.NAME. `status` must match exactly. The service does not show passwords and secret answers, so
    they cannot be searched. `address` is the address in the manifests of contacts that the store knows.

    Reads settings, the store and the service; writes nothing.

    Exit codes: 0 shown, also if none was found; 1 failed, 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler contacts search lastName=Doe
        reconciler contacts search jobTitle=nurse status=A \\
            --field workMobilePhone1 --sort lastName
        reconciler contacts search custom.employeeId=4711 --workspace ops \\
            --format json
    """
