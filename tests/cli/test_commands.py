"""plan, drift, show and validate as processes against a sandbox behind a port."""

import json
import stat
import subprocess
import sys

import pytest
from cli.hands import PLAIN, Project, Service
from waiting import patience_s

ENTRIES = ("jane-doe", "sam-lee", "ada-king")


def emptied(project: Project) -> None:
    """The accident: the contacts are gone from the manifest, their key is not."""
    text = project.manifest.read_text()
    contacts = text.index("\ncontacts:\n")
    project.manifest.write_text(text[:contacts] + "\ncontacts: {}\n" + text[text.index("\nresources:") :])


def test_validate_counts_what_is_declared(project: Project, service: Service) -> None:
    """Offline: no secret, no address, no call."""
    environ = {"SVC_USER": "", "SVC_PASSWORD": "", "SVC_API_KEY": ""}

    text = project.run(service, "validate", env=environ)
    as_json = project.run(service, "validate", "--format", "json", env=environ)

    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout == "no mistakes. Declared: 3 contacts, 1 device, 1 resource in 1 workspace.\n"
    assert json.loads(as_json.stdout)["outcome"] == "done"
    assert service.requests() == []


def test_validate_prints_warnings_as_text_and_in_json(project: Project, service: Service) -> None:
    """A probable mistake changes no exit code: who does not see it learns of it at night."""
    project.edit('"+61491570157"', '"+15555550123"')

    text = project.run(service, "validate")
    as_json = project.run(service, "validate", "--format", "json")

    assert (text.returncode, as_json.returncode) == (0, 0)
    assert (
        "! contact/default/sam-lee: workMobilePhone1 '+15555550123' is not in a number range" in text.stderr
    )
    assert "(manifests/team.yaml:28)\n  next: check its digits" in text.stderr
    assert text.stdout.startswith("no mistakes, 1 warning. Declared: 3 contacts")
    (notice,) = json.loads(as_json.stdout)["notices"]
    assert (notice["kind"], notice["subject"]) == ("value", "contact/default/sam-lee")
    assert (notice["place"], notice["next"]) == ("manifests/team.yaml:28", "check its digits")
    assert service.requests() == []


def test_validate_tells_all_mistakes_with_their_places(project: Project, service: Service) -> None:
    """File, line, column, what, why, next; exit code 3."""
    project.edit("    firstName: Sam\n", "    fristName: Sam\n")
    project.edit("name: rota.csv", "nmae: rota.csv")

    text = project.run(service, "validate")
    as_json = project.run(service, "validate", "--format", "json")

    assert (text.returncode, text.stdout) == (3, "")
    assert (
        "manifests/team.yaml:25:5: contact/default/sam-lee: fristName is not a field of a contact"
        in text.stderr
    )
    assert "  next: did you mean firstName?" in text.stderr
    found = json.loads(as_json.stdout)
    assert (as_json.returncode, found["exit_code"], found["outcome"]) == (3, 3, "invalid")
    assert {"file": "manifests/team.yaml", "line": 25, "column": 5} in [
        {key: one[key] for key in ("file", "line", "column")} for one in found["problems"]
    ]


def test_plan_shows_what_would_be_done_and_sends_only_get(project: Project, service: Service) -> None:
    """The promise that lets a plan run anywhere, as often as wanted."""
    done = project.run(service, "plan")

    assert (done.returncode, done.stderr) == (0, "")
    assert "5 creates" in done.stdout
    assert "+ contact/default/jane-doe" in done.stdout
    assert "next: reconciler apply" in done.stdout
    assert service.requests() != []
    assert service.writes() == []
    assert not (project.folder / ".reconciler").exists()


def test_plan_ends_with_2_where_that_is_asked_for(project: Project, service: Service) -> None:
    """A scheduled job asks: is there something to do?"""
    assert project.run(service, "plan", "--detailed-exitcode").returncode == 2
    assert project.run(service, "apply", "--yes").returncode == 0
    assert project.run(service, "plan", "--detailed-exitcode").returncode == 0


def test_plan_in_json_says_the_same(project: Project, service: Service) -> None:
    """One document, with the outcome's word and the exit code."""
    done = project.run(service, "plan", "--format", "json", "--detailed-exitcode")

    found = json.loads(done.stdout)
    assert (done.returncode, found["outcome"], found["exit_code"]) == (2, "changes", 2)
    assert found["counts"]["creates"] == 5
    assert found["verdict"]["safe"] is True


