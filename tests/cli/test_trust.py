"""Whose files decide where credentials go, and which command is run to get them."""

import os
import stat
from pathlib import Path

import pytest

from reconciler.errors import SettingsError
from reconciler.settings import layers, trust
from reconciler.settings.reader import ReadSettings, read_settings
from reconciler.settings.secrets import SecretRefused, SecretSource
from reconciler.settings.secrets import read_secret_source as read_secret

JANE, SAM, ROOT = 1000, 1001, 0
OURS, TEAM = 1000, 50  # groups
WE = trust.TrustedUsers(JANE, frozenset({JANE, ROOT}))


def about(mode: int, owner: int = JANE, group: int = OURS, *, folder: bool = False) -> os.stat_result:
    """What the system says of a file, or of a folder."""
    kind = stat.S_IFDIR if folder else stat.S_IFREG
    return os.stat_result((kind | mode, 1, 1, 1, owner, group, 10, 0, 0, 0))


def alone(group: int, user: int) -> bool:
    """Jane is alone in the group that is named like her."""
    return (group, user) == (OURS, JANE)


FILES = {
    "ours": (about(0o644), ""),
    "ours alone": (about(0o600), ""),
    "of root, as a mounted secret": (about(0o644, ROOT, ROOT), ""),
    "umask 002: our own group may write": (about(0o664), ""),
    "a group of several": (about(0o664, group=TEAM), "its group may write it (mode 0664)"),
    "everybody": (about(0o666), "everybody on this machine may write it (mode 0666)"),
    "of root, and everybody may write": (about(0o646, ROOT, ROOT), "everybody on this machine"),
    "of somebody else": (about(0o600, SAM), "it belongs to user 1001, and this is user 1000"),
}
FOLDERS = {
    "ours": (about(0o755, folder=True), ""),
    "of root": (about(0o755, ROOT, folder=True), ""),
    "a team's, whose files would show another owner": (about(0o2775, group=TEAM, folder=True), ""),
    "for temporary files, where nobody moves ours": (about(0o1777, ROOT, folder=True), ""),
    "everybody's": (about(0o777, folder=True), "put another file in its place (mode 0777 of its folder)"),
    "of somebody else": (about(0o755, SAM, folder=True), "its folder belongs to user 1001"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_believed_by_its_owner_and_by_who_may_write_it(case: str) -> None:
    """As git asks for the owner, and ssh for the mode. Who may only read it decides nothing."""
    seen, expected = FILES[case]
    found = trust.judge_file(seen, WE, alone)

    assert (found is None) == (expected == "")
    assert expected in (found.what if found else "")


@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_is_believed_where_nobody_can_exchange_the_file(case: str) -> None:
    """Whoever may rename in a folder needs no right to the file itself."""
    seen, expected = FOLDERS[case]
    found = trust.judge_folder(seen, WE)

    assert (found is None) == (expected == "")
    assert expected in (found.what if found else "")


def test_with_sudo_the_caller_is_believed_and_only_for_root() -> None:
    """Whoever may call everything as root gains nothing by writing a file; others may set anything."""
    us = trust.trusted_users({"SUDO_UID": "4711"})

    assert us.owners == frozenset({os.geteuid(), 0} | ({4711} if os.geteuid() == 0 else set()))
    assert trust.trusted_users({"SUDO_UID": "nobody"}).owners == frozenset({os.geteuid(), 0})


def settings(folder: Path, **environ: str) -> ReadSettings:
    return read_settings(config=None, environment=None, cwd=folder, environ=environ, service=False)


def refusal(folder: Path, config: str | None = None, **environ: str) -> str:
    """What a user reads when these settings are not believed."""
    with pytest.raises(SettingsError) as caught:
        read_settings(config=config, environment=None, cwd=folder, environ=environ, service=False)
    return f"{caught.value}\n  next: {caught.value.next}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose settings run a command."""
    folder = tmp_path / "project"
    folder.mkdir()
    command = f"{{command: touch {folder / 'ran'}}}"
    (folder / "reconciler.yaml").write_text(
        "version: 1\nservice:\n  base_url: https://api.example.com\n"
        f"  auth: {{username: {command}, password: {command}, api_key: {command}}}\n"
    )
    return folder


def test_settings_that_everybody_may_write_run_nothing(project: Path) -> None:
    """With them anybody on this machine chooses a command that runs as us, even for `doctor --offline`."""
    (project / "reconciler.yaml").chmod(0o646)
    with pytest.raises(SettingsError):
        read_settings(config=None, environment=None, cwd=project, environ={}, service=True)

    said = refusal(project)
    assert said.startswith(
        "reconciler.yaml: these settings are not read: everybody on this machine may write it"
    )
    assert f"next: chmod go-w {project / 'reconciler.yaml'}" in said
    assert not (project / "ran").exists()


def test_a_folder_that_everybody_may_write_is_refused_and_a_sticky_one_is_not(project: Path) -> None:
    """In the second nobody can put a file in the place of ours."""
    project.chmod(0o777)
    assert "put another file in its place" in refusal(project)

    project.chmod(0o1777)
    assert settings(project).layers.file == project / "reconciler.yaml"


def test_settings_of_somebody_else_are_not_read(project: Path) -> None:
    """The owner of this file is us, so it is read as somebody else here."""
    file = project / "reconciler.yaml"
    others = trust.TrustedUsers(file.stat().st_uid + 1, frozenset({file.stat().st_uid + 1}))

    found = trust.find_objection(file, file.stat(), others)

    assert found is not None
    assert f"it belongs to user {file.stat().st_uid}" in found.what
    assert f"{trust.SAFE_DIRECTORY_VARIABLE}={project}" in found.next
    named = trust.TrustedUsers(others.uid, others.owners, (project.parent,))
    assert trust.find_objection(file, file.stat(), named) is None


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_settings_that_are_named_are_judged_like_those_that_are_found(way: str, project: Path) -> None:
    """A script names the same file again and again; whose it is may change."""
    (project / "reconciler.yaml").chmod(0o666)
    name = str(project / "reconciler.yaml")

    said = (
        refusal(project.parent, config=name)
        if way == "flag"
        else refusal(project.parent, RECONCILER_CONFIG=name)
    )

    assert "everybody on this machine may write it" in said


def test_a_link_is_judged_by_where_it_leads_and_by_where_it_stands(project: Path, tmp_path: Path) -> None:
    """Either folder decides which file is read."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "reconciler.yaml").symlink_to(project / "reconciler.yaml")
    assert settings(other).layers.file == other / "reconciler.yaml"

    project.chmod(0o777)
    assert "put another file in its place" in refusal(other)
    project.chmod(0o755)
    other.chmod(0o777)
    assert "put another file in its place" in refusal(other)


@pytest.mark.parametrize("chain", [("reconciler.yaml",), ("first", "reconciler.yaml")])
def test_a_link_of_somebody_else_is_not_followed(project: Path, chain: tuple[str, ...]) -> None:
    """In a sticky folder anybody can make one to settings of ours, whose programs would run from there.

    The owner of this link is us, so it is read as somebody else here, to whom the file behind it belongs.
    """
    ours = project.stat().st_uid
    others = trust.TrustedUsers(ours + 1, frozenset({ours + 1}))
    target, other = project / "reconciler.yaml", project.parent / "other"
    other.mkdir()
    for name in chain:
        link = other / name
        link.symlink_to(target)
        target = link

    found = trust.find_objection(target, about(0o644, ours + 1), others)

    assert found is not None
    assert found.what == f"the link {other / chain[-1]} belongs to user {ours}, and this is user {ours + 1}"
    assert f"rm {other / chain[-1]}" in found.next


def test_a_repository_of_somebody_else_makes_nothing_above_us_ours(project: Path) -> None:
    """Anybody can make a .git in a folder above, such as that for temporary files. Read as somebody else."""
    ours = project.stat().st_uid
    (project / ".git").mkdir()
    (project / "below").mkdir()
    above = (project / "below", project, *project.parents)

    assert layers.folders_to_search(above, trust.TrustedUsers(ours, frozenset({ours}))) == above[:2]
    others = trust.TrustedUsers(ours + 1, frozenset({ours + 1}))
    assert layers.folders_to_search(above, others) == above[:1]
    assert (
        layers.folders_to_search(above, trust.TrustedUsers(others.uid, others.owners, (project,)))
        == above[:2]
    )


def test_a_folder_that_is_named_as_safe_is_believed_with_all_below_it(project: Path) -> None:
    """In a container a checkout may belong to another account; mounts may show all files as everybody's."""
    (project / "reconciler.yaml").chmod(0o666)

    for safe in (project, project.parent, f"/nowhere:{project}"):
        assert settings(project, RECONCILER_SAFE_DIRECTORY=str(safe)).layers.root == project
    for unsafe in ("", os.path.relpath(project), f"{project}-other", str(project / "below")):
        assert "everybody" in refusal(project, RECONCILER_SAFE_DIRECTORY=unsafe)


def test_a_secret_that_everybody_may_write_is_not_used(tmp_path: Path) -> None:
    """Somebody else would choose as whom we act."""
    (tmp_path / "key").write_text("canary")
    (tmp_path / "key").chmod(0o666)

    with pytest.raises(SecretRefused, match="everybody on this machine may write it") as caught:
        read_secret(SecretSource("file", "key"), root=tmp_path, environ={})

    assert caught.value.next.startswith(f"chmod go-w {tmp_path / 'key'}")
    assert "canary" not in f"{caught.value} {caught.value.next}"


def test_a_program_that_everybody_may_write_is_not_run(tmp_path: Path) -> None:
    program = tmp_path / "get-secret"
    program.write_text("#!/bin/sh\ntouch ran\necho canary\n")
    program.chmod(0o777)
    source = SecretSource("command", arguments=("./get-secret",))

    with pytest.raises(SecretRefused, match="everybody on this machine may write it") as caught:
        read_secret(source, root=tmp_path, environ=os.environ)
    assert "chmod o-w" in caught.value.next
    assert not (tmp_path / "ran").exists()

    program.chmod(0o755)
    assert read_secret(source, root=tmp_path, environ=os.environ).reveal() == "canary"
