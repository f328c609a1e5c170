"""Runs: how each change ended, the report of a run, its journal, its entries of the history, its events."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.notices import Notice
from reconciler.model.snapshots import NotPlanned

# --- Context: by which program, from which commit and where a run took place ----------------------


class Context(Struct, frozen=True, omit_defaults=True):
    """What an operator looks for when two records of one night have to be laid side by side.

    Each is empty where it is not known, and has the form of its name in schemas/common.schema.json:
    `program` a semantic version, `commit` 40 hexadecimal digits (64 where git names by SHA-256) and `+dirty`
    where something was read that it does not hold, `+unchecked` where nothing was compared, `container` a
    long or short id.
    """

    program: str = ""
    commit: str = ""
    trace_id: str = ""
    container: str = ""
    region: str = ""


# --- Outcomes: how each change ended, and the report of the run -----------------------------------


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


def summarize_gaps(seconds: Sequence[float], looked_again: int = 0) -> Gap | None:
    """Return the gap of a run from those of its writes, in seconds; None where nothing was written."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    # Nearest rank: a gap that was measured, never one between two. The limit that it is read against is 50 ms
    # (rule A9).
    median_s, p99_s = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.99))
    return Gap(len(ordered), round(median_s * 1000, 1), round(p99_s * 1000, 1), looked_again)


