import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from clock import Clock
from store.support import JANE, ORIGIN, WORKSPACES, as_somebody_without_rights, pool_of, record, store_at
from waiting import patience_s

from reconciler.errors import SettingsError, StoreError
from reconciler.store.adapter import Connection, Observer
from reconciler.store.database import Store
from reconciler.store.schema import TABLES, VERSION

TESTS = str(Path(__file__).parents[1])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_the_store_is_private_from_its_creation(
    tmp_path: Path, umask: Callable[[int], int], mask: int
) -> None:
    """It holds people's data; what the shell's umask happens to be does not matter."""
    path = tmp_path / "state" / "store.db"
    umask(mask)
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
        files = sorted(file.name for file in path.parent.iterdir())
        assert files == ["store.db", "store.db-shm", "store.db-wal", "store.db.id"]
        assert [mode(path.parent / name) for name in files] == [0o600] * 4
    assert mode(path.parent) == 0o700
    assert mode(path) == 0o600


def test_a_commit_survives_a_power_cut(tmp_path: Path) -> None:
    with store_at(tmp_path / "store.db") as store, store._database.reading() as connection:
        assert connection.execute("PRAGMA journal_mode").scalar() == "wal"
        assert connection.execute("PRAGMA synchronous").scalar() == 2


def test_reading_a_store_that_does_not_exist_makes_nothing(tmp_path: Path) -> None:
    """A plan leaves no trace."""
    with store_at(tmp_path / "state" / "store.db", create=False) as store:
        assert store.recorded(WORKSPACES).entities == {}
        assert store.salt == ""
    assert list(tmp_path.iterdir()) == []


def test_reading_a_store_leaves_its_folder_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
    with store_at(path, create=False) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store.db", "store.db.id"]


def test_a_plan_can_be_made_while_an_apply_writes(store_url: str) -> None:
    with store_at(store_url) as writer, store_at(store_url, create=False) as reader:
        writer.remember([record()], WORKSPACES)
        with writer._database.writing() as connection:
            connection.execute("DELETE FROM entities")
            assert set(reader.recorded(WORKSPACES).entities) == {JANE}


def test_a_store_that_may_only_be_read_serves_a_plan(folder: Path) -> None:
    """A build may hand the store on as something nobody can write to."""
    path = folder / "store.db"
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
    path.chmod(0o444)
    with as_somebody_without_rights(folder):
        with store_at(path, create=False) as store:
            assert set(store.recorded(WORKSPACES).entities) == {JANE}
        with pytest.raises(StoreError, match="is read-only") as caught:
            store_at(path)
    assert caught.value.next


def test_a_folder_without_the_right_to_write_is_named(folder: Path) -> None:
    for path in (folder / "store.db", folder / "deeper" / "store.db"):
        with (
            as_somebody_without_rights(folder),
            pytest.raises(StoreError, match="cannot be created: Permission denied") as caught,
        ):
            store_at(path)
        assert caught.value.next
    assert list(folder.iterdir()) == []


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    with pytest.raises(StoreError) as caught:
        store_at(tmp_path / "state" / "store.db")
    assert caught.value.next
    assert (tmp_path / "state").read_text() == "mine"


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, *, create: bool) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="not a database") as caught:
        store_at(path, create=create)
    assert caught.value.next
    assert path.read_bytes() == b"not a database at all" * 100


def test_a_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        store_at(tmp_path)


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    """Whoever planted it would choose where people's data goes, and with which rights."""
    (tmp_path / "store.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        store_at(tmp_path / "store.db")
    assert not (tmp_path / "elsewhere").exists()


def test_a_store_in_a_folder_that_may_not_be_entered_is_not_taken_for_an_empty_one(folder: Path) -> None:
    """Everything would look like somebody else's then, or be made once more."""
    path = folder / "deeper" / "store.db"
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
    path.parent.chmod(0)
    with as_somebody_without_rights(folder):
        for create in (True, False):
            with pytest.raises(StoreError, match="Permission denied") as caught:
                store_at(path, create=create)
            assert caught.value.next
    path.parent.chmod(0o700)


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with store_at(path) as store, store._database.writing() as connection:
        connection.execute("DROP TABLE meta")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        store_at(path)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused_by_name(store_url: str) -> None:
    with store_at(store_url) as store, store._database.writing() as connection:
        newer = {"newer": str(VERSION + 1)}
        connection.execute("UPDATE meta SET value = :newer WHERE key = 'version'", newer)
    for create in (True, False):
        with pytest.raises(StoreError, match=f"schema {VERSION + 1}, this one knows {VERSION}") as caught:
            store_at(store_url, create=create)
        assert "upgrade" in caught.value.next


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM meta WHERE key = 'salt'",
        "UPDATE meta SET value = 'x'",
        "UPDATE meta SET value = '0' WHERE key = 'version'",
    ],
)
def test_a_store_without_its_salt_or_version_is_refused(store_url: str, change: str) -> None:
    with store_at(store_url) as store, store._database.writing() as connection:
        connection.execute(change)
    for create in (True, False):
        with pytest.raises(StoreError, match="version or salt is missing"):
            store_at(store_url, create=create)


