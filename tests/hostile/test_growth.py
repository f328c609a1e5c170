"""Every parser of text that others wrote: 8 times the input, at most 24 times the time (tests/growth.py).

A shape that a limit refuses when it grows is no evidence, so the sizes stay below the limits; those limits
have tests of their own.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from growth import RATIO_MAX, ratio
from manifest.spreadsheets import error, formula, package, sheet, spreadsheet
from service.support import service

from reconciler.core.calls import parse_retry_after_s
from reconciler.core.compare.normalize import flatten_body, normalize_value
from reconciler.core.desired.resolve import resolve_desired
from reconciler.core.rules import Rules
from reconciler.core.runs import ticket
from reconciler.core.suggest import find_nearest
from reconciler.core.text import parse_instant, slugify
from reconciler.errors import Malformed, ReconcilerError, SettingsError
from reconciler.files.project_files import Unreadable, detect_private_content
from reconciler.manifest.load import load_manifests
from reconciler.manifest.rosters.roster import compile_template
from reconciler.manifest.rosters.roster_sources import read_roster
from reconciler.manifest.variables import ManifestVariables
from reconciler.messaging import message_shapes
from reconciler.messaging.replies import parse_reply
from reconciler.model.address import parse_address
from reconciler.parsing.tree import read_tree
from reconciler.report.escaping import escape_control
from reconciler.sandbox.refusals import Refusal
from reconciler.sandbox.xml_codec import read_xml
from reconciler.service import paging
from reconciler.service.answers import Answer, BadBody, Call
from reconciler.service.http import exchange, media, refusals, urls
from reconciler.service.http.auth import Credentials
from reconciler.service.paging import ListRequest, read_page
from reconciler.service.profile import load_profile, parse_profile

HEAD = "version: 1\nworkspace: ops\ncontacts:\n"
ROSTER = """
version: 1
workspace: ops
rosters:
  - file: hr.csv
    name: "{ID}"
    contacts:
      firstName: "{Name}"
      lastName: Doe
