"""init as a process: what is written, what is kept, what is refused; and that the result works at once."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import effort
import pytest
import warm
import yaml
from cli.hands import PLAIN, Service
from waiting import patience_s

from reconciler.core.project_skeleton import (
    IGNORED,
    TEMPLATES,
    ProjectStart,
    detect_ci,
    find_missing_ignores,
    project_files,
    suggest_stack,
)
from reconciler.environment.checkout import read_remotes
from reconciler.errors import FileError
from reconciler.files import atomic_files
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("init.golden")
SECRETS = {"SVC_USER": "demo", "SVC_PASSWORD": "demo", "SVC_API_KEY": "demo-key"}
JOBS = [(ci, *pair) for ci, jobs in TEMPLATES.items() for pair in jobs.items()]
NAMES = ("on-call", "two  words", "$(touch x); 'y' \"z\"", "-x", "--help", "Ärzte*", "null")
ALL = (
    "reconciler.yaml",
    "manifests/people.yaml",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".github/workflows/validate.yml",
    ".github/actions/reconciler/action.yml",
)


def run(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return warm.run(*arguments, cwd=folder, env={**PLAIN, **(env or {})})


def begun(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    ended = run(folder, "init", "--format", "json", *arguments, env=env)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, those of git aside."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


CASES = {
    "plain": ProjectStart("on-call"),
    "a service and a workspace": ProjectStart("On Call", "https://api.example.com/x", "4C8FE1A2B3D4E5F6"),
}


def test_the_files_are_those_that_were_reviewed() -> None:
    """People read them on their first day: each line of them is meant."""
    shown = "".join(
        f"=== {name}: {path}\n{text}"
        for name, start in CASES.items()
        for path, text in project_files(start).items()
    )
    if os.environ.get("RENEW_GOLDEN"):
        GOLDEN.write_text(shown, "utf-8")

    assert shown == GOLDEN.read_text("utf-8")


@pytest.mark.parametrize("start", [*CASES.values()], ids=[*CASES])
def test_settings_and_manifest_fit_their_schemas(start: ProjectStart) -> None:
    files = project_files(start)

    for schema, path in (("settings", "reconciler.yaml"), ("manifest", "manifests/people.yaml")):
        tree = read_tree(files[path].encode(), path)
        assert (tree.problems, check_tree(schema, tree)) == ((), ())
    assert read_tree(files["reconciler.yaml"].encode(), "").value["stack"] == suggest_stack(start.folder)


@pytest.mark.parametrize(("ci", "source", "target"), JOBS)
def test_a_job_is_the_template_that_is_shipped(tmp_path: Path, ci: str, source: str, target: str) -> None:
    """One source: what docs/ci.md explains and the tests of the templates hold is what a project gets."""
    begun(tmp_path, "--ci", ci)

    assert (tmp_path / target).read_bytes() == (ROOT / "examples" / "ci" / source).read_bytes()


def test_what_is_written_is_named_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    first = begun(tmp_path)
    before = contents(tmp_path)
    second = begun(tmp_path)
    text = run(tmp_path, "init")

    assert (first["written"], first["kept"]) == ([*ALL], [])
    assert set(before) == set(ALL), "nothing else is left behind"
    assert (second["written"], second["kept"], second["next"]) == ([], [*ALL], [])
    assert contents(tmp_path) == before
    assert text.stdout.splitlines() == [f"kept     {name}" for name in ALL]
    assert first["edit"] == [".github/actions/reconciler/action.yml"]


def test_the_hooks_are_those_of_the_repository_and_run_what_is_installed(tmp_path: Path) -> None:
    """A copy that pre-commit installs has a version of its own, and may format in another way than yours."""
    ours = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    begun(tmp_path)
    (repository,) = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text())["repos"]

    assert repository["repo"] == "local"
    for hook, one in zip(repository["hooks"], ours, strict=True):
        assert hook["entry"] == " ".join([one["entry"], *one.get("args", [])])
        assert {hook[key] == one[key] for key in ("id", "name", "files", "pass_filenames")} == {True}
        assert hook["language"] == one["language"] == "system"
        assert "additional_dependencies" not in one, "they would be what an index has, by no hash"
        assert run(tmp_path, *hook["entry"].split()[1:]).returncode == 0


def test_the_settings_allow_the_variables_that_an_export_writes() -> None:
    """Else the first command after an export fails, and the second export too."""
    (read,) = (
        read_tree(project_files(one)["reconciler.yaml"].encode(), "").value for one in [CASES["plain"]]
    )

    assert read["variables"] == ["CALLBACK_*", "DEVICE_*"]


def test_no_file_is_written_over_and_the_others_are_written(tmp_path: Path) -> None:
    for name in (".gitignore", ".github/workflows/validate.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine\nplan*.json\n")

    found = begun(tmp_path)

    assert (tmp_path / ".gitignore").read_text() == "mine\nplan*.json\n"
    assert (tmp_path / ".github/workflows/validate.yml").read_text() == "mine\nplan*.json\n"
    assert found["kept"] == [".gitignore", ".github/workflows/validate.yml"]
    assert found["lacking"] == [one for one in IGNORED if one != "plan*.json"]
    assert len(found["written"]) == 4


@pytest.mark.parametrize("there", ["reconciler.yaml", "manifests/ops.yaml"])
def test_a_project_that_has_begun_gets_no_further_manifest(tmp_path: Path, there: str) -> None:
    """`contacts: {}` says that contacts are managed here: a plan could delete everybody who is ours."""
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_text("version: 1\n")

    found = begun(tmp_path)

    assert "manifests/people.yaml" not in found["written"]
    assert not (tmp_path / "manifests" / "people.yaml").exists()


@pytest.mark.parametrize("workspace", ["", "4C8FE1A2B3D4E5F6"])
def test_the_result_validates_without_credentials_and_plans_with_them(
    tmp_path: Path, service: Service, workspace: str
) -> None:
    """The address of the service is found in the environment, and nothing else is needed."""
    known = {"RECONCILER_SERVICE_BASE_URL": service.address}
    folder = tmp_path / "on-call"

    begun(tmp_path, "on-call", *(("--workspace-id", workspace) if workspace else ()), env=known)
    valid = run(folder, "validate")
    config = run(folder, "config")
    planned = run(folder, "plan", env=SECRETS)
    listed = run(folder, "list", env=SECRETS)

    assert (valid.returncode, valid.stderr) == (0, "")
    assert "Declared: nothing in 1 workspace" in valid.stdout
    assert config.returncode == 0, config.stderr
    assert service.address in config.stdout
    if workspace:  # the sandbox has none with this id: it was asked for
        assert planned.returncode == 3
        assert workspace in planned.stderr
        return
    assert (planned.returncode, listed.returncode) == (0, 0), planned.stderr
    assert "Nothing to do" in planned.stdout
    assert service.writes() == []


@effort.sample(3)  # each starts a service and five commands
@pytest.mark.parametrize("name", NAMES)
def test_the_next_steps_work_as_they_are_printed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, service: Service, name: str
) -> None:
    """A hostile name of a folder is quoted; three lines at most."""
    env = {"RECONCILER_SERVICE_BASE_URL": service.address, **SECRETS}
    command = tmp_path_factory.mktemp("bin") / "reconciler"  # a copy of the project has none installed
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"

    steps = begun(tmp_path, "--", name, env=env)["next"]
    ended = subprocess.run(
        ["bash", "-e", "-c", "\n".join(steps)],
        cwd=tmp_path,
        env={**PLAIN, **env, "PATH": path},
        text=True,
        capture_output=True,
        check=False,
    )

    assert len(steps) <= 3
    assert ended.returncode == 0, ended.stderr
    assert "Nothing to do" in ended.stdout
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_without_credentials_the_next_steps_lead_over_a_sandbox_or_the_doctor(tmp_path: Path) -> None:
    steps = begun(tmp_path, "a")["next"]
    other = begun(tmp_path, "b", env={"RECONCILER_SERVICE_BASE_URL": "https://api.example.com"})["next"]

    assert steps == [
        "reconciler sandbox &",
        "cd a && export SVC_USER=demo SVC_PASSWORD=demo SVC_API_KEY=demo-key",
        "reconciler plan",
    ]
    assert other == ["cd b && reconciler doctor", "reconciler export"]


def _file(path: Path) -> None:
    path.write_text("x")


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    path.symlink_to(path.parent / "elsewhere")


def _links_out(path: Path) -> None:
    path.mkdir()
    _link(path / "manifests")


def _github_links_out(path: Path) -> None:
    path.mkdir()
    _link(path / ".github")


def _open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _folder_as_file(path: Path) -> None:
    (path / "reconciler.yaml").mkdir(parents=True)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_file, "is a file"),
        (_link, "is a link"),
        (_links_out, "manifests is a link, and may lead out of the project"),
        (_github_links_out, ".github is a link, and may lead out of the project"),
        (_open_to_all, "everybody on this machine may"),
        (_folder_as_file, "reconciler.yaml is a folder"),
    ],
)
def test_a_folder_that_cannot_hold_a_project_is_refused_in_words(
    tmp_path: Path, prepare: Any, words: str
) -> None:
    """Nothing is written, and nothing behind a link is touched."""
    prepare(tmp_path / "it")
    before = contents(tmp_path)

    ended = run(tmp_path, "init", "it")

    assert (ended.returncode, ended.stdout) == (3, "")
    assert words in ended.stderr
    assert "  next: " in ended.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "\u202eabc", ""])
def test_a_name_that_a_terminal_cannot_show_is_refused(tmp_path: Path, name: str) -> None:
    ended = run(tmp_path, "init", "--", name)

    assert ended.returncode == 3
    assert ended.stderr.replace("\n", "").isprintable()
    assert [*tmp_path.iterdir()] == []


def test_where_nothing_can_be_written_the_error_says_so(tmp_path: Path) -> None:
    ended = run(tmp_path, "init", "/proc/self/on-call")

    assert ended.returncode == 1
    assert "cannot be made" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("address", ["ftp://x", "", "https://user:pass@api.example.com"])
def test_an_address_that_no_command_would_take_is_not_written(tmp_path: Path, address: str) -> None:
    ended = run(tmp_path, "init", env={"RECONCILER_SERVICE_BASE_URL": address})

    assert ended.returncode == 3
    assert "pass@" not in ended.stderr
    assert contents(tmp_path) == {}


def test_a_file_system_without_second_names_is_written_to_as_well(tmp_path: Path) -> None:
    def refuses(_temporary: Path, _path: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    (tmp_path / "there").write_text("mine")

    assert atomic_files.write_new(tmp_path / "new", b"text", link=refuses)
    assert not atomic_files.write_new(tmp_path / "there", b"text", link=refuses)
    assert contents(tmp_path) == {"new": b"text", "there": b"mine"}


def test_nobody_else_may_write_what_was_made_whatever_the_umask(tmp_path: Path) -> None:
    """Settings that others may write are not read: the result has to work."""
    before = os.umask(0)
    try:
        atomic_files.make_folder(tmp_path / "it")
        assert atomic_files.write_new(tmp_path / "it" / "file", b"text")
    finally:
        os.umask(before)

    assert (tmp_path / "it").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "it" / "file").stat().st_mode & 0o777 == 0o644


def test_an_id_that_is_none_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    assert run(tmp_path, "init", "--workspace-id", "a b").returncode == 64
    assert contents(tmp_path) == {}


def test_jobs_are_written_where_the_repository_begins_and_for_its_service(tmp_path: Path) -> None:
    """Below the root nobody looks for them, and the program would run in the wrong folder."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env=PLAIN)
    remote = ["git", "-C", str(tmp_path), "remote", "add", "origin", "git@gitlab.example.com:a/b.git"]
    subprocess.run(remote, check=True, env=PLAIN)

    below = begun(tmp_path, "below")
    at_root = begun(tmp_path)

    assert (below["elsewhere"], at_root["elsewhere"]) == (True, False)
    assert not {*below["written"]} & {".gitlab-ci.yml", *ALL[3:]}, "pre-commit looks at the root alone"
    assert ".gitlab-ci.yml" in at_root["written"]
    assert read_remotes(tmp_path) == ("git@gitlab.example.com:a/b.git",)


