"""How a run ended: counts, time, calls, and what names it in a history.

Belongs here: the overview of a run. Not here: its outcomes one by one (entries.py).
"""

from collections.abc import Iterator
from datetime import datetime

from reconciler.model.runs import Run
from reconciler.report.html.markup import Html, text
from reconciler.report.lines import count
from reconciler.report.phrases import WORST_FIRST

_TONES = {"in doubt": "bad", "failed": "bad", "applied": "good"}


def overview(run: Run) -> Html:
    """Return the run as facts: outcomes, time, calls by method, and how close looks and writes were."""
    facts = "".join(f"<div><dt>{text(name)}</dt><dd>{value}</dd></div>" for name, value in _facts(run))
    stopped = f"<p class=alert><b>Stopped:</b> {text(run.stopped)}</p>" if run.stopped else ""
    return Html(
        f"<section class=run aria-labelledby=h-run><h2 id=h-run>The run</h2>{stopped}"
        f"<dl class=facts>{facts}</dl></section>"
    )


def _facts(run: Run) -> Iterator[tuple[str, Html]]:
    ended = "".join(
        f'<em class="{_TONES.get(result, "fair")}">{run.count(result):,} {text(result)}</em> '
        for result in WORST_FIRST
        if run.count(result)
    )
    yield "Outcome", Html(f"{text(run.outcome)} {ended}".strip())
    yield "Time", text(_time(run))
    yield "Calls", text(_calls(run))
    if run.gap:
        again = f"; {count(run.gap.looked_again, 'write')} held back" if run.gap.looked_again else ""
        yield (
            "From look to write",
            text(f"median {run.gap.median_ms:g} ms, 99 % within {run.gap.p99_ms:g} ms{again}"),
        )
    if run.adopted or run.records:
        yield "Records", text(f"{run.records:,} kept, {run.adopted:,} adopted")
    yield from _names(run)


def _names(run: Run) -> Iterator[tuple[str, Html]]:
    names = {
        "Run": run.run,
        "Resumes": run.resumes,
        "Program": run.context.program,
        "Commit": run.context.commit,
        "Trace": run.context.trace_id,
        "History": run.audit_head,
    }
    for name, value in names.items():
        if value:
            yield name, Html(f"<code>{text(value)}</code>")


def _calls(run: Run) -> str:
    kinds = ", ".join(f"{number:,} {method}" for method, number in sorted(run.calls.items()) if number)
    total = count(sum(run.calls.values()), "call")
    return f"{total} ({kinds})" if kinds else total


def _time(run: Run) -> str:
    span = " to ".join(filter(None, [moment(run.started_at), moment(run.ended_at)]))
    try:
        took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    except (ValueError, TypeError):  # an imported report may lack a time, or its zone
        return span
    return f"{took.total_seconds():,.1f} s ({span})"


def moment(at: str) -> str:
    """`2026-03-02 09:30:00 UTC`, of a time as plans and runs have it."""
    if at.endswith(("Z", "+00:00")):
        bare = at.removesuffix("Z").removesuffix("+00:00").partition(".")[0]
        return f"{bare.replace('T', ' ', 1)} UTC"
    return at
