"""`reconciler contacts`: looks contacts up in the service, whether a manifest declares them or not.

The list of contacts is read until enough were found; a contact that a list shows too briefly is read alone.
Which contacts match: messaging/contact_query.py.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.errors import StoreError
from reconciler.messaging.values import ContactQuery
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.kinds import CONTACT
from reconciler.model.plans import Workspace
from reconciler.report.lines import Line, count, line, table

if TYPE_CHECKING:
    from reconciler.messaging.client import ServiceReader
    from reconciler.model.settings import Settings

limit_default = 100
limit_max = 100_000


@click.group(name="contacts", no_args_is_help=False)
def command() -> None:
    """Search the contacts that the service has now. Nothing is written.

    Exit codes: 0 done, or no contact was found; 1 failed; 3 the input is invalid; 64 usage error; 130
    interrupted.

    \b
    Example:
        reconciler contacts search lastName=Doe
    """


def _parse_filters(
    _ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]
) -> dict[str, str]:
    """Return fields and texts. A text is never repeated in an error: somebody may search for a secret."""
    found: dict[str, str] = {}
    for number, given in enumerate(written, 1):
        field, equals, text = given.partition("=")
        if not equals or not field or not text.strip():
            raise click.BadParameter(f"filter {number} is not FIELD=TEXT, as in lastName=Doe.")
        if field in found:
            raise click.BadParameter(f"filter {number} repeats a field.")
        found[field] = text
    return found


class ContactShown(Struct):
    """A contact: the service's id, our address or null, and those fields asked for that it has."""

    contact_id: str
    address: Address | None
    fields: Mapping[str, Scalar]


class ContactsResult(CommandResult, frozen=True):
    """Contacts that were found. `columns` and `workspace` are for the text."""

    title: ClassVar[str] = "Contacts that were looked up"
    contacts: Annotated[tuple[ContactShown, ...], Doc("In the order that was asked for.")]
    more: Annotated[bool, Doc("Whether the search ended at its limit.")]
    trouble: Annotated[str, Doc("Why somebody may be missing; or empty.")]
    columns: tuple[str, ...] = ()
    workspace: str = ""

    def lines(self) -> Sequence[Line]:
        """List the contacts: id, address and the columns; then how many, and whether that may be all."""
        rows = [
            (
                one.contact_id,
                str(one.address or ""),
                *(_cell(one.fields.get(name, "")) for name in self.columns),
            )
            for one in self.contacts
        ]
        summary = count(len(rows), "contact") if rows else f"no contact of workspace {self.workspace} matches"
        if self.more:
            summary += "; there may be more: raise --limit"
        lines = table(("contact", "address", *self.columns), rows, summary, last=0)
        if not self.trouble:
            return lines
        return (*lines, line(("! ", "warn"), f"contacts may be missing: {self.trouble}."))


def _cell(value: Scalar) -> str:
    return value if isinstance(value, str) else str(value).lower()


@command.command(name="search", short_help="Search contacts by any field.")
@click.argument("filters", nargs=-1, metavar="[FIELD=TEXT]...", callback=_parse_filters)
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
@prints_result
def search_contacts(
    *,
    filters: dict[str, str],
    shown: tuple[str, ...],
    sort: tuple[str, ...],
    order: str,
    limit: int,
    workspace: str,
    config: str | None,
    environment: str | None,
) -> ContactsResult:
    """Find the contacts of a workspace whose fields contain the given texts; without a text, list all.

    Upper and lower case are not distinguished. A contact is shown if it matches every filter. Name a field as
    in a manifest, and a custom field as custom.NAME. For `status`, the text must be the whole value. The
    service never shows passwords and secret answers, so they cannot be searched. The column `address` shows
    the address in the manifests, for contacts that the store knows.

    Reads settings, the store and the service; writes nothing.

    Exit codes: 0 shown, or no contact was found; 1 failed; 3 the input is invalid; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler contacts search lastName=Doe
        reconciler contacts search jobTitle=nurse status=A \\
            --field workMobilePhone1 --sort lastName
        reconciler contacts search custom.employeeId=4711 --workspace ops \\
            --format json
    """
    from reconciler.cli.client_session import run_with_reader
    from reconciler.messaging.client import find_workspace_id
    from reconciler.messaging.contact_search import find_contacts

    if order == "desc" and not sort:
        raise click.UsageError("--order needs --sort.")
    query = ContactQuery(filters, shown, sort, order == "desc", limit)

    async def find(reader: "ServiceReader", settings: "Settings") -> ContactsResult:
        checked = _check_query(settings, query)
        where = await find_workspace_id(reader, settings, workspace)
        found = await find_contacts(reader.contacts, checked, workspace=where)
        addresses = _read_addresses(settings, Workspace(workspace, where))
        contacts = (
            ContactShown(one.contact_id, addresses.get(one.contact_id), one.fields) for one in found.contacts
        )
        return ContactsResult(
            contacts=tuple(contacts),
            more=found.more,
            trouble=found.trouble,
            columns=checked.shown,
            workspace=workspace,
        )

    return run_with_reader(config, environment, find)


def _check_query(settings: "Settings", query: ContactQuery) -> ContactQuery:
    """Return the query with fields of a contact of this deployment. Raises InputError, SettingsError."""
    from reconciler.manifest.flatten import list_known_fields
    from reconciler.messaging import contact_query
    from reconciler.service.profile import load_profile

    profile = load_profile(settings.service.profile)
    aliases = {
        theirs: ours
        for names in (profile.field_names, profile.search_names)
        for ours, theirs in names.items()
    }
    declarable = list_known_fields({})[CONTACT.name].union(settings.contact_fields)
    known, shown = contact_query.searchable_fields(declarable), contact_query.display_only_fields(declarable)
    return contact_query.check_contact_query(query, known, aliases, shown)


def _read_addresses(settings: "Settings", workspace: Workspace) -> dict[str, Address]:
    """Return the addresses of the contacts of a workspace that the store knows, by the service's id.

    A store that cannot be read takes nothing away from what was found: a note says that there are none.
    """
    from reconciler.cli.console import output
    from reconciler.cli.session import open_store

    try:
        with open_store(settings, create=False) as store:
            records = store.recorded((workspace,)).entities
    except StoreError as error:
        output.note(f"addresses are not shown: {error}\n  next: {error.next}")
        return {}
    return {one.remote_id: address for address, one in records.items() if address.kind == CONTACT.name}
