"""What is told while a list is read: how far it is. For whoever shows progress (cli/console/progress.py)."""

from msgspec import Struct

from reconciler.instrumentation import reading_log
from reconciler.model.snapshots import Scope


class ReadProgress(Struct, frozen=True):
    """So many rows of a scope's list have been read, of so many (None: the service does not say)."""

    scope: Scope
    rows: int
    total: int | None


def report_progress(scope: Scope, rows: int, total: int | None) -> None:
    """Tell how far a list is read, if anybody listens."""
    reading_log.debug("%s", ReadProgress(scope, rows, total))
