"""Faults: each does what its name says, seen by a plain client on loopback, and strikes what it was told."""

import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from sandbox.asking import (
    JANE,
    Clock,
    Sandbox,
    last_segment,
    resource_body,
    usual_headers,
    vendor_type,
)
from waiting import until

from reconciler.sandbox.app import running_sandbox
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.faults import EXTRAS, FAULTS, NORMALISERS, FaultRule

people = 50  # three pages


class Plain:
    """A plain HTTP client of one sandbox on loopback."""

    def __init__(self, base: str, client: httpx2.Client) -> None:
        self.base = base
        self.client = client

    def send(self, method: str, path: str, json: object = None) -> httpx2.Response:
        return self.client.request(method, self.base + path, json=json, headers=usual_headers(path))

    def get(self, path: str) -> httpx2.Response:
        return self.send("GET", path)

    def arm(self, fault: str, **options: object) -> Any:
        answer = self.send("POST", "/_sandbox/faults", {"fault": fault, **options})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def statuses(self) -> list[int]:
        """The statuses of all requests so far; 0 is a connection that was closed without an answer."""
        return [one["status"] for one in self.get("/_sandbox/requests").json()["requests"]]

    @property
    def total(self) -> int:
        """How many contacts there are."""
        return int(self.get("/contacts").json()["status"].split()[-1])


@pytest.fixture
def plain() -> Iterator[Plain]:
    with running_sandbox(SandboxConfig(contacts=people)) as base, httpx2.Client() as client:
        yield Plain(base, client)


def test_latency_answers_later(plain: Plain) -> None:
    plain.arm("latency", path="/contacts", seconds=0.15)

    began = time.perf_counter()
    answer = plain.get("/contacts")

    assert time.perf_counter() - began >= 0.15
    assert answer.status_code == 200


@pytest.mark.parametrize(("fault", "made"), [("refused-before", 0), ("refused-after", 1)])
def test_refused_before_and_refused_after_differ_in_what_was_done(
    fault: str, made: int, plain: Plain
) -> None:
    plain.arm(fault, method="POST", status=503)

    assert plain.send("POST", "/contacts", JANE).status_code == 503
    assert plain.total == people + made
    assert plain.statuses() == [503, 200]


def test_drop_before_closes_the_connection_and_does_nothing(plain: Plain) -> None:
    plain.arm("drop-before", method="POST")

    with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
        plain.send("POST", "/contacts", JANE)

    assert (plain.total, plain.statuses()[0]) == (people, 0)


def test_drop_after_closes_the_connection_when_it_is_done(plain: Plain) -> None:
    plain.arm("drop-after", method="POST")

    with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
        plain.send("POST", "/contacts", JANE)

    assert (plain.total, plain.statuses()[0]) == (people + 1, 0)


def test_land_late_does_it_after_the_connection_was_closed(plain: Plain) -> None:
    plain.arm("land-late", method="POST", seconds=0.3)

    with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
        plain.send("POST", "/contacts", JANE)

    until(lambda: plain.total > people, "the landing")
    assert plain.total == people + 1


