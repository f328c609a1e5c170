"""Services of SCIM that lie, break or answer half: no row is taken, and the reason is told."""

import gzip
import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from directories.scim_service import (
    ERROR,
    LIST,
    USER,
    Document,
    Reply,
    ScimService,
    error,
    serving,
    user,
    users,
)
from directories.test_scim import TOKEN, directory, read
from service.roads import STRANGER, TRUSTED, Answers, beside, proving

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.scim_http import BODY_MAX, SCIM_REFUSALS, TRIES_MAX
from reconciler.directories.scim_users import read_scim
from reconciler.model.secrets import Secret

Bend = Callable[[int, dict[str, str], Document], object]


def refused(service: ScimService, **changed: Any) -> str:
    """What is said of a service that cannot be read; never anything of what it holds, or of a secret."""
    with pytest.raises(DirectoryFailed) as caught:
        read(service, **changed)
    said = f"{caught.value}\n{caught.value.hint}"
    assert caught.value.hint
    assert not any(word in said for word in ("canary", "jane", "@example.com"))
    return said


def with_(**changed: Any) -> Bend:
    """The honest answer, but for these of its attributes; None: without it."""

    def bend(_number: int, _query: dict[str, str], document: Document) -> Document:
        return {key: value for key, value in {**document, **changed}.items() if value is not None}

    return bend


def instead(found: object) -> Bend:
    return lambda _number, _query, _document: found


def body(text: str | bytes, **headers: str) -> Bend:
    data = text if isinstance(text, bytes) else text.encode()
    return instead(Reply(200, data, tuple((name.replace("_", "-"), one) for name, one in headers.items())))


def on_page(page: int, bend: Bend) -> Bend:
    """Bend this page of three alone, counted from 0, whenever it is read."""

    def bent(number: int, query: dict[str, str], document: Document) -> object:
        at = int(query.get("cursor") or int(query.get("startIndex", "1")) - 1)
        return bend(number, query, document) if at == page * 3 else document

    return bent


def of_users(change: Callable[[list[Document]], list[Any]]) -> Bend:
    return lambda _number, _query, document: {**document, "Resources": change(document["Resources"])}


def one(**changed: Any) -> Bend:
    """The first user of a page, but for these attributes; None: without it."""

    def change(rows: list[Document]) -> list[Any]:
        bent = {key: value for key, value in {**rows[0], **changed}.items() if value is not None}
        return [bent, *rows[1:]]

    return of_users(change)


NO_LIST, NOT_JSON = "its answer is not a ListResponse", "its answer is not JSON, or was cut off"
TWICE = "It was read 2 times"
FEWER, MORE = f"fewer users than it says there are. {TWICE}", f"more users than it says there are. {TWICE}"
DEEP = "[" * 100_000

