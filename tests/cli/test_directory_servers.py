"""People who live in an LDAP directory or a SCIM service, planned and applied as a user does it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.hands import Project, Service, unguarded
from directories import scim_service, slapd
from directories.slapd import BASE, PASSWORD, READER, Slapd
from service.roads import TRUSTED

DIRECTORIES = """\
directories:
  staff:
"""
SETTINGS = unguarded("ops") + DIRECTORIES
OVER_LDAP = """\
    ldap:
      url: URL
      base: ou=people,BASE
      filter: FILTER
      attributes: [uid, cn, sn, mail]
      dn: {env: LDAP_DN}
      password: {env: LDAP_PASSWORD}
      ca: trusted.pem
"""
OVER_SCIM = """\
    scim: {url: URL, token: {env: SCIM_TOKEN}, page: 2}
"""
FROM_LDAP = "{uid}", "{cn}", "{sn}", "{mail}"
FROM_SCIM = "{userName}", "{name.givenName}", "{name.familyName}", "{emails.work.value}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with slapd.serving(tmp_path_factory.mktemp("slapd")) as found:
        yield found


class Kept:
    """A project whose people come from a directory, and the command in it."""

    def __init__(self, project: Project, service: Service, columns: tuple[str, str, str, str]) -> None:
        self.folder, self._project, self._service = project.folder, project, service
        name, first, last, mail = columns
        project.manifest.write_text(
            "version: 1\nworkspace: default\nrosters:\n"
            f'- {{directory: staff, name: "{name}", contacts: {{firstName: "{first}", lastName: "{last}", '
            f'workEmailAddress1: "{mail}"}}}}\n'
        )

    def settings(self, text: str) -> None:
        (self.folder / "reconciler.yaml").write_text(SETTINGS + text)

    def run(self, *arguments: str, **env: str) -> Any:
        done = self._project.run(self._service, *arguments, env=env)
        assert PASSWORD not in done.stdout + done.stderr
        assert "Warning" not in done.stderr
        return done


def test_people_of_an_ldap_server_are_planned_applied_and_leave_when_they_leave_it(
    project: Project, service: Service, server: Slapd
) -> None:
    """Over TLS, with a password, in pages; a short answer is refused until somebody says how many."""
    kept, login = Kept(project, service, FROM_LDAP), {"LDAP_DN": READER, "LDAP_PASSWORD": PASSWORD}
    (kept.folder / "trusted.pem").write_bytes(Path(TRUSTED).read_bytes())
    (kept.folder / "trusted.pem").chmod(0o644)
    text = OVER_LDAP.replace("URL", server.secured).replace("BASE", BASE)

    kept.settings(text.replace("FILTER", "(uid=p000*)"))
    planned = kept.run("plan", "-o", "plan.json", "--detailed-exitcode", **login)
    assert planned.returncode == 2, planned.stderr
    assert "10 creates" in planned.stdout
    assert "from directory staff: 10 rows" in planned.stdout
    applied = kept.run("apply", "plan.json", **login)
    assert (applied.returncode, len(service.contacts())) == (0, 10), applied.stderr
    assert kept.run("plan", "--detailed-exitcode", **login).returncode == 0

    kept.settings(text.replace("FILTER", "(uid=p0007)"))
    refused = kept.run("apply", "--yes", **login)
    assert (refused.returncode, len(service.contacts())) == (7, 10)
    assert "the directory staff returns 1 row, 9 fewer than at the last apply" in refused.stderr
    assert kept.run("apply", "--yes", "--allow-fewer-rows", "9", **login).returncode == 0
    assert list(service.contacts()) == ["Person 7"]


def test_a_wrong_password_of_an_ldap_server_plans_nothing(
    project: Project, service: Service, server: Slapd
) -> None:
    kept = Kept(project, service, FROM_LDAP)
    text = OVER_LDAP.replace("URL", server.plain).replace("BASE", BASE).replace("      ca: trusted.pem\n", "")
    kept.settings(text.replace("FILTER", "(uid=p000*)"))

    done = kept.run("plan", LDAP_DN=READER, LDAP_PASSWORD="wrong-canary")

    assert (done.returncode, done.stdout, service.requests()) == (1, "", [])
    assert "directory staff" in done.stderr
    assert "reconciler.yaml:" in done.stderr
    assert "canary" not in done.stderr


def test_people_of_a_scim_service_are_planned_and_applied(project: Project, service: Service) -> None:
    """Page by page, by index; one that says less than it promised plans nothing."""
    kept = Kept(project, service, FROM_SCIM)
    with scim_service.serving(scim_service.ScimService(scim_service.users(7))) as answering:
        kept.settings(OVER_SCIM.replace("URL", answering.url))
        applied = kept.run("apply", "--yes", SCIM_TOKEN="invented-token-1")
        assert (applied.returncode, len(service.contacts())) == (0, 7), applied.stderr
        assert "from directory staff: 7 rows" in applied.stdout

        answering.bend = lambda _number, _query, document: {**document, "totalResults": 9}
        done = kept.run("plan", SCIM_TOKEN="invented-token-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "directory staff" in done.stderr
    assert "invented-token" not in done.stderr
