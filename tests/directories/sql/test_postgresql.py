"""A query of the real PostgreSQL: what its types become, and every way in which it is not what it should."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import postgres
import psycopg
import pytest
from directories.sql.sources import sql
from sqlalchemy.dialects import registry

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.sql_query import read_sql

MADE = """
CREATE TABLE staff (id integer PRIMARY KEY, name text, mail text, secret text);
INSERT INTO staff
  SELECT n, 'Jane ' || n, 'jane' || n || '@example.com', 'canary' FROM generate_series(1, 5) n;
CREATE TABLE diary (line text);
CREATE SEQUENCE numbers;
CREATE VIEW shown AS SELECT id, name, mail FROM staff;
CREATE FUNCTION grow() RETURNS integer LANGUAGE sql AS $$ INSERT INTO diary VALUES ('x') RETURNING 1 $$;
CREATE FUNCTION grow_in_steps() RETURNS integer LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO diary VALUES ('x'); RETURN 1; END $$;
CREATE FUNCTION unlock() RETURNS integer LANGUAGE plpgsql AS
  $$ BEGIN SET TRANSACTION READ WRITE; INSERT INTO diary VALUES ('x'); RETURN 1; END $$;
CREATE FUNCTION unlock_session() RETURNS integer LANGUAGE plpgsql AS
  $$ BEGIN
    PERFORM set_config('transaction_read_only', 'off', false); INSERT INTO diary VALUES ('x'); RETURN 1;
  END $$;
