"""approvals as processes: asked by messages of the service; answered by replies, at a gate, at a terminal."""

import json
import re
import subprocess
from typing import Any

import pytest
import warm
from cli.hands import Project, Service
from cli.keeping import store_of
from cli.listener import JANE, KEY, SAM, answer, done, listening, register
from cli.test_apply import terminal

from reconciler.environment.forges import find_forge_person
from reconciler.model.automation import Approvals

POLICY = f"""
policy:
  mode: approve
  quorum: 2
  callback: on-call
  approvers:
    jane: {{phone: "{JANE}", forge: jane-d}}
    sam: {{phone: "{SAM}"}}
"""
CODE = re.compile(r"YES ([0-9A-Z]{10})")
AT_GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_ACTOR": "eve",
    "GITHUB_TRIGGERING_ACTOR": "jane-d",
    "CI": "true",
}


@pytest.fixture
def asked(project: Project, service: Service) -> Project:
    """A project with two approvers, and the plan of it in a file."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + POLICY)
    assert project.run(service, "plan", "-o", "plan.json").returncode == 0
    return project


def ask(project: Project, service: Service) -> dict[str, Any]:
    """Ask about the plan, and return the question."""
    found: dict[str, Any] = done(project, service, "approvals", "ask", "plan.json")["question"]
    return found


def messages(project: Project, service: Service) -> dict[str, tuple[str, str]]:
    """The id and the text of the last message to each number."""
    rows = reversed(done(project, service, "messages", "list")["messages"])
    shown = [done(project, service, "messages", "show", one["message_id"])["message"] for one in rows]
    return {one["fields"]["to"]: (one["message_id"], one["fields"]["body"]) for one in shown}


def take(
    project: Project, service: Service, *replies: dict[str, Any], code: int = 0
) -> tuple[dict[str, Any], str]:
    """Let these replies be counted; return the report, and what was said beside it."""
    ended = warm.run(
        *("approvals", "take", "--format", "json"),
        cwd=project.folder,
        env=project.environ(service),
        given="".join(f"{json.dumps(one)}\n" for one in replies),
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return json.loads(ended.stdout), ended.stderr


def kept(project: Project, service: Service) -> Approvals:
    """What the project's store has."""
    with store_of(project, service) as store:
        return store.approvals()


def test_a_plan_is_approved_by_two_replies(asked: Project, service: Service) -> None:
    """The story: a message to each, a reply of each, through the receiver, counted once."""
    with listening(asked, service, "--key-env", "CALLBACK_KEY") as ear:
        register(asked, service, ear.address, "--key-env", "CALLBACK_KEY")
        question = ask(asked, service)
        assert (question["state"], question["missing"], question["waiting_for"]) == (
            "open",
            2,
            ["jane", "sam"],
        )
        sent = messages(asked, service)
        assert set(sent) == {JANE, SAM}
        codes = {number: CODE.findall(text)[0] for number, (_, text) in sent.items()}
        for number in (JANE, SAM):
            answer(service, sent[number][0], number, f"Yes {codes[number].lower()}")
        replies = [ear.reply(), ear.reply()]
        ear.stop()

    found, said = take(asked, service, *replies)

    assert [(one["outcome"], one["approver"], one["told"]) for one in found["replies"]] == [
        ("give", "jane", False),
        ("give", "sam", False),
    ]
    assert found["counted"] == 2
    assert f"reply of jane to question {question['question']}: give" in said
    (shown,) = done(asked, service, "approvals", "list")["questions"]
    assert (shown["state"], shown["given"], shown["missing"]) == ("approved", ["jane", "sam"], 0)
    assert KEY not in said
    assert not any(code in said + json.dumps(found) + json.dumps(shown) for code in codes.values())

    again, _ = take(asked, service, *replies)
    assert [one["outcome"] for one in again["replies"]] == ["read before"] * 2
    history = done(asked, service, "history")["entries"]
    assert [(one["event"], one["who"]) for one in history if one["event"] != "asked"] == [
        ("answered", "jane"),
        ("answered", "sam"),
    ]


