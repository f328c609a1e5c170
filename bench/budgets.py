"""What each case may cost at most, and which figures are told as ratios. One table each."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from cases import AT_ONCE, CREATES, CREATES_OF_ANSIBLE, LATENCY_MS, MANY_CREATES, Case
from processes import Measured


class Budget(NamedTuple):
    """The most that one case may cost; None: nothing is asked."""

    case: str
    contacts: int
    calls: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_mib: float | None = None
    grown_mib: float | None = None


BUDGETS = (
    Budget("plan, nothing to do", 1000, calls=3, cpu_s=0.25),
    Budget("plan, nothing to do", 10_000, calls=3, cpu_s=0.4, peak_mib=110),
    Budget("plan, nothing to do", 100_000, calls=3, cpu_s=1.5, peak_mib=200),
    Budget("plan, nobody recorded", 1000, calls=52),
    Budget("plan, nobody recorded", 10_000, calls=502, cpu_s=0.9, peak_mib=110),
    Budget("plan, nobody recorded", 100_000, calls=5002, cpu_s=6, peak_mib=300),
    Budget("plan, 100 edited elsewhere", 1000, calls=8),
    Budget("plan, 100 edited elsewhere", 10_000, calls=8),
    Budget("plan, 100 edited elsewhere", 100_000, calls=8),
    Budget("validate", 100_000, cpu_s=3),
    Budget("validate, unchanged files", 100_000, cpu_s=0.6),
    Budget("plan of a roster, nothing to do", 1_000_000, calls=3, cpu_s=15, peak_mib=1536),
    Budget("apply, creates", CREATES, calls=2 * CREATES + 2, wall_s=2.9),
    Budget("apply, creates", MANY_CREATES, grown_mib=60),
    Budget("--version", 0, cpu_s=0.12),
)
FIGURES: tuple[tuple[str, str], ...] = (
    ("calls", "calls"),
    ("wall_s", "s"),
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


def judged(case: Case) -> Iterator[tuple[str, bool]]:
    """Yield what was asked of a case, in words, and whether it was met."""
    for budget in BUDGETS:
        if (budget.case, budget.contacts) == (case.name, case.contacts):
            for figure, unit in FIGURES:
                limit, found = getattr(budget, figure), middle(case, figure)
                if limit is not None and found is not None:
                    yield f"≤ {limit:,} {unit}", found <= limit


class Ratio(NamedTuple):
    """How many times less we need than something beside us. `asked` by the number of people."""

    says: str
    ours: str
    theirs: str
    figure: str
    asked: dict[int, float]


RATIOS = (
    Ratio("octoDNS, first plan", "plan, nobody recorded", "peer: octoDNS", "cpu_s", {10_000: 3, 100_000: 9}),
    Ratio(
        "octoDNS, nothing to do, by feed and cache",
        "plan, nothing to do",
        "peer: octoDNS, nothing to do",
        "cpu_s",
        {10_000: 6, 100_000: 20},
    ),
    Ratio(
        "octoDNS, one in 100 edited, every file read", "plan, one in 100 edited", "peer: octoDNS", "cpu_s", {}
    ),
    Ratio("a stock script", "plan, nothing to do", "peer: stock script", "cpu_s", {}),
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
    if theirs:
        each = (middle(theirs, "wall_s") or 0) / CREATES_OF_ANSIBLE
        yield Compared(CREATES, "a loop of Ansible's, a create each", each / seconds, None)
    ideal = 2 * LATENCY_MS / 1000 / AT_ONCE
    yield Compared(CREATES, "latency alone, as a share of our time", ideal / seconds, 0.85)


def merged(cases: Iterable[Case]) -> list[Case]:
    """Put runs of the same case together, in the order in which they came first."""
    found: dict[tuple[int, str], Case] = {}
    for case in cases:
        key = (case.contacts, case.name)
        before: tuple[Measured, ...] = found[key].runs if key in found else ()
        found[key] = case._replace(runs=(*before, *case.runs))
    return list(found.values())
