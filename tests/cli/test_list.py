"""list as a process: three forms, the filters, and what it leaves alone."""

import csv
import io
import json

from cli.hands import Project, Service

from reconciler.sandbox.app import SandboxConfig, running_sandbox


def test_all_forms_tell_the_same(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    project.edit("jobTitle: Analyst", "jobTitle: Lead Analyst")
    service.rename(service.contacts()["Sam"], "Nurse")
    writes = service.writes()

    text = project.run(service, "list")
    table = project.run(service, "list", "--format", "csv")
    found = json.loads(project.run(service, "list", "--format", "json").stdout)

    states = {one["address"]: (one["state"], one["planned"]) for one in found["entities"]}
    assert states == {
        "contact/default/ada-king": ("owned", "update"),
        "contact/default/jane-doe": ("owned", None),
        "contact/default/sam-lee": ("drifted", "update"),
        "device/default/jane-doe/phone": ("owned", None),
        "resource/default/rota": ("owned", None),
    }
    rows = [*csv.DictReader(io.StringIO(table.stdout))]
    assert {row["address"]: (row["state"], row["planned"] or None) for row in rows} == states
    assert [row["declared"] for row in rows] == [one["place"] for one in found["entities"]]
    assert all(address in text.stdout for address in states)
    assert "5 entities: 4 owned, 1 drifted" in text.stdout
    assert "callbacks in default" in text.stdout
    assert "callbacks in default" in table.stderr
    assert (text.returncode, table.returncode, found["exit_code"]) == (0, 0, 0)
    assert service.writes() == writes


def test_the_filters_add_up_and_nothing_found_is_no_failure(project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes")
    service.call(
        "POST",
        "/contacts",
        {
            "firstName": "Ivy",
            "lastName": "Low",
            "workMobilePhone1": "+61491570110",
            "workCountry": "Australia",
            "timezone": "Australia/Melbourne",
        },
    )
    service.rename(service.contacts()["Sam"], "Nurse")

    def addresses(*options: str) -> list[str | None]:
        found = project.run(service, "list", *options, "--format", "json")
        assert found.returncode == 0, found.stderr
        return [one["address"] for one in json.loads(found.stdout)["entities"]]

    assert addresses("--unmanaged") == [None]
    assert addresses("--drifted") == ["contact/default/sam-lee"]
    assert addresses("--drifted", "--unmanaged") == ["contact/default/sam-lee", None]
    assert len(addresses("--owned")) == 5
    assert addresses("--unmanaged", "--only", "kind:resource") == []


def test_a_list_leaves_no_store_and_needs_a_service(project: Project, service: Service) -> None:
    found = project.run(service, "list", "--unmanaged")
    lost = project.run(service, "list", env={"RECONCILER_SERVICE_AUTH_PASSWORD": "wrong"})
    wrong = project.run(service, "list", "--only", "kind:contatc")

    assert found.returncode == 0
    assert not (project.folder / ".reconciler").exists()
    assert (lost.returncode, lost.stdout) == (1, "")
    assert (wrong.returncode, wrong.stdout) == (3, "")
    assert "kind:contact" in wrong.stderr


def test_what_is_ours_is_listed_without_reading_everybody(project: Project) -> None:
    """Twenty pages of strangers are read only where they are asked for."""

    def pages(service: Service, *options: str) -> int:
        before = len(service.requests())
        assert project.run(service, "list", *options).returncode == 0
        return sum(path == "/contacts" for _, path in service.requests()[before:])

    with running_sandbox(SandboxConfig(contacts=400)) as address:
        service = Service(address)
        project.run(service, "apply", "--yes")
        assert pages(service, "--owned") < 10
        assert pages(service, "--unmanaged") >= 20
