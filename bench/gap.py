"""How much time lies between the answer to a look and its write, as the run report tells it.

    .venv/bin/python bench/gap.py

A sandbox of its own process takes 20 ms for each answer. Each row is one `reconciler apply` of creates at a
rate (10 a second, or without a limit) and with so many changes at once; `throttled`: one request in twelve is
answered 429. The numbers are those of `gap` in the report; nothing is written but to stdout.
"""

import json
from typing import Any

import httpx2
from cases import LATENCY_MS, project
from processes import reconciler
from service import sandbox

_ENDED = range(9)  # under 429s a run may end in part; its report is what counts
ROWS = [(rate, at_once, throttled) for throttled in (False, True) for rate in (10, 0) for at_once in (8, 64)]


def measured(rate: int, at_once: int, *, throttled: bool) -> dict[str, Any]:
    """Return the report of one apply."""
    count = 40 if rate else 100 if throttled else 400
    with (
        sandbox(0, "--latency-ms", str(LATENCY_MS)) as base_url,
        project(count, "yaml", base_url, rate=rate, at_once=at_once) as folder,
    ):
        if throttled:
            slow_down(base_url)
        done = reconciler(folder, "apply", "--yes", "--format", "json", allowed=_ENDED)
        report: dict[str, Any] = json.loads(done.output)
        return report


def slow_down(base_url: str) -> None:
    """Answer one request in twelve with 429, by chance with a fixed seed."""
    rule = {
        "fault": "refused-before",
        "status": 429,
        "times": None,
        "probability": 0.08,
        "seed": 7,
        "path": "*/contacts*",
    }
    httpx2.post(f"{base_url}/_sandbox/faults", json=rule, auth=("demo", "demo")).raise_for_status()


def main() -> None:
    """Print one line a row."""
    print("| calls a second | at once | 429s | writes | median | 99 % within | held back | outcome |")
    print("|---|---|---|---|---|---|---|---|")
    for rate, at_once, throttled in ROWS:
        report = measured(rate, at_once, throttled=throttled)
        gap = report["gap"] or {"writes": 0, "median_ms": 0, "p99_ms": 0, "looked_again": 0}
        cells = [
            str(rate or "no limit"),
            str(at_once),
            "one in twelve" if throttled else "none",
            str(gap["writes"]),
            f"{gap['median_ms']:g} ms",
            f"{gap['p99_ms']:g} ms",
            str(gap["looked_again"]),
            report["outcome"],
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
