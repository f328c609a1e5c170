"""The shapes of a callback's configuration and of its calls, in both directions.

Belongs here: reading them out of answers, and the body that writes one. Not here: the calls
(callbacks.py), the payload that the service sends to us (replies.py).

Every function that reads raises BadBody for a shape it does not know. Source: docs/service.md, callbacks.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from reconciler.core.text import fold_case
from reconciler.model.messages import Callback, CallbackAuth, CallbackCall
from reconciler.model.settings import Secret
from reconciler.service import entities
from reconciler.service.answers import Answer, BadBody
from reconciler.service.messaging.message_shapes import count, text
from reconciler.service.paging import Found

collection = "callbacks"
calls_collection = "calls"

AuthType = Literal["httpheader", "querystring", "basicauth", "bearertoken"]

# Two spellings of one thing (facts 6); ours is the one that more of the sources have.
_AUTH_TYPES: Mapping[str, AuthType] = {
    **{name: name for name in get_args(AuthType)},
    "queryparam": "querystring",
}
_SWITCHES: Mapping[object, bool] = {"enabled": True, "disabled": False, "true": True, "false": False}
_KNOWN = frozenset(
    {"id", "name", "url", "auth", "contentType", "retriesEnabled", "email", "callbacks", "link"}
)


def one(answer: Answer, asked: str) -> Callback:
    """The callback that was asked for."""
    found = entities.decode_single(
        answer, asked, "callback", collection, lambda body: {"name", "url"} <= body.keys()
    )
    return callback(found.body, asked)


def callback(body: Mapping[str, Any], callback_id: str) -> Callback:
    """One callback of a document."""
    events = body.get("callbacks") or {}
    if not isinstance(events, dict):
        raise BadBody("its callbacks are no object")
    untold = not events.keys() & {"reply", "undeliverable"}  # then both are meant; one alone is alone
    form = text(body, "contentType") or "json"
    if form not in ("json", "xml"):
        raise BadBody("its contentType is neither json nor xml")
    return Callback(
        name=text(body, "name", needed=True),
        url=text(body, "url", needed=True),
        auth=_auth(body.get("auth")),
        callback_id=callback_id,
        content_type="xml" if form == "xml" else "json",
        retries=_switch(body, "retriesEnabled", absent=False),
        email=text(body, "email"),
        on_reply=_switch(events, "reply", absent=untold),
        on_undeliverable=_switch(events, "undeliverable", absent=untold),
        # What we have no name for survives a replace, which removes all that it leaves out.
        more={key: value for key, value in body.items() if key not in _KNOWN},
    )


def _auth(auth: object) -> CallbackAuth | None:
    """How the service proves itself; none where nothing is told. Not knowing is no way to have none."""
    if auth in (None, {}, ""):
        return None
    if not isinstance(auth, dict):
        raise BadBody("its auth is no object")
    name, key = fold_case(text(auth, "type")), text(auth, "key")
    if not name and not key:
        return None
    # Read as none it would be written back as none, and our receiver would refuse every call.
    if name not in _AUTH_TYPES:
        raise BadBody("its auth is of no type that we know")
    return CallbackAuth(_AUTH_TYPES[name], Secret(key))


def _switch(body: Mapping[str, Any], key: str, *, absent: bool) -> bool:
    """A yes or no, as a boolean or in one of its words."""
    value = body.get(key)
    if value is None or value == "":
        return absent
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and fold_case(value) in _SWITCHES:
        return _SWITCHES[fold_case(value)]
    # A guess would be written back by the next replace.
    raise BadBody(f"its {key} is neither yes nor no")


def body_of(given: Callback) -> dict[str, object]:
    """The body that writes a callback, its key included: for sending, and for nothing else."""
    auth = {"auth": {"type": given.auth.type, "key": given.auth.key.reveal()}} if given.auth else {}
    words = {True: "enabled", False: "disabled"}
    return {
        **given.more,
        "name": given.name,
        "url": given.url,
        **auth,
        "contentType": given.content_type,
        "retriesEnabled": given.retries,
        **({"email": given.email} if given.email else {}),
        "callbacks": {"reply": words[given.on_reply], "undeliverable": words[given.on_undeliverable]},
    }


def attempt(row: Found) -> CallbackCall:
    """One attempt of the service to reach us."""
    told = row.body.get("callback") or {}
    if not isinstance(told, dict):
        raise BadBody("its callback is no object")
    status = told.get("statusCode")
    return CallbackCall(
        row.remote_id,
        # Sources differ in the spelling, here as in payloads (facts 6).
        text(row.body, "messageId") or text(row.body, "messageid"),
        text(row.body, "status", needed=True).upper(),
        attempted=_when(told),
        http_status=0 if status in (None, "") else count(status),
        reason=text(told, "statusMessage"),
    )


def _when(told: Mapping[str, Any]) -> str:
    """The service's own text; nobody tells its form, so a number is passed on as one."""
    value = told.get("attemptedDate")
    return str(count(value)) if isinstance(value, int) else text(told, "attemptedDate")
