"""What an answer that is no success means: the table (status, error code) -> failure and error class.

The table, the sentence of each error, the service's own words made safe to show. Whether the call is
repeated: core/calls.py.

First row that fits wins. `sources`: spec N = the specification's section, facts N = docs/service.md.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TypeVar

from reconciler.core.calls import Failure, parse_retry_after_s
from reconciler.errors import (
    Cached,
    InDoubt,
    Malformed,
    NotFound,
    NotSent,
    Rejected,
    ServiceError,
    Throttled,
    Unauthorized,
    Unavailable,
)
from reconciler.service.answers import OTHER_SERVICE, Answer, BadBody, Broken, Call
from reconciler.service.http import media

text_max = 300  # characters of the service's own words in a message
REFUSED_BY_WORDS = (400, 422)  # facts 8: these say in words what is wrong with the body
over_qps_wait_s = 1.0  # seconds; "too many in this second" ends with the second

_LATER = "run the command again later; if the error stays, ask the operators of the service."
_BASE = OTHER_SERVICE
_ELSEWHERE = (
    "reconciler plan names this entity and what you can do; if every read ends so, check service.base_url."
)


@dataclass(frozen=True, slots=True)
class Sense:
    """One thing that answers can mean: its row of A8, the class to raise, what to say and what to do."""

    failure: Failure
    error: type[ServiceError]
    what: str
    next: str


_LOGIN = Sense(
    Failure.STOPPED,
    Unauthorized,
    "the service does not accept the user name and password",
    "check service.auth.username and service.auth.password, and that the service accepts the IP address of "
    "this machine.",
)
_DENIED = Sense(
    Failure.STOPPED,
    Unauthorized,
    "the service denies access",
    "check service.auth.api_key and service.auth.send_key, and what this user may do in this workspace.",
)
_QUOTA = Sense(
    Failure.STOPPED,
    Unauthorized,
    "the daily quota is used up",
    "wait until the quota is renewed (usually a day), or ask for a larger one; this run sends nothing more.",
)
_FAST = Sense(
    Failure.THROTTLED,
    Throttled,
    "too many requests",
    "lower service.limits.requests_per_second, or run it again later.",
)
_BUSY = Sense(Failure.THROTTLED, Throttled, "the service is not ready", _LATER)
_SLOW = Sense(Failure.THROTTLED, Throttled, "the service waited too long for the request", _LATER)
_ABSENT = Sense(
    Failure.ABSENT,
    NotFound,
    "there is nothing at this path",
    "check the workspace's id in the settings and service.base_url; a single entity may have been deleted.",
)
# Collection -> what to do about an id in it that the service does not know. People type these ids.
_LISTED: Mapping[str, str] = {
    "callbacks": "copy the id, which is not the name, from `reconciler callbacks list`.",
    "messages": "copy the id from `reconciler messages list`; --workspace names the workspace it is in.",
}
_METHOD = Sense(Failure.REFUSED, Rejected, "the service does not offer this method here", _BASE)
_LARGE = Sense(Failure.REFUSED, Rejected, "the request is too large", "make the payload smaller.")
_MEDIA = Sense(
    Failure.REFUSED,
    Rejected,
    "the service does not accept this media type",
    "check service.profile: its vendor token is part of the media type.",
)
_INPUT = Sense(
    Failure.REFUSED,
    Rejected,
    "the service refuses the request",
    "read the message of the service above, correct the manifest, and plan again.",
)
# Never followed: it would carry the credentials to wherever it points. A 303 says that the request was
# carried out, so for a write it is an answer of unknown shape.
_redirect = "the service redirects, which is never followed"
_MOVED = Sense(Failure.REFUSED, Rejected, _redirect, _BASE)
_SEE_OTHER = Sense(Failure.LOST, Malformed, _redirect, _BASE)
_FAILED = Sense(Failure.LOST, Unavailable, "the service failed", _LATER)
_STRANGE = Sense(Failure.LOST, Malformed, "the service answers with a status that HTTP does not know", _BASE)
_FOREIGN_404 = Sense(
    Failure.REFUSED,
    Malformed,
    "something that is not the service answers that there is nothing at this path",
    _BASE,
)


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """Statuses from `low` to `high` whose error code holds `code` -> what they mean."""

    low: int
    high: int
    code: str
    sense: Sense
    source: str

    def fits(self, status: int, code: str) -> bool:
        """Whether the row speaks of this answer."""
        return self.low <= status <= self.high and self.code in code


# The service answers "too fast" with 403 and an error code. Read by its status alone, every throttled call
# would be a refusal of the credentials, and stop the run.
TABLE: tuple[RefusalRow, ...] = (
    RefusalRow(401, 401, "", _LOGIN, "facts 8"),
    RefusalRow(403, 403, "OVER_QPS", _FAST, "facts 8"),
    RefusalRow(403, 403, "OVER_QPD", _QUOTA, "facts 8"),
    RefusalRow(403, 403, "", _DENIED, "facts 8"),
    RefusalRow(429, 429, "OVER_QPD", _QUOTA, "facts 8: both are named, their pairing is assumed"),
    RefusalRow(429, 429, "", _FAST, "facts 8"),
    RefusalRow(503, 503, "", _BUSY, "RFC 9110, 15.6.4"),
    RefusalRow(408, 408, "", _SLOW, "RFC 9110, 15.5.9"),
    RefusalRow(404, 404, "", _ABSENT, "facts 2 and 8"),
    RefusalRow(405, 405, "", _METHOD, "spec 7, facts 4"),
    RefusalRow(413, 413, "", _LARGE, "facts 8"),
    RefusalRow(415, 415, "", _MEDIA, "facts 8 and 10"),
    RefusalRow(400, 499, "", _INPUT, "facts 8: 400 and 422; the others are assumed"),
    RefusalRow(303, 303, "", _SEE_OTHER, "RFC 9110, 15.4.4"),
    RefusalRow(300, 399, "", _MOVED, "facts 8 and 10"),
    RefusalRow(501, 501, "", _METHOD, "facts 4 and 8"),
    RefusalRow(505, 505, "", _METHOD, "RFC 9110, 15.6.6"),
    RefusalRow(500, 599, "", _FAILED, "facts 8: 500; gateways' own codes are assumed to be alike"),
    RefusalRow(0, 999, "", _STRANGE, "RFC 9110, 15"),
)


# Method -> the statuses that are its success -> source. Every other 2xx is an unknown shape: 203 was
# changed on its way, 206 is a part, 207 several results, 226 a difference.
# What a call makes of its success is its own business: 202 does not say that a contact was created.
SUCCESSES: Mapping[str, Mapping[int, str]] = {
    "GET": {200: "spec 4, facts 1"},
    "POST": {201: "facts 2 to 7", 200: "facts 1: read liberally", 202: "spec 4.5: messages"},
    "PUT": {204: "spec 4.1, facts 2", 200: "facts 4", 202: "RFC 9110, 15.3.3: accepted, not done"},
    "DELETE": {204: "facts 2", 200: "facts 6", 202: "RFC 9110, 15.3.3: accepted, not done"},
}


E = TypeVar("E", bound=ServiceError)


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A failed try: its row of A8, the error to raise if it stays so, and the wait that was asked for."""

    failure: Failure
    error: ServiceError
    asked_s: float = 0.0


