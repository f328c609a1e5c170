"""A project in a Kubernetes volume: names are links to `..data/name`, `..data` one to a folder beside it."""

from pathlib import Path

import pytest
from manifest.project import Project

from reconciler.manifest.load import LoadedManifests

ROSTER = """\
rosters:
  - file: people.csv
    name: "{ID}"
    contacts: {firstName: "{First}", workEmailAddress1: "{Mail}"}
"""
PEOPLE = "ID,First,Mail\n1,Kim,kim@example.com\n"
CONTENT = "resources:\n  r: {{name: r.csv, scope: private, mimeType: text/csv, content: {{file: {}}}}}\n"
VERSION = "..2026_11_26_10_00_00.123456789"


def mount(folder: Path, files: dict[str, str], version: str = VERSION) -> None:
    """Write a volume as the kubelet does: a folder for the version, links beside it."""
    for name, text in files.items():
        place = folder / version / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "..data_tmp").symlink_to(version)
    (folder / "..data_tmp").rename(folder / "..data")
    for top in {name.partition("/")[0] for name in files}:
        if not (folder / top).is_symlink():
            (folder / top).symlink_to(f"..data/{top}")


def team(body: str) -> str:
    return f"version: 1\nworkspace: ops\n{body}"


def people(loaded: LoadedManifests) -> list[tuple[str, str]]:
    assert loaded.problems == ()
    return [(one.name, one.place.file) for manifest in loaded.manifests for one in manifest.documents]


def test_rosters_of_a_volume_are_read_and_called_by_the_names_of_their_links(project: Project) -> None:
    """Each update brings a folder with another name, which belongs into no place and no record."""
    folder = project.root / "manifests"
    mount(folder, {"team.yaml": team(ROSTER), "people.csv": PEOPLE})
    first = project.load()
    mount(folder, {"team.yaml": team(ROSTER), "people.csv": PEOPLE.replace("1,", "2,")}, "..2026_11_27")
    second = project.load()

    assert people(first) == [("1", "manifests/people.csv")]
    assert people(second) == [("2", "manifests/people.csv")]
    assert first.manifests[0].file == second.manifests[0].file == "manifests/team.yaml"


def test_the_content_of_a_resource_in_a_volume_is_read(project: Project) -> None:
    mount(project.root / "manifests", {"team.yaml": team(CONTENT.format("list.csv")), "list.csv": "a,b\n"})

    loaded = project.load()

    assert loaded.problems == ()
    (document,) = loaded.manifests[0].documents
    assert document.content is not None
    assert (document.content.data, document.content.path) == (b"a,b\n", "manifests/list.csv")


def test_a_folder_that_a_volume_has_items_in_is_read(project: Project) -> None:
    """`items: [{key: team, path: ops/team.yaml}]`: the link is to the folder then."""
    files = {
        "ops/team.yaml": team(ROSTER.replace("people.csv", "../lists/people.csv")),
        "lists/people.csv": PEOPLE,
    }
    mount(project.root / "manifests", files)

    assert people(project.load()) == [("1", "manifests/lists/people.csv")]
    assert people(project.load(["manifests/ops/team.yaml"])) == [("1", "manifests/lists/people.csv")]


def test_a_volume_that_is_the_whole_project_is_read(project: Project) -> None:
    mount(project.root, {"team.yaml": team(ROSTER), "people.csv": PEOPLE})

    assert people(project.load(["team.yaml"])) == [("1", "people.csv")]


@pytest.mark.parametrize(
    ("link", "data"),
    [
        ("..data/other.csv", VERSION),  # of another name
        ("..data/../secret.csv", VERSION),
        ("..data/people.csv", "../elsewhere"),
        ("..data/people.csv", "/etc"),
        ("..data/people.csv", ".."),
        ("..data/people.csv", ".git"),
        ("..data/people.csv", "plain"),
        ("..data/people.csv", "..data"),
        ("../elsewhere/people.csv", VERSION),
    ],
)
def test_every_other_link_is_refused_as_before(project: Project, link: str, data: str) -> None:
    """A link may lead to what is private; only the layout of Kubernetes leads to what stands beside it."""
    folder = project.root / "manifests"
    for name in (VERSION, "../elsewhere", ".git", "plain"):
        (folder / name).mkdir()
        for file in ("people.csv", "other.csv"):
            (folder / name / file).write_text(PEOPLE)
    (folder / "..data").symlink_to(data)
    (folder / "people.csv").symlink_to(link)
    project.manifest(ROSTER)

    (problem,) = project.load().problems

    assert "people.csv" in problem.what
    assert problem.next


@pytest.mark.parametrize("part", ["version", "file"])
def test_a_volume_in_which_another_link_stands_is_refused(project: Project, part: str) -> None:
    """Both are real in a volume: a link in their place could lead anywhere."""
    folder, outside = project.root / "manifests", project.root / "outside"
    outside.mkdir()
    (outside / "people.csv").write_text(PEOPLE)
    mount(folder, {"team.yaml": team(ROSTER), "people.csv": PEOPLE})
    if part == "file":
        (folder / VERSION / "people.csv").unlink()
        (folder / VERSION / "people.csv").symlink_to("../../outside/people.csv")
    else:
        project.manifest(ROSTER, "team.json.yaml")
        (folder / "team.yaml").unlink()
        (folder / VERSION).rename(folder / "moved")
        (folder / VERSION).symlink_to("moved")

    (problem,) = project.load().problems

    assert "link" in problem.what
