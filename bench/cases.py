"""The cases of script/bench: what is run, on what, in which order. All of it is the outside of programs.

Each group has a project and a sandbox of its own. Rows of one stage take turns (bench/stages.py).
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import count as count_up
from pathlib import Path

import peers
from people import FORMS, one_in_a_hundred, one_in_each_file, workspaces_of
from processes import Measured, measure, reconciler, uncompiled_copy
from service import edit_live, fleet_sandbox, sandbox
from stages import Group, Row, Stage, Stand
from walk import PLAN_NOTHING, PLAN_THREE, Beside, plan, walk

from reconciler.sandbox.config import workspace_id

HERE = Path(__file__).parent
AT_ONCE, LATENCY_MS = 16, 20
CREATES, CREATES_OF_ANSIBLE, MANY_CREATES = 1000, 40, 20_000
EDITED_ELSEWHERE = 100
_FILES_UNTIL = 250_000  # people; ten files of more are refused (10 MiB each), and a roster is not
_FLEET_FROM = 10_000  # people; fewer are no fleet
_STOCK_UNTIL = 10_000  # people; beyond it the stock way takes minutes, and its share is known
# People; where every module is compiled at each start, it takes a second, which a plan of many hides.
_UNCOMPILED_UNTIL = 1000
_SETTINGS = """\
version: 1
manifests: [manifests/]
service:
  base_url: {base_url}
  auth: {{username: {{env: DEMO_USER}}, password: {{env: DEMO_PASSWORD}}, api_key: {{env: DEMO_KEY}}}}
  limits: {{requests_per_second: {rate}, concurrency: {at_once}}}
workspaces: {{{workspaces}}}
"""
# What -v says when all changes of a wave have ended: start-up and the plan are no part of it.
_WAVE = re.compile(r"wave \d+ ended, ([\d.]+) s")


@contextmanager
def project(count: int, form: str, base_url: str, *, rate: int = 0, at_once: int = AT_ONCE) -> Iterator[Path]:
    """Make a project that declares so many people, and yield its folder. A rate of 0 is no limit."""
    workspaces = "default: {}"
    if form == "fleet":
        names = (f"w{number}" for number in range(workspaces_of(count)[0]))
        workspaces = ", ".join(f"{name}: {{id: {workspace_id(name)}, name: {name}}}" for name in names)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        (folder / "manifests").mkdir()
        text = _SETTINGS.format(base_url=base_url, rate=rate, at_once=at_once, workspaces=workspaces)
        (folder / "reconciler.yaml").write_text(text, encoding="utf-8")
        FORMS[form](folder / "manifests", count)
        yield folder


@contextmanager
def _open_stand(stand: Stand, form: str) -> Iterator[None]:
    served = fleet_sandbox(*workspaces_of(stand.count)) if form == "fleet" else sandbox(stand.count)
    with served as stand.base_url, project(stand.count, form, stand.base_url) as stand.folder:
        yield


def plans(count: int, runs: int, *, with_peers: bool) -> Iterator[Group]:
    """Yield what reads and compares: our plans, the ideal lines, and the peers."""
    if count <= _FILES_UNTIL:
        yield _of_files(count, runs, with_peers=with_peers)
    yield walk_group(count, "roster", runs)
    if _FLEET_FROM <= count <= _FILES_UNTIL:
        yield walk_group(count, "fleet", runs)


def walk_group(count: int, form: str, runs: int) -> Group:
    """Return the walk alone; where there are many workspaces, also the plan of one of them."""
    stand = Stand(count)
    only = Row(f"{PLAN_NOTHING}, --only one of many", lambda: plan(stand, "--only", "workspace:w1"))
    beside: Beside = {PLAN_NOTHING: [only]} if form == "fleet" else {}
    return Group(count, _open_stand(stand, form), [*walk(stand, form, runs, beside)])


def _of_files(count: int, runs: int, *, with_peers: bool) -> Group:
    """Return the walk with everything that is measured beside it, of the same people in files."""
    stand = Stand(count)
    octodns = partial(_octodns, count, there=with_peers)
    beside: Beside = {
        PLAN_NOTHING: [*_steady(stand, with_peers=with_peers), *octodns("nothing to do", ())],
        PLAN_THREE: octodns("three people edited", range(3)),
    }
    first = Row("plan, nobody recorded", partial(plan, stand), before=partial(_forget, stand))
    hundredth = one_in_a_hundred(count)
    elsewhere = min(EDITED_ELSEWHERE, count // 10)
    stages = [
        Stage([first, *octodns("first plan", ())], runs),
        *walk(stand, "yaml", runs, beside),
        Stage([_one_line_edited(stand)], runs),
        Stage(
            [
                Row("plan, one in 100 edited", partial(plan, stand, "--no-cache")),
                *octodns("one in 100 edited", hundredth),
            ],
            runs,
            prepare=lambda: FORMS["yaml"](
                stand.folder / "manifests", count, edited=stand.edited | {*hundredth}
            ),
        ),
        Stage(
            [Row(f"plan, {elsewhere} edited elsewhere", partial(plan, stand))],
            runs,
            prepare=lambda: _edit_elsewhere(stand, elsewhere),
        ),
    ]
    return Group(count, _open_stand(stand, "yaml"), stages)


def _steady(stand: Stand, *, with_peers: bool) -> Iterator[Row]:
    """Yield what can be run any number of times while there is nothing to do."""
    validate = partial(_validate, stand)
    yield Row("validate", lambda: validate("--no-cache"))
    yield Row("validate, unchanged files", validate)
    yield Row("ideal: start", lambda: _ideal("start"))
    yield Row("ideal: fetch", lambda: _ideal("fetch", stand.base_url, stand.count))
    yield Row("ideal: parse", lambda: _ideal("parse", stand.folder / "manifests"))
    if with_peers and stand.count <= _STOCK_UNTIL:
        yield Row("peer: stock script", lambda: peers.stock(stand.folder / "manifests", stand.base_url))
    if stand.count <= _UNCOMPILED_UNTIL:
        yield Row(f"{PLAN_NOTHING}, not compiled", lambda: _plan_uncompiled(stand))
        if with_peers:
            yield Row("peer: octoDNS, nothing to do, not compiled", lambda: _octodns_uncompiled(stand.count))


def _octodns(count: int, name: str, differing: range | tuple[()], *, there: bool) -> list[Row]:
    """Return a row of octoDNS on as many people, of whom some differ; none where it is not installed."""

    def run() -> Measured:
        with tempfile.TemporaryDirectory() as zone:
            return peers.octodns(Path(zone), count, differing=differing)

    return [Row(f"peer: octoDNS, {name}", run)] if there else []


def _octodns_uncompiled(count: int) -> Measured:
    with tempfile.TemporaryDirectory() as zone, uncompiled_copy() as environ:
        return peers.octodns(Path(zone), count, differing=(), environ=environ)


def _plan_uncompiled(stand: Stand) -> Measured:
    with uncompiled_copy() as environ:
        return plan(stand, environ=environ)


def _validate(stand: Stand, *options: str) -> Measured:
    return reconciler(stand.folder, "validate", *options)


def _one_line_edited(stand: Stand) -> Row:
    """Return the check of files of which one line each was changed since the last one: others each time."""
    turns = count_up(10)

    def prepare() -> None:
        _validate(stand)
        lines = {*one_in_each_file(stand.count, next(turns))}
        FORMS["yaml"](stand.folder / "manifests", stand.count, edited=stand.edited | lines)

    return Row("validate, one line changed in each file", partial(_validate, stand), before=prepare)


def _forget(stand: Stand) -> None:
    """Remove what an earlier plan has kept, so that the next one is a first one."""
    shutil.rmtree(stand.folder / ".reconciler", ignore_errors=True)


def _edit_elsewhere(stand: Stand, number: int) -> None:
    FORMS["yaml"](stand.folder / "manifests", stand.count, edited=stand.edited)
    edit_live(stand.base_url, range(number))


def applies(runs: int, *, with_peers: bool) -> Iterator[Group]:
    """Yield creates at a service that takes its time: ours, and a loop of Ansible's."""
    rows = [Row("apply, creates", _create_all)]
    yield Group(CREATES, nullcontext(), [Stage(rows, runs)])
    if with_peers:
        ansible = Row("peer: Ansible, creates", _create_with_ansible)
        yield Group(CREATES_OF_ANSIBLE, nullcontext(), [Stage([ansible])])


