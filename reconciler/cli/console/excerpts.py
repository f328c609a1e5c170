"""The lines of the author's files that an error shows. Imported where an error with problems is shown.

The one place that reads a file again after a mistake was found in it: each file once, regular files only, and
so much of all of them together. A file that is gone or was written since the command began is left out: its
lines are not those that were judged. What may be shown of a line is decided in report/project/excerpt.py.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from reconciler.errors import Problem
from reconciler.files.project_files import REFERENCE_BYTES_MAX, Unreadable, read_regular_file
from reconciler.manifest.rosters.delimited import delimiter_of, widths
from reconciler.model.documents import is_directory_row
from reconciler.report.lines import Line
from reconciler.report.project.excerpt import ShownLine, excerpt_lines, roster_excerpt, yaml_excerpt
from reconciler.schema.shipped import schema_resources

_bytes_max = 64 * 1024 * 1024  # of all files together: an error should be told within a second or two
_columns_most = 100  # of an excerpt, on a wider screen as well
_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # the line breaks of YAML
_SUFFIXES = (".yaml", ".yml", ".json", ".csv")


class Excerpts:
    """The excerpts of the problems of one error. `folder` is where their files are named from."""

    def __init__(self, problems: Iterable[Problem], *, folder: Path, since: float, columns: int) -> None:
        self._folder = folder
        self._since = since
        self._columns = min(columns or _columns_most, _columns_most)
        self._left = _bytes_max
        self._wanted: dict[str, set[int]] = {}
        for one in problems:
            named = one.line and one.column and not is_directory_row(one.file)
            if named and one.file.lower().endswith(_SUFFIXES):
                self._wanted.setdefault(one.file, set()).add(one.line)
        self._read: dict[str, Mapping[int, str] | tuple[str, Mapping[int, int]] | None] = {}

    def of(self, problem: Problem) -> tuple[Line, ...]:
        """Return the lines to show below a problem: none where there is nothing to show."""
        if problem.line not in self._wanted.get(problem.file, ()) or not problem.column:
            return ()
        shown = self._shown(problem)
        return excerpt_lines(problem.line, shown, columns=self._columns) if shown else ()

    def _shown(self, problem: Problem) -> ShownLine | None:
        if problem.file not in self._read:
            self._read[problem.file] = self._file(problem.file)
        found = self._read[problem.file]
        if isinstance(found, tuple):
            delimiter, cells = found
            return roster_excerpt(cells.get(problem.line, 0), problem.column, delimiter)
        text = found.get(problem.line) if found is not None else None
        if text is None:
            return None
        return yaml_excerpt(text, problem.column, said=f"{problem.what} {problem.next}", known=vocabulary())

    def _file(self, name: str) -> Mapping[int, str] | tuple[str, Mapping[int, int]] | None:
        """Return the lines that problems are about; of a roster its delimiter and the cells of these rows."""
        text = self._text(self._folder / name)
        if text is None:
            return None
        wanted = self._wanted[name]
        if name.lower().endswith(".csv"):
            return delimiter_of(text), widths(text, wanted)
        lines = _BREAKS.split(text)
        return {number: lines[number - 1] for number in wanted if number <= len(lines)}

    def _text(self, path: Path) -> str | None:
        try:
            if path.stat().st_mtime > self._since:
                return None
            data = read_regular_file(path, "the file", bytes_max=min(REFERENCE_BYTES_MAX, self._left))
            self._left -= len(data)
            return data.decode("utf-8-sig")
        except (OSError, ValueError, Unreadable):  # gone, no text, no path: the error is told without it
            return None


@cache
def vocabulary() -> frozenset[str]:
    """Return every name of a field that a shipped schema, or a kind of the project, has."""
    return frozenset(_fields(list(schema_resources().values())))


def _fields(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        properties = node.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for below in node.values():
            yield from _fields(below)
    elif isinstance(node, list):
        for below in node:
            yield from _fields(below)
