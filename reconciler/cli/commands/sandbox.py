"""`reconciler sandbox`: the whole service on loopback, until it is stopped."""

import click

from reconciler.cli.dispatch import runs
from reconciler.cli.sandbox_switches import switches

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


@click.command(short_help="Run the whole service on this machine.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=default_port,
    show_default=True,
    help="Where to listen on 127.0.0.1. 0: any free port.",
)
@click.option("--username", default="demo", show_default=True, metavar="U", help="The user to accept.")
@click.option("--password", default="demo", show_default=True, metavar="P", help="The password to accept.")
@click.option("--api-key", default="demo-key", show_default=True, metavar="K", help="The API key to accept.")
@click.option(
    "--vendor",
    default="service",
    show_default=True,
    metavar="WORD",
    help="The vendor word of the media types.",
)
@click.option(
    "--workspace",
    "workspaces",
    multiple=True,
    metavar="NAME[=ID]",
    callback=_workspaces,
    help="A workspace beside the default one. Repeatable.",
)
@click.option(
    "--contacts",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Start with N invented people in the default workspace.",
)
@click.option(
    "--rows",
    type=click.Choice(("brief", "full")),
    default="brief",
    show_default=True,
    help="How many fields of a contact a list shows.",
)
@click.option(
    "--default-form",
    type=click.Choice(("json", "xml")),
    default="json",
    show_default=True,
    help="The format for requests without an Accept header.",
)
@click.option(
    "--latency-ms",
    type=click.FloatRange(0),
    default=0,
    metavar="N",
    help="Delay every answer by N milliseconds.",
)
@click.option(
    "--data",
    type=click.Path(),
    metavar="FILE",
    help="Keep everything in this SQLite file. Default: in memory.",
)
@switches
@runs("verbs.sandbox:sandbox")
def command() -> None:
    """Run the whole messaging service on this machine. No message leaves it.

    Callbacks go to this machine only, unless --callback-targets is any. It prints its address when it is
    ready, and ends with Ctrl-C. It does not answer web pages: Host must be a numeric address, localhost,
    or the host of --link-base.

    Writes --data FILE, if given.

    Exit codes: 0 stopped, 1 port in use or file unusable, 64 usage.

    \b
    Examples:
        reconciler sandbox
        reconciler sandbox --port 8480 \\
            --workspace Operations=4C8FE1A2B3D4E5F6 --contacts 55
        reconciler sandbox --like recorded --requests-per-second 10 \\
            --fault latency,seconds=2,times=null
    """
