"""Which way to read a scope takes the fewest calls, and what a row of its list says about our entities.

A scope is read by what has changed in its list, by the whole list, or by a lookup of each entity of ours. A
list may show brief rows: then a row may need a look at its id. Both are decided here, without a call:
engine/live.py makes the calls, feed.py decides what the pages of a list by change prove.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct, structs

from reconciler.core.compare.diff import paths_to_read
from reconciler.core.compare.identity import fields_beside, identity_digests, search_texts
from reconciler.core.compare.match import IdentityIndex
from reconciler.core.rules import Rules
from reconciler.core.text import parse_instant
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import DeletedEntity, Entity, LiveEntity, RecordedEntity, Scope


class ReadRequest(Struct, frozen=True):
    """What has to be known of one scope: what is declared, what is recorded, and under which rules.

    With `everyone` also who else is there. Of a delta plan (core/planning/delta.py) `entities` and `records`
    are what moved; `rest` settled entities are besides, which need no look, and `paths_besides` their paths.
    """

    scope: Scope
    workspace: str  # the service's id; empty: the default workspace
    entities: Mapping[Address, Entity]
    records: Mapping[Address, RecordedEntity]
    rules: Rules
    everyone: bool = False
    deleted: tuple[DeletedEntity, ...] = ()  # what we deleted: a plan reports if its list shows it
    salt: str = ""  # of the store: keys the digests of what was deleted
    rest: int = 0
    paths_besides: frozenset[str] = frozenset()

    @property
    def unrecorded(self) -> list[Entity]:
        """Declared entities that no record points at: found by identity, or not there yet."""
        return [entity for address, entity in self.entities.items() if address not in self.records]

    @property
    def paths(self) -> frozenset[str]:
        """Every path that a match or a comparison may look at."""
        keys = self.rules.keys(self.scope.kind)
        identities = {path for key in keys for path in (*key, *fields_beside(key))}
        records = {str(address): record for address, record in self.records.items()}
        shown = frozenset(KINDS[self.scope.kind].presented) if self.everyone else frozenset()
        named = identities | shown | self.paths_besides
        return paths_to_read(self.entities.values(), records) | named


# --- Which way takes fewer calls, after the first page of the list --------------------------------


class ListStart(Struct, frozen=True):
    """What the first page of a list says of the whole of it.

    `total` is the number of its rows (None: the service does not say), `shown` the paths that its rows show
    (None: whole entities). With `complete` all its rows are known: what has changed in it was enough.
    """

    total: int | None
    rows_per_page: int
    shown: frozenset[str] | None
    last: bool = False
    complete: bool = False


def is_scan_dearer(request: ReadRequest, start: ListStart) -> bool:
    """Whether the rest of the list takes more calls than a lookup of each of ours."""
    scan = count_scan_calls(request, start)
    # A lookup takes a call at least: of thousands, what exactly is not worth computing.
    return len(request.records) + request.rest < scan and count_lookup_calls(request, start) < scan


def count_scan_calls(request: ReadRequest, start: ListStart) -> int:
    """Return the calls that the whole list still takes: its other pages, and looks at brief rows.

    0 where the service does not say how long it is: then it is read, whatever that takes.
    """
    if start.total is None or start.last:
        return 0
    pages = 0 if start.complete else -(-start.total // start.rows_per_page) - 1
    return pages + _count_looks(request, start.shown, start.total)


def _count_looks(request: ReadRequest, shown: frozenset[str] | None, total: int) -> int:
    """Return how many rows of a scan would need a look of their own."""
    if shown is None:
        return 0
    poor = [one for one in request.entities.values() if not _is_shown(one, shown)]
    if shown == KINDS[request.scope.kind].listing.always and request.unrecorded:
        # Brief rows do not show who they are: each that is not recorded might be one of ours.
        return max(len(poor), total - len(request.records))
    remembered = sum(1 for record in request.records.values() if record.modified)
    return max(0, len(poor) - remembered)


def count_lookup_calls(request: ReadRequest, start: ListStart) -> float:
    """Return the calls that a lookup of each of ours takes; infinity where the list's length is not known."""
    if start.total is None:
        return float("inf")
    looks = 0 if start.shown is None else 1
    recorded = sum(_count_lookup_calls_of(request, address, start.shown) for address in request.records)
    mark = request.rules.mark_of(request.scope.kind)
    return recorded + len(request.unrecorded) * (1 + looks) + bool(mark)


