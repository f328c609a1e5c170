"""Messages: send, list, get, status, responses, and waiting for responses.

Belongs here: which call each of these is, the dates of a search, walking a list that knows no pages.
Not here: the shapes of the answers (message_shapes.py), what the service calls us with (callbacks.py).

    send ─▶ 202, queued ─▶ follow: status, responses ─▶ until everybody answered, or time is over

A message costs money and wakes people: one call of `send` sends at most one request that can arrive.
A `workspace` is the service's id; "" is the default one. Source: docs/service.md, messages.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Literal, overload

from reconciler.errors import InDoubt, InputError, NotFound, Rejected, ServiceError, Temporary
from reconciler.model.messages import (
    Delivery,
    Message,
    MessageDetail,
    MessageRow,
    Response,
    ResponseCount,
    Sent,
    StatusCount,
)
from reconciler.service import message_shapes, refusals, urls
from reconciler.service.answers import Call
from reconciler.service.found import Found, Page
from reconciler.service.paging import pages_max
from reconciler.service.profile import Profile
from reconciler.service.timing import Timing
from reconciler.service.transport import Transport

View = Literal["summary", "detailed"]

separator = ";"  # between recipients; public sources show `;` and `,`, so neither may stand in one
zone_pad = timedelta(days=1)  # the zone of the four criteria is told nowhere; no two differ by more
stale_pages_max = 3  # pages in a row without a new row, before a walk is called endless
polls_max = 100_000  # looks of one `follow`

_DETAILED, _SUMMARY = ("view", "detailed"), ("view", "summary")
_WORDED = (400, 422)  # facts 8: these say in words what is wrong with the body
_IN_DOUBT = (
    "list the messages of the last minutes (`messages list`) and ask a recipient; "
    "send it again only when you know that it did not go out."
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a message has come; all parts are empty while the service does not show it yet."""

    statuses: tuple[StatusCount, ...] = ()
    counts: tuple[ResponseCount, ...] = ()
    responses: tuple[Response, ...] = ()  # of those who answered

    @property
    def complete(self) -> bool:
        """Whether everybody has answered; false while the service counts nobody at all."""
        waiting = sum(each.recipients for each in self.counts if each.type == "noresponse")
        return not waiting and sum(each.recipients for each in self.counts) > 0


