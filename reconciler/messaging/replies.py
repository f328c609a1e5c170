"""What a callback of the service says: the payload of a reply or of a failed delivery, as a value.

Every form of it, in JSON and XML. Who may send it: receiver.py.

Public sources disagree on the keys' spelling and case, so case does not count here (facts 6). A
value in the place of a text must be one; any other payload is refused whole.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.core.text import fold_case
from reconciler.errors import Malformed
from reconciler.messaging.values import Reply, Respondent
from reconciler.service.answers import BadBody
from reconciler.service.http import media, urls
from reconciler.service.xml import documents as xml

reply_max = 1024 * 1024  # bytes of one payload
text_max = 100_000  # characters of one text
parameters_max = 1000

_XML = ("application/xml", "text/xml")
_JSON = ("application/json", "text/json")
_UNTOLD = ("", "text/plain", "application/octet-stream")
_ROOT = "deliveryresponse"


def parse_reply(body: bytes, content_type: str) -> Reply:
    """The reply in the body of a callback. Raises Malformed for everything else, without its words.

    JSON and XML by the content type; by the first character of the body where the type says nothing.
    `parameters` are all text: a number, or a yes or no, that comes instead is written as text.
    """
    try:
        return _parse_document(_decode_document(body, content_type))
    except BadBody as error:
        raise Malformed(
            f"a callback cannot be read: {error}.",
            next="check who calls this address; docs/service.md shows what the service sends.",
            method="POST",
        ) from None


def _decode_document(body: bytes, content_type: str) -> Mapping[str, Any]:
    if len(body) > reply_max:
        raise BadBody(f"it is larger than {reply_max // 1024} KiB")
    match _find_form(body, content_type):
        case "json":
            return media.decode_body(body)
        case "xml":
            return xml.decode_xml(body, "deliveryResponse")
        case _:
            raise BadBody("it is neither JSON nor XML")


def _find_form(body: bytes, content_type: str) -> str:
    kind = fold_case(content_type.partition(";")[0].strip())
    if kind in _XML or kind.endswith("+xml"):
        return "xml"
    if kind in _JSON or kind.endswith("+json"):
        return "json"
    if kind in _UNTOLD:
        # No JSON begins with <, and every document in XML does.
        return "xml" if body.lstrip()[:1] == b"<" else "json"
    return ""


def _parse_document(document: Mapping[str, Any]) -> Reply:
    # Two names of the same in public sources (facts 6).
    location = _get_text(document, "location", "messagelocation").partition("?")[0]  # a key may follow
    message_id = _get_text(document, "messageid") or urls.id_of(location, "messages")
    if not urls.ID.fullmatch(message_id):
        raise BadBody("it names no message")
    told = _get_once(document, "responsemessage")
    if not isinstance(told, dict):
        raise BadBody("it has no responseMessage")
    sender = _get_once(document, "from")
    if not isinstance(sender, dict | None):
        raise BadBody("its from is not an object")
    parts = {key: _get_text(sender or {}, key) for key in ("name", "mri", "mobile", "email", "voice")}
    said = {key: _get_text(told, key) for key in ("channel", "content", "acknowledged", "undeliverable")}
    if not said["content"] and not said["undeliverable"] and not said["acknowledged"]:
        raise BadBody("it is neither a reply nor a failed delivery")
    parameters = _parse_parameters(_get_once(document, "customparameters", "customparamters"))
    return Reply(message_id, location, Respondent(**parts), **said, parameters=parameters)


def _get_once(document: Mapping[str, Any], *keys: str) -> Any:
    """The value under any spelling of `keys`, None where there is none; two that differ are refused."""
    # Public sources differ in case and spelling (facts 6); which of two values counts is not guessed.
    found = [value for key, value in document.items() if fold_case(key) in keys and value is not None]
    if any(value != found[0] for value in found):
        raise BadBody(f"it has two different values of {keys[0]}")
    return found[0] if found else None


def _get_text(document: Mapping[str, Any], *keys: str) -> str:
    value = _get_once(document, *keys)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > text_max:
        raise BadBody(f"its {keys[0]} is not a text")
    return value


def _parse_parameters(told: object) -> dict[str, str]:
    """The parameters as key -> text: an object, a list of entries, or entries within an object."""
    if told in (None, ""):
        return {}
    found: dict[str, str] = {}
    for number, (key, value) in enumerate(_iterate_pairs(told)):
        if number >= parameters_max:
            raise BadBody(f"it has more than {parameters_max} parameters")
        if not isinstance(key, str) or len(key) > text_max or found.get(key, value) != value:
            raise BadBody("one of its parameters has no key, or a key that is given twice")
        found[key] = _parameter_text(value)
    return found


def _iterate_pairs(told: object) -> Iterator[tuple[object, object]]:
    if isinstance(told, dict):
        # Facts 6: an object, `entry` elements of XML within one, or a list of them.
        inner = told.get("entry")
        if len(told) == 1 and isinstance(inner, dict | list):
            yield from _iterate_pairs(inner if isinstance(inner, list) else [inner])
        else:
            yield from told.items()
        return
    if not isinstance(told, list):
        raise BadBody("its customParameters are not an object")
    for each in told:
        if not isinstance(each, dict):
            raise BadBody("one of its customParameters is not an object")
        if "key" in each and each.keys() <= {"key", "value"}:
            yield each["key"], each.get("value", "")
        else:
            yield from each.items()


def _parameter_text(value: object) -> str:
    """The text of one parameter."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str() if len(value) <= text_max:
            return value
        case _:
            raise BadBody("one of its parameters is not a text")
