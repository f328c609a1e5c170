"""`reconciler list`: every entity, whose it is, and where it is declared. Sends nothing but GET."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.core.planning.unplanned import not_planned_exit_code
from reconciler.core.views.inventory import Inventory, Listed, Unread
from reconciler.model.notices import Notice
from reconciler.model.snapshots import NotPlanned
from reconciler.report.lines import Line


class ListResult(CommandResult, frozen=True):
    """Every entity that was asked for, and what is not known. `found` is all that was read."""

    title: ClassVar[str] = "Entities and their owners"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 3)
    entities: Annotated[tuple[Listed, ...], Doc("By kind, workspace, address and id.")]
    unread: Annotated[tuple[Unread, ...], Doc("Kinds that no manifest declares, so they were not read.")]
    incomplete: Annotated[tuple[str, ...], Doc("Scopes whose list is incomplete: entities may be missing.")]
    notices: Annotated[tuple[Notice, ...], Doc("What else a person should know.")]
    not_planned: Annotated[
        tuple[NotPlanned, ...], Doc("Workspaces that are left out, and why: nothing of them is listed.")
    ]
    found: Inventory

    @property
    def exit_code(self) -> int:
        """1 or 3 where a workspace is left out."""
        return not_planned_exit_code(self.not_planned)

    def document(self) -> dict[str, object]:
        """Return the document, in which null is what an entity has not."""
        from reconciler.report.listing import listing_values

        return listing_values(self.found, self.entities)

    def lines(self) -> Sequence[Line]:
        """Return a table, how many there are of each state, what was not read, and notices."""
        from reconciler.report.listing import listing_lines
        from reconciler.report.text import left_out_lines

        return (*left_out_lines(self.not_planned), *listing_lines(self.found, self.entities))

    def csv(self) -> str:
        """Return the rows as CSV."""
        from reconciler.report.listing import listing_csv

        return listing_csv(self.entities)

    def csv_notes(self) -> Sequence[Line]:
        """Return what was not read."""
        from reconciler.report.listing import unread_lines
        from reconciler.report.text import left_out_lines

        return (*left_out_lines(self.not_planned), *unread_lines(self.found))


@click.command()
@click.option("--owned", is_flag=True, help="Owned, including drifted.")
@click.option("--unmanaged", is_flag=True, help="Unmanaged: neither declared nor owned.")
@click.option("--drifted", is_flag=True, help="Drifted, as in `reconciler drift`.")
@options.selection_options
@options.settings_options
@options.strict_option
@options.cache_option
@options.table_format_option
@prints_result
def list_command(*, owned: bool, unmanaged: bool, drifted: bool, **given: Any) -> ListResult:
    """List the entities of every kind and workspace for which a manifest has an entry.

    Each row shows the state, the address, the service id, the place in the manifests, the planned change, and
    the identity fields. The states are: declared (not ours yet), owned, drifted (owned, and changed by
    somebody else), and unmanaged (live, but neither declared nor ours). The options --owned, --unmanaged and
    --drifted can be combined: a row is listed if it matches any of them. A selector matches an unmanaged
    entity by its kind and workspace: contact/ops/* includes all unmanaged contacts of ops.

    If no manifest declares a kind in a workspace, that kind is not read there; a line says so. Another line
    says if the alias of a workspace was renamed, or if records belong to an earlier address of the service,
    because both decide which entities are owned.

    In CSV, an apostrophe is put before a cell that a spreadsheet program could take for a formula; telephone
    numbers get one too: '+61491570156. Control characters are written as escapes, such as \\n.

    Reads settings, manifests, the store and the service; writes nothing, except caches of large manifests
    and of lists in .reconciler/cache, and of lists in a PostgreSQL store.

    Exit codes: 0 listed, or nothing to list; 1 failed, or a workspace cannot be read and is left out; 3 the
    input is invalid, or a workspace has mistakes in its manifests and is left out; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler list
        reconciler list --unmanaged --only kind:contact --format csv
        reconciler list --drifted --format json
    """
    everyone = unmanaged or not (owned or drifted)
    found = _read_inventory(given, everyone=everyone)
    shown = [
        one
        for one in found.entities
        if not (owned or unmanaged or drifted)
        or (owned and one.owned)
        or (unmanaged and one.state == "unmanaged")
        or (drifted and one.state == "drifted")
    ]
    return ListResult(
        entities=tuple(shown),
        unread=tuple(found.unread),
        incomplete=tuple(found.incomplete),
        notices=tuple(found.notices),
        not_planned=found.not_planned,
        found=found,
    )


# --- `reconciler list` at work: plans, and shows every entity with whose it is --------------------


def _read_inventory(given: dict[str, Any], *, everyone: bool) -> Inventory:
    from reconciler import pipeline
    from reconciler.cli.session import load_settings, make_dependencies, read_declaration, run_to_end
    from reconciler.core.planning.select import Selection

    settings = load_settings(given["config"], given["environment"], service=True)
    desired = read_declaration(settings, given["only"]).desired
    selection = Selection(given["only"], given["excluded"])
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        return run_to_end(
            lambda _signals: pipeline.list_entities(
                settings, desired, make_dependencies(settings), selection=selection, everyone=everyone
            )
        )
