"""What is kept of manifests gives exactly what reading them gives, and never holds a secret."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from copies import copied
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest.cached_project import KeptProject
from msgspec import structs

from reconciler import pipeline
from reconciler.errors import Problem
from reconciler.manifest import cache
from reconciler.model.address import Address

HERE = Path(__file__).parent
GOLDEN = sorted(path for path in (HERE.parent / "golden").iterdir() if path.is_dir())
EXAMPLES = sorted(path.parent for path in (HERE.parents[1] / "examples").glob("*/reconciler.yaml"))
NAMES = ("a", "b", "c", "d")
EMAILS = tuple(f"{name}@example.com" for name in NAMES)


def _same(project: KeptProject) -> None:
    """Cold, warm, and warm again: what comes of it is what reading everything gives."""
    fresh = project.fresh()
    assert project.through() == fresh
    assert project.through() == fresh
    assert project.through() == fresh


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda path: path.name)
def test_every_golden_manifest_is_the_same_from_the_cache(folder: Path, tmp_path: Path) -> None:
    """Rosters, payloads, devices, mistakes: whatever a case is about, it is about it a second time too."""
    project = KeptProject(tmp_path)
    for path in folder.iterdir():
        project.write(path.name, path.read_bytes())
    (project.root / "manifests" / "live.json").unlink()
    for name in ("recorded.json", "rules.json", "plan.json"):
        (project.root / "manifests" / name).unlink(missing_ok=True)

    _same(project)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_the_same_from_the_cache(folder: Path, tmp_path: Path) -> None:
    """They are what people begin with: several files, rosters, payloads, kinds of a project's own."""
    project = KeptProject(tmp_path)
    copied(folder, tmp_path / "example")
    root = tmp_path / "example"
    profile = str(root / "profile.yaml") if (root / "profile.yaml").exists() else "service"
    project.root = root
    project.settings = structs.replace(
        project.settings,
        root=str(root),
        manifests=(str(root / "manifests"),),
        service=structs.replace(project.settings.service, profile=profile),
    )

    _same(project)


contacts = st.fixed_dictionaries(
    {"workEmailAddress1": st.sampled_from(EMAILS)},
    optional={
        "jobTitle": st.sampled_from(("Nurse", "4,91512E+11", "", "${env:TOKEN}")),
        "workCountry": st.sampled_from(("Australia", "Austrlia")),
        "password": st.just("correct horse"),
        "custom": st.just({"employeeId": "7"}),
        "frist": st.just("a mistake"),
        "meta": st.fixed_dictionaries(
            {},
            optional={"renamedFrom": st.sampled_from(NAMES), "protect": st.just("true")},
        ),
        "devices": st.just(
            {
                "phone": {
                    "deviceName": "Phone",
                    "appId": "com.example.oncall",
                    "platform": "GCM",
                    "deviceOS": "Android 15",
                    "deviceModel": "Pixel 9",
                    "pushToken": "token-1",
                }
            }
        ),
    },
)
manifests = st.fixed_dictionaries(
    {"version": st.just("1"), "workspace": st.sampled_from(("ops", "lab"))},
    optional={
        "contacts": st.dictionaries(st.sampled_from(NAMES), contacts, max_size=2),
        "defaults": st.just({"contacts": {"department": "Wards", "jobTitle": "3.0E+5"}}),
        "tags": st.just({"team": "sre"}),
        "removed": st.fixed_dictionaries(
            {"contacts": st.lists(st.sampled_from(NAMES), unique=True, min_size=1)}
        ),
        "rosters": st.just(
            [{"file": "people.csv", "name": "{Id}", "contacts": {"workEmailAddress1": "{M}"}}]
        ),
    },
)
projects = st.lists(manifests, min_size=1, max_size=3)


