"""Plans of a real project against the sandbox, and the many ways in which their ground can move."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs
from world import ALLOWED, Agreeing, World

from reconciler import pipeline
from reconciler.engine.context import StopFlag
from reconciler.model.plans import Plan
from reconciler.model.runs import Run
from reconciler.model.settings import Identity

PHONE = {
    "deviceName": "Phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
    "pushToken": "token-one",
}


def _person(name: str, **more: Any) -> dict[str, Any]:
    return {
        "firstName": name,
        "lastName": "Doe",
        "workEmailAddress1": f"{name.lower()}@example.com",
        "timezone": "Australia/Melbourne",
        **more,
    }


BEFORE: Mapping[str, Any] = {
    "contacts": {
        "ada": _person("Ada", jobTitle="Analyst", devices={"phone": PHONE}),
        "jane": _person("Jane", jobTitle="Engineer", department="Night"),
        "otto": _person("Otto"),
        "pat": _person("Pat", meta={"protect": True}),
    },
}
AFTER: Mapping[str, Any] = {
    "contacts": {
        "ada": _person("Ada", jobTitle="Analyst", devices={"phone": {**PHONE, "pushToken": "token-two"}}),
        "jane": _person("Jane", jobTitle="Duty Manager", custom={"shoeSize": "38"}),
        "kim": _person("Kim", devices={"phone": {**PHONE, "deviceName": "Kim's"}}),
        "zoe": _person("Zoe"),
    },
    "resources": {
        "rota": {
            "name": "rota.csv",
            "scope": "private",
            "mimeType": "text/csv",
            "content": {"text": "a,b\n"},
        }
    },
}


@dataclass
class Stage:
    """A project, the plan that is tried, and the file it is tried from."""

    world: World
    plan: Plan
    path: Path
    manifest: Mapping[str, Any]

    def carry_out(self, saved: Plan) -> Run | None:
        """Do with a plan what `reconciler apply FILE` does. Raises what refuses it."""
        return apply(self.world, saved)

    def accepts(self, saved: Plan) -> bool:
        """Whether the plan is carried out to its end."""
        run = self.carry_out(saved)
        self.world.sent()
        return run is not None and run.outcome == "done"

    def writes(self) -> int:
        """How many requests left since the last time of asking that are no GET."""
        return sum(number for method, number in self.world.sent().items() if method != "GET")

    def circumstances(self) -> Iterator[tuple[str, AbstractContextManager[None]]]:
        """Yield ways in which the ground moves, each with its way back."""
        for name in ("Ada", "Jane", "Otto"):
            for path in ("jobTitle", "department", "lastName", "workMobilePhone1", "otherTitle"):
                if (name, path) not in _NOT_OF_THE_PLAN:
                    yield "live has moved", self._edited_live(name, path)
        yield "live has moved", self._gone("otto@example.com")
        for entry in ("ada", "jane", "kim", "zoe"):
            for path in ("firstName", "lastName", "jobTitle", "department", "timezone"):
                yield "the manifest has moved", self._edited_manifest(entry, path)
            yield "the manifest has moved", self._without(entry)
        yield "the manifest has moved", self._rewritten(lambda one: {**one, "resources": {}})
        yield "the manifest has moved", self._rewritten(_nobody_added)
        yield "lines have moved", self._lines()
        for change in _SETTINGS:
            yield "the settings have moved", self._settings(change)

    @contextmanager
    def _edited_live(self, name: str, path: str) -> Iterator[None]:
        before = self._set(name, {path: "+61491570158" if "Phone" in path else "moved"})
        self.world.sent()
        yield
        self._put(name, before)

    def _set(self, name: str, values: Mapping[str, str]) -> dict[str, Any]:
        async def edit(client: Any) -> dict[str, Any]:
            found = await _find(client, name)
            before = _writable(found.body)
            await client.contacts.replace(found.remote_id, {**before, **values})
            return before

        done: dict[str, Any] = self.world.behind_our_back(edit)
        return done

    def _put(self, name: str, body: Mapping[str, Any]) -> None:
        async def edit(client: Any) -> None:
            found = await _find(client, name)
            await client.contacts.replace(found.remote_id, dict(body))

        self.world.behind_our_back(edit)
        self.world.sent()

    @contextmanager
    def _gone(self, mail: str) -> Iterator[None]:
        """Another person has the e-mail address now: the planned delete would remove the wrong one."""
        before = self._set("Otto", {"workEmailAddress1": f"new.{mail}", "lastName": "Else"})
        self.world.sent()
        yield
        self._put("Otto", before)

    def _edited_manifest(self, entry: str, path: str) -> AbstractContextManager[None]:
        def edit(manifest: dict[str, Any]) -> dict[str, Any]:
            value = "Australia/Perth" if path == "timezone" else "Moved"
            manifest["contacts"][entry][path] = value
            return manifest

        return self._rewritten(edit)

    def _without(self, entry: str) -> AbstractContextManager[None]:
        def edit(manifest: dict[str, Any]) -> dict[str, Any]:
            del manifest["contacts"][entry]
            return manifest

        return self._rewritten(edit)

    @contextmanager
    def _rewritten(self, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[None]:
        self.world.write(edit(copy.deepcopy(dict(self.manifest))))
        yield
        self.world.write(self.manifest)

    @contextmanager
    def _lines(self) -> Iterator[None]:
        """The same words, on other lines: what a reviewer was shown is not where it stands any more."""
        path = self.world.root / "manifests" / "main.json"
        before = path.read_text("utf-8")
        path.write_text("\n\n" + before, "utf-8")
        yield
        path.write_text(before, "utf-8")

    @contextmanager
    def _settings(self, change: Mapping[str, Any]) -> Iterator[None]:
        before = self.world.settings
        self.world.settings = structs.replace(before, **change)
        yield
        self.world.settings = before


# What is not in the plan at all may move: nobody declared it, and nothing of it is deleted.
_NOT_OF_THE_PLAN = {
    ("Ada", "department"),
    ("Ada", "workMobilePhone1"),
    ("Ada", "otherTitle"),
    ("Jane", "workMobilePhone1"),
    ("Jane", "otherTitle"),
}
_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {"stack": "other"},
    {"stack": "Test"},
    {"adopt": "never"},
    {"mark": "managedBy"},
    {"identity": Identity({"contacts": ("firstName",)})},
    {"store": "sqlite:///other.db"},
)


def _nobody_added(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest["contacts"]["new"] = _person("New")
    return manifest


async def _find(client: Any, name: str) -> Any:
    for row in await client.contacts.list():
        found = await client.contacts.get(row.remote_id)
        if found.body.get("firstName") == name:
            return found
    raise AssertionError(name)


def _writable(body: Mapping[str, Any]) -> dict[str, Any]:
    left = {"id", "mri", "type", "link", "devices", "lastModifiedTime", "locations"}
    kept = {key: value for key, value in body.items() if key not in left}
    return {**kept, "timezone": "Australia/Melbourne"}


def staged(root: Path, *, later: bool = False) -> Stage:
    """Return a plan with every part that a plan has: creates, updates, a delete, an adoption, a skip."""
    folder = root / ("staged-later" if later else "staged")
    folder.mkdir()
    world = World(folder)
    if later:
        world.clock.pass_s(3600)
        for _ in range(5):
            world.dependencies.token()

    async def found_there(client: Any) -> None:
        await client.contacts.create(_person("Zoe"))

    world.behind_our_back(found_there)
    world.write(BEFORE)
    world.apply()
    world.clock.pass_s(600)
    manifest = copy.deepcopy(dict(AFTER))
    if later:
        manifest["contacts"]["jane"]["jobTitle"] = "Captain"
        del manifest["contacts"]["zoe"]
    world.write(manifest)
    plan = world.plan().plan
    world.sent()
    return Stage(world, plan, folder / "plan.json", manifest)


def undo_staged(root: Path) -> Stage:
    """Return the undo of that plan, carried out."""
    (root / "undone").mkdir()
    stage = staged(root / "undone")
    kept: list[Plan] = []
    apply(stage.world, stage.plan, undo=kept.append)
    stage.world.clock.pass_s(60)
    stage.world.sent()
    (plan,) = kept
    return Stage(stage.world, plan, stage.path, stage.manifest)


def apply(world: World, saved: Plan, *, undo: Callable[[Plan], None] | None = None) -> Run | None:
    """Carry out a saved plan, or a saved undo, as the command does. Raises ReconcilerError."""
    observer = Agreeing()
    if saved.options.undo_of:
        return world.run(
            pipeline.undo(
                world.settings,
                saved,
                world.dependencies,
                consent=ALLOWED,
                fail_fast=False,
                stop=StopFlag(),
                observer=observer,
            )
        )
    return world.run(
        pipeline.apply(
            world.settings,
            pipeline.validate(world.settings, world.environ),
            world.dependencies,
            options=saved.options,
            consent=ALLOWED,
            saved=saved,
            fail_fast=False,
            stop=StopFlag(),
            observer=observer,
            keep_undo=undo,
        )
    )
