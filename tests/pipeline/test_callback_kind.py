"""Callbacks as a managed kind: planned, applied, changed, pruned, crashed and undone like any other."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import tally
from pipeline.test_resume import gone_on
from wire import Send
from world import World, actions

from reconciler.core.compare.normalize import flatten_body
from reconciler.errors import ManifestError, UnsafePlan
from reconciler.model.plans import Consent, Update
from reconciler.model.settings import WorkspaceRef
from reconciler.sandbox.app import SandboxConfig

KEY = "a-key-that-nobody-sees-4711"
OPS = "4C8FE1A2B3D4E5F6"
ON_CALL: Mapping[str, Any] = {
    "name": "on-call",
    "url": "https://replies.example.com/whispir",
    "auth": {"type": "httpheader", "key": "${env:ON_CALL_KEY}"},
    "events": {"reply": "enabled", "undeliverable": "disabled"},
    "retriesEnabled": "true",
    "email": "oncall@example.com",
}
FORMS = pytest.mark.parametrize("form", ["json", "xml"])


def world_of(folder: Path, form: str = "json") -> World:
    config = SandboxConfig(callback_check=False, workspaces=(("Operations", OPS),))
    return World(
        folder,
        config,
        workspaces={"default": WorkspaceRef(), "ops": WorkspaceRef(OPS)},
        changes={"variables": ("ON_CALL_KEY",)},
        service={"format": form},
        environ={"ON_CALL_KEY": KEY},
    )


def declare(world: World, **changes: Any) -> None:
    world.write({"callbacks": {"on-call": {**ON_CALL, **changes}}})


@FORMS
def test_a_callback_is_made_kept_changed_and_deleted(tmp_path: Path, form: str) -> None:
    world = world_of(tmp_path, form)
    declare(world)

    planned, run = world.apply()
    assert actions(planned.plan) == ["Create"]
    assert run.exit_code == 0, run.outcomes
    assert actions(world.plan().plan) == []

    declare(world, email="night@example.com", retriesEnabled="false")
    planned, run = world.apply()
    (change,) = planned.plan.changes
    assert isinstance(change, Update)
    assert [field.path for field in change.fields] == ["email", "retriesEnabled"]
    assert run.exit_code == 0, run.outcomes
    assert actions(world.plan().plan) == []

    world.write({"callbacks": {}})
    planned, run = world.apply()
    assert actions(planned.plan) == ["Delete"]
    assert run.exit_code == 0, run.outcomes
    assert {path for method, path in world.wire.sent if method != "GET"} <= {
        path for _, path in world.wire.sent if "/callbacks" in path
    }


@FORMS
def test_a_new_key_is_sent_and_never_shown(tmp_path: Path, form: str) -> None:
    """Whoever has the key can make up replies."""
    world = world_of(tmp_path, form)
    declare(world)
    world.apply()

    world.environ = {"ON_CALL_KEY": f"{KEY}-new"}
    planned, run = world.apply()

    (change,) = planned.plan.changes
    assert isinstance(change, Update)
    assert [field.path for field in change.fields] == ["auth.key"]
    assert run.exit_code == 0, run.outcomes
    assert KEY not in repr(planned.plan)
    assert KEY not in repr(run)
    assert actions(world.plan().plan) == []
    assert KEY not in b"".join(path.read_bytes() for path in tmp_path.rglob("store.db*")).decode("latin-1")


def test_a_change_by_somebody_else_is_drift(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    declare(world)
    world.apply()

    async def move(client: Any) -> None:
        (found,) = await client["callback"].list()
        await client["callback"].replace(
            found.remote_id, {**found.body, "url": "https://elsewhere.example.com/"}
        )

    world.behind_our_back(move)
    (change,) = world.plan().plan.changes

    assert isinstance(change, Update)
    assert [(field.path, field.cause) for field in change.fields] == [("url", "drifted")]


def test_a_callback_that_is_there_is_adopted_by_its_name(tmp_path: Path) -> None:
    world = world_of(tmp_path)

    async def make(client: Any) -> None:
        await client["callback"].create(
            {"name": "on-call", "url": ON_CALL["url"], "auth": {"type": "queryparam", "key": KEY}}
        )

    world.behind_our_back(make)
    declare(world)
    planned, run = world.apply()

    assert actions(planned.plan) == ["Update"]
    assert run.exit_code == 0, run.outcomes
    assert actions(world.plan().plan) == []


def test_a_delete_of_a_callback_always_asks(tmp_path: Path) -> None:
    """Messages that are on their way may name it, and nobody can see that from here."""
    world = world_of(tmp_path)
    world.write({"callbacks": {"on-call": ON_CALL, "night": {**ON_CALL, "name": "night"}}})
    world.apply()
    declare(world)

    planned = world.plan(consent=Consent())
    (reason,) = planned.verdict.reasons
    assert reason.rule == "G6"
    assert "callback/default/night" in reason.what
    assert "on their way" in reason.what
    assert "--allow-deletes 1" in reason.next
    with pytest.raises(UnsafePlan):
        world.apply(consent=Consent())
    _, run = world.apply(consent=Consent(deletes=1))
    assert run.exit_code == 0


def test_what_the_service_leaves_out_means_what_it_does_then() -> None:
    """Else a plan would set it again and again. Of a group, one that is shown counts alone."""
    plain = {"name": "on-call", "url": ON_CALL["url"]}
    presumed = {"contentType": "json", "removeHTML": "disabled", "retriesEnabled": False}

    shown = flatten_body("callback", plain)
    half = flatten_body("callback", {**plain, "callbacks": {"reply": "enabled"}})

    both = {"events.reply": "enabled", "events.undeliverable": "enabled"}
    assert shown == {**plain, **presumed, **both}
    assert half == {**plain, **presumed, "events.reply": "enabled"}


def test_callbacks_stand_in_a_manifest_of_the_default_workspace(tmp_path: Path) -> None:
    """They belong to the account: in two workspaces they would be pruned by one and made by the other."""
    world = world_of(tmp_path)
    world.write({"workspace": "ops", "callbacks": {}})

    with pytest.raises(ManifestError) as caught:
        world.plan()

    (problem,) = caught.value.problems
    assert problem.what == "callbacks belong to the account, not to the workspace ops."
    assert "workspace: default" in problem.next


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"auth": {"type": "httpheader"}}, "auth.key is missing; every callback needs it."),
        ({"url": "ftp://replies.example.com"}, "url"),
        ({"name": "x" * 51}, "name"),
        ({"auth": {"type": "cookie", "key": "k"}}, "auth.type"),
        ({"auth": "k"}, "auth"),
        ({"events": {"replies": "enabled"}}, "is not a field of events"),
    ],
)
def test_what_the_service_would_refuse_is_a_mistake(tmp_path: Path, changes: Any, what: str) -> None:
    world = world_of(tmp_path)
    declare(world, **changes)

    with pytest.raises(ManifestError) as caught:
        world.plan()

    assert any(what in problem.what for problem in caught.value.problems), caught.value.problems


@FORMS
def test_a_key_that_the_service_repeats_in_a_refusal_is_not_shown(tmp_path: Path, form: str) -> None:
    """A name that is taken is refused in words; a gateway's words may hold the whole body."""
    world = world_of(tmp_path, form)
    declare(world)

    async def repeating(_: httpx2.Request, __: Send) -> httpx2.Response:
        said = json.dumps({"errorSummary": f"no: {KEY}"})
        return httpx2.Response(422, headers={"content-type": "application/json"}, text=said)

    world.meets(repeating, "POST")
    _, run = world.apply()

    (outcome,) = run.outcomes
    assert outcome.result == "failed"
    assert "repeats a secret" in outcome.what
    assert KEY[:8] not in repr(run)


