"""The way to the service on real sockets: through a proxy, with certificates of our own choice."""

import asyncio
import os
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from service.roads import STRANGER, TRUSTED, Answers, HttpProxy, proving
from service.socket_server import free_port, when_quiet
from service.support import CALLS, KEY, PASSWORD, service
from service.test_sockets import ANSWERS
from waiting import patience_s

from reconciler import tls
from reconciler.errors import InDoubt, ServiceError, SettingsError, Unavailable
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.secrets import Secret
from reconciler.model.settings import Network, Proxy, Service, Trust
from reconciler.service.http.connections import open_connections
from reconciler.service.http.limiter import Timing

HOST = "service.example.com"  # resolved by nobody: only a proxy can lead there
LOGIN = "canary-login:canary-p@ss"
OURS = Trust(TRUSTED.read_text("ascii"))

QUICK = Timing(Timing.real().monotonic, asyncio.sleep, lambda: 0.01)


def through(proxy: HttpProxy, *, trust: Trust = OURS, login: str = "", **limits: Any) -> Service:
    """Settings of a service that can be reached through this proxy alone."""
    scheme = "https" if proxy.tls else "http"
    network = Network(
        Proxy(f"{scheme}://127.0.0.1:{proxy.port}", "HTTPS_PROXY", Secret(login) if login else None), trust
    )
    return structs.replace(service(f"https://{HOST}", **limits), network=network)


async def asked(settings: Service, *work: Callable[[ServiceClient], Awaitable[object]]) -> list[object]:
    """What calls give, one after the other, errors included; at the end, how many were counted as sent."""
    found: list[object] = []
    async with open_service_client(settings, timing=QUICK) as client:
        for one in work:
            try:
                found.append(await one(client))
            except ServiceError as error:
                found.append(error)
        return [*found, sum(client.calls.values())]


@pytest.mark.parametrize("method", CALLS)
def test_every_call_goes_through_the_proxy_and_shows_it_nothing(method: str) -> None:
    """A proxy sees where we go, and neither the credentials nor what is asked."""

    async def main() -> None:
        async with (
            Answers(proving(TRUSTED), answer=ANSWERS[method]) as there,
            HttpProxy(leads_to=there.port) as proxy,
        ):
            result, counted = await asked(through(proxy), CALLS[method])

        assert not isinstance(result, Exception), result
        assert (counted, len(there.heard)) == (1, 1)
        assert proxy.asked == [f"CONNECT {HOST}:443 HTTP/1.1"]
        assert proxy.logins == []
        assert there.heard[0].startswith(method.encode())
        assert not any(word in b"".join(proxy.seen) for word in (b"HTTP/1.1", KEY.encode()))

    asyncio.run(main())


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
def test_a_proxys_login_goes_to_the_proxy_and_to_nobody_else(*, secured: bool) -> None:
    async def main() -> None:
        async with (
            Answers(proving(TRUSTED), answer=ANSWERS["GET"]) as there,
            HttpProxy(proving(TRUSTED) if secured else None, leads_to=there.port) as proxy,
        ):
            result, _ = await asked(through(proxy, login=LOGIN), CALLS["GET"])

        assert not isinstance(result, Exception), result
        assert proxy.logins == [f"Proxy-Authorization: Basic {b64encode(LOGIN.encode()).decode()}"]
        assert b"proxy-authorization" not in there.heard[0].lower()

    asyncio.run(main())


PAGE = b"<html><body>canary page: please log in</body></html>"


def page(status: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(PAGE),
        PAGE,
    )


