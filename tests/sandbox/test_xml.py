"""XML on every address. Source: specification 4, 6 and 9, docs/service.md on XML."""

import base64
import xml.etree.ElementTree as ET

import httpx2
import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, last_segment, named, origin, resource_body, vendor_type

from reconciler.sandbox.records import Body
from reconciler.sandbox.xml_codec import write_xml

A = "{http://schemas.api.whispir.com}"
D = "{http://schemas.api.whispir.com/dap}"
NAMESPACES = 'xmlns:ns2="http://schemas.api.whispir.com" xmlns:ns3="http://schemas.api.whispir.com/dap"'

OPTIONS = {"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}
EMPLOYEE = {"fieldName": "employeeId", "fieldValue": "1234", "searchKey": "custom_employeeId"}


def xml_type(kind: str, vendor: str = "service") -> str:
    return vendor_type(kind, vendor).replace("json", "xml")


def both(kind: str, vendor: str = "service") -> dict[str, str]:
    """The headers of somebody who speaks XML."""
    return {"accept": xml_type(kind, vendor), "content-type": xml_type(kind, vendor)}


def root_of(answer: httpx2.Response) -> ET.Element:
    return ET.fromstring(answer.content)  # noqa: S314 - our own sandbox wrote it


def texts(element: ET.Element) -> dict[str, str]:
    return {child.tag: child.text or "" for child in element if not len(child)}


def contact_xml(inner: str, root: str = f"<ns2:contact {NAMESPACES}>%s</ns2:contact>") -> bytes:
    return root.replace("%s", inner).encode()


MANY_ATTRIBUTES = "<x " + "".join(f"a{number}='' " for number in range(33)) + "/>"
JANE_XML = "".join(f"<{name}>{value}</{name}>" for name, value in JANE.items())


def test_a_contact_is_created_and_read_in_xml() -> None:
    """Specification 4.2, 9: application/vnd.service.contact-v1+xml; the same contact as over JSON."""
    sandbox = Sandbox()

    answer = sandbox.post("/contacts", headers=both("contact"), content=contact_xml(JANE_XML))

    assert answer.status_code == 201
    assert answer.headers["content-type"] == xml_type("contact")
    path = answer.headers["location"].removeprefix(origin)
    assert sandbox.get(path).json()["workEmailAddress1"] == "jane.doe@example.com"
    assert root_of(answer).tag == f"{A}contact"
    assert root_of(answer).findtext("firstName") == "Jane"


def test_the_root_of_an_entity_and_its_links_are_qualified_and_its_children_are_not() -> None:
    """Facts 9: root in the first namespace, links in the second with everything in attributes."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)

    root = root_of(sandbox.get(path, headers=both("contact")))

    links = root.findall(f"{D}link")
    assert root.tag == f"{A}contact"
    assert [link.attrib for link in links] == [{"uri": origin + path, "rel": "self", "method": "GET"}]
    assert [(link.text, len(link)) for link in links] == [(None, 0)]
    assert {child.tag for child in root if child not in links} == set(sandbox.get(path).json()) - {"link"}


@pytest.mark.spec("4.2/accept-xml")
def test_a_list_is_a_return_with_an_unqualified_status() -> None:
    """Facts 9: return, frame and rows in the second namespace; facts 1: the status with its spaces."""
    answer = Sandbox(contacts=21).get("/contacts", headers=both("contact"))

    root = root_of(answer)
    assert answer.headers["content-type"] == xml_type("contact")
    assert root.tag == f"{D}return"
    assert root.findtext("status") == "1 to 20 of 21    "
    assert len(root.findall(f"{D}contacts/{D}contact")) == 20
    assert [link.get("rel") for link in root.findall(f"{D}link")] == ["next"]


@pytest.mark.spec("7/end")
def test_past_the_end_there_is_only_a_status() -> None:
    """Specification 7, facts 1: "No records found", and nothing else within return."""
    root = root_of(Sandbox().get("/contacts?offset=20", headers=both("contact")))

    assert root.tag == f"{D}return"
    assert [(child.tag, child.text) for child in root] == [("status", "No records found")]


def test_messaging_options_carry_their_channel_as_an_attribute() -> None:
    """Facts 2: messagingoptions/messagingoption[@channel] with child elements, in both directions."""
    option = (
        '<messagingoptions><messagingoption channel="sms"><enabled>true</enabled>'
        "<primary>WorkMobilePhone1</primary></messagingoption></messagingoptions>"
    )
    sandbox = Sandbox()

    answer = sandbox.post("/contacts", headers=both("contact"), content=contact_xml(JANE_XML + option))

    shown = root_of(answer).findall("messagingoptions/messagingoption")
    assert [one.attrib for one in shown] == [{"channel": "sms"}]
    assert texts(shown[0]) == {
        "enabled": "true",
        "primary": "WorkMobilePhone1",
        "secondary": "",
        "tertiary": "",
    }
    as_json = sandbox.get(answer.headers["location"].removeprefix(origin)).json()
    assert as_json["messagingoptions"] == [{**OPTIONS, "enabled": True, "secondary": "", "tertiary": ""}]


def test_custom_fields_are_elements_of_their_own() -> None:
    """Assumed form: customFields/customField with fieldName, fieldValue, searchKey; hidden by default."""
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in EMPLOYEE.items())
    body = contact_xml(f"{JANE_XML}<customFields><customField>{inner}</customField></customFields>")
    sandbox = Sandbox()
    path = sandbox.post("/contacts", headers=both("contact"), content=body).headers["location"]
    path = path.removeprefix(origin)

    asked = root_of(sandbox.get(f"{path}?customFields=true", headers=both("contact")))

    assert [texts(one) for one in asked.findall("customFields/customField")] == [EMPLOYEE]
    assert root_of(sandbox.get(path, headers=both("contact"))).find("customFields") is None
    assert sandbox.get("/contacts?custom_employeeId=1234").json()["status"] == "1 to 1 of 1    "


def test_a_contact_is_replaced_in_xml() -> None:
    """Facts 2: 204 without a body, absent fields are gone."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "jobTitle": "Nurse"})

    answer = sandbox.put(path, headers=both("contact"), content=contact_xml(JANE_XML))

    assert (answer.status_code, answer.content) == (204, b"")
    assert "jobTitle" not in sandbox.get(path).json()


@pytest.mark.spec("4.1/type-xml")
def test_a_device_is_updated_in_xml() -> None:
    """Specification 4.1: application/vnd.service.contactdevice-v1+xml, the full object, 204."""
    sandbox = Sandbox()
    contact = sandbox.created("/contacts", JANE)
    path = sandbox.created(f"{contact}/devices", PIXEL)
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in {**PIXEL, "deviceName": "New"}.items())
    body = f"<ns2:device {NAMESPACES}>{inner}</ns2:device>".encode()

    answer = sandbox.put(path, headers=both("contactdevice"), content=body)

    shown = root_of(sandbox.get(path, headers=both("contactdevice")))
    assert (answer.status_code, answer.content) == (204, b"")
    assert shown.tag == f"{A}device"
    assert shown.findtext("deviceName") == "New"
    assert [link.get("rel") for link in shown.findall(f"{D}link")] == ["self", "updateDevice", "deleteDevice"]
    within = root_of(sandbox.get(contact, headers=both("contact"))).findall("devices/device")
    assert [one.findtext("deviceName") for one in within] == ["New"]


