"""Every row of tests/hostile/xml is a typed error of the real client, soon and in little memory."""

import tracemalloc

import effort
import pytest
import tally
from growth import bounded
from hostile.xml.documents import DOCUMENTS, END, GOOD
from msgspec import structs
from service.support import ID, Clock, Wire, answer, failure, service, with_client

from reconciler.errors import Malformed, ServiceError, Unavailable
from reconciler.service.http import media

XML = structs.replace(service(), format="xml")
seconds_max = 10.0  # of our own processor time for one document; most of it is the measuring
memory_max = 96 * 1024 * 1024  # bytes, six times the largest body that is read at all


def _expected(words: str) -> type[ServiceError]:
    """What is too large is cut off while it arrives, before anybody asks what it is."""
    return Unavailable if words.startswith("larger") else Malformed


def test_the_corpus_is_as_large_as_it_says() -> None:
    """The issue asks for sixty; names are unique, or a row would hide behind another."""
    names = [name for name, _, _ in DOCUMENTS]

    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize(("body", "words"), [pytest.param(*row[1:], id=row[0]) for row in DOCUMENTS])
def test_no_document_of_the_corpus_is_an_empty_list(body: bytes, words: str) -> None:
    """R5: an unknown shape is an error; its reason names the fault and quotes nothing."""
    listed = failure(Wire(answer(200, body)), lambda client: client.contacts.list(), settings=XML)

    assert isinstance(listed, _expected(words))
    assert words in str(listed)
    assert "Jane" not in str(listed)
    assert listed.next
    tally.count("bad inputs", "XML documents")


@effort.sample(len(DOCUMENTS) // 6)
@pytest.mark.parametrize(("body", "words"), [pytest.param(*row[1:], id=row[0]) for row in DOCUMENTS])
def test_no_document_of_the_corpus_is_a_contact(body: bytes, words: str) -> None:
    """What is written back must have been read whole."""
    read = failure(Wire(answer(200, body)), lambda client: client.contacts.get(ID), settings=XML)

    assert isinstance(read, _expected(words))
    assert words in str(read) or "it is no contact" in str(read)


@pytest.mark.parametrize(("body", "words"), [pytest.param(*row[1:], id=row[0]) for row in DOCUMENTS])
def test_no_document_of_the_corpus_takes_long_or_much(body: bytes, words: str) -> None:
    """S8: the caps hold before the memory is spent, not after."""
    with bounded(seconds_max):
        tracemalloc.start()
        try:
            read = media.decode_body(body, "contact", "xml")
            assert words == ""
            assert isinstance(read, dict)
        except media.BadBody as error:
            assert words in str(error)  # noqa: PT017 - either way is right; the claim is about its cost
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()

    assert peak < memory_max


def test_the_good_documents_of_the_corpus_are_read() -> None:
    """Or the whole corpus would be refused for one slip in its frame."""
    rows = with_client(Wire(answer(200, GOOD)), lambda client: client.contacts.list(), settings=XML)
    none = with_client(Wire(answer(200, END)), lambda client: client.contacts.list(), settings=XML)

    assert [(row.remote_id, row.body["firstName"]) for row in rows] == [("A1", "Jane")]
    assert (list(none), none.complete) == ([], True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 500])
@pytest.mark.parametrize(("body", "_words"), [pytest.param(*row[1:], id=row[0]) for row in DOCUMENTS[:60:6]])
def test_a_hostile_error_body_changes_nothing_about_the_error(status: int, body: bytes, _words: str) -> None:
    """The status decides; a page that says 404 is not the service saying that somebody is gone."""
    error = failure(Wire(answer(status, body)), lambda client: client.contacts.get(ID), settings=XML)

    assert error.status == status
    assert "Jane" not in str(error)


def test_the_words_of_an_error_in_xml_are_shown() -> None:
    """Facts 8: summary and text, in the form that was asked for."""
    body = (
        b'<e:error xmlns:e="http://schemas.api.whispir.com"><errorSummary>Your request failed. '
        b"</errorSummary><errorText>name already exists</errorText></e:error>"
    )
    for settings in (XML, service()):
        wire = Wire(answer(422, body))
        error = failure(
            wire,
            lambda client: client.contacts.create({"firstName": "Jane"}),
            clock=Clock(),
            settings=settings,
        )
        assert "Your request failed. name already exists" in str(error)
        assert wire.methods == ["POST"]
