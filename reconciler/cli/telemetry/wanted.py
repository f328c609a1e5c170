"""What the variables of OpenTelemetry ask for: traces, metrics, or nothing.

Belongs here: whether anything is recorded, which has to be known without the library. Not here: where it
goes, with which headers, how long it may take: the library reads these variables itself (otlp.py).

Source: OpenTelemetry specification, environment variables; OTLP exporter configuration.
"""

from collections.abc import Mapping
from typing import NamedTuple

PROTOCOL = "http/protobuf"  # the one that the extra `otel` brings


class AskedSignals(NamedTuple):
    """Which signals are to be recorded, and why one that is asked for is not; empty where there is none."""

    traces: bool
    metrics: bool
    trouble: str = ""


def wanted(environ: Mapping[str, str]) -> AskedSignals:
    """Return what is asked for. A signal is, where it has an endpoint or its exporter is `otlp`."""
    if _word(environ, "OTEL_SDK_DISABLED") == "true":
        return AskedSignals(traces=False, metrics=False)
    asked = {signal: _asked(environ, signal) for signal in ("TRACES", "METRICS")}
    troubles = {signal: _trouble(environ, signal) for signal in asked}
    traces, metrics = (one and not troubles[signal] for signal, one in asked.items())
    return AskedSignals(traces, metrics, next(filter(None, troubles.values()), ""))


def _asked(environ: Mapping[str, str], signal: str) -> bool:
    exporters = _exporters(environ, signal)
    if exporters:
        return "otlp" in exporters
    return bool(_word(environ, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"))


def _trouble(environ: Mapping[str, str], signal: str) -> str:
    """Return what of a signal cannot be done. No value is quoted: it may be a secret in the wrong place."""
    if _exporters(environ, signal) - {"otlp", "none"}:
        return f"OTEL_{signal}_EXPORTER names an exporter that is not here: there are otlp and none"
    own, common = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    if _asked(environ, signal) and _word(environ, own, common) not in ("", PROTOCOL):
        name = own if _word(environ, own) else common
        return f"{name} names a protocol that is not here: there is {PROTOCOL}"
    return ""


def _exporters(environ: Mapping[str, str], signal: str) -> set[str]:
    return {word.strip() for word in _word(environ, f"OTEL_{signal}_EXPORTER").split(",")} - {""}


def _word(environ: Mapping[str, str], *names: str) -> str:
    """Return the first of these variables that is not empty."""
    return next(filter(None, (environ.get(name, "").strip().lower() for name in names)), "")
