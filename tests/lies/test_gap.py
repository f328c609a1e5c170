"""How much time others have between our last look and our write, measured at the proxy."""

import effort
import pytest
import tally
from lies.proxy import Request
from lies.stage import Stage, said

pytestmark = effort.proofs_only()
LATENCY_S = 0.02  # of every exchange, so that the gap of the network itself is known


@pytest.mark.parametrize("at_once", [8, 64])
def test_under_a_limit_nothing_lies_between_a_look_and_its_write(place: Stage, at_once: int) -> None:
    """Both turns are taken together: a write that waits after its look overwrites what others do.

    Where the machine held an exchange up, others had their turns meanwhile: one each tenth of a second.
    """
    seen = updated(place, effort.count(small=10, full=30), rate=10, at_once=at_once)

    others = between(seen)
    assert sorted(others)[len(others) // 2] == 0
    assert all(number <= 10 * gap_s for number, gap_s in zip(others, gaps(seen), strict=True))
    told(seen, f"10 a second, {at_once} at once")


@pytest.mark.parametrize("at_once", [8, 64])
def test_without_a_limit_a_look_is_followed_by_its_write_before_those_at_once_had_two_more(
    place: Stage, at_once: int
) -> None:
    """Nobody waits for more than the looks and writes of those that run beside it."""
    seen = updated(place, effort.count(small=60, full=200), rate=0, at_once=at_once)

    assert max(between(seen)) <= 3 * at_once  # each has a look, a write and a read-back at most
    told(seen, f"no limit, {at_once} at once")


def updated(place: Stage, number: int, *, rate: int, at_once: int) -> list[Request]:
    """Return what the proxy saw while this many people were updated."""
    place.built(number)
    for at in range(number):
        place.set(f"person-{at}", jobTitle="Nurse")
    place.proxy.seen.clear()
    place.proxy.latency_s = LATENCY_S
    limits = {"REQUESTS_PER_SECOND": str(rate), "CONCURRENCY": str(at_once)}
    done = place.run(
        "apply", "--yes", env={f"RECONCILER_SERVICE_LIMITS_{key}": text for key, text in limits.items()}
    )
    assert done.returncode == 0, said(done)
    assert len(seen_writes(place.proxy.seen)) == number
    return place.proxy.seen


def seen_writes(seen: list[Request]) -> list[int]:
    """Return the positions of the writes."""
    return [at for at, one in enumerate(seen) if one.method == "PUT"]


def look_before(seen: list[Request], write: int) -> int:
    """Return the position of the last look at the one who is written."""
    path = seen[write].path
    return max(at for at in range(write) if seen[at].method == "GET" and seen[at].path == path)


def between(seen: list[Request]) -> list[int]:
    """Return how many requests came between each write and its look."""
    return [write - look_before(seen, write) - 1 for write in seen_writes(seen)]


def gaps(seen: list[Request]) -> list[float]:
    """Return the seconds between each write and its look."""
    return [seen[at].at - seen[look_before(seen, at)].at for at in seen_writes(seen)]


def told(seen: list[Request], where: str) -> None:
    """Put the gaps into the report, in milliseconds; how fast this machine is decides nothing here."""
    found = sorted(1000 * gap_s for gap_s in gaps(seen))
    tally.highest("gap at a proxy, ms", f"{where}: median", found[len(found) // 2])
    tally.highest("gap at a proxy, ms", f"{where}: 99th percentile", found[len(found) * 99 // 100])