# What a service of seven users does to its pages of three -> what is said.
LIES: dict[str, tuple[Bend, str]] = {
    "no answer": (body(""), NOT_JSON),
    "a page of HTML": (body("<html>canary</html>"), NOT_JSON),
    "half an answer": (body('{"schemas": ["'), NOT_JSON),
    "two answers": (body("{}{}"), NOT_JSON),
    "a list": (instead([]), "its answer is not an object"),
    "a text": (body('"canary"'), "its answer is not an object"),
    "null": (body("null"), "its answer is not an object"),
    "an empty object": (instead({}), NO_LIST),
    "an error with a status of success": (with_(schemas=[ERROR]), NO_LIST),
    "a user": (instead(user(1)), NO_LIST),
    "no schemas": (with_(schemas=None), NO_LIST),
    "schemas that are a text": (with_(schemas=LIST), NO_LIST),
    "schemas that are numbers": (with_(schemas=[1]), NO_LIST),
    "NaN": (body('{"totalResults": NaN}'), "NaN and Infinity are not JSON"),
    "a key twice": (body('{"totalResults": 1, "totalResults": 2}'), "a key occurs twice"),
    "a key twice in other letters": (with_(TOTALRESULTS=7), "has an attribute twice"),
    "not UTF-8": (body(b'{"a": "\xff"}'), "its answer is not UTF-8"),
    "UTF-16": (body("{}".encode("utf-16")), "its answer is not UTF-8"),
    "a hundred thousand lists": (body(DEEP), "its answer is nested too deeply"),
    "a million lists": (body("[" + "[]," * 1_000_000 + "[]]"), "has more than 1,000,000 values"),
    "an answer without a limit": (body(b" " * (BODY_MAX + 1)), "is larger than the limit"),
    "a packed answer": (body(gzip.compress(b"{}"), Content_Encoding="gzip"), "it sent a compressed answer"),
    "a packed bomb": (
        body(gzip.compress(bytes(BODY_MAX * 2)), Content_Encoding="gzip"),
        "sent a compressed answer",
    ),
    "packed as nobody knows": (body(b"{}", Content_Encoding="br"), "it sent a compressed answer"),
    "no total": (with_(totalResults=None), "does not say how many users there are"),
    "a total that is a word": (with_(totalResults="seven"), "its `totalResults` is not a whole number"),
    "a total in other digits": (with_(totalResults="\u0667"), "its `totalResults` is not a whole number"),
    "a total that is no text": (with_(totalResults=["7"]), "its `totalResults` is not a whole number"),
    "a total with a blank": (with_(totalResults=" 7"), "its `totalResults` is not a whole number"),
    "a total with a point": (with_(totalResults=7.0), "its `totalResults` is not a whole number"),
    "a negative total": (with_(totalResults=-7), "its `totalResults` is not a whole number"),
    "a total that is true": (with_(totalResults=True), "its `totalResults` is not a whole number"),
    "a total without an end": (with_(totalResults=10**30), "its `totalResults` is not a whole number"),
    "a total of nobody, and users": (with_(totalResults=0), MORE),
    "a total that is too low": (with_(totalResults=5), MORE),
    "a total that is too high": (with_(totalResults=9), FEWER),
    "a total beyond the limit": (with_(totalResults=10**9), "which is the limit"),
    "a total that changes": (on_page(1, with_(totalResults=8)), f"changes while they are read. {TWICE}"),
    "a total that is left out later": (on_page(1, with_(totalResults=None)), "does not say how many"),
    "no users": (with_(Resources=None), "gives a number of users, but no users"),
    "users that are null": (with_(Resources=None, resources=None), "but no users"),
    "users in an object": (with_(Resources={"a": 1}), "its `Resources` is not a list of objects"),
    "users that are texts": (with_(Resources=["canary"], itemsPerPage=1), "not a list of objects"),
    "users in lists": (of_users(lambda rows: [[row] for row in rows]), "not a list of objects"),
    "more users than asked for": (with_(Resources=users(7), itemsPerPage=7), "the request allowed 3"),
    "an empty page before the end": (on_page(1, with_(Resources=[], itemsPerPage=0)), FEWER),
    "the last user less": (on_page(2, of_users(lambda rows: rows[:-1])), FEWER),
    "a user less, and nothing said": (on_page(2, with_(Resources=[], itemsPerPage=None)), FEWER),
    "the first page again": (
        lambda _number, _query, document: {**document, "Resources": users(3), "itemsPerPage": 3},
        f"it sends a user twice. {TWICE}",
    ),
    "another page than asked for": (
        on_page(1, with_(startIndex=1)),
        "from number 1 on; the request asked for 4",
    ),
    "a page from the start": (with_(startIndex=0), "from number 0 on; the request asked for 1"),
    "a page from nowhere": (with_(startIndex="x"), "its `startIndex` is not a whole number"),
    "a user twice on one page": (on_page(0, of_users(lambda rows: [rows[0], rows[0], rows[2]])), TWICE),
    "a user without an id": (one(id=None), "a user has no `id`"),
    "a user with an empty id": (one(id=""), "a user has no `id`"),
    "a user with a number": (one(id=7), "a user has no `id`"),
    "a user with a list of ids": (one(id=["a"]), "a user has no `id`"),
    "a group": (
        one(schemas=["urn:ietf:params:scim:schemas:core:2.0:Group"]),
        "it sends resources that are not users",
    ),
    "a user of no schema": (one(schemas=[]), "it sends resources that are not users"),
    "a user whose schema is a text": (one(schemas=USER), "it sends resources that are not users"),
    "a user who is too deep": (one(x=json.loads('{"a":' * 30 + "1" + "}" * 30)), "more than 20 deep"),
    "a user in a list who is too deep": (one(x=[json.loads('{"a":' * 30 + "1" + "}" * 30)]), "20 deep"),
    "a user who has an attribute twice": (
        one(**{"name.givenName": "canary"}),
        "is given twice: by its path",
    ),
    "a user with too many attributes": (one(**{f"x{at}": "" for at in range(16_500)}), "which is the limit"),
    "a cursor that is a number": (with_(nextCursor=7), "its `nextCursor` is not a cursor"),
    "a cursor that is empty": (with_(nextCursor=""), "its `nextCursor` is not a cursor"),
    "a cursor without an end": (with_(nextCursor="x" * 5000), "its `nextCursor` is not a cursor"),
    "a cursor for ever": (with_(nextCursor="3"), f"it repeats a cursor. {TWICE}"),
    "a redirect": (instead(Reply(302, b"", (("Location", "http://127.0.0.1:1/canary"),))), "it redirects"),
    "a redirect to itself": (instead(Reply(307, b"", (("Location", "/scim/v2/Users"),))), "it redirects"),
    "nothing to say": (instead(Reply(204)), "an unexpected status. (HTTP 204)"),
    "a part": (instead(Reply(206, b"{}")), "an unexpected status. (HTTP 206)"),
    "a status that nobody knows": (instead(Reply(299, b"{}")), "an unexpected status. (HTTP 299)"),
}


