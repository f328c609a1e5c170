"""A store that was deleted with the folder it lay in: something beside it remembers, and it is said."""

import json
import shutil
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.keeping import store_file

ELSEWHERE = {"RECONCILER_STORE": "sqlite:///state/store.db"}
SAID = "a run used another store there at"


def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


@pytest.mark.parametrize("command", [("plan",), ("drift",), ("apply", "--yes")])
def test_a_store_whose_folder_was_deleted_is_said_to_be_lost(
    command: tuple[str, ...], project: Project, service: Service, tmp_path: Path
) -> None:
    """With the marker gone too it looks like the first run of all, and everybody is adopted in silence."""
    env = home(tmp_path)
    assert project.run(service, "apply", "--yes", env=env).returncode == 0
    shutil.rmtree(store_file(project).parent)

    done = project.run(service, *command, env=env)

    assert SAID in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("plan",), ("drift",), ("apply", "--yes")])
def test_the_cache_of_the_project_remembers_a_store_that_lay_elsewhere(
    command: tuple[str, ...], project: Project, service: Service
) -> None:
    """An account without a home, as in a container."""
    assert project.run(service, "apply", "--yes", env=ELSEWHERE).returncode == 0
    shutil.rmtree(project.folder / "state")

    done = project.run(service, *command, env=ELSEWHERE)

    assert f"the store state/store.db {'is new' if 'apply' in command else 'does not exist'}" in (
        done.stdout + done.stderr
    )


def test_a_lost_store_is_a_notice_for_programs(project: Project, service: Service, tmp_path: Path) -> None:
    env = home(tmp_path)
    project.run(service, "apply", "--yes", env=env)
    shutil.rmtree(store_file(project).parent)

    found = json.loads(project.run(service, "plan", "--format", "json", env=env).stdout)

    notices = found["plan"]["notices"]
    assert [one["kind"] for one in notices if SAID in one["what"]] == ["store"]


def test_once_an_apply_has_said_so_the_new_store_is_the_one_that_is_known(
    project: Project, service: Service, tmp_path: Path
) -> None:
    """What the run could find was found; a warning that never ends is read by nobody."""
    env = home(tmp_path)
    project.run(service, "apply", "--yes", env=env)
    shutil.rmtree(store_file(project).parent)
    project.run(service, "apply", "--yes", env=env)

    for command in (("plan",), ("apply", "--yes"), ("drift",)):
        assert SAID not in project.run(service, *command, env=env).stdout


def test_a_store_that_was_put_back_is_not_lost(project: Project, service: Service, tmp_path: Path) -> None:
    env = home(tmp_path)
    project.run(service, "apply", "--yes", env=env)
    shutil.copytree(store_file(project).parent, tmp_path / "backup")
    shutil.rmtree(store_file(project).parent)
    shutil.copytree(tmp_path / "backup", store_file(project).parent)

    assert SAID not in project.run(service, "plan", env=env).stdout


def test_the_first_run_of_all_has_lost_nothing(project: Project, service: Service, tmp_path: Path) -> None:
    """A fresh machine of a build needs no word; nor does another project of the same account."""
    env = home(tmp_path)
    shutil.copytree(project.folder, tmp_path / "another")
    project.run(service, "apply", "--yes", env=env)

    done = Project(tmp_path / "another").run(service, "plan", env=env)

    assert done.returncode == 0
    assert SAID not in done.stdout


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version":1}', "\0"])
def test_what_cannot_be_read_remembers_nothing(text: str, project: Project, service: Service) -> None:
    project.run(service, "apply", "--yes", env=ELSEWHERE)
    (known,) = (project.folder / ".reconciler" / "cache").glob("store-*.json")
    known.write_text(text)
    shutil.rmtree(project.folder / "state")

    done = project.run(service, "plan", env=ELSEWHERE)

    assert (done.returncode, SAID in done.stdout) == (0, False)


def test_a_sync_waits_for_what_a_lost_store_may_lack_before_it_plans(
    project: Project, service: Service
) -> None:
    """A plan says something else after the wait: it would be called stale, by every sync anew."""
    env = {**ELSEWHERE, "RECONCILER_POLICY_MODE": "apply"}
    assert project.run(service, "sync", env=env).returncode == 0
    shutil.rmtree(project.folder / "state")
    project.edit("jobTitle: Analyst", "jobTitle: Chief")

    done = project.run(service, "sync", env=env)

    assert "waiting until none of them can still take effect" in " ".join(done.stderr.split())
    assert done.returncode == 0
    assert project.run(service, "sync", env=env).returncode == 0
