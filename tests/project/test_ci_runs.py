"""The scripts of the CI templates, carried out: in a hostile checkout, and to the end of a job.

The checkout is what somebody could merge: modules that Python would import from the working directory,
settings that git and pip would read there. Each writes its name into a file when it is run. What the
policy (ci_policy_shell.py) says of the scripts' text is shown here by what they do.
"""

import json
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import effort
import pytest
from project.ci_policy import File
from project.ci_policy_gitlab import Job, jobs
from project.stand_in_forge import REPOSITORY, TOKEN, running_forge
from project.test_ci_templates import ACTION, DRIFT, LAB, TEMPLATES, scripts
from waiting import patience_s, until

# What Python, pip and the scripts import, and what the interpreter imports by itself.
MODULES = (
    *("json", "venv", "sitecustomize", "usercustomize", "collections", "os", "sys", "site", "sysconfig"),
    *("runpy", "re", "encodings", "ensurepip", "pip", "reconciler", "reconciler/__main__", "pip/__main__"),
)
REPORT = {
    "outcome": "done",
    "counts": {"creates": 2},
    "outcomes": [],
    "run": "0b7c",
    "audit_head": "7:9f",
    "drifts": [],
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which everything that could be run says so."""
    folder = tmp_path / "builds" / "project"
    (folder / ".git").mkdir(parents=True)
    ran = tmp_path / "ran"
    for name in MODULES:
        path = folder / (name if "/" in name else f"{name}/__init__")
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".py").write_text(f"open({str(ran)!r}, 'a').write({name + ' '!r})\n")
    hook = folder / "hook"
    hook.write_text(f"#!/bin/sh\necho git >> {ran}\n")
    hook.chmod(0o755)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("refs", "objects"):
        (folder / ".git" / name).mkdir()
    (folder / ".git" / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./hook\n\tsshCommand = ./hook\n"
    )
    (folder / "pip.conf").write_text("[global]\nindex-url = http://pip.invalid/\n")
    return folder


def variables(checkout: Path) -> dict[str, str]:
    """The variables of a job, with those that lead Python and git into the checkout."""
    temporary = checkout.parents[1] / "tmp"
    temporary.mkdir(exist_ok=True)
    (checkout.parents[1] / "bin").mkdir(exist_ok=True)
    found = {
        "PATH": f"{checkout.parents[1] / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(temporary.parent),
        "PYTHONPATH": str(checkout),
        "RUNNER_TEMP": str(temporary),
        "TMPDIR": str(temporary),
        "CI_PROJECT_DIR": str(checkout),
    }
    return found | {
        name: str(temporary / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")
    }


def run(script: str, checkout: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Carry out a script as a runner does, in the checkout."""
    return subprocess.run(
        ["bash", "-eo", "pipefail"],
        input=script,
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def program(checkout: Path, script: str, name: str = "reconciler") -> None:
    """Put a program in the place of ours, or of another, outside of the checkout."""
    place = checkout.parents[1] / "bin"
    place.mkdir(exist_ok=True)
    (place / name).write_text(f"#!/bin/sh\n{script}")
    (place / name).chmod(0o755)


def lab_script(name: str) -> str:
    """Return what GitLab runs of a job, in one shell."""
    found: Job = next(job for job in jobs(File.of((TEMPLATES / LAB).read_text())) if job.name == name)
    return "\n".join(found.script)


SUMMARIES = {name: script for name, script in scripts().items() if "GITHUB_STEP_SUMMARY" in script}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_runs_nothing_of_the_checkout(name: str, checkout: Path) -> None:
    """The step before it had the credentials, and BASH_ENV of one step is code in all that follow."""
    environ = variables(checkout)
    for report in ("report.json", "run.json"):
        (checkout.parents[1] / "tmp" / report).write_text(json.dumps(REPORT))

    done = run(SUMMARIES[name], checkout, environ)

    assert (done.returncode, done.stderr) == (0, "")
    assert not (checkout.parents[1] / "ran").exists()


@pytest.mark.parametrize("word", ["creates", "updates", "deletes", "records", ""])
def test_a_plan_with_anything_to_keep_or_to_change_is_applied(word: str, checkout: Path) -> None:
    """A plan of records alone may protect somebody: skipped, the next commit would delete her."""
    (name,) = (one for one, script in SUMMARIES.items() if "changes=" in script)
    counts = dict.fromkeys(("creates", "updates", "deletes", "unchanged", "records"), 0) | {"unchanged": 7}
    counts |= {word: 4} if word else {}
    environ = variables(checkout)
    (checkout.parents[1] / "tmp" / "report.json").write_text(json.dumps({**REPORT, "counts": counts}))

    done = run(SUMMARIES[name], checkout, environ)

    assert (done.returncode, done.stderr) == (0, "")
    assert Path(environ["GITHUB_OUTPUT"]).read_text() == f"changes={str(bool(word)).lower()}\n"


def test_drift_on_a_schedule_opens_one_issue_and_closes_it(checkout: Path) -> None:
    """One a morning would be read by nobody; and one that stays open when all is well, neither."""
    (script,) = (script for name, script in scripts().items() if name.startswith(DRIFT) and "TITLE" in script)
    mornings = ("none", "1 contact drifted", "2 contact drifted", "none", "none", "1 device gone")
    with running_forge() as forge:
        environ = variables(checkout) | {
            "GITHUB_API_URL": forge.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_WORKFLOW": "drift",
            "GH_TOKEN": TOKEN,
            "AUTHOR": forge.author,
            "JOB": "https://example.com/1",
            "TITLE": "drift",
            "NEXT": "look",
        }

        for counts in mornings:
            done = run(script, checkout, environ | {"COUNTS": counts})
            assert (done.returncode, done.stderr) == (0, "")

    assert [one.partition(" ")[0] for one in forge.calls if "GET" not in one] == [
        *("POST", "PATCH", "PATCH", "POST")
    ]
    assert [one["state"] for one in forge.issues] == ["closed", "open"]
    assert not (checkout.parents[1] / "ran").exists()


class Issues(BaseHTTPRequestHandler):
    """As much of GitLab's issues as the template uses; what is no request of theirs is refused."""

    server: "IssueServer"

    def do_GET(self) -> None:
        self.answer(200, [one for one in self.server.issues if one["state"] == "opened"][:1])

    def do_POST(self) -> None:
        made = {**self.body(), "iid": len(self.server.issues) + 1, "state": "opened"}
        self.server.issues.append(made)
        self.answer(201, made)

    def do_PUT(self) -> None:
        issue = self.server.issues[int(self.path.rpartition("/")[2]) - 1]
        issue |= self.body()
        issue["state"] = "closed" if issue.pop("state_event", "") == "close" else issue["state"]
        self.answer(200, issue)

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def answer(self, status: int, value: object) -> None:
        """Answer, where the token and the address are those of the job."""
        known = self.headers["PRIVATE-TOKEN"] == "token-canary" and "/projects/7/issues" in self.path
        self.server.calls.append(f"{self.command} {self.path}")
        self.send_response(307 if self.server.elsewhere else status if known else 401)
        if self.server.elsewhere:
            self.send_header("Location", f"{self.server.elsewhere}{self.path}")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class IssueServer(HTTPServer):
    """The issues of one project, and the calls that were made."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Issues)
        self.issues: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.elsewhere = ""  # where every call is sent on to


@pytest.fixture
def issues() -> Iterator[IssueServer]:
    """A stand-in for GitLab, behind a port."""
    with IssueServer() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_drift_on_a_schedule_of_gitlab_keeps_one_issue(checkout: Path, issues: IssueServer) -> None:
    """As on GitHub: one issue, with counts and no name, which is closed when all is well."""
    environ = variables(checkout) | {
        "CI_API_V4_URL": f"http://127.0.0.1:{issues.server_port}/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_JOB_URL": "https://example.com/1",
        "DRIFT_TOKEN": "token-canary",
        "TITLE": "drift",
        "NEXT": "look",
    }
    found = {"address": "contact/ops/canary", "cause": "drifted"}
    output = ""

    for drifts in ([], [found], [found, found], [], [], [found]):
        program(checkout, f"echo '{json.dumps({**REPORT, 'drifts': drifts})}'\nexit {2 if drifts else 0}\n")
        done = run(lab_script("drift"), checkout, environ)
        assert (done.returncode, done.stderr) == (0, "")
        output += done.stdout

    assert [one.partition(" ")[0] for one in issues.calls if "GET" not in one] == [
        "POST",
        "PUT",
        "PUT",
        "POST",
    ]
    assert [one["state"] for one in issues.issues] == ["closed", "opened"]
    assert issues.issues[1]["description"] == "Found: 1 contact drifted. look Seen by https://example.com/1"
    assert "drift: 2 contact drifted\n" in output
    assert "canary" not in output + json.dumps(issues.issues)
    assert not (checkout.parents[1] / "ran").exists()
    assert list((checkout.parents[1] / "tmp").iterdir()) == []


@pytest.mark.parametrize(("code", "token"), [(1, "token-canary"), (8, "token-canary"), (0, "")])
def test_a_drift_job_of_gitlab_that_cannot_look_or_tell_fails(
    code: int, token: str, checkout: Path, issues: IssueServer
) -> None:
    """No issue would read like no drift."""
    program(checkout, f"echo '{json.dumps(REPORT)}'\nexit {code}\n")

    done = run(lab_script("drift"), checkout, variables(checkout) | {"DRIFT_TOKEN": token})

    assert done.returncode == 1
    assert issues.calls == []


def test_the_token_of_a_drift_job_of_gitlab_goes_to_no_other_address(
    checkout: Path, issues: IssueServer
) -> None:
    """A redirect took it along, whoever answered: a proxy, or a host that the API has moved away from."""
    issues.elsewhere = f"http://localhost:{issues.server_port}/other"
    environ = variables(checkout) | {
        "CI_API_V4_URL": f"http://127.0.0.1:{issues.server_port}/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_JOB_URL": "https://example.com/1",
        "DRIFT_TOKEN": "token-canary",
        "TITLE": "drift",
        "NEXT": "look",
    }
    program(checkout, f"echo '{json.dumps(REPORT)}'\n")

    done = run(lab_script("drift"), checkout, environ)

    assert done.returncode == 1
    assert len(issues.calls) == 1, "the one that was answered with a redirect"
    assert "token-canary" not in done.stdout + done.stderr


def test_without_isolation_a_summary_would_run_the_checkout(checkout: Path) -> None:
    """What the tests beside this one look for does happen, where a template slips."""
    script = next(iter(SUMMARIES.values())).replace("python3 -I", "python3")
    run(script, checkout, variables(checkout) | {"PYTHONPATH": ""})

    assert "json" in (checkout.parents[1] / "ran").read_text().split()


@pytest.mark.parametrize("name", ["plan", "apply", "resume"])
@pytest.mark.parametrize("code", [0, 8])
def test_a_gitlab_job_runs_nothing_of_the_checkout_and_leaves_nothing(
    name: str, code: int, checkout: Path
) -> None:
    """The next job on this runner may be anybody's: no key, no plan's values beside the project."""
    told = json.dumps(REPORT)
    environ = variables(checkout) | {"AGE_IDENTITY": str(checkout.parents[1] / "key"), "RECIPIENTS": "age1x"}
    (checkout.parents[1] / "key").write_text("AGE-SECRET-KEY-CANARY\n")
    (checkout.parents[1] / "key").chmod(0o666)
    program(checkout, f'stat -c %a "$TMPDIR"/* "$TMPDIR"/*/* >> ../../modes\necho \'{told}\'\nexit {code}\n')
    before = sorted(checkout.parent.rglob("*"))

    done = run(lab_script(name), checkout, environ)

    assert done.returncode == (1 if code and name == "plan" else code)
    assert not (checkout.parents[1] / "ran").exists()
    assert list((checkout.parents[1] / "tmp").iterdir()) == []
    assert sorted(checkout.parent.rglob("*")) == before
    assert set((checkout.parents[1] / "modes").read_text().split()) == {"700", "600"}


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_signal_of_a_cancelled_gitlab_job_reaches_the_program_and_the_key_goes(
    shell: str, checkout: Path
) -> None:
    """A shell that dies of the signal leaves the program running without a word, and the key on the disk."""
    base = checkout.parents[1]
    (base / "key").write_text("AGE-SECRET-KEY-CANARY\n")
    program(
        checkout,
        f"trap 'echo told > {base}/told; exit 130' TERM\necho > {base}/runs\n"
        "for n in $(seq 100); do sleep 0.1; done\n",  # it ends by itself where nobody tells it
    )
    process = subprocess.Popen(
        [shell, "-ec", lab_script("apply")],
        cwd=checkout,
        env=variables(checkout) | {"AGE_IDENTITY": str(base / "key")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        until((base / "runs").exists, "the program runs")
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=patience_s)

    assert ((base / "told").read_text(), code) == ("told\n", 130)
    assert list((base / "tmp").iterdir()) == []


@effort.proofs_only()
def test_the_program_is_installed_and_started_without_the_checkout(checkout: Path) -> None:
    """Three programs are at work here that read their working directory: git, Python and pip."""
    base = checkout.parents[1]
    environ = variables(checkout)
    source = base / "program"
    (source / "reconciler").mkdir(parents=True)
    (source / "requirements").mkdir()
    (source / "reconciler" / "__init__.py").touch()
    (source / "reconciler" / "__main__.py").write_text("import json, sys; print('ours', sys.argv[1:])\n")
    (source / "requirements" / "run.txt").touch()
    git = ["git", "-C", str(source), "-c", "user.name=Jane", "-c", "user.email=jane@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
        subprocess.run([*git, *words], check=True, timeout=patience_s)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True, timeout=patience_s).strip()
    script = next(script for name, script in scripts().items() if name.startswith(ACTION))

    done = run(script, checkout, environ | {"PROGRAM": str(source), "COMMIT": head})
    assert (done.returncode, done.stdout) == (0, "")
    place = Path((base / "tmp" / "GITHUB_PATH").read_text().strip())
    started = run(f'"{place}/reconciler" validate', checkout, environ)

    assert (started.stdout, started.stderr) == ("ours ['validate']\n", "")
    assert not (base / "ran").exists()
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
