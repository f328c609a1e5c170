"""How a scope was read, in words: by which way, in how many calls, and how old its last complete read is."""

from collections.abc import Iterable

from reconciler.core.feed import read_limit, seconds
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Read
from reconciler.report.lines import count

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))  # seconds, and how they are written


def read_words(read: Read, at: str) -> str:
    """Return `feed, 2 calls, 4,998 avoided; complete 3 h ago`. `at` is when the plan was made (ISO 8601)."""
    parts = ["read"] if not read.how else [read.how, count(read.calls, "call")]
    parts.append(f"{read.avoided:,} avoided" if read.avoided else "")
    told = ", ".join(filter(None, parts))
    if read.completed:
        return f"{told}; complete {ago(read.completed, at)}"
    return f"{told}; not a feed: {read.why}" if read.why else told


def as_far_as_read(reads: Iterable[Read]) -> str:
    """Return what was read of lists that were followed, and as of when the rest is known; "" where all was.

    A change that moves no time of change is not seen before the next complete read: whoever says that
    nothing is to be done has to say that, too.
    """
    limit = read_limit(reads)
    if limit is None:
        return ""
    scopes = ", ".join(f"{KINDS[one.kind].plural} in {one.workspace}" for one in limit.scopes)
    when = f"{limit.complete_at[:10]} {limit.complete_at[11:16]} UTC"
    return (
        f"Of {scopes} {count(limit.pages, 'page')} of what changed last were read; the rest is as of the "
        f"complete read on {when}. A change that moves no time of change shows at the next one "
        "(--refresh full)."
    )


def limited(sentence: str, reads: Iterable[Read]) -> str:
    """Return a sentence about all that is live, without its full stop, limited to what was read."""
    return f"{sentence}, as far as was read" if as_far_as_read(reads) else sentence


def ago(moment: str, at: str) -> str:
    """Return how long before `at` a moment was (both ISO 8601): `3 h ago`, rounded down."""
    then, present = seconds(moment), seconds(at)
    if then is None or present is None:
        return "at an unknown time"
    age = max(0, int(present - then))
    size, unit = next((one for one in _UNITS if age >= one[0]), _UNITS[-1])
    return f"{age // size} {unit} ago"
