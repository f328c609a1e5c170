"""What is told of each try of a call to whoever listens: enough to see where time goes, and nobody's data.

Belongs here: which facts those are. They go to a logger of their own, so no caller passes anything along, and
whoever collects all loggers (tests/hostile/test_canaries.py) sees that they hold no secret and no person. Not
here: who listens (cli/console/logs.py).
"""

import logging

from msgspec import Struct

from reconciler.logbook import calls
from reconciler.service.answers import Answer, Broken, Call


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


def tell(call: Call, answer: Answer | Broken, *, attempt: int, seconds: float) -> None:
    """Tell of one try, if anybody listens."""
    if not calls.isEnabledFor(logging.DEBUG):
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
    calls.debug("%s", told)
