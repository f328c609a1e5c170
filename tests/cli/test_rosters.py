"""`rosters snapshot`: what a directory says, as a file that git holds."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import SETTINGS, Run
from directories.sql.sources import database, people

PAGE = """\
directories:
  staff: {sql: {url: "sqlite:///hr.db", statement: "SELECT id, name, mail FROM staff"}}
"""
TEXT = "id,name,mail\n1,Jane 1,jane1@example.com\n2,Jane 2,jane2@example.com\n3,Jane 3,jane3@example.com\n"


@pytest.fixture
def folder(repository: Path) -> Path:
    """A project with a directory of three people."""
    (repository / "reconciler.yaml").write_text(SETTINGS + PAGE)
    database(repository / "hr.db", reversed(people(3)))
    return repository


def _change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "hr.db")) as connection, connection:
        connection.execute(statement)


def test_a_snapshot_is_sorted_and_lies_beside_the_settings(run: Run, folder: Path) -> None:
    ended = run("rosters", "snapshot", "staff")

    assert (ended.returncode, ended.stdout) == (0, "wrote rosters/staff.csv: 3 rows\n")
    path = folder / "rosters/staff.csv"
    assert path.read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o400])
@pytest.mark.parametrize("changed", [True, False])
def test_a_snapshot_over_a_file_that_others_can_read_is_private(
    run: Run, folder: Path, mode: int, *, changed: bool
) -> None:
    """A checkout gives a file the rights of a umask. Where nothing else is new, its rights are."""
    run("rosters", "snapshot", "staff")
    path = folder / "rosters/staff.csv"
    path.chmod(mode)
    if changed:
        _change(folder, "DELETE FROM staff WHERE id = 1")

    run("rosters", "snapshot", "staff", "--check")
    checked = stat.S_IMODE(path.stat().st_mode)
    written = run("rosters", "snapshot", "staff")

    assert (checked, written.returncode) == (mode, 0)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_snapshot_tells_who_comes_and_goes(run: Run, folder: Path) -> None:
    """The numbers; the names are in the commit."""
    run("rosters", "snapshot", "staff")
    _change(folder, "DELETE FROM staff WHERE id = 1")
    _change(folder, "INSERT INTO staff VALUES (4, 'Kim', 'kim@example.com'), (5, 'Kit', NULL)")

    checked = run("rosters", "snapshot", "staff", "--check")
    before = (folder / "rosters/staff.csv").read_text()
    written = run("rosters", "snapshot", "staff")

    assert (checked.returncode, before) == (2, TEXT)
    assert checked.stdout == "rosters/staff.csv is not what staff has: 4 rows; 2 come, 1 goes\n"
    assert written.stdout == "wrote rosters/staff.csv: 4 rows; 2 come, 1 goes\n"
    assert (folder / "rosters/staff.csv").read_text().endswith("4,Kim,kim@example.com\n5,Kit,\n")
    again = run("rosters", "snapshot", "staff", "--check")
    assert (again.returncode, again.stdout) == (0, "")
    assert "rosters/staff.csv matches staff: 4 rows." in again.stderr


def test_a_check_of_a_file_that_is_not_there_writes_none(run: Run, folder: Path) -> None:
    ended = run("rosters", "snapshot", "staff", "--into", "other.csv", "--check")

    assert (ended.returncode, ended.stdout) == (2, "other.csv is missing; staff has: 3 rows\n")
    assert not (folder / "other.csv").exists()


def test_a_file_is_named_from_where_the_command_runs(run: Run, folder: Path) -> None:
    (folder / "people").mkdir()

    assert run("rosters", "snapshot", "staff", "--into", "here.csv", cwd=folder / "people").returncode == 0
    assert (folder / "people/here.csv").read_text() == TEXT


@pytest.mark.parametrize("held", ["id,mail\n1,x\n", "", "no,table\n1\n", '"', "id,name,mail\n1,2\n", "\xff"])
def test_a_file_that_is_no_snapshot_of_it_stays(run: Run, folder: Path, held: str) -> None:
    """Another file of people may have that name; --force says that it is meant."""
    path = folder / "staff.csv"
    path.write_bytes(held.encode("latin-1"))

    ended = run("rosters", "snapshot", "staff", "--into", "staff.csv")

    assert ended.returncode == 3
    assert "staff.csv has other columns than staff" in ended.stderr
    assert path.read_bytes() == held.encode("latin-1")
    assert run("rosters", "snapshot", "staff", "--into", "staff.csv", "--force").returncode == 0
    assert path.read_text() == TEXT


def test_what_cannot_be_a_snapshot_leaves_the_file_alone(run: Run, folder: Path) -> None:
    run("rosters", "snapshot", "staff")
    rows = {
        "DELETE FROM staff": (3, "returned no rows"),
        "INSERT INTO staff VALUES (1, 'x' || char(0), 'x')": (3, "the character NUL"),
        "DROP TABLE staff": (1, "no such table"),
    }
    for statement, (code, said) in rows.items():
        _change(folder, statement)
        ended = run("rosters", "snapshot", "staff")
        assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
        assert (folder / "rosters/staff.csv").read_text() == TEXT


def test_mistakes_of_the_command_line_say_what_to_do(run: Run, folder: Path) -> None:
    for words, said in {
        ("Staff",): "next: did you mean staff?",
        ("staff", "--into", "staff.json"): "next: name a file that ends in .csv",
        ("staff", "--into", "."): "next: name a file that ends in .csv",
    }.items():
        ended = run("rosters", "snapshot", *words)
        assert (ended.returncode, said in ended.stderr) == (3, True), ended.stderr
    (folder / "linked.csv").symlink_to(folder / "hr.db")
    assert run("rosters", "snapshot", "staff", "--into", "linked.csv", "--force").returncode == 1


def test_a_column_that_is_left_out_is_told(run: Run, folder: Path) -> None:
    _change(folder, "UPDATE staff SET mail = x'00' WHERE id = 2")

    ended = run("rosters", "snapshot", "staff")

    assert ended.returncode == 0
    assert "left out: the column mail, which holds bytes in 1 row." in ended.stderr
    assert (folder / "rosters/staff.csv").read_text() == "id,name\n1,Jane 1\n2,Jane 2\n3,Jane 3\n"


def _with_pins(folder: Path, contacts: str, manifest: str = "directory: staff") -> None:
    _change(folder, "ALTER TABLE staff ADD COLUMN pin")
    _change(folder, "UPDATE staff SET pin = 'SecretPinCanary' || id")
    text = (folder / "reconciler.yaml").read_text()
    (folder / "reconciler.yaml").write_text(
        text.replace("SELECT id, name, mail", "SELECT id, name, mail, pin")
    )
    (folder / "manifests").mkdir(exist_ok=True)
    (folder / "manifests/people.yaml").write_text(
        f"version: 1\nworkspace: default\nrosters: [{{{manifest}, name: '{{id}}', contacts: {contacts}}}]\n"
    )


@pytest.mark.parametrize(
    ("contacts", "manifest"),
    [
        ("{firstName: '{name}', password: '{pin}'}", "directory: staff"),
        ("{firstName: '{name}', password: 'x-{pin}-{{'}", "directory: staff"),
        ("{firstName: '{name}', password: '{pin}'}", "file: ../rosters/staff.csv"),
    ],
)
def test_a_column_that_fills_a_secret_is_in_no_file(
    run: Run, folder: Path, contacts: str, manifest: str
) -> None:
    """The file is for git, where what was once committed stays readable."""
    _with_pins(folder, contacts, manifest)

    ended = run("rosters", "snapshot", "staff")

    assert (folder / "rosters/staff.csv").read_text() == TEXT
    assert "left out: the column pin, which fills password, a secret." in ended.stderr
    assert "SecretPinCanary" not in ended.stdout + ended.stderr
    assert run("rosters", "snapshot", "staff", "--check").returncode == 0


@pytest.mark.parametrize("file", ["../people/hr.csv", "../people/../people/hr.csv", "../people/HR.csv"])
def test_a_file_of_another_name_has_no_column_that_fills_a_secret(run: Run, folder: Path, file: str) -> None:
    """What counts is who takes from the file that is written, whatever it is called."""
    _with_pins(folder, "{firstName: '{name}', password: '{pin}'}", f"file: {file}")
    (folder / "people").mkdir()

    ended = run("rosters", "snapshot", "staff", "--into", "people/hr.csv")

    assert (folder / "people/hr.csv").read_text() == TEXT
    assert "left out: the column pin, which fills password, a secret." in ended.stderr


def test_a_column_that_fills_no_secret_is_in_the_file(run: Run, folder: Path) -> None:
    """A name proves nothing: what counts is what a manifest makes of it."""
    _with_pins(folder, "{firstName: '{name}', jobTitle: '{pin}'}")

    run("rosters", "snapshot", "staff")

    assert "SecretPinCanary1" in (folder / "rosters/staff.csv").read_text()


def test_nothing_is_written_where_a_manifest_cannot_be_read(run: Run, folder: Path) -> None:
    """It may take a secret from the directory: nobody knows."""
    _with_pins(folder, "{password: '{pin}'")

    ended = run("rosters", "snapshot", "staff")

    assert ended.returncode == 3
    assert "a manifest that may use secrets cannot be read" in ended.stderr
    assert not (folder / "rosters").exists()
