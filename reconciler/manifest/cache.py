"""The cache of manifests: what was declared by unchanged files, without reading them again.

The result is always that of `load_manifests` and `resolve_desired`. A manifest is cached by itself, as the
part that it resolves to (core/desired/partition.py). What an entry was made for is in its seal: the bytes of
the manifest, the settings, and everything that reads them. The digests of its rosters are in the entry, for
nobody knows before which they are. An entry of anything else is no entry.

Only what has no mistake is cached, and nothing that takes a value from the environment or people from a
directory, has a payload, or holds a secret: such a manifest is read each time, the others are not. Wherever
joined parts might contradict each other, everything is read, so mistakes are reported as without a cache.
"""

import hmac
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from hmac import compare_digest
from importlib import metadata
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from reconciler.core.desired.partition import ManifestPart, join_parts, split_into_parts
from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.rules import make_rules
from reconciler.directories.answers import ReadOnce
from reconciler.errors import Problem
from reconciler.files.project_files import (
    ROSTER_BYTES_MAX,
    FileId,
    ReadLog,
    Unreadable,
    digest_below_root,
    identify_files,
)
from reconciler.instrumentation import start_stopwatch, step_log
from reconciler.manifest.load import LoadedManifests, load_project
from reconciler.manifest.sources import ManifestFile, find_manifests, read_manifest
from reconciler.model.address import Address
from reconciler.model.documents import ROWS_MAX, Controls, InputFile, Place, Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Entity, Scope
from reconciler.ownership import Folder
from reconciler.private_cache import STATE_FOLDER as STORE_FOLDER
from reconciler.private_cache import make_private_folder, read_cache_key
from reconciler.schema.shipped import read_schema_text
from reconciler.version import __version__

# --- One entry as bytes, and back -----------------------------------------------------------------
#
#     magic, the HMAC-SHA256 of what it was made for and of all that follows,
#     sections, each behind its length in 8 bytes: the manifest without entities, then 10,000 entities in each
#
# Entities that are alike in their keys stand together, column by column, and a column with few values holds
# each once: that is smaller, and quicker to make entities of.

CACHE_MAGIC = b"reconciler cache 2\n"
_CHUNK = 10_000  # entities that are made at once: what one takes besides them is gone before the next
_FEW = 256  # different values of a column, so that one byte says which
_SEAL = 32  # bytes
_LENGTH = 8  # bytes

_Removed = tuple[str, str, int, int]  # address, file, line, column


class _Column(Struct, array_like=True):
    """The values of one field: one for each entity; or the different ones, and `which` of them each has."""

    values: list[str | bool]
    which: bytes = b""


class _Alike(Struct, array_like=True):
    """Entities with the same keys in the same order, of one file, with the same controls."""

    file: str
    paths: tuple[str, ...]
    controls: Controls
    devices_in_scope: bool
    addresses: list[str]
    lines: list[int]
    columns: list[int]
    fields: list[_Column]


class _Entry(Struct, array_like=True):
    """`rosters` are the digests of the tables that the manifest names, by their components from the root."""

    rosters: list[tuple[tuple[str, ...], bytes]]
    scopes: list[tuple[str, str]]
    notices: list[Notice]
    removed: list[_Removed]
    former: list[str]
    claims: list[str]
    rows: int


class CachedPart(Struct, frozen=True):
    """A part, and the digests of the rosters that it was made of, by their components from the root.

    `seal` is that of its entry: another part, or the same of other files, has another one.
    """

    part: ManifestPart
    rosters: Mapping[tuple[str, ...], bytes]
    seal: bytes = b""


def encode_part(kept: CachedPart, *, key: bytes, made_for: bytes) -> list[bytes]:
    """Return the entry, in pieces, of a part without content. `made_for` says what it follows from."""
    part = kept.part
    entry = _Entry(
        list(kept.rosters.items()),
        [(scope.kind, scope.workspace) for scope in sorted(part.scopes)],
        list(part.notices),
        [(address, place.file, place.line, place.column) for address, place in part.removed.items()],
        sorted(part.former),
        sorted(part.claims),
        part.rows,
    )
    sections = [_pack_value(entry), *map(_pack_value, _group_entities(part.entities.values()))]
    pieces = [piece for one in sections for piece in (len(one).to_bytes(_LENGTH), one)]
    return [CACHE_MAGIC, _compute_seal(pieces, key, made_for), *pieces]


