"""Callbacks of somebody who is not the service, or not itself: each refused, none kept, counts printed.

Reliability S15 (forged), S19 (compared on bytes), S20 (repeats), S22 (size, time, depth).
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
import tally
from messaging.post import HEADER, KEY, Endpoint, endpoint, payload, request, said
from simulation.virtualloop import in_no_time, pause

from reconciler.messaging import receiver
from reconciler.messaging.receiver import ReceiverConfig
from reconciler.model.secrets import Secret

GOOD = json.dumps(payload()).encode()
OTHER_HEADERS = ("Authorization", "X-Api-Key", "X-Callback-Key", "X-Other-Callback-Key", "Cookie")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Endpoint]:
    found = endpoint(tmp_path)
    with closing(found.inbox):
        yield found


class Forged(NamedTuple):
    """A request whose sender does not know the key, or the address."""

    what: str
    headers: tuple[tuple[str, str | bytes], ...] = ((HEADER, KEY),)
    path: str = "/"
    query: str = ""
    method: str = "POST"


def _wrong_keys() -> Iterator[str | bytes]:
    yield from (KEY[:length] for length in range(len(KEY)))
    yield from (KEY[:at] + "~" + KEY[at + 1 :] for at in range(len(KEY)))
    yield from (
        KEY + "x",
        KEY + " ",
        " " + KEY,
        KEY.upper(),
        KEY * 2,
        "x" * 10_000,
        "(secret)",
        "None",
        "null",
    )
    yield from ("clé", "🔑", "\uff4b\uff45\uff59", "\u202e" + KEY, KEY + "\u200b")
    yield from (b"\xff\xfe", b"\x00", KEY.encode() + b"\x00", KEY.encode("utf-16-le"), b"\xed\xa0\x80")


def _forged() -> Iterator[Forged]:
    yield Forged("no key", ())
    for number, key in enumerate(_wrong_keys()):
        yield Forged(f"wrong key {number}", ((HEADER, key),))
    for name in OTHER_HEADERS:
        yield Forged(f"key in {name}", ((name, KEY),))
    for query in (f"auth={KEY}", f"Auth={KEY}", f"apikey={KEY}", f"{HEADER}={KEY}"):
        yield Forged(f"key in the query {query[:5]}", (), query=query)
    yield Forged("two right keys", ((HEADER, KEY), (HEADER, KEY)))
    yield Forged("a right and a wrong key", ((HEADER, KEY), (HEADER, "x")))
    yield Forged("a wrong and a right key", ((HEADER, "x"), (HEADER, KEY)))
    for path in ("", "//", "/x", "/.", "/..", "/%2f", "/\u2215", "/ ", "/\x00", "/index.html", "/\ud800"):
        yield Forged(f"path {path!a}", path=path)
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "post", "PROPFIND"):
        yield Forged(f"method {method}", method=method)


FORGED = tuple(_forged())


def test_no_forged_callback_is_kept(here: Endpoint, record_property: Callable[[str, object], None]) -> None:
    """All get the same 404 and nothing else, whichever part was wrong."""
    answers = {
        one.what: asyncio.run(
            request(here.app, one.method, [GOOD], path=one.path, query=one.query, headers=one.headers)
        )
        for one in FORGED
    }
    record_property("forged callbacks", len(answers))
    tally.count("bad inputs", "callbacks", len(answers))

    assert len(answers) == len(FORGED) >= 100
    assert {what: status for what, status in answers.items() if status != 404} == {}
    assert {refused.why for refused in here.refused} == {"unknown caller"}
    assert (here.told, here.inbox.replies()) == ([], ())
    assert here.post(payload()) == 200


def _malformed() -> Iterator[tuple[str, bytes, str]]:
    json_type, xml_type = "application/json", "application/xml"
    for length in range(0, len(GOOD), 16):
        yield f"cut at {length}", GOOD[:length], json_type
    for value in ("null", "true", "1", '"text"', "[]", "{}", "[[]]", "NaN", "Infinity", "{'a': 1}", "{,}"):
        yield f"not an object: {value}", value.encode(), json_type
    for key in ("responseMessage", "from", "messageid", "customParameters", "location"):
        values: tuple[Any, ...] = (7, True, "text", ["a"], [{"a": 1}], {"a": {"b": 1}})
        for value in values:
            if (key, type(value)) in (("messageid", str), ("location", str)):
                continue
            if key == "customParameters" and value == [{"a": 1}]:
                continue  # the form of a draft page, which is read
            if key == "from" and value == {"a": {"b": 1}}:
                continue  # a sender with a part that nobody knows is still nobody's harm
            yield f"{key} is {value!r}", json.dumps(payload(**{key: value})).encode(), json_type
    yield "deep arrays", b"[" * 30_000 + b"]" * 30_000, json_type
    yield "deep objects", b'{"a":' * 10_000 + b"1" + b"}" * 10_000, json_type
    yield "deep parameters", b'{"customParameters":' * 3_000 + b"{}" + b"}" * 3_000, json_type
    yield "duplicate keys that differ", GOOD[:-1] + b',"messageid":"FF"}', json_type
    yield "two documents", GOOD + GOOD, json_type
    yield "not UTF-8", GOOD.replace(b"Yes", b"\xff\xfe"), json_type
    yield "UTF-16", GOOD.decode().encode("utf-16"), json_type
    yield "a lone surrogate", GOOD.replace(b"Yes", b"\\ud800"), json_type
    yield "a huge number", GOOD.replace(b'"42"', b"9" * 60_000), json_type
    yield "a huge exponent", GOOD.replace(b'"42"', b"1e999999"), json_type
    yield "an id that is a path", json.dumps(payload(messageid="../x")).encode(), json_type
    yield "JSON called XML", GOOD, xml_type
    yield "a form", b"messageid=4C8FE1A2", "application/x-www-form-urlencoded"
    yield "multipart", b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x"
    yield "HTML", b"<html><body>Yes</body></html>", "text/html"
    for name, text in _bad_xml():
        yield name, text.encode(), xml_type


def _bad_xml() -> Iterator[tuple[str, str]]:
    inner = (
        "<messageid>4C8F</messageid><responseMessage><content>Yes</content></responseMessage>"
        "<from><name>&n;</name></from>"
    )
    yield "a DOCTYPE", f"<!DOCTYPE d><deliveryResponse>{inner.replace('&n;', '')}</deliveryResponse>"
    yield "an entity", f'<!DOCTYPE d [<!ENTITY n "Jane">]><deliveryResponse>{inner}</deliveryResponse>'
    yield (
        "an external entity",
        f'<!DOCTYPE d [<!ENTITY n SYSTEM "file:///etc/hostname">]><deliveryResponse>{inner}</deliveryResponse>',
    )
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    yield (
        "a thousand laughs",
        f'<!DOCTYPE d [<!ENTITY l0 "ha">{laughs}]><deliveryResponse>&l9;{inner}</deliveryResponse>',
    )
    yield "an unknown entity", f"<deliveryResponse>{inner}</deliveryResponse>"
    yield "another root", "<message><messageid>4C8F</messageid></message>"
    yield "no root", ""
    yield "unclosed", "<deliveryResponse><messageid>4C8F"
    yield "deep elements", "<deliveryResponse>" + "<a>" * 5_000 + "</a>" * 5_000 + "</deliveryResponse>"
    yield "no message", "<deliveryResponse/>"


MALFORMED = tuple(_malformed())


def test_what_cannot_be_read_is_refused_whole(
    here: Endpoint, record_property: Callable[[str, object], None]
) -> None:
    """From somebody who knows the key: 400, nothing kept, no word of it in what the operator is told."""
    answers = {
        what: here.post(body, headers={HEADER: KEY, "Content-Type": kind}) for what, body, kind in MALFORMED
    }
    record_property("malformed callbacks", len(answers))
    tally.count("bad inputs", "callbacks", len(answers))

    assert len(answers) == len(MALFORMED) >= 80
    assert {what: status for what, status in answers.items() if status != 400} == {}
    assert (here.told, here.inbox.replies()) == ([], ())
    shown = "".join(refused.what for refused in here.refused)
    assert "Jane" not in shown
    assert "+61491570156" not in shown
    assert here.post(payload()) == 200


def test_oversized_callbacks_cost_what_a_small_one_costs(
    here: Endpoint, record_property: Callable[[str, object], None]
) -> None:
    """64 KiB are kept of none of them, and after four times that nothing is read any more."""
    limit = ReceiverConfig(key=None).body_max
    over = [said("x" * size) for size in (limit, limit + 1, 2 * limit, 10 * limit, 20 * limit)]
    endless = [b"x" * limit] * 10_000
    answers = [here.post(body) for body in over]
    answers += [
        asyncio.run(request(here.app, "POST", endless[:count], headers={HEADER: KEY}))
        for count in (2, 5, 100, 10_000)
    ]
    record_property("oversized callbacks", len(answers))
    tally.count("bad inputs", "callbacks", len(answers))

    assert answers == [413] * 9
    assert here.inbox.replies() == ()
    assert here.post(said("x" * (limit - 2_000))) == 200


def test_compressed_callbacks_are_not_unpacked(here: Endpoint) -> None:
    """A kilobyte can become a gigabyte."""
    for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "x"):
        headers = {HEADER: KEY, "Content-Type": "application/json", "Content-Encoding": coding}
        assert here.post(GOOD, headers=headers) == 415
    assert here.inbox.replies() == ()


def test_slow_callbacks_end_at_the_deadline(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Fifty at once, a byte at a time: all are ended together, and a good one passes before any of them."""
    deadline_s, chunk_s = 5.0, 1.0
    found = endpoint(tmp_path, ReceiverConfig(key=Secret(KEY), read_deadline_s=deadline_s))
    drip = [bytes([byte]) for byte in GOOD]

    async def story() -> tuple[list[int], list[float], int]:
        loop = asyncio.get_running_loop()
        slow = [
            loop.create_task(request(found.app, "POST", drip, headers={HEADER: key}, chunk_delay_s=chunk_s))
            for key in [KEY, "wrong"] * 25
        ]
        await pause(chunk_s)
        good = await request(found.app, "POST", [GOOD], headers={HEADER: KEY})
        times, ended = [loop.time()], sum(one.done() for one in slow)
        answers = [good, *await asyncio.gather(*slow)]
        return answers, [*times, loop.time()], ended

    with closing(found.inbox):
        answers, times, ended = in_no_time(story())
    record_property("slow callbacks", len(answers) - 1)

    assert answers == [200, *[408, 404] * 25]
    assert (times, ended, len(found.told)) == ([chunk_s, deadline_s], 0, 1)


