"""What is told of a stack: each change of state once over each channel, and a digest."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import effort
from core.test_status import STACKS
from msgspec import structs

from reconciler.core.views.news import News, describe_status, find_news
from reconciler.core.views.status import StackStatus, judge_stack
from reconciler.model.automation import Told

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
STATUSES = {name: judge_stack(rows, NOW) for name, (rows, _, _) in STACKS.items()}
FINE = STATUSES["an apply of everything"]
BAD = STATUSES["a partial apply"]
HISTORIES = effort.count(small=100, full=2_000)


def news_of(
    status: StackStatus,
    told: dict[str, Told] | None = None,
    *,
    now: datetime = NOW,
    channel: str = "webhook",
    digest_every: timedelta | None = None,
) -> tuple[News, ...]:
    """Return the news, and remember in `told` that they were told."""
    known = {} if told is None else told
    found = find_news(status, known.values(), channel=channel, now=now, digest_every=digest_every)
    for one in found:
        known[f"{one.telling.channel} {one.telling.state_key}"] = one.telling
    return found


def test_a_change_of_state_is_told_once_and_so_is_its_end() -> None:
    """Whoever was woken also learns that it is over; nobody is told that all was well from the beginning."""
    told: dict[str, Told] = {}

    found = [len(news_of(one, told)) for one in (FINE, BAD, BAD, FINE, FINE)]

    assert found == [0, 1, 0, 1, 0]


def test_each_channel_is_told() -> None:
    """One that failed is tried again; the others were told, and are not told twice."""
    told: dict[str, Told] = {}

    assert [len(news_of(BAD, told, channel=one)) for one in ("webhook", "jane", "webhook")] == [1, 1, 0]


def test_a_run_under_way_is_no_news() -> None:
    """It is over before anybody reads of it."""
    progressing = structs.replace(FINE, health=structs.replace(FINE.health, state="progressing"))
    told: dict[str, Told] = {}
    news_of(BAD, told)

    assert [len(news_of(one, told)) for one in (FINE, progressing, FINE)] == [1, 0, 0]


def test_a_digest_is_told_once_a_period_also_where_all_is_well() -> None:
    """Silence alone says nothing; two machines that sync in one period tell it once."""
    told: dict[str, Told] = {}
    hours = [news_of(FINE, told, now=NOW + timedelta(hours=one), digest_every=DAY) for one in range(0, 49, 6)]

    assert [one[0].type if one else "" for one in hours] == [
        *("stack.digest", "", "stack.digest", "", "", "", "stack.digest", "", ""),
    ]


def test_whatever_happens_what_was_told_last_is_the_state() -> None:
    """Over generated histories: news exactly where the state differs from the one told last, or from fine."""
    names = sorted(STATUSES)
    for seed in range(HISTORIES):
        chance = Random(seed)
        told: dict[str, Told] = {}
        walked = [STATUSES[one] for one in chance.choices(names, k=8)]
        heard = [(one, news_of(one, told)) for one in walked]
        assert bool(heard[0][1]) == (not walked[0].fine)
        for (before, _), (now, found) in pairwise(heard):
            same = (before.sync.state, before.health.state) == (now.sync.state, now.health.state)
            assert not (same and found), seed
            if told and found:
                assert found[0].text == describe_status(now)


def test_a_notification_has_states_and_counts_and_no_names() -> None:
    """It leaves the company over the network: who may approve, and who was changed, stay at home."""
    for name, status in STATUSES.items():
        for one in news_of(status):
            said = f"{one.text} {one.data}"
            assert "anna" not in said, name
            assert "contact/" not in said, name
            assert len(one.text) <= 300


def test_a_long_reason_is_cut() -> None:
    """A message has two SMS at most."""
    status = structs.replace(BAD, health=structs.replace(BAD.health, why="x" * 500))

    assert len(describe_status(status)) == 300
