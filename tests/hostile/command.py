"""One command line in this process: what it prints, its exit code, and everything as it was afterwards.

For suites that need hundreds of runs. What only a process of its own can show (signals, a crash of the
interpreter) starts one.
"""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from reconciler.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str


class Breaking(io.BytesIO):
    """An output that cannot be written."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, _data: object) -> int:
        raise type(self.error)(*self.error.args)


def run(folder: Path, *arguments: str, environ: Mapping[str, str], breaks: Exception | None = None) -> Ended:
    """The end of a command in this folder, with this environment and no other, and nobody to ask.

    `breaks` is raised by whatever is written to stdout.
    """
    outs = (Breaking(breaks) if breaks else io.BytesIO(), io.BytesIO())
    with chdir(folder), _environment(environ), _signals(), _streams(*outs) as (out, err):
        code = main.run(arguments)
    return Ended(code, out.getvalue().decode("utf-8"), err.getvalue().decode("utf-8"))


def printed(work: Callable[[], object]) -> str:
    """What `work` prints on stdout."""
    out = io.BytesIO()
    with _streams(out, io.BytesIO()):
        work()
    return out.getvalue().decode("utf-8")


@contextmanager
def _environment(environ: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({"PATH": before["PATH"], "LANG": "C.UTF-8", **environ})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _signals() -> Iterator[None]:
    """A command that wrote ignores signals while it reports; the tests must not."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _streams(out: io.BytesIO, err: io.BytesIO) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Streams that are no terminal, and an input at its end."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    held = sys.stdout, sys.stderr
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in held:
            with suppress(Exception):  # one that breaks has nothing left to write
                stream.detach()