@pytest.mark.parametrize("case", LIES)
def test_an_answer_that_is_not_the_whole_is_none(case: str) -> None:
    """Half of the people would look like the deletion of the others."""
    bend, words = LIES[case]
    with serving(ScimService(users(7), bend=bend)) as service:
        assert words in refused(service)
    assert {head["authorization"] for head in service.heads} == {f"Bearer {TOKEN}"}
    assert {asked["path"] for asked in service.asked} == {"/scim/v2/Users"}


# What a service of seven users does to its pages by cursor -> what is said.
CURSORS: dict[str, tuple[Bend, str]] = {
    "a cursor that repeats": (with_(nextCursor="3", totalResults=None), f"it repeats a cursor. {TWICE}"),
    "a cursor to nobody": (on_page(1, with_(Resources=[], itemsPerPage=0)), "an empty page before the last"),
    "no cursor before the end": (on_page(1, with_(nextCursor=None)), FEWER),
    "a cursor that is null before the end": (
        on_page(1, lambda _number, _query, document: {**document, "nextCursor": None}),
        FEWER,
    ),
    "a total that comes later": (on_page(0, with_(totalResults=None)), "changes while they are read"),
    "a total that is too low": (with_(totalResults=4), MORE),
    "a user less": (on_page(2, with_(Resources=[], itemsPerPage=0)), FEWER),
    "a page that comes twice": (on_page(1, with_(Resources=users(3))), "it sends a user twice"),
    "a page that says more than it holds": (
        on_page(1, with_(totalResults=None, itemsPerPage=4)),
        "sends 3 users, and says 4",
    ),
    "a page that says less than it holds": (
        on_page(0, with_(totalResults=None, itemsPerPage=0)),
        "sends 3 users, and says 0",
    ),
    "a page that says nothing countable": (
        with_(totalResults=None, itemsPerPage="three"),
        "its `itemsPerPage` is not a whole number",
    ),
}


