"""Claims about the main job in both forms and under both vendor tokens: the same plan, and it converges."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import effort
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws.test_convergence import converges, manifests, populate, strangers
from msgspec import structs
from world import World

from reconciler.errors import Rejected, UnsafePlan
from reconciler.model.plans import Consent, Options, Plan, action_of
from reconciler.model.settings import Identity, WorkspaceRef
from reconciler.sandbox.app import SandboxConfig
from reconciler.service.client import EntityClient

EXAMPLES = Path(__file__).parents[2] / "examples"
FORMS = [(vendor, form) for vendor in ("service", "whispir") for form in ("json", "xml")]
RECORDED = [("service json recorded", "json"), ("whispir xml recorded", "xml")]  # in the recorded forms
PAIRS = effort.count(small=4, full=30)
NOTHING = Consent()


def world_of(folder: Path, vendor: str, form: str, **more: Any) -> World:
    """A world whose service has this vendor token, spoken to in this form."""
    options = more.pop("config", {})
    vendor, _, rest = vendor.partition(" ")
    config = SandboxConfig.like("recorded" if rest else "specification", vendor=vendor, **options)
    return World(folder, config, service={"profile": vendor, "format": form}, **more)


def quickstart(folder: Path, vendor: str, form: str) -> World:
    shutil.copytree(EXAMPLES / "quickstart" / "manifests", folder / "manifests")
    return world_of(folder, vendor, form)


def organisation(folder: Path, vendor: str, form: str) -> World:
    for name in ("manifests", "people", "payloads"):
        shutil.copytree(EXAMPLES / "organisation" / name, folder / name)
    return world_of(
        folder,
        vendor,
        form,
        config={"workspaces": (("Operations", "4C8FE1A2B3D4E5F6"), ("Field Services", "AB12"))},
        workspaces={
            "default": WorkspaceRef(),
            "ops": WorkspaceRef(id="4C8FE1A2B3D4E5F6", name="Operations"),
            "field": WorkspaceRef(name="Field Services"),
        },
        changes={
            "identity": Identity({"contacts": ("custom.employeeId", "workEmailAddress1")}),
            "variables": ("ONCALL_*",),
        },
        environ={f"ONCALL_{name}": f"token-of-{name}" for name in ("JANE_PIXEL", "JANE_TABLET", "SAM_PIXEL")},
    )


async def somebody_else(client: EntityClient) -> None:
    """An edit, a removal, a new contact and a second device, all made at the service by others."""
    people = await client.contacts.list()
    first = await client.contacts.get(people[0].remote_id)
    kept = {
        k: v for k, v in first.body.items() if k not in ("id", "type", "mri", "devices", "link", "locations")
    }
    kept["timezone"] = "Europe/London"
    await client.contacts.replace(people[0].remote_id, {**kept, "jobTitle": "Somebody's <title> & more"})
    await client.contacts.delete(people[1].remote_id)
    await client.contacts.create({"firstName": "Zed", "lastName": "Stranger", "newField": "x"})
    for resource in await client.resources.list():
        await client.resources.delete(resource.remote_id)


@effort.sample(1)
@pytest.mark.parametrize(
    ("project", "forms"),
    [(quickstart, [*FORMS, *RECORDED]), (organisation, [FORMS[0], RECORDED[1]])],
    ids=["quickstart", "organisation"],
)
def test_the_plan_is_the_same_in_both_forms_and_under_both_vendors(
    project: Callable[[Path, str, str], World], forms: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Change by change, cause by cause, fingerprint by fingerprint: no form changes a decision.

    Nor does it matter whether the service answers as the specification says or as recorded traffic shows.
    """
    plans: list[list[Plan]] = []
    for vendor, form in forms:
        folder = tmp_path / f"{vendor}-{form}"
        folder.mkdir()
        world = project(folder, vendor, form)
        first = world.plan().plan
        _, run = world.apply()
        assert run.outcome == "done", run
        world.clock.pass_s(60)
        empty = world.plan().plan
        world.behind_our_back(somebody_else)
        plans.append([first, empty, world.plan().plan])
        assert empty.changes == ()

    first, _, after = plans[0]
    assert first.changes
    assert {action_of(change) for change in after.changes} == {"create", "update"}
    for other in plans[1:]:
        for ours, theirs in zip(plans[0], other, strict=True):
            assert theirs.changes == ours.changes
            assert theirs.fingerprint == ours.fingerprint
            # The profile of the one allows fewer requests a second, so its clock has moved further.
            times = {"created_at": ours.created_at, "expires_at": ours.expires_at}
            assert structs.replace(theirs, **times) == ours


