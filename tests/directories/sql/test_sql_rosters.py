"""A roster of a database is the roster that the same people in a file would be; who asks, and how often."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from directories.sql.sources import AT, ROSTER, STATEMENT, database, people, sql, takes_from
from manifest.cached_project import KeptProject
from manifest.project import Project
from msgspec import structs
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from reconciler import pipeline
from reconciler.directories.answers import AnswerRows, DirectoryFailed, ReadOnce
from reconciler.directories.sql_query import read_sql
from reconciler.directories.sql_values import NotText, build_sql_answer
from reconciler.errors import DirectoryError, ManifestError
from reconciler.manifest.rosters.roster_sources import build_answer_table, summarize_answer
from reconciler.model.directories import DirectorySetting


def _contacts(project: Project) -> Mapping[str, Mapping[str, object]]:
    return {name: one.fields for name, one in project.documents().items()}


def test_a_roster_of_a_database_is_that_of_the_same_table_in_a_file(project: Project, tmp_path: Path) -> None:
    """Columns, templates and empty cells mean the same."""
    rows = [(1, "Jane", "jane@example.com"), (2, "Sam", None), (3, "", ""), (4, "Łódź", "x@example.com")]
    takes_from(project, sql(f"sqlite:///{database(tmp_path / 'hr.db', rows)}"))
    asked = _contacts(project)
    text = "".join(f"{number},{name},{mail or ''}\n" for number, name, mail in rows)
    project.write("staff.csv", f"id,name,mail\n{text}")
    project.manifest(ROSTER.replace("directory: staff", "file: ../staff.csv"))

    assert asked == _contacts(project)
    assert asked["2"] == {"firstName": "Sam", "lastName": "Doe"}


def test_a_row_has_the_place_by_which_its_source_finds_it(project: Project, tmp_path: Path) -> None:
    """The row of the answer, from 1: that is what a client of the database shows too."""
    takes_from(project, sql(f"sqlite:///{database(tmp_path / 'hr.db', people(14))}"))

    assert str(project.documents()["14"].place) == "sql:staff:14"


def test_names_of_rows_are_their_places() -> None:
    """Of LDAP and SCIM a row has a name, and no number that means anything to them."""
    answer = AnswerRows(
        ("id", "name"), (["1", "Jane\0"], ["2", "Sam"]), ("Users/1", "Users/2\n"), {1: {1: "a list"}}
    )
    table = build_answer_table(answer, lambda row: f"scim:staff/{row}")

    assert [str(table.place(number)) for number in (1, 2)] == ["scim:staff/Users/1", "scim:staff/Users/2\\n"]
    assert [problem.where for problem in table.problems] == ["scim:staff/Users/1"]
    assert table.rows[1][1] == ["2", "?"]


VALUES = {
    "text": ("Jane", "Jane"),
    "nothing": (None, ""),
    "true": (True, "true"),
    "false": (False, "false"),
    "a whole number": (-7, "-7"),
    "a large number": (61491570156, "61491570156"),
    "a number with zeros in front": ("0061", "0061"),
    "a float": (0.5, "0.5"),
    "a decimal": (Decimal("12.340"), "12.340"),
    "a large decimal": (Decimal("1E+20"), "100000000000000000000"),
    "a date": (date(2026, 2, 3), "2026-02-03"),
    "a moment": (
        datetime(2026, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1))),
        "2026-02-03T04:05:00+01:00",
    ),
    "a time": (time(4, 5), "04:05:00"),
    "a UUID": (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
}
NO_TEXTS = {
    "bytes": b"x",
    "a byte array": bytearray(b"x"),
    "a view of bytes": memoryview(b"x"),
    "a list": ["x"],
    "a set": {"x"},
    "JSON": {"a": 1},
    "a length of time": timedelta(1),
    "a large float": 1e15,
    "no number": float("nan"),
    "infinity": float("-inf"),
    "a decimal that is none": Decimal("NaN"),
    "a decimal of a billion digits": Decimal("1E+999999"),
    "a decimal of a billion places": Decimal("1E-999999"),
    "no UTF-8": NotText(),
    "another type": object(),
    "a complex number": 1j,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_written_as_the_table_says(name: str) -> None:
    value, text = VALUES[name]

    answer = build_sql_answer(("x",), [[(value,)]], rows_max=1)

    assert (answer.rows, answer.unusable) == (([text],), {})


@pytest.mark.parametrize("name", NO_TEXTS)
def test_what_is_no_text_is_told_by_what_it_is(name: str) -> None:
    """Whoever takes from such a cell makes a mistake; a column that nobody takes from is none."""
    answer = build_sql_answer(("x", "y"), [[("a", NO_TEXTS[name])]], rows_max=1)

    assert answer.rows == (["a", "?"],)
    assert list(answer.unusable[0]) == [1]


def test_a_directory_of_two_rosters_is_asked_once(project: Project, tmp_path: Path) -> None:
    """Two answers of one command could be two states of it."""
    path = database(tmp_path / "hr.db", people(2))
    more = ROSTER.replace('"{id}"', '"b-{id}"').removeprefix("rosters:\n")
    takes_from(project, sql(f"sqlite:///{path}"), ROSTER + more)
    project.manifest(ROSTER.replace('"{id}"', '"c-{id}"'), "more.yaml")
    asked = ReadOnce(project.directories)
    first = asked.answer("staff")
    path.unlink()

    loaded = project.load(asked=asked)

    assert asked.answer("staff") is first
    assert (loaded.problems, loaded.documents) == ((), 6)


def test_a_directory_that_failed_is_not_asked_again(tmp_path: Path) -> None:
    """Ten rosters of a server that is down would wait ten times."""
    asked = ReadOnce({"staff": DirectorySetting(sql(f"sqlite:///{tmp_path / 'hr.db'}"), AT)})
    with pytest.raises(DirectoryFailed) as first:
        asked.answer("staff")
    database(tmp_path / "hr.db", people(1))

    with pytest.raises(DirectoryFailed) as second:
        asked.answer("staff")

    assert first.value is second.value


def test_a_manifest_can_only_name_a_directory(project: Project, tmp_path: Path) -> None:
    """A pull request may change a manifest; what is asked, and of whom, stands in the settings."""
    takes_from(project, sql(f"sqlite:///{database(tmp_path / 'hr.db', people(1))}"))
    rows = {
        "directory: {sql: {url: x}}": "must be text, not a mapping",
        "directory: stuff": "the directory stuff is not in the settings",
        "directory: ''": "must not be empty",
        "directory: staff\n    file: staff.csv": "has file and directory; a roster has only one of them",
        "directory: staff\n    sheet: Staff": "`sheet` is for .xlsx files",
        "directory: staff\n    statement: SELECT 1": "statement is not a field of a roster",
        "name: x": "file or directory is missing",
        "directory: ${env:HOME}": "manifests may not read the variable HOME",
    }
    for line, said in rows.items():
        project.manifest(ROSTER.replace("directory: staff", line))
        assert said in " | ".join(one.what for one in project.load().problems), line


def test_a_misspelt_directory_has_a_suggestion(project: Project, tmp_path: Path) -> None:
    takes_from(project, sql(f"sqlite:///{database(tmp_path / 'hr.db', people(1))}"))
    project.manifest(ROSTER.replace("directory: staff", "directory: Staff"))

    (problem,) = project.load().problems

    assert (problem.where, problem.next) == ("manifests/ops.yaml:4:5", "did you mean staff?")


def test_the_numbers_of_an_answer_follow_from_its_rows_in_any_order(tmp_path: Path) -> None:
    """A database promises no order without ORDER BY: another one is the same answer."""
    path = database(tmp_path / "hr.db", people(20))

    def numbers(statement: str) -> object:
        answer = read_sql("staff", sql(f"sqlite:///{path}", statement), rows_max=99)
        return summarize_answer("staff", build_answer_table(answer, lambda row: row))

    assert numbers(STATEMENT) == numbers(f"{STATEMENT} ORDER BY id DESC")
    assert numbers(STATEMENT) != numbers(f"{STATEMENT} WHERE id < 20")
    assert numbers(STATEMENT) != numbers(STATEMENT.replace("mail", "mail AS address"))
    assert numbers(STATEMENT) != numbers(STATEMENT.replace("name", "name || '.' AS name"))


_SAM = "version: 1\nworkspace: ops\ncontacts:\n  sam: {firstName: Sam, workEmailAddress1: sam@example.com}\n"


def _kept(folder: Path, path: Path) -> KeptProject:
    """Return a project that keeps what it can, with a directory."""
    kept = KeptProject(folder)
    directories = {"staff": DirectorySetting(sql(f"sqlite:///{path}"), AT)}
    kept.settings = structs.replace(kept.settings, directories=directories)
    return kept


def test_what_a_directory_says_is_never_kept(tmp_path: Path) -> None:
    """The cache knows files by their bytes. A manifest beside it that takes from files alone is kept."""
    people_of = database(tmp_path / "hr.db", people(3))
    kept = _kept(tmp_path, people_of)
    kept.write("ops.yaml", f"version: 1\nworkspace: ops\n{ROSTER}")
    kept.write("more.yaml", _SAM)
    before = pipeline.resolve_manifests(kept.settings, kept.environ, cache=kept.kept()).desired
    with closing(sqlite3.connect(people_of)) as connection, connection:
        connection.execute("DELETE FROM staff WHERE id = 1")

    after = kept.kept().load()

    assert after is not None
    assert len(before.entities) - len(after.desired.entities) == 1
    assert (after.files, after.reread, after.made_of) == (2, 1, "")
    assert [one.rows for one in (*before.answers, *after.desired.answers)] == [3, 2]


def test_a_directory_that_fails_beside_no_mistake_is_nothing_to_edit(tmp_path: Path) -> None:
    """Its error says to mend it or to try again; with a mistake in a file, the author edits first."""
    kept = _kept(tmp_path, tmp_path / "hr.db")
    kept.write("ops.yaml", f"version: 1\nworkspace: ops\n{ROSTER}")

    with pytest.raises(DirectoryError) as caught:
        pipeline.validate(kept.settings, {})
    assert [one.where for one in caught.value.problems] == ["manifests/ops.yaml:4:5"]
    assert caught.value.exit_code == 1

    kept.write("more.yaml", _SAM.replace("firstName", "fristName"))
    with pytest.raises(ManifestError) as both:
        pipeline.validate(kept.settings, {})
    assert len(both.value.problems) > 1


class _Other(SQLiteDialect_pysqlite):
    """SQLite under a name that is not known here: it stands for every other database."""

    name = "another"
    supports_statement_cache = False


registry.register("another", __name__, "_Other")
registry.register("another.driver", __name__, "_Other")


def test_another_database_answers_rows_and_refuses_what_is_hostile(tmp_path: Path) -> None:
    path = database(tmp_path / "hr.db", people(3))
    rows = read_sql("staff", sql(f"another:///{path}", f"{STATEMENT};"), rows_max=9).rows
    assert rows[0] == ["1", "Jane 1", "jane1@example.com"]

    hostile = {
        "SELECT 1; DELETE FROM staff": "a semicolon",
        "SELECT * FROM nobody": "its driver says OperationalError",
        "DELETE FROM staff": "not a query",
        "WITH x AS (SELECT 1) DELETE FROM staff RETURNING id, name, mail": "holds the word DELETE",
        "SELECT * INTO more FROM staff": "holds the word INTO",
        "SELECT 1 AS id, 2 AS id": "two columns",
    }
    for statement, said in hostile.items():
        with pytest.raises(DirectoryFailed, match=said):
            read_sql("staff", sql(f"another:///{path}", statement), rows_max=9)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM staff").fetchone() == (3,)
