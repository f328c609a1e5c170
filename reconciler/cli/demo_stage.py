"""What a demo runs on: a sandbox in a process of its own, a folder to work in, and people who do something.

Everything that a demo shows is a real command with its real output. A signal ends all that was started.
"""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reconciler import signals
from reconciler.cli.project_files import find_example
from reconciler.errors import FileError, ReconcilerError, Unavailable
from reconciler.model.kinds import CONTACT

_CREDENTIALS = {"SVC_USER": "demo", "SVC_PASSWORD": "demo", "SVC_API_KEY": "demo-key"}  # the sandbox's own
_MESSAGE = "application/vnd.service.message-v1+json"
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

    def wait_for(self, child: subprocess.Popen[bytes]) -> int:
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
    replies_port: int = 0

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every command: nothing of the user's own RECONCILER_* may lead it elsewhere."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
        own = {"RECONCILER_SERVICE_BASE_URL": self.address, "RECONCILER_LOCK_IN_SERVICE": "never"}
        own |= {"CALLBACK_KEY": "a-key-that-only-a-demo-would-use"}
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

    def keep(self, folder: Path) -> None:
        """Copy the project to a folder that is not there yet. Raises FileError."""
        try:
            shutil.copytree(self.folder, folder)
        except OSError as error:
            raise FileError(
                f"{folder}: not written: {error.strerror}.", next="name another folder"
            ) from error

    def commit(self, subject: str) -> str:
        """Commit everything in the folder, and return the short name of the commit. Makes the repository."""
        if not (self.folder / ".git").exists():
            self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", "--all")
        self._git("commit", "--quiet", f"--message={subject}")
        return self._git("rev-parse", "--short", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        # Nothing of the user's own: no hook, no signature, no template.
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TEMPLATE_DIR": ""}
        who = ("-c", "user.name=Jo Nguyen", "-c", "user.email=jo.nguyen@example.com")
        git = shutil.which("git")
        if git is None:
            raise ReconcilerError(
                "git was not found.", next="install git, or run `reconciler demo` without it"
            )
        done = subprocess.run(  # noqa: S603 - git, with words of our own
            [git, *who, *arguments],
            cwd=self.folder,
            env=self.environ | nobody,
            capture_output=True,
            text=True,
            check=False,
        )
        self.relay.check()
        if done.returncode:
            raise ReconcilerError(f"git {arguments[0]} failed: {done.stderr.strip()}", next="update git")
        return done.stdout

    @contextmanager
    def counting_replies(self) -> Iterator[None]:
        """Let `callbacks listen | approvals take` run as long as the context lasts."""
        words = [sys.executable, "-m", "reconciler"]
        listen = ["callbacks", "listen", f"--port={self.replies_port}", "--key-env=CALLBACK_KEY"]
        with (
            subprocess.Popen(  # noqa: S603 - our own program
                [*words, *listen],
                cwd=self.folder,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as listening,
            subprocess.Popen(  # noqa: S603 - our own program
                [*words, "approvals", "take"], cwd=self.folder, env=self.environ, stdin=listening.stdout
            ) as taking,
        ):
            if listening.stdout is not None:
                listening.stdout.close()  # it is the pipe of `take` alone
            try:
                self._wait_for_listener()
                yield
            finally:
                _stop_process(listening)
                self.relay.wait_for(taking)  # it ends when there is nothing more to read

    def _wait_for_listener(self) -> None:
        until = time.monotonic() + _answer_wait_s
        while time.monotonic() < until:
            self.relay.check()
            try:
                socket.create_connection(("127.0.0.1", self.replies_port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise ReconcilerError("the listener for replies did not start.", next="run the demo again")

    def read_newest_message(self) -> tuple[str, str]:
        """Return the id of the message that was sent last, and its text, as the phone shows it."""
        listed = self._call("GET", "/messages", media=_MESSAGE)["messages"]
        newest = max(listed, key=lambda one: int(one["createdTime"]))
        remote_id = newest["link"][0]["uri"].rpartition("/")[2].partition("?")[0]
        return remote_id, str(self._call("GET", f"/messages/{remote_id}", media=_MESSAGE)["body"])

    def reply(self, message_id: str, sender: str, content: str) -> None:
        """Answer a message as its recipient does; the service passes the reply on."""
        body = {"from": sender, "content": content, "channel": "SMS"}
        self._call("POST", f"/_sandbox/messages/{message_id}/reply", body, media="application/json")
        self._call("POST", "/_sandbox/callbacks/deliver", {}, media="application/json")

    def change_job_title(self, mail: str, title: str) -> None:
        """Change a contact as a colleague with another program would: read it, change it, put it back."""
        found = self._call("GET", f"/contacts?workEmailAddress1={mail}")["contacts"]
        path = f"/contacts/{found[0]['id']}"
        whole = self._call("GET", f"{path}?customFields=true")
        body = {key: value for key, value in whole.items() if key not in CONTACT.server_owned}
        # The service rewrites a time zone that is put back as it was read, so it is named again.
        self._call("PUT", path, body | {"jobTitle": title, "timezone": "Australia/Melbourne"})

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, media: str = _CONTACT
    ) -> dict[str, Any]:
        user = f"{_CREDENTIALS['SVC_USER']}:{_CREDENTIALS['SVC_PASSWORD']}"
        headers = {
            "Authorization": "Basic " + base64.b64encode(user.encode()).decode(),
            "X-Api-Key": _CREDENTIALS["SVC_API_KEY"],
            "Accept": media,
            "Content-Type": media,
        }
        connection = HTTPConnection(self.address.removeprefix("http://"), timeout=_answer_wait_s)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
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
def open_stage() -> Iterator[Stage]:
    """Yield a stage. The sandbox is stopped and the folder gone at the end, also after a signal."""
    relay = SignalRelay()
    signals.set_reaction(relay.arrived)
    try:
        with TemporaryDirectory(prefix="reconciler-demo-") as temporary:
            folder = Path(temporary) / "quickstart"
            shutil.copytree(find_example("quickstart"), folder, ignore=shutil.ignore_patterns(".reconciler"))
            with _run_sandbox(folder, relay) as address:
                yield Stage(address, folder, relay, _find_free_port())
    finally:
        signals.set_reaction(signals.end_before_start)


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def _run_sandbox(folder: Path, relay: SignalRelay) -> Iterator[str]:
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
            _stop_process(process)


def _stop_process(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    # The sandbox ignores it too then; a kill harms nothing, for it keeps nothing.
    if signals.was_ignored_at_start(signal.SIGTERM):
        process.kill()
    process.terminate()
    try:
        process.wait(_stop_wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
