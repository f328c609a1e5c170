"""apply --undo: the inverse of a run, written, shown, refused, and carried out."""

import json
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli.hands import Project, Service
from hostile.plan_worlds import staged
from pyrage import x25519
from sealing import edit
from waiting import patience_s, until
from world import Agreeing, World

from reconciler import pipeline
from reconciler.engine.context import StopFlag
from reconciler.errors import StalePlan, UnsafePlan
from reconciler.files.plan_file import read_plan
from reconciler.model.plans import Consent
from reconciler.model.runs import Outcome

CREATED = 5  # creates of the quickstart


def applied(project: Project, service: Service, *more: str) -> "subprocess.CompletedProcess[str]":
    done = project.run(service, "apply", "--yes", "--undo", "undo.json", *more)
    assert done.returncode == 0, done.stderr
    return done


def test_an_undo_is_written_shown_and_carried_out(project: Project, service: Service) -> None:
    """The whole way, and at its end the service is as it was."""
    done = applied(project, service)
    path = project.folder / "undo.json"
    shown = project.run(service, "show", "undo.json")
    unsafe = project.run(service, "apply", "undo.json")
    between = len(service.contacts())
    undone = project.run(service, "apply", "undo.json", "--allow-deletes", str(CREATED))

    assert "undo.json undoes this run.  next: reconciler show undo.json" in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "undoes run " in shown.stdout
    assert f"{CREATED} deletes" in shown.stdout
    assert (unsafe.returncode, between) == (7, 3)
    assert f"--allow-deletes {CREATED}" in unsafe.stderr
    assert undone.returncode == 0, undone.stderr
    assert f"{CREATED} applied" in undone.stdout
    assert "git still has the commit that was undone: revert the commit too" in undone.stderr
    assert service.contacts() == {}


def test_the_next_apply_does_it_again_unless_the_commit_is_reverted(
    project: Project, service: Service
) -> None:
    """An undo changes the service, and git stays what is wanted."""
    project.run(service, "apply", "--yes")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    applied(project, service)
    project.run(service, "apply", "undo.json")
    again = project.run(service, "plan", "--format", "json")
    project.edit("jobTitle: Chief Analyst", "jobTitle: Analyst")
    reverted = project.run(service, "plan", "--detailed-exitcode")

    (change,) = json.loads(again.stdout)["plan"]["changes"]
    assert [(one["before"], one["after"]) for one in change["fields"]] == [("Analyst", "Chief Analyst")]
    assert reverted.returncode == 0


def test_an_undo_is_carried_out_once(project: Project, service: Service) -> None:
    """The file may lie around; what it undid may have been done again since."""
    applied(project, service)
    project.run(service, "apply", "undo.json", "--allow-deletes", "5")
    writes = service.writes()

    again = project.run(service, "apply", "undo.json", "--allow-deletes", "5")

    assert (again.returncode, service.writes()) == (5, writes)


def test_what_somebody_changed_since_is_a_conflict_and_the_rest_goes_on(
    project: Project, service: Service
) -> None:
    """The same look before each write as in every run."""
    applied(project, service)
    service.rename(service.contacts()["Sam"], "Night Watch")

    done = project.run(service, "apply", "undo.json", "--allow-deletes", "5", "--format", "json")

    found = json.loads(done.stdout)
    results = {one["address"]: one["result"] for one in found["outcomes"]}
    assert (done.returncode, found["outcome"]) == (6, "partial")
    assert results["contact/default/sam-lee"] == "conflict"
    assert list(service.contacts()) == ["Sam"]


def test_what_a_later_run_made_of_it_is_a_conflict(project: Project, service: Service) -> None:
    """Deleted and made again: another entity under the same name."""
    applied(project, service)
    text = project.manifest.read_text()
    project.manifest.write_text(text.replace("sam-lee", "samuel-lee"))
    project.run(service, "apply", "--yes", "--allow-deletes", "5")

    done = project.run(service, "apply", "undo.json", "--allow-deletes", "5", "--format", "json")

    found = {one["address"]: one for one in json.loads(done.stdout)["outcomes"]}
    assert done.returncode == 6
    assert found["contact/default/sam-lee"]["result"] == "conflict"
    assert "no longer ours under this name and id" in found["contact/default/sam-lee"]["what"]
    assert list(service.contacts()) == ["Sam"]


def test_without_anything_applied_there_is_no_file(project: Project, service: Service) -> None:
    """And a sentence that says so; a file that was there stays."""
    project.run(service, "apply", "--yes")
    (project.folder / "undo.json").write_text("old")

    done = project.run(service, "apply", "--yes", "--undo", "undo.json")

    assert done.returncode == 0
    assert "undo.json was not written: nothing was applied." in done.stderr
    assert (project.folder / "undo.json").read_text() == "old"


