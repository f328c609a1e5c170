"""A finished run as lines: the counts, everything that did not end well with what to do, then the rest.

Not here: deciding outcomes or exit codes (engine/, docs/planning.md).
"""

from collections.abc import Sequence
from datetime import datetime

from reconciler.core.runs.recover import InterruptedRun, RunStatus, sort_out_run
from reconciler.model.plans import Change, action_of
from reconciler.model.runs import FieldResult, Gap, Outcome, Result, Run, Running
from reconciler.report.lines import ACTIONS, BLANK, Line, Style, count, flow, fold, line, pad, sentence, width
from reconciler.report.values import display_value, short_fingerprint

# Worst first: what a person has to look at stands on top.
_RESULTS: tuple[tuple[Result, str, Style], ...] = (
    ("in doubt", "?", "delete"),
    ("failed", "x", "delete"),
    ("conflict", "!", "warn"),
    ("skipped", "·", "warn"),
    ("not attempted", "·", "warn"),
    ("applied", "", ""),
)

# What a run that is not done asks for. Every step here looks before it writes, so none does a thing twice.
_NEXT = {
    "in doubt": "reconciler resume   (looks what became of it, and goes on; nothing is sent twice)",
    "stale": "reconciler plan   (shows what somebody else changed meanwhile)",
    "partial": "reconciler apply   (goes on with what is left; what is done is not done again)",
    "failed": "reconciler apply   (when the cause is mended; what is done is not done again)",
    "interrupted": "reconciler resume   (goes on with what is left; what is done is not done again)",
}

_head_columns = 50
_address_max = 64


def run_lines(run: Run, *, full: bool = False, verbose: bool = False) -> tuple[Line, ...]:
    """Return the whole run as lines. Every change is in it once: counted, and listed unless folded.

    `verbose` adds the lines with which it is traced: its ids, the head of the history, the gap of its writes.
    """
    lines: list[Line] = [_head(run), BLANK]
    if run.outcomes or run.adopted:
        lines += [*_counts(run), BLANK]
    for result, sign, style in _RESULTS:
        lines += _outcomes(run, result, sign, style, full=full)
    if run.outcomes:
        lines.append(BLANK)
    # The other notices stand with the plan, which is shown before the run begins.
    told = [notice for notice in run.notices if notice.kind == "ambiguous"]
    for one in told:
        lines += sentence("ambiguous: ", f"{one.subject} {one.what}", one.next)
    lines += [BLANK] if told else []
    if run.stopped:
        lines += [line(("stopped: ", "warn"), run.stopped), BLANK]
    lines += sentence("", _said(run), _NEXT.get(run.outcome, ""))
    return *lines, *(_trace_lines(run) if verbose else ())


def run_failure_lines(run: Run) -> tuple[Line, ...]:
    """Return what did not end well in a run, and what to do: for a log that does not hold its report."""
    lines: list[Line] = []
    for result, sign, style in _RESULTS:
        if result != "applied":
            lines += _outcomes(run, result, sign, style, full=False)
    told = [notice for notice in run.notices if notice.kind == "ambiguous"]
    for one in told:
        lines += sentence("ambiguous: ", f"{one.subject} {one.what}", one.next)
    lines += [line(("stopped: ", "warn"), run.stopped)] if run.stopped else []
    said = f"{run.outcome}: {_said(run)}"
    return (*lines, *sentence("", said, _NEXT.get(run.outcome, "")), line((f"run {run.run}", "dim")))


def _trace_lines(run: Run) -> list[Line]:
    """Return the ids of the run, the head of the history, and how soon its writes followed their looks."""
    code = short_fingerprint(run.fingerprint)
    trace = run.context.trace_id
    named = [("run", run.run), ("resumes", run.resumes), ("fingerprint", code), ("trace", trace)]
    told = ["   ".join(f"{word} {value}" for word, value in named if value)]
    told += [f"history {run.audit_head}"] if run.audit_head else []
    told += [_gap(run.gap)] if run.gap else []
    return [line((text, "dim")) for text in told]


def _gap(gap: Gap) -> str:
    again = f", {count(gap.looked_again, 'write')} held back" if gap.looked_again else ""
    return f"from look to write: median {gap.median_ms:g} ms, 99 % within {gap.p99_ms:g} ms{again}"


def _head(run: Run) -> Line:
    calls = count(sum(run.calls.values()), "call")
    kinds = ", ".join(f"{number:,} {method}" for method, number in sorted(run.calls.items()) if number)
    about = calls + (f" ({kinds})" if kinds else "") + _seconds(run)
    return line((pad(f"{run.outcome}", _head_columns), "bold"), "  ", (about, "dim"))


def _seconds(run: Run) -> str:
    try:
        took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    except (ValueError, TypeError):  # an imported report may lack a time, or its zone
        return ""
    seconds = round(took.total_seconds(), 1)  # most reports hold whole seconds
    return f", {seconds:,g} s" if seconds >= 1 else ", under 1 s"


