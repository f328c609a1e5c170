"""Where the lies are told: a sandbox, a proxy before it, a project, the real command.

Belongs here: what the manifest says, the command, and what the service really holds, asked of it directly.
Not here: anything of the client under test.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.hands import Project, Service, unguarded
from lies.proxy import Proxy

from reconciler.sandbox.app import SandboxConfig, running_sandbox

SETTLE_S = 0.3  # seconds in which a request lands on loopback, with room
Person = dict[str, Any]
Done = subprocess.CompletedProcess[str]


@dataclass
class Stage:
    """A project whose manifest holds `people`, and the ways to the service: by the proxy, and around it."""

    project: Project
    proxy: Proxy
    service: Service  # asked directly: the truth
    people: dict[str, Person] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)

    def declare(self, **people: Person) -> None:
        """Let the manifest hold these people and nobody else."""
        self.people = dict(people)
        contacts = self.people
        manifest = {"version": "1", "workspace": "default", "contacts": contacts}
        self.project.manifest.write_text(json.dumps(manifest, indent=1), "utf-8")

    def set(self, name: str, **fields: Any) -> None:
        """Change fields of one declared person."""
        self.declare(**{**self.people, name: {**self.people[name], **fields}})

    def remove(self, name: str) -> None:
        """Take one person out of the manifest."""
        self.declare(**{key: value for key, value in self.people.items() if key != name})

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """Run the command through the proxy to its end."""
        settle = {"RECONCILER_SERVICE_LIMITS_SETTLE_S": str(SETTLE_S)}
        return self.project.run(
            Service(self.proxy.address), *arguments, env={**settle, **self.environ, **(env or {})}
        )

    def apply(self, *arguments: str) -> Done:
        """Apply without a question."""
        return self.run("apply", "--yes", *arguments)

    def built(self, number: int) -> None:
        """Declare this many people and apply them, honestly."""
        self.declare(**crowd(number))
        done = self.apply()
        assert done.returncode == 0, said(done)

    def live(self) -> list[dict[str, Any]]:
        """Everybody whom the service really holds, with a few fields each."""
        found: list[dict[str, Any]] = []
        fields = "firstName,workEmailAddress1,workMobilePhone1,jobTitle"
        while True:
            rows = self.service.call("GET", f"/contacts?offset={len(found)}&limit=20&fields={fields}")
            page = rows.get("contacts", [])
            if not page:
                return found
            found += page

    def mails(self) -> Counter[str]:
        """How often each address is there."""
        return Counter(row["workEmailAddress1"] for row in self.live())

    def id_of(self, name: str) -> str:
        """The id of the only one with this first name."""
        (found,) = self.ids_of(name)
        return found

    def ids_of(self, name: str) -> list[str]:
        """Ids of all with this first name."""
        return [row["id"] for row in self.live() if row["firstName"] == name]

    def field_of(self, name: str, key: str) -> str:
        """What the service really holds."""
        whole = self.service.call("GET", f"/contacts/{self.id_of(name)}?customFields=true")
        return str(whole.get(key, ""))

    def stranger(self, name: str, **fields: Any) -> str:
        """Let somebody else make a contact; return its id."""
        self.service.call("POST", "/contacts", person(name, **fields))
        return self.ids_of(name)[-1]


@contextmanager
def stage(folder: Path, *, settings: str = "", config: SandboxConfig | None = None) -> Iterator[Stage]:
    """A project in `folder`, a sandbox, and a proxy between, for as long as the context lasts."""
    project = make_project(folder, settings=settings)
    with running_sandbox(config or SandboxConfig()) as address, Proxy(address).running() as proxy:
        yield Stage(project, proxy, Service(address))


def make_project(folder: Path, *, settings: str = "") -> Project:
    """Return an empty project in a folder of its own."""
    (folder / "manifests").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "reconciler.yaml").write_text(unguarded("lies") + settings)
    return Project(folder)


def person(name: str, **fields: Any) -> Person:
    """Return an invented person of this first name."""
    return {
        "firstName": name,
        "lastName": "Example",
        "workEmailAddress1": f"{name.lower()}@example.com",
        "workMobilePhone1": "+61491570156",
        "workCountry": "Australia",
        "timezone": "Australia/Melbourne",
        **fields,
    }


def crowd(number: int) -> dict[str, Person]:
    """Return this many people by their names in the manifest: person-0 is Person0."""
    return {f"person-{at}": person(f"Person{at}") for at in range(number)}


def said(done: Done) -> str:
    """Return everything that a command printed."""
    return done.stdout + done.stderr
