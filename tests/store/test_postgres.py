import threading
from collections.abc import Callable
from pathlib import Path

import postgres
import psycopg
import pytest
import tally
from store.support import JANE, SAM, WORKSPACES, record, store_at
from waiting import patience_s, until

from reconciler.database_urls import parse_server_url
from reconciler.errors import StoreError
from reconciler.model.address import contact_address
from reconciler.store.adapter import Connection
from reconciler.store.database import Store
from reconciler.store.postgres import SCHEMA, PostgresServer

READING = (
    f"GRANT USAGE ON SCHEMA {SCHEMA} TO {{role}}",
    f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {{role}}",
)
OWNING = f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {{role}}"


def administrate(url: str, statement: str) -> list[tuple[object, ...]]:
    """Carry out what an administrator would, beside the program."""
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return list(done.fetchall()) if done.description else []


def cut_every_connection(url: str) -> int:
    """End every other connection to the database, as a restart or an administrator does."""
    cut = administrate(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    return len(cut)


def nobody_is_connected(url: str) -> bool:
    """Whether no other program has a connection: the server's own cleaning of tables is none."""
    return not administrate(
        url,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )


def delete_all_and(then: Callable[[], object], store: Store) -> None:
    """Delete every entity, and let something happen before that is committed."""
    with store._database.writing() as connection:
        connection.execute("DELETE FROM entities")
        then()


def shows(connection: Connection, name: str) -> str:
    found: str = connection.execute(f"SHOW {name}").scalar()
    return found


def test_a_server_is_shared_and_a_file_is_not(postgres_url: str, tmp_path: Path) -> None:
    """Whether others see the store's lock: `lock.in_service: auto` asks the store itself."""
    with store_at(tmp_path / "store.db") as file, store_at(postgres_url) as server:
        assert (file.shared, server.shared) == (False, True)


def test_a_commit_survives_a_crash_whatever_the_servers_habit_is(postgres_url: str) -> None:
    """The server of these tests answers before a commit is on its disk, unless it is asked for better."""
    assert administrate(postgres_url, "SHOW synchronous_commit") == [("off",)]
    with store_at(postgres_url) as store, store._database.writing() as connection:
        assert shows(connection, "synchronous_commit") == "on"
        assert shows(connection, "transaction_isolation") == "read committed"
        assert shows(connection, "transaction_read_only") == "off"


def test_a_look_sees_one_moment_and_may_not_write(postgres_url: str) -> None:
    with store_at(postgres_url) as store:
        with store._database.reading() as connection:
            assert shows(connection, "transaction_isolation") == "repeatable read"
            before = connection.execute("SELECT count(*) FROM entities").scalar()
            store.remember([record()], WORKSPACES)
            assert connection.execute("SELECT count(*) FROM entities").scalar() == before
        with (
            pytest.raises(StoreError, match="is read-only"),
            store._database.reading() as connection,
        ):
            connection.execute("DELETE FROM entities")
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


def test_the_tables_have_a_schema_of_their_own(postgres_url: str) -> None:
    """The database may hold other things: theirs are neither read nor in the way."""
    administrate(postgres_url, "CREATE TABLE public.meta (anything text)")
    administrate(postgres_url, "CREATE TABLE public.entities (anything text)")
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)
    with store_at(postgres_url, create=False) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}
    found = administrate(postgres_url, "SELECT count(*) FROM public.entities")
    assert found == [(0,)]


def test_a_schema_of_that_name_with_other_tables_is_left_alone(postgres_url: str) -> None:
    administrate(postgres_url, f"CREATE SCHEMA {SCHEMA}")
    administrate(postgres_url, f"CREATE TABLE {SCHEMA}.theirs (anything text)")
    for create in (True, False):
        with pytest.raises(StoreError, match="another program"):
            store_at(postgres_url, create=create)
    theirs = "SELECT count(*) FROM pg_tables WHERE tablename <> 'theirs' AND schemaname = 'reconciler'"
    assert administrate(postgres_url, theirs) == [(0,)]


