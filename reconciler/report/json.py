"""Results as JSON text for other programs: the same bytes for the same value, never a secret.

Every document has `version`, `outcome` (a word) and `exit_code` (its number), paired as in
docs/planning.md. Characters that act on a terminal are escapes, so looking at a document is as safe as
reading it with a program. What may be long also comes in pieces of whole lines: it is never held as one.
The plan file is no report: it is `encode(plan, indent=2)` of model/encoding.py.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NewType

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from reconciler.core.feed import read_limit
from reconciler.core.review.drift import count_not_applied, drift_exit_code, find_drift
from reconciler.core.review.guard import list_agreements
from reconciler.core.runs.recover import InterruptedRun, RunStatus, sort_out_run
from reconciler.errors import Problem
from reconciler.model.encoding import encode_json_pieces
from reconciler.model.notices import Notice
from reconciler.model.plans import GuardReason, Plan, Verdict
from reconciler.model.runs import EXIT_CODE_WORDS, REPORT_VERSION, Run
from reconciler.report.escaping import escape_ci_commands_in_json, is_hidden
from reconciler.report.phrases import lookalike_values
from reconciler.report.review_document import Review, Validated


def report_json(about: Mapping[str, object], exit_code: int = 0) -> str:
    """Return `about` as JSON, beside `version`, `outcome` and `exit_code`. It must hold no Secret."""
    return "".join(report_pieces(about, exit_code))


def report_pieces(about: Mapping[str, object], exit_code: int = 0) -> Iterator[str]:
    """Yield the same in pieces, each of whole lines."""
    head = {"version": REPORT_VERSION, "outcome": EXIT_CODE_WORDS[exit_code], "exit_code": exit_code}
    return json_pieces({**head, **about})


def json_text(value: object, *, indent: int = 2) -> str:
    """Return any value as JSON, in which a character that acts on a terminal is an escape.

    Indented lines with a newline at the end; with `indent` 0 one line without.
    """
    return "".join(json_pieces(value, indent=indent))


def json_pieces(value: object, *, indent: int = 2) -> Iterator[str]:
    """Yield the same in pieces; indented ones are of whole lines."""
    return map(_escape_piece, encode_json_pieces(value, indent=indent))


def _escape_piece(piece: bytes) -> str:
    # Looking at each character by itself would take longer than all the rest.
    return _not_ascii.sub(_escape_hidden, piece.decode())


_not_ascii = re.compile("[^\n -~]")


def _escape_hidden(found: re.Match[str]) -> str:
    """JSON knows only escapes of 16 bits: a character beyond them takes two."""
    if not is_hidden(found[0]):
        return found[0]
    units = found[0].encode("utf-16-be").hex()
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))


# --- Plans, runs, drift and problems ---------------------------------------------------------------


# Of a plan: with its salt the masks of secrets could be tried out; what `drift` lacks is no part of a plan.
NOT_SHOWN = frozenset({"salt", "unapplied"})


PlanFields = NewType("PlanFields", dict[str, Any])  # of a plan, those that are shown

# A number that is never negative.
_Natural = Annotated[int, Meta(ge=0)]


class PlanCounts(Struct):
    """What a plan holds, in numbers. Of strangers and calls a plan from a file says nothing."""

    creates: _Natural
    updates: _Natural
    deletes: _Natural
    unchanged: _Natural
    adopted: _Natural
    renamed: _Natural
    forgotten: _Natural
    skipped: _Natural
    notices: _Natural
    records: _Natural
    protected: _Natural
    # Of the moment (core/review/saved_plans.py): no file holds them.
    unmanaged: _Natural | UnsetType = UNSET
    calls: _Natural | UnsetType = UNSET
    calls_avoided: _Natural | UnsetType = UNSET


class VerdictShown(Struct):
    """Whether the guard lets a plan pass, and why not."""

    safe: bool
    reasons: tuple[GuardReason, ...]


def plan_values(plan: Plan, verdict: Verdict, standing: RunStatus | None = None) -> dict[str, Any]:
    """Return the document of a plan: its fields, its counts, the guard's verdict, what looks like a rename.

    With `standing` also who writes right now, or null, and the runs that did not finish: `running` and
    `unfinished`. A plan from a file says nothing of that.

    The plan is as in its file but for `salt`: without it the masks of secrets cannot be tried out
    against guesses, and reports travel further than plan files do.
    """
    every = structs.asdict(plan).items()
    agreed = list_agreements(plan)
    unfinished = tuple(_unfinished_values(run) for run in standing.left) if standing else ()
    return {
        **({"agreements": agreed} if agreed else {}),
        "plan": PlanFields({name: one for name, one in every if name not in NOT_SHOWN and one is not UNSET}),
        "counts": count_plan(plan),
        "lookalikes": lookalike_values(plan),
        "as_far_as_read": read_limit(plan.reads),
        "verdict": VerdictShown(verdict.safe, verdict.reasons),
        **({"running": standing.running, "unfinished": unfinished} if standing else {}),
    }


def _unfinished_values(run: InterruptedRun) -> dict[str, object]:
    found = sort_out_run(run)
    return {
        "run": run.run,
        "command": run.command,
        "started_at": run.started_at,
        "ended": len(found.settled),
        "in_doubt": len(found.in_doubt),
        "never_sent": len(found.never_sent) if run.plan else None,
    }


def plan_json(plan: Plan, verdict: Verdict, code: int, standing: RunStatus | None = None) -> str:
    """Return the document of a plan as text."""
    return "".join(plan_pieces(plan, verdict, code, standing))


def plan_pieces(plan: Plan, verdict: Verdict, code: int, standing: RunStatus | None = None) -> Iterator[str]:
    """Yield the same in pieces."""
    return report_pieces(plan_values(plan, verdict, standing), code)


def count_plan(plan: Plan) -> PlanCounts:
    """Count what the plan holds."""
    counted = PlanCounts(
        creates=plan.count("create"),
        updates=plan.count("update"),
        deletes=plan.count("delete"),
        unchanged=sum(plan.unchanged.values()),
        adopted=len(plan.adoptions),
        renamed=len(plan.renames),
        forgotten=len(plan.gone) + len(plan.forgotten),
        skipped=len(plan.skips),
        notices=len(plan.notices),
        records=plan.to_keep,
        protected=sum(1 for skip in plan.skips if skip.reason == "protected"),
    )
    if plan.counted:
        counted.unmanaged = sum(plan.unmanaged.values())
        counted.calls = sum(read.calls for read in plan.reads)
        counted.calls_avoided = sum(read.avoided for read in plan.reads)
    return counted


def run_json(run: Run) -> str:
    """Return the run as schemas/run.schema.json describes it; `decode(..., Run)` reads it back."""
    return "".join(run_pieces(run))


def run_pieces(run: Run) -> Iterator[str]:
    """Yield the same."""
    return json_pieces({"version": REPORT_VERSION, **structs.asdict(run)})


def drift_values(plan: Plan) -> dict[str, Any]:
    """Return the document of what others changed."""
    return {
        "target": plan.target,
        "created_at": plan.created_at,
        "drifts": tuple(find_drift(plan)),
        "notices": plan.notices,
        "outside": plan.outside,
        "unapplied": plan.unapplied or (),
        "not_planned": plan.left_out,
        "not_applied_yet": count_not_applied(plan),
        "as_far_as_read": read_limit(plan.reads),
    }


def drift_json(plan: Plan) -> str:
    """Return the same as text. The exit code is 1 where nothing was compared, 2 for drift, else 0."""
    return "".join(drift_pieces(plan))


def drift_pieces(plan: Plan) -> Iterator[str]:
    """Yield the same in pieces."""
    return report_pieces(drift_values(plan), drift_exit_code(plan))


def problems_json(problems: Sequence[Problem], code: int = 3, *, notices: Sequence[Notice] = ()) -> str:
    """Return every problem of the input with its place, and the notices; exit code 0 without problems."""
    about = {"problems": tuple(problems), "notices": tuple(notices)}
    return report_json(about, code if problems else 0)


# --- `--report json=FILE`: what `--format json` prints (schemas/output/, schemas/run.schema.json) ---


def review_json(review: Review) -> str:
    """Return the run where there was one, else the drift or the plan; values included."""
    return "".join(review_json_pieces(review))


def review_json_pieces(review: Review) -> Iterator[str]:
    """Yield the same, in pieces of whole lines."""
    if review.run is not None:
        pieces = run_pieces(review.run)
    elif review.command == "drift":
        pieces = drift_pieces(review.plan)
    else:
        pieces = plan_pieces(review.plan, review.verdict, review.exit_code)
    return map(escape_ci_commands_in_json, pieces)  # an order stands within one line


def json_of_checks(result: Validated) -> str:
    """Return what `validate --format json` prints of good manifests; of others with their problems."""
    text = problems_json(result.problems, notices=result.notices)
    return escape_ci_commands_in_json(text).rstrip("\n") + "\n"
