"""-v, -vv and --log-file: what is done, each call, and nobody's data."""

import errno
import json
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest
from cli.hands import Project, Service
from cli.keeping import RUN, store_of

from reconciler import instrumentation
from reconciler.cli.console import logs
from reconciler.cli.result_schemas import log_line_schema
from reconciler.errors import FileError
from reconciler.schema.shipped import compose_published_schema, read_schema
from reconciler.service.answers import Answer, Call, template_of
from reconciler.service.http import urls
from reconciler.service.http.exchange import TriedCall, log_try


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    yield
    logs.stop_logging()


def _told(path: str = "/contacts") -> None:
    log_try(
        Call("GET", path, "contact", (("q", "canary"),)), Answer(200, {}, b"1234"), attempt=2, seconds=0.5
    )


def test_a_call_is_told_without_ids_and_queries(capsys: pytest.CaptureFixture[str]) -> None:
    """An id is a person, and a query may be a name or a telephone number."""
    logs.log_to_stderr(2)

    _told(urls.fill_path("/workspaces/{wid}/contacts/{id}", {"wid": "W1", "id": "4C8FE1"}))

    assert capsys.readouterr().err == (
        "GET /workspaces/{wid}/contacts/{id}: 200, 500 ms, 0 bytes sent, 4 received, try 2\n"
    )


def test_of_a_path_that_has_no_template_the_first_part_is_told() -> None:
    """Whatever was put together elsewhere may hold an id."""
    built = urls.fill_path("/contacts/{id}", {"id": "4C8FE1"})

    assert template_of(f"{built}/more") == "/contacts/..."
    assert template_of("/workspaces") == "/workspaces"


def test_steps_are_shown_with_one_v_and_calls_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    logs.log_to_stderr(1)
    _told()
    logging.getLogger(instrumentation.STEPS).info("planned: %d changes", 3)

    assert capsys.readouterr().err == "planned: 3 changes\n"


def test_without_an_option_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does an earlier command of this process leave a listener behind."""
    logs.log_to_stderr(2)
    logs.stop_logging()
    _told()

    assert capsys.readouterr().err == ""


def test_a_step_that_is_taken_again_is_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Five waits of a second are not one."""
    logs.log_to_stderr(1)
    for _ in range(5):
        logging.getLogger(instrumentation.STEPS).info("put off; again in 1.00 s")
    logs.stop_logging()

    assert capsys.readouterr().err.count("put off") == 5


def test_a_file_gets_lines_of_json_as_they_happen_and_is_private(tmp_path: Path) -> None:
    """Appended: the log of the run before is not lost."""
    file = tmp_path / "log.jsonl"
    file.write_text("before\n")
    file.chmod(0o644)
    logs.log_to_file(str(file))
    _told()
    seen = file.read_text().splitlines()
    logging.getLogger(instrumentation.STEPS).info("planned")

    first, call = seen
    assert first == "before"
    told = json.loads(call)
    assert told.pop("at").endswith("+00:00")
    assert told == {
        "version": 1,
        "call": {
            "method": "GET",
            "path": "/contacts",
            "status": 200,
            "ms": 500,
            "sent": 0,
            "received": 4,
            "attempt": 2,
            "broken": "",
        },
    }
    lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert lines[1]["step"] == "planned"
    fits = jsonschema_rs.Draft202012Validator(compose_published_schema("log"))
    assert [line for line in lines if not fits.is_valid(line)] == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_shipped_schema_of_a_line_follows_from_the_values() -> None:
    """Whoever changes a line changes what is promised of it: script/generate-schemas."""
    assert read_schema("log") == log_line_schema()


def test_a_step_that_names_a_file_which_is_no_text_is_a_line_all_the_same() -> None:
    """Names of files are bytes; a log that ended there would tell nothing more of the run."""
    name = os.fsdecode(b"\xff.html")
    record = logging.LogRecord(
        instrumentation.STEPS, logging.INFO, "", 0, "report written: %s", (name,), None
    )

    assert json.loads(logs._format_json_line(record))["step"] == f"report written: {name}"


