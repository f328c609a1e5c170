"""Explanation: everything that is known of one address, field by field, and what a plan makes of it.

Values are as in a plan: normalized, and secrets masked. Not here: finding it out (core/views/explaining.py),
nor how it is shown (report/plan/explain.py).
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.documents import Place, Scalar
from reconciler.model.plan.changes import Cause

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

# Why a field is not written; see core/comparing/diff.py for the first ones.
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


class Said(Struct, frozen=True):
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
    said: tuple[Said, ...]
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