def test_an_undo_does_not_take_the_key_away(tmp_path: Path) -> None:
    """A PUT replaces all of a callback, and no record holds the key."""
    world = world_of(tmp_path)
    declare(world)
    world.apply()
    declare(world, email="night@example.com")
    saved = world.apply_with_undo()

    run = world.undo(saved)

    async def look(client: Any) -> Any:
        return await client.callbacks.list()

    (left,) = world.behind_our_back(look)
    assert left.auth.key.reveal() == KEY, [outcome.what for outcome in run.outcomes]


def begun(folder: Path) -> World:
    """A world with a store, in which the callback is declared and not yet made."""
    folder.mkdir()
    world = world_of(folder)
    world.write({"callbacks": {}})
    world.apply()
    declare(world)
    return world


def test_killed_at_any_effect_there_is_one_callback_in_the_end(tmp_path: Path) -> None:
    """Before and after every request and every commit; a second one of a name would take half the replies.

    Whether the key has arrived is not known afterwards, so one plan more may send it again.
    """
    for world, _, _ in gone_on(lambda name: begun(tmp_path / name)):
        assert world.plan().plan.changes == ()
        assert [one.name for one in world.behind_our_back(lambda client: client.callbacks.list())] == [
            "on-call"
        ]
        tally.count("crash points", "of a callback")