def _write(project: KeptProject, files: list[dict[str, Any]]) -> None:
    for number, manifest in enumerate(files):
        project.write(f"{number}.yaml", json.dumps(manifest, indent=1))


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(files=projects, edited=manifests, rows=st.lists(st.sampled_from((*NAMES, "")), max_size=3))
def test_generated_projects_are_the_same_from_the_cache(
    files: list[dict[str, Any]], edited: dict[str, Any], rows: list[str]
) -> None:
    """Files that contradict each other are told so, whichever of them were kept; so are edited ones."""
    with tempfile.TemporaryDirectory() as folder:
        project = KeptProject(Path(folder))
        project.write("people.csv", "Id,M\n" + "".join(f"r{one},{one}@example.com\n" for one in rows))
        for every in ([files[0]], files, [edited, *files[1:]], files):
            _write(project, every)
            _same(project)


CONTACT = """version: 1
workspace: ops
contacts:
  jane-doe:
    workEmailAddress1: jane.doe@example.com
"""
OTHER = CONTACT.replace("jane", "juan")


DEVICE = """    devices:
      phone:
        deviceName: Phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: Android 15
        deviceModel: Pixel 9
        pushToken: token-of-the-environment
"""


def test_a_second_load_parses_nothing(tmp_path: Path) -> None:
    """That is what it is for; where one file changed, that one alone is read anew."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT)
    project.write("b.yaml", OTHER)
    assert project.kept().load() is None
    project.through()

    first = project.kept().load()
    project.write("b.yaml", OTHER.replace("jane", "Jane") + "    jobTitle: Nurse\n")
    second = project.kept().load()

    assert first is not None
    assert second is not None
    assert (first.reread, second.reread) == (0, 1)
    assert second.desired.entities[Address("contact/ops/juan-doe")].fields["jobTitle"] == "Nurse"


def _made_of(project: KeptProject) -> str:
    found = project.kept().load()
    return "" if found is None else found.made_of


def test_what_manifests_were_made_of_is_known_where_all_were_kept(tmp_path: Path) -> None:
    """A plan is found again by it: whatever may declare something else must not have the same."""
    project = KeptProject(tmp_path)
    project.write("people.csv", "Id,Mail\nx1,x1@example.com\n")
    roster = {"file": "people.csv", "name": "{Id}", "contacts": {"workEmailAddress1": "{Mail}"}}
    project.write("a.yaml", json.dumps({"version": "1", "workspace": "ops", "rosters": [roster]}))
    project.write("b.yaml", CONTACT)
    assert _made_of(project) == ""  # nothing is kept yet
    project.through()
    first = _made_of(project)
    assert first
    assert _made_of(project) == first

    found = {first}
    for name, text in (
        ("b.yaml", CONTACT + "    jobTitle: Nurse\n"),
        ("people.csv", "Id,Mail\nx1,x1@example.com\nx2,x2@example.com\n"),
        ("c.yaml", OTHER),
        ("b.yaml", "\n" + CONTACT),  # every place is another line
    ):
        project.write(name, text)
        assert _made_of(project) == "", name
        project.through()
        found.add(_made_of(project))
    (project.root / "manifests" / "c.yaml").unlink()
    found.add(_made_of(project))
    settings = structs.replace(project.settings, adopt="never")
    project.settings = settings
    project.through()
    found.add(_made_of(project))

    assert len(found) == 7
    assert "" not in found


def _person(name: str, email: str, more: str = "") -> str:
    return f"version: 1\nworkspace: ops\ncontacts:\n  {name}:\n    workEmailAddress1: {email}\n{more}"


JANE = "jane.doe@example.com"
BOTH = _person("jane-doe", JANE), _person("juan-doe", "juan.doe@example.com")
RENAMED = "    meta: {renamedFrom: jane-doe}\n"
REMOVED = "removed: {contacts: [jane-doe]}\n"
CONTRADICTIONS = {
    "one address": (BOTH[0], _person("jane-doe", "other@example.com")),
    "one identity": (BOTH[0], _person("juan-doe", JANE.upper())),
    "one push token": tuple(text + DEVICE for text in BOTH),
    "a former name that is declared": (BOTH[0], BOTH[1] + RENAMED),
    "a former name claimed twice": (
        _person("joan-doe", JANE, RENAMED),
        _person("juan-doe", "juan.doe@example.com", RENAMED),
    ),
    "removed and declared": (BOTH[0], BOTH[1] + REMOVED),
    "removed and claimed": (BOTH[1] + RENAMED, f"version: 1\nworkspace: ops\n{REMOVED}"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize("first", [0, 1])
def test_files_that_contradict_each_other_are_told_so_whichever_is_kept(
    name: str, first: int, tmp_path: Path
) -> None:
    """Each of them is right by itself, so only joining what was kept can see it."""
    project = KeptProject(tmp_path)
    texts = CONTRADICTIONS[name]
    project.write(f"{first}.yaml", texts[first])
    project.through()
    assert isinstance(project.fresh()[0], list)
    project.write(f"{1 - first}.yaml", texts[1 - first])

    assert isinstance(project.fresh()[0], Problem)
    _same(project)


def test_another_roster_is_read_although_its_manifest_is_the_same(tmp_path: Path) -> None:
    """People live in the roster: a manifest that did not change says nothing about them."""
    project = KeptProject(tmp_path)
    project.write("people.csv", "Id,Mail\nx1,x1@example.com\n")
    roster = {"file": "people.csv", "name": "{Id}", "contacts": {"workEmailAddress1": "{Mail}"}}
    project.write("a.yaml", json.dumps({"version": "1", "workspace": "ops", "rosters": [roster]}))
    project.through()
    project.write("people.csv", "Id,Mail\nx1,x1@example.com\nx2,x2@example.com\n")

    assert len(project.fresh()[0]) == 2
    _same(project)


@pytest.mark.parametrize(
    "body",
    [
        "    password: correct-horse\n",
        "    jobTitle: ${env:TOKEN}\n",
        DEVICE,
    ],
    ids=["a password", "a variable", "a push token"],
)
def test_what_holds_a_secret_is_not_kept_and_does_not_hinder_others(body: str, tmp_path: Path) -> None:
    """A cache is one more file that may be copied; it never holds what a variable or a secret brings."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT + body)
    project.write("b.yaml", OTHER)

    _same(project)

    found = project.kept().load()
    assert found is not None
    assert found.reread == 1
    assert len(project.entries) == 1
    held = b"".join(path.read_bytes() for path in project.root.rglob("*.part"))
    assert b"token-of-the-environment" not in held
    assert b"correct-horse" not in held