def decode_part(data: bytes, *, key: bytes, made_for: bytes) -> CachedPart | None:
    """Return what `encode_part` made of this for the same key and purpose; None for anything else."""
    start = len(CACHE_MAGIC) + _SEAL
    seal, body = data[len(CACHE_MAGIC) : start], memoryview(data)[start:]
    if not data.startswith(CACHE_MAGIC) or not compare_digest(seal, _compute_seal([body], key, made_for)):
        return None
    try:
        head, *chunks = _split_sections(body)
        entry = msgspec.msgpack.decode(head, type=_Entry)
        entities = {
            entity.address: entity
            for chunk in chunks
            for alike in msgspec.msgpack.decode(chunk, type=list[_Alike])
            for entity in _restore_entities(alike)
        }
    except (msgspec.MsgspecError, LookupError, ValueError):  # sealed by us, and still not ours
        return None
    part = ManifestPart(
        entities,
        frozenset(Scope(*one) for one in entry.scopes),
        tuple(entry.notices),
        {Address(text): Place(file, line, column) for text, file, line, column in entry.removed},
        frozenset(map(Address, entry.former)),
        frozenset(entry.claims),
        entry.rows,
    )
    return CachedPart(part, dict(entry.rosters), seal)


def _compute_seal(pieces: Iterable[bytes | memoryview], key: bytes, made_for: bytes) -> bytes:
    made = hmac.new(key, sha256(made_for).digest(), "sha256")
    for piece in pieces:
        made.update(piece)
    return made.digest()


def _split_sections(body: memoryview) -> Iterator[memoryview]:
    while body:
        end = _LENGTH + int.from_bytes(body[:_LENGTH])
        yield body[_LENGTH:end]
        body = body[end:]


def _pack_value(value: object) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=str.__str__, order="deterministic")


def _group_entities(entities: Iterable[Entity]) -> Iterator[list[_Alike]]:
    left = iter(entities)
    while some := list(islice(left, _CHUNK)):
        groups: dict[tuple[object, ...], list[Entity]] = {}
        for one in some:
            controls = b"" if one.controls == _NO_CONTROLS else _pack_value(one.controls)
            alike = (one.place.file, tuple(one.fields), controls, one.devices_in_scope)
            groups.setdefault(alike, []).append(one)
        yield [_build_alike(group) for group in groups.values()]


def _build_alike(group: Sequence[Entity]) -> _Alike:
    first = group[0]
    return _Alike(
        first.place.file,
        tuple(first.fields),
        first.controls,
        first.devices_in_scope,
        [one.address for one in group],
        [one.place.line for one in group],
        [one.place.column for one in group],
        [_build_column(values) for values in zip(*(one.fields.values() for one in group), strict=True)],
    )


