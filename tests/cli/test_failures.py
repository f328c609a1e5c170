"""Why a command failed stands on stderr in every format: a job that keeps the report has it in its log."""

import json
import os
import pty
import subprocess
from collections.abc import Callable

import pytest
from cli.hands import Project, Service
from cli.test_consent import NAMES, declare
from waiting import patience_s


def refuse(project: Project, service: Service) -> None:
    """Let the plan delete more people than the guard lets go."""
    declare(project, NAMES)
    assert project.run(service, "apply", "--yes").returncode == 0
    declare(project, NAMES[:2])


def misspell(project: Project, _service: Service) -> None:
    """Let a manifest hold a mistake."""
    project.edit("firstName: Jane", "fristName: Jane")


def lose_settings(project: Project, _service: Service) -> None:
    """Let the settings hold a mistake."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text().replace("stack:", "stuck:"))


def make_stale(project: Project, service: Service) -> None:
    """Keep a plan of which somebody else has changed what it found."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit("jobTitle: Engineer", "jobTitle: Lead")
    assert project.run(service, "plan", "-o", "plan.json").returncode == 0
    service.rename(service.contacts()["Jane"], "Director")


def nothing(_project: Project, _service: Service) -> None:
    """Leave all as it is."""


Case = tuple[Callable[[Project, Service], None], tuple[str, ...], int, tuple[str, ...]]
CASES: dict[str, Case] = {
    "plan refused": (refuse, ("plan",), 7, ("the plan deletes 4 of 6", "[G1]")),
    "apply refused": (refuse, ("apply", "--yes"), 7, ("the plan deletes 4 of 6", "[E012]")),
    "apply stale": (make_stale, ("apply", "plan.json"), 5, ("the plan is stale", "[E013]")),
    "plan invalid": (misspell, ("plan",), 3, ("manifests/team.yaml:8:5: ", "fristName", "[E002]")),
    "drift invalid": (misspell, ("drift",), 3, ("manifests/team.yaml:8:5: ", "fristName", "[E002]")),
    "apply invalid": (misspell, ("apply", "--yes"), 3, ("manifests/team.yaml:8:5: ", "[E002]")),
    "validate invalid": (misspell, ("validate",), 3, ("manifests/team.yaml:8:5: ", "[E002]")),
    "list invalid": (misspell, ("list",), 3, ("manifests/team.yaml:8:5: ", "[E002]")),
    "resume invalid": (misspell, ("resume",), 3, ("manifests/team.yaml:8:5: ", "[E002]")),
    "adopt invalid": (misspell, ("adopt", "--all", "--yes"), 3, ("manifests/team.yaml:8:5: ", "[E002]")),
    "settings": (lose_settings, ("config",), 3, ("reconciler.yaml:", "stuck", "[E003]")),
    "drift without records": (nothing, ("drift",), 1, ("default: nothing is recorded there",)),
    "doctor": (misspell, ("doctor", "--offline"), 1, ("FAIL", "fristName")),
    "no such plan": (nothing, ("show", "none.json"), 1, ("none.json: cannot be read", "[E042]")),
    "usage": (nothing, ("plan", "--encrypt-to", "age1x"), 64, ("pass -o FILE",)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_said_on_stderr_beside_the_json(name: str, project: Project, service: Service) -> None:
    """Otherwise the log of a job that writes `--format json > FILE` is empty."""
    prepare, words, code, said = CASES[name]
    prepare(project, service)

    done = project.run(service, *words, "--format", "json")

    assert done.returncode == code
    assert json.loads(done.stdout)["exit_code"] == code
    assert [one for one in said if one not in done.stderr] == []
    assert "next: " in done.stderr
    assert '"exit_code"' not in done.stderr


def test_a_refusal_in_text_that_goes_to_a_file_is_said_on_stderr(project: Project, service: Service) -> None:
    """The plan is in the file; why it will not be carried out is in the log too."""
    refuse(project, service)

    done = project.run(service, "plan")

    assert done.returncode == 7
    assert "refused: the plan deletes 4 of 6" in done.stdout
    assert "refused: the plan deletes 4 of 6" in done.stderr
    assert "jobTitle" not in done.stderr


def test_a_change_that_failed_is_said_on_stderr(project: Project, service: Service) -> None:
    """An apply that ends in part has its report in the file; the log says which change, and what to do."""
    service.call(
        "POST", "/_sandbox/faults", {"fault": "refused-before", "method": "POST", "status": 400, "times": 1}
    )

    done = project.run(service, "apply", "--yes", "--format", "json")

    run = json.loads(done.stdout)
    failed = [one for one in run["outcomes"] if one["result"] == "failed"]
    assert failed
    assert all(one["address"] in done.stderr for one in failed)
    assert "next: reconciler apply" in done.stderr
    assert done.returncode == run["exit_code"]


@pytest.mark.parametrize("words", [("--format", "json"), ()], ids=["json", "text"])
def test_where_both_streams_are_one_a_failure_is_said_once(
    words: tuple[str, ...], project: Project, service: Service
) -> None:
    """On a terminal, and in the log of a job that redirects nothing: twice would read like two failures."""
    refuse(project, service)

    both = project.start_cold(
        service, "plan", *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
    )
    shown, _ = both.communicate(timeout=patience_s)

    assert both.returncode == 7
    assert shown.count("the plan deletes 4 of 6") == 1


def test_on_a_terminal_a_failure_is_said_once(project: Project, service: Service) -> None:
    """What a person sees is the report, with the refusal in it."""
    refuse(project, service)
    ours, theirs = pty.openpty()

    process = project.start_cold(service, "plan", stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)

    assert process.wait(timeout=patience_s) == 7
    assert shown.count(b"the plan deletes 4 of 6") == 1


def test_a_plan_that_may_be_applied_says_nothing_on_stderr(project: Project, service: Service) -> None:
    """A log that always speaks is read by nobody."""
    done = project.run(service, "plan", "--format", "json")

    assert (done.returncode, done.stderr) == (0, "")
