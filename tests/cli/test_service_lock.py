"""The lock in the service, by the commands: who is kept out, what is shown, what frees it."""

import base64
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.keeping import told
from cli.test_apply import terminal
from waiting import patience_s, until

ALWAYS = {"RECONCILER_LOCK_IN_SERVICE": "always"}
NONCE = "0123456789ab"
RUN = "00000000-0000-4000-8000-000000000009"


def ticket(service: Service, *, until: str = "", name: str = "") -> str:
    """Let another runner hold the lock, for ten minutes by the clock of the sandbox; return its id there."""
    until = until or (datetime.now(UTC) + timedelta(minutes=10)).strftime("%Y%m%dt%H%M%Sz")
    name = name or f"reconciler-lock.20260301t120000z.{until}.{NONCE}.{RUN}.jane-on-build-7.quickstart.json"
    body = {
        "name": name,
        "scope": "private",
        "mimeType": "application/json",
        "derefUri": base64.b64encode(b"{}").decode(),
    }
    service.call("POST", "/resources", body)
    return next(one for one, found in names(service).items() if found == name)


def names(service: Service) -> dict[str, str]:
    """The names of all resources by their ids."""
    rows = service.call("GET", "/resources").get("resources", [])
    return {one["link"][0]["uri"].rsplit("/", 1)[-1]: one["name"] for one in rows}


def test_an_apply_ends_with_4_while_another_runner_holds_the_lock(project: Project, service: Service) -> None:
    """The message names the holder, its run and the way on; nothing is written."""
    ticket(service)
    before = service.writes()

    done = project.run(service, "apply", "--yes", env=ALWAYS)

    assert done.returncode == 4
    for shown in ("in the service is held by jane-on-build-7", RUN, "--lock-timeout", f"--force {NONCE}"):
        assert shown in done.stderr
    assert service.writes() == before


def test_a_run_that_only_looks_takes_no_notice_of_the_lock(project: Project, service: Service) -> None:
    """Plan and drift send nothing but GET, and nobody's ticket is a resource to them."""
    ticket(service)

    assert project.run(service, "plan", "--detailed-exitcode", env=ALWAYS).returncode == 2
    assert "reconciler-lock" not in project.run(service, "plan", env=ALWAYS).stdout


def test_an_apply_takes_the_lock_and_removes_it_with_what_is_expired(
    project: Project, service: Service
) -> None:
    """As in CI: without a terminal `auto` is enough. The ticket of a runner that died is removed as well."""
    ticket(service, until="20260301t120500z")

    done = project.run(service, "apply", "--yes", env={"RECONCILER_LOCK_IN_SERVICE": "auto"})

    assert done.returncode == 0, done.stderr
    assert "taking the lock in the service" in done.stderr
    assert not [name for name in names(service).values() if name.startswith("reconciler-lock")]
    writes = service.writes()
    assert writes[1] == ("POST", "/resources")
    assert writes[-1][0] == "DELETE"


def test_where_somebody_can_be_asked_auto_takes_no_lock(project: Project, service: Service) -> None:
    """A person at a terminal sees the plan before anything at all is sent."""
    with terminal(project, service, "apply", RECONCILER_LOCK_IN_SERVICE="auto") as screen:
        screen.wait_for("[yes/no] ")
        screen.type("no\n")

        assert screen.end() == 7
    assert "the lock in the service" not in screen.seen
    assert service.writes() == []


def test_a_terminal_of_ci_is_nobody_who_can_be_asked(project: Project, service: Service) -> None:
    """Some build systems give their jobs a terminal."""
    ticket(service)
    auto = {"CI": "true", "RECONCILER_LOCK_IN_SERVICE": "auto"}
    with terminal(project, service, "apply", "--yes", **auto) as screen:
        assert screen.end() == 4
    assert "in the service is held by jane-on-build-7" in screen.seen


