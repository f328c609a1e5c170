"""What we own and remember of it: records, deleted entities, aliases of workspaces, password digests.

Rows in, values out; nothing is decided here. Values arrive with their secrets already replaced by digests.
A `Batch` is what one transaction changes: its intents, endings and audit entries are written in history.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NoReturn

import msgspec
from msgspec import Struct

from reconciler.errors import CorruptRecord, StoreError
from reconciler.model import address as addresses
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import LastWrite
from reconciler.model.profile import KIND_NAME
from reconciler.model.runs import Intent, JournalEntry, Outcome
from reconciler.model.snapshots import DeletedEntity, ElsewhereRecords, Flap, Proofs, RecordedEntity
from reconciler.store import sealed_tables
from reconciler.store.adapter import RESTORE, Connection, Row
from reconciler.store.schema import DELETED, ENTITIES, JOURNAL, META, PROOFS, RUNS, WORKSPACES, Table
from reconciler.store.sealed_tables import Owner, Seals

_FIELDS = msgspec.json.Decoder(dict[str, str | bool])
_FLAPS = msgspec.json.Decoder(dict[str, Flap])
_IDS = msgspec.json.Decoder(tuple[str, ...])
_ALL_RECORDS = sealed_tables.rows_query(
    ENTITIES
)  # in no order: a database sorts whole rows, of all workspaces
_workspace_of = sealed_tables.pick_columns(ENTITIES, "workspace_id", "address")
_record_columns = sealed_tables.pick_columns(
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
    the manifests while what is live stays: the audit names them. `identities` are digests of what deleted
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
        for row in connection.stream(_ALL_RECORDS, owner.key()):
            yield row
            workspace_id, named = _workspace_of(row)
            alias = aliases.get(workspace_id)
            if alias is None and str(named).partition("/")[0] in KINDS:
                continue  # of another workspace: the seal says that it is as it was written
            try:
                entity = _decode_record(row, alias or _ANY)
            except KindUnknown as error:
                unknown.append(error)
                continue
            if alias is not None:
                found[entity.address] = entity

    sealed_tables.check_seal(
        connection, ENTITIES, owner, read()
    )  # first: a kind that never existed is damage
    if unknown:
        raise unknown[-1]
    return dict(sorted(found.items()))


def load_some_records(
    connection: Connection, owner: Owner, ids: Mapping[str, str], wanted: Mapping[Address, bytes]
) -> dict[Address, RecordedEntity]:
    """Return the records of some addresses, each of whose rows has the digest that `wanted` says.

    b"" stands for no record. One query for each workspace, however many records there are besides. Raises
    RecordsMoved where a row is another one, or there is one more or less.
    """
    found: dict[Address, RecordedEntity] = {}
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    for where in _record_conditions(ids, wanted):
        for row in sealed_tables.select_rows(connection, ENTITIES, owner, where):
            workspace_id, _ = _workspace_of(row)
            entity = _decode_record(row, aliases[workspace_id])
            if wanted[entity.address] != sealed_tables.row_digest(row):
                raise RecordsMoved
            found[entity.address] = entity
    if any(digest and address not in found for address, digest in wanted.items()):
        raise RecordsMoved
    return found


def digest_records(connection: Connection, owner: Owner, ids: Mapping[str, str]) -> dict[Address, bytes]:
    """Return the digest of the row of each record in these workspaces, by address and in no order.

    No record is decoded. Raises CorruptRecord where all together are not the rows that were written, and
    KindUnknown as `load_records` does.
    """
    aliases = {workspace_id: f"/{alias}/" for alias, workspace_id in ids.items()}
    rows = connection.stream(sealed_tables.rows_query(ENTITIES), owner.key())
    found: dict[Address, bytes] = {}
    unknown = ""
    for row, digest in sealed_tables.iterate_sealed(connection, ENTITIES, owner, rows):
        workspace_id, text = _workspace_of(row)
        kind, _, rest = str(text).partition("/")
        if kind not in KINDS:
            unknown = str(text)
        elif (alias := aliases.get(workspace_id)) is not None:
            found[Address(f"{kind}{alias}{rest}")] = digest
    if unknown:
        decode_address(_with_alias(unknown, _ANY))
    return found


def digest_written_records(
    connection: Connection,
    owner: Owner,
    ids: Mapping[str, str],
    known: Mapping[Address, bytes],
    since: str,
) -> dict[Address, bytes] | None:
    """Return what `digest_records` does by what was written since a moment; None where that does not tell.

    `known` are the digests of the others, as somebody remembers them. All together have to make the seal, so
    a row that is gone, was renamed, or belongs to another workspace makes it None.
    """
    aliases = {workspace_id: f"/{alias}/" for alias, workspace_id in ids.items()}
    found = dict(known)
    query = f"{sealed_tables.rows_query(ENTITIES)} AND updated_at >= :since"
    for row in connection.stream(query, {**owner.key(), "since": since}):
        workspace_id, text = _workspace_of(row)
        kind, _, rest = str(text).partition("/")
        alias = aliases.get(workspace_id)
        if kind not in KINDS or alias is None:
            return None
        found[Address(f"{kind}{alias}{rest}")] = sealed_tables.row_digest(row)
    return found if sealed_tables.fits_seal(connection, ENTITIES, owner, found.values()) else None


def find_last_written(connection: Connection, owner: Owner) -> str:
    """Return when a record was written last, as `updated_at` says it; "" where there is none."""
    query = f"SELECT max(updated_at) FROM entities WHERE {sealed_tables.OWNED}"
    return str(connection.execute(query, owner.key()).scalar() or "")


class RecordsMoved(Exception):
    """Records are not those that somebody knows by their digests: written since, or damaged."""


class KindUnknown(StoreError):
    """A record is of a kind that no profile brings any more: something live, and no damage."""


def list_record_addresses(connection: Connection, owner: Owner) -> Iterator[tuple[str, Address]]:
    """Yield every record's workspace id and address, under no alias of it; a damaged one is left out."""
    query = f"SELECT workspace_id, address FROM entities WHERE {sealed_tables.OWNED}"
    for workspace_id, text in connection.execute(query, owner.key()):
        address = addresses.parse_address(_with_alias(text, _ANY)) if isinstance(text, str) else None
        if address is not None:
            yield str(workspace_id), address


