"""`reconciler messages`: sends messages, and shows what became of them."""

import re
from datetime import UTC, datetime, time

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs

wait_default_s = 300.0

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@click.group(name="messages", no_args_is_help=False)
def command() -> None:
    """Send a message, and see its status and the replies.

    Exit codes: 0 done, 1 failed, 3 input invalid, 6 sent, but not everybody replied in time,
    7 too many recipients, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler messages send --to +61491570156 --subject Test \\
            --body 'Are you there?' --wait
        reconciler messages list --from 2026-03-02 --to 2026-03-08
    """


def _parameters(_ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter("write NAME=VALUE.")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.")
        found[name] = value
    return found


@command.command(short_help="Send one message, once.")
@click.option(
    "--to",
    multiple=True,
    metavar="RECIPIENT",
    help="A number, an e-mail address, an MRI, contact/WORKSPACE/NAME, or tag:KEY=VALUE. Repeatable.",
)
@click.option("--subject", metavar="TEXT", help="The subject.")
@options.text_options
@click.option(
    "--file",
    metavar="FILE",
    help="A message file in YAML or JSON: e-mail, voice and further parts, and all that has no option.",
)
@click.option("--label", metavar="TEXT", help="A label by which the message is found again.")
@click.option(
    "--at",
    metavar="TIME",
    help="Send it then: an ISO 8601 time with its zone, as 2026-03-02T22:00+11:00. Default: now.",
)
@click.option(
    "--callback",
    default="",
    metavar="NAME",
    help="Where replies are sent: a callback's name or address.",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parameters,
    help="Returned with every reply, as text. Repeatable.",
)
@click.option(
    "--workspace",
    metavar="ALIAS",
    help="A workspace of the settings. Default: the workspace of the contacts in --to, otherwise the default "
    "workspace.",
)
@click.option("--dry-run", is_flag=True, help="Show who would receive it, and send nothing.")
@options.recipients_option
@click.option("--wait", is_flag=True, help="Wait, and show status and replies until everybody has replied.")
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86_400),
    default=wait_default_s,
    show_default=True,
    metavar="S",
    help="How long --wait waits, in seconds.",
)
@options.settings_options
@options.format_option
@runs("service.messages.sending:send")
def send() -> None:
    """Send one message, at most once: if the answer is lost, that is reported, and nothing is sent again.

    contact/WORKSPACE/NAME is a contact of the manifests, tag:KEY=VALUE is every contact with the tag. Each
    is looked up in the service first; if one is missing, ambiguous or has no number, nothing is sent to
    anybody. --wait shows the status and the replies as they arrive, until everybody who can reply has
    replied, S seconds have passed, or Ctrl-C; the message itself is not recalled. --file takes what
    `reconciler schema message` describes.

    Reads settings and FILE, and for contacts and tags the manifests, the store and the service; writes
    the service, nothing with --dry-run.

    Exit codes: 0 accepted (with --wait: everybody replied), 1 not sent,
    or not followed, 3 input invalid, 6 sent, but not everybody replied in time, 7 too many recipients,
    8 in doubt whether it was sent, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler messages send --to +61491570156 \\
            --subject 'Night shift' --body 'Can you come?' --wait
        reconciler messages send --to contact/default/jane-doe \\
            --subject Report --body-file - < report.txt
        reconciler messages send --to +61491570156 --subject Test \\
            --body 'Reply, please' --callback on-call --param incident=42
    """


def _moment(ctx: click.Context, parameter: click.Parameter, written: str | None) -> datetime | None:
    """Return an ISO date or time, in UTC where it names no zone. A day of --to is meant to its end."""
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise click.BadParameter("write a date as 2026-03-02, or 2026-03-02T09:30.", ctx, parameter) from None
    if _DAY.fullmatch(written) and parameter.name == "end":
        found = datetime.combine(found.date(), time.max)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@command.command(name="list", short_help="List messages of the last week, or between two dates.")
@click.option(
    "--from",
    "start",
    metavar="DATE",
    callback=_moment,
    help="From this ISO date on, in UTC if it has no zone. Default: a week ago.",
)
@click.option(
    "--to",
    "end",
    metavar="DATE",
    callback=_moment,
    help="Up to and including this ISO date. Default: now.",
)
@click.option("--shared", is_flag=True, help="Messages that other users have sent.")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("service.messages.messages:list_")
def list_() -> None:
    """List messages, the newest first: those of the last seven days, or of the dates given.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler messages list
        reconciler messages list --from 2026-03-02 --to 2026-03-08 --format json
    """


@command.command(short_help="Show one message with all its fields.")
@click.argument("message_id", metavar="ID")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("service.messages.messages:show")
def show() -> None:
    """Show the message with this ID, with every field that the service returns.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler messages show 4C8FE1A2B3D4E5F6
    """


@command.command(short_help="Show the status of a message.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="Every channel of every recipient.")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("service.messages.messages:status")
def status() -> None:
    """Show how many recipients of a message are in each state, or each of them.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler messages status 4C8FE1A2B3D4E5F6 --detailed
    """


@command.command(short_help="Show the replies to a message.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="The reply of every recipient.")
@click.option(
    "--filter",
    "rule",
    type=click.Choice(("default", "responserule")),
    default="default",
    show_default=True,
    help="Count without a response rule, or by the rule of the message.",
)
@options.workspace_option
@options.settings_options
@options.format_option
@runs("service.messages.messages:responses")
def responses() -> None:
    """Show how many recipients gave each reply to a message, or the reply of each.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler messages responses 4C8FE1A2B3D4E5F6 --detailed
    """


@command.command(short_help="Send one message to everybody in a resource.")
@click.argument("address", metavar="RESOURCE")
@click.option("--sms", metavar="COLUMN", help="The column with mobile numbers.")
@click.option("--email", metavar="COLUMN", help="The column with e-mail addresses.")
@click.option("--voice", metavar="COLUMN", help="The column with numbers to call.")
@click.option("--subject", required=True, metavar="TEXT", help="The subject.")
@options.text_options
@click.option(
    "--callback",
    default="",
    metavar="NAME",
    help="Where replies are sent: a callback's name or address.",
)
@click.option("--dry-run", is_flag=True, help="Count the recipients, and send nothing.")
@options.recipients_option
@options.settings_options
@options.format_option
@runs("service.messages.bulk:bulk")
def bulk() -> None:
    """Send one message to everybody in the rows of RESOURCE, at most once.

    RESOURCE is resource/WORKSPACE/NAME of the manifests: CSV with a header, or a JSON list of objects. Of
    each row, the first filled column is used: SMS, e-mail, voice. The service reads the rows itself, and
    does not show them. So the resource must be applied as it is declared now, and the recipients are
    counted in the manifests. Nothing is sent if a column is missing or has no cell with a number or an
    e-mail address as its option says, or if the resource is gone.

    Reads settings, manifests, the store and the service; writes the service, nothing with --dry-run.

    Exit codes: 0 accepted, 1 not sent, 3 input invalid, 7 too many recipients,
    8 in doubt whether it was sent, 64 usage, 130 interrupted.

    \b
    Example:
        reconciler messages bulk resource/default/staff --sms mobile \\
            --subject Shift --body 'Tonight?' --dry-run
    """
