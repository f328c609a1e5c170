"""Results as JSON and as Markdown, with the machine and the commit that they belong to."""

import os
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from budgets import FIGURES, Compared, compared, judged, middle
from stages import Case

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
_LOOP = 20_000_000


def machine() -> dict[str, Any]:
    """Return where and of what was measured, with how fast this interpreter adds."""
    began = time.perf_counter()
    total = 0
    for number in range(_LOOP):
        total += number
    seconds = time.perf_counter() - began
    commit, edited = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "-uno")
    return {
        "commit": commit + ("+dirty" if edited else ""),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "additions_20m_s": round(seconds, 2),
    }


def _git(*arguments: str) -> str:
    command = ["git", *arguments]  # whichever git there is
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def write_into_page(program: str, text: str) -> None:
    """Put the output of a program into docs/performance.md, between its two lines there."""
    begin, end = f"<!-- {program} --write -->\n", f"<!-- end of {program} -->\n"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text(f"{before}{begin}{text}{end}{rest.split(end)[1]}", encoding="utf-8")


def measured_at(where: dict[str, Any]) -> str:
    """Return the sentences about the machine that stand above each table."""
    return (
        f"Measured at commit {where['commit']} with Python {where['python']} on {where['cores']} cores; "
        f"a loop of 20 million additions takes {where['additions_20m_s']} s there. Medians, with the lowest "
        "and the highest of the runs where there were several. Our program and octoDNS were compiled before, "
        "except where a row says *not compiled*."
    )


def as_json(where: dict[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """Return everything, each figure with its median and its runs."""
    return {
        "version": 1,
        "machine": where,
        "cases": [_case(case) for case in cases],
        "ratios": [one._asdict() for one in compared(cases)],
    }


def _case(case: Case) -> dict[str, Any]:
    figures = {figure: middle(case, figure) for figure, _ in FIGURES}
    runs = {
        figure: [round(value, 3) for run in case.runs if (value := getattr(run, figure)) is not None]
        for figure, _ in FIGURES
        if figure != "calls"
    }
    asked = [{"budget": one.says, "met": one.met} for one in judged(case)]
    return {"contacts": case.contacts, "case": case.name, **figures, "runs": runs, "budgets": asked}


def as_markdown(where: dict[str, Any], cases: Sequence[Case]) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield measured_at(where)
    yield ""
    yield from case_rows(cases)
    yield ""
    yield "| contacts | beside | times | asked |"
    yield "|---|---|---|---|"
    yield from map(_ratio, compared(cases))


def case_rows(cases: Iterable[Case]) -> Iterator[str]:
    """Yield the lines of the table of cases."""
    yield "| contacts | case | calls | seconds | CPU s | peak MiB | asked |"
    yield "|---|---|---|---|---|---|---|"
    yield from map(_row, cases)


def _row(case: Case) -> str:
    asked = "; ".join(one.says if one.met else f"{one.says}: **missed**" for one in judged(case))
    grown = middle(case, "grown_mib")
    peak = f"{middle(case, 'peak_mib'):.0f}" + (
        f" ({grown:+.0f} from start to end)" if grown is not None else ""
    )
    calls = "" if case.calls is None else f"{case.calls:,}"
    count = f"{case.contacts:,}" if case.contacts else ""
    seconds, cpu = _spread(case, "wall_s"), _spread(case, "cpu_s")
    if middle(case, "wave_s") is not None:
        seconds += f"; the waves alone {_spread(case, 'wave_s')}"
    return f"| {count} | {case.name} | {calls} | {seconds} | {cpu} | {peak} | {asked} |"


def _spread(case: Case, figure: str) -> str:
    values = [getattr(run, figure) for run in case.runs]
    middle_one = f"{middle(case, figure):.2f}"
    return middle_one if len(values) == 1 else f"{middle_one} ({min(values):.2f} to {max(values):.2f})"


def _ratio(one: Compared) -> str:
    asked = "" if one.asked is None else f"≥ {one.asked}" + ("" if one.times >= one.asked else ": **missed**")
    return f"| {one.contacts:,} | {one.says} | {one.times:.2f} | {asked} |"
