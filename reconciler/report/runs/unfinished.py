"""Runs that did not finish and what is left of them, and the run that still lasts: as lines and as JSON.

Not here: how far a run came (core/runs/recover.py), and what is done about it.
"""

from collections.abc import Sequence

from reconciler.core.runs.recover import Standing, Unfinished, recover
from reconciler.model.plans import Change, action_of
from reconciler.model.runs import Running
from reconciler.report.lines import Line, count, flow, fold, line, sentence


def unfinished_lines(runs: Sequence[Unfinished], next_step: str = "") -> tuple[Line, ...]:
    """Return for each run a sentence that says how far it came; `next_step` follows the last."""
    lines: list[Line] = []
    for number, run in enumerate(runs, start=1):
        lines += sentence("", _how_far(run), next_step if number == len(runs) else "")
    return tuple(lines)


def running_lines(running: Running) -> tuple[Line, ...]:
    """Say that a run has not ended, whose it is, its progress, and that the reader has to wait."""
    who = f"run {running.run} is writing now, by {running.holder}, since {running.since}: {running.how_far}."
    return tuple(sentence("", who, "wait until it ends, then plan again: what it still changes shows here"))


def standing_json(standing: Standing) -> dict[str, object]:
    """Return `running`, and `unfinished` with how many changes ended, are in doubt, never left."""
    return {"running": standing.running, "unfinished": tuple(_counted(run) for run in standing.left)}


def _counted(run: Unfinished) -> dict[str, object]:
    found = recover(run)
    return {
        "run": run.run,
        "command": run.command,
        "started_at": run.started_at,
        "ended": len(found.settled),
        "in_doubt": len(found.in_doubt),
        "never_sent": len(found.never_sent) if run.plan else None,
    }


def _how_far(run: Unfinished) -> str:
    found = recover(run)
    parts = [f"{len(found.settled):,} ended", f"{len(found.in_doubt):,} in doubt"]
    parts += [f"{len(found.never_sent):,} never sent"] if run.plan else []
    return f"run {run.run} ({run.command}, {run.started_at}) did not finish: {', '.join(parts)}."


def beyond_lines(changes: Sequence[Change], next_step: str, *, full: bool = False) -> tuple[Line, ...]:
    """Return what there would be to do besides what is resumed, and where to see it."""
    listed, rest = fold(changes, full=full)
    head = f"{count(len(changes), 'change')} that the old plan does not hold will not be made:"
    lines = [line((head, "warn"))]
    lines += [line("    ", (action_of(change), "dim"), "  ", str(change.address)) for change in listed]
    return *lines, *rest, *flow([(f"    next: {next_step}", "")])
