"""A new user's first day, as processes: from a full service and an empty folder to a change that is applied.

The service was filled by somebody else (crowd.py), over HTTP. Every command is started as a user starts it,
and its seconds and its memory are taken. `script/walk` shows them; what is claimed of them is asserted here.
The seconds are no claim: this machine may be busy.
"""

import csv
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import effort
import pyrage
import warm
from cli.hands import PLAIN
from crowd import Crowd, crowd, fill
from project.test_ci_templates import scripts
from served import sandbox

PEOPLE = effort.count(small=300, full=10_000)
COLD = effort.count(small=0, full=1)
OPS = "4C8FE1A2B3D4E5F6"
DEFAULT_TABLE = "manifests/default-contacts.csv"
MEMORY_MAX = 150  # MiB
ROWS_A_PAGE = 20
# Runs a command, and writes its exit code, seconds, CPU seconds and peak memory in KiB. A small process of
# its own: until a command has begun, the memory of whoever starts it counts as its own.
MEASURE = """
import json, os, subprocess, sys, time
began = time.monotonic()
_, status, usage = os.wait4(subprocess.Popen(sys.argv[2:]).pid, 0)
took = time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
with open(sys.argv[1], "w") as file:
    json.dump((os.waitstatus_to_exitcode(status), *took), file)
"""
GIT = ("git", "-c", "user.name=Jane", "-c", "user.email=jane@example.com")


