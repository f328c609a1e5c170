"""What `reconciler status --report` writes: pages in a folder, and metrics in a file.

Both hold no names of people, so others may read them: their mode is what the umask leaves of 0644.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from reconciler.cli.console import output
from reconciler.cli.review_files import Reports
from reconciler.core.views.status import StoreStatus
from reconciler.errors import FileError
from reconciler.files.atomic_files import make_folder, require_writable_place, write_pieces
from reconciler.instrumentation import step_log
from reconciler.report.metrics import prometheus_of_status

_head_bytes = 4_096  # of a page: its mark is among them


class StatusReports:
    """What `--report` asks for. Raises UsageError, FileError before the store is read."""

    def __init__(self, texts: Sequence[str]) -> None:
        for text in texts:
            name, _, place = text.partition("=")
            if name not in {"html", "prometheus"} or not place:
                raise click.UsageError(f"--report {text}: give html=FOLDER or prometheus=FILE.")
        folders = [text.removeprefix("html=") for text in texts if text.startswith("html=")]
        others = [text for text in texts if not text.startswith("html=")]
        self._folders = [StatusFolder(Path(folder)) for folder in folders]
        self._files = Reports[StoreStatus].asked(
            others, {"prometheus": lambda one: [prometheus_of_status(one)]}
        )

    def write(self, status: StoreStatus, mark: str, *, everyone: bool) -> bool:
        """Write all that can be written, and say of the rest why not; false where anything is missing."""
        whole = self._files.write(status)
        for folder in self._folders:
            try:
                folder.write(status, mark, everyone=everyone)
            except FileError as error:
                output.note(f"{error} The rest of this command is not affected.\n  next: {error.next}")
                whole = False
        return whole


class StatusFolder:
    """A folder of pages. Raises FileError where it cannot be written, or its index is somebody else's."""

    def __init__(self, folder: Path) -> None:
        from reconciler.report.status_pages import INDEX  # noqa: PLC0415 - Jinja2, for pages alone

        self._folder = folder
        make_folder(folder)
        require_writable_place(folder / INDEX)
        if (folder / INDEX).exists() and not _read_mark(folder / INDEX):
            raise FileError(
                f"{folder / INDEX}: it is no page of reconciler status, so it is not replaced.",
                next="name an empty folder",
            )

    def write(self, status: StoreStatus, mark: str, *, everyone: bool) -> None:
        """Write every page, each whole; with `everyone` remove those of stacks that this store has no more.

        A page of another store, or of anybody else, stays as it is. Raises FileError.
        """
        from reconciler.report.status_pages import PAGE_NAMES, status_pages  # noqa: PLC0415 - as above

        written = set[str]()
        for name, text in status_pages(status, mark):
            self._write_page(name, text)
            written.add(name)
        for path in sorted(self._folder.glob("*.html")) if everyone else ():
            if path.name not in written and PAGE_NAMES.fullmatch(path.name) and _read_mark(path) == mark:
                _remove_page(path)
        step_log.info("status pages written: %s, %d pages", self._folder, len(written))

    def _write_page(self, name: str, text: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        # Not waited for: a page that a crash of the machine takes is written again by the next call, and
        # a thousand of them would take ten seconds of the disk.
        write_pieces(
            self._folder / name, lambda file: file.write(content), mode=0o644, sync=lambda _descriptor: None
        )


def _read_mark(path: Path) -> str:
    """Return the mark of a page of ours; "" of any other file."""
    from reconciler.report.status_pages import marked_by  # noqa: PLC0415 - as above

    try:
        with path.open("rb") as file:
            return marked_by(file.read(_head_bytes).decode("utf-8", "replace"))
    except OSError:
        return ""


def _remove_page(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(
            f"{path}: cannot be removed: {error.strerror}.", next="remove it: its stack is gone"
        ) from error