def test_nothing_with_a_mistake_is_kept(tmp_path: Path) -> None:
    """Its mistakes are told with the lines of the file, which are read again anyway."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT + "    fristName: Jane\n")

    _same(project)

    assert project.entries == []


@pytest.mark.parametrize("name", ["stack", "mark", "contact_fields", "checks", "identity"])
def test_an_entry_of_other_settings_is_not_read(name: str, tmp_path: Path) -> None:
    """Marks, checks and identities are part of what manifests mean."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT)
    project.through()
    others: dict[str, Any] = {
        "stack": "other",
        "mark": "managedBy",
        "contact_fields": ("costCentre",),
        "checks": structs.replace(project.settings.checks, phones="off"),
        "identity": structs.replace(project.settings.identity, fields={"contacts": ("workEmailAddress1",)}),
    }
    project.settings = structs.replace(project.settings, **{name: others[name]})

    assert project.kept().load() is None
    _same(project)


def test_small_projects_keep_nothing(tmp_path: Path) -> None:
    """They are read as quickly as an entry, and no file of theirs lies anywhere else."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT)

    pipeline.validate(project.settings, project.environ)

    assert not project.cache.exists()
    assert not project.key.exists()


def test_large_projects_are_kept_by_every_command(tmp_path: Path) -> None:
    """From `cache_bytes_min` on; whoever asks for no cache neither reads nor writes one."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT + "#" * cache.cache_bytes_min + "\n")

    off = structs.replace(project.settings, caches=False)
    assert pipeline.validate(off, project.environ)
    assert not project.cache.exists()

    first = pipeline.validate(project.settings, project.environ)
    assert len(project.entries) == 1
    assert pipeline.validate(project.settings, project.environ) == first


def test_the_cache_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """It holds what the manifests hold of people."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", CONTACT)
    project.through()

    assert project.cache.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (*project.entries, project.key)] == [0o600, 0o600]
    assert (project.root / ".reconciler" / ".gitignore").read_text() == "*\n"
