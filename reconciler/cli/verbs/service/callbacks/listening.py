"""`callbacks listen` at work: a receiver that keeps replies, a teller that passes them on, and their end.

Belongs here: putting inbox, event file, receiver and port together, and ending them. Not here: HTTP
(receiver/), who is told when (telling.py).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from threading import Event
from typing import Any, Literal

from reconciler import asgi_server, signals
from reconciler.cli.console import output
from reconciler.cli.ports import explain_refused_port
from reconciler.cli.verbs.service.callbacks.keys import key_of
from reconciler.cli.verbs.service.callbacks.telling import ReplySink, Teller, ending, only_teller
from reconciler.errors import InputError, ReconcilerError
from reconciler.messaging import receiver_server
from reconciler.messaging.inbox import EventFile, Inbox
from reconciler.messaging.receiver import ReceiverConfig, RefusedRequest, create_keeper
from reconciler.report.lines import count

_LATER = "the next listener prints them, or: reconciler callbacks inbox"
_STOPPED = f"stopped: what was not printed is kept in the inbox; {_LATER}\n".encode()


def listen(
    *,
    host: str,
    port: int,
    path: str,
    header: str,
    events: str | None,
    inbox: str,
    key_in: Literal["header", "query"],
    as_json: bool,
    **given: Any,
) -> int:
    """Take replies until a signal, as `run` does."""
    config = ReceiverConfig(key=key_of(given), how=key_in, header=header, path=path)
    run(Listening(config, host, port, Path(inbox), Path(events) if events else None, as_json))
    return 0


@dataclass(frozen=True, slots=True)
class Listening:
    """What one `callbacks listen` was asked for."""

    config: ReceiverConfig
    host: str
    port: int
    inbox: Path
    events: Path | None
    as_json: bool


@dataclass(slots=True)
class Refusals:
    """What was not believed or not understood, counted."""

    counted: Counter[str] = field(default_factory=Counter)

    def add(self, refused: RefusedRequest) -> None:
        """One more request was not answered with 200; each kind is reported once: many would fill a log."""
        self.counted[refused.why] += 1
        if self.counted[refused.why] == 1:
            output.note(
                f"refused with {refused.status}: {refused.what}\n  further ones of this kind are only counted"
            )


def run(asked: Listening) -> None:
    """Take replies until a signal. Raises FileError for a port, a file or an output that cannot be used."""
    refusals, stop = Refusals(), Event()
    with ExitStack() as held:
        inbox = held.enter_context(closing(Inbox.open(asked.inbox)))
        held.enter_context(only_teller(asked.inbox))
        events = held.enter_context(closing(EventFile(asked.events))) if asked.events else None
        sink = ReplySink(inbox, events, asked.as_json)
        teller = Teller(sink)
        listening = held.enter_context(_listening(asked.host, asked.port))
        app = create_keeper(asked.config, inbox, teller.wake, refusals.add)
        signals.set_reaction(lambda _number: ending(stop), _STOPPED, code=0)
        teller.start()
        try:
            receiver_server.serve_receiver(
                app,
                listening,
                on_ready=lambda: _ready(asgi_server.socket_url(listening), asked),
                asked=lambda: stop.is_set() or teller.error is not None,
            )
        finally:
            _end(teller, sink, refusals, asked=stop.is_set())


def _end(teller: Teller, sink: ReplySink, refusals: Refusals, *, asked: bool) -> None:
    """Stop telling, and say what was told. Raises what ended the teller, unless we were `asked` to end."""
    teller.stop()
    waiting = len(sink.inbox.untold())
    output.note(
        f"stopped: {count(sink.replies, 'reply', 'replies')}, {refusals.counted.total():,} refused."
        + (f"\n  {waiting:,} not printed: {_LATER}" if waiting else "")
    )
    # Ctrl-C ends all of a pipeline: that our reader went first is no error.
    if teller.error is not None and not (asked and isinstance(teller.error, output.OutputLost)):
        raise teller.error


def _ready(where: str, asked: Listening) -> None:
    config = asked.config
    way = f"the header {config.header}" if config.how == "header" else "the query (auth=...)"
    key = f"with its key in {way}" if config.key else "without a key: everybody who can reach it is believed"
    output.note(
        f"listening at {where}{config.path}, {key}\n"
        f"  kept in {asked.inbox}; one line a reply on standard output\n"
        "  register it: reconciler callbacks create NAME URL, where URL leads here; stop with Ctrl-C"
    )


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket]:
    try:
        listening = asgi_server.open_listening_socket(host, port)
    except OSError as error:
        raise _unusable(error, host, port) from error
    with listening:
        yield listening


def _unusable(error: OSError, host: str, port: int) -> ReconcilerError:
    return explain_refused_port(error, host, port, command="callbacks listen", example=8490) or InputError(
        f"{host} port {port} cannot be used: {(error.strerror or str(error)).lower()}.",
        next="name an address of this machine with --host",
    )
