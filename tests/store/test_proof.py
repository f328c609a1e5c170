"""Where a connection to PostgreSQL really leads, and what the server has to prove there."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from waiting import patience_s

from reconciler.database_urls import UnusableDatabaseUrl, parse_server_url
from reconciler.store.postgres import _connection_arguments
from reconciler.store.postgres_tls import is_local_server, resolve_host, tls_arguments

NEAR = {
    "nothing is said: the usual socket": ("", ""),
    "a socket": ("/run/postgresql", ""),
    "an abstract socket": ("@postgresql", ""),
    "this machine by name": ("localhost", ""),
    "its address": ("127.0.0.1", ""),
    "another of its addresses": ("127.9.9.9", ""),
    "its new address": ("::1", ""),
    "an address alone": ("", "127.0.0.1"),
    "an address beside any name": ("db.example.com", "::1"),
    "several of these": ("/run/postgresql,localhost", ""),
}
FAR = {
    "a name": ("db.example.com", ""),
    "a name that begins like ours": ("localhost.example.com", ""),
    "a short name, whatever it means here": ("db", ""),
    "an address": ("10.0.0.1", ""),
    "a new address": ("2001:db8::1", ""),
    "an address that is read in several ways": ("127.1", ""),
    "an address that goes before this machine's name": ("localhost", "192.0.2.1"),
    "an address that goes before a socket": ("/run/postgresql", "192.0.2.1"),
    "an address alone": ("", "192.0.2.1"),
    "one of several": ("localhost,db.example.com", ""),
    "the second address of several": ("localhost,localhost", "127.0.0.1,192.0.2.1"),
    "a second name without an address": ("localhost,db.example.com", "127.0.0.1,"),
    "lists that do not fit": ("localhost,localhost", "127.0.0.1"),
}


def loopback(_name: str) -> Iterable[str]:
    """The names of a machine on which localhost is what it should be."""
    return ("127.0.0.1", "::1")


def proven(url: str, found: dict[str, str]) -> dict[str, str]:
    """What is asked of the server, from here."""
    return tls_arguments(parse_server_url(url), found, loopback)


@pytest.mark.parametrize("case", NEAR)
def test_a_socket_and_loopback_are_near(case: str) -> None:
    assert is_local_server(*NEAR[case], loopback)


@pytest.mark.parametrize("case", FAR)
def test_everything_else_is_far(case: str) -> None:
    """Every server of the lists has to be near: libpq takes the first that answers."""
    assert not is_local_server(*FAR[case], loopback)


def test_localhost_is_near_only_where_it_is_this_machine() -> None:
    """A file or a name server of the machine may say otherwise."""
    assert not is_local_server("localhost", "", lambda _: ("127.0.0.1", "192.0.2.1"))
    assert not is_local_server("localhost", "", lambda _: ())
    assert resolve_host("localhost") <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://db.example.com/x", {}),
        ("postgresql://10.0.0.1/x", {}),
        ("postgresql:///x", {"host": "db.example.com"}),
        ("postgresql:///x", {"hostaddr": "192.0.2.1"}),
        ("postgresql://localhost/x", {"hostaddr": "192.0.2.1"}),
        ("postgresql:///x?host=/run/postgresql", {"hostaddr": "192.0.2.1"}),
        ("postgresql:///x", {"host": "localhost,db.example.com"}),
        ("postgresql:///x", {"host": "db.example.com", "sslmode": "verify-full"}),
        ("postgresql:///x?sslmode=verify-full", {"host": "db.example.com", "sslmode": "disable"}),
        ("postgresql://db.example.com/x", {"gssencmode": "prefer"}),
    ],
)
def test_a_server_behind_a_network_has_to_prove_itself(url: str, found: dict[str, str]) -> None:
    """The store holds people's data, and decides what may be deleted."""
    arguments = _connection_arguments(parse_server_url(url), found, writing=True)

    assert (arguments["sslmode"], arguments["gssencmode"]) == ("verify-full", "disable")
    usual = Path("~/.postgresql/root.crt").expanduser()
    assert Path(str(arguments.get("sslrootcert", usual))).exists()


