"""Claims about the lock in the service: of runs that see each other late, at most one goes on."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from reconciler.core.runs.ticket import (
    PREFIX,
    Ticket,
    decides_from,
    draw_ticket,
    find_ticket_ahead,
    is_alive,
    is_possible,
    is_ticket_name,
    is_watch_unbroken,
    parse_ticket,
    renew_ticket,
    sends_until,
    spread_s,
)

EPOCH = 1_800_000_000
RUN = "00000000-0000-4000-8000-00000000000{}"


def ticket(
    number: int = 0, *, made: int = 0, until: int = 300, nonce: str = "", stack: str = "ops"
) -> Ticket:
    """Return a ticket of run `number`; moments are counted from EPOCH."""
    nonce = nonce or f"{number:012x}"
    return Ticket(stack, EPOCH + made, EPOCH + until, nonce, RUN.format(number), "jane-on-build-7")


@dataclass
class Rival:
    """One run that wants to write: what it does, in true seconds from EPOCH."""

    ticket: Ticket
    created: float
    born_by: int
    decides: float
    holds: float
    gone_at: float = inf

    def goes(self, others: "list[Rival]", window_s: int, lags: dict[str, float]) -> Ticket | None:
        """Return whom it waits for, by what the service lists when it decides."""
        listed = [
            one.ticket
            for one in others
            if one.created + lags[one.ticket.nonce] <= self.decides and self.decides < one.gone_at
        ]
        return find_ticket_ahead(
            self.ticket, self.born_by, listed, int(EPOCH + self.decides), window_s=window_s, over=frozenset()
        )


@st.composite
def rivals(draw: st.DrawFn) -> tuple[int, dict[str, float], list[Rival]]:
    """Some runs that begin close together; nothing takes the time that it should."""
    window_s = draw(st.integers(0, 12))
    found, lags = [], {}
    for number in range(draw(st.integers(2, 5))):
        began = draw(st.floats(0, 20))
        made = int(began)  # a Date has whole seconds
        created = began + draw(st.one_of(st.floats(0, 2), st.floats(0, 30)))
        born_by = int(created) + 1 + draw(st.one_of(st.just(0), st.integers(0, 20)))
        one = ticket(number, made=made, until=900)
        one = structs.replace(one, nonce=draw(st.sampled_from("0123456789abcdef")) * 11 + f"{number:x}")
        ready = decides_from(one, EPOCH + born_by, window_s) - EPOCH
        decides = ready + draw(st.one_of(st.just(0.0), st.floats(0, 30)))
        found.append(Rival(one, created, EPOCH + born_by, decides, draw(st.floats(0, 60))))
        lags[one.nonce] = draw(st.one_of(st.just(float(window_s)), st.floats(0, window_s)))
    return window_s, lags, found


@settings(max_examples=400)  # two that meet at the same moment are rare
@given(rivals())
def test_no_two_go_on_while_both_live(drawn_: tuple[int, dict[str, float], list[Rival]]) -> None:
    """The whole promise of the lock, for every creation that is listed within the window."""
    window_s, lags, found = drawn_
    holding: list[float] = []
    for one in sorted(found, key=lambda rival: rival.decides):
        one.gone_at = one.decides  # it withdraws at once
        if one.goes(found, window_s, lags) is None:
            assert not [end for end in holding if one.decides < end]
            one.gone_at = one.decides + one.holds
            holding.append(one.gone_at)


@given(
    window_s=st.integers(0, 12),
    created=st.floats(-40, 40),
    writes_s=st.floats(0, 30),
    gaps=st.lists(st.floats(0.5, 9), min_size=1, max_size=40),
    lag=st.floats(0, 1),
)
@example(window_s=10, created=-9.0, writes_s=0.0, gaps=[4.0] * 10, lag=1.0)
@example(window_s=10, created=-0.5, writes_s=0.0, gaps=[4.5, 4.5, 8.0], lag=1.0)  # gone between two looks
def test_whoever_goes_on_is_a_window_later_than_the_end_of_the_run_before(
    window_s: int, created: float, writes_s: float, gaps: list[float], lag: float
) -> None:
    """Lists lag, so what that run wrote last is not listed at once, and would be created a second time."""
    looks = [sum(gaps[:number]) for number in range(len(gaps) + 1)]
    decides = next((look for look in looks if look >= window_s + spread_s), None)
    if decides is None:
        return
    looks = [look for look in looks if look <= decides]
    listed_at = created + lag * window_s
    gone_at = created + spread_s + window_s + writes_s
    seen = any(listed_at <= look < gone_at for look in looks)
    every = all(is_watch_unbroken(int(EPOCH + one), int(EPOCH + two)) for one, two in pairwise(looks))
    plans = decides if every else decides + window_s

    # Whether it saw the other, or decided before the other could write, or is late enough.
    assert seen or gone_at > decides or gone_at + window_s <= plans


@given(st.lists(st.integers(0, spread_s), min_size=1, max_size=6), st.integers(0, 12))
def test_of_tickets_that_all_see_each_other_exactly_the_lowest_goes_on(
    made: list[int], window_s: int
) -> None:
    """Somebody always goes on, or a crowd of runs would wait for each other until their time is over."""
    every = [ticket(number, made=moment) for number, moment in enumerate(made)]
    told = EPOCH + 2 * spread_s + window_s

    going = [
        one for one in every if find_ticket_ahead(one, one.made + 1, every, told, window_s=window_s) is None
    ]

    assert going == [min(every, key=lambda one: one.order)]


def test_a_ticket_that_was_long_on_its_way_goes_on_only_when_it_is_alone() -> None:
    """Its `made` says too little about when it was created: a later one may have decided without it."""
    late, other = ticket(1, made=0), ticket(2, made=5)
    told = EPOCH + 60

    assert find_ticket_ahead(late, late.made + spread_s, [late, other], told, window_s=10) is None
    assert find_ticket_ahead(late, late.made + spread_s + 1, [late, other], told, window_s=10) == other
    assert find_ticket_ahead(late, late.made + spread_s + 1, [late], told, window_s=10) is None


def test_an_expired_ticket_holds_nobody_up_but_a_window_later_than_its_end() -> None:
    """A renewal may not be listed yet, so the end that a list shows may be a window old."""
    mine, dead = ticket(2, made=400, until=900), ticket(1, made=0, until=300)

    assert find_ticket_ahead(mine, mine.made + 1, [dead], EPOCH + 310, window_s=10) == dead
    assert find_ticket_ahead(mine, mine.made + 1, [dead], EPOCH + 311, window_s=10) is None
    assert is_alive(dead, EPOCH + 310, 10)
    assert not is_alive(dead, EPOCH + 311, 10)


@pytest.mark.parametrize("ahead_s", [1_000, 3_600, 86_400, 10**9])
@pytest.mark.parametrize("made", [-(10**8), 0, 10**8])
def test_a_lease_that_no_run_takes_holds_nobody_up(made: int, ahead_s: int) -> None:
    """Whoever may create a resource can name it so; the run that it is about does not exist."""
    forged = ticket(1, made=made, until=ahead_s)
    mine = ticket(2, made=0)
    late = ticket(2, made=0), EPOCH + spread_s + 1

    assert find_ticket_ahead(mine, EPOCH, [forged], EPOCH, window_s=10) is None
    assert find_ticket_ahead(*late, [forged], EPOCH, window_s=10) is None
    assert not is_possible(forged, EPOCH, 10)


@pytest.mark.parametrize("window_s", [0, 10, 60, 300, 3_600])
@pytest.mark.parametrize("mine_s", [0, 10, 60, 300])
def test_a_lease_that_a_run_takes_is_believed_whatever_our_window_is(window_s: float, mine_s: float) -> None:
    """While the settings of a stack change, its runs have different windows, and one must not go on."""
    other = draw_ticket(
        "ops", run=RUN.format(1), holder="x", token="a", service_now=EPOCH, lease_s=300 + 2 * window_s
    )
    mine = structs.replace(ticket(2), made=EPOCH + 1)

    assert (find_ticket_ahead(mine, EPOCH + 1, [other], EPOCH, window_s=mine_s) == other) is (window_s <= 300)
    assert find_ticket_ahead(mine, EPOCH + 1, [other], EPOCH, window_s=window_s) == other
    assert find_ticket_ahead(
        mine, EPOCH + 1, [renew_ticket(other, EPOCH, 300 + 2 * window_s)], EPOCH, window_s=window_s
    )


def test_only_living_tickets_of_the_same_stack_count() -> None:
    """What one stack owns another never touches; a run that ended without removing its ticket is over."""
    mine, told = ticket(5, made=9), EPOCH + 60
    same_run = structs.replace(ticket(5, made=1), nonce="abcdefabcdef")

    assert (
        find_ticket_ahead(mine, mine.made + 1, [ticket(1, stack="other"), same_run], told, window_s=10)
        is None
    )
    assert (
        find_ticket_ahead(
            mine, mine.made + 1, [ticket(1)], told, window_s=10, over=frozenset({RUN.format(1)})
        )
        is None
    )
    assert find_ticket_ahead(
        mine, mine.made + 1, [ticket(1)], told, window_s=10, over=frozenset({RUN.format(2)})
    ) == ticket(1)


@given(
    st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?", fullmatch=True),
    st.text(max_size=60),
    st.integers(0, 4_000_000_000),
)
@example("a.b--c..json.json", "Zoë on build_7.example.com", EPOCH)
def test_a_ticket_is_read_from_its_name_as_it_was_written(stack: str, holder: str, told: int) -> None:
    """The name is all that others can read; also where the service changes its case or adds spaces."""
    one = draw_ticket(
        stack, run=RUN.format(1), holder=holder, token="some chance", service_now=told, lease_s=300.0
    )

    assert is_ticket_name(one.name)
    assert parse_ticket(one.name) == one
    assert parse_ticket(f" {one.name.upper()} ") == one
    assert parse_ticket(renew_ticket(one, told + 100, 300.0).name) == structs.replace(one, until=told + 400)
    assert len(one.name) <= 200
    assert one.name.isascii()


@pytest.mark.parametrize("name", ["rota.csv", "", f"{PREFIX}json", f"{PREFIX}1.2.3", PREFIX.upper() + "x"])
def test_a_name_that_is_no_ticket_is_none(name: str) -> None:
    """A resource of somebody's that only looks a little like one must not be taken for a lock and removed."""
    assert parse_ticket(name) is None
    assert is_ticket_name(name) == name.casefold().startswith(PREFIX)


def test_a_moment_that_no_calendar_has_is_no_ticket() -> None:
    """A name can be edited by hand."""
    assert parse_ticket(ticket().name.replace("20270115t", "20271315t")) is None


def test_the_holder_stops_half_a_lease_before_others_may_take_over() -> None:
    """What was sent last needs time to arrive, and the service's clock shows whole seconds."""
    until, told = EPOCH + 300, EPOCH

    stops = sends_until(until, told, 50.0, 300.0)

    assert stops == 50.0 + 149.0
