"""The cases of script/bench: what is run, on what, in which order. All of it is the outside of programs.

Cases of one group share a project and a sandbox, and their runs take turns, so that a machine that grows
slower while it is measured is slower for each of them alike.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import peers
from people import FORMS, one_in_a_hundred
from processes import Measured, measure, reconciler
from service import edit_live, sandbox

HERE = Path(__file__).parent
AT_ONCE, LATENCY_MS = 16, 20
CREATES, CREATES_OF_ANSIBLE, MANY_CREATES = 1000, 40, 20_000
EDITED_ELSEWHERE = 100
_FILES_UNTIL = 250_000  # people; ten files of more are refused (10 MiB each), and a roster is not
_STOCK_UNTIL = 10_000  # people; beyond it the stock way takes minutes, and its share is known
_SETTINGS = """\
version: 1
manifests: [manifests/]
service:
  base_url: {base_url}
  auth: {{username: {{env: DEMO_USER}}, password: {{env: DEMO_PASSWORD}}, api_key: {{env: DEMO_KEY}}}}
  limits: {{requests_per_second: {rate}, concurrency: {at_once}}}
workspaces: {{default: {{}}}}
"""

Runs = Mapping[str, Callable[[], Measured]]


class Case(NamedTuple):
    """One row: how many people it is about, and each of its runs. Calls are told by our commands alone."""

    contacts: int
    name: str
    runs: tuple[Measured, ...]
    calls: int | None = None


@contextmanager
def project(count: int, form: str, base_url: str, *, rate: int = 0, at_once: int = AT_ONCE) -> Iterator[Path]:
    """Make a project that declares so many people, and yield its folder. A rate of 0 is no limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "manifests").mkdir()
        text = _SETTINGS.format(base_url=base_url, rate=rate, at_once=at_once)
        (folder / "reconciler.yaml").write_text(text, encoding="utf-8")
        FORMS[form](folder / "manifests", count)
        yield folder


def plans(count: int, runs: int, *, with_peers: bool) -> Iterator[Case]:
    """Yield what reads and compares: our plans, the ideal lines, and the peers."""
    if count <= _FILES_UNTIL:
        yield from _of_files(count, runs, with_peers=with_peers)
    with sandbox(count) as base_url, project(count, "roster", base_url) as folder:
        reconciler(folder, "apply", "--yes")
        yield from _in_turn(count, 1, {"plan of a roster, after an apply": lambda: _plan(folder)})
        yield from _in_turn(count, runs, {"plan of a roster, nothing to do": lambda: _plan(folder)})


def _of_files(count: int, runs: int, *, with_peers: bool) -> Iterator[Case]:
    with sandbox(count) as base_url, project(count, "yaml", base_url) as folder:
        yield from _in_turn(count, 1, {"plan, nobody recorded": lambda: _plan(folder)})
        reconciler(folder, "apply", "--yes")
        # The records have changed: the first plan after it loads them. Every later one finds this plan again.
        yield from _in_turn(count, 1, {"plan, after an apply": lambda: _plan(folder)})
        steady: dict[str, Callable[[], Measured]] = {
            "plan, nothing to do": lambda: _plan(folder),
            "validate": lambda: reconciler(folder, "validate", "--no-cache"),
            "validate, unchanged files": lambda: reconciler(folder, "validate"),
            "ideal: start": lambda: _ideal("start"),
            "ideal: fetch": lambda: _ideal("fetch", base_url, count),
            "ideal: parse": lambda: _ideal("parse", folder / "manifests"),
        }
        if with_peers and count <= _STOCK_UNTIL:
            steady["peer: stock script"] = lambda: peers.stock(folder / "manifests", base_url)
        with tempfile.TemporaryDirectory() as zone:
            if with_peers:
                steady["peer: octoDNS, nothing to do"] = lambda: peers.octodns(
                    Path(zone), count, differing=False
                )
            yield from _in_turn(count, runs, steady)
        yield from _edited(count, runs, folder, with_peers=with_peers)
        elsewhere = min(EDITED_ELSEWHERE, count // 10)
        edit_live(base_url, range(elsewhere))
        yield from _in_turn(count, runs, {f"plan, {elsewhere} edited elsewhere": lambda: _plan(folder)})


def _edited(count: int, runs: int, folder: Path, *, with_peers: bool) -> Iterator[Case]:
    """Yield the plan of an edit of one in a hundred, beside octoDNS with one in a hundred that differ."""
    FORMS["yaml"](folder / "manifests", count, edited=one_in_a_hundred(count))
    with tempfile.TemporaryDirectory() as zone:
        octodns = {"peer: octoDNS": lambda: peers.octodns(Path(zone), count, differing=True)}
        beside = octodns if with_peers else {}
        yield from _in_turn(
            count, runs, {"plan, one in 100 edited": lambda: _plan(folder, "--no-cache"), **beside}
        )
    FORMS["yaml"](folder / "manifests", count)


def applies(runs: int, *, with_peers: bool) -> Iterator[Case]:
    """Yield creates at a service that takes its time: ours, and a loop of Ansible's."""
    for _ in range(runs):
        with sandbox(0, "--latency-ms", str(LATENCY_MS)) as base_url:
            with project(CREATES, "yaml", base_url) as folder:
                done = reconciler(folder, "apply", "--yes", "--format", "json")
            calls = sum(json.loads(done.output)["calls"].values())
            yield Case(CREATES, "apply, creates", (done,), calls)
    if with_peers:
        with sandbox(0, "--latency-ms", str(LATENCY_MS)) as base_url, tempfile.TemporaryDirectory() as name:
            done = peers.ansible(Path(name), base_url, CREATES_OF_ANSIBLE)
            yield Case(CREATES_OF_ANSIBLE, "peer: Ansible, creates", (done,), 2 * CREATES_OF_ANSIBLE)


def memory() -> Iterator[Case]:
    """Yield many creates, of which the growth counts."""
    with sandbox(0) as base_url, project(MANY_CREATES, "yaml", base_url) as folder:
        done = reconciler(folder, "apply", "--yes", "--format", "json", sampled=True)
        calls = sum(json.loads(done.output)["calls"].values())
        yield Case(MANY_CREATES, "apply, creates", (done,), calls)


def starts(runs: int) -> Iterator[Case]:
    """Yield the shortest command, beside an interpreter that does nothing."""
    shortest: Runs = {
        "--version": lambda: reconciler(HERE, "--version"),
        "ideal: python": lambda: measure([sys.executable, "-c", "pass"], cwd=HERE),
    }
    yield from _in_turn(0, 5 * runs, shortest)


def _in_turn(count: int, runs: int, each: Runs) -> Iterator[Case]:
    """Run each of them in turn, so many times."""
    done: dict[str, list[Measured]] = {name: [] for name in each}
    for _ in range(runs):
        for name, run in each.items():
            done[name].append(run())
    for name, measured in done.items():
        yield Case(count, name, tuple(measured), _calls(measured[0]) if name.startswith("plan") else None)


def _plan(folder: Path, *options: str) -> Measured:
    return reconciler(folder, "plan", "--format", "json", *options)


def _calls(planned: Measured) -> int:
    return sum(read["calls"] for read in json.loads(planned.output)["plan"]["reads"])


def _ideal(what: str, *given: object) -> Measured:
    return measure([sys.executable, HERE / "ideal.py", what, *map(str, given)], cwd=HERE)
