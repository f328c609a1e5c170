"""Messages: acceptance, recipients, queue, list, statuses. Source: specification 2.4, 4.5, 7 and 8."""

from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox.asking import JANE, Clock, Sandbox, last_segment, named, origin, vendor_type
from sandbox.receiving import MAIL, MOBILE, failed, message_body, replied, sent

from reconciler.sandbox.config import Like
from reconciler.sandbox.messages import apportion
from reconciler.sandbox.xml_codec import read_xml

CRITERIA = {
    "criteriaFromDate": "01/08/2026",
    "criteriaFromTime": "09:00",
    "criteriaToDate": "02/08/2026",
    "criteriaToTime": "17:30",
}
ended = {"status": "No messages found", "link": []}


def query(parameters: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in parameters.items())


def subjects(sandbox: Sandbox, path: str = "/messages") -> list[str]:
    """The subjects of a list, in its order."""
    return [row["subject"] for row in sandbox.get(path).json().get("messages", [])]


def summary(sandbox: Sandbox, message: str) -> dict[str, tuple[int, str]]:
    """The five categories of the status summary."""
    found = sandbox.get(f"/messages/{message}/messagestatus?view=summary").json()["messageStatuses"][0]
    return {one["name"]: (one["recipientCount"], one["percentageTotal"]) for one in found["categories"]}


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("like", ["specification", "recorded"])
def test_a_detailed_status_has_each_channel_once_and_the_used_one_first(like: Like, form: str) -> None:
    """A client that takes the first destination must not get an empty one. Recorded is a fixed order."""
    sandbox = Sandbox(like=like)
    assert sandbox.post("/contacts", JANE).status_code == 201
    message = sent(sandbox, MAIL, "+447700900001", "nobody.here@example.com", "nobody")
    path = f"/messages/{message}/messagestatus?view=detailed"

    if form == "json":
        rows = [
            [(one["type"], one["destination"]) for one in row["status"]] for row in details(sandbox, message)
        ]
    else:
        root = ET.fromstring(  # noqa: S314 - our own sandbox wrote it
            sandbox.get(path, headers={"accept": "application/xml"}).text
        )
        rows = [
            [(one.get("type"), one.findtext("destination")) for one in row.findall("status")]
            for row in root.iter("{http://schemas.api.whispir.com/dap}messageStatus")
        ]

    assert len(rows) == 4
    for row in rows:
        assert sorted(str(channel) for channel, _ in row) == ["email", "sms", "voice"]
        assert len([destination for _, destination in row if destination]) == 1
        if like == "specification":
            assert row[0][1]
        else:
            assert [channel for channel, _ in row] == ["email", "sms", "voice"]


def details(sandbox: Sandbox, message: str) -> list[dict[str, Any]]:
    """The rows of the detailed status."""
    rows: list[dict[str, Any]] = sandbox.get(f"/messages/{message}/messagestatus?view=detailed").json()[
        "messageStatuses"
    ]
    return rows


@pytest.mark.spec("4.5/post", "4.5/type", "4.5/accepted", "4.5/location", "4.5/messageid", "4.5/gap")
@pytest.mark.parametrize("prefix", ["", f"/workspaces/{named}"])
@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_message_is_accepted_with_202_a_location_and_a_messageid(form: str, prefix: str) -> None:
    """Specification 4.5: the answer gives both. The header names the same address."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    shown = vendor_type("message").replace("json", form)

    answer = sandbox.post(f"{prefix}/messages", message_body(), headers={"accept": shown})

    location = answer.headers["location"]
    told = answer.json() if form == "json" else read_xml("message", answer.content)
    assert (answer.status_code, answer.headers["content-type"]) == (202, shown)
    assert told == {"location": location, "messageid": last_segment(location)}
    assert sandbox.get(location.removeprefix(origin)).json()["subject"] == "Maintenance"


@pytest.mark.parametrize("prefix", ["", f"/workspaces/{named}"])
def test_a_message_may_be_accepted_with_a_text_and_its_id_in_location_alone(prefix: str) -> None:
    """Recorded: the body is a plain text, though its type says JSON."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),), send_answer="text")

    answer = sandbox.post(f"{prefix}/messages", message_body())

    path = answer.headers["location"].removeprefix(origin)
    assert answer.status_code == 202
    assert answer.headers["content-type"] == vendor_type("message")
    assert answer.text == "Your request has been accepted for processing"
    assert last_segment(path) not in answer.text
    assert path.startswith(f"{prefix}/messages/")
    assert sandbox.get(path).json()["subject"] == "Maintenance"


