"""status as a process: how a stack stands, from the store alone."""

import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cli.hands import Project, Service
from cli.keeping import RUN, rewrite, store_file, store_of, told
from cli.test_lock import planned_changes
from words import says

from reconciler.model.automation import ApprovalCode, Question, SyncResult, Told
from reconciler.model.plans import Consent
from reconciler.model.runs import Context, Intent
from reconciler.store.records import Batch

NOW = datetime.now(UTC)
AT = NOW.isoformat(timespec="seconds")
LATER = (NOW + timedelta(hours=1)).isoformat(timespec="seconds")


@pytest.fixture
def applied(project: Project, service: Service) -> Project:
    """A project after an apply of everything, by hand."""
    assert project.run(service, "apply", "--yes").returncode == 0
    return project


def leave_in_doubt(project: Project, service: Service) -> None:
    """Let a run end before it knows whether its first request was carried out."""
    planned = planned_changes(project, service)
    with store_of(project, service) as store:
        store.begin(RUN, "apply", planned, Consent(), Context())
        store.record(
            [Batch(intents=(Intent(planned.changes[0].address, "create", AT, AT),))],
            planned.target.workspaces,
        )


def test_before_anything_was_done_a_stack_is_unknown_and_no_store_is_made(
    project: Project, service: Service
) -> None:
    done = project.run(service, "status")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == [
        "quickstart is unknown: nobody has ever synced or applied.",
        "  next: reconciler plan",
    ]
    assert not store_file(project).exists()


def test_a_project_in_which_people_apply_by_hand_has_a_status(applied: Project, service: Service) -> None:
    before = service.requests()
    text = applied.run(service, "status")
    found = told(applied.run(service, "status", "--format", "json"))

    assert text.stdout.splitlines()[-3:] == ["1 stack.", "health: 1 healthy", "sync: 1 synced"]
    assert "last run      apply, done, 5 changes applied, " in text.stdout
    (stack,) = found["stacks"]
    assert (stack["sync"]["state"], stack["health"]["state"], stack["last_read"] != "") == (
        "synced",
        "healthy",
        True,
    )
    assert service.requests() == before, "the service is not asked"


def test_a_request_that_is_in_doubt_is_the_first_line(project: Project, service: Service) -> None:
    leave_in_doubt(project, service)

    done = project.run(service, "status")
    checked = project.run(service, "status", "--check", "--format", "json")

    assert done.returncode == 0
    assert done.stdout.startswith("quickstart is in doubt and out of sync since ")
    assert "1 request may have been carried out, or not.\n  next: reconciler resume\n" in done.stdout
    assert (checked.returncode, told(checked)["exit_code"]) == (1, 1)
    assert "quickstart is in doubt" in checked.stderr


def test_a_check_passes_what_was_meant_so(applied: Project, service: Service) -> None:
    """Who pauses, or lets a sync only report, wants no alarm."""
    with store_of(applied, service) as store:
        store.record_sync([SyncResult("", LATER, "changes", 2)])
        only_reported = applied.run(service, "status", "--check")
        store.pause(NOW + timedelta(hours=1), "stocktaking")
        paused = applied.run(service, "status", "--check")

    assert (only_reported.returncode, paused.returncode) == (0, 0)
    assert "quickstart is healthy and out of sync since " in only_reported.stdout
    assert "changes were found and only reported" in only_reported.stdout
    assert "syncing is paused until " in paused.stdout
    assert " (stocktaking)." in paused.stdout


def test_who_is_waited_for_stands_in_the_terminal(applied: Project, service: Service) -> None:
    with store_of(applied, service) as store:
        codes = {"anna": ApprovalCode("d1", AT), "ben": ApprovalCode("d2", AT)}
        store.ask_question(Question("7k3q", "7f3a", AT, LATER, codes=codes))
        store.record_sync([SyncResult("", LATER, "waits", 9)])
        store.note_telling(Told("hook", "state", "d", AT, failed_times=1))
        text = applied.run(service, "status").stdout

    assert ": a change waits for approval by anna, ben." in text
    assert "1 notification could not be delivered." in text
    assert "approvals     1 open" in text


def test_all_stacks_of_the_store_are_told_the_worst_first(applied: Project, service: Service) -> None:
    result = SyncResult("", "2026-01-01T00:00:00+00:00", "failed", 1)
    with store_of(applied, service) as store:
        store.record_sync([result])
    rewrite(applied, "UPDATE sync_results SET stack = 'other'")
    alone = told(applied.run(service, "status", "--format", "json"))
    every = told(applied.run(service, "status", "--all", "--format", "json"))
    text = applied.run(service, "status", "--all").stdout

    assert [one["stack"] for one in alone["stacks"]] == ["quickstart"]
    assert [one["stack"] for one in every["stacks"]] == ["other", "quickstart"]
    assert text.startswith("other is failing and unknown since ")
    assert text.splitlines()[-3:] == [
        "2 stacks.",
        "health: 1 failing, 1 healthy",
        "sync: 1 unknown, 1 synced",
    ]


def test_nobody_has_synced_for_longer_than_the_policy_expects(applied: Project, service: Service) -> None:
    """The settings of now count, and not those of the last sync."""
    settings = applied.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "policy: {expect_every: 2h}\n")
    with store_of(applied, service) as store:
        store.record_sync([SyncResult("", AT, "done", expect_every_s=60)])
        fresh = applied.run(service, "status", "--check")
        old = (NOW - timedelta(hours=3)).isoformat(timespec="seconds")
        store.record_sync([SyncResult("", old, "done", expect_every_s=864_000)])
        stale = applied.run(service, "status", "--check")

    assert (fresh.returncode, stale.returncode) == (0, 1)
    assert "nobody has synced for longer than policy.expect_every" in stale.stdout


