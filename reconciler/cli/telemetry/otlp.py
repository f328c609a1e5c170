"""Spans and metrics by the library of OpenTelemetry, sent as OTLP over HTTP.

The only module that imports the library. instrumentation.py says which spans and attributes there are,
report/metrics.py which metrics. Address, headers, limits and sampler the library reads from OTEL_*.

No exception is recorded, and no text of one: it may name people. The library prints nothing, and what it
raises while recording goes no further.
"""

import logging
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from threading import Thread
from typing import Any

import requests
from opentelemetry.context import Context, attach, detach
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import MeterProvider as AnyMeterProvider
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import (
    INVALID_SPAN,
    NoOpTracerProvider,
    Span,
    SpanKind,
    StatusCode,
    set_span_in_context,
)
from opentelemetry.trace import TracerProvider as AnyTracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from reconciler.errors import ReconcilerError
from reconciler.instrumentation import ATTRIBUTES, SPANS, SpanNotes, SpanValue
from reconciler.model.runs import EXIT_CODE_WORDS
from reconciler.report.metrics import Metric
from reconciler.version import __version__

_NAME = "reconciler"
_PREFIX = "reconciler."
_GOOD = frozenset((0, 2))  # exit codes of a command that did what it was asked for
# Seconds, as the semantic conventions of HTTP advise.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
# What of the metrics stands at the command's span as well: counts, summed by the last of their labels.
_COUNTED = frozenset(
    (
        "planned_changes",
        "planned_records",
        "left_alone",
        "refusals",
        "drifted",
        "outcomes",
        "calls",
        "mistakes",
        "warnings",
    )
)
_ANSWER_MAX = 65_536  # bytes of an answer that are read, so that its connection can be used again
_COMMON = frozenset(("stack", "command"))  # labels of every metric


class Otlp:
    """Records one command. `words` are those of its span, which is a child of TRACEPARENT's."""

    def __init__(self, words: str, environ: Mapping[str, str], *, traces: bool, metrics: bool) -> None:
        _silence_library()
        self._lost = Counter[str]()
        self._providers: list[TracerProvider | MeterProvider] = []
        resource = Resource({"service.name": _NAME, "service.version": __version__})
        # Not Resource.create: it may look at the process, whose command line can hold values.
        resource = resource.merge(OTELResourceDetector().detect())
        self._tracer = self._traces(resource, wanted=traces).get_tracer(_NAME, __version__)
        meter = self._metrics(resource, wanted=metrics).get_meter(_NAME, __version__)
        self._gauge = meter.create_gauge
        self._duration = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Duration of each try of a call to the service.",
            explicit_bucket_boundaries_advisory=_BOUNDS,
        )
        self._notes: SpanNotes = {"command": words.removeprefix(f"{_NAME} ")}
        self._counts: dict[str, SpanValue] = {}
        self._root = self._tracer.start_span(words, context=_find_parent(environ))

    def _traces(self, resource: Resource, *, wanted: bool) -> AnyTracerProvider:
        if not wanted:
            return NoOpTracerProvider()
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(_Spans(self._lost)))
        self._providers.append(provider)
        return provider

    def _metrics(self, resource: Resource, *, wanted: bool) -> AnyMeterProvider:
        if not wanted:
            return NoOpMeterProvider()
        reader = PeriodicExportingMetricReader(_Metrics(self._lost))
        provider = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        self._providers.append(provider)
        return provider

    @property
    def trace_id(self) -> str:
        """The trace of the command's span; "" where no trace is recorded."""
        context = self._root.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else ""

    @contextmanager
    def working(self) -> Iterator[None]:
        """Have what is recorded inside below the command's span; note the error that ends it."""
        token = attach(set_span_in_context(self._root))
        try:
            yield
        except BaseException as error:
            self._notes["error"] = type(error).__name__
            if isinstance(error, ReconcilerError):
                self._notes["code"] = error.error_code
            raise
        finally:
            detach(token)

    @contextmanager
    def record(self, kind: str, notes: SpanNotes) -> Iterator[None]:
        """Record what is done inside as a span of this kind; of a call its duration as well."""
        span: Span = INVALID_SPAN
        call, began = kind == "call", time.perf_counter()
        with suppress(Exception):
            as_kind = SpanKind.CLIENT if call else SpanKind.INTERNAL
            span = self._tracer.start_span(SPANS[kind].name.format_map(notes), kind=as_kind)
        token = attach(set_span_in_context(span))
        try:
            yield
        except BaseException as error:
            notes["error"] = type(error).__name__
            raise
        finally:
            detach(token)
            with suppress(Exception):
                _end_span(span, kind, notes)
                if call:
                    self._duration.record(time.perf_counter() - began, _make_attributes(kind, notes))

    def measured(self, metrics: Iterable[Metric], run: str) -> None:
        """Record these metrics, and their counts at the command's span."""
        for name, told, series in metrics:
            gauge = self._gauge(f"{_PREFIX}{name}", description=told)
            counts = Counter[str]()
            for labels, value in series:
                gauge.set(value, labels)
                *_, last = labels
                word = "" if last in _COMMON else f".{labels[last].replace(' ', '_')}"
                counts[f"{_PREFIX}{name}{word}"] += int(value)
                self._notes.update({key: labels[key] for key in ("stack",) if key in labels})
            if name in _COUNTED:
                self._counts.update(counts)
        if run:
            self._notes["run"] = run

    def end(self, code: int, limit_s: float) -> bool:
        """End the command's span and deliver everything; whether that was done within `limit_s`."""
        self._notes.update(outcome=EXIT_CODE_WORDS[code], exit_code=code)
        if code not in _GOOD:
            self._notes.setdefault("error", EXIT_CODE_WORDS[code])
        self._root.set_attributes(self._counts)
        _end_span(self._root, "command", self._notes)
        until = time.monotonic() + limit_s
        # In threads that are left behind: an answer that trickles in is nothing that the library gives up.
        ending = [Thread(target=_shut_down, args=(one,), daemon=True) for one in self._providers]
        try:
            for one in ending:
                one.start()
        except RuntimeError:  # there can be no more threads
            return False
        for one in ending:
            one.join(max(0.0, until - time.monotonic()))
        return not self._lost and not any(one.is_alive() for one in ending)


