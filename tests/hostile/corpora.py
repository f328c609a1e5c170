r"""The corpora: one YAML file a class of bad inputs, and how a row is held against what came of it.

A row is a name that says what is special, the input, and one line of expectation:

    {name: an open quote, input: "id\n\"a\n", expect: "Problem: list.csv:2 this is not CSV"}

`Problem`, or the name of an error's class, and words of its place and sentence; or `value:`, `shown:`
and the like, and then the whole line. What YAML cannot hold, or nobody wants to read, is described:

    {hex: "fffe"}                    these bytes
    {repeat: "ab", times: 5000}      the text so often
    {nest: ["[", "]"], times: 99}    that many openings, then as many closings
    {join: [.., ..]}                 one behind the other
    {encode: "..", as: utf-16}       the text in another encoding
"""

import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import growth
import pytest
import tally
import yaml

from reconciler.errors import InputError, ReconcilerError

FOLDER = Path(__file__).parent / "corpus"

seconds_max = 10.0  # of our own processor time for one input; most of it is the measuring
memory_max = 96 * 1024 * 1024  # bytes, six times the largest file or body that is read at all
line_max = 2_000  # characters of a sentence: a wall of text is no message

WHOLE = ("value", "shown", "same", "different", "exit")  # expectations that are the whole line


@dataclass(frozen=True)
class Case:
    """One bad input. `raw` is text, bytes, or a list or mapping of those."""

    corpus: str
    name: str
    raw: Any
    expect: str

    @property
    def data(self) -> bytes:
        """The input as bytes."""
        return self.raw if isinstance(self.raw, bytes) else self.raw.encode("utf-8", "surrogatepass")

    @property
    def text(self) -> str:
        """The input as text; bytes that are none become halves of surrogate pairs."""
        return self.raw if isinstance(self.raw, str) else self.raw.decode("utf-8", "surrogateescape")


def built(told: Any) -> Any:
    """The input that a row describes."""
    if isinstance(told, list):
        return [built(each) for each in told]
    if not isinstance(told, dict):
        return told
    made = _made(told)
    return {key: built(value) for key, value in told.items()} if made is None else made


def _made(told: dict[str, Any]) -> str | bytes | None:
    """What a description stands for; None where a mapping describes nothing and is the input itself."""
    match told:
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"repeat": piece, "times": times}:
            repeated: str | bytes = built(piece) * times
            return repeated
        case {"nest": [begin, end], "times": times}:
            return f"{begin * times}{built(told.get('around', ''))}{end * times}"
        case {"join": pieces}:
            parts = [built(piece) for piece in pieces]
            if all(isinstance(part, str) for part in parts):
                return "".join(parts)
            return b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
        case {"encode": text, "as": encoding}:
            encoded: bytes = built(text).encode(encoding)
            return encoded
        case _:
            return None


@cache
def cases(corpus: str) -> tuple[Case, ...]:
    """The rows of one file, in its order."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load((FOLDER / f"{corpus}.yaml").read_bytes(), loader)  # noqa: S506 - a safe loader, and fast
    assert found["version"] == 1
    return tuple(Case(corpus, row["name"], built(row["input"]), row["expect"]) for row in found["cases"])


def each(corpus: str) -> pytest.MarkDecorator:
    """Run a test once with every row of a file."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases(corpus)])


def claim(case: Case, kind: str, said: Callable[[], str]) -> None:
    """What `said` returns is what the row expects, soon and in little memory; it is counted under `kind`."""
    with bounded():
        line = said()
    expected, _, words = case.expect.partition(": ")
    if expected in WHOLE:
        assert line == case.expect
    else:
        assert line.startswith(f"{expected}: "), line
        assert words in line
    tally.count("bad inputs", kind)


def placed(text: str, folder: Path) -> str:
    """Return what was said in a folder, whatever the folder's name and however deep it lies."""
    return text.replace(str(folder), "HERE").replace(os.path.relpath(os.devnull, folder), os.devnull)


@contextmanager
def bounded() -> Iterator[None]:
    """Hold what is done inside to its time and its memory."""
    with growth.bounded(seconds_max):
        tracemalloc.start()
        try:
            yield
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < memory_max


def told(error: ReconcilerError) -> str:
    """An error as one line, `Class: sentence`: with a way on, printable problems, and no wall of text."""
    problems = error.problems if isinstance(error, InputError) else ()
    assert error.next or (problems and all(problem.next for problem in problems)), error
    said = [str(error), *(f"{problem.where} {problem.what}" for problem in problems[:1])]
    assert all(len(text) <= line_max for text in said), said
    assert not any("Traceback" in text or 'File "' in text for text in said)
    return f"{type(error).__name__}: {' | '.join(said)}"


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Nothing below a folder is written, made or taken away inside."""
    before = state(folder)
    yield
    assert state(folder) == before


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every entry below a folder: its kind and rights, its time of change, its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, content)
    return found
