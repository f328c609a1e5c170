"""Runs tests against changed sources, each time in a fork of a process that has imported all the rest.

Most of the time of a short test run goes into starting Python, pytest, the libraries and the project. Here
this happens once: the process collects the tests, and then forks for each trial. The child gives the changed
functions their new code (inplace.py) and runs the tests. Where something else changed, or nothing turned red,
another child forgets the modules of this project and imports them again, with the changed sources in the
place of those on the disk. No file is written: the changed sources are in memory, or stand in a copy of the
project whose process it is.

Belongs here: that process, and how it is asked. Not here: what is changed (defects.py,
specification/mutants.py), and the copy for tests that start the project as a command (workshop.py).
"""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from types import CodeType, ModuleType
from typing import Literal, NamedTuple

import pytest
import warm
from _pytest.runner import runtestprotocol  # pytest has no public name for it
from hypothesis import Phase, settings
from sabotage.inplace import Functions, functions_below, put_in_place

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
# Real seconds until a trial is given up, counted anew for each of its tests. One takes less than 2 on a
# machine that does nothing else.
hang_s = 120
_SERVING = "import sys; from sabotage.trial import serve; serve(int(sys.argv[1]), sys.argv[2], sys.argv[3:])"
_KEPT = frozenset(
    {__name__, "__main__", "conftest", "effort", "tally"}
)  # the running process itself uses these
_OPTIONS = ("-q", "--tb=line", "--disable-plugin-autoload", "-p", "no:cacheprovider", "-p", "no:faulthandler")

_PHASES = (Phase.explicit, Phase.generate)

Verdict = Literal["green", "red", "error", "none"]


class Result(NamedTuple):
    """How one trial ended.

    `verdict`: all tests passed; or one failed; or a fixture did, or the sandbox; or there was none: no test
    was found, a module could not be imported, or the time was over. `told`: the reason why. `red`: the tests
    that failed, named as they were asked for. `case`: the first of their cases that did, or whose fixture
    did. `cpu_s`: processor seconds of the trial.
    """

    verdict: Verdict
    told: str = ""
    red: frozenset[str] = frozenset()
    case: str = ""
    cpu_s: float = 0


class Job(NamedTuple):
    """Tests as pytest names them, and the changed sources by the names of their modules.

    `all_red`: go on behind a test that fails, to tell all of them. `on_disk`: what is imported may no longer
    be what stands on the disk.
    """

    tests: tuple[str, ...]
    sources: dict[str, str]
    all_red: bool
    on_disk: bool


class Trials:
    """The process, as its user sees it."""

    def __init__(self, ours: Connection, folder: Path) -> None:
        self._ours = ours
        self._folder = folder
        self._unchanged: dict[str, Result] = {}
        self._ready = False

    def wait_until_ready(self) -> None:
        """Return once the process has imported everything. Raises EOFError where it has ended instead.

        What is planted on the disk earlier than that would be imported, and could end the process.
        """
        if not self._ready:
            self._ours.recv()
            self._ready = True

    def run(self, tests: Sequence[str], planted: Mapping[str, str], *, all_red: bool = False) -> Result:
        """Run these tests (paths below tests/) with these texts in place of the project's files.

        The first that fails is the verdict, unless `all_red` are to be told.
        """
        sources = {path.removesuffix(".py").replace("/", "."): text for path, text in planted.items()}
        try:
            self.wait_until_ready()
            named = tuple(f"{self._folder}/{one}" for one in tests)
            self._ours.send(Job(named, sources, all_red, on_disk=self._folder != TESTS))
            result: Result = self._ours.recv()
        except (EOFError, OSError) as error:
            return Result("none", f"the process of the trials has ended: {error!r}")
        return result

    def run_unchanged(self, case: str) -> Result:
        """Run this case with nothing planted; once, however often it is asked for."""
        if case not in self._unchanged:
            self._unchanged[case] = self.run([case], {})
        return self._unchanged[case]


@contextmanager
def trials(
    tests: Sequence[str], *, root: Path = ROOT, python: str = sys.executable, effort: str = ""
) -> Iterator[Trials]:
    """A process that has imported whatever these test files (paths below tests/) need; ended afterwards.

    `root` is the project or a copy of it, and `python` an interpreter that finds its package. `effort` is one
    of tests/effort.py.
    """
    ours, theirs = Pipe()
    folder = root / TESTS.name
    command = [python, "-c", _SERVING, str(theirs.fileno()), effort, *tests]
    with ours, TemporaryDirectory() as temporary:
        process = Popen(
            command,
            cwd=root,
            # A fork ends without cleaning up, so pytest's own folders are removed here.
            env={**os.environ, "PYTHONPATH": str(folder), "PYTEST_DEBUG_TEMPROOT": temporary},
            pass_fds=[theirs.fileno()],
            stdin=DEVNULL,
            stdout=DEVNULL,
        )
        theirs.close()
        with process:
            try:
                yield Trials(ours, folder)
            finally:
                process.kill()


def serve(number: int, effort: str, tests: Sequence[str]) -> None:
    """Be the process: its end of the pipe has this number."""
    words = [*_OPTIONS, *(["--effort", effort] if effort else []), *(f"{TESTS}/{one}" for one in tests)]
    sys.exit(pytest.main(words, [_Server(Connection(number))]))


