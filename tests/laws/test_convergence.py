"""Laws over generated manifests and live states, through the real client, store, engine and sandbox."""

import string
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from world import World

from reconciler.model.snapshots import Scope
from reconciler.sandbox.app import SandboxConfig

PEOPLE = ("ada", "bob", "cho", "dee", "eve", "fay")
ZONES = ("Australia/Melbourne", "Europe/London", "Asia/Tokyo")
PAIRS = effort.count(small=12, full=100)
LOST_STORES = effort.count(small=5, full=30)

text = (
    st.text(string.ascii_letters + string.digits + " .,'&é近藤ł-", min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
custom = st.dictionaries(st.sampled_from(("employeeId", "team", "rota")), text, max_size=3)
option = st.fixed_dictionaries(
    {"enabled": st.booleans()},
    optional={"primary": st.sampled_from(("WorkEmailAddress1", "WorkMobilePhone1"))},
)
device = st.fixed_dictionaries(
    {
        "appId": st.sampled_from(("com.example.oncall", "com.example.rota")),
        "platform": st.sampled_from(("APNS", "GCM")),
        "deviceOS": st.sampled_from(("IOS 7", "Android 15")),
        "deviceModel": text,
        "pushToken": text,
    },
    optional={"status": st.sampled_from(("ACTIVE", "Active"))},
)
fields = st.fixed_dictionaries(
    {
        "firstName": text,
        "lastName": text,
        "timezone": st.sampled_from(ZONES),
        "workCountry": st.just("Australia"),
    },
    optional={
        "jobTitle": text | st.just(""),
        "department": text,
        "workMobilePhone1": st.just("+61491570156"),
        "custom": custom,
    },
)
resource = st.fixed_dictionaries(
    {
        "scope": st.just("private"),
        "mimeType": st.just("text/csv"),
        "content": st.fixed_dictionaries({"text": text.map(lambda cell: f'name\n"{cell}"\n')}),
    }
)


def _named(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A device with a token that no other has: one token under two contacts is refused.

    Of the characters that tokens have: an undo, which knows none, takes another text for a mask.
    """
    token = f"{name} {entry['pushToken']}".encode().hex()
    return {**entry, "deviceName": name, "pushToken": token}


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A manifest: some of the people, with devices in scope or not, and some resources."""
    contacts: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(PEOPLE), unique=True)):
        entry = {
            **draw(fields),
            "workEmailAddress1": f"{name}@example.com",
            "workMobilePhone1": "+61491570156",
        }
        if draw(st.booleans()):
            entry["messagingOptions"] = {"sms": draw(option), "email": draw(option)}
        if draw(st.booleans()):
            entry["devices"] = {
                label: draw(device.map(partial(_named, f"{name} {label}")))
                for label in draw(st.lists(st.sampled_from(("phone", "tablet")), unique=True))
            }
        contacts[name] = entry
    manifest: dict[str, Any] = {"contacts": contacts}
    if draw(st.booleans()):
        manifest["resources"] = {
            name: {"name": f"{name}.csv", **draw(resource)}
            for name in draw(st.lists(st.sampled_from(("staff", "rota", "sites")), unique=True))
        }
    return manifest


@st.composite
def strangers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """People who are there already: some are declared too, some twice, some nobody knows."""
    people = draw(st.lists(st.tuples(st.sampled_from((*PEOPLE, "zed")), fields), max_size=5))
    return [_wire(name, entry) for name, entry in people]


def _wire(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    rows = entry.get("custom", {})
    custom_fields = [{"fieldName": k, "fieldValue": v, "searchKey": f"custom_{k}"} for k, v in rows.items()]
    body = {key: value for key, value in entry.items() if key != "custom" and value != ""}
    return {**body, "workEmailAddress1": f"{name.title()}@example.com", "customFields": custom_fields}


def populate(world: World, people: list[dict[str, Any]]) -> None:
    """Let these people live at the service."""

    async def create(client: Any) -> None:
        for person in people:
            await client.contacts.create(person)

    world.behind_our_back(create)


def converges(world: World) -> None:
    """Apply; then the plan is empty, and another apply writes nothing."""
    _, run = world.apply()
    world.clock.pass_s(60)
    assert {outcome.result for outcome in run.outcomes} <= {"applied"}, run.outcomes

    planned = world.plan().plan
    assert planned.changes == ()
    world.sent()
    _, second = world.apply()
    assert set(world.sent()) <= {"GET"}
    # Whoever is live twice is left alone, and no run that leaves somebody out calls itself done.
    ambiguous = any(skip.reason == "ambiguous" for skip in planned.skips)
    assert (second.outcome, second.outcomes) == ("stale" if ambiguous else "done", ())


@settings(max_examples=PAIRS, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=manifests(), second=manifests(), people=strangers(), rows=st.sampled_from(("brief", "full")))
def test_after_an_apply_nothing_is_left_to_do(
    first: dict[str, Any], second: dict[str, Any], people: list[dict[str, Any]], rows: Any
) -> None:
    """Law 2, from any live state to any manifest, and from there to any other; laws 4 and 9 on the way."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), SandboxConfig(rows=rows))
        populate(world, people)
        before = _people(world)

        for manifest in (first, second):
            world.write(manifest)
            converges(world)

        after = _people(world)
        for remote_id, body in before.items():
            if remote_id not in after:
                assert _name(body) in first["contacts"]  # adopted by the first manifest, pruned by the second
                continue
            untouched = _undeclared(body, first, second)
            assert _undeclared(after[remote_id], first, second) == untouched


def _people(world: World) -> dict[str, dict[str, Any]]:
    """Return every contact, whole, by remote id."""

    async def read(client: Any) -> dict[str, dict[str, Any]]:
        return {
            row.remote_id: (await client.contacts.get(row.remote_id)).body
            for row in await client.contacts.list()
        }

    people: dict[str, dict[str, Any]] = world.behind_our_back(read)
    return people


def _name(body: dict[str, Any]) -> str:
    return str(body.get("workEmailAddress1", "")).casefold().partition("@")[0]


def _undeclared(body: dict[str, Any], *manifests: dict[str, Any]) -> dict[str, Any]:
    """Return what no manifest declares of a contact: everything, where it is nobody's we declare."""
    name = _name(body)
    entries = [manifest["contacts"][name] for manifest in manifests if name in manifest["contacts"]]
    ours = {key for entry in entries for key in entry}
    if entries:
        ours |= {"link", "lastModifiedTime", "mri", "type", "devices", "messagingoptions"}
    custom_ours = {name for entry in entries for name in entry.get("custom", {})}
    rows = [row for row in body.get("customFields", ()) if row["fieldName"] not in custom_ours]
    rest = {key: value for key, value in body.items() if key not in ours | {"customFields"}}
    return {**rest, "custom": rows}


@settings(max_examples=LOST_STORES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(manifest=manifests(), people=strangers())
def test_a_lost_store_makes_no_duplicate(manifest: dict[str, Any], people: list[dict[str, Any]]) -> None:
    """Whoever loses the store plans adoptions; nobody is created twice, and nothing is deleted."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        populate(world, people)
        world.write(manifest)
        converges(world)
        count = _count(world)

        for file in Path(folder).glob("store.db*"):
            file.unlink()
        planned = world.plan()

        assert not [change for change in planned.plan.changes if change.__struct_config__.tag != "update"]
        converges(world)
        assert _count(world) == count


def _count(world: World) -> int:
    async def count(client: Any) -> int:
        return len(await client.contacts.list()) + len(await client.resources.list())

    total: int = world.run(_with(world, count))
    return total


async def _with(world: World, work: Any) -> Any:
    async with world.client() as client:
        return await work(client)


def test_the_order_of_files_never_changes_the_plan(tmp_path: Path) -> None:
    """Law 3 through the real loader: people split and rename files as they like."""
    one = {"contacts": {"ada": {"firstName": "Ada", "lastName": "A", "workEmailAddress1": "ada@example.com"}}}
    two = {"contacts": {"bob": {"firstName": "Bob", "lastName": "B", "workEmailAddress1": "bob@example.com"}}}
    plans = []
    for names in (("a.json", "b.json"), ("z.json", "c.json")):
        root = tmp_path / names[0]
        root.mkdir()
        world = World(root)
        world.write(one, names[0])
        world.write(two, names[1])
        plans.append(world.plan().plan)

    assert plans[0].fingerprint == plans[1].fingerprint
    assert [change.address for change in plans[0].changes] == [change.address for change in plans[1].changes]
    assert Scope("contact", "default") in {read.scope for read in plans[0].reads}
