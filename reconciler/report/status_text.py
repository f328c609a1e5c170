"""How stacks stand, as text: a line for each that is not fine, the details of a single one, then counts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from reconciler.core.views.status import LastRun, StackStatus, StoreStatus
from reconciler.report.lines import BLANK, Line, Style, count, line, pad_text, table
from reconciler.report.values import moment_text

_commit_digits = 10  # what `git log --oneline` shows in large repositories
_name_columns = 14  # of the details

_STYLES: Mapping[str, Style] = {
    "in doubt": "delete",
    "failing": "delete",
    "stale": "delete",
    "unknown": "warn",
    "paused": "warn",
    "waiting": "warn",
    "out of sync": "warn",
    "progressing": "create",
    "healthy": "create",
    "synced": "create",
}


def status_lines(status: StoreStatus) -> tuple[Line, ...]:
    """Return what is not fine, the worst first; the details where there is one stack alone; and counts."""
    several = len({one.service for one in status.stacks}) > 1
    shown = chain.from_iterable(_stack_lines(one, several=several) for one in status.stacks if not one.fine)
    details = _detail_lines(status.stacks[0]) if len(status.stacks) == 1 else ()
    return *shown, *details, *([BLANK] if details else []), *_count_lines(status)


def attention_lines(status: StoreStatus) -> tuple[Line, ...]:
    """Return what needs somebody."""
    several = len({one.service for one in status.stacks}) > 1
    needed = (one for one in status.stacks if one.needs_somebody)
    return tuple(chain.from_iterable(_stack_lines(one, several=several) for one in needed))


def short_commit(commit: str) -> str:
    """Return the first digits of a commit, and what stands behind all of them: `+dirty`."""
    digits, plus, mark = commit.partition("+")
    return digits[:_commit_digits] + plus + mark


def describe_run(run: LastRun) -> str:
    """`apply, partial, 12 changes applied, 3 not`: without who it was."""
    counts = f", {count(run.applied, 'change')} applied" if run.applied or run.not_applied else ""
    rest = f", {run.not_applied:,} not" if run.not_applied else ""
    return f"{run.command}, {run.outcome}{counts}{rest}"


def _stack_lines(one: StackStatus, *, several: bool) -> Iterator[Line]:
    name = f"{one.stack} at {one.service}" if several else one.stack
    states = " and ".join(dict.fromkeys((one.health.state, one.sync.state)))
    found = one.finding
    since = f" since {moment_text(found.since)}" if found.since else ""
    why = f"{since}: {found.why}{_describe_wait(one)}" if found.why else since
    reason = f" ({found.reason})" if found.reason else ""
    yield line((name, "bold"), " is ", (states, _STYLES[found.state]), f"{why}{reason}.")
    if one.undelivered:
        yield line(f"  {count(one.undelivered, 'notification')} could not be delivered.")
    if found.next:
        yield line(("  next: ", "bold"), found.next)


def _describe_wait(one: StackStatus) -> str:
    """Say for whom or until when, where a stack waits or is paused."""
    if one.sync.state == "waiting" and one.waiting_for:
        return f" by {', '.join(one.waiting_for)}"
    return f" until {moment_text(one.paused_until)}" if one.paused_until else ""


def _detail_lines(one: StackStatus) -> Iterator[Line]:
    yield line((f"stack {one.stack}", "bold"), f" at {one.service}")
    last = f"{describe_run(one.runs[0])}, {moment_text(one.runs[0].started_at)}" if one.runs else "never"
    rows = {
        "sync": one.sync.state,
        "health": one.health.state,
        "commit": short_commit(one.commit) or "unknown",
        "last read": moment_text(one.last_read) or "never",
        "last good": moment_text(one.last_good) or "never",
        "last run": last,
        "next window": moment_text(one.next_window),
        "approvals": f"{one.approvals_open:,} open" if one.approvals_open else "",
    }
    for name, text in rows.items():
        if text:
            yield line("  ", (pad_text(name, _name_columns), "dim"), text)
    if len(one.workspaces) > 1:
        yield BLANK
        yield from _workspace_lines(one)


def _workspace_lines(one: StackStatus) -> Sequence[Line]:
    rows = [
        (each.workspace, each.sync.state, each.health.state, moment_text(each.last_read) or "never")
        for each in one.workspaces
    ]
    return table(("workspace", "sync", "health", "last read"), rows, "")


def _count_lines(status: StoreStatus) -> Iterator[Line]:
    """Return the counts: states that nobody is in are left out."""
    yield line(f"{count(len(status.stacks), 'stack')}.")
    for name, totals in (("health", status.health), ("sync", status.sync)):
        counted = ", ".join(f"{number:,} {state}" for state, number in totals.items() if number)
        yield line((f"{name}: ", "dim"), counted)