@pytest.mark.parametrize(
    ("policy", "environ", "mistakes"),
    [
        ("policy: {mode: aply, quorum: 99}\n", {}, 2),
        ("policy: {windows: {allow: [noon]}}\n", {}, 1),
        ("environments: {prod: {policy: {mode: aply}}}\n", {"RECONCILER_ENVIRONMENT": "prod"}, 1),
        ("", {"RECONCILER_POLICY_MODE": "aply"}, 1),
    ],
)
def test_a_wrong_policy_is_a_failure_and_hides_nothing_else(
    applied: Project, service: Service, policy: str, environ: dict[str, str], mistakes: int
) -> None:
    """Every mistake at its place, and the status as far as it does not depend on the policy."""
    settings = applied.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + policy)
    done = applied.run(service, "status", "--check", env=environ)
    found = told(applied.run(service, "status", "--format", "json", env=environ))
    synced = applied.run(service, "sync", env=environ)

    assert (done.returncode, synced.returncode) == (1, 3)
    assert len(re.findall(r"policy\.\w+", done.stderr)) == mistakes
    said = f"the policy of the settings has {mistakes} mistake{'s' if mistakes > 1 else ''}"
    assert f"quickstart is failing and synced: {said}.\n  next: reconciler validate" in done.stdout
    assert found["stacks"][0]["policy_mistakes"] == mistakes
    assert found["stacks"][0]["sync"]["state"] == "synced"


def test_another_mistake_of_the_settings_ends_the_command(applied: Project, service: Service) -> None:
    """Nobody knows then which store and which stack are meant."""
    settings = applied.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "policy: {mode: aply}\nguard: {deletes_max: many}\n")
    done = applied.run(service, "status")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("[E2") == 2


def test_no_name_of_a_person_is_in_the_status(project: Project, service: Service) -> None:
    """It is what many can read: counts and workspaces only."""
    leave_in_doubt(project, service)
    shown = project.run(service, "status").stdout + project.run(service, "status", "--format", "json").stdout

    names = ("jane", "doe", "sam", "lee", "ada", "king", "pixel", "engineer", "example.com")
    assert [name for name in names if says(shown, name)] == []


# --- Reports ----------------------------------------------------------------------------------------------


def report(project: Project, service: Service, *words: str) -> "subprocess.CompletedProcess[str]":
    return project.run(service, "status", "--report", "html=site", *words)


def test_pages_and_metrics_are_written_for_others_to_read(applied: Project, service: Service) -> None:
    site = applied.folder / "site"
    site.mkdir()
    done = report(applied, service, "--report", "prometheus=status.prom")

    names = sorted(path.name for path in site.iterdir())
    assert (done.returncode, done.stderr) == (0, "")
    assert names == ["index.html", names[1]]
    assert names[1].startswith("stack-quickstart-")
    assert {path.stat().st_mode & 0o777 for path in (*site.iterdir(), applied.folder / "status.prom")} == {
        0o644
    }
    text = (applied.folder / "status.prom").read_text()
    labels = f'command="status",service="{service.address}",stack="quickstart",state="healthy"'
    assert f"reconciler_health_state{{{labels}}} 1\n" in text


def test_pages_of_gone_stacks_are_removed_and_only_if_they_are_ours(
    applied: Project, service: Service
) -> None:
    """And only where every stack of the store was asked for."""
    site = applied.folder / "site"
    site.mkdir()
    report(applied, service)
    (mine,) = site.glob("stack-*.html")
    gone = site / "stack-gone-01234567.html"
    gone.write_text(mine.read_text())
    foreign = site / "stack-other-01234567.html"
    foreign.write_text(re.sub("(reconciler status )[0-9a-f]+", r"\g<1>0123", mine.read_text()))
    (site / "notes.html").write_text("mine")
    report(applied, service)
    kept = gone.exists()
    report(applied, service, "--all")

    assert kept
    assert sorted(path.name for path in site.iterdir()) == sorted(
        ["index.html", "notes.html", mine.name, foreign.name]
    )


def test_an_index_that_is_not_ours_is_not_replaced(applied: Project, service: Service) -> None:
    """Somebody names the root of their web server by mistake."""
    site = applied.folder / "site"
    site.mkdir()
    (site / "index.html").write_text("<h1>Welcome</h1>")
    done = report(applied, service)

    assert (done.returncode, done.stdout) == (1, "")
    assert "site/index.html: it is no page of reconciler status, so it is not replaced." in done.stderr
    assert [path.name for path in site.iterdir()] == ["index.html"]


@pytest.mark.parametrize("words", ["html=reconciler.yaml", "prometheus=nowhere/x.prom"])
def test_a_place_that_cannot_be_is_refused_before_the_store_is_read(
    project: Project, service: Service, words: str
) -> None:
    done = project.run(service, "status", "--report", words)

    assert (done.returncode, done.stdout) == (1, "")
    assert "reconciler.yaml" in done.stderr or "create the folder first" in done.stderr


@pytest.mark.parametrize("words", ["markdown=x.md", "html=", "prometheus="])
def test_another_format_is_a_mistake_in_the_command_line(
    project: Project, service: Service, words: str
) -> None:
    done = project.run(service, "status", "--report", words)

    assert done.returncode == 64
    assert "give html=FOLDER or prometheus=FILE" in done.stderr


def test_the_folder_of_the_pages_is_made(applied: Project, service: Service) -> None:
    """A job that writes pages begins in an empty folder."""
    done = applied.run(service, "status", "--report", "html=public/status")

    assert done.returncode == 0
    assert (applied.folder / "public" / "status" / "index.html").is_file()
