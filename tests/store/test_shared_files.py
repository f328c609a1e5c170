"""What runs keep in a shared store: whole or not at all, bounded, and for nobody who may not read records."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from random import Random

import postgres
import psycopg
import pytest
from clock import Clock
from store.support import ORIGIN, observed, pool_of, store_at
from store.test_postgres import READING, administrate

from reconciler.engine.kept_files import KeptFiles
from reconciler.errors import StoreError
from reconciler.private_cache import ListCache
from reconciler.store.adapter import Connection, Observer
from reconciler.store.database import Store
from reconciler.store.sealed_tables import Owner
from reconciler.store.shared_files import SharedFiles, part_bytes

_SEAL = bytes(range(32))


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with store_at(postgres_url) as opened:
        yield opened


def _files(store: Store) -> SharedFiles:
    found = store.shared_files()
    assert found is not None
    return found


def _noise(size: int) -> bytes:
    return Random(size).randbytes(size)


def _tables(url: str) -> set[str]:
    rows = administrate(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'reconciler'")
    return {str(name) for (name,) in rows}


def test_a_file_is_not_shared(tmp_path: Path) -> None:
    """What one machine keeps is in its cache already."""
    with store_at(tmp_path / "store.db") as store:
        assert store.shared_files() is None


@pytest.mark.parametrize("size", [1, part_bytes, part_bytes + 1, 70 * part_bytes + 7])
def test_what_is_kept_comes_back_with_its_seal(store: Store, size: int) -> None:
    """In one part or in more than are asked for at once; in the place of what was there."""
    data = _noise(size)
    _files(store).write("lists", bytes(32), [_noise(3 * part_bytes)])
    _files(store).write("lists", _SEAL, [data[:10], memoryview(data)[10:]])
    _files(store).write("other", bytes(32), [b"other"])

    found = _files(store).read("lists")

    assert found is not None
    assert (found.seal, found.data == data) == (_SEAL, True)
    assert _files(store).seal("lists") == _SEAL
    _files(store).remove("lists")
    assert _files(store).read("lists") is None
    assert _files(store).seal("lists") == b""
    assert _files(store).read("other") is not None


def test_nothing_is_made_before_something_is_kept(store: Store, postgres_url: str) -> None:
    """A store that nobody keeps anything in has the tables of its version, and reading makes none."""
    _files(store).read("lists")
    _files(store).remove("lists")

    assert _files(store).seal("lists") == b""
    assert not any(name.startswith("kept") for name in _tables(postgres_url))


class _Sent(Observer):
    """Counts the rows that are added."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as every observer
        self.statements.append(sql)


def test_only_the_parts_that_differ_are_sent(store: Store, postgres_url: str) -> None:
    """Three changed rows of a long list are not sent with all the others."""
    before = _noise(20 * part_bytes)
    data = before[: 5 * part_bytes] + b"other" + before[5 * part_bytes + 5 :] + b"one more"
    each = "SELECT part, xmin::text FROM reconciler.kept_parts"
    _files(store).write("lists", _SEAL, [before])
    first = set(administrate(postgres_url, each))
    _files(store).write("lists", _SEAL, [data])

    second = set(administrate(postgres_url, each))
    found = _files(store).read("lists")

    assert {part for part, _ in second - first} == {5, 20}
    assert found is not None
    assert found.data == data


def test_what_is_unchanged_sends_nothing(store: Store) -> None:
    """Its seal and its time alone are written."""
    data = _noise(3 * part_bytes)
    _files(store).write("lists", _SEAL, [data])
    sent = _Sent()

    with observed(pool_of(store), sent):
        _files(store).write("lists", _SEAL, [data])

    assert not any(
        sql.startswith(("INSERT INTO kept_parts", "DELETE FROM kept_parts")) for sql in sent.statements
    )


