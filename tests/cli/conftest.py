"""A folder of one's own for each test, and the real command in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# The lowest layer of the environment: nothing of the machine's own settings, colours or CI may decide a test.
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

SETTINGS = """\
version: 1
stack: ops
manifests: [manifests/]
service:
  base_url: http://127.0.0.1:8480
  auth: {username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}}
workspaces:
  default: {}
  ops: {id: 4C8FE1A2B3D4E5F6, name: Operations}
environments:
  staging: {service: {base_url: https://staging.example.com}}
"""

SECRETS = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_KEY": "canary-key"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository root with good settings."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "reconciler.yaml").write_text(SETTINGS)
    return root


@pytest.fixture
def run(repository: Path) -> Run:
    """`run("config", "--format", "json", env={...}, cwd=...)`: the command, finished."""

    def call(
        *arguments: str, env: Mapping[str, str] = SECRETS, cwd: Path = repository, stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "reconciler", *arguments],
            cwd=cwd,
            env={**PLAIN, **env},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return call
