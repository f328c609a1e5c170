"""What the tests of messages and callbacks work with: a receiver that runs, and people who answer."""

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import warm
from cli.hands import Project, Service
from waiting import patience_s, readable, until

KEY = "canary-callback-key-8f14e45f"
JANE, SAM = "+61491570156", "+61491570157"


@dataclass
class Listener:
    """`callbacks listen` in a process of its own."""

    process: warm.Command
    address: str
    said: list[str] = field(default_factory=list)

    def reply(self) -> dict[str, Any]:
        """The next line of its output."""
        assert self.process.stdout is not None
        assert readable(self.process.stdout), "no reply came"
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        """The status of a request that the service did not send."""
        connection = HTTPConnection(self.address.removeprefix("http://").rstrip("/"), timeout=patience_s)
        try:
            connection.request("POST", "/", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self) -> tuple[int, str, str]:
        """Exit code, the rest of its output, all that it said beside it."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=patience_s)
        return self.process.wait(), out, "".join(self.said) + err


@contextmanager
def listening(
    project: Project, service: Service, *options: str, port: int = 0, **streams: Any
) -> Iterator[Listener]:
    """A receiver that is ready. `streams` are about its output: another one, or a smaller pipe."""
    with project.start(
        service,
        *("callbacks", "listen", "--port", str(port), *(options or ("--key-env", "CALLBACK_KEY"))),
        env={"CALLBACK_KEY": KEY},
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    ) as process:
        try:
            assert process.stderr is not None
            ready = process.stderr.readline()
            assert ready.startswith("listening at http://127.0.0.1:"), ready
            yield Listener(process, ready.split()[2].rstrip(","), [ready])
        finally:
            process.kill()


def answer(service: Service, message_id: str, sender: str, content: str) -> None:
    """Somebody replies."""
    path = f"/_sandbox/messages/{message_id}/reply"
    service.call("POST", path, {"from": sender, "content": content})


def done(project: Project, service: Service, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What a command reports as JSON, having ended so."""
    ended = project.run(service, *arguments, "--format", "json", env={"CALLBACK_KEY": KEY})
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert KEY not in ended.stdout + ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["exit_code"] == code
    return found


def register(project: Project, service: Service, url: str, *options: str) -> str:
    """The id of a callback called on-call."""
    chosen = options or ("--key-env", "CALLBACK_KEY")
    made = done(project, service, "callbacks", "create", "on-call", url, *chosen)
    found: str = made["callback"]["callback_id"]
    return found


def send(project: Project, service: Service, *options: str) -> str:
    """The id of a message to Jane and Sam, whose replies go to on-call."""
    people = ("--to", JANE, "--to", SAM, "--subject", "Night shift", "--body", "Can you come?")
    found: str = done(project, service, "messages", "send", *people, *options)["sent"]["message_id"]
    return found


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The events of an event file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def noted(project: Project, least: int) -> None:
    """Return when so many replies are noted as told."""
    path = project.folder / ".reconciler" / "inbox.db"
    with closing(sqlite3.connect(path, timeout=patience_s)) as connection:

        def told() -> int:
            (found,) = connection.execute("SELECT count(*) FROM reply WHERE told = 1").fetchone()
            return int(found)

        until(lambda: told() >= least, f"{least} replies noted as told")
