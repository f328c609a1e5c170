"""Reading secrets: from the environment, a file, a command, or the files of `secrets.files`.

No message holds a secret, nor anything that a command printed.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from reconciler.core.envfile import EnvVariable, parse_env
from reconciler.core.redact import mask_private_key
from reconciler.database_urls import list_database_files
from reconciler.environment.checkout import is_committed, is_ignored_by_git
from reconciler.errors import FileError, InputError, Problem
from reconciler.files import encryption
from reconciler.files.project_files import ReadLog, is_in_repository
from reconciler.model.documents import InputFile
from reconciler.model.secrets import NO_FILES, Secret, VariableFiles
from reconciler.settings import trust
from reconciler.settings.layers import (
    DIRECTORY_SECRETS,
    MAYBE_REFERENCES,
    SettingLayers,
    variable_of_setting,
)

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

    `variables` are those that the command gets besides the few that every program needs.
    """

    way: Literal["env", "file", "command"]
    name: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        """How `reconciler config` names it, without arguments: they may name vaults and people."""
        match self.way:
            case "env":
                return f"environment {mask_private_key(self.name)}"
            case "file":
                return f"file {mask_private_key(self.name)}"
            case "command":
                return f"command {self.arguments[0]}"


def parse_secret_source(written: Mapping[str, Any]) -> SecretSource:
    """Return the source that `{env: NAME}`, `{file: PATH}` or `{command: WORDS}` names.

    A command may also be written `{run: WORDS, variables: [NAME, ...]}`.
    """
    ((way, value),) = written.items()
    if way != "command":
        return SecretSource("env" if way == "env" else "file", name=str(value))
    if isinstance(value, dict):
        return SecretSource(
            "command", arguments=_command_words(value["run"]), variables=tuple(value.get("variables", ()))
        )
    return SecretSource("command", arguments=_command_words(value))


def _command_words(value: str | Sequence[str]) -> tuple[str, ...]:
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


def read_secret_source(
    source: SecretSource, *, root: Path, environ: Mapping[str, str], timeout_s: float = command_timeout_s
) -> Secret:
    """Return the secret of `source`. Raises SecretRefused.

    One newline at the end is removed; relative paths and programs start at `root`.
    """
    text = _read_text(source, root, environ, timeout_s)
    _check_text(text, source)
    return Secret(text)


def read_multiline_secret(source: SecretSource, *, root: Path, environ: Mapping[str, str]) -> Secret:
    """Return a secret that may have several lines, as a private key has. Raises SecretRefused."""
    text = _read_text(source, root, environ, command_timeout_s)
    _check_text(re.sub(r"[\r\n]", "", text), source)
    return Secret(text)


def _read_text(source: SecretSource, root: Path, environ: Mapping[str, str], timeout_s: float) -> str:
    match source.way:
        case "env":
            text = _read_environment(source.name, environ)
        case "file":
            text = _decode_secret(
                _read_secret_file(
                    root / source.name, mask_private_key(source.name), trust.trusted_users(environ)
                ),
                source,
            )
        case "command":
            text = _decode_secret(_read_command(source, root, environ, timeout_s), source)
    return text.removesuffix("\n").removesuffix("\r")


