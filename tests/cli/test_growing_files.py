"""Files that somebody else made: those that grow (--log-file, --events), and a cache."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.hands import Project, Service

_OTHER = 65534  # the user `nobody`
_OPTIONS = ("--log-file", "--events")
_GIVES_AWAY = os.geteuid() == 0  # only root can make a file that is somebody else's


def _link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def _dangling(place: Path, victim: Path) -> None:
    place.symlink_to(victim.with_name("not there"))


def _hard_link(place: Path, victim: Path) -> None:
    os.link(victim, place)


def _fifo(place: Path, _victim: Path) -> None:
    os.mkfifo(place)


def _device(place: Path, _victim: Path) -> None:
    place.symlink_to("/dev/null")


def _socket(place: Path, _victim: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the path of a socket has 108 characters at most
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


def _theirs(place: Path, _victim: Path) -> None:
    place.touch()
    place.chmod(0o666)
    os.chown(place, _OTHER, _OTHER)


def _their_private(place: Path, _victim: Path) -> None:
    place.touch(mode=0o600)
    os.chown(place, _OTHER, -1)


@pytest.mark.parametrize("option", _OPTIONS)
@pytest.mark.parametrize(
    ("lay", "said"),
    [
        pytest.param(_link, "it is a symbolic link", id="link"),
        pytest.param(_dangling, "it is a symbolic link", id="link that leads nowhere"),
        pytest.param(_hard_link, "it has another name too (a hard link)", id="hard link"),
        pytest.param(_fifo, "it is not a regular file", id="pipe"),
        pytest.param(_device, "it is a symbolic link", id="device"),
        pytest.param(_socket, "it is not a regular file", id="socket"),
        *(
            pytest.param(lay, "it belongs to another user", id=lay.__name__)
            for lay in (_theirs, _their_private)
            if _GIVES_AWAY
        ),
    ],
)
def test_a_file_that_is_not_ours_alone_is_refused_before_anything_is_sent(
    project: Project, service: Service, lay: Callable[[Path, Path], None], said: str, option: str
) -> None:
    """Laid in a folder that everybody may write: its owner read names of people, or ours was written over."""
    shared = project.folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    victim = project.folder / "victim"
    victim.write_text("untouched\n")
    lay(shared / "grows", victim)
    before = {one.name: one.lstat().st_mode for one in shared.iterdir()}

    ended = project.run(service, "apply", "--yes", option, "shared/grows")

    assert ended.returncode == 1
    assert said in ended.stderr
    assert f"with {option}" in ended.stderr, "what to do"
    assert service.requests() == []
    assert victim.read_text() == "untouched\n"
    assert not (project.folder / "not there").exists()
    assert {one.name: one.lstat().st_mode for one in shared.iterdir()} == before
    assert (shared / "grows").lstat().st_size < 1024


@pytest.mark.parametrize("option", _OPTIONS)
def test_a_file_of_ours_that_others_could_read_is_closed(
    project: Project, service: Service, option: str
) -> None:
    """It stood there before; by its descriptor, so that no name that was swapped meanwhile is changed."""
    file = project.folder / "grows"
    file.write_text("")
    file.chmod(0o644)

    ended = project.run(service, "apply", "--yes", option, "grows")

    assert ended.returncode == 0, ended.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size > 0


def test_a_cache_that_others_may_write_is_not_used_and_told_once(project: Project, service: Service) -> None:
    """Whoever can write there could decide what a plan says. All is read anew, and the plan is the same."""
    project.run(service, "apply", "--yes")
    first = project.run(service, "plan")
    cache = project.folder / ".reconciler" / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    cache.chmod(0o777)

    ended = project.run(service, "plan")

    assert (first.returncode, ended.returncode) == (0, 0)
    assert "is not used" not in first.stderr
    assert ended.stderr.count("is not used") == 1
    assert "because of .reconciler/cache: others may write in it (mode 0777)" in ended.stderr
    assert "next: make .reconciler/cache writable for you alone" in ended.stderr
    assert "Nothing to do" in ended.stdout
