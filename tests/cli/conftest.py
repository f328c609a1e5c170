"""A folder of one's own for each test, and the command in a process of its own."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import warm
from cli.hands import PLAIN, Project, Service
from copies import copied

from reconciler.sandbox.app import SandboxConfig, running_sandbox

Run = Callable[..., "subprocess.CompletedProcess[str]"]

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
        return warm.run(*arguments, cwd=cwd, env={**PLAIN, **env}, given=stdin)

    return call


@pytest.fixture
def service() -> Iterator[Service]:
    """A sandbox with the default credentials and nothing in it."""
    with running_sandbox(SandboxConfig()) as address:
        yield Service(address)


@pytest.fixture
def recorded_service() -> Iterator[Service]:
    """The same in the forms of recorded traffic."""
    with running_sandbox(SandboxConfig.like("recorded")) as address:
        yield Service(address)


@pytest.fixture
def slow_service() -> Iterator[Service]:
    """The same, where every answer takes a while."""
    with running_sandbox(SandboxConfig(latency_ms=150)) as address:
        yield Service(address)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project of one's own."""
    source = Path(__file__).parents[2] / "examples" / "quickstart"
    copied(source, tmp_path / "project")
    (tmp_path / "project" / ".git").mkdir()
    return Project(tmp_path / "project")
