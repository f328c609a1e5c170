"""Claims about silence: the key, the password and their encodings appear nowhere but on the wire."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import get_args
from urllib.parse import quote, quote_plus

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from logged import everything_logged
from service.socket_server import free_port
from service.support import (
    BASE,
    CALLS,
    ID,
    KEY,
    PASSWORD,
    USER,
    Wire,
    answer,
    app_wire,
    contact,
    failure,
    listing,
    sandbox,
    sandbox_config,
    service,
    with_client,
)

from reconciler.cli.console import output
from reconciler.errors import ReconcilerError, ServiceError
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Proxy, SendKey
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import Line, line, plain, wrap_lines
from reconciler.sandbox.app import running_sandbox
from reconciler.service.http import auth
from reconciler.service.http.auth import Credentials, hidden
from reconciler.service.http.limiter import Timing
from reconciler.service.http.transport import Transport

BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
FORMS = (
    *(
        KEY,
        quote(KEY, safe=""),
        KEY.encode().hex(),
        base64.b64encode(KEY.encode()).decode(),
        KEY[:8],
        KEY[::-1],
    ),
    *(PASSWORD, PASSWORD.encode().hex(), BASIC, BASIC[:12], USER),
)

FAILURES: dict[str, httpx2.Response | Exception] = {
    **{
        f"{status}": answer(status, {"errorText": f"no {KEY} {PASSWORD}"})
        for status in (400, 401, 403, 404, 429, 500)
    },
    "redirect": answer(302, location=f"{BASE}/?apikey={KEY}"),
    "HTML": answer(200, f"<html>{KEY}</html>".encode()),
    "an error under a success": answer(200, {"errorText": KEY}),
    "error code": answer(403, x_error_code=KEY),
    "refused": httpx2.ConnectError(f"no {KEY}", request=httpx2.Request("GET", f"{BASE}?apikey={quote(KEY)}")),
    "reset": httpx2.ReadError(f"no {KEY}", request=httpx2.Request("GET", f"{BASE}?apikey={quote(KEY)}")),
    "protocol": httpx2.RemoteProtocolError(f"bad header {KEY}"),
    "system": OSError(f"no {KEY}"),
}


def texts_of(error: BaseException | None) -> Iterator[str]:
    """Everything that an error and what led to it would print."""
    while error is not None:
        yield from (str(error), repr(error), repr(error.args), repr(vars(error)))
        error = error.__cause__ or error.__context__


def leaks(*texts: str) -> list[str]:
    return [form for form in FORMS if any(form in text for text in texts)]


@pytest.mark.parametrize("send_key", get_args(SendKey))
@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("name", FAILURES)
def test_no_failure_shows_a_secret(name: str, method: str, send_key: SendKey) -> None:
    with everything_logged() as records:
        error = failure(Wire(FAILURES[name]), CALLS[method], settings=service(send_key=send_key))

    assert leaks(*texts_of(error), error.next, error.path, error.code) == []
    assert leaks(*(record.getMessage() for record in records)) == []


@pytest.mark.parametrize("send_key", get_args(SendKey))
def test_no_log_line_of_a_real_connection_shows_a_secret(send_key: SendKey) -> None:
    """The library logs whole URLs at INFO and every header of an answer at DEBUG."""

    async def work(base_url: str) -> None:
        settings = service(base_url, send_key=send_key)
        async with open_service_client(settings, timing=Timing.real()) as client:
            await client.contacts.list()
            with pytest.raises(ServiceError):
                await client.contacts.get("NOBODY")

    with everything_logged() as records, running_sandbox(sandbox_config(contacts=21)) as base_url:
        asyncio.run(work(base_url))
        asyncio.run(refused())

    assert leaks(*(f"{record.getMessage()} {record.args}" for record in records)) == []
    assert not [record for record in records if record.name.startswith(("httpx2", "httpcore2"))]


async def refused() -> None:
    async with open_service_client(
        service(f"http://127.0.0.1:{free_port()}"), timing=Timing.real()
    ) as client:
        with pytest.raises(ServiceError):
            await client.contacts.get(ID)


def test_no_repr_of_a_client_or_its_parts_shows_a_secret() -> None:
    """A traceback with locals, a debugger, a crash report: they print reprs."""
    settings = service(send_key="query")
    transport = Transport(settings, sandbox(), timing=Timing.real(), vendor="service", read_only=True)
    credentials = Credentials(settings.auth)

    async def work(client: ServiceClient) -> str:
        return f"{client!r} {vars(client)!r} {client.calls!r} {client.contacts!r} {vars(client.contacts)!r}"

    texts = [repr(settings), repr(settings.auth), repr(transport), repr(vars(transport)), repr(credentials)]
    assert leaks(*texts, str(credentials), with_client(sandbox(), work, settings=settings)) == []


def test_the_key_in_a_link_does_not_come_back_in_a_body() -> None:
    """The service writes our query into its links: from there it would reach plans and the store."""
    uri = f"https://elsewhere.test/contacts/{ID}?apikey={quote(KEY, safe='')}&x=1"
    link = [{"uri": uri, "rel": "self", "method": "GET"}]
    body = {**contact(ID), "link": link, "devices": [{"id": "D1", "deviceName": "p", "link": link[0]}]}
    wire = app_wire(
        lambda request: answer(200, listing([body], "1 to 1 of 1") if "limit" in request.url.params else body)
    )

    async def work(client: ServiceClient) -> list[object]:
        rows = await client.contacts.list()
        return [rows[0].body, (await client.contacts.get(ID)).body, await client.devices.list(parent=ID)]

    bodies = with_client(wire, work)

    assert leaks(repr(bodies)) == []
    assert "apikey" not in repr(bodies)


def test_found_bodies_stay_out_of_reprs() -> None:
    """They hold people's data and push tokens; a failing test or a traceback would print them."""
    wire = Wire(answer(200, contact(ID, workEmailAddress1="jane.doe@example.com")))

    found = with_client(wire, lambda client: client.contacts.get(ID))

    assert "jane" not in repr(found)


