"""Claims about XML: the same dict as in JSON, nothing lost, names by namespace, nothing unfit is sent."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import effort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from service.support import ID, Wire, answer, failure, sandbox, service, with_client

from reconciler.core.compare.bodies import make_update_body
from reconciler.errors import Rejected
from reconciler.messaging.client import ServiceClient
from reconciler.model.address import Address
from reconciler.model.documents import Place
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import FieldChange, Update
from reconciler.model.snapshots import Entity
from reconciler.sandbox.xml_codec import read_xml, write_xml
from reconciler.service.http import media
from reconciler.service.paging import Query
from reconciler.service.xml import documents as xml
from reconciler.service.xml import documents as xmlforms
from reconciler.service.xml import tree as xmltext
from reconciler.service.xml.tree import Element

XML = structs.replace(service(), format="xml")
EXAMPLES = effort.count(small=60, full=600)  # of every kind
PIECES = (
    *"aZ09 .,:;/\\'\"<>&=+-_@#{}[]()?!%$*|~`\t\n\r",
    *"\u00e9\u0142\u8fd1\u85e4\u05d0\u0301\ud7ff\ue000\ufffd\x7f\x85\u2028",
    "\U0001f642",
    "\U0010ffff",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "<!--",
    "&#13;",
    "  ",
)

Make = Callable[[Random], Any]


def chances(seed: int) -> Random:
    """Values by seed: many times as fast as drawing each, and a failure names the seed that repeats it."""
    return Random(seed)


def text(chance: Random) -> str:
    """Any text that XML can carry, "" and white space among it."""
    return "".join(chance.choices(PIECES, k=chance.choice((0, 1, 2, 5, 12))))


def remote_id(chance: Random) -> str:
    return f"{chance.getrandbits(64):016X}"


def flag(chance: Random) -> bool:
    return chance.random() < 0.5


def count(chance: Random) -> int:
    return chance.choice((0, 1, 7, 55, 10**9))


def moment(chance: Random) -> int:
    return chance.randrange(0, 4_102_444_800_000)


def several(make: Make, most: int = 3, least: int = 0) -> Make:
    return lambda chance: [make(chance) for _ in range(chance.randrange(least, most + 1))]


def record(*, optional: str = "", **keys: Make) -> Make:
    """An object with these keys, and some of the optional texts."""

    def make(chance: Random) -> dict[str, Any]:
        found = {key.rstrip("_"): value(chance) for key, value in keys.items()}
        return found | {key: text(chance) for key in optional.split() if chance.random() < 0.3}

    return make


LINKS = several(record(uri=text, rel=text, method=text, optional="type"), 2)
SENDER = record(optional="name mri mobile email voice")
ANSWER = record(channel=text, optional="acknowledged content undeliverable")
DEVICE = record(
    id=remote_id,
    status=text,
    link=LINKS,
    optional="deviceName appId platform deviceOS deviceModel pushToken appVersion registrationDate newField",
)
CONTACT = record(
    id=remote_id,
    link=LINKS,
    devices=several(DEVICE, 2),
    messagingoptions=several(
        record(channel=text, enabled=flag, primary=text, optional="secondary tertiary newOption")
    ),
    customFields=several(record(fieldName=text, fieldValue=text, searchKey=text)),
    locations=several(
        record(
            longitude=lambda c: c.choice((0.0, -1.5, 144.96332)), latitude=lambda _: -37.8, optional="type"
        ),
        1,
    ),
    optional="firstName lastName status jobTitle timezone mri type workEmailAddress1 newField",
)
RESOURCE = record(id=remote_id, link=LINKS, optional="name scope mimeType derefUri url newField")
WORKSPACE = record(id=remote_id, link=LINKS, optional="projectName status projectNumber billingcostcentre")
PARAMETERS: Make = lambda chance: {text(chance): text(chance) for _ in range(chance.randrange(4))}  # noqa: E731 - one of a table
MESSAGE = record(
    link=LINKS,
    createdTime=moment,
    callbackParameters=PARAMETERS,
    repeatMin=count,
    voice=record(optional="body"),
    social=record(social=several(record(id=text, optional="body type"), least=1)),
    features=record(pushOptions=record(optional="notifications escalationMins")),
    email=record(optional="body footer type"),
    optional="to subject body label type from direction responseCount callbackId newField",
)
CATEGORY = record(name=text, recipientCount=count, percentageTotal=text)
DELIVERY = record(
    type=text, status=text, optional="destination", sentTimestamp=moment, receivedTimestamp=moment
)
CALLBACK = record(
    id=remote_id,
    link=LINKS,
    retriesEnabled=flag,
    auth=record(type=text, key=text),
    callbacks=record(reply=text, undeliverable=text),
    optional="name url contentType removeHTML email",
)
CALL = record(
    id=remote_id,
    link=LINKS,
    from_=SENDER,
    responseMessage=ANSWER,
    callback=record(id=remote_id, statusCode=count, optional="name url attemptedDate statusMessage"),
    optional="messageId messageLocation status",
)


def page(key: str, row: Make) -> Make:
    """A list document."""
    return lambda chance: {"status": text(chance), key: several(row, 2)(chance), "link": LINKS(chance)}


IMPORT = record(
    resourceId=remote_id,
    importType=text,
    importOptions=record(importMode=text, fieldMapping=record(optional="firstName lastName newField")),
)
SUMMARY = record(link=LINKS, categories=several(CATEGORY))
DETAILED = record(link=LINKS, status=several(DELIVERY, least=1), optional="name info")
RESPONSE = record(
    link=LINKS, type=text, from_=SENDER, responseMessage=ANSWER, optional="responseCount percentageTotal"
)

# (kind of the media type) -> what stands in a document of it, one of each form.
DOCUMENTS: dict[str, tuple[Make, ...]] = {
    "contact": (CONTACT, page("contacts", CONTACT)),
    "contactdevice": (DEVICE, page("devices", DEVICE)),
    "resource": (RESOURCE, page("resources", RESOURCE)),
    "workspace": (WORKSPACE, page("workspaces", WORKSPACE)),
    "message": (MESSAGE, page("messages", MESSAGE)),
    "bulkmessage": (MESSAGE, page("messages", MESSAGE)),
    "importcontact": (IMPORT,),
    "messagestatus": (page("messageStatuses", SUMMARY), page("messageStatuses", DETAILED)),
    "messageresponse": (page("messageresponses", RESPONSE),),
    "messageresponses": (page("messageresponses", RESPONSE),),
    "api-callback": (CALLBACK, page("callbacks", CALLBACK)),
    "api-call": (CALL, page("calls", CALL)),
    "company": (record(id=remote_id, link=LINKS),),
    "auth": (record(token=text, link=LINKS),),
    "deliveryResponse": (
        record(
            from_=SENDER, responseMessage=ANSWER, customParameters=PARAMETERS, optional="messageid location"
        ),
    ),
    "error": (record(errorSummary=text, link=LINKS, optional="errorText errorDetail"),),
}
# Calls and deliveries have no element around them: without one of them there is no list to be seen.
EMPTY_IS_NOTHING: dict[str, Any] = {"calls": []}


MEDIA = (*(kind.media for kind in KINDS.values()), *xmlforms.FORMS)


def test_every_kind_of_document_is_generated() -> None:
    """A new row without a generator would be a kind that nobody has tried."""
    assert DOCUMENTS.keys() == {*MEDIA, "error"}


def test_a_kind_that_xml_has_never_heard_of_is_written_by_its_row() -> None:
    """A new kind is one row: its name is the root, its plural the list, each of its fields one value."""
    fields = (
        Field("name"),
        Field("body", wire="text"),
        Field("shared", type="flag"),
        Field("reply", type="group"),
        Field("reply.to"),
        Field("reply.always", type="flag"),
    )
    kind = Kind("template", "templates", "message-template", ("name",), fields, 1, ("name",), ("name",))

    form = xmlforms.form_of(kind)

    reply = xmlforms.Shape(single=frozenset({"to"}), truths=frozenset({"always"}))
    assert (form.root, form.collection) == ("template", "templates")
    assert form.rows == xmlforms.ListForm("template", form.shape, space=xmlforms.DAP)
    assert form.shape == xmlforms.Shape(
        single=frozenset({"name", "text"}), truths=frozenset({"shared"}), objects={"reply": reply}, links=True
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_second_value_of_a_field_is_refused(kind: Kind) -> None:
    """Whichever of the two were taken would hide the other one, and a plan would be made of it."""
    root = xmlforms.form_of(kind).root
    for name in [field.wire or field.name for field in kind.keys if field.name not in kind.structured]:
        body = f"<{root}><{name}>a</{name}><{name}>b</{name}></{root}>".encode()
        with pytest.raises(media.BadBody, match="a value stands twice"):
            media.decode_body(body, kind.media, "xml")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_comes_back_as_it_was(kind: str) -> None:
    """Law 6: the dict above the codec is that of JSON, whichever form travelled."""

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(seed=st.integers(0, 2**64 - 1))
    def comes_back(seed: int) -> None:
        chance = chances(seed)
        document = chance.choice(DOCUMENTS[kind])(chance)
        name = "contact" if kind == "error" else kind

        written = media.encode_body(document, name, "xml")
        again = media.decode_body(media.encode_body(document), name)

        assert EMPTY_IS_NOTHING | media.decode_body(written, name, "xml") == EMPTY_IS_NOTHING | document
        assert again == document

    comes_back()


@pytest.mark.parametrize("kind", [kind for kind in DOCUMENTS if kind not in ("messageresponses", "error")])
def test_the_sandbox_and_the_client_mean_the_same(kind: str) -> None:
    """Two codecs that share no line: what one writes the other reads as the same dict."""

    @settings(max_examples=200, deadline=None, database=None)
    @given(seed=st.integers(0, 2**64 - 1))
    def mean_the_same(seed: int) -> None:
        chance = chances(seed)
        document = chance.choice(DOCUMENTS[kind])(chance)

        read = media.decode_body(write_xml(kind.removeprefix("bulk"), document), kind, "xml")

        assert EMPTY_IS_NOTHING | read == EMPTY_IS_NOTHING | document

    mean_the_same()


@pytest.mark.parametrize(
    "kind", ["contact", "contactdevice", "resource", "message", "workspace", "api-callback"]
)
def test_the_sandbox_reads_what_the_client_sends(kind: str) -> None:
    """The bodies of requests: a document of one, without links."""

    @settings(max_examples=200, deadline=None, database=None)
    @given(seed=st.integers(0, 2**64 - 1))
    def reads(seed: int) -> None:
        document = DOCUMENTS[kind][0](chances(seed))
        for device in document.get("devices", ()):
            del device["link"]
        del document["link"]

        assert read_xml(kind, media.encode_body(document, kind, "xml")) == document

    reads()


def test_the_posts_of_a_message_stand_as_the_public_samples_show() -> None:
    """Each in an element of its own within one of the same name, its place as an attribute."""
    posts = {"social": [{"id": "social", "body": "One"}, {"id": "social_long", "body": "Two"}]}

    written = media.encode_body({"to": "+61491570156", "social": posts}, "message", "xml")

    assert (
        b'<social><social id="social"><body>One</body></social>'
        b'<social id="social_long"><body>Two</body></social></social>'
    ) in written


NAMES = ("newThing", "other", "x1", "\u00e9t\u00e9", "a-b.c", "id", "link", "status")
SPACES = ("", "", "", "urn:example:more", "http://schemas.example.com/1", "mailto:a@example.com")


def strange(chance: Random, depth: int = 0) -> Element:
    """An element that nobody has heard of: attributes, foreign namespaces, mixed text, repeats."""
    attributes = {
        f"{{{space}}}{name}" if space else name: text(chance)
        for name, space in zip(
            chance.sample(NAMES, chance.choice((0, 0, 0, 1, 2))), chance.choices(SPACES, k=2), strict=False
        )
    }
    made = Element(chance.choice(NAMES), chance.choice(SPACES), attributes)
    for _ in range(chance.choice((0, 0, 1, 2, 4)) if depth < 4 else 0):
        if chance.random() < 0.15:
            made.parts.append(text(chance))
        made.parts.append(strange(chance, depth + 1))
    if not made.children or chance.random() < 0.1:
        made.parts.append(text(chance))
    return made


def told(element: Element) -> Any:
    """What an element says: white space between elements is nothing, neighbouring texts are one."""
    parts: list[Any] = []
    for part in element.parts:
        if not isinstance(part, str):
            parts.append(told(part))
        elif part and not (element.children and element.blank):
            parts[-1:] = [parts[-1] + part] if parts and isinstance(parts[-1], str) else [*parts[-1:], part]
    return element.space, element.name, sorted(element.attributes.items()), parts


def by_name(element: Element) -> list[Any]:
    """What the elements inside say, those of one name in their order."""
    said = [told(child) for child in element.children]
    return sorted(said, key=lambda one: (one[0], one[1]))


@settings(max_examples=effort.count(small=100, full=1_000), deadline=None, database=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_what_nobody_has_heard_of_survives_a_read_and_a_write(seed: int) -> None:
    """W9: a newer server may add anything; a full replace without it would remove it."""
    chance = chances(seed)
    root = Element("contact", xmlforms.API)
    root.parts.append(_leaf("firstName", "Jane"))
    for _ in range(chance.randrange(5)):
        made = strange(chance)
        if (made.space, made.name) not in {("", "id"), ("", "link"), ("", "status")}:
            root.parts.append(made)
    before = xmltext.render_xml(root, {"a": xmlforms.API})

    read = media.decode_body(before, "contact", "xml")
    entity = Entity(Address("contact/ops/jane"), {"jobTitle": "Engineer"}, Place("a.yaml", 1, 1))
    change = FieldChange("jobTitle", None, "Engineer", "declared")
    body = make_update_body(read, entity, Update(entity.address, "", ID, (change,)))
    after = xmltext.parse_xml(media.encode_body(body, "contact", "xml"))

    root.parts.append(_leaf("jobTitle", "Engineer"))
    assert by_name(after) == by_name(xmltext.parse_xml(xmltext.render_xml(root, {"a": xmlforms.API})))


def _leaf(name: str, value: str) -> Element:
    element = Element(name)
    element.parts.append(value)
    return element


OURS_DECLARED = re.compile(rb' xmlns:ns[23]="[^"]*"|(?<=<)ns[23]:|(?<=</)ns[23]:')


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_document_is_read_without_a_namespace_too(kind: str) -> None:
    """Older samples of the service declare none; it is the same entity, list or error."""
    for seed, make in enumerate(DOCUMENTS[kind]):
        written = media.encode_body(make(chances(seed)), "contact" if kind == "error" else kind, "xml")
        plain = OURS_DECLARED.sub(b"", written)

        assert b"ns2" not in plain
        assert b"ns3" not in plain
        read = media.decode_body(plain, "contact" if kind == "error" else kind, "xml")
        assert read == media.decode_body(written, "contact" if kind == "error" else kind, "xml")


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize("root", ["nothing", "html", "Error", "Return", "fault", "contacts"])
def test_an_unknown_root_without_a_namespace_is_an_error(kind: str, root: str) -> None:
    """R5: what has no namespace has only its name to be known by."""
    with pytest.raises(media.BadBody):
        media.decode_body(f"<{root}><status>No records found</status></{root}>".encode(), kind, "xml")


LINK = 'uri="/contacts/A1" rel="self" method="GET"'
FRAMES = (
    '<ns2:contact xmlns:ns2="{A}" xmlns:ns3="{D}">{inside}<ns3:link {link}/></ns2:contact>',
    '<ns3:contact xmlns:ns3="{A}" xmlns:ns2="{D}">{inside}<ns2:link {link}/></ns3:contact>',
    '<contact xmlns="{A}">{inside}<link xmlns="{D}" {link}/></contact>',
    "<contact>{inside}<link {link}/></contact>",
    '<contact><d:link xmlns:d="{D}" {link}/>{inside}</contact>',
    '<contact xmlns=""><x:link xmlns:x="{A}" {link}/>{inside}</contact>',
    "<return><contact>{inside}<link {link}/></contact></return>",
    '<d:contact xmlns:d="{D}">{inside}<d:link {link}></d:link></d:contact>',
    '<d:return xmlns:d="{D}"><d:contact>{inside}<d:link {link}/></d:contact></d:return>',
    (
        '<a:contact xmlns:a="{A}">{inside}<link><uri>/contacts/A1</uri><rel>self</rel>'
        "<method>GET</method></link></a:contact>"
    ),
    (
        '\ufeff<?xml version="1.0" encoding="utf-8"?><!-- new --><a:contact xmlns:a="{A}">\n  {inside}\n'
        '  <link uri="&#47;contacts/A1" rel="self" method="GET"/>\n</a:contact>\n'
    ),
)


@pytest.mark.parametrize("frame", FRAMES)
def test_names_are_compared_by_namespace_and_never_by_prefix(frame: str) -> None:
    """Facts 9: prefixes swap; roots stand in either; a single contact may stand in a list's root."""
    inside = "<firstName>Jane</firstName>"
    body = frame.format(A=xmlforms.API, D=xmlforms.DAP, inside=inside, link=LINK).encode()

    assert media.decode_body(body, "contact", "xml") == {
        "firstName": "Jane",
        "link": [{"uri": "/contacts/A1", "rel": "self", "method": "GET"}],
    }


