"""Every field that a manifest may declare: written, read back and found, in both forms."""

from pathlib import Path
from typing import Any

import pytest
from world import World

from reconciler.model.kinds import CONTACT
from reconciler.service.paging import Query

# Those whose form in a body is the service's own have tests of theirs, and so has what is never shown.
PLAIN = [
    one for one in CONTACT.declarable if one.row.shape == "scalar" and not one.write_only and not one.words
]
MISSING = (
    "add it to QUERY_NAMES (reconciler/sandbox/records.py) and CONTACT_RULE (reconciler/sandbox/xml_codec.py)"
)


@pytest.mark.parametrize("form", ["json", "xml"])
def test_every_field_of_a_contact_is_written_read_back_and_found(tmp_path: Path, form: str) -> None:
    """A field that the sandbox keeps unread passes every other test, and fails at the service."""
    world = World(tmp_path, service={"format": form})
    fields = {one.name: one.example for one in PLAIN}
    world.write(
        {
            "contacts": {
                "jane-doe": fields,
                "bob-roe": {"firstName": "Bob", "workEmailAddress1": "bob.roe@example.org"},
            }
        }
    )

    _, run = world.apply()
    assert run is not None
    assert run.exit_code == 0, run.outcomes
    assert world.plan().plan.changes == ()

    async def search(client: Any) -> dict[str, int]:
        found = {}
        for one in PLAIN:
            asked = Query(filters={one.name: one.example}, fields=(one.name,))
            found[one.name] = len((await client["contact"].page(asked)).rows)
        return found

    # A time zone is shown as its offset, so nothing is found by its name (docs/service.md, contacts).
    found = {path: rows for path, rows in world.behind_our_back(search).items() if path != "timezone"}
    assert {path for path, rows in found.items() if rows != 1} == set(), MISSING
