"""What the demo stands on: a sandbox in a process of its own, a folder to work in, and another hand.

Belongs here: starting and always stopping the sandbox, running the real command, changing something
through the service's API as a colleague would. Not here: the story (story.py).
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reconciler import signals
from reconciler.cli.project_files import example
from reconciler.errors import ReconcilerError, Unavailable
from reconciler.model.kinds import CONTACT

_CREDENTIALS = {"SVC_USER": "demo", "SVC_PASSWORD": "demo", "SVC_API_KEY": "demo-key"}  # the sandbox's own
_CONTACT = "application/vnd.service.contact-v1+json"
_stop_wait_s = 10  # seconds; the sandbox needs less than one
_answer_wait_s = 10  # seconds; loopback


class SignalRelay:
    """Remembers that a signal asked us to stop, and passes it on to the command that runs.

    A signal that raised wherever it arrived could leave a process behind that nobody ends: between its
    start and our knowing of it.
    """

    def __init__(self) -> None:
        self._asked = 0  # the number of the last signal
        self._child: subprocess.Popen[bytes] | None = None

    def arrived(self, number: int) -> None:
        """Note the signal. A terminal sends Ctrl-C to the commands itself; everything else we pass on."""
        self._asked = number
        if number != signal.SIGINT and self._child is not None:
            self._child.send_signal(number)  # another one might be ignored, there as here

    def wait_for(self, child: "subprocess.Popen[bytes]") -> int:
        """Return the exit code of a command, when it has ended."""
        self._child = child
        if self._asked:
            child.send_signal(self._asked)
        code = child.wait()
        self._child = None
        self.check()
        return code

    def check(self) -> None:
        """Raise KeyboardInterrupt where a signal asked us to stop."""
        if self._asked:
            raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class Stage:
    """A running sandbox and a folder with the quickstart example that speaks to it."""

    address: str
    folder: Path
    relay: SignalRelay

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every command: nothing of the user's own RECONCILER_* may lead it elsewhere."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
        own = {"RECONCILER_SERVICE_BASE_URL": self.address, "RECONCILER_LOCK_IN_SERVICE": "never"}
        return others | _CREDENTIALS | own  # nobody else knows this service

    @property
    def manifest(self) -> Path:
        """The one manifest of the quickstart."""
        return self.folder / "manifests" / "team.yaml"

    def run(self, *arguments: str) -> int:
        """Return the exit code of the real command; what it prints goes where our own output goes."""
        with subprocess.Popen(  # noqa: S603 - our own program, with words from our own table
            [sys.executable, "-m", "reconciler", *arguments], cwd=self.folder, env=self.environ
        ) as process:
            return self.relay.wait_for(process)

    def change_job_title(self, mail: str, title: str) -> None:
        """Change a contact as a colleague with another program would: read it, change it, put it back."""
        found = self._call("GET", f"/contacts?workEmailAddress1={mail}")["contacts"]
        path = f"/contacts/{found[0]['id']}"
        whole = self._call("GET", f"{path}?customFields=true")
        body = {key: value for key, value in whole.items() if key not in CONTACT.server_owned}
        # The service rewrites a time zone that is put back as it was read, so it is named again.
        self._call("PUT", path, body | {"jobTitle": title, "timezone": "Australia/Melbourne"})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        user = f"{_CREDENTIALS['SVC_USER']}:{_CREDENTIALS['SVC_PASSWORD']}"
        headers = {
            "Authorization": "Basic " + base64.b64encode(user.encode()).decode(),
            "X-Api-Key": _CREDENTIALS["SVC_API_KEY"],
            "Accept": _CONTACT,
            "Content-Type": _CONTACT,
        }
        connection = HTTPConnection(self.address.removeprefix("http://"), timeout=_answer_wait_s)
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            raise Unavailable("the demo's sandbox does not answer.", next="run the demo again") from error
        finally:
            connection.close()
        if answer.status not in (200, 204):
            raise ReconcilerError(
                f"the demo's sandbox answered {answer.status} to {method}.", next="run the demo again"
            )
        found: dict[str, Any] = json.loads(text) if text else {}
        return found


@contextmanager
def staged() -> Iterator[Stage]:
    """Yield a stage. The sandbox is stopped and the folder gone at the end, also after a signal."""
    relay = SignalRelay()
    signals.set_reaction(relay.arrived)
    try:
        with TemporaryDirectory(prefix="reconciler-demo-") as temporary:
            folder = Path(temporary) / "quickstart"
            shutil.copytree(example("quickstart"), folder, ignore=shutil.ignore_patterns(".reconciler"))
            with _sandbox(folder, relay) as address:
                yield Stage(address, folder, relay)
    finally:
        signals.set_reaction(signals.end_before_start)


@contextmanager
def _sandbox(folder: Path, relay: SignalRelay) -> Iterator[str]:
    """Yield the address of a sandbox on a free port; it has ended afterwards."""
    with subprocess.Popen(
        [sys.executable, "-m", "reconciler", "sandbox", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            ready = process.stdout.readline() if process.stdout else ""
            relay.check()
            if "http://" not in ready:
                raise ReconcilerError(
                    "the demo's sandbox did not start.", next="see why: reconciler sandbox --port 0"
                )
            yield ready.split()[-1]
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    if signals.was_ignored_at_start(
        signal.SIGTERM
    ):  # by the sandbox too, which keeps nothing that a kill could harm
        process.kill()
    process.terminate()
    try:
        process.wait(_stop_wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
