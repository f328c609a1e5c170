"""A plan of a directory says so, is compared with it again, and is refused where it answers short."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from cli.hands import Project, Service, unguarded
from directories.sql.sources import database, people

from reconciler.report.markdown import format_prose

DIRECTORIES = """\
directories:
  staff: {sql: {url: "sqlite:///hr.db", statement: "SELECT id, name, mail, seen FROM staff"}}
"""
SETTINGS = unguarded("ops") + DIRECTORIES
MANIFEST = """\
version: 1
workspace: default
contacts: {sam: {firstName: Sam, lastName: Doe, workEmailAddress1: sam@example.com}}
rosters:
  - directory: staff
    name: "staff-{id}"
    contacts: {firstName: "{name}", lastName: Doe, workEmailAddress1: "{mail}", meta: {tags: {from: staff}}}
"""


class Asked:
    """A project with a database of ten people, and the command in it."""

    def __init__(self, project: Project, service: Service) -> None:
        self.folder, self._project, self._service = project.folder, project, service
        project.manifest.unlink()
        (self.folder / "reconciler.yaml").write_text(SETTINGS)
        (self.folder / "manifests/ops.yaml").write_text(MANIFEST)
        database(self.folder / "hr.db", people(10), "ALTER TABLE staff ADD COLUMN seen")

    def __call__(self, *arguments: str) -> Any:
        return self._project.run(self._service, *arguments)

    def change(self, statement: str) -> None:
        with closing(sqlite3.connect(self.folder / "hr.db")) as connection, connection:
            connection.execute(statement)

    def writes(self) -> int:
        return len(self._service.writes())


@pytest.fixture
def asked(project: Project, service: Service) -> Asked:
    return Asked(project, service)


def _plan(asked: Asked, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked("plan", "--format", "json", *arguments).stdout)
    return found


def test_a_plan_says_in_every_form_what_it_is_made_of(asked: Asked) -> None:
    reports = {form: asked.folder / f"plan.{form}" for form in ("markdown", "html", "json")}
    chosen = [word for form, path in reports.items() for word in ("--report", f"{form}={path}")]

    text = asked("plan", *chosen).stdout
    (told,) = _plan(asked)["plan"]["directories"]

    assert (told["name"], told["rows"], told["before"]) == ("staff", 10, 0)
    words = f"rom directory staff: 10 rows, sha256 {told['digest'][:12]}"
    assert f"\nf{words}\n" in text
    assert f"\n{format_prose(f'F{words}')}.\n" in reports["markdown"].read_text()
    assert f"F{words}." in reports["html"].read_text()
    assert json.loads(reports["json"].read_text())["plan"]["directories"] == [told]


def test_a_plan_without_a_directory_has_no_word_of_one(asked: Asked) -> None:
    """Documents of plans are as they were before there were directories."""
    (asked.folder / "manifests/ops.yaml").write_text(MANIFEST.partition("rosters:")[0])

    assert "directories" not in _plan(asked)["plan"]
    asked("plan", "-o", "plan.json")
    assert '"directories"' not in (asked.folder / "plan.json").read_text()


def test_a_reviewed_plan_is_carried_out_where_the_directory_answers_the_same(asked: Asked) -> None:
    """In any order of its rows."""
    asked("plan", "-o", "plan.json")
    asked.change("CREATE TABLE other AS SELECT * FROM staff ORDER BY id DESC")
    asked.change("DELETE FROM staff")
    asked.change("INSERT INTO staff SELECT * FROM other")

    ended = asked("apply", "plan.json", "--yes")

    assert ended.returncode == 0
    assert asked.writes() == 11


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "DELETE FROM staff WHERE id = 7",
            "the changes would differ now; the directory staff returns other data now.",
        ),
        ("UPDATE staff SET name = 'Kim' WHERE id = 7", "the directory staff returns other data now."),
        (
            "UPDATE staff SET seen = 'now'",
            "same changes, but the directory staff returns other data now",
        ),
    ],
)
def test_a_reviewed_plan_is_refused_where_the_directory_answers_something_else(
    asked: Asked, statement: str, said: str
) -> None:
    asked("plan", "-o", "plan.json")
    asked.change(statement)

    ended = asked("apply", "plan.json", "--yes")

    assert ended.returncode == 5
    assert said in ended.stderr
    assert asked.writes() == 0


def test_a_directory_that_answers_short_is_refused_until_somebody_says_how_many(asked: Asked) -> None:
    """G7: nobody is deleted for a filter that somebody has narrowed."""
    assert asked("apply", "--yes").returncode == 0
    asked.change("DELETE FROM staff WHERE id > 4")
    writes = asked.writes()

    refused = asked("apply", "--yes")

    assert refused.returncode == 7
    assert "the directory staff returns 4 rows, 6 fewer than at the last apply" in refused.stderr
    assert asked.writes() == writes
    told = _plan(asked)
    assert told["plan"]["directories"][0]["before"] == 10
    assert told["verdict"]["reasons"][0]["next"].endswith("--allow-fewer-rows 6")
    assert asked("apply", "--yes", "--allow-fewer-rows", "5").returncode == 7
    assert asked("apply", "--yes", "--allow-fewer-rows", "6").returncode == 0
    assert _plan(asked)["plan"]["directories"][0]["before"] == 4


def test_an_apply_of_a_part_leaves_the_number_of_rows_alone(asked: Asked) -> None:
    """What a selection leaves out has not been applied, and the guard is to see it next time."""
    asked("apply", "--yes")
    asked.change("DELETE FROM staff WHERE id > 4")

    asked("apply", "--yes", "--only", "contact/default/sam", "--allow-fewer-rows", "6")

    assert _plan(asked)["verdict"]["reasons"][0]["rule"] == "G7"


def test_a_plan_of_a_directory_is_never_found_again(asked: Asked) -> None:
    """Nothing has changed at the service; what the directory says is asked each time."""
    asked("apply", "--yes")
    for _ in range(3):
        assert _plan(asked, "-vv")["counts"]["unchanged"] == 11
    asked.change("UPDATE staff SET name = 'Kim' WHERE id = 7")

    assert _plan(asked)["counts"]["updates"] == 1


def test_nothing_is_planned_where_a_directory_does_not_answer(asked: Asked) -> None:
    asked("apply", "--yes")
    writes = asked.writes()
    (asked.folder / "hr.db").unlink()

    ended = asked("apply", "--yes")

    assert (ended.returncode, asked.writes()) == (1, writes)
    assert "nothing can be planned" in ended.stderr


def test_explain_names_the_row_and_its_column(asked: Asked) -> None:
    told = asked("explain", "--offline", "contact/default/staff-7").stdout

    assert "sql:staff:7" in told
    assert "mail" in told


def test_an_annotation_names_a_row_of_a_directory_and_no_file(asked: Asked) -> None:
    """There is no line in git to show it at."""
    asked.change("UPDATE staff SET mail = 'nobody' WHERE id = 7")
    forms = {form: asked.folder / form for form in ("github", "sarif", "gitlab", "junit")}
    asked("validate", *(word for form, path in forms.items() for word in ("--report", f"{form}={path}")))

    assert "::error title=mistake::sql:staff:7: " in forms["github"].read_text()
    (found,) = json.loads(forms["sarif"].read_text())["runs"][0]["results"]
    assert found["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "sql:staff:7"}]}]
    assert "sql:staff:7" in forms["junit"].read_text()
