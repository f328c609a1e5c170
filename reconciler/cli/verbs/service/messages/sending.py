"""`messages send`: what was written becomes a message, and its recipients become people of the service.

Belongs here: options and message file put together, who is reached, what is shown before and after. Not here:
the command (commands/service/messages.py), the file's form (messaging/message_file.py), the call
(messaging/messages.py).
"""

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, structs

from reconciler.cli.client_session import run_with_client, run_with_reader, send_write_once
from reconciler.cli.console import output
from reconciler.cli.console.error_text import error_lines
from reconciler.cli.session import Signals, make_dependencies
from reconciler.cli.verbs.service.messages.following import Followed, follow
from reconciler.core.suggest import did_you_mean
from reconciler.engine.message_recipients import MessageContact, resolve_contacts
from reconciler.errors import FileError, InputError
from reconciler.files.atomic_files import read_file
from reconciler.messaging import recipients
from reconciler.messaging.client import ServiceClient, ServiceReader, find_workspace_id
from reconciler.messaging.message_file import (
    TIME_HINT,
    WrittenMessage,
    make_message_error,
    parse_message_file,
    parse_zoned_time,
)
from reconciler.messaging.message_requests import format_utc_minute, schedule_fields
from reconciler.messaging.reports import (
    draft_lines,
    followed_lines,
    followed_values,
    sent_lines,
)
from reconciler.messaging.values import Message, Schedule, Sent
from reconciler.model.documents import Place
from reconciler.model.kinds import CALLBACK
from reconciler.model.settings import Settings
from reconciler.pipeline import validate
from reconciler.report.json import report_json
from reconciler.report.lines import count

body_bytes_max = 1_048_576  # bytes of a message's text; an SMS has 1,600 characters, an e-mail a few pages
file_bytes_max = 10 * 1024 * 1024  # bytes of a message file

# Parts that are a message by themselves: without one of them nobody would get anything.
_CONTENTS = ("email", "voice", "web", "social", "whatsapp", "rcs", "messageTemplateId", "messageTemplateName")


class Outgoing(Struct, frozen=True):
    """A message whose recipients are known: `people` are those that are contacts of ours."""

    message: Message
    workspace: str  # the alias
    people: tuple[MessageContact, ...] = ()

    @property
    def recipients(self) -> int:
        """How many people it is sent to."""
        return len(self.message.to)


