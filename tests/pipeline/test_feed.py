"""A list that was read completely is read by what changed since: calls, safety, what is kept, and where."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import structs
from world import BASE, World

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.model.plans import Delete
from reconciler.model.settings import Refresh
from reconciler.model.snapshots import Read, Scope
from reconciler.sandbox.app import SandboxConfig
from reconciler.sandbox.contacts import invent_contacts

CONTACTS = Scope("contact", "default")
PLAIN = ("firstName", "lastName", "workEmailAddress1", "jobTitle")
COUNT = 200


def declared(numbers: Any = range(COUNT)) -> dict[str, Any]:
    """Return a manifest that declares these of the sandbox's invented people."""
    people = list(invent_contacts(max(numbers, default=0) + 1, after=0))
    return {"contacts": {f"p{n}": {key: str(people[n].fields[key]) for key in PLAIN} for n in numbers}}


def crowd(path: Path, *, form: str = "json", **changes: Any) -> World:
    """Return a project that has applied everybody, and has read the list completely."""
    world = World(path, SandboxConfig(contacts=COUNT), changes=changes, service={"format": form})
    world.dependencies = replace(
        world.dependencies, token=lambda: "the same for all plans, so that they compare"
    )
    world.write(declared())
    world.apply()
    world.clock.pass_s(60)
    world.plan()
    world.clock.pass_s(60)
    return world


def read_of(world: World, refresh: Refresh | None = None) -> tuple[str, Read]:
    """Return the fingerprint of a plan, and how contacts were read for it."""
    settings = world.settings
    world.settings = structs.replace(settings, refresh=refresh or settings.refresh)
    plan = world.plan().plan
    world.settings = settings
    return fingerprint(plan), next(read for read in plan.reads if read.scope == CONTACTS)


def by_scan(world: World) -> str:
    """Return the fingerprint of a plan that reads everything, and leaves what is kept as it was."""
    folder = Path(world.settings.root, ".reconciler")
    aside = folder.with_name("aside")
    folder.rename(aside)
    found, read = read_of(world, Refresh("full"))
    assert read.how == "scan"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    aside.rename(folder)
    return found


def kept(world: World) -> Path:
    """Return the one file in which a list is kept."""
    (found,) = Path(world.settings.root, ".reconciler", "cache", "lists").iterdir()
    return found


def edit(world: World, *numbers: int) -> None:
    """Somebody else gives these people another job."""

    async def work(client: Any) -> None:
        rows = await client.contacts.list()
        for number in numbers:
            found = await client.contacts.get(rows[number].remote_id)
            await client.contacts.replace(found.remote_id, {**found.body, "jobTitle": "Pilot"})

    world.behind_our_back(work)


def test_a_list_without_changes_takes_three_calls_at_most(tmp_path: Path) -> None:
    """The budget of docs/performance.md."""
    world = crowd(tmp_path)

    world.sent()
    _, read = read_of(world)

    assert (read.how, read.complete, read.total, read.why) == ("feed", True, COUNT, "")
    assert read.calls == sum(world.sent().values())
    assert read.calls <= 3
    assert read.completed