def test_what_lands_late_lands_by_the_clock_of_the_sandbox() -> None:
    """A test that moves the clock need not wait."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, faults=(FaultRule(fault="land-late", method="DELETE", seconds=60),))
    jane = sandbox.created("/contacts", JANE)

    with pytest.raises(ConnectionResetError):
        sandbox.delete(jane)

    clock.pass_s(59)
    assert sandbox.get(jane).status_code == 200
    clock.pass_s(1)
    assert sandbox.get(jane).status_code == 404


def test_duplicate_does_it_twice_and_answers_once(plain: Plain) -> None:
    plain.arm("duplicate", method="POST")

    answer = plain.send("POST", "/contacts", JANE)

    assert (answer.status_code, plain.total) == (201, people + 2)
    newest = plain.get("/contacts?sortOrder=desc&limit=2").json()["contacts"]
    assert last_segment(answer.headers["location"]) == newest[1]["id"]


def test_truncate_cuts_the_body_and_closes_the_connection(plain: Plain) -> None:
    plain.arm("truncate", path="/contacts", keep=100)

    with plain.client.stream("GET", f"{plain.base}/contacts", headers=usual_headers("/contacts")) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx2.RemoteProtocolError, match="received 100 bytes"):
            answer.read()


def test_truncate_keeps_half_unless_told_otherwise(plain: Plain) -> None:
    whole = len(plain.get("/contacts").content)
    plain.arm("truncate", path="/contacts")

    with pytest.raises(httpx2.RemoteProtocolError, match=f"received {whole // 2} bytes, expected {whole}"):
        plain.get("/contacts")


def test_malformed_sends_half_a_document_as_if_it_were_all(plain: Plain) -> None:
    whole = plain.get("/contacts").content
    plain.arm("malformed", path="/contacts")

    answer = plain.get("/contacts")

    assert (answer.status_code, answer.content) == (200, whole[: len(whole) // 2])
    assert answer.headers["content-length"] == str(len(answer.content))


def test_html_is_a_page_with_200(plain: Plain) -> None:
    """What a captive portal, a proxy or a login page answers."""
    plain.arm("html", path="/contacts/*")

    answer = plain.get("/contacts/UNKNOWN")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text.startswith("<!DOCTYPE html>")


def test_empty_page_counts_rows_and_shows_none(plain: Plain) -> None:
    whole = plain.get("/contacts").json()
    plain.arm("empty-page", path="/contacts")

    assert plain.get("/contacts").json() == {**whole, "contacts": []}


def test_empty_page_may_say_that_there_is_nothing(plain: Plain) -> None:
    """The documented words, at the wrong time."""
    plain.arm("empty-page", path="/contacts", words=True)

    assert plain.get("/contacts").json() == {"status": "No records found", "link": []}


def test_short_page_gives_fewer_rows_than_asked_for(plain: Plain) -> None:
    plain.arm("short-page", path="/contacts", rows=7)

    page = plain.get("/contacts?limit=20").json()

    assert (len(page["contacts"]), page["status"]) == (7, "1 to 7 of 50    ")
    assert "offset=7" in page["link"][0]["uri"]


def test_ignored_filter_gives_everybody_in_pages(plain: Plain) -> None:
    plain.arm("ignored-filter", path="/contacts")

    page = plain.get("/contacts?firstName=Nobody&limit=5&sortOrder=desc").json()

    assert page["status"] == "1 to 5 of 50    "
    assert plain.get("/contacts?firstName=Nobody").json()["status"] == "No records found"


NEWEST_FIRST = "/contacts?sortFields=lastModifiedTime&sortOrder=desc"


def test_ignored_order_gives_a_list_as_if_none_was_asked_for(plain: Plain) -> None:
    own, newest = plain.get("/contacts").json(), plain.get(NEWEST_FIRST).json()
    plain.arm("ignored-order", path="/contacts")

    assert plain.get(NEWEST_FIRST).json()["contacts"] == own["contacts"] != newest["contacts"]


def test_wrong_order_gives_the_order_of_another_field(plain: Plain) -> None:
    names = plain.get("/contacts?sortFields=lastName&sortOrder=desc").json()["contacts"]
    jobs = plain.get("/contacts?sortFields=jobTitle&sortOrder=desc").json()["contacts"]
    plain.arm("wrong-order", path="/contacts")

    assert plain.get(NEWEST_FIRST).json()["contacts"] == names
    plain.arm("wrong-order", path="/contacts", field="jobTitle")
    assert plain.get(NEWEST_FIRST).json()["contacts"] == jobs


def test_wrong_times_are_one_and_the_same_for_all_rows(plain: Plain) -> None:
    plain.arm("wrong-times", path="/contacts")

    assert len({row["lastModifiedTime"] for row in plain.get(NEWEST_FIRST).json()["contacts"]}) == 1
    assert len({row["lastModifiedTime"] for row in plain.get(NEWEST_FIRST).json()["contacts"]}) == 20


def test_repeated_page_gives_the_first_page_again(plain: Plain) -> None:
    first = plain.get("/contacts").json()
    plain.arm("repeated-page", path="/contacts")

    assert plain.get("/contacts?offset=20").json()["contacts"] == first["contacts"]


def test_foreign_links_name_another_origin(plain: Plain) -> None:
    plain.arm("foreign-links", times=None, host="https://elsewhere.example.net")

    created = plain.send("POST", "/contacts", JANE)
    page = plain.get("/contacts").json()

    links = [*page["link"], *created.json()["link"], *(row["link"][0] for row in page["contacts"])]
    addresses = [created.headers["location"], *(link["uri"] for link in links)]
    assert len(addresses) == 1 + 1 + 3 + 20
    assert all(address.startswith("https://elsewhere.example.net/contacts") for address in addresses)


def test_extra_fields_stand_in_documents_and_rows(plain: Plain) -> None:
    whole = plain.get("/contacts").json()
    plain.arm("extra-fields", path="/contacts")

    page = plain.get("/contacts").json()

    rows = [{**row, **EXTRAS} for row in whole["contacts"]]
    assert page == {**whole, "contacts": rows, **EXTRAS}


@pytest.mark.parametrize(
    ("how", "kept"),
    [("upper", " DOE "), ("lower", " doe "), ("trim", "Doe"), ("shorten", " Do"), ("append", " Doe .")],
)
def test_normaliser_changes_a_field_on_its_way_in(plain: Plain, how: str, kept: str) -> None:
    plain.arm("normaliser", field="lastName", how=how, method="POST")

    answer = plain.send("POST", "/contacts", {**JANE, "lastName": " Doe "})

    assert (answer.json()["lastName"], answer.json()["firstName"]) == (kept, "Jane")


def test_every_change_of_a_normaliser_is_claimed() -> None:
    assert set(NORMALISERS) == {"upper", "lower", "trim", "shorten", "append"}


def test_a_normaliser_strikes_updates_too_and_leaves_other_bodies_alone() -> None:
    rule = FaultRule(fault="normaliser", field="name", how="append", times=None)
    sandbox = Sandbox(faults=(rule,))
    jane = sandbox.created("/contacts", JANE)
    path = sandbox.created("/resources", resource_body())

    sandbox.put(path, resource_body())
    sandbox.put(path, {**resource_body(), "name": 5})

    assert sandbox.get(path).json()["name"] == "staff.csv."
    assert sandbox.get(jane).json()["lastName"] == "Doe"


def test_faults_of_documents_strike_xml_too() -> None:
    """They change documents and bodies before they are written and after they are read, in either form."""
    xml = vendor_type("contact").replace("json", "xml")
    both = {"accept": xml, "content-type": xml}
    body = b'<c:contact xmlns:c="http://schemas.api.whispir.com"><lastName>Doe</lastName></c:contact>'
    rules = (
        FaultRule(fault="normaliser", field="lastName", method="POST"),
        FaultRule(fault="extra-fields", method="GET"),
        FaultRule(fault="malformed", method="GET", nth=2),
    )
    sandbox = Sandbox(faults=rules)

    made = sandbox.post("/contacts", headers=both, content=body)
    shown, cut = (sandbox.get("/contacts", headers=both) for _ in range(2))

    assert "<lastName>DOE</lastName>" in made.text
    assert shown.text.count("<xServerBuild>2027.1</xServerBuild>") == 2
    assert (cut.status_code, cut.content.endswith(b">")) == (200, False)


def test_index_lag_hides_what_was_created_from_lists_and_searches() -> None:
    """Found by its id at once, and by searching only later; the counts agree with the rows."""
    clock = Clock()
    rules = tuple(
        FaultRule(fault="index-lag", method="POST", path=path, seconds=30) for path in ("/c*", "/r*")
    )
    sandbox = Sandbox(clock=clock, contacts=2, faults=rules)
    jane = sandbox.created("/contacts", JANE)
    staff = sandbox.created("/resources", resource_body())

    assert [sandbox.get(path).status_code for path in (jane, staff)] == [200, 200]
    assert sandbox.get("/contacts").json()["status"] == "1 to 2 of 2    "
    assert sandbox.get("/contacts?firstName=Jane&lastName=Doe").json()["status"] == "No records found"
    assert sandbox.get("/resources").json()["status"] == "No records found"
    clock.pass_s(30)
    assert sandbox.get("/contacts").json()["status"] == "1 to 3 of 3    "
    assert sandbox.get("/contacts?firstName=Jane&lastName=Doe").json()["status"] == "1 to 1 of 1    "
    assert sandbox.get("/resources").json()["status"] == "1 to 1 of 1    "


def test_in_process_a_closed_connection_is_a_connection_reset() -> None:
    """An in-process transport hands it on as it is, and a client takes it as it takes one of a socket."""
    for fault in ("drop-before", "drop-after", "land-late", "truncate"):
        sandbox = Sandbox(faults=(FaultRule(fault=fault),))
        with pytest.raises(ConnectionResetError):
            sandbox.get("/contacts")
        assert sandbox.get("/contacts").status_code == 200


def test_after_a_closed_connection_the_server_goes_on(plain: Plain) -> None:
    for fault in ("drop-before", "drop-after", "land-late", "truncate") * 5:
        plain.arm(fault, path="/contacts")
        with pytest.raises(httpx2.RemoteProtocolError):
            plain.get("/contacts")
        assert plain.get("/contacts").status_code == 200


# The matcher.


def test_a_fault_strikes_once_and_the_first_time_unless_told_otherwise(plain: Plain) -> None:
    plain.arm("html")

    kinds = [plain.get("/contacts").headers["content-type"].partition(";")[0] for _ in range(3)]

    assert [kind == "text/html" for kind in kinds] == [True, False, False]


@pytest.mark.parametrize(
    ("matcher", "struck"),
    [
        ({"nth": 3}, [3]),
        ({"nth": 2, "times": 2}, [2, 3]),
        ({"times": None}, [1, 2, 3, 4, 5, 6]),
        ({"nth": 5, "times": None}, [5, 6]),
        ({"method": "P*", "times": None}, []),
        ({"method": "GET"}, [1]),
        ({"path": "/contacts"}, [1]),
        ({"path": "/resources"}, []),
        ({"path": "*acts", "times": None}, [1, 2, 3, 4, 5, 6]),
        ({"probability": 0, "times": None}, []),
    ],
)
def test_a_matcher_says_which_requests_are_struck(matcher: dict[str, Any], struck: list[int]) -> None:
    sandbox = Sandbox(faults=(FaultRule(fault="html", **matcher),))

    statuses = [sandbox.get("/contacts").headers["content-type"] for _ in range(6)]

    assert [at for at, shown in enumerate(statuses, 1) if shown.startswith("text/html")] == struck


def test_chance_is_repeatable_by_its_seed() -> None:
    def struck(seed: int) -> list[bool]:
        sandbox = Sandbox(faults=(FaultRule(fault="html", times=None, probability=0.5, seed=seed),))
        answers = [sandbox.get("/contacts") for _ in range(40)]
        return [answer.headers["content-type"].startswith("text/html") for answer in answers]

    assert struck(7) == struck(7)
    assert struck(7) != struck(8)
    assert 5 < sum(struck(7)) < 35


def test_faults_add_up() -> None:
    """Two that strike one request both do."""
    sandbox = Sandbox(
        contacts=50,
        faults=(FaultRule(fault="short-page", rows=4), FaultRule(fault="extra-fields", path="/contacts")),
    )

    page = sandbox.get("/contacts").json()

    assert (len(page["contacts"]), page["xServerBuild"]) == (4, "2027.1")


def test_the_control_interface_is_never_struck(plain: Plain) -> None:
    """Or nobody could disarm it."""
    plain.arm("drop-before", times=None)

    assert plain.get("/_sandbox/requests").status_code == 200


# Arming and disarming.


def test_armed_faults_are_listed_with_their_counts(plain: Plain) -> None:
    armed = plain.arm("latency", path="/contacts", nth=2, seconds=0)
    plain.get("/contacts")
    plain.get("/contacts")

    listed = plain.get("/_sandbox/faults").json()

    assert listed["faults"] == [{**armed, "seen": 2, "struck": 1}]
    assert (armed["id"], armed["fault"], armed["nth"], armed["seen"]) == ("1", "latency", 2, 0)
    assert set(listed["kinds"]) == set(FAULTS)
    assert {kind["where"] for kind in listed["kinds"].values()} == {"request", "state", "answer"}


def test_a_fault_is_disarmed_alone_or_with_all_others(plain: Plain) -> None:
    ids = [plain.arm("drop-before", times=None)["id"] for _ in range(3)]

    assert plain.send("DELETE", f"/_sandbox/faults/{ids[0]}").status_code == 204
    assert [one["id"] for one in plain.get("/_sandbox/faults").json()["faults"]] == ids[1:]
    assert plain.send("DELETE", "/_sandbox/faults").status_code == 204
    assert plain.get("/_sandbox/faults").json()["faults"] == []
    assert plain.get("/contacts").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/_sandbox/faults", {}, 422),
        ("POST", "/_sandbox/faults", {"fault": "gremlin"}, 422),
        ("POST", "/_sandbox/faults", {"fault": "html", "nth": 0}, 422),
        ("POST", "/_sandbox/faults", {"fault": "html", "times": 0}, 422),
        ("POST", "/_sandbox/faults", {"fault": "html", "probability": 1.5}, 422),
        ("POST", "/_sandbox/faults", {"fault": "html", "pathh": "/contacts"}, 422),
        ("POST", "/_sandbox/faults", {"fault": "latency", "seconds": -1}, 422),
        ("POST", "/_sandbox/faults", {"fault": "normaliser"}, 422),
        ("POST", "/_sandbox/faults", {"fault": "normaliser", "field": "a", "how": "rot13"}, 422),
        ("POST", "/_sandbox/faults", ["html"], 400),
        ("PUT", "/_sandbox/faults", {"fault": "html"}, 405),
        ("DELETE", "/_sandbox/faults/9", None, 404),
        ("GET", "/_sandbox/faults/9", None, 405),
    ],
)
def test_a_fault_that_cannot_be_meant_is_refused(method: str, path: str, body: object, status: int) -> None:
    """A slip must not turn into a test that proves nothing."""
    sandbox = Sandbox()

    answer = sandbox.send(method, path, body)

    assert (answer.status_code, bool(answer.json()["errorText"])) == (status, True)
    assert sandbox.get("/_sandbox/faults").json()["faults"] == []


def test_every_fault_has_a_claim_of_its_own() -> None:
    """A name in the table that no test here speaks of proves nothing."""
    claims = " ".join(name for name in globals() if name.startswith("test_")).replace("_", "-")

    assert [name for name in FAULTS if name not in claims] == []
