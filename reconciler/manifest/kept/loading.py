"""Manifests from what was kept of them, and keeping them. What comes of it is what `load` and `resolve` say.

A manifest is kept by itself, as the part that it resolves to (core/declared/apart.py). What an entry was made
for is in its seal: the bytes of the manifest, the settings, and everything that reads them. The digests of
its rosters are in the entry, for nobody knows before which they are. An entry of anything else is no entry.

Only what has no mistake is kept, and nothing that takes a value from the environment or people from a
directory, has a payload, or holds a secret: such a manifest is read each time, the others are not. Wherever
joined parts might contradict each other, everything is read, so a mistake is told as if there were no cache.
"""

import re
import sys
import time
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from reconciler.core.declared.apart import ManifestPart, joined, parts_of
from reconciler.core.declared.resolve import Resolved, resolve
from reconciler.core.rules import rules_of
from reconciler.directories.reading import ReadOnce
from reconciler.errors import Problem
from reconciler.logbook import steps, stopwatch
from reconciler.manifest.files import ROSTER_BYTES_MAX, FileId, Unreadable, digest_below, ids_of
from reconciler.manifest.kept.entry import MAGIC, KeptPart, decoded, encoded
from reconciler.manifest.kept.keys import key_of
from reconciler.manifest.load import Loaded, load
from reconciler.manifest.readlog import ReadLog
from reconciler.manifest.schema.schemas import read_text
from reconciler.manifest.sources import ManifestFile, find, read
from reconciler.model.documents import ROWS_MAX, InputFile
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.ownership import Folder
from reconciler.private_cache import STATE_FOLDER as STORE_FOLDER
from reconciler.private_cache import make_private_folder
from reconciler.version import __version__

FOLDER = "cache"
bytes_min = 128 * 1024  # of all manifests and rosters; fewer are read as quickly as an entry
_entry_max = 512 * 1024 * 1024  # bytes
_FORM = re.compile(r"\.?[0-9a-f]{64}\.part(?:\.[0-9a-f]{16})?")
# Packages whose version decides what a value is taken for, and the folders of ours that do.
_PACKAGES = ("phonenumbers", "email-validator", "idna", "tzdata", "PyYAML", "jsonschema-rs")
_CODE = ("core", "live", "manifest", "model", "parsing")


class Declaration(Struct, frozen=True):
    """What the manifests declare, with how many files there are and how many of them were read anew.

    `made_of` tells it from what other manifests, rosters, settings or versions of this program declare; it is
    "" where that is not known. `inputs` are the files that were read, also those that were kept as they are.
    """

    desired: Desired
    files: int = 0
    anew: int = 0
    made_of: str = ""
    inputs: tuple[InputFile, ...] = ()


