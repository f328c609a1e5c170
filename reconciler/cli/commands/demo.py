"""`reconciler demo`: the whole story with the real commands against a sandbox of its own."""

import base64
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler import signals
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.errors import ReconcilerError

if TYPE_CHECKING:
    import subprocess


@click.command()
@prints_result
def command() -> int:
    """See the program at work in half a minute, offline: plan, apply, drift, repair, prune, and a refusal.

    The command starts a sandbox on a free port of this machine, and runs the real commands in a temporary
    folder. Nothing is sent to another machine, and the folder is removed at the end.

    Writes a temporary folder.

    Exit codes: 0 every step went as expected; 1 a step did not; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler demo
    """
    with open_stage() as stage:
        DemoStory(stage).run()
    return 0


# --- The story --------------------------------------------------------------------------------------------


class DemoStory:
    """The steps of the demo, in order. A step that does not end as told ends the demo."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._step = 0

    def run(self) -> None:
        """Run every step. Raises ReconcilerError at the first that does not end as told."""
        manifest = self._stage.manifest
        output.data(
            f"A sandbox of the service runs at {self._stage.address}. The folder holds examples/quickstart:\n"
            "three contacts, one of them with a device, and a resource, declared in manifests/team.yaml."
        )
        self._heading("What would be done? A plan reads, and writes nothing.")
        self._run("plan")
        self._heading("Do it.")
        self._run("apply --yes")
        self._heading("A second run has nothing to do.")
        self._run("plan --detailed-exitcode")

        self._heading("A colleague gives Jane another job title, in the service itself. We notice:")
        self._stage.change_job_title("jane.doe@example.com", "Night Watch")
        self._run("drift", ends_with=2)
        self._heading("The manifest says Engineer, so apply repairs it.")
        self._run("apply --yes")

        self._heading(
            "Ada is removed from manifests/team.yaml, so apply deletes her. Only owned entities are deleted."
        )
        whole = manifest.read_text(encoding="utf-8")
        manifest.write_text(remove_entry(whole, "ada-king"), encoding="utf-8")
        smaller = manifest.read_text(encoding="utf-8")
        self._run("apply --yes")

        self._heading("By accident, all contacts vanish from the manifest. The guard refuses the plan:")
        emptied = remove_entry(remove_entry(smaller, "jane-doe"), "sam-lee")
        manifest.write_text(emptied.replace("\ncontacts:\n", "\ncontacts: {}\n"), encoding="utf-8")
        self._run("apply --yes", ends_with=7)
        manifest.write_text(smaller, encoding="utf-8")
        self._heading("With the manifest restored there is nothing to do: nothing was deleted.")
        self._run("plan --detailed-exitcode")
        output.data(
            "\nDone: planned, applied, nothing left to do, drift found and repaired, a contact\n"
            "deleted, and a dangerous plan refused. The sandbox is stopped, and the folder is removed.\n"
            "  next: README.md, a first project of your own; `reconciler --help`; `reconciler sandbox`"
        )

    def _heading(self, text: str) -> None:
        self._step += 1
        output.data(f"\n{self._step}. {text}")

    def _run(self, words: str, *, ends_with: int = 0) -> None:
        output.data(f"\n$ reconciler {words}")
        code = self._stage.run(*words.split())
        if code != ends_with:
            raise ReconcilerError(
                f"the demo did not go as expected: `reconciler {words}` ended with {code}, not {ends_with}.",
                next="run the demo again; if it ends here again, report what it printed",
            )


def remove_entry(text: str, name: str) -> str:
    """Return a manifest without the entry of that name: its line and all lines that are indented below it."""
    shorter, count = re.subn(rf"^  {re.escape(name)}:\n(?:(?:   .*)?\n)*", "", text, flags=re.MULTILINE)
    if count != 1:
        raise ReconcilerError(f"the example holds no entry {name}.", next="install reconciler again")
    return shorter


# --- The stage: a sandbox in a process of its own, a folder to work in, and another user -------------------

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
        import subprocess

        with subprocess.Popen(  # noqa: S603 - our own program, with words from our own table
            [sys.executable, "-m", "reconciler", *arguments], cwd=self.folder, env=self.environ
        ) as process:
            return self.relay.wait_for(process)

    def change_job_title(self, mail: str, title: str) -> None:
        """Change a contact as a colleague with another program would: read it, change it, put it back."""
        from reconciler.model.kinds import CONTACT

        found = self._call("GET", f"/contacts?workEmailAddress1={mail}")["contacts"]
        path = f"/contacts/{found[0]['id']}"
        whole = self._call("GET", f"{path}?customFields=true")
        body = {key: value for key, value in whole.items() if key not in CONTACT.server_owned}
        # The service rewrites a time zone that is put back as it was read, so it is named again.
        self._call("PUT", path, body | {"jobTitle": title, "timezone": "Australia/Melbourne"})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        from http.client import HTTPConnection, HTTPException

        from reconciler.errors import Unavailable

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
def open_stage() -> Iterator[Stage]:
    """Yield a stage. The sandbox is stopped and the folder gone at the end, also after a signal."""
    import shutil
    from tempfile import TemporaryDirectory

    from reconciler.cli.project_files import find_example

    relay = SignalRelay()
    signals.set_reaction(relay.arrived)
    try:
        with TemporaryDirectory(prefix="reconciler-demo-") as temporary:
            folder = Path(temporary) / "quickstart"
            shutil.copytree(find_example("quickstart"), folder, ignore=shutil.ignore_patterns(".reconciler"))
            with _run_sandbox(folder, relay) as address:
                yield Stage(address, folder, relay)
    finally:
        signals.set_reaction(signals.end_before_start)


@contextmanager
def _run_sandbox(folder: Path, relay: SignalRelay) -> Iterator[str]:
    """Yield the address of a sandbox on a free port; it has ended afterwards."""
    import subprocess

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


def _stop_process(process: "subprocess.Popen[str]") -> None:
    import subprocess

    # The sandbox ignores it too then; a kill harms nothing, for it keeps nothing.
    if signals.was_ignored_at_start(signal.SIGTERM):
        process.kill()
    process.terminate()
    try:
        process.wait(_stop_wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
