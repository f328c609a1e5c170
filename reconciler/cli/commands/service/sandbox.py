"""`reconciler sandbox`: the whole service on loopback, until it is stopped."""

import click

from reconciler.cli.commands.service.sandbox_switches import server_options, switches
from reconciler.cli.dispatch import runs


@click.command()
@server_options
@switches
@runs("service.sandbox:sandbox")
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
