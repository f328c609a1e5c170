"""service.network from settings and variables, what doctor says of it, and commands behind a real proxy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.keeping import told
from cli.test_settings import refusal
from service.roads import STRANGER, TRUSTED, Front, HttpProxy, beside, proving
from service.socket_server import free_port

from reconciler.errors import SettingsError
from reconciler.model.settings import Network
from reconciler.settings.reader import read_settings

API = "https://service.example.com"
SECRETS = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_KEY": "canary-key"}
P = "http://proxy.example.com:3128"
LOGIN = "http://canary-me:canary-pw@proxy.example.com:3128"


def text(network: str = "", base_url: str = API) -> str:
    line = f"  network: {network}\n" if network else ""
    auth = "{username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}}"
    return f"version: 1\nservice:\n  base_url: {base_url}\n  auth: {auth}\n{line}"


def network(folder: Path, written: str, environ: Mapping[str, str], *, service: bool = True) -> Network:
    (folder / "reconciler.yaml").write_text(written, "utf-8")
    read = read_settings(
        config=None, environment=None, cwd=folder, environ={**SECRETS, **environ}, service=service
    )
    return read.settings.service.network


def proxy(folder: Path, written: str, **environ: str) -> tuple[str, str] | None:
    """The proxy in effect, and its login."""
    found = network(folder, written, environ).proxy
    return (str(found), found.login.reveal() if found.login else "") if found else None


def test_the_environment_decides_unless_the_settings_do(repository: Path) -> None:
    """Where an organisation has a proxy, its variables are set everywhere; settings can pin the way."""
    given = {"HTTPS_PROXY": LOGIN}

    assert proxy(repository, text(), **given) == (f"{P} (HTTPS_PROXY)", "canary-me:canary-pw")
    assert proxy(repository, text("{proxy: env}"), **given) == proxy(repository, text(), **given)
    assert proxy(repository, text("{proxy: none}"), **given) is None
    assert proxy(repository, text("{proxy: 'http://10.0.0.1:8080'}"), **given) == (
        "http://10.0.0.1:8080 (service.network.proxy)",
        "",
    )
    assert proxy(repository, text()) is None
    assert proxy(repository, text(), RECONCILER_SERVICE_NETWORK_PROXY="none", **given) is None


def test_an_environment_of_the_settings_has_a_way_of_its_own(repository: Path) -> None:
    """Production goes through a proxy; a sandbox on this machine must not."""
    section = "environments:\n  sandbox: {service: {base_url: 'http://127.0.0.1:8480'%s}}\n"
    written = text(f"{{proxy: '{P}'}}")

    def asked(more: str) -> Network:
        (repository / "reconciler.yaml").write_text(written + section % more, "utf-8")
        read = read_settings(
            config=None, environment="sandbox", cwd=repository, environ=SECRETS, service=True
        )
        return read.settings.service.network

    assert asked(", network: {proxy: none}") == Network()
    with pytest.raises(SettingsError) as refused:
        asked("")
    assert [one.next for one in refused.value.problems] == ["write https for service.base_url, or none here"]


def test_a_password_of_a_proxy_comes_as_every_secret_does(repository: Path) -> None:
    (repository / "proxy").write_text(LOGIN + "\n", "utf-8")
    expected = (f"{P} (service.network.proxy)", "canary-me:canary-pw")

    assert proxy(repository, text("{proxy: {env: OUR_PROXY}}"), OUR_PROXY=LOGIN) == expected
    assert proxy(repository, text("{proxy: {file: proxy}}")) == expected
    assert proxy(repository, text(), RECONCILER_SERVICE_NETWORK_PROXY=LOGIN) == expected
    assert "OUR_PROXY is not set" in refusal(
        repository, text("{proxy: {env: OUR_PROXY}}"), environ=SECRETS, service=True
    )


REFUSED = {
    "a password in the file": (
        text(f"{{proxy: '{LOGIN}'}}"),
        {},
        "it holds a user: this file is kept in git",
    ),
    "a kind that is not known": (
        text("{proxy: 'socks5://canary:canary@proxy.example.com'}"),
        {},
        "of the kind socks5 are not supported",
    ),
    "no URL": (text("{proxy: canary}"), {}, "service.network.proxy: the address of the proxy is not a URL"),
    "a list": (text("{proxy: [canary]}"), {}, "service.network.proxy must be text or a mapping"),
    "two places": (text("{proxy: {env: A, file: b}}"), {}, "service.network.proxy must have only one of"),
    "plain http": (
        text(f"{{proxy: '{P}'}}", "http://127.0.0.1:8480"),
        {},
        "service.base_url is plain http, and a proxy would read the credentials",
    ),
    "a variable of a kind that is not known": (
        text(),
        {"ALL_PROXY": "socks5h://canary:canary@127.0.0.1:9050"},
        "environment ALL_PROXY: service.network.proxy: proxies of the kind socks5h are not supported",
    ),
    "a variable that is no URL": (
        text(),
        {"HTTPS_PROXY": "http://canary:canary@a b"},
        "environment HTTPS_PROXY: service.network.proxy: the address of the proxy holds a character",
    ),
    "a secret that is no URL": (text("{proxy: {env: OURS}}"), {"OURS": "canary"}, "is not a URL"),
    "a reference to plain http": (
        text("{proxy: {env: OURS}}", "http://127.0.0.1:8480"),
        {"OURS": LOGIN},
        "service.base_url is plain http",
    ),
    "no file": (
        text("{ca: nowhere.pem}"),
        {},
        "service.network.ca: nowhere.pem cannot be read: no such file",
    ),
    "an empty file": (text("{ca: empty.pem}"), {}, "service.network.ca: empty.pem is empty"),
    "no PEM": (text("{ca: reconciler.yaml}"), {}, "reconciler.yaml holds no certificate in the form PEM"),
    "a folder": (text("{ca: .}"), {}, "service.network.ca: . "),
    "a file that all may write": (text("{ca: open.pem}"), {}, "open.pem is not used: everybody"),
    "a variable's file that is not there": (
        text(),
        {"SSL_CERT_FILE": "/nowhere/ours.pem"},
        "environment SSL_CERT_FILE: service.network.ca: /nowhere/ours.pem cannot be read: no such file",
    ),
    "a variable's folder that is not there": (
        text(),
        {"SSL_CERT_DIR": "/nowhere"},
        "environment SSL_CERT_DIR: service.network.ca: /nowhere is not a folder",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_way_that_cannot_be_used_is_one_clear_error(case: str, repository: Path) -> None:
    """Otherwise another proxy or other certificates would be used without an error."""
    written, environ, words = REFUSED[case]
    (repository / "empty.pem").write_bytes(b"\n")
    (repository / "open.pem").write_bytes(TRUSTED.read_bytes())
    (repository / "open.pem").chmod(0o666)

    said = refusal(repository, written, environ={**SECRETS, **environ}, service=True)

    assert words in said
    assert "1 mistake" in said
    assert "canary" not in said


def test_without_the_service_nothing_is_read_for_the_way_to_it(repository: Path) -> None:
    """`validate` runs where neither the secret nor the certificates are."""
    written = text("{proxy: {env: OURS}, ca: nowhere.pem}")

    assert network(repository, written, {"SSL_CERT_FILE": "x"}, service=False) == Network()


def test_certificates_come_from_one_file_of_the_settings_or_from_variables(repository: Path) -> None:
    (repository / "ours.pem").write_bytes(TRUSTED.read_bytes())
    other = {"SSL_CERT_FILE": str(STRANGER), "SSL_CERT_DIR": str(repository)}

    chosen = network(repository, text("{ca: ours.pem}"), other).trust
    given = network(repository, text(), other).trust
    usual = network(repository, text(), {}).trust

    assert (chosen.certificates in TRUSTED.read_text("ascii"), chosen.folders) == (True, ())
    assert (given.certificates in STRANGER.read_text("ascii"), given.folders) == (True, (str(repository),))
    assert (usual.certificates, usual.folders) == ("", ())


def test_for_plain_http_variables_of_certificates_mean_nothing(repository: Path) -> None:
    """A sandbox on this machine works wherever they lead."""
    written = text(base_url="http://127.0.0.1:8480")

    assert network(repository, written, {"SSL_CERT_FILE": "/nowhere", "HTTPS_PROXY": P}) == Network()


@dataclass
class Office:
    """A service that only a proxy leads to, the variables that say so, and what the proxy saw."""

    proxy: HttpProxy
    environ: dict[str, str]


@pytest.fixture
def office(service: Service) -> Iterator[Office]:
    front = Front(proving(TRUSTED), behind=int(service.address.rpartition(":")[2]))
    way = HttpProxy()
    with beside(front, way):
        way.leads_to = front.port
        login = f"http://canary-me:canary-pw@127.0.0.1:{way.port}"
        yield Office(way, {"HTTPS_PROXY": login, "SSL_CERT_FILE": str(TRUSTED)})


def test_commands_reach_a_service_that_only_the_proxy_leads_to(
    project: Project, service: Service, office: Office
) -> None:
    """Every connection goes this way, also those of the lock and of doctor: no other leads there."""
    behind = Service(API)

    done = project.run(behind, "apply", "--yes", env=office.environ)
    lock = project.run(behind, "lock", "--in-service", env=office.environ)
    listed = project.run(behind, "workspaces", "list", env=office.environ)
    looked = project.run(behind, "doctor", "--format", "json", env=office.environ)

    for one in (done, lock, listed):
        assert (one.returncode, one.stderr) == (0, ""), one.stderr
    assert len(service.contacts()) > 0
    states = {one["name"]: (one["state"], one["what"]) for one in told(looked)["checks"]}
    assert states["service"] == ("ok", f"{API}:443 answers")
    assert states["proxies"] == (
        "ok",
        f"http://127.0.0.1:{office.proxy.port} (HTTPS_PROXY), with a user that is never shown",
    )
    assert states["certificates"] == ("ok", f"1 of {TRUSTED} (SSL_CERT_FILE), and no others")
    assert set(office.proxy.asked) == {"CONNECT service.example.com:443 HTTP/1.1"}
    assert len(office.proxy.logins) == len(office.proxy.asked)
    assert "canary" not in done.stdout + looked.stdout


def test_doctor_tells_what_decides_without_calling_anybody(
    project: Project, service: Service, office: Office
) -> None:
    def lines(**environ: str) -> dict[str, tuple[str, str]]:
        done = project.run(
            Service(API), "doctor", "--offline", "--format", "json", env={**office.environ, **environ}
        )
        assert "canary" not in done.stdout
        assert done.returncode == told(done)["exit_code"]
        return {one["name"]: (one["state"], one["what"]) for one in told(done)["checks"]}

    assert "(HTTPS_PROXY)" in lines()["proxies"][1]
    assert lines(NO_PROXY="example.com")["proxies"] == (
        "ok",
        "none: connects directly (NO_PROXY names service.example.com; HTTPS_PROXY is not in effect)",
    )
    assert lines(RECONCILER_SERVICE_NETWORK_PROXY="none")["proxies"][1].startswith(
        "none: connects directly (service."
    )
    assert lines(RECONCILER_SERVICE_BASE_URL="http://127.0.0.1:8480")["proxies"][1] == (
        "none: connects directly (no variable sets a proxy)"
    )
    broken = lines(HTTPS_PROXY="socks5://canary", SSL_CERT_FILE="/nowhere")
    assert (broken["proxies"][0], broken["certificates"][0]) == ("fail", "fail")
    assert broken["secrets"][0] == "ok"
    assert lines(SSLKEYLOGFILE="x")["certificates"][0] == "warn"
    assert office.proxy.asked == []


def test_without_the_secrets_doctor_knocks_at_the_proxy(project: Project, office: Office) -> None:
    """A proxy of the settings is the way to this machine too; nobody answers at the address itself."""
    nowhere = Service(f"https://127.0.0.1:{free_port()}")
    environ = {"SVC_USER": "", "RECONCILER_SERVICE_NETWORK_PROXY": office.environ["HTTPS_PROXY"]}

    done = project.run(nowhere, "doctor", "--format", "json", env=environ)

    found = next(one for one in told(done)["checks"] if one["name"] == "service")
    where = f"the proxy http://127.0.0.1:{office.proxy.port} (service.network.proxy)"
    assert (found["state"], found["what"]) == ("ok", f"{where} accepts connections; no request was sent")


def test_doctor_runs_the_command_for_a_proxy_once(project: Project, service: Service) -> None:
    """A password manager may ask a person to touch a key."""
    settings = project.folder / "reconciler.yaml"
    told_by = project.folder / "proxy.sh"
    told_by.write_text(f"#!/bin/sh\necho x >> asked\necho {LOGIN}\n", "utf-8")
    told_by.chmod(0o700)
    line = "  network: {proxy: {command: ./proxy.sh}}\n"
    settings.write_text(settings.read_text("utf-8").replace("  auth:", f"{line}  auth:", 1), "utf-8")

    done = project.run(Service(API), "doctor", "--offline", "--format", "json")

    found = next(one for one in told(done)["checks"] if one["name"] == "proxies")
    assert found["what"].startswith(f"{P} (service.network.proxy, reconciler.yaml:")
    assert (project.folder / "asked").read_text("utf-8") == "x\n"
    assert "canary" not in done.stdout


def test_config_shows_a_proxy_without_its_password(project: Project, service: Service) -> None:
    hidden = project.run(
        service,
        "config",
        env={
            "RECONCILER_SERVICE_NETWORK_PROXY": LOGIN.replace("http:", "https:", 1),
            "RECONCILER_SERVICE_BASE_URL": API,
        },
    )
    plain = project.run(service, "config")

    assert "https://(secret)@proxy.example.com:3128" in hidden.stdout
    assert "canary" not in hidden.stdout + hidden.stderr
    assert [line.split() for line in plain.stdout.splitlines() if "network" in line] == [
        ["service.network.proxy", "env", "default"],
        ["service.network.ca", "env", "default"],
    ]


def test_a_proxy_that_wants_a_password_ends_a_command_in_its_own_words(
    project: Project, service: Service
) -> None:
    way = HttpProxy(says=b"HTTP/1.1 407 canary\r\nContent-Length: 6\r\n\r\ncanary")
    with beside(way):
        environ = {"HTTPS_PROXY": f"http://127.0.0.1:{way.port}", "SSL_CERT_FILE": str(TRUSTED)}
        done = project.run(Service(API), "apply", "--yes", env=environ)

    assert done.returncode == 1
    assert (
        f"the proxy http://127.0.0.1:{way.port} (HTTPS_PROXY) wants a user and password (407)" in done.stderr
    )
    assert "canary" not in done.stdout + done.stderr
    assert service.requests() == []
