"""Who takes a connection of the receiver from whom: strangers from strangers, and nobody from a caller."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pytest
from messaging.post import HEADER, KEY, payload
from waiting import patience_s, until

from reconciler.asgi_server import open_listening_socket
from reconciler.messaging.inbox import Inbox
from reconciler.messaging.receiver import ReceiverConfig, create_receiver
from reconciler.messaging.receiver_server import ConnectionSlots, serve_receiver
from reconciler.model.secrets import Secret

STRANGERS, CALLERS = 4, 2
BODY = json.dumps(payload()).encode()


@dataclass
class Guest:
    """What `Places` knows of a connection."""

    name: str
    here: bool = True

    def __hash__(self) -> int:
        return hash(self.name)

    def turn_away(self) -> None:
        self.here = False


def test_the_stranger_who_came_first_is_turned_away() -> None:
    """The service shows its key with its first bytes; who has waited longest is least likely to be it."""
    places, guests = ConnectionSlots(strangers=2, callers=1), [Guest(name) for name in "abc"]

    for guest in guests:
        places.take(guest)

    assert [guest.here for guest in guests] == [False, True, True]


def test_a_caller_gives_its_place_back_and_is_turned_away_by_nobody() -> None:
    places = ConnectionSlots(strangers=2, callers=1)
    caller, others = Guest("caller"), [Guest(f"{number}") for number in range(10)]
    places.take(caller)
    assert places.admit(caller)

    for other in others:
        places.take(other)

    assert caller.here
    assert [other.here for other in others] == [False] * 8 + [True] * 2
    assert not places.admit(others[-1])  # the one place is taken
    places.leave(caller)
    assert places.admit(others[-1])


@pytest.fixture
def places() -> ConnectionSlots:
    return ConnectionSlots(strangers=STRANGERS, callers=CALLERS)


@pytest.fixture
def where(tmp_path: Path, places: ConnectionSlots) -> Iterator[tuple[str, int]]:
    """The address of a receiver with few places, behind a real port."""
    stop, ready = Event(), Event()
    with (
        closing(Inbox.open(tmp_path / "inbox.db")) as inbox,
        open_listening_socket("127.0.0.1", 0) as listening,
    ):
        app = create_receiver(ReceiverConfig(key=Secret(KEY)), inbox, lambda _reply: None)

        def run() -> None:
            serve_receiver(app, listening, on_ready=ready.set, asked=stop.is_set, places=places)

        thread = Thread(target=run)
        thread.start()
        assert ready.wait(patience_s)
        try:
            yield listening.getsockname()[:2]
        finally:
            stop.set()
            thread.join()


def _head(key: str) -> bytes:
    return f"POST / HTTP/1.1\r\nHost: x\r\n{HEADER}: {key}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()


def _connected(held: ExitStack, where: tuple[str, int], *pieces: bytes) -> socket.socket:
    connection = held.enter_context(socket.create_connection(where, timeout=patience_s))
    for piece in pieces:
        connection.sendall(piece)
    return connection


def _answer(connection: socket.socket) -> bytes:
    """The first line of the answer; b"" where the connection was closed."""
    try:
        return connection.recv(4096).partition(b"\r\n")[0]
    except ConnectionError:
        return b""


def test_strangers_take_no_place_from_the_service(where: tuple[str, int]) -> None:
    """512 idle connections once made the receiver tell the service 503."""
    with ExitStack() as held:
        silent = [_connected(held, where) for _ in range(STRANGERS)]
        wrong = [_connected(held, where, _head("wrong"), b"x") for _ in range(STRANGERS)]
        assert [_answer(one) for one in silent] == [b""] * STRANGERS  # made way for those who came later

        service = _connected(held, where, _head(KEY), BODY)

        assert _answer(service) == b"HTTP/1.1 200 OK"
        assert _answer(wrong[0]) == b""


def test_callers_with_the_key_beyond_their_places_are_told_to_come_again(
    where: tuple[str, int], places: ConnectionSlots
) -> None:
    """503 is what the service repeats; the slow ones are served all the same."""
    with ExitStack() as held:
        slow = [_connected(held, where, _head(KEY)) for _ in range(CALLERS)]
        until(lambda: len(places._callers) == CALLERS, "the slow ones")
        more = _connected(held, where, _head(KEY), BODY)
        assert _answer(more) == b"HTTP/1.1 503 Service Unavailable"
        for _ in range(3 * STRANGERS):
            _connected(held, where)

        for one in slow:
            one.sendall(BODY)

        assert [_answer(one) for one in slow] == [b"HTTP/1.1 200 OK"] * CALLERS
