# noqa: INP001 - a script, started by script/flaky; part of no package
"""Runs the tests under conditions that must not matter, and prints what failed under which.

Each run has a clone of its own, made under the umask of the run, so that the files have the modes that they
have for somebody with that umask. What the runs printed stays in the folder that is named at the end.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from sabotage.workshop import interpreter  # noqa: E402 - found by the line above


class Condition(NamedTuple):
    """What is different in a run. Every run has an order of its own besides."""

    name: str
    umask: int = 0o022
    environ: Mapping[str, str] = {}
    closed: str = ""  # what the shell closes before it starts the tests
    ignored: str = ""  # the signals that are ignored: by nohup, and by a shell for its background jobs
    pytest: tuple[str, ...] = ()


_NOWHERE = {"HOME": "/nonexistent/home", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": ""}
_FAR = {"TZ": "Pacific/Kiritimati"}
_PLAIN = {"LANG": "C", "LC_ALL": "C"}

CONDITIONS = (
    Condition("another order"),
    Condition("other seeds", environ={"HYPOTHESIS_PROFILE": "random"}),
    Condition("umask 002", umask=0o002),
    Condition("umask 077", umask=0o077),
    Condition("TZ=Pacific/Kiritimati", environ=_FAR),
    Condition("LANG=C", environ=_PLAIN),
    Condition("no home, signals ignored", environ=_NOWHERE, ignored="HUP INT"),
    Condition("standard input closed", closed="<&-"),
    Condition("all of it", umask=0o002, environ={**_FAR, **_PLAIN, **_NOWHERE}, closed="<&-"),
    Condition("all streams closed", umask=0o077, closed="<&- >&- 2>&-"),
)


_NOTHING = 5  # pytest's own exit code: a quick run has no tests of a module of long suites alone


class Result(NamedTuple):
    """How a run ended: its exit code, its last line, and the tests that failed."""

    name: str
    code: int
    took_s: float
    counts: str
    failed: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for. Returns 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="script/flaky")
    parser.add_argument("tests", nargs="*", help="folders and files; all of script/test without any")
    parser.add_argument("--runs", type=int, default=len(CONDITIONS))
    parser.add_argument(
        "--only", metavar="WORDS", default="", help="the conditions that have these in their names"
    )
    parser.add_argument("--modules", action="store_true", help="run each test module alone")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of the orders")
    asked = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp(prefix="flaky-"))
    # All runs test the same commit, whatever is committed in the hour that they take.
    held = git_clone(ROOT, place / "held")
    results = []
    for result in alone(asked.tests, place, held) if asked.modules else again(asked, place, held):
        results.append(result)
        print(line(result), flush=True)  # noqa: T201 - a script
        for test in result.failed:
            print(f"     {test}", flush=True)  # noqa: T201 - a script
    bad = [result for result in results if result.code]
    print(f"{len(results)} runs, {len(bad)} with failures; seed {asked.seed}; output in {place}")  # noqa: T201
    return 1 if bad else 0


def line(result: Result) -> str:
    """Return a row of the table."""
    return f"{'FAIL' if result.code else 'ok':4} {result.took_s:6.0f} s  {result.name:60} {result.counts}"


def again(asked: argparse.Namespace, place: Path, held: Path) -> Iterator[Result]:
    """Run the same tests under one condition after the other."""
    conditions = [one for one in CONDITIONS if asked.only in one.name]
    for number in range(asked.runs if conditions else 0):
        condition = conditions[number % len(conditions)]
        order = ("--shuffle", str(asked.seed + number), "--effort", "quick", *asked.tests)
        yield run(condition, order, place / str(number + 1), f"{number + 1}. {condition.name}", held)


def alone(tests: Sequence[str], place: Path, held: Path) -> Iterator[Result]:
    """Run each test module in a process of its own, as many at a time as there are cores.

    None may need what another one does.
    """
    folder = clone(held, place / "clone", umask=0o022)
    named = [folder / name for name in tests or ["tests"]]
    found = [path for one in named for path in ([one] if one.is_file() else sorted(one.rglob("test_*.py")))]

    def one(number: int, path: Path) -> Result:
        name = path.relative_to(folder).as_posix()
        words = [".venv/bin/python", "-m", "pytest", "-q", "--effort", "quick", name]
        result = ran(words, folder, place / f"{number}.log", name, Condition(name))
        return result._replace(code=0) if result.code == _NOTHING else result

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, range(1, len(found) + 1), found)


def run(condition: Condition, arguments: Sequence[str], place: Path, name: str, held: Path) -> Result:
    """Run the tests in a clone of their own."""
    place.mkdir()
    folder = clone(held, place / "clone", umask=condition.umask)
    words = ["script/pytest-in-parallel", "-q", *condition.pytest, *arguments]
    return ran(words, folder, place / "log", name, condition)


def ran(words: Sequence[str], folder: Path, log: Path, name: str, condition: Condition) -> Result:
    """Run these words as the condition has it. No terminal, and nothing of a session that started us."""
    environ = {
        key: text for key, text in os.environ.items() if not key.startswith(("PYTEST_", "RECONCILER_"))
    }
    began = time.monotonic()
    ignored = f'trap "" {condition.ignored}; ' if condition.ignored else ""
    start = f'{ignored}exec "$@" {condition.closed}'
    # Failures are read from a file, because a stream that is closed tells nothing.
    report = log.with_suffix(".xml")
    with log.open("wb") as out:
        done = subprocess.run(  # noqa: S603 - our own tests
            ["/bin/sh", "-c", start, "sh", *words, f"--junit-xml={report}"],
            cwd=folder,
            env={**environ, **condition.environ},
            stdin=None if condition.closed else subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            umask=condition.umask,
            check=False,
        )
    return Result(name, done.returncode, time.monotonic() - began, *told(report))


def told(report: Path) -> tuple[str, tuple[str, ...]]:
    """Return how many tests ran, in words, and the names of those that failed."""
    if not report.exists():
        return "ended without a report", ()
    cases = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314 - pytest wrote it
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    names = tuple(f"{case.get('classname')}::{case.get('name')}" for case in bad)
    return f"{len(cases)} tests, {len(bad)} failed", names


def clone(held: Path, folder: Path, *, umask: int) -> Path:
    """Make a clone with an interpreter that finds the clone's package, and all else where ours does."""
    before = os.umask(umask)
    try:
        interpreter(git_clone(held, folder))
    finally:
        os.umask(before)
    return folder


def git_clone(repository: Path, folder: Path) -> Path:
    """Make a clone that shares no file with the repository."""
    words = ["git", "clone", "--quiet", "--no-hardlinks", str(repository), str(folder)]
    subprocess.run(words, check=True)  # noqa: S603 - our own repository
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