class ManifestCache:
    """What is kept for one project, its settings and this version of the program."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        least: int | None = None,
        version: str | None = None,
        directories: ReadOnce | None = None,
    ) -> None:
        """`least` are the bytes from which on manifests are kept, `version` is that of the loader.

        `directories` are those of the settings, where somebody else may ask them too.
        """
        self._directories = directories or ReadOnce(settings.directories)
        self._settings = settings
        self._environ = environ
        self._least = bytes_min if least is None else least
        self._version = version
        self._rules = rules_of(settings)
        self._root = Path(settings.root).resolve()
        self._folder = Folder(self._root, (STORE_FOLDER, FOLDER))

    def declared(self) -> Declaration | None:
        """Return what the manifests declare; None where all of them have to be read: then that says why."""
        took = stopwatch()
        log = ReadLog(self._root)
        found, problems = find([Path(path) for path in self._settings.manifests], self._root, log)
        key = None if problems else key_of(self._environ, make=False)
        if key is None:
            return None
        private = self._private(found)
        parts = {source.name: self._part(source, private, key, log) for source in found}
        unknown = [name for name, part in parts.items() if part is None]
        if not found or len(unknown) == len(found):
            return None
        fresh = self._read(unknown, inputs := [*log.files])
        if fresh is None:
            return None
        known = [kept.part if kept else fresh[name] for name, kept in sorted(parts.items())]
        desired = joined(known, rows_max=ROWS_MAX)
        if desired is None:
            return None
        steps.info(
            "manifests taken from the cache; files: %d, read anew: %d, %.1f s",
            len(found),
            len(unknown),
            took(),
        )
        seals = [kept.seal for _, kept in sorted(parts.items()) if kept]
        made_of = "" if unknown else sha256(b"".join(seals)).hexdigest()
        return Declaration(desired, len(found), len(unknown), made_of, tuple(inputs))

    def keep(self, loaded: Loaded, found: Resolved) -> None:
        """Keep what was loaded, which has no mistake. It fails in silence: then it is read again."""
        if sum(one.size for one in loaded.read) >= self._least:
            self._keep(loaded, self._parts_of(loaded, found))

    def _read(self, names: Iterable[str], inputs: list[InputFile]) -> Mapping[str, ManifestPart] | None:
        """Return the parts of manifests that were not kept, and keep them; None where they have a mistake.

        Adds what was read for them to `inputs`.
        """
        wanted = frozenset(names)
        if not wanted:
            return {}
        loaded = load_from(self._settings, self._environ, chosen=wanted, directories=self._directories)
        inputs += loaded.files
        found = resolve(loaded.manifests, self._rules)
        if (
            loaded.unasked
            or loaded.problems
            or found.problems
            or {one.file for one in loaded.manifests} != wanted
        ):
            return None
        parts = tuple(self._parts_of(loaded, found))
        self._keep(loaded, parts)
        return {one.file: part for one, part in zip(loaded.read, parts, strict=True)}

    def _parts_of(self, loaded: Loaded, found: Resolved) -> Iterable[ManifestPart]:
        rows = {one.file: one.rows for one in loaded.read}
        return parts_of(loaded.manifests, found, self._rules, rows)

    def _keep(self, loaded: Loaded, parts: Iterable[ManifestPart]) -> None:
        key = key_of(self._environ, make=True) if any(one.plain for one in loaded.read) else None
        if key is None:
            return
        try:
            make_private_folder(self._root / STORE_FOLDER)
        except OSError:  # a project that cannot be written
            return
        written = 0
        for one, part in zip(loaded.read, parts, strict=True):  # each is gone before the next is made
            if not one.plain or _holds_secret(part):
                continue
            entry = encoded(
                KeptPart(part, one.rosters), key=key, made_for=self._made_for(one.file, one.digest)
            )
            written += self._folder.write(self._name(one.file), entry)
        used = frozenset(self._name(one.file) for one in loaded.read)
        self._folder.clear(_FORM, besides=used, now_s=time.time())
        steps.info("manifests kept in the cache; files: %d of %d", written, len(loaded.read))

    def _part(
        self, source: ManifestFile, private: frozenset[FileId], key: bytes, log: ReadLog
    ) -> KeptPart | None:
        """Return what was kept of a manifest that is as it was, its rosters too."""
        entry = self._folder.read(self._name(source.name), bytes_max=_entry_max)
        data = read(source, log) if entry is not None else None
        if entry is None or data is None or isinstance(data, Problem):
            return None
        made_for = self._made_for(source.name, sha256(data).digest())
        kept = decoded(entry, key=key, made_for=made_for)
        if kept is None:
            return None
        for parts, digest in kept.rosters.items():
            try:
                found = digest_below(self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=private, log=log)
                if found != digest:
                    return None
            except (Unreadable, OSError):  # it is told where the manifest is read
                return None
        return kept

    def _private(self, found: Iterable[ManifestFile]) -> frozenset[FileId]:
        return ids_of((*map(Path, self._settings.private_files), *(source.path for source in found)))

    def _name(self, file: str) -> str:
        return f"{sha256(self._settings_digest + file.encode()).hexdigest()}.part"

    def _made_for(self, file: str, digest: bytes) -> bytes:
        return encode_json([self._version or _version(), self._settings_digest.hex(), file, digest.hex()])

    @cached_property
    def _settings_digest(self) -> bytes:
        """The digest of all settings that decide what manifests mean, kinds of the profile included."""
        return sha256(
            encode_json([self._rules, self._settings.contact_fields, list(KINDS.values())])
        ).digest()


def load_from(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    chosen: frozenset[str] | None = None,
    directories: ReadOnce | None = None,
) -> Loaded:
    """Return what the manifests of a project say; with `chosen`, only those of these names.

    `directories` are those of the settings, of which some may have been asked already.
    """
    return load(
        [Path(path) for path in settings.manifests],
        root=Path(settings.root),
        environ=environ,
        variables=settings.variables,
        variable_files=settings.variable_files,
        extra_contact_fields=settings.contact_fields,
        private=[Path(path) for path in settings.private_files],
        chosen=chosen,
        directories=directories or ReadOnce(settings.directories),
    )


def _holds_secret(part: ManifestPart) -> bool:
    shapes = {(address.kind, tuple(entity.fields)) for address, entity in part.entities.items()}
    return any(not KINDS[kind].secret.isdisjoint(paths) for kind, paths in shapes)


@cache
def _version() -> str:
    """Return what tells this loader from every other: of packages, ours among them, of Python and schemas."""
    made = sha256(MAGIC)
    for text in (sys.version, __version__, *map(_installed, _PACKAGES)):
        made.update(text.encode() + b"\0")
    for name in ("manifest", "common"):
        made.update(read_text(name).encode())
    # While somebody works on it, one version is many: the files are told by their time and size.
    package = Path(__file__).parents[2]
    for folder in _CODE:
        for path in sorted((package / folder).rglob("*.py")):
            about = path.stat()
            made.update(f"{path.relative_to(package)} {about.st_size} {about.st_mtime_ns}\0".encode())
    return made.hexdigest()


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