@pytest.mark.spec("1/workspaces")
def test_a_message_stands_in_its_own_workspace_alone() -> None:
    """Specification 1: data is organised in workspaces."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    message = sent(sandbox)

    assert subjects(sandbox, f"/workspaces/{named}/messages") == []
    assert sandbox.get(f"/workspaces/{named}/messages/{message}").status_code == 404
    assert sandbox.get("/messages/0123456789ABCDEF").status_code == 404


@pytest.mark.spec("2.4/to.type", "2.4/subject.type")
@pytest.mark.parametrize("name", ["to", "subject"])
@pytest.mark.parametrize("value", [None, "", 5])
def test_a_message_needs_recipients_and_a_subject(name: str, value: object) -> None:
    """Public sources: both required. The refusal names the field, and nothing is sent."""
    sandbox = Sandbox()

    refused = sandbox.post("/messages", message_body(**{name: value}))

    assert refused.status_code == 422
    assert name in refused.json()["errorText"]
    assert sandbox.get("/messages").json() == ended


@pytest.mark.spec("2.4/body.type", "2.4/callbackId.type", "2.4/callbackParameters.type")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("body", 5),
        ("callbackId", ["a"]),
        ("callbackParameters", "a=b"),
        ("callbackParameters", [1]),
        ("to", " ; , "),
    ],
)
def test_a_field_of_the_wrong_form_is_refused_by_name(name: str, value: object) -> None:
    """Specification 2.4: texts, and pairs of keys and plain values."""
    sandbox = Sandbox()

    refused = sandbox.post("/messages", message_body(**{name: value}))

    assert (refused.status_code, name in refused.json()["errorText"]) == (422, True)
    assert sandbox.get("/messages").json() == ended


@pytest.mark.spec("8/gap")
def test_to_may_have_ten_thousand_characters() -> None:
    """Public sources: at most 10,000, separators counted."""
    sandbox = Sandbox()
    full = f"{MOBILE};".ljust(10_000, ";")

    assert sandbox.post("/messages", message_body(full)).status_code == 202
    assert sandbox.post("/messages", message_body(f"{full};")).status_code == 422
    assert len(subjects(sandbox)) == 1


def test_a_message_cannot_be_changed_or_deleted() -> None:
    """No source has either: METHOD not supported, specification 7."""
    sandbox = Sandbox()
    message = sent(sandbox)

    answers = [
        sandbox.put(f"/messages/{message}", message_body()),
        sandbox.delete(f"/messages/{message}"),
        sandbox.delete("/messages"),
        sandbox.post(f"/messages/{message}/messagestatus", {}),
        sandbox.post(f"/messages/{message}/messageresponses", {}),
    ]

    assert {(one.status_code, one.json()["errorText"]) for one in answers} == {(405, "METHOD not supported")}
    assert subjects(sandbox) == ["Maintenance"]


def test_a_row_of_the_list_is_as_recorded() -> None:
    """Recorded: no id, numbers for repetitions and time, and a self link with the query of the list."""
    sandbox = Sandbox(clock=Clock())
    message = sent(sandbox)

    document = sandbox.get("/messages?limit=5&apikey=demo-key&offset=0").json()

    uri = f"{origin}/messages/{message}?limit=5&offset=0"
    assert document == {
        "messages": [
            {
                "subject": "Maintenance",
                "repetitionCount": 0,
                "repeatDays": 0,
                "repeatHrs": 0,
                "repeatMin": 0,
                "from": "demo",
                "direction": "OUTGOING",
                "responseCount": "0",
                "createdTime": 1786670430988,
                "link": [{"uri": uri, "rel": "self", "method": "GET"}],
            }
        ],
        "status": "",
        "link": [],
    }


@pytest.mark.spec("8/rule-3-messages")
def test_messages_are_listed_whole_and_newest_first() -> None:
    """Specification 8, rule 3: messages are not paginated."""
    sandbox = Sandbox()
    for number in range(25):
        sent(sandbox, subject=f"Message {number}")

    assert subjects(sandbox) == [f"Message {number}" for number in reversed(range(25))]


def test_limit_and_offset_are_honoured_without_links() -> None:
    """Recorded, though the specification says that messages have no pages; so they end by the text alone."""
    sandbox = Sandbox()
    for number in range(5):
        sent(sandbox, subject=f"Message {number}")

    pages = [sandbox.get(f"/messages?limit=2&offset={offset}").json() for offset in (0, 2, 4, 6)]

    assert [[row["subject"][-1] for row in page.get("messages", [])] for page in pages] == [
        ["4", "3"],
        ["2", "1"],
        ["0"],
        [],
    ]
    assert [(page["status"], page["link"]) for page in pages[:3]] == [("", [])] * 3
    assert pages[3] == ended
    assert sandbox.get("/messages?limit=some").status_code == 400


def test_an_empty_list_can_end_in_the_recorded_words() -> None:
    """Specification 7 says "No messages found", a recording "No records found": both have to be met."""
    sandbox = Sandbox(messages_end="No records found")

    assert sandbox.get("/messages").json() == {"status": "No records found", "link": []}


@pytest.mark.spec("7/end-messages", "8/window")
def test_the_list_shows_the_last_seven_days() -> None:
    """Specification 8: the default window."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    message = sent(sandbox)

    clock.pass_s(timedelta(days=7).total_seconds())
    assert subjects(sandbox) == ["Maintenance"]

    clock.pass_s(1)
    assert sandbox.get("/messages").json() == ended
    assert sandbox.get(f"/messages/{message}").status_code == 200


