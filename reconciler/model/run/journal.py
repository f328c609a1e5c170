"""Intent and entry: what is on disk before a call is sent, and what it says after a crash.

Values only. Writing them is store/journal.py, deciding what they mean is core/runs/recover.py.
"""

from collections.abc import Mapping
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


UNKNOWN_ID = "unknown"  # no id of the service is spelt so


class JournalEntry(Struct, frozen=True):
    """An intent of a run, and how it ended.

    The address has the alias that the run knew. `workspace_id` is the service's id of its workspace,
    UNKNOWN_ID where nobody wrote it down.
    """

    run: str
    intent: Intent
    ending: Ending = ""
    workspace_id: str = UNKNOWN_ID

    def address_now(self, aliases: Mapping[str, str]) -> Address:
        """Return the address under the alias of its workspace in `aliases` (by id), where it has one."""
        alias = aliases.get(self.workspace_id)
        return self.intent.address if alias is None else self.intent.address.in_workspace(alias)

    @property
    def open(self) -> bool:
        """Whether its result is not known."""
        return self.ending == ""
