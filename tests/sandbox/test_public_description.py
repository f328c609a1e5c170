"""What a client meets that was generated from the public description of the service.

Each of these was a surprise to one: it sent what the description allows, or read what it promises, and the
sandbox did otherwise. Where the specification says nothing, the public form is taken; the answers that stay
as they are have their reason in docs/service.md.
"""

from typing import Any

import pytest
from sandbox.asking import JANE, Sandbox, vendor_type
from sandbox.receiving import MOBILE, message_body, sent

CSV = "bmFtZSxtYWlsLHpvbmUKSm8sam9AZXhhbXBsZS5jb20sRXVyb3BlL0Jlcm5lCg=="  # name,mail,zone / Jo,...


def messages(sandbox: Sandbox, query: str) -> list[str]:
    return [row["subject"] for row in sandbox.get(f"/messages?{query}").json().get("messages", [])]


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/contacts?limit=x", 400, "Bad Request"),
        ("GET", "/messages?sortOrder=up", 400, "Bad Request"),
        ("PUT", "/contacts", 405, ""),
        ("DELETE", "/resources", 405, ""),
    ],
)
@pytest.mark.parametrize("form", ["json", "xml"])
def test_refusals_have_the_detail_that_is_required_of_their_status(
    method: str, path: str, status: int, detail: str, form: str
) -> None:
    """A generated client decodes the error with a type that has no optional detail, and fails."""
    accepted = vendor_type(path.strip("/").partition("?")[0].removesuffix("s")).replace("json", form)
    answer = Sandbox().send(method, path, headers={"accept": accepted})

    assert answer.status_code == status
    if form == "json":
        assert list(answer.json()) == ["errorSummary", "errorText", "errorDetail", "link"]
        assert answer.json()["errorDetail"] == detail
    else:
        assert "<errorDetail" in answer.text
        assert detail in answer.text


def test_refusals_of_recorded_forms_have_no_detail() -> None:
    """The recorded 404 has none, and it counts more than a description."""
    sandbox = Sandbox()
    answers = [sandbox.get("/contacts/00FF"), sandbox.post("/contacts", {"title": "Dr"})]
    assert [one.status_code for one in answers] == [404, 422]
    assert all("errorDetail" not in one.json() for one in answers)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("label=Night", ["b", "a"]), ("label=night", ["b", "a"]), ("label=shift", ["b"]), ("label=day", [])],
)
def test_messages_are_listed_by_their_label(asked: str, found: list[str]) -> None:
    """Links to the messages of an event are such a query: without it they lead to everybody's messages."""
    sandbox = Sandbox()
    for subject, label in (("a", "Night"), ("b", "Night shift"), ("c", "")):
        sent(sandbox, MOBILE, subject=subject, label=label)

    assert messages(sandbox, asked) == found
    assert messages(sandbox, "label=") == ["c", "b", "a"]


@pytest.mark.parametrize("name", ["validBody", "validSubject", "whatsappValidMessage"])
def test_what_only_the_service_says_of_a_message_is_not_taken(name: str) -> None:
    """A client that sends a whole object back sends its read-only fields, too."""
    sandbox = Sandbox()
    message = sent(sandbox, **{name: "mine"})

    assert name not in sandbox.get(f"/messages/{message}").json()


def test_what_is_attached_to_a_message_is_taken_and_not_shown() -> None:
    """It is written and never read: up to 10 MB that nobody asked for, in a type without a place for it."""
    attached = {"attachments": [{"attachmentName": "rota.csv", "derefUri": CSV}]}
    sandbox = Sandbox()
    message = sent(sandbox, "jane.doe@example.com", email={"body": "See there", "resources": attached})

    shown = sandbox.get(f"/messages/{message}").json()

    assert shown["email"] == {"body": "See there"}
    assert CSV not in str(shown)


