"""Replies to messages, as summaries and one by one. Source: specification 2.5, 3.2 and 4.4."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.asking import JANE, Clock, Sandbox, named, origin, vendor_type
from sandbox.receiving import MAIL, MOBILE, failed, message_body, replied, sent

JOHN = "+447700900001"


def responses(sandbox: Sandbox, message: str, **query: str) -> Any:
    """The responses document for this query."""
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = sandbox.get(f"/messages/{message}/messageresponses?{asked}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def counted(document: Any) -> dict[str, tuple[str, str]]:
    """Type -> count and percentage of a summary."""
    return {
        one["type"]: (one["responseCount"], one["percentageTotal"]) for one in document["messageresponses"]
    }


@pytest.mark.spec(
    "1/replies-summary",
    "2.5/object",
    "2.5/messageresponses",
    "2.5/messageresponses.type",
    "2.5/type",
    "2.5/type.type",
    "2.5/responseCount",
    "2.5/responseCount.type",
    "2.5/percentageTotal",
    "2.5/percentageTotal.type",
    "2.5/entry-link",
    "2.5/entry-link.empty",
    "2.5/link",
    "2.5/link-uri",
    "2.5/link-uri.type",
    "2.5/link-rel",
    "2.5/link-rel.type",
    "2.5/link-method",
    "2.5/link-method.type",
    "3.2/notmatched",
    "3.2/gap",
    "4.4/get",
    "4.4/view",
    "4.4/response",
)
def test_two_recipients_of_whom_one_answers_are_half_each() -> None:
    """The example of specification 2.5; counts and percentages are texts, links are objects."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, JOHN)
    replied(sandbox, message)

    path = f"/messages/{message}/messageresponses?view=summary&filter=default"
    answer = sandbox.get(f"{path}&apikey=demo-key")

    assert answer.headers["content-type"] == vendor_type("messageresponse")
    assert answer.json() == {
        "messageresponses": [
            {"type": "noresponse", "responseCount": "1", "percentageTotal": "50%", "link": []},
            {"type": "notmatched", "responseCount": "1", "percentageTotal": "50%", "link": []},
        ],
        "link": [{"uri": f"{origin}{path}", "rel": "self", "method": "GET"}],
    }


@pytest.mark.spec("3.2/noresponse")
def test_a_message_that_nobody_answered_is_all_noresponse() -> None:
    """Specification 3.2; a type that counts nobody has no entry."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, JOHN)

    assert counted(responses(sandbox, message)) == {"noresponse": ("2", "100%")}


@pytest.mark.spec("2.5/type.observed", "4.4/filter")
@pytest.mark.parametrize(
    ("chosen", "types"),
    [
        ("default", ["noresponse", "notmatched"]),
        ("responserule", ["noresponse", "notmatched"]),
        ("noresponse", ["noresponse"]),
        ("notmatched", ["notmatched"]),
    ],
)
def test_a_filter_chooses_the_types(chosen: str, types: list[str]) -> None:
    """Specification 4.4 for default, public sources for the rest; percentages are of all recipients."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, JOHN)
    replied(sandbox, message)

    summary = responses(sandbox, message, view="summary", filter=chosen)
    rows = responses(sandbox, message, view="detailed", filter=chosen)["messageresponses"]

    assert counted(summary) == dict.fromkeys(types, ("1", "50%"))
    assert sorted(row["responseCategory"] for row in rows) == types


@pytest.mark.parametrize("asked", ["filter=everything", "view=all"])
def test_an_unknown_filter_or_view_is_refused(asked: str) -> None:
    """Assumed: 400."""
    sandbox = Sandbox()

    assert sandbox.get(f"/messages/{sent(sandbox)}/messageresponses?{asked}").status_code == 400


def test_responses_of_an_unknown_message_are_not_found() -> None:
    """Also through another workspace."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    message = sent(sandbox)

    for path in ("/messages/0123", f"/workspaces/{named}/messages/{message}"):
        assert sandbox.get(f"{path}/messageresponses").status_code == 404
        assert sandbox.get(f"{path}/messagestatus").status_code == 404


def test_the_details_have_a_row_for_each_reply_and_each_silence() -> None:
    """Public sources: who, category, words; N/A where nobody answered."""
    sandbox = Sandbox(clock=Clock())
    mri = sandbox.get(sandbox.created("/contacts", JANE)).json()["mri"]
    message = sent(sandbox, MOBILE, JOHN)
    replied(sandbox, message, "Not yet")
    replied(sandbox, message, "Yes")

    document = responses(sandbox, message, view="detailed", filter="default")

    jane = {"name": "Jane Doe", "mri": mri, "mobile": MOBILE, "email": MAIL, "voice": ""}
    john = {"name": JOHN, "mri": "", "mobile": JOHN, "email": "", "voice": ""}
    said = {"channel": "SMS", "acknowledged": "14/08/26 01:20"}
    assert document == {
        "messageresponses": [
            {
                "from": jane,
                "responseCategory": "notmatched",
                "responseMessage": {**said, "content": "Not yet"},
            },
            {"from": jane, "responseCategory": "notmatched", "responseMessage": {**said, "content": "Yes"}},
            {
                "from": john,
                "responseCategory": "noresponse",
                "responseMessage": {"channel": "SMS", "acknowledged": "N/A", "content": "N/A"},
            },
        ],
        "status": "1 to 3 of 3    ",
        "link": [],
    }


@pytest.mark.spec("8/rule-1")
def test_the_details_have_pages() -> None:
    """Specification 8; the links keep the query and leave out the key."""
    sandbox = Sandbox()
    message = sent(sandbox, *(f"+4477009000{at:02d}" for at in range(25)))

    first = responses(sandbox, message, view="detailed", apikey="demo-key")
    past = responses(sandbox, message, view="detailed", offset="25")

    (following,) = first["link"]
    assert (len(first["messageresponses"]), first["status"]) == (20, "1 to 20 of 25    ")
    assert following["uri"].endswith("messageresponses?offset=20&limit=20&view=detailed")
    assert past == {"status": "No records found", "link": []}


@pytest.mark.spec("2.5/responseCount")
def test_one_person_counts_once_however_often_they_reply() -> None:
    """Specification 2.5: the count is one of recipients."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, JOHN, "+447700900002")
    for word in ("No", "Wait", "Yes"):
        replied(sandbox, message, word)

    assert counted(responses(sandbox, message)) == {"noresponse": ("2", "67%"), "notmatched": ("1", "33%")}
    assert sandbox.get("/messages").json()["messages"][0]["responseCount"] == "3"