def judge_refusal(
    call: Call, answer: Answer, *, conceal: Callable[[str], str], now: datetime | None = None
) -> FailedTry:
    """What an answer outside 200 to 299 means. `conceal` hides our secrets in the service's words.

    `now` is the service's time as far as it is known, for an answer that does not tell it.
    """
    # A gateway may repeat the key that it refuses, in a header as well as in the body.
    code = escape_service_words(conceal(error_code(answer)).upper())
    told = media.read_error_words(answer.body)
    sense = _find_sense(answer, code, is_document=told.is_document)
    words = escape_service_words(conceal(told.words))
    said = f': "{words}"' if words else ""
    hint = (_id_list_advice(call) if sense is _ABSENT else "") or sense.next
    error = error_about_call(
        call, sense.error, f"{sense.what} ({answer.status}){said}.", hint, status=answer.status, code=code
    )
    if not isinstance(error, Throttled):
        return FailedTry(sense.failure, error)
    headers = answer.headers
    asked_s = parse_retry_after_s(headers.get("retry-after", ""), headers.get("date", ""), now=now)
    # Without Retry-After the code still says how long: the second that is too full.
    error.wait_s = asked_s or (over_qps_wait_s if "OVER_QPS" in code else 0.0)
    return FailedTry(sense.failure, error, error.wait_s)


def _find_sense(answer: Answer, code: str, *, is_document: bool) -> Sense:
    sense = next(row.sense for row in TABLE if row.fits(answer.status, code))
    # Empty, a JSON object, or its error in XML: that is the service (facts 8 and 9). The page of a proxy
    # or of another web server must not make an entity look deleted.
    foreign = sense is _ABSENT and answer.body.strip() and not is_document
    return _FOREIGN_404 if foreign else sense