def _build_column(values: Sequence[Scalar]) -> _Column:
    different = {value: number for number, value in enumerate(dict.fromkeys(values))}
    if len(different) > min(_FEW, len(values) // 2):
        return _Column(list(values))
    return _Column(list(different), bytes(different[value] for value in values))


def _restore_entities(alike: _Alike) -> Iterator[Entity]:
    file, paths, controls, devices = alike.file, alike.paths, alike.controls, alike.devices_in_scope
    columns = (
        map(one.values.__getitem__, one.which) if one.which else iter(one.values) for one in alike.fields
    )
    rows = zip(*columns, strict=True) if paths else ((),) * len(alike.addresses)
    for text, line, column, row in zip(alike.addresses, alike.lines, alike.columns, rows, strict=True):
        place = Place(file, line, column)
        yield Entity(Address(text), dict(zip(paths, row, strict=True)), place, controls, None, devices)


_NO_CONTROLS = Controls()


# --- What may be cached, and when an entry counts -------------------------------------------------

MANIFEST_CACHE_FOLDER = "cache"
cache_bytes_min = 128 * 1024  # of all manifests and rosters; fewer are read as quickly as an entry
_entry_max = 512 * 1024 * 1024  # bytes
_FORM = re.compile(r"\.?[0-9a-f]{64}\.part(?:\.[0-9a-f]{16})?")
# Packages whose version decides what a value is taken for, and the folders of ours that do.
_PACKAGES = ("phonenumberslite", "email-validator", "idna", "tzdata", "PyYAML", "jsonschema-rs")
_CODE = ("core", "files", "manifest", "model", "parsing", "schema")


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
        self._least = cache_bytes_min if least is None else least
        self._version = version
        self._rules = make_rules(settings)
        self._root = Path(settings.root).resolve()
        self._folder = Folder(self._root, (STORE_FOLDER, MANIFEST_CACHE_FOLDER))

    def declared(self) -> Declaration | None:
        """Return what the manifests declare; None where all of them have to be read: then that says why."""
        took = start_stopwatch()
        log = ReadLog(self._root)
        found, problems = find_manifests([Path(path) for path in self._settings.manifests], self._root, log)
        key = None if problems else read_cache_key(self._environ, make=False)
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
        desired = join_parts(known, rows_max=ROWS_MAX)
        if desired is None:
            return None
        step_log.info(
            "manifests taken from the cache; files: %d, read anew: %d, %.1f s",
            len(found),
            len(unknown),
            took(),
        )
        seals = [kept.seal for _, kept in sorted(parts.items()) if kept]
        made_of = "" if unknown else sha256(b"".join(seals)).hexdigest()
        return Declaration(desired, len(found), len(unknown), made_of, tuple(inputs))

    def keep(self, loaded: LoadedManifests, found: Resolved) -> None:
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
        loaded = load_project(self._settings, self._environ, chosen=wanted, directories=self._directories)
        inputs += loaded.files
        found = resolve_desired(loaded.manifests, self._rules)
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

    def _parts_of(self, loaded: LoadedManifests, found: Resolved) -> Iterable[ManifestPart]:
        rows = {one.file: one.rows for one in loaded.read}
        return split_into_parts(loaded.manifests, found, self._rules, rows)

    def _keep(self, loaded: LoadedManifests, parts: Iterable[ManifestPart]) -> None:
        key = read_cache_key(self._environ, make=True) if any(one.plain for one in loaded.read) else None
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
            entry = encode_part(
                CachedPart(part, one.rosters), key=key, made_for=self._made_for(one.file, one.digest)
            )
            written += self._folder.write(self._name(one.file), entry)
        used = frozenset(self._name(one.file) for one in loaded.read)
        self._folder.clear(_FORM, besides=used, now_s=time.time())
        step_log.info("manifests kept in the cache; files: %d of %d", written, len(loaded.read))

    def _part(
        self, source: ManifestFile, private: frozenset[FileId], key: bytes, log: ReadLog
    ) -> CachedPart | None:
        """Return what was kept of a manifest that is as it was, its rosters too."""
        entry = self._folder.read(self._name(source.name), bytes_max=_entry_max)
        data = read_manifest(source, log) if entry is not None else None
        if entry is None or data is None or isinstance(data, Problem):
            return None
        made_for = self._made_for(source.name, sha256(data).digest())
        kept = decode_part(entry, key=key, made_for=made_for)
        if kept is None:
            return None
        for parts, digest in kept.rosters.items():
            try:
                found = digest_below_root(
                    self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=private, log=log
                )
                if found != digest:
                    return None
            except (Unreadable, OSError):  # it is told where the manifest is read
                return None
        return kept

    def _private(self, found: Iterable[ManifestFile]) -> frozenset[FileId]:
        return identify_files((*map(Path, self._settings.private_files), *(source.path for source in found)))

    def _name(self, file: str) -> str:
        return f"{sha256(self._settings_digest + file.encode()).hexdigest()}.part"

    def _made_for(self, file: str, digest: bytes) -> bytes:
        return encode_json(
            [self._version or _loader_version(), self._settings_digest.hex(), file, digest.hex()]
        )

    @cached_property
    def _settings_digest(self) -> bytes:
        """The digest of all settings that decide what manifests mean, kinds of the profile included."""
        return sha256(
            encode_json([self._rules, self._settings.contact_fields, list(KINDS.values())])
        ).digest()


def _holds_secret(part: ManifestPart) -> bool:
    shapes = {(address.kind, tuple(entity.fields)) for address, entity in part.entities.items()}
    return any(not KINDS[kind].secret.isdisjoint(paths) for kind, paths in shapes)


@cache
def _loader_version() -> str:
    """Return what tells this loader from every other: of packages, ours among them, of Python and schemas."""
    made = sha256(CACHE_MAGIC)
    for text in (sys.version, __version__, *map(_package_version, _PACKAGES)):
        made.update(text.encode() + b"\0")
    for name in ("manifest", "common"):
        made.update(read_schema_text(name).encode())
    # While somebody works on it, one version is many: the files are told by their time and size.
    package = Path(__file__).parents[1]
    for folder in _CODE:
        for path in sorted((package / folder).rglob("*.py")):
            about = path.stat()
            made.update(f"{path.relative_to(package)} {about.st_size} {about.st_mtime_ns}\0".encode())
    return made.hexdigest()


def _package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
