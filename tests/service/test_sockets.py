"""Claims about real sockets: every way a connection can fail lands in its row of table A8.

The library's names for failures are its own affair; what counts is what it raises when a server on the
other end of a real connection refuses, resets, stalls, cuts or talks nonsense.
"""

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from service.socket_server import Peer, Play, Server, free_port, wait_s, when_quiet
from service.support import CALLS, ID, sandbox_config, service
from waiting import for_ever, patience_s

from reconciler.errors import InDoubt, Malformed, ServiceError, Unavailable
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.sandbox.app import running_sandbox
from reconciler.service.http.connections import idle_s
from reconciler.service.http.limiter import Timing

BODY = b'{"id":"' + ID.encode() + b'","firstName":"Jane","link":[]}'
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
CREATED = b"HTTP/1.1 201 Created\r\nLocation: /contacts/%b\r\nContent-Length: 0\r\n\r\n" % ID.encode()
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
ANSWERS = {"GET": GOOD, "POST": CREATED, "PUT": NO_CONTENT, "DELETE": NO_CONTENT}


async def good(peer: Peer) -> None:
    while line := await peer.request():
        await peer.send(ANSWERS[line.split()[0].decode()])


async def reset_at_accept(peer: Peer) -> None:
    peer.reset()


async def close_at_accept(_peer: Peer) -> None:
    return


async def close_after_request(peer: Peer) -> None:
    await peer.request()


async def reset_after_request(peer: Peer) -> None:
    await peer.request()
    peer.reset()


async def half_headers(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Le")


async def close_mid_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(GOOD[:-10])


async def close_mid_chunks(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(BODY), BODY))


async def cut_without_length(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + BODY[:-1])


async def stall(peer: Peer) -> None:
    await peer.request()
    await for_ever()


async def stall_mid_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(GOOD[:-10])
    await for_ever()