"""
PROFILE = load_profile("service")
CALL = Call("GET", "/contacts/x", "contact")

Shape = tuple[Callable[[int], str], int]  # the text of a size, and the small size

_API = "http://schemas.api.whispir.com"


def _contact(inside: str) -> str:
    return f'<n:contact xmlns:n="{_API}"><w>{inside}</w></n:contact>'


XML: dict[str, Shape] = {
    "elements of many names": (lambda n: _contact("".join(f"<e{at}/>" for at in range(n))), 1000),
    "elements of one name": (lambda n: _contact("<e/>" * n), 1000),
    "elements in turns": (lambda n: _contact("<e/>t<f/>" * n), 1000),
    "attributes beside many": (lambda n: _contact("".join(f'<e{at} a="1"/>' for at in range(n))), 1000),
    "attributes beside many fields": (
        lambda n: (
            f'<n:contact xmlns:n="{_API}">' + "".join(f'<e{at} a="1"/>' for at in range(n)) + "</n:contact>"
        ),
        400,
    ),
    "deep and wide": (lambda n: _contact(("<a>" * 50 + "</a>" * 50) * n), 50),
    "many namespaces": (lambda n: _contact("".join(f'<n:e xmlns:n="u{at}"/>' for at in range(n))), 1000),
    "many prefixes": (
        lambda n: _contact(
            "<x "
            + " ".join(f'xmlns:n{at}="u{at}"' for at in range(n))
            + ">"
            + "".join(f"<n{at}:e/>" for at in range(n))
            + "</x>"
        ),
        400,
    ),
    "many references": (lambda n: _contact("&lt;&#65;" * n), 20_000),
    "many sections": (lambda n: _contact("<![CDATA[x]]>" * n), 20_000),
    "many comments": (lambda n: _contact("<!---->" * n), 20_000),
    "a long attribute": (lambda n: _contact(f'<a b="{"x" * n}"/>'), 25_000),
    "a long text": (lambda n: _contact("x" * n), 200_000),
    "many lines": (lambda n: _contact("\n" * n), 200_000),
    "many rows": (
        lambda n: (
            f'<n:return xmlns:n="{_API}/dap"><n:contacts>'
            + "<n:contact><id>x</id></n:contact>" * n
            + "</n:contacts></n:return>"
        ),
        500,
    ),
    "many pairs": (
        lambda n: (
            f'<n:contact xmlns:n="{_API}"><customFields>'
            + "".join(f"<customField><fieldName>{at}</fieldName></customField>" for at in range(n))
            + "</customFields></n:contact>"
        ),
        500,
    ),
    "an open tag": (lambda n: _contact("<" * n), 20_000),
    "many declarations of entities": (lambda n: "<!DOCTYPE x [" + "<!ENTITY e 'x'>" * n + "]><x/>", 5_000),
}

JSON: dict[str, Shape] = {
    "keys of many names": (lambda n: "{" + ",".join(f'"k{at}":1' for at in range(n)) + "}", 4000),
    "one key many times": (lambda n: "{" + ",".join(['"k":1'] * n) + "}", 4000),
    "rows": (lambda n: '{"contacts":[' + ",".join(f'{{"id":"c{at}"}}' for at in range(n)) + "]}", 2000),
    "deep and wide": (lambda n: '{"a":[' + ",".join(["[" * 50 + "]" * 50] * n) + "]}", 100),
    "too deep": (lambda n: '{"a":' + "[" * n + "]" * n + "}", 50_000),
    "never closed": (lambda n: '{"a":' + "[" * n, 50_000),
    "escapes": (lambda n: '{"a":"' + "\\n" * n + '"}', 50_000),
    "an open text of quotes": (lambda n: '{"a":"' + '\\"' * n, 50_000),
    "an open text of quotes, and many commas": (lambda n: "," * 500_000 + '{"a":"' + '\\"' * n, 2000),
    "halves of characters": (lambda n: '{"a":"' + "\\ud83d\\ude00" * n + '"}', 20_000),
    "commas in a text": (lambda n: '{"a":"' + "," * n + '"}', 400_000),
    "long numbers": (lambda n: '{"a":[' + ",".join(["1" * 4000] * n) + "]}", 20),
    "a long number": (lambda n: '{"a":' + "1" * n + "}", 400_000),
    "a long fraction": (lambda n: '{"a":0.' + "1" * n + "}", 20_000),
    "white space": (lambda n: " " * n + "{}", 400_000),
    "links": (
        lambda n: '{"link":[' + ",".join(['{"rel":"self","uri":"/a/b?<>;,<>;"}'] * n) + "]}",
        1_700,  # so that both are read in one pass, which larger bodies are not
    ),
    "links with blanks": (
        lambda n: '{"link": [' + ", ".join(['{"rel": "self", "uri": "/a/b?<>;,<>;"}'] * n) + "]}",
        2000,
    ),
}


def _case(shapes: Mapping[str, tuple[Callable[[int], str | bytes], int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("make", "size"), [pytest.param(*row, id=name) for name, row in shapes.items()]
    )


def _bytes(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: make(size).encode()


@_case(XML)
def test_reading_xml_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """401 KiB of an answer once took 38 s."""

    def read(body: bytes) -> None:
        with suppress(media.BadBody):
            media.decode_body(body, "contact", "xml")

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


@_case(XML)
def test_writing_what_was_read_in_xml_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """Every write of an entity carries what nobody knows back, as it came."""

    def document(size: int) -> dict[str, object]:
        try:
            return media.decode_body(make(size).encode(), "contact", "xml")
        except media.BadBody:
            return {}

    assert ratio(lambda read: media.encode_body(read, "contact", "xml"), document, size) <= RATIO_MAX


@_case(JSON)
def test_reading_json_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """A page is decoded, its links are cut, its rows are found."""

    def read(body: bytes) -> None:
        with suppress(media.BadBody):
            document = media.decode_body(body)
            paging.strip_queries(document)
            flatten_body("contact", document)
            read_page(document, ListRequest("contacts", 0, PROFILE))

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


@_case(XML | JSON)
def test_reading_an_error_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """A refusal's words are searched for our secrets before they are shown."""
    conceal = Credentials(service().auth).conceal

    def judge(body: bytes) -> None:
        refusals.judge_refusal(CALL, Answer(404, {}, body), conceal=conceal)

    assert ratio(judge, _bytes(make), size) <= RATIO_MAX


