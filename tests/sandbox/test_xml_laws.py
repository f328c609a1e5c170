"""JSON to XML and back, for every kind, over generated documents. Source: docs/service.md, XML."""

import xml.etree.ElementTree as ET
from typing import Any

import effort
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.sandbox.xml_codec import XML_FORMS, entity_namespace, frame_namespace, read_xml, write_xml

Documents = st.SearchStrategy[dict[str, Any]]

EXAMPLES = effort.count(small=60, full=600)  # of every kind
laws = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

# Few characters, and those that markup, line ends and encodings stumble over.
texts = st.text("aZ9 .&<>\"'];\t\n\r\u0085\u2028é𝄞\ufeff", max_size=4)
every_text = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], include_characters="\t\n\r", exclude_characters="\ufffe\uffff"
    )
)
whole = st.integers(-(10**12), 10**12)
numbers = whole | st.floats(allow_nan=False, allow_infinity=False)
moments = st.integers(0, 253_402_300_799_999)
pairs = st.dictionaries(texts, texts, max_size=2)


def a(**keys: st.SearchStrategy[Any]) -> Documents:
    """An object with an id and any of these keys."""
    return st.fixed_dictionaries({"id": texts}, optional=keys)


def many(inner: Documents) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(inner, max_size=2)


links = st.lists(
    st.fixed_dictionaries({"uri": texts, "rel": texts}, optional={"type": texts}),
    min_size=1,
    max_size=2,
)
device = a(deviceName=texts, status=texts, pushToken=texts, link=links)
reply = st.fixed_dictionaries({"channel": texts, "content": texts, "acknowledged": texts})
parts = st.dictionaries(st.sampled_from(["name", "mri", "mobile", "email", "voice", "footer"]), texts)
callback = a(
    name=texts,
    url=texts,
    auth=parts.filter(bool),
    retriesEnabled=st.booleans(),
    contentType=texts,
    link=links,
)

ENTITIES: dict[str, Documents] = {
    "company": a(link=links),
    "auth": a(token=texts, link=links),
    "error": a(errorSummary=texts, errorText=texts, errorDetail=texts, link=links),
    "workspace": a(projectName=texts, status=texts, projectNumber=texts, link=links),
    "contact": a(
        firstName=texts,
        timezone=texts,
        customLooking=texts,
        locations=many(
            st.fixed_dictionaries({"longitude": numbers, "latitude": numbers}, optional={"type": texts})
        ),
        messagingoptions=many(
            st.fixed_dictionaries({"channel": texts, "enabled": st.booleans(), "primary": texts})
        ),
        customFields=many(
            st.fixed_dictionaries({"fieldName": texts, "fieldValue": texts, "searchKey": texts})
        ),
        devices=many(device),
        link=links,
    ),
    "contactdevice": device,
    "resource": a(name=texts, mimeType=texts, derefUri=texts, link=links),
    "message": a(
        to=texts,
        responseCount=texts,
        repeatDays=whole,
        createdTime=moments,
        callbackParameters=pairs,
        voice=parts,
        link=links,
    ),
    "messagestatus": a(
        info=texts,
        categories=many(
            st.fixed_dictionaries({"name": texts, "recipientCount": whole, "percentageTotal": texts})
        ),
        status=st.lists(
            st.fixed_dictionaries({"type": texts, "status": texts}, optional={"sentTimestamp": moments}),
            min_size=1,
            max_size=2,
        ),
        link=links,
    ),
    "messageresponse": a(
        type=texts, responseCount=texts, responseMessage=reply, **{"from": parts.filter(bool)}, link=links
    ),
    "importcontact": a(
        resourceId=texts,
        importType=texts,
        importOptions=st.fixed_dictionaries({"importMode": texts}, optional={"fieldMapping": parts}),
    ),
    "api-callback": callback,
    "api-call": a(
        status=texts,
        responseMessage=reply,
        callback=st.fixed_dictionaries({"name": texts, "statusCode": whole}),
        link=st.lists(st.fixed_dictionaries({"uri": texts, "rel": texts}), min_size=1, max_size=2),
    ),
    "deliveryResponse": a(
        location=texts, responseMessage=reply, customParameters=pairs, **{"from": parts.filter(bool)}
    ),
}


def documents(kind: str) -> Documents:
    """One entity of the kind, or a list of some, or the list that says there are none."""
    entity, form = ENTITIES[kind], XML_FORMS[kind]
    if form.rows is None:
        return entity
    # A list whose rows stand at the root itself shows nothing where it has none.
    rows = st.lists(entity, min_size=0 if form.rows.wrapped else 1, max_size=2)
    listed = st.fixed_dictionaries({form.key: rows}, optional={"status": texts, "link": links})
    return entity | listed | st.fixed_dictionaries({}, optional={"status": texts, "link": links})


def test_every_kind_has_a_law() -> None:
    """A row of the table without a generator would be untested."""
    assert set(ENTITIES) == set(XML_FORMS)


@pytest.mark.parametrize("kind", XML_FORMS)
def test_what_is_written_reads_back_the_same(kind: str) -> None:
    """Facts 9: both forms say the same, so a client may choose either."""

    @laws
    @given(documents(kind))
    def law(document: dict[str, Any]) -> None:
        assert read_xml(kind, write_xml(kind, document)) == document

    law()


@laws
@given(every_text, every_text)
def test_every_character_that_xml_has_comes_back(text: str, attribute: str) -> None:
    """In elements and in attributes, where line ends and tabs are read differently."""
    document: dict[str, object] = {"firstName": text, "link": [{"uri": attribute}]}

    assert read_xml("contact", write_xml("contact", document)) == document


@settings(max_examples=effort.count(small=50, full=300), deadline=None)
@given(documents("contact"))
def test_prefixes_mean_nothing(document: dict[str, Any]) -> None:
    """Facts 9: prefixes swap between answers of the real service; only the names behind them count."""
    swapped = write_xml("contact", document, ("ns3", "ns2"))

    assert read_xml("contact", swapped) == document
    assert ET.fromstring(swapped).tag.startswith("{" + entity_namespace)  # noqa: S314 - our own document
    assert f'xmlns:ns2="{frame_namespace}"'.encode() in swapped


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(codec="utf-8"), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)

names = st.sampled_from(["x", "y.z", "xml", "a b"]) | st.text(st.characters(codec="utf-8"), max_size=4)


@settings(max_examples=effort.count(small=80, full=500), deadline=None)
@given(
    st.dictionaries(
        names.filter(lambda name: name not in XML_FORMS["contact"].entity.rules),
        anything,
        max_size=4,
    )
)
def test_whatever_is_kept_can_be_written_and_settles(document: dict[str, Any]) -> None:
    """Fields that nobody knows are kept, whatever their names and forms.

    After one way through XML they stay as they are, so a client that reads and writes back changes nothing.
    """
    once = _through({"firstName": "Jane", **document})

    assert _through(once) == once


def _through(document: dict[str, Any]) -> dict[str, Any]:
    return read_xml("contact", write_xml("contact", document))
