"""`messages send --wait`: looks how far a message has come, and shows it, until everybody answered.

Belongs here: when to look on and when to stop, and what is shown meanwhile. Not here: sending
(commands/service/messages.py), how one look is made (messaging/messages.py).
"""

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from reconciler.cli.console import output
from reconciler.cli.console.output import LiveLines
from reconciler.core.text import fold_case
from reconciler.engine.context import StopFlag
from reconciler.errors import ServiceError
from reconciler.messaging.messages import Messages, Progress
from reconciler.messaging.reports import heard_lines, progress_lines
from reconciler.messaging.values import Response

every_s = 2.0  # seconds between two looks, each of three calls: far below the lowest quota of a second

End = Literal["answered", "undelivered", "time is over", "interrupted", "not told"]


@dataclass(slots=True)
class Followed:
    """How far a message had come at the last look, and why there was no further one."""

    progress: Progress = field(default_factory=Progress)
    end: End = "time is over"
    trouble: ServiceError | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of docs/guides/exit-codes.md: the message itself was sent in every case."""
        return {"answered": 0, "interrupted": 130, "not told": 1}.get(self.end, 6)


async def follow(
    messages: Messages, message_id: str, *, workspace: str, limit_s: float, stop: StopFlag, show: bool
) -> Followed:
    """Return how far the message came: to the end, for `limit_s` at most, or until a signal.

    With `show` it is shown meanwhile: in place on a terminal, else each new answer as a line. Trouble
    with the service ends it and is told in the result, for the message is out whatever happens here.
    """
    found = Followed()
    looks = messages.follow(message_id, workspace=workspace, every_s=every_s, limit_s=limit_s)
    with output.live() as screen:
        try:
            async with aclosing(looks):
                while (look := await stop.unless_asked(anext(looks, None))) is not None:
                    if show:
                        _show(screen, found.progress, look)
                    found.progress = look
                    if (end := _ended(look)) is not None:
                        found.end = end
                        return found
        except ServiceError as error:
            found.end, found.trouble = "not told", error
    if stop.asked:
        found.end = "interrupted"
    return found


def _ended(progress: Progress) -> End | None:
    """Return whether no more answers can come: whom the message did not reach cannot answer."""
    if progress.complete:
        return "answered"
    waiting = sum(one.recipients for one in progress.counts if fold_case(one.type) == "noresponse")
    lost = sum(one.recipients for one in progress.statuses if fold_case(one.name) == "undeliverable")
    return "undelivered" if 0 < waiting <= lost else None


def _show(screen: LiveLines, before: Progress, now: Progress) -> None:
    if screen.shown:
        screen.update(progress_lines(now.statuses, now.counts, now.responses))
    else:
        output.note_lines(heard_lines(_new(before.responses, now.responses)))


def _new(before: tuple[Response, ...], now: tuple[Response, ...]) -> tuple[Response, ...]:
    return tuple(one for one in now if one not in before)