def count_records(connection: Connection, owner: Owner) -> dict[str, int]:
    """Return how many records there are in each workspace, by its id."""
    query = f"SELECT workspace_id, count(*) FROM entities WHERE {sealed_tables.OWNED} GROUP BY workspace_id"
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
    for origin in sealed_tables.sealed_origins(connection, ENTITIES, owner.stack):
        if origin == owner.origin:
            continue
        other = Owner(origin, owner.stack)
        try:
            sealed_tables.check_seal(
                connection, ENTITIES, other, connection.execute(_ALL_RECORDS, other.key())
            )
        except CorruptRecord as error:
            raise CorruptRecord(f"{error} These are the records of {origin:.200}.", next=error.next) from None


def load_last_record_writes(
    connection: Connection, owner: Owner, wanted: Iterable[Address], ids: Mapping[str, str]
) -> dict[Address, LastWrite]:
    """Return the run that last wrote the record of each address, and when; of what is recorded alone."""
    found = {}
    query = (
        f"SELECT run, updated_at FROM entities "
        f"WHERE {sealed_tables.OWNED} AND address = :address AND workspace_id = :workspace_id"
    )
    for address in wanted:
        of_one = {"address": address.without_workspace, "workspace_id": ids.get(address.workspace)}
        run, updated_at = connection.execute(query, {**owner.key(), **of_one}).one_or_none() or (None, None)
        if isinstance(run, str) and isinstance(updated_at, str):
            found[address] = LastWrite(run, updated_at)
    return found


