"""export as a process against a sandbox behind a port."""

import json
import re
import shutil
import stat

from cli.hands import Project, Service
from cli.keeping import store_file


def applied(project: Project, service: Service) -> None:
    """The example is live, and its manifests are gone."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.manifest.unlink()


def test_what_is_exported_plans_empty_and_is_written_once(project: Project, service: Service) -> None:
    """Day one: export, validate, plan; and the day after nothing is new."""
    applied(project, service)
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "variables: [DEVICE_*]\n")
    writes = service.writes()

    found = json.loads(project.run(service, "export", "--devices", "--format", "json").stdout)
    environ = {one["name"]: "token" for one in found["variables"]}
    planned = project.run(service, "plan", "--format", "json", env=environ)
    again = project.run(service, "export", "--devices", env=environ)

    assert {one["address"] for one in found["entries"]} >= {"contact/default/jane-doe"}, found
    assert found["outcome"] == "done"
    assert len(environ) == 1
    assert all(one["allowed"] for one in found["variables"])
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
    assert (
        "! 1 live entity: not exported: no field to recognize it by.\n    contact in default, id "
        in done.stdout
    )


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