def _count_lookup_calls_of(request: ReadRequest, address: Address, shown: frozenset[str] | None) -> int:
    """Return the calls that one recorded entity takes: a search for each identity, and perhaps a look."""
    entity, searches = request.entities.get(address), len(build_lookups(request, address))
    enough = shown is None or (
        entity is not None
        and not entity.devices_in_scope
        and (_needed_paths(entity) <= shown or bool(request.records[address].modified))
    )
    return searches + (0 if searches and enough else 1)


def build_lookups(request: ReadRequest, address: Address) -> list[dict[str, str]]:
    """Return a filter for each identity of a recorded entity, but not of our mark (one search has it)."""
    entity, record = request.entities.get(address), request.records[address]
    fields = {**record.sent, **(entity.fields if entity else {})}
    return build_identity_filters(request.rules.identity.of(request.scope.kind), fields)


def build_identity_filters(keys: Iterable[Key], fields: Fields) -> list[dict[str, str]]:
    """Return a filter for every identity that these fields have, in order of preference."""
    return [dict(search_texts(key, fields)) for key in keys if all(fields.get(path) for path in key)]


def _needed_paths(entity: Entity) -> frozenset[str]:
    return frozenset(entity.fields) - KINDS[entity.address.kind].write_only


def _is_shown(entity: Entity, shown: frozenset[str]) -> bool:
    """Whether a brief row shows all that a plan has to know of a declared entity."""
    if entity.devices_in_scope:
        return False
    # Nearly every row shows all that is declared: then no set is made for it.
    return shown.issuperset(entity.fields) or _needed_paths(entity) <= shown


# --- What a brief row tells -----------------------------------------------------------------------


class _SoughtFields(Struct, frozen=True):
    """What an entity of ours looks like, by its record or its entry."""

    fields: Fields


class RowJudge:
    """Decides by its row alone whether an entity is ours, and whether the row tells enough of it.

    `owners` maps recorded ids to addresses.
    """

    def __init__(self, request: ReadRequest) -> None:
        self._request = request
        self._keys = request.rules.keys(request.scope.kind)
        self._listing = KINDS[request.scope.kind].listing
        self._mark = request.rules.mark_of(request.scope.kind)
        self._earlier = {one for record in request.records.values() for one in record.earlier}
        self.owners = {record.remote_id: address for address, record in request.records.items()}

    # Each of these holds every entity, and few reads need more than one of them.

    @cached_property
    def _declared(self) -> IdentityIndex[Entity]:
        return IdentityIndex(self._request.entities.values(), self._keys)

    @cached_property
    def _sought(self) -> list[_SoughtFields]:
        looks = [_SoughtFields(record.sent) for record in self._request.records.values()]
        return looks + [_SoughtFields(entity.fields) for entity in self._request.entities.values()]

    @cached_property
    def _ours(self) -> IdentityIndex[_SoughtFields]:
        return IdentityIndex(self._sought, self._keys)

    @cached_property
    def _namesakes(self) -> IdentityIndex[_SoughtFields]:
        return IdentityIndex(self._sought, (self._listing.alike,) if self._listing.alike else ())

    def release(self) -> None:
        """Free the indexes, which are made again where they are needed."""
        for name in ("_declared", "_sought", "_ours", "_namesakes"):
            vars(self).pop(name, None)

    def judge_row(
        self, row: LiveEntity, shown: frozenset[str], *, strangers: bool
    ) -> LiveEntity | Literal["look", "skip"]:
        """Return what a brief row tells; `look`: it tells too little; `skip`: it is none of ours.

            the row is of                              | it shows        | result
            what is recorded and no longer declared    | anything        | look, as it may be deleted
            what is recorded and declared              | all it needs    | the row
                                                       | less; unchanged | the row as last looked at
                                                       | less            | look
            what is not recorded, and shows only names | no name of ours | skip; look with `strangers`
                                                       | a name of ours  | look
            what was ours before, or has our mark      | anything        | look
            what shares an identity with an entry      | all it needs    | the row
                                                       | less            | look
            what shares nothing with us                | its identities  | the row

        A brief row does not say who it is: with `strangers` those that are not recorded are looked at.
        """
        record = self._request.records.get(self.owners.get(row.remote_id, Address("")))
        if record:
            entity = self._request.entities.get(record.address)
            return _judge_recorded_row(row, shown, entity, record) if entity else "look"
        if shown == self._listing.always:
            # Who was made twice has the same name both times; nothing else of a brief row tells.
            return "look" if strangers or self._namesakes.sharing(row.fields) else "skip"
        if row.remote_id in self._earlier:
            return "look"
        if str(row.fields.get(self._mark, "")).startswith(f"{self._request.rules.stack}/"):
            return "look"
        # It may also be a recorded entity: one that was removed and created again by hand has a new id.
        same = self._declared.sharing(row.fields)
        return _make_brief(row, shown, same) if all(_is_shown(entity, shown) for entity in same) else "look"

    def may_be_ours(self, fields: Fields) -> bool:
        """Whether a row may be an entity of ours: it shares an identity, or is too brief to tell."""
        told = any(path in fields for key in self._keys for path in key)
        return not told or bool(self._ours.sharing(fields))


