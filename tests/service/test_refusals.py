"""Claims about refusals: every row of the table, and sentences that are safe to show."""

from collections.abc import Mapping
from types import MappingProxyType

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.support import CALLS, ID, KEY, PASSWORD, Wire, answer, failure

from reconciler.core.calls import Failure
from reconciler.errors import (
    Malformed,
    NotFound,
    Rejected,
    ServiceError,
    Throttled,
    Unauthorized,
    Unavailable,
)
from reconciler.service.answers import Answer, Call
from reconciler.service.http import refusals
from reconciler.service.http.refusals import TABLE, escape_service_words, judge_refusal, text_max

QPS, QPD = "ERR_403_DEVELOPER_OVER_QPS", "ERR_403_DEVELOPER_OVER_QPD"

# Written down from the sources once more: status, error code, failure, class.
WANTED: list[tuple[int, str, Failure, type[ServiceError]]] = [
    (401, "", Failure.STOPPED, Unauthorized),
    (401, QPS, Failure.STOPPED, Unauthorized),
    (403, "", Failure.STOPPED, Unauthorized),
    (403, "ERR_403_DEVELOPER_INACTIVE", Failure.STOPPED, Unauthorized),
    (403, "ERR_403_NOT_AUTHORIZED", Failure.STOPPED, Unauthorized),
    (403, QPS, Failure.THROTTLED, Throttled),
    (403, QPS.lower(), Failure.THROTTLED, Throttled),
    (403, QPD, Failure.STOPPED, Unauthorized),
    (429, "", Failure.THROTTLED, Throttled),
    (429, QPS, Failure.THROTTLED, Throttled),
    (429, QPD, Failure.STOPPED, Unauthorized),
    (503, "", Failure.THROTTLED, Throttled),
    (408, "", Failure.THROTTLED, Throttled),
    (404, "", Failure.ABSENT, NotFound),
    (405, "", Failure.REFUSED, Rejected),
    (413, "", Failure.REFUSED, Rejected),
    (415, "", Failure.REFUSED, Rejected),
    (400, "", Failure.REFUSED, Rejected),
    (409, "", Failure.REFUSED, Rejected),
    (422, "", Failure.REFUSED, Rejected),
    (499, "", Failure.REFUSED, Rejected),
    (300, "", Failure.REFUSED, Rejected),
    (301, "", Failure.REFUSED, Rejected),
    (302, "", Failure.REFUSED, Rejected),
    (303, "", Failure.LOST, Malformed),
    (304, "", Failure.REFUSED, Rejected),
    (307, "", Failure.REFUSED, Rejected),
    (308, "", Failure.REFUSED, Rejected),
    (501, "", Failure.REFUSED, Rejected),
    (505, "", Failure.REFUSED, Rejected),
    (500, "", Failure.LOST, Unavailable),
    (502, "", Failure.LOST, Unavailable),
    (504, "", Failure.LOST, Unavailable),
    (524, "", Failure.LOST, Unavailable),
    (600, "", Failure.LOST, Malformed),
    (101, "", Failure.LOST, Malformed),
]
CALL = Call("GET", f"/contacts/{ID}", "contact", (("customFields", "true"),))


def judged(
    status: int, body: bytes = b"", headers: Mapping[str, str] = MappingProxyType({})
) -> refusals.FailedTry:
    return judge_refusal(CALL, Answer(status, headers, body), conceal=lambda text: text)


@pytest.mark.parametrize("header", ["x-error-code", "x-mashery-error-code"])
@pytest.mark.parametrize(("status", "code", "kind", "error"), WANTED)
def test_every_status_and_code_means_what_the_sources_say(
    header: str, status: int, code: str, kind: Failure, error: type[ServiceError]
) -> None:
    seen = judged(status, headers={header: code})

    assert (seen.failure, type(seen.error)) == (kind, error)
    assert seen.error.status == status
    assert str(seen.error).startswith(f"GET /contacts/{ID}: ")
    assert seen.error.next


def test_every_row_is_used_and_has_a_source() -> None:
    """A row that nothing reaches is a rule that does not hold."""
    first = {next(row for row in TABLE if row.fits(status, code.upper())) for status, code, *_ in WANTED}

    assert first == set(TABLE)
    assert all(row.source for row in TABLE)


