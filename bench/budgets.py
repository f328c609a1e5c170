"""What each case may cost at most, and which figures are told as ratios. One table each."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from cases import AT_ONCE, CREATES, CREATES_OF_ANSIBLE, LATENCY_MS, MANY_CREATES
from service import PAGE
from stages import Case
from walk import (
    APPLY_FIRST,
    APPLY_THREE,
    PLAN_AFTER_APPLY,
    PLAN_AFTER_THREE,
    PLAN_NOTHING,
    PLAN_SETTLED,
    PLAN_THREE,
)


class Budget(NamedTuple):
    """The most that one case may cost; None: nothing is asked."""

    case: str
    contacts: int
    calls: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_mib: float | None = None
    grown_mib: float | None = None
    wave_s: float | None = None


_MANY = ", many workspaces"
_ROSTER = ", one roster"


def _day(suffix: str, *, people: int, lists: int, cpu_s: float, peak_mib: float) -> tuple[Budget, ...]:
    """Return the budgets of bench/walk.py over so many lists, none of which is read whole twice."""
    again = {"cpu_s": cpu_s, "peak_mib": peak_mib}
    return (
        Budget(f"{APPLY_FIRST}{suffix}", people, calls=people // PAGE + 2 * lists, cpu_s=12, peak_mib=400),
        Budget(f"{PLAN_AFTER_APPLY}{suffix}", people, calls=3 * lists, **again),
        Budget(f"{PLAN_THREE}{suffix}", people, calls=3 * lists, **again),
        # Three calls a change, and the look at the list.
        Budget(f"{APPLY_THREE}{suffix}", people, calls=3 * lists + 9, cpu_s=cpu_s + 0.5, peak_mib=peak_mib),
        Budget(f"{PLAN_AFTER_THREE}{suffix}", people, calls=3 * lists, **again),
        Budget(f"{PLAN_SETTLED}{suffix}", people, calls=3 * lists, **again),
    )


BUDGETS = (
    Budget(PLAN_NOTHING, 1000, calls=3, cpu_s=0.25),
    Budget(PLAN_NOTHING, 10_000, calls=3, cpu_s=0.4, peak_mib=110),
    Budget(PLAN_NOTHING, 100_000, calls=3, cpu_s=1.5, peak_mib=200),
    Budget("plan, nobody recorded", 1000, calls=52),
    Budget("plan, nobody recorded", 10_000, calls=502, cpu_s=0.9, peak_mib=110),
    Budget("plan, nobody recorded", 100_000, calls=5002, cpu_s=8, peak_mib=300),
    *_day("", people=100_000, lists=1, cpu_s=1.5, peak_mib=220),
    *_day(_ROSTER, people=100_000, lists=1, cpu_s=1.5, peak_mib=220),
    *_day(_MANY, people=100_000, lists=200, cpu_s=2, peak_mib=220),
    Budget(f"{PLAN_NOTHING}{_ROSTER}", 100_000, calls=3, cpu_s=1.5, peak_mib=200),
    Budget(f"{PLAN_NOTHING}{_MANY}", 100_000, calls=200, cpu_s=2, peak_mib=200),
    Budget(f"{PLAN_NOTHING}, --only one of many", 100_000, calls=1, cpu_s=0.6, peak_mib=90),
    Budget(f"{PLAN_NOTHING}{_ROSTER}", 1_000_000, calls=3, cpu_s=15, peak_mib=1536),
    Budget(f"{PLAN_AFTER_APPLY}{_ROSTER}", 1_000_000, calls=3, cpu_s=20, peak_mib=1536),
    Budget("plan, 100 edited elsewhere", 1000, calls=8),
    Budget("plan, 100 edited elsewhere", 10_000, calls=8),
    Budget("plan, 100 edited elsewhere", 100_000, calls=8),
    Budget("validate", 100_000, cpu_s=3.5),
    Budget("validate, unchanged files", 100_000, cpu_s=0.6),
    Budget("validate, one line changed in each file", 100_000, cpu_s=0.8),
    Budget("apply, creates", CREATES, calls=2 * CREATES + 2, wave_s=2.9),
    Budget("apply, creates", MANY_CREATES, grown_mib=60),
    Budget("--version", 0, cpu_s=0.12),
)
FIGURES: tuple[tuple[str, str], ...] = (
    ("calls", "calls"),
    ("wall_s", "s"),
    ("wave_s", "s for the waves"),
    ("cpu_s", "s CPU"),
    ("peak_mib", "MiB"),
    ("grown_mib", "MiB grown"),
)


def middle(case: Case, figure: str) -> float | None:
    """Return the median of a figure over the runs of a case; None where nobody measured it."""
    if figure == "calls":
        return case.calls
    found = [value for run in case.runs if (value := getattr(run, figure)) is not None]
    return median(found) if found else None


class Judged(NamedTuple):
    """One figure of a case beside its budget, which `says` it in words."""

    figure: str
    says: str
    met: bool


def judged(case: Case) -> Iterator[Judged]:
    """Yield each figure for which something was asked of a case."""
    for budget in BUDGETS:
        if (budget.case, budget.contacts) == (case.name, case.contacts):
            for figure, unit in FIGURES:
                limit, found = getattr(budget, figure), middle(case, figure)
                if limit is not None and found is not None:
                    yield Judged(figure, f"≤ {limit:,} {unit}", found <= limit)


def missed(case: Case) -> set[str]:
    """Return the figures of a case that are over their budget."""
    return {one.figure for one in judged(case) if not one.met}


class Ratio(NamedTuple):
    """How many times less we need than something beside us. `asked` by the number of people."""

    says: str
    ours: str
    theirs: str
    figure: str
    asked: dict[int, float]


RATIOS = (
    Ratio(
        "octoDNS, first plan",
        "plan, nobody recorded",
        "peer: octoDNS, first plan",
        "cpu_s",
        {1000: 1, 10_000: 4, 100_000: 6},
    ),
    Ratio(
        "octoDNS, nothing to do",
        PLAN_NOTHING,
        "peer: octoDNS, nothing to do",
        "cpu_s",
        {10_000: 6, 100_000: 20},
    ),
    Ratio(
        "octoDNS, nothing to do, neither compiled",
        f"{PLAN_NOTHING}, not compiled",
        "peer: octoDNS, nothing to do, not compiled",
        "cpu_s",
        {},
    ),
    Ratio(
        "octoDNS, three people edited",
        PLAN_THREE,
        "peer: octoDNS, three people edited",
        "cpu_s",
        {100_000: 20},
    ),
    Ratio(
        "octoDNS, one in 100 edited, every file read",
        "plan, one in 100 edited",
        "peer: octoDNS, one in 100 edited",
        "cpu_s",
        {},
    ),
    Ratio("a stock script", PLAN_NOTHING, "peer: stock script", "cpu_s", {}),
)


class Compared(NamedTuple):
    """A ratio as it was measured."""

    contacts: int
    says: str
    times: float
    asked: float | None


def compared(cases: Sequence[Case]) -> Iterator[Compared]:
    """Yield every ratio for which both sides were measured, sizes rising."""
    found = {(case.name, case.contacts): case for case in cases}
    for contacts in sorted({case.contacts for case in cases}):
        for ratio in RATIOS:
            ours, theirs = found.get((ratio.ours, contacts)), found.get((ratio.theirs, contacts))
            if ours and theirs:
                times = (middle(theirs, ratio.figure) or 0) / (middle(ours, ratio.figure) or 1)
                yield Compared(contacts, ratio.says, times, ratio.asked.get(contacts))
    yield from _creates(found)


def _creates(found: dict[tuple[str, int], Case]) -> Iterator[Compared]:
    """Yield the time of a create beside Ansible's, and beside what latency alone would take."""
    ours = found.get(("apply, creates", CREATES))
    theirs = found.get(("peer: Ansible, creates", CREATES_OF_ANSIBLE))
    if not ours:
        return
    seconds = (middle(ours, "wall_s") or 0) / CREATES
    wave = (middle(ours, "wave_s") or 0) / CREATES
    if theirs:
        each = (middle(theirs, "wall_s") or 0) / CREATES_OF_ANSIBLE
        yield Compared(CREATES, "a loop of Ansible's, a create each", each / seconds, None)
    ideal = 2 * LATENCY_MS / 1000 / AT_ONCE
    yield Compared(CREATES, "latency alone, as a share of the wave", ideal / wave, 0.86)
