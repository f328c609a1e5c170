"""The telemetry of one command: started when its work starts, delivered after everything is printed.

The library (otlp.py) is imported only where OTEL_* asks for it. Telemetry never decides about a command: a
failure to record or deliver is said once on stderr, and the exit code stays.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from reconciler import signals
from reconciler.cli.console import output
from reconciler.extras import install_hint
from reconciler.instrumentation import use_recorder

if TYPE_CHECKING:
    from reconciler.cli.telemetry.otlp import Otlp
    from reconciler.report.metrics import Metric
from typing import NamedTuple

# --- What the variables of OpenTelemetry ask for: traces, metrics, or nothing ------------------------------
#
# Whether anything is recorded has to be known without the library. Where it goes, with which headers and
# limits, the library reads from the variables itself (otlp.py).
#
# Source: OpenTelemetry specification, environment variables; OTLP exporter configuration.


PROTOCOL = "http/protobuf"  # the one that the extra `otel` brings


class AskedSignals(NamedTuple):
    """Which signals are to be recorded, and why one that is asked for is not; empty where there is none."""

    traces: bool
    metrics: bool
    trouble: str = ""


def find_wanted_signals(environ: Mapping[str, str]) -> AskedSignals:
    """Return what is asked for. A signal is, where it has an endpoint or its exporter is `otlp`."""
    if _read_word(environ, "OTEL_SDK_DISABLED") == "true":
        return AskedSignals(traces=False, metrics=False)
    asked = {signal: _is_signal_wanted(environ, signal) for signal in ("TRACES", "METRICS")}
    troubles = {signal: _find_exporter_trouble(environ, signal) for signal in asked}
    traces, metrics = (one and not troubles[signal] for signal, one in asked.items())
    return AskedSignals(traces, metrics, next(filter(None, troubles.values()), ""))


def _is_signal_wanted(environ: Mapping[str, str], signal: str) -> bool:
    exporters = _list_exporters(environ, signal)
    if exporters:
        return "otlp" in exporters
    return bool(_read_word(environ, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"))


def _find_exporter_trouble(environ: Mapping[str, str], signal: str) -> str:
    """Return what of a signal cannot be done. No value is quoted: it may be a secret in the wrong place."""
    if _list_exporters(environ, signal) - {"otlp", "none"}:
        return f"OTEL_{signal}_EXPORTER names an unknown exporter; expected otlp or none"
    own, common = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    if _is_signal_wanted(environ, signal) and _read_word(environ, own, common) not in ("", PROTOCOL):
        name = own if _read_word(environ, own) else common
        return f"{name} names an unsupported protocol; expected {PROTOCOL}"
    return ""


def _list_exporters(environ: Mapping[str, str], signal: str) -> set[str]:
    return {word.strip() for word in _read_word(environ, f"OTEL_{signal}_EXPORTER").split(",")} - {""}


def _read_word(environ: Mapping[str, str], *names: str) -> str:
    """Return the first of these variables that is not empty."""
    return next(filter(None, (environ.get(name, "").strip().lower() for name in names)), "")


# How long a command that has ended may wait for a collector. Seconds: a few batches over a slow network take
# one, and a shell that waits for a dead collector each time should be bearable.
end_max_s = 3.0

_OFF = "to record nothing: OTEL_SDK_DISABLED=true"


class Telemetry:
    """What is recorded of one command; nothing where `environ` does not ask for it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._otlp: Otlp | None = None

    @contextmanager
    def of_command(self, words: str) -> Iterator[None]:
        """Record what is done inside as the work of the command of these words (`reconciler plan`)."""
        asked = find_wanted_signals(self._environ)
        if asked.trouble:
            _note_telemetry(f"{asked.trouble}. It is not recorded.")
        self._otlp = self._begun(words, asked) if asked.traces or asked.metrics else None
        if self._otlp is None:
            yield
            return
        with use_recorder(self._otlp), self._otlp.working():
            yield

    def _begun(self, words: str, asked: AskedSignals) -> "Otlp | None":
        try:
            otlp: Otlp = import_module("reconciler.cli.telemetry.otlp").Otlp(
                words, self._environ, traces=asked.traces, metrics=asked.metrics
            )
        except ImportError:
            _note_telemetry(
                "OTEL_* asks for telemetry, but the library for it is not installed. Nothing is recorded.",
                install_hint("otel"),
            )
            return None
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the command goes on
            kind = type(error).__name__  # no text: it may quote a header, and with it a token
            _note_telemetry(
                f"telemetry, which OTEL_* asks for, cannot be set up ({kind}). Nothing is recorded."
            )
            return None
        return otlp

    def measured(self, metrics: "Iterable[Metric]", run: str = "") -> None:
        """Record what the command came to, and the id of its run."""
        if self._otlp is not None:
            with suppress(Exception):
                self._otlp.measured(metrics, run)

    def end(self, code: int) -> None:
        """Deliver what was recorded of a command that ended with `code`, within `end_max_s`."""
        if self._otlp is None:
            return
        # All is printed: a signal takes no more away than what is still to be delivered.
        signals.set_reaction(lambda _number: signals.end_now(b"", code=code))
        delivered = False
        with suppress(Exception):
            delivered = self._otlp.end(code, end_max_s)
        if not delivered:
            _note_telemetry(
                "telemetry was not delivered completely: the collector refused it, or was too slow. The "
                "command itself is not affected.",
                "check that the collector in OTEL_EXPORTER_OTLP_* answers",
            )


def current_telemetry() -> Telemetry:
    """Return that of the command under way, which main.py ends; where there is no command, one of nothing."""
    context = click.get_current_context(silent=True)
    begun: list[Telemetry] | None = context.find_object(list) if context else None
    if begun is None:
        return Telemetry({})
    if not begun:
        begun.append(Telemetry(os.environ))
    return begun[0]


def _note_telemetry(what: str, then: str = "") -> None:
    with suppress(output.OutputLost):
        output.note(f"{what}\n  next: {'; '.join(filter(None, (then, _OFF)))}")
