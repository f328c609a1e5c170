"""Files of a project that commands write: manifests, files with secrets, copies of the shipped examples.

An export contains every live person, so only its owner can read what it writes, also a file that existed.
A file that is only formatted keeps its permissions.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from reconciler.environment.checkout import is_ignored_by_git
from reconciler.errors import FileError, InputError
from reconciler.files.atomic_files import (
    make_folder,
    private_mode,
    write_folder,
    write_new,
    write_over,
    write_pieces,
)
from reconciler.files.encryption import collect_recipients, encrypt_to
from reconciler.files.project_files import is_in_repository
from reconciler.manifest.sources import MANIFEST_SUFFIXES
from reconciler.model.settings import Settings


def write_manifests(
    folder: Path,
    new: Mapping[str, bytes],
    grown: Mapping[str, tuple[bytes, bytes]],
    *,
    private: bool = False,
) -> None:
    """`folder` holds the new files, and each grown one as it is now. Raises FileError.

    New files are private; with `private` the grown ones become so.

    Names are relative to the folder, with `/`. A folder that is not there yet appears whole. A new file takes
    nobody's place; `grown` has what was read of a file and what it becomes, and it is left alone where
    somebody has written it meanwhile.
    """
    if not folder.exists():
        write_folder(folder, new)
        return
    # What manifests name comes first, or a manifest would name what is not there.
    for name, data in sorted(new.items(), key=lambda one: (one[0].endswith(MANIFEST_SUFFIXES), one[0])):
        make_folder((folder / name).parent, mode=0o777)
        # What stands for a payload may be there from an earlier export, or be the real one by now.
        if not write_new(folder / name, data, mode=private_mode) and "/" not in name:
            raise FileError(
                f"{folder / name}: not written: another process has created it.", next="try again"
            )
    for name, (before, after) in grown.items():
        write_over(folder / name, before, after, private=private)


def list_folder(folder: Path) -> Sequence[str]:
    """Return the names of what is in a folder; of one that is not there, none. Raises FileError."""
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise FileError(f"{folder.name}: is not a folder.", next="name a folder with --into")
    return sorted(one.name for one in folder.iterdir())


# --- Files with secrets: readable for this user alone, or encrypted for a team -----------------------------


class SecretsFile(Struct, frozen=True):
    """A file that is to hold secrets. Without `recipients` it is not encrypted."""

    path: Path
    recipients: tuple[str, ...] = ()

    def write(self, text: str) -> None:
        """The file, which was not there, holds the text, mode 0600. Raises FileError, InputError."""
        data = text.encode()
        if self.recipients:
            _refuse_existing(self.path)
            write_pieces(self.path, lambda file: encrypt_to(file, iter([data]), self.recipients))
        elif not write_new(self.path, data, mode=0o600):
            raise _make_existing_error(self.path)


def choose_secrets_files(
    settings: Settings, env_file: str | None, secrets_file: str | None, given: Mapping[str, Any]
) -> tuple[SecretsFile, ...]:
    """Return the files that are to be written, checked before anything is read of the service.

    Raises UsageError, InputError: nobody to encrypt for, a file that is there, one that git would take.
    """
    found = []
    if env_file is not None:
        path = Path(env_file)
        _refuse_existing(path)
        if is_in_repository(path.parent.resolve()) and not is_ignored_by_git(path):
            raise InputError(
                f"{env_file}: git does not ignore this file; the next commit could include it.",
                next=f"add a line to .gitignore ({path.name}), write it outside of the repository, "
                "or encrypt it: --secrets-file",
            )
        found.append(SecretsFile(path))
    if secrets_file is not None:
        _refuse_existing(Path(secrets_file))
        found.append(SecretsFile(Path(secrets_file), _require_recipients(settings, given)))
    elif given["encrypt_to"] or given["recipients_file"]:
        raise click.UsageError(
            "--encrypt-to and --recipients-file need a file to encrypt: pass --secrets-file FILE."
        )
    return tuple(found)


def _require_recipients(settings: Settings, given: Mapping[str, Any]) -> tuple[str, ...]:
    keys = (*settings.plan_recipients, *given["encrypt_to"])
    recipients = collect_recipients(keys, given["recipients_file"])
    if not recipients:
        raise InputError(
            "--secrets-file: no recipients to encrypt the file for.",
            next="name public keys: plan.recipients of the settings, --encrypt-to, or --recipients-file",
        )
    return recipients


def _refuse_existing(path: Path) -> None:
    if path.is_symlink() or path.exists():
        raise _make_existing_error(path)


def _make_existing_error(path: Path) -> InputError:
    return InputError(
        f"{path}: this file exists already, and may be the only copy of its secrets.",
        next="name another file, or move that one away",
    )


# --- The examples that are shipped: the same files as in the repository, and no second copy ----------------


_PACKAGE = "reconciler"


def find_example(name: str) -> Path:
    """Return the folder of an example, such as `quickstart` or `ci/github`. Raises FileError."""
    package = Path(str(files(_PACKAGE)))
    packed = package / "data" / "examples" / name
    found = packed if packed.is_dir() else package.parent / "examples" / name
    if not found.is_dir():
        raise FileError(f"the example {name} is not installed.", next="install reconciler again")
    return found