def test_reading_a_database_without_a_store_makes_nothing(postgres_url: str) -> None:
    """A plan leaves no trace."""
    with store_at(postgres_url, create=False) as store:
        assert store.recorded(WORKSPACES).entities == {}
        assert (store.salt, store.holder(), store.shared) == ("", None, True)
    assert administrate(postgres_url, f"SELECT to_regnamespace('{SCHEMA}') IS NULL") == [(True,)]


def test_who_may_only_read_can_plan_and_is_told_why_he_cannot_apply(postgres_url: str) -> None:
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)
    with postgres.role(postgres_url, *READING) as url:
        with store_at(url, create=False) as store:
            assert set(store.recorded(WORKSPACES).entities) == {JANE}
            assert store.holder() is None
        with (
            store_at(url) as store,
            pytest.raises(StoreError, match="this user lacks a permission") as caught,
            store.lock("run-1"),
        ):
            pass
        assert SCHEMA in caught.value.next
    with store_at(postgres_url) as store:
        assert store.holder() is None


def test_who_may_not_make_a_schema_is_told_and_one_that_was_made_for_him_is_enough(postgres_url: str) -> None:
    with postgres.role(postgres_url) as url:
        with pytest.raises(StoreError, match="this user lacks a permission") as caught:
            store_at(url)
        assert SCHEMA in caught.value.next
    with postgres.role(postgres_url, OWNING) as url, store_at(url) as store:
        store.remember([record()], WORKSPACES)
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


def test_a_server_that_only_serves_readers_is_named_as_such(postgres_url: str) -> None:
    """A copy that follows the primary server looks like it in everything else."""
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)

        def write() -> None:
            with store._database.writing() as connection:
                connection.execute("SET TRANSACTION READ ONLY")
                connection.execute("DELETE FROM entities")

        with pytest.raises(StoreError, match="is read-only") as caught:
            write()
    assert "primary" in caught.value.next


PASSWORD = "canary/@:%? of the store"  # with every sign that a URL could stumble over
WRONG = "canary%2F%40%3A%25%3F%20of%20the%20store"


def changed(url: str, **parts: str) -> str:
    """Return the URL with another user, password, place or database."""
    made = parse_server_url(url)
    user, password = parts.get("user", made.user), parts.get("password", made.password.reveal())
    host, port = parts.get("host", made.host), parts.get("port", str(made.port))
    options = parts.get("options", "")
    return f"postgresql://{user}:{password}@{host}:{port}/{parts.get('database', made.database)}{options}"


UNREACHABLE = {
    "a wrong password": ({"password": WRONG}, "the login is refused", "PGPASSWORD"),
    "a user that is not there": (
        {"user": "nobody-here", "password": WRONG},
        "the login is refused",
        "PGPASSWORD",
    ),
    "a database that is not there": ({"database": "nothing"}, "there is no such database", "create it"),
    "a port where nobody listens": ({"port": "1"}, "it cannot be reached", "check host and port"),
    "a host that is not there": ({"host": "nothing.invalid"}, "the host is unknown", "check host and port"),
    "a socket that is not there": (
        {"host": "", "port": "1", "options": "?host=/nothing"},
        "it cannot be reached",
        "check host and port",
    ),
    "a server without encryption": (
        {"options": "?sslmode=require"},
        "the server offers no encryption",
        "sslmode=disable",
    ),
}


@pytest.mark.parametrize("case", UNREACHABLE)
@pytest.mark.parametrize("create", [True, False])
def test_what_keeps_us_from_the_server_is_said_and_never_the_password(
    case: str, postgres_url: str, *, create: bool
) -> None:
    parts, what, hint = UNREACHABLE[case]
    url = changed(postgres_url, **parts)
    with pytest.raises(StoreError) as caught:
        store_at(url, create=create)

    error = caught.value
    causes = f"{error} {error.next} {error.__cause__!r} {error.__cause__} {error.__context__!r}"
    assert what in str(error)
    assert hint in error.next
    assert "canary" not in causes
    assert parse_server_url(url).password.reveal() not in causes


def test_a_password_with_odd_signs_opens_the_store(postgres_url: str) -> None:
    with postgres.role(postgres_url, OWNING) as url:
        quoted = PASSWORD.replace("'", "''")
        administrate(postgres_url, f"ALTER ROLE {parse_server_url(url).user} PASSWORD '{quoted}'")
        with store_at(changed(url, password=WRONG)) as store:
            assert store.salt


