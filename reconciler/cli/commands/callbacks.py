"""`reconciler callbacks`: the callbacks of the account, and our end of them."""

import re

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs

default_port = 8490
default_inbox = ".reconciler/inbox.db"


@click.group(name="callbacks", no_args_is_help=False)
def command() -> None:
    """Receive replies, and tell the service where to send them.

    A callback of the account is a name and an address. The service sends the replies and failed
    deliveries of a message to the callback that the message names.

    Exit codes: 0 done, 1 failed, 3 input invalid, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY \\
            --events replies.jsonl
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """


_KEY_OPTIONS = (
    click.option(
        "--key",
        metavar="env:NAME|file:PATH",
        help="Where the callback's key is; never the key itself, which others could see.",
    ),
    click.option("--key-env", metavar="NAME", help="The same as --key env:NAME."),
    click.option("--key-file", metavar="FILE", help="The same as --key file:FILE."),
    click.option("--no-key", is_flag=True, help="No key: everybody who can reach the address is believed."),
    click.option(
        "--key-in",
        type=click.Choice(("header", "query")),
        default="header",
        show_default=True,
        help="How the service sends the key.",
    ),
)


# `key`, `key_env`, `key_file`: texts, or None; `no_key`: true or false; `key_in`: header or query.
_key_options = options.together(*_KEY_OPTIONS)
# The same for a callback that exists: `key_in` is None where it stays as it is.
_new_key_options = options.together(
    *_KEY_OPTIONS[:-1],
    click.option("--key-in", type=click.Choice(("header", "query")), help="How the service sends the key."),
)


def _path(_ctx: click.Context, _parameter: click.Parameter, path: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", path):
        raise click.BadParameter("it begins with / and holds letters, digits and ._~/- only.")
    return path


def _header(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", name):
        raise click.BadParameter("a header's name holds letters, digits and - only.")
    return name


@command.command(short_help="Receive replies until stopped, one JSON line each.")
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
@click.option("--path", default="/", show_default=True, callback=_path, help="The path in the URL.")
@_key_options
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
    help="Where replies are kept until they are printed: none is lost, and none printed twice except after a "
    "crash.",
)
@options.replies_format_option
@runs("service.callbacks.listening:listen")
def listen() -> None:
    """Receive the replies that the service sends, and print each as one line of JSON.

    A reply is on disk before it is acknowledged, and marked as delivered after it is printed. Replies
    that could not be printed are printed by the next listener, or by `reconciler callbacks inbox`. A
    repeated reply is acknowledged and not printed again. Only after a crash can the last ones be printed
    again, with the same ids; --events FILE holds them once. The listener ends when nobody reads its
    output. It has no TLS: put a proxy in front, and give the service the address of the proxy.

    Needs no settings. Writes the inbox and --events FILE (both 0600). Existing ones must be regular
    files of yours, with that mode and without links.

    Exit codes: 0 stopped, 1 port in use, file unusable or output gone, 3 key unusable,
    4 another command reads this inbox, 64 usage.

    \b
    Examples:
        reconciler callbacks listen --port 8490 --key-env CALLBACK_KEY
        reconciler callbacks listen --port 8490 --key file:key.txt \\
            --events replies.jsonl
    """


@command.command(short_help="Print the replies that no listener printed.")
@click.option("--all", "everything", is_flag=True, help="Show all replies in the inbox, and mark none.")
@click.option(
    "--inbox", default=default_inbox, show_default=True, metavar="FILE", help="The inbox of the listener."
)
@options.replies_format_option
@runs("service.callbacks.telling:inbox")
def inbox() -> None:
    """Print the replies that were received and not yet printed, oldest first, one line of JSON each.

    Each is marked as delivered after it is printed, and is not printed again. --all shows every reply in
    the inbox, which keeps them for 31 days, also while a listener runs.

    Needs no settings. Reads the inbox, and marks in it what was printed.

    Exit codes: 0 printed, or nothing to print; 1 no inbox, or output gone;
    4 another command reads this inbox, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks inbox >> replies.jsonl
        reconciler callbacks inbox --all --format text
    """


@command.command(name="list", short_help="List the callbacks of the account.")
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:list_")
def list_() -> None:
    """List the callbacks of the account; their keys are not shown.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks list --format json
    """


@command.command(short_help="Register an address for replies.")
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
    "--no-retries", is_flag=True, help="The service tries once; otherwise it tries again for a day."
)
@click.option(
    "--email", default="", metavar="ADDRESS", help="Who gets an e-mail when the address cannot be reached."
)
@click.option("--no-replies", is_flag=True, help="Do not call for replies.")
@click.option("--no-undeliverable", is_flag=True, help="Do not call for failed deliveries.")
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:create")
def create() -> None:
    """Register URL under NAME; messages that name it have their replies sent there.

    The service checks URL first, so the receiver must already be running.

    Reads settings; writes the service.

    Exit codes: 0 registered, 1 refused by the service, 3 input invalid, 8 in doubt, 64 usage.

    \b
    Example:
        reconciler callbacks create on-call https://replies.example.com/ \\
            --key-env CALLBACK_KEY
    """


