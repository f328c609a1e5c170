"""Claims about bodies: strict JSON only, nothing cut is accepted, nothing explodes, nothing is quoted."""

import json
import math
import sys
from contextlib import suppress
from types import FrameType
from typing import Any

import effort
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from service.support import ID, contact, listing

from reconciler.service.answers import Answer, Call
from reconciler.service.http import media, refusals
from reconciler.service.http.media import BadBody, decode_body, depth_max, encode_body, values_max
from reconciler.service.xml import documents as xml

DEVICE = {
    "id": ID,
    "deviceName": "Jane's phone",
    "appId": "com.example.oncall",
    "pushToken": 't\u00f6ken\\"{[',
}
SAMPLES: dict[str, dict[str, Any]] = {
    "a page": listing([contact("A1", note="caf\u00e9 \U0001f642"), contact("A2")], "1 to 2 of 2    "),
    "the end": {"status": "No records found", "link": []},
    "a contact": {**contact(ID), "devices": [DEVICE], "locations": [{"longitude": 0.0, "latitude": -1.5e-3}]},
    "a resource": {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "link": []},
    "an error": {"errorSummary": "No such record. ", "errorText": "Not Found", "link": []},
    "numbers and words": {"a": 1, "b": -2.5, "c": True, "d": None, "e": [], "f": {}, "g": "\\u0041"},
}

