"""explain as a process: text and JSON, offline without a service, and what it leaves alone."""

import json

from cli.hands import Project, Service


def test_both_forms_tell_why_a_field_changes_and_write_nothing(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    project.edit("jobTitle: Analyst", "jobTitle: Lead Analyst")
    writes = service.writes()
    address = "contact/default/ada-king"

    text = project.run(service, "explain", address)
    found = json.loads(project.run(service, "explain", address, "--format", "json").stdout)

    (one,) = found["explanations"]
    (changed,) = (field for field in one["fields"] if field["decision"] == "change")
    assert (one["address"], one["state"], one["planned"]) == (address, "owned", "update")
    assert (changed["path"], changed["live"], changed["after"]) == ("jobTitle", "Analyst", "Lead Analyst")
    assert "Analyst  →  Lead Analyst   declared" in text.stdout
    assert f"{changed['source']['place']['file']}:{changed['source']['place']['line']}" in text.stdout
    assert (text.returncode, found["exit_code"], found["version"]) == (0, 0, 1)
    assert service.writes() == writes


def test_offline_needs_no_service_and_no_secret(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    asked = service.requests()

    found = project.run(
        service,
        "explain",
        "--offline",
        "contact/default/jane-doe",
        env={"SVC_PASSWORD": "", "SVC_API_KEY": ""},
    )

    assert found.returncode == 0, found.stderr
    assert "not read" in found.stdout
    assert service.requests() == asked


def test_an_unknown_address_leaves_no_store_and_names_the_nearest(project: Project, service: Service) -> None:
    found = project.run(service, "explain", "contact/default/jane-do")
    as_json = project.run(service, "explain", "contact/default/jane-do", "--format", "json")

    assert (found.returncode, found.stdout) == (3, "")
    assert "did you mean contact/default/jane-doe?" in found.stderr
    assert json.loads(as_json.stdout)["exit_code"] == 3
    assert not (project.folder / ".reconciler").exists()
