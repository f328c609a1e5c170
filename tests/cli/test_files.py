import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypedDict

import pytest

from reconciler.errors import FileError
from reconciler.files import atomic_files
from reconciler.files.atomic_files import (
    make_folder,
    read_file,
    require_writable_place,
    write_folder,
    write_new,
    write_over,
    write_pieces,
    write_private,
)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def refusal(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        write_private(path, b"new")
    return f"{caught.value}\n  next: {caught.value.next}"


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which tests have in a container."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


class Way(TypedDict, total=False):
    """Arguments of a writer: how the file is there before it is whole."""

    nameless: Callable[[Path, int], int | None]


def no_nameless(_folder: Path, _mode: int) -> None:
    """As on a system, or on a file system, that has no files without a name."""


WAYS = pytest.mark.parametrize("way", [{}, {"nameless": no_nameless}], ids=["nameless", "named"])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277, 0o777])
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
@pytest.mark.parametrize("error", [KeyError("a mistake of ours"), KeyboardInterrupt(), MemoryError()])
def test_a_text_that_ends_half_way_leaves_what_was_there(
    error: BaseException, way: Way, tmp_path: Path
) -> None:
    """A report is written while it is made, and what makes it may fail."""
    path = tmp_path / "plan.json"
    path.write_text("old")

    def fill(file: BinaryIO) -> None:
        file.write(b"new" * 100_000)
        raise error

    with pytest.raises(type(error)):
        write_pieces(path, fill, **way)

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
        "\n  next: create the folder first"
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

    require_writable_place(tmp_path / "new")
    require_writable_place(tmp_path / "file")
    for name in ("folder", "pipe", "gone/new", "file/new"):
        with pytest.raises(FileError) as caught:
            require_writable_place(tmp_path / name)
        assert caught.value.next

    assert names(tmp_path) == ["file", "folder", "pipe"]
    assert (tmp_path / "file").read_text() == "old"


@WAYS
def test_a_file_is_replaced_only_as_it_was_read(way: Way, tmp_path: Path) -> None:
    """What a colleague saved meanwhile is worth more than what we made of the old one; rights stay."""
    path = tmp_path / "ops.yaml"
    path.write_text("old")
    path.chmod(0o664)

    write_over(path, b"old", b"new", **way)
    with pytest.raises(FileError, match="another process has changed it meanwhile"):
        write_over(path, b"old", b"newer", **way)

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    assert names(tmp_path) == ["ops.yaml"]


@WAYS
def test_a_full_disk_leaves_a_manifest_as_it_was(way: Way, tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FileError, match=r"ops\.yaml: cannot be written: no space left on device"):
        write_over(path, b"old", b"new", sync=full, **way)

    assert path.read_text() == "old"
    assert names(tmp_path) == ["ops.yaml"]


def test_a_link_or_a_folder_in_the_place_of_a_manifest_is_refused(tmp_path: Path) -> None:
    """What it leads to may be no file of this project."""
    (tmp_path / "victim").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "folder").mkdir()

    for name, what in (("link", "it is a link"), ("folder", "it is a folder"), ("gone", "no such file")):
        with pytest.raises(FileError, match=f"{name}: cannot be written: {what}") as caught:
            write_over(tmp_path / name, b"old", b"new")
        assert caught.value.next

    assert (tmp_path / "victim").read_text() == "old"
    assert (tmp_path / "link").is_symlink()


def test_a_file_stays_with_its_owner(tmp_path: Path) -> None:
    """A container, where tests and commands are root, formats what belongs to the user outside."""
    owner = (4711, 4712) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    path = tmp_path / "ops.yaml"
    path.write_text("old")
    os.chown(path, *owner)

    write_over(path, b"old", b"new")

    assert (path.stat().st_uid, path.stat().st_gid) == owner


def test_a_file_does_not_change_hands(tmp_path: Path) -> None:
    """Whoever may write in the folder could take a colleague's file unseen."""
    theirs = os.stat_result((0o100644, 0, 0, 1, 4711, 4712, 0, 0, 0, 0))
    descriptor = os.open(tmp_path / "own", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        with as_nobody(), pytest.raises(FileError, match="it belongs to another user") as caught:
            atomic_files._keep_rights(tmp_path / "ops.yaml", theirs, descriptor)
    finally:
        os.close(descriptor)

    assert caught.value.next


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Half an export would be read as manifests of people who have left."""
    synced: list[int] = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files = {"ops.yaml": b"a", "files/one.bin": b"b"}
    with pytest.raises(FileError, match="new: cannot be written: no space left on device"):
        write_folder(tmp_path / "new", files, sync=full)
    assert names(tmp_path) == []

    write_folder(tmp_path / "deep" / "new", files)
    assert names(tmp_path / "deep") == ["new"]
    assert {name: (tmp_path / "deep" / "new" / name).read_bytes() for name in files} == files


def test_a_folder_that_somebody_filled_meanwhile_stays(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "theirs").write_text("theirs")

    with pytest.raises(FileError, match="directory not empty") as caught:
        write_folder(tmp_path / "new", {"ops.yaml": b"a"})

    assert "try again" in caught.value.next
    assert names(tmp_path) == ["new"]
    assert names(tmp_path / "new") == ["theirs"]


def test_nobody_else_may_write_a_folder_that_was_made_nor_those_above_it(tmp_path: Path) -> None:
    """Settings below a folder that others may write are not read."""
    before = os.umask(0)
    try:
        make_folder(tmp_path / "a" / "b")
        write_new(tmp_path / "a" / "b" / "file", b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755


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
