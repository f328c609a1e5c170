"""A sandbox behind a port is for programs of this machine: no web page reaches it, whatever it calls us."""

import http.client
import json

import pytest
from sandbox.asking import usual_headers

from reconciler.sandbox.app import SandboxConfig, running_sandbox
from reconciler.sandbox.server import check_origin


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8480",
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "[::1]",
        "[::1]:8480",
        "192.0.2.7:80",
    ],
)
def test_addresses_of_digits_and_localhost_are_ours(host: str) -> None:
    """No name that leads elsewhere can become one of these."""
    assert check_origin({"host": host}) is None
    assert check_origin({"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8480",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
        "evil.example#127.0.0.1",
        "127.1",
        "0x7f000001",
        "[::1",
        "::1",
    ],
)
def test_a_name_that_leads_here_is_refused(host: str) -> None:
    """DNS rebinding: the page may read what it gets, for its own name is in the address."""
    refused = check_origin({"host": host})

    assert refused is not None
    assert refused[0] == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "https://127.0.0.1:8480"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://127.0.0.1:8480.evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_origin_is_refused(headers: dict[str, str]) -> None:
    """It may not read the answer, and would have sent the message all the same."""
    refused = check_origin({"host": "127.0.0.1:8480", **headers})

    assert refused is not None
    assert refused[0] == 403


def test_a_program_and_an_address_that_was_typed_in_are_answered() -> None:
    assert check_origin({"host": "127.0.0.1:8480", "sec-fetch-site": "none"}) is None
    assert check_origin({"host": "127.0.0.1:8480"}) is None


def _asked(base: str, path: str, *headers: tuple[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection(base.removeprefix("http://"))
    try:
        connection.putrequest("GET", path, skip_host=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/contacts", "/_sandbox/requests", "/openapi.json"])
def test_the_guard_stands_before_every_address(path: str) -> None:
    """Behind a real port, with good credentials: whoever knows them may still be a page."""
    with running_sandbox(SandboxConfig(link_base="http://sandbox.example.com")) as base:
        usual = tuple(usual_headers(path).items())
        named = _asked(base, path, ("host", "evil.example"), *usual)
        twice = _asked(base, path, ("host", "127.0.0.1"), ("host", "evil.example"), *usual)
        page = _asked(base, path, ("host", "127.0.0.1"), ("origin", "http://evil.example"), *usual)
        ours = _asked(base, path, ("host", "127.0.0.1"), *usual)
        links = _asked(base, path, ("host", "sandbox.example.com"), *usual)

    assert [named[0], twice[0], page[0], ours[0], links[0]] == [421, 400, 403, 200, 200]
    assert "127.0.0.1 or localhost" in json.loads(named[1])["errorText"]
