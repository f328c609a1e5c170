"""The cache of manifests: what was declared by unchanged files, without reading them again.

The result always equals that of `load_project` and `resolve_desired`. Each manifest is cached by itself, as
the part that it resolves to (core/desired/partition.py). The seal of an entry covers its purpose: the name of
the manifest, the settings, and all code and data that reads it. The entry also holds the digests of the
manifest and of its rosters. An entry with another seal is ignored. Where a digest is another, the texts of
the entries of the manifest that are as they were are not parsed again (cutting.py).

A manifest is cached if it has no mistake, takes no value from the environment and no people from a
directory, has no payload and holds no secret; every other one is read each time. Where joined parts might
contradict each other, everything is read, so mistakes are reported as without a cache.
"""

import hmac
import re
import sys
import time
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from hmac import compare_digest
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from reconciler.core.desired.partition import (
    NO_TEXT,
    ManifestPart,
    Numbers,
    PartEntries,
    join_parts,
    merge_part,
    split_into_parts,
)
from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.entity_table import DigestedEntities, EntityRows, PlainRows, has_secret
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
    read_below_root,
)
from reconciler.instrumentation import start_stopwatch, step_log
from reconciler.manifest.cutting import TEXT_DIGEST_BYTES, Cuts, CutText, cut_manifest, cut_roster
from reconciler.manifest.load import LoadedManifests, load_project
from reconciler.manifest.sources import ManifestFile, find_manifests, read_manifest
from reconciler.model.address import Address
from reconciler.model.documents import ROWS_MAX, ConsentAction, InputFile, NamedConsent, Place
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Scope
from reconciler.ownership import Folder
from reconciler.parsing.tree_builder import NODES_MAX
from reconciler.private_cache import STATE_FOLDER as STORE_FOLDER
from reconciler.private_cache import make_private_folder, read_cache_key
from reconciler.schema.shipped import read_schema_text
from reconciler.version import __version__

# --- One entry as bytes, and back -----------------------------------------------------------------
#
#     magic, the HMAC-SHA256 of the purpose and of all that follows,
#     sections, each after its length in 8 bytes:
#         the manifest without entities; addresses, digests, slots and lines of entities; digests of claims;
#         sizes, claims, lines, files and texts of entries; then the blocks of entities
#
# core/entity_table.py and partition.py say what these are.

CACHE_MAGIC = b"reconciler cache 3\n"
_SEAL = 32  # bytes
_LENGTH = 8  # bytes

_Removed = tuple[str, str, int, int]  # address, file, line, column
_Consent = tuple[str, ConsentAction, str, str, str]  # the fields of NamedConsent


class _Entry(Struct, array_like=True):
    """`digest` is that of the manifest, `rosters` those of its rosters, by path components from the root.

    `names`, `context` and `nodes` are those of the entries; without `names` there are none.
    """

    digest: bytes
    rosters: list[tuple[tuple[str, ...], bytes]]
    scopes: list[tuple[str, str]]
    notices: list[Notice]
    removed: list[_Removed]
    former: list[str]
    rows: int
    names: tuple[str, ...]
    context: bytes
    nodes: int
    consents: list[_Consent] = []


class CachedPart(Struct, frozen=True):
    """A part, and the digests of its rosters, by path components from the root, and of its manifest.

    `seal` is that of its entry. It differs when the part differs, and when it was made from other files.
    """

    part: ManifestPart
    rosters: Mapping[tuple[str, ...], bytes]
    digest: bytes = b""
    seal: bytes = b""


