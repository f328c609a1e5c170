"""Desired, Live, Recorded: what should be, what is, what earlier runs left. The three inputs of a plan."""

from collections.abc import Mapping
from typing import Literal, Self

from msgspec import UNSET, Struct, UnsetType

from reconciler.model.address import Address
from reconciler.model.documents import Content, Controls, DirectoryAnswer, Fields, NamedConsent, Place
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice

# --- Entity: one desired entity -------------------------------------------------------------------


class Entity(Struct, frozen=True, gc=False):
    """One entity as wanted: defaults applied, references resolved, ownership mark added.

    `fields` are flat and as the author wrote them: that is what is sent. They are normalized only
    to be compared. A resource's `content` path holds the digest; the bytes are in `content`. Paths in
    `unowned_paths` are sent and not remembered as ours. `unset_paths` are secrets under `meta.ignore` whose
    variables are not set.
    """

    address: Address
    fields: Fields
    place: Place
    controls: Controls = Controls()
    content: Content | None = None
    devices_in_scope: bool = False
    unowned_paths: frozenset[str] = frozenset()
    unset_paths: frozenset[str] = frozenset()


# --- The three inputs of a plan -------------------------------------------------------------------


class Scope(Struct, frozen=True, order=True, gc=False):
    """A kind in a workspace (its alias): the unit of reading, of owning, and of the guard's counts."""

    kind: str
    workspace: str

    @classmethod
    def of(cls, address: Address) -> Self:
        """Return the scope that an address belongs to."""
        kind, workspace, _ = address.split("/", 2)
        return cls(kind, workspace)

    def __str__(self) -> str:
        """`contacts in ops`, as sentences need it."""
        return f"{KINDS[self.kind].plural} in {self.workspace}"


# Whose mistake it is, and so what a person does about it (exit codes: core/planning/unplanned.py).
NotPlannedBy = Literal["manifests", "settings", "directory", "service"]


class NotPlanned(Struct, frozen=True, order=True):
    """A workspace that a plan leaves out: nothing of it is compared, and nothing of it is written.

    `what` says why, `next` what can be done, `code` is what `reconciler explain` takes. `kinds` are those
    that are left out, where it is not all of them: what belongs to the account is read by itself.
    """

    workspace: str
    by: NotPlannedBy
    what: str
    next: str = ""
    code: str = ""
    kinds: tuple[str, ...] = ()

    def covers(self, of: Scope | Address) -> bool:
        """Whether a scope or an address is left out."""
        return of.workspace == self.workspace and (not self.kinds or of.kind in self.kinds)


