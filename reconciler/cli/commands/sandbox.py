"""`reconciler sandbox`: the whole service on loopback, until it is stopped.

Each form in which the service may answer or fail has an option. What it does, and its default, stand in
`SandboxConfig`, where an option has the same name.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reconciler import signals
from reconciler.cli.dispatch import prints_result
from reconciler.cli.options import combine_options

if TYPE_CHECKING:
    from reconciler.errors import ReconcilerError
    from reconciler.sandbox.config import SandboxConfig
    from reconciler.sandbox.faults import FaultRule

# --- The options ------------------------------------------------------------------------------------------

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
        "Answer a send with a document that has location and messageid, or with a text.",
    ),
    Switch("prev-rel", ("prev", "previous"), "The name (rel) of the link to the previous page."),
    Switch("link-base", click.STRING, "The origin of all links. Default: that of the request.", "URL"),
    Switch("limit-zero", ("20", "all"), "How many rows a list has for limit=0."),
    Switch(
        "status-order",
        ("used", "fixed"),
        "The order of channels in a detailed status: used channel first, or fixed.",
    ),
    Switch(
        "messages-end",
        ("No messages found", "No records found"),
        "What a list of messages says after the last message.",
    ),
    Switch(
        "device-status",
        ("written", "normalized"),
        "Show the status of a device as it was written, or as Active or Disabled.",
    ),
    Switch(
        "device-token",
        ("shown", "masked", "omitted"),
        "How a GET of a device returns its push token.",
    ),
    Switch(
        "callback-failure-key",
        ("acknowledged", "undeliverable"),
        "The key of the time in callbacks about failed deliveries.",
    ),
    Switch(
        "callback-location-key",
        ("location", "messagelocation"),
        "The key of the message's address in callbacks.",
    ),
    Switch("callback-service-keys", None, "Add the service's own customParameters to callbacks."),
    Switch("callback-check", None, "Call the URL of a new callback once, and require status 200."),
    Switch(
        "callback-targets", ("loopback", "any"), "Where callbacks may go: to this machine only, or anywhere."
    ),
    Switch("callback-retry-s", amount, "Seconds between two attempts of a callback.", "N"),
    Switch("message-cycle-s", click.FloatRange(0), "Seconds until a queued message is sent.", "N"),
    Switch("id-in-get", None, "Show the id of a contact also if only this contact is read."),
    Switch(
        "strict", None, "Refuse contacts and callbacks without all fields that are documented as required."
    ),
    Switch("short-device-os", None, "Shorten the deviceOS to its first word."),
    Switch("device-limit", click.IntRange(1, 10), "How many devices of one app a contact may have.", "N"),
    Switch(
        "device-touches-contact",
        None,
        "A change of a device also changes the modification time of its contact.",
    ),
    Switch(
        "resource-put",
        ("204", "200"),
        "The status code after a resource is changed; with 200, the resource is returned.",
    ),
    Switch("resource-days", amount, "Days after which resources are removed. Default: never.", "N"),
    Switch("resource-bytes-max", whole, "The largest file, in bytes.", "N"),
    Switch("request-bytes-max", whole, "The largest request, in bytes.", "N"),
    Switch(
        "requests-per-second", whole, "Refuse more requests per second than this. Default: no limit.", "N"
    ),
    Switch("requests-per-day", whole, "Refuse more requests per day than this. Default: no limit.", "N"),
    Switch("throttle", ("403", "403-older", "429"), "The answer to too many requests."),
    Switch("forbidden", ("json", "html"), "The answer to a wrong key."),
    Switch("token-lifetime-s", amount, "Seconds until a token expires.", "N"),
)


default_port = 8480

Workspaces = tuple[tuple[str, str | None], ...]


def _parse_workspaces(
    _ctx: click.Context, _parameter: click.Parameter, written: tuple[str, ...]
) -> Workspaces:
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


def _make_option(switch: Switch) -> Callable[[Any], Any]:
    values = switch.values
    return click.option(
        f"--{switch.name}" if values is not None else f"--{switch.name}/--no-{switch.name}",
        type=click.Choice(values) if isinstance(values, tuple) else values,
        default=switch.default,
        show_default=switch.default is not None,
        help=switch.help,
        metavar=switch.metavar,
    )


server_options = combine_options(
    *map(_make_option, SERVER),
    click.option(
        "--workspace",
        "workspaces",
        multiple=True,
        metavar="NAME[=ID]",
        callback=_parse_workspaces,
        help="Add a workspace to the default one. Repeatable.",
    ),
    *map(_make_option, CONTENT),
)
# All switches, `--like` and `--fault`. What is not given is None.
switches = combine_options(
    click.option(
        "--like",
        type=click.Choice(("specification", "recorded")),
        default="specification",
        show_default=True,
        help="Answer as the specification says, or as recorded traffic shows. Other switches override it.",
    ),
    click.option(
        "--fault",
        "faults",
        multiple=True,
        metavar="NAME[,OPTION=VALUE]...",
        help="Produce a fault, such as drop-after,method=POST,path=/contacts. Repeatable.",
    ),
    *map(_make_option, SWITCHES),
)


# --- The command ------------------------------------------------------------------------------------------


@click.command()
@server_options
@switches
@prints_result
def command(*, port: int, profile: str | None, **given: Any) -> int:
    """Run the whole messaging service on this machine. No message leaves it.

    The command prints the address of the sandbox when it is ready, and ends with Ctrl-C. Callbacks go to this
    machine only, unless --callback-targets is any. Requests from web pages are refused: the Host header must
    be a numeric address, localhost, or the host of --link-base.

    Writes --data FILE, if given.

    Exit codes: 0 stopped; 1 the port is in use, or a file cannot be used; 64 usage error.

    \b
    Examples:
        reconciler sandbox
        reconciler sandbox --port 8480 \\
            --workspace Operations=4C8FE1A2B3D4E5F6 --contacts 55
        reconciler sandbox --like recorded --requests-per-second 10 \\
            --fault latency,seconds=2,times=null
    """
    from reconciler.cli.console import output
    from reconciler.cli.sandbox_collections import build_own_collections
    from reconciler.sandbox.app import serve_sandbox
    from reconciler.service.profile import load_profile

    served = None
    if profile is not None:
        if not profile.endswith(".yaml"):
            raise click.BadParameter(f"{profile!r} is not a .yaml file.", param_hint="'--profile'")
        served = load_profile(profile)
        given["vendor"] = given["vendor"] or served.vendor
    config = make_sandbox_config(given)
    try:
        serve_sandbox(
            config,
            collections=build_own_collections(served) if served is not None else (),
            port=port,
            on_ready=lambda address: _report_ready(address, config.named_workspaces()),
        )
    except OSError as error:
        raise _explain_unusable(error, port) from error
    output.note("sandbox stopped.")
    return 0


def make_sandbox_config(given: Mapping[str, Any]) -> "SandboxConfig":
    """Return the configuration that the options write. Raises UsageError."""
    from reconciler.sandbox.config import SandboxConfig

    found = {name: value for name, value in given.items() if value is not None}
    faults = tuple(_parse_fault(line) for line in found.pop("faults"))
    if "resource_put" in found:
        found["resource_put"] = int(found["resource_put"])
    try:
        return SandboxConfig.like(found.pop("like"), **found, faults=faults)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error


def _parse_fault(line: str) -> "FaultRule":
    """Return the rule that `NAME[,OPTION=VALUE]...` writes. Raises BadParameter."""
    import msgspec

    from reconciler.sandbox.faults import FaultRule

    name, *options = line.split(",")
    values = _parse_fault_options(line, options, FaultRule.__struct_fields__)
    try:
        return msgspec.convert({**values, "fault": name}, FaultRule, strict=False)
    except msgspec.ValidationError as error:
        _, _, option = str(error).rstrip("`").partition("`$.")
        why = f"{option} cannot be {values[option]!r}" if option in values else str(error)
        raise _bad_fault(line, f": {why}.") from error


def _parse_fault_options(line: str, written: list[str], fields: tuple[str, ...]) -> dict[str, str | None]:
    pairs = [option.partition("=") for option in written]
    if any(not equals for _, equals, _ in pairs):
        raise _bad_fault(line, " is not NAME[,OPTION=VALUE]...")
    values = {key: None if value == "null" else value for key, _, value in pairs}
    known = [one for one in fields if one != "fault"]
    unknown = [key for key in values if key not in known]
    if unknown:
        raise _bad_fault(line, f": a fault has no option {unknown[0]!r}; it has {', '.join(known)}.")
    return values


def _bad_fault(line: str, what: str) -> click.BadParameter:
    return click.BadParameter(f"{line!r}{what}", param_hint="'--fault'")


def _report_ready(address: str, workspaces: tuple[tuple[str, str], ...]) -> None:
    from reconciler.cli.console import output

    signals.set_reaction(signals.leave_to_server)
    named = "".join(f"\n  workspace {name} has the id {found}" for name, found in workspaces)
    output.data(f"sandbox ready at {address}")
    output.note(
        f"  settings: service.base_url: {address}, or RECONCILER_SERVICE_BASE_URL={address}\n"
        "  credentials: what --username, --password and --api-key say (demo, demo, demo-key)"
        f"{named}\n  stop it with Ctrl-C"
    )


def _explain_unusable(error: OSError, port: int) -> "ReconcilerError":
    from reconciler.cli.ports import explain_refused_port
    from reconciler.errors import FileError, InputError
    from reconciler.sandbox.state import DataFileError

    if isinstance(error, DataFileError):
        return FileError(f"{error}.", next="name another file with --data, or leave it out")
    return explain_refused_port(error, "127.0.0.1", port, command="sandbox", example=8480) or InputError(
        f"the sandbox cannot start: {(error.strerror or str(error)).lower()}.", next="try --port 0"
    )
