"""`reconciler forget`: stops owning entities, and leaves what is live as it is."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument(
    "addresses", metavar="ADDRESS...", nargs=-1, required=True, shell_complete=Completes("addresses")
)
@options.settings_options
@options.cache_option
@options.yes_option
@options.lock_option
@options.events_option
@options.full_option
@options.format_option
@runs("writing.owning:forget")
def command() -> None:
    """Stop owning these entities, and leave them at the service as they are.

    The entry has to be taken out of the manifests first: what is declared would be adopted again. An
    address is forgotten with what belongs to it, such as the devices of a contact. Nothing is written
    to the service but to take off the ownership mark, if you use one. To say the same in git, name the
    entry under `removed:` of a manifest.

    Reads settings, manifests, the store and the service; writes the store, the mark at the service,
    and what it keeps of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 done, 1 failed, 3 input invalid, or an address is declared or not known, 4 lock held,
    5 conflict or ambiguous entity, 6 applied in part, 7 refused by a guard or by you, 8 in doubt,
    64 usage, 130 interrupted.

    \b
    Examples:
        reconciler forget contact/ops/jane-doe
        reconciler forget --yes contact/ops/jane-doe device/ops/john-roe/pixel
    """
