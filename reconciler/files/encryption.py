"""Encrypted files, plans and secrets: the age format, for recipients with an age or an SSH key.

Belongs here: reading recipients and identities, and what can be wrong with them. Not here: what is
in the file. No message holds a key, and no key ever stands on a command line: a file is named.

Encryption keeps others from reading. It does not say who wrote a file: a public key is public, and
whoever has it can encrypt another plan to it. That is what the fresh plan is for.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from reconciler.core.redact import may_be_private_key
from reconciler.errors import InputError
from reconciler.extras import require_extra
from reconciler.files.atomic_files import read_file

Key = object  # the library's own, public or private: handed back to it and never looked into

IDENTITY_VARIABLE = "RECONCILER_IDENTITY"

_HEADER = b"age-encryption.org/v1"
_ARMOUR = b"-----BEGIN AGE ENCRYPTED FILE-----"
_SSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
keys_max = 1_000  # lines of a file with keys; a team has a few, a mistaken file has more
key_bytes_max = 65_536  # bytes of such a file


def is_encrypted(data: bytes) -> bool:
    """Whether the file begins as encrypted ones do, in either of their two forms."""
    return data.startswith((_HEADER, _ARMOUR))


def encrypt_to(file: BinaryIO, pieces: Iterator[bytes], recipients: Sequence[str]) -> None:
    """Write the pieces into a file, readable by these recipients alone. Raises InputError, OSError.

    What `pieces` and the file raise is raised as it is.
    """
    age, source, sink = _import_age(), _PieceReader(pieces), _ErrorKeepingWriter(file)
    try:
        age.encrypt_io(source, sink, check_recipients(recipients))
    except age.EncryptError:  # the library keeps the words of an error alone
        error = source.error or sink.error
        if error is None:
            raise
        raise error from None


def _import_age() -> Any:
    """Return the library of the age format, where it is installed. Raises MissingExtra."""
    require_extra("encryption")
    import pyrage  # noqa: PLC0415 - an extra

    return pyrage


class _PieceReader:
    """Pieces as a file that is read. `error` is what they raised."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")
        self.error: BaseException | None = None

    def read(self, size: int) -> bytes:
        """Return at most so many bytes; none at the end."""
        try:
            while not self._left and (piece := next(self._pieces, None)) is not None:
                self._left = memoryview(piece)
        except BaseException as error:
            self.error = error
            raise
        some, self._left = self._left[:size], self._left[size:]
        return bytes(some)


class _ErrorKeepingWriter:
    """A file that is written. `error` is what it raised."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: BaseException | None = None

    def write(self, data: bytes) -> int:
        """Write all of it."""
        try:
            return self._file.write(data)
        except BaseException as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Leave that to the code that opened the file."""


def collect_recipients(keys: Iterable[str], files: Iterable[str]) -> tuple[str, ...]:
    """Return these public keys and those of the files of --recipients-file, checked.

    Raises InputError, FileError.
    """
    paths = [require_file_path(one, "a key", "--recipients-file") for one in files]
    recipients = (*keys, *(key for path in paths for key in read_recipients(path)))
    if recipients:
        check_recipients(recipients)
    return recipients


def check_recipients(recipients: Iterable[str]) -> list[Key]:
    """Return the public keys that these texts write. Raises InputError for the first that writes none."""
    return [_parse_recipient(text) for text in dict.fromkeys(text.strip() for text in recipients)]


def _parse_recipient(text: str) -> Key:
    # A private key in its place is the one slip that must not be repeated by an error.
    public = text.startswith(("age1", "ssh-"))
    private = "SECRET" in text.upper() or (may_be_private_key(text) and not public)
    shown = "(a private key)" if private else repr(text[:24])
    age = _import_age()
    kind = age.x25519 if text.startswith("age1") else age.ssh
    try:
        return kind.Recipient.from_str(text)
    except (age.RecipientError, ValueError):
        raise InputError(
            f"{shown} is not a public key that a plan can be encrypted for.",
            next="give age1... (age-keygen -y KEY) or the line of an SSH key, ssh-ed25519 AAAA...",
        ) from None


def require_file_path(text: str, what: str, said_by: str) -> Path:
    """Return the file that a text names. Raises InputError, without the text, where it may be a key."""
    if may_be_private_key(text) and not os.path.lexists(
        text
    ):  # also false for a name too long for the system
        raise InputError(
            f"{said_by} holds {what} itself, or what looks like one; it must hold the name of a file "
            "with the key.",
            next="write it into a file that only you may read, and name that file",
        )
    return Path(text)


