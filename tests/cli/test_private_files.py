"""Every file with people in it is its owner's alone: any umask, any place, whatever was there before."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.hands import Project, Service

from reconciler.report.report_formats import CHECKS, FORMATS, SHARED

PRIVATE = sorted(FORMATS.keys() - SHARED)
WRITTEN = {
    "a plan": ("plan", "-o", "FILE"),
    **{f"plan as {one}": ("plan", "--report", f"{one}=FILE") for one in PRIVATE},
    **{f"drift as {one}": ("drift", "--report", f"{one}=FILE") for one in ("markdown", "html", "json")},
    **{
        f"apply as {one}": ("apply", "--yes", "--report", f"{one}=FILE")
        for one in ("markdown", "html", "json")
    },
    **{
        f"validate as {one}": ("validate", "--report", f"{one}=FILE")
        for one in sorted(CHECKS.keys() - SHARED)
    },
    "an undo": ("apply", "--yes", "--undo", "FILE"),
    "events": ("apply", "--yes", "--events", "FILE"),
}


def mode(path: Path) -> int:
    """The rights of a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o177], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """What a shell takes away by itself: nothing, as in some containers, the usual, or nearly all."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_new_file_is_private_with_any_umask(
    name: str, project: Project, service: Service, umask: int
) -> None:
    """A runner's folder is read by whoever has an account on it."""
    path = project.folder / "out.file"

    project.run(service, *(word.replace("FILE", path.name) for word in WRITTEN[name]))

    assert mode(path) == 0o600


@pytest.mark.parametrize("name", [one for one in WRITTEN if one != "events"])
def test_a_file_that_others_could_read_is_private_afterwards(
    name: str, project: Project, service: Service
) -> None:
    """It is replaced by a private one. Whoever has it open goes on reading the old one."""
    path = project.folder / "out.file"
    path.write_text("old")
    path.chmod(0o666)
    with path.open() as held:
        project.run(service, *(word.replace("FILE", path.name) for word in WRITTEN[name]))

        assert mode(path) == 0o600
        assert held.read() == "old"


@pytest.mark.parametrize("into", ["new", "manifests"])
def test_an_export_is_private_in_a_new_folder_and_beside_others(
    into: str, project: Project, service: Service
) -> None:
    """It holds everybody who is live, also who was never meant for the repository."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.manifest.unlink()
    before = os.umask(0)
    try:
        done = project.run(service, "export", "--into", into)
    finally:
        os.umask(before)

    written = [one for one in (project.folder / into).rglob("*") if one.suffix == ".yaml"]
    assert done.returncode == 0, done.stderr
    assert written
    assert {mode(one) for one in written} == {0o600}


def test_a_manifest_that_an_export_adds_to_becomes_private(project: Project, service: Service) -> None:
    """The people who were not in it yet are in it now."""
    assert project.run(service, "export", "--into", "people").returncode == 0
    assert project.run(service, "apply", "--yes").returncode == 0
    project.manifest.unlink()
    assert project.run(service, "export", "--into", "people", "--only", "contact").returncode == 0
    (file,) = (project.folder / "people").glob("*contacts*.yaml")
    file.chmod(0o644)
    body = {"firstName": "Kim", "lastName": "Roe", "workEmailAddress1": "kim.roe@example.com"}
    service.call("POST", "/contacts", body | {"timezone": "Australia/Melbourne", "workCountry": "Australia"})

    done = project.run(service, "export", "--into", "people", "--only", "contact")

    assert "kim.roe" in file.read_text(), done.stdout + done.stderr
    assert mode(file) == 0o600


def test_formatting_leaves_the_rights_of_a_manifest(project: Project, service: Service) -> None:
    """It adds nobody: whoever could read the file may go on."""
    project.manifest.write_text(project.manifest.read_text().replace("  jane-doe:", "  jane-doe:   "))
    project.manifest.chmod(0o640)

    assert project.run(service, "fmt").returncode == 0
    assert mode(project.manifest) == 0o640