REPLIES: dict[str, Shape] = {
    "parameters": (
        lambda n: (
            '{"messageid":"m","customParameters":{' + ",".join(f'"k{at}":"v"' for at in range(n)) + "}}"
        ),
        4000,
    ),
    "entries in entries": (
        lambda n: (
            '{"messageid":"m","responseMessage":{},"customParameters":' + '{"entry":[' * n + "]}" * n + "}"
        ),
        8,
    ),
    "one key in every letter case": (
        lambda n: (
            '{"messageid":"m",'
            + ",".join(f'"{format(at, "012b").replace("0", "r").replace("1", "R")}":1' for at in range(n))
            + "}"
        ),
        500,
    ),
    "elements of many names": (
        lambda n: (
            f'<n:deliveryResponse xmlns:n="{_API}"><w>'
            + "".join(f"<e{at}/>" for at in range(n))
            + "</w></n:deliveryResponse>"
        ),
        1000,
    ),
    "entries": (
        lambda n: (
            f'<n:deliveryResponse xmlns:n="{_API}"><customParameters>'
            + "".join(f"<entry><key>k{at}</key></entry>" for at in range(n))
            + "</customParameters></n:deliveryResponse>"
        ),
        500,
    ),
}


@_case(REPLIES)
def test_reading_a_callback_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """54 KB of a callback once held up all others for 0.4 s."""

    def read(body: bytes) -> None:
        with suppress(Malformed):
            parse_reply(body, "")

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


YAML: dict[str, Shape] = {
    "many contacts": (lambda n: HEAD + "".join(f"  c{at}:\n    firstName: a\n" for at in range(n)), 500),
    "one contact many times": (lambda n: HEAD + "  c:\n    firstName: a\n" * n, 100),
    "one key many times": (lambda n: HEAD + "  c:\n" + "    firstName: a\n" * n, 100),
    "keys that repeat": (lambda n: "".join(f"k{at}: 1\n" for at in range(n)) * 2, 100),
    "aliases": (
        lambda n: HEAD + "  c: &a\n    firstName: a\n" + "".join(f"  d{at}: *a\n" for at in range(n)),
        100,
    ),
    "anchors": (lambda n: HEAD + "".join(f"  d{at}: &a{at} x\n" for at in range(n)), 100),
    "tags": (lambda n: HEAD + "".join(f"  d{at}: !t{at} x\n" for at in range(n)), 100),
    "a long tag": (lambda n: HEAD + f"  d: !{'t' * n} x\n", 20_000),
    "a long anchor": (lambda n: HEAD + f"  d: &{'t' * n} x\n", 20_000),
    "unknown keys": (lambda n: HEAD + "".join(f"  c{at}:\n    fristName: a\n" for at in range(n)), 20),
    "unknown keys of one entry": (
        lambda n: HEAD + "  c:\n" + "".join(f"    k{at}: a\n" for at in range(n)),
        40,
    ),
    "null values": (lambda n: HEAD + "".join(f"  c{at}:\n    firstName:\n" for at in range(n)), 50),
    "brackets": (lambda n: HEAD + "  c: " + "[" * n, 20_000),
    "brackets in lines": (lambda n: HEAD + "  c: " + "[\n" * n, 20_000),
    "braces": (lambda n: HEAD + "  c: " + "{" * n, 20_000),
    "a long list": (lambda n: HEAD + "  c: [" + "a," * n + "]", 3000),
    "dashes": (lambda n: "- " * n, 20_000),
    "question marks": (lambda n: "? " * n, 20_000),
    "colons": (lambda n: "a: " * n, 20_000),
    "an open quote": (lambda n: HEAD + '  c: "' + "x\\n" * n, 20_000),
    "lines of one text": (lambda n: HEAD + "  c: |\n" + "    x\n" * n, 20_000),
    "empty lines": (lambda n: HEAD + "  c: a\n" + "\n" * n, 50_000),
    "lines of one plain text": (lambda n: HEAD + "  c: a\n" + "    x\n" * n, 20_000),
    "comments": (lambda n: HEAD + "  # x\n" * n, 20_000),
    "documents": (lambda n: "---\n" * n, 20_000),
    "directives": (lambda n: "%TAG !a! b\n" * n, 5000),
    "directives of many names": (lambda n: "".join(f"%TAG !a{at}! b\n" for at in range(n)) + "---\n", 5000),
    "variables": (lambda n: HEAD + "  c:\n    firstName: " + "${env:A}$${" * n, 20_000),
    "custom fields of one contact": (
        lambda n: (
            HEAD
            + "  c:\n    firstName: a\n    workEmailAddress1: a@example.com\n    custom:\n"
            + "".join(f"      k{at}: v\n" for at in range(n))
        ),
        1000,
    ),
    "contacts with one identity": (
        lambda n: HEAD + "".join(f"  c{at}: {{workEmailAddress1: a@example.com}}\n" for at in range(n)),
        50,
    ),
    "former names": (
        lambda n: (
            HEAD
            + "".join(
                f"  c{at}: {{workEmailAddress1: a{at}@example.com, meta: {{renamedFrom: b}}}}\n"
                for at in range(n)
            )
        ),
        50,
    ),
    "fields to ignore": (
        lambda n: (
            HEAD
            + "  c: {workEmailAddress1: a@example.com, meta: {ignore: ["
            + ",".join(f"custom.k{at}" for at in range(n))
            + "]}}\n"
        ),
        1000,
    ),
    "a long key": (lambda n: HEAD + f"  {'k' * n}: a\n", 100),
    "unfit characters": (lambda n: HEAD + "\u202e\n" * n, 5000),
    "a key of accents": (lambda n: HEAD + f"  a{(chr(0x301) + chr(0x327)) * n}: a\n", 1000),
    "a value of accents": (
        lambda n: HEAD + f"  c:\n    firstName: a{(chr(0x301) + chr(0x327)) * n}\n",
        1000,
    ),
    "a long word for one of a few": (lambda n: HEAD + f"  c:\n    {'firstName' * n}: a\n", 10),
    "a byte that is not UTF-8": (lambda n: "a\n" * n + "\udcff", 50_000),
}


