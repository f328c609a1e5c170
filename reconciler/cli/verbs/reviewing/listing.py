"""`reconciler list` at work: plans, and shows every entity with whose it is."""

import os
from typing import Any

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.session import finish, outside, settings_of
from reconciler.cli.verbs.calling import show
from reconciler.core.planning.select import Selection
from reconciler.core.views.listing import Inventory, Listed
from reconciler.report.listing import listing_csv, listing_lines, listing_values, unread_lines


def list_(*, owned: bool, unmanaged: bool, drifted: bool, form: str, **given: Any) -> int:
    """Show the entities that any of the three is true of; all, where none is asked for."""
    everyone = unmanaged or not (owned or drifted)
    found = _found(given, everyone=everyone)
    shown = [
        one
        for one in found.entities
        if not (owned or unmanaged or drifted)
        or (owned and one.owned)
        or (unmanaged and one.state == "unmanaged")
        or (drifted and one.state == "drifted")
    ]
    return _show(found, shown, form)


def _found(given: dict[str, Any], *, everyone: bool) -> Inventory:
    settings = settings_of(given["config"], given["environment"], service=True)
    desired = pipeline.validate(settings, os.environ)
    selection = Selection(given["only"], given["excluded"])
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        return finish(
            lambda _signals: pipeline.list_entities(
                settings, desired, outside(settings), selection=selection, everyone=everyone
            )
        )


def _show(found: Inventory, shown: list[Listed], form: str) -> int:
    if form == "csv":
        output.document(listing_csv(shown))
        output.note_lines(unread_lines(found))
        return 0
    return show(listing_values(found, shown), listing_lines(found, shown), as_json=form == "json")
