"""From an older version of the tables to the present one, step by step.

Each step is written once and never changed: it knows the tables as they were and as they became then, and
nothing of what `schema.py` says that they are now. All steps are carried out in the one transaction
that the caller gives: after a kill at any moment the store is of the one version or of the other.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    insert,
    literal,
    select,
    text,
)

from reconciler.core.compare.normalize import SECRET
from reconciler.core.compare.readback import reads_back_as
from reconciler.core.digests import stretch_secret
from reconciler.model.kinds import KINDS
from reconciler.store.engines import schema, sealed
from reconciler.store.owner import Owner


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from `version`, an older one, to the present one. Nothing that was kept is lost."""
    for step in range(version, schema.VERSION):
        STEPS[step](connection)
    connection.execute(
        schema.META.update().where(schema.META.c.key == "version").values(value=str(schema.VERSION))
    )


def writer(connection: Connection, now: datetime) -> str:
    """Return who holds a lock of any origin and stack in tables of an older version, or "".

    Such a run goes on with statements for the tables as they were. What it writes would be in no seal, and be
    taken for damage.
    """
    locks = Table("locks", MetaData(), *_texts("nonce", "run", "holder", "expires"))
    for row in connection.execute(select(locks).where(locks.c.nonce != "")):
        if _lives(row.expires, now):
            return f"{row.holder}, run {row.run}; its lease ends at {row.expires}"
    return ""


def _lives(expires: object, now: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(expires)) > now
    except (ValueError, TypeError):  # no time, or one without a zone: nobody who writes has written it
        return False


def _to_2(connection: Connection) -> None:
    """Doubts become open creates of a journal; locks count; runs keep who, where, plan and consent."""
    metadata = MetaData()
    doubts = Table("doubts", metadata, *_texts("origin", "stack", "address", "until", "run"))
    journal = Table(
        "journal",
        metadata,
        *_key("origin", "stack", "run", "address"),
        *_texts("action", "remote_id", "parent_id", "at", "until", "ending"),
        Column("counter", Integer, nullable=False),
    )
    journal.create(connection)
    # When it was sent is not known, only when it can no longer land.
    known = doubts.c
    rows = select(
        *(known.origin, known.stack, known.run, known.address),
        *(literal("create"), literal(""), literal("")),
        *(known.until, known.until, literal("")),
        literal(0),
    )
    connection.execute(insert(journal).from_select([column.name for column in journal.columns], rows))
    doubts.drop(connection)
    _add_audit_and_paces(connection)
    _count_locks(connection)
    _widen_runs(connection)


def _add_audit_and_paces(connection: Connection) -> None:
    metadata = MetaData()
    Table(
        "audit",
        metadata,
        *_key("origin", "stack"),
        Column("number", Integer, primary_key=True),
        Column("body", Text, nullable=False),
        Column("hash", String, nullable=False),
    )
    Table(
        "paces",
        metadata,
        Column("credential", String, primary_key=True),
        *(Column(name, Float, nullable=False) for name in ("rate", "changed_at", "next_at", "seen_at")),
    )
    metadata.create_all(connection)


def _count_locks(connection: Connection) -> None:
    locks = Table(
        "locks",
        MetaData(),
        *_key("origin", "stack"),
        Column("counter", Integer, nullable=False),
        *_texts("nonce", "run", "holder", "seat"),
        Column("pid", Integer, nullable=False),
        *_texts("since", "expires"),
    )
    _rebuild(connection, locks, {"counter": literal(1)})


def _widen_runs(connection: Connection) -> None:
    runs = Table(
        "runs",
        MetaData(),
        *_key("run"),
        *_texts("origin", "stack"),
        Column("number", Integer, nullable=False),
        *_texts("command", "fingerprint", "started_at", "ended_at", "outcome"),
        Column("exit_code", Integer, nullable=False),
        Column("counts", Text, nullable=False),
        *_texts("who"),
        *(Column(name, Text, nullable=False) for name in ("context", "plan", "consent")),
    )
    added: dict[str, ColumnElement[object]] = {
        name: literal("") for name in ("who", "context", "plan", "consent")
    }
    _rebuild(connection, runs, {"number": literal(0), **added})


def _to_3(connection: Connection) -> None:
    """Records say whose their entity is, and forget what a write without effect left; rows are sealed."""
    _trace_entities(connection)
    _forget_what_was_not_taken(connection)
    _stretch_secrets(connection)
    _add_proofs(connection)
    _seal(connection)


