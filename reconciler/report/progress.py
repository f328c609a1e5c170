"""Progress in one line: the same on a terminal and in the log of a CI job.

The words and the estimate; cli/console/progress.py counts and decides when a line is shown.
"""

from msgspec import Struct

from reconciler.report.lines import count

_least_s = 5.0  # before that, a few calls say little about the time that is left
_minute_s = 60


class ProgressLine(Struct, frozen=True):
    """What is being done, how much of how much (total None: unknown), the calls so far, and the seconds.

    `things` says what is counted, such as `contacts`; "" where `what` says it.
    """

    what: str
    done: int = 0
    total: int | None = None
    things: str = ""
    calls: int = 0
    seconds: float = 0.0


def format_progress(one: ProgressLine) -> str:
    """Return `reading the service: 1,240 of 2,000 contacts, 62 calls, 4.1 a second, about 40 s left`."""
    parts = [_format_share(one), _format_calls(one), _estimate_rest(one)]
    said = ", ".join(part for part in parts if part)
    return f"{one.what}: {said}" if said else one.what


def format_progress_rest(one: ProgressLine) -> str:
    """Return the same without what a bar shows by itself."""
    return ", ".join(part for part in (_format_calls(one), _estimate_rest(one)) if part)


def _format_share(one: ProgressLine) -> str:
    things = f" {one.things}" if one.things else ""
    if one.total is not None:
        return f"{one.done:,} of {one.total:,}{things}"
    return f"{one.done:,}{things}" if one.done else ""


def _format_calls(one: ProgressLine) -> str:
    if not one.calls:
        return ""
    said = count(one.calls, "call")
    return f"{said}, {one.calls / one.seconds:.1f} a second" if one.seconds >= 1 else said


def _estimate_rest(one: ProgressLine) -> str:
    """Return how long the rest takes at the same pace; "" where that is unknown."""
    if not one.total or not 0 < one.done < one.total or one.seconds < _least_s:
        return ""
    left_s = one.seconds * (one.total - one.done) / one.done
    if left_s < _minute_s:
        return f"about {max(1, round(left_s))} s left"
    return f"about {round(left_s / _minute_s)} min left"
