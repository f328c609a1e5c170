"""`callbacks listen` at work: from a request's reply to a line on stdout, and what the operator is told.

Belongs here: putting inbox, event file, receiver and port together, and ending them. Not here: options
(commands/callbacks.py), HTTP (receiver/).
"""

import errno
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from socket import socket

from reconciler.cli import output, signals
from reconciler.errors import FileError, InputError, ReconcilerError
from reconciler.model.messages import Reply
from reconciler.receiver.app import ReceiverConfig, Refused, create_receiver, pass_on
from reconciler.receiver.events import EventFile
from reconciler.receiver.inbox import Inbox
from reconciler.receiver.server import address, listen, serve
from reconciler.report.lines import count
from reconciler.report.messages import reply_json, reply_lines


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
class Desk:
    """Where replies are handed over: the event file first, then stdout; and what came in is counted."""

    events: EventFile | None
    as_json: bool
    replies: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def take(self, reply: Reply) -> None:
        """One more reply is in the event file and on stdout. Raises FileError."""
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        told = reply_json(reply, moment)
        if self.events is not None:
            self.events.append(told)
        if self.as_json:
            output.json(told)
        else:
            output.lines(reply_lines(reply, moment))
        self.replies += 1

    def refuse(self, refused: Refused) -> None:
        """One more request was not answered with 200; each kind is told once: a flood would fill a log."""
        self.refused[refused.why] += 1
        if self.refused[refused.why] == 1:
            output.note(
                f"refused with {refused.status}: {refused.what}\n  more of this kind is counted, and not told"
            )


def run(asked: Listening) -> None:
    """Take replies until a signal. Raises FileError for a port or file that cannot be used."""
    with ExitStack() as held:
        inbox = held.enter_context(closing(Inbox.open(asked.inbox)))
        events = held.enter_context(closing(EventFile(asked.events))) if asked.events else None
        desk = Desk(events, asked.as_json)
        listening = held.enter_context(_listening(asked.host, asked.port))
        app = create_receiver(asked.config, inbox, desk.take, desk.refuse)
        pass_on(inbox, desk.take)
        serve(app, listening, on_ready=lambda: _ready(address(listening), asked))
        _ended(desk)


def _ready(where: str, asked: Listening) -> None:
    signals.react(signals.left_to_others)
    config = asked.config
    way = f"the header {config.header}" if config.how == "header" else "the query (auth=...)"
    key = f"with its key in {way}" if config.key else "without a key: whoever reaches it is believed"
    output.note(
        f"listening at {where}{config.path}, {key}\n"
        f"  kept in {asked.inbox}; one line a reply on standard output\n"
        "  register it: reconciler callbacks create NAME URL, where URL leads here; stop with Ctrl-C"
    )


def _ended(desk: Desk) -> None:
    refused = sum(desk.refused.values())
    output.note(f"stopped: {count(desk.replies, 'reply', 'replies')}, {refused:,} refused.")


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket]:
    try:
        listening = listen(host, port)
    except OSError as error:
        raise _unusable(error, host, port) from error
    with listening:
        yield listening


def _unusable(error: OSError, host: str, port: int) -> ReconcilerError:
    if error.errno == errno.EADDRINUSE:
        return FileError(
            f"the port {port} of {host} is in use.",
            next="stop what runs there, or choose another: reconciler callbacks listen --port 0",
        )
    if error.errno == errno.EACCES:
        return FileError(
            f"the port {port} needs rights that this user has not.", next="choose one above 1023: --port 8490"
        )
    return InputError(
        f"{host} port {port} cannot be listened on: {(error.strerror or str(error)).lower()}.",
        next="name an address of this machine with --host",
    )
