"""Loading: which files, what becomes of them, and that nothing is passed over."""

import csv
import hashlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest.project import Project

from reconciler.files import project_files
from reconciler.manifest.load import render_rows
from reconciler.model.documents import Controls, Place

EXAMPLE = """tags: {team: sre, cost-centre: "42"}
defaults:
  contacts: {timezone: Australia/Melbourne}
  devices: {platform: APNS}
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane.doe@example.com
    workMobilePhone1: +61491570156
    custom: {employeeId: 1042}
    messagingOptions:
      sms: {primary: WorkMobilePhone1, enabled: true}
    devices:
      pixel:
        deviceName: Jane's phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: Android 15
        deviceModel: Pixel 9
        status: ACTIVE
        pushToken: ${env:JANE_PUSH_TOKEN}
        meta: {reactivate: true}
    meta: {protect: true, ignore: [jobTitle, custom.x, messagingOptions.sms], tags: {rota: primary}}
resources:
  staff-import:
    name: staff-import.csv
    scope: private
    mimeType: text/csv
    content: {rows: [[name, mobile], [Jane, +61491570156]]}
"""


def test_a_manifest_becomes_documents_with_places(project: Project) -> None:
    """Flat fields as written, flags as booleans, controls apart, and the place of every key."""
    project.environ, project.variables = {"JANE_PUSH_TOKEN": "t0ken"}, ["JANE_*"]
    project.manifest(EXAMPLE)

    (manifest,) = project.load().manifests

    jane, pixel, resource = manifest.documents
    assert jane.fields == {
        "firstName": "Jane",
        "workEmailAddress1": "jane.doe@example.com",
        "workMobilePhone1": "+61491570156",
        "custom.employeeId": "1042",
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "messagingOptions.sms.enabled": True,
    }
    assert jane.place == Place("manifests/ops.yaml", 8, 3)
    assert dict(jane.places)["custom.employeeId"] == Place("manifests/ops.yaml", 12, 14)
    assert jane.controls == Controls(
        protect=True,
        ignore=frozenset({"jobTitle", "custom.x", "messagingOptions.sms"}),
        tags={"rota": "primary"},
    )
    assert jane.devices_in_scope
    assert (pixel.kind, pixel.parent, pixel.name) == ("device", "jane-doe", "pixel")
    assert pixel.fields["pushToken"] == "t0ken"
    assert pixel.controls.reactivate
    assert resource.content is not None
    assert resource.content.data == b"name,mobile\nJane,+61491570156\n"
    assert resource.fields["content"] == f"sha256:{hashlib.sha256(resource.content.data).hexdigest()}"
    assert resource.places["content"] == Place("manifests/ops.yaml", 31, 5)
    assert manifest.kinds == {"contact", "resource"}
    assert manifest.defaults == {
        "contact": {"timezone": "Australia/Melbourne"},
        "device": {"platform": "APNS"},
    }


def test_a_json_manifest_says_the_same(project: Project) -> None:
    """Generated manifests are often JSON; nothing else differs."""
    project.write(
        "manifests/a.json",
        '{"version": 1, "workspace": "ops",'
        ' "contacts": {"jane": {"workPostCode": 3000, "meta": {"protect": true}}}}',
    )

    document = project.documents()["jane"]

    assert document.fields == {"workPostCode": "3000"}
    assert document.controls.protect


def test_key_presence_is_scope(project: Project) -> None:
    """Rule S1: no key, not ours; an empty key, ours and none wanted."""
    project.manifest("contacts: {}\n", "a.yaml")
    project.manifest("resources: {}\n", "b.yaml")
    project.manifest("contacts: {jane: {devices: {}}, sam: {}}\n", "c.yaml")

    loaded = project.load()

    assert [manifest.kinds for manifest in loaded.manifests] == [{"contact"}, {"resource"}, {"contact"}]
    scopes = {document.name: document.devices_in_scope for document in loaded.manifests[2].documents}
    assert scopes == {"jane": True, "sam": False}
    assert loaded.documents == 2


def test_folders_are_read_recursively_in_name_order(project: Project) -> None:
    """Every suffix, any letter case; names that begin with a dot are left out."""
    for name in ("b.yaml", "a/z.yml", "a.json", "C.YAML", "a/b/c.yaml"):
        body = '{"version": 1, "workspace": "ops"}'
        project.write(f"manifests/{name}", body)
    for name in (".hidden.yaml", ".git/x.yaml", "README.md", "staff.csv"):
        project.write(f"manifests/{name}", "not a manifest")

    loaded = project.load()

    assert loaded.problems == ()
    assert [manifest.file for manifest in loaded.manifests] == [
        f"manifests/{name}" for name in ("C.YAML", "a/b/c.yaml", "a/z.yml", "a.json", "b.yaml")
    ]