def encode_part(cached: CachedPart, *, key: bytes, purpose: bytes) -> list[bytes | memoryview]:
    """Return the entry of a part without payloads, in pieces. `purpose` is everything the part depends on."""
    part = cached.part
    rows = part.entities if isinstance(part.entities, EntityRows) else part.entities.pack()
    entries = part.entries or _NO_ENTRIES
    entry = _Entry(
        cached.digest,
        list(cached.rosters.items()),
        [(scope.kind, scope.workspace) for scope in sorted(part.scopes)],
        list(part.notices),
        [(address, place.file, place.line, place.column) for address, place in part.removed.items()],
        sorted(part.former),
        part.rows,
        entries.names,
        entries.context,
        entries.nodes,
        [structs.astuple(one) for one in part.consents],
    )
    sections = [
        msgspec.msgpack.encode(entry, enc_hook=str.__str__, order="deterministic"),
        "\n".join(rows.addresses).encode(),
        rows.digests,
        array("I", rows.slots).tobytes(),
        array("I", rows.lines).tobytes(),
        array("Q", part.claims).tobytes(),
        *(array("I", each).tobytes() for each in _list_numbers(entries)),
        entries.texts,
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
        head, addresses, digests, slots, lines, claims, *more = _split_sections(body)
        *numbers, texts = more[:5]
        entry = msgspec.msgpack.decode(head, type=_Entry)
        rows = EntityRows(
            list(map(Address, bytes(addresses).decode().split("\n"))) if addresses else [],
            bytes(digests),
            array("I", bytes(slots)),
            array("I", bytes(lines)),
            more[5:],
        )
        sizes, claimed, begin, files = (array("I", bytes(each)) for each in numbers)
        entries = PartEntries(
            entry.names, sizes, claimed, begin, files, bytes(texts), entry.context, entry.nodes
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
        entries=entries if entry.names else None,
        consents=tuple(
            NamedConsent(Address(text), action, until, reason, place)
            for text, action, until, reason, place in entry.consents
        ),
    )
    return CachedPart(part, dict(entry.rosters), entry.digest, seal)


_NO_ENTRIES = PartEntries((), (), (), (), (), b"", b"", 0)


def _list_numbers(entries: PartEntries) -> tuple[Numbers, ...]:
    return entries.sizes, entries.claimed, entries.lines, entries.files


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

    `reread_entries` counts the entries that were parsed in them: a file may be read again in part.
    `made_of` differs when manifests, rosters, settings or the version of this program differ; "" where that
    is not known. `inputs` are the files that it depends on, those from the cache included. `mistakes` are
    those of the workspaces that are left out.
    """

    desired: Desired
    files: int = 0
    reread: int = 0
    reread_entries: int = 0
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
        entries = {source.name: self._read_entry(source, private, key, log) for source in found}
        missing = [name for name, entry in entries.items() if entry is None or not entry.same]
        if not found or not any(entries.values()):
            return None
        fresh = self._load_changed(missing, entries, private, inputs := [*log.files])
        if fresh is None:
            return None
        changed, parsed = fresh
        parts = {name: entry.cached.part for name, entry in entries.items() if entry and entry.same}
        parts.update(changed)
        desired = join_parts([part for _, part in sorted(parts.items())], rows_max=ROWS_MAX)
        if desired is None:
            return None
        step_log.info(
            "manifests read from the cache; files: %d, read again: %d, entries read again: %d, %.1f s",
            len(found),
            len(missing),
            parsed,
            took(),
        )
        seals = [entry.cached.seal for _, entry in sorted(entries.items()) if entry]
        made_of = "" if missing else sha256(b"".join(seals)).hexdigest()
        return Declaration(desired, len(found), len(missing), parsed, made_of, tuple(inputs))

    def store(self, loaded: LoadedManifests, found: Resolved) -> Resolved:
        """Cache what was loaded, which has no mistake. A failure is silent: the next run reads everything.

        Return the same, with the digests of its entities where all of them were cached.
        """
        if sum(one.size for one in loaded.read) < self._least:
            return found
        digests = self._write_entries(loaded, self._split_parts(loaded, found))
        entities = found.desired.entities
        if len(digests) != len(entities):
            return found
        digested = DigestedEntities(entities, digests)
        return structs.replace(found, desired=structs.replace(found.desired, entities=digested))

    def _load_changed(
        self,
        names: Sequence[str],
        entries: Mapping[str, "_ReadEntry | None"],
        private: frozenset[FileId],
        inputs: list[InputFile],
    ) -> tuple[Mapping[str, ManifestPart], int] | None:
        """Load and cache manifests that changed, of each only what changed; None where they have a mistake.

        Also returns how many entries were parsed. Adds the files that were read to `inputs`.
        """
        wanted = frozenset(names)
        if not wanted:
            return {}, 0
        before = {name: entry for name in names if (entry := entries[name]) is not None}
        cuts, kept = self._cut_files(wanted, before, private)
        found = self._load_parts(wanted, cuts, kept, before, inputs) if kept else None
        if found is not None or len(wanted) == len(entries):
            return found
        return self._load_parts(wanted, Cuts(), {}, {}, inputs)

    def _load_parts(
        self,
        wanted: frozenset[str],
        cuts: Cuts,
        kept: Mapping[str, Sequence[tuple[int, int]]],
        before: Mapping[str, "_ReadEntry"],
        inputs: list[InputFile],
    ) -> tuple[Mapping[str, ManifestPart], int] | None:
        loaded = load_project(
            self._settings, self._environ, chosen=wanted, directories=self._directories, cuts=cuts
        )
        inputs += loaded.files
        found = resolve_desired(loaded.manifests, self._rules)
        if (
            loaded.unasked
            or loaded.problems
            or loaded.miscut
            or found.problems
            or {one.file for one in loaded.manifests} != wanted
        ):
            return None
        parts: list[ManifestPart] = []
        for one, part in zip(loaded.read, self._split_parts(loaded, found), strict=True):
            if one.file not in kept:
                parts.append(part)
                continue
            # What stays and what was read again are one manifest only where both may be cached.
            plain = one.plain and not _holds_secret(part)
            whole = merge_part(before[one.file].cached.part, kept[one.file], part) if plain else None
            if whole is None or whole.entries is None or whole.entries.nodes > NODES_MAX:
                return None
            parts.append(whole)
        self._write_entries(loaded, parts)
        return {one.file: part for one, part in zip(loaded.read, parts, strict=True)}, loaded.documents

    def _split_parts(self, loaded: LoadedManifests, found: Resolved) -> Iterable[ManifestPart]:
        sources = {one.file: one.source for one in loaded.read}
        return split_into_parts(loaded.manifests, found, sources)

    def _write_entries(self, loaded: LoadedManifests, parts: Iterable[ManifestPart]) -> dict[Address, bytes]:
        """Write the parts that may be cached; return the digests of their entities."""
        digests: dict[Address, bytes] = {}
        key = read_cache_key(self._environ, make=True) if any(one.plain for one in loaded.read) else None
        if key is None:
            return {}
        try:
            make_private_folder(self._root / STORE_FOLDER)
        except OSError:  # a project that cannot be written
            return {}
        written = 0
        for one, part in zip(loaded.read, parts, strict=True):  # one part at a time is in memory
            # Rows that are kept already have no secret.
            if not one.plain or (isinstance(part.entities, PlainRows) and _holds_secret(part)):
                continue
            rows = part.entities if isinstance(part.entities, EntityRows) else part.entities.pack()
            digests |= rows.digests_by_address()
            cached = CachedPart(structs.replace(part, entities=rows), one.rosters, one.digest)
            entry = encode_part(cached, key=key, purpose=self._entry_purpose(one.file))
            written += self._folder.write(self._entry_name(one.file), entry)
        used = frozenset(self._entry_name(one.file) for one in loaded.read)
        self._folder.clear(_FORM, besides=used, now_s=time.time())
        step_log.info("manifests cached; files: %d of %d", written, len(loaded.read))
        return digests

    def _read_entry(
        self, source: ManifestFile, private: frozenset[FileId], key: bytes, log: ReadLog
    ) -> "_ReadEntry | None":
        """Return the cached part of a manifest, and what has changed of its files since."""
        entry = self._folder.read(self._entry_name(source.name), bytes_max=_entry_bytes_max)
        data = read_manifest(source, log) if entry is not None else None
        if entry is None or data is None or isinstance(data, Problem):
            return None
        cached = decode_part(entry, key=key, purpose=self._entry_purpose(source.name))
        if cached is None:
            return None
        same = cached.digest == sha256(data).digest()
        for parts, digest in cached.rosters.items():
            try:
                found = digest_below_root(
                    self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=private, log=log
                )
            except (Unreadable, OSError):  # reported where the manifest is read
                return None
            same = same and found == digest
        return _ReadEntry(cached, b"" if same else data, same)

    def _cut_files(
        self, wanted: Collection[str], before: Mapping[str, "_ReadEntry"], private: frozenset[FileId]
    ) -> tuple[Cuts, dict[str, list[tuple[int, int]]]]:
        """Return what is known of the wanted manifests and their rosters, and which entries of each stay.

        An entry that stays is its number before and its line now.
        """
        manifests: dict[str, CutText] = {}
        rosters: dict[tuple[str, ...], CutText] = {}
        kept: dict[str, list[tuple[int, int]]] = {}
        uses = Counter(parts for entry in before.values() for parts in entry.cached.rosters)
        for name, entry in before.items():
            columns = entry.cached.part.entries
            if columns is None:
                continue
            numbers = _number_texts(columns)
            cut = cut_manifest(entry.data, numbers) if not name.lower().endswith(".json") else None
            if cut is not None:
                manifests[name] = cut
                kept[name] = [(numbers[text], line) for text, line in cut.known]
            # A roster of a manifest of which nothing is known may be the same.
            for parts in entry.cached.rosters if len(before) == len(wanted) else ():
                cut = self._cut_roster(parts, numbers, private) if uses[parts] == 1 else None
                if cut is not None:
                    rosters[parts] = cut
                    kept.setdefault(name, []).extend((numbers[text], line) for text, line in cut.known)
        return Cuts(manifests, rosters), kept

    def _cut_roster(
        self, parts: tuple[str, ...], known: Collection[bytes], private: frozenset[FileId]
    ) -> CutText | None:
        if not parts[-1].lower().endswith(".csv"):
            return None
        try:
            data = read_below_root(self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=private)
        except (Unreadable, OSError):  # reported where the roster is read
            return None
        return cut_roster(data, known)

    def _entry_name(self, file: str) -> str:
        return f"{sha256(self._settings_digest + file.encode()).hexdigest()}.part"

    def _entry_purpose(self, file: str) -> bytes:
        return encode_json([self._version or _loader_version(), self._settings_digest.hex(), file])

    @cached_property
    def _settings_digest(self) -> bytes:
        """The digest of all settings that decide what manifests mean, kinds of the profile included."""
        return sha256(
            encode_json([self._rules, self._settings.contact_fields, list(KINDS.values())])
        ).digest()


class _ReadEntry(NamedTuple):
    """A cached part, and the manifest as it is now; `same`: neither it nor a roster has changed since."""

    cached: CachedPart
    data: bytes
    same: bool


def _number_texts(entries: PartEntries) -> dict[bytes, int]:
    """Return the number of each entry by its text, of those whose text is known."""
    texts, size = bytes(entries.texts), TEXT_DIGEST_BYTES
    found = {texts[at : at + size]: at // size for at in range(0, len(texts), size)}
    found.pop(NO_TEXT, None)
    return found


def _holds_secret(part: ManifestPart) -> bool:
    return any(map(has_secret, part.entities.entities()))


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
