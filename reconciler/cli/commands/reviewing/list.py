"""`reconciler list`: every entity, whose it is, and where it is declared. Sends nothing but GET."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@click.option("--owned", is_flag=True, help="Those that are ours, drifted ones too.")
@click.option("--unmanaged", is_flag=True, help="Those that are neither declared nor ours.")
@click.option("--drifted", is_flag=True, help="Those that `reconciler drift` tells of.")
@options.settings_options
@options.cache_option
@options.selection_options
@options.table_format_option
@runs("reviewing.listing:list_")
def command() -> None:
    """List the entities of all kinds and workspaces that manifests declare.

    Each with its state, address, id at the service, place in the manifests, what an apply would do, and the
    fields that tell who it is. The states: declared (not ours yet), owned, drifted (somebody else changed
    it), unmanaged (live, neither declared nor ours). Several of --owned, --unmanaged and --drifted add up.
    To a selector, whoever has no address is of a kind and a workspace, and fits contact/ops/*.

    Kinds that no manifest has in a workspace are not read; a line says so. So do lines where an alias was
    spelt anew, or where records are at a former address of the service: whose an entity is follows from it.

    In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe, telephone numbers
    as well: '+61491570156. Control characters stand as escapes, such as \\n.

    Reads settings, manifests, the store and the service; writes nothing, but what it keeps
    of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 listed, also if there is none; 1 failed, 3 input invalid.

    \b
    Examples:
        reconciler list
        reconciler list --unmanaged --only kind:contact --format csv
        reconciler list --drifted --format json
    """
