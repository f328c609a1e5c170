"""The files of `--report FORMAT=FILE`: checked before anything is done, written whole, and private.

They hold names of people, as plans do, but for those of SHARED. What stands in them is
report/report_formats.py; only asking and writing belong here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import click

from reconciler.cli.console import output
from reconciler.cli.console.streams import hidden_pieces
from reconciler.errors import FileError
from reconciler.files.atomic_files import require_writable_place, write_pieces
from reconciler.instrumentation import step_log
from reconciler.report.report_formats import SHARED

Subject = TypeVar("Subject")


class Reports(Generic[Subject]):
    """What `--report` asks for, each file with the function that renders it: a text, or its pieces."""

    def __init__(self, wanted: Sequence[tuple[Callable[[Subject], Iterable[str]], Path, int]]) -> None:
        self._wanted = tuple(wanted)

    @classmethod
    def asked(
        cls,
        texts: Sequence[str],
        formats: Mapping[str, Callable[[Subject], Iterable[str]]],
        *beside: str | None,
    ) -> "Reports[Subject]":
        """Return what these options ask for; `beside` are other files of the same command line.

        Raises UsageError for an unknown format and for two that are one file, FileError where a file could
        not be written.
        """
        taken = {_same(Path(file)) for file in beside if file is not None}
        wanted = []
        for text in texts:
            name, _, file = text.partition("=")
            if name not in formats or not file:
                known = ", ".join(formats)
                raise click.UsageError(f"--report {text}: give FORMAT=FILE, with one of the formats {known}.")
            path = Path(file)
            if _same(path) in taken:
                raise click.UsageError(f"--report {text}: another option names the same file.")
            taken.add(_same(path))
            require_writable_place(path)
            wanted.append((formats[name], path, 0o644 if name in SHARED else 0o600))
        return cls(wanted)

    def write(self, subject: Subject) -> bool:
        """Write every file that can be written, and say of each other one why; false where there was one.

        No error is raised: what the command did stands, and its own report follows.
        """
        whole = True
        for render, path, mode in self._wanted:
            try:
                size = _write(path, render(subject), mode)
                step_log.info("report written: %s, %d bytes", path, size)
            except FileError as error:
                output.note(f"{error} All else of this command stands.\n  next: {error.next}")
                whole = False
        return whole


def _write(path: Path, rendered: Iterable[str], mode: int) -> int:
    """Write one file, whole or not at all, and return its bytes. Raises FileError."""
    pieces = (rendered,) if isinstance(rendered, str) else rendered
    size = 0

    def fill(file: BinaryIO) -> None:
        nonlocal size
        file.writelines(piece.encode("utf-8", "backslashreplace") for piece in hidden_pieces(pieces))
        size = file.tell()

    write_pieces(path, fill, mode=mode)
    return size


def with_reports(code: int, *, whole: bool) -> int:
    """Return the exit code of a command: 1 where a report is missing, unless the code tells of worse."""
    return code if whole or code not in {0, 2} else 1


def _same(path: Path) -> tuple[Path, str]:
    """What two names of one file share. A link as the last part is replaced, so it is not followed."""
    return path.parent.resolve(), path.name
