"""Copies of what the repository holds, for tests that change or run it."""

import shutil
from pathlib import Path


def copied(source: Path, target: Path) -> Path:
    """Copy a project, without its store. Nobody but its owner may write in it.

    A checkout has the modes of whoever made it, and the program warns of files that others may write.
    """
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".reconciler"))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target