def test_every_status_has_a_row() -> None:
    assert all(any(row.fits(status, "") for row in TABLE) for status in range(1000))


def test_the_services_own_words_stand_in_the_message() -> None:
    body = b'{"errorSummary":"Your request was not accepted. ","errorText":"firstName is missing","link":[]}'

    error = judged(422, body).error

    assert str(error) == (
        f"GET /contacts/{ID}: the service refuses the request (422): "
        '"Your request was not accepted. firstName is missing".'
    )


def test_a_gateways_bare_sentence_is_shown_and_its_page_is_not() -> None:
    assert '"Request size limit exceeded"' in str(judged(413, b"Request size limit exceeded").error)
    assert "<" not in str(judged(403, b"<h1>Developer Inactive</h1>").error)


HOSTILE_TEXTS = (
    "\x1b[2J\x1b[31mred",
    "line\r\noverwritten",
    "tab\tbell\x07back\x08",
    "\u202egnp.exe",
    "zero\u200bwidth",
    "\u2028separator",
    "\x9b31m",
    "nul\x00",
    "del\x7f",
    "x" * 100_000,
)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_foreign_words_cannot_act_on_a_terminal(text: str) -> None:
    """The service's words come from whoever wrote the data, or stands between."""
    error = failure(Wire(answer(422, {"errorText": text})), CALLS["PUT"])

    assert str(error).isprintable()
    assert len(str(error)) < text_max + 200


@given(st.text())
def test_shown_text_is_one_printable_line_within_its_cap(text: str) -> None:
    line = escape_service_words(text)

    assert line.isprintable()
    assert len(line) <= text_max


@pytest.mark.parametrize("echo", [KEY, PASSWORD, "canary-key%2B7f3a91c2%2F%3D"])
@pytest.mark.parametrize("method", CALLS)
def test_a_secret_that_the_service_echoes_is_concealed(method: str, echo: str) -> None:
    """Gateways like to say which key they refuse."""
    wire = Wire(answer(403, {"message": f"key {echo} is not active"}, x_error_code=f"ERR_{echo}"))

    error = failure(wire, CALLS[method])

    assert "(secret) is not active" in str(error)
    assert "canary" not in str(error).lower() + error.code.lower() + error.next


@pytest.mark.parametrize(
    ("play", "word"),
    [
        (answer(401), "service.auth.username"),
        (answer(403), "service.auth.api_key"),
        (answer(403, x_error_code=QPD), "quota"),
        (answer(429), "service.limits.requests_per_second"),
        (answer(404), "workspace"),
        (answer(302), "service.base_url"),
        (answer(415), "service.profile"),
        (answer(413), "payload"),
        (answer(422), "manifest"),
        (answer(500), "later"),
        (answer(200, b"<html>"), "service.base_url"),
    ],
)
def test_every_refusal_says_what_to_do_next(play: httpx2.Response, word: str) -> None:
    error = failure(Wire(play), CALLS["GET"])

    assert word in error.next + str(error)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/callbacks/on-call", "reconciler callbacks list"),
        ("/callbacks/on-call/calls", "reconciler callbacks list"),
        (f"/workspaces/{ID}/messages/{ID}/messagestatus", "reconciler messages list"),
        (f"/workspaces/{ID}/messages", "workspace's id"),
        ("/callbacks", "workspace's id"),
        (f"/contacts/{ID}", "workspace's id"),
    ],
)
def test_an_id_that_somebody_typed_is_looked_up_where_it_is_listed(path: str, advice: str) -> None:
    """A callback is in no workspace, and messages name it by its name: neither is its id."""
    seen = judge_refusal(Call("GET", path, "api-callback"), Answer(404, {}, b""), conceal=str)

    assert advice in seen.error.next


def test_a_doubt_keeps_what_was_seen_and_says_that_it_was_sent() -> None:
    error = failure(Wire(answer(502)), CALLS["DELETE"])

    seen = f"DELETE /contacts/{ID}: the service failed (502)"
    assert str(error) == f"{seen}; the request was sent and may have been carried out."
    assert (error.status, error.method, error.path) == (502, "DELETE", f"/contacts/{ID}")
