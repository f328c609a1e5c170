"""Claims about addresses: no id leads off its template, no link is followed, no key is in a base address."""

import asyncio
import string
from collections.abc import Coroutine
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
import tally
from hypothesis import given
from hypothesis import strategies as st
from service.support import BASE, ID, Clock, Wire, answer, contact, service, with_client

from reconciler.errors import InputError, SettingsError
from reconciler.messaging.client import ServiceClient
from reconciler.service.http import urls

HOSTILE = (
    *(f"a{sign}b" for sign in string.punctuation if sign not in "-_"),
    *(f"a{chr(code)}b" for code in (*range(0x21), 0x7F, 0x85, 0xA0, 0xAD, 0x200B, 0x202E, 0x2028, 0x2029)),
    *("", " ", ".", "..", "...", "/", "//", "\\", "../x", "..\\x", "./x", "x/..", "x/../y", "/x", "x/", "~"),
    *("../../w2/resources/5", "%2e%2e", "%2E%2E%2Fx", "%252e%252e", "..%2f", "%2f", "%5c", "%00", "a%20b"),
    *("a\r\nHost: evil.test", "\ufeffa", "a?limit=1", "?", "#", "a;v=1", "@evil.test", "http://evil.test"),
    *("//evil.test/x", "https://evil.test/contacts/1", "javascript:alert(1)", "file:///x", "{id}", "${a}"),
    *(".a", "a.", "a..b", "\u00e9", "\uff41", "\uff11", "\u0661\u0662", "\u6f22", "\U0001f642", "a\u0301"),
    *("\u2024\u2024", "\uff0e\uff0e", "\u2215", "\uff0f", "\u0130", "a" * 129, "a" * 100_000, "-" * 129),
    *("null\n", "ID\n", "\nID", " ID", "ID ", "ID\u00a0", "\ud800"),
)

# "" is the one workspace that is no id and is meant: the default one.
HOSTILE_WORKSPACES = tuple(hostile for hostile in HOSTILE if hostile)
PLACES = ("remote_id", "workspace", "parent")
REFUSED = {"remote_id": 9, "workspace": 11, "parent": 5}  # of the eleven calls below


async def everything(client: ServiceClient, *, remote_id: str, workspace: str, parent: str) -> list[object]:
    """Every call that takes an id, with these ids; what each ends with."""
    collections = [client[kind] for kind in ("contact", "device", "resource")]
    calls: list[Coroutine[Any, Any, object]] = [
        *(one.get(remote_id, workspace=workspace, parent=parent) for one in collections),
        *(one.replace(remote_id, {}, workspace=workspace, parent=parent) for one in collections),
        *(one.delete(remote_id, workspace=workspace, parent=parent) for one in collections),
        client.devices.create({}, workspace=workspace, parent=parent),
        client.devices.list(workspace=workspace, parent=parent),
    ]
    return list(await asyncio.gather(*calls, return_exceptions=True))


def test_the_hostile_ids_are_more_than_a_hundred() -> None:
    assert len(set(HOSTILE)) >= 120


@pytest.mark.parametrize("place", PLACES)
def test_no_hostile_id_ever_sends_a_request(place: str) -> None:
    """`..` in an id once turned a delete in one workspace into a delete in another; "" emptied the path."""
    wire = Wire(answer(200, contact(ID)))
    # Without the hostile id these are left: lists and creates that take no id of their own.
    below = f"/workspaces/{ID}"
    left = {"remote_id": {f"{below}/contacts/{ID}/devices", f"{below}/contacts/{ID}"}, "workspace": set()}
    left["parent"] = {f"{below}/contacts/{ID}", f"{below}/resources/{ID}"}

    async def work(client: ServiceClient) -> None:
        for hostile in HOSTILE if place != "workspace" else HOSTILE_WORKSPACES:
            results = await everything(client, **{**dict.fromkeys(PLACES, ID), place: hostile})
            assert sum(isinstance(result, InputError) for result in results) >= REFUSED[place], ascii(hostile)

    with_client(wire, work, clock=Clock())

    assert {request.url.path for request in wire.sent} <= left[place]
    if place == "remote_id":  # the same ids in the other places are counted once
        tally.count("bad inputs", "ids", len(HOSTILE))


@given(st.text(max_size=200))
def test_whatever_is_accepted_as_an_id_stays_one_segment_of_the_path(text: str) -> None:
    try:
        built = urls.fill_path("/workspaces/{wid}/contacts/{id}", {"wid": "W1", "id": text})
    except InputError:
        return

    assert httpx2.URL(BASE + built).path == f"/workspaces/W1/contacts/{text}"
    assert unquote(built).count("/") == 4


@pytest.mark.parametrize("good", ["0", "a", "-", "_", "4C8FE1A2B3D4E5F6", "a-b_c", "A" * 128])
def test_letters_digits_dash_and_underscore_are_an_id(good: str) -> None:
    assert urls.fill_path("/contacts/{id}", {"id": good}) == f"/contacts/{good}"


