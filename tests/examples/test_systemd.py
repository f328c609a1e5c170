"""The unit and the timer of systemd: each passes systemd's own checks, and its commands run as they stand."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.hands import Project, Service
from copies import copied
from waiting import patience_s

from reconciler.sandbox.app import SandboxConfig, running_sandbox

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "examples" / "deploy" / "systemd"
SERVICE, TIMER = UNITS / "reconciler@.service", UNITS / "reconciler@.timer"
NAME = "ops"


def values(unit: Path, key: str) -> list[str]:
    """Return what a unit says under a key, for the instance `ops`."""
    lines = unit.read_text(encoding="utf-8").splitlines()
    return [one.partition("=")[2].replace("%i", NAME) for one in lines if one.startswith(f"{key}=")]


def analyzed(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Ask systemd-analyze about the two units; they have the names of an instance there."""
    program = shutil.which("systemd-analyze")
    if not program and not os.environ.get("CI"):
        pytest.skip("no systemd-analyze on PATH; apt-get install systemd brings it, and need not start it")
    assert program, "CI needs systemd-analyze"
    for unit in (SERVICE, TIMER):
        (tmp_path / unit.name.replace("@", f"@{NAME}")).write_text(unit.read_text(encoding="utf-8"))
    return subprocess.run(
        [program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=patience_s, check=False
    )


def test_systemd_finds_nothing_in_the_units(tmp_path: Path) -> None:
    """A key that it does not know is ignored with a warning that nobody reads."""
    files = [f"./reconciler@{NAME}.service", f"./reconciler@{NAME}.timer"]
    done = analyzed(tmp_path, "verify", "--man=no", *files)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_service_is_locked_in(tmp_path: Path) -> None:
    """By systemd's own count of what a taken-over process could reach: 10 is everything, and 2 is good."""
    done = analyzed(
        tmp_path, "security", "--offline=true", "--threshold=15", "--no-pager", f"./reconciler@{NAME}.service"
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_timer_comes_every_five_minutes_and_makes_up_for_a_machine_that_was_off(tmp_path: Path) -> None:
    (when,) = values(TIMER, "OnCalendar")
    done = analyzed(tmp_path, "calendar", when, "--base-time=2026-03-02 09:00:30 UTC", "--iterations=3")

    assert re.findall(r"09:(\d\d):00 UTC", done.stdout) == ["05", "10", "15"], done.stdout + done.stderr
    assert values(TIMER, "Persistent") == ["yes"]


def test_what_is_no_failure_is_what_the_page_calls_none() -> None:
    """A unit that fails on every quiet night is one that nobody looks at."""
    page = (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"(0(?:, \d+)+ and \d+) are no failures", page)

    assert [f"0 {one}" for one in values(SERVICE, "SuccessExitStatus")] == [
        " ".join(re.findall(r"\d+", told))
    ]


class Machine:
    """A machine with the unit, as far as its commands can tell: folders, variables and credentials."""

    def __init__(self, base: Path, service: Service) -> None:
        self.base, self.service = base, service
        self.project = Project(copied(ROOT / "examples" / "quickstart", base / "repository"))
        self.checkout = base / "state" / "reconciler" / NAME / "checkout"
        self.checkout.mkdir(parents=True)
        self.credentials = base / "credentials"
        self.credentials.mkdir()
        secrets = {"USERNAME": "demo", "PASSWORD": "demo", "API_KEY": "demo-key"}
        for one in values(SERVICE, "LoadCredential"):
            name, _, kept = one.partition(":")
            assert kept == f"/etc/reconciler/{NAME}/{name}"
            (self.credentials / name).write_text(secrets[name])
        (base / "bin").mkdir()
        launcher = base / "bin" / "reconciler"
        launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -I -m reconciler "$@"\n')
        launcher.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words: str) -> None:
        given = ["-c", "user.name=Jane", "-c", "user.email=jane@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(
            ["git", "-C", str(self.project.folder), *given, *words], check=True, timeout=patience_s
        )

    def commit(self, *words: str) -> None:
        """Commit everything in the repository."""
        self.git("add", "-A")
        self.git("commit", "-qm", "All", *words)

    def start(self, **configured: str) -> int:
        """Carry out the commands of the unit as they stand, and return the exit code of the last one."""
        said = [word for line in values(SERVICE, "Environment") for word in shlex.split(line)]
        environ = dict(one.replace("%S", str(self.base / "state")).split("=", 1) for one in said)
        environ["PATH"] = f"{self.base / 'bin'}:{environ['PATH']}"
        environ |= {
            "CREDENTIALS_DIRECTORY": str(self.credentials),
            "REPOSITORY": str(self.project.folder),
            "RECONCILER_SERVICE_BASE_URL": self.service.address,
            "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
            "RECONCILER_LOCK_IN_SERVICE": "never",
            **configured,
        }
        code = 0
        for command in (*values(SERVICE, "ExecStartPre"), *values(SERVICE, "ExecStart")):
            words = [word.replace("$$", "$") for word in shlex.split(command)]
            code = subprocess.run(
                words, cwd=self.checkout, env=environ, timeout=patience_s, check=False
            ).returncode
            if code:
                break
        return code


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with running_sandbox(SandboxConfig()) as address:
        yield Machine(tmp_path, Service(address))


def test_the_commands_of_the_unit_report_and_apply_as_the_policy_says(machine: Machine) -> None:
    """By default nothing is written, which is no failure; what the machine says goes over the repository."""
    assert machine.start() == 2
    assert machine.service.writes() == []

    assert machine.start(RECONCILER_POLICY_MODE="apply") == 0
    people = len(machine.service.contacts())
    assert people > 0

    machine.project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    machine.commit()
    before = len(machine.service.writes())
    assert machine.start(RECONCILER_POLICY_MODE="apply") == 0
    assert len(machine.service.writes()) == before + 1
    assert len(machine.service.contacts()) == people


def test_a_branch_that_was_rewritten_is_not_applied(machine: Machine) -> None:
    """Somebody with a push could otherwise take back what others have merged."""
    assert machine.start(RECONCILER_POLICY_MODE="apply") == 0
    before = machine.service.writes()
    machine.project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    machine.commit("--amend")

    assert machine.start(RECONCILER_POLICY_MODE="apply") not in (0, 2, 4, 9, 10)
    assert machine.service.writes() == before
