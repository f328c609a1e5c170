"""Whether a commit is signed by somebody of a list: its bytes as stored, checked by ssh-keygen or gpg.

git's own `verify-commit` would run programs that the settings of the repository name. Here the bytes come
from the object that the id names, the programs from outside of the checkout, and their settings from a folder
of ours.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from reconciler.core.git import split_signature
from reconciler.environment.programs import run_judging_program
from reconciler.environment.repository import NoRepository, UnreadableRepository, find_repository

_verify_s = 10.0  # seconds for one call of a program; each takes some ten milliseconds
_signers_max = 1024 * 1024  # bytes of the list
_principals_max = 20
_NOT_GOOD = "nobody of the list has signed it, or what was signed is something else"
_SSH, _PGP = b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN PGP SIGNATURE-----"


class Unsigned(Exception):
    """A commit is not signed by anybody of the list; the message says why."""


def require_signature(root: Path, commit: str, signers: Path, environ: Mapping[str, str]) -> None:
    """Return if a commit, in hexadecimal digits, has a good signature of one of `signers`. Raises Unsigned.

    `signers` is a file of allowed signers for ssh-keygen, or a keyring for gpg where its name ends in .gpg.
    It has to be outside of the repository: a commit could bring its own list.
    """
    try:
        with closing(find_repository(root, environ)) as repository:
            if signers.resolve().is_relative_to(repository.top):
                raise Unsigned(f"{signers} is in the repository: a commit could bring its own signers")
            signed, signature = split_signature(
                repository.read_commit(bytes.fromhex(commit)), repository.id_size
            )
            top = repository.top
    except (NoRepository, UnreadableRepository, ValueError) as error:
        raise Unsigned(str(error)) from error
    if not signature:
        raise Unsigned("it has no signature")
    is_keyring = signers.name.endswith(".gpg")
    for begins, wants, verify in ((_SSH, False, _verify_ssh), (_PGP, True, _verify_pgp)):
        if signature.startswith(begins):
            if wants is not is_keyring:
                raise Unsigned(f"its signature is of another kind than {signers.name}")
            with TemporaryDirectory(prefix="reconciler-") as folder:
                _verify_in(Path(folder), signers, signature)
                verify(Path(folder), signed, lambda name: _find_program(name, top, environ))
            return
    raise Unsigned("its signature has an unknown form")


def _verify_in(folder: Path, signers: Path, signature: bytes) -> None:
    """Copy the list and the signature into an empty folder of ours."""
    try:
        with signers.open("rb") as file:
            known = file.read(_signers_max + 1)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise Unsigned(f"{signers} cannot be read: {reason}") from error
    if len(known) > _signers_max:
        raise Unsigned(f"{signers} has over {_signers_max:,} bytes")
    (folder / "signers").write_bytes(known)
    (folder / "signature").write_bytes(signature)


def _find_program(name: str, top: Path, environ: Mapping[str, str]) -> str:
    """Return the path of a program that is not in the checkout."""
    folders = [Path(one) for one in environ.get("PATH", os.defpath).split(os.pathsep) if one]
    usable = [str(one) for one in folders if one.is_absolute() and not one.resolve().is_relative_to(top)]
    found = shutil.which(name, path=os.pathsep.join(usable))
    if found is None or Path(found).resolve().is_relative_to(top):
        raise Unsigned(f"{name} is needed to check it, and is not installed outside of the repository")
    return found


Finder = Callable[[str], str]


def _verify_ssh(folder: Path, signed: bytes, find: Finder) -> None:
    keygen, files = find("ssh-keygen"), ("-f", "signers", "-s", "signature")
    named = _run([keygen, "-Y", "find-principals", *files], folder, b"")
    for principal in named.splitlines()[:_principals_max]:
        words = [keygen, "-Y", "verify", *files, "-n", "git", "-I", principal]
        with suppress(Unsigned):
            _run(words, folder, signed)
            return
    raise Unsigned(_NOT_GOOD)


def _verify_pgp(folder: Path, signed: bytes, find: Finder) -> None:
    alone = ["--no-options", "--batch", "--homedir", str(folder), "--no-autostart", "--no-auto-key-retrieve"]
    keys = ["--no-default-keyring", "--keyring", str(folder / "signers"), "--trust-model", "always"]
    _run([find("gpg"), *alone, *keys, "--verify", "signature", "-"], folder, signed)


def _run(words: Sequence[str], folder: Path, given: bytes) -> str:
    """Return what a program printed that ended well. Raises Unsigned."""
    ended = run_judging_program(words, given=given, folder=folder, timeout_s=_verify_s)
    if ended.exit_code == 0:
        return ended.text
    raise Unsigned(ended.why or _NOT_GOOD)