def test_a_dangerous_plan_is_refused_with_7(project: Project, service: Service) -> None:
    """Count, limit and flag stand beside each other, and nothing is written."""
    assert project.run(service, "apply", "--yes").returncode == 0
    before = service.writes()
    emptied(project)

    planned = project.run(service, "plan")
    applied = project.run(service, "apply", "--yes")
    as_json = project.run(service, "apply", "--yes", "--format", "json")

    assert planned.returncode == applied.returncode == as_json.returncode == 7
    assert "3 of 3 contacts" in planned.stdout
    assert "--allow-deletes 3" in planned.stdout
    assert "the plan is refused; nothing was written." in applied.stderr
    assert "--allow-deletes 3" in applied.stderr
    assert json.loads(as_json.stdout)["outcome"] == "refused"
    assert service.writes() == before

    allowed = project.run(service, "apply", "--yes", "--allow-deletes", "3")
    assert allowed.returncode == 0
    assert service.contacts() == {}


def test_a_plan_file_is_private_and_can_be_shown(project: Project, service: Service) -> None:
    """It holds people's data; `show` needs neither the service nor the settings."""
    planned = project.run(service, "plan", "-o", "plan.json")
    before = service.requests()
    shown = project.run(service, "show", "plan.json")
    as_json = project.run(service, "show", "plan.json", "--format", "json")

    path = project.folder / "plan.json"
    assert planned.returncode == 0
    assert "next: reconciler apply plan.json" in planned.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert shown.returncode == 0
    assert "5 creates" in shown.stdout
    assert "+ contact/default/jane-doe" in shown.stdout
    assert json.loads(as_json.stdout)["plan"]["fingerprint"] == json.loads(path.read_text())["fingerprint"]
    assert service.requests() == before


def test_a_plan_file_that_cannot_be_written_is_an_error(project: Project, service: Service) -> None:
    """The plan is lost with it, so the command fails; the file that was there stays."""
    done = project.run(service, "plan", "-o", "gone/plan.json")

    assert done.returncode == 1
    assert done.stderr == (
        "gone/plan.json: cannot be written: no such file or directory. [E042]\n"
        "  next: create the folder first\n"
    )


def test_a_disk_without_room_leaves_the_old_plan(project: Project, service: Service) -> None:
    """The kernel itself refuses here: no byte beyond the hundredth."""
    path = project.folder / "plan.json"
    path.write_text("old")
    code = (
        "import resource, sys\n"
        "from reconciler.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )

    done = subprocess.run(
        [sys.executable, "-B", "-c", code, "plan", "-o", "plan.json"],
        cwd=project.folder,
        env=project.environ(service),
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert done.returncode == 1
    assert "plan.json: cannot be written: file too large. [E042]\n  next: " in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_text() == "old"
    assert sorted(one.name for one in project.folder.iterdir()) == [
        ".git",
        "manifests",
        "plan.json",
        "reconciler.yaml",
    ]


NO_PLANS = {
    "": "this is not a plan file.",
    "[]": "this is not a plan file.",
    "{}": "this plan has the version 0; this program reads 2.",
    '{"version": 99}': "this plan has the version 99; this program reads 2.",
    '{"version": 2}': "this is not a whole plan.",
    '{"version": 1, "plan": {}}': "this is the report of `plan --format json`, not a plan file.",
    '{"version": 1, "outcomes": []}': "this is the report of a run, not a plan file.",
    "\ud83d": "this is not a plan file.",
}


@pytest.mark.parametrize("text", NO_PLANS)
def test_what_is_no_plan_is_refused(text: str, project: Project, service: Service) -> None:
    """Above all the report that looks like one."""
    (project.folder / "plan.json").write_bytes(text.encode("utf-8", "surrogatepass"))

    shown = project.run(service, "show", "plan.json")
    applied = project.run(service, "apply", "plan.json")

    for done in (shown, applied):
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"plan.json: {NO_PLANS[text]} [E001]\n  next: ")
    assert service.requests() == []


def test_a_plan_that_was_changed_is_refused(project: Project, service: Service) -> None:
    """What a reviewer reads is what was planned, or it is nothing."""
    project.run(service, "plan", "-o", "plan.json")
    path = project.folder / "plan.json"
    path.write_text(path.read_text().replace("Duty Manager", "Duty Manger"))
    before = service.requests()

    shown = project.run(service, "show", "plan.json")
    applied = project.run(service, "apply", "plan.json")

    for done in (shown, applied):
        assert done.returncode == 3
        assert "this plan was changed after it was made; its fingerprint does not match." in done.stderr
    assert service.requests() == before


def test_drift_is_what_others_changed(project: Project, service: Service) -> None:
    """0 without, 2 with; what the manifest wants beyond that is a plan, not drift."""
    project.run(service, "apply", "--yes")
    none = project.run(service, "drift")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    wanted = project.run(service, "drift")
    service.rename(service.contacts()["Jane"], "Night Watch")
    before = service.writes()
    found = project.run(service, "drift")
    as_json = project.run(service, "drift", "--format", "json")

    assert (none.returncode, wanted.returncode, found.returncode) == (0, 0, 2)
    assert "No drift" in none.stdout
    assert "contact/default/jane-doe" in found.stdout
    assert "Night Watch" in found.stdout
    assert "ada-king" not in found.stdout
    assert (as_json.returncode, json.loads(as_json.stdout)["outcome"]) == (2, "changes")
    assert service.writes() == before


def test_a_selection_limits_the_plan(project: Project, service: Service) -> None:
    """An address, a glob, a kind; and a selector that fits nothing is a mistake, not an empty plan."""
    only = project.run(service, "plan", "--only", "contact/default/j*", "--except", "kind:device")
    nothing = project.run(service, "plan", "--only", "contact/default/jane-do")

    assert "1 create" in only.stdout
    assert "contact/default/jane-doe" in only.stdout
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "contact/default/jane-do" in nothing.stderr
    assert "  next: " in nothing.stderr


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        ("plan", "SVC_USER"),
        ("plan", "SVC_API_KEY"),
        ("apply --yes", "SVC_PASSWORD"),
        ("drift --format text", "SVC_PASSWORD"),
    ],
)
def test_wrong_credentials_are_a_clear_error(
    command: str, variable: str, project: Project, service: Service
) -> None:
    """One sentence and a way on; the credentials are never in it."""
    done = project.run(service, *command.split(), env={variable: "canary"})

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "canary" not in done.stderr
    assert "  next: " in done.stderr
    assert service.writes() == []


