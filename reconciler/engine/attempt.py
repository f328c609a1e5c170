"""One change on its way: how far it has come, and the values made of what is known of it then.

No call is made here.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reconciler.model.plans import Change, action_of
from reconciler.model.runs import FieldResult, Outcome, Result
from reconciler.service.client import Found


@dataclass(slots=True)
class Attempt:
    """How far a change has come: nothing sent; sent, and not answered; answered, and not seen; done.

    `at` is its intent's time.

    `unsure` are the words with which the service put it off, for as long as nobody has looked whether it
    was done all the same.
    """

    change: Change
    # Only ever forward, but for a write that was put off: what a cancelled step leaves behind depends on it.
    stage: Literal["looking", "sending", "answered", "done"] = "looking"
    parent_id: str = ""
    at: datetime | None = None
    began: float = 0.0  # the same on the monotonic clock
    remote_id: str = ""
    unsure: str = ""
    named: str = ""  # the id that the answer to a create named
    unseen: bool = False  # a look after a delete did not find it, and its list did not say the same
    before: Found | None = None  # what an update changes, as the look right before showed it
    ending: Outcome | None = None  # on its way into the store, together with what it did

    def done(self, remote_id: str) -> None:
        """The service has done it, and shows it."""
        self.stage, self.remote_id, self.unsure = "done", remote_id, ""

    def outcome(
        self,
        result: Result,
        what: str = "",
        next: str = "",  # noqa: A002 - the word that users read
        *,
        fields: tuple[FieldResult, ...] = (),
    ) -> Outcome:
        """How this change ended."""
        change = self.change
        return Outcome(change.address, action_of(change), result, what, next, self.remote_id, fields)
