"""What is sent to a collector: no secret, nobody, no id; and to the service nothing more than before."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cli.hands import Project as Team
from cli.hands import Service
from collector import Collector, collecting, status
from copies import copied
from hostile import canaries
from hostile.canaries import KEY, PASSWORD, Project
from hostile.command import run
from hostile.test_canaries import LINES, service

from reconciler.sandbox.app import SandboxConfig, running_sandbox

ROOT = Path(__file__).parents[2]
NAMES = ("Quillfeather", "Brambleworth", "Thistledown", "Marchbanks", "Ravenscroft", "Silverthorne")
HEAD = "key,first,last,title,mail,mobile,suburb,department\n"
# What may be as in a roster: every address has its kind and its workspace, and those are words of ours.
MANIFEST = """\
version: 1
workspace: default
rosters:
  - file: ../people.csv
    name: "{key}"
    contacts:
      firstName: "{first}"
      lastName: "{last}"
      jobTitle: "{title}"
      department: "{department}"
      timezone: Australia/Melbourne
      workCountry: Australia
      workEmailAddress1: "{mail}"
      workMobilePhone1: "{mobile}"
      workSuburb: "{suburb}"
"""


def _rows() -> Iterator[list[str]]:
    """One person a row; each value is longer than any that chance could make."""
    for at, name in enumerate(NAMES):
        low = name.lower()
        yield [
            f"{low}-of-the-roster",
            f"Given{name}",
            f"Family{name}",
            f"Title of {name}",
            f"{low}@example.com",
            f"+614915701{at:02d}",
            f"Suburb of {name}",
            f"Department of {name}",
        ]


def found_in(collector: Collector, *values: str) -> list[str]:
    """Which of these values stand in anything that was sent: bodies, and the heads of requests."""
    sent = b"\n".join([*collector.bodies, json.dumps(collector.headers).encode()])
    return [value for value in values if value.encode() in sent]


@pytest.mark.parametrize("name", ["nothing wrong", "a request that is refused, echoed"])
def test_no_secret_and_nobody_is_sent_whatever_the_command(name: str, tmp_path: Path) -> None:
    """Traces are kept for months, by others, and read by more people than plans."""
    with service(name) as (address, failure), collecting() as collector:
        project = Project.make(tmp_path / "project", address, {**failure.environ, **collector.environ})
        for lines in LINES.values():
            for line in lines:
                project.run(*line)

    text = b"\n".join(collector.bodies).decode("latin-1")
    assert len(collector.traces) >= sum(map(len, LINES.values()))
    assert canaries.secrets_in(text) == []
    assert canaries.people_in(text) == []
    assert "contact/default" not in text
    assert canaries.secrets_in(json.dumps(collector.headers)) == []


def test_no_value_of_a_roster_and_no_id_is_sent(tmp_path: Path) -> None:
    """Planned, applied, changed by others, drifted, failed, deleted: each of them tells something else."""
    copied(ROOT / "examples" / "quickstart", tmp_path / "project")
    team = Team(tmp_path / "project")
    (team.folder / ".git").mkdir()
    team.manifest.write_text(MANIFEST)
    people = team.folder / "people.csv"
    rows = [*_rows()]
    people.write_text(HEAD + "".join(",".join(row) + "\n" for row in rows))
    with running_sandbox(SandboxConfig()) as where, collecting() as collector:
        live = Service(where)
        environ = {**team.environ(live), **collector.environ}
        codes = [run(team.folder, *line, environ=environ).code for line in (("plan",), ("apply", "--yes"))]
        ids = live.contacts()
        live.rename(ids["GivenQuillfeather"], "Changed by somebody")
        live.call("POST", "/_sandbox/faults", {"fault": "refused-before", "method": "PUT", "times": None})
        people.write_text(
            HEAD + "".join(",".join([*row[:3], f"New {row[3]}", *row[4:]]) + "\n" for row in rows[:5])
        )
        more = (
            ("drift",),
            ("apply", "--yes", "--allow-deletes", "9"),
            ("export", "--into", "x"),
            ("explain", "E201"),
        )
        codes += [run(team.folder, *line, environ=environ).code for line in more]

    assert codes[:3] == [0, 0, 2], codes
    assert len(ids) == len(NAMES)
    assert {one.name for one in collector.spans()} >= {
        "create contact",
        "PUT /contacts/{id}",
        "delete contact",
    }
    assert found_in(collector, *(value for row in rows for value in row)) == []
    assert found_in(collector, *ids.values(), "Changed by somebody", "of-the-roster", str(tmp_path)) == []
    assert found_in(collector, PASSWORD, KEY, "demo-key") == []


def test_the_service_gets_no_trace(tmp_path: Path) -> None:
    """It is somebody else's: what runs here, and when, is not its affair."""
    heard: list[dict[str, str]] = []

    def hear(handler: BaseHTTPRequestHandler) -> None:
        heard.append({name.lower(): value for name, value in handler.headers.items()})
        status(404)(handler)

    with collecting(hear) as stranger, collecting() as collector:
        more = {**collector.environ, "TRACEPARENT": f"00-{'1' * 32}-{'2' * 16}-01", "TRACESTATE": "a=canary"}
        project = Project.make(tmp_path / "project", stranger.address, more)
        project.run("plan")

    assert heard
    assert collector.spans()
    assert [one for one in heard if {"traceparent", "tracestate", "baggage"} & set(one)] == []
    assert "1" * 32 not in json.dumps(heard)