@pytest.mark.parametrize(
    ("remotes", "environ", "present", "ci"),
    [
        ((), {}, (), "github"),
        (("https://github.com/a/b",), {"GITLAB_CI": "true"}, (".gitlab-ci.yml",), "github"),
        (("ssh://git@gitlab.example.com:22/a/github",), {}, (), "gitlab"),
        (("https://git.example.com/gitlab/b",), {}, (), "github"),
        ((), {}, (".gitlab-ci.yml",), "gitlab"),
        ((), {"GITLAB_CI": "true"}, (), "gitlab"),
        ((), {"GITLAB_CI": "true"}, (".github",), "github"),
    ],
)
def test_whose_jobs_are_written_is_found_out(
    remotes: tuple[str, ...], environ: dict[str, str], present: tuple[str, ...], ci: str
) -> None:
    assert detect_ci(remotes, environ, frozenset(present)) == ci


@pytest.mark.parametrize(
    ("folder", "stack"),
    [
        ("on-call", "on-call"),
        ("On Call!", "on-call"),
        ("Ärzte", "rzte"),
        ("...", "default"),
        ("", "default"),
        ("x" * 63 + "--y", "x" * 63),
        ("null", "null"),
        ("日本", "default"),
    ],
)
def test_a_stack_is_called_like_its_folder_as_far_as_that_is_a_name(folder: str, stack: str) -> None:
    assert suggest_stack(folder) == stack


