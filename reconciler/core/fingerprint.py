"""Digests: is what was approved still what would be done?"""

import hashlib

from msgspec import structs

from reconciler.core.normalize import declared, masked
from reconciler.model.changes import Change, Delete
from reconciler.model.encoding import encode
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired


def manifest_digest(desired: Desired, salt: str) -> str:
    """Return the digest of everything declared: the same for any order of files, lines and keys.

    Keyed by the plan's salt, so that one plan's digest says nothing of another's.
    """
    entities = {
        address: (
            masked(address.kind, declared(address.kind, entity.fields), salt),
            entity.controls,
            entity.devices_in_scope,
        )
        for address, entity in desired.entities.items()
    }
    return _digest((salt, entities, sorted(str(scope) for scope in desired.scopes)))


def fingerprint(plan: Plan) -> str:
    """Return the digest of what the plan would do, and to what, before-values included (rule A1)."""
    changes = tuple(placeless(change) for change in plan.changes)
    return _digest(
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
        )
    )


def placeless(change: Change) -> Change:
    """Return the change without its place: a line added above an entry changes nothing that is done."""
    return change if isinstance(change, Delete) else structs.replace(change, place="")


def _digest(value: object) -> str:
    return hashlib.sha256(encode(value)).hexdigest()
