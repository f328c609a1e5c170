"""A create whose answer was lost, written under another identity by the service: one, and a person's word.

The same with the real command behind a proxy: tests/lies/test_evidence.py.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pipeline.test_callback_kind import ON_CALL
from pipeline.test_callback_kind import world_of as world_of_callbacks
from pipeline.test_own_kinds import HELLO
from pipeline.test_own_kinds import world_of as world_of_templates
from wire import Fault, Send, lost_after, lost_before
from world import PHONE, World

from reconciler.model.kinds import KINDS
from reconciler.model.plans import Options
from reconciler.service.client import EntityClient

DANA: Mapping[str, Any] = {
    "firstName": "Dana",
    "lastName": "Lee",
    "workEmailAddress1": "dana.lee+duty@example.com",
    "workMobilePhone1": "+61491570156",
    "jobTitle": "Engineer",
    "workCountry": "Australia",
}
STAFF = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "content": {"rows": [{"a": "1"}]}}
PLAIN = "dana.lee@example.com"


@pytest.fixture(autouse=True)
def _no_kinds_are_left() -> Iterator[None]:
    """The table is one for a process, and other tests run in this one."""
    yield
    KINDS.bring(())


def written_as(**changes: str) -> Fault:
    """Carry a create out with these values as they are here, and lose its answer."""

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        body = {**json.loads(request.content), **changes}
        sent = json.dumps(body).encode()
        request.stream = httpx2.ByteStream(sent)
        request.headers["Content-Length"] = str(len(sent))
        return await lost_after(request, send)

    return fault


def project(tmp_path: Path, manifest: Mapping[str, Any]) -> World:
    world = World(tmp_path)
    if "callbacks" in manifest:
        world = world_of_callbacks(tmp_path)
    elif "templates" in manifest:
        world = world_of_templates(tmp_path)
    world.write(manifest)
    return world


def person(**changes: Any) -> Mapping[str, Any]:
    return {"contacts": {"dana": {**DANA, **changes}}}


# What is declared, and how the service writes it.
REWRITTEN: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, str]]] = {
    "plus address": ("contact/default/dana", person(), {"workEmailAddress1": PLAIN}),
    "provider alias": (
        "contact/default/dana",
        person(workEmailAddress1="dana.lee@googlemail.example"),
        {"workEmailAddress1": "dana.lee@gmail.example"},
    ),
    "names in capitals": (
        "contact/default/dana",
        person(),
        {"workEmailAddress1": PLAIN, "firstName": "DANA", "lastName": "LEE"},
    ),
    "a short name": (
        "contact/default/dana",
        person(department="Night"),
        {"workEmailAddress1": PLAIN, "firstName": "D."},
    ),
    "another title as well": (
        "contact/default/dana",
        person(),
        {"workEmailAddress1": PLAIN, "jobTitle": "Eng"},
    ),
    "renamed resource": (
        "resource/default/staff",
        {"resources": {"staff": STAFF}},
        {"name": "0001-upload.csv"},
    ),
    "renamed callback": ("callback/default/on-call", {"callbacks": {"on-call": ON_CALL}}, {"name": "cb-1"}),
    "renamed own kind": ("template/default/hello", {"templates": {"hello": HELLO}}, {"name": "HELLO (1)"}),
}


@pytest.mark.parametrize(("address", "manifest", "changes"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_what_the_service_writes_under_another_identity_is_made_once(
    tmp_path: Path, address: str, manifest: Mapping[str, Any], changes: Mapping[str, str]
) -> None:
    """Nothing is found by what was sent, so each apply made one more, without end."""
    world = project(tmp_path, manifest)
    world.meets(written_as(**changes), "POST")

    codes = [world.apply()[1].exit_code for _ in range(3)]
    resumed = world.resume()

    assert codes == [8, 8, 8]
    assert resumed is not None
    assert resumed.exit_code == 8
    assert f"--create-again {address}" in resumed.outcomes[0].next
    assert world.sent()["POST"] == 1
    world.wire.rules.clear()
    assert world.apply(options=Options(again=(address,)))[1].exit_code == 0
    assert world.sent()["POST"] == 1
    assert world.plan().plan.empty


def test_a_device_under_another_name_is_made_once(tmp_path: Path) -> None:
    """Her phone would ring twice for each alarm."""
    world = project(tmp_path, person(devices={}))
    world.apply()
    world.clock.pass_s(60)
    world.write(person(devices={"pixel": {**PHONE, "pushToken": "token-of-dana"}}))
    world.meets(written_as(deviceName="DANAS-PHONE"), "POST")
    world.sent()

    assert [world.apply()[1].exit_code for _ in range(3)] == [8, 8, 8]
    assert world.sent()["POST"] == 1


def test_who_is_written_in_the_manifest_as_it_is_shown_is_adopted(tmp_path: Path) -> None:
    """The way out that sends nothing: for a resource as for a contact."""
    world = project(tmp_path, {"resources": {"staff": STAFF}})
    world.meets(written_as(name="0001-upload.csv"), "POST")
    world.apply()
    world.write({"resources": {"staff": {**STAFF, "name": "0001-upload.csv"}}})
    world.sent()

    _, run = world.apply()

    assert run.exit_code == 0, run.outcomes
    assert world.sent()["POST"] == 0
    assert world.plan().plan.empty


def others(world: World, *bodies: Mapping[str, Any]) -> None:
    """Let somebody else make these contacts."""

    async def work(client: EntityClient) -> None:
        for body in bodies:
            await client.contacts.create(dict(body))

    world.behind_our_back(work)


STRANGERS: Mapping[str, Mapping[str, Any]] = {
    "of the same country": {"workCountry": "Australia", "jobTitle": "Engineer"},
    "of the same family": {"lastName": "Lee", "workMobilePhone1": "+61491570158"},
    "of the same phone": {"workMobilePhone1": "+61491570156"},
}


@pytest.mark.parametrize("shared", STRANGERS.values(), ids=STRANGERS.keys())
def test_where_nobody_is_like_her_she_is_sent_again_after_the_look(
    tmp_path: Path, shared: Mapping[str, Any]
) -> None:
    """Nothing at all that may be she, in a list that was read as far as it matters: it was not made."""
    world = project(tmp_path, person())
    stranger = {"firstName": "Ann", "lastName": "Roe", "workEmailAddress1": "ann@example.com", **shared}
    world.meets(lost_before, "POST", nth=1)
    assert world.apply()[1].exit_code == 8
    world.wire.rules.clear()
    others(world, stranger)

    assert world.apply()[1].exit_code == 0
    assert world.plan().plan.empty


def test_who_was_there_long_before_is_not_she(tmp_path: Path) -> None:
    """A namesake of last year: the time of change tells, with a margin for clocks."""
    world = project(tmp_path, person())
    others(world, {**DANA, "workEmailAddress1": "another.dana@example.com"})
    world.clock.pass_s(3 * 3600)
    world.meets(lost_before, "POST", nth=1)
    assert world.apply()[1].exit_code == 8
    world.wire.rules.clear()

    assert world.apply()[1].exit_code == 0


def test_who_is_behind_a_page_of_newer_ones_is_found(tmp_path: Path) -> None:
    """The list comes in order of change, and is read until it is older than the create."""
    world = project(tmp_path, person())
    world.meets(written_as(workEmailAddress1=PLAIN, firstName="DANA"), "POST", nth=1)
    assert world.apply()[1].exit_code == 8
    world.clock.pass_s(5)
    crowd = [
        {"firstName": f"Guest{n}", "lastName": "Roe", "workEmailAddress1": f"guest{n}@example.com"}
        for n in range(45)
    ]
    others(world, *crowd)
    world.sent()

    assert world.apply()[1].exit_code == 8
    assert world.sent()["POST"] == 0


def test_whom_another_entry_declares_is_not_she(tmp_path: Path) -> None:
    """Two entries of one person, of which one is live and not recorded yet: it is the other's."""
    both = {**person()["contacts"], "plain": {**DANA, "workEmailAddress1": PLAIN}}
    world = project(tmp_path, {"contacts": both})
    world.meets(lost_before, "POST")
    assert world.apply()[1].exit_code == 8
    world.wire.rules.clear()
    others(world, {**DANA, "workEmailAddress1": PLAIN})

    assert world.apply()[1].exit_code == 0
    assert world.plan().plan.empty


