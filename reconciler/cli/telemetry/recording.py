"""The telemetry of one command line: begun when its work begins, delivered when all of it is printed.

Belongs here: when, and what a person is told. Not here: the library (otlp.py), which is imported only where
OTEL_* asks. Nothing of it decides about the command: what cannot be recorded or delivered is said once on
stderr, and the exit code stays.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from reconciler import signals
from reconciler.cli.console import output
from reconciler.cli.telemetry.wanted import AskedSignals, wanted
from reconciler.extras import install_hint
from reconciler.instrumentation import use_recorder

if TYPE_CHECKING:
    from reconciler.cli.telemetry.otlp import Otlp
    from reconciler.report.metrics import Metric

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
        asked = wanted(self._environ)
        if asked.trouble:
            _note(f"{asked.trouble}. It is not recorded.")
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
            _note(
                "OTEL_* asks for telemetry, and what records it is not installed. Nothing is recorded.",
                install_hint("otel"),
            )
            return None
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the command goes on
            kind = type(error).__name__  # no text: it may quote a header, and with it a token
            _note(f"what OTEL_* asks for cannot be set up ({kind}). Nothing is recorded.")
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
            _note(
                "telemetry was not delivered completely: the collector refused it, or was too slow. What the "
                "command did stands.",
                "see whether the collector that OTEL_EXPORTER_OTLP_* names answers",
            )


def telemetry() -> Telemetry:
    """Return that of the command under way, which main.py ends; where there is no command, one of nothing."""
    context = click.get_current_context(silent=True)
    begun: list[Telemetry] | None = context.find_object(list) if context else None
    if begun is None:
        return Telemetry({})
    if not begun:
        begun.append(Telemetry(os.environ))
    return begun[0]


def _note(what: str, then: str = "") -> None:
    with suppress(output.OutputLost):
        output.note(f"{what}\n  next: {'; '.join(filter(None, (then, _OFF)))}")