def _create_all() -> Measured:
    with (
        sandbox(0, "--latency-ms", str(LATENCY_MS)) as base_url,
        project(CREATES, "yaml", base_url) as folder,
    ):
        done = reconciler(folder, "apply", "--yes", "--format", "json", "-v")
        return done._replace(wave_s=sum(float(found) for found in _WAVE.findall(done.steps)))


def _create_with_ansible() -> Measured:
    with sandbox(0, "--latency-ms", str(LATENCY_MS)) as base_url, tempfile.TemporaryDirectory() as name:
        return peers.ansible(Path(name), base_url, CREATES_OF_ANSIBLE)


def memory() -> Iterator[Group]:
    """Yield many creates, of which the growth counts."""
    yield Group(MANY_CREATES, nullcontext(), [Stage([Row("apply, creates", _create_many)])])


def _create_many() -> Measured:
    with sandbox(0) as base_url, project(MANY_CREATES, "yaml", base_url) as folder:
        return reconciler(folder, "apply", "--yes", "--format", "json", sampled=True)


def starts(runs: int) -> Iterator[Group]:
    """Yield the shortest command, beside an interpreter that does nothing."""
    rows = [
        Row("--version", lambda: reconciler(HERE, "--version")),
        Row("--version, not compiled", _version_uncompiled),
        Row("ideal: python", lambda: measure([sys.executable, "-c", "pass"], cwd=HERE)),
    ]
    yield Group(0, nullcontext(), [Stage(rows, 5 * runs)])


def _version_uncompiled() -> Measured:
    with uncompiled_copy() as environ:
        return reconciler(HERE, "--version", environ=environ)


def _ideal(what: str, *given: object) -> Measured:
    return measure([sys.executable, HERE / "ideal.py", what, *map(str, given)], cwd=HERE)