class Run(Struct, frozen=True):
    """A finished run. `outcome` is the word that belongs to `exit_code` (docs/guides/exit-codes.md).

    `run` is a UUID. Times are ISO 8601 in UTC. `calls` counts requests by method, `stopped` says what
    ended the run early, if anything did. `resumes` is the earlier run that this one went on with,
    `audit_head` the end of the history after this run: kept elsewhere, it proves that nothing was cut off.
    `gap` is None where nothing was written.
    `records` counts the records that changed though nothing was written for them, `adopted` among them.
    `notices` are those of the plan; as text they are shown with the plan, before the run begins.
    `seen` counts the entities that are live `twice`, those that are `ambiguous`, and the `rows of` each
    directory; a word that is missing was not looked for in everything. `not_planned` are the workspaces that
    the plan left out.
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
    not_planned: tuple[NotPlanned, ...] = ()

    def count(self, result: Result) -> int:
        """How many changes ended so."""
        return sum(1 for outcome in self.outcomes if outcome.result == result)


ROWS_OF = "rows of "  # how the words of `Run.seen` begin that count rows, before the name of a directory
REPORT_VERSION = 1  # of every JSON document that says how a command ended

# The one table of exit codes and their word (docs/guides/exit-codes.md).
EXIT_CODE_WORDS = {
    0: "done",
    1: "failed",
    2: "changes",
    3: "invalid",
    4: "locked",
    5: "stale",
    6: "partial",
    7: "refused",
    8: "in doubt",
    9: "waiting",
    10: "postponed",
    64: "usage",
    130: "interrupted",
}


# --- Journal: what is on disk before a call is sent, and what it says after a crash ---------------
# Written by store/history.py; core/runs/recover.py decides what an entry means.


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
    UNKNOWN_ID where it is not recorded.
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


# --- History: entries that are only ever added ----------------------------------------------------
#
#     entry n:  hash = SHA-256(hash of n-1, everything that entry n says)
#
# An edited, removed or moved entry breaks the chain behind it; a cut end is found by comparing with a head
# that was kept elsewhere. The history holds no personal data: an address stands as a keyed hash.


AuditEvent = Literal[
    "began",  # a run took the lock and is about to write
    "changed",  # one change of its plan has ended
    "settled",  # what an earlier run left in doubt is known now
    "ended",  # the run is over
    "unlocked",  # somebody took the lock away by force
    "renamed",  # a workspace has another alias than before; its records go with it
    "moved",  # records of another address of the service became those of this one, or the other way round
    "paused",  # until a time no `sync` writes
    "unpaused",  # somebody ended that before its time
    "asked",  # approvers were asked about a plan
    "answered",  # one of them answered
    "rejected",  # a reply or an approval did not count: `outcome` says why
]


class AuditEntry(Struct, frozen=True, omit_defaults=True):
    """Who did what, when, from which commit, and how it ended. `at` is ISO 8601 in UTC.

    `entity` is a keyed hash of the address (`Store.entity_hash`), `counts` says how many changes ended in
    which way. `before` is the former alias of a workspace, or the address that records came from or went to.
    `question` is the id of a question to approvers, `until` the end of a pause, `reason` why there is one.
    `number` counts from 1 within one origin and stack, without a gap.
    """

    number: int
    at: str
    event: AuditEvent
    run: str
    who: str = ""
    command: str = ""
    commit: str = ""
    trace_id: str = ""
    program: str = ""
    fingerprint: str = ""
    entity: str = ""
    kind: str = ""
    workspace: str = ""
    before: str = ""
    action: str = ""
    outcome: str = ""
    question: str = ""
    until: str = ""
    reason: str = ""
    counts: Mapping[str, int] = {}
    previous: str = ""
    hash: str = ""


class Head(Struct, frozen=True):
    """The end of the chain at some moment: kept elsewhere, it proves that nothing was cut off since."""

    number: int
    hash: str

    def __str__(self) -> str:
        """`17:9f3c...`, as it is printed and given back."""
        return f"{self.number}:{self.hash}"


# --- The run that holds the lock ------------------------------------------------------------------


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


# --- Events: one value a line of `--events`, for programs that watch a run ------------------------
# Additive within a version: a later release of the same version may add keys and events. Addresses, words and
# numbers only; no field values and no secrets.


EVENTS_VERSION = 1


class UnfinishedEvent(Struct, frozen=True):
    """Earlier runs did not finish: what they left in doubt is settled first. `runs` are their ids."""

    version: Literal[1]
    event: Literal["unfinished"]
    at: str
    runs: tuple[str, ...]


class WaitEvent(Struct, frozen=True):
    """Nothing else is seen of the run for a while; `what` says why."""

    version: Literal[1]
    event: Literal["wait"]
    at: str
    what: str


class PlanEvent(Struct, frozen=True):
    """What is to be done, and whether the guard accepts it.

    `records` are those of ours that change though nothing is written to the service; `skipped` are entities
    that are left alone. `commit` is that of the manifests, with `+dirty` where they are not as in it.
    """

    version: Literal[1]
    event: Literal["plan"]
    at: str
    fingerprint: str
    safe: bool
    creates: int
    updates: int
    deletes: int
    records: int
    skipped: int
    commit: str | UnsetType = UNSET


class BeginEvent(Struct, frozen=True):
    """From now on something may be written: `total` changes."""

    version: Literal[1]
    event: Literal["begin"]
    at: str
    total: int


class ChangeEvent(Struct, frozen=True):
    """How one change ended, the `done`-th of them. `what` and `next` say why and what to do, or are empty."""

    version: Literal[1]
    event: Literal["change"]
    at: str
    address: str
    action: str
    result: Result
    what: str
    next: str
    done: int


class EndEvent(Struct, frozen=True):
    """The run is over; `run` is empty where there was none. `results` counts changes by how they ended."""

    version: Literal[1]
    event: Literal["end"]
    at: str
    run: str
    outcome: str
    exit_code: int
    results: dict[str, int]


class ErrorEvent(Struct, frozen=True):
    """The command ended with an error, before or after anything was written.

    `code` is what `reconciler explain` takes.
    """

    version: Literal[1]
    event: Literal["error"]
    at: str
    outcome: str
    exit_code: int
    code: str
    message: str
    next: str


RunEvent = UnfinishedEvent | WaitEvent | PlanEvent | BeginEvent | ChangeEvent | EndEvent | ErrorEvent
RUN_EVENTS: tuple[type[RunEvent], ...] = (
    UnfinishedEvent,
    WaitEvent,
    PlanEvent,
    BeginEvent,
    ChangeEvent,
    EndEvent,
    ErrorEvent,
)
