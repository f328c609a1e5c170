"""A receiver of webhooks on loopback, for tests of what is posted to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

# The key of the example of https://www.standardwebhooks.com and of its libraries.
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Receiver:
    """A receiver on loopback: it answers with these statuses, one after the other, the last for ever."""

    def __init__(self) -> None:
        self.statuses = [204]
        self.headers: dict[str, str] = {}
        self.heard: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.heard.append(({k.lower(): v for k, v in self.headers.items()}, body))
                status = receiver.statuses[0]
                receiver.statuses = receiver.statuses[1:] or receiver.statuses
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hooks?token=t0ken"


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Give a receiver that listens."""
    found = Receiver()
    thread = Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
        thread.join()
