"""The manual page: what the commands say, in a form that man takes without a warning."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from reconciler.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reconciler.1"
GENERATE = ROOT / "script" / "generate_man.py"
MACROS = {"TH", "SH", "SS", "PP", "TP", "B", "I", "nf", "fi"}

# What reads pages of this form, and says what is wrong with one. Each is asked where this machine has it.
READERS = {
    "man": ("--warnings", "-l", str(PAGE)),
    "groff": ("-ww", "-man", "-Tutf8", str(PAGE)),
    "mandoc": ("-Tlint", "-Werror", str(PAGE)),
}


def test_the_manual_page_is_what_the_commands_say(tmp_path: Path) -> None:
    """Generated, so that no option is described that is not there; and a stale page is told."""
    stale = tmp_path / "reconciler.1"
    stale.write_text(PAGE.read_text(encoding="utf-8").replace("\\-\\-only", "\\-\\-lonely"), encoding="utf-8")

    fresh, told = (
        subprocess.run(
            [sys.executable, GENERATE, "--check", *more], capture_output=True, text=True, check=False
        )
        for more in ((), (stale,))
    )

    assert fresh.returncode == 0, "run script/generate-docs"
    assert (told.returncode, told.stderr) == (1, "reconciler.1 is stale.\n  next: script/generate-docs\n")


def test_every_line_is_text_or_a_known_request() -> None:
    """A line of a help that begins with a dot would be obeyed, and a bare hyphen could not be copied."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.isascii()
    for line in text.splitlines()[2:]:
        asked = re.match(r"[.'](\w*)", line)
        assert asked is None or asked[1] in MACROS, line
        assert not re.search(r"(?<!\\)-", line), line
        assert not re.search(r"\\(?![-&e]|\([a-z]{2}|\[u[0-9A-F]{4,5}\])", line), line
    assert text.count(".nf\n") == text.count(".fi\n")


def test_every_command_and_option_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert f".SS reconciler {name}\n" in text
        options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        assert [one.opts for one in options if f"{one.opts[0]}" not in text] == []


@pytest.mark.parametrize("reader", [*READERS])
def test_readers_of_manual_pages_have_nothing_to_say(reader: str) -> None:
    found = shutil.which(reader)
    if found:
        done = subprocess.run([found, *READERS[reader]], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_page_is_installed_where_man_looks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {str(PAGE.relative_to(ROOT)): "share/man/man1/reconciler.1"}