CREATE FUNCTION hush() RETURNS integer LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'canary of a row'; END $$;
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A database with people, and with functions that write."""
    with postgres.database() as made:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute(MADE.encode())
        yield made


def _ask(url: str, statement: str, timeout_s: float = 20.0) -> list[list[str]]:
    return [*read_sql("staff", sql(url, statement, timeout_s), rows_max=1000).rows]


class Case(NamedTuple):
    statement: str
    said: str


WRITES = "does more than read"
STATEMENTS = {
    # what begins as a query and writes
    "a function that writes": Case("SELECT grow() AS id", WRITES),
    "a function that writes, in steps": Case("SELECT grow_in_steps() AS id", WRITES),
    "a function that writes, for each row": Case("SELECT id, grow() FROM staff", WRITES),
    "a function that writes, in a condition": Case("SELECT id FROM staff WHERE grow() = 1", WRITES),
    "a function that would unlock the transaction": Case("SELECT unlock() AS id", "cannot be carried out"),
    "a function that would unlock the session": Case(
        "SELECT unlock_session() AS id", "cannot be carried out"
    ),
    "a setting that would unlock": Case(
        "SELECT set_config('transaction_read_only', 'off', false) AS id", "cannot be carried out"
    ),
    "cte with insert": Case("WITH x AS (INSERT INTO diary VALUES ('x') RETURNING 1) SELECT * FROM x", WRITES),
    "cte with update": Case("WITH x AS (UPDATE staff SET name = '' RETURNING id) SELECT * FROM x", WRITES),
    "cte with delete": Case("WITH x AS (DELETE FROM staff RETURNING id) SELECT * FROM x", WRITES),
    "cte, then insert": Case(
        "WITH x AS (SELECT 'x') INSERT INTO diary SELECT * FROM x", "cannot be carried out"
    ),
    "select into": Case("SELECT * INTO more FROM staff", "SELECT ... INTO is not allowed here"),
    "select for update": Case("SELECT * FROM staff FOR UPDATE", WRITES),
    "select for share": Case("SELECT * FROM staff FOR SHARE", WRITES),
    "the next number": Case("SELECT nextval('numbers') AS id", WRITES),
    "another number": Case("SELECT setval('numbers', 99) AS id", WRITES),
    "a large object": Case("SELECT lo_create(0) AS id", WRITES),
    # more than one
    "two queries": Case("SELECT 1 AS id; SELECT 2 AS id", "more than one"),
    "a query and a delete": Case("SELECT 1 AS id; DELETE FROM staff", "more than one"),
    "an end of the transaction": Case("SELECT 1; COMMIT; DELETE FROM staff", "more than one"),
    "an end and a new one": Case(
        "SELECT 1; ROLLBACK; BEGIN READ WRITE; DELETE FROM staff; COMMIT", "more than one"
    ),
    # no query
    "copy": Case("COPY staff TO STDOUT", "not a query"),
    "copy to a program": Case("COPY staff TO PROGRAM 'true'", "not a query"),
    "do": Case("DO $$ BEGIN DELETE FROM staff; END $$", "not a query"),
    "call": Case("CALL grow()", "not a query"),
    "listen": Case("LISTEN x", "not a query"),
    "set": Case("SET ROLE postgres", "not a query"),
    "lock": Case("LOCK TABLE staff", "not a query"),
    "truncate": Case("TRUNCATE staff", "not a query"),
    "explain analyze": Case("EXPLAIN ANALYZE DELETE FROM staff", "not a query"),
    # what cannot be carried out
    "no such table": Case("SELECT * FROM nobody", 'relation "nobody" does not exist'),
    "no such column": Case("SELECT nobody FROM staff", 'column "nobody" does not exist'),
    "no such function": Case("SELECT nobody() AS id", "does not exist"),
    "a syntax error": Case("SELECT FROM WHERE", "syntax error"),
    "a parameter": Case("SELECT $1 AS id", "asks for a parameter"),
    "a number that is none": Case("SELECT secret::integer AS id FROM staff", "fails on a value in the data"),
    "a division by zero": Case("SELECT 1 / 0 AS id", "fails on a value in the data"),
    "an exception": Case("SELECT hush() AS id", "SQLSTATE P0001"),
    "a file of the server": Case("SELECT pg_read_file('/no/such/file') AS id", "cannot be carried out"),
    "a value beyond time": Case(
        "SELECT 'infinity'::timestamp AS id", "returns a value that reconciler cannot read"
    ),
    "a date beyond time": Case(
        "SELECT '20000-01-01'::date AS id", "returns a value that reconciler cannot read"
    ),
    "two columns of one name": Case(
        "SELECT id, name AS id FROM staff", "two columns of its answer are called 'id'"
    ),
    "too many columns": Case(
        f"SELECT {', '.join(f'1 AS c{n}' for n in range(1700))}", "cannot be carried out"
    ),
    "what never ends": Case("SELECT pg_sleep(60) AS id", "took longer than timeout_s"),
    "what never ends, row by row": Case(
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n) SELECT id FROM n WHERE id < 0",
        "took longer than timeout_s",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_hostile_statement_ends_in_a_sentence_and_changes_nothing(url: str, name: str) -> None:
    """The sentence quotes no row, whatever the server says: its words may."""
    case = STATEMENTS[name]

    with pytest.raises(DirectoryFailed) as caught:
        _ask(url, case.statement, 0.5 if "timeout" in case.said else 20.0)

    assert case.said in str(caught.value)
    assert caught.value.hint
    assert "canary" not in f"{caught.value} {caught.value.hint}"
    with psycopg.connect(url) as connection:
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM diary), (SELECT count(*) FROM staff),"
            " (SELECT last_value FROM numbers), (SELECT count(*) FROM staff WHERE name = '')"
        )
        assert counts.fetchone() == (0, 5, 1, 0)


VALUES = {
    "text": ("'Jane'", "Jane"),
    "a name": ("'x'::name", "x"),
    "a whole number": ("9007199254740993::bigint", "9007199254740993"),
    "a decimal": ("12.340::numeric", "12.340"),
    "true": ("true", "true"),
    "a date": ("'2026-02-03'::date", "2026-02-03"),
    "a moment": ("'2026-02-03 04:05+13'::timestamptz", "2026-02-02T15:05:00+00:00"),
    "a moment without a zone": ("'2026-02-03 04:05'::timestamp", "2026-02-03T04:05:00"),
    "a time": ("'04:05'::time", "04:05:00"),
    "nothing": ("NULL::text", ""),
    "a UUID": ("'00000000-0000-0000-0000-000000000007'::uuid", "00000000-0000-0000-0000-000000000007"),
    "a small float": ("0.5::float8", "0.5"),
    "letters of all scripts": ("'Łódź 東京 😀'", "Łódź 東京 😀"),
    "a percent sign": ("'100 %s %(x)s'", "100 %s %(x)s"),
    "a colon": ("'a:b'", "a:b"),
}
NO_TEXTS = {
    "bytes": "'x'::bytea",
    "a list": "ARRAY['x']",
    "JSON": """'{"a": 1}'::json""",
    "binary JSON": """'{"a": 1}'::jsonb""",
    "a length of time": "'1 day'::interval",
    "no number": "'NaN'::numeric",
    "a large float": "1e15::float8",
    "an address": "'192.0.2.1'::inet",
    "a range": "'[1,2)'::int4range",
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_the_server_is_written_as_the_table_says(url: str, name: str) -> None:
    """Whatever the server's own time zone and style of dates are: this one lives in Auckland."""
    written, text = VALUES[name]

    assert _ask(url, f"SELECT {written} AS x") == [[text]]