@_case(YAML)
def test_reading_a_manifest_grows_with_its_size(
    make: Callable[[int], str], size: int, tmp_path: Path
) -> None:
    """A merge request of a stranger is validated before anybody reads it."""
    path = tmp_path / "a.yaml"

    def read(text: bytes) -> None:
        path.write_bytes(text)
        loaded = load_manifests([path], root=tmp_path, environ={"A": "x"}, variables=["A"])
        resolve_desired(loaded.manifests, Rules(workspaces=frozenset({"ops"})))

    def written(size: int) -> bytes:
        return make(size).encode("utf-8", "surrogateescape")

    assert ratio(read, written, size) <= RATIO_MAX


@pytest.mark.parametrize("name", ["deep", "wide", "repeated", "open", "keys"])
def test_reading_a_manifest_in_json_grows_with_its_size(name: str) -> None:
    shapes: dict[str, Callable[[int], str]] = {
        "deep": lambda n: '{"a":' + "[" * n,
        "wide": lambda n: '{"a":[' + ",".join(['"x"'] * n) + "]}",
        "repeated": lambda n: "{" + ",".join(['"k":"v"'] * (n // 10)) + "}",
        "open": lambda n: '{"a":"' + "\\n" * n,
        "keys": lambda n: "{" + ",".join(f'"k{at}":"v"' for at in range(n)) + "}",
    }
    assert ratio(lambda text: read_tree(text, "a.json"), _bytes(shapes[name]), 4000) <= RATIO_MAX


CSV: dict[str, Shape] = {
    "rows": (lambda n: "ID,Name\n" + "".join(f"{at},Jane\n" for at in range(n)), 1000),
    "columns": (lambda n: ",".join(f"c{at}" for at in range(n)) + "\n", 1000),
    "commas": (lambda n: "," * n, 2000),
    "columns of one name": (lambda n: "a," * n + "a\n", 2000),
    "commas in every row": (lambda n: "ID,Name\n" + ",,,,,,\n" * n, 100),
    "semicolons and commas": (lambda n: "a;" * n + "b," * n, 1000),
    "an open quote": (lambda n: 'ID,Name\n"' + "x\n" * n, 20_000),
    "quotes": (lambda n: "ID,Name\n" + '"""",""\n' * n, 2000),
    "a long cell": (lambda n: "ID,Name\n1," + "x" * n + "\n", 15_000),
    "a long title": (lambda n: "ID," + "x" * n + "\n" + "-,b\n" * n, 200),
    "names that are taken": (lambda n: "ID,Name\n" + "1,Jane\n" * n, 500),
    "rows without a name": (lambda n: "ID,Name\n" + "-,Jane\n" * n, 500),
    "hidden characters": (lambda n: "ID,Name\n" + "1,\u202e\n" * n, 100),
    "a long name of accents": (lambda n: f"ID,Name\na{(chr(0x301) + chr(0x327)) * n},b\n", 2000),
    "accents": (lambda n: "ID,Name\n" + "".join(f"{'a' + chr(0x301) * 20}{at},b\n" for at in range(n)), 200),
}


@_case(CSV)
def test_reading_a_roster_grows_with_its_size(make: Callable[[int], str], size: int, tmp_path: Path) -> None:
    """Rosters are exported by others, and come with merge requests too."""
    path = tmp_path / "a.yaml"
    path.write_text(ROSTER)

    def read(text: bytes) -> None:
        (tmp_path / "hr.csv").write_bytes(text)
        load_manifests([path], root=tmp_path, environ={}, variables=[])

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


RECORDS: dict[str, Shape] = {
    "objects": (lambda n: "[" + ",".join(f'{{"ID": {at}, "Name": "Jane"}}' for at in range(n)) + "]", 500),
    "a line each": (lambda n: "[" + ",\n".join(['{"ID": 1}'] * n) + "]", 1000),
    "keys of one object": (lambda n: "[{" + ",".join(f'"k{at}": 1' for at in range(n)) + "}]", 1000),
    "objects in objects": (lambda n: "[" + ",".join(['{"a": {"b": {"c": {"d": 1}}}}'] * n) + "]", 300),
    "lists": (lambda n: "[" + ",".join(['{"ID": [1, [2]]}'] * n) + "]", 500),
    "a long list": (lambda n: '[{"ID": [' + ",".join(["1"] * n) + "]}]", 5000),
    "a long text": (lambda n: '[{"ID": "' + "x" * n + '"}]', 50_000),
    "escapes": (lambda n: '[{"ID": "' + "\\u00e9" * n + '"}]', 10_000),
    "space": (lambda n: "[" + " \n" * n + '{"ID": 1}' + " \n" * n + "]", 50_000),
    "a long number": (lambda n: '[{"ID": ' + "1" * n + "}]", 50_000),
    "an open text": (lambda n: '[{"ID": "' + "x\\n" * n, 20_000),
}


@_case(RECORDS)
def test_reading_a_roster_in_json_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """Any interface writes them."""
    assert ratio(lambda data: read_roster(data, "hr.json", ""), _bytes(make), size) <= RATIO_MAX


SHEETS: dict[str, tuple[Callable[[int], bytes], int]] = {
    "rows": (lambda n: spreadsheet([("ID", "Name"), *((str(at), "Jane") for at in range(n))]), 500),
    "columns": (lambda n: spreadsheet([[f"c{at}" for at in range(n)]]), 500),
    "formulas": (lambda n: spreadsheet([("ID",), *[(formula("A1", "1"),)] * n]), 300),
    "errors": (lambda n: spreadsheet([("ID",), *[(error("#N/A"),)] * n]), 300),
    "numbers": (lambda n: spreadsheet([("ID",), *((at * 1.5,) for at in range(n))]), 500),
    "merged cells": (lambda n: spreadsheet([("ID",)], merged=[f"A{at}:B{at}" for at in range(2, n)]), 500),
    "sheets": (lambda n: package({f"s{at}": sheet([("ID",)]) for at in range(n)}), 50),
    "a long text": (lambda n: spreadsheet([("ID",), ("x" * n,)]), 20_000),
}


@_case(SHEETS)
def test_reading_a_roster_in_a_spreadsheet_grows_with_its_size(
    make: Callable[[int], bytes], size: int
) -> None:
    """They come by e-mail, and from programs that nobody knows."""

    def read(data: bytes) -> None:
        with suppress(Unreadable):  # of many sheets nobody says which
            read_roster(data, "hr.xlsx", "")

    assert ratio(read, make, size) <= RATIO_MAX


DETAILS: dict[str, Shape] = {
    "recipients": (
        lambda n: '{"messageStatuses":[' + ",".join(['{"name":"a","status":[{"type":"sms"}]}'] * n) + "]}",
        300,
    ),
    "channels of one recipient": (
        lambda n: (
            '{"messageStatuses":[{"name":"a","status":['
            + ",".join(['{"type":"sms","status":"SENT"}'] * n)
            + "]}]}"
        ),
        1000,
    ),
    "blank channels of one recipient": (
        lambda n: '{"messageStatuses":[{"name":"a","status":[' + ",".join(['{"type":"sms"}'] * n) + "]}]}",
        1000,
    ),
    "times": (
        lambda n: '{"messageStatuses":[{"name":"a","status":[{"sentTimestamp":"' + "1" * n + '"}]}]}',
        50_000,
    ),
}


@_case(DETAILS)
def test_reading_what_became_of_a_message_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """One page may hold everybody, with any number of channels."""

    def read(body: bytes) -> None:
        with suppress(BadBody):
            answer = Answer(200, {}, body, media="messagestatus")
            page = message_shapes.decode_row_page(answer, "messageStatuses", 0, PROFILE)
            for one in page.rows:
                message_shapes.parse_deliveries(one)

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


HEADERS: dict[str, tuple[str, Shape]] = {
    "ages": ("age", (lambda n: "0," * n, 5000)),
    "members": ("cache-status", (lambda n: "a;b;c," * n, 5000)),
    "commas": ("cache-status", (lambda n: "," * n, 20_000)),
    "semicolons": ("cache-status", (lambda n: ";" * n, 20_000)),
    "words": ("x-cache", (lambda n: "miss from a " * n, 5000)),
    "spaces": ("age", (lambda n: "0" + " " * n + "x", 50_000)),
}


@pytest.mark.parametrize(("header", "shape"), [pytest.param(*row, id=name) for name, row in HEADERS.items()])
def test_reading_a_header_grows_with_its_size(header: str, shape: Shape) -> None:
    """Any gateway on the way may add some; the HTTP library takes up to 100 KB of them."""
    assert ratio(lambda text: exchange.cache_evidence({header: text}), *shape) <= RATIO_MAX


WORDS: dict[str, Shape] = {
    "letters": (lambda n: "a" * n, 20_000),
    "slashes": (lambda n: "/" * n, 20_000),
    "slashes and dots": (lambda n: "/../" * n, 5000),
    "angle brackets": (lambda n: "<>;" * n, 5000),
    "question marks": (lambda n: "?#" * n, 5000),
    "colons": (lambda n: "http://" * n, 5000),
    "digits": (lambda n: "0" * n, 20_000),
    "spaces": (lambda n: " " * n + "x", 20_000),
    "braces": (lambda n: "{" * n, 20_000),
    "pairs of braces": (lambda n: "{{}}" * n, 5000),
    "columns": (lambda n: "{a}" * n, 5000),
    "dots and dashes": (lambda n: "a.-" * n, 5000),
    "accents": (lambda n: "a" + "\u0301" * n, 5000),
    "accents out of order": (lambda n: "a" + "\u0301\u0327" * n, 2000),
    "phone signs": (lambda n: "+(-) x" * n, 5000),
    "at signs": (lambda n: "a@" * n, 5000),
    "backslashes": (lambda n: "\\" * n, 20_000),
    "hash signs": (lambda n: "#1 " * n, 5000),
}
READERS: dict[str, Callable[[str], object]] = {
    "the id of a link": lambda text: urls.id_of(text, "contacts"),
    "an id": urls.ID.fullmatch,
    "a base address": lambda text: _quietly(urls.parse_base_url, text),
    "a query": lambda text: urls.encode_query((("a", text),), 5),
    "a date": paging.to_iso_date,
    "an instant": parse_instant,
    "a template": lambda text: compile_template(text, ("a", "b")),
    "a slug": slugify,
    "a value in its normal form": lambda text: normalize_value("contact", "firstName", text),
    "inert text": escape_control,
    "words of the service": refusals.escape_service_words,
    "a nearest name": lambda text: find_nearest("field", text, [text[::-1], f"{text}x", "firstName"]),
    "an address of ours": parse_address,
    "the name of a ticket": ticket.parse_ticket,
    "how long to wait": lambda text: parse_retry_after_s(text, text),
    "variables": lambda text: ManifestVariables({"a": "b"}, ["a"]).fill(text),
    "an accepted message": lambda text: _quietly(
        lambda text: message_shapes.decode_accepted_id(
            Answer(202, {"location": text}, text.encode(), media="message")
        ),
        text,
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_reading_a_text_grows_with_its_size(name: str) -> None:
    """Ids, links, dates, templates: each a pattern that could look for its end again and again."""
    for shape, (make, size) in WORDS.items():
        assert ratio(READERS[name], make, size) <= RATIO_MAX, shape


PROFILES: dict[str, Shape] = {
    "keys of many names": (lambda n: "".join(f"k{at}: a\n" for at in range(n)), 200),
    "items": (lambda n: "a: [" + "b," * n + "]\n", 200),
    "brackets": (lambda n: "[" * n, 2000),
    "tags": (lambda n: "".join(f"%TAG !a{at}! b\n" for at in range(n)) + "---\n", 100),
}


SIGNS = {
    "keys of a plan": (lambda n: '"fingerprint"' * n, 20_000),
    "spaces behind a key": (lambda n: '"fingerprint"' + " " * n, 200_000),
    "spaces": (lambda n: " " * n, 200_000),
    "dashes": (lambda n: "-" * n, 200_000),
    "beginnings of keys": (lambda n: "-----BEGIN " * n, 20_000),
    "a key that never ends": (lambda n: "-----BEGIN " + "A" * n, 200_000),
}


@_case(SIGNS)
def test_looking_for_private_content_grows_with_the_size(make: Callable[[int], str], size: int) -> None:
    """The whole of every payload and roster is looked through, up to 10 MiB each."""
    assert ratio(detect_private_content, _bytes(make), size) <= RATIO_MAX


@_case(PROFILES)
def test_reading_a_profile_grows_with_its_size(make: Callable[[int], str], size: int) -> None:
    """Up to 64 KiB, read before any call."""

    def read(data: bytes) -> None:
        with suppress(SettingsError):
            parse_profile(data, "ours.yaml")

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


@_case(XML | {"a long namespace": (lambda n: _contact(f'<w xmlns="{"u" * n}">' + "<e/>" * n + "</w>"), 1000)})
def test_the_sandbox_reads_xml_in_time_that_grows_with_its_size(
    make: Callable[[int], str], size: int
) -> None:
    """Whoever tries a client against it sends what a client may send."""

    def read(body: bytes) -> None:
        with suppress(Refusal):
            read_xml("contact", body)

    assert ratio(read, _bytes(make), size) <= RATIO_MAX


def _quietly(read: Callable[[str], object], text: str) -> None:
    with suppress(BadBody, ReconcilerError):
        read(text)


def test_a_name_is_compared_with_no_more_than_a_thousand_others() -> None:
    """Comparing takes the product of two lengths: a roster's header and the templates over it."""
    known = [f"Column {at:05}" for at in range(2000)]

    assert find_nearest("field", "column 00999", known) == "Column 00999"
    assert find_nearest("field", "column 01999", known) != "Column 01999"
    assert find_nearest("field", "x" * 101, ["x" * 101]) == ""