def test_a_file_that_is_named_twice_is_read_once(project: Project) -> None:
    """A folder and a file of it may both stand in the settings."""
    project.manifest("contacts: {jane: {}}\n")

    assert project.load(["manifests", "manifests/ops.yaml", "manifests/../manifests"]).documents == 1


def _break(project: Project, how: str) -> None:
    folder = project.root / "manifests"
    match how:
        case "fifo":
            os.mkfifo(folder / "a.yaml")
        case "link out":
            project.write("../elsewhere.yaml", "version: 1\nworkspace: ops\n")
            (folder / "a.yaml").symlink_to("../../elsewhere.yaml")
        case "link to a folder":
            (project.root / "more").mkdir()
            (folder / "more").symlink_to("../more")
        case "loop":
            (folder / "a.yaml").symlink_to("a.yaml")
        case "dangling":
            (folder / "a.yaml").symlink_to("nowhere.yaml")


@pytest.mark.parametrize(
    ("how", "where", "what"),
    [
        ("fifo", "manifests/a.yaml", "the manifest is not a regular file."),
        ("link out", "manifests/a.yaml", "this is a symbolic link."),
        ("link to a folder", "manifests/more", "this is a symbolic link."),
        ("loop", "manifests/a.yaml", "this"),
        ("dangling", "manifests/a.yaml", "this does not exist."),
    ],
)
def test_what_cannot_be_read_is_a_problem(project: Project, how: str, where: str, what: str) -> None:
    """Rule S3: a manifest that is passed over would look like deleted entities."""
    project.manifest("contacts: {}\n")
    _break(project, how)

    (problem,) = project.load().problems

    assert problem.where == where
    assert what in problem.what
    assert problem.next


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("manifests", "this folder contains no manifest."),
        ("missing", "this does not exist."),
        ("missing.yaml", "this does not exist."),
        ("notes.txt", "this is not a manifest: its name does not end in .yaml, .yml or .json."),
        ("notes.txt/x.yaml", "this leads through something that is not a folder."),
    ],
)
def test_a_source_without_manifests_is_a_problem(project: Project, source: str, what: str) -> None:
    """A wrong path must not look like an empty wish list, or everything would be pruned."""
    project.write("notes.txt", "x")

    (problem,) = project.load([source]).problems

    assert problem.file == source
    assert what in problem.what
    assert problem.next


def test_no_source_at_all_is_a_problem(project: Project) -> None:
    """The settings may name none by mistake."""
    assert [problem.what for problem in project.load([]).problems] == ["no manifest is given."]


def test_problems_of_all_files_come_at_once_in_order(project: Project) -> None:
    """One run shows everything, file by file, line by line."""
    project.manifest("contacts: {a: {fristName: x}}\n", "b.yaml")
    project.manifest(
        "contacts:\n  a: {lastnam: x}\n  b: {jobtitel: y}\nresources: {r: {scop: z}}\n", "a.yaml"
    )

    places = [problem.where for problem in project.load().problems]

    assert places == [
        "manifests/a.yaml:4:7",
        "manifests/a.yaml:5:7",
        "manifests/a.yaml:6:17",
        "manifests/b.yaml:3:16",
    ]


def test_a_broken_file_keeps_the_others_readable(project: Project) -> None:
    """Their own mistakes are told in the same run."""
    project.manifest("contacts: [\n", "a.yaml")
    project.manifest("contacts: {jane: {}}\n", "b.yaml")

    loaded = project.load()

    assert len(loaded.problems) == 1
    assert [manifest.file for manifest in loaded.manifests] == ["manifests/b.yaml"]


def test_fields_named_by_the_settings_are_allowed(project: Project) -> None:
    """In entries, defaults, rosters and meta.ignore alike."""
    project.write("manifests/staff.csv", "ID,P\n1,5550\n")
    project.manifest(
        "defaults: {contacts: {pagerNumber: '1'}}\n"
        "contacts: {jane: {pagerNumber: '2', meta: {ignore: [pagerNumber]}}}\n"
        "rosters: [{file: staff.csv, name: '{ID}', contacts: {pagerNumber: '{P}'}}]\n"
    )

    assert len(project.load().problems) == 4
    loaded = project.load(extra=["pagerNumber"])
    assert loaded.problems == ()
    assert loaded.manifests[0].documents[1].fields == {"pagerNumber": "5550"}


def test_a_value_of_the_environment_is_never_shown(project: Project) -> None:
    """It may be a secret, whatever field it was put into by mistake."""
    project.environ, project.variables = {"TOKEN": "s3cr3t"}, ["TOKEN"]
    project.manifest("resources: {r: {scope: '${env:TOKEN}', mimeType: '${env:TOKEN}'}}\n")

    problems = project.load().problems

    assert len(problems) == 2
    assert "s3cr3t" not in " ".join(map(str, problems))