def test_a_forged_sender_without_the_code_is_told_to_the_approver(asked: Project, service: Service) -> None:
    with listening(asked, service, "--key-env", "CALLBACK_KEY") as ear:
        register(asked, service, ear.address, "--key-env", "CALLBACK_KEY")
        question = ask(asked, service)
        message = messages(asked, service)[JANE][0]
        answer(service, message, JANE, f"YES {question['fingerprint'][:10]}")
        reply = ear.reply()
        ear.stop()

    found, said = take(asked, service, reply)

    (one,) = found["replies"]
    assert (one["counts"], one["approver"], one["told"]) == (False, "jane", True)
    assert "(does not count)" in said
    assert "does not count" in messages(asked, service)[JANE][1]
    (shown,) = done(asked, service, "approvals", "list")["questions"]
    assert (shown["state"], shown["given"], shown["rejected"]) == ("open", [], 1)


def test_an_approval_for_a_plan_that_changed_is_refused_and_told(asked: Project, service: Service) -> None:
    """The code is right, the sender is right, and the question is closed."""
    with listening(asked, service, "--key-env", "CALLBACK_KEY") as ear:
        register(asked, service, ear.address, "--key-env", "CALLBACK_KEY")
        first = ask(asked, service)
        message, text = messages(asked, service)[JANE]
        answer(service, message, JANE, CODE.findall(text)[0])
        reply = ear.reply()
        asked.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
        assert asked.run(service, "plan", "-o", "plan.json").returncode == 0
        second = ask(asked, service)
        ear.stop()

    found, _ = take(asked, service, reply)

    (one,) = found["replies"]
    assert (one["outcome"], one["question"], one["told"]) == ("late", first["question"], True)
    assert "a new plan is a new question" in messages(asked, service)[JANE][1]
    states = {
        one["question"]: (one["state"], one["given"])
        for one in done(asked, service, "approvals", "list", "--all")["questions"]
    }
    assert states == {first["question"]: ("superseded", []), second["question"]: ("open", [])}


def test_a_callback_that_there_is_not_is_said_and_the_question_waits(
    asked: Project, service: Service
) -> None:
    """The service refuses the messages; the next `ask`, or the gate of a forge, goes on."""
    found = done(asked, service, "approvals", "ask", "plan.json", code=6)
    assert set(found["failed"]) == {"jane", "sam"}
    assert found["sent"] == []
    (shown,) = done(asked, service, "approvals", "list")["questions"]
    assert shown["state"] == "open"


def question_of(asked: Project, service: Service) -> dict[str, Any]:
    """A question whose messages were not sent."""
    found: dict[str, Any] = done(asked, service, "approvals", "ask", "plan.json", code=6)["question"]
    return found


def test_behind_the_gate_of_a_forge_its_person_approves(asked: Project, service: Service) -> None:
    """Under the name of the approver with this login, and once."""
    question = question_of(asked, service)
    words = ("approvals", "give", question["question"], "--format", "json")

    first = asked.run(service, *words, env={**AT_GITHUB, "GITHUB_RUN_ID": "42"})
    again = asked.run(service, *words, env=AT_GITHUB)

    found = json.loads(first.stdout)
    assert (found["approver"], found["how"], found["question"]["missing"]) == ("jane", "forge", 1)
    assert (again.returncode, json.loads(again.stdout)["error"]["kind"]) == (7, "NotApproved")
    assert "jane has answered this question before" in again.stdout
    (only,) = kept(asked, service).answers
    assert (only.approver, only.how, only.detail) == ("jane", "forge", "GitHub, job 42")
    assert [one["event"] for one in done(asked, service, "history")["entries"]][-2:] == [
        "answered",
        "rejected",
    ]


def test_a_refusal_closes_the_question(asked: Project, service: Service) -> None:
    question = question_of(asked, service)
    refused = asked.run(service, "approvals", "refuse", question["question"], env=AT_GITHUB)
    late = asked.run(
        service,
        "approvals",
        "give",
        question["question"],
        env={**AT_GITHUB, "GITHUB_TRIGGERING_ACTOR": "sam"},
    )

    assert refused.returncode == 0
    assert "jane refused." in refused.stdout
    assert late.returncode == 7
    assert "is closed" in late.stderr
    assert done(asked, service, "approvals", "list")["questions"] == []