# What the proxy says -> what is told, how often it is asked.
REFUSALS = {
    "login": (page(b"407 Proxy Authentication Required"), "wants a user and password (407)", 1),
    "forbidden": (page(b"403 Forbidden"), f"makes no connection to {HOST} (403)", 1),
    "away": (page(b"302 Found\r\nLocation: https://elsewhere.example.com"), "(302)", 3),
    "throttled": (page(b"429 Too Many Requests"), "(429)", 3),
    "bad gateway": (page(b"502 Bad Gateway"), f"makes no connection to {HOST} (502)", 3),
    "slow gateway": (page(b"504 Gateway Timeout"), "(504)", 3),
    "a page in the tunnel": (page(b"200 OK"), "through the proxy", 3),
    "a tunnel that closes": (b"HTTP/1.1 200 OK\r\n\r\n", "through the proxy", 3),
    "another protocol": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "gave no answer of a proxy",
        3,
    ),
    "an endless head": (
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: canary\r\n" * 10_000,
        "gave no answer of a proxy",
        3,
    ),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", "gave no answer of a proxy", 3),
    "half a line": (b"HTTP/1.1 20", "gave no answer of a proxy", 3),
    "silence": (None, "gave no answer of a proxy", 1),
}


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("case", REFUSALS)
def test_what_a_proxy_says_is_told_as_the_proxys_and_nothing_was_sent(case: str, method: str) -> None:
    """Taken for the service's answer, a 407 would read as wrong credentials, and a page as a lost write."""
    says, words, times = REFUSALS[case]

    async def main() -> tuple[list[object], HttpProxy, Answers]:
        async with (
            Answers(proving(TRUSTED), answer=ANSWERS[method]) as there,
            HttpProxy(leads_to=there.port, says=says) as proxy,
        ):
            return await asked(through(proxy, timeout_s=8), CALLS[method]), proxy, there

    (error, counted), proxy, there = when_quiet(main())
    assert isinstance(error, Unavailable), error
    assert "the proxy http://127.0.0.1" in str(error)
    assert "(HTTPS_PROXY)" in str(error)
    assert words in str(error)
    assert "nothing was sent" in error.next
    assert "canary" not in f"{error} {error.next}"
    assert (counted, there.accepted, error.status) == (0, 0, 0)
    assert len(proxy.asked) >= times
    assert times > 1 or len(proxy.asked) == 1 or case == "silence"


@pytest.mark.parametrize("method", CALLS)
def test_a_proxy_that_is_not_there_is_named_and_nothing_was_sent(method: str) -> None:
    network = Network(Proxy(f"http://127.0.0.1:{free_port()}", "HTTPS_PROXY"), OURS)
    settings = structs.replace(service(f"https://{HOST}"), network=network)

    error, counted = asyncio.run(asked(settings, CALLS[method]))

    assert isinstance(error, Unavailable)
    assert "no connection to the proxy http://127.0.0.1" in str(error)
    assert "refused; tried 3 times" in str(error)
    assert "check HTTPS_PROXY" in error.next
    assert counted == 0


def test_a_login_that_the_proxy_refuses_is_named_and_not_shown() -> None:
    async def main() -> None:
        async with HttpProxy(says=page(b"407 canary-p@ss")) as proxy:
            error, _ = await asked(through(proxy, login=LOGIN), CALLS["POST"])
        assert isinstance(error, Unavailable)
        assert "does not accept its user and password (407)" in str(error)
        assert "canary" not in f"{error} {error.next}"

    asyncio.run(main())


def test_a_write_whose_answer_is_lost_behind_the_proxy_is_in_doubt() -> None:
    """From the request's first byte on it may have arrived; it is not sent again."""

    async def main() -> None:
        async with Answers(proving(TRUSTED)) as there, HttpProxy(leads_to=there.port) as proxy:
            error, counted = await asked(through(proxy), CALLS["POST"])
        assert isinstance(error, InDoubt), error
        assert (counted, len(there.heard)) == (1, 1)

    asyncio.run(main())


def test_a_service_that_proves_nothing_gets_nothing_and_holds_up_nobody() -> None:
    """A proxy may lead anywhere: TLS with the service decides. What failed there is not used again."""

    async def main() -> None:
        async with AsyncExitStack() as opened:
            enter = opened.enter_async_context
            stranger = await enter(Answers(proving(STRANGER), answer=ANSWERS["GET"]))
            there = await enter(Answers(proving(TRUSTED), answer=ANSWERS["GET"]))
            proxy = await enter(HttpProxy(leads_to=stranger.port))

            async def turn(_client: ServiceClient) -> None:
                proxy.leads_to = there.port

            refused, _, found, counted = await asked(
                through(proxy, concurrency=1), CALLS["GET"], turn, CALLS["GET"]
            )
        assert isinstance(refused, Unavailable)
        assert f"no connection to {HOST} through the proxy" in str(refused)
        assert "the certificate is not trusted" in str(refused)
        assert stranger.heard == []
        assert not isinstance(found, Exception), found
        assert counted == 1

    when_quiet(main())


