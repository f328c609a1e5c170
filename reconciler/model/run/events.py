"""What a run tells while it lasts, for programs that watch it: one value a line of `--events`.

Additive within a version: a later one of the same version may have further keys and further events.
Addresses, words and numbers; no value of anybody, and no secret.
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from reconciler.model.run.outcomes import Result

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


Event = UnfinishedEvent | WaitEvent | PlanEvent | BeginEvent | ChangeEvent | EndEvent | ErrorEvent
EVENTS: tuple[type[Event], ...] = (
    UnfinishedEvent,
    WaitEvent,
    PlanEvent,
    BeginEvent,
    ChangeEvent,
    EndEvent,
    ErrorEvent,
)
