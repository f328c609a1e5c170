"""Callbacks: their configuration at the service, its calls to us, and what one of them says.

Belongs here: which call each of these is, and reading the payload of a callback. Not here: answering
the service (receiver/), the shapes of its answers (callback_shapes.py).

Callbacks belong to the account and to no workspace. Their key is a secret: it is sent when it is
written, and is never part of an error. Source: docs/service.md, callbacks.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import structs

from reconciler.errors import InDoubt, InputError, ServiceError
from reconciler.model.messages import Callback, CallbackCall
from reconciler.model.profile import Profile
from reconciler.service import entities, paging
from reconciler.service.answers import Answer, Call
from reconciler.service.http import refusals, urls
from reconciler.service.http.auth import redact_sent_secrets
from reconciler.service.http.transport import Transport
from reconciler.service.messaging import callback_shapes
from reconciler.service.messaging.callback_shapes import calls_collection, collection
from reconciler.service.messaging.replies import parse_reply
from reconciler.service.paging import Found, Page

__all__ = ["CallStatus", "Callbacks", "ReadCallbacks", "parse_reply"]

CallStatus = Literal["SUCCESS", "FAILED"]

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
        call = Call("GET", _path(), "api-callback")
        with refusals.refuse_bad_bodies(call):
            rows = await self._walk(call, collection)
            return tuple(callback_shapes.callback(row.body, row.remote_id) for row in rows)

    async def get(self, callback_id: str) -> Callback:
        """One of them. Raises NotFound."""
        call = Call("GET", _path(callback_id), "api-callback")
        return await self._transport.call(call, lambda answer: callback_shapes.one(answer, callback_id))

    async def calls(self, callback_id: str, status: CallStatus | None = None) -> tuple[CallbackCall, ...]:
        """The service's attempts to reach us, of one status or all. Raises NotFound."""
        query = (("status", status),) if status else ()
        call = Call("GET", _path(callback_id, calls=True), "api-call", query)
        with refusals.refuse_bad_bodies(call):
            found = [callback_shapes.attempt(row) for row in await self._walk(call, calls_collection)]
        # Compared again: a service that does not heed the filter shows all of them.
        return tuple(each for each in found if status in (None, each.status))

    async def _walk(self, asked: Call, key: str) -> "tuple[Found, ...]":
        def read(answer: Answer, offset: int) -> Page:
            return entities.decode_page(answer, key, offset, self._profile)

        # Nobody says whether these lists have pages or totals: they are walked to their end sign.
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
        body = self._transport.encode("api-callback", _body(callback))
        call = Call("POST", _path(), "api-callback", body=body)
        with _writing(callback):
            # Sent again after a doubt it could only be refused: its name would be taken (facts 6).
            found = await self._transport.once(
                call, lambda answer: entities.decode_created(answer, collection)
            )
        return structs.replace(callback, callback_id=found.remote_id)

    async def replace(self, callback: Callback) -> None:
        """The callback of this id is as given; its key too, so it must be given. Raises NotFound, InDoubt."""
        body = self._transport.encode("api-callback", _body(callback))
        call = Call("PUT", _path(callback.callback_id), "api-callback", body=body)
        with _writing(callback):
            await self._transport.once(call, entities.decode_done)

    async def delete(self, callback_id: str) -> None:
        """The callback is gone. Raises NotFound, InDoubt, Throttled."""
        call = Call("DELETE", _path(callback_id), "api-callback")
        with _writing():
            await self._transport.once(call, entities.decode_done)

    async def mark_calls(self, callback_id: str, call_ids: Iterable[str], status: CallStatus) -> None:
        """These calls have this status at the service. Raises NotFound, InDoubt; InputError for no ids."""
        ids = tuple(dict.fromkeys(call_ids))
        if not 0 < len(ids) <= ids_max:
            raise InputError(
                f"{len(ids)} calls were to be marked.", next=f"name 1 to {ids_max} calls at a time."
            )
        query = tuple(("id", urls.check_id(each)) for each in ids)
        body = self._transport.encode("api-call", {"status": status})
        call = Call("PUT", _path(callback_id, calls=True), "api-call", query, body=body)
        with _writing():
            await self._transport.once(call, entities.decode_done)


def _path(callback_id: str | None = None, *, calls: bool = False) -> str:
    template = "/callbacks" if callback_id is None else f"/callbacks/{{id}}{'/calls' if calls else ''}"
    return urls.fill_path(template, {"id": callback_id or ""})


def _body(callback: Callback) -> dict[str, object]:
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
        raise InputError("the callback's url is no http address.", next="begin it with https://.")
    return callback_shapes.body_of(callback)


def _require_fit(what: str, text: str, least: int, most: int) -> None:
    if not least <= len(text) <= most or not text.isprintable() or text != text.strip():
        raise InputError(
            f"the callback's {what} is too short, too long, or holds a control character.",
            next=f"give {least} to {most} printable characters.",
        )


@contextmanager
def _writing(callback: Callback | None = None) -> Iterator[None]:
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
            look = "check its name, url and key" if repeats else "read the service's words above"
            error.next = f"{look} and mend the callback; nothing was changed."
        raise
