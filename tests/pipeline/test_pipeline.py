"""The verbs: what is refused before the first write, and that nothing is written then."""

import gc
from pathlib import Path

import pytest
from msgspec import structs
from world import World

from reconciler import pipeline
from reconciler.errors import ManifestError, SettingsError, StalePlan, UnsafePlan
from reconciler.model.plans import Consent
from reconciler.model.settings import Checks, WorkspaceRef
from reconciler.sandbox.app import SandboxConfig

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane.doe@example.com"}
SAM = {"firstName": "Sam", "lastName": "Lee", "workEmailAddress1": "sam.lee@example.com"}
OPS = "4C8FE1A2B3D4E5F6"


def people(*entries: dict[str, str], workspace: str = "default") -> dict[str, object]:
    names = (str(entry["firstName"]).lower() for entry in entries)
    return {"workspace": workspace, "contacts": dict(zip(names, entries, strict=True))}


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        (WorkspaceRef(id="FFFF"), "workspace ops: the service has no workspace with id 'FFFF'."),
        (WorkspaceRef(name="Opps"), "workspace ops: the service has no workspace with name 'Opps'."),
        (WorkspaceRef(id=OPS, name="Field"), f"with id '{OPS}' and name 'Field'."),
        (
            WorkspaceRef(name="Twice"),
            "workspace ops: the service has more than one workspace with name 'Twice'.",
        ),
    ],
)
def test_a_workspace_that_the_service_does_not_know_is_refused_before_anything(
    tmp_path: Path, ref: WorkspaceRef, said: str
) -> None:
    """S4: a lost id must never mean the default workspace."""
    config = SandboxConfig(workspaces=(("Operations", OPS), ("Twice", "AA"), ("Twice", "BB")))
    world = World(tmp_path, config, workspaces={"ops": ref})
    world.write(people(JANE, workspace="ops"))

    with pytest.raises(SettingsError, match="workspace ops") as caught:
        world.apply()

    assert said in str(caught.value)
    assert f"Operations ({OPS})" in caught.value.next
    assert set(world.sent()) == {"GET"}


def test_a_workspace_may_be_named_by_its_name_alone(tmp_path: Path) -> None:
    """Names are what another installation has in common; ids are not."""
    config = SandboxConfig(workspaces=(("Operations", OPS),))
    world = World(tmp_path, config, workspaces={"ops": WorkspaceRef(name="Operations")})
    world.write(people(JANE, workspace="ops"))

    planned, run = world.apply()

    assert [one.id for one in planned.plan.target.workspaces] == [OPS]
    assert run.outcome == "done"
    assert any(path == f"/workspaces/{OPS}/contacts" for method, path in world.wire.sent if method == "POST")


def test_an_unsafe_plan_writes_nothing(tmp_path: Path) -> None:
    """G1: everybody left the manifest at once."""
    world = World(tmp_path)
    world.write(people(JANE, SAM))
    world.apply()
    world.sent()
    world.write(people())

    with pytest.raises(UnsafePlan) as caught:
        world.apply(consent=Consent())

    assert caught.value.reasons == ("the plan deletes 2 of 2 contacts in default: none would be left.",)
    assert "--allow-deletes 2" in caught.value.next
    assert set(world.sent()) == {"GET"}


def test_a_saved_plan_is_carried_out_once(tmp_path: Path) -> None:
    """E11: the same file a second time writes nothing, whatever is live by then."""
    world = World(tmp_path)
    world.write(people(JANE))
    saved = world.plan().plan

    _, run = world.apply(saved=saved)
    assert run.outcome == "done"
    world.sent()
    with pytest.raises(StalePlan):
        world.apply(saved=saved)

    assert set(world.sent()) == {"GET"}


def test_a_saved_plan_expires(tmp_path: Path) -> None:
    """A1: what was approved yesterday is not what would be approved today."""
    world = World(tmp_path)
    world.write(people(JANE))
    saved = world.plan().plan
    world.clock.pass_s(24 * 3600)

    with pytest.raises(StalePlan, match="expired"):
        world.apply(saved=saved)

    assert set(world.sent()) == {"GET"}


