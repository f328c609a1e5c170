"""Atlantis, Digger, Terrateam and Jenkins: the commands of each, with the variables that its product sets.

None of the products can be had here, so what they do around the commands is read from their documentation.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli.hands import Project, Service
from cli.test_consent import NAMES, declare
from copies import copied
from waiting import patience_s

from reconciler.sandbox.app import SandboxConfig, running_sandbox

ROOT = Path(__file__).parents[2]
ENGINES = ROOT / "examples" / "ci" / "engines"


def _read(name: str) -> Any:
    return yaml.safe_load((ENGINES / name).read_text(encoding="utf-8"))


def atlantis(stage: str) -> tuple[list[str], Mapping[str, str]]:
    """Return a stage's command and its variables: what a `command` prints, or a `value`."""
    steps = _read("atlantis.repos.yaml")["workflows"]["reconciler"][stage]["steps"]
    variables = {one["env"]["name"]: one["env"] for one in steps if "env" in one}
    (script,) = (one["run"] for one in steps if "run" in one)
    exports = "".join(
        f"export {name}=$({one['command']}); " for name, one in variables.items() if "command" in one
    )
    return ["sh", "-c", f"{exports}{script}"], {
        name: one["value"] for name, one in variables.items() if "value" in one
    }


def digger(stage: str) -> tuple[list[str], Mapping[str, str]]:
    """Return a stage's command; a step is a script of bash."""
    ((script,),) = ([one["run"] for one in _read("digger.yml")["workflows"]["reconciler"][stage]["steps"]],)
    return ["bash", "-c", script], {}


def terrateam(stage: str) -> tuple[list[str], Mapping[str, str]]:
    """Return a stage's command, which no shell reads."""
    return _read("terrateam.config.yml")["workflows"][0]["engine"][stage], {}


def jenkins(stage: str) -> tuple[list[str], Mapping[str, str]]:
    """Return a stage's command: a step `sh` is a script of `sh -xe`."""
    text = (ENGINES / "Jenkinsfile").read_text(encoding="utf-8")
    script = text.partition(f"stage('{stage}')")[2].split("'''")[1]
    return ["sh", "-xec", script], {}


Stage = Callable[[str], tuple[list[str], Mapping[str, str]]]
PRODUCTS: Mapping[str, tuple[Stage, str]] = {
    "atlantis": (atlantis, "PLANFILE"),
    "digger": (digger, "DIGGER_PLANFILE"),
    "terrateam": (terrateam, "TERRATEAM_PLAN_FILE"),
    "jenkins": (jenkins, "PLAN"),
}


class Engine:
    """A checkout of a pull request, and a product that carries out the stages of its block in it."""

    def __init__(self, name: str, base: Path, service: Service) -> None:
        self.stage, self.variable = PRODUCTS[name]
        self.base, self.service = base, service
        self.project = Project(copied(ROOT / "examples" / "quickstart", base / "checkout"))
        declare(self.project, NAMES[:2])
        (base / "bin").mkdir()
        launcher = base / "bin" / "reconciler"
        launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -I -m reconciler "$@"\n')
        launcher.chmod(0o755)
        if name == "atlantis":  # whose settings are the server's
            (self.project.folder / "reconciler.yaml").rename(base / "reconciler.yaml")

    def run(self, stage: str) -> "subprocess.CompletedProcess[str]":
        """Carry out one stage."""
        words, given = self.stage(stage)
        assert given.get("RECONCILER_SERVICE_BASE_URL", "https://").startswith("https://")
        environ = {
            **self.project.environ(self.service),
            "RECONCILER_STORE": f"sqlite:///{self.base / 'store.db'}",
            "DIR": str(self.project.folder),
            "WORKSPACE_TMP": str(self.base),
            self.variable: str(self.base / "people.tfplan"),
        }
        environ |= {name: str(self.base / "reconciler.yaml") for name in given if name == "RECONCILER_CONFIG"}
        environ["PATH"] = f"{self.base / 'bin'}:/usr/bin:/bin"
        return subprocess.run(
            words,
            cwd=self.project.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )


@pytest.fixture(params=PRODUCTS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with running_sandbox(SandboxConfig()) as address:
        yield Engine(request.param, tmp_path, Service(address))


def test_what_is_planned_is_told_without_names_and_applied(engine: Engine) -> None:
    planned = engine.run("plan")
    applied = engine.run("apply")

    assert planned.returncode == 0, planned.stderr
    assert "+ 2 contacts in default: declared" in planned.stdout
    assert applied.returncode == 0, applied.stderr
    assert len(engine.service.contacts()) == 2
    told = planned.stdout + planned.stderr + applied.stdout + applied.stderr
    assert "contact/default/" not in told


def test_what_changed_since_the_plan_is_not_applied(engine: Engine) -> None:
    """Somebody pushed once more after the review."""
    assert engine.run("plan").returncode == 0
    declare(engine.project, NAMES)

    applied = engine.run("apply")

    assert applied.returncode == 5
    assert "next: plan again, and review it" in applied.stderr
    assert engine.service.contacts() == {}


def test_a_mistake_fails_the_plan_and_says_where_it_is(engine: Engine) -> None:
    assert engine.run("plan").returncode == 0
    engine.project.edit("lastName: Doe, workEmailAddress1: sam", "lastNmae: Doe, workEmailAddress1: sam")

    planned = engine.run("plan")

    assert planned.returncode == 3
    assert planned.stdout == "", "not what an earlier plan said"
    assert "team.yaml:5" in planned.stderr
    assert "next: did you mean lastName?" in planned.stderr


def test_a_pull_request_cannot_change_what_atlantis_runs() -> None:
    """Its own file may say when something is planned, and nothing else."""
    (repository,) = _read("atlantis.repos.yaml")["repos"]

    assert (repository["allowed_overrides"], repository["allow_custom_workflows"]) == ([], False)
    assert {"approved", "mergeable", "undiverged"} == {*repository["apply_requirements"]}
    assert all(one.keys() <= {"name", "dir", "autoplan"} for one in _read("atlantis.yaml")["projects"])