def read_recipients(path: Path) -> tuple[str, ...]:
    """Return the public keys of a file, one a line; # begins a comment. Raises FileError, InputError."""
    lines = _key_lines(path, read_file(path, most=key_bytes_max), "public keys")
    if not lines:
        raise InputError(f"{path}: it holds no public key.", next="write one on each line: age1...")
    return lines


def decrypt_file(data: bytes, *, shown: str, identity: str | None, environ: Mapping[str, str]) -> bytes:
    """Return what an encrypted file holds. Raises InputError, FileError: no key, another one, damaged."""
    _import_age()
    name = identity or environ.get(IDENTITY_VARIABLE, "")
    if data.startswith(_ARMOUR):
        raise InputError(
            f"{shown}: this is an encrypted file in text form, but a plan file has the binary form.",
            next="take the file as `reconciler plan -o FILE` wrote it",
        )
    if not name:
        raise InputError(
            f"{shown}: this plan is encrypted.",
            next=f"name the file with your private key: --identity FILE, or {IDENTITY_VARIABLE}",
        )
    identities = read_identities(
        require_file_path(name, "a private key", f"--identity or {IDENTITY_VARIABLE}")
    )
    try:
        return open_encrypted(data, identities)
    except AnotherKey:
        raise InputError(
            f"{shown}: this plan is not encrypted to the key in {name}.",
            next="use the private key of one of its recipients, or plan again with --encrypt-to and "
            "your own key",
        ) from None
    except DamagedFile:
        raise InputError(
            f"{shown}: this encrypted file is damaged or cut short.",
            next="copy the file again from where it was written, or plan again",
        ) from None


class AnotherKey(Exception):
    """A file is not encrypted to any of the keys."""


class DamagedFile(Exception):
    """A file begins as encrypted ones do, and is not whole."""


def open_encrypted(data: bytes, identities: Sequence[Key]) -> bytes:
    """Return what an encrypted file holds, in either form. Raises AnotherKey, DamagedFile, MissingExtra."""
    age = _import_age()
    try:
        return bytes(age.decrypt(data, identities))
    except age.DecryptError as error:
        raise (AnotherKey if "matching keys" in str(error) else DamagedFile) from None


def read_identities(path: Path) -> list[Key]:
    """Return the private keys of a file that only its owner may read. Raises FileError, InputError."""
    return parse_identities(read_file(path, most=key_bytes_max, private=True), path)


def parse_identities(data: bytes, path: Path | str) -> list[Key]:
    """Return the private keys of a text; messages name it by `path`. Raises InputError."""
    if data.startswith((_HEADER, _ARMOUR)):
        raise _locked_key_error(path)
    if data.lstrip().startswith(b"-----BEGIN "):
        return [_parse_ssh_identity(path, data)]
    found = [_parse_identity(path, line) for line in _key_lines(path, data, "private keys")]
    if not found:
        raise InputError(f"{path}: it holds no private key.", next="make one: age-keygen -o FILE")
    return found


def _parse_identity(path: Path | str, line: str) -> Key:
    age = _import_age()
    try:
        return age.x25519.Identity.from_str(line)
    except (age.IdentityError, ValueError):  # its text may quote the key
        raise InputError(
            f"{path}: it holds a line that is not a private key.",
            next="name the file that age-keygen wrote (AGE-SECRET-KEY-1...), or an SSH private key",
        ) from None


def _parse_ssh_identity(path: Path | str, data: bytes) -> Key:
    age = _import_age()
    try:
        return age.ssh.Identity.from_buffer(data)
    except (age.IdentityError, ValueError) as error:
        if "decrypted first" in str(error):
            raise _locked_key_error(path) from None
        raise InputError(
            f"{path}: this SSH private key cannot be used.", next="use an ed25519 key, or one of age-keygen"
        ) from None


def _locked_key_error(path: Path | str) -> InputError:
    return InputError(
        f"{path}: this private key is protected by a passphrase, and the command cannot ask for it.",
        next="give a key without a passphrase that only you can read; for CI, make a separate key",
    )


def _key_lines(path: Path | str, data: bytes, what: str) -> tuple[str, ...]:
    try:
        lines = [line.strip() for line in data.decode().splitlines()]
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is not a file of {what}.", next="name the right file") from None
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if len(found) > keys_max:
        raise InputError(f"{path}: it holds over {keys_max:,} {what}.", next="name the right file")
    return found