def test_a_storm_of_repeats_is_one_reply(
    here: Endpoint, record_property: Callable[[str, object], None]
) -> None:
    """Two hundred at once: the inbox decides, not the order in which they arrive."""

    async def story() -> list[int]:
        calls = [request(here.app, "POST", [GOOD], headers={HEADER: KEY}) for _ in range(200)]
        return list(await asyncio.gather(*calls))

    answers = asyncio.run(story())
    record_property("repeated callbacks", len(answers))

    assert answers == [200] * 200
    assert (len(here.told), len(here.inbox.replies())) == (1, 1)


TEXTS = (
    "👍",
    "\uff39\uff25\uff33",
    "ja\u0308",
    "\u202eON",
    "YES\u200b",
    "yes\r\nno",
    "\u0661\u0662",
    "=cmd|'/c'!A1",
    "\u001b[2J",
    "<script>",
    "'; DROP TABLE reply; --",
    "a" * 20_000,
    " ",
    "\u2028",
    "\U0001d4ce\u212f\U0001d4c8",
    "%s%n",
    "{}",
    "\\",
)


def test_every_text_that_people_can_write_is_taken(here: Endpoint) -> None:
    """A reply with an emoji must not become 500 and be lost (reliability S19)."""
    assert [here.post(said(text)) for text in TEXTS] == [200] * len(TEXTS)

    assert [reply.content for reply in here.told] == list(TEXTS)
    assert [kept.reply for kept in here.inbox.replies()] == here.told


