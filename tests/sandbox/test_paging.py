"""Lists: pages, status texts, links. Source: specification 8, docs/service.md on lists."""

from typing import Any

import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, named, origin, resource_body
from sandbox.receiving import callback_body, delivered, receiving, replied, sent
from sandbox.town import town

from reconciler.sandbox.config import Like


@pytest.mark.spec("8/limit", "8/limit.default")
def test_a_page_holds_twenty_rows_unless_fewer_are_asked_for() -> None:
    """Specification 8, limit: maximum 20, default 20."""
    sandbox = Sandbox(contacts=55)

    assert len(sandbox.get("/contacts").json()["contacts"]) == 20
    assert len(sandbox.get("/contacts?limit=7").json()["contacts"]) == 7


@pytest.mark.spec("8/limit.max")
def test_more_than_twenty_rows_are_never_given() -> None:
    """Specification 8: the maximum is 20; higher values are clamped (assumed). 0 once meant all."""
    sandbox = Sandbox(contacts=55)

    for limit in (21, 100, 999_999_999, 0):
        page = sandbox.get(f"/contacts?limit={limit}").json()
        assert len(page["contacts"]) == 20
        assert page["link"][0]["uri"].endswith("?offset=20&limit=20")


@pytest.mark.spec("8/offset", "8/offset.default")
def test_offset_is_the_record_number_to_start_from() -> None:
    """Specification 8, offset: default 0."""
    sandbox = Sandbox(contacts=55)

    first = sandbox.get("/contacts").json()["contacts"]
    shifted = sandbox.get("/contacts?offset=5").json()["contacts"]

    assert [row["id"] for row in shifted[:15]] == [row["id"] for row in first[5:]]


def test_the_status_counts_the_rows_and_ends_with_four_spaces() -> None:
    """Recorded: "1 to 20 of 55    "."""
    sandbox = Sandbox(contacts=55)

    statuses = [sandbox.get(f"/contacts?offset={offset}").json()["status"] for offset in (0, 20, 40)]

    assert statuses == ["1 to 20 of 55    ", "21 to 40 of 55    ", "41 to 55 of 55    "]


@pytest.mark.spec("8/rule-2")
@pytest.mark.parametrize(("options", "back"), [({}, "prev"), ({"prev_rel": "previous"}, "previous")])
def test_links_come_in_the_order_next_then_back(options: dict[str, Any], back: str) -> None:
    """Recorded: only next on the first page, both between, only the link back on the last."""
    sandbox = Sandbox(contacts=55, **options)

    rels = [
        [link["rel"] for link in sandbox.get(f"/contacts?offset={offset}").json()["link"]]
        for offset in (0, 20, 40)
    ]

    assert rels == [["next"], ["next", back], [back]]


def test_page_links_are_whole_addresses_with_offset_before_limit() -> None:
    """Recorded: links are written ?offset=20&limit=20, and name the method."""
    sandbox = Sandbox(contacts=55)

    following, before = sandbox.get("/contacts?offset=25&limit=10").json()["link"]

    assert following == {"uri": f"{origin}/contacts?offset=35&limit=10", "rel": "next", "method": "GET"}
    assert before == {"uri": f"{origin}/contacts?offset=15&limit=10", "rel": "prev", "method": "GET"}


def test_page_links_keep_the_other_parameters() -> None:
    """A link that forgot the filter would lead to other rows."""
    sandbox = Sandbox(contacts=200)

    link = sandbox.get("/contacts?firstName=sam&limit=2").json()["link"][0]

    assert link["uri"] == f"{origin}/contacts?offset=2&limit=2&firstName=sam"


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("written", ["apikey", "ApiKey", "APIKEY", "%61pikey", "apike%79", "apikey=x&apikey"])
def test_no_link_repeats_the_api_key(written: str, form: str) -> None:
    """Specification 2.5: links without it. They go into logs, tickets and to others, the key with them.

    However the name of the parameter is written: what the sandbox reads as `apikey` it must know again.
    """
    sandbox, addresses = town()
    headers = {"accept": f"application/{form}"}

    for shown, path in addresses.items():
        query = f"offset=1&limit=1&{written}=demo-key"
        answer = sandbox.get(f"{path}{'&' if '?' in path else '?'}{query}", headers=headers)

        assert answer.status_code == 200, shown
        assert "demo-key" not in answer.text, shown
        assert "apike" not in answer.text.lower(), shown


