"""What is kept between runs is read with as much memory as it has, whatever it may have at most."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.ownership import Folder
from reconciler.private_cache import ListCache

_MOST = 1024 * 1024 * 1024  # bytes that either may have
_SMALL = b"a" * 1000


def _part(root: Path) -> Callable[[], object]:
    folder = Folder(root, (".reconciler", "cache"))
    assert folder.write("part", [_SMALL])
    return lambda: folder.read("part", bytes_max=_MOST)


def _list(root: Path) -> Callable[[], object]:
    lists = ListCache(root, "salt")
    lists.write("list", (_SMALL,))
    return lambda: lists.read("list")


@pytest.mark.parametrize("kept", [_part, _list], ids=["manifests", "lists"])
def test_reading_sets_no_more_aside_than_a_file_has(
    kept: Callable[[Path], Callable[[], object]], tmp_path: Path
) -> None:
    """A read of at most 1 GiB asks the system for 1 GiB first, and a small container has not that much."""
    (tmp_path / ".reconciler").mkdir(mode=0o700)
    read = kept(tmp_path)
    tracemalloc.start()
    found = read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found
    assert peak < 1024 * 1024


def _chmod(mode: int, *parts: str) -> Callable[[Path, Path], None]:
    return lambda root, file: (root.joinpath(*parts) if parts else file).chmod(mode)


def _chown(*parts: str) -> Callable[[Path, Path], None]:
    return lambda root, file: os.chown(root.joinpath(*parts) if parts else file, 65534, -1)


def _through_link(root: Path, _file: Path) -> None:
    lists = root / ".reconciler" / "cache" / "lists"
    lists.rename(root / "elsewhere")
    lists.symlink_to(root / "elsewhere")


def _linked(_root: Path, file: Path) -> None:
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


_GIVES_AWAY = os.geteuid() == 0  # only root can make a file that is somebody else's


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(_chmod(0o666), id="a file that others may write"),
        pytest.param(_chmod(0o640), id="a file that others may read"),
        pytest.param(_chmod(0o777, ".reconciler", "cache", "lists"), id="a folder that others may write"),
        pytest.param(_chmod(0o770, ".reconciler", "cache"), id="a folder above"),
        pytest.param(_chmod(0o775, ".reconciler"), id="the folder of the store"),
        pytest.param(_through_link, id="a folder by a link"),
        pytest.param(_linked, id="a file by a link"),
        *(
            pytest.param(_chown(*parts), id=f"another user's {'/'.join(parts) or 'file'}")
            for parts in ((), (".reconciler", "cache", "lists"), (".reconciler", "cache"))
            if _GIVES_AWAY
        ),
    ],
)
def test_a_list_that_others_can_have_written_was_not_remembered(
    spoil: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    """Everybody who plans can read the salt that its seal is keyed by, and would decide what a plan says."""
    lists = ListCache(tmp_path, "salt")
    lists.write("list", (_SMALL,))
    (file,) = (tmp_path / ".reconciler" / "cache" / "lists").iterdir()
    assert (lists.read("list"), bool(lists.seal("list"))) == (_SMALL, True)

    spoil(tmp_path, file)

    assert lists.read("list") is None
    assert lists.seal("list") == b""
    assert "list" not in lists.seals


def test_a_list_is_kept_again_where_its_file_was_not_ours_alone(tmp_path: Path) -> None:
    """Read anew once, and then remembered as before; nothing else stays in the folder."""
    lists = ListCache(tmp_path, "salt")
    lists.write("list", (_SMALL,))
    folder = tmp_path / ".reconciler" / "cache" / "lists"
    (file,) = folder.iterdir()
    file.chmod(0o666)
    (folder / f".{file.name}.0123456789abcdef").touch()  # of a process that was killed

    lists.write("list", (_SMALL,))

    assert lists.read("list") == _SMALL
    assert [*folder.iterdir()] == [file]
    assert file.stat().st_mode & 0o777 == 0o600
    lists.write("list", None)
    assert [*folder.iterdir()] == []
