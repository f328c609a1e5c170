"""Export, then validate and plan: nothing to do, whatever is live."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import Send
from world import World

from reconciler import pipeline
from reconciler.cli.sandbox_collections import build_own_collections
from reconciler.core.export import WHOLE, Exported
from reconciler.engine.exporting import ExportRequest, ExportResult
from reconciler.errors import Rejected, Unavailable
from reconciler.instrumentation import ReadProgress
from reconciler.manifest.export import append_entries, build_export_files, list_scope_files
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.sandbox.app import SandboxConfig
from reconciler.service.profile import load_profile

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
Shows = Literal["shown", "masked", "omitted"]
KEY = "a-key-that-nobody-sees-4711"
ON_CALL = {
    "name": "on-call",
    "url": "https://replies.example.com/whispir",
    "auth": {"type": "httpheader", "key": KEY},
    "email": "oncall@example.com",
}
RESOURCE = {"name": "rota.csv", "scope": "private", "mimeType": "text/csv", "derefUri": "YSxiCg=="}
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
                    device = {**DEVICE, "pushToken": f"token-of-number-{number}"}
                    await client["device"].create(device, parent=found.remote_id)
                    made += 1
        return made

    count: int = world.behind_our_back(edit)
    return count


def export(
    world: World,
    *,
    kinds: tuple[str, ...] = ("contact", "resource"),
    look: bool = True,
    secrets: bool = False,
) -> ExportResult:
    """Export these kinds of the workspace default into the folder of manifests, beside what is there."""
    before = len(world.wire.sent)
    declared = pipeline.load_partial_declaration(world.settings, world.environ)
    scopes = [Scope(kind, "default") for kind in kinds]
    found = world.run(
        pipeline.export(
            world.settings,
            declared,
            world.dependencies,
            scopes=scopes,
            wishes=ExportRequest(look=look, secrets=secrets),
        )
    )
    assert {method for method, _ in world.wire.sent[before:]} <= {"GET"}, "an export has written"
    folder = world.root / "manifests"
    there = [one.name for one in folder.iterdir()] if folder.exists() else []
    for scope, entries in found.entries:
        grown = grow(folder, scope, entries, there)
        for file in () if grown else build_export_files(scope, entries, there):
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / file.name).write_bytes(file.data)
    world.environ = {
        name: str(one.values[path])
        for _, entries in found.entries
        for one in entries
        for path, name in one.variables.items()
    }
    return found


def grow(folder: Path, scope: Scope, entries: Sequence[Exported], there: list[str]) -> bool:
    """Add the entries to a file of an earlier export, where they belong there."""
    for name in list_scope_files(scope, there) if entries else ():
        data = (folder / name).read_bytes()
        after = append_entries(data, scope, entries)
        if after is not None:
            (folder / name).write_bytes(after)
            return True
    return False


def contents(world: World) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(world.root.rglob("*")) if one.is_file()}


def entries_of(found: ExportResult) -> int:
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


@settings(max_examples=15)
@given(st.lists(contacts, min_size=1, max_size=5), st.lists(contacts, max_size=4), st.integers(0, 2))
def test_an_export_adds_what_is_new_and_changes_nothing_that_stands_there(
    people: list[dict[str, Any]], later: list[dict[str, Any]], phones_of: int
) -> None:
    """Edited files keep every byte, new people are there, and the plan says what was edited and no more."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), SandboxConfig(), changes={"variables": ("*",)})
        make(world, {"contact": people}, phones_of)
        first = export(world, kinds=("contact",))
        before = contents(world)
        environ = dict(world.environ)
        make(world, {"contact": later})
        second = export(world, kinds=("contact",))
        world.environ = {**environ, **world.environ}
        after = contents(world)
        assert all(after[name].startswith(data) for name, data in before.items() if ".db" not in name)
        # Whoever came later with somebody's identity makes that declared one ambiguous, which the plan tells.
        told = {one.reason for one in second.left} & {"twice", "declared"}
        if entries_of(first) + entries_of(second) and not told:
            assert world.plan().plan.changes == ()


def test_two_exports_of_one_service_are_the_same_bytes(tmp_path: Path) -> None:
    """A diff between two exports is what has changed."""
    people = [{"firstName": "Ann", "workEmailAddress1": f"{n}@example.com"} for n in range(30)]
    worlds = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        world = World(tmp_path / name, SandboxConfig())
        make(world, {"contact": people if name == "one" else people[::-1]})
        export(world)
        worlds.append({path.rpartition("/")[2]: data for path, data in contents(world).items()})
    assert worlds[0] == worlds[1]
    assert b"  ann-30:\n" in worlds[0]["default-contacts.yaml"]