def _counts(run: Run) -> list[Line]:
    parts: list[tuple[str, Style]] = [
        (f"{run.count(result):,} {result}", style) for result, _, style in _RESULTS if run.count(result)
    ]
    return flow([*parts, (f"{run.adopted:,} adopted", "")] if run.adopted else parts)


def _outcomes(run: Run, result: Result, sign: str, style: Style, *, full: bool) -> list[Line]:
    chosen = [outcome for outcome in run.outcomes if outcome.result == result]
    listed, rest = fold(chosen, full=full)
    at = min(max((width(outcome.address) for outcome in run.outcomes), default=0), _address_max)
    lines: list[Line] = []
    for alike in _alike(listed):
        *others, last = alike
        lines += [_headed(outcome, at, sign, style) for outcome in others]
        lines += _outcome(last, at, sign, style, alike=len(alike))
    return [*lines, *rest]


def _alike(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Return the outcomes with those together that say the same, but for the ids in it; in their order."""
    groups: dict[object, list[Outcome]] = {}
    for number, outcome in enumerate(outcomes):
        said = outcome.what
        for own in filter(None, (outcome.remote_id, str(outcome.address))):
            said = said.replace(own, "")
        same = (said, outcome.next.replace(str(outcome.address), ""), outcome.action)
        groups.setdefault(same if said and not outcome.fields else number, []).append(outcome)
    return list(groups.values())


def _headed(outcome: Outcome, at: int, sign: str, style: Style) -> Line:
    mark, colour = (sign, style) if sign else ACTIONS.get(outcome.action, (" ", ""))
    ended = outcome.action if outcome.result == "applied" else f"{outcome.action}, {outcome.result}"
    return line((f"{mark} ", colour), (pad(outcome.address, at), colour), "   ", (ended, "dim"))


def _outcome(outcome: Outcome, at: int, sign: str, style: Style, *, alike: int = 1) -> list[Line]:
    head = _headed(outcome, at, sign, style)
    fields = [_field(outcome.address.kind, field) for field in outcome.fields]
    if not outcome.what:
        return [head, *fields, *([line("    next: ", outcome.next)] if outcome.next else [])]
    these = f"each of these {alike:,}: " if alike > 1 else ""
    what, *step = sentence("", these + outcome.what, outcome.next, indent="    ")
    return [head, what, *fields, *step]


def _field(kind: str, field: FieldResult) -> Line:
    """Say what was sent and what the service shows instead."""
    sent = "nothing" if field.sent is None else display_value(kind, field.path, field.sent).text
    now = "nothing" if field.shown is None else display_value(kind, field.path, field.shown).text
    if field.taken:
        return line("      ", (f"{field.path}: ", "dim"), f"the service writes {sent} as {now}")
    return line("      ", (f"{field.path}: ", "warn"), f"sent {sent}, the service shows {now}")


def _said(run: Run) -> str:
    applied, planned = run.count("applied"), len(run.outcomes)
    if not planned:
        if run.outcome != "done":
            return "Nothing was written."
        kept = f"; {count(run.records, 'record')} kept" if run.records else ""
        return f"Nothing had to be written{kept}."
    if applied == planned:
        return f"{count(applied, 'change')} applied: the service now matches the plan."
    return f"{applied:,} of {count(planned, 'change')} applied."


# --- Runs that did not finish and what is left of them, and the run that still lasts: as lines and as JSON
#
# Not here: how far a run came (core/runs/recover.py), and what is done about it.


def unfinished_lines(runs: Sequence[InterruptedRun], next_step: str = "") -> tuple[Line, ...]:
    """Return for each run a sentence that says how far it came; `next_step` follows the last."""
    lines: list[Line] = []
    for number, run in enumerate(runs, start=1):
        lines += sentence("", _how_far(run), next_step if number == len(runs) else "")
    return tuple(lines)


def running_lines(running: Running) -> tuple[Line, ...]:
    """Say that a run has not ended, whose it is, its progress, and that the reader has to wait."""
    who = f"run {running.run} is writing now, by {running.holder}, since {running.since}: {running.how_far}."
    return tuple(sentence("", who, "wait until it ends, then plan again: what it still changes shows here"))


def standing_json(standing: RunStatus) -> dict[str, object]:
    """Return `running`, and `unfinished` with how many changes ended, are in doubt, never left."""
    return {"running": standing.running, "unfinished": tuple(_counted(run) for run in standing.left)}


def _counted(run: InterruptedRun) -> dict[str, object]:
    found = sort_out_run(run)
    return {
        "run": run.run,
        "command": run.command,
        "started_at": run.started_at,
        "ended": len(found.settled),
        "in_doubt": len(found.in_doubt),
        "never_sent": len(found.never_sent) if run.plan else None,
    }


def _how_far(run: InterruptedRun) -> str:
    found = sort_out_run(run)
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