def test_a_list_for_git_may_spell_a_folder_in_its_own_way() -> None:
    assert find_missing_ignores("\n".join(("/.reconciler", *IGNORED[1:]))) == ()
    assert find_missing_ignores("") == IGNORED


def test_a_wider_line_of_a_list_for_git_covers_a_narrower_one() -> None:
    """Else somebody who ignores every page would be told to ignore each."""
    lacking = find_missing_ignores("*.html\n*.md\n# *.json\n!plan.txt\n")

    assert "plan*.json" in lacking
    assert "plan.txt" in lacking
    assert [one for one in lacking if one.endswith((".html", ".md"))] == []


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        *((name, True) for name in ("plan.json", "plan-7.json", "prod.plan.json", "undo.json", "plan.age")),
        *((name, True) for name in ("plan.html", "plan.md", "plan-prod.md", "drift.html", "drift.json")),
        *((name, True) for name in ("report.md", "run.json", "events.jsonl", ".env", "secrets.env")),
        *((name, True) for name in ("out/plan.html", ".reconciler/store.db")),
        *((name, False) for name in ("manifests/people.yaml", "manifests/people.json", "docs/planning.md")),
        *((name, False) for name in ("secrets.env.age", "keys/tokens.env.age")),
        *((name, False) for name in ("README.md", "people/rota.csv", "reporting.md", "reconciler.yaml")),
    ],
)
def test_git_ignores_what_reports_are_usually_called_and_no_manifest(
    name: str,
    ignored: bool,  # noqa: FBT001 - a row of the table
    tmp_path: Path,
) -> None:
    """A report holds people's data; a manifest that git leaves out is not applied."""
    begun(tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=patience_s)

    asked = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "-q", name], check=False, timeout=patience_s
    )

    assert asked.returncode == (0 if ignored else 1)


def test_what_is_written_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    """A full disk leaves nothing of the file; what is there stays, be it a link to nowhere."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="no space left"):
        atomic_files.write_new(tmp_path / "new", b"text", sync=full)
    assert not atomic_files.write_new(tmp_path / "link", b"text")
    assert [one.name for one in tmp_path.iterdir()] == ["link"]
    assert atomic_files.write_new(tmp_path / "new", b"text")
    assert (tmp_path / "new").read_bytes() == b"text"
    shutil.rmtree(tmp_path)