def test_an_unreachable_service_is_a_clear_error(project: Project, service: Service) -> None:
    """No server listens there."""
    environ = {
        "RECONCILER_SERVICE_BASE_URL": "http://127.0.0.1:9",
        "RECONCILER_SERVICE_LIMITS_TIMEOUT_S": "2",
    }

    done = project.run(service, "plan", env=environ)
    as_json = project.run(service, "plan", "--format", "json", env=environ)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "  next: " in done.stderr
    found = json.loads(as_json.stdout)
    assert (as_json.returncode, found["outcome"]) == (1, "failed")
    assert found["error"]["next"]


def test_an_unknown_workspace_is_a_clear_error(project: Project, service: Service) -> None:
    """In the settings but not at the service; and not even in the settings."""
    settings = project.folder / "reconciler.yaml"
    project.edit("workspace: default", "workspace: ops")
    unnamed = project.run(service, "plan")
    settings.write_text(settings.read_text().replace("  default: {}", "  default: {}\n  ops: {name: Ops}"))
    unknown = project.run(service, "plan")

    assert unnamed.returncode == unknown.returncode == 3
    assert "manifests/team.yaml:2:" in unnamed.stderr
    assert "no workspace with name 'Ops'" in unknown.stderr
    assert service.writes() == []


def test_an_unreadable_manifest_stops_everything(project: Project, service: Service) -> None:
    """A skipped file would look like deleted people."""
    (project.folder / "manifests" / "gone.yaml").symlink_to("nowhere.yaml")

    done = project.run(service, "plan")

    assert (done.returncode, done.stdout) == (3, "")
    assert "gone.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert service.requests() == []


def test_no_secret_is_in_anything_that_is_printed_or_written(project: Project, service: Service) -> None:
    """Law 8: every command, both forms, and every file they leave."""
    token = "a-token-that-only-a-sandbox-would-take"
    lines = (
        "plan --full -o plan.json",
        "plan --format json",
        "show plan.json --full",
        "apply plan.json --full",
        "apply plan.json --format json",
        "drift --format json",
        "config --format json",
    )
    printed = ""
    for line in lines:
        done = project.run(service, *line.split())
        printed += done.stdout + done.stderr
    left = [one for one in project.folder.rglob("*") if one.is_file() and "manifests" not in one.parts]

    assert token not in printed
    assert "demo-key" not in printed
    assert {"plan.json", "store.db"} <= {one.name for one in left}
    for one in left:
        if one.name != "reconciler.yaml":
            content = one.read_bytes()
            assert token.encode() not in content
            assert b"demo-key" not in content


def test_commands_work_from_a_folder_inside_of_the_project(project: Project, service: Service) -> None:
    """Paths in messages are still ones that an editor can open from there."""
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "validate"],
        cwd=project.folder / "manifests",
        env=PLAIN,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
