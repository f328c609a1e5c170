"""`directories` of the settings: what is taken, what is refused, and secrets that are read late."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import SETTINGS, Run
from cli.test_settings import read, refusal
from directories.sql.sources import ROSTER, database, people

from reconciler.errors import SettingsError
from reconciler.model.directories import LdapDirectory, ScimDirectory, SqlDirectory
from reconciler.settings.reader import read_settings

SQL = "sql: {url: 'sqlite:///hr.db', statement: 'SELECT id, name, mail FROM staff'}"
LDAP = "ldap: {url: 'ldaps://ldap.example.com', base: 'ou=people,dc=example,dc=com'"
SCIM = "scim: {url: 'https://idp.example.com/scim/v2'"


def _written(described: str, name: str = "staff") -> str:
    return f"version: 1\ndirectories:\n  {name}:\n    {described}\n"


def test_a_directory_of_each_kind_arrives_typed(repository: Path) -> None:
    """Paths are absolute, so that it does not matter where a command runs."""
    text = f"""\
version: 1
directories:
  staff: {{{SQL}}}
  ops:
    {LDAP}, attributes: [uid, mail], scope: one, page: 50, dn: {{env: SVC_USER}}, password: {{env: SVC_KEY}}}}
  all: {{{SCIM}, filter: active eq true, token: {{env: SVC_KEY}}, paging: cursor, timeout_s: 2.5}}}}
