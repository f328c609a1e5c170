"""Spreadsheets of people who mean harm: each ends soon, in rows or in a mistake that says what to do."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from hostile.spreadsheets import HOSTILE, MANIFEST

from reconciler.model.codes import CODES

CPU_S, MIB = 5, 256  # what one may take of a processor, and of memory at its peak
CASES = sorted(HOSTILE)


@pytest.fixture(scope="module")
def reader() -> Iterator[subprocess.Popen[str]]:
    """A process that reads one project after the other, each in a fork of its own."""
    script = Path(__file__).with_name("reading_sheets.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def test_there_are_two_hundred() -> None:
    """As many as were promised, each of another kind, form or size."""
    assert len(CASES) >= 200


@effort.sample(40)
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_spreadsheet_ends_soon_and_in_a_sentence(
    name: str, reader: subprocess.Popen[str], tmp_path: Path
) -> None:
    """They come in pull requests: one that never ends, or ends the process, stops everybody's work."""
    (tmp_path / "hr.xlsx").write_bytes(HOSTILE[name](Random(name)))
    (tmp_path / "a.yaml").write_text(MANIFEST)
    assert reader.stdin
    assert reader.stdout
    reader.stdin.write(f"{tmp_path}\n")
    reader.stdin.flush()
    took = json.loads(reader.stdout.readline())

    assert took["status"] == 0, took
    assert took["cpu_s"] < CPU_S, took
    assert took["mib"] < MIB, took
    found = took["found"]
    for code, what, hint in found["first"]:
        assert code in CODES, found
        assert what.endswith(".") or "has no column" in what, found
        assert hint, found
    tally.count("bad inputs", "spreadsheets within 5 s and 256 MiB")