def test_credentials_are_concealed_in_every_spelling_and_the_longest_first() -> None:
    credentials = Credentials(Auth(Secret("u"), Secret("pass word"), Secret("pass word/1")))

    text = credentials.conceal("a pass word/1 b pass%20word%2F1 c pass word d pass%20word e")

    assert text == f"a {hidden} b {hidden} c {hidden} d {hidden} e"


ENCODED = "pW9xq2r~canary/pass+word= \u00e9"


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "user:"])
@pytest.mark.parametrize("after", ["", "a", "ab", "abc"])
def test_credentials_are_concealed_in_base64_wherever_they_stand_in_it(before: str, after: str) -> None:
    """A proxy shows a whole header in base64; where the secret begins in it decides its spelling."""
    credentials = Credentials(Auth(Secret("u"), Secret(ENCODED), Secret("another-key")))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        told = encode(f"{before}{ENCODED}{after}".encode()).decode()

        left = credentials.conceal(told).replace(hidden, "")

        assert len(left) <= 2 * len(before + after) + 6


@pytest.mark.parametrize(
    "told",
    [
        quote(ENCODED, safe=""),
        quote(ENCODED),
        quote_plus(ENCODED),
        quote(ENCODED, safe="").replace("%2F", "%2f"),
        ENCODED.encode().hex(),
        ENCODED.encode().hex().upper(),
        json.dumps(ENCODED),
        json.dumps(ENCODED, ensure_ascii=False).replace("/", "\\/"),
    ],
)
def test_credentials_are_concealed_in_hex_percent_and_json(told: str) -> None:
    """In either letter case, and where only some characters are encoded."""
    credentials = Credentials(Auth(Secret("u"), Secret(ENCODED), Secret("another-key")))

    assert credentials.conceal(told).strip('"') == hidden
    assert credentials.conceal_anywhere(told).strip('"') == hidden


SHOWN = "pw ##[x \u3164\u00e9::a\u0301\u0302\u0303\u0304\u0305 of-ours"


def _printed(rendered: Sequence[Line]) -> str:
    """Rendered lines as a terminal of 40 columns gets them."""
    return escape_ci_commands(plain(wrap_lines(rendered, 40)))


@pytest.mark.parametrize(
    "printed",
    [
        lambda told: escape_ci_commands(escape_control(told)),
        lambda told: output.inert_json(json.dumps(told, ensure_ascii=False)),
        lambda told: output.inert_json(json.dumps(told)),
        lambda told: _printed([line("a field with a name of some length: ", told)]),
        lambda told: _printed([line("words to get there ", told)]),
    ],
    ids=["text", "json", "json-ascii", "wrapped", "wrapped-inside"],
)
def test_credentials_are_concealed_as_output_spells_them(printed: Callable[[str], str]) -> None:
    """What is searched was made inert, freed of orders to a runner, and broken into lines before."""
    credentials = Credentials(Auth(Secret("u"), Secret(SHOWN), Secret("another-key")))

    text = credentials.conceal_anywhere(printed(SHOWN))

    assert hidden in text
    assert "pw" not in text
    assert "of-ours" not in text


CUT = "canary-and-##[of]-a-password"


@pytest.mark.parametrize("shown", range(4, 20))
def test_of_a_secret_in_a_value_that_is_cut_nothing_is_left(shown: int) -> None:
    """A plan shows 60 characters of a value: the first half of a key is half of the work to guess it."""
    credentials = Credentials(
        Auth(Secret("u"), Secret("canary-and-##[of]-a-password"), Secret("another-key"))
    )
    told = escape_control("0" * 40 + "canary-and-##[of]-a-password", limit=41 + shown)

    assert credentials.conceal_anywhere(escape_ci_commands(told)) == "0" * 40 + hidden


