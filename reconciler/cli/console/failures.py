"""How an error is shown: as lines for people, as JSON for programs.

Belongs here: the form. Not here: printing (output.py), and which errors there are (errors.py). Imported where
an error is shown: it loads what a command that succeeds may not need.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from reconciler.cli.console import streams
from reconciler.cli.console.excerpts import Excerpts
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
from reconciler.model.runs import REPORT_VERSION
from reconciler.report.lines import Line, line, sentence

usage_code = "E064"  # of a command line that cannot be read, which is no class of errors.py
problems_max = 1000  # mistakes shown of one run; a terminal keeps no more lines


def error_lines(error: ReconcilerError, *, columns: int = 0) -> tuple[Line, ...]:
    """Problems first, in file order; then the sentence with its code, its reasons and what to do.

    Below a problem stands the line of its file, in so many columns (0: it is no terminal).
    """
    shown: list[Line] = []
    problems = _problems(error)
    excerpts = _excerpts(error, columns) if problems else None
    for problem in problems[:problems_max]:
        what = f"{problem.what} [{problem.code}]"
        said = sentence(f"{problem.where}: ", what, problem.next, style="bold")
        shown += [said[0], *(excerpts.of(problem) if excerpts else ()), *said[1:]]
    if len(problems) > problems_max:
        shown.append(line(f"and {len(problems) - problems_max:,} more"))
    said = sentence("", f"{error} [{error.error_code}]", "")
    if isinstance(error, UnsafePlan):
        said += [line(f"  {reason}") for reason in error.reasons if reason not in str(error)]
    if isinstance(error, ProgramError):
        said += [line(f"  {place}") for place in error.places]
    if error.next:
        said.append(line(("  next: ", "bold"), error.next))
    return (*shown, *said)


def error_json(error: ReconcilerError) -> str:
    """Return the form of every error with --format json (schemas/output/error.schema.json).

    `code` is that of model/codes; each problem has one of its own, and the service's stands in `error`.
    Where there are more than 1,000 problems, `more` says how many are left out.
    """
    about: dict[str, Any] = {"kind": type(error).__name__, "message": str(error), "next": error.next}
    if isinstance(error, ServiceError):
        about |= {"method": error.method, "path": error.path, "status": error.status, "code": error.code}
    if isinstance(error, UnsafePlan):
        about["reasons"] = error.reasons
    if isinstance(error, ProgramError):
        about["places"] = error.places
    if isinstance(error, LockHeld) and error.running is not None:
        about["running"] = error.running
    return _encoded(error.outcome, error.exit_code, error.error_code, about, _problems(error))


def usage_json(sentence: str, hint: str) -> str:
    """Return a mistake in the command line itself in the same form."""
    return _encoded("usage", 64, usage_code, {"kind": "UsageError", "message": sentence, "next": hint}, ())


def _excerpts(error: ReconcilerError, columns: int) -> Excerpts:
    # Manifests and rosters are named from the folder of the settings, all other files from where we are.
    root = streams.project() if isinstance(error, ManifestError | DirectoryError) else ""
    return Excerpts(
        _problems(error)[:problems_max], folder=Path(root), since=streams.began_at(), columns=columns
    )


def _problems(error: ReconcilerError) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, InputError | DirectoryError) else ()


def _encoded(
    outcome: str, exit_code: int, code: str, about: Mapping[str, Any], problems: tuple[Problem, ...]
) -> str:
    whole: dict[str, Any] = {
        "version": REPORT_VERSION,
        "outcome": outcome,
        "exit_code": exit_code,
        "code": code,
        "error": about,
        "problems": [asdict(one) for one in problems[:problems_max]],
    }
    if len(problems) > problems_max:
        whole["more"] = len(problems) - problems_max
    return msgspec.json.format(msgspec.json.encode(_legible(whole)), indent=2).decode()


def _legible(node: Any) -> Any:
    """Return the same with texts that JSON can hold: the document of an error comes whatever is wrong."""
    match node:
        case str():
            return escape_undecodable(node)
        case dict():
            return {key: _legible(below) for key, below in node.items()}
        case list() | tuple():
            return [_legible(below) for below in node]
        case _:
            return node
