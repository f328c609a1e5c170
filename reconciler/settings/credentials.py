"""Secrets: from the environment, a file or a command's output to a value that is never shown.

Belongs here: reading one source and refusing what cannot be a credential. Not here: which secrets
there are (reading.py). No message holds a value, nor anything that a command printed.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reconciler.core.redact import mask_private_key
from reconciler.model.settings import Secret
from reconciler.settings import trust

secret_bytes_max = 16_384  # bytes; a signed token has a few thousand, a mistaken file has more
command_timeout_s = 30.0  # seconds; a password manager may ask a person to touch a key

# Variables without which a program does not find its parts, its owner's files, or its language.
_NEEDED = frozenset(
    {"PATH", "HOME", "LANG"}
    if os.name == "posix"
    else {"PATH", "PATHEXT", "SYSTEMROOT", "COMSPEC", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"}
)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class SecretRefused(Exception):
    """A source gave nothing usable. `str()` says why, without the value; `next` what to do."""

    def __init__(self, what: str, next: str, *, code: str) -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.next = next
        self.code = code


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where one secret comes from. `arguments` are a command's words; `name` a variable or a path.

    `variables` are those that the command gets beside the few that every program needs.
    """

    way: Literal["env", "file", "command"]
    name: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        """How `reconciler config` names it. Arguments stay unsaid: they may name vaults and people."""
        match self.way:
            case "env":
                return f"environment {mask_private_key(self.name)}"
            case "file":
                return f"file {mask_private_key(self.name)}"
            case "command":
                return f"command {self.arguments[0]}"


def source_of(written: Mapping[str, Any]) -> SecretSource:
    """Return the source that `{env: NAME}`, `{file: PATH}` or `{command: WORDS}` writes.

    A command may also be written `{run: WORDS, variables: [NAME, ...]}`.
    """
    ((way, value),) = written.items()
    if way != "command":
        return SecretSource("env" if way == "env" else "file", name=str(value))
    if isinstance(value, dict):
        return SecretSource(
            "command", arguments=_words(value["run"]), variables=tuple(value.get("variables", ()))
        )
    return SecretSource("command", arguments=_words(value))


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(value, str):
        return tuple(value)
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise SecretRefused(
            "the command has a quote that is not closed", "write it as a list of words", code="E100"
        ) from error
    if not words:
        raise SecretRefused("the command is empty", "name the program that prints the secret", code="E100")
    return words


def read(
    source: SecretSource, *, root: Path, environ: Mapping[str, str], timeout_s: float = command_timeout_s
) -> Secret:
    """Return the secret of `source`. Raises SecretRefused.

    One newline at the end is taken off; relative paths and programs start at `root`.
    """
    text = _read_text(source, root, environ, timeout_s)
    _check_text(text, source)
    return Secret(text)


def read_lines(source: SecretSource, *, root: Path, environ: Mapping[str, str]) -> Secret:
    """Return the same of one that may be several lines, as the file of a private key is."""
    text = _read_text(source, root, environ, command_timeout_s)
    _check_text(re.sub(r"[\r\n]", "", text), source)
    return Secret(text)


def _read_text(source: SecretSource, root: Path, environ: Mapping[str, str], timeout_s: float) -> str:
    match source.way:
        case "env":
            text = _from_environment(source.name, environ)
        case "file":
            text = _text(
                _from_file(root / source.name, mask_private_key(source.name), trust.this_user(environ)),
                source,
            )
        case "command":
            text = _text(_from_command(source, root, environ, timeout_s), source)
    return text.removesuffix("\n").removesuffix("\r")


