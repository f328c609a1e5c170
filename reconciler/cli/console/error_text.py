"""How an error is shown: as lines for people, as JSON for programs.

Imported where an error is shown: it loads what a command that succeeds may not need.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from reconciler.cli.results import CommandResult, Doc
from reconciler.core.text import escape_undecodable
from reconciler.errors import (
    DirectoryError,
    InputError,
    LockHeld,
    ManifestError,
    Problem,
    ProgramError,
    ReconcilerError,
    ServiceError,
    UnsafePlan,
)
from reconciler.files.project_files import REFERENCE_BYTES_MAX, Unreadable, read_regular_file
from reconciler.manifest.rosters.table import count_row_cells, detect_delimiter
from reconciler.model.documents import is_directory_row
from reconciler.model.runs import EXIT_CODE_WORDS, REPORT_VERSION, Running
from reconciler.report.excerpt import (
    ShownLine,
    excerpt_lines,
    may_hold_secret,
    roster_excerpt,
    whole_excerpt,
    yaml_excerpt,
)
from reconciler.report.lines import Line, line, sentence_lines
from reconciler.schema.shipped import schema_resources

# --- The lines of the author's files that an error shows ---------------------------------------------------
#
# The one place that reads a file again after a mistake was found in it: each file once, regular files only,
# and so much of all of them together. A file that is gone or was written since the command began is left out:
# its lines are not those that were judged. What may be shown of a line is decided in report/excerpt.py.


_bytes_max = 64 * 1024 * 1024  # of all files together: an error should be told within a second or two
_columns_most = 100  # of an excerpt, on a wider screen as well
_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # the line breaks of YAML
_SUFFIXES = (".yaml", ".yml", ".json", ".csv")


class Excerpts:
    """The excerpts of the problems of one error. `folder` is where their files are named from.

    `whole`: lines are shown as they are, unless they may hold a secret.
    """

    def __init__(
        self, problems: Iterable[Problem], *, folder: Path, since: float, columns: int, whole: bool = False
    ) -> None:
        self._whole = whole
        self._legible: dict[str, set[int]] = {}  # by file, the lines that are shown as they are
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
        if problem.line in self._legible.get(problem.file, ()):
            return whole_excerpt(text, problem.column)
        return yaml_excerpt(
            text, problem.column, said=f"{problem.what} {problem.next}", known=list_field_names()
        )

    def _file(self, name: str) -> Mapping[int, str] | tuple[str, Mapping[int, int]] | None:
        """Return the lines that problems are about; of a roster its delimiter and the cells of these rows."""
        text = self._text(self._folder / name)
        if text is None:
            return None
        wanted = self._wanted[name]
        if name.lower().endswith(".csv"):
            return detect_delimiter(text), count_row_cells(text, wanted)
        lines = _BREAKS.split(text)
        found = {number: lines[number - 1] for number in wanted if number <= len(lines)}
        if self._whole:
            self._legible[name] = {
                number
                for number, text in found.items()
                if text.replace("\t", "").isprintable() and not may_hold_secret(lines, number)
            }
        return found

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
def list_field_names() -> frozenset[str]:
    """Return every name of a field that a shipped schema, or a kind of the project, has."""
    return frozenset(_iterate_fields(list(schema_resources().values())))


def _iterate_fields(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        properties = node.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for below in node.values():
            yield from _iterate_fields(below)
    elif isinstance(node, list):
        for below in node:
            yield from _iterate_fields(below)


usage_code = "E064"  # of a command line that cannot be read, which is no class of errors.py
problems_max = 1000  # mistakes shown of one run; a terminal keeps no more lines


def error_lines(
    error: ReconcilerError, *, columns: int = 0, whole: bool = False, project: str = "", since: float = 0
) -> tuple[Line, ...]:
    """Problems first, in file order; then the sentence with its code, its reasons and what to do.

    Below a problem stands the line of its file, in so many columns (0: it is no terminal). `whole`: with its
    values, unless it may hold a secret; otherwise by its structure. Manifests are named from `project`. Of a
    file that was written after `since`, which is when the command began, no line is shown.
    """
    shown: list[Line] = []
    problems = _list_problems(error)
    # Manifests and rosters are named from the folder of the settings, all other files from where we are.
    folder = Path(project if isinstance(error, ManifestError | DirectoryError) else "")
    listed = problems[:problems_max]
    excerpts = (
        Excerpts(listed, folder=folder, since=since, columns=columns, whole=whole) if problems else None
    )
    for problem in listed:
        what = f"{problem.what} [{problem.code}]"
        said = sentence_lines(f"{problem.where}: ", what, problem.next, style="bold")
        shown += [said[0], *(excerpts.of(problem) if excerpts else ()), *said[1:]]
    if len(problems) > problems_max:
        shown.append(line(f"and {len(problems) - problems_max:,} more"))
    said = sentence_lines("", f"{error} [{error.error_code}]", "")
    if isinstance(error, UnsafePlan):
        said += [line(f"  {reason}") for reason in error.reasons if reason not in str(error)]
    if isinstance(error, ProgramError):
        said += [line(f"  {place}") for place in error.places]
    if error.next:
        said.append(line(("  next: ", "bold"), error.next))
    return (*shown, *said)


# --- The form of every error with --format json (schemas/output/error.schema.json) ------------------------


class ErrorShown(Struct):
    """What went wrong. The keys after `next` are those of some classes alone: KEYS_OF_CLASSES."""

    kind: str
    message: Annotated[str, Meta(min_length=1)]
    next: str
    method: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    status: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    code: str | UnsetType = UNSET
    reasons: tuple[str, ...] | UnsetType = UNSET
    places: tuple[str, ...] | UnsetType = UNSET
    running: Running | UnsetType | None = UNSET


class ErrorDocument(CommandResult, frozen=True, kw_only=True):
    """An error. `code` is that of model/codes; each problem has its own; the service's is in `error`."""

    title: ClassVar[str] = "An error"
    exit_codes: ClassVar[tuple[int, ...]] = tuple(code for code in EXIT_CODE_WORDS if code not in {0, 2})
    code: Annotated[str, Doc("What `reconciler explain` takes.")]
    error: Annotated[ErrorShown, Doc("")]
    problems: Annotated[tuple[Problem, ...], Doc("")]
    more: Annotated[Annotated[int, Meta(ge=1)] | UnsetType, Doc("How many problems are left out.")] = UNSET
    exits_with: int

    @property
    def exit_code(self) -> int:
        """That of the error."""
        return self.exits_with