@dataclass(frozen=True)
class Step:
    """One command, ended: what it said, and what it took."""

    command: str
    code: int
    out: str
    err: str
    seconds: float = 0.0
    cpu_s: float = 0.0
    peak_mib: float = 0.0

    @property
    def json(self) -> dict[str, Any]:
        """Its output."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Walk:
    """A folder, a service that somebody else has filled, and the steps so far."""

    folder: Path
    environ: dict[str, str]
    steps: list[Step] = field(default_factory=list)

    def run(self, *arguments: str, at: Path | None = None, code: int = 0) -> Step:
        """Run the program as a user does; in a quick run in a process that has imported it already."""
        if not COLD:
            done = warm.run(*arguments, cwd=at or self.folder, env=self.environ)
            return self.ended(Step(" ".join(arguments), done.returncode, done.stdout, done.stderr), code)
        return self.start([sys.executable, "-m", "reconciler", *arguments], " ".join(arguments), at, code)

    def start(self, command: list[str], shown: str, at: Path | None = None, code: int = 0) -> Step:
        """Run a command, and take what it took."""
        out, err, took = (self.folder.parent / name for name in ("stdout", "stderr", "took"))
        with out.open("wb") as told, err.open("wb") as said:
            subprocess.run(
                [sys.executable, "-I", "-S", "-c", MEASURE, took, *command],
                cwd=at or self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=said,
                check=True,
            )
        ended, seconds, cpu_s, peak_kib = json.loads(took.read_bytes())
        told_, said_ = (one.read_text("utf-8") for one in (out, err))
        return self.ended(Step(shown, ended, told_, said_, seconds, cpu_s, peak_kib / 1024), code)

    def ended(self, step: Step, code: int) -> Step:
        """Keep a step that ended as it should."""
        self.steps.append(step)
        assert step.code == code, f"{step.command}: {step.code}\n{step.out[-2000:]}\n{step.err[-2000:]}"
        return step

    def commit(self, message: str) -> None:
        """Commit all that is not ignored."""
        for words in (("add", "-A"), ("commit", "-qm", message)):
            subprocess.run([*GIT, *words], cwd=self.folder, env=self.environ, check=True)

    def files(self, at: Path | None = None) -> dict[str, bytes]:
        """The manifests, by path."""
        folder = (at or self.folder) / "manifests"
        return {
            one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()
        }

    def table(self) -> str:
        """What each step took, as a table of Markdown."""
        rows = [
            f"| `{one.command[:70]}` | {one.seconds:.1f} | {one.cpu_s:.1f} | {one.peak_mib:.0f} |"
            for one in self.steps
        ]
        total = sum(one.seconds for one in self.steps)
        head = ["| command | seconds | CPU s | peak MiB |", "|---|---|---|---|"]
        return "\n".join([*head, *rows, f"| all of it | {total:.1f} | | |"])


def begun(folder: Path, address: str) -> Walk:
    """An empty folder, and the environment of somebody who knows the address and the credentials."""
    home = folder.parent / "home"
    home.mkdir()
    folder.mkdir()
    return Walk(
        folder,
        PLAIN
        | {
            "HOME": str(home),
            "SVC_USER": "demo",
            "SVC_PASSWORD": "demo",
            "SVC_API_KEY": "demo-key",
            "RECONCILER_SERVICE_BASE_URL": address,
            # The pace of a real service would only make this wait.
            "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
            "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
        },
    )


def test_a_full_workspace_comes_into_git_and_a_reviewed_change_is_applied(tmp_path: Path) -> None:
    """Day one, and the first change: what is promised of the whole of it, and not of its parts."""
    default, ops = crowd(PEOPLE), crowd(PEOPLE // 10, seed=8)
    with sandbox("--workspace", f"Operations={OPS}") as (address, _):
        fill(address, default)
        fill(f"{address}/workspaces/{OPS}", ops)
        walk = begun(tmp_path / "on-call", address)
        comes_into_git(walk, default, ops)
        is_exported_twice_alike(walk, tmp_path / "again")
        is_changed_and_applied(walk)
    if COLD:
        print(f"\n{walk.table()}")  # noqa: T201 - what script/walk shows


def comes_into_git(walk: Walk, default: Crowd, ops: Crowd) -> None:
    """init, doctor, export, fmt, commit, plan: nothing to change, and everybody left out is told."""
    subprocess.run([*GIT, "init", "-q", "-b", "main"], cwd=walk.folder, env=walk.environ, check=True)
    walk.run("init", "--workspace-id", OPS)
    walk.run("doctor")
    exported = walk.run("export", "--only", "workspace:default", "--format", "json")
    left = [one["reason"] for one in exported.json["left"]]
    assert (left.count("identity"), left.count("twice")) == (default.without_email, default.twice)
    assert (
        exported.json["calls"]
        <= len(default.contacts) / ROWS_A_PAGE + len(default.resources) / ROWS_A_PAGE + 3 * 3
    )
    assert exported.json["advice"][0]["fields"] == ["workEmailAddress1", "workMobilePhone1"]
    assert exported.json["advice"][0]["number"] == default.without_email
    looked = walk.run("export", "--only", "workspace:main", "--devices", "--format", "json")
    assert (
        looked.json["calls"]
        <= len(ops.contacts) * (1 + 1 / ROWS_A_PAGE) + len(ops.resources) / ROWS_A_PAGE + 3 * 3
    )
    assert max(exported.peak_mib, looked.peak_mib) <= MEMORY_MAX
    assert looked.json["variables"] == [], "a device that exists is managed without its token"
    walk.run("fmt", "--check")
    walk.run("validate", "--without-variables")
    walk.commit("Add everybody as they are")
    counts = walk.run("plan", "--format", "json").json["counts"]
    kept = len(exported.json["entries"]) + len(looked.json["entries"])
    assert {word: counts[word] for word in ("creates", "updates", "deletes", "records")} == {
        "creates": 0,
        "updates": 0,
        "deletes": 0,
        "records": kept,
    }


def is_exported_twice_alike(walk: Walk, other: Path) -> None:
    """The same service gives the same bytes, elsewhere and again; an export beside itself adds nothing."""
    before = walk.files()
    other.mkdir()
    (other / "reconciler.yaml").write_bytes((walk.folder / "reconciler.yaml").read_bytes())
    walk.run("export", "--only", "workspace:default", at=other)
    again = walk.run("export")

    elsewhere = walk.files(other)
    assert elsewhere == {name: before[name] for name in before if name in elsewhere}
    assert len(elsewhere) > 2
    assert again.out.startswith("exported nothing new")
    assert walk.files() == before


def is_changed_and_applied(walk: Walk) -> None:
    """Three people are edited, two leave, three come: reviewed as Markdown and HTML, applied by the job."""
    walk.run("adopt", "--all", "--yes")
    edited(walk.folder / DEFAULT_TABLE)
    walk.run("fmt", "--check")
    changed = subprocess.run(
        [*GIT, "diff", "--numstat"],
        cwd=walk.folder,
        env=walk.environ,
        check=True,
        capture_output=True,
        text=True,
    )
    assert changed.stdout.split() == ["6", "5", DEFAULT_TABLE], "a review shows the people who change alone"
    walk.commit("Change three people, remove two and add three")
    reports = ("--report", "markdown=../plan.md", "--report", "html=../plan.html")
    counts = walk.run("plan", *reports, "--format", "json").json["counts"]
    assert [counts[one] for one in ("creates", "updates", "deletes")] == [3, 3, 2]
    page, text = (walk.folder.parent / name for name in ("plan.html", "plan.md"))
    assert 0 < text.stat().st_size < 60_000
    assert 0 < page.stat().st_size < 500_000
    applied_by_the_job(walk)
    after = walk.run("plan", "--detailed-exitcode", "--format", "json").json["counts"]
    assert after["unchanged"] == counts["unchanged"] + 6
    walk.run("drift")
    walk.run("history")
    assert "Night manager" in walk.run("explain", "contact/default/new-1").out


def edited(table: Path) -> None:
    """Change a roster as a person with an editor does: line by line."""
    lines = table.read_text("utf-8").splitlines(keepends=True)
    row = dict.fromkeys(next(csv.reader(lines[:1])), "")
    job = list(row).index("jobTitle")
    plain = [at for at, one in enumerate(lines) if at > 40 and '"' not in one][:5]
    for at in plain[:3]:
        cells = lines[at].rstrip("\n").split(",")
        lines[at] = ",".join([*cells[:job], "Head of the ward", *cells[job + 1 :]]) + "\n"
    for at in reversed(plain[3:]):
        del lines[at]
    for number in range(3):
        new = {
            "name": f"new-{number}",
            "firstName": "Nia",
            "lastName": f"Newly {number}",
            "jobTitle": "Night manager",
            "workMobilePhone1": f"+6149157999{number}",
            "workEmailAddress1": f"nia.{number}@example.com",
            "workCountry": "Australia",
        }
        lines.append(",".join((row | new).values()) + "\n")
    table.write_text("".join(lines), "utf-8")


def applied_by_the_job(walk: Walk) -> None:
    """The steps of the workflow after a merge: plan for the reviewers, then apply exactly that file."""
    place = walk.folder.parent / "runner"
    (place / "bin").mkdir(parents=True)
    program = place / "bin" / "reconciler"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -m reconciler "$@"\n')
    program.chmod(0o755)
    key = pyrage.x25519.Identity.generate()
    known = walk.environ | {"PATH": f"{program.parent}:{walk.environ['PATH']}", "RUNNER_TEMP": str(place)}
    known |= {name: str(place / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    job = Walk(walk.folder, known | {"RECIPIENTS": str(key.to_public()), "CI": "true"}, walk.steps)
    steps = [text for name, text in scripts().items() if name.startswith("github/apply.yml")]
    plan, tell, apply, told = steps
    job.start(["bash", "-eo", "pipefail", "-c", plan], "apply.yml: plan")
    job.start(["bash", "-eo", "pipefail", "-c", tell], "apply.yml: the counts")
    assert (place / "GITHUB_OUTPUT").read_text() == "changes=true\n"
    reviewed = walk.folder / "reviewed"
    reviewed.mkdir()
    (walk.folder / "plan.age").rename(reviewed / "plan.age")
    job.environ["AGE_IDENTITY"] = str(key)
    job.start(["bash", "-eo", "pipefail", "-c", apply], "apply.yml: apply")
    del job.environ["AGE_IDENTITY"]
    job.start(["bash", "-eo", "pipefail", "-c", told], "apply.yml: how it ended")
    assert "- 8 applied" in (place / "GITHUB_STEP_SUMMARY").read_text()