def test_it_is_bounded(store: Store) -> None:
    """One name, and all of a stack: what would be more is not kept, and nothing else goes for it."""
    small = SharedFiles(store._database, Owner(ORIGIN, "default"), Clock(), file_max=1_000, stack_max=1_500)
    other = SharedFiles(store._database, Owner(ORIGIN, "other"), Clock(), file_max=1_000, stack_max=1_500)

    assert small.write("one", _SEAL, [_noise(900)])
    assert other.write("one", _SEAL, [_noise(900)])
    assert not small.write("long", _SEAL, [_noise(1_001)])
    assert not small.write("two", _SEAL, [_noise(700)])

    assert small.read("long") is None
    assert small.read("two") is None
    assert small.read("one") is not None
    assert small.write("one", _SEAL, [_noise(1_000)])


def test_what_nobody_keeps_any_more_goes_after_thirty_days(store: Store, postgres_url: str) -> None:
    """A stack that left, or an account that changed, leaves no people's data behind for ever."""
    clock = Clock()
    files = SharedFiles(store._database, Owner(ORIGIN, "default"), clock)
    files.write("left", _SEAL, [_noise(10)])
    clock.pass_s(timedelta(days=29).total_seconds())
    files.write("used", _SEAL, [_noise(10)])
    assert files.read("left") is not None
    clock.pass_s(timedelta(days=2).total_seconds())

    files.write("used", _SEAL, [_noise(10)])

    assert files.read("left") is None
    assert administrate(postgres_url, "SELECT DISTINCT name FROM reconciler.kept_parts") == [("used",)]


def test_of_two_who_keep_at_once_one_is_kept_whole(postgres_url: str) -> None:
    """Never parts of both, also where the tables are made at that moment."""
    long, short = _noise(30 * part_bytes), _noise(9 * part_bytes)

    def keep(turn: int) -> None:
        with store_at(postgres_url) as store:
            data = (long, short)[turn % 2]
            try:
                _files(store).write("lists", data[:32], [data])
            except StoreError:
                assert turn < 8  # both made the tables

    with store_at(postgres_url) as store, ThreadPoolExecutor(8) as pool:
        for _ in pool.map(keep, range(24)):
            found = _files(store).read("lists")
            assert found is None or found.data == (long if found.seal == long[:32] else short)
        assert _files(store).read("lists") is not None


# --- Who may read it, and what is believed ----------------------------------------------------------------


def _kept(folder: Path, store: Store, salt: str = "salt", account: str = "demo") -> KeptFiles:
    return KeptFiles(ListCache(folder, salt), store.shared_files(), account=account)


def test_a_fresh_machine_has_what_another_kept(store: Store, tmp_path: Path) -> None:
    """Whole, and from then on in its own cache; the seal alone is asked for without the rest."""
    _kept(tmp_path / "one", store).write("list", (b"some", b"thing"))
    fresh, later = _kept(tmp_path / "two", store), _kept(tmp_path / "two", store)
    (tmp_path / "two").mkdir()

    seal, data = fresh.seal("list"), fresh.read("list")
    _files(store).remove(_kept(tmp_path, store)._shared_name("list"))

    assert data == b"something"
    assert fresh.seals == {"list": seal}
    assert later.read("list") == b"something"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"salt": "other"}, id="another store"),
        pytest.param({"account": "other"}, id="another account"),
    ],
)
def test_what_another_kept_is_nothing(store: Store, tmp_path: Path, other: dict[str, str]) -> None:
    """The seal has another key, or what the account may see stands under another name."""
    _kept(tmp_path / "one", store).write("list", (b"something",))

    assert _kept(tmp_path / "two", store, **other).read("list") is None


def test_accounts_do_not_displace_what_the_other_keeps(store: Store, tmp_path: Path) -> None:
    """A plan with a user that may only read does not take the place of what an apply keeps."""
    for account in ("reader", "writer"):
        _kept(tmp_path / account, store, account=account).write("list", (account.encode(),))

    for account in ("reader", "writer"):
        assert _kept(tmp_path / "fresh" / account, store, account=account).read("list") == account.encode()


