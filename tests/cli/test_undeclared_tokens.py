"""Push tokens that nobody declares, as somebody at a terminal meets them."""

import json

from cli.hands import Project, Service

TOKEN_LINE = "        pushToken: a-token-that-only-a-sandbox-would-take\n"


def test_a_new_device_without_its_token_is_said_and_all_else_is_done(
    project: Project, service: Service
) -> None:
    """The people are there, the device is not, and neither plan nor apply ends as if all were well."""
    project.edit(TOKEN_LINE, "")

    planned = project.run(service, "plan")
    applied = project.run(service, "apply", "--yes")
    again = project.run(service, "plan", "--detailed-exitcode")

    assert (planned.returncode, applied.returncode, again.returncode) == (5, 5, 5), applied.stderr
    assert "cannot be created: its pushToken is not declared (manifests/team.yaml:" in planned.stdout
    assert "[E160]" in planned.stdout
    assert "some entities wait for a secret; declare it first" in again.stdout
    assert len(service.contacts()) == 3
    assert not [path for method, path in service.writes() if "/devices" in path]


def test_a_token_that_is_taken_out_of_the_manifest_stays_at_the_service(
    project: Project, service: Service
) -> None:
    """It is said as a record to keep, and the next change of the device carries it."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit(TOKEN_LINE, "")

    planned = json.loads(project.run(service, "plan", "--format", "json").stdout)
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit("deviceModel: Pixel 9", "deviceModel: Pixel 10")
    applied = project.run(service, "apply", "--yes")

    assert planned["plan"]["changes"] == []
    assert [one["fields"] for one in planned["plan"]["records"]] == [["pushToken"]]
    assert applied.returncode == 0, applied.stdout + applied.stderr
    devices = [
        one
        for each in service.contacts().values()
        for one in service.call("GET", f"/contacts/{each}")["devices"]
    ]
    assert [(one["deviceModel"], one["pushToken"]) for one in devices] == [
        ("Pixel 10", "a-token-that-only-a-sandbox-would-take")
    ]
    assert "only-a-sandbox" not in applied.stdout + applied.stderr
    assert project.run(service, "plan", "--detailed-exitcode").returncode == 0


def test_the_undo_of_a_delete_names_the_code(project: Project, service: Service) -> None:
    """Nothing keeps a token, so a device that was deleted comes back by its manifest alone."""
    assert project.run(service, "apply", "--yes").returncode == 0
    text = project.manifest.read_text()
    start = text.index("    devices:\n")
    end = text.index(TOKEN_LINE) + len(TOKEN_LINE)
    project.edit(text[start:end], "    devices: {}\n")
    deleted = project.run(service, "apply", "--yes", "--undo", "undo.json")
    assert deleted.returncode == 0, deleted.stdout + deleted.stderr

    assert (
        "cannot be created again, because its pushToken is not kept. [E162]"
        in deleted.stdout + deleted.stderr
    ), deleted