class ReadMessages:
    """The messages of the account, for reading."""

    def __init__(self, transport: Transport, profile: Profile, *, timing: Timing) -> None:
        self._transport = transport
        self._profile = profile
        self._timing = timing

    async def list(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        workspace: str = "",
        shared: bool = False,
    ) -> tuple[MessageRow, ...]:
        """All messages from `start` to `end`, newest first; without them those of the last seven days.

        `end` left out is now. Both know their zone. The service is asked for a day more on both sides,
        because nobody tells in which zone it reads dates, and the rows are compared again here; one
        that does not tell its time is kept. `shared` asks for messages that other users have sent.
        Raises InputError for dates that cannot be meant.
        """
        first, last = self._between(start, end)
        criteria = (
            *(_criteria(first, last) if first and last else ()),
            *((("viewType", "shared"),) if shared else ()),
        )
        path = self._path(workspace)

        async def fetch(offset: int) -> Page:
            call = Call("GET", path, "message", (*self._paged(offset), *criteria))
            return await self._transport.call(
                call, lambda answer: message_shapes.page(call, answer, offset, self._profile)
            )

        call = Call("GET", path, "message")
        found = [message_shapes.row(call, row) for row in await walk(call, fetch, named=True)]
        if first is None or last is None:
            return tuple(found)
        return tuple(
            row for row in found if not row.created or first <= datetime.fromisoformat(row.created) <= last
        )

    async def get(self, message_id: str, *, workspace: str = "") -> MessageDetail:
        """The whole message. Raises NotFound."""
        call = Call("GET", self._path(workspace, message_id), "message")
        return await self._transport.call(
            call, lambda answer: message_shapes.detail(call, answer, message_id)
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
                call, lambda answer: message_shapes.status_counts(call, answer, self._profile)
            )
        rows = await self._rows(Call("GET", path, "messagestatus", (_DETAILED,)), "messageStatuses")
        return tuple(one for row in rows for one in message_shapes.deliveries(call, row))

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
        everybody = filter == "default"
        return await self._transport.call(
            call,
            lambda answer: message_shapes.response_counts(call, answer, self._profile, everybody=everybody),
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
        rows = await self._rows(call, "messageresponses")
        return tuple(message_shapes.response(call, row) for row in rows)

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
        details = await self.response_details(message_id, workspace=workspace)
        answered = tuple(each for each in details if each.category.casefold() != "noresponse")
        return Progress(statuses, counts, answered)

    async def _rows(self, asked: Call, key: str) -> "tuple[Found, ...]":
        async def fetch(offset: int) -> Page:
            call = Call(asked.method, asked.path, asked.media, (*asked.query, *self._paged(offset)))
            return await self._transport.call(
                call, lambda answer: message_shapes.rows(call, answer, key, offset, self._profile)
            )

        return await walk(asked, fetch, named=False)

    def _paged(self, offset: int) -> tuple[tuple[str, str], ...]:
        return ("limit", str(self._profile.page_max)), ("offset", str(offset))

    def _path(self, workspace: str, message_id: str | None = None, view: str = "") -> str:
        within = "/workspaces/{wid}" if workspace else ""
        one = "" if message_id is None else "/{id}"
        template = f"{within}/messages{one}{f'/{view}' if view else ''}"
        return urls.path(template, {"wid": workspace, "id": message_id or ""})

    def _between(
        self, start: datetime | None, end: datetime | None
    ) -> tuple[datetime, datetime] | tuple[None, None]:
        if start is None:
            if end is None:
                return None, None
            raise InputError(
                "an end without a start names no time span.",
                next="give the start too; without both, the last seven days are listed.",
            )
        last = end or self._timing.now()
        if start.tzinfo is None or last.tzinfo is None:
            raise InputError(
                "a date without a time zone cannot be compared.",
                next="give dates that know their zone, as datetime(2026, 3, 1, tzinfo=UTC).",
            )
        if start > last:
            raise InputError("the start lies behind the end.", next="exchange them, or leave the end out.")
        return start, last


class Messages(ReadMessages):
    """The messages of the account, for reading and sending."""

    async def send(self, message: Message, *, workspace: str = "") -> Sent:
        """The message is queued: accepted, and delivered by nobody yet. Sent at most once.

        Raises InDoubt where it may have gone out; nothing here sends it again. Raises Rejected,
        Throttled or Unavailable where it did not, and InputError for a message that cannot be meant.
        """
        call = Call(
            "POST", self._path(workspace), "message", body=self._transport.encode("message", body_of(message))
        )
        try:
            message_id = await self._transport.call(
                call, lambda answer: message_shapes.accepted(call, answer)
            )
        except InDoubt as error:
            error.next = _IN_DOUBT
            raise
        except Rejected as error:
            if error.status in _WORDED:
                error.next = "read the service's words above and mend the message; nothing was sent."
            raise
        return Sent(message_id, self._path(workspace, message_id))


def body_of(message: Message) -> dict[str, Any]:
    """The body that sends `message`. Raises InputError for what the service could misread."""
    _check_recipients(message.to)
    for value in message.callback_parameters.values():
        if isinstance(value, float) and not isfinite(value):
            raise InputError(
                "a callback parameter is not a finite number.", next="give a text or a finite number."
            )
    body: dict[str, Any] = {"to": separator.join(message.to), "subject": message.subject}
    if message.body:
        body["body"] = message.body
    if message.callback_id:
        body["callbackId"] = message.callback_id
    if message.callback_parameters:
        body["callbackParameters"] = dict(message.callback_parameters)
    twice = sorted(body.keys() & message.more.keys())
    if twice:
        raise InputError(
            f"`more` names {', '.join(twice)}, which the message has already.", next="leave it out of `more`."
        )
    return {**body, **message.more}


def _check_recipients(recipients: tuple[str, ...]) -> None:
    """One that holds a separator would be two people, and nobody would have meant the second."""
    if not recipients:
        raise InputError("the message has no recipient.", next="name at least one number, address or MRI.")
    for place, each in enumerate(recipients, 1):
        if not each.strip() or not each.isprintable() or ";" in each or "," in each:
            raise InputError(
                f"recipient {place} is empty, or holds a separator or a control character.",
                next="give each recipient as a text of its own.",
            )


def _criteria(start: datetime, end: datetime) -> tuple[tuple[str, str], ...]:
    """All four of them, in UTC and a day wider: with three the service does not filter at all."""
    first, last = _moved(start, -zone_pad), _moved(end, zone_pad)
    return (
        ("criteriaFromDate", _day(first)),
        ("criteriaFromTime", f"{first:%H:%M}"),
        ("criteriaToDate", _day(last)),
        ("criteriaToTime", f"{last:%H:%M}"),
    )


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment.astimezone(UTC) + by
    except OverflowError:  # the first or the last day that there is
        return moment.replace(tzinfo=UTC)


def _day(moment: datetime) -> str:
    return f"{moment.day:02}/{moment.month:02}/{moment.year:04}"


def _check_wait(every_s: float, limit_s: float) -> None:
    if not (isfinite(every_s) and isfinite(limit_s) and every_s > 0 and limit_s >= 0):
        raise InputError(
            "the time to wait is no number of seconds that can be waited.",
            next="give a pause above 0 and a limit of 0 or more.",
        )


async def walk(
    call: Call, fetch: Callable[[int], Coroutine[Any, Any, Page]], *, named: bool
) -> tuple[Found, ...]:
    """All rows of a list that tells no totals, up to its end sign, one page after the other.

    Such a list may know no offset and show everything each time. So a page with nothing new is held
    against the first page as it is now: where they are alike, everything was shown; where they are
    not, new rows have pushed the old ones down, and the walk goes on. New rows come first, and none
    ever leaves, so none is missed. `named` rows have an id of their own; others are told by content.
    """
    rows: dict[str, Found] = {}
    before: tuple[object, ...] = ()
    offset = stale = 0
    for _ in range(pages_max):
        page = await fetch(offset)
        seen = _content(page, named=named)
        if seen and (seen == before or not any(row.remote_id not in rows for row in page.rows)):
            stale += 1
            if stale > stale_pages_max:
                raise refusals.malformed(call, "it repeats itself and comes to no end")
            if _content(await fetch(0), named=named) == seen:
                return tuple(rows.values())
        else:
            stale = 0
        rows.update((row.remote_id, row) for row in page.rows if row.remote_id not in rows)
        if page.last or not page.rows:
            return tuple(rows.values())
        before = seen
        offset += len(page.rows)
    raise refusals.malformed(call, f"the list has more than {pages_max} pages")


def _content(page: Page, *, named: bool) -> tuple[object, ...]:
    if named:
        return tuple(row.remote_id for row in page.rows)
    return tuple({key: value for key, value in row.body.items() if key != "id"} for row in page.rows)
