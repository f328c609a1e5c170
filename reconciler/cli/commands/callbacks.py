"""`reconciler callbacks`: the callbacks of the account, and our end of them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from reconciler.cli import options, output
from reconciler.cli.callbacks import keys
from reconciler.cli.commands import callback_edits

if TYPE_CHECKING:
    from reconciler.cli.running import Signals
    from reconciler.model.messages import Callback
    from reconciler.model.settings import Secret, Settings
    from reconciler.service.client import ServiceClient

default_port = 8490
default_inbox = ".reconciler/inbox.db"

_LOOK = "reconciler callbacks list"


@click.group(name="callbacks", no_args_is_help=False, short_help="Receive replies; manage where they go.")
def command() -> None:
    """Receive what people reply, and tell the service where to send it.

    A callback of the account is a name and an address; a message that names it has its replies and
    failed deliveries sent there.

    Exit codes: 0 done, 1 failed, 3 input invalid, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY \\
            --events replies.jsonl
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """  # noqa: D301 - \\b is click's mark, not an escape of ours


def _path(_ctx: click.Context, _parameter: click.Parameter, path: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", path):
        raise click.BadParameter("it begins with / and holds letters, digits and ._~/- only.")
    return path


def _header(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", name):
        raise click.BadParameter("a header's name holds letters, digits and - only.")
    return name


@command.command(short_help="Take replies until stopped, one JSON line each.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=default_port,
    show_default=True,
    help="Where to listen. 0: any free port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="On which address.")
@click.option("--path", default="/", show_default=True, callback=_path, help="The path that the URL names.")
@keys.key_options
@click.option(
    "--header",
    default="X-Service-Callback-Key",
    show_default=True,
    metavar="NAME",
    callback=_header,
    help="The header with the key; it names the vendor.",
)
@click.option("--events", metavar="FILE", help="Append every reply to this file too, before it is printed.")
@click.option(
    "--inbox",
    default=default_inbox,
    show_default=True,
    metavar="FILE",
    help="Where replies are kept until they were told: none is lost, and none told twice but after a crash.",
)
@click.option(
    "--format",
    type=click.Choice(options.formats),
    default="json",
    show_default=True,
    help="One JSON line a reply, or text for people.",
)
def listen(
    *,
    port: int,
    host: str,
    path: str,
    header: str,
    events: str | None,
    inbox: str,
    format: str,  # noqa: A002 - the option's name
    key_in: Literal["header", "query"],
    **given: Any,
) -> int:
    """Take the replies that the service sends, and print each as one line of JSON.

    A reply is on disk before the service is told so, and noted as told when it has been printed. What
    could not be printed is told by the next listener, or by `reconciler callbacks inbox`. A repeated
    one is acknowledged and not printed again. Only after a crash may the last ones be printed once
    more, with the same ids; FILE holds them once. Where nobody reads the output any more, it ends.
    Nothing here speaks TLS: put a proxy in front, and name its address to the service.

    Needs no settings. Writes the inbox and --events FILE (both 0600). Existing ones have to be
    regular files of yours, with that mode and without links.

    Exit codes: 0 stopped, 1 port in use, file unusable or output gone, 3 key unusable,
    4 another command tells from this inbox, 64 usage.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY
        reconciler callbacks listen --port 8490 --key file:key.txt \\
            --events replies.jsonl
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    key = keys.key_of(given)
    from reconciler.cli.callbacks.listening import Listening, run  # noqa: PLC0415 - a web server, not for --help
    from reconciler.receiver.app import ReceiverConfig  # noqa: PLC0415 - the same

    run(
        Listening(
            config=ReceiverConfig(key=key, how=key_in, header=header, path=path),
            host=host,
            port=port,
            inbox=Path(inbox),
            events=Path(events) if events else None,
            as_json=format == "json",
        )
    )
    return 0


@command.command(short_help="Tell the replies that no listener told.")
@click.option("--all", "everything", is_flag=True, help="Show all that is kept, told or not; note nothing.")
@click.option(
    "--inbox", default=default_inbox, show_default=True, metavar="FILE", help="The inbox of the listener."
)
@click.option(
    "--format",
    type=click.Choice(options.formats),
    default="json",
    show_default=True,
    help="One JSON line a reply, or text for people.",
)
def inbox(*, everything: bool, inbox: str, format: str) -> int:  # noqa: A002 - the option's name
    """Print the replies that were received and could not be told, oldest first, one line of JSON each.

    Each is noted as told when it has been printed, and is not told again. With --all everything that
    the inbox keeps is shown, for 31 days, also while a listener runs.

    Needs no settings. Reads the inbox, and notes in it what was told.

    Exit codes: 0 told, or nothing to tell; 1 no inbox, or output gone;
    4 another command tells from this inbox, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks inbox >> replies.jsonl
        reconciler callbacks inbox --all --format text
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.callbacks.telling import show_all, tell_waiting  # noqa: PLC0415 - loads what --help does not need

    (show_all if everything else tell_waiting)(Path(inbox), as_json=format == "json")
    return 0


@command.command(name="list", short_help="List the callbacks of the account.")
@options.settings_options
@options.format_option
def list_(*, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """List the callbacks of the account; their keys are not shown.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks list --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.calling import reading  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.messages import callback_lines, callback_values, report_json  # noqa: PLC0415 - the same

    found = reading(given, lambda reader, _settings: reader.callbacks.list())
    if format == "json":
        output.json(report_json({"callbacks": [callback_values(one) for one in found]}))
    else:
        output.lines(callback_lines(found))
    return 0


