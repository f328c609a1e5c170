"""Temporary folders in memory leave nothing there, and are not made where there is no room."""

from pathlib import Path

import memory

_NAME = "PYTEST_DEBUG_TEMPROOT"


def test_folders_are_in_memory_and_gone_in_the_end(tmp_path: Path) -> None:
    """What stays in memory takes room from whatever runs next on that machine."""
    environ: dict[str, str] = {}

    memory.begin(environ, tmp_path, room_min=0)
    (made,) = tmp_path.iterdir()
    assert environ == {_NAME: str(made)}
    (made / "folder").mkdir()
    (made / "folder" / "store.db").write_text("rows")
    memory.end(environ)

    assert environ == {}
    assert not list(tmp_path.iterdir())


def test_without_room_the_folders_stay_where_they_always_are(tmp_path: Path) -> None:
    """A container has 64 MiB of such memory, which a run would fill."""
    environ: dict[str, str] = {}

    memory.begin(environ, tmp_path, room_min=2**80)
    memory.begin(environ, tmp_path / "not there", room_min=0)

    assert environ == {}
    assert not list(tmp_path.iterdir())


def test_a_place_that_was_asked_for_is_kept(tmp_path: Path) -> None:
    """Somebody who wants to look at the folders afterwards says where they are."""
    environ = {_NAME: "/somewhere"}

    memory.begin(environ, tmp_path, room_min=0)
    memory.end(environ)

    assert environ == {_NAME: "/somewhere"}
    assert not list(tmp_path.iterdir())
