"""`reconciler adopt`: begins to own what is declared and live, and changes nothing of it."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument("addresses", metavar="[ADDRESS]...", nargs=-1, shell_complete=Completes("addresses"))
@click.option("--all", "everything", is_flag=True, help="Everything that is declared, live and not ours.")
@options.settings_options
@options.cache_option
@options.yes_option
@options.lock_option
@options.events_option
@options.full_option
@options.format_option
@runs("writing.owning:adopt")
def command() -> None:
    """Begin to own entities that are declared and live, and change nothing at the service.

    They are recognized as in every plan, and recorded as they are. What differs from the manifest is
    not written: the next plan shows it as an update. Creates, updates and deletes are left for apply.
    An address is adopted with what is declared below it, such as the devices of a contact.

    Reads settings, manifests, the store and the service; writes the store, what it keeps of
    large manifests and of lists below .reconciler/cache, and nothing at the service.

    Exit codes: 0 done, 1 failed, 3 input invalid, or an address is not declared, 4 lock held,
    5 ambiguous entity, 7 refused by you, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler adopt --all
        reconciler adopt --yes contact/ops/jane-doe
    """