def _trace_entities(connection: Connection) -> None:
    entities = Table(
        "entities",
        MetaData(),
        *_key("origin", "stack", "workspace_id", "address"),
        *_texts("remote_id", "parent_id"),
        *(Column(name, Text, nullable=False) for name in ("sent", "shown")),
        *_texts("modified"),
        Column("protected", Boolean, nullable=False),
        *_texts("adopted"),
        Column("earlier", Text, nullable=False),
        *_texts("updated_at", "run"),
    )
    # Nobody wrote down whether we made them.
    _rebuild(connection, entities, {"adopted": literal("unknown"), "earlier": literal("[]")})


def _forget_what_was_not_taken(connection: Connection) -> None:
    """Forget a field that the service showed otherwise than it was sent, unless both are the same value.

    Version 2 took any value that was shown after a write for the service's own way of writing it, also the
    old one after a write that the service ignored. Without a record the next plan compares anew.
    """
    entities = Table("entities", MetaData(), *_key(*_ENTITY_KEY), *_texts("sent", "shown", "modified"))
    rows = connection.execute(select(entities)).all()
    for row in rows:
        kept = _taken(row.address, row.sent, row.shown)
        if kept is not None:
            sent, shown = (json.dumps(one, ensure_ascii=False) for one in kept)
            mine = [entities.c[name] == getattr(row, name) for name in _ENTITY_KEY]
            connection.execute(entities.update().where(*mine).values(sent=sent, shown=shown, modified=""))


_ENTITY_KEY = ("origin", "stack", "workspace_id", "address")
_Fields = dict[str, Any]


def _taken(address: str, sent_text: str, shown_text: str) -> tuple[_Fields, _Fields] | None:
    """Return what of a record may stay, or None where all of it may. What cannot be read stays as it is."""
    kind = KINDS.get(address.partition("/")[0])
    try:
        sent, shown = json.loads(sent_text), json.loads(shown_text)
    except ValueError:
        return None
    if kind is None or not isinstance(sent, dict) or not isinstance(shown, dict):
        return None
    wrong = {
        path
        for path, value in sent.items()
        if path not in kind.write_only and not reads_back_as(kind.name, path, value, shown.get(path, ""))
    }
    if not wrong:
        return None
    return _rest(sent, wrong), _rest(shown, wrong)


def _rest(fields: _Fields, wrong: set[str]) -> _Fields:
    return {path: value for path, value in fields.items() if path not in wrong}


# Each takes some 15 ms, in the transaction that opens the store; a store with more forgets the rest, and the
# next plan sends them once more.
_stretched_max = 300


def _stretch_secrets(connection: Connection, most: int = _stretched_max) -> None:
    """Put a slow digest of the fast one of a password in its place: no words are tried quickly any more."""
    salt = connection.execute(select(schema.META.c.value).where(schema.META.c.key == "salt")).scalar_one()
    entities = Table("entities", MetaData(), *_key(*_ENTITY_KEY), *_texts("sent"))
    left = most
    for row in connection.execute(select(entities).order_by(entities.c.address)).all():
        kind = KINDS.get(row.address.partition("/")[0])
        try:
            sent = json.loads(row.sent)
        except ValueError:
            continue  # the store says so when it reads the row
        if kind is None or not isinstance(sent, dict) or kind.guessable.isdisjoint(sent):
            continue
        for path in sorted(kind.guessable.intersection(sent)):
            old = str(sent.pop(path))
            if left > 0 or not old:
                sent[path] = old and f"{SECRET}scrypt:{stretch_secret(old, salt)}"
                left -= 1
        mine = [entities.c[name] == getattr(row, name) for name in _ENTITY_KEY]
        connection.execute(entities.update().where(*mine).values(sent=json.dumps(sent, ensure_ascii=False)))


def _add_proofs(connection: Connection) -> None:
    proofs = Table(
        "proofs",
        MetaData(),
        *_key("origin", "stack", "workspace_id"),
        Column("part", Integer, primary_key=True),
        *_texts("proof"),
    )
    proofs.create(connection)


def _seal(connection: Connection) -> None:
    """Seal what each origin and stack have in the tables whose rows may not be lost unnoticed."""
    seals = Table(
        "seals",
        MetaData(),
        *_key("origin", "stack", "name"),
        Column("number", Integer, nullable=False),
        *_texts("digest"),
    )
    seals.create(connection)
    for name in ("entities", "journal", "runs", "locks", "audit"):
        table = Table(name, MetaData(), autoload_with=connection)  # with the columns that it has now
        for owner in connection.execute(select(table.c.origin, table.c.stack).distinct()).all():
            sealed.writing(connection, Owner(*owner), partial(_seal_rows, table))


