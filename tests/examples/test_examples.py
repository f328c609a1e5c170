"""Every project under examples/, in each of its environments: validated, planned, applied, planned again."""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import warm
import yaml
from copies import copied
from served import sandbox
from waiting import patience_s

EXAMPLES = Path(__file__).parents[2] / "examples"
USER = ("demo", "demo")  # for its control interface
SANDBOX = {"username": "demo", "password": "demo", "api_key": "demo-key"}

# What each project declares, so that an example that quietly lost a file is noticed. A new one needs a line.
DECLARED = {
    "own-kinds": {"templates in default": 2},
    "organisation": {
        "contacts in default": 500,
        "contacts in field": 2,
        "contacts in ops": 4,
        "devices in ops": 3,
        "resources in field": 3,
        "resources in ops": 3,
    },
    "quickstart": {"contacts in default": 3, "devices in default": 1, "resources in default": 1},
}
HR_EXPORT = "42de40bd"


class Case(NamedTuple):
    """A project in one of its environments; "" is the file without a section."""

    folder: Path
    environment: str

    @property
    def settings(self) -> dict[str, Any]:
        read: dict[str, Any] = yaml.safe_load((self.folder / "reconciler.yaml").read_text("utf-8"))
        return read

    @property
    def section(self) -> dict[str, Any]:
        found: dict[str, Any] = self.settings.get("environments", {}).get(self.environment, {})
        return found

    @property
    def base_url(self) -> str:
        own = self.section.get("service", {}).get("base_url")
        return str(own or self.settings["service"]["base_url"])

    def workspaces(self) -> Iterator[str]:
        """Yield the named workspaces as the sandbox takes them."""
        for alias, entry in {**self.settings["workspaces"], **self.section.get("workspaces", {})}.items():
            if entry:
                yield "=".join([entry.get("name", alias), *([entry["id"]] if "id" in entry else [])])

    def environ(self) -> dict[str, str]:
        """Return the credentials of the sandbox, and an invented value for each variable of manifests."""
        auth = self.settings["service"]["auth"]
        names = {auth[word]["env"]: value for word, value in SANDBOX.items()}
        manifests = "".join(path.read_text("utf-8") for path in self.folder.rglob("*.yaml"))
        return names | {name: f"invented-{name}" for name in re.findall(r"\$\{env:(\w+)\}", manifests)}


def _cases() -> Iterator[Case]:
    for file in sorted(EXAMPLES.rglob("reconciler.yaml")):
        yield Case(file.parent, "")
        yield from (
            Case(file.parent, name) for name in Case(file.parent, "").settings.get("environments", {})
        )


CASES = list(_cases())


class Project:
    """A copy of an example whose service is a sandbox, and the real command in it."""

    def __init__(self, case: Case, folder: Path, address: str) -> None:
        self.address = address
        self.root = folder / case.folder.name
        copied(case.folder, self.root)
        (self.root / ".git").mkdir()
        settings = self.root / "reconciler.yaml"
        settings.write_text(settings.read_text("utf-8").replace(case.base_url, address), "utf-8")
        chosen = {"RECONCILER_ENVIRONMENT": case.environment} if case.environment else {}
        # The example's own limit is for a real service; here it would only make the test wait.
        limit = {"RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0"}
        never = {"RECONCILER_LOCK_IN_SERVICE": "never"}  # it waits for real seconds
        self.environ = {"LANG": "C.UTF-8", **case.environ(), **chosen, **limit, **never}

    def run(self, *arguments: str, ends: int = 0) -> str:
        """Run a command that ends with this code, and return its output."""
        done = warm.run(*arguments, cwd=self.root, env=self.environ)
        assert done.returncode == ends, (
            f"{arguments}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr}"
        )
        return done.stdout

    def report(self, *arguments: str, ends: int = 0) -> dict[str, Any]:
        """Run a command and return its JSON."""
        told: dict[str, Any] = json.loads(self.run(*arguments, "--format", "json", ends=ends))
        return told

    def requests(self) -> Counter[str]:
        """Return how many requests came since the last call of this, by method."""
        log = f"{self.address}/_sandbox/requests"
        served = httpx2.get(log, auth=USER).json()["requests"]
        httpx2.delete(log, auth=USER)
        return Counter(str(one["method"]) for one in served)


