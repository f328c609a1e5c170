"""`reconciler callbacks`: the callbacks of the account, and receiving what the service sends to them.

Receiving: messaging/listener.py. The steps of an update: messaging/callback_updates.py. A key is read from a
variable or a file, and never shown.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.messaging.values import (
    Callback,
    CallbackAuth,
    CallbackCall,
    CallbackEdit,
    CallStatus,
    FieldEdit,
)
from reconciler.report.lines import Line, count, line, table

if TYPE_CHECKING:
    from socket import socket

    from reconciler.cli.session import Signals
    from reconciler.messaging.client import ServiceClient, ServiceReader
    from reconciler.messaging.inbox import StoredReply
    from reconciler.model.secrets import Secret
    from reconciler.model.settings import Settings
    from reconciler.settings.secrets import SecretSource

default_port = 8490
default_inbox = ".reconciler/inbox.db"


@click.group(name="callbacks", no_args_is_help=False)
def command() -> None:
    """Receive replies, and tell the service where to send them.

    A callback is a name and an address that the account has registered. If a message names a callback, the
    service sends the replies and the failed deliveries of this message to its address.

    Exit codes: 0 done; 1 failed; 3 the input is invalid; 8 in doubt: the outcome of a write is not known; 64
    usage error; 130 interrupted.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY \\
            --events replies.jsonl
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """


# --- The key of a callback --------------------------------------------------------------------------------


_KEY_OPTIONS = (
    click.option(
        "--key",
        metavar="env:NAME|file:PATH",
        help="The source of the callback's key. Never pass the key itself: others could see it.",
    ),
    click.option("--key-env", metavar="NAME", help="The same as --key env:NAME."),
    click.option("--key-file", metavar="FILE", help="The same as --key file:FILE."),
    click.option("--no-key", is_flag=True, help="No key: any caller that can reach the address is accepted."),
    click.option(
        "--key-in",
        type=click.Choice(("header", "query")),
        default="header",
        show_default=True,
        help="How the service sends the key.",
    ),
)


# `key`, `key_env`, `key_file`: texts, or None; `no_key`: true or false; `key_in`: header or query.
_key_options = options.combine_options(*_KEY_OPTIONS)
# The same for a callback that exists: `key_in` is None where it stays as it is.
_new_key_options = options.combine_options(
    *_KEY_OPTIONS[:-1],
    click.option("--key-in", type=click.Choice(("header", "query")), help="How the service sends the key."),
)


def _read_key(key: str | None, key_env: str | None, key_file: str | None, *, no_key: bool) -> "Secret | None":
    """Return the key of a callback, None with --no-key.

    Raises UsageError where not exactly one of the options is given, SettingsError for a source without a key.
    """
    from reconciler.settings.secrets import SecretSource

    sources = [] if key is None else [_parse_key_source(key)]
    sources += [SecretSource("env", key_env)] if key_env is not None else []
    sources += [SecretSource("file", key_file)] if key_file is not None else []
    given = len(sources) + no_key
    if given > 1:
        raise click.UsageError("give one of --key, --key-env, --key-file and --no-key, not several.")
    if given == 0:
        raise click.UsageError("name the source of the key with --key-env or --key-file, or pass --no-key.")
    return _read_key_source(sources[0]) if sources else None


def _parse_key_source(text: str) -> "SecretSource":
    from reconciler.settings.secrets import SecretSource

    way, colon, name = text.partition(":")
    if way not in ("env", "file") or not colon or not name:
        # It may be the key: it is not shown.
        raise click.UsageError("--key takes env:NAME or file:PATH, never the key itself.")
    return SecretSource("env" if way == "env" else "file", name)


def _read_key_source(source: "SecretSource") -> "Secret":
    import os

    from reconciler.errors import SettingsError
    from reconciler.settings.reader import working_folder
    from reconciler.settings.secrets import SecretRefused, read_secret_source

    try:
        return read_secret_source(source, root=working_folder(), environ=os.environ)
    except SecretRefused as refusal:
        raise SettingsError(f"the callback's key: {refusal}.", next=refusal.next) from refusal


# --- Receiving: reconciler callbacks listen, inbox --------------------------------------------------------


class StdoutReplies:
    """Standard output for replies, as JSON or as text (messaging/listener.py: ReplyOutput)."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    @property
    def lost(self) -> type[Exception]:
        """What is raised where the output has no reader any more, or no room."""
        from reconciler.cli.console.output import OutputLost

        return OutputLost

    def encode(self, stored: "StoredReply") -> bytes:
        """Return what is printed for one reply."""
        import sys

        from reconciler.cli.console import output
        from reconciler.messaging.reports import reply_json, reply_lines

        if self._as_json:
            text = output.inert_json(reply_json(stored.reply, stored.received_at, stored.id))
        else:
            text = output.render_for_stdout(reply_lines(stored.reply, stored.received_at))
        return text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")

    def deliver(self, data: bytes, give_up: Callable[[], bool]) -> bool:
        """Write `data`; return whether all of it was written. Raises OutputLost."""
        from reconciler.cli.console.stdout_pipe import deliver_bytes

        return deliver_bytes(data, give_up)

    def require_reader(self) -> None:
        """Raise OutputLost where the output has no reader."""
        from reconciler.cli.console import stdout_pipe

        stdout_pipe.require_reader()

    def count_unread(self) -> int:
        """Return how many bytes a pipe holds that its reader has not taken."""
        from reconciler.cli.console.stdout_pipe import count_unread_bytes

        return count_unread_bytes()

    def note(self, text: str) -> None:
        """Print a note on stderr."""
        from reconciler.cli.console import output

        output.note(text)