@pytest.mark.parametrize("changed", [1, 19, 20, 21, 65])
def test_changes_by_others_take_a_page_of_calls_each_twenty(tmp_path: Path, changed: int) -> None:
    """At most k/20 rounded up, and three; and the plan is that of a scan."""
    world = crowd(tmp_path)
    edit(world, *range(changed))
    scanned = by_scan(world)

    found, read = read_of(world)

    assert (read.how, found) == ("feed", scanned)
    assert read.calls <= -(-changed // 20) + 3
    # And what it saw is remembered: the next one has nothing to read again.
    world.clock.pass_s(60)
    read_of(world)
    assert read_of(world)[1].calls <= 3


def test_a_delete_by_somebody_else_is_a_scan(tmp_path: Path) -> None:
    """No list tells of who is gone, but for its total."""
    world = crowd(tmp_path)

    async def work(client: Any) -> None:
        await client.contacts.delete((await client.contacts.list())[7].remote_id)

    world.behind_our_back(work)
    scanned = by_scan(world)
    found, read = read_of(world)

    assert (read.how, read.why, found) == ("scan", "somebody was deleted", scanned)


def test_who_we_deleted_ourselves_is_looked_at_once_and_the_list_is_followed(tmp_path: Path) -> None:
    """R8: the record of the run, the look and the total together explain who is missing."""
    world = crowd(tmp_path)
    world.write(declared(range(COUNT - 2)))
    _, run = world.apply()
    world.clock.pass_s(60)
    scanned = by_scan(world)
    world.sent()

    found, read = read_of(world)
    calls = sum(world.sent().values())
    world.clock.pass_s(60)
    again = read_of(world)[1]

    assert run.count("applied") == 2
    assert (read.how, read.total, found) == ("feed", COUNT - 2, scanned)
    assert read.calls == calls <= 3 + 2
    assert (again.how, again.calls <= 3) == ("feed", True)


def test_who_is_no_longer_declared_is_looked_at_before_a_delete_is_planned(tmp_path: Path) -> None:
    """R8: a delete is planned from a fresh look at that very entity, never from what is remembered."""
    world = crowd(tmp_path)
    world.write(declared(range(COUNT - 2)))
    edit(world, COUNT - 1)
    world.sent()

    plan = world.plan().plan

    looks = [path for _, path in world.wire.sent if "/contacts/" in path]
    deletes = [one for one in plan.changes if isinstance(one, Delete)]
    assert len(deletes) == len(plan.changes) == 2
    assert [read.how for read in plan.reads] == ["feed"]
    assert {path.rpartition("/")[2] for path in looks} == {one.remote_id for one in deletes}


def test_our_own_writes_are_changes_too(tmp_path: Path) -> None:
    """An apply plans by feed, and what it wrote is told to the next plan."""
    world = crowd(tmp_path)
    edit(world, 3, 4)
    manifest = declared()
    manifest["contacts"]["new"] = {
        "firstName": "New",
        "lastName": "One",
        "workEmailAddress1": "n@example.com",
    }
    world.write(manifest)

    planned, run = world.apply()
    world.clock.pass_s(60)
    scanned = by_scan(world)
    found, read = read_of(world)

    assert planned.plan.reads[0].how == "feed"
    assert run.count("applied") == 3
    assert (read.how, read.total, found) == ("feed", COUNT + 1, scanned)


def test_a_complete_read_happens_when_it_is_asked_for_and_once_a_day(tmp_path: Path) -> None:
    """R9: a feed makes a plan late where the service hides a change; so it does not go on for ever."""
    world = crowd(tmp_path)

    _, asked = read_of(world, Refresh("full"))
    _, soon = read_of(world)
    world.clock.pass_s(24 * 3600)
    _, late = read_of(world)
    _, again = read_of(world)
    world.clock.pass_s(3601)
    _, hourly = read_of(world, Refresh(complete_every_h=1))

    assert [one.how for one in (asked, soon, late, again, hourly)] == ["scan", "feed", "scan", "feed", "scan"]
    assert asked.why == "a complete read was asked for"
    assert late.why == hourly.why == "its last complete read is too old"


def test_a_profile_can_say_that_there_is_no_feed(tmp_path: Path) -> None:
    """`contact_feed: false`: then nothing is remembered either."""
    profile = tmp_path / "ours.yaml"
    profile.write_text("base: service\ncontact_feed: false\n", "utf-8")
    world = World(tmp_path, SandboxConfig(contacts=COUNT), service={"profile": str(profile)})
    world.write(declared())
    world.apply()

    assert read_of(world)[1].how == "scan"
    assert not (tmp_path / ".reconciler").exists()


def test_other_fields_are_read_anew(tmp_path: Path) -> None:
    """A row shows what was asked for, so what another manifest asked for says nothing of this one's."""
    world = crowd(tmp_path)
    manifest = declared()
    manifest["contacts"]["p0"]["department"] = "Operations"
    world.write(manifest)

    assert read_of(world)[1].how == "scan"
    assert read_of(world)[1].how == "feed"


def test_what_is_kept_is_for_nobody_else_to_read(tmp_path: Path) -> None:
    """It holds people's data: 0600, in folders with 0700, which git never sees."""
    before = os.umask(0)
    try:
        world = crowd(tmp_path)
    finally:
        os.umask(before)
    file = kept(world)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, file.parent.parent, file.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (tmp_path / ".reconciler" / ".gitignore").read_text("ascii") == "*\n"


def test_a_plan_without_a_store_keeps_nothing(tmp_path: Path) -> None:
    """There is no salt yet to seal it with."""
    world = World(tmp_path, SandboxConfig(contacts=COUNT))
    world.write(declared())
    world.plan()

    assert not (tmp_path / ".reconciler").exists()


def arm(world: World, fault: str, **options: Any) -> None:
    """From now on the sandbox does this wrong with every list of contacts."""

    async def work() -> None:
        async with httpx2.AsyncClient(transport=world.wire, base_url=BASE, auth=("demo", "demo")) as client:
            rule = {"fault": fault, "path": "/contacts", "method": "GET", "times": None, **options}
            answer = await client.post("/_sandbox/faults", json=rule)
            assert answer.status_code == 201, answer.text

    world.run(work())


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ("ignored-order", {}),
        ("wrong-order", {}),
        ("wrong-order", {"field": "firstName"}),
        ("wrong-times", {}),
        ("short-page", {"rows": 7}),
    ],
)
def test_a_service_that_lies_about_the_order_is_scanned(
    tmp_path: Path, fault: str, options: dict[str, Any], form: Any
) -> None:
    """R9: the order is proved on every page; the plan is that of a scan, and says that it was one."""
    world = crowd(tmp_path, form=form)
    edit(world, 3, 77, 150)
    scanned = by_scan(world)
    arm(world, fault, **options)

    found, read = read_of(world)

    assert found == scanned
    assert (read.how == "scan" and read.why) or fault == "short-page"


