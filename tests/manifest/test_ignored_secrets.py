"""A secret under meta.ignore is compared with nothing, so its variable need not be set."""

from pathlib import Path

import pytest
from manifest.project import RULES, Project
from msgspec import structs

from reconciler.model.settings import Identity

DEVICE = """\
contacts:
  jane:
    workEmailAddress1: jane@example.com
    devices:
      pixel:
        deviceName: Pixel
        appId: com.example.oncall
        platform: GCM
        deviceOS: Android 15
        deviceModel: Pixel 9
        pushToken: ${env:TOKEN}
        META
"""
CALLBACK = """\
callbacks:
  on-call:
    name: on-call
    url: https://replies.example.com/
    auth: {type: httpheader, key: "${env:TOKEN}"}
    META
"""
CONTACT = """\
contacts:
  jane:
    workEmailAddress1: jane@example.com
    password: a${env:TOKEN}b
    META
"""
ROSTER = """\
rosters:
- file: people.csv
  name: "{Name}"
  contacts:
    workEmailAddress1: "{Mail}"
    password: ${env:TOKEN}
    META
"""


FORMS = {"device": DEVICE, "callback": CALLBACK, "contact": CONTACT, "roster": ROSTER}
SECRETS = {"device": "pushToken", "callback": "auth.key", "contact": "password", "roster": "password"}


def project_of(folder: Path, form: str, meta: str) -> Project:
    project = Project(folder)
    project.variables = ["TOKEN"]
    project.write("manifests/people.csv", "Name,Mail\njane,jane@example.com\n")
    workspace = "default" if form == "callback" else "ops"
    text = FORMS[form].replace("META", meta)
    project.write("manifests/all.yaml", f"version: 1\nworkspace: {workspace}\n{text}")
    return project


@pytest.mark.parametrize("form", FORMS)
def test_an_ignored_secret_needs_no_variable(tmp_path: Path, form: str) -> None:
    """Nothing reads it before something is written, and most runs write nothing."""
    project = project_of(tmp_path, form, f"meta: {{ignore: [{SECRETS[form]}]}}")

    entities = project.resolve().desired.entities.values()

    assert project.load().unset == ()
    assert [one.unset_paths for one in entities if one.unset_paths] == [{SECRETS[form]}]
    assert all(SECRETS[form] not in one.fields for one in entities)


@pytest.mark.parametrize("form", FORMS)
def test_an_ignored_secret_is_read_where_its_variable_is_set(tmp_path: Path, form: str) -> None:
    """It is sent with whatever is written."""
    project = project_of(tmp_path, form, f"meta: {{ignore: [{SECRETS[form]}]}}")
    project.environ = {"TOKEN": "invented"}

    entities = project.resolve().desired.entities.values()

    assert "invented" in str([one.fields.get(SECRETS[form]) for one in entities])
    assert all(one.unset_paths == frozenset() for one in entities)


def test_a_group_that_is_ignored_as_a_whole_needs_no_variable_either(tmp_path: Path) -> None:
    """`auth` names all that belongs to it."""
    assert project_of(tmp_path, "callback", "meta: {ignore: [auth]}").problems() == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("meta", ["", "meta: {ignore: [status]}", "meta: {protect: true}"])
def test_a_secret_that_is_not_ignored_needs_its_variable(tmp_path: Path, form: str, meta: str) -> None:
    """An unset variable would be a field that nobody declares."""
    if form == "callback" and "status" in meta:
        meta = meta.replace("status", "url")

    found = project_of(tmp_path, form, meta).problems()

    assert [(one.code, one.what) for one in found if one.code == "E113"] == [
        ("E113", "the variable TOKEN is not set.")
    ]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (
            "jobTitle",
            "contacts: {jane: {workEmailAddress1: jane@example.com, jobTitle: '${env:TOKEN}', META}}",
        ),
        ("workEmailAddress1", "contacts: {jane: {workEmailAddress1: '${env:TOKEN}', META}}"),
        ("password", "contacts: {jane: {workEmailAddress1: '${env:TOKEN}', META}}"),
    ],
)
def test_an_ignored_field_that_is_no_secret_needs_its_variable(tmp_path: Path, field: str, text: str) -> None:
    """A create sends it, and what people read of somebody is no secret."""
    project = Project(tmp_path)
    project.variables = ["TOKEN"]
    project.manifest(text.replace("META", f"meta: {{ignore: [{field}]}}") + "\n")

    assert [one.code for one in project.problems()] == ["E113"]


@pytest.mark.parametrize(
    ("value", "code"), [("${env:OTHER}", "E114"), ("${TOKEN}", "E208"), ("${env:BLANK}", "E115")]
)
def test_an_ignored_secret_with_another_mistake_is_one(tmp_path: Path, value: str, code: str) -> None:
    """Only a variable that is not set is no mistake: a misspelt one is."""
    project = Project(tmp_path)
    project.variables, project.environ = ["TOKEN", "BLANK"], {"BLANK": " "}
    text = DEVICE.replace("${env:TOKEN}", value).replace("META", "meta: {ignore: [pushToken]}")
    project.manifest(text)

    assert [one.code for one in project.problems()] == [code]


def test_a_push_token_that_is_the_identity_has_to_be_declared(tmp_path: Path) -> None:
    """Nothing else tells which device it is: without, each plan would make another one."""
    project = project_of(tmp_path, "device", "")
    project.write(
        "manifests/all.yaml",
        "version: 1\nworkspace: ops\n"
        + DEVICE.replace("META", "").replace("        pushToken: ${env:TOKEN}\n", ""),
    )
    rules = structs.replace(RULES, identity=Identity({"devices": ("pushToken",)}))

    assert [one.code for one in project.problems(rules)] == ["E301"]


def test_an_ignored_push_token_is_no_identity(tmp_path: Path) -> None:
    """With its variable set or not."""
    project = project_of(tmp_path, "device", "meta: {ignore: [pushToken]}")
    rules = structs.replace(RULES, identity=Identity({"devices": ("pushToken",)}))

    assert [one.code for one in project.problems(rules)] == ["E302"]


@pytest.mark.parametrize(
    "text",
    [
        "contacts: [a]\n",
        "contacts: {jane: [x]}\n",
        "contacts: {jane: {devices: {pixel: word}}}\n",
        "contacts: {jane: {devices: [a], meta: [b], password: '${env:TOKEN}'}}\n",
        "contacts: {jane: {password: '${env:TOKEN}', meta: {ignore: password}}}\n",
        "contacts: {jane: {password: ['${env:TOKEN}'], meta: {ignore: [password, {a: b}]}}}\n",
        "rosters: {a: b}\n",
        "rosters: [word]\n",
        "callbacks: {a: {auth: '${env:TOKEN}', meta: {ignore: [auth.key]}}}\n",
    ],
)
def test_what_is_no_entry_is_a_mistake_and_no_crash(tmp_path: Path, text: str) -> None:
    """The tree is not checked yet where ignored secrets are looked for."""
    project = Project(tmp_path)
    project.variables = ["TOKEN"]
    project.manifest(text)

    assert project.problems() != ()