@pytest.mark.parametrize(
    ("inside", "wanted"),
    [
        ("<n>text</n>", {"n": "text"}),
        ("<n/>", {"n": ""}),
        ("<n> </n>", {"n": " "}),
        ('<n a="1">text</n>', {"n": "text", "n@a": "1"}),
        ('<n a="1"><b>2</b></n>', {"n": {"@a": "1", "b": "2"}}),
        ("<n>1</n><n>2</n>", {"n": ["1", "2"]}),
        ('<n>1</n><n a="x">2</n>', {"n": ["1", {"@a": "x", "#text": "2"}]}),
        ("<n>one <b>2</b> three</n>", {"n": {"#content": ["one ", {"b": "2"}, " three"]}}),
        ("<n><b>1</b><c/><b>2</b></n>", {"n": {"#content": [{"b": "1"}, {"c": ""}, {"b": "2"}]}}),
        ('<f:n xmlns:f="urn:x">1</f:n>', {"{urn:x}n": "1"}),
        ('<n xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>', {"n": None}),
        ('<n xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="t">1</n>', {"n": "1"}),
        ('<n xml:lang="en">text</n>', {"n": "text", "n@{http://www.w3.org/XML/1998/namespace}lang": "en"}),
        ("<n><![CDATA[<b>]]></n>", {"n": "<b>"}),
        ('<firstName lang="en">Jane</firstName>', {"firstName": "Jane", "firstName@lang": "en"}),
        ('<devices count="0"/>', {"devices": [], "devices@count": "0"}),
    ],
)
def test_what_the_table_does_not_name_has_one_form(inside: str, wanted: dict[str, Any]) -> None:
    """The forms that the module's docstring promises, and each is written back as it came."""
    body = f'<a:contact xmlns:a="{xmlforms.API}">{inside}</a:contact>'.encode()

    read = media.decode_body(body, "contact", "xml")

    assert read == {**wanted, "link": []}
    assert media.decode_body(media.encode_body(read, "contact", "xml"), "contact", "xml") == read