def test_a_plan_for_another_place_is_stale(tmp_path: Path) -> None:
    """The fingerprint covers where the plan is meant for."""
    world = World(tmp_path)
    world.write(people(JANE))
    plan = world.plan().plan
    elsewhere = structs.replace(
        plan, target=structs.replace(plan.target, origin="https://api.example.com:443")
    )

    assert pipeline.why_stale(plan, plan, world.clock()) == ""
    assert "stale" in pipeline.why_stale(
        structs.replace(elsewhere, fingerprint="0" * 64), plan, world.clock()
    )


def test_what_left_the_manifest_and_the_service_is_forgotten(tmp_path: Path) -> None:
    """Else every plan would look for it, for ever."""
    world = World(tmp_path)
    world.write(people(JANE, SAM))
    world.apply()

    async def remove(client: object) -> None:
        rows = await client.contacts.list()  # type: ignore[attr-defined] # any client
        await client.contacts.delete(rows[0].remote_id)  # type: ignore[attr-defined] # any client

    world.behind_our_back(remove)
    world.write(people(SAM))
    planned, _ = world.apply()
    assert [str(one) for one in planned.plan.gone] == ["contact/default/jane"]

    assert world.plan().plan.gone == ()
    assert len(world.plan().recorded.entities) == 1


def test_a_run_counts_all_mistakes(tmp_path: Path) -> None:
    """How many of them are shown is decided where they are printed (cli/console/output.py)."""
    world = World(tmp_path)
    for file in ("a.json", "b.json"):
        nobody = {f"p{number:03d}": {"workEmailAddress1": ""} for number in range(600)}
        world.write({"contacts": {f"{file[0]}{name}": body for name, body in nobody.items()}}, file)

    with pytest.raises(ManifestError, match="1,200 mistakes\\.") as refused:
        pipeline.validate(world.settings, {})

    shown = refused.value.problems
    assert [one.file for one in shown] == ["manifests/a.json"] * 600 + ["manifests/b.json"] * 600


def test_a_plan_needs_the_value_of_every_variable(tmp_path: Path) -> None:
    """Without them only the rest may be checked: what is missing would be cleared, or deleted."""
    world = World(tmp_path, changes={"variables": ("JANE_*",)})
    world.write(
        {"contacts": {"jane": {"workEmailAddress1": "${env:JANE_MAIL}", "lastName": "${env:JANE_NAME}"}}}
    )

    with pytest.raises(ManifestError, match="2 mistakes"):
        pipeline.validate(world.settings, {})
    with pytest.raises(ManifestError, match="1 mistake"):
        pipeline.validate(world.settings, {"JANE_MAIL": "canary"}, all_values=False)
    rest = pipeline.validate(world.settings, {"JANE_NAME": "canary"}, all_values=False)

    assert [(one.subject, one.what.split(",")[0]) for one in rest.notices] == [
        ("JANE_MAIL", "this variable is not set")
    ]


def test_a_warning_about_a_value_is_in_the_plan(tmp_path: Path) -> None:
    """What only looks wrong is said where people look, and ends no run; `checks` decides which it is."""
    strange = {"workEmailAddress1": "jane@example.com", "timezone": "Nowhere", "workCountry": "Austalia"}
    world = World(tmp_path, changes={"checks": Checks(zones="warning")})
    world.write({"contacts": {"jane": strange}})

    planned = world.plan()

    assert [(one.kind, one.subject, one.place) for one in planned.plan.notices] == [
        ("value", "contact/default/jane", "manifests/main.json:1")
    ] * 2
    assert planned.verdict.safe


def test_a_plan_leaves_the_garbage_collector_as_it_was(tmp_path: Path) -> None:
    """What was frozen is never let go: a program that plans again and again kept every plan."""
    world = World(tmp_path)
    world.write(people(JANE))
    frozen = gc.get_freeze_count()

    world.plan()
    collects = gc.isenabled()
    gc.disable()
    try:
        world.plan()
        collects_again = gc.isenabled()
    finally:
        gc.enable()

    assert (collects, collects_again) == (True, False)
    assert gc.get_freeze_count() <= frozen
