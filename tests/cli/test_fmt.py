"""fmt as a process: which files it writes, how they are written, and with which code it ends."""

import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cli.hands import Project, Service

from reconciler.core.project_skeleton import MANIFEST

Run = Callable[..., "subprocess.CompletedProcess[str]"]

UGLY = "workspace: ops\nversion: 1\ncontacts: {jane: {lastName: 'Doe', firstName: 'Jane'}} # all\n"
NICE = "version: 1\nworkspace: ops\ncontacts: {jane: {firstName: Jane, lastName: Doe}}     # all\n"
BROKEN = "version: 1\nworkspace: ops\ncontacts: {jane: {firstName: &a Jane}}\n"


@pytest.fixture
def manifests(repository: Path) -> Path:
    folder = repository / "manifests"
    folder.mkdir()
    (folder / "ops.yaml").write_text(UGLY)
    (folder / "nice.yaml").write_text(NICE)
    return folder


def test_the_manifests_of_the_settings_are_formatted_without_any_variable(manifests: Path, run: Run) -> None:
    """Offline and without a secret: what is canonical is not even written."""
    (manifests / "ops.yaml").chmod(0o640)
    before = (manifests / "nice.yaml").stat()

    told = run("fmt", env={})

    assert (told.returncode, told.stdout) == (0, "formatted manifests/ops.yaml\n")
    assert told.stderr == "1 file formatted, 1 file left unchanged.\n"
    assert (manifests / "ops.yaml").read_text() == NICE
    assert stat.S_IMODE((manifests / "ops.yaml").stat().st_mode) == 0o640
    after = (manifests / "nice.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [one.name for one in sorted(manifests.iterdir())] == ["nice.yaml", "ops.yaml"]
    again = run("fmt", "--check", env={})
    assert (again.returncode, again.stdout) == (0, "")


def test_a_check_names_each_file_and_writes_none(manifests: Path, run: Run) -> None:
    told = run("fmt", "--check", env={})
    shown = run("fmt", "--diff", env={})

    assert (told.returncode, told.stdout) == (2, "would format manifests/ops.yaml\n")
    assert shown.returncode == 2
    assert shown.stdout.startswith("--- manifests/ops.yaml (current)\n+++ manifests/ops.yaml (formatted)\n")
    assert "+version: 1\n workspace: ops\n-version: 1\n" in shown.stdout
    assert (manifests / "ops.yaml").read_text() == UGLY


def test_a_difference_cannot_act_on_a_terminal_or_a_runner(manifests: Path, run: Run) -> None:
    """The lines of a file are anybody's: zero-width characters and orders to a runner are text."""
    (manifests / "ops.yaml").write_text(f"{UGLY}# \u200b\n##[group]x\n")
    shown = run("fmt", "--diff", env={})
    assert "\u200b" not in shown.stdout
    assert "##[group]" not in shown.stdout
    assert "\\u200b" in shown.stdout


def test_a_file_that_cannot_be_read_stays_and_the_others_are_formatted(manifests: Path, run: Run) -> None:
    (manifests / "broken.yaml").write_text(BROKEN)

    told = run("fmt", env={})

    assert told.returncode == 3
    assert "manifests/broken.yaml:3:30: this is a YAML anchor, which is refused." in told.stderr
    assert "1 file cannot be formatted." in told.stderr
    assert told.stdout == "formatted manifests/ops.yaml\n"
    assert (manifests / "broken.yaml").read_text() == BROKEN
    assert run("fmt", "--check", env={}).returncode == 3


def test_paths_need_no_settings(tmp_path: Path, run: Run) -> None:
    """A hook passes files; links are followed to the file itself, and never out of the folder."""
    folder = tmp_path / "elsewhere"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "ops.yml").write_text(UGLY)
    (folder / "link.yaml").symlink_to("inside/ops.yml")
    (folder / "people.csv").write_text("name\n")
    (folder / "ops.json").write_text('{"workspace": "ops",  "version": "1"}')

    assert run("fmt", "link.yaml", cwd=folder, env={}).returncode == 0
    assert (folder / "link.yaml").is_symlink()
    assert (folder / "inside" / "ops.yml").read_text() == NICE
    assert run("fmt", ".", cwd=folder, env={}).stderr == "1 file left unchanged.\n"
    assert (folder / "ops.json").read_text() == '{"workspace": "ops",  "version": "1"}'
    unknown = run("fmt", "people.csv", "gone.yaml", cwd=folder, env={})
    assert unknown.returncode == 3
    assert "people.csv: this is not a manifest" in unknown.stderr
    assert "gone.yaml: this does not exist." in unknown.stderr


def test_the_settings_are_no_manifest(repository: Path, run: Run) -> None:
    """Their values have types: without its quotes a text would be a number."""
    before = (repository / "reconciler.yaml").read_bytes()
    told = run("fmt", "reconciler.yaml", env={})
    assert told.returncode == 3
    assert "this is not a manifest: it has no `workspace`; the file is unchanged." in told.stderr
    assert (repository / "reconciler.yaml").read_bytes() == before


def test_a_link_among_the_manifests_is_one_file(manifests: Path, run: Run) -> None:
    """It is formatted once, by its own name, and the link stays a link."""
    (manifests / "ops.yaml").unlink()
    (manifests / "ops.yaml").symlink_to("nice.yaml")
    (manifests / "nice.yaml").write_text(UGLY)
    told = run("fmt", env={})
    assert (told.returncode, told.stdout) == (0, "formatted manifests/nice.yaml\n")
    assert (manifests / "nice.yaml").read_text() == NICE
    assert (manifests / "ops.yaml").is_symlink()


def test_the_quickstart_is_canonical(project: Project, service: Service) -> None:
    assert project.run(service, "fmt", "--check").returncode == 0


def test_what_init_writes_is_canonical(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    assert run("init", cwd=folder, env={}).returncode == 0
    assert (folder / MANIFEST).is_file()
    assert run("fmt", "--check", cwd=folder, env={}).returncode == 0


def test_the_hooks_of_pre_commit_run_the_commands(project: Project, run: Run) -> None:
    """pre-commit splits `entry` like a shell and adds `args`; it names no file, so that settings decide."""
    canonical = project.manifest.read_text()
    project.edit("    firstName: Jane\n    lastName: Doe\n", "    lastName: Doe\n    firstName: 'Jane'\n")
    codes = {}
    for hook in yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()):
        assert {"id", "name", "entry", "language", "files"} <= set(hook)
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)
        program, *words = hook["entry"].split()
        assert program == "reconciler"
        codes[hook["id"]] = run(
            *words, *hook.get("args", ()), env={}, cwd=project.manifest.parents[1]
        ).returncode
    assert codes == {"reconciler-fmt": 0, "reconciler-validate": 0}
    assert project.manifest.read_text() == canonical