@pytest.fixture(params=CASES, ids=lambda case: "-".join(filter(None, [case.folder.name, case.environment])))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    case = request.param
    named = [word for workspace in case.workspaces() for word in ("--workspace", workspace)]
    profile = case.settings["service"].get("profile")
    named += ["--profile", str(case.folder / profile)] if profile else []
    with sandbox(*named) as (address, _):
        yield Project(case, tmp_path, address)


def _scope(address: str) -> str:
    kind, workspace = address.split("/")[:2]
    return f"{kind}s in {workspace}"


def test_an_example_is_applied_and_nothing_is_left_to_do(project: Project) -> None:
    """An example that does not work is worse than none; and a plan sends nothing but GET."""
    declared = DECLARED[project.root.name]
    project.run("validate")

    planned = project.report("plan", "-o", "plan.json", "--detailed-exitcode", ends=2)
    assert set(project.requests()) == {"GET"}
    assert planned["plan"]["notices"] == [], "a value of an example is probably wrong"
    assert Counter(_scope(change["address"]) for change in planned["plan"]["changes"]) == declared

    run = project.report("apply", "plan.json")
    assert Counter(outcome["result"] for outcome in run["outcomes"]) == {"applied": sum(declared.values())}
    assert project.requests()["POST"] == sum(declared.values())
    _content_is_what_was_declared(project, run["outcomes"])

    again = project.report("plan", "--detailed-exitcode")
    assert again["plan"]["changes"] == []
    totals = {
        f"{one['scope']['kind']}s in {one['scope']['workspace']}": one["total"]
        for one in again["plan"]["reads"]
    }
    assert totals == {scope: count for scope, count in declared.items() if not scope.startswith("device")}
    project.requests()
    project.run("drift")
    assert project.report("apply", "--yes")["outcomes"] == []
    assert set(project.requests()) == {"GET"}


def _content_is_what_was_declared(project: Project, outcomes: list[dict[str, Any]]) -> None:
    """Compare what the service holds with the payload files: no byte may change on the way."""
    files = {path.read_bytes() for path in project.root.rglob("payloads/*")}
    resources = [one["remote_id"] for one in outcomes if one["address"].startswith("resource/")]
    at = f"{project.address}/_sandbox/resources"
    held = {httpx2.get(f"{at}/{one}/content", auth=USER).content for one in resources}

    assert bool(files) == bool(resources)
    assert files <= held


def test_no_invented_token_is_in_a_plan_file(project: Project) -> None:
    """A plan is handed round for review."""
    project.run("plan", "-o", "plan.json")
    plan = (project.root / "plan.json").read_text("utf-8")

    assert "invented-" not in plan
    assert "a-token-that" not in plan
    assert (project.root / "plan.json").stat().st_mode & 0o777 == 0o600


def test_every_project_has_its_counts() -> None:
    """A new example is tried in every environment as soon as it has a reconciler.yaml."""
    assert {case.folder.name for case in CASES} == DECLARED.keys()


def test_the_personnel_export_is_as_it_came() -> None:
    """Byte order mark, semicolons, CRLF, quotes: what a spreadsheet really writes."""
    data = (EXAMPLES / "organisation" / "people" / "hr-export.csv").read_bytes()

    assert hashlib.sha256(data).hexdigest().startswith(HR_EXPORT)
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\r\n") == 501


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_every_example_passes_the_workflow_that_is_shipped(name: str, tmp_path: Path) -> None:
    """A pull request has no secret: the command of `validate.yml`, and nothing but the checkout."""
    workflow = yaml.safe_load((EXAMPLES / "ci" / "github" / "validate.yml").read_text("utf-8"))
    (command,) = (
        run
        for step in workflow["jobs"]["validate"]["steps"]
        if (run := step.get("run", "")).startswith("reconciler ")
    )
    words = shlex.split(command.replace("$RUNNER_TEMP", str(tmp_path)))
    lab = yaml.safe_load((EXAMPLES / "ci" / "gitlab" / ".gitlab-ci.yml").read_text("utf-8"))
    project = copied(EXAMPLES / name, tmp_path / name)
    (project / ".git").mkdir()

    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env={"CI": "true", "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert words[0] == "reconciler"
    assert lab["validate"]["script"] == [" ".join(words[: words.index("--report")])]
    assert (done.returncode, done.stdout.startswith("no mistakes")) == (0, True)
    assert re.findall(r"ONCALL_\w+(?=: this variable is not set)", done.stderr) == (
        ["ONCALL_JANE_PIXEL", "ONCALL_JANE_TABLET", "ONCALL_SAM_PIXEL"] if name == "organisation" else []
    )