# Another process that opens the store and says which salt it found or made.
OPENING = """
import sys
sys.path.insert(0, sys.argv[2])
from store.support import store_at
with store_at(sys.argv[1], prefix=sys.argv[3]) as store:
    print(store.salt)
"""


def test_processes_that_make_a_store_at_the_same_moment_all_get_it(store_url: str) -> None:
    """A matrix of jobs begins together. Two salts would make every secret look changed."""
    commands = [[sys.executable, "-c", OPENING, store_url, TESTS, f"process-{n}"] for n in range(3)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    spoken = [process.communicate(timeout=patience_s) for process in processes]

    assert [errors for _, errors in spoken] == [""] * 3
    assert len({said for said, _ in spoken}) == 1


def test_many_that_make_a_store_at_the_same_moment_all_get_it(store_url: str) -> None:
    def salt(number: int) -> str:
        with store_at(store_url, prefix=f"thread-{number}") as store:
            return store.salt

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(salt, range(16)))) == 1


def test_a_transaction_that_fails_keeps_nothing(store_url: str) -> None:
    class Broken(Exception):
        pass

    def break_off() -> None:
        with store._database.writing() as connection:
            for table in TABLES:
                connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - names of our tables
            raise Broken

    with store_at(store_url) as store:
        store.remember([record()], WORKSPACES)
        with pytest.raises(Broken):
            break_off()
        assert store.recorded(WORKSPACES).entities == {JANE: record()}


def test_writers_take_turns_so_that_what_one_has_read_is_still_so_when_it_writes(store_url: str) -> None:
    """Or two that count on from the same number would both write the next one."""

    def count_on(_: int) -> None:
        with store_at(store_url) as store, store._database.writing() as connection:
            number = connection.execute("SELECT count(*) FROM plans_used").scalar()
            row = {"salt": f"{number:03}"}
            connection.execute("INSERT INTO plans_used VALUES (:salt, '', '')", row)

    store_at(store_url).close()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_on, range(20)))
    with store_at(store_url, create=False) as store, store._database.reading() as connection:
        rows = connection.execute("SELECT salt FROM plans_used ORDER BY salt").all()
    assert rows == [(f"{number:03}",) for number in range(20)]


def test_a_creation_that_was_cut_short_is_taken_up_again(tmp_path: Path) -> None:
    """The file exists before its tables do; a crash in between must not need a hand."""
    path = tmp_path / "store.db"
    path.touch(0o600)
    with store_at(path, create=False) as store:
        assert store.recorded(WORKSPACES).entities == {}
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)


def test_the_salt_is_made_once(store_url: str) -> None:
    """Or every digest of a secret would look changed with every run."""
    with store_at(store_url, prefix="first") as store:
        salt = store.salt
    with store_at(store_url, prefix="second") as store:
        assert store.salt == salt == "first-1"
        assert store.recorded(WORKSPACES).salt == salt


class SmallDisk(Observer):
    """Every new connection finds a disk with little room."""

    def opened(self, connection: Connection) -> None:
        connection.execute("PRAGMA max_page_count = 30")


def test_a_full_disk_is_an_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    with store_at(tmp_path / "store.db") as store:
        store.remember([record()], WORKSPACES)
        pool_of(store).dispose()
        pool_of(store).observers.append(SmallDisk())
        with pytest.raises(StoreError, match="disk is full") as caught:
            store.remember([record(title="x" * 100_000)], WORKSPACES)
        assert "free space" in caught.value.next
        assert store.recorded(WORKSPACES).entities == {JANE: record()}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://u:canary@db/x", "postgresql[+]psycopg is not supported"),
        ("postgresql://u:canary@db", "is not user, host, port and database"),
        ("", "an empty URL is not supported"),
        ("store.db", "a URL like this is not supported"),
        ("sqlite://", "does not name a file"),
        ("sqlite:///", "does not name a file"),
        ("sqlite:///:memory:", "does not name a file"),
        ("sqlite://host/store.db", "does not name a file"),
        ("sqlite:///store.db?mode=rwc", "does not name a file"),
    ],
)
def test_a_url_that_cannot_be_used_says_what_can(tmp_path: Path, url: str, shown: str) -> None:
    with pytest.raises(SettingsError, match=shown) as caught:
        Store.open(url, origin=ORIGIN, stack="default", now=Clock(), token=str, root=str(tmp_path))
    assert "sqlite:///" in caught.value.next or "postgresql://" in caught.value.next
    assert "canary" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_is_meant_from_the_project(tmp_path: Path) -> None:
    url = "sqlite:///.reconciler/a #%20b.db"
    with Store.open(
        url, origin=ORIGIN, stack="default", now=Clock(), token=lambda: "salt", root=str(tmp_path)
    ):
        assert (tmp_path / ".reconciler" / "a #%20b.db").is_file()


def test_no_value_of_a_person_is_in_an_error(store_url: str) -> None:
    with store_at(store_url) as store:
        with store._database.writing() as connection:
            connection.execute("DROP TABLE entities")
        with pytest.raises(StoreError) as caught:
            store.remember([record(firstName="canary")], WORKSPACES)
    assert "canary" not in f"{caught.value} {caught.value.__cause__}"
