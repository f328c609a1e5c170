"""The bench measures what it says, and what it counts holds: calls and memory, never seconds."""

import json
import subprocess
import sys
from pathlib import Path

import effort
import pytest

ROOT = Path(__file__).parents[2]
PEOPLE = effort.count(small=40, full=10_000)
_CEILING_MIB = 160  # of 10,000 people; the manifests alone are 3 MiB


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], dict[str, float]]:
    """Run the bench without peers and writes, and return its cases."""
    file = tmp_path_factory.mktemp("bench") / "results.json"
    command = [sys.executable, str(ROOT / "bench/measure.py"), str(PEOPLE), "--runs", "1", "--no-peers"]
    done = subprocess.run(
        [*command, "--no-applies", "--output", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"| {PEOPLE:,} | plan, nothing to do |" in done.stdout
    told = json.loads(file.read_text(encoding="utf-8"))
    return {(case["contacts"], case["case"]): case for case in told["cases"]}


@effort.proofs_only()
def test_a_plan_takes_the_calls_of_its_pages(results: dict[tuple[int, str], dict[str, float]]) -> None:
    """One call for 20 rows and one more, whoever is recorded and whatever was edited."""
    elsewhere = min(100, PEOPLE // 10)
    for name in ("nobody recorded", "nothing to do", "one in 100 edited", f"{elsewhere} edited elsewhere"):
        assert results[PEOPLE, f"plan, {name}"]["calls"] <= PEOPLE / 20 + 2, name


@effort.proofs_only()
def test_a_plan_that_is_found_again_loads_no_records(
    results: dict[tuple[int, str], dict[str, float]],
) -> None:
    """R10, as a user meets it: one call, and the memory of the manifests alone."""
    again, made = results[PEOPLE, "plan, nothing to do"], results[PEOPLE, "plan, after an apply"]

    # Of few people nothing is kept: their two pages are read each time.
    assert again["calls"] == made["calls"] == effort.count(small=2, full=1)
    assert again["peak_mib"] <= 110
    assert again["peak_mib"] < made["peak_mib"] - effort.count(small=-20, full=15)


@effort.proofs_only()
def test_a_plan_stays_below_its_ceiling(results: dict[tuple[int, str], dict[str, float]]) -> None:
    for (people, name), case in results.items():
        assert not people or case["peak_mib"] <= _CEILING_MIB, name
