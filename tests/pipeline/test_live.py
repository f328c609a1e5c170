"""What is read, in how many calls, and what counts as complete (planning rules R1, R2, R6)."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from wire import edited_list, nobody, without_parameter
from world import PHONE, World

from reconciler.engine.lists import choose_list_fields, find_shown_paths
from reconciler.model.kind import Field, Kind
from reconciler.model.plans import Consent, Create, Delete, Options, Update
from reconciler.model.settings import Refresh
from reconciler.model.snapshots import Read, Scope
from reconciler.sandbox.app import SandboxConfig
from reconciler.sandbox.contacts import invent_contacts
from reconciler.service.paging import Found

PLAIN = ("firstName", "lastName", "workEmailAddress1", "jobTitle")
CONTACTS = Scope("contact", "default")


def declared(count: int, *, every: int = 1, **more: Any) -> dict[str, Any]:
    """Return a manifest that declares every nth of the sandbox's invented people."""
    people = list(invent_contacts(count * every, after=0))[::every]
    return {
        "contacts": {
            f"p{number}": {**{key: str(person.fields[key]) for key in PLAIN}, **more}
            for number, person in enumerate(people)
        }
    }


def crowd(path: Path, count: int, **changes: Any) -> World:
    return World(path, SandboxConfig(contacts=count), changes=changes)


def read_of(world: World, scope: Scope = CONTACTS, **options: Any) -> Read:
    planned = world.plan(options=Options(**options))
    return next(read for read in planned.plan.reads if read.scope == scope)


def ignoring_fields(world: World) -> World:
    """Make the service of this world one that has never heard of `fields=`."""
    world.meets(without_parameter("fields"))
    return world


def test_a_plan_with_nothing_to_do_takes_one_call_for_twenty_contacts(tmp_path: Path) -> None:
    """The budget of docs/performance.md: N/20 + 2."""
    world = crowd(tmp_path, 400, refresh=Refresh("full"))
    world.write(declared(400))
    world.apply()

    world.sent()
    read = read_of(world)

    assert (read.how, read.complete, read.total) == ("scan", True, 400)
    assert sum(world.sent().values()) <= 400 / 20 + 2


def test_a_few_among_very_many_are_searched_and_not_scanned(tmp_path: Path) -> None:
    """Ten declared among 100,000: at most 22 calls, where a scan takes 5,000."""
    world = crowd(tmp_path, 100_000)
    world.write(declared(10, every=500))

    planned = world.plan()

    assert [read.how for read in planned.plan.reads] == ["search"]
    assert sum(world.sent().values()) <= 22
    assert [type(change) for change in planned.plan.changes] == []
    assert len(planned.plan.adoptions) == 10
    assert planned.plan.unmanaged == {"contacts in default": 99_990}


def test_a_few_among_many_cost_no_more_where_rows_stay_brief(tmp_path: Path) -> None:
    """A service that ignores `fields=` shows nobody's address in a list: each hit is looked at."""
    world = ignoring_fields(crowd(tmp_path, 2_000))
    world.write(declared(10, every=100))

    planned = world.plan()

    assert sum(world.sent().values()) <= 22
    assert len(planned.plan.adoptions) == 10


def test_brief_rows_of_untouched_contacts_need_no_look_of_their_own(tmp_path: Path) -> None:
    """Where only brief rows are to be had, the time of change tells who is as we left them."""
    world = ignoring_fields(crowd(tmp_path, 200))
    world.write(declared(200))
    world.apply()
    world.clock.pass_s(60)

    world.sent()
    world.plan()

    assert sum(world.sent().values()) <= 200 / 20 + 2


def test_messaging_options_and_custom_fields_are_read_with_the_list(tmp_path: Path) -> None:
    """A list that shows some shows all; asking for each contact again would be 400 calls."""
    world = crowd(tmp_path, 400)
    options = {"sms": {"enabled": True, "primary": "WorkMobilePhone1"}}
    world.write(
        declared(400, messagingOptions=options, custom={"team": "night"}, workMobilePhone1="+61491570156")
    )
    world.apply()

    world.sent()
    assert world.plan().plan.changes == ()
    assert sum(world.sent().values()) <= 400 / 20 + 2


