"""Plan files: written privately, read with care. What a plan is stands in model/plans.py."""

from pathlib import Path

import msgspec

from reconciler.cli.files import read_file, write_private
from reconciler.core.fingerprint import fingerprint
from reconciler.errors import InputError
from reconciler.model.encoding import decode, encode
from reconciler.model.plans import PLAN_VERSION, Plan

_AGAIN = "make one: reconciler plan -o FILE"


class _Head(msgspec.Struct):
    """What tells a plan from other JSON, and from one of another version."""

    version: int = 0
    plan: object = None
    outcomes: object = None


def write_plan(path: Path, plan: Plan) -> None:
    """`path` holds the plan, mode 0600; or FileError, and what was there is untouched."""
    write_private(path, encode(plan, indent=2))


def read_plan(path: Path) -> Plan:
    """Return the plan of a file, unchanged since it was written. Raises FileError, InputError."""
    data = read_file(path)
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.DecodeError:
        raise InputError(f"{path}: this is not a plan file.", next=_AGAIN) from None
    if head.plan is not None:
        raise InputError(
            f"{path}: this is the report of `plan --format json`, not a plan file.",
            next="write the plan with `reconciler plan -o FILE`",
        )
    if head.outcomes is not None:
        raise InputError(f"{path}: this is the report of a run, not a plan file.", next=_AGAIN)
    if head.version != PLAN_VERSION:
        raise InputError(
            f"{path}: this plan has the version {head.version}; this program reads {PLAN_VERSION}.",
            next=_AGAIN,
        )
    return _checked(path, data)


def _checked(path: Path, data: bytes) -> Plan:
    try:
        plan = decode(data, Plan)
    except (msgspec.DecodeError, ValueError):  # their texts may quote people's data
        raise InputError(f"{path}: this is not a whole plan.", next=_AGAIN) from None
    if fingerprint(plan) != plan.fingerprint:
        raise InputError(
            f"{path}: this plan was changed after it was made; its fingerprint does not fit.", next=_AGAIN
        )
    return plan
