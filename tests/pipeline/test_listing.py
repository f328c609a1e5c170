"""`list`: whose every entity is, in how few calls, and that nothing acts in any form of it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from core import build
from core.build import MOMENT, RULES, TARGET
from hypothesis import given
from hypothesis import strategies as st
from wire import without_parameter
from world import World

from reconciler import pipeline
from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.select import Selection
from reconciler.core.views.inventory import Inventory, Listed, make_inventory, narrow_desired
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address
from reconciler.model.documents import Controls
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Options
from reconciler.model.runs import REPORT_VERSION
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded, Scope
from reconciler.report.json import report_json
from reconciler.report.lines import plain
from reconciler.report.listing import COLUMNS, escape_cell, listing_csv, listing_lines, listing_values
from reconciler.sandbox.app import SandboxConfig
from reconciler.sandbox.contacts import invent_contacts

PLAIN = ("firstName", "lastName", "workEmailAddress1", "jobTitle")
EVERYTHING = Selection()


def crowd(path: Path, count: int, declared: int) -> World:
    """A service with so many people, of whom the first few are declared."""
    world = World(path, SandboxConfig(contacts=count))
    world.write({"contacts": people(declared)})
    return world


def people(count: int) -> dict[str, Any]:
    return {
        f"p{number}": {key: str(person.fields[key]) for key in PLAIN}
        for number, person in enumerate(invent_contacts(count, after=0))
    }


def listed(world: World, *, everyone: bool = True, **selection: tuple[str, ...]) -> Inventory:
    """List, and claim that nothing but GET was sent and nothing was written beside the store."""
    before, stored = len(world.wire.sent), {path: path.read_bytes() for path in world.root.glob("store*")}
    desired = pipeline.validate(world.settings, world.environ)
    found = world.run(
        pipeline.list_entities(
            world.settings, desired, world.dependencies, selection=Selection(**selection), everyone=everyone
        )
    )
    assert {method for method, _ in world.wire.sent[before:]} <= {"GET"}
    assert {path: path.read_bytes() for path in world.root.glob("store*")} == stored
    return found


def states(found: Inventory) -> dict[str, str]:
    return {one.address or one.remote_id: one.state for one in found.entities}


def test_every_entity_has_the_state_that_its_history_says(tmp_path: Path) -> None:
    """Ours, ours and removed by others, declared and not there, nobody's."""
    world = crowd(tmp_path, 3, 2)
    world.apply()
    first = listed(world)
    (gone,) = (one.remote_id for one in first.entities if one.address == "contact/default/p1")

    async def remove(client: Any) -> None:
        await client.contacts.delete(gone)

    world.behind_our_back(remove)
    new = {"firstName": "Sam", "lastName": "Lee", "workEmailAddress1": "sam@example.com"}
    world.write({"contacts": people(2) | {"new": new}})
    second = listed(world)

    assert sorted(states(first).values()) == ["owned", "owned", "unmanaged"]
    assert {address: state for address, state in states(second).items() if "/" in address} == {
        "contact/default/p0": "owned",
        "contact/default/p1": "drifted",
        "contact/default/new": "declared",
    }
    assert [state for address, state in states(second).items() if "/" not in address] == ["unmanaged"]
    (lost,) = (one for one in second.entities if one.state == "drifted")
    assert (lost.owned, lost.remote_id, lost.planned) == (True, "", "create")
    assert lost.headline["firstName"]  # as it was recorded


def test_who_is_unmanaged_is_exactly_whom_a_plan_counts(tmp_path: Path) -> None:
    """Rule X4: the number of a plan and the names of a list are about the same people."""
    world = crowd(tmp_path, 60, 25)
    world.apply()

    found = listed(world)
    planned = world.plan()

    strangers = [one for one in found.entities if one.state == "unmanaged"]
    assert len(strangers) == sum(planned.plan.unmanaged.values()) == 35
    assert len({one.remote_id for one in found.entities}) == 60
    assert all(one.headline.get("firstName") for one in strangers)


@pytest.mark.parametrize("applied", [True, False])
def test_listing_everybody_takes_one_call_for_twenty_contacts_and_few_more(
    tmp_path: Path, *, applied: bool
) -> None:
    """Ten declared among 400: a plan searches for them, and a list needs the pages besides."""
    world = crowd(tmp_path, 400, 10)
    if applied:
        world.apply()
    world.plan()
    alone = sum(world.sent().values())

    listed(world)

    assert sum(world.sent().values()) <= 400 / 20 + 2 + alone