@settings(max_examples=PAIRS, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=manifests(),
    second=manifests(),
    people=strangers(),
    rows=st.sampled_from(("brief", "full")),
    vendor=st.sampled_from(("service", "whispir")),
)
def test_after_an_apply_in_xml_nothing_is_left_to_do(
    first: dict[str, Any], second: dict[str, Any], people: list[dict[str, Any]], rows: str, vendor: str
) -> None:
    """Law 2 in XML: from any live state to any manifest, and from there to any other."""
    with tempfile.TemporaryDirectory() as folder:
        world = world_of(Path(folder), vendor, "xml", config={"rows": rows})
        populate(world, people)
        for manifest in (first, second):
            world.write(manifest)
            converges(world)


JANE = {
    "firstName": "Jane",
    "lastName": "Doe",
    "workEmailAddress1": "jane@example.com",
    "timezone": "Europe/London",
}
PHONE = {
    "deviceName": "phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android",
    "deviceModel": "Pixel",
    "pushToken": "t",
}


def without(folder: Path, *capabilities: str) -> dict[str, str]:
    """The service's settings with a profile of the project that switches these off."""
    off = ", ".join(f"{name}: false" for name in capabilities)
    file = folder / "ours.yaml"
    file.write_text(f"base: service\ncapabilities: {{{off}}}\n", "utf-8")
    return {"profile": str(file)}


@pytest.mark.parametrize("form", ["json", "xml"])
def test_what_the_deployment_does_not_offer_is_refused_in_the_plan(form: str, tmp_path: Path) -> None:
    """C1: with its addresses, before anything is written; no consent lifts it; nothing else is blocked."""
    world = World(tmp_path, service={"format": form, **without(tmp_path, "devices_write")})
    world.write({"contacts": {"jane": {**JANE, "devices": {"phone": PHONE}}}})

    planned = world.plan()

    assert [reason.rule for reason in planned.verdict.reasons] == ["C1"]
    assert "device/default/jane/phone" in planned.verdict.reasons[0].what
    with pytest.raises(UnsafePlan) as raised:
        world.apply()
    assert raised.value.exit_code == 7
    assert "--except kind:device" in raised.value.next
    assert set(world.sent()) <= {"GET"}

    rest = Options(excluded=("kind:device",))
    assert world.plan(options=rest, consent=NOTHING).verdict.safe
    _, run = world.apply(options=rest)
    assert [outcome.address for outcome in run.outcomes] == ["contact/default/jane"]


def test_replacing_a_device_is_offered_by_every_deployment(tmp_path: Path) -> None:
    """C1: the specification has this one write; contacts and devices that are as declared are no change."""
    world = World(tmp_path)
    world.write({"contacts": {"jane": {**JANE, "devices": {"phone": PHONE}}}})
    world.apply()
    world.clock.pass_s(60)
    profile = without(tmp_path, "contacts_write", "devices_write")
    world.settings = structs.replace(
        world.settings, service=structs.replace(world.settings.service, **profile)
    )
    world.write({"contacts": {"jane": {**JANE, "devices": {"phone": {**PHONE, "deviceModel": "Pixel 2"}}}}})

    _, run = world.apply(consent=NOTHING)

    assert [(outcome.address, outcome.result) for outcome in run.outcomes] == [
        ("device/default/jane/phone", "applied")
    ]


def test_another_vendor_than_the_service_has_is_an_error(tmp_path: Path) -> None:
    """A media type that the service does not know is refused by it; nothing counts as empty."""
    world = World(tmp_path, SandboxConfig(vendor="whispir"), service={"profile": "service"})

    async def look(client: EntityClient) -> None:
        await client.contacts.list()

    with pytest.raises(Rejected) as raised:
        world.behind_our_back(look)

    assert raised.value.status in (406, 415)
    assert set(world.sent()) == {"GET"}
