"""What is told of each try of a call to whoever listens: enough to see where time goes, and nobody's data.

Belongs here: which facts those are. They go to a logger of their own, and to a span, so no caller passes
anything along, and whoever collects all loggers (tests/hostile/test_canaries.py) sees that they hold no
secret and no person. Not here: who listens (cli/console/logs.py), who records (cli/telemetry/).
"""

import logging

from msgspec import Struct

from reconciler.instrumentation import SpanNotes, call_log
from reconciler.service.answers import Answer, Broken, Call

_errors_from = 400  # an answer of this status or above is an error to whoever looks at spans


class TriedCall(Struct, frozen=True):
    """One try. `path` is the template, without ids; sizes in bytes, unpacked; `status` 0: no answer came.

    `attempt` counts from 1. `broken` says how it ended where no complete answer came, else "".
    """

    method: str
    path: str
    status: int
    ms: int
    sent: int
    received: int
    attempt: int
    broken: str = ""

    def __str__(self) -> str:
        """One line: what was called, and how it went."""
        ended = str(self.status) if self.status else self.broken
        more = f", try {self.attempt}" if self.attempt > 1 else ""
        return (
            f"{self.method} {self.path}: {ended}, {self.ms:,} ms, {self.sent:,} bytes sent, "
            f"{self.received:,} received{more}"
        )


def asked(call: Call, server: tuple[str, int], attempt: int) -> SpanNotes:
    """Return what a span says of one try before it is answered: the template, never the path."""
    host, port = server
    again: SpanNotes = {"resend": attempt - 1} if attempt > 1 else {}
    return {"method": call.method, "template": call.template, "host": host, "port": port, **again}


def answered(answer: Answer | Broken) -> SpanNotes:
    """Return what a span says of its answer, or of how it ended without a complete one."""
    notes: SpanNotes = {"status": answer.status} if answer.status else {}
    if isinstance(answer, Broken):
        return {**notes, "error": answer.failure.value}
    return {**notes, "error": str(answer.status)} if answer.status >= _errors_from else notes


def tell(call: Call, answer: Answer | Broken, *, attempt: int, seconds: float) -> None:
    """Tell of one try, if anybody listens."""
    if not call_log.isEnabledFor(logging.DEBUG):
        return
    told = TriedCall(
        method=call.method,
        path=call.template,
        status=answer.status,
        ms=round(seconds * 1000),
        sent=len(call.body or b""),
        received=0 if isinstance(answer, Broken) else len(answer.body),
        attempt=attempt,
        broken=answer.failure.value if isinstance(answer, Broken) else "",
    )
    call_log.debug("%s", told)
