"""apply as a process: what it asks, what it refuses, how it stops."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
import warm
from cli.hands import Project, Service
from msgspec import structs
from waiting import patience_s, readable, taken, until

from reconciler.files.plan_file import read_plan, write_plan

PLANNED = 5  # creates of the quickstart


class Terminal:
    """A command whose stdin, stdout and stderr are a terminal."""

    def __init__(self, process: warm.Command, screen: int) -> None:
        self.process = process
        self._screen = screen
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Return when the terminal shows this text."""
        while text not in self.seen:
            assert self._read(), self.seen

    def type(self, text: str) -> None:
        """Type on the keyboard."""
        os.write(self._screen, text.encode())

    def end(self) -> int:
        """Return the exit code, once everything was read."""
        while self._read():
            pass
        return self.process.wait(patience_s)

    def _read(self) -> bool:
        assert readable(self._screen), self.seen
        try:
            found = os.read(self._screen, 65_536).decode()
        except OSError:  # how a terminal says that the other side has gone
            return False
        self.seen += found.replace("\r\n", "\n")
        return bool(found)


@contextmanager
def terminal(project: Project, service: Service, *arguments: str, **more: str) -> Iterator[Terminal]:
    """`more` are variables of its environment."""
    ours, theirs = pty.openpty()
    env = {"NO_COLOR": "1", "TERM": "xterm", **more}
    with project.start(service, *arguments, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.kill()
            os.close(ours)


@contextmanager
def started(
    project: Project, service: Service, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[warm.Command]:
    with project.start(
        service,
        *arguments,
        env=dict(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_writes(service: Service, count: int) -> None:
    """Return when the service has answered this many writes."""
    until(lambda: len(service.writes()) >= count, f"{count} writes")


def test_apply_carries_out_what_it_showed_and_tells_every_outcome(project: Project, service: Service) -> None:
    """Plan, outcomes, counts; the second run has nothing to do."""
    first = project.run(service, "apply", "--yes")
    writes = service.writes()
    second = project.run(service, "apply", "--yes")

    assert (first.returncode, first.stderr) == (0, "")
    assert "5 creates" in first.stdout
    assert "5 applied" in first.stdout
    assert len(writes) == PLANNED
    assert (second.returncode, service.writes()) == (0, writes)
    assert "Nothing had to be written." in second.stdout


def test_apply_in_json_is_the_report_of_the_run(project: Project, service: Service) -> None:
    """One document, with one outcome for each change."""
    done = project.run(service, "apply", "--yes", "--format", "json")

    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (found["outcome"], found["exit_code"], len(found["outcomes"])) == ("done", 0, PLANNED)
    assert {one["result"] for one in found["outcomes"]} == {"applied"}


@pytest.mark.parametrize("typed", ["apply", "apply --format json"])
def test_where_nobody_can_answer_apply_needs_yes(typed: str, project: Project, service: Service) -> None:
    """A pipe cannot agree to anything."""
    done = project.run(service, *typed.split())

    assert done.returncode == 64
    assert "not a terminal: pass --yes, or the FILE of a reviewed plan" in done.stdout + done.stderr
    assert "reconciler apply --help" in done.stdout + done.stderr
    assert service.requests() == []


def test_a_selection_belongs_to_the_plan_and_not_to_its_file(project: Project, service: Service) -> None:
    """What was reviewed is carried out, not a part of it."""
    done = project.run(service, "apply", "plan.json", "--only", "kind:contact")

    assert done.returncode == 64
    assert "FILE already contains them" in done.stderr
    assert service.requests() == []


def test_a_saved_plan_is_carried_out_once(project: Project, service: Service) -> None:
    """No question, for it was reviewed; and no second time."""
    project.run(service, "plan", "-o", "plan.json")
    first = project.run(service, "apply", "plan.json")
    writes = service.writes()
    second = project.run(service, "apply", "plan.json")

    assert (first.returncode, len(writes)) == (0, PLANNED)
    assert (second.returncode, service.writes()) == (5, writes)
    assert "  next: plan again" in second.stderr


def test_a_stale_plan_is_refused_and_the_difference_shown(project: Project, service: Service) -> None:
    """Somebody else changed Jane between the review and the apply."""
    project.run(service, "apply", "--yes")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    project.run(service, "plan", "-o", "plan.json")
    service.rename(service.contacts()["Jane"], "Night Watch")
    writes = service.writes()

    done = project.run(service, "apply", "plan.json")
    as_json = project.run(service, "apply", "plan.json", "--format", "json")

    assert done.returncode == as_json.returncode == 5
    assert "the plan is stale" in done.stderr
    assert "contact/default/jane-doe" in done.stdout
    assert "ada-king" not in done.stdout
    assert json.loads(as_json.stdout)["outcome"] == "stale"
    assert service.writes() == writes


def test_a_plan_for_another_manifest_is_stale(project: Project, service: Service) -> None:
    """The manifests were edited after the review."""
    project.run(service, "plan", "-o", "plan.json")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")

    done = project.run(service, "apply", "plan.json")

    assert done.returncode == 5
    assert "contact/default/ada-king" in done.stdout
    assert service.writes() == []


def test_a_plan_that_expired_is_stale(project: Project, service: Service) -> None:
    """An approval of yesterday is none for today."""
    project.run(service, "plan", "-o", "plan.json")
    path = project.folder / "plan.json"
    write_plan(path, structs.replace(read_plan(path), expires_at="2020-01-01T00:00:00+00:00"))

    done = project.run(service, "apply", "plan.json")

    assert done.returncode == 5
    assert "the plan expired at 2020-01-01T00:00:00+00:00." in done.stderr
    assert service.writes() == []


def test_a_person_is_asked_and_yes_carries_it_out(project: Project, service: Service) -> None:
    """The plan is on the screen when the question comes."""
    with terminal(project, service, "apply") as screen:
        screen.wait_for("Carry out this plan? [yes/no] ")
        shown = screen.seen
        asked = service.writes()
        screen.type("yes\n")
        code = screen.end()

    assert "5 creates" in shown
    assert (asked, code, len(service.writes())) == ([], 0, PLANNED)
    assert "5 applied" in screen.seen


@pytest.mark.parametrize("answer", ["no\n", "y\n", "\n", "\x04"])
def test_anything_but_yes_writes_nothing(answer: str, project: Project, service: Service) -> None:
    """Exit code 7: refused, by a person this time."""
    with terminal(project, service, "apply") as screen:
        screen.wait_for("[yes/no] ")
        screen.type(answer)
        code = screen.end()

    assert (code, service.writes()) == (7, [])
    assert "not confirmed; nothing was written. [E011]\n  next: reconciler apply" in screen.seen


def test_no_question_is_asked_where_nothing_would_be_done(project: Project, service: Service) -> None:
    """A question about nothing teaches people to say yes."""
    project.run(service, "apply", "--yes")

    with terminal(project, service, "apply") as screen:
        code = screen.end()

    assert code == 0
    assert "yes/no" not in screen.seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_question_writes_nothing_and_frees_the_lock(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """Ctrl-C is the most natural no."""
    with terminal(project, service, "apply") as screen:
        screen.wait_for("[yes/no] ")
        screen.process.send_signal(number)
        code = screen.end()

    assert (code, service.writes()) == (130, [])
    assert project.run(service, "apply", "--yes").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_planning_ends_at_once(
    number: signal.Signals, project: Project, slow_service: Service
) -> None:
    """Nothing was written, so there is nothing to finish."""
    slowly = {"RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "1"}
    with started(project, slow_service, "apply", "--yes", env=slowly) as process:
        until(slow_service.requests, "the first request")
        process.send_signal(number)
        _, said = process.communicate(timeout=patience_s)

    assert process.returncode == 130
    assert said == "stopped before anything was written. [E043]\n  next: run it again\n"
    assert slow_service.writes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_applying_finishes_what_is_under_way(
    number: signal.Signals, project: Project, slow_service: Service
) -> None:
    """Every change is in the report, none is in doubt, and the next run does the rest."""
    with started(project, slow_service, "apply", "--yes", "--format", "json") as process:
        wait_for_writes(slow_service, 1)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=patience_s)

    found = json.loads(printed)
    results = [one["result"] for one in found["outcomes"]]
    assert (process.returncode, found["outcome"], len(results)) == (130, "interrupted", PLANNED)
    assert set(results) == {"applied", "not attempted"}
    assert results.count("applied") == len(slow_service.writes())

    again = project.run(slow_service, "apply", "--yes")
    assert again.returncode == 0
    assert len(slow_service.writes()) == PLANNED


def test_a_second_signal_stops_at_once_and_nothing_is_made_twice(
    project: Project, slow_service: Service
) -> None:
    """What was cut off is in doubt; the next run looks before it writes."""
    with started(project, slow_service, "apply", "--yes", "--format", "json") as process:
        wait_for_writes(slow_service, 1)
        process.send_signal(signal.SIGINT)
        taken(signal.SIGINT, process)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=patience_s)

    assert len(json.loads(printed)["outcomes"]) == PLANNED
    assert process.returncode in (8, 130)
    slow_service.ends()
    project.run(slow_service, "apply", "--yes")
    assert project.run(slow_service, "plan", "--detailed-exitcode").returncode == 0
    assert sorted(slow_service.contacts()) == ["Ada", "Jane", "Sam"]


def test_two_applies_at_once_are_one_and_a_refusal(project: Project, slow_service: Service) -> None:
    """The lock names its holder; the second writes nothing."""
    slowly = {"RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "2"}  # slower than a command needs to start
    with started(project, slow_service, "apply", "--yes", env=slowly) as process:
        wait_for_writes(slow_service, 1)
        second = project.run(slow_service, "apply", "--yes")
        process.communicate(timeout=patience_s)

    assert (process.returncode, second.returncode) == (0, 4)
    assert "  next: " in second.stderr
    assert len(slow_service.writes()) == PLANNED


def test_a_lost_store_makes_nothing_twice(project: Project, service: Service) -> None:
    """What is live is recognized by its identity, and only recorded again."""
    project.run(service, "apply", "--yes")
    writes = service.writes()
    for one in (project.folder / ".reconciler").iterdir():
        if one.is_file():
            one.unlink()

    done = project.run(service, "apply", "--yes")

    assert done.returncode == 0
    assert len(service.contacts()) == 3
    assert [method for method, _ in service.writes()[len(writes) :]] in ([], ["PUT"])


def test_a_store_that_cannot_be_written_stops_before_any_write(project: Project, service: Service) -> None:
    """What is done must be recorded, or it is not done."""
    (project.folder / ".reconciler").write_text("in the way")

    done = project.run(service, "apply", "--yes")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "  next: " in done.stderr
    assert service.writes() == []
