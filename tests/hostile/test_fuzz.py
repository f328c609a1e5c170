"""Whatever arrives, a reader gives a value or one of our errors, soon: generated input, and mutated corpora.

The mutations start from the rows of the corpora, so that they get past the first check. The ordinary run
has some thousands of executions, the same ones each time; HYPOTHESIS_PROFILE=random looks further.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import effort
import pytest
import tally
from growth import bounded
from hostile import corpora
from hostile.manifests import yaml_inputs
from hostile.xml.documents import DOCUMENTS, END, GOOD
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service.test_media import HOSTILE

from reconciler.core import calls
from reconciler.core.compare import normalize
from reconciler.errors import InputError, Malformed, SettingsError
from reconciler.manifest.rosters.table import read_csv
from reconciler.messaging.replies import parse_reply
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree
from reconciler.service.http import media, urls
from reconciler.service.paging import ListRequest, read_page
from reconciler.service.profile import load_profile
from reconciler.settings.reader import read_settings

FIXED = os.environ.get("HYPOTHESIS_PROFILE", "fixed") == "fixed"
EXAMPLES = effort.count(small=40, full=200) if FIXED else 5_000
seconds_max = 5.0  # of processor time for one input of at most some kilobytes
size_max = 4_000  # bytes of a seed: what is large on purpose has its row in a corpus

PROFILE = load_profile("service")
TOKENS = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"'", b"\\", b"\\u", b"\\ud800", b"#", b"&a", b"*a", b"!!x "),
    *(b"<", b">", b"</", b"/>", b"<!", b"<!DOCTYPE x>", b"<![CDATA[", b"]]>", b"&", b"&#0;", b"&x;", b"?>"),
    *(
        b"\n",
        b"\r",
        b"\t",
        b"\0",
        b"\x1b",
        b"\x85",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xae",
    ),
    *(b"null", b"true", b"NaN", b"-0", b"1e999", b"9" * 30, b"0x1", b"1_0", b"\xd9\xa1", b"${env:A}", b"{a}"),
    *(b"..", b"/", b"//", b"@", b"?", b"%2e", b"%", b";", b"<<: ", b"- ", b"? ", b"---\n", b"|\n", b"  "),
)


def _seeds(*more: bytes, **corpus: str) -> list[bytes]:
    rows = [case.data for name in corpus.values() for case in corpora.cases(name)]
    return sorted({row for row in (*more, *rows) if len(row) <= size_max})


SEEDS = {
    "manifest in YAML": _seeds(*(yaml_inputs.HEAD + row[1] for row in yaml_inputs.CASES)),
    "manifest in JSON": _seeds(*(row[1] for row in yaml_inputs.JSON_FILES)),
    "roster": _seeds(of="rosters"),
    "page in JSON": _seeds(*HOSTILE.values(), of="pages", and_="contacts"),
    "page in XML": _seeds(GOOD, END, *(row[1] for row in DOCUMENTS), of="pages-xml"),
    "callback in JSON": _seeds(
        b'{"messageid":"4C8F","from":{"name":"J"},"responseMessage":{"content":"Yes"},"customParameters":{"a":"b"}}'
    ),
    "callback in XML": _seeds(
        b"<deliveryResponse xmlns='http://schemas.api.whispir.com'><messageid>4C8F</messageid><from><name>J</name></from>"
        b"<responseMessage><content>Yes</content></responseMessage></deliveryResponse>"
    ),
    "link": _seeds(of="links"),
    "settings": _seeds(of="settings"),
    "profile": _seeds(of="profiles"),
    "header": [b"7", b"Fri, 20 Nov 2026 10:00:07 GMT", b"Friday, 20-Nov-26 10:00:07 GMT"],
}


@st.composite
def mutated(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed, cut, doubled, spliced with another, or with tokens and bytes put into it."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 5))):
        at, to = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        match draw(st.sampled_from(("put", "put", "cut", "double", "splice", "flip", "raw"))):
            case "put":
                data = data[:at] + draw(st.sampled_from(TOKENS)) + data[at:]
            case "cut":
                data = data[:at] + data[to:]
            case "double":
                data = data[:to] + data[at:to] * draw(st.integers(1, 20)) + data[to:]
            case "splice":
                other = draw(st.sampled_from(seeds))
                data = data[:at] + other[draw(st.integers(0, len(other))) :]
            case "flip" if at < len(data):
                data = data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]
            case _:
                data = data[:at] + draw(st.binary(max_size=8)) + data[at:]
        data = data[: 4 * size_max]
    return data


def _manifest(data: bytes, name: str) -> None:
    tree = read_tree(data, name)
    assert all(problem.where.startswith(name) and problem.what for problem in tree.problems)
    if not tree.broken:
        for problem in check_tree("manifest", tree):
            assert problem.line >= 0
            assert problem.what


def _page(data: bytes, form: media.Form) -> None:
    with suppress(media.BadBody):
        document = media.decode_body(data, "contact", form)
        normalize.flatten_body("contact", document)
        with suppress(media.BadBody):
            for row in read_page(document, ListRequest("contacts", 0, PROFILE)).rows:
                assert urls.ID.fullmatch(row.remote_id)
                normalize.flatten_body("contact", row.body)
        assert media.decode_body(media.encode_body(document)) == document
    media.read_error_words(data)


def _table(data: bytes) -> None:
    table = read_csv(data, "list.csv")
    assert table.problems or all(len(cells) == len(table.header) for _, cells in table.rows)
    assert all(problem.next for problem in table.problems)


def _callback(data: bytes, kind: str) -> None:
    with suppress(Malformed):
        reply = parse_reply(data, kind)
        assert urls.ID.fullmatch(reply.message_id)


def _link(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    found = urls.id_of(text, "contacts")
    assert not found or urls.ID.fullmatch(found)
    with suppress(InputError):
        assert urls.fill_path("/contacts/{id}", {"id": text}) == f"/contacts/{text}"
    with suppress(SettingsError):
        assert urls.parse_base_url(text).origin.startswith(("http://", "https://"))


def _settings(data: bytes) -> None:
    with TemporaryDirectory() as folder, suppress(SettingsError):
        Path(folder, "reconciler.yaml").write_bytes(data)
        read_settings(config=None, environment=None, cwd=Path(folder), environ={}, service=False)


def _profile(data: bytes) -> None:
    with TemporaryDirectory() as folder, suppress(SettingsError):
        Path(folder, "ours.yaml").write_bytes(data)
        load_profile(str(Path(folder, "ours.yaml")))


def _header(data: bytes) -> None:
    text = data.decode("latin-1")
    assert 0 <= calls.parse_retry_after_s(text, "Fri, 20 Nov 2026 10:00:00 GMT") <= calls.retry_after_max_s
    moment = calls.parse_http_date(text)
    assert moment is None or moment.utcoffset() is not None


READERS: dict[str, Callable[[bytes], None]] = {
    "manifest in YAML": lambda data: _manifest(data, "a.yaml"),
    "manifest in JSON": lambda data: _manifest(data, "a.json"),
    "roster": _table,
    "page in JSON": lambda data: _page(data, "json"),
    "page in XML": lambda data: _page(data, "xml"),
    "callback in JSON": lambda data: _callback(data, "application/json"),
    "callback in XML": lambda data: _callback(data, "application/xml"),
    "link": _link,
    "settings": _settings,
    "profile": _profile,
    "header": _header,
}

fuzzed = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def _soon(name: str, data: bytes) -> None:
    with bounded(seconds_max):
        READERS[name](data)
    tally.count("fuzz executions", name)


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_row_gives_a_value_or_one_of_our_errors(name: str) -> None:
    """Anything else escapes as a traceback, here and before a user."""

    @fuzzed
    @given(mutated(SEEDS[name]))
    def run(data: bytes) -> None:
        _soon(name, data)

    run()


@pytest.mark.parametrize("name", READERS)
def test_any_bytes_give_a_value_or_one_of_our_errors(name: str) -> None:
    """Nothing of ours in it: bytes, and texts of all characters, halves of them among these."""
    texts = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)

    @fuzzed
    @given(st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
    def run(data: bytes) -> None:
        _soon(name, data)

    run()


def test_the_corpora_give_seeds_to_every_reader() -> None:
    """A mutation of nothing is nothing."""
    assert all(SEEDS[name] for name in READERS)
    assert sum(len(seeds) for seeds in SEEDS.values()) >= 800