def test_a_list_of_what_is_ours_takes_no_more_calls_than_a_plan(tmp_path: Path) -> None:
    """Nobody asked for the others, so their pages are not read."""
    world = crowd(tmp_path, 2_000, 10)
    world.apply()
    world.sent()
    world.plan()
    alone = sum(world.sent().values())

    found = listed(world, everyone=False)

    assert sum(world.sent().values()) == alone
    assert {one.state for one in found.entities} == {"owned"}


def test_nobody_is_looked_at_alone_to_be_called_a_stranger(tmp_path: Path) -> None:
    """A service that ignores `fields=` shows names alone; a look at each of the others would take hours."""
    world = crowd(tmp_path, 200, 5)
    world.apply()
    world.meets(without_parameter("fields"))
    world.sent()

    found = listed(world)

    assert sum(world.sent().values()) <= 200 / 20 + 30
    assert len(found.entities) == 200
    assert sum(one.state == "unmanaged" for one in found.entities) == 195


def test_a_selection_reads_only_the_scopes_that_it_may_be_about(tmp_path: Path) -> None:
    """`--only kind:resource` asks for no contact; an exception is no reason to call somebody a stranger."""
    world = crowd(tmp_path, 40, 3)
    world.write({"contacts": people(3), "resources": {}})
    world.apply()
    world.sent()

    files = listed(world, only=("kind:resource",))
    paths = [path for _, path in world.wire.sent]
    others = listed(world, only=("workspace:default",), excluded=("contact/default/p1",))
    one = listed(world, only=("contact/default/p1",))

    assert (files.entities, set(paths)) == ((), {"/resources"})
    assert len(others.entities) == 39
    assert states(one) == {"contact/default/p1": "owned"}
    with pytest.raises(UnknownAddress, match=r"contact/default/zz\*"):
        listed(world, only=("contact/default/zz*",))


def test_what_no_manifest_speaks_of_is_said_and_what_is_ours_there_is_listed(tmp_path: Path) -> None:
    """A list that left a workspace out without a word would look like an empty one."""
    world = crowd(tmp_path, 2, 2)
    world.apply()
    world.write({"resources": {}})

    found = listed(world)

    assert {(one.kind, one.workspace, one.recorded) for one in found.unread} == {
        ("contact", "default", 2),
        ("callback", "default", 0),
    }
    assert {one.state for one in found.entities} == {"owned"}
    text = plain(listing_lines(found, found.entities))
    assert "contacts in default: 2 recorded, but not declared by any manifest; not read" in text
    assert "not read: callbacks in default" in text


def test_a_plan_is_the_same_whether_the_others_are_read_or_not(tmp_path: Path) -> None:
    """What is listed must be what would be done."""
    world = crowd(tmp_path, 30, 12)
    planned = world.plan()

    found = listed(world)

    assert {one.address for one in found.entities if one.planned == "adopt"} == {
        str(one.address) for one in planned.plan.adoptions
    }


ROWS = pytest.mark.parametrize("kind", [*KINDS.values()], ids=list(KINDS))


@ROWS
def test_an_entity_of_every_kind_is_listed(kind: Kind) -> None:
    """A new row of the table needs nothing here."""
    above = KINDS[kind.parent] if kind.parent else kind
    scope = Scope(above.name, "ops")
    name = above.example_name
    fields = {path: f"{path} of somebody" for path in kind.identity}
    row = LiveEntity(kind.name, "ops", "A1", fields, "P1" if kind.parent else "")
    parent = LiveEntity(above.name, "ops", "P1", {"workEmailAddress1": "p@example.com"}, devices_known=True)
    entities = {}
    if kind.parent:
        entity = build.contact(f"ops/{name}", workEmailAddress1="p@example.com", devices=True)
        entities = {entity.address: entity}
    desired = Desired(entities, frozenset({scope}))
    live = Live({scope: (parent,) if kind.parent else (row,), Scope(kind.name, "ops"): (row,)})

    found = rows(desired, live, Recorded({}))

    (one,) = (one for one in found.entities if one.kind == kind.name)
    assert (one.state, one.address, one.remote_id) == ("unmanaged", "", "A1")


def rows(desired: Desired, live: Live, recorded: Recorded, selection: Selection = EVERYTHING) -> Inventory:
    part = narrow_desired(desired, selection)
    plan = make_plan(part, live, recorded, target=TARGET, options=Options(), rules=RULES, moment=MOMENT)
    return make_inventory(
        desired, live, recorded, plan, rules=RULES, aliases=("default", "ops", "lab"), selection=selection
    )


