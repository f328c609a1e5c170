"""-v, -vv and --log-file: what is done, each call, and nobody's data."""

import errno
import json
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.hands import Project, Service

from reconciler.cli import logs
from reconciler.errors import FileError
from reconciler.service.answers import Answer, Call, template_of
from reconciler.service.http import urls
from reconciler.service.http.told import TriedCall, tell


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    yield
    logs.end()


def _told(path: str = "/contacts") -> None:
    tell(Call("GET", path, "contact", (("q", "canary"),)), Answer(200, {}, b"1234"), attempt=2, seconds=0.5)


def test_a_call_is_told_without_ids_and_queries(capsys: pytest.CaptureFixture[str]) -> None:
    """An id is a person, and a query may be a name or a telephone number."""
    logs.to_stderr(2)

    _told(urls.path("/workspaces/{wid}/contacts/{id}", {"wid": "W1", "id": "4C8FE1"}))

    assert capsys.readouterr().err == (
        "GET /workspaces/{wid}/contacts/{id}: 200, 500 ms, 0 bytes sent, 4 received, try 2\n"
    )


def test_of_a_path_that_has_no_template_the_first_part_is_told() -> None:
    """Whatever was put together elsewhere may hold an id."""
    built = urls.path("/contacts/{id}", {"id": "4C8FE1"})

    assert template_of(f"{built}/more") == "/contacts/..."
    assert template_of("/workspaces") == "/workspaces"


def test_steps_are_shown_with_one_v_and_calls_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr(1)
    _told()
    logging.getLogger(logs.STEPS).info("planned: %d changes", 3)

    assert capsys.readouterr().err == "planned: 3 changes\n"


def test_without_an_option_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does an earlier command of this process leave a listener behind."""
    logs.to_stderr(2)
    logs.end()
    _told()

    assert capsys.readouterr().err == ""


def test_a_file_gets_lines_of_json_as_they_happen_and_is_private(tmp_path: Path) -> None:
    """Appended: the log of the run before is not lost."""
    file = tmp_path / "log.jsonl"
    file.write_text("before\n")
    file.chmod(0o644)
    logs.to_file(str(file))
    _told()
    seen = file.read_text().splitlines()
    logging.getLogger(logs.STEPS).info("planned")

    first, call = seen
    assert first == "before"
    told = json.loads(call)
    assert told.pop("at").endswith("+00:00")
    assert told == {
        "call": {
            "method": "GET",
            "path": "/contacts",
            "status": 200,
            "ms": 500,
            "sent": 0,
            "received": 4,
            "attempt": 2,
            "broken": "",
        }
    }
    assert json.loads(file.read_text().splitlines()[2])["step"] == "planned"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["folder", "link", "gone/log", "nul\0"])
def test_what_is_no_file_is_refused_before_anything_begins(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")

    with pytest.raises(FileError, match="the log cannot be written"):
        logs.to_file(str(tmp_path / name))

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
    assert capsys.readouterr().err.count("the log is not written any more (no space left on device)") == 1


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


def test_a_path_that_goes_on_is_plain_text() -> None:
    """JSON takes no other: an error that names its call could not be printed."""
    call = Call("GET", urls.path("/contacts/{id}", {"id": "4C8FE1"}), "contact")

    assert (type(call.path), call.path, call.template) == (str, "/contacts/4C8FE1", "/contacts/{id}")
