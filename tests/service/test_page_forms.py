"""Claims about one page of a list: the forms that are known, and that no other is ever "no rows"."""

import httpx2
import pytest
from service.support import END, Wire, answer, app_wire, contact, failure, listing, with_client

from reconciler.errors import Malformed
from reconciler.messaging.client import ServiceClient
from reconciler.service import paging
from reconciler.service.paging import Page

# One page's forms: docs/planning.md R3, R5. Each is a whole document for a request of offset 0.
ONE = contact("ID1")
FORMS = {
    "recorded: rows, range, trailing spaces": (listing([ONE], "1 to 1 of 1    "), 1),
    "range without trailing spaces": (listing([ONE], "1 to 1 of 1"), 1),
    "no status": ({"contacts": [ONE], "link": []}, 1),
    "bare link object": (listing([ONE], "1 to 1 of 1", link={"rel": "self", "uri": "/contacts"}), 1),
    "no link": ({"contacts": [ONE], "status": "1 to 1 of 1"}, 1),
    "recorded end": (END, 0),
    "end with trailing spaces": ({"status": "No records found  ", "link": []}, 0),
    "end without link": ({"status": "No records found"}, 0),
    "end in another case": ({"status": "NO RECORDS FOUND"}, 0),
    "end of messages": ({"status": "No messages found"}, 0),
    "end with an empty list": (listing([], "No records found"), 0),
    "numbers that say nothing is there": (listing([], "0 to 0 of 0"), 0),
}
NO_PAGES = {
    "an empty object": {},
    "an empty list and no word": {"contacts": []},
    "an empty list and an empty status": listing([], ""),
    "no list and an empty status": {"status": "", "link": []},
    "no list and a range": {"status": "1 to 20 of 55", "link": []},
    "an empty list and a range with rows": listing([], "1 to 20 of 55"),
    "rows and the end words": listing([ONE], "No records found"),
    "another status": listing([ONE], "Success"),
    "another status without rows": {"status": "OK", "link": []},
    "a status that is no text": {"contacts": [ONE], "status": 200},
    "a status that is null": {"contacts": [], "status": None},
    "numbers in other digits": listing([ONE], "\u0661 to \u0661 of \u0661"),
    "numbers with underscores": listing([ONE], "1 to 1 of 1_0"),
    "negative numbers": listing([ONE], "-1 to 1 of 1"),
    "huge numbers": listing([ONE], "1 to 1 of " + "9" * 5000),
    "a count below its rows": listing([ONE, contact("ID2")], "1 to 2 of 1"),
    "another page": listing([ONE], "21 to 21 of 21"),
    "a previous link on the first page": listing([ONE], "", link=[{"rel": "previous", "uri": "/contacts"}]),
    "a prev link on the first page": listing([ONE], "", link=[{"rel": "prev", "uri": "/contacts"}]),
    "rows that are no list": {"contacts": ONE, "status": "1 to 1 of 1"},
    "rows that are null": {"contacts": None, "status": "No records found"},
    "rows that are a text": {"contacts": "none", "status": "No records found"},
    "a row that is null": listing([], "1 to 1 of 1") | {"contacts": [None]},
    "a row that is a text": listing([], "1 to 1 of 1") | {"contacts": ["ID1"]},
    "a row without id": listing([{"firstName": "Jane"}], "1 to 1 of 1"),
    "a row with a hostile id": listing([{"id": "../x"}], "1 to 1 of 1"),
    "a row with a number for id": listing([{"id": 5}], "1 to 1 of 1"),
    "a row whose link is another collection's": listing(
        [{"link": [{"rel": "self", "uri": "/resources/ID1"}]}], "1 to 1 of 1"
    ),
    "the rows of another kind": {"resources": [ONE], "status": "1 to 1 of 1"},
    "an entity": contact("ID1"),
    "an error document": {"errorSummary": "No.", "errorText": "Try later", "link": []},
    "an error document with an end": {"errorSummary": "No.", "status": "No records found"},
    "a gateway's words": {"message": "ok"},
}


@pytest.mark.spec("7/end", "7/end-messages")
@pytest.mark.parametrize("name", FORMS)
def test_every_known_form_of_a_page_is_read(name: str) -> None:
    document, rows = FORMS[name]

    async def work(client: ServiceClient) -> Page:
        return await client.contacts.page()

    def end_after_first(request: httpx2.Request) -> httpx2.Response:
        return answer(200, document if request.url.params["offset"] == "0" else END)

    assert len(with_client(app_wire(end_after_first), work).rows) == rows


@pytest.mark.parametrize("name", NO_PAGES)
def test_any_other_shape_is_an_error_and_never_an_empty_list(name: str) -> None:
    """An unknown shape read as "no rows" would create everything again, or delete it."""
    wire = Wire(answer(200, NO_PAGES[name]))

    error = failure(wire, lambda client: client.contacts.list())

    assert type(error) is Malformed
    assert len(wire.sent) == 3


def test_every_form_has_its_source() -> None:
    assert all(kind in (paging.ROWS, paging.END) and source for kind, source in paging.FORMS.values())