NESTED = b'{"a":' * 5000 + b"1" + b"}" * 5000
HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "spaces": b" \r\n\t ",
    "NUL": b"\x00",
    "a page in HTML": b"<!DOCTYPE html><html><body>Welcome</body></html>",
    "HTML after spaces": b"\n\n  <HTML><head></head></HTML>",
    "an HTML comment": b"<!-- maintenance -->",
    "XML": b'<?xml version="1.0"?><contacts/>',
    "an entity bomb": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>',
    "plain words": b"Your request has been accepted for processing",
    "null": b"null",
    "true": b"true",
    "a number": b"42",
    "a text": b'"No records found"',
    "an empty array": b"[]",
    "an array of rows": b'[{"id":"A1"}]',
    "two documents": b'{"status":"No records found"}{"status":"No records found"}',
    "two lines of JSON": b'{"a":1}\n{"b":2}',
    "trailing words": b'{"contacts":[]} OK',
    "a trailing comma": b'{"contacts":[],}',
    "a trailing comma in an array": b'{"contacts":[1,]}',
    "a comment": b'{"contacts":[] /* none */}',
    "single quotes": b"{'contacts':[]}",
    "bare keys": b"{contacts:[]}",
    "a byte order mark": b'\xef\xbb\xbf{"status":"No records found"}',
    "UTF-16": '{"status":"No records found"}'.encode("utf-16"),
    "UTF-32": '{"status":"No records found"}'.encode("utf-32"),
    "Latin-1": '{"firstName":"Ren\u00e9"}'.encode("latin-1"),
    "overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "a raw surrogate": b'{"a":"\xed\xa0\x80"}',
    "a lone high surrogate": b'{"a":"\\ud800"}',
    "a lone low surrogate": b'{"a":"\\uDC00"}',
    "a lone surrogate as a key": b'{"\\ud800":1}',
    "a deep lone surrogate": b'{"a":[{"b":["\\udfff"]}]}',
    "surrogates the wrong way round": b'{"a":"\\udc00\\ud800"}',
    "a duplicate key": b'{"contacts":[],"contacts":[{"id":"A1"}]}',
    "a duplicate key inside": b'{"contacts":[{"id":"A1","id":"A2"}]}',
    "a duplicate key by escape": b'{"id":1,"\\u0069d":2}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b'{"a":-Infinity}',
    "a number beyond doubles": b'{"a":1e999}',
    "a number below doubles": b'{"a":-1e999}',
    "a number of 5,000 digits": b'{"a":' + b"9" * 5000 + b"}",
    "a leading zero": b'{"a":007}',
    "a plus sign": b'{"a":+1}',
    "hexadecimal": b'{"a":0x10}',
    "an underscore": b'{"a":1_0}',
    "a bare point": b'{"a":.5}',
    "a control character": b'{"a":"\x01"}',
    "a line break in a text": b'{"a":"x\ny"}',
    "a bad escape": b'{"a":"\\x41"}',
    "half an escape": b'{"a":"\\u00"}',
    "5,000 objects inside each other": NESTED,
    "100,000 arrays inside each other": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 open arrays": b'{"a":' + b"[" * 100_000,
    "too many values": b'{"a":[' + b"1," * values_max + b"1]}",
    "too many empty lists": b'{"a":[' + b"[[]]," * (values_max // 3) + b"[]]}",
    "65 levels": b'{"a":' + b"[" * depth_max + b"]" * depth_max + b"}",
    "65 levels behind bracketed texts": b'{"x":"]]]}}}","a":'
    + b'["]",' * depth_max
    + b"1"
    + b"]" * depth_max
    + b"}",
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    "random bytes": bytes(range(256)),
    "a JSONP call": b'callback({"contacts":[]})',
    "a guard": b')]}\',\n{"contacts":[]}',
    "form data": b"status=No+records+found",
    "MessagePack": b"\x81\xa8contacts\x90",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_in_words_that_quote_nothing_of_it(name: str) -> None:
    with pytest.raises(BadBody) as raised:
        decode_body(HOSTILE[name])

    assert str(raised.value).startswith(("it ", "a key "))
    assert len(str(raised.value)) < 70


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_body_cut_at_any_byte_is_refused(name: str, *, ascii_only: bool) -> None:
    """A connection that ends early must never make a list shorter: only the last brace completes it."""
    whole = json.dumps(SAMPLES[name], ensure_ascii=ascii_only).encode()

    assert decode_body(whole) == SAMPLES[name]
    for end in range(len(whole)):
        with pytest.raises(BadBody):
            decode_body(whole[:end])


def test_sixty_four_levels_are_read() -> None:
    deep = b'{"a":' + b"[" * (depth_max - 1) + b"]" * (depth_max - 1) + b"}"

    assert decode_body(deep)


def test_brackets_inside_texts_are_no_levels() -> None:
    texts = {"a": "[" * 500, "b": '"]]}}\\"' * 100, "c": "{" * 500}

    assert decode_body(encode_body(texts)) == texts


def test_a_surrogate_pair_is_one_character() -> None:
    assert decode_body(b'{"a":"\\ud83d\\ude42"}') == {"a": "\U0001f642"}


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(st.dictionaries(st.text(), values))
def test_what_is_encoded_is_decoded_to_the_same(document: dict[str, Any]) -> None:
    """Law 6, in JSON: fields that nobody knows must survive a read and a write."""
    assert decode_body(encode_body(document)) == document


@given(st.binary(max_size=200))
def test_no_bytes_give_anything_but_an_object_or_a_refusal(body: bytes) -> None:
    with suppress(BadBody):
        assert isinstance(decode_body(body), dict)


def test_a_media_type_names_vendor_kind_version_and_form() -> None:
    assert media.media_type("service", "contactdevice") == "application/vnd.service.contactdevice-v1+json"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            b'{"errorSummary":"Not accepted. ","errorText":"firstName is missing"}',
            "Not accepted. firstName is missing",
        ),
        (b'{"errorSummary":"No","errorText":"","errorDetail":"e"}', "No e"),
        (b'{"message":"Forbidden"}', "Forbidden"),
        (b'{"status":"x","message":"m","detail":"d"}', "m d"),
        (b'{"errorText":5}', ""),
        (b"Request size limit exceeded", "Request size limit exceeded"),
        (b"<html>Forbidden</html>", ""),
        (b"[1,2]", ""),
        (b'{"cut', ""),
        (b"", ""),
    ],
)
def test_the_services_own_words_are_found_in_every_form_of_error(body: bytes, wanted: str) -> None:
    assert media.read_error_words(body).words == wanted


def test_floats_keep_their_value() -> None:
    assert decode_body(b'{"a":0.1,"b":1e-7,"c":-0.0}') == {"a": 0.1, "b": 1e-7, "c": -0.0}
    assert math.copysign(1, decode_body(b'{"c":-0.0}')["c"]) == -1


def test_commas_in_a_text_are_no_values() -> None:
    """A text of a million commas is one value; a cut one is none."""
    text = "," * (values_max + 1)

    assert decode_body(f'{{"a":"{text}"}}'.encode())["a"] == text
    assert decode_body(f'{{"a":"\\"{text}"}}'.encode())["a"] == f'"{text}'
    with pytest.raises(BadBody, match="cut off"):
        decode_body(f'{{"a":"\\"{text}'.encode())


