"""The wheel in an environment of its own, as a stranger has it: alone, and with every extra, on each Python.

Nothing of this checkout and of its environment is on the path there. What is installed comes by its hash from
the lock. The quick run takes the package alone on one Python; `script/prove` takes all that are here.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import effort
import pyrage
import pytest
import tally
from installing import ROOT, install, pythons, run, shared, wheel
from served import sandbox
from waiting import patience_s

from reconciler.extras import EXTRAS
from reconciler.version import __version__

MANIFEST = """\
version: 1
workspace: default
contacts:
  jane-doe: {firstName: Jane, lastName: Doe, workEmailAddress1: jane.doe@example.com}
"""
KEY = str(pyrage.x25519.Identity.generate().to_public())
# extra -> what asks for it: a command, settings as variables, and files of the project.
OVER_LDAP = """version: 1
stack: on-call
manifests: [manifests/]
directories: {staff: {ldap: {url: "ldap://127.0.0.1:1", base: "dc=example,dc=com"}}}
workspaces: {default: {}}
"""
OVER_SQL = """version: 1
stack: on-call
manifests: [manifests/]
directories: {staff: {sql: {url: "mysql://127.0.0.1:1/hr", statement: "SELECT 1 AS id"}}}
workspaces: {default: {}}
"""
ASKING: dict[str, list[tuple[tuple[str, ...], dict[str, str], dict[str, str]]]] = {
    "encryption": [(("plan", "-o", "plan.age", "--encrypt-to", KEY), {}, {})],
    "ldap": [
        (
            ("validate", "--config", "ldap.yaml"),
            {},
            {
                "ldap.yaml": OVER_LDAP,
                "manifests/roster.yaml": "version: 1\nworkspace: default\n"
                "rosters: [{directory: staff, name: '{dn}', contacts: {firstName: '{dn}'}}]\n",
            },
        )
    ],
    "postgres": [(("plan",), {"RECONCILER_STORE": "postgresql://127.0.0.1:1/on-call"}, {})],
    "sql": [
        (
            ("validate", "--config", "sql.yaml"),
            {},
            {
                "sql.yaml": OVER_SQL,
                "manifests/roster.yaml": "version: 1\nworkspace: default\n"
                "rosters: [{directory: staff, name: '{id}', contacts: {firstName: '{id}'}}]\n",
            },
        )
    ],
}
# What may be imported where its extra is installed, and by nothing else: module -> extra.
GATED = {
    "reconciler.directories.ldap_requests": "ldap",
    "reconciler.directories.sql_postgresql": "postgres",
    "reconciler.cli.telemetry.otlp": "otel",
    "reconciler.directories.sql_dialects": "sql",
    "reconciler.store.postgres": "postgres",
}
IMPORT_ALL = """
import importlib, json, pkgutil, reconciler
missing = {}
for one in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    if one.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(one.name)
    except ModuleNotFoundError as error:
        missing[one.name] = error.name
print(json.dumps(missing))
"""
USER = """\
from reconciler import Secret, ServiceClient

reveal_type(ServiceClient.open)
reveal_type(Secret)
wrong: int = ServiceClient
"""


@dataclass(frozen=True)
class Stranger:
    """Somebody with an environment of their own, and a project."""

    environment: Path
    project: Path
    base_url: str

    def says(
        self, *arguments: str, code: int = 0, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the installed command in the project. A warning of any library is an error."""
        secrets = {f"SVC_{name}": "demo" for name in ("USER", "PASSWORD")} | {"SVC_API_KEY": "demo-key"}
        given = {"RECONCILER_SERVICE_BASE_URL": self.base_url, "PYTHONWARNINGS": "error", **secrets}
        command = self.environment / "bin" / "reconciler"
        done = run(command, *arguments, cwd=self.project, env=given | (env or {}))
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr + done.stdout
        return done


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(shared(tmp_path_factory))


def day_one(stranger: Stranger) -> None:
    """A project is begun and checked, planned and applied, and then there is nothing to do."""
    assert stranger.says("--version").stdout == f"reconciler {__version__}\n"
    assert "written  reconciler.yaml" in stranger.says("init").stdout
    (stranger.project / "manifests" / "people.yaml").write_text(MANIFEST)
    stranger.says("validate")
    assert "1 create" in stranger.says("plan", "--detailed-exitcode", "-o", "plan.json", code=2).stdout
    assert "1 applied" in stranger.says("apply", "plan.json").stdout
    assert "Nothing to do" in stranger.says("plan", "--detailed-exitcode").stdout


