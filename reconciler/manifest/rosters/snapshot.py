"""The answer of a directory as a CSV file for git, sorted so that a diff shows who joins and who leaves.

The law: a roster of this file declares what the same roster of the directory declares, except for places. A
column with a cell that is not text is left out; a roster of the directory could not use it either. Cells are
not changed, even where a spreadsheet would take one for a formula: this file is for git. Bytes in, bytes out.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from reconciler.core.text import fold_case
from reconciler.errors import ManifestError, Problem
from reconciler.manifest.rosters.roster import RowTemplate, compile_template
from reconciler.manifest.rosters.table import RosterTable, read_csv
from reconciler.manifest.sources import find_manifests, read_manifest
from reconciler.parsing.display import is_secret_path
from reconciler.parsing.tree import read_tree


class Snapshot(Struct, frozen=True):
    """The file, the number of its rows, and the columns left out: what their cells hold, and how many."""

    data: bytes
    rows: int
    left_out: Mapping[str, tuple[str, int]] = {}


class SnapshotChange(Struct, frozen=True):
    """How many rows are added and removed. `alike`: both have the same columns; else they are not counted."""

    alike: bool
    come: int = 0
    go: int = 0


def build_snapshot(table: RosterTable, before: bytes = b"", *, secret: Collection[str] = ()) -> Snapshot:
    """Return the file of a table without mistakes; empty where all columns are left out.

    Columns whose titles are in `secret` are left out. The order of columns is that of `before` where it has
    the same ones: a SCIM service promises no order.
    """
    unusable: dict[int, list[str]] = {}
    for cells in table.unusable.values():
        for index, what in cells.items():
            unusable.setdefault(index, []).append(what)
    kept = [
        index for index, title in enumerate(table.header) if index not in unusable and title not in secret
    ]
    there = read_csv(before, "before").header if before else ()
    if sorted(there) == sorted(table.header[index] for index in kept):
        kept = [table.header.index(title) for title in there]
    left_out = {table.header[index]: (whats[0], len(whats)) for index, whats in sorted(unusable.items())}
    rows = sorted([cells[index] for index in kept] for _, cells in table.rows)
    header = [table.header[index] for index in kept]
    return Snapshot(_write_csv(header, rows) if kept else b"", len(rows), left_out)


def compare_snapshots(before: bytes, after: bytes, name: str) -> SnapshotChange:
    """Return how many rows differ between two versions of the file called `name`."""
    old, new = read_csv(before, name), read_csv(after, name)
    if old.problems or old.header != new.header:
        return SnapshotChange(alike=False)
    were, are = (Counter(tuple(cells) for _, cells in one.rows) for one in (old, new))
    return SnapshotChange(True, (are - were).total(), (were - are).total())


def _write_csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    # The first line decides the delimiter, so a semicolon in it is quoted. Python does not quote a carriage
    # return, which readers take for the end of a line.
    for number, cells in enumerate((header, *rows)):
        ends = "\r" if number else ";"
        (quoted if any(ends in cell for cell in cells) else plain).writerow(cells)
    return text.getvalue().encode()


# --- Columns that fill secret fields: they are never written to the file --------------------------


def find_secret_columns(
    sources: Sequence[Path], root: Path, directory: str, header: Sequence[str], into: Path
) -> Mapping[str, str]:
    """Return the columns that fill a secret field of any roster of this directory, each with that field.

    A roster of a file counts too if the file has the name of the directory or is `into`, where the snapshot
    goes. Raises ManifestError where a manifest cannot be read, because its rosters are then unknown.
    """
    files, _ = find_manifests(sources, root)  # a folder without manifests has no rosters
    found: dict[str, str] = {}
    for source in files:
        data = read_manifest(source)
        tree = data if isinstance(data, Problem) else read_tree(data, source.name)
        broken = (tree,) if isinstance(tree, Problem) else tree.problems
        if broken or isinstance(tree, Problem):
            what = f"no snapshot for {directory} was written: a manifest that may use secrets cannot be read."
            raise ManifestError(what, problems=broken)
        for field, column in _list_secret_columns(tree.value, directory, header, source.path.parent, into):
            found.setdefault(column, field)
    return found


def _list_secret_columns(
    value: Mapping[str, Any], directory: str, header: Sequence[str], folder: Path, into: Path
) -> Iterator[tuple[str, str]]:
    rosters = value.get("rosters")
    for entry in rosters if isinstance(rosters, list) else ():
        if isinstance(entry, dict) and _uses_directory(entry, directory, folder, into):
            for path, text in _iterate_texts(entry.get("contacts"), ()):
                template = (
                    compile_template(text, header, secret=True)
                    if is_secret_path(("contacts", *path))
                    else None
                )
                if isinstance(template, RowTemplate):
                    yield from ((".".join(path), header[column]) for column in template.columns)


def _uses_directory(entry: Mapping[str, Any], directory: str, folder: Path, into: Path) -> bool:
    if entry.get("directory") == directory:
        return True
    file = entry.get("file")
    if not isinstance(file, str) or not file or "\0" in file:
        return False
    # On file systems that ignore letter case, both spellings are one file.
    meant, there = (str((folder / file).resolve()), str(into.resolve()))
    return Path(file).stem == directory or fold_case(meant) == fold_case(there)


def _iterate_texts(node: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, dict):
        for key, below in node.items():
            yield from _iterate_texts(below, (*path, str(key)))
    elif isinstance(node, str):
        yield path, node