def test_of_two_that_show_what_another_entry_declares_one_may_be_she(tmp_path: Path) -> None:
    """The plain address is another entry's, and there twice: one of them is not that entry's."""
    world = project(tmp_path, person())
    world.meets(written_as(workEmailAddress1=PLAIN), "POST")
    assert world.apply()[1].exit_code == 8
    world.wire.rules.clear()
    others(world, {**DANA, "workEmailAddress1": PLAIN})
    world.write({"contacts": {**person()["contacts"], "plain": {**DANA, "workEmailAddress1": PLAIN}}})
    world.sent()

    codes = [world.apply()[1].exit_code for _ in range(3)]

    assert codes == [8, 8, 8]
    assert world.sent()["POST"] == 0


def test_a_create_that_was_put_off_and_rewritten_is_made_once(tmp_path: Path) -> None:
    """A 503 may hide a create that was done; within the run it would go out up to three times."""
    world = project(tmp_path, {"resources": {"staff": STAFF}})
    rewriting = written_as(name="0001-upload.csv")

    async def put_off(request: httpx2.Request, send: Send) -> httpx2.Response:
        try:
            await rewriting(request, send)
        except httpx2.ReadError:
            return httpx2.Response(503, stream=httpx2.ByteStream(b"{}"))
        raise AssertionError

    world.meets(put_off, "POST")

    assert [world.apply()[1].exit_code for _ in range(2)] == [8, 8]
    assert world.sent()["POST"] == 1
