"""--events: what a run does, line by line while it does it, for programs that watch it."""

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from cli.hands import Project, Service

from reconciler.cli.console.logs import open_events
from reconciler.cli.result_schemas import event_line_schema
from reconciler.errors import FileError
from reconciler.model.address import Address
from reconciler.model.runs import FieldResult, Outcome
from reconciler.schema.shipped import read_schema

ROOT = Path(__file__).parents[2]


def told(text: str) -> list[dict[str, Any]]:
    """Return the events of these lines; each fits the schema, and begins with its version and its word."""
    schema = jsonschema_rs.validator_for(read_schema("event"))
    events = [json.loads(one) for one in text.splitlines()]
    for event in events:
        assert [*event][:3] == ["version", "event", "at"]
        assert schema.is_valid(event), event
    return events


def words(events: list[dict[str, Any]]) -> list[str]:
    """Return the events without the repetitions of changes."""
    found = [event["event"] for event in events]
    return [one for at, one in enumerate(found) if at == 0 or found[at - 1] != one]


def test_the_shipped_schema_follows_from_the_values() -> None:
    """Whoever changes an event changes what is promised of it: script/generate-schemas."""
    assert read_schema("event") == event_line_schema()


def test_a_run_is_told_from_its_plan_to_its_end(project: Project, service: Service) -> None:
    """Beside the report, which is the same; the file is private, and the next run is appended."""
    ended = project.run(service, "apply", "--yes", "--events", "e.jsonl", "--format", "json")
    report, file = json.loads(ended.stdout), project.folder / "e.jsonl"
    events = told(file.read_text())

    assert words(events) == ["plan", "begin", "change", "end"]
    changes = [event for event in events if event["event"] == "change"]
    assert {one["address"] for one in changes} == {one["address"] for one in report["outcomes"]}
    assert [one["done"] for one in changes] == [*range(1, len(changes) + 1)]
    assert events[0]["creates"] == events[1]["total"] == len(changes)
    assert events[0]["fingerprint"] == report["fingerprint"]
    assert (events[-1]["run"], events[-1]["exit_code"]) == (report["run"], 0)
    assert events[-1]["results"] == {"applied": len(changes)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    resumed = project.run(service, "resume", "--events", "e.jsonl")
    more = told(file.read_text())
    assert resumed.returncode == 0
    assert more[: len(events)] == events
    assert [(one["event"], one["run"]) for one in more[len(events) :]] == [("end", "")]


def test_on_standard_output_events_take_the_place_of_the_text(project: Project, service: Service) -> None:
    """Whatever reads them reads nothing else; notes stay on stderr."""
    ended = project.run(service, "apply", "--yes", "--events", "-")

    assert ended.returncode == 0
    assert words(told(ended.stdout)) == ["plan", "begin", "change", "end"]


def test_adopt_and_forget_tell_too(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    adopted = project.run(service, "adopt", "--all", "--yes", "--events", "-")
    text = project.manifest.read_text()
    project.edit(text[text.index("  ada-king:") : text.index("resources:")], "")
    forgotten = project.run(service, "forget", "contact/default/ada-king", "--yes", "--events", "-")

    assert (adopted.returncode, forgotten.returncode) == (0, 0), adopted.stderr + forgotten.stderr
    for ended in (adopted, forgotten):
        assert words(told(ended.stdout))[0] == "plan"
        assert words(told(ended.stdout))[-1] == "end"


def test_an_error_is_an_event_and_stands_where_it_always_does(project: Project, service: Service) -> None:
    """A watcher that sees no end would wait for ever."""
    project.edit("jane.doe@example.com", "no address")
    ended = project.run(service, "apply", "--yes", "--events", "-")
    (event,) = told(ended.stdout)

    assert ended.returncode == event["exit_code"] == 3
    assert (event["event"], event["outcome"]) == ("error", "invalid")
    assert event["message"] in ended.stderr
    assert event["code"] in ended.stderr
    assert service.writes() == []


def test_a_plan_that_the_guard_refuses_is_told_with_its_error(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "guard: {deletes_max: 0}\n")
    text = project.manifest.read_text()
    project.manifest.write_text(text[: text.index("\ncontacts:")] + "\ncontacts: {}\n")
    before = service.writes()

    ended = project.run(service, "apply", "--yes", "--events", "-")
    events = told(ended.stdout)

    assert (words(events), events[0]["safe"]) == (["plan", "error"], False)
    assert ended.returncode == events[-1]["exit_code"] == 7
    assert service.writes() == before


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--events", "-", "--format", "json", "--yes"), 64, "both go to standard output"),
        (("--events", "-"), 64, "not a terminal"),
        (("--events", "nowhere/e.jsonl", "--yes"), 1, "events cannot be written: no such file or directory"),
        (("--events", "manifests", "--yes"), 1, "events cannot be written: is a directory"),
        (("--events", "e", "--report", "json=./e", "--yes"), 64, "names the same file"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    project: Project, service: Service, options: tuple[str, ...], code: int, said: str
) -> None:
    ended = project.run(service, "apply", *options)

    assert said in ended.stderr + ended.stdout
    assert ended.returncode == code
    assert service.requests() == []


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(tmp_path: Path) -> None:
    """Somebody else may have laid it there."""
    (tmp_path / "link").symlink_to(tmp_path / "target")

    for path in (tmp_path / "link", Path("/dev/null")):
        with pytest.raises(FileError, match="events cannot be written"):
            open_events(str(path), as_json=False)
    assert not (tmp_path / "target").exists()


def test_no_value_is_in_an_event(tmp_path: Path) -> None:
    """A field that was not taken stands in the report with both of its values; here it has none."""
    file = tmp_path / "e.jsonl"
    events = open_events(str(file), as_json=False)
    fields = (FieldResult("jobTitle", "canary-sent", "canary-shown"),)
    with events.of_command():
        events.changed(Outcome(Address("contact/default/a"), "update", "failed", "not taken", fields=fields))

    assert [one["result"] for one in told(file.read_text())] == ["failed"]
    assert "canary" not in file.read_text()


def test_events_that_can_no_longer_be_written_stop_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said once; whoever watches sees by the exit code that lines are missing."""
    events = open_events(str(tmp_path / "e.jsonl"), as_json=False)
    with events.of_command():
        pass  # the file is let go of, as if its disk were
    with Path("/dev/full").open("wb", buffering=0) as full:
        events._handle = full.fileno()
        events.begins(1)
        events.begins(2)
        events._handle = None

    assert not events.whole
    assert capsys.readouterr().err == (
        "events are no longer written (no space left on device); the command goes on.\n"
    )