# Attributes of a class of errors that are keys of its document.
KEYS_OF_CLASSES: tuple[tuple[type[ReconcilerError], tuple[str, ...]], ...] = (
    (ServiceError, ("method", "path", "status", "code")),
    (UnsafePlan, ("reasons",)),
    (ProgramError, ("places",)),
    (LockHeld, ("running",)),
)


def error_json(error: ReconcilerError) -> str:
    """Return an error as JSON text, also one with text that JSON cannot hold."""
    shown = ErrorShown(type(error).__name__, str(error), error.next)
    for kind, keys in KEYS_OF_CLASSES:
        if isinstance(error, kind):
            for key in keys:
                value = getattr(error, key)
                setattr(shown, key, UNSET if value is None else value)
    problems = _list_problems(error)
    left_out = len(problems) - problems_max
    return _encode_error(
        ErrorDocument(
            code=error.error_code,
            error=shown,
            problems=problems[:problems_max],
            more=left_out if left_out > 0 else UNSET,
            exits_with=error.exit_code,
        )
    )


def usage_json(sentence: str, hint: str) -> str:
    """Return a mistake in the command line itself in the same form."""
    shown = ErrorShown("UsageError", sentence, hint)
    return _encode_error(ErrorDocument(code=usage_code, error=shown, problems=(), exits_with=64))


def _encode_error(document: ErrorDocument) -> str:
    code = document.exit_code
    head = {"version": REPORT_VERSION, "outcome": EXIT_CODE_WORDS[code], "exit_code": code}
    whole = _make_encodable(msgspec.to_builtins({**head, **document.document()}))
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def _list_problems(error: ReconcilerError) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, InputError | DirectoryError) else ()


def _make_encodable(node: Any) -> Any:
    """Return the same with texts that JSON can hold: the document of an error comes whatever is wrong."""
    match node:
        case str():
            return escape_undecodable(node)
        case dict():
            return {key: _make_encodable(below) for key, below in node.items()}
        case list() | tuple():
            return [_make_encodable(below) for below in node]
        case _:
            return node
