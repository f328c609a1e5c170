"""Callbacks: their configuration at the service, and the calls that it made to us.

The payload of such a call: replies.py. Answering it: receiver.py.

Callbacks belong to the account and to no workspace. Their key is a secret: it is sent when it is
written, and is never part of an error. Source: docs/service.md, callbacks.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

from msgspec import structs

from reconciler.core.text import fold_case
from reconciler.errors import InDoubt, InputError, ServiceError
from reconciler.messaging.message_shapes import get_text, parse_wire_count
from reconciler.messaging.values import Callback, CallbackAuth, CallbackCall, CallStatus
from reconciler.model.profile import Profile
from reconciler.model.secrets import Secret
from reconciler.service import entities, paging
from reconciler.service.answers import Answer, BadBody, Call
from reconciler.service.http import refusals, urls
from reconciler.service.http.auth import redact_sent_secrets
from reconciler.service.http.transport import Transport
from reconciler.service.paging import Found, Page

# --- The shapes of a callback's configuration and of its calls, in both directions ----------------
#
# Every function that reads raises BadBody for a shape it does not know. Source: docs/service.md, callbacks.


callbacks_collection = "callbacks"
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


def decode_callback(answer: Answer, asked: str) -> Callback:
    """The callback that was asked for."""
    found = entities.decode_single(
        answer, asked, "callback", callbacks_collection, lambda body: {"name", "url"} <= body.keys()
    )
    return parse_callback(found.body, asked)


def parse_callback(body: Mapping[str, Any], callback_id: str) -> Callback:
    """One callback of a document."""
    events = body.get("callbacks") or {}
    if not isinstance(events, dict):
        raise BadBody("its callbacks are no object")
    untold = not events.keys() & {"reply", "undeliverable"}  # then both are meant; one alone is alone
    form = get_text(body, "contentType") or "json"
    if form not in ("json", "xml"):
        raise BadBody("its contentType is neither json nor xml")
    return Callback(
        name=get_text(body, "name", needed=True),
        url=get_text(body, "url", needed=True),
        auth=_parse_auth(body.get("auth")),
        callback_id=callback_id,
        content_type="xml" if form == "xml" else "json",
        retries=_parse_switch(body, "retriesEnabled", absent=False),
        email=get_text(body, "email"),
        on_reply=_parse_switch(events, "reply", absent=untold),
        on_undeliverable=_parse_switch(events, "undeliverable", absent=untold),
        # What we have no name for survives a replace, which removes all that it leaves out.
        more={key: value for key, value in body.items() if key not in _KNOWN},
    )


def _parse_auth(auth: object) -> CallbackAuth | None:
    """How the service proves itself; None where it shows nothing. Raises BadBody for an unknown type."""
    if auth in (None, {}, ""):
        return None
    if not isinstance(auth, dict):
        raise BadBody("its auth is no object")
    name, key = fold_case(get_text(auth, "type")), get_text(auth, "key")
    if not name and not key:
        return None
    # Read as none it would be written back as none, and our receiver would refuse every call.
    if name not in _AUTH_TYPES:
        raise BadBody("its auth is of no type that we know")
    return CallbackAuth(_AUTH_TYPES[name], Secret(key))


def _parse_switch(body: Mapping[str, Any], key: str, *, absent: bool) -> bool:
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


def build_callback_body(given: Callback) -> dict[str, object]:
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


def parse_callback_call(row: Found) -> CallbackCall:
    """One attempt of the service to reach us."""
    told = row.body.get("callback") or {}
    if not isinstance(told, dict):
        raise BadBody("its callback is no object")
    status = told.get("statusCode")
    return CallbackCall(
        row.remote_id,
        # Sources differ in the spelling, here as in payloads (facts 6).
        get_text(row.body, "messageId") or get_text(row.body, "messageid"),
        get_text(row.body, "status", needed=True).upper(),
        attempted=_attempted_text(told),
        http_status=0 if status in (None, "") else parse_wire_count(status),
        reason=get_text(told, "statusMessage"),
    )


def _attempted_text(told: Mapping[str, Any]) -> str:
    """The service's own text; its form is documented nowhere, so a number is passed on as one."""
    value = told.get("attemptedDate")
    return str(parse_wire_count(value)) if isinstance(value, int) else get_text(told, "attemptedDate")


# Source: facts 6.
name_max = 50  # characters
key_max = 128
email_max = 64
ids_max = 100  # calls that one request marks: their ids travel in its address


