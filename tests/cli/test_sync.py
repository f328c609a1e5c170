"""sync, pause and unpause as processes: exit codes, what is said, and what is recorded."""

import json
import subprocess

import pytest
from cli.hands import Project, Service
from cli.keeping import RUN, store_of, told


def sync(
    project: Project, service: Service, *words: str, **policy: str
) -> "subprocess.CompletedProcess[str]":
    """Run sync; `mode="apply"` is a variable of the policy."""
    named = {f"RECONCILER_POLICY_{name.upper()}": value for name, value in policy.items()}
    return project.run(service, "sync", *words, env=named)


def test_a_first_sync_only_reports(project: Project, service: Service) -> None:
    """A timer that somebody sets up before the policy changes nothing."""
    text = sync(project, service)
    as_json = told(sync(project, service, "--format", "json"))

    assert text.returncode == 2
    assert "5 creates" in text.stdout
    assert "report: policy.mode is report.\n  next: reconciler apply" in text.stdout
    assert (as_json["decision"], as_json["outcome"], as_json["exit_code"]) == ("report", "changes", 2)
    assert as_json["counts"] == {"creates": 5, "updates": 0, "deletes": 0}
    assert (as_json["run"], as_json["question"], as_json["check"]) == (None, "", None)
    assert service.writes() == []


def test_what_the_policy_allows_is_applied_without_a_question(project: Project, service: Service) -> None:
    """Nobody is there who could answer."""
    done = told(sync(project, service, "--format", "json", mode="apply"))
    again = sync(project, service, mode="apply")

    assert (done["decision"], done["exit_code"], done["run"]["results"]) == ("apply", 0, {"applied": 5})
    assert again.returncode == 0
    assert "Nothing to do" in again.stdout
    history = project.run(service, "history", "--format", "json")
    assert {one["command"] for one in told(history)["entries"] if one["event"] == "began"} == {"sync"}


def test_a_delete_waits_for_a_person_and_names_the_question(project: Project, service: Service) -> None:
    sync(project, service, mode="apply")
    text = project.manifest.read_text("utf-8")
    project.manifest.write_text(text[: text.index("  ada-king")] + text[text.index("resources:") :], "utf-8")

    asked = sync(project, service, mode="apply")
    as_json = told(sync(project, service, "--format", "json", mode="apply"))

    assert asked.returncode == 9
    assert "ask: a person must approve: 1 delete." in asked.stdout
    assert (as_json["outcome"], as_json["decision"]) == ("waiting", "ask")
    assert f"question {as_json['question']};" in asked.stdout
    with store_of(project, service) as store:
        assert [one.question for one in store.open_questions()] == [as_json["question"]]


def test_a_pause_holds_sync_back_and_nothing_else(project: Project, service: Service) -> None:
    """Only sync: apply is a person. The history says who paused, until when, and why."""
    paused = project.run(service, "pause", "--until", "8h", "--reason", "moving the directory")
    as_json = told(project.run(service, "pause", "--until", "9h", "--reason", "longer", "--format", "json"))
    held = sync(project, service, mode="apply")
    applied = project.run(service, "apply", "--yes")
    ended = project.run(service, "unpause")
    again = told(project.run(service, "unpause", "--format", "json"))
    history = project.run(service, "history")

    assert paused.returncode == 0
    assert "stack quickstart is paused until " in paused.stdout
    assert (as_json["stack"], as_json["pause"]["reason"]) == ("quickstart", "longer")
    assert held.returncode == 10
    assert f"wait until {as_json['pause']['until']}: the stack is paused." in held.stdout
    assert applied.returncode == 0
    assert ended.stdout == "stack quickstart is no longer paused.\n"
    assert again["ended"] is None
    assert "longer" in history.stdout
    assert sync(project, service, mode="apply").returncode == 0


@pytest.mark.parametrize("until", ["tomorrow", "2020-01-01", "0h", ""])
def test_a_pause_needs_a_time_that_is_to_come(project: Project, service: Service, until: str) -> None:
    refused = project.run(service, "pause", "--until", until, "--reason", "x")

    assert refused.returncode == 64
    with store_of(project, service) as store:
        assert store.paused() is None


