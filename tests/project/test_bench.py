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


# Each step of the walk, and the most that it may take of PEOPLE: calls beside those of its lists, MiB.
_STEPS = {
    "apply, everybody becomes ours": (PEOPLE // 20 + 1, effort.count(small=90, full=130)),
    "plan, after an apply": (3, effort.count(small=90, full=125)),
    "plan, nothing to do": (2, effort.count(small=80, full=80)),
    "plan, three people edited": (3, effort.count(small=90, full=125)),
    "apply, three people edited": (12, effort.count(small=90, full=125)),
    "plan, after that apply": (3, effort.count(small=90, full=125)),
}


@pytest.mark.parametrize(
    ("form", "suffix"),
    [("fleet", ", many workspaces"), ("yaml", ""), ("roster", ", one roster")],
    ids=["a file for each of many workspaces", "files", "one roster"],
)
@effort.sample(1)
def test_three_edits_cost_few_calls_and_no_more_memory_than_allowed(
    form: str, suffix: str, tmp_path: Path
) -> None:
    """Apply, plan, edit three, plan, apply, plan: each step finds its changes and keeps its ceilings."""
    file = tmp_path / "results.json"
    rows = [word for step in _STEPS for word in ("--rows", step + suffix)]
    command: list[str | Path] = [
        sys.executable,
        str(ROOT / "bench/edits.py"),
        str(PEOPLE),
        "--form",
        form,
        *rows,
    ]
    done = subprocess.run([*command, "--output", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {case["case"]: case for case in json.loads(file.read_text(encoding="utf-8"))["cases"]}

    lists = effort.count(small=4, full=20) if form == "fleet" else 1
    for step, (calls, peak_mib) in _STEPS.items():
        assert found[step + suffix]["calls"] <= calls + lists, step
        assert found[step + suffix]["peak_mib"] <= peak_mib, step


def test_a_row_is_measured_by_itself_with_what_it_needs_before(tmp_path: Path) -> None:
    """`--rows`: the apply before it is carried out and not told; nothing after it, and no other group."""
    file = tmp_path / "results.json"
    options = ["40", "--runs", "1", "--no-peers", "--rows", "plan, after an apply, one roster"]
    done = subprocess.run(
        [sys.executable, ROOT / "bench/measure.py", *options, "--output", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    assert [case["case"] for case in json.loads(file.read_text(encoding="utf-8"))["cases"]] == [
        "plan, after an apply, one roster"
    ]


def test_a_small_command_is_not_charged_the_memory_of_who_measures_it() -> None:
    """Linux counts the memory of the program that starts another one until the other is loaded."""
    code = (
        "import sys; sys.path.insert(0, 'bench'); from pathlib import Path; import processes; "
        "held = bytearray(200 * 2**20); "
        "print(processes.measure([sys.executable, '-c', ''], cwd=Path()).peak_mib)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert float(done.stdout) < 50


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
    assert again["peak_mib"] < made["peak_mib"] - effort.count(small=-20, full=8)


@effort.proofs_only()
def test_a_first_plan_holds_no_rows_of_its_list(
    results: dict[tuple[int, str], dict[str, float]],
) -> None:
    """Each row is judged when its page arrives: held, those of 10,000 people are 14 MiB more."""
    assert results[PEOPLE, "plan, nobody recorded"]["peak_mib"] <= 95


@effort.proofs_only()
def test_a_plan_stays_below_its_ceiling(results: dict[tuple[int, str], dict[str, float]]) -> None:
    for (people, name), case in results.items():
        assert not people or case["peak_mib"] <= _CEILING_MIB, name