class Sorting(httpx2.AsyncBaseTransport):
    """Answers every request for a sorted list with this, and passes the others on."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, status: int, content: bytes) -> None:
        self.inner, self.status, self.content = inner, status, content

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if b"sortFields" not in request.url.query:
            return await self.inner.handle_async_request(request)
        return httpx2.Response(
            self.status, headers={"content-type": "application/json"}, content=self.content
        )


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (400, b'{"errorSummary": "no", "errorText": "no", "link": []}'),
        (422, b'{"errorSummary": "no", "errorText": "no", "link": []}'),
        (200, b"<html>Sign in</html>"),
        (200, b'{"contacts": [], "status": "1 to 20 of 200    ", "link": []}'),
    ],
)
def test_a_service_that_cannot_sort_is_scanned(tmp_path: Path, status: int, content: bytes) -> None:
    """What cannot be read in order of change may still be a list."""
    world = crowd(tmp_path)
    edit(world, 3)
    scanned = by_scan(world)
    world.wire.inner = Sorting(world.wire.inner, status, content)

    found, read = read_of(world)

    assert (read.how, found) == ("scan", scanned)
    assert read.why == "the service does not list it in order of change"


def test_a_list_of_whole_rows_is_not_followed(tmp_path: Path) -> None:
    """Such rows show devices, and a device may change without the time of its contact."""
    world = World(tmp_path, SandboxConfig(contacts=COUNT, rows="full"))
    world.write(declared())
    world.apply()

    assert read_of(world)[1].how == "scan"
    assert read_of(world)[1].how == "scan"
    assert not (tmp_path / ".reconciler" / "cache").exists()


def test_contacts_with_devices_in_scope_are_looked_at_one_by_one_as_before(tmp_path: Path) -> None:
    """R9: devices are seen only in their contact, and may change without its time."""
    manifest = declared()
    phone = {
        "deviceName": "Phone",
        "appId": "com.example.oncall",
        "platform": "GCM",
        "deviceOS": "Android 15",
    }
    phone |= {"deviceModel": "Pixel 9", "pushToken": "token-of-the-phone"}
    manifest["contacts"]["p0"]["devices"] = {"phone": phone}
    world = World(tmp_path, SandboxConfig(contacts=COUNT))
    world.dependencies = replace(
        world.dependencies, token=lambda: "the same for all plans, so that they compare"
    )
    world.write(manifest)
    world.apply()
    world.clock.pass_s(60)
    read_of(world)

    async def work(client: Any) -> None:
        contact = (await client.contacts.list())[0].remote_id
        (device,) = await client.devices.list(parent=contact)
        await client.devices.replace(
            device.remote_id, {**phone, "deviceModel": "Other", "status": "active"}, parent=contact
        )

    world.behind_our_back(work)
    scanned = by_scan(world)
    world.sent()
    plan = world.plan().plan

    assert (plan.reads[0].how, fingerprint(plan)) == ("feed", scanned)
    assert len([path for _, path in world.wire.sent if "/contacts/" in path]) == 1
    assert [change.address for change in plan.changes] == ["device/default/p0/phone"]
