"""What holds for every test: generated examples are the same in every run, unless chance is asked for.

A change must not fail because of an example that has nothing to do with it. `HYPOTHESIS_PROFILE=random
script/test` looks for new ones; what it finds becomes an `@example`, a golden folder or a named case.
"""

import gc
import json
import os
import signal
import sys
from pathlib import Path
from random import Random
from typing import Any

import effort
import memory
import pytest
import tally
from hypothesis import HealthCheck, settings

NOTHING: dict[str, dict[str, Any]] = {"sums": {}, "peaks": {}, "notes": {}}
REPORT = Path(__file__).parents[1] / "reliability.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say how much is carried out, and in which order."""
    group = parser.getgroup("reconciler")
    group.addoption("--effort", choices=effort.LEVELS, default="", help="how much is tried (tests/effort.py)")
    group.addoption("--shuffle", metavar="SEED", default="", help="run the tests in an order drawn from this")


def pytest_configure(config: pytest.Config) -> None:
    """Everything at once is a quick run, unless a level is asked for."""
    if hasattr(config, "workerinput"):
        config.option.effort = config.workerinput["effort"]
    else:
        if _is_whole(config) and not config.option.effort:
            config.option.effort = "quick"
        if getattr(config.option, "numprocesses", None):
            memory.begin()
    effort.begin(config.option.effort)
    gc.disable()  # until everything is collected, which is nearly all kept
    # Compiling everything anew in every worker and every command was a quarter of the work of a run.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.umask(0o022)  # what files others may write is a claim of some tests, and no setting of who runs them
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # nohup, and a shell's background jobs
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # or every command of a test would be deaf to it as well
    # Time says nothing about right or wrong on a machine that others use too.
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    examples = effort.count(small=20, full=100)
    settings.register_profile("fixed", derandomize=True, max_examples=examples, **common)
    settings.register_profile("random", print_blob=True, **common)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_unconfigure() -> None:
    """Leave nothing in memory: this comes after all workers have ended."""
    memory.end()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker the level: of the options it knows only those of the command line."""
    node.workerinput["effort"] = node.config.option.effort


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over what the proofs leave out: importing it took a worker ten seconds, each of them."""
    is_module = config.option.effort in effort.PROOFS and collection_path.name.startswith("test_")
    return True if is_module and not effort.counts(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the level leaves out, and shuffle where that is asked for: alike in every worker."""
    kept = effort.chosen(items)
    taken = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    if config.option.shuffle:
        Random(config.option.shuffle).shuffle(kept)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Keep what was collected out of the way of the garbage collector, which goes through it for ever."""
    gc.collect()
    gc.freeze()
    # The program has its own threshold too. With that of the interpreter more than half of the time of a test
    # that reads every source went into looking through what it keeps.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what was counted to whoever adds it up; there, hold it against what a whole run has to show."""
    worker = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker["tally"] = json.dumps(tally.collected())
        return
    if not _is_proof(session.config):
        return
    REPORT.write_text(json.dumps(_report(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if tally.shortfalls() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what a worker counted."""
    tally.add(json.loads(getattr(node, "workeroutput", {}).get("tally", json.dumps(NOTHING))))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print every number, and what is missing of a whole run."""
    if not (tally.sums or tally.peaks):
        return
    terminalreporter.section("reliability")
    for section in sorted(tally.sums):
        row = ", ".join(f"{key} {value:,.0f}" for key, value in sorted(tally.sums[section].items()))
        terminalreporter.write_line(f"{section}: {tally.total(section):,.0f} ({row})")
    for section, row_ in sorted(tally.peaks.items()):
        terminalreporter.write_line(f"{section}: at most {max(row_.values()):.2f}")
    for shortfall in tally.shortfalls() if _is_proof(config) else ():
        terminalreporter.write_line(f"SHORT: {shortfall}", red=True)


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests were asked for."""
    chosen = config.option.keyword or config.option.markexpr or config.option.collectonly
    return not chosen and list(config.args) == list(config.getini("testpaths"))


def _is_proof(config: pytest.Config) -> bool:
    """Whether this run has to show the numbers of the report."""
    return config.option.effort in effort.PROOFS and _is_whole(config)


def _report() -> dict[str, Any]:
    short = tally.shortfalls()
    return {"green": not short, "shortfalls": short, **tally.collected()}
