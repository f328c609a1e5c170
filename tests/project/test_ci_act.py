"""The GitHub workflows, run by a real runner: green as they are shipped, and red with each planted defect.

A scenario is what an operator relies on, in one or two runs. A defect is one small edit of a workflow, with
the scenario that it breaks.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import effort
import pytest
import tally
from cli.hands import Service
from cli.test_consent import NAMES, declare
from project.runners import Workplace
from project.stand_in_forge import running_forge
from project.test_ci_templates import HUB, ROOT, TEMPLATES

from reconciler.sandbox.app import SandboxConfig, running_sandbox

KEPT = NAMES[:2]


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Workplace]:
    """A repository that declares two people, its workflows, a service and a forge."""
    with running_sandbox(SandboxConfig()) as address, running_forge() as forge:
        made = Workplace.make(tmp_path, Service(address), forge)
        declare(made.project, KEPT)
        made.commit()
        yield made


def apply(workplace: Workplace, names: tuple[str, ...]) -> None:
    """Let these people be live and recorded, and the default branch declare the first two."""
    declare(workplace.project, names)
    done = workplace.project.run(
        workplace.service, "apply", "--yes", env={"RECONCILER_STORE": workplace.store}
    )
    assert done.returncode == 0, done.stderr
    declare(workplace.project, KEPT)
    if workplace.git("status", "--porcelain"):
        workplace.commit()


def propose(workplace: Workplace, names: tuple[str, ...]) -> str:
    """Open pull request 7 of the branch `more`, which declares these people; return its commit."""
    workplace.git("checkout", "-q", "-b", "more")
    declare(workplace.project, names)
    head = workplace.commit()
    workplace.git("checkout", "-q", "main")
    workplace.forge.add_pull(7, head)
    return head


def statuses(workplace: Workplace) -> list[tuple[str, str]]:
    """Commit and state of each status that was set."""
    return [(one["sha"], one["state"]) for one in workplace.forge.statuses]


def check_valid(workplace: Workplace) -> None:
    """A pull request without a mistake is green; it needs no value of a variable."""
    manifest = workplace.project.manifest
    manifest.write_text(manifest.read_text().replace("sam@example.com", '"${env:SVC_MAIL}"'))
    settings = workplace.project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "variables: [SVC_MAIL]\n")
    workplace.commit()
    ran = workplace.run("validate.yml", "pull_request")

    assert ran.code == 0, ran.log
    assert "## validate: done" in ran.log


def check_mistake(workplace: Workplace) -> None:
    """One with a mistake is red, and log and summary say where it is and what to do."""
    workplace.project.edit("lastName: Doe, workEmailAddress1: sam", "lastNmae: Doe, workEmailAddress1: sam")
    workplace.commit()
    ran = workplace.run("validate.yml", "pull_request")

    assert ran.code != 0, ran.log
    for told in (ran.log, ran.log.partition("Summary - ")[2]):
        assert "manifests/team.yaml:5" in told, ran.log
        assert "next: did you mean lastName?" in told


def check_plan_of_a_branch(workplace: Workplace) -> None:
    """Its pull request says what would change, its commit that there is a plan; reviewers can read that."""
    head = propose(workplace, NAMES)
    ran = workplace.run("plan.yml", "workflow_dispatch", branch="more")

    assert ran.code == 0, ran.log
    assert ["+ 6 contacts in default: declared" in one["body"] for one in workplace.forge.comments] == [True]
    assert statuses(workplace) == [(head, "success")]
    assert workplace.forge.statuses[0]["description"] == "done: 6 creates"
    plan = workplace.base / "artifacts" / "plan" / "plan.age"
    assert plan.read_bytes().startswith(b"age-encryption.org/")
    assert_names_nobody(workplace, ran.log)


def check_refused_branch(workplace: Workplace) -> None:
    """The guard refuses it: the comment says by which rule and what lifts it, and replaces the older one."""
    apply(workplace, NAMES)
    declare(workplace.project, NAMES)
    workplace.commit()
    head = propose(workplace, KEPT)
    workplace.forge.add_comment(7, "<!-- reconciler: plan -->\nan older plan", workplace.forge.author)
    ran = workplace.run("plan.yml", "workflow_dispatch", branch="more")

    assert ran.code != 0, ran.log
    assert len(workplace.forge.comments) == 1, ran.log
    text = workplace.forge.comments[0]["body"]
    assert "**Refused; nothing is written: 4 contacts would be deleted.**" in text, ran.log
    assert "- `G1` Too many deletes: 4" in text
    assert "`--allow-deletes N` allows the deletes" in text
    assert statuses(workplace) == [(head, "failure")]
    assert not [*(workplace.base / "artifacts").glob("*/*")]


def check_plan_from_elsewhere(workplace: Workplace) -> None:
    """A copy of the workflow on another branch does nothing, though somebody starts it there."""
    propose(workplace, NAMES)
    workplace.git("checkout", "-q", "more")
    ran = workplace.run("plan.yml", "workflow_dispatch", branch="more")

    assert workplace.service.requests() == [], ran.log
    assert statuses(workplace) == []


def check_merge(workplace: Workplace) -> None:
    """What is merged is planned, encrypted, and carried out as it was planned."""
    ran = workplace.run("apply.yml", "push")

    assert ran.code == 0, ran.log
    assert len(workplace.service.contacts()) == len(KEPT)
    assert "## apply: done" in ran.log
    assert "head of the history `" in ran.log
    plan = workplace.base / "artifacts" / "plan" / "plan.age"
    assert plan.read_bytes().startswith(b"age-encryption.org/")
    assert_names_nobody(workplace, ran.log)


def check_wanted_delete(workplace: Workplace) -> None:
    """Somebody starts it by hand and agrees to a number."""
    apply(workplace, NAMES)
    ran = workplace.run("apply.yml", "workflow_dispatch", allow_deletes="4")

    assert ran.code == 0, ran.log
    assert len(workplace.service.contacts()) == len(KEPT)
    assert "**agreed to: --allow-deletes 4**" in ran.log


def check_change_after_the_review(workplace: Workplace) -> None:
    """What changed since is not overwritten; log and summary say what to do."""
    apply(workplace, NAMES[:1])
    workplace.add_program(
        "meanwhile",
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = [{str(ROOT / 'tests')!r}, {str(ROOT)!r}]\n"
        f"from cli.hands import Service\nservice = Service({workplace.service.address!r})\n"
        "service.call('POST', '/contacts', {'firstName': 'Sam', 'lastName': 'Doe', "
        "'workEmailAddress1': 'sam@example.com', 'timezone': 'Australia/Melbourne'})\n",
    )
    ran = workplace.run("apply.yml", "push")

    assert ran.code != 0, ran.log
    assert "## apply: stale" in ran.log
    assert "next: plan again, and review it" in ran.log
    assert len(workplace.service.contacts()) == len(KEPT), "no second Sam"


def check_nothing_to_resume(workplace: Workplace) -> None:
    """Without a secret for the store, that of the settings counts; there is no run to go on with."""
    ran = workplace.run("resume.yml", "workflow_dispatch", store=False)

    assert ran.code == 0, ran.log
    assert "## resume: done" in ran.log


def check_drift(workplace: Workplace) -> None:
    """One issue is opened, with counts and no name."""
    apply(workplace, KEPT)
    workplace.service.call("DELETE", f"/contacts/{workplace.service.contacts()['Jane']}")
    ran = workplace.run("drift.yml", "schedule")

    assert ran.code == 0, ran.log
    assert ["Found: 1 contact gone" in one["body"] for one in workplace.forge.issues] == [True], ran.log
    assert_names_nobody(workplace, ran.log + workplace.forge.issues[0]["body"])


def check_no_drift(workplace: Workplace) -> None:
    """The issue of an earlier drift is closed, and one that somebody else wrote is left alone."""
    apply(workplace, KEPT)
    for author in ("mallory", workplace.forge.author):
        workplace.forge.add_issue({"body": "<!-- reconciler: drift -->\nFound"}, author)
    ran = workplace.run("drift.yml", "schedule")

    assert ran.code == 0, ran.log
    assert "## drift: none" in ran.log
    assert [one["state"] for one in workplace.forge.issues] == ["open", "closed"]


def assert_names_nobody(workplace: Workplace, log: str) -> None:
    """More people read logs and pull requests than plans."""
    told = log + "".join(one["body"] for one in workplace.forge.comments)
    assert [name for name in ("contact/default/", "jane@", "sam@") if name in told] == []


SCENARIOS: Mapping[str, Callable[[Workplace], None]] = {
    one.__name__.removeprefix("check_"): one
    for one in (
        *(
            check_valid,
            check_mistake,
            check_plan_of_a_branch,
            check_refused_branch,
            check_plan_from_elsewhere,
        ),
        *(check_merge, check_wanted_delete, check_change_after_the_review, check_nothing_to_resume),
        *(check_drift, check_no_drift),
    )
}


class Defect(NamedTuple):
    """One edit of a workflow, and what it breaks."""

    scenario: str
    file: str
    before: str
    after: str


TO = 'to+=(--encrypt-to "$one")'
DEFECTS = (
    Defect("valid", "validate.yml", " --without-variables", ""),
    Defect("valid", "validate.yml", "      - uses: ./.github/actions/reconciler\n", ""),
    Defect("mistake", "validate.yml", '"$RUNNER_TEMP/report.json"\n', '"$RUNNER_TEMP/report.json" || true\n'),
    Defect("mistake", "validate.yml", "        if: always()\n", ""),
    Defect("plan_of_a_branch", "plan.yml", "refs/heads/${{ inputs.branch }}", "refs/heads/main"),
    Defect("plan_of_a_branch", "plan.yml", "      - id: proposed\n        uses:", "      - uses:"),
    Defect("plan_of_a_branch", "plan.yml", "steps.tell.outputs.comment", "steps.tell.outputs.text"),
    Defect("plan_of_a_branch", "plan.yml", "DATA: manifests", "DATA: people"),
    Defect("plan_of_a_branch", "plan.yml", "COMMENT: comment", "COMMENT: markdown"),
    Defect("plan_of_a_branch", "plan.yml", "secrets.SVC_PASSWORD", "secrets.PASSWORD"),
    Defect("plan_of_a_branch", "plan.yml", TO, 'to+=(--only "$one")'),
    Defect("plan_of_a_branch", "plan.yml", "          path: plan.age", "          path: plan.json"),
    Defect("refused_branch", "plan.yml", "if: always() && needs.plan", "if: needs.plan"),
    Defect("refused_branch", "plan.yml", 'result == "success" else', 'result != "skipped" else'),
    Defect("refused_branch", "plan.yml", "github-actions[bot]", "somebody"),
    Defect("plan_from_elsewhere", "plan.yml", "    if: github.ref == ", "    # if: github.ref == "),
    Defect("merge", "apply.yml", "      changes: ${{ steps.tell.outputs.changes }}", "      more: none"),
    Defect("merge", "apply.yml", "          path: reviewed\n", ""),
    Defect("merge", "apply.yml", "secrets.AGE_IDENTITY", "secrets.IDENTITY"),
    Defect("merge", "apply.yml", " --format json \\\n            >", " > /dev/null; echo {} >"),
    Defect("wanted_delete", "apply.yml", "inputs.allow_deletes", "inputs.deletes"),
    Defect("change_after_the_review", "apply.yml", "apply reviewed/plan.age", "apply --yes"),
    Defect("nothing_to_resume", "resume.yml", '[ -n "$RECONCILER_STORE" ] ||', "true ||"),
    Defect("nothing_to_resume", "resume.yml", "exec reconciler resume", "exec reconciler apply"),
    Defect("drift", "drift.yml", ' || test "$?" -eq 2', ""),
    Defect("drift", "drift.yml", "steps.tell.outputs.counts", "steps.look.outputs.counts"),
    Defect("no_drift", "drift.yml", 'or "none"', 'or "nothing"'),
    Defect("no_drift", "drift.yml", "github-actions[bot]", "mallory"),
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_workflow_does_what_an_operator_relies_on(name: str, workplace: Workplace) -> None:
    """As it is shipped, with the lines marked `edit` filled in."""
    SCENARIOS[name](workplace)

    tally.count("workflows run", name)


@effort.sample(6)
@pytest.mark.parametrize("defect", DEFECTS, ids=[f"{one.file}-{one.before.strip()}" for one in DEFECTS])
def test_a_planted_defect_of_a_workflow_turns_its_run_red(defect: Defect, workplace: Workplace) -> None:
    """A run that is green whatever the file says would prove nothing of it."""
    workplace.plant(defect.file, defect.before, defect.after)

    with pytest.raises((AssertionError, FileNotFoundError)):
        SCENARIOS[defect.scenario](workplace)

    tally.count("sabotages caught", f"workflow {defect.file}")


def test_every_workflow_is_run() -> None:
    """One that is not run may be wrong from the day on which it was written."""
    assert {one.file for one in DEFECTS} == {path.name for path in (TEMPLATES / HUB).glob("*.yml")}
    assert {one.scenario for one in DEFECTS} == SCENARIOS.keys()