def test_a_list_that_shows_no_options_proves_nothing_about_them(tmp_path: Path) -> None:
    """Brief rows hold `messagingoptions: []` whatever the contact has."""
    world = crowd(tmp_path, 3)
    options = {"sms": {"enabled": True, "primary": "WorkMobilePhone1"}}
    world.write(declared(3, messagingOptions=options, workMobilePhone1="+61491570156"))
    world.apply()

    def hide(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "contacts": [{**row, "messagingoptions": []} for row in body["contacts"]]}

    world.meets(edited_list(hide), "GET")

    assert world.plan().plan.changes == ()


def test_an_edit_is_seen_through_brief_rows(tmp_path: Path) -> None:
    """The saving must not cost the truth: whoever changed gets a look."""
    world = ignoring_fields(crowd(tmp_path, 60))
    world.write(declared(60))
    world.apply()
    world.clock.pass_s(60)

    async def edit(client: Any) -> None:
        row = (await client.contacts.list())[30]
        body = (await client.contacts.get(row.remote_id)).body
        await client.contacts.replace(row.remote_id, {**body, "jobTitle": "Somebody Else"})

    world.behind_our_back(edit)
    changes = world.plan().plan.changes

    assert [type(change) for change in changes] == [Update]
    assert isinstance(changes[0], Update)
    assert [(field.path, field.cause) for field in changes[0].fields] == [("jobTitle", "drifted")]


def test_an_edit_in_the_second_of_our_write_is_seen_through_brief_rows(tmp_path: Path) -> None:
    """The service's times have whole seconds: a time as young as our look proves nothing."""
    world = ignoring_fields(World(tmp_path))
    world.write(declared(3))
    world.apply()

    async def edit(client: Any) -> None:
        row = (await client.contacts.list())[0]
        body = (await client.contacts.get(row.remote_id)).body
        await client.contacts.replace(row.remote_id, {**body, "jobTitle": "Somebody Else"})

    world.behind_our_back(edit)

    assert [type(change) for change in world.plan().plan.changes] == [Update]


