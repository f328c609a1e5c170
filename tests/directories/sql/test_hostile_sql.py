"""Every way in which a database of SQLite, or a statement, is not what it should be, ends in a sentence."""

import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from directories.sql.sources import AT, database, people, sql, takes_from
from manifest.project import Project

from reconciler.directories.answers import DirectoryFailed, read_directory
from reconciler.directories.sql_query import read_sql

WRITES = "does more than read"
NO_QUERY = "not a query"
SEVERAL = "more than one"
BROKEN = "cannot be carried out"


class Case(NamedTuple):
    """A statement about `staff`, and what is said of it."""

    statement: str
    said: str


STATEMENTS = {
    # what not a query, by its first word
    "insert": Case("INSERT INTO staff VALUES (9, 'x', 'y')", NO_QUERY),
    "insert in small letters": Case("insert into staff values (9, 'x', 'y')", NO_QUERY),
    "insert returning": Case("INSERT INTO staff VALUES (9, 'x', 'y') RETURNING id", NO_QUERY),
    "update": Case("UPDATE staff SET name = 'x'", NO_QUERY),
    "delete": Case("DELETE FROM staff", NO_QUERY),
    "delete returning": Case("DELETE FROM staff RETURNING id, name, mail", NO_QUERY),
    "replace": Case("REPLACE INTO staff VALUES (9, 'x', 'y')", NO_QUERY),
    "drop": Case("DROP TABLE staff", NO_QUERY),
    "create": Case("CREATE TABLE more (id)", NO_QUERY),
    "create as": Case("CREATE TABLE more AS SELECT * FROM staff", NO_QUERY),
    "alter": Case("ALTER TABLE staff ADD COLUMN more", NO_QUERY),
    "pragma": Case("PRAGMA user_version = 7", NO_QUERY),
    "pragma that reads": Case("PRAGMA table_info(staff)", NO_QUERY),
    "attach": Case("ATTACH 'other.db' AS other", NO_QUERY),
    "vacuum into": Case("VACUUM INTO 'copy.db'", NO_QUERY),
    "begin": Case("BEGIN IMMEDIATE", NO_QUERY),
    "commit": Case("COMMIT", NO_QUERY),
    "savepoint": Case("SAVEPOINT here", NO_QUERY),
    "explain": Case("EXPLAIN SELECT * FROM staff", NO_QUERY),
    "reindex": Case("REINDEX", NO_QUERY),
    "behind a comment": Case("-- SELECT\nDELETE FROM staff", NO_QUERY),
    "behind a long comment": Case("/* SELECT */ DELETE FROM staff", NO_QUERY),
    "behind parentheses": Case("((DELETE FROM staff))", NO_QUERY),
    "empty": Case("   ", "the statement is empty"),
    "a comment alone": Case("-- nothing", "does not begin with a word"),
    "a semicolon alone": Case(";", "does not begin with a word"),
    "a number": Case("1", "does not begin with a word"),
    # what begins as a query and writes
    "cte with insert": Case("WITH x AS (SELECT 1) INSERT INTO staff SELECT 9, 'x', 'y' FROM x", WRITES),
    "cte with delete": Case("WITH x AS (SELECT 1) DELETE FROM staff WHERE id IN (SELECT * FROM x)", WRITES),
    "cte with update": Case("WITH x AS (SELECT 1) UPDATE staff SET name = 'x'", WRITES),
    "cte with returning": Case("WITH x AS (SELECT 1) DELETE FROM staff RETURNING id, name, mail", WRITES),
    "a pragma as a function": Case("SELECT * FROM pragma_journal_mode('wal')", WRITES),
    # more than one
    "two queries": Case("SELECT 1 AS id; SELECT 2 AS id", SEVERAL),
    "a query and a delete": Case("SELECT id, name, mail FROM staff; DELETE FROM staff", SEVERAL),
    "a query and a commit": Case("SELECT 1; COMMIT; DELETE FROM staff", SEVERAL),
    "a delete behind a comment": Case("SELECT 1 /* ; */ ; /* */ DELETE FROM staff", SEVERAL),
    # what cannot be carried out
    "no such table": Case("SELECT * FROM nobody", f"{BROKEN}: no such table: nobody"),
    "no such column": Case("SELECT nobody FROM staff", f"{BROKEN}: no such column: nobody"),
    "an extension": Case("SELECT load_extension('x') AS id", WRITES),
    "no such function, by a name": Case("SELECT writefile('x', 'y')", f"{BROKEN}: no such function"),
    "a syntax error": Case("SELECT FROM WHERE", f"{BROKEN}: near"),
    "a quotation mark left open": Case("SELECT 'x", f"{BROKEN}: unrecognized token"),
    "a parenthesis left open": Case("SELECT (1", f"{BROKEN}: incomplete input"),
    "a parameter": Case("SELECT ? AS id", BROKEN),
    "a named parameter": Case("SELECT :id AS id", BROKEN),
    "too many columns": Case(f"SELECT {', '.join(f'1 AS c{n}' for n in range(16_385))}", BROKEN),
    "a function that fails on data": Case("SELECT json_extract(name, '$.x') AS id FROM staff", BROKEN),
    "integers that overflow": Case("SELECT abs(-9223372036854775808) AS id FROM staff", BROKEN),
    "NUL in the statement": Case("SELECT 1 AS id\0", BROKEN),
    # what never ends, or is too much
    "a recursion without an end": Case(
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT max(id) AS id FROM n",
        "took longer than timeout_s",
    ),
    "a value that is too long": Case("SELECT hex(zeroblob(9000000)) AS id", "a value that is too long"),
    # answers that are no table
    "two columns of one name": Case(
        "SELECT id, name AS id FROM staff", "two columns of its answer are called 'id'"
    ),
    "the columns of a join": Case(
        "SELECT * FROM staff a JOIN staff b ON a.id = b.id", "two columns of its answer"
    ),
    "nobody": Case("SELECT id, name, mail FROM staff WHERE 0", "returned no rows"),
    "nobody, grouped": Case(
        "SELECT id, name, mail FROM staff GROUP BY id HAVING id > 99", "returned no rows"
    ),
    "a column without a name": Case("SELECT id, name, mail, '' AS '' FROM staff", "a column has no name"),
    "a column named by a space": Case("SELECT id, name, mail, 1 AS ' ' FROM staff", "a column has no name"),
    "a column that a template cannot name": Case("SELECT id, name, mail, 1 AS '{x}' FROM staff", "a brace"),
    "columns that trimming makes one": Case(
        "SELECT id, name, mail, 1 AS ' id' FROM staff", "the same name as the one in cell 1"
    ),
    "an invisible character in a name": Case("SELECT id, name, mail, 1 AS 'x\u200e' FROM staff", "invisible"),
    "a column that is not there": Case("SELECT id, name FROM staff", "the roster has no column 'mail'"),
    "a name that is taken": Case(
        "SELECT 7 AS id, name, mail FROM staff", "the name 7 is already that of row 1"
    ),
    "a name that is empty": Case(
        "SELECT NULL AS id, name, mail FROM staff", "the name of this row would be empty"
    ),
    # cells that are no text
    "bytes": Case("SELECT id, x'00ff' AS name, mail FROM staff", "the cell contains bytes; expected"),
    "a text that is not UTF-8": Case(
        "SELECT id, CAST(x'4affff' AS TEXT) AS name, mail FROM staff", "bytes that are not"
    ),
    "a float without all digits": Case(
        "SELECT id, 1e15 AS name, mail FROM staff", "a number that may lack digits"
    ),
    "infinity": Case("SELECT id, 9e999 AS name, mail FROM staff", "a number that may lack digits"),
    "NUL in a text": Case("SELECT id, 'x' || char(0) AS name, mail FROM staff", "the character NUL"),
    "an escape sequence": Case(
        "SELECT id, char(27) || '[31m' AS name, mail FROM staff", "the control character U+001B"
    ),
    "half of a pair": Case(
        "SELECT id, CAST(x'eda080' AS TEXT) AS name, mail FROM staff", "bytes that are not UTF-8"
    ),
    "a direction": Case("SELECT id, char(8238) || 'x' AS name, mail FROM staff", "bidirectional control"),
    "bytes in the name": Case(
        "SELECT CAST(id AS BLOB) AS id, name, mail FROM staff", "the cell contains bytes"
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_hostile_statement_ends_in_a_sentence_and_changes_nothing(
    project: Project, tmp_path: Path, name: str
) -> None:
    """Nothing is declared from it, the file is as it was, and nothing lies beside it."""
    case, path = STATEMENTS[name], database(tmp_path / "hr.db", people(3))
    before = path.read_bytes()
    timeout_s = 0.2 if "timeout" in case.said else 20.0

    loaded = takes_from(project, sql(f"sqlite:///{path}", case.statement, timeout_s)).load()

    assert case.said in " | ".join(problem.what for problem in loaded.problems)
    assert all(problem.next for problem in loaded.problems)
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["hr.db", "project"]


def _missing(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _no_database(path: Path) -> None:
    path.write_bytes(b"id,name,mail\n" * 200)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (_missing, "is not a file"),
    "a folder": (_folder, "is not a file"),
    "no database": (_no_database, "the file is not an SQLite database"),
    "empty": (_empty, "no such table"),
    "cut": (_cut, "the file is damaged"),
    "overwritten": (_overwritten, "the file is damaged"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_hostile_file_ends_in_a_sentence(project: Project, tmp_path: Path, name: str) -> None:
    harm, said = FILES[name]
    path = database(tmp_path / "hr.db", people(400))
    harm(path)

    (problem,) = takes_from(project, sql(f"sqlite:///{path}")).load().problems

    assert problem.what.startswith(f"the directory staff ({AT}) cannot be read: ")
    assert said in problem.what
    assert problem.where == "manifests/ops.yaml:4:5"


URLS = {
    "no URL": ("hr.db", "its url is not that of a database"),
    "empty": ("", "its url is not that of a database"),
    "memory": ("sqlite://", "its url names no file"),
    "memory by name": ("sqlite:///:memory:", "its url names no file"),
    "an option": ("sqlite:///hr.db?mode=rwc", "its url names no file"),
    "an unknown database": ("clay://localhost/hr", "what speaks clay is not installed here"),
    "a missing driver": ("mysql+pymysql://localhost/hr", "what speaks mysql+pymysql is not installed here"),
    "a missing usual driver": ("oracle://localhost/hr", "what speaks oracle is not installed here"),
    "another driver of PostgreSQL": ("postgresql+psycopg2://localhost/hr", "names the driver psycopg2"),
    "another name of PostgreSQL": ("postgres+clay://localhost/hr", "names the driver clay"),
    "another driver of SQLite": ("sqlite+aiosqlite:///hr.db", "names the driver aiosqlite"),
    "the usual driver of SQLite": ("sqlite+pysqlite:///made.db", "names the driver pysqlite"),
    "a port that is none": ("mysql+pymysql://localhost:x/hr", "its url is not that of a database"),
    "postgresql without a database": ("postgresql://localhost", "is not user, host, port and database"),
    "postgresql with an option of ours": ("postgresql://localhost/hr?options=-c", "not one of ours"),
    "postgresql with a weaker proof": ("postgresql:///hr?sslmode=clay", "an unknown sslmode"),
    "postgresql on no port": ("postgresql://127.0.0.1:1/hr", "it cannot be reached"),
    "a password that is one": (
        "mysql+clay://canary:secret-canary@localhost/hr",
        "mysql+clay is not installed",
    ),
}


@pytest.mark.parametrize("name", URLS)
def test_every_hostile_url_ends_in_a_sentence_without_it(name: str) -> None:
    """It may hold a password, which nobody has taken apart yet."""
    url, said = URLS[name]

    with pytest.raises(DirectoryFailed) as caught:
        read_sql("staff", sql(url), rows_max=9)

    assert said in str(caught.value)
    assert "canary" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the file as a process that is writing does."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.close()


def test_a_locked_database_is_waited_for_no_longer_than_the_limit(tmp_path: Path) -> None:
    path = database(tmp_path / "hr.db", people(1))
    with _held(path), pytest.raises(DirectoryFailed, match="another process has locked the file"):
        read_sql("staff", sql(f"sqlite:///{path}", timeout_s=0.1), rows_max=9)


def test_a_limit_of_time_counts_for_the_whole_answer(tmp_path: Path) -> None:
    """Rows that arrive one by one must not renew it."""
    path = database(tmp_path / "hr.db")
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
    began = time.monotonic()

    with pytest.raises(DirectoryFailed, match="timeout_s"):
        read_sql("staff", sql(f"sqlite:///{path}", endless, 0.2), rows_max=10**9)

    assert time.monotonic() - began < 15


def test_more_rows_than_the_limit_are_none_at_all(tmp_path: Path) -> None:
    path = database(tmp_path / "hr.db", people(11))
    with pytest.raises(DirectoryFailed, match="more than 10 rows"):
        read_sql("staff", sql(f"sqlite:///{path}"), rows_max=10)


def test_a_file_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    """A copy that a nightly job leaves belongs to somebody else."""
    path = database(tmp_path / "hr.db", people(2))
    path.chmod(stat.S_IRUSR)

    assert len(read_sql("staff", sql(f"sqlite:///{path}"), rows_max=9).rows) == 2


def test_a_view_cannot_call_what_has_effects(tmp_path: Path) -> None:
    """A schema is data: whoever wrote the file decides what a view calls."""
    path = database(
        tmp_path / "hr.db", people(1), "CREATE VIEW all_staff AS SELECT * FROM pragma_user_version"
    )
    with pytest.raises(DirectoryFailed):
        read_sql("staff", sql(f"sqlite:///{path}", "SELECT * FROM all_staff"), rows_max=9)


def test_a_reader_that_is_not_installed_says_what_brings_it() -> None:
    from reconciler.directories import answers  # noqa: PLC0415 - its table is looked into

    assert set(answers._READER_NAMES) == set(answers._PLACE_PREFIXES)
    assert read_directory.__module__ == answers.__name__
