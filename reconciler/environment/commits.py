"""Whether a commit may be followed: it descends from the one that was applied last, and is signed."""

import os
from pathlib import Path

from reconciler.environment.checkout import find_lineage
from reconciler.environment.run_context import DIRTY, UNCHECKED
from reconciler.environment.signatures import Unsigned, require_signature
from reconciler.errors import CommitRewound, CommitUnsigned
from reconciler.files.project_files import is_in_repository

_REWIND = "to apply it all the same: --allow-rewind"


def require_descent(root: Path, commit: str, last_applied: str) -> None:
    """Raise CommitRewound where a commit does not descend from the one before, or nobody knows.

    Without a repository, or a commit that was applied before, there is nothing to compare.
    """
    now, before = _strip_marks(commit), _strip_marks(last_applied)
    if not before or not is_in_repository(root):
        return
    if not now:
        raise CommitRewound(
            f"commit {before} was applied last, and the commit here is not known.",
            next=f"check that the repository can be read: reconciler plan says why; {_REWIND}",
        )
    lineage, why = find_lineage(root, now, before)
    if lineage == "does not descend":
        raise CommitRewound(
            f"commit {now} does not descend from {before}, which was applied last: it would be taken back.",
            next=f"check out the newest commit, or restore the history that was replaced; {_REWIND}",
        )
    if lineage == "unknown":
        raise CommitRewound(
            f"it is not known whether commit {now} descends from {before}, which was applied last: {why}.",
            next=f"fetch the whole history (fetch-depth: 0, or git fetch --unshallow); {_REWIND}",
        )


def require_signed_commit(root: Path, commit: str, signers: Path) -> None:
    """Raise CommitUnsigned where the files are not those of a commit that one of `signers` has signed."""
    step = "sign the commit, or correct policy.signed_by"
    if not commit or commit != _strip_marks(commit):
        raise CommitUnsigned(
            "policy.signed_by is set, and the files are not known to be a commit.", next=step
        )
    try:
        require_signature(root, commit, signers, os.environ)
    except Unsigned as error:
        raise CommitUnsigned(
            f"commit {commit} is not signed as policy.signed_by says: {error}.", next=step
        ) from error


def _strip_marks(commit: str) -> str:
    return commit.removesuffix(DIRTY).removesuffix(UNCHECKED)