def at_the_criteria() -> Sandbox:
    """Messages a minute before, at both ends of, and a minute after the criteria; then two weeks go by."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    for subject, day, hour, minute in (
        ("before", 1, 8, 59),
        ("first", 1, 9, 0),
        ("last", 2, 17, 30),
        ("after", 2, 17, 31),
    ):
        moment = clock.now.replace(month=8, day=day, hour=hour, minute=minute)
        clock.pass_s((moment - clock.now).total_seconds())
        sent(sandbox, subject=subject)
    clock.pass_s(timedelta(days=14).total_seconds())
    sent(sandbox, subject="today")
    return sandbox


@pytest.mark.spec("8/rule-4")
def test_the_four_criteria_together_choose_a_time() -> None:
    """Specification 8, rule 4. Both ends are included, the last minute whole (assumed)."""
    sandbox = at_the_criteria()

    assert subjects(sandbox, f"/messages?{query(CRITERIA)}") == ["last", "first"]


@pytest.mark.spec("8/rule-4.all")
@pytest.mark.parametrize("names", [some for size in range(4) for some in combinations(CRITERIA, size)])
def test_fewer_than_four_criteria_are_ignored(names: tuple[str, ...]) -> None:
    """Specification 8, rule 4: all four must be present for the search to work."""
    sandbox = at_the_criteria()
    given_ones = {name: CRITERIA[name] for name in names}

    assert subjects(sandbox, f"/messages?{query(given_ones)}") == ["today"]


@pytest.mark.spec("8/rule-4.dates", "8/rule-4.times")
@pytest.mark.parametrize(
    "wrong",
    [
        {"criteriaFromDate": "2026-08-01"},
        {"criteriaFromDate": "31/02/2026"},
        {"criteriaFromDate": "1/8/2026"},
        {"criteriaToTime": "25:00"},
        {"criteriaToTime": "9:00"},
        {"criteriaToTime": "09:00:00"},
        {"criteriaToDate": "00/00/0000"},
    ],
)
def test_criteria_of_another_form_are_refused(wrong: dict[str, str]) -> None:
    """Specification 8, rule 4: dd/mm/yyyy and hh:mm. That others are 400 is assumed."""
    answer = Sandbox().get(f"/messages?{query({**CRITERIA, **wrong})}")

    assert (answer.status_code, "dd/mm/yyyy" in answer.json()["errorText"]) == (400, True)


def test_the_last_day_of_the_calendar_is_a_date() -> None:
    """A window that ends with the calendar must not run over it."""
    wide = {**CRITERIA, "criteriaToDate": "31/12/9999", "criteriaToTime": "23:59"}

    assert Sandbox().get(f"/messages?{query(wide)}").json() == ended


@pytest.mark.spec("8/rule-5")
def test_view_type_shared_shows_what_others_sent() -> None:
    """Specification 8, rule 5: messages of users other than the API user."""
    sandbox = Sandbox()
    sent(sandbox, subject="ours")
    made = sandbox.post("/_sandbox/messages", {**message_body(subject="theirs"), "user": "someone"})

    assert subjects(sandbox, "/messages?viewType=shared") == ["theirs"]
    assert subjects(sandbox) == ["ours"]
    assert sandbox.get(f"/messages/{made.json()['messageid']}").json()["from"].startswith("someone@")


@pytest.mark.spec(
    "2.4/to",
    "2.4/subject",
    "2.4/body",
    "2.4/callbackId",
    "2.4/callbackParameters",
    "4.4/rel",
)
def test_one_message_has_its_text_and_seven_links() -> None:
    """Specification 4.4 (summaryResponses, GET) and the recorded document; what was sent comes back."""
    sandbox = Sandbox()
    parameters = {"plan": 7, "dry": True, "by": "Jane"}
    message = sent(sandbox, callbackId="approvals", callbackParameters=parameters, label="ops")

    document = sandbox.get(f"/messages/{message}").json()

    uri = f"{origin}/messages/{message}"
    assert {link["rel"]: link["uri"] for link in document["link"]} == {
        "self": uri,
        "summaryStatus": f"{uri}/messagestatus?view=summary",
        "detailedStatus": f"{uri}/messagestatus?view=detailed",
        "summaryResponses": f"{uri}/messageresponses?view=summary&filter=default",
        "detailedResponses": f"{uri}/messageresponses?view=detailed&filter=default",
        "summaryResponsesWithResponseRule": f"{uri}/messageresponses?view=summary&filter=responserule",
        "detailedResponsesWithResponseRule": f"{uri}/messageresponses?view=detailed&filter=responserule",
    }
    assert {link["method"] for link in document["link"]} == {"GET"}
    assert (document["to"], document["subject"], document["body"]) == (MOBILE, "Maintenance", "Tonight?")
    assert (document["callbackId"], document["callbackParameters"]) == ("approvals", parameters)
    assert (document["label"], document["from"]) == ("ops", "demo@User.service.example")
    assert "id" not in document


@pytest.mark.spec("2.4/gap")
def test_parts_that_nobody_wrote_are_shown_as_recorded() -> None:
    """Recorded: type default, the delivery report with nine fields, two social entries. Written ones stay."""
    sandbox = Sandbox()

    plain = sandbox.get(f"/messages/{sent(sandbox)}").json()
    written = sandbox.get(f"/messages/{sent(sandbox, type='defaultNoReply', dlr={'type': 'NoDlr'})}").json()

    assert (plain["type"], plain["label"], plain["voice"]) == ("default", "", {})
    assert plain["dlr"] == {
        "period": "",
        "rule": "",
        "type": "",
        "publishToWeb": False,
        "expiryDay": 0,
        "expiryHour": 0,
        "expiryMin": 0,
        "feedIds": "",
        "bool": False,
    }
    assert plain["social"] == {"social": [{"id": "social"}, {"id": "social_long"}]}
    assert (written["type"], written["dlr"]) == ("defaultNoReply", {"type": "NoDlr"})


@pytest.mark.parametrize("date", ["14/08/2026 02:20", "2026-08-14T02:20:00Z", "2026-08-14T12:20:00+10:00"])
def test_a_scheduled_message_waits_for_its_time(date: str) -> None:
    """Neither its cycle nor a cycle that comes by hand sends it before."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    message = sent(sandbox, messageType="SCHEDULED", scheduleType="ONCE", scheduleDate=date)

    clock.pass_s(3560)
    assert sandbox.post("/_sandbox/messages/run").json() == {"executed": 0}
    assert summary(sandbox, message)["Pending"] == (1, "100.0%")

    clock.pass_s(60)
    assert summary(sandbox, message)["Received"] == (1, "100.0%")
    shown = sandbox.get(f"/messages/{message}").json()
    assert (shown["messageType"], shown["scheduleDate"]) == ("SCHEDULED", date)


