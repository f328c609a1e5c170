"""undo RUN: a run of the history is undone from what it kept, as an undo file is."""

import json
import re
import stat
from contextlib import closing
from sqlite3 import connect

import pytest
from cli.hands import Project, Service

CREATED = 5  # creates of the quickstart


def applied(project: Project, service: Service, *more: str) -> str:
    """Apply, and return the id of the run."""
    done = project.run(service, "apply", "--yes", "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["run"])


def test_a_run_is_undone_by_the_beginning_of_its_id(project: Project, service: Service) -> None:
    """The whole way: guarded, agreed to by its number, applied, and at its end the service is as it was."""
    run = applied(project, service)

    unsafe = project.run(service, "undo", run[:8], "--yes")
    between = len(service.contacts())
    done = project.run(service, "undo", run[:8], "--yes", "--allow-deletes", str(CREATED))

    assert (unsafe.returncode, between) == (7, 3)
    assert f"--allow-deletes {CREATED}" in unsafe.stderr
    assert "consent:" not in unsafe.stderr  # no manifest says what an undo is
    assert done.returncode == 0, done.stderr
    assert f"undoes run {run[:8]}" in done.stdout
    assert f"{CREATED} applied" in done.stdout
    assert "git still has the commit that was undone" in done.stderr
    assert service.contacts() == {}


def test_an_update_is_set_back_and_is_not_undone_twice(project: Project, service: Service) -> None:
    applied(project, service)
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    run = applied(project, service)

    done = project.run(service, "undo", run, "--yes", "--format", "json")
    undo = json.loads(done.stdout)["run"]
    writes = service.writes()
    again = project.run(service, "undo", run, "--yes")
    back = project.run(service, "undo", undo, "--yes")
    later = json.loads(project.run(service, "plan", "--format", "json").stdout)

    assert done.returncode == 0, done.stderr
    assert again.returncode == 5
    assert f"run {run} was undone before: by run {undo} at " in again.stderr
    assert back.returncode == 7
    assert "an undo cannot be undone" in back.stderr
    assert service.writes() == writes
    (change,) = later["plan"]["changes"]
    assert [(one["before"], one["after"]) for one in change["fields"]] == [("Analyst", "Chief Analyst")]


def test_an_undo_is_written_and_shown_without_a_change(project: Project, service: Service) -> None:
    """-o FILE is for whoever reviews it; carried out as a file, it is carried out."""
    run = applied(project, service)
    writes = service.writes()

    words = ("-o", "undo.json", "--allow-deletes", str(CREATED), "--report", "markdown=undo.md")
    shown = project.run(service, "undo", run[:6], *words)
    path = project.folder / "undo.json"
    again = project.run(service, "show", "undo.json")
    before = service.writes()
    done = project.run(service, "apply", "undo.json", "--allow-deletes", str(CREATED))
    twice = project.run(service, "undo", run, "--yes", "--allow-deletes", str(CREATED))

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[:-1] == again.stdout.splitlines()[: len(shown.stdout.splitlines()) - 1]
    assert f"reconciler apply undo.json --allow-deletes {CREATED}" in shown.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (project.folder / "undo.md").exists()
    assert before == writes
    assert done.returncode == 0, done.stderr
    assert (twice.returncode, "was undone before" in twice.stderr) == (5, True)


def test_a_file_of_the_run_and_its_history_are_one_undo(project: Project, service: Service) -> None:
    """Apply --undo FILE and undo RUN: whichever comes first, the other is used up."""
    run = applied(project, service, "--undo", "undo.json")
    assert project.run(service, "undo", run, "--yes", "--allow-deletes", str(CREATED)).returncode == 0

    done = project.run(service, "apply", "undo.json", "--allow-deletes", str(CREATED))

    assert done.returncode == 5
    assert "this undo was applied before" in done.stderr


def test_what_somebody_changed_since_is_a_conflict(project: Project, service: Service) -> None:
    run = applied(project, service)
    service.rename(service.contacts()["Sam"], "Night Watch")

    done = project.run(service, "undo", run, "--yes", "--allow-deletes", "5", "--format", "json")

    results = {one["address"]: one["result"] for one in json.loads(done.stdout)["outcomes"]}
    assert done.returncode == 6
    assert results["contact/default/sam-lee"] == "conflict"
    assert list(service.contacts()) == ["Sam"]


def test_a_push_token_that_was_deleted_is_in_no_store_and_said_to_be_lost(
    project: Project, service: Service
) -> None:
    """Secrets are kept nowhere in clear, so the contact comes back without its device."""
    applied(project, service)
    text = project.manifest.read_text()
    entry = re.search(r"  jane-doe:\n(?:    .*\n|\n)*", text)
    assert entry is not None
    project.manifest.write_text(text.replace(entry[0], ""))
    run = applied(project, service)

    done = project.run(service, "undo", run, "--yes")

    assert done.returncode == 0, done.stderr
    assert "its push token is not kept" in done.stdout
    assert "Jane" in service.contacts()
    with closing(connect(project.folder / ".reconciler" / "store.db")) as raw:
        kept = "".join(text for (text,) in raw.execute("SELECT plan FROM undos"))
    assert "jane.doe@example.com" in kept
    for secret in re.findall(r"pushToken: (\S+)", text):
        assert secret not in kept


@pytest.mark.parametrize(
    ("named", "code", "said"),
    [
        ("zz", 3, "no run of this stack has an id that begins with 'zz'.  [E188]"),
        ("", 3, "no run of this stack"),
    ],
)
def test_a_run_that_is_not_known_changes_nothing(
    named: str, code: int, said: str, project: Project, service: Service
) -> None:
    done = project.run(service, "undo", named, "--yes")

    assert done.returncode == code
    assert said.split("  ", maxsplit=1)[0] in done.stderr
    assert "[E188]" in done.stderr
    assert service.requests() == []


def test_a_run_without_a_write_has_nothing_to_undo(project: Project, service: Service) -> None:
    applied(project, service)
    run = applied(project, service)

    done = project.run(service, "undo", run, "--yes")

    assert done.returncode == 7
    assert f"run {run} wrote nothing, so there is nothing to undo." in done.stderr
    assert "[E189]" in done.stderr


def test_another_stack_is_named_and_its_run_left_alone(project: Project, service: Service) -> None:
    """One store may hold several."""
    run = applied(project, service)
    settings = project.folder / "reconciler.yaml"
    settings.write_text(re.sub(r"^stack: .*$", "stack: other", settings.read_text(), flags=re.MULTILINE))
    writes = service.writes()

    done = project.run(service, "undo", run, "--yes")

    assert done.returncode == 3
    assert "another stack or address of the service: quickstart" in done.stderr
    assert service.writes() == writes


def test_a_project_may_keep_no_undo(project: Project, service: Service) -> None:
    """Who deletes a person may have to delete all that is known of her."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "undo_days: 0\n")
    run = applied(project, service)

    done = project.run(service, "undo", run, "--yes")

    assert done.returncode == 7
    assert f"the undo of run {run} is not kept" in done.stderr


def test_without_a_terminal_somebody_has_to_agree_beforehand(project: Project, service: Service) -> None:
    done = project.run(service, "undo", "3f2a")

    assert done.returncode == 64
    assert "pass --yes, or -o FILE" in done.stderr


def test_an_adoption_is_undone_by_forgetting_it(project: Project, service: Service) -> None:
    """The run wrote nothing to the service; what it recorded is taken back."""
    applied(project, service)
    for path in (project.folder / ".reconciler").glob("store.db*"):
        path.unlink()
    adopted = project.run(service, "adopt", "--all", "--yes", "--format", "json")
    run = json.loads(adopted.stdout)["run"]
    writes = service.writes()

    done = project.run(service, "undo", run, "--yes")
    plan = json.loads(project.run(service, "plan", "--format", "json").stdout)

    assert done.returncode == 0, done.stderr
    assert service.writes() == writes
    assert plan["counts"]["adopted"] == CREATED - 1  # what a file contains, no read shows
