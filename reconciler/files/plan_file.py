"""Plan files: written privately, sealed, encrypted where that is wanted; read with care.

What a plan is stands in model/plans.py, what a seal is in core/review/saved_plans.py, keys are
encryption.py's.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import PlanFile, open_plan_file, seal_plan_pieces
from reconciler.errors import InputError, StalePlan
from reconciler.files.atomic_files import read_file, write_pieces
from reconciler.files.encryption import decrypt_file, encrypt_to, is_encrypted
from reconciler.instrumentation import step_log
from reconciler.model.encoding import NotAnAddressError, decode_json
from reconciler.model.plans import PLAN_VERSION, Plan
from reconciler.version import __version__

_AGAIN = "make one: reconciler plan -o FILE"


class _PlanHead(msgspec.Struct):
    """What distinguishes a plan from other JSON, and from a plan of another version."""

    version: int = 0
    program: str = ""
    plan: object = None
    outcomes: object = None


def write_plan(path: Path, plan: Plan, recipients: Sequence[str] = ()) -> None:
    """`path` holds the plan, mode 0600; or FileError, and what was there is untouched.

    With recipients it is readable by them alone. Raises InputError for one that is no public key.
    """
    size = 0

    def fill(file: BinaryIO) -> None:
        nonlocal size
        pieces = seal_plan_pieces(plan, __version__)
        if recipients:
            encrypt_to(file, pieces, recipients)
        else:
            file.writelines(pieces)
        size = file.tell()

    write_pieces(path, fill)
    step_log.info(
        "plan written: %s, %d bytes, %s", path, size, "encrypted" if recipients else "not encrypted"
    )


def read_plan(path: Path, *, identity: str | None = None, environ: Mapping[str, str] | None = None) -> Plan:
    """Return the plan of a file, byte for byte as it was written.

    `identity` is the file with the private key, for an encrypted one; without it the environment is
    asked for RECONCILER_IDENTITY. Raises FileError, InputError, and StalePlan where another version
    of this program made it.
    """
    data = read_file(path)
    if is_encrypted(data):
        data = decrypt_file(data, shown=str(path), identity=identity, environ=environ or {})
    try:
        head = msgspec.json.decode(data, type=_PlanHead)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{path}: this is not a plan file.", next=_AGAIN) from None
    _require_plan(head, path)
    return _decode_plan(path, data)


def _require_plan(head: _PlanHead, path: Path) -> None:
    """Raise InputError for another document of ours, StalePlan for a plan of another version of it."""
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
    if head.program and head.program != __version__:
        raise StalePlan(
            f"{path}: another version of this program made this plan; this is {__version__}.",
            next=f"plan again with {__version__}, and review it",
        )


def _decode_plan(path: Path, data: bytes) -> Plan:
    try:
        file = decode_json(data, PlanFile)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # their texts may quote people's data
        foreign = isinstance(error.__cause__, NotAnAddressError)
        hint = f"read it in the project whose profile defines its kinds, or {_AGAIN}" if foreign else _AGAIN
        raise InputError(f"{path}: this is not a whole plan.", next=hint) from None
    plan = open_plan_file(file)
    if fingerprint(plan) != plan.fingerprint:
        raise InputError(
            f"{path}: this plan was changed after it was made; its fingerprint does not match.", next=_AGAIN
        )
    if not _is_text_of(data, seal_plan_pieces(plan, file.program)):
        raise InputError(
            f"{path}: this file was changed after it was written; its checksum does not match.", next=_AGAIN
        )
    return plan


def _is_text_of(data: bytes, pieces: Iterable[bytes]) -> bool:
    """Whether a text is that of these pieces."""
    at = 0
    for piece in pieces:
        if not data.startswith(piece, at):
            return False
        at += len(piece)
    return at == len(data)