@pytest.mark.parametrize("view", ["summary", "detailed"])
@pytest.mark.parametrize(("asked", "status"), [("default", 200), ("responserule", 200), ("others", 400)])
def test_a_status_takes_the_filters_that_are_known(asked: str, status: int, view: str) -> None:
    """They leave nothing out of it; one that nobody knows is a mistake, as for responses."""
    sandbox = Sandbox()
    path = f"/messages/{sent(sandbox)}/messagestatus?view={view}"

    answer = sandbox.get(f"{path}&filter={asked}")

    assert answer.status_code == status
    if status == 200:
        assert list(answer.json()) == list(sandbox.get(path).json())
        assert len(answer.json()["messageStatuses"]) == 1


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ({"latitude": 90, "longitude": -180}, 201),
        ({"latitude": "-37.81", "longitude": "144.96"}, 201),
        ({"latitude": 90.5, "longitude": 0}, 422),
        ({"latitude": 0, "longitude": 181}, 422),
        ({"latitude": "-91", "longitude": 0}, 422),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_location_is_on_the_globe(place: dict[str, Any], status: int, method: str) -> None:
    """Latitude and longitude that were exchanged would put a person into the sea, in silence."""
    sandbox = Sandbox()
    body = {**JANE, "locations": [{**place, "type": "CurrentLocation"}]}
    path = "/contacts" if method == "POST" else sandbox.created("/contacts", JANE)

    answer = sandbox.send(method, path, body)

    assert answer.status_code == (204 if (method, status) == ("PUT", 201) else status), answer.text
    assert status != 422 or "itude must be between" in answer.json()["errorText"]


@pytest.mark.parametrize(
    ("written", "status"),
    [("A", 201), ("d", 201), ("Active", 201), ("DISABLED", 201), ("X", 422), ("yes", 422)],
)
def test_the_status_of_a_contact_is_one_of_two(written: str, status: int) -> None:
    """Anything else was kept and shown, as if there were a third state."""
    answer = Sandbox().post("/contacts", {**JANE, "status": written})

    assert answer.status_code == status
    assert status != 422 or answer.json()["errorText"] == "status must be A or D"


@pytest.mark.parametrize(
    "wish",
    [
        {"importOptions": {"fieldMapping": {"firstName": "name", "workEmailAddress1": "mail"}}},
        {"importOptions": {"firstName": "name", "workEmailAddress1": "mail"}, "importMode": "replace"},
        {"importOptions": {"firstName": "name", "workEmailAddress1": "mail", "importMode": "replace"}},
    ],
    ids=["by name", "beside", "both in one"],
)
def test_an_import_is_mapped_in_either_form(wish: dict[str, Any]) -> None:
    """The flat form was read as no mapping at all: columns that are no fields became fields of people."""
    sandbox = Sandbox()
    resource = {"name": "people.csv", "scope": "private", "mimeType": "text/csv", "derefUri": CSV}
    uploaded = sandbox.created("/resources", resource).rsplit("/", 1)[1]

    answer = sandbox.post("/imports", {"resourceId": uploaded, "importType": "contact", **wish})

    assert answer.status_code == 202, answer.text
    (row,) = sandbox.get("/contacts?fields=workEmailAddress1,mail").json()["contacts"]
    assert (row["firstName"], row["workEmailAddress1"]) == ("Jo", "jo@example.com")
    assert "mail" not in row


@pytest.mark.parametrize(("mode", "people"), [("duplicate", 2), ("ignore", 1), ("replace", 1)])
def test_the_mode_of_an_import_may_stand_beside_its_mapping(mode: str, people: int) -> None:
    """Read as `replace`, an import that was to leave people alone wrote over them."""
    sandbox = Sandbox()
    resource = {"name": "people.csv", "scope": "private", "mimeType": "text/csv", "derefUri": CSV}
    uploaded = sandbox.created("/resources", resource).rsplit("/", 1)[1]
    mapping = {"firstName": "name", "workEmailAddress1": "mail"}
    wish = {"resourceId": uploaded, "importType": "contact", "importOptions": mapping, "importMode": mode}

    for _ in range(2):
        assert sandbox.post("/imports", wish).status_code == 202

    assert len(sandbox.get("/contacts").json()["contacts"]) == people
    refused = sandbox.post("/imports", {**wish, "importMode": "delete"})
    assert (refused.status_code, "importMode" in refused.json()["errorText"]) == (422, True)


def test_a_scheduled_message_is_accepted_as_every_other_is() -> None:
    """One description has a 200 with the message for it; the specification has 202 for every send."""
    wish = message_body(messageType="SCHEDULED", scheduleType="ONCE", scheduleDate="14/02/2027 15:55")
    answer = Sandbox().post("/messages", wish)

    assert answer.status_code == 202
    assert set(answer.json()) == {"location", "messageid"}
