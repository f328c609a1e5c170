"""Messages: send, list, get, status, responses, and waiting for responses.

Requests: message_requests.py. Shapes of the answers: message_shapes.py. What the service calls us with:
replies.py.

    send ─▶ 202, queued ─▶ follow: status, responses ─▶ until everybody answered, or time is over

A message costs money and wakes people: one call of `send` sends at most one request that can arrive.
A `workspace` is the service's id; "" is the default one. Source: docs/service.md, messages.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Literal, overload

from reconciler.core.text import fold_case
from reconciler.errors import InDoubt, InputError, NotFound, Rejected, ServiceError, Temporary
from reconciler.messaging import message_requests, message_shapes
from reconciler.messaging.values import (
    Delivery,
    Message,
    MessageDetail,
    MessageRow,
    Response,
    ResponseCount,
    Sent,
    StatusCount,
)
from reconciler.model.profile import Profile
from reconciler.service import entities, paging
from reconciler.service.answers import Answer, Call
from reconciler.service.http import refusals, urls
from reconciler.service.http.transport import Transport
from reconciler.service.paging import Found, Page

View = Literal["summary", "detailed"]

polls_max = 100_000  # looks of one `follow`

_DETAILED, _SUMMARY = ("view", "detailed"), ("view", "summary")
_IN_DOUBT = (
    "list the messages of the last minutes (`messages list`) and ask a recipient; "
    "send it again only if you know that it was not sent."
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a message has come; all parts are empty while the service does not show it yet."""

    statuses: tuple[StatusCount, ...] = ()
    counts: tuple[ResponseCount, ...] = ()
    responses: tuple[Response, ...] = ()  # of those who answered

    @property
    def complete(self) -> bool:
        """Whether all recipients have replied; false while the service counts no recipient at all."""
        waiting = sum(
            each.recipients for each in self.counts if fold_case(each.type) == message_shapes.no_response
        )
        return not waiting and sum(each.recipients for each in self.counts) > 0