def test_a_run_that_is_refused_leaves_no_undo(project: Project, service: Service) -> None:
    """It did nothing."""
    project.run(service, "plan", "-o", "plan.json")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")

    done = project.run(service, "apply", "plan.json", "--undo", "undo.json")

    assert done.returncode == 5
    assert "undo.json was not written: nothing was applied." in done.stderr
    assert not (project.folder / "undo.json").exists()


def test_a_run_that_went_wrong_in_part_can_be_undone_in_that_part(project: Project, service: Service) -> None:
    """What is in doubt is not in it."""
    service.call(
        "POST",
        "/_sandbox/faults",
        {"fault": "drop-before", "method": "POST", "path": "/resources", "times": None},
    )

    done = project.run(service, "apply", "--yes", "--undo", "undo.json", "--format", "json")
    report = json.loads(done.stdout)
    done_to = {one["address"] for one in report["outcomes"] if one["result"] == "applied"}
    undo = read_plan(project.folder / "undo.json")

    assert done.returncode != 0
    assert 0 < len(done_to) < CREATED
    assert {str(change.address) for change in undo.changes} == done_to
    assert undo.options.undo_of == report["run"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_stopped_can_be_undone(
    number: signal.Signals, project: Project, slow_service: Service
) -> None:
    """Most of all then."""
    with project.start(
        slow_service,
        *("apply", "--yes", "--undo", "undo.json", "--format", "json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_a_write(slow_service)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=patience_s)

    count = sum(1 for one in json.loads(printed)["outcomes"] if one["result"] == "applied")
    assert process.returncode == 130
    assert len(read_plan(project.folder / "undo.json").changes) == count > 0


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("gone/undo.json", "no such file or directory"),
        ("manifests", "it is a folder"),
        ("/dev/null", "it is a device or a pipe, not a file"),
        ("reconciler.yaml/undo.json", "not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_ends_it_before_anything(
    place: str, said: str, project: Project, service: Service
) -> None:
    """Afterwards would be too late."""
    done = project.run(service, "apply", "--yes", "--undo", place)

    assert done.returncode == 1
    assert said in done.stderr
    assert service.requests() == []


def test_an_undo_that_cannot_be_written_does_not_hide_how_the_run_ended(
    project: Project, slow_service: Service
) -> None:
    """Its folder went away meanwhile. The report is out, and the exit code is not 0."""
    folder = project.folder / "undos"
    folder.mkdir()
    with project.start(
        slow_service,
        *("apply", "--yes", "--undo", "undos/undo.json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_a_write(slow_service)
        folder.rmdir()
        out, err = process.communicate(timeout=patience_s)

    assert process.returncode == 1
    assert f"{CREATED} applied" in out
    assert "undos/undo.json: cannot be written: no such file or directory." in err
    assert "The run is over, and has no undo file.\n  next: " in err


def wait_for_a_write(service: Service) -> None:
    """Return when the service has answered one."""
    until(service.writes, "a write")


def test_an_undo_is_encrypted_for_the_same_people(project: Project, service: Service) -> None:
    """It holds people's data like every plan; and never more openly than the plan it came from."""
    identity = x25519.Identity.generate()
    (project.folder / "key").touch(0o600)
    (project.folder / "key").write_text(f"{identity}\n")
    to = str(identity.to_public())
    keys = {"RECONCILER_IDENTITY": "key"}
    project.run(service, "plan", "-o", "plan.age", "--encrypt-to", to)

    open_undo = project.run(service, "apply", "plan.age", "--undo", "undo.age", env=keys)
    before = service.writes()
    done = project.run(service, "apply", "plan.age", "--undo", "undo.age", "--encrypt-to", to, env=keys)
    undone = project.run(service, "apply", "undo.age", "--allow-deletes", "5", env=keys)

    assert (open_undo.returncode, before) == (64, [])
    assert "the plan is encrypted, but the undo file would not be" in open_undo.stderr
    assert done.returncode == 0
    assert (project.folder / "undo.age").read_bytes().startswith(b"age-encryption.org/v1\n")
    assert undone.returncode == 0
    assert service.contacts() == {}


def test_an_undo_has_no_undo(project: Project, service: Service) -> None:
    """Git says what is wanted: a plain apply does it again."""
    applied(project, service)
    writes = service.writes()

    done = project.run(service, "apply", "undo.json", "--undo", "redo.json", "--allow-deletes", "5")

    assert (done.returncode, service.writes()) == (64, writes)
    assert "an undo cannot be undone; `reconciler apply`" in done.stderr


def test_an_undo_that_was_edited_is_refused_though_it_is_sealed(project: Project, service: Service) -> None:
    """Nothing can be planned afresh to hold it against; the store's key can."""
    applied(project, service)
    writes = service.writes()
    path = project.folder / "undo.json"
    edit(path, changes=read_plan(path).changes[1:])

    done = project.run(service, "apply", "undo.json", "--allow-deletes", "5")

    assert (done.returncode, service.writes()) == (5, writes)
    assert "was not made by a run with this store, or it was changed since." in done.stderr


def test_an_undo_needs_the_store_of_its_run(project: Project, service: Service) -> None:
    """Another one does not know what is ours."""
    applied(project, service)
    writes = service.writes()

    done = project.run(
        service,
        *("apply", "undo.json", "--allow-deletes", "5"),
        env={"RECONCILER_STORE": "sqlite:///other/store.db"},
    )

    assert (done.returncode, service.writes()) == (5, writes)
    assert "set `store` to that of the run" in done.stderr


def test_manifests_that_are_broken_do_not_stand_in_the_way_of_an_undo(
    project: Project, service: Service
) -> None:
    """When something is to be undone in a hurry, they may well be."""
    applied(project, service)
    project.manifest.write_text("contacts: [")

    assert project.run(service, "apply", "undo.json", "--allow-deletes", "5").returncode == 0
    assert service.contacts() == {}


# In process: what processes cannot be made to show.


class Stopping(Agreeing):
    """Looks on, and asks the run to stop when the first change has ended."""

    def __init__(self, stop: StopFlag) -> None:
        super().__init__()
        self.stop = stop

    def ended(self, outcome: Outcome) -> None:
        super().ended(outcome)
        self.stop.signal()


def count(world: World) -> int:
    async def contacts(client: Any) -> int:
        return len(await client.contacts.list())

    found: int = world.behind_our_back(contacts)
    return found


def person(name: str, **more: Any) -> dict[str, Any]:
    return {"firstName": name, "lastName": "Doe", "workEmailAddress1": f"{name}@example.com", **more}


def test_an_undo_that_was_interrupted_is_resumed(tmp_path: Path) -> None:
    """By the rest of itself: no plan of the manifests says what that is."""
    world = World(tmp_path)
    world.write({"contacts": {f"p{number}": person(f"p{number}") for number in range(12)}})
    saved, stop = world.apply_with_undo(), StopFlag()

    first = world.undo(saved, stop=stop, observer=Stopping(stop))
    left = count(world)
    with pytest.raises(StalePlan, match="applied before"):
        world.undo(saved)
    rest = world.run(
        pipeline.resume(
            world.settings,
            pipeline.validate(world.settings, {}),
            world.dependencies,
            stop=StopFlag(),
            observer=Agreeing(),
            fail_fast=False,
        )
    )

    assert first.outcome == "interrupted"
    assert 0 < left < 12
    assert rest is not None
    assert (rest.outcome, len(rest.outcomes)) == ("done", left)
    assert count(world) == 0


def test_the_guard_refuses_an_undo_by_what_is_owned_now(tmp_path: Path) -> None:
    """Whatever the file says of it; consent is a number for it as well."""
    world = World(tmp_path)
    world.write({"contacts": {f"p{number}": person(f"p{number}") for number in range(10)}})
    saved = world.apply_with_undo()
    world.sent()

    with pytest.raises(UnsafePlan) as caught:
        world.undo(saved, consent=Consent(deletes=9))

    assert caught.value.reasons == ("the plan deletes 10 of 10 contacts in default: none would be left.",)
    assert set(world.sent()) <= {"GET"}
    assert world.undo(saved, consent=Consent(deletes=10)).outcome == "done"


def test_an_undo_is_no_plan_of_the_manifests(tmp_path: Path) -> None:
    """A program that hands it to the wrong verb writes nothing."""
    stage = staged(tmp_path)
    saved = stage.world.apply_with_undo()
    stage.world.sent()

    with pytest.raises(StalePlan, match="undoes a run"):
        stage.world.apply(options=saved.options, saved=saved)

    assert set(stage.world.sent()) <= {"GET"}


def test_an_undo_expires(tmp_path: Path) -> None:
    """Like every plan: what was right to undo yesterday may not be today."""
    world = World(tmp_path)
    world.write({"contacts": {"ada": person("ada")}})
    saved = world.apply_with_undo()
    world.clock.pass_s(25 * 3600)
    world.sent()

    with pytest.raises(StalePlan, match="the plan expired at"):
        world.undo(saved)

    assert world.sent() == {}


def test_people_that_a_run_adopted_are_not_deleted_after_its_undo(tmp_path: Path) -> None:
    """They were there before us: whoever reverts the commit must not find them in a plan of deletes."""
    world = World(tmp_path)

    async def there(client: Any) -> None:
        for name in ("ada", "bob"):
            await client.contacts.create({**person(name), "timezone": "Etc/UTC"})

    world.behind_our_back(there)
    world.write({"contacts": {"ada": person("ada"), "bob": person("bob", jobTitle="Analyst")}})
    saved = world.apply_with_undo()

    assert world.undo(saved).outcome == "done"
    world.write({"contacts": {}})
    planned = world.plan()

    assert (planned.plan.changes, planned.recorded.entities) == ((), {})
    assert count(world) == 2
