"""The reader of SCIM against a service on loopback: everything it holds, as rows."""

import logging
from typing import Any, Literal

import pytest
from directories.scim_service import LIST, USER, Document, ScimService, serving, user, users
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from service.roads import TRUSTED, Answers, beside, proving

from reconciler.directories.answers import AnswerRows
from reconciler.directories.scim_users import read_scim
from reconciler.model.directories import ScimDirectory
from reconciler.model.secrets import Secret

TOKEN = "canary-token"


def directory(service: ScimService, **changed: Any) -> ScimDirectory:
    return structs.replace(ScimDirectory(service.url, token=Secret(TOKEN), page=3), **changed)


async def at_once(_: float) -> None:
    """Nobody waits in a test."""


def read(service: ScimService, *, rows_max: int = 100_000, **changed: Any) -> AnswerRows:
    return read_scim("staff", directory(service, **changed), rows_max=rows_max, sleep=at_once)


@given(
    st.integers(0, 12),
    st.tuples(st.integers(1, 13), st.integers(1, 13)),
    st.sampled_from(["auto", "index", "cursor"]),
    st.sampled_from(["index", "cursor"]),
    st.booleans(),
)
def test_the_answer_is_the_same_however_it_is_paged(
    count: int,
    sizes: tuple[int, int],
    paging: Literal["auto", "index", "cursor"],
    default: Literal["index", "cursor"],
    totals: bool,  # noqa: FBT001 - drawn
) -> None:
    """A service gives as many as it likes, up to what was asked for; by cursor it need not count them."""
    page, page_max = sizes
    known = totals or paging == "cursor" or default == "index" or count > min(page, page_max)
    service = ScimService(users(count), page_max=page_max, default=default, totals=totals or not known)
    with serving(service):
        answer = read(service, page=page, paging=paging)

    assert [row[0] for row in answer.rows] == [f"id-{number}" for number in range(count)]
    assert answer.names == tuple(f"Users/id-{number}" for number in range(count))
    assert len(service.asked) == max(1, -(-count // min(page, page_max)))


# What services write beside a total, which proves that nobody is missing.
BESIDE_THE_TOTAL: dict[str, dict[str, object]] = {
    "itemsPerPage is what was asked for": {"itemsPerPage": 3},
    "itemsPerPage is the page of the service": {"itemsPerPage": 100},
    "itemsPerPage is 0": {"itemsPerPage": 0},
    "itemsPerPage is a text": {"itemsPerPage": "3"},
    "itemsPerPage is no number": {"itemsPerPage": "all"},
    "startIndex is left out": {"startIndex": None},
    "itemsPerPage and startIndex are left out": {"startIndex": None, "itemsPerPage": None},
    "totalResults is a text": {"totalResults": "7"},
}


@pytest.mark.parametrize("case", BESIDE_THE_TOTAL)
@pytest.mark.parametrize("default", ["index", "cursor"])
def test_a_total_proves_the_whole_whatever_stands_beside_it(
    case: str, default: Literal["index", "cursor"]
) -> None:
    """Everybody would be refused over a number that says nothing about who is missing."""

    def bend(_number: int, _query: dict[str, str], document: Document) -> Document:
        changed = {**document, **BESIDE_THE_TOTAL[case]}
        return {key: value for key, value in changed.items() if value is not None}

    with serving(ScimService(users(7), default=default, bend=bend)) as service:
        answer = read(service)

    assert [row[0] for row in answer.rows] == [f"id-{number}" for number in range(7)]


def test_a_short_page_in_the_middle_is_gone_on_from_where_it_ended() -> None:
    """A service that gives fewer than it says is asked for the rest."""

    def bend(_number: int, query: dict[str, str], document: Document) -> Document:
        short = query.get("startIndex") == "4"
        return {**document, "Resources": document["Resources"][: 2 if short else 3], "itemsPerPage": 3}

    with serving(ScimService(users(7), bend=bend)) as service:
        answer = read(service)

    assert [row[0] for row in answer.rows] == [f"id-{number}" for number in range(7)]


def test_what_is_asked_is_what_the_settings_say() -> None:
    with serving(ScimService(users(4))) as service:
        read(
            service,
            url=f"{service.url}/",
            filter='userName sw "p" and a eq "é&=#"',
            attributes=("id", "name.givenName"),
        )

    fixed = {"path": "/scim/v2/Users", "filter": 'userName sw "p" and a eq "é&=#"', "count": "3"}
    first, second = service.asked
    assert first == {**fixed, "attributes": "id,name.givenName"}
    assert second == {**first, "startIndex": "4"}
    assert service.heads[0]["authorization"] == f"Bearer {TOKEN}"
    assert service.heads[0]["accept-encoding"] == "identity"


def test_no_log_line_holds_what_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    """The library writes whole addresses, and the filter may hold somebody's; it is silent."""
    with caplog.at_level(logging.DEBUG), serving(ScimService(users(4))) as service:
        read(service, filter='emails eq "canary@example.com"')

    assert "canary" not in caplog.text
    assert "Users" not in caplog.text


def test_without_a_token_none_is_sent() -> None:
    with serving(ScimService(users(1))) as service:
        read(service, token=None)

    assert "authorization" not in service.heads[0]


def test_nobody_is_nobody() -> None:
    """What an empty answer means is for whoever reads the roster."""
    with serving(ScimService([], bend=lambda *_: {"schemas": [LIST], "totalResults": 0})) as service:
        assert read(service) == AnswerRows((), ())


def columns(*people: Document) -> AnswerRows:
    with serving(ScimService(list(people))) as service:
        return read(service)


def cells(**attributes: Any) -> dict[str, str]:
    """The cells of a user with these attributes, by column; what is unusable as `(what it is)`."""
    answer = columns({"id": "1", **attributes})
    found = dict(zip(answer.header, answer.rows[0], strict=True))
    held = {answer.header[at]: f"({what})" for at, what in answer.unusable.get(0, {}).items()}
    assert all(found[name] == "?" for name in held)
    return {name: text for name, text in {**found, **held}.items() if name != "id"}


WORK = {"type": "work", "value": "a@example.com"}
HOME = {"type": "home", "value": "b@example.com"}
LISTED = {"emails": "(a list)"}
SEVERAL = "(several values)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", {"a": "x"}),
        ("", {"a": ""}),
        (None, {"a": ""}),
        (True, {"a": "true"}),
        (False, {"a": "false"}),
        (61491570156, {"a": "61491570156"}),
        (12345678901234567890, {"a": "12345678901234567890"}),
        (1.5, {"a": "1.5"}),
        ([], {"a": ""}),
        (["x"], {"a": "(a list)"}),
        ([["x"]], {"a": "(a list)"}),
        ([{"value": "x"}, "y"], {"a": "(a list)"}),
        ({}, {}),
        ({"b": {"c": "x"}, "d": None}, {"a.b.c": "x", "a.d": ""}),
        ({"b": [], "c": ["x"]}, {"a.b": "", "a.c": "(a list)"}),
        ({"b": [{"type": "work", "value": "x"}]}, {"a.b": "(a list)", "a.b.work.value": "x"}),
    ],
)
def test_a_value_is_the_text_that_stands_there(value: Any, expected: dict[str, str]) -> None:
    assert cells(a=value) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([WORK], {"work.value": "a@example.com"}),
        ([WORK, HOME], {"work.value": "a@example.com", "home.value": "b@example.com"}),
        ([{**WORK, "primary": True}], {"primary.value": "a@example.com", "work.value": "a@example.com"}),
        ([{**WORK, "primary": False}], {"work.value": "a@example.com"}),
        ([{**WORK, "primary": "true"}], {"work.value": "a@example.com"}),
        ([{**WORK, "type": "WORK"}], {"work.value": "a@example.com"}),
        ([WORK, WORK], {"work.value": SEVERAL}),
        ([WORK, {**HOME, "type": "Work"}], {"work.value": SEVERAL}),
        (
            [WORK, {**HOME, "type": "work", "primary": True}],
            {"work.value": "b@example.com", "primary.value": "b@example.com"},
        ),
        (
            [{**WORK, "primary": True}, {**HOME, "primary": True}],
            {"primary.value": SEVERAL, "work.value": "a@example.com", "home.value": "b@example.com"},
        ),
        ([{"value": "x"}], {"value": "x"}),
        ([{"value": "x", "type": None}], {"value": "x"}),
        ([{"value": "x"}, {"value": "y"}], {"value": SEVERAL}),
        ([{"value": "x", "type": "two words"}], {}),
        ([{"value": "x", "type": "{a}"}], {}),
        ([{"value": "x", "type": "a\x1b"}], {}),
        ([{"value": "x", "type": "primary"}], {}),
        ([{"value": "x", "type": 7}], {}),
        ([{"type": "work"}], {}),
        ([{"type": "work", "value": None}], {"work.value": ""}),
        ([{"type": "work", "value": True}], {"work.value": "true"}),
        ([{"type": "work", "value": []}], {"work.value": ""}),
        ([{"type": "work", "value": ["x"]}], {"work.value": "(a list)"}),
        ([{"type": "work", "a": {"b": "x"}}], {"work.a.b": "x"}),
        (
            [{**WORK, "display": "x"}, {"type": "work", "b": "y"}],
            {"work.value": SEVERAL, "work.display": SEVERAL, "work.b": SEVERAL},
        ),
    ],
)
def test_each_value_of_an_attribute_has_the_columns_of_its_type(
    values: Any, expected: dict[str, str]
) -> None:
    """Nobody knows which of two is meant, unless one is primary; the list itself is no text."""
    assert cells(emails=values) == {**LISTED, **{f"emails.{name}": text for name, text in expected.items()}}


