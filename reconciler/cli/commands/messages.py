"""`reconciler messages`: sends messages, and shows what became of them."""

import re
from datetime import UTC, datetime, time

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs

wait_default_s = 300.0

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@click.group(name="messages", no_args_is_help=False, short_help="Send messages; see what became of them.")
def command() -> None:
    """Send a message, and see its status and what people answered.

    Exit codes: 0 done, 1 failed, 3 input invalid, 6 sent, and not everybody answered in time,
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
    help="A message file in YAML or JSON: e-mail, voice and further parts, and whatever no option says.",
)
@click.option("--label", metavar="TEXT", help="A label by which the message is found again.")
@click.option(
    "--at",
    metavar="TIME",
    help="Send it then: an ISO 8601 time with its zone, as 2026-03-02T22:00+11:00. Default: now.",
)
@click.option("--callback", default="", metavar="NAME", help="The callback that replies are sent to.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parameters,
    help="Comes back with every reply, as text. Repeatable.",
)
@click.option(
    "--workspace",
    metavar="ALIAS",
    help="A workspace of the settings. Default: that of the contacts in --to, else the default one.",
)
@click.option("--dry-run", is_flag=True, help="Show who would get it, and send nothing.")
@options.recipients_option
@click.option("--wait", is_flag=True, help="Stay, and show status and replies until everybody answered.")
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86_400),
    default=wait_default_s,
    show_default=True,
    metavar="S",
    help="How long --wait stays, in seconds.",
)
@options.settings_options
@options.format_option
@runs("messages.sending:send")
def send() -> None:
    """Send one message. It is sent at most once: an answer that got lost is told, and nothing is repeated.

    contact/WORKSPACE/NAME is a contact of the manifests, tag:KEY=VALUE every contact that carries the
    tag. Each is looked up at the service first; where somebody is not there, is ambiguous or has no
    number, nothing is sent to anybody. With --wait the status and the replies are shown as they come,
    until everybody who can has answered, S seconds are over, or Ctrl-C; none of these takes the message
    back. --file takes what `reconciler schema message` describes.

    Reads settings, FILE, and manifests, the store and the service for addresses of ours; writes the
    service, nothing with --dry-run.

    Exit codes: 0 accepted (with --wait: everybody answered), 1 not sent,
    or not followed, 3 input invalid, 6 sent, and not everybody answered in time, 7 too many recipients,
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
    help="From this ISO date on, in UTC where it names no zone. Default: a week ago.",
)
@click.option(
    "--to",
    "end",
    metavar="DATE",
    callback=_moment,
    help="Up to this ISO date, the day included. Default: now.",
)
@click.option("--shared", is_flag=True, help="Those that other users have sent.")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("messages.verbs:list_")
def list_() -> None:
    """List messages, the newest first: those of the last seven days, or of the dates given.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler messages list
        reconciler messages list --from 2026-03-02 --to 2026-03-08 --format json
    """


@command.command(short_help="Show one message, whole.")
@click.argument("message_id", metavar="ID")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("messages.verbs:show")
def show() -> None:
    """Show the message with this ID, with every field that the service tells.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler messages show 4C8FE1A2B3D4E5F6
    """


@command.command(short_help="Show what became of a message.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="Every channel of every recipient.")
@options.workspace_option
@options.settings_options
@options.format_option
@runs("messages.verbs:status")
def status() -> None:
    """Show how many recipients of a message are in each state, or each of them.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler messages status 4C8FE1A2B3D4E5F6 --detailed
    """


@command.command(short_help="Show what people answered.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="The answer of every recipient.")
@click.option(
    "--filter",
    "rule",
    type=click.Choice(("default", "responserule")),
    default="default",
    show_default=True,
    help="Count without a response rule, or by that of the message.",
)
@options.workspace_option
@options.settings_options
@options.format_option
@runs("messages.verbs:responses")
def responses() -> None:
    """Show how many recipients of a message answered in each way, or each answer.

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
@click.option("--callback", default="", metavar="NAME", help="The callback that replies are sent to.")
@click.option("--dry-run", is_flag=True, help="Count whom it would reach, and send nothing.")
@options.recipients_option
@options.settings_options
@options.format_option
@runs("messages.bulk:bulk")
def bulk() -> None:
    """Send one message to everybody whom the rows of RESOURCE address, at most once.

    RESOURCE is resource/WORKSPACE/NAME of the manifests, CSV with a heading or a JSON list of objects. Of
    a row counts the first of the columns that is filled: SMS, e-mail, voice. The service reads the rows
    itself, and does not show them; so the resource has to be applied as it is declared now, and is counted
    from the manifests. Nothing is sent where a column is not there, where none of its cells is a number or
    an e-mail address as its option says, or where the resource is gone.

    Reads settings, manifests, the store and the service; writes the service, nothing with --dry-run.

    Exit codes: 0 accepted, 1 not sent, 3 input invalid, 7 too many recipients,
    8 in doubt whether it was sent, 64 usage, 130 interrupted.

    \b
    Example:
        reconciler messages bulk resource/default/staff --sms mobile \\
            --subject Shift --body 'Tonight?' --dry-run
    """
