"""`reconciler history`: who applied what, when, from which commit; and whether the record is whole."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command(short_help="Show who applied what, when, from which commit.")
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
@click.option("--verify", is_flag=True, help="Check that no entry was changed, taken out or moved.")
@click.option(
    "--anchor",
    metavar="N:HASH",
    help="With --verify: a head that was printed earlier; it proves that no end was cut off.",
)
@options.full_option
@options.format_option
@runs("verbs.history:history")
def command() -> None:
    """Show runs and what they changed, the newest last.

    The store holds one line for the begin and the end of each run and for each change, chained by
    hashes. People's data is not in it: an entity stands as a keyed hash, by which --of finds it. What the
    store still knows is shown by its address, also in JSON (`addresses`, by hash); who was deleted is not.

    --verify finds every line that was changed, taken out, put in or moved. An end that was cut off, or
    a history written anew from some line on, shows only against a head that was kept where nobody who
    can write the store can reach it: each run's report and each --verify print one; keep it (a CI log, a
    ticket, a signed tag) and give it back as --anchor.

    Reads settings and the store; writes nothing, and reads no credential of the service.

    Exit codes: 0 shown, or unbroken; 1 broken, or the store cannot be read; 3 settings or
    address invalid, 64 usage.

    \b
    Examples:
        reconciler history
        reconciler history --of contact/ops/jane-doe
        reconciler history --verify
    """
