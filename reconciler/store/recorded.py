"""What we own and remember of it: rows in, values out. And the Batch, what one transaction changes.

Values arrive with their secrets already replaced by digests. Nothing is decided here. Intents and
endings of a batch are written by journal.py, its entries of the audit by audit.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NoReturn

import msgspec

from reconciler.errors import CorruptRecord, StoreError
from reconciler.model import address as addresses
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import LastWrite
from reconciler.model.profile import KIND_NAME
from reconciler.model.runs import Intent, Outcome
from reconciler.model.snapshots import ElsewhereRecords, Flap, RecordedEntity
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection, Row
from reconciler.store.engines.schema import ENTITIES
from reconciler.store.engines.sealed import Seals
from reconciler.store.lost import RESTORE
from reconciler.store.owner import Owner

_FIELDS = msgspec.json.Decoder(dict[str, str | bool])
_FLAPS = msgspec.json.Decoder(dict[str, Flap])
_IDS = msgspec.json.Decoder(tuple[str, ...])
_ALL_RECORDS = f"{sealed.rows_query(ENTITIES)} ORDER BY address"
_workspace_of = sealed.pick_columns(ENTITIES, "workspace_id", "address")
_record_columns = sealed.pick_columns(
    ENTITIES,
    *(
        "address",
        "remote_id",
        "parent_id",
        "sent",
        "shown",
        "modified",
        "protected",
        "adopted",
        "earlier",
        "flaps",
    ),
)


class Batch(msgspec.Struct, frozen=True):
    """What one transaction changes, in this order.

    `renames` carry a record from its old address to its new one, replacing what was there. `intents` are
    what may be sent from now on, `ended` how changes of this run ended: one in doubt leaves its intent
    open. `found` and `absent` are addresses that *other* runs left open and that were looked for since;
    `left_by` is the one that did, where only its intents are meant. `left` are those of `forget` that leave
    the manifests while what is live stays: the audit tells of them. `identities` are digests of what deleted
    entities were known by, under this store's salt.
    """

    renames: tuple[tuple[Address, Address], ...] = ()
    remember: tuple[RecordedEntity, ...] = ()
    forget: tuple[Address, ...] = ()
    intents: tuple[Intent, ...] = ()
    ended: tuple[Outcome, ...] = ()
    found: tuple[Address, ...] = ()
    absent: tuple[Address, ...] = ()
    left_by: str = ""
    left: tuple[Address, ...] = ()
    identities: Mapping[Address, Mapping[str, str]] = {}


def load_records(
    connection: Connection, owner: Owner, ids: Mapping[str, str]
) -> dict[Address, RecordedEntity]:
    """Return what is owned in the workspaces of `ids` (alias -> the service's id), by address.

    Under which alias a record was written says nothing: it has the one that its workspace has now.

    Raises CorruptRecord for the first row that does not hold what this program writes, and where all
    together are not the rows that it wrote.
    """
    found: dict[Address, RecordedEntity] = {}
    unknown: list[KindUnknown] = []
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}

    def read() -> Iterator[Row]:
        # One at a time: all rows as they stand in the database take as much memory again as what is kept.
        for row in connection.execute(_ALL_RECORDS, owner.key()):
            yield row
            workspace_id, _ = _workspace_of(row)
            alias = aliases.get(workspace_id)
            try:
                entity = _decode_record(row, alias or _ANY)
            except KindUnknown as error:
                unknown.append(error)
                continue
            if alias is not None:
                found[entity.address] = entity

    sealed.check_seal(connection, ENTITIES, owner, read())  # first: a kind that nobody ever had is damage
    if unknown:
        raise unknown[-1]
    return found


class KindUnknown(StoreError):
    """A record is of a kind that no profile brings any more: something live, and no damage."""


def list_record_addresses(connection: Connection, owner: Owner) -> Iterator[tuple[str, Address]]:
    """Yield every record's workspace id and address, under no alias of it; a damaged one is left out."""
    query = f"SELECT workspace_id, address FROM entities WHERE {sealed.OWNED}"
    for workspace_id, text in connection.execute(query, owner.key()):
        address = addresses.parse_address(_with_alias(text, _ANY)) if isinstance(text, str) else None
        if address is not None:
            yield str(workspace_id), address


def count_records(connection: Connection, owner: Owner) -> dict[str, int]:
    """Return how many records there are in each workspace, by its id."""
    query = f"SELECT workspace_id, count(*) FROM entities WHERE {sealed.OWNED} GROUP BY workspace_id"
    return {str(workspace_id): number for workspace_id, number in connection.execute(query, owner.key())}


def find_shared_records(
    connection: Connection, owner: Owner, ids: Mapping[str, str]
) -> dict[tuple[str, str], str]:
    """Return which other stack has a record of an entity in these workspaces, by alias and its id."""
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    query = (
        "SELECT workspace_id, remote_id, stack FROM entities "
        "WHERE origin = :origin AND stack <> :stack AND workspace_id IN (:ids) ORDER BY stack DESC"
    )
    rows = connection.execute(query, {**owner.key(), "ids": [*aliases]})
    return {(aliases[workspace_id], str(remote_id)): str(stack) for workspace_id, remote_id, stack in rows}


def load_elsewhere_records(
    connection: Connection, owner: Owner, ids: Mapping[str, str]
) -> tuple[ElsewhereRecords, ...]:
    """Return what was recorded for the same stack at other addresses, in the workspaces of `ids`.

    Raises CorruptRecord where the rows there are not those that were written.
    """
    check_elsewhere_records(connection, owner)
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    query = (
        "SELECT origin, workspace_id, address, remote_id FROM entities "
        "WHERE stack = :stack AND origin <> :origin AND workspace_id IN (:ids)"
    )
    found: dict[str, dict[Address, str]] = {}
    for origin, workspace_id, text, remote_id in connection.execute(
        query, {**owner.key(), "ids": [*aliases]}
    ):
        address = addresses.parse_address(_with_alias(str(text), aliases[workspace_id]))
        if address is not None:
            found.setdefault(str(origin), {})[address] = str(remote_id)
    return tuple(ElsewhereRecords(origin, known) for origin, known in sorted(found.items()))


def check_elsewhere_records(connection: Connection, owner: Owner) -> None:
    """Return where the records of the same stack at every other address are those that were written.

    Each address has a seal of its own. Raises CorruptRecord, which names it.
    """
    for origin in sealed.sealed_origins(connection, ENTITIES, owner.stack):
        if origin == owner.origin:
            continue
        other = Owner(origin, owner.stack)
        try:
            sealed.check_seal(connection, ENTITIES, other, connection.execute(_ALL_RECORDS, other.key()))
        except CorruptRecord as error:
            raise CorruptRecord(f"{error} These are the records of {origin:.200}.", next=error.next) from None


def load_last_writes(
    connection: Connection, owner: Owner, wanted: Iterable[Address], ids: Mapping[str, str]
) -> dict[Address, LastWrite]:
    """Return the run that last wrote the record of each address, and when; of what is recorded alone."""
    found = {}
    query = (
        f"SELECT run, updated_at FROM entities "
        f"WHERE {sealed.OWNED} AND address = :address AND workspace_id = :workspace_id"
    )
    for address in wanted:
        of_one = {"address": address.without_workspace, "workspace_id": ids.get(address.workspace)}
        run, updated_at = connection.execute(query, {**owner.key(), **of_one}).one_or_none() or (None, None)
        if isinstance(run, str) and isinstance(updated_at, str):
            found[address] = LastWrite(run, updated_at)
    return found


def write_records(
    seals: Seals, batches: Iterable[Batch], *, ids: Mapping[str, str], stamp: Mapping[str, str]
) -> None:
    """Rename, remember and forget, batch by batch. `stamp` holds `updated_at` and `run`."""
    together: dict[Address, RecordedEntity | None] = {}
    for batch in batches:
        if batch.renames:
            _replace_records(seals, ids, together, stamp)
            together = {}
        for old, new in batch.renames:
            _rename_record(seals, ids, old, new)
        together |= {entity.address: entity for entity in batch.remember}
        together |= dict.fromkeys(batch.forget)
    _replace_records(seals, ids, together, stamp)


def _replace_records(
    seals: Seals,
    ids: Mapping[str, str],
    entities: Mapping[Address, RecordedEntity | None],
    stamp: Mapping[str, str],
) -> None:
    # Replacing is deleting and inserting in one transaction: every database has its own words for
    # doing both at once, and none is needed.
    key = seals.owner.key()
    rows = [{**key, **stamp, **_record_row(entity, ids)} for entity in entities.values() if entity]
    seals.replace(ENTITIES, gone=_record_conditions(ids, entities), come=rows)


def _record_conditions(ids: Mapping[str, str], entities: Iterable[Address]) -> list[sealed.Where]:
    workspaces: dict[str, list[str]] = {}
    for address in entities:
        workspaces.setdefault(ids[address.workspace], []).append(address.without_workspace)
    return [{"workspace_id": workspace, "address": some} for workspace, some in workspaces.items()]


def _rename_record(seals: Seals, ids: Mapping[str, str], old: Address, new: Address) -> None:
    if old.without_workspace == new.without_workspace and ids[old.workspace] == ids[new.workspace]:
        return  # what was there is what takes its place
    seals.replace(ENTITIES, gone=_record_conditions(ids, [new]))
    for where in _record_conditions(ids, [old]):
        seals.change(ENTITIES, where, {"address": new.without_workspace})


def _record_row(entity: RecordedEntity, ids: Mapping[str, str]) -> dict[str, object]:
    return {
        "workspace_id": ids[entity.address.workspace],
        "address": entity.address.without_workspace,
        "remote_id": entity.remote_id,
        "parent_id": entity.parent_id,
        "sent": encode_json(entity.sent).decode(),
        "shown": encode_json(entity.shown).decode(),
        "modified": entity.modified,
        "protected": entity.protected,
        "adopted": entity.adopted,
        "earlier": encode_json(entity.earlier).decode(),
        "flaps": encode_json(entity.flaps).decode(),
    }


def _decode_record(row: Row, alias: str) -> RecordedEntity:
    named, remote_id, parent_id, sent, shown, modified, protected, adopted, earlier, flaps = _record_columns(
        row
    )
    address = decode_address(_with_alias(named, alias) if isinstance(named, str) else named)
    if not (isinstance(remote_id, str) and remote_id):
        raise_corrupt_record(address, "its remote id is missing")
    fields = _decode_fields(address, sent)
    return RecordedEntity(
        address=address,
        remote_id=remote_id,
        parent_id=_require_text(address, parent_id),
        sent=fields,
        shown=fields
        if shown == sent
        else _decode_fields(address, shown),  # nearly always: one value for both
        modified=_require_text(address, modified),
        protected=bool(protected),
        adopted=_require_text(address, adopted),
        earlier=_decode_ids(address, earlier),
        flaps=_decode_flaps(address, flaps),
    )


_ANY = "default"  # an alias, where which one it is says nothing


def _with_alias(text: str, alias: str) -> str:
    """Return the address of what a row names without an alias, in the workspace with this one."""
    kind, slash, rest = text.partition("/")
    return f"{kind}{slash}{alias}/{rest}" if slash else text


def decode_address(text: object, *, what: str = "it is not an address") -> Address:
    """Return the address that a column holds.

    Raises CorruptRecord, or KindUnknown: the advice for damage would let it be made again.
    """
    address = addresses.parse_address(text) if isinstance(text, str) else None
    if address is None:
        kind, slash, _ = str(text).partition("/")
        if slash and KIND_NAME.fullmatch(kind) and kind not in KINDS:
            raise KindUnknown(
                f"the store has a record of {text!s:.200}, and no kind {kind} is known here.",
                next=f"name the profile that brings {kind} (service.profile); before a kind is taken out of "
                "it, apply manifests in which its section is empty",
            )
        raise_corrupt_record(text, what)
    return address


def _require_text(address: Address, value: object) -> str:
    if not isinstance(value, str):
        raise_corrupt_record(address, "a text is missing")
    return value


def _decode_fields(address: Address, text: object) -> dict[str, Scalar]:
    try:
        return _FIELDS.decode(_require_text(address, text))
    except msgspec.DecodeError:
        raise_corrupt_record(address, "its fields cannot be read")


def _decode_ids(address: Address, text: object) -> tuple[str, ...]:
    try:
        return _IDS.decode(_require_text(address, text)) if text != "[]" else ()
    except msgspec.DecodeError:
        raise_corrupt_record(address, "its earlier ids cannot be read")


def _decode_flaps(address: Address, text: object) -> Mapping[str, Flap]:
    try:
        return _FLAPS.decode(_require_text(address, text)) if text != "{}" else {}
    except msgspec.DecodeError:
        raise_corrupt_record(address, "its counts of what others write cannot be read")


def raise_corrupt_record(address: object, what: str) -> NoReturn:
    """Raise CorruptRecord: the row of `address` does not hold what this program writes."""
    shown = f"{address!s:.200}"
    raise CorruptRecord(
        f"the store's record of {shown} is damaged: {what}.",
        next=RESTORE,
    ) from None