@pytest.mark.spec("4.1/no-partial")
def test_a_device_needs_all_seven_fields_in_xml_too() -> None:
    """Specification 2.1, 4.1: partial update is not possible. Nothing moved."""
    sandbox = Sandbox()
    path = sandbox.created(f"{sandbox.created('/contacts', JANE)}/devices", PIXEL)
    before = sandbox.get(path).json()
    body = f"<ns2:device {NAMESPACES}><deviceName>New</deviceName></ns2:device>".encode()

    answer = sandbox.put(path, headers=both("contactdevice"), content=body)

    assert answer.status_code == 422
    assert "pushToken" in (root_of(answer).findtext("errorText") or "")
    assert sandbox.get(path).json() == before


@pytest.mark.spec("2.3/media-xml", "4.3/type-xml")
def test_a_resource_is_written_and_listed_in_xml() -> None:
    """Specification 4.3: the XML equivalent of the resource type; derefUri is base64 there too."""
    sandbox = Sandbox()
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in resource_body(b"a;b\n").items())
    body = f"<ns2:resource {NAMESPACES}>{inner}</ns2:resource>".encode()

    answer = sandbox.post("/resources", headers=both("resource"), content=body)
    listed = sandbox.get("/resources", headers=both("resource"))

    rid = last_segment(answer.headers["location"])
    rows = root_of(listed).findall(f"{D}resources/{D}resource")
    assert [one.headers["content-type"] for one in (answer, listed)] == [xml_type("resource")] * 2
    assert root_of(answer).tag == f"{A}resource"
    assert sandbox.get(f"/_sandbox/resources/{rid}/content").content == b"a;b\n"
    assert [row.findtext("name") for row in rows] == ["staff.csv"]


