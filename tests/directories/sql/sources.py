"""A database of SQLite to ask, and a project whose one roster takes from it."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from manifest.project import Project

from reconciler.model.directories import DirectorySetting, SqlDirectory
from reconciler.model.documents import Place
from reconciler.model.secrets import Secret

ROSTER = """rosters:
  - directory: staff
    name: "{id}"
    contacts: {firstName: "{name}", lastName: Doe, workEmailAddress1: "{mail}"}
"""
STATEMENT = "SELECT id, name, mail FROM staff"
AT = Place("reconciler.yaml", 4, 3)


def database(path: Path, rows: Iterable[tuple[object, ...]] = (), *more: str) -> Path:
    """Write a database with a table of people, id, name and mail, and carry out more statements."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE staff (id, name, mail)")
        connection.executemany("INSERT INTO staff VALUES (?, ?, ?)", rows)
        for statement in more:
            connection.execute(statement)
    return path


def people(count: int, start: int = 1) -> list[tuple[object, ...]]:
    """Return so many people."""
    return [(number, f"Jane {number}", f"jane{number}@example.com") for number in range(start, start + count)]


def sql(url: str, statement: str = STATEMENT, timeout_s: float = 20.0) -> SqlDirectory:
    """Return a directory of this database."""
    return SqlDirectory(Secret(url), statement, timeout_s=timeout_s)


def takes_from(project: Project, directory: SqlDirectory, roster: str = ROSTER) -> Project:
    """Return the project with a manifest whose roster is the directory `staff`."""
    project.directories["staff"] = DirectorySetting(directory, AT)
    project.manifest(roster)
    return project
