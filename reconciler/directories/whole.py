"""What a reader does where the directory changed while it was read: read it once more, and no third time."""

from collections.abc import Callable

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.instrumentation import step_log

TRIES = 2  # a directory that changes all the time would be read for ever


class ChangedError(Exception):
    """A directory changed while it was read; the text is how that shows, a sentence about `it`."""


def whole(read: Callable[[], AnswerRows]) -> AnswerRows:
    """Return what `read` returns, the second time where the directory changed the first time."""
    for _ in range(TRIES):
        try:
            return read()
        except ChangedError as error:
            how = str(error)
            step_log.info("a directory changed while it was read: %s", how)
    hint = "run it again; if it stays so, the directory does not answer as its protocol says"
    raise DirectoryFailed(f"{how} It was read {TRIES} times.", hint)