@pytest.mark.parametrize("code", [0, 0x0B, 0x1F, 0xFFFE, 0xFFFF, 0xD800, 0xDFFF])
@pytest.mark.parametrize(
    "body",
    [
        {"firstName": "Jane@"},
        {"customFields": [{"fieldName": "a", "fieldValue": "@", "searchKey": "custom_a"}]},
        {"messagingoptions": [{"channel": "@", "enabled": True}]},
        {"newField": {"a": ["@", "b"]}},
    ],
    ids=lambda body: next(iter(body)),
)
def test_a_character_that_xml_cannot_carry_is_refused_before_anything_is_sent(
    code: int, body: dict[str, Any]
) -> None:
    """S9: half-way through an apply is too late; the value is not shown, its field is."""
    sent = json.loads(json.dumps(body).replace("@", json.dumps(chr(code))[1:-1]))
    wire = Wire(answer(204))

    error = failure(wire, lambda client: client.contacts.replace(ID, sent), settings=XML)

    assert isinstance(error, Rejected)
    assert "XML cannot carry" in str(error)
    assert "Jane" not in str(error)
    assert wire.sent == []


@pytest.mark.parametrize("name", ["", "1st", "a b", "a:b", "<x>", "a\u00d7b", "-a"])
def test_a_name_that_no_element_can_have_is_refused_before_anything_is_sent(name: str) -> None:
    """A key becomes the name of an element; written as it stands it could be another document."""
    wire = Wire(answer(204))

    error = failure(wire, lambda client: client.contacts.replace(ID, {name: "x"}), settings=XML)

    assert isinstance(error, Rejected)
    assert wire.sent == []