@pytest.mark.parametrize("name", ["folder", "link", "gone/log", "nul\0"])
def test_what_is_no_file_is_refused_before_anything_begins(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")

    with pytest.raises(FileError, match="the log cannot be written"):
        logs.log_to_file(str(tmp_path / name))

    assert not (tmp_path / "target").exists()


def test_a_full_disk_is_told_once_and_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A log is a help: a run that stopped over it would leave changes in doubt."""
    tries = []

    def full(text: str) -> None:
        tries.append(text)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    listener = logs.Listener(full, str)
    record = logging.LogRecord("x", logging.INFO, "", 0, "planned", (), None)
    for _ in range(3):
        listener.handle(record)

    assert len(tries) == 1
    assert capsys.readouterr().err.count("the log is no longer written (no space left on device)") == 1


def test_a_command_tells_its_calls(project: Project, service: Service) -> None:
    """From the option to the wire; standard output stays what it was."""
    plain = project.run(service, "plan", "--format", "json")
    loud = project.run(service, "plan", "--format", "json", "-vv", "--log-file", "log.jsonl")

    assert json.loads(loud.stdout)["counts"] == json.loads(plain.stdout)["counts"]
    assert "GET /contacts: 200," in loud.stderr
    assert "planned; changes: " in loud.stderr
    lines = [json.loads(line) for line in (project.folder / "log.jsonl").read_text().splitlines()]
    calls = [line["call"] for line in lines if "call" in line]
    assert len(calls) == json.loads(loud.stdout)["counts"]["calls"]
    assert {*calls[0]} == {*TriedCall.__struct_fields__}


def test_whoever_waits_sees_each_step_of_a_run(project: Project, service: Service) -> None:
    """Where it is, what it decided by, how long each part took: in order, and without a value of anybody."""
    told = project.run(
        service, "apply", "--yes", "-v", "--report", "markdown=r.md", "--log-file", "log.jsonl"
    ).stderr

    steps = (
        "settings: reconciler.yaml; store: ",
        "manifests read; files: 1, entries: 5, mistakes: 0, ",
        "store opened; shared: no, ",
        " holds the lock, ",
        "reading contacts in default by ",
        "read contacts in default by ",
        "planned; changes: 5 (deletes: 0, updates: 0, creates: 5), records to update: 0, left alone: 0, ",
        " begins; changes to carry out: 5",
        "wave 1 begins; changes: ",
        "create resource/default/rota: applied, ",
        "wave 1 ended, ",
        "create contact/default/jane-doe: applied, ",
        " ended: done",
        "released the lock",
        "report written: r.md, ",
    )
    assert [one for one in steps if told.count(one) < 1] == []
    firsts = [told.index(one) for one in steps]
    assert firsts == sorted(firsts)
    assert told.count("settings: ") == 1
    lines = (project.folder / "log.jsonl").read_text()
    assert all(one in lines for one in steps)
    for value in ("Jane", "jane.doe@example.com", "+61491570156", "a-token-that-only-a-sandbox-would-take"):
        assert value not in told + lines


def test_whoever_waits_for_a_lock_is_told(project: Project, service: Service) -> None:
    assert project.run(service, "apply", "--yes").returncode == 0
    with store_of(project, service) as store, store.lock(RUN):
        ended = project.run(service, "apply", "--yes", "-v", "--lock-timeout", "0.1")

    assert ended.returncode == 4
    assert "another run holds the lock; waiting, 0 s at most" in ended.stderr


def test_every_log_is_in_one_table() -> None:
    """A logger that nobody knows of is one whose lines nobody reads, and nobody checks."""
    used = {
        path.name: found
        for path in Path(instrumentation.__file__).parent.rglob("*.py")
        if (found := re.findall(r"getLogger\(([^)]*)\)", path.read_text()))
    }

    # `_name` and `name` are those of libraries, which say nothing here.
    assert used == {"instrumentation.py": ["STEPS", "CALLS", "READING", "_name"], "otlp.py": ["name"]}


def test_a_path_that_goes_on_is_plain_text() -> None:
    """JSON takes no other: an error that names its call could not be printed."""
    call = Call("GET", urls.fill_path("/contacts/{id}", {"id": "4C8FE1"}), "contact")

    assert (type(call.path), call.path, call.template) == (str, "/contacts/4C8FE1", "/contacts/{id}")
