"""workspaces as a process."""

from collections.abc import Iterator

import pytest
from cli.hands import Project, Service
from cli.listener import JANE, done

from reconciler.sandbox.app import SandboxConfig, running_sandbox

ID = "4C8FE1A2B3D4E5F6"


@pytest.fixture
def two() -> Iterator[Service]:
    """A sandbox with two workspaces beside the default one."""
    with running_sandbox(SandboxConfig(workspaces=(("Operations", ID), ("People", "AB12")))) as address:
        yield Service(address)


@pytest.fixture
def named(project: Project) -> Project:
    """A project that calls one of them ops."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(
        settings.read_text() + "  ops: {name: Operations}\n  sales: {id: FF00}\n  nowhere: {name: Nowhere}\n"
    )
    return project


def test_workspaces_are_listed_with_the_alias_of_the_settings(named: Project, two: Service) -> None:
    """Settings need the id or the name; this is where both are seen."""
    found = done(named, two, "workspaces", "list")["workspaces"]
    shown = named.run(two, "workspaces", "list")

    assert found == [
        {"id": ID, "alias": "ops", "name": "Operations"},
        {"id": "AB12", "alias": "", "name": "People"},
    ]
    assert shown.stdout.splitlines() == [
        "id                alias  name",
        f"{ID}  ops    Operations",
        "AB12              -      People",
        "2 workspaces",
    ]
    assert two.writes() == []


def test_a_message_goes_to_the_workspace_that_is_named(named: Project, two: Service) -> None:
    """By alias; the default workspace is not touched, and one that the service has not gets nothing."""
    people = ("--to", JANE, "--subject", "Test", "--body", "Hello")

    done(named, two, "messages", "send", *people, "--workspace", "ops")
    unknown = done(named, two, "messages", "send", *people, "--workspace", "opz", code=3)
    missing = done(named, two, "messages", "send", *people, "--workspace", "nowhere", code=3)
    absent = done(named, two, "messages", "send", *people, "--workspace", "sales", code=3)

    assert two.writes() == [("POST", f"/workspaces/{ID}/messages")]
    assert "ops" in unknown["error"]["next"]
    assert "no workspace" in missing["error"]["message"]
    assert "no workspace with id 'FF00'" in absent["error"]["message"]
    assert len(done(named, two, "messages", "list", "--workspace", "ops")["messages"]) == 1
    assert done(named, two, "messages", "list")["messages"] == []