def send(
    *, dry_run: bool, allow_recipients: int, wait: bool, timeout: float, as_json: bool, **given: Any
) -> int:
    """Send one message, or show whom it would reach; with `wait` follow it for `timeout` seconds."""
    found = written(given)
    if wait and (found.at is not None or dry_run):
        raise click.UsageError("--wait needs a message that is sent now: not with --dry-run or --at.")
    if dry_run:
        return show_draft(given, found, allowed=allow_recipients, as_json=as_json)
    return _send(given, found, allowed=allow_recipients, wait_s=timeout if wait else None, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    """Return the time of --at. Raises BadParameter where it names no zone."""
    if text is None:
        return None
    found = parse_zoned_time(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a time with a zone: {TIME_HINT}.", param_hint="'--at'")
    return found


def written(given: dict[str, Any]) -> WrittenMessage:
    """Take a message out of the options and the file. Raises UsageError, FileError, InputError."""
    file = given.pop("file")
    found = parse_message_file(read_file(Path(file), most=file_bytes_max), file) if file else WrittenMessage()
    label = given.pop("label")
    told: dict[str, Any] = {
        "to": given.pop("to"),
        "subject": given.pop("subject"),
        "body": text_of(given),
        "callback": given.pop("callback") or None,
        "parameters": given.pop("parameters"),
        "workspace": given.pop("workspace"),
        "at": _moment(given.pop("at")),
    }
    told = {name: value for name, value in told.items() if value not in (None, (), {})}
    twice = [name for name in told if getattr(found, name)] + (
        ["label"] if label and found.more.get("label") else []
    )
    if twice:
        raise click.UsageError(f"given twice: {', '.join(twice)}, as an option and in {file}.")
    if "to" in told:
        told["places"] = (Place("--to"),) * len(told["to"])
    if label:
        told["more"] = {**found.more, "label": label}
    whole = structs.replace(found, **told)
    _require(whole)
    return whole


def _require(found: WrittenMessage) -> None:
    """Raise UsageError where something is missing that every message has."""
    if not found.to:
        raise click.UsageError("name the recipients: --to, or `to` of a message file.")
    if not found.subject:
        raise click.UsageError("give the subject: --subject, or `subject` of a message file.")
    if found.body is None and not any(name in found.more for name in _CONTENTS):
        raise click.UsageError("give the text: --body, --body-file, or a part of a message file.")
    if found.parameters and not found.callback:
        raise click.UsageError("--param needs --callback: without one, parameters are not returned.")


def text_of(given: dict[str, Any], *, needed: bool = False) -> str | None:
    """Take the options of `options.text_options` out; return the text, None where none is given.

    Raises UsageError where both are given, or none that is needed; FileError, InputError.
    """
    body, file = given.pop("body"), given.pop("body_file")
    if (body is not None and file is not None) or (needed and body is None and file is None):
        raise click.UsageError("give the text with --body or with --body-file, one of them.")
    return body if file is None else _text_in(file)


def _text_in(file: str) -> str:
    """Return the text of a file, or of standard input, without the line end that closes it."""
    shown = "standard input" if file == "-" else file
    data = _standard_input() if file == "-" else read_file(Path(file))
    if len(data) > body_bytes_max:
        raise InputError(f"{shown} has over {body_bytes_max:,} bytes.", next="send a shorter text")
    try:
        text = data.decode()
    except UnicodeDecodeError:  # it holds the bytes, so it is not kept as the cause
        raise InputError(f"{shown} is not UTF-8 text.", next="store it as UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise FileError("standard input is closed.", next="name a file with --body-file FILE")
    return sys.stdin.buffer.read(body_bytes_max + 1)


async def outgoing(
    reader: ServiceReader, settings: Settings, found: WrittenMessage, *, allowed: int
) -> Outgoing:
    """Return the message with its recipients as the service knows them. Sends nothing but GET.

    Raises InputError with every recipient that means nobody, and Refused where they are more than
    `guard.recipients_max` and more than `allowed`.
    """
    schedule = _schedule(found, settings)
    ours = any(recipients.names_manifest_entity(text) for text in found.to)
    desired = validate(settings, os.environ) if ours else None
    meant = recipients.resolve_recipients(
        tuple(zip(found.to, found.places, strict=True)), desired, found.workspace
    )
    if meant.problems:
        raise make_message_error(*meant.problems)
    alias = _workspace(found.workspace, meant)
    recipients.check_recipient_count(
        len(meant.people) + len(meant.plain), settings.guard.recipients_max, allowed
    )
    callback = await callback_name(reader, settings, found.callback or "")
    people: tuple[MessageContact, ...] = ()
    if desired is not None and meant.people:
        channels = _channels(found)
        people = await resolve_contacts(
            settings, desired, make_dependencies(settings), reader, people=meant.people, channels=channels
        )
    known = frozenset[str]().union(*(one.keys for one in people))
    # Somebody whose number stands beside the address is one person, and gets one message.
    plain = [one for one in meant.plain if recipients.recipient_key(one) not in known]
    return Outgoing(_message(found, callback, (*(one.to for one in people), *plain), schedule), alias, people)


def _message(found: WrittenMessage, callback: str, to: tuple[str, ...], schedule: Schedule | None) -> Message:
    return Message(
        to=tuple(dict.fromkeys(to)),
        subject=found.subject or "",
        body=found.body or "",
        callback_id=callback,
        callback_parameters=found.parameters,
        more=found.more,
        schedule=schedule,
    )


def _schedule(found: WrittenMessage, settings: Settings) -> Schedule | None:
    """Return when it is sent. Raises InputError, at its place, for a time that cannot be meant."""
    if found.at is None:
        return None
    schedule = Schedule(found.at, settings.service.schedule_zone, found.repeat)
    try:
        schedule_fields(schedule, make_dependencies(settings).now())
    except InputError as error:
        raise make_message_error(found.at_place.problem(str(error), error.next, code="E100")) from None
    return schedule


def _channels(found: WrittenMessage) -> tuple[str, ...]:
    """Return the channels that have something to say; none where only the service knows."""
    spoken = tuple(name for name in ("email", "voice") if name in found.more)
    return (*(("sms",) if found.body else ()), *spoken)


def _workspace(named: str | None, meant: recipients.ResolvedRecipients) -> str:
    """Return the alias of the workspace to send in: the one named, that of the people, or the default one."""
    theirs = sorted({one.workspace for one in meant.people})
    if named is None and len(theirs) < 2:  # noqa: PLR2004 - one is clear
        return theirs[0] if theirs else "default"
    others = [one for one in theirs if one != named]
    if named is None or others:
        wanted = f"--workspace {named}" if named else "one message"
        raise InputError(
            f"the contacts are in {', '.join(theirs)}, which does not match {wanted}; nothing was sent.",
            next="send a message in each workspace: --workspace ALIAS, with its own recipients",
        )
    return named


async def callback_name(reader: ServiceReader, settings: Settings, given: str) -> str:
    """Return the name at the service of a callback, which is given by it or by its address in the manifests.

    Raises InputError where there is none: replies would come back to nobody.
    """
    if not given:
        return ""
    name = _declared_name(settings, given) if given.startswith(f"{CALLBACK.name}/") else given
    known = [one.name for one in await reader.callbacks.list()]
    if name not in known:
        otherwise = "apply the manifest that declares it, or make one: reconciler callbacks create"
        raise InputError(
            f"there is no callback {name!r}; nothing was sent.",
            next=did_you_mean("callback", name, known, otherwise),
        )
    return name


def _declared_name(settings: Settings, address: str) -> str:
    declared = validate(settings, os.environ, all_values=False).entities
    known = {str(one): entity for one, entity in declared.items() if one.kind == CALLBACK.name}
    if address not in known:
        otherwise = "name one as callback/default/NAME, as it is in the manifests"
        raise InputError(
            f"{address[:200]} is no callback of the manifests; nothing was sent.",
            next=did_you_mean("callback", address, known, otherwise),
        )
    return str(known[address].fields["name"])


def about(ready: Outgoing) -> dict[str, object]:
    """Return what JSON says of a message beside its id: where, to how many, when."""
    schedule = ready.message.schedule
    when = format_utc_minute(schedule.at) if schedule else ""
    return {"workspace": ready.workspace, "recipients": ready.recipients, "scheduled": when}


def show_draft(given: Mapping[str, Any], found: WrittenMessage, *, allowed: int, as_json: bool) -> int:
    """Show what would be sent to whom: addresses of ours by name, the others as they were written."""

    async def look(reader: ServiceReader, settings: Settings) -> Outgoing:
        ready = await outgoing(reader, settings, found, allowed=allowed)
        await find_workspace_id(reader, settings, ready.workspace)  # refuses one that there is not
        return ready

    ready = run_with_reader(given["config"], given["environment"], look)
    names: Mapping[str, str] = {one.to: one.address for one in ready.people}
    to = tuple(names.get(one, one) for one in ready.message.to)
    if as_json:
        output.json(report_json({"dry_run": True, **about(ready), "to": to}))
    else:
        output.lines(draft_lines(to, str(about(ready)["scheduled"]), ready.workspace))
    return 0


def _send(
    given: Mapping[str, Any], found: WrittenMessage, *, allowed: int, wait_s: float | None, as_json: bool
) -> int:
    """Send the message once, follow it for `wait_s` where that is asked for, and return the exit code."""

    async def send_it(client: ServiceClient, settings: Settings, signals: Signals) -> SendResult:
        ready = await outgoing(client, settings, found, allowed=allowed)
        where = await find_workspace_id(client, settings, ready.workspace)
        if ready.people:  # how many a tag stands for is not to be seen in the command line
            output.note(f"sending to {count(ready.recipients, 'recipient')}.")
        sent = await send_once(client, signals, ready.message, where)
        if wait_s is None:
            return ready, sent, None
        if not as_json:
            _accepted(sent, ready)
        show, stop = not as_json, signals.stop
        followed = await follow(
            client.messages, sent.message_id, workspace=where, limit_s=wait_s, stop=stop, show=show
        )
        return ready, sent, followed

    return _report(*run_with_client(given["config"], given["environment"], send_it), as_json=as_json)


async def send_once(client: ServiceClient, signals: Signals, message: Message, workspace: str) -> Sent:
    """Send a message, and say after a signal what is not known. `workspace` is the service's id."""
    call = client.messages.send(message, workspace=workspace)
    return await send_write_once(signals, call, "the message was sent;", "reconciler messages list")


def look_at(sent: Sent, alias: str, verb: str = "responses") -> str:
    """Return the command that shows what becomes of a message."""
    where = "" if alias == "default" else f" --workspace {alias}"
    return f"reconciler messages {verb} {sent.message_id}{where}"


SendResult = tuple[Outgoing, Sent, Followed | None]


def _accepted(sent: Sent, ready: Outgoing) -> None:
    scheduled = str(about(ready)["scheduled"])
    next_command = look_at(sent, ready.workspace, "show" if scheduled else "responses")
    output.lines(sent_lines(sent, next_command, scheduled))


def _report(ready: Outgoing, sent: Sent, followed: Followed | None, *, as_json: bool) -> int:
    told = {"sent": sent, **about(ready)}
    if followed is None:
        if as_json:
            output.json(report_json(told))
        else:
            _accepted(sent, ready)
        return 0
    now = followed.progress
    values = (now.statuses, now.counts, now.responses)
    if as_json:
        told |= {"end": followed.end, "trouble": str(followed.trouble or ""), **followed_values(*values)}
        output.json(report_json(told, followed.exit_code))
    else:
        output.lines(followed_lines(*values, followed.end))
    if followed.exit_code:
        output.explain_failure(followed_lines(*values, followed.end)[-1:])
    if followed.trouble is not None:
        if as_json:
            why = error_lines(followed.trouble, project=output.project(), since=output.began_at())
            output.explain_failure(why)
        else:
            output.failure(followed.trouble, as_json=False)
    return followed.exit_code
