"""Logs and spans: what the parts of the program report about their work, and the seam to the recorder.

An attribute of a span is a number or a word of ours: no address, id, path, query or value of anybody has a
row. No line of a log holds a secret, nor personal data other than the address of what is written. Who records
is in cli/telemetry/, who listens in cli/console/. Nothing is decided by either; without a recorder, a span
costs one function call.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from msgspec import Struct

from reconciler.model.snapshots import Scope

SpanValue = str | int | float | bool
SpanNotes = dict[str, SpanValue]  # attributes by their names in ATTRIBUTES


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
    "again": SpanRow("look for changes", "whether the last no-op plan still holds", ("found",)),
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

    def record(self, kind: str, notes: SpanNotes) -> AbstractContextManager[None]:
        """Record what is done inside as a span of this kind; `notes` are complete when it ends."""


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def record_span(kind: str, /, **notes: SpanValue) -> Iterator[SpanNotes]:
    """Let what is done inside be recorded as a span of this kind, a key of SPANS.

    What is yielded takes more attributes until the end. An exception that passes ends the span as an error.
    """
    recorder = _recorder.get()
    if recorder is None:
        yield notes
        return
    with recorder.record(kind, notes):
        yield notes


def current_trace_id() -> str:
    """Return the trace that this command is recorded in; "" without a recorder."""
    recorder = _recorder.get()
    return recorder.trace_id if recorder else ""


@contextmanager
def use_recorder(recorder: Recorder) -> Iterator[None]:
    """Have spans recorded by this one: of what is called inside, and of its tasks and threads."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)


# --- Logs, by name --------------------------------------------------------------------------------
# What a line says is decided where it is written.


STEPS = "reconciler.steps"  # what a command does, a sentence each
CALLS = "reconciler.calls"  # each try of a call to the service (service/http/exchange.py)
READING = "reconciler.reading"  # how far a list is read: `ReadProgress`

step_log = logging.getLogger(STEPS)
call_log = logging.getLogger(CALLS)
reading_log = logging.getLogger(READING)

for _name in ("httpx2", "httpcore2"):
    # Below WARNING they write whole URLs, and links from answers; either may hold a key.
    logging.getLogger(_name).setLevel(logging.WARNING)


def start_stopwatch(clock: Callable[[], float] = time.monotonic) -> Callable[[], float]:
    """Return a function that returns the seconds since this call."""
    began = clock()
    return lambda: clock() - began


# --- How far a list is read (cli/console/progress.py shows it) -------------------------------------


class ReadProgress(Struct, frozen=True):
    """How many rows of a scope's list have been read, of how many (None: the service does not say)."""

    scope: Scope
    rows: int
    total: int | None


def report_progress(scope: Scope, rows: int, total: int | None) -> None:
    """Report how far a list is read, to handlers of `reading_log`."""
    reading_log.debug("%s", ReadProgress(scope, rows, total))