class Desired(Struct, frozen=True):
    """What should be. `scopes` are the kinds and workspaces that some manifest has (S1): devices have none.

    `notices` are warnings about what is declared; the plan shows them. `removed` are names that leave while
    what is live stays, with the place that says so (rule X7); none of them brings a kind into scope.
    `answers` are those of the directories that rosters took from, by name. `consents` are in the order of
    addresses, one for each address and action, whether it has ended or not. `not_planned` are workspaces of
    whose entities none is here, because of their mistakes; `unusable` is what is readable of them.
    `unread` are workspaces whose manifests were not read, because no selection is about them.
    """

    entities: Mapping[Address, Entity]
    scopes: frozenset[Scope]
    notices: tuple[Notice, ...] = ()
    removed: Mapping[Address, Place] = {}
    answers: tuple[DirectoryAnswer, ...] = ()
    consents: tuple[NamedConsent, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()
    unusable: Mapping[Address, Entity] = {}
    unread: frozenset[str] = frozenset()


class LiveEntity(Struct, frozen=True, gc=False):
    """One entity as the service shows it now, normalized.

    `known` is None when every field of it was read, else the paths that were: a brief list row says
    nothing about the others. `modified` is the service's own time of change as an ISO 8601 text, or
    empty. `seen` is the service's clock when this was read, in the same form, or empty.
    `devices_known` is true for a contact that was read with its devices.
    """

    kind: str
    workspace: str
    remote_id: str
    fields: Fields
    parent_id: str = ""
    known: frozenset[str] | None = None
    modified: str = ""
    seen: str = ""
    devices_known: bool = False


class ContradictedId(Struct, frozen=True, gc=False):
    """An id of which the service says two things in one read: nothing is certain of the entity behind it.

    `says` is what a look at it said: `absent` (404, and a list shows it) or `elsewhere` (another entity, a
    redirect, 410). `fields` are what a list shows of it, if any does. `why` says it in words.
    """

    remote_id: str
    says: Literal["absent", "elsewhere"]
    why: str
    fields: Fields = {}


class Read(Struct, frozen=True):
    """How a scope was read: by `feed`, `scan`, `search` or `get`, in how many calls, and how many it saved.

    `total` is the number of live entities in the scope as the service tells it, -1 if it does not.
    `complete` is false where anything declared or recorded may exist unseen (rule G4). `completed` is when
    all of the list was read, where it was read by a feed now (ISO 8601); `why` is why it was not, where it
    could have been. `settled` entities were not compared again, because nothing of them or beside them moved
    since the last plan (rule R11); `compared` is why all were, where that was expected of some.
    """

    scope: Scope
    how: str
    calls: int
    avoided: int
    total: int
    complete: bool
    completed: str = ""
    why: str = ""
    # No key of JSON where there is none, as in older plans.
    settled: int | UnsetType = UNSET
    compared: str | UnsetType = UNSET


class ReadLimit(Struct, frozen=True):
    """Lists of which only what changed last was read now: `scopes`, in `pages` pages.

    The rest of them is as of `complete_at`, when the oldest of them was last read as a whole (ISO 8601). A
    change that moves no time of change shows at the next complete read.
    """

    scopes: tuple[Scope, ...]
    pages: int
    complete_at: str


class Live(Struct, frozen=True):
    """What is: live entities by scope, in the service's order, and how they were read.

    `entities` are what a plan may have to know. `others` are the rest of each list, as brief as its rows are:
    read only where somebody asked for it, and never planned. `contradictions` are the ids of which the
    service says two things; none of them is in `entities`. `again` are, by the id of what we
    deleted, the ids under which a list shows it all the same.
    """

    entities: Mapping[Scope, tuple[LiveEntity, ...]]
    reads: tuple[Read, ...] = ()
    others: Mapping[Scope, tuple[LiveEntity, ...]] = {}
    contradictions: Mapping[Scope, tuple[ContradictedId, ...]] = {}
    again: Mapping[Scope, Mapping[str, tuple[str, ...]]] = {}


class DeletedEntity(Struct, frozen=True):
    """What a run of ours deleted, which one, and when: ISO 8601 in UTC.

    `identities` are digests of what it was known by, under the store's salt, by the names of its identities;
    none where an earlier version deleted it.
    """

    address: Address
    remote_id: str
    run: str
    deleted_at: str
    identities: Mapping[str, str] = {}


UNKNOWN = "unknown"  # instead of a time: it is not recorded whether we made it


class Flap(Struct, frozen=True, array_like=True):
    """How often a field was set back that somebody else had changed, since when, and when last (ISO 8601)."""

    times: int
    since: str
    last: str


class RecordedEntity(Struct, frozen=True, gc=False):
    """What we own and remember of it.

    `sent` are the declared fields as last sent, `shown` what the service then showed for the same
    paths (both flat and normalized, secrets as digests under the store's salt). `modified` is the
    service's time of change that `shown` belongs to, empty when it may not be relied upon.
    `adopted` is empty where we made it, else when it was adopted (ISO 8601), or UNKNOWN where an older
    version recorded it. `earlier` are the ids of what we made under this address before and lost sight of.
    `flaps` says by path which fields somebody else keeps writing (core/planning/notices.py).
    """

    address: Address
    remote_id: str
    parent_id: str = ""
    sent: Fields = {}
    shown: Fields = {}
    modified: str = ""
    protected: bool = False
    adopted: str = ""
    earlier: tuple[str, ...] = ()
    flaps: Mapping[str, Flap] = {}


class MovedAlias(Struct, frozen=True):
    """A workspace whose alias is spelt anew: `before` is the one it was last written down under."""

    before: str
    now: str
    records: int


class ElsewhereRecords(Struct, frozen=True):
    """What runs of this stack recorded at another address of a service, in the workspaces of now.

    `ids` are the service's ids of these entities, by address.
    """

    origin: str
    ids: Mapping[Address, str]


# By the workspace's alias and the number of a part: see core/compare/password_digests.py.
Proofs = Mapping[tuple[str, int], str]


class Recorded(Struct, frozen=True):
    """What earlier runs left for this service origin, stack and workspaces.

    `salt` keys the digests of secrets. `doubts` holds the addresses whose create is in doubt, each with
    the time (ISO 8601, UTC) until which it was expected to land. None of them is created again before a
    run that holds the lock has waited and looked, whatever a clock says. `under_way` are those of them that
    a run which is alive is creating right now. `proofs` spare the comparison of passwords one by one.
    `answered` are the rows that each directory had when the last whole plan was applied. `aliases` are the
    workspaces, by id, that had another alias before. `unapplied` are the aliases of those that this store has
    never applied, and holds no record of; `elsewhere` is what was recorded for this stack at other addresses.
    `shared` are the stacks that hold a record of a live entity too, in this store, by its workspace and id.
    """

    entities: Mapping[Address, RecordedEntity]
    salt: str = ""
    doubts: Mapping[Address, str] = {}
    under_way: frozenset[Address] = frozenset()
    proofs: Proofs = {}
    answered: Mapping[str, int] = {}
    aliases: Mapping[str, MovedAlias] = {}
    unapplied: frozenset[str] = frozenset()
    elsewhere: tuple[ElsewhereRecords, ...] = ()
    shared: Mapping[tuple[str, str], str] = {}
