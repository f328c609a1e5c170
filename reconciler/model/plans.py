"""Plans: the changes that apply would make, as values that can be read, hashed, reviewed, stored and refused.

A plan holds no secret. It holds people's data (the values that change), so its file is private (0600).
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer, Fields, NamedConsent, Place, Scalar
from reconciler.model.notices import Notice
from reconciler.model.snapshots import NotPlanned, Read, Scope

# --- Changes: Create, Update, Delete, and why -----------------------------------------------------
# Values in a change are normalized and safe to store and show: a secret stands as `Masked` text (see
# `core/compare/normalize.py`). Request bodies are built from the Entity, never from a change.


Cause = Literal[
    "declared",  # the manifest says so, and the live value is as we left it
    "drifted",  # changed at the service since our last apply; the manifest did not change
    "both",  # the manifest and the live value have both changed
    "no longer declared",  # we set it once; the manifest does not declare it any more
    "unknown",  # cannot be read back, and no record says what is there
    "duplicate",  # a second live entity for one of ours, and provably made by us
    "gone",  # we made it, and it is not there any more
    "reactivated",  # asked for with meta.reactivate or --reactivate
    "undone",  # set back to what it was before a run that is undone
    "forgotten",  # our mark on what leaves the manifests and stays at the service
    "given back",  # the same, where that run was the first to declare it: not ours afterwards
]


class FieldChange(Struct, frozen=True):
    """One field: its path, its normalized value before and after (None: absent), and why."""

    path: str
    before: Scalar | None
    after: Scalar | None
    cause: Cause


class Create(Struct, frozen=True, tag="create", tag_field="action"):
    """Make what is declared and not there. `fields` are what will be sent, secrets masked.

    `carried` are the paths of them that are not declared: live values of an entity that moves here, with
    `meta.carryOver`.
    """

    address: Address
    place: str
    fields: Fields
    cause: Cause = "declared"
    carried: tuple[str, ...] | UnsetType = UNSET  # no key of JSON where nothing is, as in older plans


class Update(Struct, frozen=True, tag="update", tag_field="action"):
    """Bring declared fields of a live entity to what is declared.

    `adopts` names the identity by which it was recognized when it is not recorded yet, else "".
    """

    address: Address
    place: str
    remote_id: str
    fields: tuple[FieldChange, ...]
    parent_id: str = ""
    adopts: str = ""


class Delete(Struct, frozen=True, tag="delete", tag_field="action"):
    """Remove what is ours and no longer declared.

    `before` is the whole normalized live entity: the delete happens only if it still looks so.
    `cascades` are the devices that go with a contact, by address where recorded, else by device name.
    `adopted` is when it was adopted, where it existed before this stack; UNKNOWN where that is not recorded.
    `keeps` is, for a duplicate, the remote id of the entity that stays; it has to be there.
    """

    address: Address
    remote_id: str
    before: Fields
    parent_id: str = ""
    cascades: tuple[str, ...] = field(default=(), name="takes")  # its name in plan files and in the store
    cause: Cause = "no longer declared"
    adopted: str = ""
    keeps: str = ""


Change = Create | Update | Delete

ACTION_WORDS: Mapping[type, str] = {Create: "create", Update: "update", Delete: "delete"}


def action_of(change: Change) -> str:
    """`create`, `update` or `delete`."""
    return ACTION_WORDS[type(change)]


# --- The plan -------------------------------------------------------------------------------------


PLAN_VERSION = 2


class Workspace(Struct, frozen=True, order=True):
    """A workspace by the settings' alias, and the service's id (empty: the default workspace)."""

    alias: str
    id: str
    name: str = ""


class Target(Struct, frozen=True):
    """Where a plan is meant for, and under whose name."""

    origin: str
    stack: str
    workspaces: tuple[Workspace, ...]


class Options(Struct, frozen=True):
    """What the caller asked for that changes which plan is made; part of the fingerprint.

    `forget` are addresses that are treated as if they stood under `removed:` of a manifest. `same` are those
    that a person has confirmed to be behind their recorded ids still (M9), `again` those whose create in
    doubt may be sent once more (A12); both absent where none is. With `adopt` the plan holds adoptions and
    nothing else. With `same_service` what was recorded at another address of the service is ours here.
    `undo_of` is the run whose inverse a plan is, else "". `undo_proof` says, in a digest keyed by the store,
    that this store's run made it: no manifest says what such a plan should be (core/runs/undo.py).
    """

    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    reactivate: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    adopt: bool = False
    undo_of: str = ""
    undo_proof: str = ""
    # No key of JSON where it was not asked for, as in older plans.
    same_service: bool | UnsetType = UNSET
    same: tuple[str, ...] | UnsetType = UNSET
    again: tuple[str, ...] | UnsetType = UNSET

    @property
    def released(self) -> tuple[str, ...]:
        """The addresses whose create in doubt may be sent once more, by a person's word."""
        return self.again or ()

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The addresses that a person has confirmed to be behind their recorded ids still."""
        return self.same or ()

    @property
    def verb(self) -> Literal["apply", "adopt", "forget"]:
        """What somebody types for such a plan, and finds in the history."""
        return "forget" if self.forget else "adopt" if self.adopt else "apply"


class Consent(Struct, frozen=True):
    """How many of each a person has agreed to: rows are those too few, moves those that lose something.

    0: nothing was said.
    """

    deletes: int = 0
    creates: int = 0
    updates: int = 0
    fewer_rows: int = 0
    moves: int = 0


class Adoption(Struct, frozen=True):
    """A live entity that is as declared and becomes ours; `by` names the identity it was found by."""

    address: Address
    remote_id: str
    by: str
    parent_id: str = ""


RecordChangeKind = Literal[
    "protected",  # the entry says `protect: true` now
    "no longer protected",
    "fields",  # declared and live alike: they become ours, or leave the record
    "forgotten",  # it leaves the manifests and stays at the service: ours no longer
]


class RecordChange(Struct, frozen=True):
    """A record of ours that changes though nothing is written to the service; `fields` are paths."""

    address: Address
    what: RecordChangeKind
    fields: tuple[str, ...] = ()


SkipReason = Literal[
    "ambiguous",
    "protected",
    "foreign mark",
    "in doubt",
    "disabled",
    "taken over",
    "not adopted",
    "contradicted",  # the service says two things about it in one read (M8)
    "somebody else",  # its recorded id shows another identity, and most else of it has changed (M9)
    "still marked",  # it was to be forgotten, and our mark cannot be taken off it
    "not restored",  # only in an undo: what it was is not known, or cannot be sent
    "undeclared secret",  # it is not there, and a secret that only a create needs is not declared
    "gone without its secret",  # the same of what was recorded
    "move without its secret",  # what would be lost if it were deleted where it is
    "secret not kept",  # only in an undo: a deleted entity whose secret only a manifest can give
    "unset variable",  # a secret under meta.ignore without which a write would remove it
    "move not planned",  # the other half of its move is in a workspace that is left out
]


# Reasons for which it is not certain who a live entity is: a plan with one of them ends with 5.
UNCERTAIN: frozenset[SkipReason] = frozenset({"ambiguous", "contradicted", "somebody else"})
# Reasons for which something declared is not done until somebody gives a secret: it ends with 5 too.
SECRET_NEEDED: frozenset[SkipReason] = frozenset(
    {"undeclared secret", "gone without its secret", "move without its secret", "unset variable"}
)


class Skip(Struct, frozen=True):
    """Something that was seen and will not be acted on: why, in a sentence, and what can be done."""

    address: Address
    reason: SkipReason
    what: str
    next: str = ""


class Move(Struct, frozen=True):
    """A delete and a create of one identity: `before` is created again as `after`, and then deleted.

    `lost` are the paths of live fields that are not declared and that the create does not send, `devices` the
    live devices that are not created below it. `carried` are the paths that the create sends although they
    are not declared.
    """

    before: Address
    after: Address
    lost: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    @property
    def loses(self) -> bool:
        """Whether anything goes that somebody else has written."""
        return bool(self.lost or self.devices)


class Elsewhere(Struct, frozen=True):
    """What was recorded for this stack at another address, and is not recorded here.

    `records` is how many, `alike` how many ids of those recorded there are live here: then it is the same
    service under another address. `claimed` is how many of them the plan would adopt or make again.
    """

    origin: str
    records: int
    alike: int
    claimed: int


class PlanMoment(Struct, frozen=True):
    """What a plan gets from outside: a salt for its masks, and its time and end (ISO 8601, UTC)."""

    salt: str
    now: str
    expires: str = ""


class Plan(Struct, frozen=True):
    """Everything that must change so that live equals desired, and nothing else.

    Order: `changes` stand in the order of their waves, then by address. `fingerprint` covers the
    target, the options, both kinds of consent, the manifest's digest and every change, adoption, record and
    before-value; not the time, the reads, the notices, the commit or the counts. `salt` keys the masks of
    secrets in this plan. Times are ISO 8601 in UTC.
    """

    target: Target
    options: Options
    manifest_digest: str
    salt: str
    changes: tuple[Change, ...]
    adoptions: tuple[Adoption, ...] = ()
    skips: tuple[Skip, ...] = ()
    # Recorded, no longer declared, and not there any more: only forgotten. In an undo, what its run adopted.
    gone: tuple[Address, ...] = ()
    records: tuple[RecordChange, ...] = ()  # what else has to be written down, and nowhere else
    postponed: Mapping[str, int] = {}  # of `adopt`: by action, the changes that it leaves for an apply
    renames: Mapping[Address, Address] = {}  # recorded under the first, found again under the second
    unchanged: Mapping[str, int] = {}  # scope as text -> entities
    outside: Mapping[
        str, int
    ] = {}  # scope as text -> recorded entities there, though no manifest has that kind
    unmanaged: Mapping[str, int] = {}  # scope as text -> live entities that are not ours
    owned: Mapping[str, int] = {}  # scope as text -> entities that were ours before this plan
    contents: Mapping[Address, str] = {}  # of a resource that is written: the file its content comes from
    notices: tuple[Notice, ...] = ()  # what a person should know beside the changes; nothing is done about it
    reads: tuple[Read, ...] = ()
    # What directories answered that rosters took from; no key of JSON where none did, as in older plans.
    directories: tuple[DirectoryAnswer, ...] | UnsetType = UNSET
    # Workspaces with declared entities of which the store knows no apply and no record; not kept in a file.
    unapplied: tuple[str, ...] | UnsetType = UNSET
    not_planned: tuple[NotPlanned, ...] | UnsetType = UNSET  # workspaces that it says nothing of
    moves: tuple[Move, ...] | UnsetType = UNSET  # a delete and a create of the same identity
    elsewhere: tuple[Elsewhere, ...] | UnsetType = UNSET  # records that were left at another address
    # Of the manifests, with `+dirty` where they are not as in it; not there where it is not known.
    commit: str | UnsetType = UNSET
    # What a person agreed to when it was planned, for this plan alone; not there where that is nothing.
    consent: Consent | UnsetType = UNSET
    # What manifests agree to, in force when it was planned, and of use in it (core/review/named_consents.py).
    consented: tuple[NamedConsent, ...] | UnsetType = UNSET
    created_at: str = ""
    expires_at: str = ""
    fingerprint: str = ""
    version: int = PLAN_VERSION

    @property
    def left_out(self) -> tuple[NotPlanned, ...]:
        """The workspaces that the plan says nothing of, and why."""
        return self.not_planned or ()

    @property
    def answers(self) -> tuple[DirectoryAnswer, ...]:
        """What directories answered that rosters took from, by name."""
        return self.directories or ()

    @property
    def named_consents(self) -> tuple[NamedConsent, ...]:
        """What manifests agree to of this plan, in the order of addresses."""
        return self.consented or ()

    def count(self, word: str) -> int:
        """How many changes of this action (`create`, `update`, `delete`) there are."""
        return sum(1 for change in self.changes if action_of(change) == word)

    @property
    def to_keep(self) -> int:
        """How many records of ours change though nothing is written for them: work for an apply."""
        return len(self.adoptions) + len(self.renames) + len(self.gone) + len(self.records)

    @property
    def empty(self) -> bool:
        """Whether an apply would change nothing, neither at the service nor in the store."""
        return not (self.changes or self.to_keep)

    @property
    def counted(self) -> bool:
        """Whether it says how it was read and who else is there; a plan from a file says neither."""
        nothing_read = not self.reads and not self.options.undo_of
        return nothing_read or any(read.how for read in self.reads)

    @property
    def forgotten(self) -> tuple[Address, ...]:
        """The recorded addresses that leave the manifests while what is live stays (rule X7)."""
        return tuple(one.address for one in self.records if one.what == "forgotten")

    def scoped(self, scope: Scope) -> Iterator[Change]:
        """Yield the changes of one kind in one workspace."""
        return (change for change in self.changes if Scope.of(change.address) == scope)


class GuardReason(Struct, frozen=True):
    """Why the guard refuses: the rule, the scope, the numbers, and the consent that would lift it."""

    rule: str
    scope: str
    count: int
    limit: int
    what: str
    next: str


class Verdict(Struct, frozen=True):
    """The guard's answer. Empty reasons: the plan may be carried out."""

    reasons: tuple[GuardReason, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether there is no reason to refuse the plan."""
        return not self.reasons


# --- The explanation of one address ---------------------------------------------------------------
# Values are as in a plan: normalized, and secrets masked. Made by core/views/explain.py.


# entry     written in the entry itself      roster   text of the roster's template, the same for every row
# defaults  under `defaults:` of its file    mark     our ownership mark, which the settings ask for
# cell      cells of a row of a roster
SourceForm = Literal["entry", "defaults", "cell", "roster", "mark"]


class FieldSource(Struct, frozen=True):
    """Where one value comes from.

    `place` is where it stands; in a roster the row and the first cell. `template` is where a manifest says
    which `columns` it takes. `variables` are names of the environment that are filled in, `file` what a
    payload is read from. `default` is where the defaults of the file declare the field too; `place` goes
    before them.
    """

    form: SourceForm
    place: Place
    columns: tuple[str, ...] = ()
    template: Place | None = None
    variables: tuple[str, ...] = ()
    file: str = ""
    default: Place | None = None


class EntitySources(Struct, frozen=True):
    """The source of each field of an entity by path, and the places of what stands under its `meta:`."""

    fields: Mapping[str, FieldSource] = {}
    controls: Mapping[str, Place] = {}


Decision = Literal[
    "change",  # the plan writes it
    "none",  # there is nothing to write
    "left",  # it differs, or may differ, and is left alone
    "unknown",  # not compared: nothing live was read, or it is not certain what is
]

# Why a field is not written; see core/compare/diff.py for the first ones.
FieldReason = Literal[
    "as declared",
    "as sent",
    "not readable",
    "not clearable",
    "same offset",
    "cleared",
    "ignored",
    "disabled",
    "taken over",
    "not declared",  # live, and neither declared nor sent by us
    "not compared",  # the entity is left alone as a whole
    "not read",
]


class ExplainedField(Struct, frozen=True):
    """One field: what should be, what is, what was, and why the plan writes it or not.

    None: absent. `desired` is "" where the manifest clears it, `live` means nothing without `read`. `sent` is
    what the last apply sent, `shown` what the service showed then. With the decision `change`, `reason` is
    the cause in the plan and the value becomes `after`.
    """

    path: str
    decision: Decision
    reason: Cause | FieldReason
    desired: Scalar | None = None
    source: FieldSource | None = None
    live: Scalar | None = None
    read: bool = False
    sent: Scalar | None = None
    shown: Scalar | None = None
    after: Scalar | None = None


class Control(Struct, frozen=True):
    """What an author says of an entity besides its fields: `protect`, `ignore`, and where it stands."""

    name: str
    value: str
    place: Place | None = None


class DecidingFact(Struct, frozen=True):
    """One thing that decides about the entity: a word, a sentence, what can be done, and where."""

    word: str
    what: str
    next: str = ""
    place: str = ""


class LastWrite(Struct, frozen=True):
    """The run that last wrote a record of ours, and when (ISO 8601, UTC)."""

    run: str
    at: str


class Explanation(Struct, frozen=True):
    """One address. `place` is `file:line`, "" where it is not declared.

    `state` is as in a list, or `removed` for what leaves while it stays live, and `outside` for what no
    manifest decides about. `planned` is the word for what an apply would do, "" for nothing. `said` is why,
    in the order of weight. `found_by` is how the live entity was recognized, `recorded_as` the address of its
    record where that is another one. `read` says whether the service was asked. `adopted` is as in a record.
    `own_kind` says that a profile brings its kind.
    """

    address: Address
    state: Literal["declared", "owned", "drifted", "removed", "outside"]
    planned: str
    said: tuple[DecidingFact, ...]
    fields: tuple[ExplainedField, ...]
    place: str = ""
    remote_id: str = ""
    found_by: str = ""
    recorded_as: str = ""
    read: bool = False
    recorded: bool = False
    adopted: str = ""
    protected: bool = False
    last_write: LastWrite | None = None
    controls: tuple[Control, ...] = ()
    own_kind: bool = False
