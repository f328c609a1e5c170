"""Export, then validate and plan: nothing to do, whatever is live."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from world import World

from reconciler import pipeline
from reconciler.core.export import WHOLE
from reconciler.errors import Rejected
from reconciler.manifest.written.files import files_of
from reconciler.model.snapshots import Scope
from reconciler.sandbox.app import SandboxConfig
from reconciler.work.exporting import Exported, ExportWishes

texts = st.one_of(
    st.sampled_from(
        ["Ann", "${env:HOME}", "$${x", "null", "yes", "0012", "# no", "a: b", "=1+1", "- x", '"', "'", "{a}"]
    ),
    st.text(min_size=1, max_size=12),
)
mails = st.sampled_from([f"{name}@example.com" for name in ("ann", "ben", "cas", "Dot", "eve")] + ["n/a", ""])
phones = st.sampled_from(["+61491570156", "+61491570157", "12", "call me", ""])
contacts = st.fixed_dictionaries(
    {"firstName": texts},
    optional={
        "lastName": texts,
        "jobTitle": texts,
        "workEmailAddress1": mails,
        "workMobilePhone1": phones,
        "timezone": st.sampled_from(["Australia/Melbourne", "Asia/Singapore"]),
        "status": st.sampled_from(["A", "D"]),
    },
)
resources = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a.csv", "A.csv", "b c.json", "ünï.xml", "x"]),
        "scope": st.sampled_from(["public", "private"]),
        "mimeType": st.sampled_from(["text/csv", "application/json", "application/xml"]),
        "derefUri": st.just("YSxiCg=="),
    }
)
DEVICE = {
    "deviceName": "Phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
}


def make(world: World, rows: Mapping[str, list[dict[str, Any]]], phones_of: int = 0) -> int:
    """Let the service hold these rows; the first contacts have a device each. Return how many it took."""

    async def edit(client: Any) -> int:
        made = 0
        for kind, bodies in rows.items():
            for number, body in enumerate(bodies):
                try:
                    found = await client[kind].create(body)
                except Rejected:
                    continue
                made += 1
                if kind == "contact" and number < phones_of:
                    device = {**DEVICE, "pushToken": f"token-{number}"}
                    await client["device"].create(device, parent=found.remote_id)
                    made += 1
        return made

    count: int = world.behind_our_back(edit)
    return count


def export(world: World, *, kinds: tuple[str, ...] = ("contact", "resource"), look: bool = True) -> Exported:
    """Export these kinds of the workspace default into the folder of manifests, beside what is there."""
    before = len(world.wire.sent)
    declared = pipeline.declared_so_far(world.settings, world.environ)
    scopes = [Scope(kind, "default") for kind in kinds]
    found = world.run(
        pipeline.export(
            world.settings, declared, world.outside, scopes=scopes, wishes=ExportWishes(look=look)
        )
    )
    assert {method for method, _ in world.wire.sent[before:]} <= {"GET"}, "an export has written"
    folder = world.root / "manifests"
    there = [one.name for one in folder.iterdir()] if folder.exists() else []
    for scope, entries in found.entries:
        for file in files_of(scope, entries, there):
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / file.name).write_bytes(file.data)
    world.environ = {
        name: str(one.values[path])
        for _, entries in found.entries
        for one in entries
        for path, name in one.variables.items()
    }
    return found


def contents(world: World) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(world.root.rglob("*")) if one.is_file()}


def entries_of(found: Exported) -> int:
    return sum(len(entries) for _, entries in found.entries)


@settings(max_examples=40)
@given(st.lists(contacts, max_size=6), st.lists(resources, max_size=3), st.integers(0, 2))
def test_a_plan_of_an_export_is_empty(
    people: list[dict[str, Any]], files: list[dict[str, Any]], phones_of: int
) -> None:
    """Nothing to create, to change or to delete; every entity is an entry, or was told."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), SandboxConfig(), changes={"variables": ("*",)})
        made = make(world, {"contact": people, "resource": files}, phones_of)
        found = export(world)
        whole = sum(one.reason in WHOLE for one in found.left)
        assert entries_of(found) + whole == made
        if entries_of(found):
            assert world.plan().plan.changes == ()
