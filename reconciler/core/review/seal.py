"""The form in which a plan is kept: canonical, sealed, and holding nothing that moves by itself.

What a plan says of strangers (how many there are, in how many calls they were read) is told on the
screen and not kept: nothing would hold it to the truth later. Everything that is kept is compared
with the fresh plan when the file is applied, so that what a reviewer reads is what will be done.

A seal is no signature. It finds what was changed by accident or without care; whoever can change a
file can seal it again. Against that stand the fresh plan (`why_stale` of stale.py) and encryption.
"""

import hashlib
from collections.abc import Iterator

from msgspec import UNSET, structs

from reconciler.model.documents import without_row_number
from reconciler.model.encoding import encode_json, encode_json_pieces
from reconciler.model.plans import Delete, Plan
from reconciler.model.snapshots import Read


class PlanFile(Plan, frozen=True):
    """A plan as its file holds it. `program` is the version that made it, `seal` covers all the rest."""

    program: str = ""
    seal: str = ""


def sealed(plan: Plan, program: str) -> bytes:
    """Return the one text that a file with this plan has."""
    return b"".join(sealed_pieces(plan, program))


def sealed_pieces(plan: Plan, program: str) -> Iterator[bytes]:
    """Yield the same, for a long plan."""
    fields = {name: value for name, value in structs.asdict(kept(plan)).items() if name in _FIELDS}
    file = PlanFile(**fields, program=program)
    seal = hashlib.sha256()
    for piece in encode_json_pieces(file):
        seal.update(piece)
    return encode_json_pieces(structs.replace(file, seal=seal.hexdigest()), indent=2)


# The fields of a plan without those that only its file has.
_FIELDS = frozenset(Plan.__struct_fields__)


def opened(file: PlanFile) -> Plan:
    """Return the plan of a file that was found whole."""
    return Plan(**{name: value for name, value in structs.asdict(file).items() if name in _FIELDS})


def kept(plan: Plan) -> Plan:
    """Return the plan without what is shown when it is made and not kept."""
    # Both move by themselves: a stranger more, or a list that took another way, must not make a plan stale.
    reads = {Read(read.scope, "", 0, 0, -1, read.complete) for read in plan.reads}
    return structs.replace(
        plan, unmanaged={}, unapplied=UNSET, reads=tuple(sorted(reads, key=structs.astuple))
    )


def shown_by(plan: Plan) -> bytes:
    """Return everything that a saved plan shows, but for its times."""
    # Two plans always differ in their times, and the fingerprint has a sentence of its own (`why_stale`).
    # A database promises no order: the number of a row is that of one answer, and no part of a review.
    changes = tuple(
        one if isinstance(one, Delete) else structs.replace(one, place=without_row_number(one.place))
        for one in plan.changes
    )
    notices = tuple(structs.replace(one, place=without_row_number(one.place)) for one in plan.notices)
    shown = structs.replace(kept(plan), changes=changes, notices=notices)
    # Another commit with the same manifests is no other plan.
    return encode_json(structs.replace(shown, created_at="", expires_at="", fingerprint="", commit=UNSET))
