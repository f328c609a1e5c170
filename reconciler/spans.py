"""What of a command is recorded as a span, and the seam between what is done and whoever records it.

Belongs here: the table of spans and of their attributes, and `span`, which is put around what is done. Not
here: who records (cli/telemetry/), what is told in lines (logbook.py). Nothing is decided by it, and where
nobody records it costs a call of a function.

An attribute is a number or a word of ours: no address, id, path, query or value of anybody has a row.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

Value = str | int | float | bool
Notes = dict[str, Value]  # attributes by their names in ATTRIBUTES


class SpanRow(NamedTuple):
    """A kind of span: its name, with attributes in braces that it begins with; what it covers; attributes.

    Each that ends badly has `error` besides.
    """

    name: str
    covers: str
    attributes: tuple[str, ...] = ()


SPANS: Mapping[str, SpanRow] = {
    "command": SpanRow(
        "reconciler {command}",
        "the whole command",
        ("command", "outcome", "exit_code", "code", "stack", "run"),
    ),
    "manifests": SpanRow("read manifests", "manifests and rosters, read and checked", ("entities",)),
    "records": SpanRow("read records", "what the store knows of these workspaces", ("entities",)),
    "lock": SpanRow("take lock", "the lock of the store, waiting for it included"),
    "service lock": SpanRow("take lock in service", "the lock in the service, waiting for it included"),
    "again": SpanRow("look for changes", "whether a plan that said nothing still holds", ("found",)),
    "list": SpanRow(
        "read {kind} list", "the list of a kind and workspace", ("kind", "workspace", "way", "rows")
    ),
    "plan": SpanRow(
        "make plan", "the comparison", ("creates", "updates", "deletes", "records", "left_alone")
    ),
    "settle": SpanRow("settle", "waiting and looking for what is in doubt", ("in_doubt",)),
    "wave": SpanRow("apply wave", "changes that may be carried out side by side", ("number", "changes")),
    "change": SpanRow(
        "{action} {kind}",
        "one change: looks, the write, its reading back",
        ("action", "kind", "workspace", "result"),
    ),
    "call": SpanRow(
        "{method} {template}",
        "one try of a call to the service",
        ("method", "template", "host", "port", "status", "resend"),
    ),
}

# The name of each attribute in OpenTelemetry, by its semantic conventions where they have one.
ATTRIBUTES: Mapping[str, str] = {
    "command": "reconciler.command",
    "outcome": "reconciler.outcome",
    "exit_code": "process.exit.code",
    "error": "error.type",
    "code": "reconciler.error.code",
    "stack": "reconciler.stack",
    "run": "reconciler.run.id",
    "entities": "reconciler.entities",
    "found": "reconciler.found",
    "kind": "reconciler.kind",
    "workspace": "reconciler.workspace",
    "way": "reconciler.way",
    "rows": "reconciler.rows",
    "creates": "reconciler.creates",
    "updates": "reconciler.updates",
    "deletes": "reconciler.deletes",
    "records": "reconciler.records",
    "left_alone": "reconciler.left_alone",
    "in_doubt": "reconciler.in_doubt",
    "number": "reconciler.wave",
    "changes": "reconciler.changes",
    "action": "reconciler.action",
    "result": "reconciler.result",
    "method": "http.request.method",
    "template": "url.template",
    "host": "server.address",
    "port": "server.port",
    "status": "http.response.status_code",
    "resend": "http.request.resend_count",
}


class Recorder(Protocol):
    """Records spans. No error of its own reaches what is recorded."""

    @property
    def trace_id(self) -> str:
        """The trace that spans belong to: 32 hexadecimal digits."""

    def record(self, kind: str, notes: Notes) -> AbstractContextManager[None]:
        """Record what is done inside as a span of this kind; `notes` are complete when it ends."""


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def span(kind: str, /, **notes: Value) -> Iterator[Notes]:
    """Let what is done inside be recorded as a span of this kind, a key of SPANS.

    What is yielded takes more attributes until the end. An exception that passes ends the span as an error.
    """
    recorder = _recorder.get()
    if recorder is None:
        yield notes
        return
    with recorder.record(kind, notes):
        yield notes


def trace_id() -> str:
    """Return the trace that this command is recorded in; "" where nobody records."""
    recorder = _recorder.get()
    return recorder.trace_id if recorder else ""


@contextmanager
def recorded_by(recorder: Recorder) -> Iterator[None]:
    """Have spans recorded by this one: of what is called inside, and of its tasks and threads."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)