@command.command(short_help="Register an address for replies.")
@click.argument("name")
@click.argument("url")
@keys.key_options
@click.option(
    "--content-type",
    type=click.Choice(("json", "xml")),
    default="json",
    show_default=True,
    help="The form in which replies are sent.",
)
@click.option("--no-retries", is_flag=True, help="The service tries once, and not again for a day.")
@click.option(
    "--email", default="", metavar="ADDRESS", help="Who is told when the address cannot be reached."
)
@click.option("--no-replies", is_flag=True, help="Not called when somebody replies.")
@click.option("--no-undeliverable", is_flag=True, help="Not called when a delivery fails.")
@options.settings_options
@options.format_option
def create(*, name: str, url: str, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Register URL under NAME, which messages then name to have their replies sent there.

    The service looks at URL before it agrees, so the receiver has to run already.

    Reads settings; writes the service.

    Exit codes: 0 registered, 1 refused by the service, 3 input invalid, 8 in doubt, 64 usage.

    \b
    Example:
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    key = keys.key_of(given)
    from reconciler.cli.calling import once, writing  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.messages import callback_lines, callback_values, report_json  # noqa: PLC0415 - the same

    callback = _callback(name, url, key, given)

    async def create_it(client: "ServiceClient", _settings: "Settings", signals: "Signals") -> "Callback":
        return await once(
            signals, client.callbacks.create(callback), f"the callback {name} was created;", _LOOK
        )

    made = writing(given, create_it)
    if format == "json":
        output.json(report_json({"callback": callback_values(made)}))
    else:
        output.lines(callback_lines((made,))[:-1])
    return 0


def _callback(name: str, url: str, key: "Secret | None", given: dict[str, Any]) -> "Callback":
    from reconciler.model.messages import Callback, CallbackAuth  # noqa: PLC0415 - with the client

    way: Literal["httpheader", "querystring"] = "httpheader" if given["key_in"] == "header" else "querystring"
    return Callback(
        name,
        url,
        auth=None if key is None else CallbackAuth(way, key),
        content_type=given["content_type"],
        retries=not given["no_retries"],
        email=given["email"],
        on_reply=not given["no_replies"],
        on_undeliverable=not given["no_undeliverable"],
    )


@command.command(short_help="Take a callback away.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
def delete(*, callback_id: str, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Delete the callback with this ID, which `reconciler callbacks list` shows.

    Reads settings; writes the service.

    Exit codes: 0 deleted, 1 not there or refused, 3 settings invalid, 8 in doubt.

    \b
    Example:
        reconciler callbacks delete 4C8FE1A2B3D4E5F6
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.calling import once, writing  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.messages import report_json  # noqa: PLC0415 - the same

    async def delete_it(client: "ServiceClient", _settings: "Settings", signals: "Signals") -> None:
        await once(
            signals, client.callbacks.delete(callback_id), f"the callback {callback_id} was deleted;", _LOOK
        )

    writing(given, delete_it)
    if format == "json":
        output.json(report_json({"deleted": callback_id}))
    else:
        output.data(f"deleted: callback {callback_id}")
    return 0


@command.command(short_help="List the service's attempts to call.")
@click.argument("callback_id", metavar="ID")
@click.option("--message", "message_id", metavar="ID", help="Only calls about this message.")
@click.option("--failed", is_flag=True, help="Only calls that have failed.")
@options.settings_options
@options.format_option
def calls(*, callback_id: str, message_id: str | None, failed: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """List the calls of one callback that the service made, and how they ended.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks calls 4C8FE1A2B3D4E5F6 --failed
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.calling import reading  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.messages import call_lines, report_json  # noqa: PLC0415 - the same

    status: Literal["FAILED"] | None = "FAILED" if failed else None
    every = reading(given, lambda reader, _settings: reader.callbacks.calls(callback_id, status))
    found = tuple(one for one in every if message_id in (None, one.message_id))
    if format == "json":
        output.json(report_json({"calls": found}))
    else:
        output.lines(call_lines(found))
    return 0


for _command in (callback_edits.get, callback_edits.update, callback_edits.mark):
    command.add_command(_command)