def test_the_media_type_says_the_form() -> None:
    """Specification 9: `+xml` behind the same kind; what is asked for is what is sent."""
    wire = Wire(answer(204))

    with_client(wire, lambda client: client.contacts.replace(ID, {"firstName": "Jane"}), settings=XML)

    (request,) = wire.sent
    assert request.headers["accept"] == request.headers["content-type"]
    assert request.headers["accept"] == "application/vnd.service.contact-v1+xml"
    assert request.content.startswith(b'<?xml version="1.0" encoding="UTF-8"')


PERSON = {
    "firstName": "Jane",
    "lastName": "Doe",
    "timezone": "Australia/Melbourne",
    "messagingoptions": [{"channel": "sms", "enabled": True, "primary": "WorkMobilePhone1"}],
    "customFields": [{"fieldName": "Team", "fieldValue": "a < b & c", "searchKey": "custom_team"}],
    "newField": "kept",
}
PHONE = {
    "deviceName": "phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android",
    "deviceModel": "Pixel",
    "status": "ACTIVE",
    "pushToken": "t",
}
FILE = {"name": "a.csv", "scope": "private", "mimeType": "text/csv", "derefUri": "YQo="}


async def manage(client: ServiceClient) -> list[dict[str, Any]]:
    """Create, read, list, replace and delete of every kind; what was seen on the way."""
    made = await client.contacts.create(PERSON)
    device = await client.devices.create(PHONE, parent=made.remote_id)
    whole = await client.contacts.get(made.remote_id)
    rows = await client.contacts.list(Query(fields=("jobTitle",)))
    devices = await client.devices.list(parent=made.remote_id)
    await client.devices.replace(device.remote_id, {**PHONE, "deviceModel": "Pixel 2"}, parent=made.remote_id)
    await client.contacts.replace(made.remote_id, {**whole.body, "jobTitle": "Engineer"})
    again = await client.contacts.get(made.remote_id)
    await client.devices.delete(device.remote_id, parent=made.remote_id)
    file = await client.resources.create(FILE)
    files = await client.resources.list()
    await client.resources.delete(file.remote_id)
    await client.contacts.delete(made.remote_id)
    left = [*await client.contacts.list(), *await client.resources.list()]
    return [one.body for one in (made, whole, rows[0], devices[0], again, files[0], *left)]