def _id_list_advice(call: Call) -> str:
    """Return where the ids are listed of which this call names one, or ""."""
    return next((advice for name, advice in _LISTED.items() if f"/{name}/" in call.path), "")


def error_about_call(
    call: Call, error: type[E], what: str, hint: str, *, status: int = 0, code: str = ""
) -> E:
    """Return an error that names the call, says what is wrong with it, and what to do."""
    return error(f"{call}: {what}", next=hint, method=call.method, path=call.path, status=status, code=code)


def judge_broken(call: Call, seen: Broken) -> FailedTry:
    """No complete answer: Unavailable for now."""
    hint = seen.next or _LATER
    return FailedTry(
        seen.failure, error_about_call(call, Unavailable, f"{seen.what}.", hint, status=seen.status)
    )


def judge_no_success(call: Call, answer: Answer) -> FailedTry:
    """What a 2xx means that is no success of this method (see SUCCESSES): the answer is lost."""
    what = f"{answer.status} is no success of a {call.method}"
    return FailedTry(Failure.LOST, malformed_answer(call, what, status=answer.status))


def judge_cached(call: Call, answer: Answer, why: str) -> FailedTry:
    """What an answer from a cache means: nothing. It is asked for again, at an address that is new."""
    what = f"a cache between this machine and the service answered instead of the service: {why}."
    hint = (
        "the proxy or gateway in front of service.base_url must store no answers (docs/service.md, Caches)."
    )
    return FailedTry(Failure.LOST, error_about_call(call, Cached, what, hint, status=answer.status))


def malformed_answer(call: Call, what: str, *, status: int = 200, hint: str = _BASE) -> Malformed:
    """The answer is not what the specification says: `what` is wrong with it, without its values."""
    return error_about_call(call, Malformed, f"the answer cannot be used: {what}.", hint, status=status)


# A look at one entity that ends so says nothing of the others: the service may have merged two.
_moved = frozenset({*range(300, 400), int(HTTPStatus.GONE)})


@contextmanager
def mark_elsewhere() -> Iterator[None]:
    """Say of a redirect, a 410 and another body, which answer a look at one entity, that it is elsewhere."""
    try:
        yield
    except (Rejected, Malformed) as error:
        error.elsewhere = error.elsewhere or error.status in _moved
        if error.elsewhere:
            error.next = _ELSEWHERE
        raise


@contextmanager
def refuse_bad_bodies(call: Call) -> Iterator[None]:
    """Nothing happens unless something read out of the answers of this call is of no use: then Malformed."""
    try:
        yield
    except BadBody as error:
        raise malformed_answer(call, str(error), hint=error.next) from None


def to_in_doubt(error: ServiceError) -> InDoubt:
    """The same failure of a write that may have been carried out."""
    return InDoubt(
        f"{str(error).removesuffix('.')}; the request was sent and may have been carried out.",
        next="look at the service before anything is sent again; a new plan shows what is there.",
        method=error.method,
        path=error.path,
        status=error.status,
        code=error.code,
    )


def was_not_carried_out(error: Throttled) -> bool:
    """Whether a throttled request was certainly not carried out: a limit on requests refused it."""
    # 429 is the answer of a limit, and so is any status with the gateway's code for one (facts 8). A 503 or
    # a 408 may come from a gateway that had passed the request on: 3 % of such messages went out.
    return error.status == HTTPStatus.TOO_MANY_REQUESTS or "OVER_Q" in error.code


def to_not_sent(error: ServiceError) -> NotSent:
    """Return the same, said of a write that may be sent after another look."""
    told = NotSent(str(error), next=error.next, method=error.method, path=error.path)
    # The library's errors carry the request, and with it the key.
    told.__cause__ = None
    return told


def add_reason(error: ServiceError, why: str) -> ServiceError:
    """The same error, saying why it was not tried (again)."""
    if why:
        error.args = (f"{str(error).removesuffix('.')}; {why}.",)
    return error


def error_code(answer: Answer) -> str:
    """The gateway's error code, or "". Source: facts 8, both header names."""
    return answer.headers.get("x-error-code") or answer.headers.get("x-mashery-error-code", "")


def escape_service_words(text: str) -> str:
    """One line of printable text, at most 300 characters: control and bidi signs written as escapes."""
    text = text[: text_max + 1].strip()
    # Signs that turn the direction of text would let the service's words pose as ours.
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return line if len(line) <= text_max else line[: text_max - 1] + "…"
