"""One call to the service: credentials, origin, turn, deadline, tries, and the error when it fails.

Which calls there are: service/entities.py, messaging/messages.py. The request and its bytes: exchange.py. The
meaning of failures: refusals.py, core/calls.py.

    Call ─▶ limiter ─▶ URL, credentials ─▶ exchange ─▶ 2xx ─▶ read ─▶ value
               ▲                               │ broken, refused, of unknown shape
               └────────────────────── retry ◀─┴▶ decide_retry ─▶ raise

It drives the library's transport and not its client, which would keep cookies, log whole URLs and
know about redirects, proxies and netrc. Here they do not exist.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from reconciler.concurrency import run_in_thread, thread_threshold_bytes, time_limit
from reconciler.core import calls
from reconciler.errors import Rejected, Throttled, Unauthorized, Unavailable
from reconciler.instrumentation import record_span, step_log
from reconciler.model.profile import ProfileLimits
from reconciler.model.settings import Limits, Service
from reconciler.service.answers import AnotherEntity, Answer, BadBody, Broken, Call
from reconciler.service.http import exchange, media, refusals
from reconciler.service.http.auth import Credentials
from reconciler.service.http.connections import Connections
from reconciler.service.http.exchange import (
    Requests,
    answer_notes,
    decided_by_body,
    exchange_once,
    log_try,
    request_notes,
)
from reconciler.service.http.limiter import (
    AdaptiveConcurrency,
    Limiter,
    LocalPace,
    LookAgain,
    LookWritePair,
    Pacer,
    Timing,
    TooLate,
    WriteGaps,
)

__all__ = ["Call", "Timing", "Transport"]

T = TypeVar("T")

read_share = 0.5  # of what is left: one try of a GET, so that a dead connection leaves time for another

# How old a write may be when it leaves. Seconds: whoever asked for it wrote that down before, and may have
# been taken for dead since, after the 300 s of a lease; what is older is not sent at all.
write_age_max_s = 120.0

_NO_CAPS = ProfileLimits()


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T


class Transport:
    """Carries out calls. `calls` counts the requests that left us, by method; `form` is that of all bodies.

    Raises SettingsError for a base address or credentials that cannot be used, before any request.
    A cancelled call may have been carried out: its caller must treat it so.
    """

    def __init__(
        self,
        service: Service,
        connections: Connections,
        *,
        timing: Timing,
        vendor: str,
        read_only: bool,
        caps: ProfileLimits = _NO_CAPS,
        pace: Pacer | None = None,
    ) -> None:
        self.calls: Counter[str] = Counter()
        self._credentials = Credentials(service.auth, service.network.proxy)
        self._connections = connections
        self._proxy = service.network.proxy  # which failures are told of; `connections` go through it
        self.timing = timing
        self.form: media.Form = service.format
        # By chance: no two clients ask at the same addresses, which a cache would answer (exchange.py).
        first = int(timing.random() * exchange.address_numbers)
        self._requests = Requests(service, self._credentials, vendor=vendor, first=first)
        self._read_only = read_only
        self._bytes_max = caps.request_bytes
        self._limits: Limits = service.limits
        self._ends_at = timing.monotonic() + service.limits.deadline_s
        self._limiter = Limiter(
            pace or LocalPace(rate_of(service.limits, caps), timing=timing),
            concurrency=service.limits.concurrency,
            timing=timing,
            ends_at=self._ends_at,
        )
        self._crowd = AdaptiveConcurrency(service.limits.concurrency)
        self._pair: ContextVar[LookWritePair | None] = ContextVar("pair", default=None)
        self.gaps = WriteGaps()
        self._made = 0
        self._repeats = 0
        self._clock = exchange.ServiceClock()
        self._refused = ""  # what to do next, once the service has refused our name and password

    def encode(self, kind: str, document: Mapping[str, Any]) -> bytes:
        """The body of a request, in the form of the settings; `kind` is that of the media type.

        Raises Rejected where XML cannot carry it or the deployment takes less, before anything is sent.
        """
        try:
            body = media.encode_body(document, kind, self.form)
        except media.Unfit as error:
            raise Rejected(
                f"{kind}: not sent, because {error}.",
                next="change that value, or set service.format to json.",
            ) from None
        if 0 < self._bytes_max < len(body):
            raise Rejected(
                f"{kind}: not sent, because it has {len(body)} bytes; the service takes {self._bytes_max}.",
                next="make the payload smaller; service.profile says what the deployment takes.",
            )
        return body

    async def call(self, call: Call, read: Callable[[Answer], T]) -> T:
        """What `read` makes of the answer's success; raises the ServiceError of docs/planning.md, A8.

        `read` raises BadBody for a shape it does not know; that is a failure like a lost answer.
        The call's deadline covers all its tries and the waits between them, but not waiting for a turn.
        """
        if self._read_only and call.method != "GET":
            raise AssertionError(f"{call}: this client was opened to read")
        self._made += 1
        left_s = self._limits.timeout_s
        asked_at = self.timing.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._turn(call):
                    began = self.timing.monotonic()
                    left_s = self._limit_to_run(call, left_s)
                    self._refuse_after_401(call)
                    self._refuse_old_write(call, began - asked_at)
                    seen = await self._try(call, read, attempt, self._share_time(call, attempt, left_s))
            except TooLate:
                raise self._make_deadline_error(call) from None
            if isinstance(seen, _Done):
                return seen.value
            left_s -= self.timing.monotonic() - began
            # A wrong password that is sent again and again locks accounts: no write follows it.
            if seen.error.status == HTTPStatus.UNAUTHORIZED:
                self._refused = seen.error.next
            # Before it is decided whether to try again: the refusal is meant for all who call.
            if isinstance(seen.error, Throttled):
                await self._limiter.slowed(seen.asked_s)
            wait_s = self._next(call, seen, attempt, left_s)
            await self.timing.sleep(wait_s)
            left_s -= wait_s

    @asynccontextmanager
    async def at_once(self, looks: int) -> AsyncIterator[None]:
        """Let the calls of this task be one look, of so many calls, and the write right after it.

        They share one place, and their turns are due when this begins: the write leaves as soon as the look
        is answered. Otherwise it ends with LookAgain, and was not sent. A write that never left is not
        repeated here (NotSent): its look would be old. Calls after the write wait for turns of their own.
        """
        pair, late = LookWritePair(looks, self.timing.gap_s), False
        await self._crowd.enter()
        try:
            try:
                await self._limiter.pair(looks)
            except TooLate:
                raise self._make_deadline_error() from None
            token = self._pair.set(pair)
            try:
                yield
            finally:
                self._pair.reset(token)
                self._limiter.done()
        except LookAgain:
            late = True
            self.gaps.again += 1
            raise
        finally:
            self._crowd.leave(late=late)

    @asynccontextmanager
    async def _turn(self, call: Call) -> AsyncIterator[None]:
        pair = self._pair.get()
        if pair is None:
            async with self._limiter:
                yield
            return
        async with pair.turn:
            if call.method == "GET":
                await self._limiter.look(pair)
            else:
                assert not pair.written, f"{call}: one look, one write"  # noqa: S101 - our own mistake
                self._limiter.write(pair)
            yield

    async def once(self, call: Call, read: Callable[[Answer], T]) -> T:
        """Like `call`, for a write after which nobody looks at what became of it.

        Raises InDoubt also where the service was not ready (503, 408) and may have carried it out.
        """
        # Table A8 says "look first" there; who does not look, and is told "not sent", sends it again.
        try:
            return await self.call(call, read)
        except Throttled as error:
            if refusals.was_not_carried_out(error):
                raise
            raise refusals.to_in_doubt(error) from None

    def _refuse_after_401(self, call: Call) -> None:
        """Refuse a write after a 401, though it began before it."""
        if self._refused and call.method != "GET":
            what = "not sent, because the service does not accept the user name and password."
            raise refusals.error_about_call(call, Unauthorized, what, self._refused)

    @staticmethod
    def _refuse_old_write(call: Call, age_s: float) -> None:
        """Refuse a write that has waited for its turn, or its next try, for too long."""
        if call.method != "GET" and age_s > write_age_max_s:
            what = f"not sent, because it waited for its turn for {age_s:.0f} s."
            hint = "run it again; lower service.limits.concurrency where the service is slow."
            raise refusals.error_about_call(call, Unavailable, what, hint)

    def may_repeat(self) -> bool:
        """Whether a write that was throttled may be sent once more, by whoever has looked; then it counts."""
        # One budget for all repeats, whoever makes them: else a service that refuses writes and still
        # answers reads would get every write three times.
        if not calls.RetryBudget(self._made, self._repeats).allows:
            return False
        self._repeats += 1
        return True

    def _next(self, call: Call, seen: refusals.FailedTry, attempt: int, left_s: float) -> float:
        """Seconds to wait before the next try; raises what was seen when there is none."""
        # By the time of another try the look of the pair would be old.
        if seen.failure is calls.Failure.NEVER_SENT and call.method != "GET" and self._pair.get():
            raise refusals.to_not_sent(seen.error)
        decision = calls.decide_retry(
            call.method,
            seen.failure,
            attempt,
            budget=calls.RetryBudget(self._made, self._repeats),
            chance=self.timing.random(),
            left_s=left_s,
            asked_s=seen.asked_s,
        )
        if isinstance(decision, calls.LookFirst):
            raise refusals.to_in_doubt(seen.error)
        if isinstance(decision, calls.GiveUp):
            raise refusals.add_reason(seen.error, decision.why)
        self._repeats += 1
        step_log.info(
            "%s %s: %s; again in %.2f s", call.method, call.template, seen.failure.value, decision.wait_s
        )
        return decision.wait_s

    async def _try(
        self, call: Call, read: Callable[[Answer], T], attempt: int, timeout_s: float
    ) -> "_Done[T] | refusals.FailedTry":
        request = self._requests.made(call, timeout_s)
        pair, asked_at = self._pair.get(), self.timing.monotonic()
        leaving = None
        if pair is not None and call.method != "GET":
            pair.check(asked_at)
            leaving = self._make_age_check(pair)
        clock = asyncio.get_running_loop().time
        ends_at = clock() + timeout_s
        with record_span("call", **request_notes(call, self._requests.server, attempt)) as notes:
            answer = await exchange_once(
                self._connections, request, timeout_s=timeout_s, proxy=self._proxy, leaving=leaving
            )
            notes.update(answer_notes(answer))
        log_try(call, answer, attempt=attempt, seconds=self.timing.monotonic() - asked_at)
        if pair is not None:
            self._note_gap(pair, call, answer)
        if isinstance(answer, Broken):
            if answer.left_us:
                self.calls[call.method] += 1
            return refusals.judge_broken(call, answer)
        self.calls[call.method] += 1
        remembered = self._find_cache_evidence(call, answer, asked_at)
        if remembered:
            return refusals.judge_cached(call, answer, remembered)
        return await self._read(call, answer, read, ends_at)

    async def _read(
        self, call: Call, answer: Answer, read: Callable[[Answer], T], ends_at: float
    ) -> "_Done[T] | refusals.FailedTry":
        """What an answer means, by `ends_at` on the clock of the event loop."""
        # Larger ones are decoded in a thread: the loop has leases to renew and signals to hear meanwhile.
        if len(answer.body) <= thread_threshold_bytes:
            return self._judge_answer(call, answer, read)
        try:
            async with time_limit(ends_at - asyncio.get_running_loop().time()):
                return await run_in_thread(lambda: self._judge_answer(call, answer, read))
        except TimeoutError:
            if decided_by_body(answer.status):
                return refusals.judge_broken(call, _make_unread_failure(answer))
            return self._judge_answer(call, replace(answer, body=b""), read)

    def _judge_answer(
        self, call: Call, answer: Answer, read: Callable[[Answer], T]
    ) -> "_Done[T] | refusals.FailedTry":
        """What a complete answer means. Touches nothing but the answer: another thread may run it."""
        if not 200 <= answer.status < 300:  # noqa: PLR2004 - the class of success
            now = self._clock.now(self.timing.monotonic()) or self.timing.now()
            return refusals.judge_refusal(call, answer, conceal=self._credentials.conceal, now=now)
        if answer.status not in refusals.SUCCESSES[call.method]:
            return refusals.judge_no_success(call, answer)
        try:
            return _Done(read(replace(answer, form=self.form, media=call.media)))
        except BadBody as error:
            malformed = refusals.malformed_answer(call, str(error), status=answer.status, hint=error.next)
            malformed.elsewhere = isinstance(error, AnotherEntity)
            return refusals.FailedTry(calls.Failure.LOST, malformed)

    def _make_age_check(self, pair: LookWritePair) -> Callable[[], None]:
        """Return what looks at the clock again where the first byte leaves."""
        # A connection may have to be made before, which takes longer than `gap_s`.
        return lambda: pair.check(self.timing.monotonic())

    def _note_gap(self, pair: LookWritePair, call: Call, answer: Answer | Broken) -> None:
        """Note when a look was answered, and how long after it a write was sent."""
        if call.method == "GET":
            pair.answered_at = self.timing.monotonic()
        elif not isinstance(answer, Broken) or answer.left_us:
            self.gaps.seconds.append(pair.late_s(pair.sent_at))

    def _find_cache_evidence(self, call: Call, answer: Answer, asked_at: float) -> str:
        """Why what a GET brought is a cache's answer and not the service's of now, or ""."""
        date = answer.headers.get("date", "")
        behind_s = self._clock.behind_s(date, asked_at)
        self._clock.note(date, self.timing.monotonic())
        # Every answer that its body does not decide ends in an error anyway.
        if call.method != "GET" or not decided_by_body(answer.status):
            return ""
        late = f"its Date is {behind_s:.0f} s behind the service's clock" if behind_s else ""
        return exchange.cache_evidence(answer.headers) or late

    def _limit_to_run(self, call: Call, left_s: float) -> float:
        """What is left for this call, cut to what is left of the run; raises when that is nothing."""
        left_s = min(left_s, self._ends_at - self.timing.monotonic())
        if left_s > 0:
            return left_s
        raise self._make_deadline_error(call)

    def _make_deadline_error(self, call: Call | None = None) -> Unavailable:
        """What a call, or a look and its write, end with whose turn would come when the run is over."""
        why = f"because the run reaches its deadline of {self._limits.deadline_s:g} s first."
        hint = "raise service.limits.deadline_s, or split the work with --only."
        if call is None:
            return Unavailable(f"nothing was sent, {why}", next=hint)
        return refusals.error_about_call(call, Unavailable, f"not sent, {why}", hint)

    @staticmethod
    def _share_time(call: Call, attempt: int, left_s: float) -> float:
        shared = call.method == "GET" and attempt < calls.tries_max
        return left_s * read_share if shared else left_s


def _make_unread_failure(answer: Answer) -> Broken:
    what = f"its answer of {len(answer.body) // 1024} KiB could not be read in time"
    hint = "raise service.limits.timeout_s; answers of the service are smaller, so something adds to them."
    return Broken(calls.Failure.LOST, what, hint, answer.status)


def rate_of(limits: Limits, caps: ProfileLimits) -> float:
    """The requests a second that both the settings and the deployment allow; 0 where neither says any."""
    ours, theirs = limits.requests_per_second, caps.requests_per_second
    return min(ours, theirs) if ours and theirs else ours or theirs
