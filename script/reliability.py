# noqa: INP001 - a script, started by script/reliability; part of no package
"""Writes the table of docs/crash-safety.md from reliability.json: what the suites counted in one whole run.

The page keeps the numbers of the run in which it was written; a later run prints its own.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "crash-safety.md"
BEGIN, END = "<!-- reliability:begin -->", "<!-- reliability:end -->"

# section of the report -> what it is called, which tests count it. The order is that of the table.
ROWS = {
    "faults injected": ("faults injected", "tests/simulation"),
    "duplicates": ("duplicates", "tests/simulation tests/crash tests/lies"),
    "lost updates": ("lost updates outside the published window", "tests/simulation"),
    "unplanned deletes": ("unplanned deletes", "tests/simulation"),
    "crash points": ("crash points: stopped before and after every effect, resumed", ""),
    "real kills": (
        "real kills (SIGKILL) of the command, half of them of timers that call sync",
        "tests/crash",
    ),
    "store kills": ("kills of a process that writes the store as fast as it can", "tests/crash"),
    "signals": ("INT and TERM, once and twice", "tests/crash/test_signals.py"),
    "full disks": ("disks that fill up", "tests/crash/test_disk_full.py"),
    "interleavings": ("interleavings of 2 to 8 runs on one store", ""),
    "own stores": (
        "interleavings of 2 to 8 runs with a store each, kept apart by the lock in the service",
        "tests/simulation tests/crash tests/lies",
    ),
    "lies told": ("answers of a proxy that were not true, before the real command", "tests/lies"),
    "mutated plans refused": ("mutated plans refused", "tests/hostile/test_mutated_plans.py"),
    "mutated plans accepted": ("mutated plans accepted", "tests/hostile/test_mutated_plans.py"),
    "bad inputs": ("named bad inputs that met their expectation", ""),
    "damaged stores": (
        "damages of a store that ended in an error of ours, or changed nothing",
        "tests/hostile tests/cli/test_damaged_store.py",
    ),
    "pairs of identities": (
        "pairs of addresses and phone numbers that are one, or two, as a table says",
        "tests/core/test_identity.py",
    ),
    "fuzz executions": ("fuzz executions without an untyped error", "tests/hostile"),
    "canary runs": ("runs searched for secrets in eight spellings", "tests/hostile"),
    "hostile links": ("hostile links and redirects that got no credential", "tests/hostile"),
    "audit tampering found": ("changes of a history that were found", "tests/core/test_audit.py tests/store"),
    "sabotages caught": ("planted defects that turned a test red", "tests/sabotage"),
    "sabotages missed": ("planted defects that no test noticed", "tests/sabotage"),
    "mutants caught": (
        "planted defects of single statements of the specification that a test of the statement caught",
        "tests/specification",
    ),
    "mutants missed": ("such defects that none of these tests noticed", "tests/specification"),
    "published exceptions seen": ("what is not promised, met on the way and counted", "tests/simulation"),
}


def main() -> int:
    """Return 0 when the page holds the table of the report, 1 when there is no report."""
    path = ROOT / "reliability.json"
    if not path.exists():
        sys.stderr.write("reliability.json is not there.\n  next: run script/prove, all of it\n")
        return 1
    report = json.loads(path.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(table(report)) + "\n" + END + after, encoding="utf-8")
    return 0


def table(report: dict[str, Any]) -> list[str]:
    """Return the lines of the table."""
    lines = ["| what | number | command |", "|---|---|---|"]
    for section, (words, tests) in ROWS.items():
        row = report["sums"].get(section)
        if row is not None:
            lines.append(f"| {words} | {sum(row.values()):,.0f} | `{f'script/prove {tests}'.rstrip()}` |")
    outages = report["peaks"]["amplification"]
    highest = max(outages.values())
    words = f"requests for each call while all of the service fails, in {len(outages)} ways"
    return [*lines, f"| {words} | at most {highest:.2f} | `script/prove tests/service/test_retries.py` |"]


if __name__ == "__main__":
    sys.exit(main())
