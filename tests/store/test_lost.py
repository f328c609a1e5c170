"""A store that was removed, replaced, emptied or put back: found out before anything is sent for it."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from core.build import contact as entry
from core.build import desired, live, planned
from store.support import JANE, WORKSPACES, file_of, record, store_at

from reconciler.errors import StoreError
from reconciler.model.address import contact_address
from reconciler.model.plans import Consent
from reconciler.model.runs import Context, Intent
from reconciler.store.database import Store
from reconciler.store.locks import Lock
from reconciler.store.records import Batch

INTENT = Batch(intents=(Intent(JANE, "create", "2026-03-01T12:00:00+00:00", "2026-03-01T12:05:00+00:00"),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


def marker(path: Path) -> Path:
    return path.with_name("store.db.id")


def removed(path: Path) -> None:
    """Remove the store as `git clean` does, which knows nothing of the folder's meaning."""
    shutil.rmtree(path.parent)


def renamed_over(path: Path) -> None:
    """Put a copy in the place of the file, as an editor or a backup tool does."""
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    copy.replace(path)


def made_anew(path: Path) -> None:
    """Let another process begin a new store in the place of this one."""
    removed(path)
    store_at(path, prefix="another").close()


def without_its_log(path: Path) -> None:
    path.with_name("store.db-wal").unlink()


@pytest.mark.parametrize("vanish", [removed, renamed_over, made_anew, without_its_log, Path.unlink])
def test_no_intent_is_durable_in_a_file_that_is_not_at_its_path(
    path: Path, vanish: Callable[[Path], None]
) -> None:
    """SQLite would go on with the file that it has open, and nobody else would ever see what is in it."""
    with store_at(path) as store, store.lock("run-1") as lock:
        store.record([Batch()], WORKSPACES, lock=lock)
        vanish(path)
        with pytest.raises(StoreError, match="was removed or replaced while this run was using it") as caught:
            store.record([INTENT], WORKSPACES, lock=lock)
        assert "reconciler resume" in caught.value.next


def test_a_file_that_goes_while_it_is_written_to_is_noticed_after_the_commit(path: Path) -> None:
    """Between the look and the commit there is a moment; the answer is believed only after a second look."""

    def write_and_lose(store: Store) -> None:
        with store._database.writing() as connection:
            connection.execute("INSERT INTO plans_used VALUES ('salt', 'run-1', '')")
            removed(path)

    with store_at(path) as store, pytest.raises(StoreError, match="removed or replaced"):
        write_and_lose(store)


def test_a_second_connection_does_not_open_another_file(path: Path) -> None:
    """A pool opens connections as they are needed: all of them have to use what the first one uses."""
    with store_at(path) as store, store._database.reading():
        made_anew(path)
        with pytest.raises(StoreError, match="removed or replaced"):
            store.remember([record()], WORKSPACES)