def test_variables_are_filled_in_keys_nowhere(project: Project) -> None:
    """A key decides what is managed; the environment must not."""
    project.environ, project.variables = {"NAME": "jane"}, ["NAME"]
    project.manifest("contacts: {'${env:NAME}': {}}\n")

    (problem,) = project.load().problems

    assert "${env:NAME} is not a name." in problem.what


@pytest.mark.parametrize("walks", [True, False])
def test_both_ways_to_open_a_file_obey_the_same_rules(project: Project, walks: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Where the system cannot walk by descriptors, the resolved path must be the written one."""
    root = project.root.resolve()
    project.write("a/b.txt", "x")
    (root / "link").symlink_to("a")
    with project_files._open_below(root, ("a", "b.txt"), walks=walks) as handle:
        assert os.read(handle, 10) == b"x"
    for parts in (("link", "b.txt"), ("a", "missing"), ("a", "b.txt", "c")):
        with pytest.raises(OSError, match=r"."), project_files._open_below(root, parts, walks=walks):
            pass


def test_a_file_below_equal_names_is_found(project: Project) -> None:
    """Only the last component is opened as a file, also when its name is that of a folder above it."""
    project.write("manifests/a/a", "x")
    project.manifest("resources: {r: {content: {file: a/a}}}\n")

    (document,) = project.load().manifests[0].documents
    assert document.content is not None
    assert document.content.data == b"x"


def test_no_descriptor_is_left_open(project: Project) -> None:
    """A thousand references must not exhaust what the system gives."""
    project.write("manifests/deep/list.csv", "a")
    refs = "".join(
        f"  r{n}: {{content: {{file: {name}}}}}\n" for n in range(50) for name in ["deep/list.csv"]
    )
    project.manifest(
        "resources:\n" + refs + "  x: {content: {file: deep/list.csv/y}}\n  y: {content: {file: deep}}\n"
    )
    before = len([*Path("/dev/fd").iterdir()])

    project.load()

    assert len([*Path("/dev/fd").iterdir()]) == before


def test_rows_of_mappings_have_their_keys_as_header() -> None:
    """In the order of first use; what a row lacks is an empty cell."""
    assert render_rows([{"a": "1"}, {"b": "2", "a": "3"}]) == "a,b\n1,\n3,2\n"


_CELL = st.text(st.characters(blacklist_categories=["Cs", "Cc"]) | st.sampled_from('=+-@\t",;\n'), max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(_CELL, min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_rendered_rows_read_back_as_they_were(rows: list[list[str]]) -> None:
    """No cell is prefixed or changed, whatever a spreadsheet would make of it."""
    text = render_rows(rows)

    assert list(csv.reader(io.StringIO(text, newline=""))) == rows


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=120), st.sampled_from(["x.yaml", "x.json"]))
def test_no_manifest_raises_anything(project: Project, data: bytes, name: str) -> None:
    """For any bytes in any manifest: documents or problems."""
    project.write(f"manifests/{name}", data)

    project.load()


def test_paths_are_named_relative_to_the_root(project: Project, tmp_path: Path) -> None:
    """Messages that are the same on every machine can be compared and searched for."""
    project.manifest("contact: {}\n")

    absolute = project.load([str(tmp_path / "project" / "manifests")])

    assert absolute.problems[0].where == "manifests/ops.yaml:3:1"


def test_a_manifest_outside_the_root_may_not_name_files(project: Project) -> None:
    """What it names would be outside too, where no review sees it."""
    project.write("../other/list.csv", "a")
    project.write(
        "../other/x.yaml", "version: 1\nworkspace: ops\nresources: {r: {content: {file: list.csv}}}\n"
    )

    (problem,) = project.load(["../other/x.yaml"]).problems

    assert "a manifest outside the project root may not name files." in problem.what
    assert problem.next == "move the manifest below the folder of reconciler.yaml"


def test_folders_end_somewhere(project: Project) -> None:
    """A tree without an end is reported, not walked for ever."""
    project.write("manifests/" + "a/" * 31 + "x.yaml", "version: 1\nworkspace: ops\n")

    (problem,) = project.load().problems

    assert problem.what == "folders are nested more than 30 levels deep here, which is the limit."


def test_a_rendered_payload_has_a_limit(project: Project) -> None:
    """Quotation marks double in CSV, so a manifest within its limit can make a payload beyond it."""
    cell = '"' * (6 * 1024 * 1024)
    project.manifest(f"resources: {{r: {{content: {{rows: [['{cell}']]}}}}}}\n")

    (problem,) = project.load().problems

    assert "the limit is 7,856,640." in problem.what
