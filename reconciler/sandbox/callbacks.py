"""Callbacks: how a body becomes one, what it is sent on a reply or a failed delivery, and its documents.

Source: specification 2.6 and 6; docs/service.md, callbacks.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.documents import DocumentWriter, body_types, make_link
from reconciler.sandbox.message_documents import responder_document, short_time
from reconciler.sandbox.messages import channel_name, reply_category
from reconciler.sandbox.records import AuthType, Body, Callback, CallbackCall, Message, Recipient, Reply
from reconciler.sandbox.refusals import (
    body_choice,
    body_text,
    given_values,
    invalid,
    malformed,
    require_filled,
)

callback_name_max = 50  # characters
callback_key_max = 128  # characters
callback_email_max = 64  # characters
retry_period = timedelta(hours=24)  # from the event on, for as long a call is tried again

_ENABLED_WORDS = ("enabled", "disabled")
AUTH_TYPES: dict[str, AuthType] = {
    "httpheader": "httpheader",
    "querystring": "querystring",
    "queryparam": "queryparam",
    "basicauth": "basicauth",
    "bearertoken": "bearertoken",
}
"""The ways of showing the key; that in the query has two names in the sources."""


CALLBACK_FIELDS = (
    "name",
    "url",
    "auth",
    "contentType",
    "removeHTML",
    "retriesEnabled",
    "email",
    "callbacks",
)
"""The fields that a vendor's description requires, in a create and in an update."""


def read_callback(body: Body, known: tuple[str, int], *, strict: bool = False) -> Callback:
    """The callback of this id and number that the body describes; refuses (422) a wrong field, by name.

    With `strict` each of the eight documented fields must be there. A text may be empty, where it may be.
    """
    given = given_values(body)
    missing = [name for name in CALLBACK_FIELDS if name not in given] if strict else []
    if missing:
        raise invalid(f"{', '.join(missing)}: required and missing")
    require_filled(given, ("name", "url"))
    auth_type, key = _read_auth(given.get("auth"))
    events = given.get("callbacks", {})
    if not isinstance(events, dict):
        raise invalid("callbacks must be an object")
    return Callback(
        id=known[0],
        number=known[1],
        name=body_text(given, "name", callback_name_max),
        url=_read_url(given),
        auth_type=auth_type,
        key=key,
        content_type=body_choice(given, "contentType", ("json", "xml"), "json"),
        remove_html=body_choice(given, "removeHTML", _ENABLED_WORDS, "disabled") == "enabled",
        retries=_read_flag(given.get("retriesEnabled", False)),
        email=body_text(given, "email", callback_email_max),
        on_reply=body_choice(events, "reply", _ENABLED_WORDS, "enabled") == "enabled",
        on_undeliverable=body_choice(events, "undeliverable", _ENABLED_WORDS, "enabled") == "enabled",
    )


def require_free_callback_name(name: str, owner: str, callbacks: Iterable[Callback]) -> None:
    """Refuses (400, as documented) a name that another callback has: messages mean a callback by its name."""
    if any(one.name == name and one.id != owner for one in callbacks):
        raise malformed(f"name: there is a callback of the name {name} already")


def reply_payload(
    config: SandboxConfig, callback: Callback, message: Message, recipient: Recipient, reply: Reply
) -> Body:
    """Specification 2.6: what is sent when a recipient replies."""
    words: Body = {
        "channel": reply.channel,
        "acknowledged": short_time(reply.at),
        "content": _payload_content(callback, reply.content),
    }
    return _build_payload(config, message, recipient, words, reply.at)


def failure_payload(
    config: SandboxConfig, callback: Callback, message: Message, recipient: Recipient, now: datetime
) -> Body:
    """What is sent when a delivery fails: the time is under `undeliverable`, the reason is the content."""
    words: Body = {
        "channel": channel_name(recipient),
        config.callback_failure_key: short_time(now),
        "content": _payload_content(callback, recipient.failure),
    }
    return _build_payload(config, message, recipient, words, now)


def record_attempt(
    call: CallbackCall, callback: Callback, *, code: int, reason: str, now: datetime, retry_s: float
) -> CallbackCall:
    """The call after one attempt: 200 is a success, anything else fails, and is tried again if that is on."""
    again = now + timedelta(seconds=retry_s)
    goes_on = code != 200 and callback.retries and again - call.since <= retry_period  # noqa: PLR2004  HTTP's OK
    return msgspec.structs.replace(
        call,
        status="SUCCESS" if code == 200 else "FAILED",  # noqa: PLR2004  the same
        attempts=call.attempts + 1,
        attempted=now,
        code=code,
        reason=reason,
        due=again if goes_on else None,
    )