def write_records(
    seals: Seals, batches: Iterable[Batch], *, ids: Mapping[str, str], stamp: Mapping[str, str]
) -> dict[Address, bytes]:
    """Rename, remember and forget, batch by batch. `stamp` holds `updated_at` and `run`.

    Return the digest of the row of each record that was written, by address.
    """
    together: dict[Address, RecordedEntity | None] = {}
    written: dict[Address, bytes] = {}
    for batch in batches:
        if batch.renames:
            written |= _replace_records(seals, ids, together, stamp)
            together = {}
        for old, new in batch.renames:
            _rename_record(seals, ids, old, new)
        together |= {entity.address: entity for entity in batch.remember}
        together |= dict.fromkeys(batch.forget)
    return written | _replace_records(seals, ids, together, stamp)


def _replace_records(
    seals: Seals,
    ids: Mapping[str, str],
    entities: Mapping[Address, RecordedEntity | None],
    stamp: Mapping[str, str],
) -> dict[Address, bytes]:
    # Replacing is deleting and inserting in one transaction: every database has its own words for
    # doing both at once, and none is needed.
    key = seals.owner.key()
    kept = [entity for entity in entities.values() if entity]
    rows = [{**key, **stamp, **_record_row(entity, ids)} for entity in kept]
    digests = seals.replace(ENTITIES, gone=_record_conditions(ids, entities), come=rows)
    return {entity.address: digest for entity, digest in zip(kept, digests, strict=True)}


def _record_conditions(ids: Mapping[str, str], entities: Iterable[Address]) -> list[sealed_tables.Where]:
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
                next=f"set service.profile to the profile that defines {kind}; before you remove a kind from "
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
        raise_corrupt_record(address, "its counts of outside changes cannot be read")


def raise_corrupt_record(address: object, what: str) -> NoReturn:
    """Raise CorruptRecord: the row of `address` does not hold what this program writes."""
    shown = f"{address!s:.200}"
    raise CorruptRecord(
        f"the store's record of {shown} is damaged: {what}.",
        next=RESTORE,
    ) from None


# --- Deleted entities -------------------------------------------------------------------------------------
#
# What runs of this store deleted is kept for 90 days, so that it is recognized where a backup brings it back:
# addresses, ids and what it was known by, as digests under the store's salt. A restore may give a new id.


deleted_kept_for = timedelta(days=90)


def note_deleted(
    connection: Connection,
    owner: Owner,
    ended: Iterable[Outcome],
    ids: Mapping[str, str],
    *,
    run: str,
    now: datetime,
    settled: Iterable[JournalEntry] = (),
    identities: Mapping[Address, Mapping[str, str]] | None = None,
) -> None:
    """Write down each delete that was carried out; what is older than 90 days goes.

    `settled` are what earlier runs left open, and how it ended. `identities` are digests of what each was
    known by, by the names of its identities.
    """
    known, aliases = identities or {}, {one: alias for alias, one in ids.items()}
    done = (one for one in ended if one.action == "delete" and one.result == "applied")
    gone = {one.address: one.remote_id for one in done if one.remote_id}
    for entry in settled:
        if entry.intent.action == "delete" and entry.ending == "applied" and entry.intent.remote_id:
            gone.setdefault(entry.address_now(aliases), entry.intent.remote_id)
    gone = {address: one for address, one in gone.items() if address.workspace in ids}
    if not gone:
        return
    old = f"DELETE FROM deleted WHERE {sealed_tables.OWNED} AND deleted_at < :until"
    connection.execute(old, {**owner.key(), "until": _format_deleted_time(now - deleted_kept_for)})
    for address, remote_id in gone.items():
        row = {
            **owner.key(),
            "workspace_id": ids[address.workspace],
            "address": str(address),
            "remote_id": remote_id,
        }
        connection.execute(
            f"DELETE FROM deleted WHERE {sealed_tables.OWNED} AND workspace_id = :workspace_id "
            "AND address = :address AND remote_id = :remote_id",
            row,
        )
        told = {
            "identities": msgspec.json.encode(known.get(address, {}), order="deterministic").decode(),
            "run": run,
            "deleted_at": _format_deleted_time(now),
        }
        connection.execute(DELETED.insert, {**row, **told})