def test_a_password_that_the_url_leaves_out_is_found_where_the_server_looks(
    postgres_url: str, tmp_path: Path
) -> None:
    """A settings file in git names the store; the password lies elsewhere."""
    url = parse_server_url(postgres_url)
    passfile = tmp_path / "passfile"
    passfile.touch(0o600)
    passfile.write_text(f"{url.host}:{url.port}:*:{url.user}:{url.password.reveal()}\n")
    bare = f"postgresql://{url.user}@{url.host}:{url.port}/{url.database}"

    with store_at(f"{bare}?passfile={passfile}") as store:
        assert store.salt
    passfile.write_text("")
    with pytest.raises(StoreError, match="it requires a password, and none is set"):
        store_at(f"{bare}?passfile={passfile}")


def test_what_was_committed_is_there_after_the_server_was_killed() -> None:
    """Its process dies without a word, between two commits and within one; then it is started again."""
    kills = 3
    with postgres.own_server() as server:
        url = server.url()
        with store_at(url) as store:
            for number in range(kills):
                store.remember([record(contact_address("ops", f"person-{number}"))], WORKSPACES)
                with pytest.raises(StoreError) as caught:
                    delete_all_and(server.kill, store)
                assert caught.value.next
                with pytest.raises(StoreError, match="cannot be reached"):
                    store.recorded(WORKSPACES)
                server.start()
                assert len(store.recorded(WORKSPACES).entities) == number + 1
            with store.lock("run-1") as lock:
                lock.check()
    tally.count("store kills", "the PostgreSQL server", kills)


def test_commits_of_several_writers_survive_the_kill_of_the_server() -> None:
    """Whoever was told that it is kept finds it again, and nobody else's half."""
    kept: list[str] = []
    with postgres.own_server() as server:
        url = server.url()
        store_at(url).close()

        def write(name: str) -> None:
            with store_at(url) as store:
                for number in range(10_000):
                    address = contact_address("ops", f"{name}-{number}")
                    try:
                        store.remember([record(address)], WORKSPACES)
                    except StoreError:
                        return
                    kept.append(str(address))

        writers = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
        for writer in writers:
            writer.start()
        until(lambda: len(kept) >= 40 or not any(map(threading.Thread.is_alive, writers)), "forty writes")
        server.kill()
        for writer in writers:
            writer.join(patience_s)
        server.start()
        with store_at(url, create=False) as store:
            found = set(map(str, store.recorded(WORKSPACES).entities))
    assert set(kept) <= found
    # What was being committed at that moment may be there too: one of each writer.
    assert len(found - set(kept)) <= len(writers)
    tally.count("store kills", "the PostgreSQL server")


def test_a_connection_that_is_cut_within_a_transaction_keeps_nothing_of_it(postgres_url: str) -> None:
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)
        with pytest.raises(StoreError, match="connection") as caught:
            delete_all_and(lambda: cut_every_connection(postgres_url), store)
        assert caught.value.next
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


def test_a_connection_that_was_cut_while_nothing_happened_is_made_again(postgres_url: str) -> None:
    """A run may be silent for minutes, and networks forget: that is no reason to end it."""
    with store_at(postgres_url) as store, store.lock("run-1") as lock:
        for _ in range(3):
            assert cut_every_connection(postgres_url) >= 1
            lock.check()
            store.remember([record(SAM)], WORKSPACES)
        assert set(store.recorded(WORKSPACES).entities) == {SAM}


def raising(url: str, state: str, table: str = "entities") -> None:
    """Let the server refuse rows of a table, with that SQLSTATE and a text that nobody may see."""
    administrate(
        url,
        f"CREATE OR REPLACE FUNCTION {SCHEMA}.fails() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'canary' USING ERRCODE = '{state}'; END $$",
    )
    administrate(
        url,
        f"CREATE OR REPLACE TRIGGER fails BEFORE INSERT ON {SCHEMA}.{table} "
        f"FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.fails()",
    )


