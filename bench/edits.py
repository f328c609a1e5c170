"""Three edits among many: each command that somebody starts who changes three people, with what it costs.

    .venv/bin/python bench/edits.py 100000

Ten files, then one roster. Everybody is live already and becomes ours with the first apply. Prints a table.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cases import project
from people import FORMS
from processes import Measured, reconciler
from service import sandbox

_EDITED = 3


class _Step(NamedTuple):
    """What somebody does, the command that does it, and how long after the one before."""

    says: str
    command: tuple[str, ...]
    after_s: float = 0


_BEFORE = (
    _Step("the first apply: everybody becomes ours", ("apply", "--yes")),
    _Step("plan, after it", ("plan",)),
    _Step("plan again", ("plan",)),
)
_AFTER = (
    _Step("plan, three people edited", ("plan",)),
    _Step("apply of it", ("apply", "--yes")),
    _Step("plan, after it", ("plan",)),
    # What was written within the settle window and two seconds is read again: it may be shown late (R7).
    _Step("plan, 15 s later", ("plan",), after_s=15),
    _Step("plan again", ("plan",)),
)


def _walked(count: int, form: str) -> Iterator[tuple[str, Measured, int, int]]:
    """Yield each step, what its command cost, its calls and its changes."""
    with sandbox(count) as base_url, project(count, form, base_url) as folder:
        yield from (_done(folder, step) for step in _BEFORE)
        FORMS[form](folder / "manifests", count, edited=range(0, count, count // _EDITED)[:_EDITED])
        yield from (_done(folder, step) for step in _AFTER)


def _done(folder: Path, step: _Step) -> tuple[str, Measured, int, int]:
    time.sleep(step.after_s)
    done = reconciler(folder, *step.command, "--format", "json")
    told = json.loads(done.output)
    if "plan" not in told:
        return step.says, done, sum(told["calls"].values()), len(told["outcomes"])
    calls = sum(read["calls"] for read in told["plan"]["reads"])
    return step.says, done, calls, len(told["plan"]["changes"])


def main() -> None:
    """Print what each step cost."""
    count = int(sys.argv[1])
    sys.stdout.write("| people | in | step | changes | calls | seconds | CPU s | peak MiB |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|---|\n")
    for form, says in (("yaml", "ten files"), ("roster", "one roster")):
        for step, cost, calls, changes in _walked(count, form):
            figures = f"{cost.wall_s:.2f} | {cost.cpu_s:.2f} | {cost.peak_mib:.0f}"
            sys.stdout.write(f"| {count:,} | {says} | {step} | {changes} | {calls:,} | {figures} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