def test_an_attribute_may_come_for_the_first_time_with_the_last_user() -> None:
    answer = columns(user(0), user(1, title="Dr."), user(2, title="Prof."))

    at = answer.header.index("title")
    assert [row[at] for row in answer.rows] == ["", "Dr.", "Prof."]
    assert {len(row) for row in answer.rows} == {len(answer.header)}


def test_what_the_protocol_says_of_a_user_is_no_column_unless_asked_for() -> None:
    """The version and the time of the last change are other ones though nothing of a person changed."""
    with serving(ScimService(users(1))) as service:
        assert not {"schemas", "meta.version"} & set(read(service).header)
        assert "meta.version" in read(service, attributes=("userName", "META")).header


def test_an_extension_has_the_columns_of_its_name() -> None:
    enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

    found = cells(
        **{enterprise: {"employeeNumber": "0007", "manager": {"value": "26118915"}}, "schemas": [USER]}
    )

    assert found == {f"{enterprise}.employeeNumber": "0007", f"{enterprise}.manager.value": "26118915"}


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("2819c223-7f76", "Users/2819c223-7f76"),
        ("a/../b", "Users/a/../b"),
        ("a\x1b[2J\n", "Users/a\\x1b[2J\\n"),
        ("\u202ea", "Users/\\u202ea"),
        ("\ud800", "Users/\\ud800"),
        ("x" * 500, "Users/" + "x" * 99 + "…"),
    ],
)
def test_the_place_of_a_user_is_the_id_with_nothing_that_acts(identity: str, name: str) -> None:
    assert columns({"id": identity}).names == (name,)


def test_a_service_is_read_over_tls() -> None:
    body = b'{"schemas": ["%b"], "totalResults": 1, "Resources": [{"id": "1"}]}' % LIST.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    there = Answers(proving(TRUSTED), answer=head + body)
    with beside(there):
        found = read(ScimService([], url=f"https://127.0.0.1:{there.port}/scim"), ca=str(TRUSTED))

    assert found.rows == (["1"],)
    assert there.heard[0].startswith(b"GET /scim/Users?count=3 HTTP/1.1")