def test_an_error_is_decoded_once_for_its_words_and_for_whose_it_is() -> None:
    """A 404 is believed where the body is the service's own form, and not where it is a proxy's page."""
    assert media.read_error_words(b'{"errorText":"gone"}') == media.ErrorWords("gone", is_document=True)
    assert media.read_error_words(b"{}") == media.ErrorWords("", is_document=True)
    assert media.read_error_words(b"not here") == media.ErrorWords("not here", is_document=False)
    assert media.read_error_words(b"<html>not here</html>") == media.ErrorWords("", is_document=False)
    assert len(media.read_error_words(b'{"errorText":"' + b"x" * 200_000 + b'"}').words) == media.words_max


@pytest.mark.parametrize("status", [403, 404, 422, 503])
@pytest.mark.parametrize(
    "body",
    [
        b'{"errorSummary":"No","errorText":"gone"}',
        b'<e:error xmlns:e="http://schemas.api.whispir.com"><errorSummary>No</errorSummary></e:error>',
        b"<html>not here</html>",
    ],
    ids=["json", "xml", "page"],
)
def test_the_body_of_an_error_is_decoded_once(status: int, body: bytes) -> None:
    """Whoever answers decides how large it is; the words, the code and whose it is come from one decoding."""
    counted = {media._decode_json.__code__: 0, xml.decode_xml.__code__: 0}

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in counted:
            counted[frame.f_code] += 1

    sys.setprofile(count)
    try:
        refusals.judge_refusal(Call("GET", "/contacts/A1", "contact"), Answer(status, {}, body), conceal=str)
    finally:
        sys.setprofile(None)

    assert sum(counted.values()) == 1


_TEXTS_ONLY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=15,
)
_DAMAGE = st.sampled_from([b'"', b":", b",", b"{", b"}", b"]", b"\xff", b"\x1f", b'"a":null,', b"tr", b" "])


@settings(max_examples=effort.count(small=300, full=2000))
@given(_TEXTS_ONLY, st.lists(st.tuples(st.integers(0, 200), _DAMAGE), max_size=1))
def test_the_quick_reader_and_the_strict_one_agree(value: Any, damage: list[tuple[int, bytes]]) -> None:
    """Bodies of texts alone are read by another reader; one number more, and the strict one reads them."""
    inner = json.dumps(value, ensure_ascii=False).encode()
    for where, sign in damage:
        at = where % (len(inner) + 1)
        inner = inner[:at] + sign + inner[at:]

    read: list[object] = []
    for more in (b"null", b"1"):
        try:
            read.append(decode_body(b'{"in":' + inner + b',"last":' + more + b"}").get("in"))
        except BadBody:
            read.append(BadBody)

    assert read[0] == read[1]


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=15,
)
_MORE_DAMAGE = (
    _DAMAGE
    | st.sampled_from([b"\\", b'\\"', b"\\u0061", b"\\ud800", b'"contacts":[],', b'"":0,', b"[[[[[[[["])
    | st.sampled_from([b"0", b"-0", b"1e5", b"1E400", b"0.10", b".5", b"18446744073709551616", b"NaN"])
)


@example([], [(1, b'"contacts":[],')])
@example([{"a": 1}], [(18, b"0000000000000000000")])
@settings(max_examples=effort.count(small=300, full=2000))
@given(
    st.lists(st.dictionaries(st.text(max_size=3), _ANY, max_size=4), max_size=3),
    st.lists(st.tuples(st.integers(0, 400), _MORE_DAMAGE), max_size=2),
)
def test_a_compact_body_is_what_the_other_readers_make_of_it(
    rows: list[dict[str, Any]], damage: list[tuple[int, bytes]]
) -> None:
    """A page without blanks is read in one pass; a blank before it, and the stricter readers have the word.

    Values have their types as well: 1 is not 1.0, and no true.
    """
    body = json.dumps({"contacts": rows, "status": ""}, ensure_ascii=False, separators=(",", ":")).encode()
    for where, sign in damage:
        at = where % (len(body) + 1)
        body = body[:at] + sign + body[at:]

    read: list[str] = []
    for text in (body, b" " + body):
        try:
            read.append(repr(decode_body(text)))
        except BadBody as error:
            read.append(f"refused: {error}")

    assert read[0] == read[1]
    if not read[0].startswith("refused"):
        assert read[0] == repr(json.loads(body, object_pairs_hook=_take_each_name_once))


def _take_each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)