"""
    known = read(repository, text).settings.directories
    staff, ops, everybody = (known[name].directory for name in ("staff", "ops", "all"))

    assert isinstance(staff, SqlDirectory)
    assert (staff.url.reveal(), staff.timeout_s) == (f"sqlite:///{repository}/hr.db", 60.0)
    assert isinstance(ops, LdapDirectory)
    assert ops.password is not None
    assert (ops.attributes, ops.scope, ops.page, ops.password.reveal()) == (
        ("uid", "mail"),
        "one",
        50,
        "canary-key",
    )
    assert isinstance(everybody, ScimDirectory)
    assert (everybody.paging, everybody.timeout_s, everybody.filter) == ("cursor", 2.5, "active eq true")
    assert str(known["staff"].place) == "reconciler.yaml:3"


REFUSED = {
    "nothing": ("{}", "must have at least one of sql, ldap, scim"),
    "two kinds": (f"{SQL}\n    {SCIM}}}", "must have only one of sql, ldap, scim"),
    "another kind": ("csv: {}", "csv is not a field of a directory"),
    "no statement": ("sql: {url: 'sqlite:///hr.db'}", "statement is missing"),
    "a statement that writes": (
        "sql: {url: 'sqlite:///hr.db', statement: DELETE FROM staff}",
        "begins with DELETE",
    ),
    "no database": ("sql: {url: hr.db, statement: SELECT 1}", "its url is not that of a database"),
    "a database in memory": ("sql: {url: 'sqlite://', statement: SELECT 1}", "its url names no file"),
    "an option that is ours": (
        "sql: {url: 'postgresql://localhost/hr?options=-c', statement: SELECT 1}",
        "has an option options",
    ),
    "a password": (
        "sql: {url: 'postgresql://hr:canary@localhost/hr', statement: SELECT 1}",
        "holds a password",
    ),
    "a password in an option": (
        "sql: {url: 'mysql://localhost/hr?password=canary', statement: SELECT 1}",
        "holds a password",
    ),
    "a password before an encoded @": (
        "sql: {url: 'mysql://hr:canary%40db.example/hr', statement: SELECT 1}",
        "holds a password",
    ),
    "a password before an @ that is encoded twice": (
        "sql: {url: 'oracle://hr:canary%2540db.example/hr', statement: SELECT 1}",
        "holds a password",
    ),
    "a login that is encoded": (
        "sql: {url: 'mysql://hr%3acanary%40db.example/hr', statement: SELECT 1}",
        "holds a password",
    ),
    "a password before a wide @": (
        "sql: {url: 'mysql://hr:canary\N{FULLWIDTH COMMERCIAL AT}db.example/hr', statement: SELECT 1}",
        "holds a password",
    ),
    "a password that is no URL": ("sql: {url: 'x://hr:canary@', statement: SELECT 1}", "holds a password"),
    "a plain bind DN": (f"{LDAP}, dn: 'cn=canary', password: {{env: SVC_KEY}}}}", "a plain value is refused"),
    "a plain bind password": (
        f"{LDAP}, dn: {{env: SVC_USER}}, password: canary}}",
        "a plain value is refused",
    ),
    "a plain token": (f"{SCIM}, token: canary}}", "a plain value is refused"),
    "a DN without a password": (f"{LDAP}, dn: {{env: SVC_USER}}}}", "only one of dn and password"),
    "plain LDAP": ("ldap: {url: 'ldap://ldap.example.com', base: x}", "unencrypted"),
    "StartTLS within TLS": (f"{LDAP}, start_tls: true}}", "each encrypts by itself"),
    "no LDAP": ("ldap: {url: 'https://ldap.example.com', base: x}", "is not ldaps://host"),
    "an LDAP URL with a search": (
        "ldap: {url: 'ldaps://ldap.example.com/dc=x', base: x}",
        "is not ldaps://host",
    ),
    "plain SCIM": ("scim: {url: 'http://idp.example.com'}", "unencrypted"),
    "SCIM with a password": ("scim: {url: 'https://hr:canary@idp.example.com'}", "a user name or a password"),
    "a page of nobody": (f"{SCIM}, page: 0}}", "page is not a whole number from 1 to 10000"),
    "no time": (f"{SCIM}, timeout_s: 0}}", "timeout_s"),
    "certificates that are not there": (f"{SCIM}, ca: ours.pem}}", "ours.pem cannot be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_directory_that_cannot_be_meant_is_refused_with_the_settings(repository: Path, name: str) -> None:
    """At its line, before anything is asked; and nothing that may be a secret is repeated."""
    described, said = REFUSED[name]

    told = refusal(repository, _written(described))

    assert said in told
    assert "reconciler.yaml:" in told
    assert "canary" not in told


def test_a_section_of_an_environment_is_judged_like_the_file(repository: Path) -> None:
    described = f"directories:\n      staff:\n        {SCIM}, token: canary}}\n"
    text = f"version: 1\nenvironments:\n  lab:\n    {described}"

    told = refusal(repository, text)

    assert "directories.staff.scim.token: a plain value is refused" in told
    assert "canary" not in told


def test_plain_connections_are_for_this_machine(repository: Path) -> None:
    for described in (
        "ldap: {url: 'ldap://127.0.0.1:389', base: x}",
        "ldap: {url: 'ldap://localhost', base: x}",
        "ldap: {url: 'ldap://[::1]:389', base: x}",
        "ldap: {url: 'ldap://ldap.example.com', base: x, start_tls: true}",
        "scim: {url: 'http://127.0.0.1:8480/scim'}",
    ):
        assert read(repository, _written(described)).settings.directories


def test_a_secret_of_a_directory_is_read_once_where_it_is_needed(repository: Path) -> None:
    """A command may ask a person; whoever takes from no directory is not asked."""
    heard: list[str] = []
    script = repository / "ask"
    script.write_text("#!/bin/sh\necho asked >> asked\necho canary-token\n")
    script.chmod(0o700)
    (repository / "reconciler.yaml").write_text(_written(f"{SCIM}, token: {{command: ./ask}}}}"))
    known = (
        read_settings(
            config=None, environment=None, cwd=repository, environ={}, service=False, revealed=heard.append
        )
        .settings.directories["staff"]
        .directory
    )

    assert isinstance(known, ScimDirectory)
    assert known.token is not None
    assert (str(known.token), heard, (repository / "asked").exists()) == ("(secret)", [], False)
    assert [known.token.reveal(), known.token.reveal()] == ["canary-token"] * 2
    assert (heard, (repository / "asked").read_text()) == (["canary-token"], "asked\n")


def test_a_secret_that_is_not_there_is_told_where_its_directory_stands(repository: Path) -> None:
    known = read(repository, _written(f"{SCIM}, token: {{env: NOT_SET}}}}"), environ={}).settings.directories
    token = known["staff"].directory.token  # type: ignore[union-attr]  # it is SCIM
    assert token is not None

    with pytest.raises(SettingsError) as caught:
        token.reveal()

    (problem,) = caught.value.problems
    assert problem.where.startswith("reconciler.yaml:3")
    assert "NOT_SET is not set" in problem.what


def test_a_password_of_a_database_is_heard_as_it_stands_and_as_it_is_meant(repository: Path) -> None:
    """Either may occur in what a driver says."""
    heard: list[str] = []
    url = "postgresql://hr:pass%40word@db.example.com/hr?sslkey=/run/key"
    (repository / "reconciler.yaml").write_text(_written("sql: {url: {env: HR_URL}, statement: SELECT 1}"))
    known = (
        read_settings(
            config=None,
            environment=None,
            cwd=repository,
            environ={"HR_URL": url},
            service=False,
            revealed=heard.append,
        )
        .settings.directories["staff"]
        .directory
    )

    assert isinstance(known, SqlDirectory)
    assert known.url.reveal() == url
    assert heard == [url, "pass%40word", "pass@word"]


def test_no_manifest_may_name_a_file_of_a_directory(repository: Path) -> None:
    """A roster of the database's file would be public content of a resource, and so would its secret."""
    text = f"""\
version: 1
directories:
  staff: {{{SQL}}}
  ops: {{{LDAP}, dn: {{file: secrets/dn}}, password: {{file: secrets/password}}}}}}
  hr: {{sql: {{url: {{file: secrets/url}}, statement: SELECT 1}}}}
"""
    private = read(repository, text).settings.private_files

    for name in ("hr.db", "hr.db-wal", "secrets/dn", "secrets/password", "secrets/url"):
        assert str(repository / name) in private


