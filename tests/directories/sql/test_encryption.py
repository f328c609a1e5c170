"""The way to a database of another machine: encrypted, and proven by the other side, or none at all."""

import ssl
from typing import Any

import pytest
from directories.sql.sources import sql
from msgspec import structs
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL, make_url

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.sql_dialects import require_tls
from reconciler.directories.sql_query import read_sql

NEW = (1, 2)
MYSQL = make_url("mysql+pymysql://reader:canary@db.example.com/hr")
HERE: list[dict[str, Any]] = [
    {"host": "127.0.0.1"},
    {"host": "localhost"},
    {"host": "::1"},
    {"unix_socket": "/run/mysqld.sock"},
    {"host": "/run/postgresql"},
]
AWAY: list[dict[str, Any]] = [
    {"host": "db.example.com"},
    {"host": "192.0.2.1"},
    {"host": "127.0.0.1,db.example.com"},
    {"host": "localhost", "hostaddr": "192.0.2.1"},
    {"host": "localhost", "service": "hr"},
    {"host": "localhost", "read_default_file": "my.cnf"},
    {"host": "localhost.example.com"},
    {"host": "/run/postgresql,db.example.com"},
    {"host": "/run/postgresql,192.0.2.1"},
    {"host": "localhost", "conninfo": "hostaddr=192.0.2.1"},
    {},
]


@pytest.mark.parametrize("given", AWAY)
@pytest.mark.parametrize("driver", ["pymysql", "pg8000"])
def test_a_driver_gets_a_context_that_proves_the_server(driver: str, given: dict[str, Any]) -> None:
    """Both end where the server offers no TLS, and check its certificate and its name."""
    found = require_tls(driver, MYSQL, given, NEW)
    context = found["ssl" if driver == "pymysql" else "ssl_context"]

    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("given", AWAY)
def test_other_drivers_are_told_in_their_own_words(given: dict[str, Any]) -> None:
    """The strongest that each of them knows."""
    assert require_tls("mysqldb", MYSQL, given)["ssl_mode"] == "VERIFY_IDENTITY"
    for driver in ("psycopg", "psycopg2"):
        found = require_tls(driver, MYSQL, {**given, "gssencmode": "require"})
        assert (found["sslmode"], found["gssencmode"]) == ("verify-full", "disable")


@pytest.mark.parametrize(
    ("driver", "weaker"),
    [
        ("pymysql", {"ssl_disabled": True}),
        ("pymysql", {"ssl_verify_cert": False, "ssl_verify_identity": False}),
        ("pymysql", {"ssl": {"verify_mode": "none", "check_hostname": False}}),
        ("mysqldb", {"ssl_mode": "DISABLED"}),
        ("psycopg", {"sslmode": "disable"}),
        ("psycopg2", {"sslmode": "prefer"}),
        ("pg8000", {"ssl_context": None}),
    ],
)
def test_no_option_of_a_url_makes_it_weaker(driver: str, weaker: dict[str, Any]) -> None:
    """A URL comes from a secret, which nobody reviews."""
    plain = require_tls(driver, MYSQL, {"host": "db.example.com"}, NEW)
    found = require_tls(driver, MYSQL, {"host": "db.example.com", **weaker}, NEW)

    for name in ("ssl_disabled", "ssl_mode", "sslmode"):
        assert found.get(name) == plain.get(name)
    for name in ("ssl", "ssl_context"):
        if isinstance(plain.get(name), ssl.SSLContext):
            assert found[name].verify_mode is ssl.CERT_REQUIRED
            assert found[name].check_hostname
    assert "ssl_verify_cert" not in found


@pytest.mark.parametrize("given", HERE)
@pytest.mark.parametrize("driver", ["pymysql", "mysqldb", "psycopg", "psycopg2", "pg8000"])
def test_nothing_is_required_within_this_machine(driver: str, given: dict[str, Any]) -> None:
    """Nobody sits between, and such a server rarely has a certificate."""
    assert require_tls(driver, MYSQL, given, NEW) == given


@pytest.mark.parametrize("host", ["db.example.com", "192.0.2.1", "localhost.example.com"])
def test_a_socket_beside_another_host_is_not_used(host: str) -> None:
    """MySQL's own client then connects to the host, and never looks at the socket."""
    given = {"host": host, "unix_socket": "/run/mysqld.sock"}

    assert require_tls("mysqldb", MYSQL, given)["ssl_mode"] == "VERIFY_IDENTITY"
    assert require_tls("psycopg", MYSQL, given)["sslmode"] == "verify-full"
    assert require_tls("pymysql", MYSQL, given, NEW) == given


@pytest.mark.parametrize("name", ["PGHOSTADDR", "PGSERVICE"])
@pytest.mark.parametrize("given", [{"host": "localhost"}, {"host": "/run/postgresql"}, {"host": "::1"}])
def test_a_variable_that_leads_elsewhere_needs_tls(name: str, given: dict[str, Any]) -> None:
    """Whoever gives libpq an address by its environment leads it away from the host of the url."""
    elsewhere = {name: "192.0.2.1"}

    for driver in ("psycopg", "psycopg2"):
        assert require_tls(driver, MYSQL, given, NEW, elsewhere)["sslmode"] == "verify-full"
    for driver in ("pymysql", "mysqldb", "pg8000"):
        assert require_tls(driver, MYSQL, given, NEW, elsewhere) == given
    assert require_tls("psycopg", MYSQL, given, NEW, {name: ""}) == given


def test_a_driver_that_goes_on_without_tls_is_refused() -> None:
    with pytest.raises(DirectoryFailed, match=r"PyMySQL before 1\.2"):
        require_tls("pymysql", MYSQL, {"host": "db.example.com"}, (1, 1))


class _Unknown(SQLiteDialect_pysqlite):
    """A driver that nobody here has heard of."""

    name = "unheard"
    driver = "unheard"
    supports_statement_cache = False

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Open a database in memory, whatever its URL says."""
        assert url.drivername == "unheard"
        return [":memory:"], {}


registry.register("unheard", __name__, "_Unknown")


@pytest.mark.parametrize(
    "url",
    [
        "unheard://reader:canary@db.example.com/hr",
        "unheard://reader:canary@192.0.2.1/hr",
        "unheard://reader:canary@/hr",
        "unheard://localhost/hr?host=db.example.com",
        "unheard:///hr?odbc_connect=canary",
    ],
)
def test_a_driver_that_is_not_known_is_refused_before_it_connects(url: str) -> None:
    """Nobody can say whether it would send the login readable by everyone."""
    with pytest.raises(
        DirectoryFailed, match="does not know how to require TLS with the driver unheard"
    ) as caught:
        read_sql("staff", sql(url), rows_max=9)

    assert "tls: driver" in caught.value.hint
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_who_says_so_leaves_it_to_the_driver() -> None:
    """A driver of another database has options of its own, which its users know."""
    directory = structs.replace(sql("unheard:///:memory:?cache=shared", "SELECT 1 AS id"), tls="driver")

    assert [*read_sql("staff", directory, rows_max=9).rows] == [["1"]]
