"""Outcome: how a change ended, exactly one for each; and the report of a whole run."""

from typing import Literal

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.notices import Notice
from reconciler.model.run.context import Context

Result = Literal["applied", "skipped", "conflict", "failed", "in doubt", "not attempted"]


class FieldResult(Struct, frozen=True, order=True):
    """One field that does not read back as it was sent. None: cleared, or not shown. Secrets are masked.

    `taken`: the service writes the value in its own way. Otherwise the field was not taken.
    """

    path: str
    sent: Scalar | None
    shown: Scalar | None
    taken: bool = False


class Outcome(Struct, frozen=True, gc=False):
    """How one change ended. `what` says why, where it did not end well; `next` what to do.

    `fields` are those that read back otherwise than they were sent, by path. They hold values; `what` and
    `next` hold none, and the store keeps neither.
    """

    address: Address
    action: str
    result: Result
    what: str = ""
    next: str = ""
    remote_id: str = ""
    fields: tuple[FieldResult, ...] = ()

    @property
    def written(self) -> bool:
        """Whether the change reached the service, though perhaps not with every field."""
        return self.result == "applied" or (self.result == "failed" and bool(self.fields and self.remote_id))


class Gap(Struct, frozen=True):
    """How long after the answer to its look each write of a run was sent: median and 99th percentile.

    In milliseconds. `looked_again` counts writes that were held back because their look was too old.
    """

    writes: int
    median_ms: float
    p99_ms: float
    looked_again: int = 0


class Run(Struct, frozen=True):
    """A finished run. `outcome` is the word that belongs to `exit_code` (docs/planning.md, exit codes).

    `run` is a UUID. Times are ISO 8601 in UTC. `calls` counts requests by method, `stopped` says what
    ended the run early, if anything did. `resumes` is the earlier run that this one went on with,
    `audit_head` the end of the history after this run: kept elsewhere, it proves that nothing was cut off.
    `gap` is None where nothing was written.
    `records` counts the records that changed though nothing was written for them, `adopted` among them.
    `notices` are those of the plan; as text they are shown with the plan, before the run begins.
    `seen` counts the entities that are live `twice`, those that are `ambiguous`, and the `rows of` each
    directory; a word that is missing was not looked for in everything.
    """

    run: str
    fingerprint: str
    started_at: str
    ended_at: str
    outcome: str
    exit_code: int
    outcomes: tuple[Outcome, ...]
    adopted: int = 0
    calls: dict[str, int] = {}
    stopped: str = ""
    context: Context = Context()
    audit_head: str = ""
    resumes: str = ""
    records: int = 0
    notices: tuple[Notice, ...] = ()
    gap: Gap | None = None
    seen: dict[str, int] = {}

    def count(self, result: Result) -> int:
        """How many changes ended so."""
        return sum(1 for outcome in self.outcomes if outcome.result == result)


ROWS_OF = "rows of "  # how the words of `Run.seen` begin that count rows, before the name of a directory
REPORT_VERSION = 1  # of every JSON document that says how a command ended

# The one table of exit codes and their word (docs/planning.md).
WORDS = {
    0: "done",
    1: "failed",
    2: "changes",
    3: "invalid",
    4: "locked",
    5: "stale",
    6: "partial",
    7: "refused",
    8: "in doubt",
    64: "usage",
    130: "interrupted",
}
