"""Apply, then undo: what a plan can set back is as it was, and what was never ours is untouched."""

import copy
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import effort
import pytest
from hostile.plan_worlds import apply
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws.test_convergence import manifests, populate, strangers
from world import World

from reconciler.core.compare.normalize import flatten_body
from reconciler.errors import StalePlan
from reconciler.model.plans import Plan
from reconciler.model.runs import Run

LAW = settings(
    max_examples=effort.count(small=4, full=15), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

Bodies = dict[str, dict[str, Any]]


def state(world: World) -> Bodies:
    """Every entity at the service, by an identity that outlives a delete and a create."""

    async def read(client: Any) -> Bodies:
        found: Bodies = {}
        for row in await client.contacts.list():
            contact = (await client.contacts.get(row.remote_id)).body
            found[f"contact {contact['workEmailAddress1']} {row.remote_id}"] = flatten_body(
                "contact", contact
            )
            for device in await client.devices.list(parent=row.remote_id):
                shown = flatten_body("device", device.body)
                found[f"device {row.remote_id} {shown['deviceName']} {shown['appId']}"] = shown
        for row in await client.resources.list():
            found[f"resource {row.remote_id}"] = flatten_body("resource", row.body)
        return found

    done: Bodies = world.behind_our_back(read)
    world.sent()
    return done


def nameless(found: Mapping[str, Any]) -> list[str]:
    """The same without ids: what was deleted and made again has another one."""
    return sorted(json.dumps(body, sort_keys=True) for body in found.values())


def apply_and_keep(world: World) -> tuple[Run, Plan]:
    """Plan, apply, and return the run with its undo."""
    kept: list[Plan] = []
    saved = world.plan().plan
    run = apply(world, saved, undo=kept.append)
    assert run is not None
    ambiguous = any(skip.reason == "ambiguous" for skip in saved.skips)
    assert run.outcome == ("stale" if ambiguous else "done")
    world.clock.pass_s(60)
    return run, kept[0]


def undone(world: World, undo: Plan) -> Run:
    run = apply(world, undo)
    assert run is not None
    world.clock.pass_s(60)
    return run


@st.composite
def edited(draw: st.DrawFn, manifest: dict[str, Any]) -> dict[str, Any]:
    """Another manifest that leaves out what no undo can make again: deletes of devices, and resources."""
    after = draw(manifests())
    before = copy.deepcopy(manifest)
    for name, entry in before["contacts"].items():
        if "devices" in entry:
            after["contacts"].setdefault(name, copy.deepcopy(entry))
            kept = after["contacts"][name].get("devices", {})
            after["contacts"][name]["devices"] = {
                **kept,
                **{
                    label: {**device, "deviceModel": kept.get(label, device)["deviceModel"]}
                    for label, device in entry["devices"].items()
                },
            }
    if "resources" in before:
        after["resources"] = {**after.get("resources", {}), **before["resources"]}
    return after


@LAW
@given(data=st.data(), first=manifests(), people=strangers())
def test_what_a_run_did_and_an_undo_undid_never_happened(
    data: st.DataObject, first: dict[str, Any], people: list[dict[str, Any]]
) -> None:
    """Also for fields that nobody declared and people that nobody manages; and only once."""
    with tempfile.TemporaryDirectory() as folder:
        world = _applied(Path(folder), first, people)
        before = state(world)
        world.write(data.draw(edited(first)))
        _, undo = apply_and_keep(world)

        run = undone(world, undo) if undo.changes or undo.gone else None

        assert run is None or {one.result for one in run.outcomes} <= {"applied"}
        assert nameless(state(world)) == nameless(before)
        if run is not None:
            with pytest.raises(StalePlan, match="applied before"):
                apply(world, undo)
            assert set(world.sent()) <= {"GET"}


@LAW
@given(data=st.data(), first=manifests(), people=strangers())
def test_after_an_undo_and_a_revert_there_is_nothing_to_do(
    data: st.DataObject, first: dict[str, Any], people: list[dict[str, Any]]
) -> None:
    """The records follow: nothing is cleared, deleted or sent again because an undo went through."""
    with tempfile.TemporaryDirectory() as folder:
        world = _applied(Path(folder), first, people)
        world.write(data.draw(edited(first)))
        _, undo = apply_and_keep(world)
        if undo.changes or undo.gone:
            undone(world, undo)

        world.write(first)
        planned = world.plan().plan

        assert planned.changes == ()


@LAW
@given(data=st.data(), first=manifests(), people=strangers())
def test_without_a_revert_the_next_apply_does_it_again(
    data: st.DataObject, first: dict[str, Any], people: list[dict[str, Any]]
) -> None:
    """Git still says it: whoever undoes has to revert the commit as well."""
    with tempfile.TemporaryDirectory() as folder:
        world = _applied(Path(folder), first, people)
        world.write(data.draw(edited(first)))
        _, undo = apply_and_keep(world)
        world.apply()
        wanted = state(world)
        if undo.changes or undo.gone:
            undone(world, undo)

        world.apply()

        assert nameless(state(world)) == nameless(wanted)


def _applied(folder: Path, first: dict[str, Any], people: list[dict[str, Any]]) -> World:
    """Return a world in which strangers live, and the manifest was applied to its end."""
    world = World(folder)
    populate(world, people)
    world.write(first)
    world.apply()
    world.clock.pass_s(60)
    world.apply()
    return world
