"""resume as a process: after a kill, after a signal, and where there is nothing to do."""

import json
import subprocess
from collections.abc import Callable

import warm
from cli.hands import Project, Service
from waiting import patience_s, until

PLANNED = 4  # creates of the quickstart, its file left out


def cut_off(project: Project, service: Service, end: Callable[[warm.Command], None]) -> None:
    """Apply, and end it so after its first write.

    Without the file: cut off in its creation its content is unknown, and uploaded once more by a new plan.
    """
    project.manifest.write_text(project.manifest.read_text().partition("\nresources:\n")[0] + "\n")
    with project.start(
        service, "apply", "--yes", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until(service.writes, "the first write")
        end(process)
        process.communicate(timeout=patience_s)
    service.ends()


def test_a_killed_run_is_named_by_plan_and_gone_on_with_by_resume(
    project: Project, slow_service: Service
) -> None:
    """Nobody is asked, nothing is sent twice, and everything that was agreed to is there."""
    cut_off(project, slow_service, lambda process: process.kill())

    planned = project.run(slow_service, "plan")
    done = project.run(slow_service, "resume", "-v")

    assert "(apply, 20" in planned.stderr
    assert "did not finish: " in planned.stderr
    assert "  next: reconciler resume" in planned.stderr
    assert done.returncode == 0
    assert (
        "first, the command finds out what became of earlier requests; nothing is sent twice." in done.stderr
    )
    assert "   resumes " in done.stdout
    assert len(slow_service.writes()) == PLANNED
    assert sorted(slow_service.contacts()) == ["Ada", "Jane", "Sam"]
    after = project.run(slow_service, "plan", "--detailed-exitcode")
    assert (after.returncode, after.stderr) == (0, "")


def test_apply_says_that_it_settles_a_killed_run_first(project: Project, slow_service: Service) -> None:
    """Without `resume`, a plain `apply` comes to the same."""
    cut_off(project, slow_service, lambda process: process.kill())

    done = project.run(slow_service, "apply", "--yes", "--format", "json")

    assert done.returncode == 0
    assert "did not finish: " in done.stderr
    assert json.loads(done.stdout)["outcome"] == "done"
    assert len(slow_service.writes()) == PLANNED
    assert project.run(slow_service, "resume").returncode == 0


def test_a_stopped_run_is_gone_on_with_and_reported_as_json(project: Project, slow_service: Service) -> None:
    """Ctrl-C leaves a rest; the report names the run that it belongs to."""
    cut_off(project, slow_service, lambda process: process.terminate())

    done = project.run(slow_service, "resume", "--format", "json")

    found = json.loads(done.stdout)
    assert (done.returncode, found["outcome"]) == (0, "done")
    assert len(found["resumes"]) == len(found["run"])
    assert {one["result"] for one in found["outcomes"]} == {"applied"}
    assert len(slow_service.writes()) == PLANNED


def test_what_the_old_plan_does_not_hold_is_named_and_not_done(
    project: Project, slow_service: Service
) -> None:
    """What nobody has seen and agreed to belongs to a new plan."""
    cut_off(project, slow_service, lambda process: process.terminate())
    writes = slow_service.writes()
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")

    done = project.run(slow_service, "resume")

    assert done.returncode == 0
    assert "1 change not in the old plan will not be made:" in done.stderr
    assert "contact/default/ada-king" in done.stderr
    assert "    next: reconciler plan" in done.stderr
    assert len(writes) < len(slow_service.writes()) <= PLANNED
    assert project.run(slow_service, "plan", "--detailed-exitcode").returncode == 2


def test_where_nothing_is_left_resume_says_so_and_calls_nobody(project: Project, service: Service) -> None:
    """It may stand in every pipeline."""
    first = project.run(service, "resume")
    as_json = project.run(service, "resume", "--format", "json")

    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "nothing to resume: every run of this stack has finished.\n"
    assert json.loads(as_json.stdout)["outcome"] == "done"
    assert service.requests() == []