def _seal_rows(table: Table, seals: sealed.Seals) -> None:
    mine = sealed.of(table, seals.owner)
    if table.name == "locks":
        counter = seals.connection.execute(select(table.c.counter).where(*mine)).scalar_one()
        seals.put(table, sealed.Seal(counter))
    elif table.name == "audit":
        last = select(table.c.number, table.c.hash).where(*mine).order_by(table.c.number.desc())
        row = seals.connection.execute(last.limit(1)).one()
        seals.put(table, sealed.Seal(row.number, row.hash))
    else:
        seals.make(table)


def _to_4(connection: Connection) -> None:
    """Runs remember that they drew a ticket, and deleted entities are known again; nothing is known yet."""
    metadata = MetaData()
    Table("tickets", metadata, *_key("origin", "stack", "run"), *_texts("drawn_at"))
    Table(
        "deleted",
        metadata,
        *_key("origin", "stack", "workspace_id", "address", "remote_id"),
        Column("identities", Text, nullable=False),
        *_texts("run", "deleted_at"),
    )
    metadata.create_all(connection)


def _to_5(connection: Connection) -> None:
    """Records and intents are kept by the id of their workspace; its aliases are written down beside."""
    _add_workspaces(connection)
    _tell_workspaces_of_intents(connection)
    _take_aliases_off(connection)
    _count_flaps(connection)
    for name in ("entities", "journal"):
        table = Table(name, MetaData(), autoload_with=connection)
        seals = Table("seals", MetaData(), autoload_with=connection)
        for owner in connection.execute(
            select(seals.c.origin, seals.c.stack).where(seals.c.name == name)
        ).all():
            sealed.writing(connection, Owner(*owner), partial(_seal_rows, table))


def _add_workspaces(connection: Connection) -> None:
    workspaces = Table(
        "workspaces",
        MetaData(),
        *_key("origin", "stack", "workspace_id", "alias"),
        Column("number", Integer, nullable=False),
        *_texts("applied"),
    )
    workspaces.create(connection)
    entities = Table(
        "entities", MetaData(), *_texts("origin", "stack", "workspace_id", "address", "updated_at")
    )
    last: dict[tuple[str, str, str, str], str] = {}
    for row in connection.execute(select(entities)):
        key = (row.origin, row.stack, row.workspace_id, _alias(row.address))
        last[key] = max(last.get(key, ""), row.updated_at)
    # What a run of each was about to do may be in a workspace that nothing is recorded in yet.
    for owner, _, plan in _plans(connection):
        for alias, workspace_id in plan.items():
            last.setdefault((*owner, workspace_id, alias), "")
    # The alias that was written to last is the present one.
    names = ("origin", "stack", "workspace_id", "alias")
    ordered = sorted(last, key=lambda key: (last[key], key))
    rows = [
        {**dict(zip(names, key, strict=True)), "number": number, "applied": ""}
        for number, key in enumerate(ordered, 1)
        if key[3]
    ]
    if rows:
        connection.execute(insert(workspaces), rows)


def _alias(address: object) -> str:
    """Return the alias in an address; "" where the text is none."""
    parts = str(address).split("/", 2)
    return parts[1] if len(parts) == 3 else ""  # noqa: PLR2004 - kind, alias, rest


def _plans(connection: Connection) -> Iterator[tuple[tuple[str, str], str, dict[str, str]]]:
    """Yield the owner and the id of each run whose plan is kept, and the workspaces of it: alias -> id."""
    runs = Table("runs", MetaData(), *_texts("origin", "stack", "run", "plan"))
    for row in connection.execute(select(runs).where(runs.c.plan != "")).all():
        try:
            known = json.loads(row.plan)["target"]["workspaces"]
            yield (row.origin, row.stack), row.run, {str(one["alias"]): str(one["id"]) for one in known}
        except (ValueError, KeyError, TypeError):
            continue  # a plan of another form names none


