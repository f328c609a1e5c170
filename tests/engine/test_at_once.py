"""Look, then write, at once: an edit by somebody else fits between the two only while one answer travels."""

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from engine.bench import JANE, SAM, Bench, nap, only, person, results
from engine.liars import accepted, ignoring, yes
from store.support import file_of
from wire import Fault, Rule, Send, answered, edited, lost_after

from reconciler.engine.write import looks_max
from reconciler.service.http.limiter import Timing

_TICK_S = 0.0001  # between two looks at the clock; a few of them lie between a look and its write


def ticking(bench: Bench, while_: Callable[[], bool]) -> None:
    """Let the event loop stand still between any two looks at the clock, for as long as `while_` says."""
    ticks = itertools.count(1)

    def monotonic() -> float:
        if while_():
            bench_s[0] = next(ticks) * _TICK_S
        return bench_s[0]

    bench_s = [0.0]
    bench.timing = Timing(monotonic=monotonic, sleep=nap, random=lambda: 0.0, gap_s=_TICK_S)


def test_a_write_that_comes_too_late_after_its_look_waits_for_another_look(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())
    slow = iter([True] * 60)
    ticking(bench, lambda: bench.wire.count()["PUT"] == 0 and next(slow, False))

    run = bench.apply(person(jobTitle="Engineer"))

    assert only(run).result == "applied"
    assert run.gap is not None
    assert run.gap.looked_again > 0
    assert bench.wire.count() == {"GET": 2 + run.gap.looked_again, "PUT": 1}


@pytest.mark.parametrize("change", ["create", "update", "delete"])
def test_where_looking_and_writing_at_once_is_impossible_nothing_is_sent(tmp_path: Path, change: str) -> None:
    bench = Bench(tmp_path)
    want = {
        "create": [person(), person(SAM)],
        "update": [person(jobTitle="Engineer")],
        "delete": [],
    }
    bench.apply(person(), *([person(SAM)] if change == "delete" else []))
    ticking(bench, lambda: True)
    keep = [person(SAM)] if change == "delete" else []

    run = bench.apply(*want[change], *keep)

    assert only(run).result == "failed"
    assert "the write could not follow the read of its entity at once" in only(run).what
    assert bench.wire.writes() == []
    assert bench.wire.count()["GET"] == looks_max
    assert bench.recorded().doubts == {}
    with bench.store() as store:
        assert store.unfinished() == ()


def test_a_write_that_never_left_is_sent_only_after_another_look(tmp_path: Path) -> None:
    """By the time a connection can be made somebody else may have made the same person."""
    bench = Bench(tmp_path)

    async def refused(request: httpx2.Request, _: Send) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    run = bench.apply(person(), rules=[Rule("POST", refused, nth=1)])

    assert only(run).result == "applied"
    assert [method for method, _ in bench.wire.sent][:4] == ["GET", "POST", "GET", "POST"]
    assert bench.wire.count()["POST"] == 2


def test_the_intent_is_on_disk_before_the_look(tmp_path: Path) -> None:
    """A commit between the look and the write would be time in which others edit."""
    bench = Bench(tmp_path)
    bench.apply(person())
    seen: list[list[str]] = []

    async def noting(_: httpx2.Request, send: Send) -> httpx2.Response:
        with file_of(tmp_path / "store.db") as other:
            rows = other.execute("SELECT address FROM journal WHERE ending = ''").fetchall()
            seen.append([row[0] for row in rows])
        return await send()

    bench.apply(person(jobTitle="Engineer"), rules=[Rule("GET", noting, nth=1)])

    assert seen == [[str(JANE)]]


def test_what_a_look_keeps_from_being_sent_leaves_no_intent_open(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    other = edited(lambda body: body.update(jobTitle="Director"))

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("GET", other)])

    assert results(run) == {str(JANE): "conflict"}
    with bench.store() as store:
        assert store.unfinished() == ()


def test_what_moved_between_look_and_read_back_is_named_nested_values_too(tmp_path: Path) -> None:
    """The window that is left is one round trip; what happened in it has to be said."""
    bench = Bench(tmp_path)
    bench.apply(person())
    note = edited(lambda body: body.update(department="Night", futureField={"note": ["call first"]}))

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("GET", note, nth=2)])

    assert only(run).result == "applied"
    assert only(run).what == "somebody else changed at the same time: department, futureField."


@pytest.mark.parametrize("ending", ["refused in part", "answer lost", "told to slow down", "not read back"])
def test_what_moved_is_named_however_the_update_ends(tmp_path: Path, ending: str) -> None:
    """Somebody's note beside ours is worth the same words when our write was ignored, lost or put off."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    puts: dict[str, tuple[Fault, str]] = {
        "refused in part": (ignoring(bench.wire.inner, "workMobilePhone1"), "failed"),
        "answer lost": (lost_after, "applied"),
        "told to slow down": (answered(429, done=True), "applied"),
        "not read back": (accepted, "applied"),
    }
    fault, result = puts[ending]
    note = edited(lambda body: body.update(department="Night", futureField={"note": ["call first"]}))
    unread = [Rule("GET", answered(404), nth=2)] if ending == "not read back" else []
    later = Rule("GET", note, when=lambda: bench.wire.count()["PUT"] > 0)

    want = person(jobTitle="Engineer", workMobilePhone1="+61491570157")
    run = bench.apply(want, rules=[*unread, Rule("PUT", fault), later])

    assert only(run).result == result
    assert "somebody else changed at the same time: department, futureField." in only(run).what


def test_what_moved_beside_a_write_that_stays_in_doubt_is_named(tmp_path: Path) -> None:
    """Accepted, and not done yet: what the read-back saw is told with the doubt."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    note = edited(lambda body: body.update(department="Night"))

    run = bench.apply(
        person(jobTitle="Engineer"),
        rules=[Rule("PUT", yes(202)), Rule("GET", note, nth=2)],
    )

    assert only(run).result == "in doubt"
    assert "somebody else changed at the same time: department." in only(run).what


def test_the_report_tells_the_gaps_of_its_writes(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.timing = Timing(monotonic=time.monotonic, sleep=nap, random=lambda: 0.0, gap_s=60.0)

    run = bench.apply(person(), person(SAM))

    assert run.gap is not None
    assert (run.gap.writes, run.gap.looked_again) == (2, 0)
    assert 0 <= run.gap.median_ms <= run.gap.p99_ms
    assert bench.apply(person(), person(SAM)).gap is None