@pytest.mark.parametrize("case", CURSORS)
@pytest.mark.parametrize("paging", ["cursor", "auto"])
def test_pages_by_cursor_are_the_whole_or_nothing(case: str, paging: str) -> None:
    bend, words = CURSORS[case]
    with serving(ScimService(users(7), default="cursor", bend=bend)) as service:
        assert words in refused(service, paging=paging)


def test_a_first_page_without_a_cursor_is_no_whole() -> None:
    bend = on_page(0, with_(nextCursor=None))
    with serving(ScimService(users(7), bend=bend)) as service:
        assert FEWER in refused(service, paging="cursor")


def test_a_cursor_that_repeats_is_noticed_without_a_user_that_does() -> None:
    """Each page has other users: without a total only the cursor shows that nothing ends."""

    def bend(number: int, _query: dict[str, str], document: Document) -> Document:
        rows = [user(number * 3 + at) for at in range(3)]
        return {**document, "Resources": rows, "itemsPerPage": 3, "nextCursor": "3"}

    with serving(ScimService(users(7), totals=False, bend=bend)) as service:
        assert "it repeats a cursor" in refused(service, paging="cursor", rows_max=30)
    assert len(service.asked) == 4


@pytest.mark.parametrize("row", SCIM_REFUSALS, ids=lambda row: f"{row.low} {row.word}")
def test_every_refusal_is_told_with_what_to_do_and_nothing_of_its_words(row: Any) -> None:
    """`detail` may hold whatever the service thinks of: a name, or the filter with somebody's address."""
    status = {300: 301, 100: 203}.get(row.low, row.low)
    with serving(ScimService(users(7), bend=instead(error(status, row.word)))) as service:
        said = refused(service)

    assert row.what in said
    assert row.hint in said
    assert (f"(HTTP {status})" in said) == (row.then != "changed")
    assert len(service.asked) == {"fail": 1, "again": TRIES_MAX, "changed": 2}[row.then]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"scimType": 7}', '{"scimType": "canary"}', DEEP, "<html>", '{"detail": null}']
)
def test_a_refusal_in_another_form_is_one_as_well(text: str) -> None:
    with serving(ScimService(users(7), bend=instead(Reply(400, text.encode())))) as service:
        assert "it refuses the request. (HTTP 400)" in refused(service)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_passes_is_waited_for(status: int) -> None:
    """As long as the service asks for, and no longer than an answer has."""

    def bend(number: int, _query: dict[str, str], document: Document) -> object:
        return error(status, Retry_After="2") if number in (0, 3) else document

    waits: list[float] = []

    async def sleep(wait_s: float) -> None:
        waits.append(wait_s)

    with serving(ScimService(users(7), bend=bend)) as service:
        answer = read_scim("staff", directory(service), rows_max=100, sleep=sleep)

    assert len(answer.rows) == 7
    assert waits == [2.0, 2.0]


def test_nobody_waits_longer_than_an_answer_may_take() -> None:
    with serving(ScimService(users(7), bend=instead(error(503, Retry_After="3600")))) as service:
        assert "it failed. (HTTP 503)" in refused(service, timeout_s=30.0)
    assert len(service.asked) == 1


@pytest.mark.parametrize("reply", [Reply(hangs=True), Reply(body=b"{}" * 50, cut=10)])
def test_an_answer_has_so_much_time_and_all_of_it(reply: Reply) -> None:
    with serving(ScimService(users(7), bend=instead(reply))) as service:
        said = refused(service, timeout_s=0.2)
    assert "gave no complete answer in time" in said or "the connection broke" in said


@pytest.mark.parametrize("slow_s", [0.2, 0.4])
def test_all_pages_together_have_the_time_of_one_answer(slow_s: float) -> None:
    """One user a page, each page in time: counted anew for each, the reading would last for ever."""

    def bend(_number: int, _query: dict[str, str], document: Document) -> object:
        Event().wait(slow_s)  # a busy machine makes it slower, which changes nothing
        return document

    with serving(ScimService(users(200), bend=bend)) as service:
        assert "gave no complete answer in time" in refused(service, timeout_s=1.0, page=1)
    assert len(service.asked) < 10