@pytest.mark.parametrize(
    ("path", "kind", "tag"),
    [
        ("/", "company", f"{A}company"),
        ("/workspaces", "workspace", f"{D}return"),
        (f"/workspaces/{named}", "workspace", f"{A}workspace"),
        (f"/workspaces/{named}/contacts", "contact", f"{D}return"),
        (f"/workspaces/{named}/resources", "resource", f"{D}return"),
    ],
)
def test_every_other_address_speaks_it_too(path: str, kind: str, tag: str) -> None:
    """Specification 9: the kind's type ends in +json or +xml."""
    answer = Sandbox(workspaces=(("Night Shift", named),)).get(path, headers={"accept": xml_type(kind)})

    assert (answer.status_code, answer.headers["content-type"]) == (200, xml_type(kind))
    assert root_of(answer).tag == tag


def test_a_link_that_takes_a_body_names_both_types() -> None:
    """Facts 1: type, comma-joined; in XML an attribute like the others."""
    root = root_of(Sandbox().get("/", headers={"accept": xml_type("company")}))

    types = {link.get("rel"): link.get("type") for link in root.findall(f"{D}link")}
    assert types["createContact"] == f"{xml_type('contact')},{vendor_type('contact')}"
    assert types["retrieveContacts"] is None


@pytest.mark.parametrize(
    "root",
    [
        f"<ns2:contact {NAMESPACES}>%s</ns2:contact>",
        f"<ns3:contact {NAMESPACES}>%s</ns3:contact>",
        '<x:contact xmlns:x="http://schemas.api.whispir.com">%s</x:contact>',
        '<ns3:contact xmlns:ns3="http://schemas.api.whispir.com">%s</ns3:contact>',
        '<contact xmlns="http://schemas.api.whispir.com">%s</contact>',
        '<contact xmlns="http://schemas.api.whispir.com/dap">%s</contact>',
        f'<?xml version="1.0"?><!-- Jane --><ns2:contact {NAMESPACES}><?a b?>%s\n<ns3:link/></ns2:contact>',
    ],
)
def test_a_namespace_is_known_by_its_name_and_never_by_its_prefix(root: str) -> None:
    """Facts 9: prefixes swap; some samples have the root in the other namespace."""
    body = contact_xml(JANE_XML, root)

    assert Sandbox().post("/contacts", headers=both("contact"), content=body).status_code == 201


