"""lock as a process."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from cli.hands import Project, Service
from cli.keeping import RUN, store_file, store_of, told
from waiting import until

from reconciler.files.plan_file import read_plan
from reconciler.model.plans import Consent, Plan
from reconciler.model.runs import Context, Intent, Outcome
from reconciler.store.records import Batch

Run = Callable[..., "subprocess.CompletedProcess[str]"]
AT = "2026-03-01T10:00:00+00:00"


def test_a_free_lock_is_said_to_be_free(project: Project, service: Service) -> None:
    """Also where there is no store yet, which a look must not make."""
    text = project.run(service, "lock")
    as_json = told(project.run(service, "lock", "--format", "json"))

    assert (text.returncode, text.stdout, text.stderr) == (0, "the lock of stack quickstart is free.\n", "")
    assert (as_json["held"], as_json["holder"], as_json["exit_code"]) == (False, None, 0)
    assert not store_file(project).exists()


def test_a_held_lock_shows_holder_run_age_lease_and_id(project: Project, service: Service) -> None:
    """Everything that somebody needs who decides whether that run is gone; looking frees nothing."""
    with store_of(project, service) as store, store.lock(RUN) as lock:
        text = project.run(service, "lock")
        as_json = told(project.run(service, "lock", "--format", "json"))["holder"]
        holder = store.holder()
        lock.check()

    assert holder is not None
    assert text.returncode == 0
    for shown in (holder.holder, RUN, "ago)", " left; renewed while the run lives", f"  {holder.id}\n"):
        assert shown in text.stdout
    assert f"reconciler unlock --force {holder.id}" in text.stdout
    assert (as_json["id"], as_json["run"], as_json["counter"]) == (holder.id, RUN, 1)
    assert 0 < as_json["lease_left_s"] <= 300
    assert 0 <= as_json["age_s"] < 60
    assert holder.nonce not in text.stdout


def test_a_run_that_is_alive_is_said_to_be_so_by_every_command(project: Project, service: Service) -> None:
    """Two commands that contradict each other leave the user without a next step."""
    planned = planned_changes(project, service)
    with store_of(project, service) as store, store.lock(RUN):
        store.begin(RUN, "apply", planned, Consent(), Context())
        intents = [Intent(change.address, "create", AT, AT) for change in planned.changes[:3]]
        store.record([Batch(intents=tuple(intents))], planned.target.workspaces)
        store.record([Batch(ended=(applied(intents[0]),))], planned.target.workspaces)
        plan = project.run(service, "plan")
        plan_json = told(project.run(service, "plan", "--format", "json"))
        apply = project.run(service, "apply", "--yes")
        apply_json = told(project.run(service, "apply", "--yes", "--format", "json"))
        history = project.run(service, "history")
        lock = project.run(service, "lock")
        as_json = [told(project.run(service, name, "--format", "json")) for name in ("lock", "history")]
        doctor = project.run(service, "doctor", "--offline")
    after = project.run(service, "plan")

    far = "apply, 1 of 5 changes ended"
    flat = " ".join(plan.stderr.split())
    assert (f"run {RUN} has been writing since " in flat, far in flat) == (True, True)
    assert "resume" not in plan.stdout + plan.stderr
    assert f"; {far}." in " ".join(apply.stderr.split())
    assert (apply.returncode, apply_json["exit_code"]) == (4, 4)
    assert f"running ({far})" in history.stdout
    assert (far in lock.stdout, far in doctor.stdout) == (True, True)
    for running in (apply_json["error"]["running"], *(one["running"] for one in (plan_json, *as_json))):
        assert (running["run"], running["command"]) == (RUN, "apply")
        assert (running["ended"], running["changes"]) == (1, 5)
    assert plan_json["unfinished"] == []
    assert f"run {RUN} (apply, " in " ".join(after.stderr.split())
    assert service.writes() == []


def planned_changes(project: Project, service: Service) -> Plan:
    """What an apply would do, with its addresses as the program knows them."""
    assert project.run(service, "plan", "-o", "plan.json").returncode == 0
    return read_plan(project.folder / "plan.json", identity=None, environ={})


def applied(intent: Intent) -> Outcome:
    return Outcome(address=intent.address, action=intent.action, result="applied")


def test_the_lock_of_a_killed_process_is_shown_as_one_that_the_next_run_takes(
    project: Project, slow_service: Service
) -> None:
    """The lock of an ended run needs neither a wait nor `unlock`."""
    with project.start(slow_service, "apply", "--yes", stdin=subprocess.DEVNULL) as process:
        until(slow_service.writes, "the first write")
        process.kill()

    text = project.run(slow_service, "lock")
    as_json = told(project.run(slow_service, "lock", "--format", "json"))
    looked = project.run(slow_service, "doctor", "--offline")

    assert "is held by a process that has ended: the next run takes it." in text.stdout
    assert text.stdout.endswith("  next: reconciler resume\n")
    assert "unlock" not in text.stdout
    assert (as_json["held"], as_json["gone"]) == (True, True)
    assert "that process has ended" in looked.stdout


def test_the_lock_of_another_stack_is_another_one(project: Project, service: Service) -> None:
    """Each service and stack has one writer, whoever else writes through the same store."""
    with store_of(project, service) as store, store.lock(RUN):
        other = project.run(service, "lock", env={"RECONCILER_STACK": "other"})

    assert other.stdout == "the lock of stack other is free.\n"


def test_without_an_address_of_the_service_the_store_is_not_known(run: Run, repository: Path) -> None:
    """It keeps each service apart. The secrets of the service are not needed, and not read."""
    settings = repository / "reconciler.yaml"
    settings.write_text(settings.read_text().replace("  base_url: http://127.0.0.1:8480\n", ""))

    done = run("lock", env={})

    assert (done.returncode, done.stdout) == (3, "")
    assert "service.base_url is not set" in done.stderr
    assert "next: write service.base_url, or set RECONCILER_SERVICE_BASE_URL" in done.stderr