def test_links_repeat_the_api_key_where_the_sandbox_is_told_to() -> None:
    """Old public samples show it; a client has to cut it off before it keeps anything."""
    sandbox = Sandbox(contacts=3, key_in_links=True)
    message = sent(sandbox)

    page = sandbox.get("/contacts?limit=2&apikey=demo-key").json()
    status = sandbox.get(f"/messages/{message}/messagestatus?apikey=demo-key").json()

    assert page["link"][0]["uri"] == f"{origin}/contacts?offset=2&limit=2&apikey=demo-key"
    (own,) = status["messageStatuses"][0]["link"]
    assert own["uri"] == f"{origin}/messages/{message}/messagestatus?apikey=demo-key"


def test_page_links_stay_in_the_workspace_of_the_request() -> None:
    """A link out of the workspace would read somebody else's contacts."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    for number in range(3):
        sandbox.created(f"/workspaces/{named}/contacts", {"firstName": f"Person {number}"})

    link = sandbox.get(f"/workspaces/{named}/contacts?limit=2").json()["link"][0]

    assert link["uri"] == f"{origin}/workspaces/{named}/contacts?offset=2&limit=2"


@pytest.mark.spec("8/rule-2.prev")
def test_the_link_back_is_written_prev() -> None:
    """Specification 8, rule 2; the recordings write previous, which is a switch."""
    for like, back in (("specification", "prev"), ("recorded", "previous")):
        sandbox = Sandbox(contacts=55, like=like)

        assert [link["rel"] for link in sandbox.get("/contacts?offset=20").json()["link"]] == ["next", back]


def test_a_single_page_has_no_links() -> None:
    """Recorded: `link: []`."""
    assert Sandbox(contacts=20).get("/contacts").json()["link"] == []


@pytest.mark.spec("7/end")
@pytest.mark.parametrize("offset", [55, 60, 1_000_000])
def test_past_the_end_there_is_a_status_and_no_collection(offset: int) -> None:
    """Specification 7: status "No records found"; recorded with 200 and without the collection key."""
    answer = Sandbox(contacts=55).get(f"/contacts?offset={offset}")

    assert answer.status_code == 200
    assert answer.json() == {"status": "No records found", "link": []}


@pytest.mark.parametrize("collection", ["contacts", "resources", "workspaces"])
def test_an_empty_list_looks_like_the_end_of_one(collection: str) -> None:
    """Recorded for an empty list as well: nothing tells the two apart."""
    answer = Sandbox().get(f"/{collection}")

    assert answer.status_code == 200
    assert answer.json() == {"status": "No records found", "link": []}


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=x", "limit=", "offset=-1", "offset=1.5", "offset=", "limit=²"]
)
def test_a_page_that_is_no_number_is_refused(query: str) -> None:
    """Assumed: 400 with the error body, naming the parameter."""
    answer = Sandbox(contacts=5).get(f"/contacts?{query}")

    assert answer.status_code == 400
    assert answer.json()["errorText"].startswith(query.partition("=")[0])


@pytest.mark.spec("8/rule-1")
def test_walking_the_pages_meets_everyone_once() -> None:
    """Specification 8, rule 1; 100 of 100 in the order of creation."""
    sandbox = Sandbox(contacts=100)

    met = [
        row["id"]
        for offset in range(0, 100, 20)
        for row in sandbox.get(f"/contacts?offset={offset}").json()["contacts"]
    ]

    assert len(set(met)) == 100
    assert met == [
        row["id"]
        for offset in range(100)
        for row in sandbox.get(f"/contacts?limit=1&offset={offset}").json()["contacts"]
    ]


def test_lists_are_in_the_order_of_creation_also_after_an_update() -> None:
    """Recorded: 55 of 55 in the order of creation; the place does not move with an update (assumed)."""
    sandbox = Sandbox()
    paths = [sandbox.created("/contacts", {"firstName": name}) for name in ("Zoe", "Ada", "Mia")]

    sandbox.put(paths[0], {"firstName": "Zoe", "lastName": "Last"})

    assert [row["firstName"] for row in sandbox.get("/contacts").json()["contacts"]] == ["Zoe", "Ada", "Mia"]


@pytest.mark.parametrize(
    "path", ["/contacts", "/contacts?firstName=a", "/messages/{message}/messagestatus?view=detailed"]
)
def test_limit_0_gives_everybody_in_the_recorded_form(path: str) -> None:
    """Recorded: 203 rows, "1 to 0 of 203", no links. The specification knows 20 rows at most."""
    for like in ("specification", "recorded"):
        sandbox = Sandbox(contacts=203, like=like)
        message = sent(sandbox, *(f"+4477009{at:05d}" for at in range(203)))
        address = path.format(message=message)

        zero, usual = (
            sandbox.get(f"{address}{'&' if '?' in address else '?'}limit={limit}").json() for limit in (0, 20)
        )

        total = usual["status"].split()[-1]
        rows = next(value for key, value in zero.items() if key not in ("status", "link"))
        if like == "recorded":
            assert (len(rows), zero["status"], zero["link"]) == (int(total), f"1 to 0 of {total}    ", [])
        else:
            assert (len(rows), zero["status"]) == (20, usual["status"])
            assert [one["rel"] for one in zero["link"]] == [one["rel"] for one in usual["link"]]


def rows_of(sandbox: Sandbox, path: str) -> list[Any]:
    """The rows of a list, whatever its key."""
    document = sandbox.get(path).json()
    found: list[Any] = next((rows for key, rows in document.items() if key not in ("status", "link")), [])
    return found


def _full(sandbox: Sandbox, url: str, count: int) -> dict[str, str]:
    """Fill a list of each kind with this many rows or one more, and return the paths of the lists by name."""
    contact = sandbox.created("/contacts", JANE)
    callback = sandbox.created("/callbacks", callback_body(url))
    numbers = [f"+4477009{at:05d}" for at in range(count)]
    message = sent(sandbox, *numbers, callbackId="approvals")
    for at, number in enumerate(numbers):
        sandbox.created("/resources", resource_body(name=f"{at}.csv"))
        sandbox.created(f"{contact}/devices", {**PIXEL, "appId": f"app{at}", "pushToken": f"token-{at}"})
        sandbox.created("/contacts", {"firstName": f"Person {at}"})
        sandbox.created("/callbacks", callback_body(name=f"callback {at}"))
        replied(sandbox, message, **{"from": number})
        sent(sandbox, number)
    delivered(sandbox)
    return {
        "contacts": "/contacts",
        "resources": "/resources",
        "devices": f"{contact}/devices",
        "callbacks": "/callbacks",
        "calls": f"{callback}/calls",
        "messages": "/messages",
        "status": f"/messages/{message}/messagestatus?view=detailed",
        "responses": f"/messages/{message}/messageresponses?view=detailed",
    }


@pytest.mark.parametrize("like", ["specification", "recorded"])
def test_limit_0_is_one_thing_on_every_list(like: Like) -> None:
    """Each list reads its limit in its own endpoint; messages have neither pages nor totals."""
    sandbox = Sandbox(like=like, callback_check=False)

    with receiving() as receiver:
        lists = _full(sandbox, receiver.url, 22)
    shown = {
        name: len(rows_of(sandbox, f"{path}{'&' if '?' in path else '?'}limit=0"))
        for name, path in lists.items()
    }

    more = {"contacts": 23, "callbacks": 23, "messages": 23}
    everything = dict.fromkeys(shown, 22) | more
    assert shown == (everything if like == "recorded" else dict.fromkeys(shown, 20))


@pytest.mark.parametrize(
    "path",
    [
        "contacts",
        "resources",
        "messages",
        "workspaces",
        "callbacks",
        "{contact}/devices",
        "{callback}/calls",
        "{message}/messagestatus?view=detailed",
        "{message}/messageresponses?view=detailed",
    ],
)
@pytest.mark.parametrize("wrong", ["limit=x", "limit=-1", "offset=x", "offset=-1", "sortOrder=up"])
def test_every_list_refuses_the_same_wrong_parameters(path: str, wrong: str) -> None:
    """One that ignored them would answer another question than the one that was asked."""
    sandbox = Sandbox(contacts=1, callback_check=False)
    address = path.format(
        contact=sandbox.created("/contacts", JANE).removeprefix("/"),
        callback=sandbox.created("/callbacks", callback_body()).removeprefix("/"),
        message=f"messages/{sent(sandbox)}",
    )

    refused = sandbox.get(f"/{address}{'&' if '?' in address else '?'}{wrong}")

    assert (refused.status_code, wrong.partition("=")[0] in refused.json()["errorText"]) == (400, True)
