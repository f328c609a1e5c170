"""The reader of LDAP against a real server: everything it holds, or a reason."""

import shlex
import subprocess
import sys
from typing import Any

import pytest
from directories.slapd import BASE, HURRIED, PASSWORD, PEOPLE, READER, Slapd
from msgspec import structs
from service.roads import STRANGER, TRUSTED

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.ldap_search import read_ldap
from reconciler.model.directories import LdapDirectory
from reconciler.model.secrets import Secret

ODD = f"ou=odd,{BASE}"
LOGIN = {"dn": Secret(READER), "password": Secret(PASSWORD)}


def read(slapd: Slapd, *, rows_max: int = 100_000, **changed: Any) -> AnswerRows:
    """The people of a server, read in the clear: it is on this machine."""
    usual = LdapDirectory(slapd.plain, f"ou=people,{BASE}", attributes=("uid", "sn"))
    return read_ldap("staff", structs.replace(usual, **changed), rows_max=rows_max)


def refused(slapd: Slapd, **changed: Any) -> str:
    with pytest.raises(DirectoryFailed) as caught:
        read(slapd, **changed)
    assert caught.value.hint
    said = f"{caught.value}\n{caught.value.hint}"
    assert PASSWORD not in said
    return said


@pytest.mark.parametrize("page", [100, 401, PEOPLE, 10_000])
def test_everybody_is_read_whatever_the_size_of_a_page(slapd: Slapd, page: int) -> None:
    answer = read(slapd, page=page)

    assert answer.header == ("dn", "uid", "sn")
    assert len(answer.rows) == len(answer.names) == PEOPLE
    assert answer.rows[7] == [f"uid=p0007,ou=people,{BASE}", "p0007", "Zoë-7"]
    assert answer.names[7] == f"uid=p0007,ou=people,{BASE}"
    assert answer.unusable == {}


def test_the_order_is_that_of_the_answer(slapd: Slapd) -> None:
    """A page at a time or at once: a plan shows the same people in the same order."""
    assert read(slapd, page=1, filter="(uid=p00*)") == read(slapd, filter="(uid=p00*)")


@pytest.mark.parametrize(
    ("road", "changed"),
    [
        ("plain", {}),
        ("plain", LOGIN),
        ("plain", {"start_tls": True}),
        ("plain", {"start_tls": True, **LOGIN}),
        ("secured", {}),
        ("secured", LOGIN),
    ],
)
def test_a_server_is_read_over_tls_and_with_a_user(slapd: Slapd, road: str, changed: Any) -> None:
    url = slapd.secured if road == "secured" else slapd.plain

    assert len(read(slapd, url=url, ca=str(TRUSTED), filter="(uid=p000*)", **changed).rows) == 10


@pytest.mark.parametrize(
    ("changed", "rows"),
    [
        ({"filter": "(&(uid>=p0001)(!(uid=p0002)))", "base": ODD}, []),
        ({"filter": "(cn=J\\c3\\b6rg)", "base": ODD}, ["german"]),
        ({"filter": "(cn=Jörg)", "base": ODD}, ["german"]),
        ({"filter": "(cn=j*R*g)", "base": ODD}, ["german"]),
        ({"filter": "(cn:caseExactMatch:=Bare)", "base": ODD}, ["bare"]),
        ({"filter": "(cn:caseExactMatch:=bare)", "base": ODD}, []),
        ({"filter": "(cn=Doe, Jane)", "base": ODD}, [""]),
        ({"filter": "(|(uid=bare)(uid=photo))", "base": ODD}, ["photo", "bare"]),
        ({"filter": " (uid=bare) ", "base": ODD}, ["bare"]),
        ({"filter": "(mail=nobody\\2a)", "base": ODD}, []),
        ({"base": f"uid=bare,{ODD}"}, ["bare"]),
        ({"base": f"uid=bare,{ODD}", "scope": "one"}, []),
        ({"base": f"ou=nobody,{BASE}"}, []),
        ({"base": BASE, "scope": "one", "filter": "(cn=reader)"}, [""]),
    ],
)
def test_the_search_is_that_of_the_settings(slapd: Slapd, changed: Any, rows: list[str]) -> None:
    assert [row[1] for row in read(slapd, **changed).rows] == rows