def steps(work: Coroutine[Any, Any, int]) -> tuple[int, list[str]]:
    """What `work` returns, and every function that ran in the receiver or was called there."""
    taken: list[str] = []

    def note(frame: FrameType, event: str, called: Any) -> None:
        if frame.f_code.co_filename == receiver.__file__ and event in ("call", "c_call"):
            taken.append(frame.f_code.co_qualname if event == "call" else called.__qualname__)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return in_no_time(work), taken
    finally:
        sys.setprofile(before)


def test_a_wrong_key_and_a_wrong_path_take_the_same_steps(here: Endpoint) -> None:
    """Every refusal takes the same time, so that it does not show how much of a guess was right."""
    cases: dict[str, dict[str, Any]] = {
        "first letter": {"headers": {HEADER: "X" + KEY[1:]}},
        "last letter": {"headers": {HEADER: KEY[:-1] + "X"}},
        "another length": {"headers": {HEADER: KEY * 2}},
        "no key": {"headers": {"X-Other": KEY}},
        "path": {"headers": {HEADER: KEY}, "path": "/x"},
    }

    found = {name: steps(request(here.app, "POST", [GOOD], **case)) for name, case in cases.items()}

    status, first = found["first letter"]
    assert (status, first.count("compare_digest")) == (404, 2)
    assert {name: taken for name, taken in found.items() if taken != (404, first)} == {}
