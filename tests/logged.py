"""Everything that is logged, as a curious handler at the root would see it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def everything_logged() -> Iterator[list[logging.LogRecord]]:
    """All records of all loggers at DEBUG, in a list that fills."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    root, handler = logging.getLogger(), Keep()
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    try:
        yield records
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def whole(record: logging.LogRecord) -> str:
    """All that a record holds, with what was not formatted into its line."""
    return f"{record.name} {record.getMessage()} {record.args!r} {record.exc_info!r}"