@pytest.mark.parametrize("form", ["json", "xml"])
def test_kinds_of_the_account_and_of_a_project_are_exported(tmp_path: Path, form: str) -> None:
    """Nothing about a kind stands outside its row; a key that cannot be read back is sent to nobody."""
    profile = Path(__file__).parents[2] / "examples" / "own-kinds" / "profile.yaml"
    world = World(
        tmp_path,
        SandboxConfig(callback_check=False),
        service={"format": form, "profile": str(profile)},
        changes={"variables": ("*",)},
        collections=build_own_collections(load_profile(str(profile))),
    )
    try:
        hello = {"name": "hello", "subject": "A word", "body": "=1+1 ${env:HOME}", "type": "defaultReply"}
        assert make(world, {"template": [hello], "resource": [RESOURCE], "callback": [ON_CALL]}) == 3
        found = export(world, kinds=("template", "resource", "callback"))
        assert entries_of(found) == 3
        assert ("withheld", "auth.key") in {(one.reason, one.field) for one in found.left}
        assert KEY.encode() not in b"".join(contents(world).values())
        assert world.plan().plan.changes == ()
        assert not world.apply()[0].plan.changes
        manifest = world.root / "manifests" / "default-resources.yaml"
        manifest.write_text(manifest.read_text().replace("scope: private", "scope: public"))
        (reason,) = world.plan().verdict.reasons
        assert (reason.rule, reason.count) == ("C2", 1)
    finally:
        KINDS.bring(())


@pytest.mark.parametrize(
    ("shows", "variables", "left"),
    [("shown", 2, []), ("masked", 0, ["masked", "masked"]), ("omitted", 0, [])],
)
def test_a_mask_is_no_value_of_a_variable(
    tmp_path: Path, shows: Shows, variables: int, left: list[str]
) -> None:
    """Set as one, the mask would be sent as the token. What is not shown is not declared either."""
    world = World(tmp_path, SandboxConfig(device_token=shows), changes={"variables": ("*",)})
    make(
        world, {"contact": [{"firstName": "Ann", "workEmailAddress1": f"{at}@example.com"} for at in "ab"]}, 2
    )

    found = export(world, kinds=("contact",), secrets=True)

    assert len(world.environ) == variables
    assert [one.reason for one in found.left if one.field == "pushToken"] == left
    assert world.plan().plan.changes == ()
    assert not world.apply()[0].plan.changes


CELLS = ("Ann", "=1+1", "+61491570156", "-x", "a, b", 'say "a"', "{x}", "a;b", "${env:HOME}", "@x", "a\nb")


def test_many_people_are_a_roster_that_plans_empty(tmp_path: Path) -> None:
    """An empty cell is a field that is absent; what a spreadsheet would take for a formula stays in YAML."""
    people = [
        {"firstName": text, "jobTitle": title, "workEmailAddress1": f"{index}.{number}@example.com"}
        for index, text in enumerate(CELLS)
        for number, title in enumerate(CELLS)
    ]
    people += [
        {"firstName": "Bea", "workEmailAddress1": f"bea.{number}@example.com"} for number in range(210)
    ]
    world = World(tmp_path, SandboxConfig(), changes={"variables": ("*",)})
    assert make(world, {"contact": people}, phones_of=2) == len(people) + 2
    assert entries_of(export(world)) == len(people) + 2
    environ = world.environ
    table = (tmp_path / "manifests" / "default-contacts.csv").read_text()
    assert not [text for text in ("=1+1", "-x", "@x") if text in table]
    assert table.count("\n") > 200
    assert world.plan().plan.changes == ()
    before = contents(world)
    make(world, {"contact": [{"firstName": "Cas", "workEmailAddress1": "cas@example.com"}]})
    assert entries_of(export(world, kinds=("contact",))) == 1
    world.environ = environ
    after = contents(world)
    assert all(after[name].startswith(data) for name, data in before.items())
    assert world.plan().plan.changes == ()


async def changing(request: httpx2.Request, send: Send) -> httpx2.Response:
    """Another length of the list on every page but the first."""
    answer = await send()
    if request.url.params.get("offset", "0") == "0":
        return answer
    data = (await answer.aread()).replace(b"of 55", b"of 56")
    headers = {key: value for key, value in answer.headers.items() if key != "content-length"}
    return httpx2.Response(answer.status_code, headers=headers, content=data)


def test_a_list_that_changes_all_the_time_is_not_exported(tmp_path: Path) -> None:
    """Whoever was missed would look like nobody, so nothing is exported and nothing written."""
    world = World(tmp_path, SandboxConfig(contacts=55))
    world.meets(changing, "GET")

    with pytest.raises(Unavailable, match="the list of contacts in default changed"):
        export(world, kinds=("contact",))

    assert not (tmp_path / "manifests").exists()


def test_a_list_is_read_once_and_devices_are_looked_for_where_that_is_asked_for(tmp_path: Path) -> None:
    """The service allows a few requests a second: a call for twenty people, and one more for the end."""
    world = World(tmp_path, SandboxConfig(contacts=55))

    assert export(world, kinds=("contact",), look=False).untold == ((Scope("contact", "default"), 55),)
    assert world.sent()["GET"] <= 55 // 20 + 3


def test_progress_counts_whoever_is_read_for_good(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a look at each the list takes a few seconds and the looks a quarter of an hour."""
    world = World(tmp_path)
    make(
        world, {"contact": [{"firstName": "A", "workEmailAddress1": f"a{n}@example.com"} for n in range(45)]}
    )
    said = {}

    for look in (False, True):
        caplog.clear()
        with caplog.at_level("DEBUG", "reconciler.reading"):
            export(world, kinds=("contact",), look=look)
        told = [one.args[0] for one in caplog.records if isinstance(one.args, tuple)]
        said[look] = [(one.rows, one.total) for one in told if isinstance(one, ReadProgress)]

    assert said[False] == [(20, 45), (40, 45), (45, 45)]
    assert said[True][:4] == [(0, 45), (0, 45), (0, 45), (1, 45)]
    assert said[True][-1] == (45, 45)
