"""Rosters as spreadsheets and attackers write them: a mistake has its row, and odd text stays text."""

from pathlib import Path

from hostile import corpora
from hostile.corpora import Case
from manifest.project import Project
from msgspec import structs

from reconciler.model.documents import Document

MANIFEST = """\
version: 1
workspace: ops
rosters:
  - file: list.csv
    name: "{id}"
    contacts: {firstName: "{first}", workMobilePhone1: "{phone}"}
"""


def said(case: Case, folder: Path) -> str:
    """The first problem, or every row as `name first phone`."""
    project = Project(folder / "project")
    project.write("manifests/ops.yaml", MANIFEST)
    project.write("manifests/list.csv", case.data)
    with corpora.untouched(folder):
        loaded = project.load()
    if loaded.problems:
        problem = loaded.problems[0]
        assert problem.next
        return f"Problem: {problem}".replace("manifests/", "").partition("\n")[0]
    (manifest,) = loaded.manifests
    assert all(document.place.file == "manifests/list.csv" for document in manifest.documents)
    return "value: " + ascii([_row(document) for document in manifest.documents])


def _row(document: Document) -> str:
    fields = structs.asdict(document)["fields"]
    return " ".join(
        [document.name, *(f"{fields.get(key, '-')}" for key in ("firstName", "workMobilePhone1"))]
    )


@corpora.each("rosters")
def test_every_roster_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A cell is text and nothing else; what cannot be a table is refused at its row."""
    corpora.claim(case, "rosters", lambda: said(case, tmp_path))
