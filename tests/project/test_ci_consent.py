"""The shipped jobs, carried out with the program: a wanted delete passes, a failure is in the summary."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.test_consent import NAMES, declare
from copies import copied
from project.test_ci_runs import lab_script, program, variables
from project.test_ci_templates import APPLY, DRIFT, PLAN, RESUME, ROOT, TEMPLATES, VALIDATE, scripts
from pyrage import x25519
from waiting import patience_s

from reconciler.files.encryption import check_recipients
from reconciler.sandbox.app import SandboxConfig, running_sandbox

CONSENTS = ("allow_deletes", "allow_creates", "allow_updates", "allow_fewer_rows", "allow_moves")
WORDS = ("confirm_same", "create_again", "reactivate")
HOSTILE = (
    "4; touch ../../ran",
    "$(touch ../../ran)",
    "`touch ../../ran`",
    "4 --yes --identity /etc/passwd",
    "4\n--yes\ntouch ../../ran",
    "* ?",
    '"; touch ../../ran; "',
    "${IFS}--yes",
)


def step(flow: str, word: str) -> str:
    """The script of a template that holds this word."""
    (found,) = (script for name, script in scripts().items() if name.startswith(flow) and word in script)
    return found


@pytest.fixture
def service() -> Iterator[Service]:
    with running_sandbox(SandboxConfig()) as address:
        yield Service(address)


@pytest.fixture
def crew(tmp_path: Path, service: Service) -> Project:
    """A checkout of six people who are live, of whom the default branch keeps two; and our command."""
    folder = tmp_path / "builds" / "project"
    folder.parent.mkdir()
    copied(ROOT / "examples" / "quickstart", folder)
    project = Project(folder)
    declare(project, NAMES)
    assert project.run(service, "apply", "--yes", env=store(project)).returncode == 0
    declare(project, NAMES[:2])
    program(folder, f'exec {sys.executable} -m reconciler "$@"\n')
    return project


def store(project: Project) -> dict[str, str]:
    """The store that all jobs share."""
    return {"RECONCILER_STORE": f"sqlite:///{project.folder.parents[1] / 'shared.db'}"}


def environ(project: Project, service: Service, **given: str) -> dict[str, str]:
    """What a step gets: the job's secrets, and what somebody typed into the form."""
    inputs = {name.upper(): "" for name in (*CONSENTS, *WORDS)} | {"SAME_SERVICE": "false"}
    place = variables(project.folder)
    del place["PYTHONPATH"]
    fixed = {"CI": "true", "COMMENT": "comment"}
    return {**project.environ(service), **store(project), **place, **fixed, **inputs, **given}