@pytest.mark.parametrize("name", NO_TEXTS)
def test_what_is_no_text_there_is_no_text_here(url: str, name: str) -> None:
    answer = read_sql("staff", sql(url, f"SELECT {NO_TEXTS[name]} AS x"), rows_max=9)

    assert answer.rows == (["?"],)
    assert list(answer.unusable[0]) == [0]


def test_rows_come_in_batches_and_whole(url: str) -> None:
    rows = _ask(url, "SELECT n AS id FROM generate_series(1, 999) n ORDER BY n")

    assert [row[0] for row in rows] == [str(number) for number in range(1, 1000)]
    with pytest.raises(DirectoryFailed, match="more than 1,000 rows"):
        _ask(url, "SELECT n AS id FROM generate_series(1, 5000) n")


def test_other_words_than_select_read_as_well(url: str) -> None:
    assert _ask(url, "VALUES (1, 'x')") == [["1", "x"]]
    assert len(_ask(url, "TABLE shown")) == 5
    assert len(_ask(url, "(SELECT id FROM staff) -- everybody\n;")) == 5


def test_a_role_reads_what_it_may_and_no_more(url: str) -> None:
    """The advice of the page: a user who can do nothing but read."""
    with postgres.role(
        url, "GRANT SELECT ON shown TO {role}", "GRANT SELECT (id) ON staff TO {role}"
    ) as reader:
        assert len(_ask(reader, "SELECT id, name FROM shown")) == 5
        assert len(_ask(reader, "SELECT id FROM staff")) == 5
        for statement in ("SELECT secret FROM staff", "SELECT * FROM staff", "SELECT * FROM diary"):
            with pytest.raises(DirectoryFailed, match="may not read what the statement names"):
                _ask(reader, statement)


def test_a_table_that_is_held_is_waited_for_no_longer_than_the_limit(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE staff")
        with pytest.raises(DirectoryFailed, match="took longer than timeout_s"):
            _ask(url, "SELECT id FROM staff", 0.3)


def _closed() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"postgresql://canary:canary@127.0.0.1:{one.getsockname()[1]}/hr"


def test_a_server_that_is_not_there_or_refuses_is_told_without_its_password(url: str) -> None:
    other = f"{url.rpartition('/')[0]}/nobody"
    wrong = f"postgresql://canary:canary@{url.rpartition('@')[2]}"
    for asked, said in (
        (_closed(), "it cannot be reached"),
        (other, "there is no such database"),
        (wrong, "the login is refused"),
    ):
        with pytest.raises(DirectoryFailed, match=said) as caught:
            _ask(asked, "SELECT 1 AS id", 1.0)
        assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_a_server_that_says_nothing_is_given_up() -> None:
    """It takes our words and answers none: no limit of the server's ends that."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(DirectoryFailed, match="does not answer"):
            _ask(f"postgresql://127.0.0.1:{port}/hr", "SELECT 1 AS id", 1.0)


def test_a_server_that_speaks_something_else_is_told() -> None:
    """What it says waits for us already: nobody has to answer."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with ThreadPoolExecutor(1) as threads:
            answered = threads.submit(answer)
            with pytest.raises(DirectoryFailed):
                _ask(f"postgresql://127.0.0.1:{port}/hr?sslmode=disable", "SELECT 1 AS id")
            answered.result()


registry.register("elsewhere", "sqlalchemy.dialects.postgresql.psycopg", "PGDialect_psycopg")


def test_whatever_a_statement_did_in_another_database_is_rolled_back(url: str) -> None:
    """The way of every database that cannot be told to read only; of this one a test sees the rows."""
    asked = f"elsewhere{url.removeprefix('postgresql')}"

    assert _ask(asked, "SELECT grow() AS id") == [["1"]]

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM diary").fetchone() == (0,)