@pytest.mark.parametrize("briefly", [False, True])
def test_devices_in_scope_are_read_from_their_contact(tmp_path: Path, briefly: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """A list row's empty `devices` does not say that there are none."""
    world = World(tmp_path)
    if briefly:
        ignoring_fields(world)
    manifest = declared(2)
    for name, person in manifest["contacts"].items():
        person["devices"] = {"phone": {**PHONE, "pushToken": f"token-of-{name}"}}
    world.write(manifest)
    world.apply()
    world.clock.pass_s(60)

    assert world.plan().plan.changes == ()


def test_what_a_list_does_not_show_is_looked_up_before_it_counts_as_gone(tmp_path: Path) -> None:
    """A scan suggests, it never decides (R2); and a list that hides somebody forbids deletes (G4)."""
    world = crowd(tmp_path, 5)
    world.write(declared(5))
    world.apply()
    world.clock.pass_s(60)

    def hide(body: dict[str, Any]) -> dict[str, Any]:
        rows = body.get("contacts", [])[:-1]
        return {**body, "contacts": rows, "status": f"1 to {len(rows)} of {len(rows)}    "}

    world.meets(edited_list(hide), "GET")
    world.write(declared(4))
    planned = world.plan(consent=Consent(deletes=10))

    assert not [change for change in planned.plan.changes if isinstance(change, Create)]
    assert not planned.plan.reads[0].complete
    assert [reason.rule for reason in planned.verdict.reasons] == ["G4"]
    assert [change.address.name for change in planned.plan.changes if isinstance(change, Delete)] == ["p4"]


def test_an_empty_answer_where_much_is_recorded_creates_nobody_again(tmp_path: Path) -> None:
    """R6: everybody seems gone, everybody is looked up, everybody is there."""
    world = crowd(tmp_path, 30)
    world.write(declared(30))
    world.apply()
    world.clock.pass_s(60)

    world.meets(edited_list(nobody), "GET")
    planned = world.plan()

    assert planned.plan.changes == ()


@pytest.mark.parametrize("briefly", [False, True])
@pytest.mark.parametrize("devices", [{}, {"devices": {}}])
def test_somebody_made_again_by_hand_is_adopted_again(
    tmp_path: Path,
    briefly: bool,  # noqa: FBT001 - a parameter of pytest
    devices: dict[str, Any],
) -> None:
    """The record points at nobody; the new one has the same address, and must not be made a third time."""
    world = crowd(tmp_path, 30)
    if briefly:
        ignoring_fields(world)
    world.write(declared(30, **devices))
    world.apply()
    world.clock.pass_s(60)

    async def again(client: Any) -> None:
        row = (await client.contacts.list())[7]
        body = (await client.contacts.get(row.remote_id)).body
        await client.contacts.delete(row.remote_id)
        await client.contacts.create({key: body[key] for key in PLAIN})

    world.behind_our_back(again)
    plan = world.plan().plan

    assert plan.changes == ()
    assert [str(one.address) for one in plan.adoptions] == ["contact/default/p7"]


def test_a_selection_reads_only_what_it_is_about(tmp_path: Path) -> None:
    """One person of 2,000: two calls, not a hundred."""
    world = crowd(tmp_path, 2_000)
    world.write(declared(2_000))

    read = read_of(world, only=("contact/default/p77",))

    assert (read.how, read.complete) == ("search", True)
    assert sum(world.sent().values()) <= 3


def test_scanning_is_chosen_where_most_are_wanted(tmp_path: Path) -> None:
    """40 searches would cost more than 3 pages."""
    world = crowd(tmp_path, 60)
    world.write(declared(40))

    assert read_of(world).how == "scan"


def test_our_mark_is_found_without_a_store(tmp_path: Path) -> None:
    """X5: who carries our mark and is no longer declared is pruned, even when the store is lost."""
    world = World(tmp_path, changes={"mark": "managedBy"})
    world.write(declared(3))
    world.apply()
    for file in tmp_path.glob("store.db*"):
        file.unlink()

    world.write(declared(2))
    planned = world.plan(consent=Consent(deletes=1))

    assert [(type(c), str(c.address)) for c in planned.plan.changes] == [(Delete, "contact/default/p2")]
    assert structs.asdict(planned.verdict) == {"reasons": ()}


@pytest.mark.parametrize("others", [0, 30])
def test_a_ticket_of_the_lock_is_neither_planned_nor_counted(tmp_path: Path, others: int) -> None:
    """Another run's lock is nobody's resource: to adopt or to prune it would let two runs write at once."""
    world = World(tmp_path)
    name = "reconciler-lock.20260301t120000z.20260301t120500z.0123456789ab"
    name += ".00000000-0000-4000-8000-000000000001.jane.default.json"

    async def make(client: Any) -> None:
        body = {"scope": "private", "mimeType": "application/json", "derefUri": "e30="}
        for number in range(others):
            await client.resources.create({"name": f"other-{number}.json", **body})
        await client.resources.create({"name": name, **body})

    world.behind_our_back(make)
    rota = {"name": "rota.csv", "scope": "private", "mimeType": "text/csv", "content": {"rows": [{"a": "1"}]}}
    world.write({"resources": {"rota": rota}})
    planned = world.plan()

    assert [str(change.address) for change in planned.plan.changes] == ["resource/default/rota"]
    assert planned.plan.unmanaged.get("resources in default", 0) == others
    world.apply()
    world.write({"resources": {}})
    assert world.apply()[1].outcome == "done"
    assert any(path == "/resources" for _, path in world.wire.sent)
    again = world.plan()
    assert (again.plan.changes, again.plan.adoptions) == ((), ())


@pytest.mark.parametrize(("brief", "shown"), [(False, None), (True, frozenset())])
def test_a_row_that_nothing_shows_to_be_whole_is_not_believed(
    brief: bool,  # noqa: FBT001 - a parameter of pytest
    shown: frozenset[str] | None,
) -> None:
    """A kind of which only the row is known: lists show all of it, or each entity is looked at by its id."""
    fields = (Field("name"), Field("body"))
    kind = Kind("note", "notes", "note", ("name",), fields, 1, ("name",), ("name",), brief=brief)
    wanted = frozenset({"name", "body"})
    row = Found("N1", {"id": "N1", "name": "a", "body": "b"})

    assert find_shown_paths(kind, (row,), choose_list_fields(kind, wanted), wanted) == shown