@pytest.mark.parametrize("date", [None, "", "soon", "31/02/2026 10:00", "2026-08-14T25:00"])
def test_a_scheduled_message_without_a_time_is_refused(date: str | None) -> None:
    """It would never be sent, or at once: neither was meant."""
    refused = Sandbox().post("/messages", message_body(messageType="SCHEDULED", scheduleDate=date))

    assert (refused.status_code, "scheduleDate" in refused.json()["errorText"]) == (422, True)


def test_every_link_of_a_message_leads_somewhere() -> None:
    """Clients that follow links must not end at a 404."""
    sandbox = Sandbox()
    message = sent(sandbox)
    paths = [link["uri"].removeprefix(origin) for link in sandbox.get(f"/messages/{message}").json()["link"]]

    assert {sandbox.get(path).status_code for path in paths} == {200}


def test_a_status_has_always_five_categories() -> None:
    """Recorded: counts are numbers here, percentages have one decimal."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, MAIL, "+447700900001")
    replied(sandbox, message, **{"from": MOBILE})
    failed(sandbox, message, to=MAIL)

    assert summary(sandbox, message) == {
        "Sent": (0, "0.0%"),
        "Pending": (0, "0.0%"),
        "Received": (1, "33.4%"),
        "Acknowledged": (1, "33.3%"),
        "Undeliverable": (1, "33.3%"),
    }


def test_the_summary_is_the_default_view() -> None:
    """Public sources; any other view than the two is refused (assumed)."""
    sandbox = Sandbox()
    path = f"/messages/{sent(sandbox)}/messagestatus"

    assert "categories" in sandbox.get(path).json()["messageStatuses"][0]
    assert sandbox.get(f"{path}?view=whole").status_code == 400


@pytest.mark.spec("4.5/queued")
def test_a_queued_message_is_executed_at_the_next_cycle() -> None:
    """Specification 4.5: 202 means queued; here the cycle comes after a minute of the clock."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, message_cycle_s=60)
    message = sent(sandbox)

    clock.pass_s(59)
    assert summary(sandbox, message)["Pending"] == (1, "100.0%")
    queued = {"type": "sms", "status": "PENDING", "destination": MOBILE}
    assert queued in details(sandbox, message)[0]["status"]

    clock.pass_s(1)
    assert summary(sandbox, message)["Received"] == (1, "100.0%")


