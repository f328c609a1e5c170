"""The numbers of a plan, of a drift and of a run: one table of metrics, and its text for Prometheus.

Numbers and words of the program only: no address, name or value. Each is a gauge, because a command ends and
its counts do not go on. Every number that an alert needs is there also when it is zero: what is
absent raises no alarm. Traces and metrics of a run use the same table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, get_args

from reconciler.core.review.drift import count_not_applied, find_drift
from reconciler.core.views.status import HEALTH_STATES, SYNC_STATES, StackStatus, StoreStatus
from reconciler.model.plans import ACTION_WORDS, SkipReason, action_of
from reconciler.model.runs import Result
from reconciler.model.snapshots import Scope
from reconciler.report.escaping import escape_control
from reconciler.report.review_document import Review, Validated

Labels = Mapping[str, str]
Series = tuple[Labels, float]


class Metric(NamedTuple):
    """A name in snake case that ends in its unit, if it has one; a help that is always the same; series."""

    name: str
    description: str
    series: tuple[Series, ...]


def metrics_of(review: Review) -> Iterator[Metric]:
    """Yield the metrics of a plan, of a drift, and of the run where there was one; none is without series."""
    common = {"stack": review.plan.target.stack, "command": review.command}
    for name, (description, series) in METRICS.items():
        found = tuple(({**common, **labels}, value) for labels, value in series(review))
        if found:
            yield Metric(name, description, found)


# What each metric is made of.


def _end_series(review: Review) -> Iterator[Series]:
    moment = review.run.ended_at if review.run else review.plan.created_at
    if moment:
        yield {}, _parse_seconds(moment)


def _change_series(review: Review) -> Iterator[Series]:
    """Of every kind and workspace that was read or is changed."""
    planned = Counter((Scope.of(one.address), action_of(one)) for one in review.plan.changes)
    scopes = {one.scope for one in review.plan.reads} | {scope for scope, _ in planned}
    for scope in sorted(scopes):
        for word in ACTION_WORDS.values():
            labels = {"kind": scope.kind, "workspace": scope.workspace, "action": word}
            yield labels, planned[scope, word]


def _drift_series(review: Review) -> Iterator[Series]:
    if review.command == "drift":
        yield {}, len(find_drift(review.plan))


def _unapplied_series(review: Review) -> Iterator[Series]:
    if review.command == "drift":
        yield {}, len(review.plan.unapplied or ())


def _not_applied_series(review: Review) -> Iterator[Series]:
    if review.command == "drift":
        yield {}, count_not_applied(review.plan)


def _left_alone_series(review: Review) -> Iterator[Series]:
    counted = Counter(one.reason for one in review.plan.skips)
    yield from (({"reason": reason}, counted[reason]) for reason in get_args(SkipReason))


def _outcome_series(review: Review) -> Iterator[Series]:
    if review.run is not None:
        counted = Counter(one.result for one in review.run.outcomes)
        yield from (({"result": result}, counted[result]) for result in get_args(Result))


def _call_series(review: Review) -> Iterator[Series]:
    if review.run is not None:
        yield from (({"method": method}, number) for method, number in sorted(review.run.calls.items()))


def _duration_series(review: Review) -> Iterator[Series]:
    if review.run is not None and review.run.started_at and review.run.ended_at:
        yield {}, _parse_seconds(review.run.ended_at) - _parse_seconds(review.run.started_at)


def _gap_series(review: Review) -> Iterator[Series]:
    if review.run is not None and review.run.gap is not None:
        gap = review.run.gap
        yield {"quantile": "0.5"}, gap.median_ms / 1000
        yield {"quantile": "0.99"}, gap.p99_ms / 1000


def _parse_seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


METRICS: Mapping[str, tuple[str, Callable[[Review], Iterable[Series]]]] = {
    "exit_code": ("Exit code of the command.", lambda review: [({}, review.exit_code)]),
    "end_timestamp_seconds": ("When the run ended, or the plan was made.", _end_series),
    "planned_changes": ("Changes of the plan.", _change_series),
    "planned_records": (
        "Records that change without a write to the service.",
        lambda review: [({}, review.plan.to_keep)],
    ),
    "left_alone": ("Entities that are left alone.", _left_alone_series),
    "refusals": (
        "Reasons for which the guard refuses the plan.",
        lambda review: [({}, len(review.verdict.reasons))],
    ),
    "drifted": ("Entities changed by others since the last apply.", _drift_series),
    "unapplied": (
        "Workspaces in which drift compared nothing: no record, no finished apply.",
        _unapplied_series,
    ),
    "not_planned": (
        "Workspaces that are left out of the plan.",
        lambda review: [({}, len({one.workspace for one in review.plan.left_out}))],
    ),
    "not_applied_yet": ("Declared entities that have no record.", _not_applied_series),
    "outcomes": ("Changes of the run, by how they ended.", _outcome_series),
    "calls": ("Requests of the run to the service.", _call_series),
    "run_seconds": ("How long the run took.", _duration_series),
    "look_to_write_seconds": (
        "Time from reading an entity until the write that follows was sent.",
        _gap_series,
    ),
}


# --- How stacks stand -----------------------------------------------------------------------------------
#
# Each series has the labels `command`, `service` and `stack`, so that silence about one stack can be alerted
# on. A state is a series for each word, 1 where it is the present one.


def status_metrics(status: StoreStatus) -> Iterator[Metric]:
    """Yield the metrics of `reconciler status`; counts and workspaces only."""
    for name, (description, series) in STATUS_METRICS.items():
        found = tuple(
            ({"command": "status", "service": one.service, "stack": one.stack, **labels}, value)
            for one in status.stacks
            for labels, value in series(one)
        )
        if found:
            yield Metric(name, description, found)
    # Of the file itself: what nobody writes any more raises no alarm by its values.
    moment = (({"command": "status"}, _parse_seconds(status.at)),)
    yield Metric("status_timestamp_seconds", "When the store was read.", moment)


def prometheus_of_status(status: StoreStatus) -> str:
    """Return how stacks stand as a textfile of Prometheus."""
    return prometheus_text(status_metrics(status))


def _state_series(states: Iterable[str], present: str) -> Iterator[Series]:
    yield from (({"state": state}, state == present) for state in states)


def _workspace_series(one: StackStatus) -> Iterator[Series]:
    for each in one.workspaces:
        for labels, value in _state_series(SYNC_STATES, each.sync.state):
            yield {"workspace": each.workspace, **labels}, value


def _moment_value(moment: str) -> float:
    """Return a moment in seconds; 0 where there was none, which is older than every limit."""
    return _parse_seconds(moment) if moment else 0


STATUS_METRICS: Mapping[str, tuple[str, Callable[[StackStatus], Iterable[Series]]]] = {
    "sync_state": (
        "Whether the service is as declared.",
        lambda one: _state_series(SYNC_STATES, one.sync.state),
    ),
    "health_state": (
        "Whether somebody has to look.",
        lambda one: _state_series(HEALTH_STATES, one.health.state),
    ),
    "workspace_sync_state": ("Whether a workspace is as declared.", _workspace_series),
    "last_success_timestamp_seconds": (
        "When a sync or a run last ended well; 0: never.",
        lambda one: [({}, _moment_value(one.last_good))],
    ),
    "last_read_timestamp_seconds": (
        "When everything was last compared with the service; 0: never.",
        lambda one: [({}, _moment_value(one.last_read))],
    ),
    "in_doubt": (
        "Requests of which nobody knows whether they were carried out.",
        lambda one: [({}, one.in_doubt)],
    ),
    "approvals_waiting": ("Questions that nobody has answered.", lambda one: [({}, one.approvals_open)]),
    "paused": ("Whether syncing is paused.", lambda one: [({}, one.sync.state == "paused")]),
    "stale": (
        "Whether nobody has synced for longer than the policy expects.",
        lambda one: [({}, one.stale)],
    ),
    "pending_changes": (
        "Changes that the last sync found and did not carry out.",
        lambda one: [({"workspace": each.workspace}, each.changes) for each in one.workspaces],
    ),
    "undelivered_notifications": (
        "Channels over which the last notification could not be delivered.",
        lambda one: [({}, one.undelivered)],
    ),
    "policy_mistakes": ("Mistakes in the policy of the settings.", lambda one: [({}, one.policy_mistakes)]),
}


# --- A textfile of Prometheus, from which alerts are made --------------------------------------------
#
# A command ends before it could be scraped, so node_exporter's textfile collector reads this file and exposes
# its numbers.
#
# - Every series has the labels `stack` and `command`, so that files of several projects and commands may lie
#   in one folder; the help of a metric is always the same, because the collector refuses two that differ.
# - A command that fails before there is a plan writes no report, and the file of the last one stays: its time
#   tells how old it is.
#
# Source: Prometheus, exposition formats, text format 0.0.4; node_exporter, textfile collector.


_PREFIX = "reconciler_"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def prometheus(review: Review) -> str:
    """Return the numbers of a plan, of a drift, and of the run where there was one: each metric a gauge."""
    return prometheus_text(metrics_of(review))


def prometheus_text(metrics: Iterable[Metric]) -> str:
    """Return metrics as text."""
    lines: list[str] = []
    for name, description, series in metrics:
        samples = [
            f"{_PREFIX}{name}{_format_labels(labels)} {_format_number(value)}" for labels, value in series
        ]
        lines += [f"# HELP {_PREFIX}{name} {description}", f"# TYPE {_PREFIX}{name} gauge", *samples]
    return "".join(f"{line}\n" for line in lines)


def _format_labels(labels: Labels) -> str:
    parts = (f'{name}="{escape_control(value).translate(_ESCAPES)}"' for name, value in labels.items())
    return "{" + ",".join(parts) + "}"


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def validation_metrics(validated: Validated) -> tuple[Metric, ...]:
    """Return the number of mistakes and that of warnings."""
    labels = {"command": "validate"}
    mistakes, warnings = len(validated.problems), len(validated.notices)
    return (
        Metric("mistakes", "Mistakes in manifests and rosters.", ((labels, mistakes),)),
        Metric("warnings", "Warnings about what manifests and rosters say.", ((labels, warnings),)),
    )


def prometheus_of_checks(result: Validated) -> str:
    """Return the number of mistakes and that of warnings as a textfile of Prometheus."""
    return prometheus_text(validation_metrics(result))
