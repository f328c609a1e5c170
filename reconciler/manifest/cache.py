"""The cache of manifests: what was declared by unchanged files, without reading them again.

The result always equals that of `load_project` and `resolve_desired`. Each manifest is cached by itself, as
the part that it resolves to (core/desired/partition.py). The seal of an entry covers its purpose: the bytes
of the manifest, the settings, and all code and data that reads them. The entry also holds the digests of
the rosters, because only a manifest says which they are. An entry with another seal or digest is ignored.

A manifest is cached if it has no mistake, takes no value from the environment and no people from a
directory, has no payload and holds no secret; every other one is read each time. Where joined parts might
contradict each other, everything is read, so mistakes are reported as without a cache.
"""

import hmac
import re
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from hashlib import sha256
from hmac import compare_digest
from importlib import metadata
from pathlib import Path

import msgspec
from msgspec import Struct

from reconciler.core.desired.entity_table import DIGEST_BYTES, EntityRows, has_secret
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
from reconciler.model.documents import ROWS_MAX, InputFile, Place
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Scope
from reconciler.ownership import Folder
from reconciler.private_cache import STATE_FOLDER as STORE_FOLDER
from reconciler.private_cache import make_private_folder, read_cache_key
from reconciler.schema.shipped import read_schema_text
from reconciler.version import __version__

# --- One entry as bytes, and back -----------------------------------------------------------------
#
#     magic, the HMAC-SHA256 of the purpose and of all that follows,
#     sections, each after its length in 8 bytes:
#         the manifest without entities, addresses, digests of entities, slots, lines, digests of claims,
#         then the blocks of entities (core/desired/entity_table.py)

CACHE_MAGIC = b"reconciler cache 3\n"
_SEAL = 32  # bytes
_LENGTH = 8  # bytes

_Removed = tuple[str, str, int, int]  # address, file, line, column


class _Entry(Struct, array_like=True):
    """`rosters` are the digests of the rosters of the manifest, by path components from the root."""

    rosters: list[tuple[tuple[str, ...], bytes]]
    scopes: list[tuple[str, str]]
    notices: list[Notice]
    removed: list[_Removed]
    former: list[str]
    rows: int


class CachedPart(Struct, frozen=True):
    """A part, and the digests of the rosters that it was made from, by path components from the root.

    `seal` is that of its entry. It differs when the part differs, and when it was made from other files.
    """

    part: ManifestPart
    rosters: Mapping[tuple[str, ...], bytes]
    seal: bytes = b""


def encode_part(cached: CachedPart, *, key: bytes, purpose: bytes) -> list[bytes | memoryview]:
    """Return the entry of a part without payloads, in pieces. `purpose` is everything the part depends on."""
    part = cached.part
    rows = part.entities if isinstance(part.entities, EntityRows) else EntityRows.of(part.entities.entities())
    entry = _Entry(
        list(cached.rosters.items()),
        [(scope.kind, scope.workspace) for scope in sorted(part.scopes)],
        list(part.notices),
        [(address, place.file, place.line, place.column) for address, place in part.removed.items()],
        sorted(part.former),
        part.rows,
    )
    sections = [
        msgspec.msgpack.encode(entry, enc_hook=str.__str__, order="deterministic"),
        "\n".join(rows.addresses).encode(),
        b"".join(rows.digests),
        array("I", rows.slots).tobytes(),
        array("I", rows.lines).tobytes(),
        array("Q", part.claims).tobytes(),
        *rows.blocks,
    ]
    pieces = [piece for one in sections for piece in (len(one).to_bytes(_LENGTH), one)]
    return [CACHE_MAGIC, _compute_seal(pieces, key, purpose), *pieces]


