"""Lives of worlds for hours: script/soak --seeds 0:1000000 --hours 4

With --entries 1000000, manifests that are edited, until so many entries were read in cuts and whole: the two
must be the same.

Prints a line a minute, stops at the first broken rule with the command that plays it again, and writes what
was done as JSON. Exit codes: 0 nothing broken, 1 a rule is broken.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from manifest.cut_files import walk
from simulation.story import Life, lived

every_s = 60.0


def main(arguments: list[str]) -> int:
    """Live through the seeds, as long as the time lasts."""
    asked = _parser().parse_args(arguments)
    first, _, last = asked.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    if asked.entries:
        return _walk_manifests(seeds, asked.entries, asked.hours)
    soak = Soak(time.monotonic(), asked.hours * 3600.0)
    for seed in seeds:
        if soak.over():
            break
        life = lived(seed)
        soak.add(life)
        if life.violations:
            _say(*(f"broken: {what}" for what in life.violations), life.failure())
            break
    soak.write(Path(asked.report))
    _say(soak.line())
    return 1 if soak.violations else 0


def _walk_manifests(seeds: range, entries: int, hours: float) -> int:
    began = told = time.monotonic()
    done = spared = 0
    for seed in seeds:
        now = time.monotonic()
        if done >= entries or now - began >= hours * 3600.0:
            break
        if now - told >= every_s:
            told = now
            _say(f"{done:,} entries up to seed {seed}")
        one = walk(seed)
        done, spared = done + one.entries, spared + one.spared
        if one.broken:
            _say(*(f"broken: {what}" for what in one.broken), f"script/soak --entries 1 --seeds {seed}")
            return 1
    _say(f"{done:,} entries of edited manifests were the same, {spared:,} not read again")
    return 0


class Soak:
    """What was done so far."""

    def __init__(self, began: float, seconds: float) -> None:
        self.violations: list[str] = []
        self._began = began
        self._seconds = seconds
        self._told = began
        self._lives = 0
        self._last = -1
        self._sums: dict[str, Counter[str]] = {"faults": Counter(), "ends": Counter(), "known": Counter()}
        self._counts: Counter[str] = Counter()

    def over(self) -> bool:
        """Whether the time is up; prints a line a minute."""
        now = time.monotonic()
        if now - self._told >= every_s:
            self._told = now
            _say(self.line())
        return now - self._began >= self._seconds

    def add(self, life: Life) -> None:
        """Take a life in."""
        self._lives, self._last = self._lives + 1, life.seed
        self.violations += life.violations
        for name, sums in self._sums.items():
            sums.update(getattr(life, name))
        for name in ("requests", "writes", "edits", "steps"):
            self._counts[name] += getattr(life, name)

    def line(self) -> str:
        """Where it is."""
        past_s = max(time.monotonic() - self._began, 0.001)
        faults = self._sums["faults"].total()
        return (
            f"{past_s / 60:.0f} min: {self._lives:,} worlds up to seed {self._last}, {faults:,} faults "
            f"({faults / past_s:.0f} a second), {self._counts['edits']:,} edits by others, "
            f"{len(self.violations)} rules broken"
        )

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        report: dict[str, Any] = {
            "worlds": self._lives,
            "last seed": self._last,
            "seconds": round(time.monotonic() - self._began, 1),
            "violations": self.violations,
            **{name: dict(sorted(sums.items())) for name, sums in self._sums.items()},
            **self._counts,
        }
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="script/soak", description=__doc__)
    parser.add_argument("--seeds", default="0:1000000", help="FIRST:BEHIND, or one seed")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--entries", type=int, default=0, help="walk through edited manifests instead")
    parser.add_argument("--report", default="soak.json", help="where the numbers go")
    return parser


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