@pytest.mark.spec("2.5/shares")
@settings(max_examples=25, deadline=None)
@given(recipients=st.integers(1, 40), answered=st.integers(0, 40))
def test_a_summary_accounts_for_all_recipients(recipients: int, answered: int) -> None:
    """Specification 2.5: whatever the numbers, the entries make 100 % of all recipients."""
    sandbox = Sandbox()
    numbers = [f"+4477009000{at:02d}" for at in range(recipients)]
    message = sent(sandbox, *numbers)
    for number in numbers[:answered]:
        replied(sandbox, message, **{"from": number})

    entries = counted(responses(sandbox, message, view="summary", filter="default")).values()

    assert sum(int(count) for count, _ in entries) == recipients
    assert sum(int(share.removesuffix("%")) for _, share in entries) == 100


@pytest.mark.parametrize("who", [MOBILE, MAIL, "Jane Doe", "61491570156"])
def test_a_reply_comes_from_whom_the_test_names(who: str) -> None:
    """By whatever name a test has for them; the first recipient when it has none."""
    sandbox = Sandbox()
    sandbox.created("/contacts", JANE)
    message = sent(sandbox, JOHN, MOBILE)

    assert replied(sandbox, message, **{"from": who})["from"]["name"] == "Jane Doe"
    assert replied(sandbox, message)["from"]["name"] == JOHN


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("{message}/reply", {}, 422),
        ("{message}/reply", {"content": 5}, 422),
        ("{message}/reply", {"content": "Yes", "from": "+12025550100"}, 422),
        ("{message}/reply", {"content": "Yes", "from": MAIL}, 422),
        ("{queued}/reply", {"content": "Yes"}, 422),
        ("{message}/fail", {"to": "+12025550100"}, 422),
        ("{message}/fail", {"to": MAIL}, 422),
        ("{message}/fail", {"reason": 5}, 422),
        ("0123/reply", {"content": "Yes"}, 404),
        ("0123/fail", {}, 404),
        ("{message}/forward", {}, 404),
        ("{message}", {}, 404),
        ("", {}, 404),
    ],
)
def test_a_reply_or_failure_that_cannot_be_is_refused(path: str, body: dict[str, Any], status: int) -> None:
    """A stranger's, one that did not get the message, a queued message: and nothing changes."""
    sandbox = Sandbox(message_cycle_s=float("inf"))
    message = sent(sandbox, MOBILE, MAIL)
    sandbox.post("/_sandbox/messages/run")
    failed(sandbox, message, to=MAIL)
    queued = sent(sandbox)
    views = [f"/messages/{one}/messagestatus?view=detailed" for one in (message, queued)]
    before = [sandbox.get(view).json() for view in views]

    answer = sandbox.post(f"/_sandbox/messages/{path.format(message=message, queued=queued)}", body)

    assert answer.status_code == status
    assert [sandbox.get(view).json() for view in views] == before


def test_what_was_answered_cannot_fail_any_more() -> None:
    """It did arrive."""
    sandbox = Sandbox()
    message = sent(sandbox)
    replied(sandbox, message)

    assert sandbox.post(f"/_sandbox/messages/{message}/fail", {}).status_code == 422
    assert counted(responses(sandbox, message)) == {"notmatched": ("1", "100%")}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"user": "demo"}, 422),
        ({"user": ""}, 422),
        ({"user": "someone", "subject": ""}, 422),
        ({"user": "someone", "workspace": "AB"}, 404),
    ],
)
def test_a_shared_message_needs_another_user(body: dict[str, str], status: int) -> None:
    """Otherwise it would not be shared."""
    sandbox = Sandbox()

    assert sandbox.post("/_sandbox/messages", {**message_body(), **body}).status_code == status
    assert sandbox.get("/messages?viewType=shared").json()["status"] == "No messages found"


def test_responses_are_read_in_xml() -> None:
    """Each row is a response element, the type of a summary its attribute."""
    sandbox = Sandbox()
    message = sent(sandbox, MOBILE, JOHN)
    replied(sandbox, message, "<b> & more")
    types = {"accept": vendor_type("messageresponse").replace("json", "xml")}
    path = f"/messages/{message}/messageresponses"

    summary = sandbox.get(path, headers=types).text
    details = sandbox.get(f"{path}?view=detailed", headers=types).text

    assert ':response type="notmatched"><responseCount>1</responseCount>' in summary
    assert "<content>&lt;b&gt; &amp; more</content>" in details
