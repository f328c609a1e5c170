"""The commit that is recorded for a run: what git says, and nothing that the repository wants run."""

import subprocess
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.keeping import told

from reconciler.surroundings.checkout import Checkout, git_environ, read_checkout
from reconciler.surroundings.context import in_ci, read_context

CI = {"CI": "true"}
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one tracked file, and a folder below it."""
    git(tmp_path, "init", "-q")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "team.yaml").write_text("one")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_the_mark_says_that_tracked_files_differ_from_the_commit(tree: Path) -> None:
    """Anywhere in the repository, staged or not; a file that git does not track is a plan, or a store."""
    commit = git(tree, "rev-parse", "HEAD")
    (tree / "plan.json").write_text("{}")
    clean = read_checkout(tree / "manifests")
    (tree / "team.yaml").write_text("other")
    changed = read_checkout(tree / "manifests")
    git(tree, "add", "team.yaml")
    staged = read_checkout(tree)
    git(tree, "commit", "-q", "-m", "y")
    (tree / "team.yaml").unlink()
    gone = read_checkout(tree)

    assert clean == Checkout(commit)
    assert (changed.commit, staged.commit) == (commit, commit)
    assert [one.dirty for one in (changed, staged, gone)] == [True] * 3
    assert read_context({}, tree, random=str).commit == f"{gone.commit}+dirty"


def test_what_is_checked_out_comes_before_what_the_build_system_says(tree: Path, tmp_path: Path) -> None:
    """A job may check out another commit than the one that started it."""
    told_ = {"GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"}
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()

    assert read_context(told_, tree, random=str).commit == git(tree, "rev-parse", "HEAD")
    assert read_context(told_, elsewhere, random=str).commit in (
        told_["GITHUB_SHA"],
        read_checkout(elsewhere).commit,
    )


def test_nothing_that_the_repository_configures_is_run(tree: Path) -> None:
    """Whoever can write a folder's .git must not run commands with the rights of whoever looks."""
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "filter.a.b.clean"):
        git(tree, "config", name, f"touch '{tree}/ran-{name}'; cat")
    hooks = tree / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch '{tree}/ran-{hook}'\n")
        (hooks / hook).chmod(0o755)
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "attributes").write_text("*.yaml filter=x\n*.yml filter=a.b\n")
    (tree / "team.yaml").write_text("two")

    assert read_checkout(tree).dirty
    assert [one.name for one in tree.iterdir() if one.name.startswith("ran-")] == []


def test_git_gets_no_secret_of_ours() -> None:
    """It needs its own variables, such as those that a CI action sets for safe.directory."""
    kept = dict.fromkeys(("PATH", "HOME", "LC_ALL", "GIT_CONFIG_COUNT", "XDG_CONFIG_HOME"), "kept")
    others = dict.fromkeys(
        ("SVC_PASSWORD", "RECONCILER_STORE", "GIT_DIR", "GIT_INDEX_FILE", "BASH_ENV"), "canary"
    )

    assert git_environ({**kept, **others}) == kept


def test_a_filter_that_cannot_be_turned_off_is_not_run_and_nothing_is_vouched_for(tree: Path) -> None:
    git(tree, "config", "filter.a=b.clean", f"touch '{tree}/ran'; cat")
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "attributes").write_text("*.yaml filter=a=b\n")
    (tree / "team.yaml").write_text("two")

    assert read_checkout(tree).dirty
    assert not (tree / "ran").exists()


def test_where_git_does_not_answer_nothing_is_known(tmp_path: Path) -> None:
    """A folder that is no repository, and one that is not there, fail no run."""
    (tmp_path / ".git").write_text("gitdir: /nowhere")

    assert read_checkout(tmp_path) == Checkout()
    assert read_checkout(tmp_path / "none") == Checkout()


@pytest.mark.parametrize(
    ("value", "ci"), [("true", True), ("1", True), ("", False), ("0", False), ("FALSE", False)]
)
def test_ci_is_known_by_its_variable(value: str, ci: bool) -> None:  # noqa: FBT001 - a column
    assert in_ci({"CI": value}) is ci
    assert not in_ci({})


def committed(project: Project) -> str:
    """The project's commit; the folder is a repository of its own from now on."""
    (project.folder / ".git").rmdir()
    git(project.folder, "init", "-q")
    git(project.folder, "add", "-A")
    git(project.folder, "commit", "-q", "-m", "x")
    return git(project.folder, "rev-parse", "HEAD")


def test_in_ci_what_is_in_no_commit_is_not_applied(project: Project, service: Service) -> None:
    """Refused before anything is sent; one option allows it, and the record says what was applied."""
    commit = committed(project)
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")

    refused = project.run(service, "apply", "--yes", env=CI)
    asked = service.requests()
    planned = project.run(service, "plan", env=CI)
    allowed = project.run(service, "apply", "--yes", "--allow-dirty", "--format", "json", env=CI)

    assert (refused.returncode, asked) == (7, [])
    flat = " ".join(refused.stderr.split())
    assert f"tracked files differ from commit {commit}" in flat
    assert ("next: see which: git status" in flat, "--allow-dirty" in flat) == (True, True)
    assert (planned.returncode, allowed.returncode) == (0, 0)
    assert told(allowed)["context"]["commit"] == f"{commit}+dirty"
    entries = told(project.run(service, "history", "--format", "json"))["entries"]
    assert {one["commit"] for one in entries} == {f"{commit}+dirty"}


def test_a_clean_tree_and_a_person_at_a_dirty_one_may_apply(project: Project, service: Service) -> None:
    """On a machine of one's own the mark shows it, and nothing is refused."""
    commit = committed(project)
    clean = project.run(service, "apply", "--yes", "--format", "json", env=CI)
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    dirty = project.run(service, "apply", "--yes", "--format", "json")

    assert (clean.returncode, dirty.returncode) == (0, 0)
    assert told(clean)["context"]["commit"] == commit
    assert told(dirty)["context"]["commit"] == f"{commit}+dirty"
