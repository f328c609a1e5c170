"""`secrets.files` of the settings: variables that manifests may read and the environment does not have.

Belongs here: when such a file is opened, which are believed, whose key opens an encrypted one, what is wrong
with it. Not here: the form of its lines (core/exporting/envfile.py), the format of encryption
(files/encryption.py), which variables a manifest may read (manifest/variables.py).

What a file holds stays in memory: it is written nowhere, given to no other program, and quoted by no mistake.
"""

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from reconciler.core.exporting.envfile import Assignment, read_env
from reconciler.environment.checkout import is_committed, is_ignored_by_git
from reconciler.errors import FileError, InputError, Problem
from reconciler.files import encryption
from reconciler.files.project_files import ReadLog, is_in_repository
from reconciler.model.documents import InputFile
from reconciler.model.settings import NO_FILES, VariableFiles
from reconciler.settings import credentials, trust
from reconciler.settings.directories import Revealed
from reconciler.settings.values import Layers, Value
from reconciler.settings.variables import variable

FILES, IDENTITY = "secrets.files", "secrets.identity"
file_bytes_max = 16 * 1024 * 1024  # bytes; 100,000 push tokens of 160 characters. Encryption adds 1 in 4,000
_OPEN_TO_OTHERS = 0o077


def read_variable_files(layers: Layers, environ: Mapping[str, str], revealed: Revealed) -> VariableFiles:
    """Return the files that the settings name. Opens none; `revealed` hears the key when it is read."""
    return _Late(layers, environ, revealed) if _value(layers, FILES).raw else NO_FILES


class _Mistake(Exception):
    """A file cannot be used, and `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem


class _Late(VariableFiles):
    """Files that are opened by the first variable that is looked for in them."""

    def __init__(self, layers: Layers, environ: Mapping[str, str], revealed: Revealed) -> None:
        self._layers = layers
        self._environ = environ
        self._revealed = revealed
        self._who = trust.this_user(environ)
        self._keys: Sequence[encryption.Key] = ()
        self._opened: dict[
            str, tuple[bytes, bytes]
        ] = {}  # by name: the digest of what was read, what it held
        self._found: Mapping[str, str] | None = None
        self.paths: Sequence[str] = tuple(dict.fromkeys(_value(layers, FILES).raw))

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
        """Return every variable of every file; none where one file has a mistake: then `problems` tells."""
        found: dict[str, str] = {}
        places: dict[str, str] = {}
        problems: list[Problem] = []
        log = ReadLog(self._layers.root)
        for name in self.paths:
            try:
                text = self._text_of(name, log)
            except _Mistake as mistake:
                problems.append(mistake.problem)
                continue
            for one in read_env(text):
                what, hint = (
                    self._objection(one, places) if isinstance(one, Assignment) else (one.what, one.next)
                )
                if what:
                    problems.append(Problem(name, one.line, 0, what, hint, code="E182"))
                elif isinstance(one, Assignment):
                    found[one.name], places[one.name] = one.value, f"{name}:{one.line}"
        self.problems, self.inputs = tuple(problems), log.files
        return {} if problems else found

    def _objection(self, one: Assignment, places: Mapping[str, str]) -> tuple[str, str]:
        """Return what is wrong with an assignment, without its name: a secret in the wrong place is one."""
        allowed: Sequence[str] = _value(self._layers, "variables").raw
        if not any(fnmatchcase(one.name, glob) for glob in allowed):
            some = ", ".join(allowed) or "nothing yet"
            return (
                "this line sets a variable that manifests may not read.",
                f"take it out, or add it to `variables` of the settings; they allow {some}",
            )
        if one.name in places:
            return (
                f"this line sets the variable that {places[one.name]} sets.",
                "keep the line that is right, and take the other one out",
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
        except UnicodeDecodeError:  # it holds the bytes, so it is not kept as the cause
            raise self._refused(
                f"{name} holds bytes that are not UTF-8 text.",
                "save it as UTF-8, and encrypt it again",
                "E106",
            ) from None

    def _bytes_of(self, path: Path, name: str) -> tuple[bytes, int]:
        """Return the content of a file that nobody else can have made, and its mode."""
        try:
            found = trust.read_with_mode(path, self._who, file_bytes_max + 1)
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
        """Refuse secrets in plain text where others, or a commit, may have them."""
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
        """Return what an encrypted file holds; the same bytes are not decrypted twice."""
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
            hint = "check it out again, or write it anew; as text it must not be converted"
            raise self._refused(f"{name} is damaged or cut short.", hint, "E181") from None
        except (InputError, FileError) as error:  # a key that is none, a library that is not installed
            raise self._refused(f"{name}: {error}", error.next, "E181") from None
        self._opened[name] = digest, held
        return held

    def _identities(self, name: str) -> Sequence[encryption.Key]:
        """Return the private keys, read once."""
        if not self._keys:
            self._keys = self._read_identities(name)
        return self._keys

    def _read_identities(self, name: str) -> Sequence[encryption.Key]:
        value = _value(self._layers, IDENTITY)
        if value.raw is not None:
            try:
                source = credentials.source_of(value.raw)
                key = credentials.read_lines(source, root=self._layers.root, environ=self._environ).reveal()
            except credentials.SecretRefused as refusal:
                raise _Mistake(value.problem(f"{refusal}.", refusal.next, refusal.code)) from None
            for line in key.splitlines():
                self._revealed(line.strip())
            return encryption.parse_identities(key.encode(), f"{IDENTITY} ({source})")
        file = self._environ.get(encryption.IDENTITY_VARIABLE, "")
        if not file:
            raise self._refused(
                f"{name} is encrypted, and nothing names the private key that opens it.",
                f"set {variable(IDENTITY)} to the key (AGE-SECRET-KEY-1...), or "
                f"{encryption.IDENTITY_VARIABLE} to the name of a file with it; "
                "`validate --without-variables` checks the rest",
                "E181",
            )
        return encryption.read_identities(
            encryption.require_file_path(file, "a private key", encryption.IDENTITY_VARIABLE)
        )

    def _refused(self, what: str, hint: str, code: str) -> _Mistake:
        return _Mistake(_value(self._layers, FILES).problem(what, hint, code))


def _value(layers: Layers, name: str) -> Value:
    return layers.values[tuple(name.split("."))]
