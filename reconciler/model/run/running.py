"""Running: the run that holds the lock and has not ended, and its progress."""

from msgspec import Struct


class Running(Struct, frozen=True):
    """Who writes right now, since when (ISO 8601), and how many changes of how many have ended.

    `command` is empty until the run begins to write: it still plans, or waits for an answer. `ended` counts
    changes that were sent; one that needed no call is counted when the run ends. `changes` is None where the
    store does not say how many there are.
    """

    run: str
    holder: str
    since: str
    command: str = ""
    ended: int = 0
    changes: int | None = None

    @property
    def how_far(self) -> str:
        """Half a sentence: `apply, 12 of 40 changes ended`."""
        if not self.command:
            return "it has not begun to write"
        of = "" if self.changes is None else f" of {self.changes:,}"
        word = "change" if (self.ended if self.changes is None else self.changes) == 1 else "changes"
        return f"{self.command}, {self.ended:,}{of} {word} ended"