def test_the_package_alone_plans_applies_and_names_what_is_missing(
    package: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """One test for it all: the environment takes longer than everything that is asked of it."""
    version, python = next(iter(pythons().items()))
    record_property("python", version)
    environment, project = tmp_path / "environment", tmp_path / "project"
    project.mkdir()
    install(environment, python, package)

    with sandbox() as (address, _):
        stranger = Stranger(environment, project, address)
        day_one(stranger)
        names_what_is_missing(stranger)
        stranger.says("demo")
    with installed_sandbox(environment, project) as first_advice:
        assert first_advice.startswith("http://127.0.0.1:"), "what init says to do next"

    missing = run(environment / "bin" / "python", "-I", "-c", IMPORT_ALL, cwd=project)
    assert json.loads(missing.stdout).keys() == GATED.keys(), missing.stderr
    for module, name in json.loads(missing.stdout).items():
        assert any(f"{one}.".startswith(f"{name}.") for one in EXTRAS[GATED[module]].modules), module


def names_what_is_missing(stranger: Stranger) -> None:
    """Whoever meets a missing extra is told which, and how to get it; nothing was changed."""
    for extra, cases in ASKING.items():
        for arguments, env, files in cases:
            for name, text in files.items():
                (stranger.project / name).write_text(text)
            done = stranger.says(*arguments, code=3, env=env)
            assert f"needs the extra {extra}, which is not installed" in done.stderr, (arguments, done.stderr)
            assert f"uv pip install --python {stranger.environment}" in done.stderr, "it has no pip"
            assert all(one.required in done.stderr for one in EXTRAS[extra].libraries), arguments
            assert "reconciler[" not in done.stderr, "which would ask an index for this program"
            for name in files:
                (stranger.project / name).unlink()
    ((arguments, env, _),) = ASKING["postgres"]
    told = json.loads(stranger.says(*arguments, "--format", "json", code=3, env=env).stdout)
    assert (told["code"], told["error"]["kind"]) == ("E005", "MissingExtra")
    checks = json.loads(stranger.says("doctor", "--offline", "--format", "json").stdout)["checks"]
    (line,) = (one for one in checks if one["name"] == "extras")
    assert line["state"] == "ok"
    assert line["what"] == f"none; not installed: {', '.join(EXTRAS)}"


def test_every_extra_that_the_program_imports_is_missed_by_a_test() -> None:
    """But for two of them, without which it goes on.

    Python's own loop takes the place of the faster one without a word; that nothing is recorded is said once.
    """
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / "reconciler").rglob("*.py"))
    imported = {
        name
        for name, extra in EXTRAS.items()
        if any(
            re.search(rf"^\s*(from|import) {re.escape(one)}\b", text, re.MULTILINE) for one in extra.modules
        )
    }

    assert imported - {"fast", "otel"} == ASKING.keys()


@contextmanager
def installed_sandbox(environment: Path, project: Path) -> Iterator[str]:
    """The sandbox of the package itself: its address."""
    with subprocess.Popen(
        [environment / "bin" / "reconciler", "sandbox", "--port", "0"],
        cwd=project,
        env={"PYTHONWARNINGS": "error"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().rpartition(" ")[2]
        finally:
            process.terminate()
            process.wait(patience_s)


@effort.proofs_only()
@pytest.mark.parametrize("version", [*pythons()])
def test_with_every_extra_it_works_on_each_python_of_this_machine(
    package: Path, tmp_path: Path, version: str
) -> None:
    environment, project = tmp_path / "environment", tmp_path / "project"
    project.mkdir()
    install(environment, pythons()[version], package, *EXTRAS)

    with installed_sandbox(environment, project) as address:
        stranger = Stranger(environment, project, address)
        day_one(stranger)
        assert "_reconciler_completion" in stranger.says("completion", "bash").stdout
        stranger.says("plan", "-o", "plan.age", "--encrypt-to", KEY)
        checks = json.loads(stranger.says("doctor", "--format", "json").stdout)["checks"]
    (line,) = (one["what"] for one in checks if one["name"] == "extras")
    assert [one.partition(" (")[0] for one in line.split("), ")] == [*EXTRAS]
    assert (environment / "share" / "man" / "man1" / "reconciler.1").is_file()
    assert json.loads(run(environment / "bin" / "python", "-I", "-c", IMPORT_ALL, cwd=project).stdout) == {}
    tally.count("installed", f"Python {version}")
    if version == next(iter(pythons())):
        type_checkers_see_the_types(environment, project)


def type_checkers_see_the_types(environment: Path, project: Path) -> None:
    """`py.typed` is in the wheel: without it whoever imports the package gets Any, and no mistake."""
    (project / "user.py").write_text(USER)
    python = environment / "bin" / "python"
    done = run(
        sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "user.py", cwd=project
    )

    assert "py.typed" not in done.stdout
    assert re.findall(r"^user\.py:(\d+): (error|note): (?:Revealed type is)?", done.stdout, re.MULTILINE) == [
        ("3", "note"),
        ("4", "note"),
        ("5", "error"),
    ], done.stdout
    assert "Any" not in done.stdout.splitlines()[1]
