"""`reconciler explain`: what is known of an address, and why a plan touches it or not."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument(
    "arguments", metavar="ADDRESS|CODE...", nargs=-1, required=True, shell_complete=Completes("topics")
)
@click.option("--offline", is_flag=True, help="Ask the manifests and the store alone; call nobody.")
@options.settings_options
@options.selection_options
@options.format_option
@runs("reviewing.explain:explain")
def command() -> None:
    """Explain addresses: every field, where it comes from, and why a plan changes it or leaves it alone.

    For each field: what the manifest declares, with the file and line, the default, the cell of a roster
    or the variable that it comes from; what is live; what the last apply sent; what an apply would write,
    and why. Then whose the entity is, its id, what holds it back, and the run that recorded it last. Also
    for what is recorded and no longer declared. A plan of these addresses alone is made for it, as with
    `reconciler plan --only`. With --only or --except it also says whether such a plan leaves an address
    out. Secrets are hidden as in a plan.

    A code, as it stands behind a mistake or a refusal, is explained with an example; nothing is read for it.

    Reads settings, manifests, the store and the service; writes nothing, but what it keeps of lists
    below .reconciler/cache. With --offline it asks no service, and cannot say what is live.

    Exit codes: 0 explained; 1 failed; 3 input invalid, or an address is not known; 64 usage;
    130 interrupted.

    \b
    Examples:
        reconciler explain contact/ops/jane-doe
        reconciler explain device/ops/jane-doe/pixel --offline
        reconciler explain contact/ops/jane-doe resource/ops/sites --format json
        reconciler explain E201
    """
