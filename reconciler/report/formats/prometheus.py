"""The report as a textfile of Prometheus: the metrics of metrics.py, from which alerts are made.

A command ends before anybody could ask it, so node_exporter's textfile collector reads this file and tells
the numbers as its own.

- Every series has the labels `stack` and `command`, so that files of several projects and commands may lie in
  one folder; the help of a metric is always the same, because the collector refuses two that differ.
- A command that fails before there is a plan writes no report, and the file of the last one stays: its time
  tells how old it is.

Source: Prometheus, exposition formats, text format 0.0.4; node_exporter, textfile collector.
"""

from collections.abc import Iterable

from reconciler.report.inert import inert
from reconciler.report.metrics import Labels, Metric, metrics_of
from reconciler.report.plan.review import Review

_PREFIX = "reconciler_"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def prometheus(review: Review) -> str:
    """Return the numbers of a plan, of a drift, and of the run where there was one: each metric a gauge."""
    return rendered(metrics_of(review))


def rendered(metrics: Iterable[Metric]) -> str:
    """Return metrics as text."""
    lines: list[str] = []
    for name, told, series in metrics:
        samples = [f"{_PREFIX}{name}{_labels(labels)} {_number(value)}" for labels, value in series]
        lines += [f"# HELP {_PREFIX}{name} {told}", f"# TYPE {_PREFIX}{name} gauge", *samples]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Labels) -> str:
    parts = (f'{name}="{inert(value).translate(_ESCAPES)}"' for name, value in labels.items())
    return "{" + ",".join(parts) + "}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