class _Server:
    """A plugin of pytest that carries out trials in the place of a run."""

    def __init__(self, theirs: Connection) -> None:
        self._theirs = theirs

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let the first example that fails be the verdict: nobody reads the smallest one."""
        settings.register_profile("trial", settings(), phases=_PHASES)
        settings.load_profile("trial")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer jobs until nobody asks any more."""
        warm.load()
        collected, functions = _by_name(session.items), functions_below(ROOT / "reconciler")
        gc.collect()
        gc.freeze()  # or the first collection in every child copies all that was imported
        self._theirs.send("ready")
        while True:
            try:
                job: Job = self._theirs.recv()
            except EOFError:
                return True
            self._theirs.send(_result(session, collected, functions, job))


def _result(
    session: pytest.Session,
    collected: Mapping[str, list[pytest.Item]],
    functions: Functions,
    job: Job,
) -> Result:
    """Try it in place; and anew where that is not to be, or where nothing turned red."""
    items = [item for test in job.tests for item in collected.get(test, ())]
    # A folder or a file was not asked for by the name of a test.
    if not job.on_disk and all(test in collected for test in job.tests):
        result = _forked(lambda: _tried_in_place(items, functions, job))
        if result.verdict == "red" or not job.sources:
            return result
    return _forked(lambda: _tried_anew(session, job))


def _by_name(items: Sequence[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each test, named as they are asked for: by the path of the file, and the names within."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        _, _, name = item.nodeid.partition("::")
        for one in {name, name.partition("[")[0]}:
            found.setdefault(f"{item.path}::{one}", []).append(item)
    return found


def _forked(trial: Callable[[], Result]) -> Result:
    reading, writing = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            result = trial()
        except BaseException as error:  # noqa: BLE001 - whatever it was, this process ends here
            result = Result("none", repr(error))
        writing.send(result)
        os._exit(0)
    writing.close()
    with reading:
        try:
            result = reading.recv()
        except EOFError:
            result = Result("none", f"the trial ended without a word, or a test of it took {hang_s} s")
    _, _, used = os.wait4(child, 0)
    return result._replace(cpu_s=used.ru_utime + used.ru_stime)


def _tried_in_place(items: Sequence[pytest.Item], functions: Functions, job: Job) -> Result:
    signal.alarm(hang_s)
    sys.meta_path.insert(0, _Changed(job.sources))  # for modules that only a test imports
    if not put_in_place(job.sources, functions):
        return Result("none", "more than the inside of functions has changed")
    return _ran(items, job, warm)


def _tried_anew(session: pytest.Session, job: Job) -> Result:
    signal.alarm(hang_s)
    _forget_the_conftests(session.config.pluginmanager)
    _forget_the_project()
    sys.meta_path.insert(0, _Changed(job.sources))
    session.testsfailed = 0
    items = session.perform_collect(list(job.tests))
    if not items or session.testsfailed:
        return Result("none", "the tests could not be collected")
    unread = job.sources.keys() - sys.modules.keys()
    if unread:
        return Result("none", f"no test imports {', '.join(sorted(unread))}")
    return _ran(items, job, importlib.import_module(warm.__name__))


def _ran(items: Sequence[pytest.Item], job: Job, commands: ModuleType) -> Result:
    """Run the tests until the first that fails, or all; what they start has the changed code as well."""
    red: dict[str, str] = {}  # tests, and the case of each that failed
    commands.serve_here()
    for item in items:
        signal.alarm(hang_s)
        file = item.path.relative_to(TESTS).as_posix()
        case = f"{file}::{item.nodeid.partition('::')[2]}"
        test = f"{file}::{item.name.partition('[')[0]}"
        for report in runtestprotocol(item, log=False, nextitem=None) if test not in red else ():
            if report.failed and (report.when != "call" or _crashed(report)):
                return Result("error", f"{report.nodeid}: {report.longreprtext[-500:]}", case=case)
            if report.failed:
                red[test] = case
        if red and not job.all_red:
            break
    return Result("red" if red else "green", red=frozenset(red), case=next(iter(red.values()), ""))


def _crashed(report: pytest.TestReport) -> bool:
    """Whether an exception came out of the sandbox: no test judged anything then.

    One of the client is an answer, as it gives it to whoever uses it.
    """
    place = getattr(report.longrepr, "reprcrash", None)
    return place is not None and Path(place.path).is_relative_to(ROOT / "reconciler" / "sandbox")


def _forget_the_conftests(manager: pytest.PytestPluginManager) -> None:
    """The fixtures of a folder are read anew with the project; pytest binds them to one collection."""
    for name, plugin in manager.list_name_plugin():
        if name.endswith("conftest.py") and Path(name).parent != TESTS:
            manager.unregister(plugin)
    manager._dirpath2confmods.clear()


def _forget_the_project() -> None:
    """What was imported of the project goes; what it has imported of other projects stays."""
    # First all of them: a package without a file asks its parent where it is.
    ours = [name for name, module in sys.modules.items() if name not in _KEPT and _is_ours(module)]
    for name in ours:
        del sys.modules[name]


def _is_ours(module: ModuleType) -> bool:
    # A folder of tests is a package without a file, and holds on to its modules.
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    return bool(file) and Path(file).is_relative_to(ROOT) and ".venv" not in Path(file).parts


class _Changed(MetaPathFinder):
    """Finds the modules whose source is another one than that on the disk."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module where it always is; only its code is another."""
        if fullname not in self._sources:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _ChangedLoader(fullname, spec.origin, self._sources[fullname])
        return spec


class _ChangedLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the name is that of the constructor
        return compile(self._text, self.path, "exec")
