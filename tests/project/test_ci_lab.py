"""The file for GitLab, run by gitlab-ci-local: green as it is shipped, and red with each planted defect."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import effort
import pytest
import tally
from cli.hands import Service
from cli.test_consent import NAMES, declare
from project.ci_policy import File
from project.ci_policy_gitlab import jobs
from project.runners import LAB_FILE, Workplace, find_node
from project.stand_in_forge import running_forge
from project.test_ci_act import KEPT, apply, assert_names_nobody
from project.test_ci_templates import LAB, TEMPLATES

from reconciler.sandbox.app import SandboxConfig, running_sandbox


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Workplace]:
    """A repository that declares two people, its file, a service and a forge."""
    find_node()
    with running_sandbox(SandboxConfig()) as address, running_forge() as forge:
        made = Workplace.make(tmp_path, Service(address), forge)
        declare(made.project, KEPT)
        made.commit()
        yield made


def check_merge_request(workplace: Workplace) -> None:
    """It is checked without a secret, also where a manifest takes a value from one."""
    manifest = workplace.project.manifest
    manifest.write_text(manifest.read_text().replace("sam@example.com", '"${env:SVC_MAIL}"'))
    settings = workplace.project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "variables: [SVC_MAIL]\n")
    workplace.commit()
    ran = workplace.run_lab(CI_PIPELINE_SOURCE="merge_request_event", CI_COMMIT_BRANCH="")

    assert ran.code == 0, ran.log
    assert "PASS  validate" in ran.log
    assert workplace.service.requests() == [], ran.log


def check_mistake(workplace: Workplace) -> None:
    """A mistake makes it red, and the log says where it is and what to do."""
    workplace.project.edit("lastName: Doe, workEmailAddress1: sam", "lastNmae: Doe, workEmailAddress1: sam")
    workplace.commit()
    ran = workplace.run_lab(CI_PIPELINE_SOURCE="merge_request_event", CI_COMMIT_BRANCH="")

    assert ran.code != 0, ran.log
    assert "manifests/team.yaml:5" in ran.log
    assert "next: did you mean lastName?" in ran.log


def check_merge(workplace: Workplace) -> None:
    """What is merged is planned, told below its merge request, and carried out as it was planned."""
    head = workplace.git("rev-parse", "HEAD")
    workplace.forge.add_pull(7, head)
    workplace.forge.add_comment(7, "<!-- reconciler: plan -->\nSafe, merge it.", "mallory")
    ran = workplace.run_lab("--manual=apply", CI_PIPELINE_SOURCE="push")

    assert ran.code == 0, ran.log
    assert len(workplace.service.contacts()) == len(KEPT), ran.log
    texts = [one["body"] for one in workplace.forge.comments]
    assert ["+ 2 contacts in default: declared" in one for one in texts] == [False, True], ran.log
    assert re.search(r"^apply +> done ", ran.log, re.MULTILINE)
    assert_names_nobody(workplace, ran.log)


def check_refused(workplace: Workplace) -> None:
    """The guard refuses it: the log and the one comment say by which rule and what lifts it."""
    apply(workplace, NAMES)
    workplace.forge.add_pull(7, workplace.git("rev-parse", "HEAD"))
    workplace.forge.add_comment(7, "<!-- reconciler: plan -->\nan older plan", workplace.forge.author)
    ran = workplace.run_lab("--manual=apply", CI_PIPELINE_SOURCE="push")

    assert re.search(r"^ FAIL +plan", ran.log, re.MULTILINE), ran.log
    assert len(workplace.service.contacts()) == len(NAMES), "nobody was deleted"
    assert "the plan deletes 4 of 6 contacts in default" in ran.log
    assert "agree to it there, with ALLOW_DELETES" in ran.log
    assert len(workplace.forge.comments) == 1
    assert "- `G1` Too many deletes: 4" in workplace.forge.comments[0]["body"], ran.log


def check_wanted_delete(workplace: Workplace) -> None:
    """Somebody runs the pipeline by hand and agrees to a number."""
    apply(workplace, NAMES)
    ran = workplace.run_lab("--manual=apply", CI_PIPELINE_SOURCE="web", ALLOW_DELETES="4")

    assert ran.code == 0, ran.log
    assert len(workplace.service.contacts()) == len(KEPT)
    assert "agreed to --allow-deletes 4" in ran.log


def check_unprotected(workplace: Workplace) -> None:
    """A branch that is not protected has no pipeline that could use a secret."""
    ran = workplace.run_lab("--manual=apply", CI_PIPELINE_SOURCE="push", CI_COMMIT_REF_PROTECTED="false")

    assert workplace.service.requests() == [], ran.log


def check_drift(workplace: Workplace) -> None:
    """On a schedule one issue is opened, with counts and no name, and nothing is planned or applied."""
    apply(workplace, KEPT)
    workplace.service.call("DELETE", f"/contacts/{workplace.service.contacts()['Jane']}")
    ran = workplace.run_lab("--manual=apply", CI_PIPELINE_SOURCE="schedule")

    assert ran.code == 0, ran.log
    assert ["Found: 1 contact gone" in one["description"] for one in workplace.forge.issues] == [True]
    assert len(workplace.service.contacts()) == 1, ran.log
    assert_names_nobody(workplace, ran.log + workplace.forge.issues[0]["description"])


def check_resume(workplace: Workplace) -> None:
    """It is started by hand, alone, and finds nothing to go on with."""
    ran = workplace.run_lab("resume", CI_PIPELINE_SOURCE="web")

    assert ran.code == 0, ran.log
    assert re.search(r"^resume +> done ", ran.log, re.MULTILINE)


SCENARIOS: Mapping[str, Callable[[Workplace], None]] = {
    one.__name__.removeprefix("check_"): one
    for one in (
        *(check_merge_request, check_mistake, check_merge, check_refused, check_wanted_delete),
        *(check_unprotected, check_drift, check_resume),
    )
}


class Defect(NamedTuple):
    """One edit of the file, and what it breaks."""

    scenario: str
    before: str
    after: str


DEFECTS = (
    Defect("merge_request", " --without-variables", ""),
    Defect("mistake", "reconciler validate --without-variables", "reconciler validate || true"),
    Defect("merge", "  needs: [plan]\n", "  needs: []\n"),
    Defect("merge", "    paths: [plan.age]", "    paths: [plan.json]"),
    Defect("merge", 'to="$to --encrypt-to $one"', 'to=""'),
    Defect("merge", '--identity "$place/identity"', '--identity "$place/key"'),
    Defect("merge", "    COMMENT: comment", "    COMMENT: markdown"),
    Defect("merge", ' and one["body"].startswith(mark)', ' or one["body"].startswith(mark)'),
    Defect("refused", '    - \'[ "$code" -eq 0 ] || [ "$code" -eq 5 ]\'\n', ""),
    Defect("refused", "if there is None:", "if True:"),
    Defect("refused", '[ -z "$REVIEW_TOKEN" ]', '[ -n "$REVIEW_TOKEN" ]'),
    Defect("wanted_delete", "for one in $ALLOW_DELETES;", "for one in $ALLOW_DELETE;"),
    Defect("unprotected", ' && $CI_COMMIT_REF_PROTECTED == "true"', ""),
    Defect("drift", '|| [ "$?" -eq 2 ]', ""),
    Defect("drift", "if counts and there:", "if counts:"),
    Defect("resume", "reconciler resume --format json", "reconciler apply --format json"),
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_file_does_what_an_operator_relies_on(name: str, workplace: Workplace) -> None:
    """As it is shipped, with the lines marked `edit` filled in."""
    SCENARIOS[name](workplace)

    tally.count("workflows run", f"gitlab {name}")


@effort.sample(4)
@pytest.mark.parametrize("defect", DEFECTS, ids=[one.before.strip() for one in DEFECTS])
def test_a_planted_defect_turns_its_pipeline_red(defect: Defect, workplace: Workplace) -> None:
    """A pipeline that is green whatever the file says would prove nothing of it."""
    workplace.plant(LAB_FILE, defect.before, defect.after)

    with pytest.raises((AssertionError, FileNotFoundError)):
        SCENARIOS[defect.scenario](workplace)

    tally.count("sabotages caught", "gitlab")


def test_every_job_is_run() -> None:
    """One that is not run may be wrong from the day on which it was written."""
    shipped = {job.name for job in jobs(File.of((TEMPLATES / LAB).read_text(encoding="utf-8")))}

    assert shipped == {"validate", "plan", "apply", "drift", "resume"}
    assert {one.scenario for one in DEFECTS} == SCENARIOS.keys()