def test_a_secret_of_three_letters_does_not_tear_up_every_text() -> None:
    """Replacing `key` everywhere would tell it, and make sentences unreadable."""
    credentials = Credentials(Auth(Secret("u"), Secret("key"), Secret("key")))

    assert credentials.conceal("a key is a key") == "a key is a key"


@pytest.mark.parametrize(
    ("username", "key", "send_key", "works"),
    [
        ("user:name", "key", "header", False),
        ("user", "k\u00e9y", "header", False),
        ("user", "k\u00e9y", "query", True),
        ("user", "k\u00e9y", "both", False),
        ("us\u00e9r", "key", "header", True),
        ("user", "key with spaces", "header", True),
    ],
)
def test_credentials_that_cannot_be_carried_are_refused_before_anything_is_sent(
    username: str, key: str, send_key: SendKey, *, works: bool
) -> None:
    make: Callable[[], Credentials] = lambda: Credentials(  # noqa: E731 - called twice below
        Auth(Secret(username), Secret("p"), Secret(key), send_key)
    )
    if works:
        assert make().headers[0][0] == "Authorization"
        return
    with pytest.raises(ReconcilerError) as raised:
        make()
    assert username not in str(raised.value) or username == "user"
    assert key not in str(raised.value) or key == "key"


@given(st.data(), st.text('az/+% "\\\\#:é☃9', min_size=4, max_size=7), st.booleans())
def test_no_form_begins_with_what_is_not_looked_at(data: st.DataObject, secret: str, shown: bool) -> None:  # noqa: FBT001 - drawn
    """Most of a text is passed over character by character, and no form of a secret may be."""
    form = data.draw(st.sampled_from(tuple(auth._forms_of(secret, shown=shown))))
    text = data.draw(st.from_regex(re.compile(form), fullmatch=True))

    assert auth._compile_spellings((secret,), shown=shown).match(text)


_CUT = "long sécret/1"
_PARTS = (_CUT, "long", "sécret/1", "long\n   ", "another-key", "another", "-key", "x", "\n", " ")
# In JSON, cut short, and broken at its space, as output does it.
_SPELT = (json.dumps(_CUT)[1:-1], "long s\u2026", "long\n    sécret/1", "long \x1b[2m\n", "YW5vdGhlci1rZXk=")


@given(
    st.lists(st.sampled_from((*_PARTS, *_SPELT)), max_size=30).map("".join),
    st.lists(st.integers(min_value=0, max_value=200), max_size=12),
    st.sampled_from((_CUT, "longsécret/1", "two words more")),
)
@example("a\nlong\n    sécret/1", [7], _CUT)
@example("a\nsome longsécret/1", [13], "longsécret/1")
def test_what_comes_in_pieces_is_concealed_as_a_whole(text: str, cuts: list[int], password: str) -> None:
    """A report is printed while it is made, and a secret may stand where two pieces meet."""
    credentials = Credentials(Auth(Secret("u"), Secret(password), Secret("another-key")))
    ends = [0, *sorted(min(one, len(text)) for one in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(ends)]

    assert "".join(credentials.conceal_pieces(pieces)) == credentials.conceal_anywhere(text)


def test_what_comes_in_pieces_leaves_in_pieces() -> None:
    """No more is held back than a secret may be long."""
    credentials = Credentials(Auth(Secret("u"), Secret("two words"), Secret("another-key")))
    seen: list[str] = []

    def lines() -> Iterator[str]:
        for number in range(1_000):
            seen.append(f"line {number}\n")
            yield seen[-1]

    told = ""
    for piece in credentials.conceal_pieces(lines()):
        told += piece
        assert sum(map(len, seen[:-2])) <= len(told)

    assert told == "".join(seen)


def test_a_proxys_password_is_hidden_as_our_own_secrets_are() -> None:
    """A page of the way may quote it; the login travels in base64, and a token has no password."""
    proxy = Proxy("http://proxy.example.com:3128", "HTTPS_PROXY", Secret("me:canary-of-the-proxy"))
    token = Proxy("http://proxy.example.com:3128", "HTTPS_PROXY", Secret("canary-as-a-token:"))
    auth = service().auth

    for login, text in (
        (proxy, "canary-of-the-proxy"),
        (proxy, base64.b64encode(b"me:canary-of-the-proxy").decode()),
        (token, "canary-as-a-token"),
        (token, base64.b64encode(b"canary-as-a-token:").decode()),
    ):
        known = Credentials(auth, login)
        assert text not in known.conceal(f"seen: {text}!")
        assert text not in known.conceal_anywhere(f"seen: {text}!")
