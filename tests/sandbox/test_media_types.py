"""Media types, methods, error bodies, headers. Source: specification 4, 7, 9, docs/service.md on errors."""

from email.utils import parsedate_to_datetime

import pytest
from sandbox.asking import (
    JANE,
    Clock,
    Sandbox,
    named,
    origin,
    resource_body,
    usual_headers,
    vendor_type,
)
from sandbox.receiving import message_body, sent
from sandbox.town import town


@pytest.mark.spec("4.2/accept-json")
@pytest.mark.parametrize(
    ("accept", "shown"),
    [
        ("", vendor_type("contact")),
        ("*/*", vendor_type("contact")),
        ("application/*", vendor_type("contact")),
        (vendor_type("contact"), vendor_type("contact")),
        (vendor_type("contact").upper(), vendor_type("contact")),
        (f"text/html, {vendor_type('contact')};q=0.5", vendor_type("contact")),
        ("application/json", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
    ],
)
def test_an_answer_has_the_type_that_was_asked_for(accept: str, shown: str) -> None:
    """Specification 9: vendor types; plain JSON for those who accept nothing else."""
    answer = Sandbox(contacts=1).get("/contacts", headers={"accept": accept})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == shown


@pytest.mark.parametrize(
    ("accept", "shown"),
    [
        ("", "{}+json"),
        ("*/*", "{}+json"),
        ("application/*;q=0.5", "{}+json"),
        ("application/json", "application/json"),
        ("application/json, */*;q=0.1", "application/json"),
        ("application/xml", "application/xml"),
    ],
)
def test_every_address_answers_in_the_same_type_to_the_same_accept(accept: str, shown: str) -> None:
    """Without an Accept, with a wildcard, with a plain type: one rule, and the body is what its type says."""
    sandbox, addresses = town()

    for what, path in addresses.items():
        kind = usual_headers(path)["accept"].removesuffix("+json")
        if path == "/":
            kind = vendor_type("company").removesuffix("+json")
        answer = sandbox.get(path, headers={"accept": accept, "content-type": ""})

        assert (what, answer.status_code) == (what, 200)
        assert answer.headers["content-type"] == shown.format(kind)
        assert answer.text[0] == ("<" if shown.endswith("xml") else "{")


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("inside", ["", f"/workspaces/{named}"])
def test_all_of_a_message_is_to_be_had_as_a_message(inside: str, form: str) -> None:
    """The specification names one type for messages, and none for what stands below one (2.4, 2.5, 4.4)."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    made = sandbox.post(f"{inside}/messages", message_body()).headers["location"].removeprefix(origin)
    asked = vendor_type("message").replace("json", form)
    views = [f"{name}?view={view}" for name in BELOW for view in ("summary", "detailed")]
    below = [f"{made}/{one}" for one in (*BELOW, *views)]

    for path in (f"{inside}/messages", made, *below):
        answer = sandbox.get(path, headers={"accept": asked})

        assert (path, answer.status_code) == (path, 200)
        assert answer.headers["content-type"] == asked
        assert answer.text[0] == ("<" if form == "xml" else "{")


BELOW = ("messagestatus", "messageresponses")


@pytest.mark.spec("9/v1", "9/gap")
@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "text/xml",
        "application/vnd.service.contact-v2+json",
        "application/vnd.service.resource-v1+json",
        "application/vnd.other.contact-v1+json",
        "application/json;q=0",
    ],
)
def test_a_type_that_is_not_to_be_had_is_406(accept: str) -> None:
    """Assumed: 406 with the error body."""
    answer = Sandbox(contacts=1).get("/contacts", headers={"accept": accept})

    assert answer.status_code == 406
    assert answer.json()["link"] == []
    assert answer.headers["content-type"].endswith("json")


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "text/plain",
        "application/xml",
        "application/vnd.service.contacts-v1+json",
        "application/vnd.service.resource-v1+json",
    ],
)
def test_a_body_of_another_type_is_415(content_type: str) -> None:
    """Specification 4: the kind's own type, which the answer names; nothing is written."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    before = sandbox.get(path).json()
    content = b'{"firstName": "Joan"}'

    answers = [
        sandbox.post("/contacts", headers={"content-type": content_type}, content=content),
        sandbox.put(path, headers={"content-type": content_type}, content=content),
    ]

    assert [answer.status_code for answer in answers] == [415, 415]
    assert all(vendor_type("contact") in answer.json()["errorText"] for answer in answers)
    assert sandbox.get(path).json() == before
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "


def test_parameters_of_the_content_type_do_not_matter() -> None:
    """A charset, and the case of letters, are not the type."""
    content_type = f"{vendor_type('contact').upper()}; charset=utf-8"

    assert Sandbox().post("/contacts", JANE, headers={"content-type": content_type}).status_code == 201


def test_the_vendor_token_is_chosen_by_the_configuration() -> None:
    """The same service exists under another vendor's name; links and types change together."""
    sandbox = Sandbox(vendor="whispir")
    own = vendor_type("contact", "whispir")

    answer = sandbox.post("/contacts", JANE, headers={"accept": own, "content-type": own})

    assert (answer.status_code, answer.headers["content-type"]) == (201, own)
    assert "vnd.whispir.contact-v1+json" in answer.json()["link"][1]["type"]
    assert sandbox.post("/contacts", JANE).status_code == 406


@pytest.mark.spec("4.3/post-on-one", "4.3/put-on-all", "4.3/delete-on-all", "7/method")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/contacts/{contact}"),
        ("PUT", "/contacts"),
        ("DELETE", "/contacts"),
        ("PATCH", "/contacts/{contact}"),
        ("POST", "/resources/{resource}"),
        ("PUT", "/resources"),
        ("DELETE", "/resources"),
        ("POST", "/workspaces/{named}/resources/{resource}"),
        ("DELETE", "/workspaces/{named}/contacts"),
        ("POST", "/contacts/{contact}/devices/0123456789ABCDEF"),
        ("PUT", "/contacts/{contact}/devices"),
        ("DELETE", "/contacts/{contact}/devices"),
        ("OPTIONS", "/contacts"),
    ],
)
def test_an_unsupported_method_is_405_and_does_nothing(method: str, path: str) -> None:
    """Specification 4.3 and 7: "METHOD not supported"; the status code is that of the general list."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    contact = sandbox.post("/contacts", JANE).headers["location"].rsplit("/", 1)[1]
    resource = sandbox.post("/resources", resource_body()).headers["location"].rsplit("/", 1)[1]

    answer = sandbox.send(method, path.format(contact=contact, resource=resource, named=named), JANE)

    assert answer.status_code == 405
    assert answer.json()["errorText"] == "METHOD not supported"
    assert "GET" in answer.headers["allow"]
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "
    assert sandbox.get("/resources").json()["status"] == "1 to 1 of 1    "


@pytest.mark.spec("7/gap")
def test_an_unknown_record_is_404_with_the_recorded_body() -> None:
    """Recorded: a summary that ends with a space, "Not Found", no links, no detail; the type asked for."""
    answer = Sandbox().get("/contacts/0123456789ABCDEF")

    assert answer.status_code == 404
    assert list(answer.json()) == ["errorSummary", "errorText", "link"]
    assert answer.json()["errorSummary"].endswith(" ")
    assert answer.json()["errorText"] == "Not Found"
    assert answer.json()["link"] == []
    assert answer.headers["content-type"] == vendor_type("contact")


@pytest.mark.parametrize(
    ("accept", "shown"),
    [
        (vendor_type("message"), vendor_type("message")),
        ("", "application/json"),
        ("text/html", "application/json"),
    ],
)
def test_an_unknown_address_is_404_too(accept: str, shown: str) -> None:
    """The type asked for, where it is one of the vendor's."""
    answer = Sandbox().get("/unheard-of", headers={"accept": accept})

    assert answer.status_code == 404
    assert answer.headers["content-type"] == shown


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"null", b"[]", b'"text"', b"7", b'{"a":NaN}', b'{"firstName":"\\ud800"}', b"{}{}"],
)
def test_a_body_that_is_no_json_object_is_400(content: bytes) -> None:
    """Documented: 400 for a malformed body; nothing is written."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    before = sandbox.get(path).json()

    answers = [sandbox.post("/contacts", content=content), sandbox.put(path, content=content)]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert answers[0].json()["link"] == []
    assert sandbox.get(path).json() == before
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "


@pytest.mark.parametrize("levels", [64, 500, 200_000])
def test_a_body_nested_without_end_is_400(levels: int) -> None:
    """What was once taken must always be shown again, so depth has a limit."""
    content = b'{"firstName":"Jane","x":' + b"[" * levels + b"]" * levels + b"}"

    assert Sandbox().post("/contacts", content=content).status_code == 400


def test_every_answer_carries_the_date_of_the_service() -> None:
    """From its own clock, so that clients can see a difference between the clocks."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)

    for path in ("/contacts", "/nowhere", "/_sandbox/requests"):
        shown = parsedate_to_datetime(sandbox.get(path).headers["date"])
        assert shown == clock.now.replace(microsecond=0)


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("word", ["messagestatus", "messagestatuses", "messageresponse", "messageresponses"])
def test_the_plural_of_statuses_and_responses_is_a_media_type_too(word: str, form: str) -> None:
    """Sources write both; the answer has the type that was asked for."""
    sandbox = Sandbox()
    address = "messagestatus" if word.startswith("messagestatus") else "messageresponses"
    asked = vendor_type(word).replace("json", form)

    answer = sandbox.get(f"/messages/{sent(sandbox)}/{address}", headers={"accept": asked})

    assert (answer.status_code, answer.headers["content-type"]) == (200, asked)