def decode_part(data: bytes, *, key: bytes, purpose: bytes) -> CachedPart | None:
    """Return what `encode_part` encoded with the same key and purpose; None for any other bytes."""
    start = len(CACHE_MAGIC) + _SEAL
    seal, body = data[len(CACHE_MAGIC) : start], memoryview(data)[start:]
    if not data.startswith(CACHE_MAGIC) or not compare_digest(seal, _compute_seal([body], key, purpose)):
        return None
    try:
        head, addresses, digests, slots, lines, claims, *blocks = _split_sections(body)
        entry = msgspec.msgpack.decode(head, type=_Entry)
        rows = EntityRows(
            list(map(Address, bytes(addresses).decode().split("\n"))) if addresses else [],
            _split_digests(bytes(digests)),
            array("I", bytes(slots)),
            array("I", bytes(lines)),
            blocks,
        )
    except (msgspec.MsgspecError, LookupError, ValueError):  # the seal is right and the form is not
        return None
    part = ManifestPart(
        rows,
        frozenset(Scope(*one) for one in entry.scopes),
        tuple(entry.notices),
        {Address(text): Place(file, line, column) for text, file, line, column in entry.removed},
        frozenset(map(Address, entry.former)),
        array("Q", bytes(claims)),
        entry.rows,
    )
    return CachedPart(part, dict(entry.rosters), seal)


def _split_digests(digests: bytes) -> list[bytes]:
    return [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]


def _compute_seal(pieces: Iterable[bytes | memoryview], key: bytes, purpose: bytes) -> bytes:
    made = hmac.new(key, sha256(purpose).digest(), "sha256")
    for piece in pieces:
        made.update(piece)
    return made.digest()


def _split_sections(body: memoryview) -> Iterator[memoryview]:
    while body:
        end = _LENGTH + int.from_bytes(body[:_LENGTH])
        yield body[_LENGTH:end]
        body = body[end:]


# --- What may be cached, and when an entry counts -------------------------------------------------

MANIFEST_CACHE_FOLDER = "cache"
cache_bytes_min = 128 * 1024  # of all manifests and rosters; less is read as fast as a cache entry
_entry_bytes_max = 512 * 1024 * 1024  # bytes
_FORM = re.compile(r"\.?[0-9a-f]{64}\.part(?:\.[0-9a-f]{16})?")
# The packages, and the folders of this one, that decide what a value in a manifest means.
_PACKAGES = ("phonenumberslite", "email-validator", "idna", "tzdata", "PyYAML", "jsonschema-rs")
_CODE = ("core", "files", "manifest", "model", "parsing", "schema")


class Declaration(Struct, frozen=True):
    """What the manifests declare, how many files there are, and how many were read again (`reread`).

    `made_of` differs when manifests, rosters, settings or the version of this program differ; "" where that
    is not known. `inputs` are the files that it depends on, those from the cache included. `mistakes` are
    those of the workspaces that are left out.
    """

    desired: Desired
    files: int = 0
    reread: int = 0
    made_of: str = ""
    inputs: tuple[InputFile, ...] = ()
    mistakes: tuple[Problem, ...] = ()