def _read_environment(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise SecretRefused(
            f"the environment variable {name} is not set", f"set {name} and run again", code="E202"
        )
    return environ[name]


def _read_secret_file(path: Path, name: str, who: trust.TrustedUsers) -> bytes:
    hint = f"put only the secret into {name}"
    try:
        found = trust.read_trusted(path, who, secret_bytes_max + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is unusable"
        raise SecretRefused(f"{name} cannot be read: {reason.lower()}", hint, code="E112") from error
    if found is None:
        raise SecretRefused(f"{name} is not a regular file", hint, code="E112")
    if isinstance(found, trust.Objection):
        raise SecretRefused(f"{name} is not used: {found.what}", found.next, code="E100")
    return found


def _command_environment(source: SecretSource, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command: those that every program needs, and those that the settings name.

    Others may be secrets of the service, of the store, or of the CI job.
    """
    named = {*_NEEDED, *source.variables}
    return {name: value for name, value in environ.items() if name in named or name.startswith("LC_")}


def _read_command(source: SecretSource, root: Path, environ: Mapping[str, str], timeout_s: float) -> bytes:
    """Return the output of a program, run without a shell. Its stderr is dropped: it may hold the secret."""
    program = source.arguments[0]
    _check_program(program, root)
    with _start_command(source, root, environ) as process:
        printed = _wait_for_output(process, timeout_s)
    if printed is None:
        raise SecretRefused(
            f"the command {program} did not end within {timeout_s:g} s", _RUN_BY_HAND, code="E100"
        )
    if process.returncode != 0:
        raise SecretRefused(
            f"the command {program} ended with exit code {process.returncode}", _RUN_BY_HAND, code="E100"
        )
    return printed


_RUN_BY_HAND = (
    "run the command by hand to see its output; here it gets only PATH, HOME, LANG, LC_* and the "
    "`variables` that the settings name for it"
)


def _start_command(source: SecretSource, root: Path, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    words = source.arguments
    try:
        return subprocess.Popen(  # noqa: S603 - the author of the settings names the program; no shell reads it
            words,
            cwd=root,
            env=_command_environment(source, environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the words are unusable"
        what = f"the command {words[0]} cannot be started: {reason.lower()}"
        raise SecretRefused(what, _RUN_BY_HAND, code="E100") from error


def _wait_for_output(process: "subprocess.Popen[bytes]", timeout_s: float) -> bytes | None:
    """Return the whole output of a program; None where it took too long and was killed."""
    try:
        return process.communicate(timeout=timeout_s)[0]
    except subprocess.TimeoutExpired:
        # Its children may still hold the pipe: without closing our end we would wait for them.
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        return None


def _check_program(name: str, root: Path) -> None:
    """Refuse a program that anybody could have written. The system finds one that is named without a path."""
    found = None
    if "/" in name:
        with suppress(OSError):  # it is missing: starting it fails with a message
            found = trust.find_program_objection(root / name)
    if found is not None:
        raise SecretRefused(f"the command {name} is not run: {found.what}", found.next, code="E100")


def _decode_secret(data: bytes, source: SecretSource) -> str:
    if len(data) > secret_bytes_max:
        raise SecretRefused(
            f"{source} has over {secret_bytes_max:,} bytes", "give only the secret", code="E100"
        )
    try:
        return data.decode()
    except UnicodeDecodeError:  # not kept as the cause, because it holds the bytes
        raise SecretRefused(f"{source} is not UTF-8 text", "store it as text", code="E106") from None


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
            f"{source} has over {secret_bytes_max:,} bytes", "give only the secret", code="E100"
        )


Revealed = Callable[[str], None]


def ignore_secret(_: str) -> None:
    """Do nothing with a secret that was read: this caller prints no output that it has to be hidden in."""


# --- Files of variables (`secrets.files`) ---------------------------------------------------------


FILES, IDENTITY = "secrets.files", "secrets.identity"
file_bytes_max = 16 * 1024 * 1024  # bytes; 100,000 push tokens of 160 characters. Encryption adds 1 in 4,000
_OPEN_TO_OTHERS = 0o077


def read_variable_files(
    layers: SettingLayers, environ: Mapping[str, str], revealed: Revealed
) -> VariableFiles:
    """Return the files that the settings name, unopened. `revealed` is called with the key."""
    return _LazyVariableFiles(layers, environ, revealed) if layers.value_of(FILES).raw else NO_FILES


class _UnusableFile(Exception):
    """A file cannot be used; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem


class _LazyVariableFiles(VariableFiles):
    """Files that are opened when the first variable is looked up."""

    def __init__(self, layers: SettingLayers, environ: Mapping[str, str], revealed: Revealed) -> None:
        self._layers = layers
        self._environ = environ
        self._revealed = revealed
        self._who = trust.trusted_users(environ)
        self._keys: Sequence[encryption.Key] = ()
        # By name: the digest of the encrypted bytes, and the decrypted content.
        self._opened: dict[str, tuple[bytes, bytes]] = {}
        self._found: Mapping[str, str] | None = None
        self.paths: Sequence[str] = tuple(dict.fromkeys(layers.value_of(FILES).raw))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.paths)})"

    def begin(self) -> None:
        self._found = None
        self.problems: Sequence[Problem] = ()
        self.inputs: Sequence[InputFile] = ()

    def find(self, name: str) -> str | None:
        if self._found is None:
            self._found = self._read()
        return self._found.get(name)

    def _read(self) -> Mapping[str, str]:
        """Return every variable of every file; none where one file has a mistake, which is in `problems`."""
        found: dict[str, str] = {}
        places: dict[str, str] = {}
        problems: list[Problem] = []
        log = ReadLog(self._layers.root)
        for name in self.paths:
            try:
                text = self._text_of(name, log)
            except _UnusableFile as mistake:
                problems.append(mistake.problem)
                continue
            for one in parse_env(text):
                what, hint = (
                    self._objection(one, places) if isinstance(one, EnvVariable) else (one.what, one.next)
                )
                if what:
                    problems.append(Problem(name, one.line, 0, what, hint, code="E182"))
                elif isinstance(one, EnvVariable):
                    found[one.name], places[one.name] = one.value, f"{name}:{one.line}"
        self.problems, self.inputs = tuple(problems), log.files
        return {} if problems else found

    def _objection(self, one: EnvVariable, places: Mapping[str, str]) -> tuple[str, str]:
        """Return what is wrong with an assignment, without its name, which may be a misplaced secret."""
        allowed: Sequence[str] = self._layers.value_of("variables").raw
        if not any(fnmatchcase(one.name, glob) for glob in allowed):
            some = ", ".join(allowed) or "nothing yet"
            return (
                "this line sets a variable that manifests may not read.",
                f"take it out, or add it to `variables` of the settings; they allow {some}",
            )
        if one.name in places:
            return (
                f"this line sets the variable that {places[one.name]} sets.",
                "remove one of the two lines",
            )
        return "", ""

    def _text_of(self, name: str, log: ReadLog) -> str:
        path = self._layers.root / name
        data, mode = self._bytes_of(path, name)
        if encryption.is_encrypted(data):
            if is_in_repository(path.parent.resolve()):
                log.note_links(path)
                log.note(path.resolve(), data)
            data = self._decrypted(name, data)
        else:
            self._check_plain(path, name, mode)
        try:
            return data.decode()
        except UnicodeDecodeError:  # not kept as the cause, because it holds the bytes
            raise self._refused(
                f"{name} holds bytes that are not UTF-8 text.",
                "save it as UTF-8, and encrypt it again",
                "E106",
            ) from None

    def _bytes_of(self, path: Path, name: str) -> tuple[bytes, int]:
        """Return the content of a file that no other user could have written, and its mode."""
        try:
            found = trust.read_trusted_with_mode(path, self._who, file_bytes_max + 1)
        except (OSError, ValueError) as error:
            reason = (
                error.strerror if isinstance(error, OSError) and error.strerror else "the path is unusable"
            )
            hint = "check the name; it begins at the folder of the settings. Where git has it, check it out"
            raise self._refused(f"{name} cannot be read: {reason.lower()}.", hint, "E112") from error
        if found is None:
            raise self._refused(f"{name} is not a regular file.", "name a file", "E112")
        if isinstance(found, trust.Objection):
            raise self._refused(f"{name} is not used: {found.what}.", found.next, "E100")
        if len(found[0]) > file_bytes_max:
            what = f"{name} has over {file_bytes_max:,} bytes, which is the limit."
            raise self._refused(what, "name the right file, or several", "E108")
        return found

    def _check_plain(self, path: Path, name: str, mode: int) -> None:
        """Refuse secrets in plain text that other users could read or that a commit could hold."""
        encrypt = "encrypt it: age -r KEY -o secrets.env.age FILE; change what others may have read"
        if name.endswith(".age"):
            hint = "write it again: reconciler export --secrets-file, or age -r KEY -o FILE"
            raise self._refused(f"{name} is not encrypted in the age format.", hint, "E181")
        if os.name == "posix" and mode & _OPEN_TO_OTHERS:
            what = f"{name} holds secrets in plain text, and others may read or write it (mode {mode:04o})."
            raise self._refused(what, f"chmod 600 {path}", "E183")
        for one in dict.fromkeys((path, path.resolve())):
            if is_in_repository(one.parent.resolve()) and (not is_ignored_by_git(one) or is_committed(one)):
                why = "the commit holds it" if is_committed(one) else "git does not ignore it"
                raise self._refused(f"{name} holds secrets in plain text, and {why}.", encrypt, "E183")

    def _decrypted(self, name: str, data: bytes) -> bytes:
        """Return the content of an encrypted file; the same bytes are not decrypted twice."""
        digest = sha256(data).digest()
        if name in self._opened and self._opened[name][0] == digest:
            return self._opened[name][1]
        try:
            held = encryption.open_encrypted(data, self._identities(name))
        except encryption.AnotherKey:
            what = f"{name} is not encrypted to the private key of this command."
            hint = "give the key of one of its recipients, or encrypt the file to this one as well"
            raise self._refused(what, hint, "E181") from None
        except encryption.DamagedFile:
            hint = "check the file out again, or write it again; git must not convert its line ends"
            raise self._refused(f"{name} is damaged or cut short.", hint, "E181") from None
        except (InputError, FileError) as error:  # not a key, or a library is not installed
            raise self._refused(f"{name}: {error}", error.next, "E181") from None
        self._opened[name] = digest, held
        return held

    def _identities(self, name: str) -> Sequence[encryption.Key]:
        """Return the private keys, read once."""
        if not self._keys:
            self._keys = self._read_identities(name)
        return self._keys

    def _read_identities(self, name: str) -> Sequence[encryption.Key]:
        value = self._layers.value_of(IDENTITY)
        if value.raw is not None:
            try:
                source = parse_secret_source(value.raw)
                key = read_multiline_secret(source, root=self._layers.root, environ=self._environ).reveal()
            except SecretRefused as refusal:
                raise _UnusableFile(value.problem(f"{refusal}.", refusal.next, refusal.code)) from None
            for line in key.splitlines():
                self._revealed(line.strip())
            return encryption.parse_identities(key.encode(), f"{IDENTITY} ({source})")
        file = self._environ.get(encryption.IDENTITY_VARIABLE, "")
        if not file:
            raise self._refused(
                f"{name} is encrypted, and nothing names the private key that opens it.",
                f"set {variable_of_setting(IDENTITY)} to the key (AGE-SECRET-KEY-1...), or "
                f"{encryption.IDENTITY_VARIABLE} to the name of a file with it; "
                "`validate --without-variables` checks the rest",
                "E181",
            )
        return encryption.read_identities(
            encryption.require_file_path(file, "a private key", encryption.IDENTITY_VARIABLE)
        )

    def _refused(self, what: str, hint: str, code: str) -> _UnusableFile:
        return _UnusableFile(self._layers.value_of(FILES).problem(what, hint, code))


