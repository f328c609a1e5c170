"""The shipped workflows of GitHub, carried out: every step of a job in its order, in a checkout of its own.

A job gets what the real one gets and no more: its own secrets, what somebody typed, the runner's variables.
A secret that a template names and that nobody set is empty, as it is there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from project.ci_policy import File
from waiting import patience_s

EXPRESSION = re.compile(r"\$\{\{ *(secrets|inputs)\.(\w+) *\}\}")


@dataclass
class Ran:
    """What is left of a job: how it ended, its log, its summary, and what it told the jobs behind it."""

    ended_well: bool
    log: str
    summary: str
    outputs: str


@dataclass
class Runner:
    """A service that runs workflows: the repository, the secrets of its environments, the kept artifacts."""

    repository: Path
    place: Path
    secrets: Mapping[str, Mapping[str, str]]
    artifacts: dict[str, Path] = field(default_factory=dict)
    jobs: int = 0

    def run(self, workflow: str, job: str, at: str = "main", **inputs: str) -> Ran:
        """Carry out a job of a workflow as it stands on the branch `at`, in an empty folder."""
        self.jobs += 1
        place = self.place / f"{self.jobs}-{job}"
        temporary, checkout = place / "tmp", place / "checkout"
        temporary.mkdir(parents=True)
        self._clone(at, checkout)
        text = (checkout / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8")
        tasks = File.of(text).jobs[job]
        environ = self._environ(place) | self._given(tasks.get("env", {}), tasks, inputs)
        log, well = "", True
        for step in tasks["steps"]:
            if not well and step.get("if") != "always()":
                continue
            if "run" in step:
                done = subprocess.run(
                    ["bash", "-eo", "pipefail"],
                    input=step["run"],
                    cwd=checkout,
                    env=environ | self._given(step.get("env", {}), tasks, inputs),
                    capture_output=True,
                    text=True,
                    timeout=patience_s,
                    check=False,
                )
                log += done.stdout + done.stderr
                well = well and done.returncode == 0
            else:
                well = well and self._use(step, checkout, inputs)
        told = {name: temporary / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        texts = {name: path.read_text("utf-8") if path.exists() else "" for name, path in told.items()}
        return Ran(well, log, texts["GITHUB_STEP_SUMMARY"], texts["GITHUB_OUTPUT"])

    def _use(self, step: Mapping[str, Any], checkout: Path, inputs: Mapping[str, str]) -> bool:
        """What the actions do that the templates use. Ours puts the command on the path, which it is."""
        name, given = step["uses"].partition("@")[0], step.get("with", {})
        if name == "actions/checkout" and "path" in given:
            self._clone(
                EXPRESSION.sub(lambda one: inputs[one[2]], given["ref"]).removeprefix("refs/heads/"),
                checkout / given["path"],
            )
        elif name == "actions/upload-artifact":
            file = checkout / given["path"]
            if not file.exists():
                return bool(given.get("if-no-files-found") == "ignore")
            self.artifacts[given["name"]] = Path(
                shutil.copy(file, self.place / f"{self.jobs}-{given['path']}")
            )
        elif name == "actions/download-artifact":
            (checkout / given["path"]).mkdir()
            shutil.copy(self.artifacts[given["name"]], checkout / given["path"] / "plan.age")
        else:
            assert name in {"actions/checkout", "./.github/actions/reconciler"}, name
        return True

    def _clone(self, branch: str, target: Path) -> None:
        subprocess.run(
            ["git", "clone", "-q", "--depth", "1", "-b", branch, f"file://{self.repository}", str(target)],
            check=True,
            timeout=patience_s,
        )

    def _given(
        self, environ: Mapping[str, str], job: Mapping[str, Any], inputs: Mapping[str, str]
    ) -> dict[str, str]:
        sources = {"secrets": self.secrets.get(job.get("environment", ""), {}), "inputs": inputs}
        return {
            name: EXPRESSION.sub(lambda one: sources[one[1]].get(one[2], ""), value)
            for name, value in environ.items()
        }

    def _environ(self, place: Path) -> dict[str, str]:
        programs = place / "bin"
        programs.mkdir()
        command = programs / "reconciler"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -I -m reconciler "$@"\n')
        command.chmod(0o755)
        names = ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")
        return {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "HOME": str(place),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(place / "tmp"),
            **{name: str(place / "tmp" / name) for name in names},
        }
