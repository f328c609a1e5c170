"""Progress: counted by listening, said in one line, and never in the way of the data."""

import logging

import pytest
from waiting import until

from reconciler.cli.console.progress import Bars, Watch, watch_progress
from reconciler.instrumentation import report_progress
from reconciler.model.snapshots import Scope
from reconciler.report.progress import ProgressLine, format_progress, format_progress_rest
from reconciler.service.answers import Answer, Call
from reconciler.service.http.exchange import log_try

OPS = Scope("contact", "ops")


def called() -> None:
    log_try(Call("GET", "/contacts", "contact"), Answer(200, {}, b""), attempt=1, seconds=0.1)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (ProgressLine("reading the service"), "reading the service"),
        (
            ProgressLine("reading the service", 1240, 2000, "contacts", 62, 15.5),
            "reading the service: 1,240 of 2,000 contacts, 62 calls, 4.0 a second, about 10 s left",
        ),
        (ProgressLine("reading", 40, None, "contacts", 1, 0.5), "reading: 40 contacts, 1 call"),
        (
            ProgressLine("applying", 1, 400, "", 3, 6.0),
            "applying: 1 of 400, 3 calls, 0.5 a second, about 40 min left",
        ),
        (ProgressLine("applying", 400, 400, "", 3, 60.0), "applying: 400 of 400, 3 calls, 0.1 a second"),
        (ProgressLine("applying", 0, 400, "", 0, 60.0), "applying: 0 of 400"),
        (ProgressLine("applying", 1, 400, "", 1, 2.0), "applying: 1 of 400, 1 call, 0.5 a second"),
    ],
)
def test_a_line_says_how_far_it_is(one: ProgressLine, text: str) -> None:
    """What is done of how much, calls a second, time left; nothing that cannot be known yet."""
    assert format_progress(one) == text
    assert format_progress_rest(one) in text


class Seen(Bars):
    """Bars that remember what they show."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int, int | None, str]] = []

    def advance(self, what: str, done: int, total: int | None, more: str = "") -> None:
        self.shown.append((what, done, total, more))


def test_calls_and_rows_are_counted_where_they_happen() -> None:
    """The lists of a project are read side by side: they count together."""
    with watch_progress(Bars(), None) as watch:
        watch.advance("reading the service", 0, None)
        called()
        called()
        report_progress(OPS, 20, 100)
        report_progress(OPS, 40, 100)
        report_progress(Scope("resource", "ops"), 5, 5)
        now = watch.now()

    assert now is not None
    assert (now.done, now.total, now.things, now.calls) == (45, 105, "contacts and resources", 2)


def test_something_new_is_counted_anew() -> None:
    """The pace of reading says nothing about that of writing."""
    with watch_progress(Bars(), None) as watch:
        watch.advance("reading the service", 0, None)
        called()
        watch.advance("applying", 1, 4)
        now = watch.now()

    assert now is not None
    assert (now.what, now.done, now.total, now.calls) == ("applying", 1, 4, 0)


def test_a_terminal_shows_the_same_numbers() -> None:
    bars, clock = Seen(), [0.0]
    watch = Watch(bars, lambda: clock[0])
    watch.advance("applying", 0, 4)
    clock[0] = 10.0
    watch.handle(logging.LogRecord("x", logging.DEBUG, "", 0, "", (), None))
    watch.advance("applying", 2, 4)

    assert bars.shown[-1] == ("applying", 2, 4, "1 call, 0.1 a second, about 10 s left")


def test_without_a_terminal_lines_come_while_it_lasts_and_none_after_it() -> None:
    said: list[str] = []
    with watch_progress(Bars(), said.append, wait_s=0.01) as watch:
        watch.advance("reading the service", 0, None)
        until(lambda: said, "a line")
        watch.clear()

    assert said[0].startswith("reading the service")
    assert not logging.getLogger("reconciler.calls").handlers


def test_nothing_is_said_while_nothing_is_under_way() -> None:
    """A question waits for a person; a line that comes in between would look like an answer."""
    with watch_progress(Bars(), None) as watch:
        watch.advance("applying", 1, 4)
        watch.clear()
        assert watch.now() is None
