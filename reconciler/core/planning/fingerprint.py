"""Digests of manifests and plans: is what was approved still what would be done?"""

import hashlib
from collections.abc import Iterable

from msgspec import UNSET, structs

from reconciler.core.compare.normalize import normalize_fields, redact_for_plan
from reconciler.core.entity_table import list_digests
from reconciler.model.documents import NamedConsent
from reconciler.model.encoding import encode_json, encode_json_pieces
from reconciler.model.plans import Change, Delete, Options, Plan, PlanMoment
from reconciler.model.snapshots import Desired


def manifest_digest(desired: Desired, salt: str) -> str:
    """Return the digest of everything declared: the same for any order of files, lines and keys.

    It is made of the digests of the entities, which are kept; the plan's salt keys the whole, so that one
    plan's digest says nothing of another's.
    """
    # A scope counts though it is empty: `contacts: {}` and no `contacts:` are two wishes (S1). Sorted: a set
    # has another order in the next process (law 3).
    scopes = sorted(str(scope) for scope in desired.scopes)
    # Absent where nothing is consented to, as in older plans.
    consents = (list_without_places(desired.consents),) if desired.consents else ()
    made = hashlib.sha256(encode_json((salt, scopes, sorted(desired.removed), *consents)))
    made.update(b"".join(list_digests(desired.entities, salt)))
    return made.hexdigest()


def restate_manifest_digest(saved: Plan, desired: Desired) -> Plan:
    """Return a saved plan with the digest of its manifests in the form of now, if they are still `desired`.

    Programs before 2026-11-27 made the digest over all entities at once. A plan that was reviewed with one of
    them is carried out by this one (tests/store/test_dated.py).
    """
    if desired.consents:  # they knew no `consent:`
        return saved
    entities = {
        address: (
            redact_for_plan(address.kind, normalize_fields(address.kind, entity.fields), saved.salt),
            entity.controls,
            entity.devices_in_scope,
        )
        for address, entity in desired.entities.items()
    }
    scopes = sorted(str(scope) for scope in desired.scopes)
    before = _digest_value((saved.salt, entities, scopes, sorted(desired.removed)))
    if before != saved.manifest_digest:
        return saved
    again = structs.replace(saved, manifest_digest=manifest_digest(desired, saved.salt))
    return structs.replace(again, fingerprint=fingerprint(again))


def fingerprint(plan: Plan) -> str:
    """Return the digest of what the plan would do, and to what, before-values included (rule A1)."""
    changes = tuple(without_place(change) for change in plan.changes)
    left = [(one.workspace, one.kinds) for one in plan.left_out]
    # Only what is done. What a plan tells beside it (notices, skips, counts) is compared with a saved plan
    # too, but after this and by itself (`why_stale`): the refusal then says which of the two it was.
    return _digest_value(
        (
            plan.version,
            plan.target,
            plan.options,
            plan.manifest_digest,
            plan.salt,
            changes,
            plan.adoptions,
            plan.gone,
            plan.records,
            plan.renames,
            # Absent where nothing was agreed to, as in older plans.
            *((plan.consent,) if plan.consent is not UNSET else ()),
            *((list_without_places(plan.named_consents),) if plan.named_consents else ()),
            # Why is no part of it: another answer of a service that fails is no other plan.
            *((left,) if left else ()),
        )
    )


def without_place(change: Change) -> Change:
    """Return the change without its place: a line added above an entry changes nothing that is done."""
    return change if isinstance(change, Delete) else structs.replace(change, place="")


def list_without_places(consents: Iterable[NamedConsent]) -> list[NamedConsent]:
    """Return the consents without their places, in their order: where a line stands changes nothing."""
    return [structs.replace(one, place="") for one in consents]


def _digest_value(value: object) -> str:
    made = hashlib.sha256()
    for piece in encode_json_pieces(value):  # of 100,000 changes, the text as one has 50 MB
        made.update(piece)
    return made.hexdigest()


# --- No-op plans: reused while their inputs are unchanged -----------------------------------------
#
# Whether the inputs are unchanged is decided in engine/planning.py, and of a list of the service in
# core/feed.py.


# What every plan tells: of what, from what, when, how it was read, and the counts. All else says something, a
# field that plans get later too; a directory that answered is one, for its next answer may differ.
_FIELDS_OF_EVERY_PLAN = frozenset(
    (
        *(
            "target",
            "options",
            "manifest_digest",
            "salt",
            "created_at",
            "expires_at",
            "fingerprint",
            "version",
        ),
        *("reads", "unchanged", "outside", "unmanaged", "owned"),
    )
)


def is_noop_plan(plan: Plan) -> bool:
    """Whether a plan changes nothing, records nothing and has no notices: only counts and how it was read.

    Only for a run without options: the counts leave out what is not selected.
    """
    said = (getattr(plan, name) for name in plan.__struct_fields__ if name not in _FIELDS_OF_EVERY_PLAN)
    return not any(said) and plan.options == Options()


def repeat_noop_plan(plan: Plan, desired: Desired, moment: PlanMoment) -> Plan:
    """Return what `make_plan` would return at this moment for the inputs of `plan`.

    `plan` is a no-op plan, and each of its lists is as it was by the first page of its changes.
    """
    again = structs.replace(
        plan,
        manifest_digest=manifest_digest(desired, moment.salt),
        salt=moment.salt,
        reads=tuple(structs.replace(one, calls=1, avoided=one.calls + one.avoided - 1) for one in plan.reads),
        created_at=moment.now,
        expires_at=moment.expires,
        fingerprint="",
    )
    return structs.replace(again, fingerprint=fingerprint(again))