def test_connections_through_a_proxy_are_used_again() -> None:
    async def main() -> None:
        async with (
            Answers(proving(TRUSTED), answer=ANSWERS["GET"]) as there,
            HttpProxy(leads_to=there.port) as proxy,
        ):
            *_, counted = await asked(through(proxy), *[CALLS["GET"]] * 20)
        assert (counted, len(proxy.asked)) == (20, 1)

    asyncio.run(main())


def test_plain_http_goes_through_no_proxy() -> None:
    """The proxy would read the credentials. It is refused before anything is opened."""
    network = Network(Proxy("http://127.0.0.1:3128", "service.network.proxy"))
    with pytest.raises(SettingsError, match="would read the credentials"):
        open_connections(structs.replace(service("http://127.0.0.1:8480"), network=network))


@pytest.mark.parametrize(("trust", "answered"), [(OURS, True), (Trust(STRANGER.read_text("ascii")), False)])
def test_certificates_that_are_named_prove_the_service_and_no_others_do(
    trust: Trust, *, answered: bool
) -> None:
    async def main() -> None:
        async with Answers(proving(TRUSTED), answer=ANSWERS["GET"]) as there:
            settings = structs.replace(
                service(f"https://127.0.0.1:{there.port}"), network=Network(trust=trust)
            )
            result, counted = await asked(settings, CALLS["GET"])
        assert (not isinstance(result, Exception), counted) == (answered, int(answered))

    asyncio.run(main())


def test_named_certificates_stand_for_those_of_the_system() -> None:
    """Exactly that file: an authority of this system does not count beside it."""
    assert len(tls.make_tls_context(OURS).get_ca_certs()) == 1
    with pytest.raises(tls.NoCertificates):
        tls.parse_certificates(b"")


GOOD = TRUSTED.read_bytes()
FILES = {
    "nothing": (b"", "is empty"),
    "blanks": (b" \n\n", "is empty"),
    "a page": (PAGE, "holds no certificate in the form PEM"),
    "DER": (
        ssl.PEM_cert_to_DER_cert(
            OURS.certificates[OURS.certificates.index("-----") :].partition("-----BEGIN EC")[0].strip()
        ),
        "holds no certificate in the form PEM",
    ),
    "a key": (GOOD[GOOD.index(b"-----BEGIN EC") :], "holds no certificate in the form PEM"),
    "cut": (GOOD[: GOOD.index(b"-----END CERT")], "holds no certificate in the form PEM"),
    "damaged": (GOOD.replace(b"MIIB", b"MIIC", 1), "holds a certificate that cannot be read"),
    "one of two damaged": (
        GOOD + STRANGER.read_bytes().replace(b"MIIB", b"MIIC", 1),
        "holds a certificate that cannot be read",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_without_certificates_is_refused(case: str) -> None:
    data, why = FILES[case]
    with pytest.raises(tls.NoCertificates, match=f"^{why}$"):
        tls.parse_certificates(data)


def test_what_stands_between_certificates_is_left_out() -> None:
    """Bundles have comments in any language, and some have keys, which are nothing to trust."""
    text, number = tls.parse_certificates("# Behörde: žluťoučký\n".encode() + GOOD + STRANGER.read_bytes())

    assert number == 2
    assert "KEY" not in text
    assert len(tls.make_tls_context(Trust(text)).get_ca_certs()) == 2


LOGGING = """
import asyncio, sys
from service.support import CALLS
from service.roads import TRUSTED, Answers, HttpProxy, proving
from service.test_network import ANSWERS, asked, through

async def main():
    async with Answers(proving(TRUSTED), answer=ANSWERS["GET"]) as there:
        async with HttpProxy(proving(TRUSTED), leads_to=there.port) as proxy:
            print(await asked(through(proxy), CALLS["GET"]))

asyncio.run(main())
"""


def test_no_session_key_is_ever_written(tmp_path: Path) -> None:
    """Whoever has the keys of a session reads the credentials in it: neither with the service nor a proxy."""
    keys = tmp_path / "keys.log"
    done = subprocess.run(
        [sys.executable, "-c", LOGGING],
        env={**os.environ, "SSLKEYLOGFILE": str(keys), "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s,
    )

    assert done.stdout.endswith(", 1]\n"), done
    assert not keys.exists()
    assert PASSWORD not in done.stdout