@pytest.mark.parametrize("space", ["http://schemas.api.whispir.com", "http://schemas.api.whispir.com/dap"])
def test_a_default_namespace_holds_for_all_that_stands_in_it(space: str) -> None:
    """Most libraries declare one at the root: every field of a PUT is then in the namespace of the root."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    body = (
        f'<contact xmlns="{space}"><firstName>Anna</firstName><lastName>Doe</lastName><messagingoptions>'
        '<messagingoption channel="sms"><enabled>true</enabled><primary>WorkMobilePhone1</primary>'
        '</messagingoption></messagingoptions><link uri="x" rel="self" method="GET"/></contact>'
    )
    mixed = body.replace("<firstName>", '<firstName xmlns="http://example.com/other">')

    assert sandbox.put(path, headers=both("contact"), content=mixed.encode()).status_code == 400
    assert sandbox.put(path, headers=both("contact"), content=body.encode()).status_code == 204
    found = sandbox.get(path).json()
    assert (found["firstName"], found["messagingoptions"][0]["primary"]) == ("Anna", "WorkMobilePhone1")


def test_xml_without_any_namespace_is_read_too() -> None:
    """Older samples have none; whatever is in a foreign namespace is refused as before."""
    body = (
        b"<contact><firstName>Jane</firstName><messagingoptions><messagingoption channel='sms'>"
        b"<enabled>true</enabled><primary>WorkMobilePhone1</primary></messagingoption></messagingoptions>"
        b"<link uri='https://elsewhere.test/contacts/1' rel='self' method='GET'/></contact>"
    )

    answer = Sandbox().post("/contacts", headers={**both("contact"), "accept": ""}, content=body)

    assert answer.status_code == 201
    assert [one["primary"] for one in answer.json()["messagingoptions"]] == ["WorkMobilePhone1"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Jane",
        b"{}",
        b"<contact>",
        contact_xml(JANE_XML)[:-3],
        contact_xml(JANE_XML) * 2,
        b"<contact><firstName/>Jane</contact>",
        contact_xml(JANE_XML, '<x:contact xmlns:x="http://example.com/other">%s</x:contact>'),
        contact_xml(JANE_XML, f"<ns2:device {NAMESPACES}>%s</ns2:device>"),
        contact_xml(JANE_XML, f"<ns3:contacts {NAMESPACES}>%s</ns3:contacts>"),
        contact_xml(f"{JANE_XML}stray"),
        contact_xml("Jane"),
        contact_xml("<ns3:firstName>Jane</ns3:firstName>"),
        contact_xml("<ns9:firstName>Jane</ns9:firstName>"),
        contact_xml("<firstName>&unknown;</firstName>"),
        contact_xml("<firstName>\x01</firstName>"),
        contact_xml(f"{JANE_XML}<messagingoptions><option/></messagingoptions>"),
        contact_xml(f"{JANE_XML}<messagingoptions/><messagingoptions/>"),
        b"\xff\xfe<" + contact_xml(JANE_XML),
        b'<?xml version="1.0" encoding="shift_jis"?>' + contact_xml(JANE_XML),
        b'<?xml version="1.0" encoding="no-such-one"?>' + contact_xml(JANE_XML),
    ],
)
def test_what_is_no_such_document_is_400_in_xml(body: bytes) -> None:
    """Facts 8: a malformed body is 400 in the type that was asked for; nothing is written."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    before = sandbox.get(path).json()

    answers = [
        sandbox.post("/contacts", headers=both("contact"), content=body),
        sandbox.put(path, headers=both("contact"), content=body),
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert root_of(answers[0]).tag == f"{A}error"
    assert sandbox.get(path).json() == before
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'<!DOCTYPE a [<!ENTITY b "c">]>' + contact_xml("<firstName>&b;</firstName>"), "DOCTYPE"),
        (b'<!DOCTYPE a SYSTEM "http://example.com/a.dtd">' + contact_xml(JANE_XML), "DOCTYPE"),
        (contact_xml("<x>" * 64 + "</x>" * 64), "levels"),
        (contact_xml(MANY_ATTRIBUTES), "attributes"),
        (contact_xml("<x/>" * 50_000), "elements"),
    ],
)
def test_xml_that_would_cost_much_is_refused(body: bytes, words: str) -> None:
    """Our rule: no DOCTYPE, so no entities; depth, attributes and elements have a limit."""
    sandbox = Sandbox()

    answer = sandbox.post("/contacts", headers=both("contact"), content=body)

    assert answer.status_code == 400
    assert words in (root_of(answer).findtext("errorText") or "")
    assert sandbox.get("/contacts").json()["status"] == "No records found"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/contacts/0123456789ABCDEF", {}, 404),
        ("GET", "/unheard-of", {}, 404),
        ("PUT", "/contacts", {}, 405),
        ("POST", "/contacts", {"content-type": "text/xml"}, 415),
        ("POST", "/contacts", {"content-type": xml_type("resource")}, 415),
        ("GET", "/contacts?limit=x", {}, 400),
        ("GET", "/contacts", {"authorization": ""}, 401),
    ],
)
def test_errors_come_in_the_form_that_was_asked_for(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    """Facts 8: root error in the first namespace, with errorSummary and errorText."""
    answer = Sandbox().send(method, path, headers={**both("contact"), **headers})

    assert answer.status_code == status
    assert answer.headers["content-type"] == xml_type("contact")
    assert root_of(answer).tag == f"{A}error"
    assert root_of(answer).findtext("errorSummary")
    assert root_of(answer).findtext("errorText")


@pytest.mark.parametrize(
    ("accept", "shown"),
    [
        (xml_type("contact"), xml_type("contact")),
        (xml_type("contact").upper(), xml_type("contact")),
        ("application/xml", "application/xml"),
        (f"{xml_type('contact')}, {vendor_type('contact')}", xml_type("contact")),
        (f"{vendor_type('contact')}, {xml_type('contact')}", vendor_type("contact")),
        (f"{vendor_type('contact')};q=0.5, {xml_type('contact')};q=0.9", xml_type("contact")),
        (f"*/*, {xml_type('contact')}", xml_type("contact")),
        (f"application/json, {xml_type('contact')}", xml_type("contact")),
        ("application/xml;q=0, application/json", "application/json"),
        ("application/xml;q=high", "application/xml"),
    ],
)
def test_accept_chooses_between_the_two(accept: str, shown: str) -> None:
    """As HTTP has it: by q, and then what was named most precisely, and first."""
    answer = Sandbox(contacts=1).get("/contacts", headers={"accept": accept})

    assert (answer.status_code, answer.headers["content-type"]) == (200, shown)


@pytest.mark.parametrize("accept", ["", "*/*", "application/*;q=0.1"])
def test_who_asks_for_nothing_gets_xml_if_so_configured(accept: str) -> None:
    """Facts 1: the public service answers XML where no type is named; JSON here unless configured."""
    kinds = [
        Sandbox(contacts=1, default_form=form)
        .get("/contacts", headers={"accept": accept})
        .headers["content-type"]
        for form in ("json", "xml")
    ]

    assert kinds == [vendor_type("contact"), xml_type("contact")]


def test_errors_without_an_accept_follow_the_configuration() -> None:
    """The default form holds for refusals too, also where the address says nothing about a kind."""
    answer = Sandbox(default_form="xml").get("/unheard-of", headers={"accept": ""})

    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/xml")
    assert root_of(answer).tag == f"{A}error"


def test_body_and_answer_may_differ_in_form() -> None:
    """Content-Type is about the body, Accept about the answer."""
    headers = {"content-type": xml_type("contact"), "accept": vendor_type("contact")}

    answer = Sandbox().post("/contacts", headers=headers, content=contact_xml(JANE_XML))

    assert (answer.status_code, answer.headers["content-type"]) == (201, vendor_type("contact"))
    assert answer.json()["firstName"] == "Jane"


def test_the_vendor_token_is_in_the_xml_types_too() -> None:
    """Specification 9: the vendor is part of the type; the namespaces stay as they are."""
    sandbox = Sandbox(vendor="whispir")

    answer = sandbox.post("/contacts", headers=both("contact", "whispir"), content=contact_xml(JANE_XML))

    assert (answer.status_code, answer.headers["content-type"]) == (201, xml_type("contact", "whispir"))
    assert root_of(answer).tag == f"{A}contact"
    assert sandbox.get("/contacts", headers=both("contact")).status_code == 406


def test_prefixes_can_be_swapped_by_the_configuration() -> None:
    """Facts 9: for clients that must not rely on them."""
    answer = Sandbox(xml_prefixes=("ns3", "ns2")).get("/contacts", headers=both("contact"))

    assert b"<ns2:return" in answer.content
    assert root_of(answer).tag == f"{D}return"


def test_characters_survive_in_both_directions() -> None:
    """Markup, line ends, every script; what XML cannot hold is shown as the replacement character."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "title": 'A & <b> "c"\r\n\tž 𝄞', "division": "a\x00b"})

    root = root_of(sandbox.get(path, headers=both("contact")))

    assert root.findtext("title") == 'A & <b> "c"\r\n\tž 𝄞'
    assert root.findtext("division") == "a\ufffdb"


def test_unknown_fields_are_kept_in_xml_too() -> None:
    """Assumed: objects are nested elements, lists repeated ones; numbers and truth values become text."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "extra": {"a": [1, True]}, "no name": "x", "none": None})

    root = root_of(sandbox.get(path, headers=both("contact")))

    assert [one.text for one in root.findall("extra/a")] == ["1", "true"]
    body = contact_xml(f"{JANE_XML}<extra><a>1</a><a>true</a></extra>")
    assert sandbox.put(path, headers=both("contact"), content=body).status_code == 204
    assert sandbox.get(path).json()["extra"] == {"a": ["1", "true"]}


@pytest.mark.parametrize("written", ["{0}", "<{1}>{0}</{1}>", "<{1}> {0} </{1}>", "<{1}/><{1}>{0}</{1}>"])
@pytest.mark.parametrize(
    ("frame", "item"),
    [("messagingoptions", "messagingoption"), ("customFields", "customField"), ("locations", "location")],
)
def test_text_in_the_place_of_a_list_is_refused_and_clears_nothing(
    frame: str, item: str, written: str
) -> None:
    """In JSON it is 422. In XML it was read as an empty list, and the update took away what was there."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "messagingoptions": [OPTIONS], "customFields": [EMPLOYEE]})
    before = sandbox.get(f"{path}?customFields=true").json()
    inside = written.format("none", item)
    body = contact_xml(f"{JANE_XML}<{frame}>{inside}</{frame}>")

    answers = [
        sandbox.post("/contacts", content=body, headers=both("contact")),
        sandbox.put(path, content=body, headers=both("contact")),
        sandbox.put(path, {**JANE, frame: "none"}),
    ]

    assert [one.status_code for one in answers] == [400, 400, 422]
    assert sandbox.get(f"{path}?customFields=true").json() == before


def test_text_in_the_place_of_parameters_is_refused() -> None:
    """The same for the pairs of a message: no callback would carry what was meant."""
    sandbox = Sandbox()
    inside = b"<to>+61491570156</to><subject>S</subject><callbackParameters>shift 7</callbackParameters>"
    body = b'<n:message xmlns:n="http://schemas.api.whispir.com">' + inside + b"</n:message>"

    answer = sandbox.post("/messages", content=body, headers=both("message"))

    assert answer.status_code == 400
    assert "callbackParameters holds text" in answer.text
    assert "messages" not in sandbox.get("/messages").json()


def test_a_repeated_field_is_422() -> None:
    """A known field is one text; two of them are a list, which is none."""
    sandbox = Sandbox()

    answer = sandbox.post(
        "/contacts", headers=both("contact"), content=contact_xml(f"{JANE_XML}<lastName>Roe</lastName>")
    )

    assert answer.status_code == 422
    assert "lastName" in (root_of(answer).findtext("errorText") or "")
    assert sandbox.get("/contacts").json()["status"] == "No records found"


@pytest.mark.spec("6/rule-2-xml")
def test_callback_parameters_are_entries() -> None:
    """Specification 6.2: each pair is an entry element holding a key and a value."""
    document: Body = {"to": "+61491570156", "callbackParameters": {"order": 7, "name": "J"}}

    root = ET.fromstring(write_xml("message", document))  # noqa: S314 - our own document

    entries = root.findall("callbackParameters/entry")
    assert [texts(entry) for entry in entries] == [
        {"key": "order", "value": "7"},
        {"key": "name", "value": "J"},
    ]


def test_response_types_and_categories_are_attributes() -> None:
    """Facts 9: messageresponses/response[@type]; public samples: categories/status[@name]."""
    responses: Body = {
        "messageresponses": [{"type": "noresponse", "responseCount": "1", "percentageTotal": "50%"}]
    }
    statuses: Body = {"messageStatuses": [{"categories": [{"name": "Sent", "recipientCount": 0}]}]}

    summary = ET.fromstring(write_xml("messageresponse", responses))  # noqa: S314 - our own document
    states = ET.fromstring(write_xml("messagestatus", statuses))  # noqa: S314 - our own document

    found = summary.findall(f"{D}messageresponses/{D}response")
    assert [one.attrib for one in found] == [{"type": "noresponse"}]
    category = states.findall(f"{D}messageStatuses/{D}messageStatus/categories/status")
    assert [(one.get("name"), one.findtext("recipientCount")) for one in category] == [("Sent", "0")]


def test_the_channel_of_an_answer_is_an_attribute_and_in_a_callback_an_element() -> None:
    """Public samples: responseMessage[@channel] in a list, responseMessage/channel in deliveryResponse."""
    answer = {"channel": "SMS", "content": "Yes"}
    listed: Body = {"messageresponses": [{"responseMessage": answer}]}
    called: Body = {"messageid": "AB", "responseMessage": answer, "customParameters": {"order": "7"}}

    row = ET.fromstring(write_xml("messageresponse", listed)).find(".//responseMessage")  # noqa: S314 - our own
    payload = ET.fromstring(write_xml("deliveryResponse", called))  # noqa: S314 - our own

    assert row is not None
    assert (row.attrib, texts(row)) == ({"channel": "SMS"}, {"content": "Yes"})
    assert payload.tag == f"{A}deliveryResponse"
    assert payload.findtext("responseMessage/channel") == "SMS"
    assert payload.findtext("customParameters/entry/value") == "7"


def test_times_of_messages_are_written_out() -> None:
    """Facts 1: milliseconds in JSON, ISO 8601 in XML."""
    root = ET.fromstring(write_xml("message", {"createdTime": 1_534_210_000_123}))  # noqa: S314 - our own

    assert root.findtext("createdTime") == "2018-08-14T01:26:40.123Z"


def test_calls_stand_at_the_root_with_links_as_elements() -> None:
    """Facts 9, public samples: call below return; links in child elements and not in attributes."""
    link = {"uri": "/callbacks/1/calls?id=2", "rel": "updateCall", "method": "PUT"}
    document: Body = {"status": "1 to 1 of 1    ", "calls": [{"id": "2", "link": [link]}], "link": [link]}

    root = ET.fromstring(write_xml("api-call", document))  # noqa: S314 - our own document

    assert [child.tag for child in root] == ["status", f"{D}call", f"{D}link"]
    assert [texts(one) for one in root.findall(f"{D}call/link")] == [link]
    assert [texts(one) for one in root.findall(f"{D}link")] == [link]


def test_the_credentials_are_looked_at_before_any_xml_is() -> None:
    """Nobody without a key can make the sandbox read a document."""
    headers = {**both("contact"), "authorization": f"Basic {base64.b64encode(b'x:y').decode()}"}

    answer = Sandbox().post("/contacts", headers=headers, content=b"<!DOCTYPE a><a/>")

    assert answer.status_code == 401