@pytest.mark.parametrize("url", ["postgresql:///x", "postgresql://127.0.0.1/x", "postgresql://[::1]/x"])
def test_nobody_sits_between_us_and_this_machine(url: str) -> None:
    assert proven(url, {})["sslmode"] == "prefer"
    assert proven(url, {"sslmode": "disable"})["sslmode"] == "disable"
    assert proven(f"{url}?sslmode=require", {"sslmode": "disable"})["sslmode"] == "require"


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://db.example.com/x", {}),
        ("postgresql:///x", {"host": "db.example.com"}),
        ("postgresql://localhost/x", {"hostaddr": "192.0.2.1"}),
    ],
)
def test_a_weaker_proof_is_not_taken_from_the_surroundings(
    url: str, found: dict[str, str], mode: str
) -> None:
    """A variable that was set for another database would send this one's password in the clear."""
    with pytest.raises(UnusableDatabaseUrl, match=f"sslmode={mode}") as caught:
        proven(url, {**found, "sslmode": mode})

    assert f"?sslmode={mode}" in caught.value.next


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql:///x?sslmode=require", {"host": "db.example.com"}),
        ("postgresql:///x?sslmode=disable", {"hostaddr": "192.0.2.1"}),
        ("postgresql://localhost/x?sslmode=disable", {"hostaddr": "192.0.2.1"}),
        ("postgresql://db.example.com/x?sslmode=disable", {"hostaddr": "192.0.2.1"}),
    ],
)
def test_a_weaker_proof_counts_only_beside_its_host(url: str, found: dict[str, str]) -> None:
    """It was written for the host of the URL; a variable that leads elsewhere was not in sight."""
    with pytest.raises(UnusableDatabaseUrl, match="named elsewhere") as caught:
        proven(url, found)

    assert "name the host in the URL" in caught.value.next


def test_whoever_names_the_host_may_ask_for_less_proof() -> None:
    """The containers of one job, say. Both stand in one line, which can be reviewed."""
    arguments = _connection_arguments(
        parse_server_url("postgresql://db.example.com/x?sslmode=require"), {}, writing=True
    )

    assert (arguments["host"], arguments["sslmode"]) == ("db.example.com", "require")


def test_a_certificate_that_was_named_is_the_one() -> None:
    url = parse_server_url("postgresql://db.example.com/x?sslrootcert=ours.pem")

    assert _connection_arguments(url, {}, writing=True)["sslrootcert"] == "ours.pem"
    assert "sslrootcert" not in proven("postgresql://db.example.com/x", {"sslrootcert": "system"})


ASKED = """
import json, os, sys
from reconciler.errors import SettingsError
from reconciler.store.postgres import _connection_arguments
from reconciler.store.postgres_tls import libpq_environment
from reconciler.database_urls import parse_server_url
for url, environ in json.load(sys.stdin):
    os.environ.update(environ)
    try:
        given = _connection_arguments(parse_server_url(url), libpq_environment(os.environ), writing=False)
        print(given.get("host", ""), given.get("hostaddr", ""), given["sslmode"], sep="|")
    except SettingsError as error:
        print("refused")
    for name in environ:
        del os.environ[name]
"""


def test_what_libpq_would_do_is_what_is_judged(tmp_path: Path) -> None:
    """Each of these sent the password in the clear, or to a server that proved nothing."""
    service = tmp_path / "pg_service.conf"
    service.write_text("[far]\nhost=db.example.com\n[clear]\nhost=db.example.com\nsslmode=disable\n")
    by_file = {"PGSERVICEFILE": str(service)}
    cases: list[tuple[str, dict[str, str], str]] = [
        ("postgresql:///x", {}, "||prefer"),
        ("postgresql:///x", {"PGHOST": "db.example.com"}, "db.example.com||verify-full"),
        ("postgresql:///x", {"PGHOSTADDR": "192.0.2.1"}, "|192.0.2.1|verify-full"),
        ("postgresql://localhost/x", {"PGHOSTADDR": "192.0.2.1"}, "localhost|192.0.2.1|verify-full"),
        ("postgresql:///x", {"PGHOST": "/run,db.example.com"}, "/run,db.example.com||verify-full"),
        ("postgresql:///x", {"PGSERVICE": "far", **by_file}, "db.example.com||verify-full"),
        (
            "postgresql:///x",
            {"PGSERVICE": "far", "PGSYSCONFDIR": str(tmp_path)},
            "db.example.com||verify-full",
        ),
        ("postgresql:///x", {"PGSERVICE": "clear", **by_file}, "refused"),
        ("postgresql:///x", {"PGHOST": "db.example.com", "PGSSLMODE": "prefer"}, "refused"),
        ("postgresql://db.example.com/x", {"PGSSLMODE": "disable"}, "refused"),
        ("postgresql:///x", {"PGHOST": "/run", "PGSSLMODE": "disable"}, "/run||disable"),
    ]

    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        input=json.dumps([(url, environ) for url, environ, _ in cases]),
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=True,
    )

    assert done.stdout.splitlines() == [expected for *_, expected in cases]