def test_the_lock_is_shown_and_freed_by_its_id_alone(project: Project, service: Service) -> None:
    """The same consent as for the lock of the store: who that is has to be read first."""
    free = project.run(service, "lock", "--in-service")
    remote_id = ticket(service)
    text = project.run(service, "lock", "--in-service")
    as_json = told(project.run(service, "lock", "--in-service", "--format", "json"))
    wrong = project.run(service, "unlock", "--in-service", "--force", "ba9876543210")
    kept = names(service)
    right = told(project.run(service, "unlock", "--in-service", "--force", NONCE, "--format", "json"))

    assert free.stdout == "the lock of stack quickstart in the service is free.\n"
    for shown in ("jane-on-build-7", RUN, "2026-03-01T12:00:00+00:00", f"--force {NONCE}"):
        assert shown in text.stdout
    assert (as_json["held"], as_json["tickets"][0]["nonce"]) == (True, NONCE)
    assert (wrong.returncode, "nothing was changed" in wrong.stdout) == (0, True)
    assert remote_id in kept
    assert right["removed"] is True
    assert names(service) == {}


def test_a_ticket_that_only_another_version_can_read_holds_the_lock(
    project: Project, service: Service
) -> None:
    """Whoever does not understand it must not write beside it; it goes by the id of its resource."""
    remote_id = ticket(service, name="reconciler-lock.v2.quickstart.json")

    held = project.run(service, "apply", "--yes", env=ALWAYS)
    freed = told(project.run(service, "unlock", "--in-service", "--force", remote_id, "--format", "json"))

    assert held.returncode == 4
    assert f"--force {remote_id}" in held.stderr
    assert freed["removed"] is True


def test_a_resource_of_somebody_is_never_freed(project: Project, service: Service) -> None:
    """An id that is typed wrongly may be that of a resource which people need."""
    remote_id = ticket(service, name="rota.json")

    done = told(project.run(service, "unlock", "--in-service", "--force", remote_id, "--format", "json"))

    assert done["removed"] is False
    assert remote_id in names(service)


@pytest.mark.parametrize("wanted", ["always", "auto"])
def test_where_resources_cannot_be_written_there_is_no_lock(
    project: Project, service: Service, wanted: str
) -> None:
    """`always` is refused with a message; `auto` goes without, and says so."""
    profile = Path(project.folder / "no-resources.yaml")
    profile.write_text("base: service\ncapabilities: {resources_write: false}\n")
    env = {"RECONCILER_SERVICE_PROFILE": "no-resources.yaml", "RECONCILER_LOCK_IN_SERVICE": wanted}

    done = project.run(service, "apply", "--yes", "--except", "kind:resource", env=env)

    assert done.returncode == (3 if wanted == "always" else 0), done.stderr
    assert "the service's profile does not write resources" in done.stderr


def test_patience_is_a_number_of_seconds(project: Project, service: Service) -> None:
    """--lock-timeout goes over the settings, and waits for the other run to end."""
    ticket(service)

    done = project.run(service, "apply", "--yes", "--lock-timeout", "0.5", env=ALWAYS)
    wrong = project.run(service, "apply", "--yes", "--lock-timeout", "soon", env=ALWAYS)

    assert (done.returncode, wrong.returncode) == (4, 64)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_for_another_runner(
    number: signal.Signals, project: Project, service: Service
) -> None:
    """Ten minutes of patience end at once: nothing is written, and of the two tickets the other one stays."""
    other = ticket(service)
    before = len(service.requests())
    with project.start(
        service,
        *("apply", "--yes", "--lock-timeout", "600"),
        env=ALWAYS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        until(lambda: ("GET", "/resources") in service.requests()[before:], "a look at the lock")
        process.send_signal(number)
        _, said = process.communicate(timeout=patience_s)
    service.ends()

    assert process.returncode == 130, said
    assert "stopped before anything was written" in said
    assert (list(names(service)), service.contacts()) == ([other], {})


def test_an_undo_is_kept_out_like_any_other_run(project: Project, service: Service) -> None:
    """It writes as well. Kept out it writes nothing, and is not used up."""
    applied = project.run(service, "apply", "--yes", "--undo", "undo.json")
    assert applied.returncode == 0, applied.stderr
    undo = ("apply", "undo.json", "--allow-deletes", "5")
    people = service.contacts()
    ticket(service)
    writes = service.writes()

    held = project.run(service, *undo, env=ALWAYS)
    between = service.writes()
    done = project.run(service, *undo, env={"RECONCILER_LOCK_IN_SERVICE": "never"})

    assert (held.returncode, done.returncode) == (4, 0), done.stderr
    assert "in the service is held by jane-on-build-7" in held.stderr
    assert (between, len(people), service.contacts()) == (writes, 3, {})
