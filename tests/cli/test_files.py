import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import pytest

from reconciler.cli.files.private import check_place, read_file, write_private
from reconciler.errors import FileError


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def refusal(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        write_private(path, b"new")
    return f"{caught.value}\n  next: {caught.value.next}"


class Way(TypedDict, total=False):
    """Arguments of `write_private`: how the file is there before it is whole."""

    nameless: Callable[[Path], int | None]


def no_nameless(_folder: Path) -> None:
    """As on a system, or on a file system, that has no files without a name."""


WAYS = pytest.mark.parametrize("way", [{}, {"nameless": no_nameless}], ids=["nameless", "named"])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@WAYS
def test_the_file_is_private_whatever_the_umask(umask: int, way: Way, tmp_path: Path) -> None:
    """Plans hold people's data, and shared machines exist."""
    before = os.umask(umask)
    try:
        write_private(tmp_path / "plan.json", b"data", **way)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "plan.json").stat().st_mode) == 0o600
    assert (tmp_path / "plan.json").read_bytes() == b"data"


@WAYS
def test_an_open_file_that_was_there_becomes_private(way: Way, tmp_path: Path) -> None:
    """The rights of the old file are not inherited."""
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, b"new", **way)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["plan.json"]


@WAYS
def test_a_link_in_the_way_is_replaced_and_not_followed(way: Way, tmp_path: Path) -> None:
    """Somebody may have planted it to have another file overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "plan.json").symlink_to(victim)

    write_private(tmp_path / "plan.json", b"new", **way)

    assert victim.read_text() == "untouched"
    assert not (tmp_path / "plan.json").is_symlink()


@WAYS
def test_content_is_durable_before_it_gets_its_name(way: Way, tmp_path: Path) -> None:
    """File first, then the folder that holds the new name."""
    synced: list[str] = []

    def sync(descriptor: int) -> None:
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        os.fsync(descriptor)

    write_private(tmp_path / "plan.json", b"data", sync=sync, **way)

    assert synced == ["file", "folder"]


@WAYS
def test_a_file_has_no_name_until_it_is_whole(way: Way, tmp_path: Path) -> None:
    """A process may be killed in any moment, and nobody would look for what a hidden name holds of people."""
    seen: list[list[str]] = []

    def sync(_descriptor: int) -> None:
        seen.append(names(tmp_path))

    write_private(tmp_path / "plan.json", b"data", sync=sync, **way)

    assert (seen[0] == []) == (not way)
    assert seen[1] == ["plan.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@WAYS
def test_a_full_disk_leaves_what_was_there(number: int, way: Way, tmp_path: Path) -> None:
    """A plan cut short must never stand where a good one stood."""
    path = tmp_path / "plan.json"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(FileError) as caught:
        write_private(path, b"new", sync=full, **way)

    assert str(caught.value) == f"{path}: cannot be written: {os.strerror(number).lower()}."
    assert caught.value.next
    assert path.read_text() == "old"
    assert names(tmp_path) == ["plan.json"]


@WAYS
def test_an_interrupted_write_leaves_nothing_behind(way: Way, tmp_path: Path) -> None:
    """Ctrl-C comes at any moment."""

    def interrupted(_descriptor: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_private(tmp_path / "plan.json", b"new", sync=interrupted, **way)

    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """No folder, a folder in the way, a file where a folder should be."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")

    assert refusal(tmp_path / "gone" / "plan.json") == (
        f"{tmp_path}/gone/plan.json: cannot be written: no such file or directory."
        "\n  next: make the folder first"
    )
    assert "it is a folder.\n  next: name a file" in refusal(tmp_path / "folder")
    assert "not a directory.\n  next: name a place inside a folder" in refusal(
        tmp_path / "file" / "plan.json"
    )
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file", "folder"]


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    """An administrator who writes a plan to /dev/null must not lose /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")

    assert "it is a device or a pipe, not a file." in refusal(tmp_path / "pipe")
    assert "it is a device or a pipe, not a file." in refusal(tmp_path / "link")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_file_of_the_system_that_refuses_is_named() -> None:
    """Where nobody may make a file, not even the administrator."""
    assert "cannot be written: " in refusal(Path("/proc/plan.json"))


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A missing file, a folder, a pipe that nobody writes to: an error at once, never a wait."""
    os.mkfifo(tmp_path / "pipe")
    said = []
    for name in ("gone", ".", "pipe"):
        with pytest.raises(FileError) as caught:
            read_file(tmp_path / name)
        said.append(str(caught.value).removeprefix(f"{tmp_path}").removeprefix("/"))

    assert said == [
        "gone: cannot be read: no such file or directory.",
        ": cannot be read: is a directory.",
        "pipe: cannot be read: it is not a regular file.",
    ]


def test_a_file_comes_back_as_written(tmp_path: Path) -> None:
    """The pair of functions loses nothing."""
    write_private(tmp_path / "plan.json", bytes(range(256)))

    assert read_file(tmp_path / "plan.json") == bytes(range(256))


def test_a_place_can_be_checked_before_anything_is_done(tmp_path: Path) -> None:
    """A run cannot be taken back when its file turns out to have no place."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    os.mkfifo(tmp_path / "pipe")

    check_place(tmp_path / "new")
    check_place(tmp_path / "file")
    for name in ("folder", "pipe", "gone/new", "file/new"):
        with pytest.raises(FileError) as caught:
            check_place(tmp_path / name)
        assert caught.value.next

    assert names(tmp_path) == ["file", "folder", "pipe"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_secret_file_is_read_when_it_is_its_owners_alone(mode: int, tmp_path: Path) -> None:
    """As a private key has to be."""
    path = tmp_path / "key"
    path.write_text("secret")
    path.chmod(mode)

    assert read_file(path, private=True) == b"secret"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o777])
def test_a_secret_file_that_others_have_a_right_to_is_refused(mode: int, tmp_path: Path) -> None:
    """Whoever can read it has the secret; whoever can write it decides which one is used."""
    path = tmp_path / "key"
    path.write_text("canary")
    path.chmod(mode)

    with pytest.raises(FileError) as caught:
        read_file(path, private=True)

    assert f"others may read or write it (mode {mode:04o})" in str(caught.value)
    assert caught.value.next == f"chmod 600 {path}"


def test_a_file_beyond_its_limit_is_refused(tmp_path: Path) -> None:
    """A mistaken file, or one that grows while it is read."""
    (tmp_path / "big").write_bytes(b"x" * 101)

    assert read_file(tmp_path / "big", most=101) == b"x" * 101
    with pytest.raises(FileError, match="it has over 100 bytes"):
        read_file(tmp_path / "big", most=100)
