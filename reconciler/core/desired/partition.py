"""What each manifest declares by itself, and what all of them declare together. Pure.

A manifest that was resolved without a mistake is a part, which can be kept and joined with others later.
Joined parts are what `resolve_desired` makes of the same manifests, or None where they may contradict each
other: then all of them are to be resolved together, which finds the words. So whatever two files can
contradict each other in is compared here, as exactly as in `crosscheck.py` and `find_contradictions`, or more
strictly.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from reconciler.core.desired.crosscheck import list_appearances, push_token_of, sibling_address, unique_keys
from reconciler.core.desired.entity_table import EntityRows, EntityTable, PlainRows
from reconciler.core.desired.resolve import Resolved, find_removed
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer, Manifest, Place
from reconciler.model.kind import Key
from reconciler.model.notices import Notice
from reconciler.model.snapshots import Desired, Entity, Scope


class ManifestPart(Struct, frozen=True):
    """What one manifest declares, its rosters included.

    `notices` stand in the order of its entries. `former` are addresses that `meta.renamedFrom` names.
    `claims` are digests of what no other part may have: what identities look like, and push tokens. Where two
    are equal, the texts may differ, and all manifests are resolved together. `rows` are those of rosters,
    `answers` those of the directories that rosters took from.
    """

    entities: EntityRows | PlainRows
    scopes: frozenset[Scope]
    notices: tuple[Notice, ...] = ()
    removed: Mapping[Address, Place] = {}
    former: frozenset[Address] = frozenset()
    claims: Sequence[int] = ()
    rows: int = 0
    answers: tuple[DirectoryAnswer, ...] = ()


def split_into_parts(
    manifests: Iterable[Manifest], found: Resolved, rules: Rules, rows: Mapping[str, int]
) -> Iterator[ManifestPart]:
    """Yield the part of each manifest, in their order. `found` is what they resolve to, without a mistake.

    `rows` are the numbers of rows of rosters, by the names of the manifests.
    """
    said: dict[str, list[Notice]] = {}
    for notice in found.desired.notices:
        said.setdefault(notice.subject, []).append(notice)
    keys = unique_keys(rules)
    for manifest in manifests:
        entities: dict[Address, Entity] = {}
        former: set[Address] = set()
        claims: set[int] = set()
        for document in manifest.documents:
            address = sibling_address(document, manifest.workspace, document.name)
            entity = entities[address] = found.desired.entities[address]
            # What only looks the same is a warning, which names both: it takes both to be written.
            claims.update(map(_digest_claim, _list_claims(entity, keys)))
            if document.controls.renamed_from:
                former.add(sibling_address(document, manifest.workspace, document.controls.renamed_from))
        yield ManifestPart(
            PlainRows(entities),
            frozenset(Scope(kind, manifest.workspace) for kind in manifest.kinds),
            tuple(notice for address in entities for notice in said.get(address, ())),
            find_removed([manifest]),
            frozenset(former),
            sorted(claims),
            rows.get(manifest.file, 0),
            manifest.answers,
        )


def _list_claims(entity: Entity, keys: Mapping[str, tuple[Key, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield what no other entity may have."""
    for _, appearance in list_appearances(entity, keys):
        yield appearance
    token = push_token_of(entity)
    if token is not None:
        yield token


def _digest_claim(claim: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b("\0".join(claim).encode(), digest_size=_CLAIM_BYTES).digest())


_CLAIM_BYTES = 8  # of a million identities, two have one digest by chance once in 37 million projects


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
        scopes |= part.scopes
        notices.extend(part.notices)
        answers.update(part.answers)
        claimed += len(part.claims)
        renamed += len(part.former)
        rows += part.rows
    alone = entities.is_unique and len(claims) == claimed and len(former) == renamed
    gone = former | leaving.keys()
    if (
        not alone
        or rows > rows_max
        or any(map(entities.__contains__, gone))
        or not former.isdisjoint(leaving)
    ):
        return None
    notices.sort(key=lambda notice: _notice_position(entities, notice))
    return Desired(entities, scopes, tuple(notices), dict(sorted(leaving.items())), tuple(sorted(answers)))


def _notice_position(entities: Mapping[Address, Entity], notice: Notice) -> tuple[str, int, int]:
    place = entities[Address(notice.subject)].place
    return place.file, place.line, place.column
