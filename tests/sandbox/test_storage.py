"""The data file: what survives a restart, and what is said when the file cannot be used."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sandbox.asking import JANE, PIXEL, Clock, Sandbox, named, resource_body

from reconciler.sandbox.app import create_app
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.state import DataFileError


def restarted(sandbox: Sandbox, **options: Any) -> Sandbox:
    """The same file in a new sandbox."""
    sandbox.app.state.sandbox.close()
    return Sandbox(**options)


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    """Contacts with all they have, resources with content and order, workspaces, half-failed pushes."""
    data = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=data, workspaces=(("Night Shift", named),))
    jane = sandbox.created(
        f"/workspaces/{named}/contacts", {**JANE, "customFields": [{"fieldName": "a", "fieldValue": "b"}]}
    )
    pixel = sandbox.created(f"{jane}/devices", PIXEL)
    sandbox.push(pixel, "fail")
    sandbox.created("/contacts", {"firstName": "Zoe", "username": "zoe", "x": {"deep": [1]}})
    first = sandbox.created("/resources", resource_body(name="first.csv"))
    sandbox.created("/resources", resource_body(name="second.csv"))
    sandbox.put(first, resource_body(b"changed", name="first.csv"))
    paths = [
        f"{jane}?customFields=true",
        pixel,
        "/contacts",
        "/resources",
        "/workspaces",
        f"/workspaces/{named}/contacts",
    ]
    before = [sandbox.get(path).json() for path in paths]

    again = restarted(sandbox, data=data)

    assert [again.get(path).json() for path in paths] == before
    assert again.get(f"/_sandbox{first}/content").content == b"changed"
    assert again.push(pixel, "fail")["status"] == "Disabled"
    assert again.post("/contacts", {"firstName": "Zed", "username": "zoe"}).status_code == 422


def test_deletes_survive_a_restart_and_ids_do_not_come_back(tmp_path: Path) -> None:
    """A deleted contact stays deleted, and its id is never given to another."""
    data = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=data)
    jane = sandbox.created("/contacts", JANE)
    staff = sandbox.created("/resources", resource_body())
    sandbox.delete(jane)
    sandbox.post("/_sandbox/resources/expire")

    again = restarted(sandbox, data=data)

    assert [again.get(jane).status_code, again.get(staff).status_code] == [404, 404]
    assert again.created("/contacts", JANE) != jane


def test_invented_contacts_are_made_once(tmp_path: Path) -> None:
    """A restart with the same options must not add the same people again, nor undo what happened to them."""
    data = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=data, contacts=30)
    first = sandbox.get("/contacts").json()["contacts"][0]["id"]
    sandbox.delete(f"/contacts/{first}")

    again = restarted(sandbox, data=data, contacts=30)

    assert again.get("/contacts").json()["status"] == "1 to 20 of 29    "


def test_a_workspace_is_added_by_a_later_start(tmp_path: Path) -> None:
    """The old ones stay, also when they are not named again."""
    data = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=data, workspaces=(("Night Shift", named),))

    again = restarted(sandbox, data=data, workspaces=(("Day Shift", "AA"),))

    rows = again.get("/workspaces").json()["workspaces"]
    assert [row["projectName"] for row in rows] == ["Day Shift", "Night Shift"]


def test_times_survive_in_both_forms(tmp_path: Path) -> None:
    """The form of the time shows whether a contact was ever updated; a restart must not change it."""
    data = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=data, clock=Clock())
    created, updated = (sandbox.created("/contacts", JANE) for _ in range(2))
    sandbox.put(updated, JANE)

    again = restarted(sandbox, data=data)

    assert again.get(created).json()["lastModifiedTime"] == "2026-08-14T11:20:30+10:00"
    assert again.get(updated).json()["lastModifiedTime"] == "2026-08-14T01:20:30Z"


def test_two_sandboxes_cannot_share_a_file(tmp_path: Path) -> None:
    """They would give the same ids to different people."""
    data = tmp_path / "sandbox.db"
    first = Sandbox(data=data)

    with pytest.raises(DataFileError, match=r"sandbox\.db: the data file cannot be used: database is locked"):
        create_app(SandboxConfig(data=data))

    assert first.post("/contacts", JANE).status_code == 201


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """A slip of the option must not write into somebody's data."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table people (name)")
        other.commit()
    before = path.read_bytes()

    with pytest.raises(DataFileError, match="another program"):
        create_app(SandboxConfig(data=path))

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage", ["update records set body = '{'", "delete from records where kind = 'workspace'"]
)
def test_a_damaged_file_is_named_with_the_record(tmp_path: Path, damage: str) -> None:
    """Starting with half of the data would look like deletes."""
    path = tmp_path / "sandbox.db"
    sandbox = Sandbox(data=path, workspaces=(("Night Shift", named),))
    sandbox.created(f"/workspaces/{named}/contacts", JANE)
    sandbox.app.state.sandbox.close()
    with closing(sqlite3.connect(path)) as file:
        file.execute(damage)
        file.commit()

    with pytest.raises(DataFileError, match=r"damaged: (contact|workspace) [0-9A-F]{16} cannot be read"):
        create_app(SandboxConfig(data=path))


def test_a_full_disk_refuses_the_change_and_the_next_one_goes_through(tmp_path: Path) -> None:
    """The file may not grow for a moment: 500, nothing changed, no record half written."""
    sandbox = Sandbox(data=tmp_path / "sandbox.db")
    path = sandbox.created("/resources", resource_body())
    file = sandbox.app.state.sandbox._storage._file
    file.execute("pragma max_page_count = 1")

    refused = sandbox.post("/resources", resource_body(b"x" * 100_000))
    assert refused.status_code == 500
    assert "full" in refused.json()["errorText"]
    assert sandbox.get("/resources").json()["status"] == "1 to 1 of 1    "

    file.execute("pragma max_page_count = 1000000")
    assert sandbox.put(path, resource_body(b"x" * 100_000)).status_code == 204


@pytest.mark.parametrize("name", ["missing/sandbox.db", "folder", "text.txt"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str) -> None:
    """An OSError with the path and the cause; a file that is something else keeps its content."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("not a database, and longer than the header of one " * 5)

    with pytest.raises(DataFileError, match="the data file cannot be used") as raised:
        create_app(SandboxConfig(data=tmp_path / name))

    assert isinstance(raised.value, OSError)
    assert str(tmp_path / name) in str(raised.value)
    assert (tmp_path / "text.txt").read_text().startswith("not a database")


def test_a_change_that_cannot_be_kept_is_500_and_not_made(tmp_path: Path) -> None:
    """What is shown is what would be there after a restart. The file is taken away here by closing it."""
    sandbox = Sandbox(data=tmp_path / "sandbox.db")
    jane = sandbox.created("/contacts", JANE)
    staff = sandbox.created("/resources", resource_body())
    before = [sandbox.get(path).json() for path in (jane, "/contacts", "/resources")]
    sandbox.app.state.sandbox.close()

    answers = [
        sandbox.post("/contacts", JANE),
        sandbox.put(jane, {"firstName": "Joan"}),
        sandbox.delete(jane),
        sandbox.post(f"{jane}/devices", PIXEL),
        sandbox.delete(staff),
        sandbox.post("/_sandbox/resources/expire"),
    ]

    assert [answer.status_code for answer in answers] == [500] * 6
    assert "data file" in answers[0].json()["errorText"]
    assert [sandbox.get(path).json() for path in (jane, "/contacts", "/resources")] == before
