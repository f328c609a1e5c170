"""The folder of stores and inboxes."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from store.support import store_at
from waiting import patience_s

from reconciler.messaging.inbox import Inbox
from reconciler.private_cache import make_private_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_the_folder_is_ours_alone_and_out_of_gits_sight(umask: int, tmp_path: Path) -> None:
    """`git add .` after the first apply would commit everybody's telephone number."""
    before = os.umask(umask)
    try:
        make_private_folder(tmp_path / ".reconciler")
    finally:
        os.umask(before)
    (tmp_path / ".reconciler" / "store.db").write_text("canary")
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True, timeout=patience_s)

    listed = subprocess.check_output(
        [*git, "status", "--porcelain", "--untracked-files=all"], text=True, timeout=patience_s
    )

    assert (mode(tmp_path / ".reconciler"), listed) == (0o700, "")


def test_a_store_and_an_inbox_make_it_so(tmp_path: Path) -> None:
    store_at(f"sqlite:///{tmp_path}/a/.reconciler/store.db").close()
    Inbox.open(tmp_path / "b" / ".reconciler" / "inbox.db").close()

    for folder in (tmp_path / "a" / ".reconciler", tmp_path / "b" / ".reconciler"):
        assert mode(folder) == 0o700
        assert (folder / ".gitignore").read_text() == "*\n"
        assert {mode(file) for file in folder.iterdir()} == {0o600}


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    """Somebody else's folder keeps its rights, and gets no file that nobody asked for."""
    (tmp_path / ".reconciler").mkdir(0o750)
    (tmp_path / ".reconciler" / ".gitignore").write_text("store.db\n")
    make_private_folder(tmp_path / ".reconciler")
    make_private_folder(tmp_path / "stores")

    assert mode(tmp_path / ".reconciler") == 0o750
    assert (tmp_path / ".reconciler" / ".gitignore").read_text() == "store.db\n"
    assert list((tmp_path / "stores").iterdir()) == []