def load_deleted(
    connection: Connection, owner: Owner, ids: Mapping[str, str], *, now: datetime
) -> tuple[DeletedEntity, ...]:
    """Return what was deleted in these workspaces within 90 days, oldest first.

    A workspace is known by its id: what was deleted under another alias has the present one.
    """
    since, aliases = _format_deleted_time(now - deleted_kept_for), {one: alias for alias, one in ids.items()}
    query = (
        "SELECT address, workspace_id, remote_id, run, deleted_at, identities FROM deleted "
        f"WHERE {sealed_tables.OWNED} AND deleted_at >= :since ORDER BY deleted_at, address"
    )
    found = []
    for row in connection.execute(query, {**owner.key(), "since": since}):
        text, workspace_id, remote_id, run, deleted_at, identities = map(str, row)
        address, alias = addresses.parse_address(text), aliases.get(workspace_id)
        if address is not None and alias is not None:
            address = address.in_workspace(alias)
            found.append(DeletedEntity(address, remote_id, run, deleted_at, _decode_identities(identities)))
    return tuple(found)


def _decode_identities(text: str) -> Mapping[str, str]:
    """Return the digests of a row; none where they cannot be read, for they only help to recognize."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        return {}


def _format_deleted_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


# --- Aliases of workspaces --------------------------------------------------------------------------------
#
# Records are kept by the service's id of a workspace. Its alias is what a person calls it: it may be spelt
# anew, and the records go with it. The last entry here shows that it was.


_alias_columns = sealed_tables.pick_columns(WORKSPACES, "number", "workspace_id", "alias", "applied")


class KnownAlias(Struct, frozen=True, order=True):
    """A workspace under one of its aliases. `applied` is when a whole apply of it ended last, or ""."""

    number: int
    id: str
    alias: str
    applied: str


def load_aliases(connection: Connection, owner: Owner) -> tuple[KnownAlias, ...]:
    """Return every workspace under every alias it had here; the last one of each comes last.

    Raises CorruptRecord where these are not the rows that were written.
    """
    rows = connection.execute(sealed_tables.rows_query(WORKSPACES), owner.key()).all()
    sealed_tables.check_seal(connection, WORKSPACES, owner, rows)
    return _decode_aliases(rows)


def load_readable_aliases(connection: Connection, owner: Owner) -> tuple[KnownAlias, ...]:
    """Return the same of a table that may be damaged, for people to read; what is no alias is left out."""
    rows = connection.execute(sealed_tables.rows_query(WORKSPACES), owner.key()).all()
    return _decode_aliases(
        row for row in rows if list(map(type, _alias_columns(row))) == [int, str, str, str]
    )


def last_aliases(found: Iterable[KnownAlias]) -> dict[str, str]:
    """Return by id the alias that each workspace was last known by."""
    return {one.id: one.alias for one in sorted(found)}


def note_aliases(seals: Seals, ids: Mapping[str, str], *, applied: str = "") -> None:
    """Write down that these workspaces (alias -> id) have these aliases now.

    With `applied`, also that a whole apply of them ended then. Raises CorruptRecord.
    """
    rows = seals.connection.execute(sealed_tables.rows_query(WORKSPACES), seals.owner.key()).all()
    seals.check(WORKSPACES, rows)
    found = _decode_aliases(rows)
    last, number = last_aliases(found), max((one.number for one in found), default=0)
    there = {(one.id, one.alias) for one in found}
    for alias, workspace_id in sorted(ids.items()):
        one = {"workspace_id": workspace_id, "alias": alias}
        if last.get(workspace_id) != alias:
            number += 1
            if (workspace_id, alias) in there:
                seals.change(WORKSPACES, one, {"number": number})
            else:
                row = {**seals.owner.key(), **one, "number": number, "applied": ""}
                seals.replace(WORKSPACES, come=[row])
        if applied:
            seals.change(WORKSPACES, one, {"applied": applied})


def _decode_aliases(rows: Iterable[Row]) -> tuple[KnownAlias, ...]:
    return tuple(sorted(KnownAlias(*_alias_columns(row)) for row in rows))


# --- Password digests -------------------------------------------------------------------------------------
#
# That many passwords together are those last sent; what they prove: core/compare/password_digests.py. A row
# that is missing or damaged is compared with nothing, and costs the plan time. So there is no seal, and
# nothing here raises CorruptRecord.


def load_password_digests(connection: Connection, owner: Owner, ids: Mapping[str, str]) -> Proofs:
    """Return the proofs of the workspaces of `ids` (alias -> the service's id)."""
    aliases: dict[str, list[str]] = {}
    for alias, known in ids.items():
        aliases.setdefault(known, []).append(alias)
    query = f"SELECT workspace_id, part, proof FROM proofs WHERE {sealed_tables.OWNED}"
    return {
        (alias, part): proof
        for workspace_id, part, proof in connection.execute(query, owner.key())
        for alias in aliases.get(workspace_id, ())
        if isinstance(part, int) and isinstance(proof, str)
    }


def replace_password_digests(
    connection: Connection, owner: Owner, proofs: Proofs, ids: Mapping[str, str]
) -> None:
    """Put these proofs in the place of all that there are for the workspaces of `ids`."""
    mine = {**owner.key(), "ids": sorted(set(ids.values()))}
    connection.execute(f"DELETE FROM proofs WHERE {sealed_tables.OWNED} AND workspace_id IN (:ids)", mine)
    rows = {
        (ids[alias], part): {**owner.key(), "workspace_id": ids[alias], "part": part, "proof": proof}
        for (alias, part), proof in sorted(proofs.items())
    }
    if rows:
        connection.execute_many(PROOFS.insert, list(rows.values()))


# --- Records of a stack at one address of a service move to another address ------------------------
#
# Rows move, none is lost. engine/planning.py decides that both are one service; history.py has the entries.


_COMPANY = "company "


def read_company(connection: Connection, origin: str) -> str:
    """Return the id of the company of the service at this address, or "" where it is not known."""
    query = "SELECT value FROM meta WHERE key = :key"
    return str(connection.execute(query, {"key": f"{_COMPANY}{origin}"}).scalar() or "")


def take_over_records(seals: Seals, before: Owner, *, ids: Mapping[str, str], company: str) -> int:
    """Move the records in these workspaces (alias -> id), and what runs left open; return how many records.

    A record that is there already stays as it is, and the other one goes. No run may write as `before`.
    Raises CorruptRecord.
    """
    connection, owner = seals.connection, seals.owner
    theirs = Seals(connection, before)
    wanted = [*ids.values()]
    moved = _move_rows(seals, theirs, ENTITIES, ("workspace_id", "address"), {"workspace_id": wanted})
    last = last_aliases(load_aliases(connection, before))
    _move_rows(seals, theirs, JOURNAL, ("run", "address"), {})
    _move_rows(seals, theirs, RUNS, ("run",), {})
    theirs.save()
    known = {one.id for one in load_aliases(connection, owner)}
    came = {last[one]: one for one in wanted if one in last and one not in known}
    note_aliases(seals, came)
    if company:
        known_company = {"key": f"{_COMPANY}{owner.origin}", "value": company}
        connection.execute("DELETE FROM meta WHERE key = :key", known_company)
        connection.execute(META.insert, known_company)
    return moved


def _move_rows(
    seals: Seals, theirs: Seals, table: Table, key: tuple[str, ...], where: sealed_tables.Where
) -> int:
    connection, mine, before = seals.connection, seals.owner.key(), theirs.owner.key()
    sealed_tables.check_seal(
        connection, table, theirs.owner, connection.execute(sealed_tables.rows_query(table), before).all()
    )
    condition = " AND ".join((sealed_tables.OWNED, *(f"{name} IN (:{name})" for name in where)))
    rows = connection.execute(f"{table.select} WHERE {condition}", {**before, **where}).all()
    there = set(
        connection.execute(f"SELECT {', '.join(key)} FROM {table.name} WHERE {sealed_tables.OWNED}", mine)
    )
    theirs.replace(table, gone=[where])
    found = (dict(zip(table.columns, row, strict=True)) for row in rows)
    come = [{**row, **mine} for row in found if tuple(row[name] for name in key) not in there]
    seals.replace(table, come=come)
    return len(come)
