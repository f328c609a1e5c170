"""The site, built once for all workers of a run."""

import fcntl
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "script" / "site"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site. Whoever comes first builds it; a warning fails."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, half = shared / "site", shared / "site-half"
    with (shared / "site.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not folder.is_dir():
            done = subprocess.run(
                [sys.executable, *built_by(), "--site-dir", half],
                cwd=ROOT,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout + done.stderr) == (0, "")
            half.rename(folder)
    return folder


def built_by() -> list[str]:
    """What `script/site` starts, less the interpreter and what its user adds."""
    last = shlex.split(SCRIPT.read_text(encoding="utf-8").splitlines()[-1])
    assert last[:2] == ["exec", ".venv/bin/python"]
    assert last[-1] == "$@"
    return last[2:-1]
