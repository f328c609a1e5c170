"""A receiver of callbacks on loopback, which notes what arrives and answers as it is told to.

Belongs here: the other end of a callback, and making callbacks and messages for it. Not here: claims.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sandbox.asking import Sandbox, last_segment

MOBILE, MAIL = "+61491570156", "jane.doe@example.com"


@dataclass(frozen=True)
class Arrived:
    """One request that the receiver got."""

    method: str
    target: str
    headers: Headers
    body: bytes


@dataclass
class Receiver:
    """What arrived, oldest first; `answers` are the next statuses, 200 when there are none left."""

    url: str = ""
    arrived: list[Arrived] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    @property
    def calls(self) -> list[Arrived]:
        """What arrived by POST."""
        return [one for one in self.arrived if one.method == "POST"]


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    """A receiver that runs for a while."""
    receiver = Receiver(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["content-length"])))

        def _answer(self, body: bytes) -> None:
            receiver.arrived.append(Arrived(self.command, self.path, self.headers, body))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Nothing: the tests print no traffic."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/in"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def callback_body(url: str = "http://127.0.0.1:9/in", **changed: Any) -> dict[str, Any]:
    """A callback named approvals with a key in a header."""
    auth = {"type": "httpheader", "key": "k3y"}
    return {"name": "approvals", "url": url, "auth": auth, "contentType": "json", **changed}


def message_body(*to: str, **changed: Any) -> dict[str, Any]:
    """A message to these recipients, or to one."""
    return {"to": ";".join(to or (MOBILE,)), "subject": "Maintenance", "body": "Tonight?", **changed}


def sent(sandbox: Sandbox, *to: str, **changed: Any) -> str:
    """Sends a message, and gives its id."""
    answer = sandbox.post("/messages", message_body(*to, **changed))
    assert answer.status_code == 202, answer.text
    return last_segment(answer.headers["location"])


def replied(sandbox: Sandbox, message: str, content: str = "Yes", **more: str) -> Any:
    """A recipient answers; what the control interface says to it."""
    answer = sandbox.post(f"/_sandbox/messages/{message}/reply", {"content": content, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def failed(sandbox: Sandbox, message: str, **more: str) -> Any:
    """A delivery fails; what the control interface says to it."""
    answer = sandbox.post(f"/_sandbox/messages/{message}/fail", more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def delivered(sandbox: Sandbox) -> Mapping[str, int]:
    """The calls that are due are made; how many ended how."""
    counts: Mapping[str, int] = sandbox.post("/_sandbox/callbacks/deliver").json()
    return counts
