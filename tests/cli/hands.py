"""What the tests of the command line work with: a service that runs, a project of one's own, processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import warm
from waiting import Process, patience_s, until

# The lowest layer of the environment: nothing of the machine's own settings, colours or CI may decide a test.
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def unguarded(stack: str) -> str:
    """Settings whose guard refuses nothing. The address of the service comes with each command."""
    return f"""\
version: 1
stack: {stack}
manifests: [manifests/]
service:
  base_url: http://127.0.0.1:8480
  auth: {{username: {{env: SVC_USER}}, password: {{env: SVC_PASSWORD}}, api_key: {{env: SVC_API_KEY}}}}
guard: {{deletes_max: 1000, deletes_max_percent: 100, updates_max: 1000}}
workspaces:
  default: {{}}
"""


# Of a path the innermost collection says which kind of document is meant.
_DOCUMENTS = {
    "devices": "contactdevice",
    "contacts": "contact",
    "resources": "resource",
    "callbacks": "api-callback",
    "messages": "message",
    "workspaces": "workspace",
    "": "contact",
}


@dataclass
class Service:
    """A sandbox behind a port, and what it was asked."""

    address: str

    def requests(self) -> list[tuple[str, str]]:
        """Method and path of everything it was asked, oldest first."""
        found = self.call("GET", "/_sandbox/requests")["requests"]
        return [(one["method"], one["path"]) for one in found]

    def writes(self) -> list[tuple[str, str]]:
        """What it was asked that is no GET."""
        return [one for one in self.requests() if one[0] != "GET"]

    def ends(self) -> None:
        """Return when it carries out nothing any more: a request outlives the command that sent it."""
        until(lambda: self.call("GET", "/_sandbox/requests")["under_way"] == 0, "the end of every request")

    def contacts(self) -> dict[str, str]:
        """Ids by first name."""
        return {one["firstName"]: one["id"] for one in self.call("GET", "/contacts").get("contacts", [])}

    def rename(self, remote_id: str, title: str) -> None:
        """Change a job title at the service."""
        whole = self.call("GET", f"/contacts/{remote_id}?customFields=true")
        kept = (
            "firstName",
            "lastName",
            "workEmailAddress1",
            "workMobilePhone1",
            "workCountry",
            "messagingoptions",
        )
        body = {key: whole[key] for key in kept if key in whole}
        self.call(
            "PUT", f"/contacts/{remote_id}", body | {"jobTitle": title, "timezone": "Australia/Melbourne"}
        )

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """One request with the right credentials."""
        kind = next(kind for word, kind in _DOCUMENTS.items() if f"/{word}" in path)
        media = f"application/vnd.service.{kind}-v1+json"
        connection = HTTPConnection(self.address.removeprefix("http://"), timeout=patience_s)
        headers = {"Authorization": "Basic ZGVtbzpkZW1v", "X-Api-Key": "demo-key", "Accept": media}
        headers |= {"Content-Type": media}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, text
        found: dict[str, Any] = json.loads(text) if text else {}
        return found


@dataclass
class Project:
    """A copy of the quickstart example."""

    folder: Path

    @property
    def manifest(self) -> Path:
        return self.folder / "manifests" / "team.yaml"

    def edit(self, before: str, after: str) -> None:
        """Replace one piece of the manifest."""
        text = self.manifest.read_text()
        assert text.count(before) == 1
        self.manifest.write_text(text.replace(before, after))

    def environ(self, service: Service) -> dict[str, str]:
        """The environment of a command that is to reach this service, as fast as it can."""
        return {
            **PLAIN,
            "SVC_USER": "demo",
            "SVC_PASSWORD": "demo",
            "SVC_API_KEY": "demo-key",
            "RECONCILER_SERVICE_BASE_URL": service.address,
            "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
            "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
            "RECONCILER_LOCK_IN_SERVICE": "never",  # it waits for real seconds; its own tests turn it on
        }

    def start(
        self, service: Service, *arguments: str, env: Mapping[str, str] | None = None, **streams: Any
    ) -> warm.Command:
        """The command, started."""
        return warm.start(*arguments, cwd=self.folder, env=self.environ(service) | dict(env or {}), **streams)

    def start_cold(self, service: Service, *arguments: str, **streams: Any) -> "subprocess.Popen[str]":
        """The command, started as everybody does: for claims about the start itself."""
        return subprocess.Popen(
            [sys.executable, "-m", "reconciler", *arguments],
            cwd=self.folder,
            env=self.environ(service),
            text=True,
            **streams,
        )

    def run(
        self, service: Service, *arguments: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """The command, finished, where nobody can be asked."""
        return warm.run(*arguments, cwd=self.folder, env=self.environ(service) | dict(env or {}))


def heard(process: Process) -> bool:
    """Whether the process handles SIGTERM by now: before that it is not our program that runs."""
    caught = 0
    while process.poll() is None and not caught >> (signal.SIGTERM - 1) & 1:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split(maxsplit=1)[0], 16)
    return process.poll() is None
