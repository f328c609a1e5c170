"""What a person and a job see of workspaces that are left out: first, with the reason and the exit code."""

import json
from pathlib import Path

import pytest
from cli.hands import Project, Service

import reconciler

SETTINGS = "workspaces:\n  default: {}\n  ops: {id: 4C8FE1A2B3D4E5F6}\n"
MISTAKE = (
    "version: 1\nworkspace: ops\ncontacts:\n  lee: {fristName: Lee, workEmailAddress1: lee@example.com}\n"
)


@pytest.fixture
def two(project: Project) -> Project:
    """The quickstart beside a workspace whose only manifest has a mistake."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text().replace("workspaces:\n  default: {}\n", SETTINGS))
    (project.folder / "manifests" / "ops.yaml").write_text(MISTAKE)
    return project


@pytest.mark.parametrize("command", ["plan", "drift", "list"])
def test_the_first_line_says_which_workspace_is_missing(two: Project, service: Service, command: str) -> None:
    """The mistake itself is on stderr, with its place, as `validate` tells it."""
    done = two.run(service, command)

    assert done.stdout.startswith("Not planned: ops\n"), done.stdout
    assert "its manifests have a mistake at manifests/ops.yaml:4:9. [E2" in done.stdout
    assert "manifests/ops.yaml:4:9: contact/ops/lee: fristName is not a field" in done.stderr
    assert done.returncode == 3
    found = json.loads(two.run(service, command, "--format", "json").stdout)
    left = found["plan"]["not_planned"] if command == "plan" else found["not_planned"]
    assert [(one["workspace"], one["by"]) for one in left] == [("ops", "manifests")]
    assert (found["exit_code"], found["outcome"]) == (3, "invalid")


def test_an_apply_ends_with_6_and_every_report_says_why(two: Project, service: Service) -> None:
    """A job that looks at the exit code alone does not take it for done."""
    reports = {
        form: two.folder / f"run.{form}"
        for form in ("text", "markdown", "html", "json", "sarif", "junit", "prometheus")
    }
    options = [part for form, path in reports.items() for part in ("--report", f"{form}={path}")]

    done = two.run(service, "apply", "--yes", *options)

    assert done.returncode == 6, done.stderr
    assert len(service.contacts()) == 3
    written = {form: path.read_text() for form, path in reports.items()}
    assert written["text"].startswith("Not planned: ops\n")
    assert "**Not planned: `ops`." in written["markdown"] or "**Not planned: ops." in written["markdown"]
    assert written["html"].index("Not planned: ops") < written["html"].index("<h1>")
    assert json.loads(written["json"])["not_planned"][0]["workspace"] == "ops"
    assert "not-planned" in written["sarif"]
    assert "ops" in written["junit"]
    assert 'reconciler_not_planned{stack="quickstart",command="apply"} 1' in written["prometheus"]
    again = two.run(service, "apply", "--yes")
    assert (again.returncode, again.stdout.startswith("Not planned: ops\n")) == (3, True)


def test_all_or_nothing_by_option_and_by_setting(two: Project, service: Service) -> None:
    """Then a mistake stops the run, as one of the only workspace does."""
    by_option = two.run(service, "plan", "--strict-scopes")
    by_setting = two.run(service, "plan", env={"RECONCILER_STRICT_SCOPES": "always"})

    for done in (by_option, by_setting):
        assert (done.returncode, done.stdout) == (3, "")
        assert "fristName" in done.stderr


def test_a_saved_plan_says_what_it_left_out(two: Project, service: Service, tmp_path: Path) -> None:
    """Whoever reviews it sees it first, and its apply writes nothing there."""
    file = tmp_path / "plan.json"
    assert two.run(service, "plan", "-o", str(file)).returncode == 3
    (two.folder / "manifests" / "ops.yaml").write_text(MISTAKE.replace("fristName", "firstName"))

    shown = two.run(service, "show", str(file))
    done = two.run(service, "apply", str(file))

    assert shown.stdout.startswith("Not planned: ops\n")
    assert done.returncode == 6, done.stderr
    assert "ops" not in str(service.writes())


def test_a_program_gets_it_with_the_plan_and_the_run(two: Project, service: Service) -> None:
    """And a selection that is not about it reads none of its manifests."""
    project = reconciler.Project(two.folder, environ=two.environ(service))

    proposal = reconciler.plan(project)
    run = reconciler.apply(project, lambda _proposal: True)
    narrow = reconciler.plan(project, options=reconciler.Options(only=("workspace:default",)))

    assert [(one.workspace, one.by) for one in proposal.plan.left_out] == [("ops", "manifests")]
    assert json.loads(proposal.json())["exit_code"] == 3
    assert (run.exit_code, run.not_planned) == (6, proposal.plan.left_out)
    assert narrow.plan.left_out == ()
    assert [one.alias for one in narrow.plan.target.workspaces] == ["default"]


def test_a_directory_that_does_not_answer_leaves_out_who_takes_from_it(
    two: Project, service: Service
) -> None:
    """It may answer the next run; the manifests are right."""
    settings = two.folder / "reconciler.yaml"
    sql = 'sql: {url: "sqlite:///none.db", statement: "SELECT id, mail FROM staff"}'
    settings.write_text(f"{settings.read_text()}directories:\n  staff: {{{sql}}}\n")
    roster = 'directory: staff, name: "{id}", contacts: {workEmailAddress1: "{mail}"}'
    manifest = f"version: 1\nworkspace: ops\nrosters:\n  - {{{roster}}}\n"
    (two.folder / "manifests" / "ops.yaml").write_text(manifest)

    done = two.run(service, "plan", "--format", "json")

    found = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert [(one["workspace"], one["by"]) for one in found["plan"]["not_planned"]] == [("ops", "directory")]
    assert found["counts"]["creates"] == 5
    assert "directory staff" in done.stderr
