"""One change on its way: how far it has come, and the values made of what is known of it then.

No call is made here.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reconciler.apply.session import Session
from reconciler.core.observe import observed
from reconciler.model.changes import Change, Update, action
from reconciler.model.outcomes import Outcome, Result
from reconciler.model.snapshots import LiveEntity, RecordedEntity
from reconciler.service.client import Found


@dataclass(slots=True)
class Attempt:
    """How far a change has come: nothing sent; sent, and not answered; done. `at` is its intent's time.

    `unsure` are the words with which the service put it off, for as long as nobody has looked whether it
    was done all the same.
    """

    change: Change
    stage: Literal["looking", "sending", "done"] = "looking"
    parent_id: str = ""
    at: datetime | None = None
    remote_id: str = ""
    unsure: str = ""
    ending: Outcome | None = None  # on its way into the store, together with what it did

    def done(self, remote_id: str) -> None:
        """The service has done it."""
        self.stage, self.remote_id, self.unsure = "done", remote_id, ""

    def outcome(self, result: Result, what: str = "", next: str = "") -> Outcome:  # noqa: A002 - the word that users read
        """How this change ended."""
        change = self.change
        return Outcome(change.address, action(change), result, what, next, self.remote_id)


def row_of(attempt: Attempt, found: Found) -> LiveEntity:
    """Return a body of the service as the live entity of this change."""
    address = attempt.change.address
    return observed(
        address.kind,
        address.workspace,
        attempt.remote_id,
        found.body,
        seen=found.date,
        parent_id=attempt.parent_id,
    )


def bare(run: Session, attempt: Attempt) -> RecordedEntity:
    """Return a record of what is ours and was not read back: what we changed is not claimed to be known."""
    change = attempt.change
    entity = run.desired.entities.get(change.address)
    before = run.records.get(change.address) if isinstance(change, Update) else None
    changed = {field.path for field in change.fields} if isinstance(change, Update) else set()
    sent, shown = (before.sent, before.shown) if before else ({}, {})
    return RecordedEntity(
        address=change.address,
        remote_id=attempt.remote_id,
        parent_id=attempt.parent_id,
        sent={path: value for path, value in sent.items() if path not in changed},
        shown={path: value for path, value in shown.items() if path not in changed},
        protected=entity.controls.protect if entity else False,
    )
