"""How the service says no: one exception, and the body that each status carries.

Source: specification 7; docs/service.md, errors (recorded 404, 401 and 422 bodies).
"""

from collections.abc import Container, Iterable, Mapping
from http import HTTPStatus
from typing import TypeVar

from reconciler.sandbox.records import Body

# The recorded 404 ends its summary with a space; clients that compare it exactly meet that here too.
SUMMARIES = {
    HTTPStatus.BAD_REQUEST: "Your request could not be read. Please check its syntax and its parameters.",
    HTTPStatus.UNAUTHORIZED: "Your request was not accepted. Please check the user name and the password.",
    HTTPStatus.NOT_FOUND: "Your request found no record. Please check the address and the ids in it. ",
    HTTPStatus.METHOD_NOT_ALLOWED: "Your request is not possible at this address.",
    HTTPStatus.NOT_ACCEPTABLE: "Your request asks for a media type that is not available here.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "Your request carries a media type that is not accepted here.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The sandbox could not keep the change. Nothing was changed.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Your request was understood, and its content was not accepted.",
}

# A public description requires a detail of these, and recorded answers with 404 and 422 have none.
_DETAILS = {
    HTTPStatus.BAD_REQUEST: "Bad Request",
    HTTPStatus.UNAUTHORIZED: "",
    HTTPStatus.METHOD_NOT_ALLOWED: "",
}


class Refusal(Exception):
    """The request ends here, with this status; `text` is the specific cause and names the field."""

    def __init__(self, status: HTTPStatus, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


def error_body(status: HTTPStatus, text: str) -> Body:
    """The error object: summary, text, the detail of its status, an empty link list; a 401 has no links."""
    detail = {"errorDetail": _DETAILS[status]} if status in _DETAILS else {}
    links: Body = {} if status is HTTPStatus.UNAUTHORIZED else {"link": []}
    return {"errorSummary": SUMMARIES[status], "errorText": text, **detail, **links}


def malformed(text: str) -> Refusal:
    """The request cannot be read at all: 400."""
    return Refusal(HTTPStatus.BAD_REQUEST, text)


def unauthorized() -> Refusal:
    """Wrong or missing user name or password: 401."""
    challenge = (("www-authenticate", 'Basic realm="service"'),)
    return Refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized", challenge)


def not_found() -> Refusal:
    """No such address, workspace or record: 404."""
    return Refusal(HTTPStatus.NOT_FOUND, "Not Found")


def method_not_supported(allowed: tuple[str, ...]) -> Refusal:
    """The address exists and the method does not: 405 with the documented words."""
    return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "METHOD not supported", (("allow", ", ".join(allowed)),))


def not_acceptable(accept: str) -> Refusal:
    """None of the media types in Accept can be answered: 406."""
    return Refusal(HTTPStatus.NOT_ACCEPTABLE, f"Not Acceptable: {accept[:200]}")


def wrong_media_type(expected: str) -> Refusal:
    """The body's Content-Type is missing or another one: 415."""
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {expected}")


def storage_failed(cause: Exception) -> Refusal:
    """The data file took nothing, and so nothing changed: 500."""
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, str(cause))


def invalid(text: str) -> Refusal:
    """Readable, and missing or wrong in content: 422, the field named in the text."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, text)


# --- What a body gives, by name: what is there, what must be there, what must be a text -----------


Word = TypeVar("Word", bound=str)


def given_values(body: Body, *, without: Container[str] = ()) -> Body:
    """What the body gives; null counts as absent, and so does what only the service writes: `without`."""
    return {name: value for name, value in body.items() if value is not None and name not in without}


def require_filled(given: Body, names: Iterable[str]) -> None:
    """Refuses (422) a body in which one of these is missing or empty; all of them are named."""
    missing = [name for name in names if given.get(name) in (None, "")]
    if missing:
        raise invalid(f"{', '.join(missing)}: required and missing")


def require_texts(given: Body, names: Iterable[str]) -> None:
    """Refuses (422) anything but a text under one of these names."""
    for name in names:
        if not isinstance(given.get(name, ""), str):
            raise invalid(f"{name} must be a string")


def body_text(given: Body, name: str, characters_max: int | None = None) -> str:
    """The text under this name, "" where there is none; refuses (422) anything else, and one too long."""
    require_texts(given, (name,))
    value = str(given.get(name, ""))
    if characters_max is not None and len(value) > characters_max:
        raise invalid(f"{name} has {len(value)} characters; the limit is {characters_max}")
    return value


def body_choice(given: Body, name: str, words: tuple[Word, ...], default: str = "") -> Word:
    """The one of these words that stands under this name; refuses (422) any other."""
    for word in words:
        if given.get(name, default) == word:
            return word
    raise invalid(f"{name} must be {' or '.join(words)}")


def query_choice(query: Mapping[str, str], name: str, words: tuple[Word, ...]) -> Word:
    """The one of these words that a query asks for in any letter case, or the first; refuses (400) others."""
    wanted = query.get(name, words[0]).lower()
    for word in words:
        if wanted == word:
            return word
    raise malformed(f"{name} must be {' or '.join(words)}")