def run(script: str, project: Project, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Carry out a step as a runner does."""
    return subprocess.run(
        ["bash", "-eo", "pipefail"],
        input=script,
        cwd=project.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def summary(project: Project) -> str:
    """What the jobs have told so far."""
    return (project.folder.parents[1] / "tmp" / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")


@pytest.fixture
def keys() -> tuple[str, str]:
    """A public key and its private one."""
    made = x25519.Identity.generate()
    check_recipients([str(made.to_public())])
    return str(made.to_public()), str(made)


def test_a_wanted_delete_of_four_people_is_reviewed_and_applied_by_the_github_jobs(
    crew: Project, service: Service, keys: tuple[str, str]
) -> None:
    """Merged, refused, understood from log and summary; started by hand with a number, reviewed, applied."""
    public, private = keys
    plan, tell = step(APPLY, "agreed=()"), step(APPLY, "## plan")

    refused = run(plan, crew, environ(crew, service, RECIPIENTS=public))
    run(tell, crew, environ(crew, service))

    assert refused.returncode != 0
    for text in (refused.stderr, summary(crew)):
        assert "the plan deletes 4 of 6 contacts in default" in text
        assert "[G1]" in text
        assert "next: " in text
        assert "--allow-deletes 4" in text
    assert "start this workflow by hand" in summary(crew)
    assert not (crew.folder / "plan.age").exists()

    agreed = run(plan, crew, environ(crew, service, RECIPIENTS=public, ALLOW_DELETES="4"))
    run(tell, crew, environ(crew, service))
    (crew.folder / "reviewed").mkdir()
    (crew.folder / "plan.age").rename(crew.folder / "reviewed" / "plan.age")
    key = crew.folder.parents[1] / "key"
    key.write_text(private)
    key.chmod(0o600)
    review = crew.run(service, "show", "reviewed/plan.age", "--identity", str(key))

    assert agreed.returncode == 0, agreed.stderr
    assert "- **agreed to: --allow-deletes 4**" in summary(crew)
    assert review.stdout.splitlines()[1].startswith(
        "  up to 4 deletes (--allow-deletes 4): contact/default/ada, "
    )

    applied = run(step(APPLY, "exec reconciler"), crew, environ(crew, service, AGE_IDENTITY=private))
    run(step(APPLY, "## apply"), crew, environ(crew, service))

    assert applied.returncode == 0, applied.stderr
    assert len(service.contacts()) == 2
    assert "## apply: done" in summary(crew)
    assert "- 4 applied" in summary(crew)


def test_a_wanted_delete_of_four_people_is_reviewed_and_applied_by_the_gitlab_jobs(
    crew: Project, service: Service, keys: tuple[str, str]
) -> None:
    """The same with variables of a pipeline that somebody runs by hand."""
    public, private = keys
    key = crew.folder.parents[1] / "key"
    key.write_text(private)

    refused = run(lab_script("plan"), crew, environ(crew, service, RECIPIENTS=public))
    agreed = run(lab_script("plan"), crew, environ(crew, service, RECIPIENTS=public, ALLOW_DELETES="4"))
    applied = run(lab_script("apply"), crew, environ(crew, service, AGE_IDENTITY=str(key)))

    assert refused.returncode != 0
    assert "the plan deletes 4 of 6 contacts in default" in refused.stderr
    assert "--allow-deletes 4" in refused.stderr
    assert "run a pipeline by hand and agree to it there, with ALLOW_DELETES" in refused.stdout
    assert "by hand" not in agreed.stdout
    assert agreed.returncode == 0, agreed.stderr
    assert agreed.stdout.splitlines()[0] == "agreed to --allow-deletes 4"
    assert applied.returncode == 0, applied.stderr
    assert len(service.contacts()) == 2


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("job", ["github", "gitlab"])
def test_what_is_typed_into_a_form_is_the_value_of_its_option_and_nothing_else(
    job: str, text: str, crew: Project, service: Service
) -> None:
    """Whoever may start a job is not whoever may change what it runs."""
    heard = crew.folder.parents[1] / "heard"
    program(crew.folder, f'for one in "$@"; do printf "%s\\n" "$one" >> {heard}; done\necho "{{}}"\n')
    script = step(APPLY, "agreed=()") if job == "github" else lab_script("plan")
    typed = {name.upper(): text for name in (*CONSENTS, *WORDS)} | {"SAME_SERVICE": text}

    run(script, crew, environ(crew, service, RECIPIENTS="age1x", **typed))

    options = tuple(f"--{name.replace('_', '-')}=" for name in (*CONSENTS, *WORDS))
    words = heard.read_text().splitlines()
    known = {"plan", "--encrypt-to", "age1x", "-o", "plan.age", "--report", "--format", "json"}
    assert [one for one in words if one not in known and not one.startswith((*options, "comment="))] == []
    assert not (crew.folder.parents[1] / "ran").exists()
    assert not any("README" in one or "manifests" in one for one in words)  # no pattern met a file


@pytest.mark.parametrize("text", ["4; true", "four", "-1", "0x4", "1_0"])
def test_what_is_no_number_ends_the_job_with_a_sentence(
    text: str, crew: Project, service: Service, keys: tuple[str, str]
) -> None:
    """Not with another number."""
    done = run(step(APPLY, "agreed=()"), crew, environ(crew, service, RECIPIENTS=keys[0], ALLOW_DELETES=text))
    run(step(APPLY, "## plan"), crew, environ(crew, service))

    assert done.returncode != 0
    assert "--allow-deletes" in done.stderr
    assert "--allow-deletes" in summary(crew)
    assert not (crew.folder / "plan.age").exists()


SUMMARIES = {
    VALIDATE: ("## validate", "report.json"),
    PLAN: ("## plan", "report.json"),
    f"{APPLY} plan": ("## plan", "report.json"),
    APPLY: ("## apply", "run.json"),
    RESUME: ("## resume", "run.json"),
    DRIFT: ("## drift", "report.json"),
}
FAILED = {
    "version": 1,
    "outcome": "invalid",
    "exit_code": 3,
    "code": "E002",
    "error": {
        "kind": "ManifestError",
        "message": "the manifests cannot be used: 1 mistake.",
        "next": "mend it",
    },
    "problems": [
        {
            "file": "manifests/ops.yaml",
            "line": 4,
            "column": 5,
            "what": "<img src=x> **fristName**\r\n# is no field\u2028@all",
            "next": "did you mean firstName?",
            "code": "E201",
        }
    ],
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_failure_is_readable_in_the_summary_and_no_name_in_it_acts(name: str, tmp_path: Path) -> None:
    """Who gets the mail that a job failed opens the summary; names in it are whatever somebody wrote."""
    word, file = SUMMARIES[name]
    script = step(name.split(maxsplit=1)[0], word)
    (tmp_path / file).write_text(json.dumps(FAILED))
    told = tmp_path / "summary"

    subprocess.run(
        ["bash", "-e"],
        input=script,
        text=True,
        env={
            "RUNNER_TEMP": str(tmp_path),
            "PATH": os.environ["PATH"],
            "GITHUB_STEP_SUMMARY": str(told),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
        },
        timeout=patience_s,
        check=True,
    )

    text = told.read_text(encoding="utf-8")
    assert "    manifests/ops.yaml:4:5: <img src=x> **fristName**  # is no field @all [E201]\n" in text
    assert "      next: did you mean firstName?\n" in text
    assert "    the manifests cannot be used: 1 mistake. [E002]\n" in text
    acting = [line for line in text.splitlines() if "<img" in line and not line.startswith("    ")]
    assert acting == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_is_written_when_the_job_has_failed(name: str) -> None:
    """`if: always()`, or the step is skipped where it matters."""
    word, _ = SUMMARIES[name]
    text = (TEMPLATES / name.split(maxsplit=1)[0]).read_text(encoding="utf-8")
    before = text[: text.index(word)]

    assert before.rpartition("- name: ")[2].count("if: always()") == 1


def test_every_summary_tells_a_failure_in_the_same_words() -> None:
    """Six copies, because a template is one file: this keeps them one text."""
    block = re.compile(r"^ *# Why it failed.*?more: see the log\", file=summary\)$", re.MULTILINE | re.DOTALL)
    texts = [
        found
        for flow in dict.fromkeys(one.split()[0] for one in SUMMARIES)
        for found in block.findall((TEMPLATES / flow).read_text(encoding="utf-8"))
    ]

    assert len(texts) == len(SUMMARIES)
    assert len(set(texts)) == 1