def test_the_second_of_two_timers_ends_with_lock_held(project: Project, service: Service) -> None:
    """It is normal, and nothing that `status` calls a failure."""
    with store_of(project, service) as store, store.lock(RUN):
        second = sync(project, service, mode="apply")

    assert second.returncode == 4
    with store_of(project, service) as store:
        assert store.sync_results() == ()
    assert service.writes() == []


def test_a_check_that_refuses_says_why(project: Project, service: Service) -> None:
    """The text of the check is shown; what it read is the plan."""
    settings = project.folder / "reconciler.yaml"
    words = json.dumps(["/bin/sh", "-c", "cat > /dev/null; echo contacts only; exit 3"])
    policy = f"policy: {{mode: apply, check: {words}}}\n"
    settings.write_text(settings.read_text("utf-8") + policy, "utf-8")

    refused = project.run(service, "sync")

    assert refused.returncode == 7
    assert "refuse: policy.check refuses the plan.\n  contacts only\n" in refused.stdout
    assert service.writes() == []


def test_reports_and_events_say_the_same(project: Project, service: Service) -> None:
    """Also where nothing was applied: a job collects them in any case."""
    reported = sync(project, service, "--report", "json=r.json", "--events", "e.jsonl")
    applied = sync(project, service, "--report", "json=a.json", "--events", "f.jsonl", mode="apply")

    events, after = (
        [json.loads(line) for line in (project.folder / name).read_text("utf-8").splitlines()]
        for name in ("e.jsonl", "f.jsonl")
    )
    assert (reported.returncode, [one["event"] for one in events]) == (2, ["plan", "end"])
    assert (events[-1]["outcome"], events[-1]["exit_code"]) == ("changes", 2)
    assert json.loads((project.folder / "r.json").read_text("utf-8"))["exit_code"] == 2
    assert (applied.returncode, after[-1]["results"]) == (0, {"applied": 5})
    assert json.loads((project.folder / "a.json").read_text("utf-8"))["exit_code"] == 0


def test_files_that_are_in_no_commit_are_not_applied(project: Project, service: Service) -> None:
    """Not only in CI: what sync follows is the repository."""
    (project.folder / ".git").rmdir()
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        subprocess.run([*git, *words], cwd=project.folder, check=True, capture_output=True)
    project.edit("jobTitle: Analyst", "jobTitle: Chief")

    refused = sync(project, service, mode="apply")
    allowed = sync(project, service, "--allow-dirty", mode="apply")

    assert refused.returncode == 7
    assert "sync applies what is committed, and the files differ from commit" in " ".join(
        refused.stderr.split()
    )
    assert allowed.returncode == 0


def test_a_wrong_policy_applies_nothing_and_status_knows_since_when(
    project: Project, service: Service
) -> None:
    """All mistakes at once; the store is found though the policy cannot be read."""
    settings = project.folder / "reconciler.yaml"
    text = settings.read_text("utf-8")
    wrong = 'policy: {mode: always, windows: {allow: ["9am"]}}\n'
    settings.write_text(text + wrong, "utf-8")

    refused = project.run(service, "sync")

    assert refused.returncode == 3
    assert "reconciler.yaml:" in refused.stderr
    assert service.requests() == []
    with store_of(project, service) as store:
        (found,) = store.sync_results()
    assert (found.exit_code, found.outcome) == (3, "invalid")
    assert found.reason == "The settings have errors [E003]"
    settings.write_text(text + "policy: {mode: apply}\n", "utf-8")
    assert project.run(service, "sync").returncode == 0


@pytest.mark.parametrize("what", ["manifest", "commit"])
def test_what_fails_before_the_plan_is_recorded_too(project: Project, service: Service, what: str) -> None:
    """`status` says that it fails, and since when."""
    if what == "manifest":
        project.edit("firstName: Jane", "fristName: Jane")
    else:
        (project.folder / ".git").rmdir()
        subprocess.run(("git", "init", "-q"), cwd=project.folder, check=True, capture_output=True)

    code = sync(project, service, mode="apply").returncode

    assert code == {"manifest": 3, "commit": 7}[what]
    with store_of(project, service) as store:
        assert [one.exit_code for one in store.sync_results()] == [code]
    assert service.writes() == []