class ManifestCache:
    """The cache of one project, for its settings and this version of the program."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        least: int | None = None,
        version: str | None = None,
        directories: ReadOnce | None = None,
    ) -> None:
        """`least`: fewer bytes of manifests and rosters are not cached; `version`: that of the loader.

        `directories` are those of the settings; pass them where another reader asks them too.
        """
        self._directories = directories or ReadOnce(settings.directories)
        self._settings = settings
        self._environ = environ
        self._least = cache_bytes_min if least is None else least
        self._version = version
        self._rules = make_rules(settings)
        self._root = Path(settings.root).resolve()
        self._folder = Folder(self._root, (STORE_FOLDER, MANIFEST_CACHE_FOLDER))

    def load(self) -> Declaration | None:
        """Return what the manifests declare; None where all have to be read, as for finding mistakes."""
        took = start_stopwatch()
        log = ReadLog(self._root)
        found, problems = find_manifests([Path(path) for path in self._settings.manifests], self._root, log)
        key = None if problems else read_cache_key(self._environ, make=False)
        if key is None:
            return None
        private = identify_files(
            (*map(Path, self._settings.private_files), *(source.path for source in found))
        )
        parts = {source.name: self._read_entry(source, private, key, log) for source in found}
        missing = [name for name, part in parts.items() if part is None]
        if not found or len(missing) == len(found):
            return None
        fresh = self._load_changed(missing, inputs := [*log.files])
        if fresh is None:
            return None
        joined = [cached.part if cached else fresh[name] for name, cached in sorted(parts.items())]
        desired = join_parts(joined, rows_max=ROWS_MAX)
        if desired is None:
            return None
        step_log.info(
            "manifests read from the cache; files: %d, read again: %d, %.1f s",
            len(found),
            len(missing),
            took(),
        )
        seals = [cached.seal for _, cached in sorted(parts.items()) if cached]
        made_of = "" if missing else sha256(b"".join(seals)).hexdigest()
        return Declaration(desired, len(found), len(missing), made_of, tuple(inputs))

    def store(self, loaded: LoadedManifests, found: Resolved) -> None:
        """Cache what was loaded, which has no mistake. A failure is silent: the next run reads everything."""
        if sum(one.size for one in loaded.read) >= self._least:
            self._write_entries(loaded, self._split_parts(loaded, found))

    def _load_changed(
        self, names: Iterable[str], inputs: list[InputFile]
    ) -> Mapping[str, ManifestPart] | None:
        """Load and cache manifests that the cache lacks; None where they have a mistake.

        Adds the files that were read to `inputs`.
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
        parts = tuple(self._split_parts(loaded, found))
        self._write_entries(loaded, parts)
        return {one.file: part for one, part in zip(loaded.read, parts, strict=True)}

    def _split_parts(self, loaded: LoadedManifests, found: Resolved) -> Iterable[ManifestPart]:
        rows = {one.file: one.rows for one in loaded.read}
        return split_into_parts(loaded.manifests, found, self._rules, rows)

    def _write_entries(self, loaded: LoadedManifests, parts: Iterable[ManifestPart]) -> None:
        key = read_cache_key(self._environ, make=True) if any(one.plain for one in loaded.read) else None
        if key is None:
            return
        try:
            make_private_folder(self._root / STORE_FOLDER)
        except OSError:  # a project that cannot be written
            return
        written = 0
        for one, part in zip(loaded.read, parts, strict=True):  # one part at a time is in memory
            if not one.plain or any(map(has_secret, part.entities.entities())):
                continue
            entry = encode_part(
                CachedPart(part, one.rosters), key=key, purpose=self._entry_purpose(one.file, one.digest)
            )
            written += self._folder.write(self._entry_name(one.file), entry)
        used = frozenset(self._entry_name(one.file) for one in loaded.read)
        self._folder.clear(_FORM, besides=used, now_s=time.time())
        step_log.info("manifests cached; files: %d of %d", written, len(loaded.read))

    def _read_entry(
        self, source: ManifestFile, private: frozenset[FileId], key: bytes, log: ReadLog
    ) -> CachedPart | None:
        """Return the cached part of a manifest that is unchanged, as its rosters are."""
        entry = self._folder.read(self._entry_name(source.name), bytes_max=_entry_bytes_max)
        data = read_manifest(source, log) if entry is not None else None
        if entry is None or data is None or isinstance(data, Problem):
            return None
        purpose = self._entry_purpose(source.name, sha256(data).digest())
        cached = decode_part(entry, key=key, purpose=purpose)
        if cached is None:
            return None
        for parts, digest in cached.rosters.items():
            try:
                found = digest_below_root(
                    self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=private, log=log
                )
                if found != digest:
                    return None
            except (Unreadable, OSError):  # reported where the manifest is read
                return None
        return cached

    def _entry_name(self, file: str) -> str:
        return f"{sha256(self._settings_digest + file.encode()).hexdigest()}.part"

    def _entry_purpose(self, file: str, digest: bytes) -> bytes:
        return encode_json(
            [self._version or _loader_version(), self._settings_digest.hex(), file, digest.hex()]
        )

    @cached_property
    def _settings_digest(self) -> bytes:
        """The digest of all settings that decide what manifests mean, kinds of the profile included."""
        return sha256(
            encode_json([self._rules, self._settings.contact_fields, list(KINDS.values())])
        ).digest()


@cache
def _loader_version() -> str:
    """Return a digest of the versions of Python, this package and others, and of the schemas."""
    made = sha256(CACHE_MAGIC)
    for text in (sys.version, __version__, *map(_package_version, _PACKAGES)):
        made.update(text.encode() + b"\0")
    for name in ("manifest", "common"):
        made.update(read_schema_text(name).encode())
    # During development the version stays and the code changes: sizes and times of the files count too.
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
