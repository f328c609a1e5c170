"""`reconciler messages`: sends messages, and shows what became of them.

Before a message is sent, messaging/sending.py resolves its recipients. Reports: messaging/reports.py.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import print_result, prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.messaging.values import (
    Delivery,
    MessageDetail,
    MessageRow,
    Response,
    ResponseCount,
    Sent,
    StatusCount,
)
from reconciler.report.lines import Line

if TYPE_CHECKING:
    from reconciler.cli.console.progress import LiveLines
    from reconciler.cli.session import Signals
    from reconciler.core.compare.match import Matches
    from reconciler.errors import ServiceError
    from reconciler.messaging.client import ServiceClient, ServiceReader
    from reconciler.messaging.message_file import WrittenMessage
    from reconciler.messaging.messages import Progress, ReadMessages
    from reconciler.messaging.sending import PreparedMessage
    from reconciler.messaging.values import Message
    from reconciler.model.address import Address
    from reconciler.model.plans import Workspace
    from reconciler.model.settings import Settings
    from reconciler.model.snapshots import Desired, RecordedEntity

T = TypeVar("T")

wait_default_s = 300.0
poll_s = (
    2.0  # seconds between two looks of --wait, each of three calls: far below the lowest quota of a second
)
body_bytes_max = 1_048_576  # bytes of a message's text; an SMS has 1,600 characters, an e-mail a few pages
file_bytes_max = 10 * 1024 * 1024  # bytes of a message file

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

FollowEnd = Literal["answered", "undelivered", "time is over", "interrupted", "not told"]


@click.group(name="messages", no_args_is_help=False)
def command() -> None:
    """Send a message, and see its status and the replies.

    Exit codes: 0 done; 1 failed; 3 the input is invalid; 6 sent, but replies are missing; 7 too many
    recipients; 8 in doubt: the outcome of a write is not known; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler messages send --to +61491570156 --subject Test \\
            --body 'Are you there?' --wait
        reconciler messages list --from 2026-03-02 --to 2026-03-08
    """


# --- What was sent: results -------------------------------------------------------------------------------


class SendDraft(CommandResult, frozen=True):
    """A message that would be sent: to contacts of the manifests by address, to others as written."""

    title: ClassVar[str] = "A message that was sent, or would be"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 6, 130)
    dry_run: Annotated[Literal[True], Doc("Nothing was sent.")]
    workspace: Annotated[str, Doc("The alias of the workspace.")]
    recipients: Annotated[int, Doc("How many people it reaches.")]
    scheduled: Annotated[str, Doc("When it is sent, ISO 8601 in UTC; empty: at once.")]
    to: Annotated[tuple[str, ...], Doc("Addresses of ours, else as written.")]

    def lines(self) -> Sequence[Line]:
        """Show who would get the message, and when."""
        from reconciler.messaging.reports import draft_lines

        return draft_lines(self.to, self.scheduled, self.workspace)


class SendResult(CommandResult, frozen=True):
    """A message that the service accepted, which is not yet delivered."""

    sent: Annotated[Sent, Doc("What the service accepted.")]
    workspace: Annotated[str, Doc("The alias of the workspace.")]
    recipients: Annotated[int, Doc("How many people it reaches.")]
    scheduled: Annotated[str, Doc("When it is sent, ISO 8601 in UTC; empty: at once.")]

    def lines(self) -> Sequence[Line]:
        """Say that the message is accepted, and which command shows what becomes of it."""
        from reconciler.messaging.reports import sent_lines

        verb = "show" if self.scheduled else "responses"
        return sent_lines(self.sent, self.workspace, verb, self.scheduled)


class FollowedResult(SendResult, frozen=True):
    """A message that was sent and followed, at the last look. It was sent in every case."""

    end: Annotated[FollowEnd, Doc("Why --wait ended.")]
    trouble: Annotated[str, Doc("What the service answered instead, where it could not be asked; or empty.")]
    status: Annotated[tuple[StatusCount, ...], Doc("How many recipients are in which state.")]
    responses: Annotated[tuple[ResponseCount, ...], Doc("How many recipients answered in which way.")]
    answers: Annotated[tuple[Response, ...], Doc("What each recipient answered.")]

    @property
    def exit_code(self) -> int:
        """The exit code of docs/guides/exit-codes.md."""
        return {"answered": 0, "interrupted": 130, "not told": 1}.get(self.end, 6)

    def lines(self) -> Sequence[Line]:
        """Show the progress of the message, and why following it ended."""
        from reconciler.messaging.reports import followed_lines

        return followed_lines(self.status, self.responses, self.answers, self.end)

    def failure_lines(self) -> Sequence[Line]:
        """Say why following it ended, where not everybody answered."""
        return self.lines()[-1:] if self.exit_code else ()


class BulkDraft(CommandResult, frozen=True):
    """A message to the rows of a resource that would be sent."""

    title: ClassVar[str] = "A message to the rows of a resource"
    dry_run: Annotated[Literal[True], Doc("Nothing was sent.")]
    workspace: Annotated[str, Doc("The alias of the workspace.")]
    recipients: Annotated[int, Doc("How many people it reaches.")]

    def lines(self) -> Sequence[Line]:
        """Say how many people it would reach."""
        from reconciler.report.lines import count, line

        reach = f"would reach {count(self.recipients, 'recipient')} in workspace {self.workspace}"
        return (line(f"{reach}; nothing was sent"),)


class BulkResult(CommandResult, frozen=True):
    """A message to the rows of a resource that the service accepted."""

    sent: Annotated[Sent, Doc("What the service accepted.")]
    workspace: Annotated[str, Doc("The alias of the workspace.")]
    recipients: Annotated[int, Doc("How many people it reaches.")]

    def lines(self) -> Sequence[Line]:
        """Say that the message is accepted, and which command shows what becomes of it."""
        from reconciler.messaging.reports import sent_lines

        return sent_lines(self.sent, self.workspace, "responses")


# --- reconciler messages send -----------------------------------------------------------------------------


def _parse_parameters(
    _ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter("write NAME=VALUE.")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.")
        found[name] = value
    return found


@command.command(name="send", short_help="Send one message, once.")
@click.option(
    "--to",
    multiple=True,
    metavar="RECIPIENT",
    help="A number, an e-mail address, an MRI (the service's own address of a contact or list), "
    "contact/WORKSPACE/NAME, or tag:KEY=VALUE. Repeatable.",
)
@click.option("--subject", metavar="TEXT", help="The subject.")
@options.text_options
@click.option(
    "--file",
    metavar="FILE",
    help="A message file in YAML or JSON, also for e-mail, voice and everything that has no option here.",
)
@click.option("--label", metavar="TEXT", help="A label by which you can find the message later.")
@click.option(
    "--at",
    metavar="TIME",
    help="When to send it: an ISO 8601 time with its zone, such as 2026-03-02T22:00+11:00. Default: now.",
)
@click.option(
    "--callback",
    default="",
    metavar="NAME",
    help="The callback to which replies are sent: its name, or its address in the manifests.",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parse_parameters,
    help="A parameter that the service returns with every reply, as text. Repeatable.",
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
@prints_result
def send_message(
    *,
    file: str | None,
    label: str | None,
    to: tuple[str, ...],
    subject: str | None,
    body: str | None,
    body_file: str | None,
    callback: str,
    parameters: dict[str, str],
    workspace: str | None,
    at: str | None,
    dry_run: bool,
    allow_recipients: int,
    wait: bool,
    timeout: float,
    config: str | None,
    environment: str | None,
    as_json: bool,
) -> SendDraft | SendResult | FollowedResult | int:
    """Send one message, at most once: if the answer is lost, the command says so and sends nothing again.

    The recipient contact/WORKSPACE/NAME is a contact of the manifests, and tag:KEY=VALUE is every contact
    with this tag. Each contact is first looked up in the service; if one is missing, is ambiguous or has no
    number, nothing is sent.

    --wait shows the status and the replies as they arrive. It ends when everybody who can reply has replied,
    after --timeout seconds, or with Ctrl-C; the message itself is not recalled. `reconciler schema message`
    describes the content of --file.

    Reads settings and FILE, and for contacts and tags also the manifests, the store and the service; writes
    the service, but with --dry-run nothing.

    Exit codes: 0 the service accepted the message, and with --wait everybody replied; 1 not sent, or the
    status cannot be read; 3 the input is invalid; 6 sent, but replies are missing; 7 too many recipients; 8
    it is not known whether the message was sent; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler messages send --to +61491570156 \\
            --subject 'Night shift' --body 'Can you come?' --wait
        reconciler messages send --to contact/default/jane-doe \\
            --subject Report --body-file - < report.txt
        reconciler messages send --to +61491570156 --subject Test \\
            --body 'Reply, please' --callback on-call --param incident=42
    """
    found = _read_file(file)
    given = {
        "to": to,
        "subject": subject,
        "body": _read_text(body, body_file),
        "callback": callback or None,
        "parameters": parameters,
        "workspace": workspace,
        "at": _parse_time(at),
    }
    given = {name: value for name, value in given.items() if value not in (None, (), {})}
    written = _add_options(found, given, label, file)
    if wait and (written.at is not None or dry_run):
        raise click.UsageError("--wait needs a message that is sent now: not with --dry-run or --at.")
    if dry_run:
        return _make_draft(config, environment, written, allow_recipients)
    return _send(config, environment, written, allow_recipients, timeout if wait else None, as_json=as_json)


def _make_draft(
    config: str | None, environment: str | None, written: "WrittenMessage", allowed: int
) -> SendDraft:
    from reconciler.cli.client_session import run_with_reader
    from reconciler.cli.session import read_utc_clock
    from reconciler.messaging.client import find_workspace_id
    from reconciler.messaging.sending import prepare_message

    async def look(reader: "ServiceReader", settings: "Settings") -> SendDraft:
        ready = await prepare_message(
            reader,
            settings,
            written,
            DeclaredProject(settings),
            recipients_allowed=allowed,
            now=read_utc_clock(),
        )
        await find_workspace_id(reader, settings, ready.workspace)  # refuses one that there is not
        addresses = {one.to: str(one.address) for one in ready.contacts}
        return SendDraft(
            dry_run=True,
            workspace=ready.workspace,
            recipients=ready.recipients,
            scheduled=_scheduled_time(ready),
            to=tuple(addresses.get(one, one) for one in ready.message.to),
        )

    return run_with_reader(config, environment, look)


def _send(
    config: str | None,
    environment: str | None,
    written: "WrittenMessage",
    allowed: int,
    wait_s: float | None,
    *,
    as_json: bool,
) -> SendResult | int:
    """Send the message once, and follow it for `wait_s` where that is not None."""
    from reconciler.cli.client_session import run_with_client
    from reconciler.cli.console import output
    from reconciler.cli.session import read_utc_clock
    from reconciler.messaging.client import find_workspace_id
    from reconciler.messaging.sending import prepare_message
    from reconciler.report.lines import count

    async def work(
        client: "ServiceClient", settings: "Settings", signals: "Signals"
    ) -> "tuple[SendResult, ServiceError | None]":
        ready = await prepare_message(
            client,
            settings,
            written,
            DeclaredProject(settings),
            recipients_allowed=allowed,
            now=read_utc_clock(),
        )
        where = await find_workspace_id(client, settings, ready.workspace)
        if ready.contacts:  # the command line does not show how many contacts a tag stands for
            output.note(f"sending to {count(ready.recipients, 'recipient')}.")
        sent = await _send_once(client, signals, ready.message, where)
        accepted = SendResult(
            sent=sent,
            workspace=ready.workspace,
            recipients=ready.recipients,
            scheduled=_scheduled_time(ready),
        )
        if wait_s is None:
            return accepted, None
        if not as_json:
            output.lines(accepted.lines())
        return await _follow(client, signals, accepted, where, wait_s, show=not as_json)

    result, trouble = run_with_client(config, environment, work)
    if trouble is None:
        return result
    code = print_result(result, "json" if as_json else "text")
    if as_json:
        from reconciler.cli.console.error_text import error_lines

        output.explain_failure(
            error_lines(trouble, project=output.project_folder(), since=output.command_began_at())
        )
    else:
        output.failure(trouble, as_json=False)
    return code


def _scheduled_time(ready: "PreparedMessage") -> str:
    """Return when the message is sent, ISO 8601 in UTC; empty: at once."""
    from reconciler.messaging.message_requests import format_utc_minute

    return format_utc_minute(ready.message.schedule.at) if ready.message.schedule else ""


async def _send_once(client: "ServiceClient", signals: "Signals", message: "Message", workspace: str) -> Sent:
    """Send a message. `workspace` is the service's id. Raises InDoubt where it may have gone out."""
    from reconciler.cli.client_session import send_write_once

    call = client.messages.send(message, workspace=workspace)
    return await send_write_once(signals, call, "the message was sent", "reconciler messages list")


