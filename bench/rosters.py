"""The same people in rosters of each form that needs no server: what `validate` costs, read anew each time.

    .venv/bin/python bench/rosters.py 100000

CSV, a list of objects in JSON, and a table of SQLite. The runs take turns; each row is the median of five,
the memory the highest. Prints a table.
"""

import csv
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from people import PLAIN, people
from processes import Measured, reconciler

_RUNS = 5
_COLUMNS = (*PLAIN, "employeeId")
_SETTINGS = """\
version: 1
directories:
  staff: {sql: {url: "sqlite:///people.db", statement: "SELECT * FROM people"}}
"""
_SOURCES = {
    "CSV": "file: ../people.csv",
    "JSON": "file: ../people.json",
    "SQLite": "directory: staff",
}


def _csv(folder: Path, count: int) -> None:
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS)
        writer.writeheader()
        writer.writerows(people(count))


def _json(folder: Path, count: int) -> None:
    (folder / "people.json").write_text(json.dumps([*people(count)]), encoding="utf-8")


def _sqlite(folder: Path, count: int) -> None:
    with closing(sqlite3.connect(folder / "people.db")) as connection, connection:
        connection.execute(f"CREATE TABLE people ({', '.join(_COLUMNS)})")
        rows = ([row[column] for column in _COLUMNS] for row in people(count))
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(_COLUMNS))})", rows)  # noqa: S608 - our own names


_WRITERS: Mapping[str, Callable[[Path, int], None]] = {"CSV": _csv, "JSON": _json, "SQLite": _sqlite}


def _manifest(source: str) -> str:
    fields = "".join(f'      {key}: "{{{key}}}"\n' for key in PLAIN)
    own = '      custom: {employeeId: "{employeeId}"}\n'
    return (
        f"version: 1\nworkspace: default\nrosters:\n- {source}\n"
        f'  name: "e{{employeeId}}"\n  contacts:\n{fields}{own}'
    )


def _validated(folder: Path, form: str) -> Measured:
    (folder / "manifests" / "people.yaml").write_text(_manifest(_SOURCES[form]), encoding="utf-8")
    return reconciler(folder, "validate", "--no-cache")


def main() -> None:
    """Print what each form costs."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "manifests").mkdir()
        (folder / "reconciler.yaml").write_text(_SETTINGS, encoding="utf-8")
        for write in _WRITERS.values():
            write(folder, count)
        turns = [{form: _validated(folder, form) for form in _SOURCES} for _ in range(_RUNS)]
    print("| people | roster in | seconds | CPU s | peak MiB |\n|---|---|---|---|---|")
    for form in _SOURCES:
        runs = [turn[form] for turn in turns]
        wall, cpu = median(one.wall_s for one in runs), median(one.cpu_s for one in runs)
        print(f"| {count:,} | {form} | {wall:.2f} | {cpu:.2f} | {max(one.peak_mib for one in runs):.0f} |")


if __name__ == "__main__":
    main()
