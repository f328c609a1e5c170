"""The pictures of the README are what `script/record` makes of the program as it is now."""

import re
import subprocess
import sys
from pathlib import Path

from report.html import browser

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
bytes_max = 150_000  # of a picture: a page is read on a phone too


def test_the_pictures_are_what_a_terminal_and_a_browser_show_now(tmp_path: Path) -> None:
    """Real commands against the sandbox: the same bytes, or `script/record` has to be run again.

    Of the report only that it can be made: browsers draw letters in their own way.
    """
    terminal, report = tmp_path / "terminal.svg", tmp_path / "report.png"
    picture = ("--png", report) if browser.found() else ()
    done = subprocess.run(
        [sys.executable, ROOT / "script" / "record.py", "--svg", terminal, *picture],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert terminal.read_bytes() == (IMAGES / "terminal.svg").read_bytes()
    browser.needed()
    for path in (report, IMAGES / "report.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < bytes_max


def test_the_recording_loads_nothing() -> None:
    """No font, no style and no picture of another host."""
    text = (IMAGES / "terminal.svg").read_text(encoding="utf-8")

    assert re.findall(r"url\((?!#)|@import|<script|<image|xlink:href", text) == []
    assert len(text.encode()) < bytes_max
