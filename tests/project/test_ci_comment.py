"""The plan in the pull request: one comment, updated in place, and a status of the commit."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from project.stand_in_forge import REPOSITORY, TOKEN, Forge, running_forge
from project.test_ci_runs import REPORT, checkout, lab_script, program, run, variables
from project.test_ci_templates import PLAN, scripts
from report.reviews import REVIEWS

from reconciler.report.markdown import comment

__all__ = ["checkout"]

HEAD, OLDER = "a" * 40, "b" * 40
MARK = "<!-- reconciler: plan -->\n"
PLAN_SCRIPT, TELL_SCRIPT, COMMENT_SCRIPT = (
    next(script for name, script in scripts().items() if name.startswith(PLAN) and word in script)
    for word in ("reconciler plan", "GITHUB_STEP_SUMMARY", "statuses/")
)


@pytest.fixture
def forge() -> Iterator[Forge]:
    """A forge with two pull requests, of which the second has our commit as its head."""
    with running_forge() as found:
        found.add_pull(6, OLDER)
        found.add_pull(5, OLDER)
        found.add_pull(7, HEAD)
        yield found


def tell(
    checkout: Path, forge: Forge, text: str, result: str = "success", said: str = "done: 2 creates"
) -> "subprocess.CompletedProcess[str]":
    """Carry out the job that writes to the pull request."""
    environ = variables(checkout) | {
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_WORKFLOW": "plan",
        "GH_TOKEN": TOKEN,
        "AUTHOR": "github-actions[bot]",
        "COMMIT": HEAD,
        "COMMENT": text,
        "SAID": said,
        "RESULT": result,
        "JOB": "https://example.com/1",
    }
    return run(COMMENT_SCRIPT, checkout, environ)


def test_a_pull_request_has_one_comment_with_the_newest_plan(checkout: Path, forge: Forge) -> None:
    """Five plans of a branch would be five comments, of which four are wrong."""
    forge.add_comment(7, "Please plan this.", "jane")
    forge.add_comment(7, f"{MARK}Safe, merge it.", "mallory")  # with our mark, and not ours
    forge.add_comment(7, "<!-- reconciler: other -->\nof another workflow", forge.author)

    for text in ("first", "second", "third"):
        done = tell(checkout, forge, json.dumps(text))
        assert (done.returncode, done.stderr) == (0, "")

    ours = [one for one in forge.comments if one["user"]["login"] == forge.author]
    assert len(forge.comments) == 4
    assert ours[1]["body"].startswith(f"{MARK}third\n")
    assert ours[1]["of"] == 7
    assert "[This job](https://example.com/1)" in ours[1]["body"]
    assert forge.comments[1]["body"] == f"{MARK}Safe, merge it."
    assert not (checkout.parents[1] / "ran").exists()


@pytest.mark.parametrize(
    ("result", "state"), [("success", "success"), ("failure", "failure"), ("cancelled", "failure")]
)
def test_the_commit_has_a_status(result: str, state: str, checkout: Path, forge: Forge) -> None:
    """A rule of the branch can ask for it."""
    tell(checkout, forge, '"x"', result, said="refused: 4 deletes" + "x" * 200)

    (status,) = forge.statuses
    assert (status["sha"], status["state"], status["context"]) == (HEAD, state, "reconciler/plan")
    assert status["description"].startswith("refused: 4 deletes")
    assert len(status["description"]) == 140  # GitHub refuses more
    assert status["target_url"] == "https://example.com/1"


def test_a_branch_without_a_pull_request_has_a_status_alone(checkout: Path, forge: Forge) -> None:
    """Also one that was pushed to since: the comment would be about another commit."""
    forge.pulls[2]["head"]["sha"] = OLDER

    done = tell(checkout, forge, '"x"')

    assert done.returncode == 0
    assert "there is a status and no comment" in done.stdout
    assert (len(forge.statuses), forge.comments) == (1, [])


def test_a_report_that_the_forge_keeps_back_is_told_as_that(checkout: Path, forge: Forge) -> None:
    """GitHub drops an output in which it sees a secret, such as a user name that a workspace has too."""
    done = tell(checkout, forge, "", "success", said="")

    assert done.returncode == 0
    assert "There is no report: see the log." in forge.comments[0]["body"]
    assert forge.statuses[0]["description"] == "success"


def test_the_token_goes_to_no_other_address(checkout: Path, forge: Forge) -> None:
    forge.elsewhere = f"http://localhost:{forge.server_port}/other"

    done = tell(checkout, forge, '"x"')

    assert done.returncode == 1
    assert len(forge.calls) == 1, "the one that was answered with a redirect"
    assert TOKEN not in done.stdout + done.stderr


def test_the_token_of_gitlab_goes_to_no_other_address_and_the_plan_stands(
    checkout: Path, forge: Forge
) -> None:
    """A comment that cannot be written is no reason to plan again."""
    forge.elsewhere = f"http://localhost:{forge.server_port}/other"
    program(checkout, f"echo '{json.dumps({**REPORT, 'counts': {'creates': 2}})}'\n")
    environ = variables(checkout) | {
        "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "7",
        "CI_JOB_URL": "https://example.com/1",
        "CI_COMMIT_SHA": HEAD,
        "REVIEW_TOKEN": TOKEN,
        "RECIPIENTS": "age1x",
        "COMMENT": "comment",
    }

    done = run(lab_script("plan"), checkout, environ)

    assert done.returncode == 0
    assert len(forge.calls) == 1, "the one that was answered with a redirect"
    assert "no comment was written" in done.stdout
    assert TOKEN not in done.stdout + done.stderr


def outputs(checkout: Path, *, report: object, text: str | None) -> dict[str, str]:
    """Carry out the step that makes the comment, and return its outputs."""
    environ = variables(checkout)
    place = checkout.parents[1] / "tmp"
    (place / "report.json").write_text(json.dumps(report))
    if text is not None:
        (place / "comment.md").write_text(text, encoding="utf-8")
    done = run(TELL_SCRIPT, checkout, environ)
    assert (done.returncode, done.stderr) == (0, "")
    lines = Path(environ["GITHUB_OUTPUT"]).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_a_comment_reaches_the_job_that_posts_it_as_it_is(checkout: Path) -> None:
    """Lines, quotes and letters of every kind, in one line of a file of outputs."""
    text = comment(REVIEWS["plan-refused"]) + "\"'`$\\ é \u2028\n"
    found = outputs(checkout, report={**REPORT, "outcome": "refused"}, text=text)

    assert json.loads(found["comment"]) == text
    assert found["said"] == "refused: 2 creates"


def test_where_there_is_no_plan_the_comment_says_where_to_look_and_quotes_nothing(checkout: Path) -> None:
    """A mistake quotes what is declared; the log and the summary show it to whoever may read them."""
    problems = [{"file": "a.yaml", "line": 1, "column": 1, "what": "jane-canary", "next": "", "code": "E201"}]
    report = {"version": 1, "outcome": "invalid", "exit_code": 3, "code": "E002", "problems": problems}
    found = outputs(checkout, report=report, text=None)

    text = json.loads(found["comment"])
    assert text.startswith("## plan: invalid\n")
    assert "The log and the summary of the job say why: 1 mistakes" in text
    assert "canary" not in found["comment"] + found["said"]
    assert found["said"] == "invalid"


def test_a_comment_that_no_variable_has_room_for_is_replaced(checkout: Path) -> None:
    """A job that cannot start would leave the older plan there."""
    found = outputs(checkout, report=REPORT, text="\u00e9" * 60_000)

    assert "too long for a comment" in json.loads(found["comment"])


def test_the_step_that_plans_asks_for_the_comment_that_names_nobody(checkout: Path) -> None:
    """Names are shown where the line of the workflow says `markdown`, and nowhere else."""
    heard = checkout.parents[1] / "heard"
    program(checkout, f'printf "%s\\n" "$@" > {heard}\necho "{{}}"\n')

    run(PLAN_SCRIPT, checkout, variables(checkout) | {"RECIPIENTS": "age1x", "COMMENT": "comment"})

    assert f"comment={checkout.parents[1] / 'tmp' / 'comment.md'}" in heard.read_text().splitlines()