def test_a_cell_is_one_text_and_an_option_makes_another_attribute(slapd: Slapd) -> None:
    attributes = ("uid", "CN", "sn", "mail", "jpegPhoto", "cn;lang-de")
    answer = read(slapd, base=ODD, attributes=attributes)

    assert answer.header == ("dn", *attributes)
    assert [row[1:] for row in answer.rows] == [
        ["several", "?", "Several", "?", "", ""],
        ["photo", "Photo", "Photo", "", "?", ""],
        ["german", "Jörg", "Müller", "", "", "Jörg auf Deutsch"],
        ["bare", "Bare", "Bare", "", "", ""],
        ["", "Doe, Jane", "Doe", "", "", ""],
    ]
    assert answer.unusable == {
        0: {2: "several values", 4: "several values"},
        1: {5: "bytes that are not UTF-8"},
    }
    assert answer.rows[4][0] == answer.names[4] == f"cn=Doe\\2C Jane+sn=Doe,{ODD}"


def test_of_an_entry_nothing_is_asked_that_is_not_named(slapd: Slapd) -> None:
    assert read(slapd, attributes=(), filter="(uid=p0000)").rows == ([f"uid=p0000,ou=people,{BASE}"],)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({**LOGIN, "password": Secret("wrong")}, "the bind: the server does not accept the DN and password"),
        ({**LOGIN, "dn": Secret(f"cn=nobody,{BASE}")}, "does not accept the DN and password"),
        ({**LOGIN, "dn": Secret("nonsense")}, "a DN of the settings is invalid"),
        ({"base": f"ou=nowhere,{BASE}"}, "the search: there is no such `base`"),
        ({"base": "nonsense"}, "a DN of the settings is invalid"),
        ({"base": f"ou=far,{BASE}", "filter": "(objectClass=*)"}, "part of the tree is on another server"),
        ({"base": f"ou=away,ou=far,{BASE}"}, "part of the tree is on another server"),
        ({"base": f"ou=below,ou=away,ou=far,{BASE}"}, "part of the tree is on another server"),
        ({"attributes": ("surname",)}, "returns the attribute sn, which `attributes` does not name"),
        ({"attributes": ("name",)}, "which `attributes` does not name"),
        ({"dn": Secret(HURRIED), "password": Secret(PASSWORD)}, "the server's limit of entries was reached"),
        ({"rows_max": PEOPLE - 1}, f"more than {PEOPLE - 1:,} entries, which is the limit"),
    ],
)
def test_what_a_server_refuses_is_told(slapd: Slapd, changed: Any, words: str) -> None:
    assert words in refused(slapd, **changed)


@pytest.mark.parametrize(
    ("road", "host", "ca", "words"),
    [
        ("secured", "127.0.0.1", STRANGER, "its certificate is not trusted"),
        ("secured", "127.0.0.1", None, "its certificate is not trusted"),
        ("secured", "localhost", TRUSTED, "its certificate is not trusted"),
        ("start_tls", "127.0.0.1", STRANGER, "its certificate is not trusted"),
        ("start_tls", "localhost", TRUSTED, "its certificate is not trusted"),
        ("ldaps to the port of ldap", "127.0.0.1", TRUSTED, "TLS handshake failed"),
        ("ldap to the port of ldaps", "127.0.0.1", TRUSTED, "closed the connection before its answer"),
    ],
)
def test_nobody_gets_a_password_who_does_not_prove_to_be_the_server(
    slapd: Slapd, road: str, host: str, ca: Any, words: str
) -> None:
    url = {
        "secured": slapd.secured,
        "start_tls": slapd.plain,
        "ldaps to the port of ldap": slapd.plain.replace("ldap:", "ldaps:"),
        "ldap to the port of ldaps": slapd.secured.replace("ldaps:", "ldap:"),
    }[road].replace("127.0.0.1", host)
    tls = {"start_tls": True} if road == "start_tls" else {}

    assert words in refused(slapd, url=url, ca=str(ca or ""), **tls, **LOGIN)


def test_without_the_extra_it_is_told_what_to_install() -> None:
    program = """
import sys
sys.modules["ldap3"] = None
from reconciler.directories.ldap_search import read_ldap
from reconciler.errors import MissingExtra
from reconciler.model.directories import LdapDirectory
try:
    read_ldap("staff", LdapDirectory("ldaps://ldap.example.com", "dc=example"), rows_max=1)
except MissingExtra as error:
    print(error, error.next)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    needed = "asking a directory over LDAP needs the extra ldap, which is not installed."
    assert done.stdout == f"{needed} {shlex.quote(sys.executable)} -P -m pip install 'ldap3>=2.9'\n"


def test_a_server_that_is_not_there_is_told(slapd: Slapd) -> None:
    assert "it refuses the connection" in refused(slapd, url="ldap://127.0.0.1:1")
