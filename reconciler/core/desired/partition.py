"""What each manifest declares by itself, and what all of them declare together. Pure.

A manifest that was resolved without a mistake is a part, which can be kept and joined with others later.
Joined parts are what `resolve_desired` makes of the same manifests, or None where they may contradict each
other: then all of them are to be resolved together, which finds the words. So whatever two files can
contradict each other in is compared here, as exactly as in `crosscheck.py` and `find_contradictions`, or more
strictly. So are the entries of one manifest, of which some were resolved at an earlier time (`merge_part`).
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct, structs

from reconciler.core.desired.consents import resolve_consents
from reconciler.core.desired.crosscheck import sibling_address
from reconciler.core.desired.resolve import Resolved, find_removed
from reconciler.core.entity_table import EntityRows, EntityTable, PlainRows
from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer, Manifest, NamedConsent, Place
from reconciler.model.notices import Notice
from reconciler.model.snapshots import Desired, Entity, Scope

Numbers = Sequence[int]


class PartEntries(Struct, frozen=True):
    """The entries of a part, one number or text each: what may stay where only others are edited.

    An entry is one of the manifest with what belongs to it, or a row of a roster. `sizes` are its numbers of
    entities, `claimed` those of claims, `lines` where it begins, `files` the index of its file in `names`,
    `texts` the digests of its texts, NO_TEXT where it is to be read again whenever anything is. `context` is
    the digest of all of the manifest that decides what an entry means, `nodes` the most values that the
    manifest has.
    """

    names: tuple[str, ...]
    sizes: Numbers
    claimed: Numbers
    lines: Numbers
    files: Numbers
    texts: bytes
    context: bytes
    nodes: int


NO_TEXT = bytes(16)


class ManifestPart(Struct, frozen=True):
    """What one manifest declares, its rosters included.

    `notices` stand in the order of its entries. `former` are addresses that `meta.renamedFrom` names.
    `claims` are digests of what no other part may have, in the order of the entries: what identities look
    like, and push tokens. Where two are equal, the texts may differ, and all manifests are resolved together.
    `rows` are those of rosters, `answers` those of the directories that rosters took from. `entries` is None
    where something is said of several entries at once, so that none can be read without the others.
    """

    entities: EntityRows | PlainRows
    scopes: frozenset[Scope]
    notices: tuple[Notice, ...] = ()
    removed: Mapping[Address, Place] = {}
    former: frozenset[Address] = frozenset()
    claims: Numbers = ()
    rows: int = 0
    answers: tuple[DirectoryAnswer, ...] = ()
    entries: PartEntries | None = None
    consents: tuple[NamedConsent, ...] = ()


class PartSource(Struct, frozen=True):
    """What a part was read from: its rows of rosters, and what `PartEntries` says of the text.

    `texts` are the digests by file and line.
    """

    rows: int = 0
    context: bytes = b""
    nodes: int = 0
    texts: Mapping[str, Mapping[int, bytes]] = {}


def split_into_parts(
    manifests: Iterable[Manifest], found: Resolved, sources: Mapping[str, PartSource]
) -> Iterator[ManifestPart]:
    """Yield the part of each manifest, in their order. `found` is what they resolve to, without a mistake.

    `sources` are by the names of the manifests.
    """
    said: dict[str, list[Notice]] = {}
    for notice in found.desired.notices:
        said.setdefault(notice.subject, []).append(notice)
    for manifest in manifests:
        yield _split_part(manifest, found, said, sources.get(manifest.file, _NO_SOURCE))


_NO_SOURCE = PartSource()


def _split_part(
    manifest: Manifest,
    found: Resolved,
    said: Mapping[str, Sequence[Notice]],
    source: PartSource,
) -> ManifestPart:
    entities: dict[Address, Entity] = {}
    former: set[Address] = set()
    claims: list[int] = []
    names = {manifest.file: 0}
    sizes, claimed, lines, files = array("I"), array("I"), array("I"), array("I")
    texts: list[bytes] = []
    alone = True
    for document in manifest.documents:
        address = sibling_address(document, manifest.workspace, document.name)
        entity = entities[address] = found.desired.entities[address]
        place = entity.place
        if not document.parent:
            known = source.texts.get(place.file, {})
            sizes.append(0)
            claimed.append(0)
            lines.append(place.line)
            files.append(names.setdefault(place.file, len(names)))
            texts.append(known.get(place.line, NO_TEXT))
        # What only looks the same is a warning, which names both: it takes both to be written.
        own = found.declared[address].claims
        claims += own
        sizes[-1] += 1
        claimed[-1] += len(own)
        if document.controls.renamed_from:
            former.add(sibling_address(document, manifest.workspace, document.controls.renamed_from))
            texts[-1] = NO_TEXT
        edges = found.declared[address].edges
        if edges or address in said:
            texts[-1] = NO_TEXT
            # Of a column of a roster, or of a default, one notice is said for all entries together.
            own_lines = {str(place), *(str(one) for one in document.places.values())}
            alone = alone and not (edges and document.origin is not None)
            alone = alone and own_lines.issuperset(one.place for one in said.get(address, ()))
    alone = alone and len(set(claims)) == len(claims)
    columns = PartEntries(
        tuple(names), sizes, claimed, lines, files, b"".join(texts), source.context, source.nodes
    )
    return ManifestPart(
        PlainRows(entities),
        frozenset(Scope(kind, manifest.workspace) for kind in manifest.kinds),
        tuple(notice for address in entities for notice in said.get(address, ())),
        find_removed([manifest]),
        frozenset(former),
        claims,
        source.rows,
        manifest.answers,
        columns if alone and source.context else None,
        resolve_consents([manifest]),
    )


def merge_part(
    before: ManifestPart, kept: Iterable[tuple[int, int]], fresh: ManifestPart
) -> ManifestPart | None:
    """Return the part of a manifest of which only some entries were read again; None: it is to be read whole.

    `before` is its part of an earlier time, in rows that are kept; `kept` are the numbers of the entries that
    it shares with the manifest of now, each with its line there. `fresh` is the part of all the others.
    """
    old, new, rows = before.entries, fresh.entries, before.entities
    if old is None or new is None or old.context != new.context or not isinstance(rows, EntityRows):
        return None
    row_at, claim_at = [0, *accumulate(old.sizes)], [0, *accumulate(old.claimed)]
    names = tuple(dict.fromkeys((*old.names, *new.names)))
    sizes, claimed, lines, files = array("I"), array("I"), array("I"), array("I")
    texts: list[bytes] = []
    claims: list[int] = []
    runs = []
    roster_rows, size = 0, len(NO_TEXT)
    for first, end, moved in _find_runs(kept, old.lines):
        runs.append((row_at[first], row_at[end], moved))
        claims += before.claims[claim_at[first] : claim_at[end]]
        sizes.extend(old.sizes[first:end])
        claimed.extend(old.claimed[first:end])
        lines.extend(line + moved for line in old.lines[first:end])
        files.extend(old.files[first:end])
        texts.append(old.texts[first * size : end * size])
        roster_rows += sum(map(bool, old.files[first:end]))  # the manifest itself is file 0
    claims += fresh.claims
    if len(set(claims)) != len(claims):
        return None
    sizes.extend(new.sizes)
    claimed.extend(new.claimed)
    lines.extend(new.lines)
    files.extend(names.index(new.names[file]) for file in new.files)
    merged = rows.replace_rows(runs, EntityRows.of(fresh.entities.entities()))
    columns = PartEntries(
        names, sizes, claimed, lines, files, b"".join((*texts, new.texts)), new.context, old.nodes + new.nodes
    )
    return structs.replace(
        fresh,
        entities=merged,
        claims=claims,
        rows=roster_rows + fresh.rows,
        entries=columns,
    )


def _find_runs(kept: Iterable[tuple[int, int]], lines: Numbers) -> Iterator[tuple[int, int, int]]:
    """Yield entries that follow each other and moved by as many lines: the first, the end, and how many."""
    first = end = moved = 0
    for number, line in kept:
        by = line - lines[number]
        if (number, by) != (end, moved) or end == first:
            if end > first:
                yield first, end, moved
            first, moved = number, by
        end = number + 1
    if end > first:
        yield first, end, moved


def join_parts(parts: Iterable[ManifestPart], *, rows_max: int) -> Desired | None:
    """Return what parts declare together; they stand in the order of their files. None: not known yet."""
    leaving: dict[Address, Place] = {}
    former: set[Address] = set()
    claims: set[int] = set()
    scopes: frozenset[Scope] = frozenset()
    notices: list[Notice] = []
    answers: set[DirectoryAnswer] = set()
    every = tuple(parts)
    entities = EntityTable(part.entities for part in every)
    claimed = renamed = rows = 0
    for part in every:
        leaving = {**part.removed, **leaving}  # the first place counts
        former |= part.former
        claims.update(part.claims)
        claimed += len(set(part.claims))
        scopes |= part.scopes
        notices.extend(part.notices)
        answers.update(part.answers)
        renamed += len(part.former)
        rows += part.rows
    alone = entities.is_unique and len(claims) == claimed and len(former) == renamed
    gone = former | leaving.keys()
    consents = tuple(sorted(one for part in every for one in part.consents))
    if (
        not alone
        or len({(one.address, one.action) for one in consents}) != len(consents)
        or rows > rows_max
        or any(map(entities.__contains__, gone))
        or not former.isdisjoint(leaving)
    ):
        return None
    notices.sort(key=lambda notice: _notice_position(entities, notice))
    return Desired(
        entities,
        scopes,
        tuple(notices),
        dict(sorted(leaving.items())),
        tuple(sorted(answers)),
        consents,
    )


def _notice_position(entities: Mapping[Address, Entity], notice: Notice) -> tuple[str, int, int]:
    place = entities[Address(notice.subject)].place
    return place.file, place.line, place.column