STATES = {
    "53100": "the disk is full",
    "53200": "the server has run out of a resource",
    "53300": "no free connection",
    "25006": "it is read-only",
    "42501": "this user lacks a permission",
    "40001": "another transaction changed the same rows",
    "40P01": "another transaction changed the same rows",
    "55P03": "another process has locked it",
    "57014": "the server did not finish in time",
    "57P01": "server closed the connection",
    "57P03": "is starting or stopping",
    "58030": "the disk of the server reports an error",
    "XX001": "it is damaged",
    "08006": "the connection to it was lost",
    "P0001": "it cannot be used (SQLSTATE P0001)",
}


@pytest.mark.parametrize("state", STATES)
def test_what_the_server_says_is_told_in_our_words_and_nothing_is_kept(state: str, postgres_url: str) -> None:
    """A full disk, a stop, too many connections: what it means and what to do, not what a library prints."""
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)
        raising(postgres_url, state)
        with pytest.raises(StoreError) as caught:
            store.remember([record(SAM, firstName="canary")], WORKSPACES)
        assert STATES[state] in str(caught.value)
        assert "canary" not in f"{caught.value} {caught.value.next}"
        assert caught.value.next
        assert store.recorded(WORKSPACES).entities == {JANE: record()}
    tally.count("store faults", f"{STATES[state]}")


def test_a_transaction_that_was_undone_for_another_one_is_done_again(postgres_url: str) -> None:
    """Nothing of it was kept, so doing it again does it once."""
    tries = 0

    def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute("INSERT INTO plans_used VALUES ('salt', '', '')")
        if tries < 3:
            connection.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")

    with store_at(postgres_url) as store:
        store._database.write(work)
        with store._database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM plans_used").scalar() == 1
    assert tries == 3


def test_a_transaction_is_not_done_again_for_ever(postgres_url: str) -> None:
    tries = 0

    def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$")

    with store_at(postgres_url) as store, pytest.raises(StoreError, match="another transaction changed"):
        store._database.write(work)
    assert tries == 5


def test_what_was_not_undone_for_another_one_is_tried_once(postgres_url: str) -> None:
    """After a lost connection nobody knows whether it was kept; a second try could do it twice."""
    tries = 0

    def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        cut_every_connection(postgres_url)
        connection.execute("SELECT 1")

    with store_at(postgres_url) as store, pytest.raises(StoreError):
        store._database.write(work)
    assert tries == 1


def test_a_sign_that_the_server_cannot_keep_is_an_error_and_not_another_value(postgres_url: str) -> None:
    with store_at(postgres_url) as store:
        with pytest.raises(StoreError, match="a value holds a character that it cannot store") as caught:
            store._database.write(
                lambda connection: connection.execute(
                    "INSERT INTO plans_used VALUES (:salt, '', '')", {"salt": "canary\0"}
                )
            )
        assert "canary" not in f"{caught.value} {caught.value.__cause__}"


def test_every_state_has_a_way_on_and_no_library_name() -> None:
    """Also those that no test can provoke."""
    server = PostgresServer(parse_server_url("postgresql:///x"), {})
    for state in ("28P01", "3D000", "25P03", "57P02", "22021", "99999", ""):
        error = psycopg.Error("FATAL: canary")
        error.sqlstate = state or None
        what, hint = server.explain_error(error)
        assert what
        assert hint
        assert "canary" not in what + hint


def test_a_store_can_be_used_by_several_threads(postgres_url: str) -> None:
    """The ledger writes beside the loop, and the pace is asked for meanwhile."""
    with store_at(postgres_url) as store:

        def write(number: int) -> None:
            store.remember([record(contact_address("ops", f"person-{number}"))], WORKSPACES)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(patience_s)
        assert len(store.recorded(WORKSPACES).entities) == 16


def test_nothing_is_left_open_when_a_store_is_closed(postgres_url: str) -> None:
    """A server notices a moment later that a connection was closed."""
    with store_at(postgres_url) as store:
        store.remember([record()], WORKSPACES)
    until(lambda: nobody_is_connected(postgres_url), "the end of every connection")
    for create in (True, False):
        with store_at(postgres_url, create=create) as again:
            assert isinstance(again, Store)
    until(lambda: nobody_is_connected(postgres_url), "the end of every connection")