def _judge_recorded_row(
    row: LiveEntity, shown: frozenset[str], entity: Entity, record: RecordedEntity
) -> LiveEntity | Literal["look"]:
    needs = _needed_paths(entity) | record.sent.keys()
    if entity.devices_in_scope:
        return "look"
    if needs <= shown:
        return _make_brief(row, shown, (entity,))
    # Not touched since we looked: what it showed then is what it shows now.
    same = record.modified and parse_instant(record.modified) == parse_instant(row.modified)
    if same and needs <= record.sent.keys():
        known = frozenset(record.sent)
        return structs.replace(row, fields=record.shown, known=known, devices_known=False)
    return "look"


def _make_brief(row: LiveEntity, shown: frozenset[str], declared: Iterable[Entity]) -> LiveEntity:
    """Return the live entity that shows these paths, whose row may be that of a declared entity."""
    # Nearly everybody is live as declared, and fields are most of what a row takes: the same do for both, or
    # at least the same texts.
    fields = row.fields
    for one in declared:
        want = one.fields
        if fields == want:
            fields = want
            break
        fields = {path: want[path] if want.get(path) == value else value for path, value in fields.items()}
    return structs.replace(row, fields=fields, known=shown, devices_known=False)


# --- What we deleted and is shown again -----------------------------------------------------------


def find_restored(
    request: ReadRequest, shown: Collection[str], others: Iterable[tuple[str, Fields]]
) -> Mapping[str, tuple[str, ...]]:
    """Return what we deleted and is shown, by its old id: under that, or under others by its identity.

    `shown` are the ids that the list or searches show, `others` the id and fields of those that are not
    recorded. A restored backup may give new ids. As far as rows tell who they are; brief ones may not.
    """
    gone = request.deleted
    if not gone:
        return {}
    keys = request.rules.identity.of(request.scope.kind)
    known = {one.remote_id for one in gone}
    alike: dict[tuple[str, str], list[str]] = {}
    for remote_id, fields in others if any(one.identities for one in gone) else ():
        if remote_id not in known:
            for digest in identity_digests(fields, keys, request.salt).items():
                alike.setdefault(digest, []).append(remote_id)
    found = {}
    for one in gone:
        by_identity = (now for digest in one.identities.items() for now in alike.get(digest, ()))
        ids = dict.fromkeys([*((one.remote_id,) if one.remote_id in shown else ()), *by_identity])
        if ids:
            found[one.remote_id] = tuple(ids)
    return found
