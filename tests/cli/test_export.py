"""export as a process against a sandbox behind a port."""

import json
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pyrage
from cli.hands import Project, Service
from cli.keeping import store_file
from cli.listener import done, listening, register


def applied(project: Project, service: Service) -> None:
    """The example is live, and its manifests are gone."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.manifest.unlink()


def test_what_is_exported_plans_empty_and_is_written_once(project: Project, service: Service) -> None:
    """Day one: export, validate, plan; and the day after nothing is new."""
    applied(project, service)
    writes = service.writes()

    found = json.loads(project.run(service, "export", "--devices", "--format", "json").stdout)
    planned = project.run(service, "plan", "--format", "json")
    again = project.run(service, "export", "--devices")

    assert {one["address"] for one in found["entries"]} >= {"contact/default/jane-doe"}, found
    assert found["outcome"] == "done"
    assert found["variables"] == []
    assert [(one["subject"], one["field"]) for one in found["left"] if one["reason"] == "undeclared"] == [
        ("devices in default", "pushToken")
    ]
    assert json.loads(planned.stdout)["counts"]["creates"] == 0, planned.stdout
    assert json.loads(planned.stdout)["counts"]["deletes"] == 0
    assert again.stdout.startswith("exported nothing new, in ")
    assert service.writes() == writes


def test_an_export_tells_that_the_first_plan_writes_the_mark(project: Project, service: Service) -> None:
    """Whoever expects an empty plan would take it for a fault; a mark is a value like others."""
    applied(project, service)
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "ownership: {mark: custom_managedBy}\n")
    shutil.rmtree(store_file(project).parent)

    done = project.run(service, "export", "--only", "contact")
    planned = json.loads(project.run(service, "plan", "--format", "json").stdout)["plan"]["changes"]
    assert project.run(service, "apply", "--yes").returncode == 0
    for manifest in project.manifest.parent.glob("*.yaml"):
        manifest.unlink()
    marked = project.run(service, "export", "--only", "contact", "--into", "again")

    assert (
        "! 3 contacts without the mark of this stack (ownership.mark): "
        "the first plan writes custom.managedBy to each.\n  next: review that plan: " in done.stdout
    )
    assert [[field["path"] for field in one["fields"]] for one in planned] == [["custom.managedBy"]] * 3
    assert "without the mark" not in marked.stdout


def test_an_export_tells_whom_it_left_out(project: Project, service: Service) -> None:
    """By id and reason; the exit code is 0, because everything else was exported."""
    service.call("POST", "/contacts", {"firstName": "Ann"})
    project.manifest.unlink()

    done = project.run(service, "export")

    assert (done.returncode, done.stderr) == (0, "")
    assert "! 1 live entity: not exported: no identity field.\n    contact in default, id " in done.stdout


def test_a_national_number_without_a_country_asks_for_the_setting(project: Project, service: Service) -> None:
    """It is right where it is: to correct it at the service, number by number, would be the wrong advice."""
    people = {"ann": "0491 570 156", "bo": "0491570157", "cy": "+61491570158", "di": "ask her"}
    for name, number in people.items():
        body = {"firstName": name, "workEmailAddress1": f"{name}@example.com", "workMobilePhone1": number}
        service.call("POST", "/contacts", body)
    project.manifest.unlink()

    def exported(*options: str) -> str:
        for manifest in project.folder.rglob("*-contacts.yaml"):
            manifest.unlink()
        return project.run(service, "export", *options).stdout

    def numbers_left() -> dict[str, str]:
        left = json.loads(exported("--format", "json"))["left"]
        mobile = [one for one in left if one.get("field") == "workMobilePhone1"]
        return {one["subject"].rpartition("/")[2]: one["reason"] for one in mobile}

    assert numbers_left() == {"ann": "region", "bo": "region", "di": "field"}
    assert "next: set `checks.region` in the settings" in exported()
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "checks: {region: AU}\n")
    assert numbers_left() == {"di": "field"}


def test_files_have_the_usual_rights_and_no_file_is_overwritten(project: Project, service: Service) -> None:
    """A manifest is reviewed by others; and whoever has a file of our name keeps it."""
    applied(project, service)
    there = project.folder / "people" / "default-contacts.yaml"
    there.parent.mkdir()
    there.write_text("version: 1\nworkspace: default\n")

    done = project.run(service, "export", "--into", "people", "--only", "contact")

    assert done.returncode == 0, done.stderr
    assert there.read_text() == "version: 1\nworkspace: default\n"
    written = there.with_name("default-contacts-2.yaml")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert {one.name for one in there.parent.iterdir()} == {there.name, written.name}


def test_a_selector_or_a_zone_that_does_not_exist_is_named(project: Project, service: Service) -> None:
    wrong = project.run(service, "export", "--only", "contatc")
    zone = project.run(service, "export", "--timezone", "Australia/Melburne")

    assert (wrong.returncode, zone.returncode) == (64, 64)
    assert "--only: 'contatc' selects nothing; did you mean contacts?" in wrong.stderr
    assert "'Australia/Melburne' is not the name of a time zone" in zone.stderr
    assert service.requests() == []


def test_an_export_says_which_setting_recognizes_more_and_the_setting_does(
    project: Project, service: Service
) -> None:
    """People without an e-mail address have telephones: one line of the settings, not an edit for each."""
    for number in range(3):
        service.call("POST", "/contacts", {"firstName": "Ann", "workMobilePhone1": f"+6149157015{number}"})
    project.manifest.unlink()
    settings = project.folder / "reconciler.yaml"

    told = project.run(service, "export", "--only", "contact").stdout
    found = re.search(r"next: `(identity: .*)` in the settings recognizes 3 of 3 live entities", told)
    assert found, told
    settings.write_text(settings.read_text() + found[1] + "\n")
    again = project.run(service, "export", "--only", "contact").stdout

    assert again.startswith("exported 3 contacts into"), again
    assert again.splitlines()[-2].startswith("next: reconciler plan")
    assert project.run(service, "export", "--only", "contact").stdout.startswith("exported nothing new")


def with_devices(project: Project, service: Service, count: int) -> None:
    """A live workspace that nobody has declared: so many contacts, each with a device."""
    project.manifest.unlink()
    for at in range(count):
        mail = {"workEmailAddress1": f"ann.no{at:03d}@example.com"}
        service.call("POST", "/contacts", {"firstName": "Ann", "lastName": f"No{at:03d}", **mail})
    for remote_id in [one["id"] for one in all_contacts(service)]:
        body = {
            "deviceName": "Phone",
            "appId": "com.example.oncall",
            "platform": "GCM",
            "deviceOS": "Android 15",
            "deviceModel": "Pixel 9",
            "pushToken": token(remote_id),
        }
        service.call("POST", f"/contacts/{remote_id}/devices", body)


def all_contacts(service: Service) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    while more := service.call("GET", f"/contacts?offset={len(found)}").get("contacts"):
        found += more
    return found


def token(remote_id: str) -> str:
    """Every token has a quote and a dollar sign, which a shell would take for its own."""
    return f"it's/{remote_id}$HOME:canary"


def test_a_workspace_with_many_devices_needs_a_variable_for_each_callback_alone(
    project: Project, service: Service
) -> None:
    """A CI service keeps some hundred secrets: devices take none of them, and the plan is empty."""
    with_devices(project, service, 100)
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "variables: [CALLBACK_*]\n")
    with listening(project, service, "--key-env", "CALLBACK_KEY") as ear:
        register(project, service, ear.address)
        done(project, service, "callbacks", "create", "escalation", ear.address, "--key-env", "CALLBACK_KEY")

    exported = project.run(service, "export", "--devices", "--format", "json")
    planned = json.loads(project.run(service, "plan", "--format", "json").stdout)

    found = json.loads(exported.stdout)
    devices = [one for one in found["entries"] if one["address"].startswith("device/")]
    assert (len(devices), [one["field"] for one in found["variables"]]) == (100, ["auth.key", "auth.key"])
    assert {word: planned["counts"][word] for word in ("creates", "updates", "deletes")} == {
        "creates": 0,
        "updates": 0,
        "deletes": 0,
    }
    written = "".join(one.read_text() for one in project.manifest.parent.glob("*.yaml"))
    assert (written.count("${env:"), written.count("canary")) == (2, 0)
    assert "canary" not in exported.stdout + exported.stderr


def test_the_values_of_tokens_go_to_a_file_of_ones_own(project: Project, service: Service) -> None:
    """Whoever declares them gets each value once, as a shell reads it, and nobody else may read the file."""
    with_devices(project, service, 3)
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "variables: [DEVICE_*]\n")
    file = project.folder.parent / "tokens.env"  # outside of the repository

    exported = project.run(service, "export", "--devices", "--env-file", str(file), "--format", "json")
    assert exported.returncode == 0, exported.stdout + exported.stderr
    names = [one["name"] for one in json.loads(exported.stdout)["variables"]]
    environ = dict(zip(names, as_a_shell_reads(file, names), strict=True))
    planned = json.loads(project.run(service, "plan", "--format", "json", env=environ).stdout)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(environ.values()) == sorted(token(one["id"]) for one in all_contacts(service))
    assert (planned["counts"]["creates"], planned["counts"]["updates"]) == (0, 0)
    assert json.loads(exported.stdout)["values_in"] == [str(file)]
    assert "canary" not in exported.stdout + exported.stderr


def as_a_shell_reads(file: Path, names: list[str]) -> list[str]:
    """The values of these variables after the file was sourced."""
    show = "; ".join(f'printf "%s\\n" "${one}"' for one in names)
    command = ["/bin/sh", "-c", f"set -a; . {file}; {show}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_file_of_secrets_replaces_nothing(project: Project, service: Service) -> None:
    """What stands there may be the only copy: of a token, or of something else."""
    with_devices(project, service, 1)
    (project.folder / "tokens.env").write_text("mine")
    (project.folder / "link.env").symlink_to("tokens.env")

    for name in ("tokens.env", "link.env"):
        done = project.run(service, "export", "--devices", "--env-file", name)

        assert (done.returncode, done.stdout) == (3, "")
        assert f"{name}: this file exists already" in done.stderr
    assert (project.folder / "tokens.env").read_text() == "mine"
    assert not list(project.manifest.parent.glob("*.yaml"))


def test_a_file_of_secrets_is_not_written_where_git_would_take_it(project: Project, service: Service) -> None:
    """`git add .` would publish it; with a line in .gitignore it does not."""
    with_devices(project, service, 1)
    subprocess.run(["git", "init", "-q"], cwd=project.folder, check=True)
    (project.folder / ".gitignore").unlink(missing_ok=True)

    refused = project.run(service, "export", "--devices", "--env-file", "tokens.env")
    (project.folder / ".gitignore").write_text("*.env\n")
    written = project.run(service, "export", "--devices", "--env-file", "tokens.env")

    assert (refused.returncode, written.returncode) == (3, 0), written.stderr
    assert "git does not ignore this file" in refused.stderr
    assert "next: " in refused.stderr
    assert (project.folder / "tokens.env").exists()


def test_secrets_are_encrypted_for_the_recipients_of_the_project(project: Project, service: Service) -> None:
    """One file instead of a secret for each device: only who has a key reads it."""
    with_devices(project, service, 2)
    key = pyrage.x25519.Identity.generate()
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + f"plan: {{recipients: [{key.to_public()}]}}\n")

    done = project.run(service, "export", "--devices", "--secrets-file", "tokens.encrypted")

    data = (project.folder / "tokens.encrypted").read_bytes()
    assert done.returncode == 0, done.stderr
    assert b"canary" not in data
    assert pyrage.decrypt(data, [key]).decode().count("canary") == 2
    assert project.run(service, "export", "--secrets-file", "tokens.encrypted").returncode == 3


def test_secrets_are_encrypted_for_somebody_or_not_written(project: Project, service: Service) -> None:
    """Without a key nobody could read the file again."""
    with_devices(project, service, 1)

    done = project.run(service, "export", "--devices", "--secrets-file", "tokens.encrypted")
    odd = project.run(service, "export", "--encrypt-to", "age1oops")

    assert (done.returncode, odd.returncode) == (3, 64)
    assert "no recipients to encrypt the file for" in done.stderr
    assert not (project.folder / "tokens.encrypted").exists()
    assert not list(project.manifest.parent.glob("*.yaml"))
