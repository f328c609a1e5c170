"""What the reliability suites count: faults, kills, mutations, bad inputs, and what became of them.

A test counts what it did; the process that runs the tests adds it all up (tests/conftest.py), holds it
against REQUIRED, and writes reliability.json. Seeds are fixed, so the same tests give the same numbers,
but for what real processes and real time decide.

    tally.count("faults injected", "reset after the request", 3)
    tally.highest("amplification", "a dead service", 1.11)
    tally.note("seeds of the simulation", "0 to 399")
"""

from collections.abc import Mapping
from typing import Any

import effort

sums: dict[str, dict[str, float]] = {}
peaks: dict[str, dict[str, float]] = {}
notes: dict[str, str] = {}

# section -> the least that a whole run of the tests has to count in it. What must be zero is in ZERO.
REQUIRED: dict[str, float] = {
    "faults injected": 30_000,
    "crash points": 1,
    "real kills": 240,
    "signals": 1,
    "interleavings": 500,
    "own stores": 500,
    "lies told": 600,
    "mutated plans refused": 2_000,
    "bad inputs": 2_400,
    "feeds": 2_650,
    "delta plans": 6_000,
    "damaged stores": 300,
    "pairs of identities": 10_000,
    "hostile replies": 500,
    "good replies": 100,
    "sabotages caught": 1,
    "mutants caught": 240,
}
# section -> kind -> the least of it, some 60 % of what a whole run counts, or of a run before landing where
# that is less. The total of a section says nothing of a kind that no test meets any more.
LEAST: dict[str, dict[str, float]] = {
    "delta plans": {
        "with a rest": 5_000,
        "through the engine": 300,
        "histories in which the service lies": 500,
    },
    "feeds": {
        "histories": 2_000,
        "services that lie": 500,
        "lists that stood still": 400,
        "hostile states of a file": 150,
    },
    "faults injected": {
        # Some forty of each are drawn: their number varies by a third with every change of what is called.
        "simulation: no effect": 22,
        "simulation: done later": 22,
        "simulation: field ignored": 20,
        "simulation: swapped answers": 62,
        "simulation: names another": 58,
        "simulation: cached answer": 138,
        "simulation: absent though there": 500,
        "simulation: shows another": 450,
        "simulation: slow store": 530,
        "simulation: machine with another clock": 1_060,
        "simulation: clock jump": 440,
        "simulation: store removed under a run": 25,
        "simulation: late beyond": 22,
        "side by side: clock jump": 139,
        "side by side: frozen": 190,
    },
    "real kills": {"SIGKILL of a sync": 200},
    "own stores": {"runs in one loop": 500, "real processes": 3, "behind a proxy that lies": 9},
    "crash points": {
        "with a lock in the service: creates with devices": 42,
        "with a lock in the service: deletes": 33,
        "with a lock in the service: one create": 24,
        "with a lock in the service: updates": 36,
    },
    "lies told": {
        "a DELETE without effect": 4,
        "a POST without effect": 7,
        "a PUT without effect": 39,
        "a POST that ignores a field": 1,
        "a PUT that ignores a field": 1,
        "two swapped 201s": 24,
        "one id for several creates": 18,
        "every third answer to a POST is lost": 14,
        "a 404 for one who is listed": 2,
        "a 404 right before a delete": 1,
        "a 404 after a delete that was ignored": 1,
        "a 404 for everything of a workspace": 1,
        "a look that shows another contact": 6,
        "a look that shows another id": 6,
        "a look that shows a redirect": 2,
        "a look that shows gone for good": 2,
        "a look at a merged id": 2,
        "another contact at every look": 3,
        "a create that is written in another way": 3,
        "a create that is written in another way, untold": 3,
        "a create that makes somebody else": 1,
    },
}
ZERO = (
    "duplicates",
    "lost updates",
    "unplanned deletes",
    "sabotages missed",
    "mutants missed",
    "mutated plans accepted",
    "approvals by hostile replies",
)
AT_MOST: dict[str, float] = {"amplification": 1.2}


def count(section: str, key: str, number: float = 1) -> None:
    """Add `number` to a key of a section; 0 makes it stand there as zero."""
    row = sums.setdefault(section, {})
    row[key] = row.get(key, 0) + number


def highest(section: str, key: str, value: float) -> None:
    """Keep the highest value seen."""
    row = peaks.setdefault(section, {})
    row[key] = max(row.get(key, value), value)


def note(what: str, text: str) -> None:
    """Keep a text that the report shall hold, such as the seeds with which it can be repeated."""
    notes[what] = text


def collected() -> dict[str, Any]:
    """Everything counted here, as plain values."""
    return {"sums": sums, "peaks": peaks, "notes": notes}


def add(other: Mapping[str, Any]) -> None:
    """Add what another process counted."""
    for section, row in other["sums"].items():
        for key, number in row.items():
            count(section, key, number)
    for section, row in other["peaks"].items():
        for key, value in row.items():
            highest(section, key, value)
    notes.update(other["notes"])


def shortfalls(counted: Mapping[str, Any] | None = None) -> list[str]:
    """Say what a whole run of the tests has not shown, a sentence each. Without `counted`: this process."""
    told, share = counted or collected(), effort.least_share()
    rows: Mapping[str, Mapping[str, float]] = told["sums"]
    totals = {section: sum(row.values()) for section, row in rows.items()}
    found = [
        f"{section}: {totals.get(section, 0):,.0f}, and {least:,.0f} are needed"
        for section, whole in REQUIRED.items()
        if totals.get(section, 0) < (least := max(1, whole * share))
    ]
    found += [
        f"{section}, {kind}: {rows.get(section, {}).get(kind, 0):,.0f}, and {least:,.0f} are needed"
        for section, kinds in LEAST.items()
        for kind, whole in kinds.items()
        if rows.get(section, {}).get(kind, 0) < (least := max(1, whole * share))
    ]
    found += [f"{section}: never looked for" for section in ZERO if section not in rows]
    found += [
        f"{section}: {totals[section]:,.0f}, and none may be" for section in ZERO if totals.get(section)
    ]
    for section, most in AT_MOST.items():
        row = told["peaks"].get(section, {})
        found += [] if row else [f"{section}: never measured"]
        found += [
            f"{section}, {key}: {value:.2f}, and {most} is the limit"
            for key, value in row.items()
            if value > most
        ]
    return found


def total(section: str) -> float:
    """Everything counted in a section."""
    return sum(sums.get(section, {}).values())