async def drip(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await peer.send(b" ")
        await wait_s(1)


async def no_http(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"SSH-2.0-OpenSSH_9.6\r\n")


async def garbage(peer: Peer) -> None:
    await peer.request()
    await peer.send(bytes(range(256)) * 8)


async def endless_headers(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: %b\r\n" % (b"x" * 1000) * 400)


async def two_lengths(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n{}     ")


SENT: dict[str, Play] = {
    play.__name__: play
    for play in (
        reset_at_accept,
        close_at_accept,
        close_after_request,
        reset_after_request,
        half_headers,
        close_mid_body,
        close_mid_chunks,
        cut_without_length,
        stall,
        stall_mid_body,
        drip,
        no_http,
        garbage,
        endless_headers,
        two_lengths,
    )
}
# For a write the answer's body does not matter once its first line has said yes.
DECIDED_BY_BODY = {"cut_without_length"}

Work = Callable[[ServiceClient], Awaitable[object]]


async def played(
    script: list[Play],
    work: Work,
    *,
    scheme: str = "http",
    timeout_s: float = 20.0,
    tls: ssl.SSLContext | None = None,
) -> tuple[object, int, int]:
    """What `work` gives against a server that plays `script`; connections accepted; requests counted."""
    server = Server(script)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    settings = service(f"{scheme}://127.0.0.1:{port}", timeout_s=timeout_s)
    quick = Timing(Timing.real().monotonic, asyncio.sleep, lambda: 0.05)
    async with listening, open_service_client(settings, timing=quick) as client:
        try:
            result: object = await work(client)
        except ServiceError as error:
            result = error
        counted = sum(client.calls.values())
        for task in server.tasks:
            task.cancel()
    return result, server.accepted, counted


def play(script: list[Play], work: Work, **options: Any) -> tuple[object, int, int]:
    return when_quiet(played(script, work, **options))


@pytest.mark.parametrize("name", SENT)
def test_a_get_survives_one_lost_answer(name: str) -> None:
    result, accepted, counted = play([SENT[name], good], CALLS["GET"])

    assert not isinstance(result, Exception), result
    assert (accepted, counted) == (2, 2)


@pytest.mark.parametrize("name", SENT)
def test_a_get_without_any_answer_ends_and_is_never_empty(name: str) -> None:
    result, accepted, _ = play([SENT[name]], CALLS["GET"])

    assert isinstance(result, Unavailable | Malformed)
    assert accepted <= 3


@pytest.mark.parametrize("name", [name for name in SENT if name not in DECIDED_BY_BODY])
def test_a_write_whose_answer_is_lost_is_in_doubt_and_arrives_once(name: str) -> None:
    """A reset at accept looks exactly like one after the work was done: both are doubts."""

    async def main() -> list[tuple[object, int, int]]:
        writes = (CALLS[method] for method in ("POST", "PUT", "DELETE"))
        runs = (played([SENT[name], good], work) for work in writes)
        return await asyncio.gather(*runs)

    for result, accepted, counted in when_quiet(main()):
        assert isinstance(result, InDoubt), result
        assert (accepted, counted) == (1, 1)


@pytest.mark.parametrize("method", CALLS)
def test_a_refused_connection_is_never_sent_and_tried_three_times(method: str) -> None:
    """Nothing can have arrived: even a POST is repeated, and is no doubt in the end."""

    async def main() -> tuple[ServiceError, int]:
        settings = service(f"http://127.0.0.1:{free_port()}")
        quick = Timing(Timing.real().monotonic, asyncio.sleep, lambda: 0.01)
        async with open_service_client(settings, timing=quick) as client:
            with pytest.raises(Unavailable) as raised:
                await CALLS[method](client)
            return raised.value, sum(client.calls.values())

    error, counted = asyncio.run(main())
    assert counted == 0
    assert "refused; tried 3 times" in str(error)
    assert "nothing was sent" in error.next


@pytest.mark.parametrize("method", CALLS)
def test_a_tls_handshake_that_fails_is_never_sent(method: str) -> None:
    """The certificate is looked at before the first byte of a request leaves."""

    async def no_tls(peer: Peer) -> None:
        await peer.reader.read(100)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    result, accepted, counted = play([no_tls], CALLS[method], scheme="https")

    assert isinstance(result, Unavailable)
    assert "the TLS handshake failed" in str(result)
    assert (accepted, counted) == (3, 0)


@pytest.mark.parametrize("method", CALLS)
def test_a_tls_handshake_that_stalls_is_never_sent(method: str) -> None:
    async def silent(peer: Peer) -> None:
        await peer.reader.read(-1)

    result, accepted, counted = play([silent], CALLS[method], scheme="https")

    assert isinstance(result, Unavailable), result
    assert "no connection" in str(result)
    assert (accepted >= 1, counted) == (True, 0)


@pytest.mark.parametrize("method", CALLS)
def test_a_certificate_that_nobody_trusts_is_never_sent_anything(method: str) -> None:
    """Whoever answers there must not get a single byte of the credentials."""
    heard: list[bytes] = []

    async def listen(peer: Peer) -> None:
        heard.append(await peer.reader.read(100))

    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(Path(__file__).with_name("untrusted.pem"))
    result, accepted, counted = play([listen], CALLS[method], scheme="https", tls=trust)

    assert isinstance(result, Unavailable)
    assert "the certificate is not trusted" in str(result)
    assert "certificates" in result.next
    assert (accepted, counted, b"".join(heard)) == (0, 0, b"")


ENVIRONMENT = """
import asyncio, sys
from service.support import CALLS, service
from reconciler.service.client import Timing, open_client

async def main():
    async with open_client(service(sys.argv[1]), timing=Timing.real()) as client:
        print(len(await client.contacts.list()), dict(client.calls))

asyncio.run(main())
"""


def test_the_client_itself_reads_no_variable(tmp_path: Path) -> None:
    """The settings decide once what variables mean (settings/network.py); doctor shows it."""
    proxy = f"http://127.0.0.1:{free_port()}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n", "utf-8")
    environment = {
        **os.environ,
        **dict.fromkeys(names, proxy),
        "NO_PROXY": "",
        "no_proxy": "",
        "NETRC": str(netrc),
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(netrc),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    with running_sandbox(sandbox_config(contacts=21)) as base_url:
        done = subprocess.run(
            [sys.executable, "-c", ENVIRONMENT, base_url],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience_s,
        )

    assert (done.stdout, done.stderr) == ("21 {'GET': 2}\n", "")


TRUST = """
import asyncio, sys
from service.support import ID, service
from reconciler.errors import Unavailable
from reconciler.service.client import Timing, open_client

async def main():
    async with open_client(service(sys.argv[1]), timing=Timing.real()) as client:
        try:
            await client.contacts.get(ID)
        except Unavailable as error:
            print(error)

asyncio.run(main())
"""


def test_the_client_itself_trusts_no_certificates_of_the_environment() -> None:
    """As above: a variable decides who gets the credentials only where the settings leave it to it."""
    untrusted = Path(__file__).with_name("untrusted.pem")
    environment = {
        **os.environ,
        "SSL_CERT_FILE": str(untrusted),
        "SSL_CERT_DIR": str(untrusted.parent),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }

    async def main() -> tuple[str, int]:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trust.load_cert_chain(untrusted)
        server = Server([good])
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=trust)
        base_url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with listening:
            asked = await asyncio.create_subprocess_exec(
                sys.executable, "-c", TRUST, base_url, env=environment, stdout=subprocess.PIPE
            )
            said, _ = await asyncio.wait_for(asked.communicate(), patience_s)
        return said.decode(), server.accepted

    said, accepted = asyncio.run(main())
    assert "the certificate is not trusted" in said
    assert accepted == 0


def test_a_connection_that_was_idle_for_long_is_not_used_again() -> None:
    """Somewhere between us and the service it may be forgotten; a write into it would be a doubt."""

    async def work(client: ServiceClient) -> None:
        await CALLS["POST"](client)
        await asyncio.sleep(idle_s + 0.1)
        await CALLS["POST"](client)

    result, accepted, counted = asyncio.run(played([good], work))

    assert result is None
    assert (accepted, counted) == (2, 2)


def test_a_name_that_does_not_exist_says_so() -> None:
    """`.invalid` is reserved: no resolver knows a name below it."""

    async def main() -> None:
        quick = Timing(Timing.real().monotonic, asyncio.sleep, lambda: 0.01)
        async with open_service_client(
            service("http://service.invalid", timeout_s=4), timing=quick
        ) as client:
            with pytest.raises(Unavailable, match=r"no connection to service\.invalid"):
                await client.contacts.get(ID)

    asyncio.run(main())


def test_a_body_that_ends_with_its_connection_is_good_when_it_is_whole() -> None:
    """Without a length only the body itself can say that it is complete; an object does."""

    async def no_length(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + BODY)

    result, _, counted = play([no_length], CALLS["GET"])

    assert not isinstance(result, Exception)
    assert counted == 1


def test_connections_are_used_again() -> None:
    """A handshake for every call would double the time of a plan."""

    async def work(client: ServiceClient) -> None:
        for _ in range(20):
            await client.contacts.get(ID)

    result, accepted, counted = play([good], work)

    assert result is None
    assert (accepted, counted) == (1, 20)


def test_a_connection_that_the_server_closed_while_idle_is_not_used_for_a_write() -> None:
    """Servers drop idle connections; a POST into one would be a doubt for nothing."""
    closed: list[asyncio.StreamWriter] = []

    async def once(peer: Peer) -> None:
        line = await peer.request()
        await peer.send(ANSWERS[line.split()[0].decode()])
        peer.writer.close()
        await peer.writer.wait_closed()
        closed.append(peer.writer)

    async def work(client: ServiceClient) -> None:
        for number in range(5):
            await CALLS["POST"](client)
            while len(closed) <= number:
                await wait_s(0.01)

    result, accepted, counted = play([once], work)

    assert result is None
    assert (accepted, counted) == (5, 5)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_that_an_answer_ends_is_not_used_again(method: str) -> None:
    """A server may say that it closes a connection long before it does."""

    async def last_answer(peer: Peer) -> None:
        line = await peer.request()
        said = ANSWERS[line.split()[0].decode()]
        await peer.send(said.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        await wait_s(patience_s)

    async def work(client: ServiceClient) -> None:
        for _ in range(3):
            await CALLS[method](client)

    result, accepted, counted = play([last_answer], work)

    assert result is None
    assert (accepted, counted) == (3, 3)


def test_no_more_connections_than_the_concurrency_allows() -> None:
    async def slow(peer: Peer) -> None:
        while line := await peer.request():
            await wait_s(0.01)
            await peer.send(ANSWERS[line.split()[0].decode()])

    async def work(client: ServiceClient) -> None:
        await asyncio.gather(*(client.contacts.get(ID) for _ in range(60)))

    result, accepted, counted = play([slow], work)

    assert result is None
    assert (accepted <= 8, counted) == (True, 60)