def settle_call(call: CallbackCall) -> CallbackCall:
    """The call after its owner said that it is dealt with: a success, not tried again."""
    return msgspec.structs.replace(call, status="SUCCESS", due=None)


def mark_call_failed(call: CallbackCall) -> CallbackCall:
    """The call after its owner said that it failed: tried again only if it would have been anyway."""
    return msgspec.structs.replace(call, status="FAILED")


def _build_payload(
    config: SandboxConfig, message: Message, recipient: Recipient, words: Body, now: datetime
) -> Body:
    parameters: Body = {name: _parameter_text(value) for name, value in (message.parameters or {}).items()}
    if config.callback_service_keys:
        parameters = {**_service_keys(message, recipient, now), **parameters}
    return {
        "messageid": message.id,
        config.callback_location_key: message.location,
        "from": responder_document(recipient),
        "responseMessage": words,
        **({"customParameters": parameters} if parameters else {}),
    }


def _service_keys(message: Message, recipient: Recipient, now: datetime) -> Body:
    """Some of the keys that the service adds of its own, all of them texts."""
    return {
        "sender_name": message.user,
        "recipient_name": recipient.name,
        "recipient_mobile": recipient.mobile,
        "date": f"{now:%d/%m/%Y}",
        "time": f"{now:%H:%M}",
        "yyyy": f"{now:%Y}",
        "sec": f"{now:%S}",
        "matchedCategory": reply_category(recipient),
        "responseRule": "",
    }


def _parameter_text(value: object) -> str:
    """Specification 2.6: all values are texts. A text is unchanged, anything else is its JSON text.

    So 5 is "5", null is "null", and an object comes back whole, its keys in their order.
    """
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _payload_content(callback: Callback, text: str) -> str:
    return re.sub(r"<[^<>]*>", "", text) if callback.remove_html else text


def _read_auth(given: object) -> tuple[AuthType, str]:
    if given is None:
        return "", ""
    if not isinstance(given, dict):
        raise invalid("auth must be an object")
    found = AUTH_TYPES.get(str(given.get("type")))
    if found is None:
        raise invalid(f"auth: type must be one of {', '.join(AUTH_TYPES)}")
    key = given.get("key")
    if not isinstance(key, str) or not 1 <= len(key) <= callback_key_max or not key.isprintable():
        raise invalid(f"auth: key must be a text of 1 to {callback_key_max} printable characters")
    return found, key


def _read_url(given: Body) -> str:
    url = body_text(given, "url", 2_000)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise invalid("url must be a whole http or https address")
    return url


def _read_flag(value: object) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise invalid("retriesEnabled must be true or false")
    return str(value).lower() == "true"


# --- Callbacks and their calls as documents


def callback_document(writer: DocumentWriter, callback: Callback) -> Body:
    """The whole callback, its key included, as documented; lists show the same."""
    uri = writer.address("callbacks", callback.id)
    history = body_types(writer.config.vendor, "api-call")
    auth = {"auth": {"type": callback.auth_type, "key": callback.key}} if callback.auth_type else {}
    return {
        "id": callback.id,
        "name": callback.name,
        "url": callback.url,
        **auth,
        "contentType": callback.content_type,
        "removeHTML": _enabled_word(on=callback.remove_html),
        "retriesEnabled": callback.retries,
        "email": callback.email,
        "callbacks": {
            "reply": _enabled_word(on=callback.on_reply),
            "undeliverable": _enabled_word(on=callback.on_undeliverable),
        },
        "link": [
            *writer.record_links(uri, "Callback", "api-callback"),
            make_link(f"{uri}/calls", "retrieveCallbackHistory"),
            make_link(f"{uri}/calls", "updateCallbackHistory", "PUT", history),
        ],
    }


def callback_call_row(writer: DocumentWriter, callback: Callback, call: CallbackCall) -> Body:
    """One event that was tried at least once, and how the last attempt ended."""
    payload = call.payload
    uri = f"{writer.address('callbacks', callback.id, 'calls')}?id={call.id}"
    return {
        "id": call.id,
        "messageId": call.message,
        "messageLocation": payload.get("location") or payload.get("messagelocation"),
        "status": call.status,
        "from": payload["from"],
        "responseMessage": payload["responseMessage"],
        "callback": {
            "id": callback.id,
            "name": callback.name,
            "url": callback.url,
            "attemptedDate": short_time(call.attempted) if call.attempted else "",
            "statusCode": call.code,
            "statusMessage": call.reason,
        },
        "link": [
            make_link(uri, "self"),
            make_link(uri, "updateCall", "PUT", body_types(writer.config.vendor, "api-call")),
        ],
    }


def _enabled_word(*, on: bool) -> str:
    return "enabled" if on else "disabled"