def _tell_workspaces_of_intents(connection: Connection) -> None:
    table = Table(
        "journal",
        MetaData(),
        *_key("origin", "stack", "run", "address"),
        *_texts("workspace_id", "action", "remote_id", "parent_id", "at", "until", "ending"),
        Column("counter", Integer, nullable=False),
    )
    _rebuild(connection, table, {"workspace_id": literal("unknown")})
    planned = {(*owner, run): known for owner, run, known in _plans(connection)}
    entities = Table("entities", MetaData(), *_texts("origin", "stack", "workspace_id", "address"))
    recorded: dict[tuple[str, str, str], set[str]] = {}
    for row in connection.execute(select(entities)):
        recorded.setdefault((row.origin, row.stack, _alias(row.address)), set()).add(row.workspace_id)
    for row in connection.execute(select(table)).all():
        alias = _alias(row.address)
        found = planned.get((row.origin, row.stack, row.run), {}).get(alias)
        ids = recorded.get((row.origin, row.stack, alias), set())
        workspace_id = found if found is not None else "".join(ids) if len(ids) == 1 else None
        if workspace_id is not None:
            mine = [table.c[name] == getattr(row, name) for name in ("origin", "stack", "run", "address")]
            connection.execute(table.update().where(*mine).values(workspace_id=workspace_id))


def _take_aliases_off(connection: Connection) -> None:
    """Let addresses name no alias. Of two records with one name in a workspace the one written last stays.

    Such a workspace was given another alias before: who was adopted anew under it is recorded twice.
    """
    entities = Table("entities", MetaData(), *_key(*_ENTITY_KEY), *_texts("updated_at"))
    newest: dict[tuple[str, ...], str] = {}
    query = select(entities).order_by(entities.c.updated_at, entities.c.address)
    rows = connection.execute(query).all()
    for row in rows:
        kind, _, rest = str(row.address).split("/", 2) if _alias(row.address) else ("", "", "")
        if kind:
            newest[(row.origin, row.stack, row.workspace_id, f"{kind}/{rest}")] = row.address
    kept = {(*key[:3], address): key[3] for key, address in newest.items()}
    gone, named = [], []
    for row in rows:
        key = (row.origin, row.stack, row.workspace_id, row.address)
        if key in kept:
            named.append({**_found_by(key), "now": kept[key]})
        elif _alias(row.address):  # what is no address is damage, and the store says so when it reads the row
            gone.append(_found_by(key))
    conditions = [entities.c[name] == bindparam(f"old_{name}") for name in _ENTITY_KEY]
    if gone:
        connection.execute(entities.delete().where(*conditions), gone)
    if named:
        connection.execute(entities.update().where(*conditions).values(address=bindparam("now")), named)


def _count_flaps(connection: Connection) -> None:
    entities = Table(
        "entities",
        MetaData(),
        *_key("origin", "stack", "workspace_id", "address"),
        *_texts("remote_id", "parent_id"),
        *(Column(name, Text, nullable=False) for name in ("sent", "shown")),
        *_texts("modified"),
        Column("protected", Boolean, nullable=False),
        *_texts("adopted"),
        *(Column(name, Text, nullable=False) for name in ("earlier", "flaps")),
        *_texts("updated_at", "run"),
    )
    _rebuild(connection, entities, {"flaps": literal("{}")})


def _found_by(key: tuple[str, ...]) -> dict[str, str]:
    return {f"old_{name}": value for name, value in zip(_ENTITY_KEY, key, strict=True)}


def _to_6(connection: Connection) -> None:
    """The aliases that workspaces were known by are sealed, as records are."""
    table = Table("workspaces", MetaData(), autoload_with=connection)
    for owner in connection.execute(select(table.c.origin, table.c.stack).distinct()).all():
        sealed.writing(connection, Owner(*owner), partial(_seal_rows, table))


STEPS: Mapping[int, Callable[[Connection], None]] = {1: _to_2, 2: _to_3, 3: _to_4, 4: _to_5, 5: _to_6}


def _rebuild(connection: Connection, table: Table, added: Mapping[str, ColumnElement[object]]) -> None:
    """Put `table` in the place of the one with its name; columns that are new get the value of `added`."""
    # Not ALTER TABLE ADD COLUMN: that would leave a default behind, and a table unlike one that is made new.
    before = f"{table.name}_before"
    connection.execute(text(f"ALTER TABLE {table.name} RENAME TO {before}"))
    table.create(connection)
    names = [column.name for column in table.columns]
    old = Table(before, MetaData(), *(Column(name) for name in names if name not in added))
    rows = select(*(added[name] if name in added else old.c[name] for name in names))
    connection.execute(insert(table).from_select(names, rows))
    old.drop(connection)


def _key(*names: str) -> list[Column[str]]:
    return [Column(name, String, primary_key=True) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, String, nullable=False) for name in names]