def _parse_path(_ctx: click.Context, _parameter: click.Parameter, path: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", path):
        raise click.BadParameter("it begins with / and holds letters, digits and ._~/- only.")
    return path


def _parse_header(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", name):
        raise click.BadParameter("a header's name holds letters, digits and - only.")
    return name


@command.command(name="listen", short_help="Receive replies until stopped, one JSON line each.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=default_port,
    show_default=True,
    help="Where to listen. 0: any free port.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on."
)
@click.option("--path", default="/", show_default=True, callback=_parse_path, help="The path in the URL.")
@_key_options
@click.option(
    "--header",
    default="X-Service-Callback-Key",
    show_default=True,
    metavar="NAME",
    callback=_parse_header,
    help="The header that carries the key. The vendor of the service decides its name.",
)
@click.option("--events", metavar="FILE", help="Also append every reply to FILE, before it is printed.")
@click.option(
    "--inbox",
    default=default_inbox,
    show_default=True,
    metavar="FILE",
    help="The file that keeps replies until they are printed. No reply is lost; only after a crash may a "
    "reply be printed twice.",
)
@options.replies_format_option
@prints_result
def listen(
    *,
    host: str,
    port: int,
    path: str,
    header: str,
    events: str | None,
    inbox: str,
    key: str | None,
    key_env: str | None,
    key_file: str | None,
    no_key: bool,
    key_in: Literal["header", "query"],
    as_json: bool,
) -> int:
    """Receive the replies that the service sends, and print each as one line of JSON.

    The listener writes each reply to disk before it acknowledges the reply to the service, and marks it as
    delivered after it has printed it. Replies that it could not print are printed by the next listener, or by
    `reconciler callbacks inbox`. If the service sends a reply again, the listener acknowledges it, but does
    not print it again. After a crash, the last replies may be printed again, with the same ids; the file of
    --events holds each reply once.

    The listener ends when nobody reads its output any more. It has no TLS: put a proxy in front of it, and
    give the service the address of the proxy.

    Needs no settings. Writes the inbox and the file of --events, both with mode 0600. If these files exist,
    they must be regular files that you own, with this mode and without links.

    Exit codes: 0 stopped; 1 the port is in use, a file cannot be used, or nobody reads the output any more; 3
    the key cannot be used; 4 another command reads this inbox; 64 usage error.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY
        reconciler callbacks listen --port 8490 --key file:key.txt \\
            --events replies.jsonl
    """
    from pathlib import Path

    from reconciler.messaging.listener import ListenRequest, run_listener
    from reconciler.messaging.receiver import ReceiverConfig

    secret = _read_key(key, key_env, key_file, no_key=no_key)
    request = ListenRequest(
        ReceiverConfig(key=secret, how=key_in, header=header, path=path),
        Path(inbox),
        Path(events) if events else None,
        lambda: _open_socket(host, port),
    )
    run_listener(request, StdoutReplies(as_json=as_json))
    return 0


@contextmanager
def _open_socket(host: str, port: int) -> "Iterator[socket]":
    from reconciler import asgi_server
    from reconciler.cli.ports import explain_refused_port
    from reconciler.errors import InputError

    try:
        listening = asgi_server.open_listening_socket(host, port)
    except OSError as error:
        refused = explain_refused_port(error, host, port, command="callbacks listen", example=8490)
        raise refused or InputError(
            f"{host} port {port} cannot be used: {(error.strerror or str(error)).lower()}.",
            next="name an address of this machine with --host",
        ) from error
    with listening:
        yield listening


@command.command(name="inbox", short_help="Print the replies that were received and not yet printed.")
@click.option("--all", "everything", is_flag=True, help="Show all replies in the inbox, and mark none.")
@click.option(
    "--inbox", default=default_inbox, show_default=True, metavar="FILE", help="The inbox of the listener."
)
@options.replies_format_option
@prints_result
def print_inbox(*, everything: bool, inbox: str, as_json: bool) -> int:
    """Print the replies that were received and not yet printed, oldest first, one line of JSON each.

    Each reply is marked as delivered after it is printed, and is not printed again. The inbox keeps replies
    for 31 days; --all shows every reply in it, also while a listener runs.

    Needs no settings. Reads the inbox, and marks in it what was printed.

    Exit codes: 0 printed, or nothing to print; 1 there is no inbox, or nobody reads the output any more; 4
    another command reads this inbox; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler callbacks inbox >> replies.jsonl
        reconciler callbacks inbox --all --format text
    """
    from pathlib import Path

    from reconciler.messaging.listener import print_all_replies, print_waiting_replies

    (print_all_replies if everything else print_waiting_replies)(Path(inbox), StdoutReplies(as_json=as_json))
    return 0


# --- Callbacks of the account: list, create, delete, calls, get -------------------------------------------

_LOOK = "reconciler callbacks list"


class CallbackShown(Struct):
    """A callback of the account, all but its key: `auth` is how the key travels, null where there is none."""

    callback_id: str
    name: str
    url: str
    auth: Literal["httpheader", "querystring", "basicauth", "bearertoken"] | None
    content_type: Literal["json", "xml"]
    retries: bool
    email: str
    on_reply: bool
    on_undeliverable: bool


def _show(callback: Callback) -> CallbackShown:
    return CallbackShown(
        callback_id=callback.callback_id,
        name=callback.name,
        url=callback.url,
        auth=callback.auth.type if callback.auth else None,
        content_type=callback.content_type,
        retries=callback.retries,
        email=callback.email,
        on_reply=callback.on_reply,
        on_undeliverable=callback.on_undeliverable,
    )


class CallbacksResult(CommandResult, frozen=True):
    """The callbacks of the account."""

    title: ClassVar[str] = "The callbacks of the account"
    callbacks: Annotated[tuple[CallbackShown, ...], Doc("In the order of the service.")]

    def lines(self) -> Sequence[Line]:
        """List the callbacks, a row each, and their number."""
        return _callback_table(self.callbacks, count(len(self.callbacks), "callback"))


def _callback_table(callbacks: Sequence[CallbackShown], summary: str) -> Sequence[Line]:
    rows = []
    for one in callbacks:
        events = (("reply", one.on_reply), ("undeliverable", one.on_undeliverable))
        called_on = "+".join(word for word, wanted in events if wanted) or "nothing"
        rows.append((one.callback_id, one.name, one.content_type, one.auth or "none", called_on, one.url))
    head = ("callback", "name", "type", "key", "called on", "url")
    return table(head, rows, summary, last=0)


class CreatedResult(CommandResult, frozen=True):
    """A callback that was created."""

    title: ClassVar[str] = "A callback that was made"
    callback: Annotated[CallbackShown, Doc("The callback as it is now.")]

    def lines(self) -> Sequence[Line]:
        """Show the callback as a row."""
        return _callback_table((self.callback,), "")


class CallbackResult(CommandResult, frozen=True):
    """One callback with all its fields."""

    title: ClassVar[str] = "One callback"
    callback: Annotated[CallbackShown, Doc("The callback as it is now.")]

    def lines(self) -> Sequence[Line]:
        """Show every field, a line each."""
        from reconciler.messaging.reports import field_lines

        return field_lines(self.callback)


class CallsResult(CommandResult, frozen=True):
    """The calls of one callback that the service made."""

    title: ClassVar[str] = "Calls of a callback"
    calls: Annotated[tuple[CallbackCall, ...], Doc("Calls that the service made.")]

    def lines(self) -> Sequence[Line]:
        """List the calls, and how many failed."""
        from reconciler.messaging.reports import call_lines

        return call_lines(self.calls)


class DeletedResult(CommandResult, frozen=True):
    """A callback that was deleted."""

    title: ClassVar[str] = "A callback that was deleted"
    deleted: Annotated[str, Doc("The service's id of it.")]

    def lines(self) -> Sequence[Line]:
        """Say which callback was deleted."""
        return (line(f"deleted: callback {self.deleted}"),)


@command.command(name="list", short_help="List the callbacks of the account.")
@options.settings_options
@options.format_option
@prints_result
def list_callbacks(*, config: str | None, environment: str | None) -> CallbacksResult:
    """List the callbacks of the account; their keys are not shown.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler callbacks list --format json
    """
    from reconciler.cli.client_session import run_with_reader

    found = run_with_reader(config, environment, lambda reader, _settings: reader.callbacks.list())
    return CallbacksResult(callbacks=tuple(map(_show, found)))


@command.command(name="create", short_help="Register an address for replies.")
@click.argument("name")
@click.argument("url")
@_key_options
@click.option(
    "--content-type",
    type=click.Choice(("json", "xml")),
    default="json",
    show_default=True,
    help="The form in which replies are sent.",
)
@click.option(
    "--no-retries", is_flag=True, help="The service tries each call only once, instead of for a day."
)
@click.option("--email", default="", metavar="ADDRESS", help="Who gets an e-mail if URL cannot be reached.")
@click.option("--no-replies", is_flag=True, help="The service does not call URL for replies.")
@click.option("--no-undeliverable", is_flag=True, help="The service does not call URL for failed deliveries.")
@options.settings_options
@options.format_option
@prints_result
def create_callback(
    *,
    name: str,
    url: str,
    key: str | None,
    key_env: str | None,
    key_file: str | None,
    no_key: bool,
    key_in: Literal["header", "query"],
    content_type: Literal["json", "xml"],
    no_retries: bool,
    email: str,
    no_replies: bool,
    no_undeliverable: bool,
    config: str | None,
    environment: str | None,
) -> CreatedResult:
    """Register URL under NAME. The replies to messages that name this callback are sent to URL.

    The service checks URL first, so the receiver must already be running.

    Reads settings; writes the service.

    Exit codes: 0 registered; 1 the service refused; 3 the input is invalid; 8 in doubt: the outcome of a
    write is not known; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """
    from reconciler.cli.client_session import run_with_client, send_write_once

    secret = _read_key(key, key_env, key_file, no_key=no_key)
    way: Literal["httpheader", "querystring"] = "httpheader" if key_in == "header" else "querystring"
    callback = Callback(
        name,
        url,
        auth=None if secret is None else CallbackAuth(way, secret),
        content_type=content_type,
        retries=not no_retries,
        email=email,
        on_reply=not no_replies,
        on_undeliverable=not no_undeliverable,
    )

    async def create(client: "ServiceClient", _settings: "Settings", signals: "Signals") -> Callback:
        call = client.callbacks.create(callback)
        return await send_write_once(signals, call, f"the callback {name} was created", _LOOK)

    return CreatedResult(callback=_show(run_with_client(config, environment, create)))


@command.command(name="delete", short_help="Delete a callback.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
@prints_result
def delete_callback(*, callback_id: str, config: str | None, environment: str | None) -> DeletedResult:
    """Delete the callback with this ID, which `reconciler callbacks list` shows.

    Reads settings; writes the service.

    Exit codes: 0 deleted; 1 not found, or the service refused; 3 the settings are invalid; 8 in doubt: the
    outcome of a write is not known; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler callbacks delete 4C8FE1A2B3D4E5F6
    """
    from reconciler.cli.client_session import run_with_client, send_write_once

    async def delete(client: "ServiceClient", _settings: "Settings", signals: "Signals") -> None:
        call = client.callbacks.delete(callback_id)
        await send_write_once(signals, call, f"the callback {callback_id} was deleted", _LOOK)

    run_with_client(config, environment, delete)
    return DeletedResult(deleted=callback_id)


@command.command(name="calls", short_help="List the calls of one callback, and how they ended.")
@click.argument("callback_id", metavar="ID")
@click.option("--message", "message_id", metavar="ID", help="Show only calls about this message.")
@click.option("--failed", is_flag=True, help="Show only calls that failed.")
@options.settings_options
@options.format_option
@prints_result
def list_calls(
    *,
    callback_id: str,
    message_id: str | None,
    failed: bool,
    config: str | None,
    environment: str | None,
) -> CallsResult:
    """List the calls that the service made to the callback with this ID, and how they ended.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler callbacks calls 4C8FE1A2B3D4E5F6 --failed
    """
    from reconciler.cli.client_session import run_with_reader

    status: Literal["FAILED"] | None = "FAILED" if failed else None
    every = run_with_reader(
        config, environment, lambda reader, _settings: reader.callbacks.calls(callback_id, status)
    )
    return CallsResult(calls=tuple(one for one in every if message_id in (None, one.message_id)))


@command.command(name="get", short_help="Show one callback with all its fields.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
@prints_result
def show_callback(*, callback_id: str, config: str | None, environment: str | None) -> CallbackResult:
    """Show how the callback with this ID is configured, and how its key is sent, but not the key.

    `reconciler callbacks calls ID` shows how each call ended.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 not found, or failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler callbacks get 4C8FE1A2B3D4E5F6
    """
    from reconciler.cli.client_session import run_with_reader

    found = run_with_reader(config, environment, lambda reader, _settings: reader.callbacks.get(callback_id))
    return CallbackResult(callback=_show(found))


# --- Changes that are shown and agreed to first: update, mark ---------------------------------------------


class UpdateResult(CommandResult, frozen=True):
    """A callback that was changed, or would be."""

    title: ClassVar[str] = "A callback that was changed, or would be"
    callback: Annotated[CallbackShown, Doc("The callback as it is now.")]
    changes: Annotated[tuple[FieldEdit, ...], Doc("Field by field.")]
    written: Annotated[bool, Doc("Whether anything was written.")]

    def lines(self) -> Sequence[Line]:
        """Say that it is updated, or show what would change."""
        from reconciler.messaging.reports import edit_lines

        if self.written:
            return (line(f"updated: callback {self.callback.callback_id}"),)
        return edit_lines(self.callback.callback_id, self.callback.name, self.changes)


class MarkResult(CommandResult, frozen=True):
    """Calls whose status was set, or would be. `callback_id` is for the text."""

    title: ClassVar[str] = "Calls whose status was set, or would be"
    calls: Annotated[tuple[CallbackCall, ...], Doc("Calls that the service made.")]
    status: Annotated[CallStatus, Doc("The status they get.")]
    written: Annotated[bool, Doc("Whether anything was written.")]
    callback_id: str = ""

    def lines(self) -> Sequence[Line]:
        """Say that the calls are marked, or show which would be."""
        from reconciler.messaging.reports import mark_lines

        if self.written:
            marked = f"{len(self.calls)} of the calls of callback {self.callback_id}"
            return (line(f"marked as {self.status}: {marked}"),)
        return mark_lines(self.calls, self.status)


@command.command(name="update", short_help="Change how a callback is configured.")
@click.argument("callback_id", metavar="ID")
@click.option(
    "--name",
    metavar="NAME",
    help="The name that messages use. Replies to messages that use the old name are then not sent.",
)
@click.option("--url", metavar="URL", help="Where replies are sent.")
@_new_key_options
@click.option(
    "--content-type", type=click.Choice(("json", "xml")), help="The form in which replies are sent."
)
@click.option(
    "--retries/--no-retries", default=None, help="Whether the service tries a failed call again for a day."
)
@click.option(
    "--email", metavar="ADDRESS", help="Who gets an e-mail if URL cannot be reached; '' for nobody."
)
@click.option(
    "--replies/--no-replies", "on_reply", default=None, help="Whether the service calls URL for replies."
)
@click.option(
    "--undeliverable/--no-undeliverable",
    "on_undeliverable",
    default=None,
    help="Whether the service calls URL for failed deliveries.",
)
@options.dry_run_option
@options.yes_option
@options.settings_options
@options.format_option
@prints_result
def update_callback(
    *,
    callback_id: str,
    name: str | None,
    url: str | None,
    key: str | None,
    key_env: str | None,
    key_file: str | None,
    no_key: bool,
    key_in: Literal["header", "query"] | None,
    content_type: Literal["json", "xml"] | None,
    retries: bool | None,
    email: str | None,
    on_reply: bool | None,
    on_undeliverable: bool | None,
    dry_run: bool,
    yes: bool,
    config: str | None,
    environment: str | None,
    as_json: bool,
) -> UpdateResult:
    """Change the given options of the callback with this ID, and leave the others as they are.

    The command shows the changes, and asks you. An update writes the whole callback with its key: if the
    service does not show the key, give the key again, or the update would remove it. The service does not
    check a new URL: make sure that the receiver runs there. The command succeeds only if the service shows
    the new values afterwards.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not found, not applied, or the service refused; 3 the input is
    invalid; 5 the callback was changed by others; 7 you declined; 8 in doubt: the outcome of a write is not
    known; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --url https://replies.example.com/new --dry-run
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --key-env CALLBACK_KEY --yes
    """
    from reconciler.cli.client_session import run_with_client, run_with_reader, send_write_once
    from reconciler.messaging.callback_updates import preview_update, write_edit
    from reconciler.messaging.reports import edit_lines

    ask = _must_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    keep_key = not no_key and key is None and key_env is None and key_file is None
    edit = CallbackEdit(
        name=name,
        url=url,
        content_type=content_type,
        retries=retries,
        email=email,
        on_reply=on_reply,
        on_undeliverable=on_undeliverable,
        key=None if keep_key else _read_key(key, key_env, key_file, no_key=no_key),
        no_key=no_key,
        key_in=key_in,
    )
    if edit == CallbackEdit():
        raise click.UsageError("name what to change, for example --url URL.")

    async def preview(reader: "ServiceReader", _settings: "Settings") -> UpdateResult:
        live, edits = await preview_update(reader, callback_id, edit)
        return UpdateResult(callback=_show(live), changes=edits, written=False)

    async def update(client: "ServiceClient", settings: "Settings", signals: "Signals") -> UpdateResult:
        live, edits = await preview_update(client, callback_id, edit)
        if edits:
            shown = edit_lines(live.callback_id, live.name, edits)
            _show_and_ask(shown, ask=ask, show=not as_json, what=f"update {callback_id}")
            written = write_edit(client, live, edit, settings.service.limits.settle_s)
            look = f"reconciler callbacks get {callback_id}"
            live = await send_write_once(signals, written, f"the callback {callback_id} was updated", look)
        return UpdateResult(callback=_show(live), changes=edits, written=bool(edits))

    if dry_run:
        return run_with_reader(config, environment, preview)
    return run_with_client(config, environment, update)


@command.command(name="mark", short_help="Mark calls as successful or failed.")
@click.argument("callback_id", metavar="ID")
@click.argument("call_ids", metavar="[CALL]...", nargs=-1)
@click.option(
    "--message",
    "message_id",
    metavar="ID",
    help="Mark all calls about this message, instead of naming each CALL.",
)
@click.option(
    "--status",
    type=click.Choice(("success", "failed"), case_sensitive=False),
    required=True,
    help="success: the service does not try the call again.",
)
@options.dry_run_option
@options.yes_option
@options.settings_options
@options.format_option
@prints_result
def mark_calls(
    *,
    callback_id: str,
    call_ids: tuple[str, ...],
    message_id: str | None,
    status: Literal["success", "failed"],
    dry_run: bool,
    yes: bool,
    config: str | None,
    environment: str | None,
    as_json: bool,
) -> MarkResult:
    """Set the status of calls that the service made to the callback with this ID.

    If you mark a call as successful, the service does not try it again: mark the calls whose replies you
    already have. `reconciler callbacks calls ID` lists them. At most 100 calls can be marked at a time.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not found, or not applied; 3 the input is invalid; 7 you
    declined; 8 in doubt: the outcome of a write is not known; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 0A1B2C3D4E5F6071 \\
            --status success --dry-run
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 \\
            --message 5D3A0B1C2D4E5F60 --status success --yes
    """
    from reconciler.cli.client_session import run_with_client, run_with_reader, send_write_once
    from reconciler.messaging.callback_edits import select_calls, select_unmarked_calls
    from reconciler.messaging.callback_updates import write_marks
    from reconciler.messaging.reports import mark_lines

    if bool(call_ids) == (message_id is not None):
        raise click.UsageError("name the calls, or all calls about one message with --message.")
    ask = _must_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    wanted: CallStatus = "SUCCESS" if status == "success" else "FAILED"

    async def select(reader: "ServiceReader", _settings: "Settings") -> tuple[CallbackCall, ...]:
        found = select_calls(await reader.callbacks.calls(callback_id), call_ids, message_id)
        return select_unmarked_calls(found, wanted)

    async def mark(
        client: "ServiceClient", settings: "Settings", signals: "Signals"
    ) -> tuple[CallbackCall, ...]:
        calls = await select(client, settings)
        if not calls:
            return ()
        shown = mark_lines(calls, wanted)
        _show_and_ask(shown, ask=ask, show=not as_json, what=f"mark {callback_id}")
        written = write_marks(client, callback_id, calls, wanted, settings.service.limits.settle_s)
        look = f"reconciler callbacks calls {callback_id}"
        return await send_write_once(signals, written, f"calls of {callback_id} were marked", look)

    calls = (
        run_with_reader(config, environment, select)
        if dry_run
        else run_with_client(config, environment, mark)
    )
    written = bool(calls) and not dry_run
    return MarkResult(calls=calls, status=wanted, written=written, callback_id=callback_id)


def _must_ask(*, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Return whether to ask before the write. Raises UsageError without a terminal."""
    from reconciler.cli.console import output

    if dry_run or yes:
        return False
    if as_json or not output.can_ask():
        raise click.UsageError("not a terminal: pass --yes, or use --dry-run to see what would change.")
    return True


def _show_and_ask(lines: Sequence[Line], *, ask: bool, show: bool, what: str) -> None:
    """Show what is to be written, and ask where that is wanted. Raises Refused for a no."""
    from reconciler.cli.console import output
    from reconciler.errors import Refused

    if show:
        output.lines(lines)
    if ask and not output.confirm("Write this?"):
        raise Refused("not confirmed; nothing was written.", next=f"reconciler callbacks {what} ...")