class ReadCallbacks:
    """The callbacks of the account, for reading."""

    def __init__(self, transport: Transport, profile: Profile) -> None:
        self._transport = transport
        self._profile = profile

    async def list(self) -> tuple[Callback, ...]:
        """All of them. A key is empty where the service does not show it."""
        call = Call("GET", _callback_path(), "api-callback")
        with refusals.refuse_bad_bodies(call):
            rows = await self._walk(call, callbacks_collection)
            return tuple(parse_callback(row.body, row.remote_id) for row in rows)

    async def get(self, callback_id: str) -> Callback:
        """One of them. Raises NotFound."""
        call = Call("GET", _callback_path(callback_id), "api-callback")
        return await self._transport.call(call, lambda answer: decode_callback(answer, callback_id))

    async def calls(self, callback_id: str, status: CallStatus | None = None) -> tuple[CallbackCall, ...]:
        """The service's attempts to reach us, of one status or all. Raises NotFound."""
        query = (("status", status),) if status else ()
        call = Call("GET", _callback_path(callback_id, calls=True), "api-call", query)
        with refusals.refuse_bad_bodies(call):
            found = [parse_callback_call(row) for row in await self._walk(call, calls_collection)]
        # Compared again: a service that does not heed the filter shows all of them.
        return tuple(each for each in found if status in (None, each.status))

    async def _walk(self, asked: Call, key: str) -> "tuple[Found, ...]":
        def read(answer: Answer, offset: int) -> Page:
            return entities.decode_page(answer, key, offset, self._profile)

        # It is documented nowhere whether these lists have pages or totals: they are read to their end sign.
        return await paging.fetch_without_totals(
            self._transport, asked, read, limit=self._profile.page_max, named=True
        )


class Callbacks(ReadCallbacks):
    """The callbacks of the account, for reading and writing."""

    async def create(self, callback: Callback) -> Callback:
        """The callback that exists now, with its id. The service GETs its url first, and wants 200.

        Raises Rejected for a url that does not answer so and for a name that is taken, InDoubt where
        the callback may exist, and InputError for what the service could not take.
        """
        body = self._transport.encode("api-callback", _build_checked_body(callback))
        call = Call("POST", _callback_path(), "api-callback", body=body)
        with _explain_write_errors(callback):
            # Sent again after a doubt it could only be refused: its name would be taken (facts 6).
            found = await self._transport.once(
                call, lambda answer: entities.decode_created(answer, callbacks_collection)
            )
        return structs.replace(callback, callback_id=found.remote_id)

    async def replace(self, callback: Callback) -> None:
        """The callback of this id is as given; its key too, so it must be given. Raises NotFound, InDoubt."""
        body = self._transport.encode("api-callback", _build_checked_body(callback))
        call = Call("PUT", _callback_path(callback.callback_id), "api-callback", body=body)
        with _explain_write_errors(callback):
            await self._transport.once(call, entities.decode_done)

    async def delete(self, callback_id: str) -> None:
        """The callback is gone. Raises NotFound, InDoubt, Throttled."""
        call = Call("DELETE", _callback_path(callback_id), "api-callback")
        with _explain_write_errors():
            await self._transport.once(call, entities.decode_done)

    async def mark_calls(self, callback_id: str, call_ids: Iterable[str], status: CallStatus) -> None:
        """These calls have this status at the service. Raises NotFound, InDoubt; InputError for no ids."""
        ids = tuple(dict.fromkeys(call_ids))
        if not 0 < len(ids) <= ids_max:
            raise InputError(
                f"{len(ids)} calls cannot be marked at once.", next=f"name 1 to {ids_max} calls at a time."
            )
        query = tuple(("id", urls.check_id(each)) for each in ids)
        body = self._transport.encode("api-call", {"status": status})
        call = Call("PUT", _callback_path(callback_id, calls=True), "api-call", query, body=body)
        with _explain_write_errors():
            await self._transport.once(call, entities.decode_done)


def _callback_path(callback_id: str | None = None, *, calls: bool = False) -> str:
    template = "/callbacks" if callback_id is None else f"/callbacks/{{id}}{'/calls' if calls else ''}"
    return urls.fill_path(template, {"id": callback_id or ""})


def _build_checked_body(callback: Callback) -> dict[str, object]:
    """The body that writes a callback. Raises InputError for what the service could not take or use."""
    checks = (
        ("name", callback.name, 1, name_max),
        ("url", callback.url, 1, 2000),
        ("email", callback.email, 0, email_max),
        *((("auth key", callback.auth.key.reveal(), 1, key_max),) if callback.auth else ()),
    )
    for what, text, least, most in checks:
        _require_fit(what, text, least, most)
    if not callback.url.startswith(("https://", "http://")):
        raise InputError("the callback's url is not an http address.", next="begin it with https://.")
    return build_callback_body(callback)


def _require_fit(what: str, text: str, least: int, most: int) -> None:
    if not least <= len(text) <= most or not text.isprintable() or text != text.strip():
        raise InputError(
            f"the callback's {what} is too short, too long, or contains a control character.",
            next=f"give {least} to {most} printable characters.",
        )


@contextmanager
def _explain_write_errors(callback: Callback | None = None) -> Iterator[None]:
    """Say in an error what to do about a callback, and keep its key out of it."""
    try:
        yield
    except ServiceError as error:
        repeats = redact_sent_secrets(
            error, (callback.auth.key.reveal(),) if callback and callback.auth else ()
        )
        if isinstance(error, InDoubt):
            error.next = "list the callbacks and their calls before anything is sent again."
        elif error.status in refusals.REFUSED_BY_WORDS:
            look = "check its name, url and key" if repeats else "read the message of the service above"
            error.next = f"{look} and fix the callback; nothing was changed."
        raise