class DeclaredProject:
    """What a message needs of manifests, store and engine (messaging/sending.py: DeclaredState)."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings

    def load(self, *, all_values: bool = True) -> "Desired":
        """Return what the manifests declare. Without `all_values` no secret is read."""
        import os

        from reconciler.pipeline import validate

        return validate(self._settings, os.environ, all_values=all_values)

    async def match_contacts(
        self, reader: "ServiceReader", desired: "Desired", contacts: "Collection[Address]"
    ) -> "tuple[Matches, Workspace]":
        """Return which live contact each of these is, and their workspace."""
        from reconciler.cli.session import make_dependencies
        from reconciler.engine.matching import match_contacts

        return await match_contacts(
            self._settings, desired, make_dependencies(self._settings), reader, contacts
        )

    def find_record(self, address: "Address", workspace: "Workspace") -> "RecordedEntity | None":
        """Return what the store has recorded of an entity."""
        from reconciler.cli.session import open_store

        with open_store(self._settings, create=False) as store:
            return store.recorded((workspace,)).entities.get(address)


# --- The message as it is written: options, message file, text --------------------------------------------

# Parts that are a message by themselves: without one of them, a message without text has no content.
_CONTENTS = ("email", "voice", "web", "social", "whatsapp", "rcs", "messageTemplateId", "messageTemplateName")


def _read_file(file: str | None) -> "WrittenMessage":
    """Return what the message file says; an empty message without one. Raises FileError, InputError."""
    from pathlib import Path

    from reconciler.files.atomic_files import read_file
    from reconciler.messaging.message_file import WrittenMessage, parse_message_file

    if file is None:
        return WrittenMessage()
    return parse_message_file(read_file(Path(file), most=file_bytes_max), file)


def _add_options(
    found: "WrittenMessage", given: dict[str, Any], label: str | None, file: str | None
) -> "WrittenMessage":
    """Return the message of the file with what the options give. Raises UsageError for what both give."""
    from msgspec import structs

    from reconciler.model.documents import Place

    twice = [name for name in given if getattr(found, name)]
    if label and found.more.get("label"):
        twice.append("label")
    if twice:
        raise click.UsageError(f"given twice: {', '.join(twice)}, as an option and in {file}.")
    if "to" in given:
        given["places"] = (Place("--to"),) * len(given["to"])
    if label:
        given["more"] = {**found.more, "label": label}
    whole = structs.replace(found, **given)
    _require_parts(whole)
    return whole


def _require_parts(found: "WrittenMessage") -> None:
    """Raise UsageError where something is missing that every message has."""
    if not found.to:
        raise click.UsageError("name the recipients: --to, or `to` of a message file.")
    if not found.subject:
        raise click.UsageError("give the subject: --subject, or `subject` of a message file.")
    if found.body is None and not any(name in found.more for name in _CONTENTS):
        raise click.UsageError("give the text: --body, --body-file, or a part of a message file.")
    if found.parameters and not found.callback:
        raise click.UsageError("--param needs --callback: without one, parameters are not returned.")


def _parse_time(text: str | None) -> datetime | None:
    """Return the time of --at. Raises BadParameter where it names no zone."""
    if text is None:
        return None
    from reconciler.messaging.message_file import TIME_HINT, parse_zoned_time

    found = parse_zoned_time(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a time with a zone: {TIME_HINT}.", param_hint="'--at'")
    return found


def _read_text(body: str | None, file: str | None, *, needed: bool = False) -> str | None:
    """Return the text of --body or --body-file; None where neither is given.

    A text from a file loses the line end that closes it. Raises UsageError where both are given, or none that
    is needed; FileError, InputError.
    """
    if (body is not None and file is not None) or (needed and body is None and file is None):
        raise click.UsageError("give the text with --body or with --body-file, one of them.")
    if file is None:
        return body
    from pathlib import Path

    from reconciler.errors import InputError
    from reconciler.files.atomic_files import read_file

    shown = "standard input" if file == "-" else file
    data = _read_standard_input() if file == "-" else read_file(Path(file))
    if len(data) > body_bytes_max:
        raise InputError(f"{shown} has over {body_bytes_max:,} bytes.", next="send a shorter text")
    try:
        text = data.decode()
    except UnicodeDecodeError:  # it holds the bytes, so it is not kept as the cause
        raise InputError(f"{shown} is not UTF-8 text.", next="store it as UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def _read_standard_input() -> bytes:
    import sys

    if sys.stdin is None or sys.stdin.closed:
        from reconciler.errors import FileError

        raise FileError("standard input is closed.", next="name a file with --body-file FILE")
    return sys.stdin.buffer.read(body_bytes_max + 1)


# --- Following a message until everybody answered ---------------------------------------------------------


async def _follow(
    client: "ServiceClient",
    signals: "Signals",
    accepted: SendResult,
    workspace: str,
    limit_s: float,
    *,
    show: bool,
) -> "tuple[FollowedResult, ServiceError | None]":
    """Return how far the message came: to the end, for `limit_s` at most, or until a signal.

    With `show` its progress is shown: in place on a terminal, else each new answer as a line. Trouble with
    the service ends it and is returned, for the message is sent whatever happens here.
    """
    from contextlib import aclosing

    from reconciler.cli.console import output
    from reconciler.errors import ServiceError
    from reconciler.messaging.messages import Progress

    progress, trouble = Progress(), None
    end: FollowEnd | None = None
    looks = client.messages.follow(
        accepted.sent.message_id, workspace=workspace, every_s=poll_s, limit_s=limit_s
    )
    with output.live() as screen:
        try:
            async with aclosing(looks):
                while (look := await signals.stop.unless_asked(anext(looks, None))) is not None:
                    if show:
                        _show_progress(screen, progress, look)
                    progress, end = look, _find_end(look)
                    if end is not None:
                        break
        except ServiceError as error:
            end, trouble = "not told", error
    if end not in {"answered", "undelivered"} and signals.stop.asked:
        end = "interrupted"
    result = FollowedResult(
        sent=accepted.sent,
        workspace=accepted.workspace,
        recipients=accepted.recipients,
        scheduled=accepted.scheduled,
        end=end or "time is over",
        trouble=str(trouble or ""),
        status=progress.statuses,
        responses=progress.counts,
        answers=progress.responses,
    )
    return result, trouble


def _find_end(progress: "Progress") -> FollowEnd | None:
    """Return whether no more answers can come: recipients whom the message did not reach cannot answer."""
    from reconciler.core.text import fold_case

    if progress.complete:
        return "answered"
    waiting = sum(one.recipients for one in progress.counts if fold_case(one.type) == "noresponse")
    lost = sum(one.recipients for one in progress.statuses if fold_case(one.name) == "undeliverable")
    return "undelivered" if 0 < waiting <= lost else None


def _show_progress(screen: "LiveLines", before: "Progress", now: "Progress") -> None:
    from reconciler.cli.console import output
    from reconciler.messaging.reports import answered_lines, progress_lines

    if screen.shown:
        screen.update(progress_lines(now.statuses, now.counts, now.responses))
    else:
        output.note_lines(answered_lines([one for one in now.responses if one not in before.responses]))


# --- reconciler messages list, show, status, responses ----------------------------------------------------


class MessagesResult(CommandResult, frozen=True):
    """The messages of a workspace."""

    title: ClassVar[str] = "Messages"
    messages: Annotated[tuple[MessageRow, ...], Doc("The newest first.")]

    def lines(self) -> Sequence[Line]:
        """List the messages, the newest first."""
        from reconciler.messaging.reports import message_table

        return message_table(self.messages)


class MessageResult(CommandResult, frozen=True):
    """One message with all its fields."""

    title: ClassVar[str] = "One message"
    message: Annotated[MessageDetail, Doc("All of it.")]

    def lines(self) -> Sequence[Line]:
        """Show every field, a line each."""
        from reconciler.messaging.reports import detail_lines

        return detail_lines(self.message)


class StatusResult(CommandResult, frozen=True):
    """How many recipients of a message are in each state."""

    title: ClassVar[str] = "What became of a message"
    status: Annotated[tuple[StatusCount, ...], Doc("How many recipients are in which state.")]

    def lines(self) -> Sequence[Line]:
        """Show how many recipients are in which state."""
        from reconciler.messaging.reports import status_lines

        return status_lines(self.status)


class DeliveriesResult(CommandResult, frozen=True):
    """What became of a message on every channel of every recipient."""

    deliveries: Annotated[tuple[Delivery, ...], Doc("One for each channel that was used, by recipient.")]

    def lines(self) -> Sequence[Line]:
        """Show every delivery."""
        from reconciler.messaging.reports import delivery_lines

        return delivery_lines(self.deliveries)


class ResponsesResult(CommandResult, frozen=True):
    """How many recipients of a message gave each reply."""

    title: ClassVar[str] = "Who answered a message"
    responses: Annotated[tuple[ResponseCount, ...], Doc("How many recipients answered in which way.")]

    def lines(self) -> Sequence[Line]:
        """Show how many recipients answered in which way."""
        from reconciler.messaging.reports import response_lines

        return response_lines(self.responses)


class AnswersResult(CommandResult, frozen=True):
    """What each recipient of a message replied."""

    answers: Annotated[tuple[Response, ...], Doc("What each recipient answered.")]

    def lines(self) -> Sequence[Line]:
        """Show every answer in full."""
        from reconciler.messaging.reports import answer_lines

        return answer_lines(self.answers)


def _parse_moment(ctx: click.Context, parameter: click.Parameter, written: str | None) -> datetime | None:
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
    callback=_parse_moment,
    help="From this ISO date on, in UTC if it has no zone. Default: a week ago.",
)
@click.option(
    "--to",
    "end",
    metavar="DATE",
    callback=_parse_moment,
    help="Up to and including this ISO date. Default: now.",
)
@click.option("--shared", is_flag=True, help="List the messages that other users sent, instead of your own.")
@options.workspace_option
@options.settings_options
@options.format_option
@prints_result
def list_messages(
    *,
    start: datetime | None,
    end: datetime | None,
    shared: bool,
    workspace: str,
    config: str | None,
    environment: str | None,
) -> MessagesResult:
    """List messages, the newest first: those of the last seven days, or of the dates given.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 failed; 3 the input is invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler messages list
        reconciler messages list --from 2026-03-02 --to 2026-03-08 --format json
    """
    if end is not None and start is None:
        raise click.UsageError("--to needs --from.")
    if start is not None and end is not None and end < start:
        raise click.UsageError("--to is before --from.")

    async def ask(messages: "ReadMessages", where: str) -> MessagesResult:
        return MessagesResult(messages=await messages.list(start, end, workspace=where, shared=shared))

    return _ask(config, environment, workspace, ask)


@command.command(name="show", short_help="Show one message with all its fields.")
@click.argument("message_id", metavar="ID")
@options.workspace_option
@options.settings_options
@options.format_option
@prints_result
def show_message(
    *, message_id: str, workspace: str, config: str | None, environment: str | None
) -> MessageResult:
    """Show the message with this ID, with every field that the service returns.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 not found, or failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler messages show 4C8FE1A2B3D4E5F6
    """

    async def ask(messages: "ReadMessages", where: str) -> MessageResult:
        return MessageResult(message=await messages.get(message_id, workspace=where))

    return _ask(config, environment, workspace, ask)


@command.command(name="status", short_help="Show the status of a message.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="Show every channel of every recipient.")
@options.workspace_option
@options.settings_options
@options.format_option
@prints_result
def show_status(
    *, message_id: str, detailed: bool, workspace: str, config: str | None, environment: str | None
) -> StatusResult | DeliveriesResult:
    """Show how many recipients of a message are in each state, or each of them.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 not found, or failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler messages status 4C8FE1A2B3D4E5F6 --detailed
    """

    async def ask(messages: "ReadMessages", where: str) -> StatusResult | DeliveriesResult:
        if detailed:
            return DeliveriesResult(deliveries=await messages.status(message_id, "detailed", workspace=where))
        return StatusResult(status=await messages.status(message_id, workspace=where))

    return _ask(config, environment, workspace, ask)


@command.command(name="responses", short_help="Show the replies to a message.")
@click.argument("message_id", metavar="ID")
@click.option("--detailed", is_flag=True, help="Show the reply of every recipient.")
@click.option(
    "--filter",
    "rule",
    type=click.Choice(("default", "responserule")),
    default="default",
    show_default=True,
    help="default: count the replies as they are. responserule: count them by the response rule of the "
    "message.",
)
@options.workspace_option
@options.settings_options
@options.format_option
@prints_result
def show_responses(
    *,
    message_id: str,
    detailed: bool,
    rule: str,
    workspace: str,
    config: str | None,
    environment: str | None,
) -> ResponsesResult | AnswersResult:
    """Show how many recipients gave each reply to a message, or the reply of each.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 not found, or failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler messages responses 4C8FE1A2B3D4E5F6 --detailed
    """

    async def ask(messages: "ReadMessages", where: str) -> ResponsesResult | AnswersResult:
        if detailed:
            return AnswersResult(answers=await messages.response_details(message_id, rule, workspace=where))
        return ResponsesResult(responses=await messages.responses(message_id, rule, workspace=where))

    return _ask(config, environment, workspace, ask)


def _ask(
    config: str | None,
    environment: str | None,
    workspace: str,
    ask: "Callable[[ReadMessages, str], Awaitable[T]]",
) -> T:
    """Return what `ask` returns; it gets the messages, and the workspace as the service calls it."""
    from reconciler.cli.client_session import run_with_reader
    from reconciler.messaging.client import find_workspace_id

    async def work(reader: "ServiceReader", settings: "Settings") -> T:
        return await ask(reader.messages, await find_workspace_id(reader, settings, workspace))

    return run_with_reader(config, environment, work)


# --- reconciler messages bulk -----------------------------------------------------------------------------


@command.command(name="bulk", short_help="Send one message to all recipients in a resource.")
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
    help="The callback to which replies are sent: its name, or its address in the manifests.",
)
@click.option("--dry-run", is_flag=True, help="Count the recipients, and send nothing.")
@options.recipients_option
@options.settings_options
@options.format_option
@prints_result
def send_bulk(
    *,
    address: str,
    sms: str | None,
    email: str | None,
    voice: str | None,
    subject: str,
    body: str | None,
    body_file: str | None,
    callback: str,
    dry_run: bool,
    allow_recipients: int,
    config: str | None,
    environment: str | None,
) -> BulkDraft | BulkResult:
    """Send one message to all recipients in the rows of RESOURCE, at most once.

    RESOURCE is resource/WORKSPACE/NAME of the manifests: CSV with a header, or a JSON list of objects. In
    each row, the first column that is not empty is used, in the order SMS, e-mail, voice.

    The service reads the rows itself and does not show them. So the resource must be applied as it is
    declared now, and the recipients are counted in the manifests. Nothing is sent if the resource is gone, if
    a named column is missing, or if a named column has no cell with a number or an e-mail address.

    Reads settings, manifests, the store and the service; writes the service, but with --dry-run nothing.

    Exit codes: 0 the service accepted the message; 1 not sent; 3 the input is invalid; 7 too many recipients;
    8 it is not known whether the message was sent; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler messages bulk resource/default/staff --sms mobile \\
            --subject Shift --body 'Tonight?' --dry-run
    """
    from reconciler.cli.client_session import run_with_client, run_with_reader
    from reconciler.messaging.sending import prepare_bulk_message
    from reconciler.messaging.values import BulkResource, Message

    if not (sms or email or voice):
        raise click.UsageError("name a column with recipients: --sms, --email or --voice.")
    text = _read_text(body, body_file, needed=True)
    resource = BulkResource("", sms or "", email or "", voice or "")
    message = Message(to=(), subject=subject, body=text or "", callback_id=callback, resource=resource)

    async def prepare(client: "ServiceReader", settings: "Settings") -> "tuple[PreparedMessage, str]":
        return await prepare_bulk_message(
            client, settings, address, message, DeclaredProject(settings), recipients_allowed=allow_recipients
        )

    async def send(client: "ServiceClient", settings: "Settings", signals: "Signals") -> BulkResult:
        ready, where = await prepare(client, settings)
        sent = await _send_once(client, signals, ready.message, where)
        return BulkResult(sent=sent, workspace=ready.workspace, recipients=ready.recipients)

    if not dry_run:
        return run_with_client(config, environment, send)
    ready, _ = run_with_reader(config, environment, prepare)
    return BulkDraft(dry_run=True, workspace=ready.workspace, recipients=ready.recipients)
