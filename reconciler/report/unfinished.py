"""Runs that did not finish, and what is left of them, as lines.

Not here: how far a run came (core/recover.py), and what is done about it.
"""

from collections.abc import Sequence

from reconciler.core.recover import Unfinished, recover
from reconciler.model.changes import Change, action
from reconciler.report.lines import Line, count, flow, fold, line, sentence


def unfinished_lines(runs: Sequence[Unfinished], next_step: str = "") -> tuple[Line, ...]:
    """Return for each run a sentence that says how far it came; `next_step` follows the last."""
    lines: list[Line] = []
    for number, run in enumerate(runs, start=1):
        lines += sentence("", _how_far(run), next_step if number == len(runs) else "")
    return tuple(lines)


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
    lines += [line("    ", (action(change), "dim"), "  ", str(change.address)) for change in listed]
    return *lines, *rest, *flow([(f"    next: {next_step}", "")])