class ReadMessages:
    """The messages of the account, for reading."""

    def __init__(self, transport: Transport, profile: Profile) -> None:
        self._transport = transport
        self._profile = profile
        self._timing = transport.timing

    async def list(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        workspace: str = "",
        shared: bool = False,
    ) -> tuple[MessageRow, ...]:
        """All messages from `start` to `end`, newest first; without them those of the last seven days.

        `end` left out is now. Both have a time zone. A message without a time is kept. `shared`
        asks for messages that other users have sent. Raises InputError for an invalid time span.
        """
        # It is documented nowhere in which zone the service reads dates: a day more is asked for on both
        # sides, and the rows are compared again.
        first, last = message_requests.resolve_time_span(start, end, self._timing.now)
        criteria = (
            *(message_requests.build_time_criteria(first, last) if first and last else ()),
            *((("viewType", "shared"),) if shared else ()),
        )

        def read(answer: Answer, offset: int) -> Page:
            return entities.decode_page(answer, message_shapes.messages_collection, offset, self._profile)

        call = Call("GET", self._path(workspace), "message", criteria)
        with refusals.refuse_bad_bodies(call):
            found = [
                message_shapes.parse_message_row(row) for row in await self._walk(call, read, named=True)
            ]
        if first is None or last is None:
            return tuple(found)
        return tuple(
            row for row in found if not row.created or first <= datetime.fromisoformat(row.created) <= last
        )

    async def get(self, message_id: str, *, workspace: str = "") -> MessageDetail:
        """The whole message. Raises NotFound."""
        call = Call("GET", self._path(workspace, message_id), "message")
        return await self._transport.call(
            call, lambda answer: message_shapes.decode_message_detail(answer, message_id)
        )

    @overload
    async def status(
        self, message_id: str, view: Literal["summary"] = ..., *, workspace: str = ...
    ) -> tuple[StatusCount, ...]: ...

    @overload
    async def status(
        self, message_id: str, view: Literal["detailed"], *, workspace: str = ...
    ) -> tuple[Delivery, ...]: ...

    async def status(
        self, message_id: str, view: View = "summary", *, workspace: str = ""
    ) -> tuple[StatusCount, ...] | tuple[Delivery, ...]:
        """How many recipients are in each state, or what became of it for each of them. Raises NotFound."""
        path = self._path(workspace, message_id, "messagestatus")
        call = Call("GET", path, "messagestatus", (_SUMMARY,))
        if view == "summary":
            return await self._transport.call(
                call, lambda answer: message_shapes.decode_status_counts(answer, self._profile)
            )
        with refusals.refuse_bad_bodies(call):
            rows = await self._rows(Call("GET", path, "messagestatus", (_DETAILED,)), "messageStatuses")
            return tuple(one for row in rows for one in message_shapes.parse_deliveries(row))

    async def responses(
        self,
        message_id: str,
        filter: str = "default",  # noqa: A002 - the service's own word
        *,
        workspace: str = "",
    ) -> tuple[ResponseCount, ...]:
        """How many recipients answered in each way. Raises NotFound.

        `filter` `default` uses no response rule; `responserule` counts by the rule of the message.
        """
        query = (_SUMMARY, ("filter", filter))
        call = Call("GET", self._path(workspace, message_id, "messageresponses"), "messageresponse", query)
        # Any other filter leaves people out, and may leave out all of them.
        everybody = filter == "default"
        return await self._transport.call(
            call,
            lambda answer: message_shapes.decode_response_counts(answer, self._profile, everybody=everybody),
        )

    async def response_details(
        self,
        message_id: str,
        filter: str = "default",  # noqa: A002 - the service's own word
        *,
        workspace: str = "",
    ) -> tuple[Response, ...]:
        """The answer of every recipient; of those who gave none the category says so. Raises NotFound."""
        query = (_DETAILED, ("filter", filter))
        call = Call("GET", self._path(workspace, message_id, "messageresponses"), "messageresponse", query)
        with refusals.refuse_bad_bodies(call):
            rows = await self._rows(call, "messageresponses")
            return tuple(message_shapes.parse_response(row) for row in rows)

    async def follow(
        self, message_id: str, *, workspace: str = "", every_s: float = 2.0, limit_s: float = 60.0
    ) -> AsyncGenerator[Progress, None]:
        """Yield how far the message has come, now and every `every_s` seconds, for `limit_s` at most.

        Ends by itself once everybody has answered. A message that is not shown yet, and trouble that
        passes, are waited out; what is still so at the end is raised.
        """
        _check_wait(every_s, limit_s)
        ends_at = self._timing.monotonic() + limit_s
        for _ in range(polls_max):
            trouble: ServiceError | None = None
            try:
                progress = await self._progress(message_id, workspace)
            # What was accepted may be shown later only: it waits for its cycle (specification 4.5).
            except (NotFound, Temporary) as error:
                trouble = error
            else:
                yield progress
                if progress.complete:
                    return
            left_s = ends_at - self._timing.monotonic()
            if left_s <= 0:
                if trouble:
                    raise trouble
                return
            await self._timing.sleep(min(every_s, left_s))

    async def wait_for_responses(
        self,
        message_id: str,
        *,
        workspace: str = "",
        every_s: float = 2.0,
        limit_s: float = 60.0,
        until: Callable[[Progress], bool] | None = None,
    ) -> tuple[Response, ...]:
        """The responses that have come once `until` says yes, everybody has answered, or time is over."""
        progress = Progress()
        looks = self.follow(message_id, workspace=workspace, every_s=every_s, limit_s=limit_s)
        async with aclosing(looks):
            async for progress in looks:
                if until and until(progress):
                    break
        return progress.responses

    async def _progress(self, message_id: str, workspace: str) -> Progress:
        statuses = await self.status(message_id, workspace=workspace)
        counts = await self.responses(message_id, workspace=workspace)
        # After the counts: every recipient that is counted as having replied is among these replies.
        details = await self.response_details(message_id, workspace=workspace)
        answered = tuple(each for each in details if fold_case(each.category) != message_shapes.no_response)
        return Progress(statuses, counts, answered)

    async def _rows(self, asked: Call, key: str) -> "tuple[Found, ...]":
        def read(answer: Answer, offset: int) -> Page:
            return message_shapes.decode_row_page(answer, key, offset, self._profile)

        return await self._walk(asked, read, named=False)

    async def _walk(
        self, asked: Call, read: Callable[[Answer, int], Page], *, named: bool
    ) -> "tuple[Found, ...]":
        limit = self._profile.page_max
        return await paging.fetch_without_totals(self._transport, asked, read, limit=limit, named=named)

    def _path(self, workspace: str, message_id: str | None = None, view: str = "") -> str:
        within = "/workspaces/{wid}" if workspace else ""
        one = "" if message_id is None else "/{id}"
        template = f"{within}/messages{one}{f'/{view}' if view else ''}"
        return urls.fill_path(template, {"wid": workspace, "id": message_id or ""})


class Messages(ReadMessages):
    """The messages of the account, for reading and sending."""

    async def send(self, message: Message, *, workspace: str = "") -> Sent:
        """The message is queued: accepted, and not yet delivered. Sent at most once.

        Raises InDoubt where it may have gone out, after a 503 or 408 too; nothing here sends it again.
        Raises Rejected, Throttled (a limit on requests) or Unavailable where it did not, and InputError
        for an invalid message.
        """
        # Public sources give messages to a resource a type of their own (docs/service.md, messages).
        kind = "message" if message.resource is None else "bulkmessage"
        body = self._transport.encode(kind, message_requests.build_message_body(message, self._timing.now))
        call = Call("POST", self._path(workspace), kind, body=body)
        try:
            message_id = await self._transport.once(call, message_shapes.decode_accepted_id)
        except InDoubt as error:
            error.next = _IN_DOUBT
            raise
        except Rejected as error:
            if error.status in refusals.REFUSED_BY_WORDS:
                error.next = "correct the message as the service says above; nothing was sent."
            raise
        return Sent(message_id, self._path(workspace, message_id))


def _check_wait(every_s: float, limit_s: float) -> None:
    if not (isfinite(every_s) and isfinite(limit_s) and every_s > 0 and limit_s >= 0):
        raise InputError(
            "the time to wait is not a valid number of seconds.",
            next="give a pause above 0 and a limit of 0 or more.",
        )