@command.command(short_help="Delete a callback.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:delete")
def delete() -> None:
    """Delete the callback with this ID, which `reconciler callbacks list` shows.

    Reads settings; writes the service.

    Exit codes: 0 deleted, 1 not there or refused, 3 settings invalid, 8 in doubt.

    \b
    Example:
        reconciler callbacks delete 4C8FE1A2B3D4E5F6
    """


@command.command(short_help="List the service's attempts to call.")
@click.argument("callback_id", metavar="ID")
@click.option("--message", "message_id", metavar="ID", help="Only calls about this message.")
@click.option("--failed", is_flag=True, help="Only calls that have failed.")
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:calls")
def calls() -> None:
    """List the calls of one callback that the service made, and how they ended.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks calls 4C8FE1A2B3D4E5F6 --failed
    """


@command.command(short_help="Show one callback with all its fields.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:get")
def get() -> None:
    """Show how the callback with this ID is configured. Its key is not shown, only how it is sent.

    `reconciler callbacks calls ID` shows how each call ended.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks get 4C8FE1A2B3D4E5F6
    """


@command.command(short_help="Change how a callback is configured.")
@click.argument("callback_id", metavar="ID")
@click.option(
    "--name",
    metavar="NAME",
    help="The name that messages use. Messages with the old name lose their callback.",
)
@click.option("--url", metavar="URL", help="Where replies are sent.")
@_new_key_options
@click.option(
    "--content-type", type=click.Choice(("json", "xml")), help="The form in which replies are sent."
)
@click.option("--retries/--no-retries", default=None, help="Try again for a day, or try once.")
@click.option(
    "--email", metavar="ADDRESS", help="Who gets an e-mail when the address cannot be reached; '' for nobody."
)
@click.option("--replies/--no-replies", "on_reply", default=None, help="Call for replies.")
@click.option(
    "--undeliverable/--no-undeliverable",
    "on_undeliverable",
    default=None,
    help="Call for failed deliveries.",
)
@options.dry_run_option
@options.yes_option
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:update")
def update() -> None:
    """Change the given options of the callback with this ID, and leave the others as they are.

    The changes are shown, and you are asked. An update writes the whole callback with its key: if the
    service does not show the key, give it again, or it would be lost. The service does not check a new
    URL: make sure that the receiver runs there. An update counts as done when it reads back.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not there, refused by the service or not taken,
    3 input invalid, 5 changed by others, 7 refused by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --url https://replies.example.com/new --dry-run
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --key-env CALLBACK_KEY --yes
    """


@command.command(short_help="Mark calls as successful or failed.")
@click.argument("callback_id", metavar="ID")
@click.argument("call_ids", metavar="[CALL]...", nargs=-1)
@click.option("--message", "message_id", metavar="ID", help="All calls about this message, instead of CALL.")
@click.option(
    "--status",
    type=click.Choice(("success", "failed"), case_sensitive=False),
    required=True,
    help="success: handled, and not tried again.",
)
@options.dry_run_option
@options.yes_option
@options.settings_options
@options.format_option
@runs("service.callbacks.callbacks:mark")
def mark() -> None:
    """Set the status of calls that the service made to the callback with this ID.

    A call that is marked as successful is not tried again: mark calls whose reply you already have.
    `reconciler callbacks calls ID` lists them. At most 100 at a time.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not there or not taken, 3 input invalid,
    7 refused by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 0A1B2C3D4E5F6071 \\
            --status success --dry-run
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 \\
            --message 5D3A0B1C2D4E5F60 --status success --yes
    """
