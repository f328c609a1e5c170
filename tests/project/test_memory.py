"""Temporary folders in memory leave nothing there, and are not made where there is no room."""

import signal
import subprocess
import sys
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


def test_what_a_killed_run_has_left_is_removed_by_the_next_and_what_is_in_use_stays(tmp_path: Path) -> None:
    """Each killed run left its folders in memory until the machine was started anew."""
    script = (
        "import memory, os, sys, pathlib\n"
        "memory.begin({}, pathlib.Path(sys.argv[1]), 0)\n"
        "os.kill(os.getpid(), 9)"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    killed = subprocess.run(words, cwd=Path(__file__).parents[1], check=False)
    (left,) = tmp_path.iterdir()
    (tmp_path / "reconciler-of-nobody").mkdir()

    mine: dict[str, str] = {}
    other: dict[str, str] = {}
    memory.begin(mine, tmp_path, room_min=0)
    memory.begin(other, tmp_path, room_min=0)
    here = {str(one) for one in tmp_path.iterdir()}
    memory.end({**mine, **other})

    assert killed.returncode == -signal.SIGKILL
    assert str(left) not in here
    assert here == {mine[_NAME], other[_NAME], str(tmp_path / "reconciler-of-nobody")}


def test_what_is_left_is_removed_where_there_is_no_room(tmp_path: Path) -> None:
    """It may be what takes the room."""
    (tmp_path / "reconciler-left").mkdir()
    (tmp_path / "reconciler-left" / "held.lock").touch()

    memory.begin({}, tmp_path, room_min=2**80)

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