def _from_environment(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise SecretRefused(
            f"the environment variable {name} is not set", f"set {name} and run again", code="E202"
        )
    return environ[name]


def _from_file(path: Path, name: str, who: trust.Who) -> bytes:
    hint = f"put the secret, and nothing else, into {name}"
    try:
        found = trust.read(path, who, secret_bytes_max + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is unusable"
        raise SecretRefused(f"{name} cannot be read: {reason.lower()}", hint, code="E112") from error
    if found is None:
        raise SecretRefused(f"{name} is not a regular file", hint, code="E112")
    if isinstance(found, trust.Objection):
        raise SecretRefused(f"{name} is not used: {found.what}", found.next, code="E100")
    return found


def _environ(source: SecretSource, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command: what every program needs, and what the settings name for this one.

    The others may be secrets of the service, of the store, or of the CI job.
    """
    named = {*_NEEDED, *source.variables}
    return {name: value for name, value in environ.items() if name in named or name.startswith("LC_")}


def _from_command(source: SecretSource, root: Path, environ: Mapping[str, str], timeout_s: float) -> bytes:
    """Return what the program printed. No shell; its stderr is dropped, for it may hold the secret."""
    program = source.arguments[0]
    _check_program(program, root)
    with _started(source, root, environ) as process:
        printed = _printed(process, timeout_s)
    if printed is None:
        raise SecretRefused(
            f"the command {program} gave no answer within {timeout_s:g} s", _BY_HAND, code="E100"
        )
    if process.returncode != 0:
        raise SecretRefused(f"the command {program} ended with {process.returncode}", _BY_HAND, code="E100")
    return printed


_BY_HAND = (
    "run the command by hand to see what it prints; from here it gets PATH, HOME, LANG, LC_* and the "
    "`variables` that the settings name for it"
)


def _started(source: SecretSource, root: Path, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    words = source.arguments
    try:
        return subprocess.Popen(  # noqa: S603 - the author of the settings names the program; no shell reads it
            words,
            cwd=root,
            env=_environ(source, environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the words are unusable"
        what = f"the command {words[0]} cannot be started: {reason.lower()}"
        raise SecretRefused(what, _BY_HAND, code="E100") from error


def _printed(process: "subprocess.Popen[bytes]", timeout_s: float) -> bytes | None:
    """Return what a program prints until it ends; None where it is ended because it took too long."""
    try:
        return process.communicate(timeout=timeout_s)[0]
    except subprocess.TimeoutExpired:
        # Its children may still hold the pipe: closing our end is what keeps us from waiting for them.
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        return None


def _check_program(name: str, root: Path) -> None:
    """Refuse a program that anybody could have written. One without a path is the system's to find."""
    found = None
    if "/" in name:
        with suppress(OSError):  # it is not there: starting it will tell
            found = trust.program_objection(root / name)
    if found is not None:
        raise SecretRefused(f"the command {name} is not run: {found.what}", found.next, code="E100")


def _text(data: bytes, source: SecretSource) -> str:
    if len(data) > secret_bytes_max:
        raise SecretRefused(
            f"{source} gives over {secret_bytes_max:,} bytes", "give the secret and nothing else", code="E100"
        )
    try:
        return data.decode()
    except UnicodeDecodeError:  # it holds the bytes, so it is not kept as the cause
        raise SecretRefused(
            f"{source} gives bytes that are not UTF-8 text", "store it as text", code="E106"
        ) from None


def _check_text(text: str, source: SecretSource) -> None:
    if not text:
        raise SecretRefused(f"{source} is empty", "set it", code="E100")
    found = _CONTROL.search(text)
    if found is not None:
        where = "a line break" if found[0] in "\r\n" else f"the control character U+{ord(found[0]):04X}"
        raise SecretRefused(
            f"{source} holds {where} inside the value",
            "store the secret as one line of plain text",
            code="E100",
        )
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SecretRefused(f"{source} is not UTF-8 text", "store the secret as text", code="E106")
    # A byte order mark that an editor left, a zero-width space that a web page gave: the service would
    # only say that the password is wrong.
    hidden = next((character for character in text if not character.isprintable()), "")
    if hidden:
        raise SecretRefused(
            f"{source} holds the invisible character U+{ord(hidden):04X}",
            "type the secret, or copy it again",
            code="E100",
        )
    if len(text.encode()) > secret_bytes_max:
        raise SecretRefused(
            f"{source} gives over {secret_bytes_max:,} bytes", "give the secret and nothing else", code="E100"
        )