def dropped(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA reconciler CASCADE")


def dropped_and_made_anew(url: str) -> None:
    dropped(url)
    store_at(url, prefix="another").close()


def restored_under_another_salt(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE reconciler.meta SET value = 'other' WHERE key = 'salt'")


@pytest.mark.parametrize("vanish", [dropped, dropped_and_made_anew, restored_under_another_salt])
def test_no_intent_is_durable_in_a_schema_that_is_not_the_one_that_was_opened(
    postgres_url: str, vanish: Callable[[str], None]
) -> None:
    with store_at(postgres_url) as store, store.lock("run-1") as lock:
        store.record([Batch()], WORKSPACES, lock=lock)
        vanish(postgres_url)
        with pytest.raises(StoreError, match=r"removed or replaced|are missing") as caught:
            store.record([INTENT], WORKSPACES, lock=lock)
        assert caught.value.next


# The marker.


@pytest.fixture
def used(path: Path) -> Path:
    """The file of a store in which something is recorded."""
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
    return path


def test_the_marker_is_there_before_anything_can_be_written_down(path: Path) -> None:
    """And readable by its owner alone, without the salt that keys what stands for people."""
    with store_at(path) as store:
        assert marker(path).stat().st_mode & 0o777 == 0o600
        assert store.salt not in marker(path).read_text("utf-8")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_to_nothing_with_its_log(path: Path) -> None:
    """Leave what a power cut leaves of a file whose first log was never written back, and is lost."""
    for beside in path.parent.glob("store.db-*"):
        beside.unlink()
    path.write_bytes(b"")


def another_store(path: Path) -> None:
    elsewhere = path.parent / "elsewhere" / "store.db"
    store_at(elsewhere, prefix="another").close()
    shutil.copyfile(elsewhere, path)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("lose", "word"),
    [
        (Path.unlink, "missing"),
        (emptied, "empty"),
        (cut_to_nothing_with_its_log, "empty"),
        (another_store, "another one"),
    ],
)
def test_a_lost_store_is_not_taken_for_one_that_nobody_has_made(
    used: Path, lose: Callable[[Path], None], word: str, *, create: bool
) -> None:
    """Taken for empty, everybody would be created again; reading it would show a plan that says so."""
    lose(used)
    before = sorted(used.parent.iterdir())
    with pytest.raises(StoreError, match=f"is {word}, but store.db.id beside it says") as caught:
        store_at(used, create=create)
    assert f"remove {marker(used)}" in caught.value.next
    assert [one for one in sorted(used.parent.iterdir()) if one not in before] == []


@pytest.mark.parametrize("lose", [Path.unlink, emptied])
def test_without_the_marker_a_new_store_begins(used: Path, lose: Callable[[Path], None]) -> None:
    """That is how a person says that it is lost for good."""
    lose(used)
    marker(used).unlink()
    with store_at(used) as store:
        assert store.recorded(WORKSPACES).entities == {}
    assert marker(used).exists()


def test_a_folder_that_was_removed_as_a_whole_begins_a_new_store(used: Path) -> None:
    """A fresh machine of a build has nothing, and needs no word."""
    removed(used)
    with store_at(used) as store:
        assert store.recorded(WORKSPACES).entities == {}
        assert store.doubtful == ""


def test_a_store_without_a_marker_gets_one_and_keeps_what_it_holds(used: Path) -> None:
    """Versions before this one wrote none."""
    marker(used).unlink()
    with store_at(used) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}
    assert marker(used).exists()


def copied(path: Path) -> Path:
    """A copy as people make them, of a store that nobody uses."""
    return Path(shutil.copyfile(path, path.parent / "backup"))


def put_back(path: Path, backup: Path) -> None:
    shutil.copyfile(backup, path)


def killed_within_a_run(store: Store, lock: Lock) -> None:
    """The intent is durable, and nothing more."""
    store.record([INTENT], WORKSPACES, lock=lock)


@pytest.mark.parametrize("create", [True, False])
def test_an_older_copy_that_was_put_back_is_known(used: Path, *, create: bool) -> None:
    """What was sent since is not in it, and what is in doubt neither."""
    backup = copied(used)
    with store_at(used) as store, store.lock("run-1") as lock:
        killed_within_a_run(store, lock)
    put_back(used, backup)
    with store_at(used, create=create) as store:
        assert "an older copy of the store was put back" in store.doubtful


def test_who_is_killed_before_it_has_accepted_an_older_copy_leaves_it_known(used: Path) -> None:
    backup = copied(used)
    with store_at(used) as store, store.lock("run-1") as lock:
        killed_within_a_run(store, lock)
    put_back(used, backup)
    with store_at(used) as store, store.lock("run-2"):
        pass  # writes, and accepts nothing
    with store_at(used) as store:
        assert store.doubtful


def test_an_older_copy_that_was_accepted_is_the_store_from_then_on(used: Path) -> None:
    backup = copied(used)
    with store_at(used) as store, store.lock("run-1") as lock:
        killed_within_a_run(store, lock)
    put_back(used, backup)
    with store_at(used) as store:
        store.accept()
        assert store.doubtful == ""
        store.remember([record()], WORKSPACES)
    with store_at(used, create=False) as store:
        assert store.doubtful == ""
    put_back(used, backup)
    with store_at(used, create=False) as store:
        assert store.doubtful