def test_a_connection_that_broke_is_tried_again() -> None:
    def bend(number: int, _query: dict[str, str], document: Document) -> object:
        return Reply(body=b"{}" * 50, cut=10) if number == 1 else document

    with serving(ScimService(users(7), bend=bend)) as service:
        assert len(read(service).rows) == 7


def test_a_service_that_changes_while_it_is_read_is_read_once_more() -> None:
    """Somebody left between two pages; from the start again, everybody is there."""
    service = ScimService(users(7))

    def bend(number: int, _query: dict[str, str], document: Document) -> Document:
        if number == 0:
            del service.people[0]
        return document

    service.bend = bend
    with serving(service):
        answer = read(service)

    assert [row[0] for row in answer.rows] == [f"id-{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"url": "http://idp.example.com/scim"}, "anyone on the network could read"),
        ({"url": "http://127.0.0.1.example.com"}, "anyone on the network could read"),
        ({"url": "http://192.0.2.7"}, "anyone on the network could read"),
        *(
            ({"url": url}, "its `url` is not the address of a SCIM service")
            for url in (
                "",
                "idp.example.com",
                "ftp://127.0.0.1",
                "ldap://127.0.0.1",
                "https://",
                "https://canary:canary@idp.example.com",
                "https://idp.example.com?x=canary",
                "https://idp.example.com#canary",
            )
        ),
        *(
            ({"url": url}, "its `url` is not an address")
            for url in (
                "https://idp.example.com:99999",
                "https://[::1",
                "https://idp.example.com\n.example.net",
                "https://idp.example.com\\@127.0.0.1",
                "https://idp.example.com/a b",
                "https://idp.example.com/\x07",
                "https://\uff11.example.com",
            )
        ),
        *(
            ({"token": Secret(token)}, "its `token` holds a character that no token has")
            for token in ("", "canary canary", "canary\n", "canary\r\nX: y", "canaryé", "\0")
        ),
        ({"url": "https://127.0.0.1:1", "ca": "/nowhere/ca.pem"}, "its `ca` cannot be read"),
        ({"url": "https://127.0.0.1:1", "ca": __file__}, "its `ca` holds no certificate in the form PEM"),
        ({"url": "http://127.0.0.1:1"}, "it refuses the connection"),
    ],
)
def test_what_the_settings_cannot_mean_is_told_before_anything_is_sent(changed: Any, words: str) -> None:
    with serving(ScimService(users(7))) as service:
        assert words in refused(service, **changed)
    assert service.asked == []


def test_nothing_is_sent_in_the_clear_to_an_address_that_is_not_of_this_machine() -> None:
    """0.0.0.0 leads here, and says so nowhere."""
    with serving(ScimService(users(7))) as service:
        url = service.url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - nobody listens there
        assert "anyone on the network" in refused(service, url=url)
    assert service.asked == []


def test_a_certificate_of_somebody_else_gets_no_token() -> None:
    there = Answers(proving(STRANGER), answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    with beside(there):
        service = ScimService(users(7), url=f"https://127.0.0.1:{there.port}")
        assert "its certificate is not trusted" in refused(service, ca=str(TRUSTED))
    assert there.heard == []


def test_the_name_of_a_certificate_counts() -> None:
    there = Answers(proving(TRUSTED), answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    with beside(there):
        service = ScimService(users(7), url=f"https://localhost:{there.port}")
        assert "its certificate is not trusted" in refused(service, ca=str(TRUSTED))
        service.url = f"https://127.0.0.1:{there.port}"
        assert NO_LIST in refused(service, ca=str(TRUSTED))
    assert len(there.heard) == 1