PAGE = """\
directories:
  staff: {sql: {url: {env: HR_URL}, statement: "SELECT id, name, mail FROM staff"}}
"""


@pytest.fixture
def asked(repository: Path) -> Mapping[str, str]:
    """A project whose roster is a database, and the variable that says where that is."""
    (repository / "reconciler.yaml").write_text(SETTINGS + PAGE)
    (repository / "manifests").mkdir()
    (repository / "manifests/ops.yaml").write_text(f"version: 1\nworkspace: ops\n{ROSTER}")
    return {"HR_URL": f"sqlite:///{database(repository / 'hr.db', people(3))}"}


def test_validate_takes_from_a_directory(run: Run, asked: Mapping[str, str]) -> None:
    ended = run("validate", env=asked)

    assert (ended.returncode, ended.stdout) == (0, "no mistakes. Declared: 3 contacts in 1 workspace.\n")


def test_commands_that_read_no_manifest_read_no_secret_of_a_directory(
    run: Run, asked: Mapping[str, str]
) -> None:
    """`config` names where it comes from."""
    ended = run("config", env={})

    assert ended.returncode == 0
    assert "directories.staff.sql.url" in ended.stdout
    assert "environment HR_URL" in ended.stdout
    assert run("schema", "settings", env={}).returncode == 0
    assert run("validate", env={}).returncode == 3


def test_a_check_of_a_pull_request_asks_no_directory(run: Run, repository: Path) -> None:
    """It has no secret; everything else is checked, and what is not is said, with the cache and without."""
    (repository / "reconciler.yaml").write_text(SETTINGS + PAGE)
    (repository / "manifests").mkdir()
    more = "contacts: {sam: {firstName: Sam, workEmailAddress1: sam@example.com}}\n"
    (repository / "manifests/ops.yaml").write_text(f"version: 1\nworkspace: ops\n{more}{ROSTER}")

    for words in ((), ("--no-cache",)):
        ended = run("validate", "--without-variables", *words, env={})
        assert (ended.returncode, ended.stdout) == (
            0,
            "no mistakes, 1 warning. Declared: 1 contact in 1 workspace.\n",
        )
        assert "this directory was not asked, so its people are not checked" in ended.stderr
        assert "manifests/ops.yaml:5" in ended.stderr


def test_a_report_of_a_check_holds_what_a_directory_did(
    run: Run, asked: Mapping[str, str], repository: Path
) -> None:
    ended = run("validate", "--report", "github=told.txt", env={"HR_URL": "sqlite:////nowhere/hr.db"})

    assert ended.returncode == 1
    assert "::error file=manifests/ops.yaml,line=4" in (repository / "told.txt").read_text()


def test_a_directory_that_does_not_answer_ends_a_command_with_1(run: Run, asked: Mapping[str, str]) -> None:
    """The place of both: of the roster that takes from it, and of the settings that describe it."""
    ended = run("validate", env={"HR_URL": "sqlite:////nowhere/canary.db"})

    assert ended.returncode == 1
    assert "manifests/ops.yaml:4:5: the directory staff (reconciler.yaml:13) cannot be read:" in ended.stderr
    assert "[E514]" in ended.stderr
    assert "[E032]" in ended.stderr
    assert "next: check the path in its url" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_is_read_for_a_directory_is_hidden_in_everything_that_is_printed(
    run: Run, asked: Mapping[str, str], repository: Path
) -> None:
    """A row may repeat the URL that it was asked with; commands that need no service read it too."""
    with closing(sqlite3.connect(repository / "hr.db")) as connection, connection:
        connection.execute("UPDATE staff SET name = ? WHERE id = 1", (asked["HR_URL"],))

    ended = run("explain", "--offline", "contact/ops/1", "-vv", env=asked)

    assert ended.returncode == 0
    assert "firstName" in ended.stdout
    assert "(secret)" in ended.stdout
    assert asked["HR_URL"] not in ended.stdout + ended.stderr


def test_an_error_of_a_driver_shows_no_password(run: Run, asked: Mapping[str, str]) -> None:
    ended = run("validate", "-vv", env={"HR_URL": "another://hr:canary-password@localhost/hr.db"})

    assert ended.returncode == 1
    assert "canary-password" not in ended.stdout + ended.stderr