def test_no_secret_and_no_value_that_cannot_be_read_back_stands_in_a_list() -> None:
    """The headline of a resource has its content, and a profile may name a secret there."""
    for kind in KINDS.values():
        assert not set(kind.presented) & (kind.secret | kind.write_only)


HOSTILE = st.text(
    st.sampled_from("=+-@\t\r\n;,\"' ab\x1b\u202e\uff1d\uff0b#[:") | st.characters(codec="utf-8")
)


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_cell_of_a_table_acts_on_a_spreadsheet(texts: list[str]) -> None:
    """Wherever a cell begins, also where cells are split at semicolons, no formula does."""
    shown = [one_of(text) for text in texts]

    found = [*csv.reader(io.StringIO(listing_csv(shown)))]

    assert found[0] == list(COLUMNS)
    assert len(found) == len(texts) + 1
    for line in found:
        for part in ";".join(line).split(";"):
            assert part.lstrip()[:1] not in set("=+-@\uff1d\uff0b\uff0d\uff20"), line
        assert all(char.isprintable() for char in "".join(line))


def one_of(text: str) -> Listed:
    headline = {"firstName": text}
    return Listed("contact", "ops", "", "unmanaged", owned=False, remote_id=text, headline=headline)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("+61491570156", "'+61491570156"),
        ("Jane +61491570156", "Jane +61491570156"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        (" =1", "' =1"),
        ("a;=1", "a;'=1"),
        ("-", "'-"),
        ("jane-doe@example.com", "jane-doe@example.com"),
        ("a\nb", "a\\nb"),
        ("##[group]x", "\\x23#[group]x"),
    ],
)
def test_a_cell_is_text_that_a_person_can_read(text: str, shown: str) -> None:
    assert escape_cell(text) == shown


@given(HOSTILE)
def test_lines_and_json_of_a_hostile_name_are_inert(text: str) -> None:
    """A name that moves a cursor or ends a line would forge the rows below it."""
    found = Inventory((one_of(text),))

    lines = plain(listing_lines(found, found.entities))
    parsed = json.loads(report_json(listing_values(found, found.entities)))

    assert all(one.isprintable() for one in lines.splitlines())
    assert len(lines.split("\n")) == 4
    assert parsed["version"] == REPORT_VERSION
    assert parsed["entities"][0]["headline"] == {"firstName": text}
    assert parsed["entities"][0]["address"] is None


def test_a_rename_is_listed_once_under_its_new_name() -> None:
    """The record of the old name goes with it."""
    moved = build.contact("ops/new", workEmailAddress1="a@example.com", controls=Controls(renamed_from="old"))
    person = build.person("A1", workEmailAddress1="a@example.com")
    record = build.record("contact/ops/old", "A1", workEmailAddress1="a@example.com")
    scope = Scope("contact", "ops")

    found = rows(
        Desired({moved.address: moved}, frozenset({scope})),
        Live({scope: (person,)}),
        Recorded({Address("contact/ops/old"): record}, salt=build.STORE_SALT),
    )

    assert states(found) == {"contact/ops/new": "owned"}


def test_a_device_of_a_renamed_contact_is_listed_by_its_new_name_though_nobody_declares_it() -> None:
    """A plan deletes the one and forgets the other by the new name: a list without them hides both."""
    moved = build.contact(
        "ops/new", workEmailAddress1="a@example.com", controls=Controls(renamed_from="old"), devices=True
    )
    contacts, devices = Scope("contact", "ops"), Scope("device", "ops")
    records = {
        Address("contact/ops/old"): build.record("contact/ops/old", "A1", workEmailAddress1="a@example.com"),
        Address("device/ops/old/phone"): build.record("device/ops/old/phone", "D1"),
        Address("device/ops/old/tablet"): build.record("device/ops/old/tablet", "D2"),
    }

    found = rows(
        Desired({moved.address: moved}, frozenset({contacts})),
        Live(
            {
                contacts: (build.person("A1", workEmailAddress1="a@example.com"),),
                devices: (build.phone("D1", "A1"),),
            }
        ),
        Recorded(records, salt=build.STORE_SALT),
    )

    assert states(found) == {
        "contact/ops/new": "owned",
        "device/ops/new/phone": "owned",
        "device/ops/new/tablet": "drifted",
    }