def test_the_queue_can_be_executed_by_hand() -> None:
    """So that a test can look at a queued message for as long as it wants."""
    sandbox = Sandbox(message_cycle_s=float("inf"))
    message = sent(sandbox)
    assert summary(sandbox, message)["Pending"] == (1, "100.0%")

    assert sandbox.post("/_sandbox/messages/run").json() == {"executed": 1}
    assert sandbox.post("/_sandbox/messages/run").json() == {"executed": 0}
    assert summary(sandbox, message)["Received"] == (1, "100.0%")


def test_the_details_of_a_status_name_everybody() -> None:
    """Recorded: name, padded info, three channels, a misspelt time; a time not reached is absent."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    jane = sandbox.created("/contacts", JANE)
    message = sent(sandbox, MAIL, "+447700900001")
    clock.pass_s(90)
    replied(sandbox, message, **{"from": MAIL})

    rows = details(sandbox, message)

    uri = f"{origin}/messages/{message}/messagestatus?view=detailed"
    assert rows == [
        {
            "name": "Jane Doe",
            "info": " Email message sent OK. ",
            "link": [{"uri": uri, "rel": "self", "method": "GET"}],
            "status": [
                {
                    "type": "email",
                    "status": "READ",
                    "destination": MAIL,
                    "sentTimestamp": 1786670430988,
                    "receivedTimestamp": 1786670430988,
                    "acknowlegedTimestamp": 1786670520988,
                },
                {"type": "sms", "status": "", "destination": ""},
                {"type": "voice", "status": "", "destination": ""},
            ],
        },
        {
            "name": "+447700900001",
            "info": " Out bound SMS text message sent OK. ",
            "link": [{"uri": uri, "rel": "self", "method": "GET"}],
            "status": [
                {
                    "type": "sms",
                    "status": "DELIVRD",
                    "destination": "+447700900001",
                    "sentTimestamp": 1786670430988,
                    "receivedTimestamp": 1786670430988,
                },
                {"type": "email", "status": "", "destination": ""},
                {"type": "voice", "status": "", "destination": ""},
            ],
        },
    ]
    assert sandbox.get(jane).status_code == 200


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize(
    "path",
    [
        "messagestatus?view=summary",
        "messagestatus?view=detailed",
        "messageresponses?view=summary&filter=default",
        "messageresponses?view=detailed&filter=default",
    ],
)
def test_what_stands_below_a_message_may_be_asked_for_as_one(path: str, form: str) -> None:
    """Specification 4.4 names no media type for these; a client that follows the links has the message's."""
    sandbox = Sandbox()
    message = sent(sandbox)
    accept = f"application/vnd.service.message-v1+{form}"

    answer = sandbox.get(f"/messages/{message}/{path}", headers={"accept": accept})

    assert (answer.status_code, answer.headers["content-type"]) == (200, accept)
    wrong = {"accept": accept.replace("message", "contact")}
    assert sandbox.get(f"/messages/{message}/{path}", headers=wrong).status_code == 406