def _settled(body: Any) -> Any:
    """A body without what is new in every sandbox: ids and times."""
    if isinstance(body, list):
        return [_settled(one) for one in body]
    if not isinstance(body, dict):
        return body
    passing = {"id", "uri", "type", "mri", "lastModifiedTime", "registrationDate", "lastModifiedDate"}
    return {key: _settled(value) for key, value in body.items() if key not in passing}


def test_the_real_client_manages_the_sandbox_in_xml_as_in_json() -> None:
    """The same calls, and the same dicts back, types included: nothing above the codec knows the form."""
    plain = with_client(sandbox(), manage, settings=service())
    marked = with_client(sandbox(), manage, settings=XML)

    assert json.dumps(_settled(marked), sort_keys=True) == json.dumps(_settled(plain), sort_keys=True)


def test_a_key_in_a_link_is_cut_however_it_is_spelt() -> None:
    """XML can write a letter as a number, so the bytes of a body do not show whether a key stands in it."""
    link = "/contacts/A1?&#97;&#112;ikey=canary&amp;x=1"
    body = f'<a:contact xmlns:a="{xmlforms.API}"><firstName/><link uri="{link}" rel="self"/></a:contact>'

    async def work(client: ServiceClient) -> Any:
        return await client.contacts.get("A1")

    found = with_client(Wire(answer(200, body.encode())), work, settings=XML)

    assert found.body["link"] == [{"uri": "/contacts/A1", "rel": "self"}]


def test_the_codec_alone_says_what_it_raises() -> None:
    """Unfit on the way out, BadBody on the way in, and both are ValueErrors of this package."""
    with pytest.raises(xml.Unfit, match="where XML has a form for one value only"):
        xml.encode_xml({"a": [["1"]]}, "contact")
    with pytest.raises(media.BadBody, match="it is empty"):
        xml.decode_xml(b"", "contact")