def test_where_nobody_can_be_named_nobody_approves(asked: Project, service: Service) -> None:
    """A schedule of a forge, another build system, a pipe."""
    question = question_of(asked, service)
    before = kept(asked, service)
    for env in ({}, {"CI": "true"}, {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "dependabot[bot]", "CI": "1"}):
        ended = asked.run(service, "approvals", "give", question["question"], "--yes", env=env)
        assert ended.returncode == 7
        assert "it is not known who decides" in ended.stderr
    named = asked.run(service, "approvals", "give", question["question"], "--as", "sam", env=AT_GITHUB)
    assert named.returncode == 64
    assert kept(asked, service) == before


def test_at_a_terminal_an_approver_is_asked_once_more(asked: Project, service: Service) -> None:
    question = question_of(asked, service)
    with terminal(asked, service, "approvals", "give", question["question"], "--as", "sam") as screen:
        screen.wait_for("Approve this plan?")
        screen.type("yes\n")
        assert screen.end() == 0
        assert "look first" in screen.seen
    with terminal(
        asked, service, "approvals", "give", question["question"], "--as", "eve", "--yes"
    ) as screen:
        assert screen.end() == 7
        assert "eve is no approver" in screen.seen
    assert [one.approver for one in kept(asked, service).answers] == ["sam"]


def test_a_no_at_the_terminal_writes_nothing(asked: Project, service: Service) -> None:
    question = question_of(asked, service)
    before = kept(asked, service)
    with terminal(asked, service, "approvals", "refuse", question["question"], "--as", "sam") as screen:
        screen.wait_for("Refuse this plan?")
        screen.type("no\n")
        assert screen.end() == 7
    assert kept(asked, service) == before


def test_a_question_is_named_by_its_id_or_by_the_fingerprint_of_its_plan(
    asked: Project, service: Service
) -> None:
    question = question_of(asked, service)
    for wrong in ("OTHER1", question["fingerprint"][:6]):
        ended = asked.run(service, "approvals", "give", wrong, env=AT_GITHUB)
        assert ended.returncode == 3
        assert "reconciler approvals list" in ended.stderr
    ended = asked.run(service, "approvals", "give", question["fingerprint"][:12], env=AT_GITHUB)
    assert ended.returncode == 0


def test_a_line_that_is_no_reply_ends_nothing(asked: Project, service: Service) -> None:
    """Or one stranger's line stops the counting of everybody's."""
    question_of(asked, service)
    ended = warm.run(
        *("approvals", "take", "--format", "json"),
        cwd=asked.folder,
        env=asked.environ(service),
        given='canary-8f14e45f\n\n{"version": 1}\n',
    )
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["unreadable"], found["replies"]) == (3, 2, [])
    assert "a line is no reply" in ended.stderr
    assert "canary" not in ended.stdout + ended.stderr


def test_what_is_asked_is_shown_as_text(asked: Project, service: Service) -> None:
    assert "no question is open" in asked.run(service, "approvals", "list").stdout
    question = question_of(asked, service)
    shown: subprocess.CompletedProcess[str] = asked.run(service, "approvals", "list")
    assert f"question {question['question']}  open   5 creates" in shown.stdout
    assert "waits for  jane, sam" in shown.stdout
    assert "0 of 2" in shown.stdout


@pytest.mark.parametrize(
    ("environ", "person"),
    [
        (
            {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "octocat", "GITHUB_RUN_ID": "7"},
            ("octocat", "GitHub, job 7"),
        ),
        ({"GITHUB_ACTIONS": "true", "FORGEJO_ACTIONS": "true", "GITHUB_ACTOR": "o"}, ("o", "Forgejo")),
        ({"GITHUB_ACTIONS": "true", "GITEA_ACTIONS": "true", "GITHUB_ACTOR": "o"}, ("o", "Gitea")),
        ({"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "jane.d", "CI_JOB_ID": "9"}, ("jane.d", "GitLab, job 9")),
        ({"GITLAB_CI": "true", "GITHUB_ACTOR": "octocat"}, None),
        ({"GITHUB_ACTOR": "octocat"}, None),
        ({"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "github-actions[bot]"}, None),
        ({"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "a\nb"}, None),
        ({}, None),
    ],
)
def test_the_person_of_a_job_is_the_one_that_the_forge_names(
    environ: dict[str, str], person: tuple[str, str] | None
) -> None:
    found = find_forge_person(environ)
    assert (found and (found.name, found.detail)) == person
    assert found is None or found.how == "forge"