def test_a_lost_log_is_an_older_copy(path: Path) -> None:
    """The commits of a killed process lie in the log until somebody writes them back."""
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
        with file_of(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.forget([JANE], WORKSPACES)
        other.close()
        left = path.parent.parent / "left"
        left.mkdir()
        for one in (path, marker(path)):
            shutil.copyfile(one, left / one.name)
    with store_at(left / "store.db", create=False) as store:
        assert store.doubtful


@pytest.mark.parametrize("said", [b"", b"\0" * 90, b"{}", b'{"version":1,"id":1}', b"[" * 5000])
def test_a_marker_that_nobody_can_read_makes_the_store_doubtful(used: Path, said: bytes) -> None:
    """It says that there was one, and not how far it had come."""
    marker(used).write_bytes(said)
    with store_at(used) as store:
        assert "cannot be read" in store.doubtful
        store.accept()
    with store_at(used) as store:
        assert store.doubtful == ""


def test_whole_and_used_a_store_is_never_doubtful(path: Path) -> None:
    """Whoever opens it: while another one writes, after many commits, and after reads alone."""
    with store_at(path, prefix="first") as store, store_at(path, prefix="second") as other:
        for number in range(30):
            (store if number % 2 else other).remember([record(firstName=str(number))], WORKSPACES)
            with store_at(path, create=False) as reader:
                assert reader.doubtful == ""
    with store_at(path) as store:
        assert store.doubtful == ""


# Pages that a file system lost: zeros stand in their place.


def checked(path: Path) -> None:
    with store_at(path, create=False) as store:
        store.check_whole()


def test_a_page_of_zeros_is_never_a_store_that_is_well(path: Path) -> None:
    """Whoever asks whether all is well has to be told of damage where nothing is read today."""
    with store_at(path) as store:
        many = [record(contact_address("ops", f"p-{number}"), jobTitle="x" * 300) for number in range(60)]
        store.remember(many, WORKSPACES)
        store.begin(
            "run-1",
            "apply",
            planned(desired(entry("ops/sam-lee", {"firstName": "Sam"})), live()),
            Consent(),
            Context(),
        )
    with file_of(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    whole = path.read_bytes()
    pages = [at for at in range(0, len(whole), size) if any(whole[at : at + size])]

    assert len(pages) > 15
    for at in pages:
        path.write_bytes(whole[:at] + bytes(size) + whole[at + size :])
        with pytest.raises(StoreError) as caught:
            checked(path)
        assert caught.value.next, at

    path.write_bytes(whole)
    checked(path)


def _hard_linked(place: Path, victim: Path) -> None:
    os.link(victim, place)


def _linked(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def _pipe(place: Path, _victim: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize(
    "lay",
    [
        pytest.param(_hard_linked, id="hard link"),
        pytest.param(_linked, id="link"),
        pytest.param(_pipe, id="pipe"),
    ],
)
def test_a_marker_that_leads_elsewhere_is_made_again(path: Path, lay: Callable[[Path, Path], None]) -> None:
    """It is overwritten in its place; a name that leads to another file of as many bytes wrote over that."""
    with store_at(path) as store, store.lock("run-1") as lock:
        store.record([Batch()], WORKSPACES, lock=lock)
        right = marker(path).read_bytes()
        victim = path.with_name("victim")
        victim.write_bytes(b"x" * len(right))
        marker(path).unlink()
        lay(marker(path), victim)
        store.record([INTENT], WORKSPACES, lock=lock)

    assert victim.read_bytes() == b"x" * len(right)
    about = marker(path).lstat()
    assert (stat.S_ISREG(about.st_mode), about.st_nlink) == (True, 1)
    assert len(marker(path).read_bytes()) == len(right)


@pytest.mark.parametrize("lay", [_hard_linked, _linked, _pipe])
def test_a_marker_that_leads_elsewhere_is_not_believed(path: Path, lay: Callable[[Path, Path], None]) -> None:
    """Nor waited for: whoever laid a pipe there would hold up every command."""
    store_at(path).close()
    victim = path.with_name("victim")
    marker(path).rename(victim)
    lay(marker(path), victim)

    with store_at(path) as store:
        assert store.doubtful


def test_a_store_that_another_user_laid_in_a_public_folder_is_refused(tmp_path: Path) -> None:
    """Its owner would read whom we keep in it. In other folders, whoever may write there decides."""
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    path = public / "store.db"
    store_at(path).close()
    if os.geteuid() == 0:  # only root can make a file that is somebody else's
        os.chown(path, 65534, 65534)
        with pytest.raises(
            StoreError, match="belongs to another user, in a folder that everyone can write to"
        ):
            store_at(path)

    public.chmod(0o755)
    store_at(path).close()