def test_a_refused_id_is_shown_short_and_escaped() -> None:
    with pytest.raises(InputError) as raised:
        urls.check_id("\x1b[31m" + "x" * 500)

    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 100


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        (f"https://api.elsewhere.test/contacts/{ID}", ID),
        (f"https://api.elsewhere.test/workspaces/W1/contacts/{ID}?limit=20&offset=0", ID),
        (f"https://api.elsewhere.test/contacts/{ID}?apikey=secret", ID),
        (f"https://api.elsewhere.test/contacts/{ID}#top", ID),
        (f"https://api.elsewhere.test/contacts/{ID}/", ID),
        (f"https://user:password@elsewhere.test/contacts/{ID}", ID),
        (f"//elsewhere.test/contacts/{ID}", ID),
        (f"/contacts/{ID}", ID),
        (f"/v1/contacts/{ID}", ID),
        (f"contacts/{ID}", ID),
        (f"../contacts/{ID}", ID),
        (ID, ""),
        (f"/{ID}", ""),
        (f"/resources/{ID}", ""),
        (f"/contacts/x/{ID}", ""),
        ("https://api.elsewhere.test/contacts", ""),
        ("https://api.elsewhere.test/contacts/", ""),
        ("https://contacts/x", ""),
        ("https://api.elsewhere.test", ""),
        ("/contacts/..", ""),
        ("/contacts/a%2fb", ""),
        ("/contacts/a b", ""),
        (f"/x?y=/contacts/{ID}", ""),
        (f"/x#/contacts/{ID}", ""),
        ("", ""),
        ("?", ""),
        ("//", ""),
        ("/", ""),
    ],
)
def test_an_id_is_taken_from_the_path_of_a_link_and_from_nothing_else(link: str, wanted: str) -> None:
    """The service writes other hosts, our own query and even the key into its links."""
    assert urls.id_of(link, "contacts") == wanted


@given(st.text(max_size=100))
def test_no_link_gives_anything_but_an_id(link: str) -> None:
    found = urls.id_of(link)

    assert not found or urls.ID.fullmatch(found)


@pytest.mark.parametrize(
    ("base_url", "wanted"),
    [
        ("https://api.example.com", "https://api.example.com:443"),
        ("https://API.Example.com/", "https://api.example.com:443"),
        ("HTTPS://api.example.com:443", "https://api.example.com:443"),
        ("https://api.example.com:8443/v1", "https://api.example.com:8443"),
        ("http://127.0.0.1:8480", "http://127.0.0.1:8480"),
        ("http://localhost", "http://localhost:80"),
        ("http://[::1]:8480", "http://[::1]:8480"),
    ],
)
def test_the_origin_has_one_form(base_url: str, wanted: str) -> None:
    """It is part of the store's and the plan's identity: two spellings must not be two services."""
    assert urls.origin_of(base_url) == wanted


BAD_BASES = (
    *(
        "",
        " ",
        "api.example.com",
        "//api.example.com",
        "ftp://api.example.com",
        "file:///etc",
        "https://",
        "https:/x",
    ),
    *("https:///x", "https://:443", "https://@api.example.com", "https://user@api.example.com"),
    *("https://user:canary-key@api.example.com", "https://api.example.com?apikey=canary-key"),
    *("https://api.example.com/?", "https://api.example.com#x", "https://api.example.com/#"),
    *("https://api.example.com:0", "https://api.example.com:65536", "https://api.example.com:x"),
    *("https://api.example.com:-1", "https://api.example.com:443:443", "https://api..example.com"),
    *("https://.example.com", "https://example.com.", "https://-example.com", "https://exam_ple.com"),
    *(
        "https://ex\u00e4mple.com",
        "https://example.com\u3002evil.test",
        "https://api.example.com\\@evil.test",
    ),
    *("https://api.example.com/a/../b", "https://api.example.com/..", "https://api.example.com/./x"),
    *("https://api.example.com/a//b", "https://api.example.com/a b", "https://api.example.com/%2e%2e"),
    *(
        "https://api.example.com\n",
        "https://api.example.com/\x00",
        " https://api.example.com",
        "https://[::1",
    ),
    *(
        "https://[evil.test]",
        "https://a" + "a" * 63 + ".test",
        "https://" + "a." * 200 + "test",
        "https://1.2.3.4.:80",
    ),
)


@pytest.mark.parametrize("base_url", BAD_BASES)
def test_a_base_address_with_anything_surprising_in_it_is_refused(base_url: str) -> None:
    wire = Wire(answer(200, contact(ID)))

    with pytest.raises(SettingsError, match=r"service\.base_url") as raised:
        with_client(wire, lambda client: client.contacts.get(ID), settings=service(base_url))

    assert wire.sent == []
    assert raised.value.next
    assert "canary" not in str(raised.value)
    tally.count("bad inputs", "base addresses")


def test_a_query_value_never_ends_its_parameter() -> None:
    text = urls.encode_query((("firstName", "a&b=c#d?e/é ü+"), ("fields", "a,b")))

    assert text == "firstName=a%26b%3Dc%23d%3Fe%2F%C3%A9%20%C3%BC%2B&fields=a,b"


@pytest.mark.parametrize(
    "address",
    [
        "https://u:canary%40example.com/",
        "https://u:canary",
        "https://u%3Acanary%40example.com",
        "https://u:canary@example.com",
        "https://example.com/?apikey=canary",
        "https://example.com/%3Fapikey=canary",
        "u:canary%40example.com",
        "https://example.com:canary/v1",
    ],
)
def test_no_password_is_shown_of_an_address_that_cannot_be_used(address: str) -> None:
    """Whoever forgets a sign, or encodes one too many, sees the password in the log of a job."""
    with pytest.raises(urls.UnusableUrl) as caught:
        urls.read_base(address)

    assert "canary" not in f"{caught.value} {caught.value.next}"