# --- Private files, which no manifest may name ----------------------------------------------------
# Of every section of `environments`, not only of the one that a run uses: a manifest that is merged for one
# environment is applied in all of them.


_VARIABLES = ("RECONCILER_IDENTITY", "PGPASSFILE", "PGSSLKEY")


def list_private_files(layers: SettingLayers, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths, each once; relative ones begin at the folder of the settings."""
    found = [str(layers.file)]
    sections = layers.written.get("environments", {})
    for section in (layers.written, *sections.values()):
        found += _secret_files(section)
        found += list_database_files(section.get("store", ""))
        found += _directory_files(section)
        found += section.get("secrets", {}).get("files", ())
    found += list_database_files(layers.value_of("store").raw)
    found += layers.value_of(FILES).raw
    found += [environ[name] for name in _VARIABLES if environ.get(name)]
    return tuple(dict.fromkeys(str(layers.root / Path(path)) for path in found))


def _secret_files(section: Mapping[str, Any]) -> Iterator[str]:
    for name in MAYBE_REFERENCES:
        written: Any = section
        for step in name.split("."):
            written = written.get(step, {})
        if isinstance(written, dict) and "file" in written:
            yield written["file"]


def _directory_files(section: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of the secrets of directories, and databases that are files."""
    for described in section.get("directories", {}).values():
        for kind, key in (*DIRECTORY_SECRETS, ("sql", "url")):
            written = described.get(kind, {}).get(key, "")
            if isinstance(written, dict) and "file" in written:
                yield written["file"]
            elif key == "url" and isinstance(written, str):
                yield from list_database_files(written)