class CollectorSession(requests.Session):
    """Sends to the collector alone what OTEL_* says, and nothing of `netrc`, by no proxy, after no redirect.

    The library would otherwise add the login that `~/.netrc` has for the host, and versions of it follow a
    redirect with every header but `Authorization`, or take it for a delivery. It would read and unpack an
    answer of any size, of which it needs the status alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False  # netrc, proxies, and certificates that the variables of requests name

    def request(self, method: str, url: str | bytes, *args: Any, **more: Any) -> requests.Response:
        """Return the answer of this address. Raises RequestException, also for one that leads elsewhere."""
        asked = {**more, "allow_redirects": False, "stream": True}
        with super().request(method, url, *args, **asked) as whole:
            answer = requests.Response()
            answer.status_code, answer.reason, answer.url = whole.status_code, whole.reason, whole.url
            answer.headers = whole.headers
            # Packed as it came: a few bytes may unpack to gigabytes.
            answer.raw = BytesIO(whole.raw.read(_ANSWER_MAX, decode_content=False))
        if answer.is_redirect or 300 <= answer.status_code < 400:  # noqa: PLR2004 - HTTP's redirects
            raise requests.exceptions.InvalidURL("the collector redirects")
        return answer


class _Spans(OTLPSpanExporter):
    """The library's, which counts what was not delivered and raises nothing."""

    def __init__(self, lost: Counter[str]) -> None:
        super().__init__(session=CollectorSession())
        self._lost = lost

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        with suppress(Exception):
            result = super().export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._lost["spans"] += 1
        return result


class _Metrics(OTLPMetricExporter):
    """The same for metrics. They are cumulative: what was delivered last makes up for what was not before."""

    def __init__(self, lost: Counter[str]) -> None:
        super().__init__(session=CollectorSession())
        self._lost = lost

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: object
    ) -> MetricExportResult:
        result = MetricExportResult.FAILURE
        with suppress(Exception):
            result = super().export(metrics_data, timeout_millis, **kwargs)
        self._lost.pop("metrics", None)
        if result is not MetricExportResult.SUCCESS:
            self._lost["metrics"] += 1
        return result


def _end_span(span: Span, kind: str, notes: SpanNotes) -> None:
    """End a span with those of its attributes that its row lists."""
    span.set_attributes(_make_attributes(kind, notes))
    if "error" in notes:
        span.set_status(StatusCode.ERROR)
    span.end()


def _make_attributes(kind: str, notes: SpanNotes) -> dict[str, SpanValue]:
    return {ATTRIBUTES[key]: notes[key] for key in (*SPANS[kind].attributes, "error") if key in notes}


def _find_parent(environ: Mapping[str, str]) -> Context:
    """Return the context in which the command was started: TRACEPARENT and TRACESTATE."""
    names = (name for name in ("TRACEPARENT", "TRACESTATE") if name in environ)
    carrier = {
        name.lower(): environ[name].strip() for name in names
    }  # as environment/run_context.py reads it
    return TraceContextTextMapPropagator().extract(carrier, Context())


def _shut_down(provider: TracerProvider | MeterProvider) -> None:
    with suppress(Exception):
        provider.shutdown()


def _silence_library() -> None:
    """Let the library and those below it print nothing: their lines hold addresses, and come at any time."""
    for name in ("opentelemetry", "requests", "urllib3"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.handlers = [logging.NullHandler()]
    warnings.filterwarnings("ignore", module=r"(opentelemetry|requests|urllib3|google)\b")
