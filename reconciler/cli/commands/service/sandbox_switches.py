"""The switches of `reconciler sandbox`: one for each form in which the service may answer or fail.

Belongs here: their names, values and help. Not here: what they do, and their defaults, which are those of
`SandboxConfig`. A switch has the name of its option there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from reconciler.cli.options import together

amount = click.FloatRange(0, min_open=True)
whole = click.IntRange(1)


class Switch(NamedTuple):
    """One option: its name, its `values` (a type, the words to choose from, or a yes or no), its help."""

    name: str
    values: click.ParamType[Any] | tuple[str, ...] | None
    help: str
    metavar: str | None = None
    default: Any = None  # shown; None: that of `SandboxConfig`


SWITCHES = (
    Switch(
        "send-answer",
        ("document", "text"),
        "The answer to a send: a document with location and messageid, or a text.",
    ),
    Switch("prev-rel", ("prev", "previous"), "The relation of the link to the page before."),
    Switch("link-base", click.STRING, "The origin of all links. Default: that of the request.", "URL"),
    Switch("limit-zero", ("20", "all"), "How many rows limit=0 gives."),
    Switch(
        "status-order", ("used", "fixed"), "The channels of a detailed status: that which was used first."
    ),
    Switch("messages-end", ("No messages found", "No records found"), "The end of a list of messages."),
    Switch(
        "device-status",
        ("written", "normalized"),
        "The status of a device as it was written, or as Active, Disabled.",
    ),
    Switch(
        "device-token",
        ("shown", "masked", "omitted"),
        "What a look at a device shows of its push token.",
    ),
    Switch(
        "callback-failure-key",
        ("acknowledged", "undeliverable"),
        "The key of the time in callbacks of failed deliveries.",
    ),
    Switch("callback-location-key", ("location", "messagelocation"), "The key of the address in callbacks."),
    Switch("callback-service-keys", None, "Add the service's own customParameters to callbacks."),
    Switch("callback-check", None, "Call the address of a new callback, and require 200."),
    Switch("callback-targets", ("loopback", "any"), "Where callbacks may go."),
    Switch("callback-retry-s", amount, "Seconds between two attempts to call.", "N"),
    Switch("message-cycle-s", click.FloatRange(0), "Seconds until a queued message is sent.", "N"),
    Switch("id-in-get", None, "Show the id of a contact that is read alone."),
    Switch(
        "strict", None, "Refuse contacts and callbacks without all fields that are documented as required."
    ),
    Switch("short-device-os", None, "Shorten the deviceOS to its first word."),
    Switch("device-limit", click.IntRange(1, 10), "Devices of one app on one contact.", "N"),
    Switch(
        "device-touches-contact", None, "A change of a device changes the modification time of its contact."
    ),
    Switch(
        "resource-put",
        ("204", "200"),
        "The status code after a resource was changed; 200 returns the resource.",
    ),
    Switch("resource-days", amount, "Days after which resources are removed. Default: never.", "N"),
    Switch("resource-bytes-max", whole, "Bytes of one file.", "N"),
    Switch("request-bytes-max", whole, "Bytes of one request.", "N"),
    Switch(
        "requests-per-second", whole, "Refuse more requests per second than this. Default: no limit.", "N"
    ),
    Switch("requests-per-day", whole, "Refuse more requests per day than this. Default: no limit.", "N"),
    Switch("throttle", ("403", "403-older", "429"), "How too many requests are refused."),
    Switch("forbidden", ("json", "html"), "How a wrong key is refused."),
    Switch("token-lifetime-s", amount, "Seconds until a token expires.", "N"),
)


default_port = 8480

Workspaces = tuple[tuple[str, str | None], ...]


def _workspaces(_ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]) -> Workspaces:
    """Return NAME=ID pairs; an id of None is made from the name by the sandbox."""
    pairs = []
    for text in written:
        name, equals, found = text.partition("=")
        if not name or (equals and not found):
            raise click.BadParameter(f"{text!r} is not NAME or NAME=ID.")
        pairs.append((name, found or None))
    return tuple(pairs)


SERVER = (
    Switch(
        "port",
        click.IntRange(0, 65_535),
        "Where to listen on 127.0.0.1. 0: any free port.",
        None,
        default_port,
    ),
    Switch("username", click.STRING, "The user to accept.", "U", "demo"),
    Switch("password", click.STRING, "The password to accept.", "P", "demo"),
    Switch("api-key", click.STRING, "The API key to accept.", "K", "demo-key"),
    Switch(
        "vendor",
        click.STRING,
        "The vendor word of the media types. Default: that of --profile, else service.",
        "WORD",
    ),
    Switch("profile", click.Path(), "Serve the kinds of this profile too.", "FILE"),
)
CONTENT = (
    Switch("contacts", click.IntRange(0), "Start with N invented people in the default workspace.", "N"),
    Switch("rows", ("brief", "full"), "How many fields of a contact a list shows.", None, "brief"),
    Switch(
        "default-form", ("json", "xml"), "The format for requests without an Accept header.", None, "json"
    ),
    Switch("latency-ms", click.FloatRange(0), "Delay every answer by N milliseconds.", "N"),
    Switch("data", click.Path(), "Keep everything in this SQLite file. Default: in memory.", "FILE"),
)


def _option(switch: Switch) -> Callable[[Any], Any]:
    values = switch.values
    return click.option(
        f"--{switch.name}" if values is not None else f"--{switch.name}/--no-{switch.name}",
        type=click.Choice(values) if isinstance(values, tuple) else values,
        default=switch.default,
        show_default=switch.default is not None,
        help=switch.help,
        metavar=switch.metavar,
    )


server_options = together(
    *map(_option, SERVER),
    click.option(
        "--workspace",
        "workspaces",
        multiple=True,
        metavar="NAME[=ID]",
        callback=_workspaces,
        help="A workspace beside the default one. Repeatable.",
    ),
    *map(_option, CONTENT),
)
# All switches, `--like` and `--fault`. What is not given is None.
switches = together(
    click.option(
        "--like",
        type=click.Choice(("specification", "recorded")),
        default="specification",
        show_default=True,
        help="Answer as the specification says, or as recorded traffic shows. Single switches go on top.",
    ),
    click.option(
        "--fault",
        "faults",
        multiple=True,
        metavar="NAME[,OPTION=VALUE]...",
        help="Arm a fault: drop-after,method=POST,path=/contacts. Repeatable.",
    ),
    *map(_option, SWITCHES),
)
