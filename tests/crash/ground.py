"""Where processes are killed: a sandbox on loopback, a project with many people, the real command.

Belongs here: starting commands, what the manifests say, and what the service then holds, asked of it
directly. Not here: when something is killed (the tests), anything of the client under test.
"""

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warm
from cli.hands import Project, Service, unguarded
from waiting import patience_s

from reconciler.sandbox.app import SandboxConfig, running_sandbox

SETTLE_S = 0.3  # seconds; a request of a killed process is carried out on loopback within milliseconds
look_s = 0.005  # seconds between two looks
ended_s = patience_s  # in which any of these commands has to have ended


@dataclass
class Ground:
    """A project whose manifest says how many people there are, and the service that it is for."""

    project: Project
    service: Service
    environ: Mapping[str, str] = field(default_factory=dict)

    def declare(self, people: int, *, title: str = "Engineer", devices: bool = True) -> None:
        """Let the manifest hold these people, every third with a phone, and two resources."""
        contacts: dict[str, Any] = {}
        for number in range(people):
            contacts[f"person-{number:04d}"] = {
                "firstName": f"Person{number}",
                "lastName": "Example",
                "jobTitle": title,
                "workEmailAddress1": mail(number),
                "timezone": "Australia/Melbourne",
                "workCountry": "Australia",
            }
            if devices and number % 3 == 0:
                contacts[f"person-{number:04d}"]["devices"] = {"phone": _phone(number)}
        manifest = {"version": "1", "workspace": "default", "contacts": contacts}
        self.project.manifest.write_text(json.dumps(manifest), "utf-8")

    def start(self, *arguments: str) -> warm.Command:
        """Start the command; what it says is kept in files, so that no pipe fills up."""
        with (self.project.folder / "out").open("w") as out, (self.project.folder / "err").open("w") as err:
            return self.project.start(
                self.service,
                *arguments,
                env={"RECONCILER_SERVICE_LIMITS_SETTLE_S": str(SETTLE_S), **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def run(self, *arguments: str) -> int:
        """Return the exit code of the command, once it has ended."""
        with self.start(*arguments) as process:
            try:
                return process.wait(ended_s)
            finally:
                process.kill()

    def said(self) -> str:
        """What the last command wrote."""
        return (self.project.folder / "out").read_text() + (self.project.folder / "err").read_text()

    def open_intents(self) -> int:
        """How many writes the store holds without an end: what was under way."""
        return self._count("SELECT count(*) FROM journal WHERE ending = ''")

    def intents(self) -> int:
        """How many writes of an unfinished run the store holds, with an end or without."""
        return self._count("SELECT count(*) FROM journal")

    def _count(self, statement: str) -> int:
        path = self.project.folder / ".reconciler" / "store.db"
        if not path.exists():
            return 0
        with closing(sqlite3.connect(path, timeout=patience_s)) as store:
            tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
            if "journal" not in tables:
                return 0
            (found,) = store.execute(statement).fetchone()
        return int(found)

    def live(self) -> Counter[str]:
        """How often each address is there, by walking the service's list."""
        found: Counter[str] = Counter()
        offset = 0
        while True:
            rows = self.service.call(
                "GET", f"/contacts?offset={offset}&limit=20&fields=workEmailAddress1,jobTitle"
            ).get("contacts", [])
            if not rows:
                return found
            found.update(row.get("workEmailAddress1", "") for row in rows)
            offset += len(rows)

    def devices(self) -> Counter[str]:
        """How often each device name is there."""
        found: Counter[str] = Counter()
        for remote_id in self._ids():
            whole = self.service.call("GET", f"/contacts/{remote_id}?customFields=true")
            found.update(one["deviceName"] for one in whole.get("devices", []))
        return found

    def wait_for_writes(self, count: int, process: warm.Command) -> bool:
        """Return when the service was asked for this many writes, or False when the command ended before."""
        until = time.monotonic() + ended_s
        while process.poll() is None:
            if len(self.service.writes()) >= count:
                return True
            assert time.monotonic() < until, self.said()
            time.sleep(look_s)
        return False

    def forget_requests(self) -> None:
        """Let the service count its requests from zero."""
        self.service.call("DELETE", "/_sandbox/requests")

    def _ids(self) -> Iterator[str]:
        offset = 0
        while rows := self.service.call("GET", f"/contacts?offset={offset}&limit=20").get("contacts", []):
            yield from (row["id"] for row in rows)
            offset += len(rows)


def mail(number: int) -> str:
    return f"person{number}@example.com"


def kill(process: warm.Command) -> bool:
    """Kill a command as the system would; whether it was still running."""
    process.kill()
    return process.wait(ended_s) == -signal.SIGKILL


@contextmanager
def ground(folder: Path, *, latency_ms: float = 0) -> Iterator[Ground]:
    """A project in `folder` and a service for it, for as long as the context lasts."""
    with running_sandbox(SandboxConfig(latency_ms=latency_ms)) as address:
        yield Ground(_project(folder), Service(address))


def beside(other: Ground, folder: Path) -> Ground:
    """The same project on another machine: a folder and a store of its own, and the same service."""
    return Ground(_project(folder), other.service)


def _project(folder: Path) -> Project:
    (folder / "manifests").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "reconciler.yaml").write_text(unguarded("crash"))
    return Project(folder)


def _phone(number: int) -> dict[str, str]:
    return {
        "deviceName": f"phone-{number}",
        "appId": "com.example.oncall",
        "platform": "GCM",
        "deviceOS": "Android 15",
        "deviceModel": "Pixel 9",
        "pushToken": f"token-{number}-that-only-a-sandbox-takes",
    }
