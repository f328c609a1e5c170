"""A disk that fills up stops remote writes: what cannot be written down is not sent.

The limit on the size of files is the system's own (as a full quota is): every write of the store beyond
it fails, wherever in a commit it stands.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import effort
import pytest
import tally
from crash.ground import Ground, ended_s, ground, mail

people = 60
# Kibibytes that a file may have: from a store that cannot even be made to one that fails near the end.
LIMITS = (0, 16, 48, 96, 128, 160, 224, 288, 352, 416, 512, 640)


@effort.sample(3)
@pytest.mark.parametrize("limit_kib", LIMITS)
def test_what_cannot_be_written_down_is_not_sent(limit_kib: int, tmp_path: Path) -> None:
    """Everybody whom the service holds has a line in the store that was there before; then room is made."""
    with ground(tmp_path / "project", latency_ms=2) as place:
        place.declare(people, devices=False)

        code = _limited(place, limit_kib, "apply", "--yes")

        live = place.live()
        assert max(live.values(), default=1) == 1
        assert "Traceback" not in place.said()
        if code != 0:
            assert live.total() <= place.intents()
            assert code in (1, 6, 8), place.said()
            assert "the store" in place.said()
            assert "next:" in place.said()

        assert place.run("resume") == 0, place.said()
        assert place.run("apply", "--yes") == 0, place.said()
        assert place.live() == Counter({mail(number): 1 for number in range(people)})
        stopped = "stopped before the first write" if not live else "stopped in the middle"
        tally.count("full disks", "carried out" if code == 0 else stopped)


def _limited(place: Ground, limit_kib: int, *words: str) -> int:
    """Return the exit code of a command no file of which may pass the limit."""
    blocks = str(limit_kib * 2)  # of 512 bytes, as POSIX has it
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f "$0"; exec "$@"', blocks, sys.executable, "-m", "reconciler", *words],
        cwd=place.project.folder,
        env=place.project.environ(place.service),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ended_s,
        check=False,
    )
    (place.project.folder / "out").write_text(done.stdout)
    (place.project.folder / "err").write_text(done.stderr)
    return done.returncode
