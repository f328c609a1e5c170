"""`reconciler history`: who applied what, when, from which commit; and whether the record is whole."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@click.option("--run", metavar="ID", help="Only this run, with each of its changes.")
@click.option("--of", "address", metavar="ADDRESS", help="Only the changes of this entity.")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=100_000),
    default=20,
    show_default=True,
    metavar="N",
    help="The last N runs.",
)
@click.option("--verify", is_flag=True, help="Check that no entry was changed, removed or moved.")
@click.option(
    "--anchor",
    metavar="N:HASH",
    help="With --verify: a head that was printed earlier; it proves that the end was not cut off.",
)
@options.full_option
@options.format_option
@runs("writing.history:history")
def command() -> None:
    """Show runs and what they changed, the newest last.

    The store holds one entry for the start and the end of each run and for each change, chained by
    hashes. It holds no personal data: an entity is a keyed hash, by which --of finds it. Entities that
    the store still knows are shown by address, also in JSON (`addresses`, by hash); deleted ones are not.

    --verify finds every entry that was changed, removed, inserted or moved. A history that was cut off at
    its end, or rewritten from some entry on, is found only by comparison with an earlier head: every
    report of a run and every --verify prints one. Keep it where nobody who can write the store can
    change it (a CI log, a ticket, a signed tag), and give it as --anchor.

    Reads settings and the store; writes nothing, and reads no credential of the service.

    Exit codes: 0 shown, or intact; 1 changed, or the store cannot be read; 3 settings or
    address invalid, 64 usage.

    \b
    Examples:
        reconciler history
        reconciler history --of contact/ops/jane-doe
        reconciler history --verify
    """
