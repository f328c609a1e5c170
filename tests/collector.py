"""A collector of telemetry on loopback: takes OTLP over HTTP as the protocol says, or behaves badly.

    with collecting() as collector:
        warm.run("plan", cwd=folder, env={**environ, **collector.environ})
    assert [one.name for one in collector.spans()] == [...]

Every request is decoded with the messages of the protocol, so what cannot be read fails the test.
"""

import gzip
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan
from waiting import readable, until

Value = str | int | float | bool
Labels = tuple[tuple[str, Value], ...]
_TRACES, _METRICS = "/v1/traces", "/v1/metrics"


class Told(NamedTuple):
    """One span as it arrived. Ids are hexadecimal, `parent` is empty for none; `events` counts links too."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    failed: bool
    seconds: float
    about: Mapping[str, Value]
    events: int


@dataclass
class Collector:
    """What has arrived, and where to send it."""

    address: str = ""
    asked: int = 0  # requests that have arrived, answered or not
    bodies: list[bytes] = field(default_factory=list)  # of requests, unpacked
    headers: list[Mapping[str, str]] = field(default_factory=list)
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """The variables that make a command send here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.address}

    def spans(self) -> list[Told]:
        """Every span, in the order in which they began."""
        found = [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return [_told(one) for one in sorted(found, key=lambda one: one.start_time_unix_nano)]

    def resources(self) -> list[dict[str, Value]]:
        """What each request says of who sent it."""
        both = [one.resource for request in self.traces for one in request.resource_spans]
        both += [one.resource for request in self.metrics for one in request.resource_metrics]
        return [_values(one.attributes) for one in both]

    def gauges(self) -> dict[str, dict[Labels, float]]:
        """The last value of every series, by metric and labels."""
        found: dict[str, dict[Labels, float]] = {}
        for metric in self._metrics():
            for point in metric.gauge.data_points:
                labels = tuple(sorted(_values(point.attributes).items()))
                value = point.as_double if point.HasField("as_double") else float(point.as_int)
                found.setdefault(metric.name, {})[labels] = value
        return found

    def durations(self) -> dict[Labels, tuple[int, float]]:
        """How many calls there were and how long they took together, by labels, as told last."""
        return {
            tuple(sorted(_values(point.attributes).items())): (point.count, point.sum)
            for metric in self._metrics()
            if metric.name == "http.client.request.duration"
            for point in metric.histogram.data_points
        }

    def _metrics(self) -> Iterator[Metric]:
        for request in self.metrics:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    yield from scope.metrics

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """Keep a request, and return the body of the answer to it."""
        unpacked = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        assert headers["content-type"] == "application/x-protobuf", headers
        self.bodies.append(unpacked)
        self.headers.append(headers)
        if path == _TRACES:
            self.traces.append(ExportTraceServiceRequest.FromString(unpacked))
            return bytes(ExportTraceServiceResponse().SerializeToString())
        assert path == _METRICS, path
        self.metrics.append(ExportMetricsServiceRequest.FromString(unpacked))
        return bytes(ExportMetricsServiceResponse().SerializeToString())


def _told(span: SentSpan) -> Told:
    return Told(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.status.code == span.status.STATUS_CODE_ERROR,
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        _values(span.attributes),
        len(span.events) + len(span.links),
    )


def _values(attributes: Iterable[KeyValue]) -> dict[str, Value]:
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in attributes
    }


# What a collector may do instead of taking what it gets: each writes to the connection itself.
Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Answer:
    """Answer with this status."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in {**headers, "content-length": "0"}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()

    return answer


def garbage(handler: BaseHTTPRequestHandler) -> None:
    """Answer with bytes that are no HTTP."""
    handler.wfile.write(b"\x00\xff\x16\x03\x01 canary-of-the-collector \r\n\r\n" * 20)


def headless(handler: BaseHTTPRequestHandler) -> None:
    """Answer with headers that are none: the library below warns of them, with the address."""
    handler.wfile.write(b"HTTP/1.1 500 canary\r\n: : :\r\nx y\r\ncontent-length: 4\r\n\r\n\xff\xff\xff\xff")


def silence(handler: BaseHTTPRequestHandler) -> None:
    """Answer nothing, until whoever asked has gone."""
    readable(handler.connection)


def trickle(handler: BaseHTTPRequestHandler) -> None:
    """Answer with a byte at a time, for ever: no timeout from byte to byte ends that."""
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    while not readable(handler.connection, 0.1):
        handler.wfile.write(b" ")


def flood(code: int, *, packed: bool = False) -> Answer:
    """Answer with zeros for as long as whoever asked is there; packed, each MiB is a few KiB."""
    zeros = bytes(1 << 20)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("content-length", str(1 << 32))
        if packed:
            handler.send_header("content-encoding", "gzip")
        handler.end_headers()
        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        for _ in range(1 << 12):
            handler.wfile.write(packer.compress(zeros) if packed else zeros)

    return answer


def until_asked(collector: Collector) -> None:
    """Return once a request has arrived."""
    until(lambda: collector.asked, "a request to the collector")


@contextmanager
def collecting(answer: Answer | None = None) -> Iterator[Collector]:
    """Yield a collector that takes everything, or answers each request with `answer`."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            collector.asked += 1
            if answer is not None:
                self.close_connection = True
                return answer(self)
            given = collector.take(self.path, {key.lower(): one for key, one in self.headers.items()}, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(given)))
            self.end_headers()
            self.wfile.write(given)
            return None

        do_GET = do_POST  # noqa: N815 - as above

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            """A command that has ended hears no more."""
            try:
                super().handle()
            except OSError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    collector.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.socket.close()
