"""Intent and entry: what is on disk before a call is sent, and what it says after a crash.

Values only. Writing them is store/journal.py, deciding what they mean is core/runs/recover.py.
"""

from typing import Literal

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.run.outcomes import Result

# How an entry of the journal has ended; "" is open: sent or about to be, and nothing more is known.
# `absent`: looked for when it could no longer land, and not there.
Ending = Result | Literal["", "absent"]


class Intent(Struct, frozen=True):
    """A write that may leave us as soon as this is durable, and not before (rule A3).

    `at` is when it was written down, `until` the moment until which it was expected to land; both ISO 8601
    in UTC on the store's clock, and for people: nothing is decided by them. `parent_id` is the contact of a
    device.
    """

    address: Address
    action: str
    at: str
    until: str
    remote_id: str = ""
    parent_id: str = ""


class JournalEntry(Struct, frozen=True):
    """An intent of a run, and how it ended."""

    run: str
    intent: Intent
    ending: Ending = ""

    @property
    def open(self) -> bool:
        """Whether its result is not known."""
        return self.ending == ""