def test_the_details_of_a_status_have_pages() -> None:
    """Specification 8, rules 1 and 2; past the end the words of every list."""
    sandbox = Sandbox()
    message = sent(sandbox, *(f"+4477009000{at:02d}" for at in range(25)))
    path = f"/messages/{message}/messagestatus?view=detailed"

    first, second, third = (sandbox.get(f"{path}&offset={offset}").json() for offset in (0, 20, 40))

    assert (len(first["messageStatuses"]), first["status"]) == (20, "1 to 20 of 25    ")
    assert [link["rel"] for link in first["link"]] == ["next"]
    assert (len(second["messageStatuses"]), [link["rel"] for link in second["link"]]) == (5, ["prev"])
    assert third == {"status": "No records found", "link": []}


@pytest.mark.spec("1/messages")
@pytest.mark.parametrize(
    "address", [MOBILE, "+61 491 570 156", "61491570156", MAIL, "Jane.DOE@example.com", "{mri}"]
)
def test_a_recipient_is_the_contact_with_that_number_address_or_mri(address: str) -> None:
    """Specification 1: messages are sent to contacts. Spaces, plus and letter case do not matter."""
    sandbox = Sandbox(contacts=5)
    sandbox.delete(f"/contacts/{sandbox.get('/contacts').json()['contacts'][0]['id']}")  # has Jane's number
    mri = sandbox.get(sandbox.created("/contacts", JANE)).json()["mri"]

    message = sent(sandbox, address.format(mri=mri))

    (row,) = details(sandbox, message)
    used = [one["type"] for one in row["status"] if one["status"]]
    assert (row["name"], used) == ("Jane Doe", ["email" if "@example" in address.lower() else "sms"])