def test_who_may_only_read_keeps_nothing_and_says_nothing(
    store: Store, postgres_url: str, tmp_path: Path
) -> None:
    """A plan with a read-only role is a plan; it has what others kept, if it may read it."""
    _kept(tmp_path / "one", store).write("list", (b"something",))
    with postgres.role(postgres_url, *READING) as url, store_at(url, create=False) as readers:
        with pytest.raises(StoreError):
            _files(readers).write("list", _SEAL, [b"x"])
        kept = _kept(tmp_path / "two", readers)
        kept.write("new", (b"anything",))
        kept.write("list", None)
        assert kept.read("list") is None or kept.read("list") == b"something"

    assert _kept(tmp_path / "three", store).read("new") is None
    assert _kept(tmp_path / "three", store).read("list") == b"something"


def test_who_may_not_read_these_tables_goes_on_without(
    store: Store, postgres_url: str, tmp_path: Path
) -> None:
    """Rights that were given before the tables were made do not cover them."""
    with postgres.role(postgres_url, *READING) as url:
        _kept(tmp_path / "one", store).write("list", (b"something",))
        with store_at(url, create=False) as readers:
            kept = _kept(tmp_path / "two", readers)
            assert (kept.read("list"), kept.seal("list")) == (None, b"")
            assert readers.now() is not None  # the store is asked on


def test_only_who_may_read_records_may_read_it(store: Store, postgres_url: str, tmp_path: Path) -> None:
    """The tables give nobody a right but their owner."""
    _kept(tmp_path / "one", store).write("list", (b"something",))
    with postgres.role(postgres_url, READING[0]) as url, psycopg.connect(url, autocommit=True) as connection:
        for table in ("entities", "kept", "kept_parts"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"TABLE reconciler.{table}".encode())


_DAMAGE = [
    "UPDATE reconciler.kept SET seal = ''",
    "UPDATE reconciler.kept SET seal = 'no digits'",
    "UPDATE reconciler.kept SET seal = repeat('00', 32)",
    "UPDATE reconciler.kept SET size = size + 1",
    "UPDATE reconciler.kept SET size = 0",
    "UPDATE reconciler.kept SET size = 2000000000",
    "UPDATE reconciler.kept SET name = 'another'",
    "DELETE FROM reconciler.kept",
    "DELETE FROM reconciler.kept_parts",
    "DELETE FROM reconciler.kept_parts WHERE part = 1",
    "UPDATE reconciler.kept_parts SET part = part + 64",
    "UPDATE reconciler.kept_parts SET part = 9 - part",
    "UPDATE reconciler.kept_parts SET data = substring(data FROM 1 FOR 20)",
    "UPDATE reconciler.kept_parts SET data = ''",
    "UPDATE reconciler.kept_parts SET data = (SELECT data FROM reconciler.kept_parts WHERE part = 2)",
    "UPDATE reconciler.kept_parts SET data = set_byte(data, 30, get_byte(data, 30) # 1) WHERE part = 2",
    "DROP TABLE reconciler.kept_parts",
    "ALTER TABLE reconciler.kept DROP COLUMN seal",
]


@pytest.mark.parametrize("damage", _DAMAGE)
def test_damage_is_not_believed(store: Store, postgres_url: str, tmp_path: Path, damage: str) -> None:
    """It was not kept, and nobody is told; who found it damaged keeps all of it anew, the same bytes too."""
    data = (_noise(3 * part_bytes),)
    _kept(tmp_path / "one", store).write("list", data)
    administrate(postgres_url, damage)

    assert _kept(tmp_path / "two", store).read("list") is None
    _kept(tmp_path / "two", store).write("list", data)

    mended = _kept(tmp_path / "three", store).read("list")
    assert mended == (None if "DROP COLUMN" in damage else data[0])
