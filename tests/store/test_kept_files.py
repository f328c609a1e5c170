"""What is kept between runs is read with as much memory as it has, whatever it may have at most."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.manifest.kept.folder import Folder
from reconciler.store.lists import KeptLists

_MOST = 1024 * 1024 * 1024  # bytes that either may have
_SMALL = b"a" * 1000


def _part(root: Path) -> Callable[[], object]:
    folder = Folder(root, (".reconciler", "cache"))
    assert folder.write("part", [_SMALL])
    return lambda: folder.read("part", bytes_max=_MOST)


def _list(root: Path) -> Callable[[], object]:
    lists = KeptLists(root, "salt")
    lists.write("list", _SMALL)
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