def test_separators_may_be_mixed_and_the_same_person_counts_once() -> None:
    """Public sources write `;` and `,`. Jane is meant twice, and so is one stranger."""
    sandbox = Sandbox()
    sandbox.created("/contacts", JANE)

    message = sent(sandbox, f"{MOBILE}, +44 7700 900001;{MAIL};;+447700900001 ,")

    assert [row["name"] for row in details(sandbox, message)] == ["Jane Doe", "+44 7700 900001"]


def test_who_leads_nowhere_is_undeliverable_once_the_message_is_executed() -> None:
    """Assumed: an MRI that nobody has, and what is no address at all; the others are reached."""
    sandbox = Sandbox()

    message = sent(sandbox, "Nobody.9@Contact.service.example", "Jane", MOBILE)

    used = [[one["status"] for one in row["status"] if one["status"]] for row in details(sandbox, message)]
    assert used == [["FAILED"], ["FAILED"], ["DELIVRD"]]
    assert summary(sandbox, message)["Undeliverable"] == (2, "66.7%")


def test_a_contact_of_another_workspace_is_nobody() -> None:
    """Specification 4.2, rule 2: nothing reaches across workspaces."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    sandbox.created(f"/workspaces/{named}/contacts", JANE)

    assert details(sandbox, sent(sandbox))[0]["name"] == MOBILE


def test_messages_survive_a_restart(tmp_path: Path) -> None:
    """Messages with recipients, replies and failures, and the queue."""
    options: dict[str, Any] = {
        "data": tmp_path / "sandbox.db",
        "message_cycle_s": float("inf"),
        "clock": Clock(),
    }
    sandbox = Sandbox(**options)
    message = sent(sandbox, MOBILE, MAIL, callbackParameters={"a": 1})
    sandbox.post("/_sandbox/messages/run")
    replied(sandbox, message)
    failed(sandbox, message, to=MAIL)
    sent(sandbox, subject="queued")
    paths = ["/messages", f"/messages/{message}", f"/messages/{message}/messagestatus?view=detailed"]
    before = [sandbox.get(path).json() for path in paths]
    sandbox.app.state.sandbox.close()

    again = Sandbox(**options)

    assert [again.get(path).json() for path in paths] == before
    assert again.post("/_sandbox/messages/run").json() == {"executed": 1}


@pytest.mark.spec("6/rule-2-xml")
def test_a_message_is_sent_and_read_in_xml() -> None:
    """Specification 6, rule 2: in XML each parameter is an entry with a key and a value."""
    sandbox = Sandbox()
    types = {"content-type": vendor_type("message").replace("json", "xml")}
    body = f"""<n:message xmlns:n="http://schemas.api.whispir.com"><to>{MOBILE}</to><subject>S</subject>
    <callbackParameters><entry><key>plan</key><value>7</value></entry></callbackParameters></n:message>"""

    answer = sandbox.post("/messages", headers={**types, "accept": ""}, content=body.encode())

    message = last_segment(answer.headers["location"])
    shown = sandbox.get(f"/messages/{message}", headers={"accept": types["content-type"]})
    assert answer.status_code == 202
    assert sandbox.get(f"/messages/{message}").json()["callbackParameters"] == {"plan": "7"}
    assert b"<entry><key>plan</key><value>7</value></entry>" in shown.content


@pytest.mark.spec("2.5/shares")
@given(counts=st.lists(st.integers(0, 10_000), min_size=1, max_size=8), whole=st.sampled_from([100, 1000]))
def test_shares_add_up_and_are_never_a_whole_point_off(counts: list[int], whole: int) -> None:
    """Specification 2.5: the entries describe all recipients, so their percentages make 100 %."""
    found = apportion(counts, whole)

    assert sum(found) == (whole if sum(counts) else 0)
    assert all(
        abs(share - count * whole / (sum(counts) or 1)) < 1
        for share, count in zip(found, counts, strict=True)
    )
