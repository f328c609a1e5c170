"""From an older version of the tables to the present one, step by step.

Each step is written once and never changed: it knows the tables as they were and as they became then, and
nothing of what `schema.py` says that they are now. All steps are carried out in the one transaction
that the caller gives: after a kill at any moment the store is of the one version or of the other.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from reconciler.core.compare.normalize import SECRET
from reconciler.core.compare.readback import reads_back_as
from reconciler.core.digests import stretch_secret
from reconciler.model.kinds import KINDS
from reconciler.store import schema, sealed_tables
from reconciler.store.adapter import Connection, Row
from reconciler.store.sealed_tables import Owner


def migrate_tables(connection: Connection, version: int) -> None:
    """Bring the tables from `version`, an older one, to the present one. Nothing that was kept is lost."""
    for step in range(version, schema.VERSION):
        STEPS[step](connection)
    connection.execute("UPDATE meta SET value = :now WHERE key = 'version'", {"now": str(schema.VERSION)})


def find_old_writer(connection: Connection, now: datetime) -> str:
    """Return who holds a lock of any origin and stack in tables of an older version, or "".

    Such a run goes on with statements for the tables as they were. What it writes would be in no seal, and be
    taken for damage.
    """
    for holder, run, expires in connection.execute(
        "SELECT holder, run, expires FROM locks WHERE nonce <> ''"
    ):
        if _lease_lives(expires, now):
            return f"{holder}, run {run}; its lease ends at {expires}"
    return ""


def _lease_lives(expires: object, now: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(expires)) > now
    except (ValueError, TypeError):  # no time, or one without a zone: no writer has written it
        return False


def _to_2(connection: Connection) -> None:
    """Doubts become open creates of a journal; locks count; runs keep who, where, plan and consent."""
    connection.execute("""
CREATE TABLE journal (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, run VARCHAR NOT NULL, address VARCHAR NOT NULL,
    action VARCHAR NOT NULL, remote_id VARCHAR NOT NULL, parent_id VARCHAR NOT NULL, at VARCHAR NOT NULL,
    until VARCHAR NOT NULL, ending VARCHAR NOT NULL, counter INTEGER NOT NULL,
    PRIMARY KEY (origin, stack, run, address)
)""")
    connection.execute(f"INSERT INTO journal {_DOUBTS_AS_CREATES}")
    connection.execute("DROP TABLE doubts")
    for table in _AUDIT_AND_PACES:
        connection.execute(table)
    _rebuild(connection, _LOCKS_2, {"counter": "1"})
    _rebuild(
        connection, _RUNS_2, {"number": "0", "who": "''", "context": "''", "plan": "''", "consent": "''"}
    )


# The columns of the journal of version 2. When it was sent is not known, only when it can no longer land.
_DOUBTS_AS_CREATES = "SELECT origin, stack, run, address, 'create', '', '', until, until, '', 0 FROM doubts"
_AUDIT_AND_PACES = (
    """
CREATE TABLE audit (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, number INTEGER NOT NULL,
    body TEXT NOT NULL, hash VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, number)
)""",
    """
CREATE TABLE paces (
    credential VARCHAR NOT NULL, rate FLOAT NOT NULL, changed_at FLOAT NOT NULL, next_at FLOAT NOT NULL,
    seen_at FLOAT NOT NULL,
    PRIMARY KEY (credential)
)""",
)
_LOCKS_2 = """
CREATE TABLE locks (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, counter INTEGER NOT NULL, nonce VARCHAR NOT NULL,
    run VARCHAR NOT NULL, holder VARCHAR NOT NULL, seat VARCHAR NOT NULL, pid INTEGER NOT NULL,
    since VARCHAR NOT NULL, expires VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack)
)"""
_RUNS_2 = """
CREATE TABLE runs (
    run VARCHAR NOT NULL, origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, number INTEGER NOT NULL,
    command VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL, started_at VARCHAR NOT NULL,
    ended_at VARCHAR NOT NULL, outcome VARCHAR NOT NULL, exit_code INTEGER NOT NULL, counts TEXT NOT NULL,
    who VARCHAR NOT NULL, context TEXT NOT NULL, plan TEXT NOT NULL, consent TEXT NOT NULL,
    PRIMARY KEY (run)
)"""


def _to_3(connection: Connection) -> None:
    """Records say whose their entity is, and forget what a write without effect left; rows are sealed."""
    # It was not recorded whether we made them.
    _rebuild(connection, _ENTITIES_3, {"adopted": "'unknown'", "earlier": "'[]'"})
    _forget_what_was_not_taken(connection)
    _stretch_secrets(connection)
    connection.execute(_PROOFS_3)
    _seal_tables(connection)


_ENTITIES_3 = """
CREATE TABLE entities (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace_id VARCHAR NOT NULL, address VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL, parent_id VARCHAR NOT NULL, sent TEXT NOT NULL, shown TEXT NOT NULL,
    modified VARCHAR NOT NULL, protected BOOLEAN NOT NULL, adopted VARCHAR NOT NULL, earlier TEXT NOT NULL,
    updated_at VARCHAR NOT NULL, run VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address)
)"""
_PROOFS_3 = """
CREATE TABLE proofs (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace_id VARCHAR NOT NULL, part INTEGER NOT NULL,
    proof VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, part)
)"""
_SEALS_3 = """
CREATE TABLE seals (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, name VARCHAR NOT NULL, number INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, name)
)"""
_ENTITY_KEY = ("origin", "stack", "workspace_id", "address")
_THIS_ENTITY = " AND ".join(f"{name} = :{name}" for name in _ENTITY_KEY)


def _forget_what_was_not_taken(connection: Connection) -> None:
    """Forget a field that the service showed otherwise than it was sent, unless both are the same value.

    Version 2 took any value that was shown after a write for the service's own way of writing it, also the
    old one after a write that the service ignored. Without a record the next plan compares anew.
    """
    rows = connection.execute(f"SELECT {', '.join(_ENTITY_KEY)}, sent, shown FROM entities").all()
    for *key, sent_text, shown_text in rows:
        kept = _keep_taken(key[-1], sent_text, shown_text)
        if kept is not None:
            sent, shown = (json.dumps(one, ensure_ascii=False) for one in kept)
            update = f"UPDATE entities SET sent = :sent, shown = :shown, modified = '' WHERE {_THIS_ENTITY}"
            connection.execute(update, {**_entity_key(key), "sent": sent, "shown": shown})


_Fields = dict[str, Any]


def _keep_taken(address: str, sent_text: str, shown_text: str) -> tuple[_Fields, _Fields] | None:
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
    return _without_paths(sent, wrong), _without_paths(shown, wrong)


def _without_paths(fields: _Fields, wrong: set[str]) -> _Fields:
    return {path: value for path, value in fields.items() if path not in wrong}


# Each takes some 15 ms, in the transaction that opens the store; a store with more forgets the rest, and the
# next plan sends them once more.
_stretched_max = 300


def _stretch_secrets(connection: Connection, most: int = _stretched_max) -> None:
    """Put a slow digest of the fast one of a password in its place: no words are tried quickly any more."""
    salt = connection.execute("SELECT value FROM meta WHERE key = 'salt'").scalar()
    left = most
    query = f"SELECT {', '.join(_ENTITY_KEY)}, sent FROM entities ORDER BY address"
    for *key, text in connection.execute(query).all():
        kind = KINDS.get(key[-1].partition("/")[0])
        try:
            sent = json.loads(text)
        except ValueError:
            continue  # the store says so when it reads the row
        if kind is None or not isinstance(sent, dict) or kind.guessable.isdisjoint(sent):
            continue
        for path in sorted(kind.guessable.intersection(sent)):
            old = str(sent.pop(path))
            if left > 0 or not old:
                sent[path] = old and f"{SECRET}scrypt:{stretch_secret(old, salt)}"
                left -= 1
        update = f"UPDATE entities SET sent = :sent WHERE {_THIS_ENTITY}"
        connection.execute(update, {**_entity_key(key), "sent": json.dumps(sent, ensure_ascii=False)})


def _entity_key(key: Sequence[str]) -> dict[str, str]:
    return dict(zip(_ENTITY_KEY, key, strict=True))


def _seal_tables(connection: Connection) -> None:
    """Seal what each origin and stack have in the tables whose rows may not be lost unnoticed."""
    connection.execute(_SEALS_3)
    for name in ("entities", "journal", "runs", "locks", "audit"):
        table = _current_table(connection, name)
        for owner in connection.execute(f"SELECT DISTINCT origin, stack FROM {name}").all():
            sealed_tables.write_sealed(connection, Owner(*owner), partial(_seal_rows, table))


def _current_table(connection: Connection, name: str) -> schema.Table:
    """Return a table with the columns that it has now."""
    return schema.known_table(name, connection.execute(f"SELECT * FROM {name} LIMIT 0").columns)


def _seal_rows(table: schema.Table, seals: sealed_tables.Seals) -> None:
    mine, owner = sealed_tables.OWNED, seals.owner.key()
    if table.name == "locks":
        counter = seals.connection.execute(f"SELECT counter FROM locks WHERE {mine}", owner).scalar()
        seals.put(table, sealed_tables.Seal(counter))
    elif table.name == "audit":
        last = f"SELECT number, hash FROM audit WHERE {mine} ORDER BY number DESC LIMIT 1"
        seals.put(table, sealed_tables.Seal(*seals.connection.execute(last, owner).one()))
    else:
        seals.make(table)


def _to_4(connection: Connection) -> None:
    """Runs remember that they drew a ticket, and deleted entities are known again; nothing is known yet."""
    connection.execute("""
CREATE TABLE tickets (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, run VARCHAR NOT NULL, drawn_at VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, run)
)""")
    connection.execute("""
CREATE TABLE deleted (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace_id VARCHAR NOT NULL, address VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL, identities TEXT NOT NULL, run VARCHAR NOT NULL, deleted_at VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address, remote_id)
)""")


def _to_5(connection: Connection) -> None:
    """Records and intents are kept by the id of their workspace; its aliases are written down beside."""
    _add_workspaces(connection)
    _tell_workspaces_of_intents(connection)
    _take_aliases_off(connection)
    _rebuild(connection, _ENTITIES_5, {"flaps": "'{}'"})
    for name in ("entities", "journal"):
        table = _current_table(connection, name)
        owners = "SELECT origin, stack FROM seals WHERE name = :name"
        for owner in connection.execute(owners, {"name": name}).all():
            sealed_tables.write_sealed(connection, Owner(*owner), partial(_seal_rows, table))


_WORKSPACES_5 = schema.define_table("""
CREATE TABLE workspaces (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    alias VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    applied VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, alias)
)""")
_JOURNAL_5 = """
CREATE TABLE journal (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, run VARCHAR NOT NULL, address VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL, action VARCHAR NOT NULL, remote_id VARCHAR NOT NULL,
    parent_id VARCHAR NOT NULL, at VARCHAR NOT NULL, until VARCHAR NOT NULL, ending VARCHAR NOT NULL,
    counter INTEGER NOT NULL,
    PRIMARY KEY (origin, stack, run, address)
)"""
_ENTITIES_5 = """
CREATE TABLE entities (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace_id VARCHAR NOT NULL, address VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL, parent_id VARCHAR NOT NULL, sent TEXT NOT NULL, shown TEXT NOT NULL,
    modified VARCHAR NOT NULL, protected BOOLEAN NOT NULL, adopted VARCHAR NOT NULL, earlier TEXT NOT NULL,
    flaps TEXT NOT NULL, updated_at VARCHAR NOT NULL, run VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address)
)"""


def _add_workspaces(connection: Connection) -> None:
    connection.execute(_WORKSPACES_5.create)
    last: dict[tuple[str, str, str, str], str] = {}
    query = "SELECT origin, stack, workspace_id, address, updated_at FROM entities"
    for origin, stack, workspace_id, address, updated_at in connection.execute(query):
        key = (origin, stack, workspace_id, _alias_of(address))
        last[key] = max(last.get(key, ""), updated_at)
    # What a run of each was about to do may be in a workspace that nothing is recorded in yet.
    for owner, _, plan in _saved_plans(connection):
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
        connection.execute_many(_WORKSPACES_5.insert, rows)


def _alias_of(address: object) -> str:
    """Return the alias in an address; "" where the text is none."""
    parts = str(address).split("/", 2)
    return parts[1] if len(parts) == 3 else ""  # noqa: PLR2004 - kind, alias, rest


def _saved_plans(connection: Connection) -> Iterator[tuple[tuple[str, str], str, dict[str, str]]]:
    """Yield the owner and the id of each run whose plan is kept, and the workspaces of it: alias -> id."""
    query = "SELECT origin, stack, run, plan FROM runs WHERE plan <> ''"
    for origin, stack, run, plan in connection.execute(query).all():
        try:
            known = json.loads(plan)["target"]["workspaces"]
            yield (origin, stack), run, {str(one["alias"]): str(one["id"]) for one in known}
        except (ValueError, KeyError, TypeError):
            continue  # a plan of another form names none


def _tell_workspaces_of_intents(connection: Connection) -> None:
    _rebuild(connection, _JOURNAL_5, {"workspace_id": "'unknown'"})
    planned = {(*owner, run): known for owner, run, known in _saved_plans(connection)}
    recorded: dict[tuple[str, str, str], set[str]] = {}
    query = "SELECT origin, stack, address, workspace_id FROM entities"
    for origin, stack, address, workspace_id in connection.execute(query):
        recorded.setdefault((origin, stack, _alias_of(address)), set()).add(workspace_id)
    for origin, stack, run, address in connection.execute(
        "SELECT origin, stack, run, address FROM journal"
    ).all():
        alias = _alias_of(address)
        found = planned.get((origin, stack, run), {}).get(alias)
        ids = recorded.get((origin, stack, alias), set())
        workspace_id = found if found is not None else "".join(ids) if len(ids) == 1 else None
        if workspace_id is not None:
            connection.execute(
                "UPDATE journal SET workspace_id = :workspace_id "
                "WHERE origin = :origin AND stack = :stack AND run = :run AND address = :address",
                {
                    "workspace_id": workspace_id,
                    "origin": origin,
                    "stack": stack,
                    "run": run,
                    "address": address,
                },
            )


def _take_aliases_off(connection: Connection) -> None:
    """Let addresses name no alias. Of two records with one name in a workspace the one written last stays.

    Such a workspace was given another alias before: who was adopted anew under it is recorded twice.
    """
    newest: dict[tuple[str, ...], str] = {}
    rows: list[Row] = connection.execute(_BY_AGE).all()
    for origin, stack, workspace_id, old in rows:
        kind, _, rest = str(old).split("/", 2) if _alias_of(old) else ("", "", "")
        if kind:
            newest[(origin, stack, workspace_id, f"{kind}/{rest}")] = old
    kept = {(*key[:3], address): key[3] for key, address in newest.items()}
    gone, named = [], []
    for key in rows:
        if key in kept:
            named.append({**_entity_key(key), "now": kept[key]})
        elif _alias_of(key[-1]):  # what is no address is damage, and the store says so when it reads the row
            gone.append(_entity_key(key))
    if gone:
        connection.execute_many(f"DELETE FROM entities WHERE {_THIS_ENTITY}", gone)
    if named:
        connection.execute_many(f"UPDATE entities SET address = :now WHERE {_THIS_ENTITY}", named)


_BY_AGE = "SELECT origin, stack, workspace_id, address FROM entities ORDER BY updated_at, address"


def _to_6(connection: Connection) -> None:
    """The aliases that workspaces were known by are sealed, as records are."""
    table = _current_table(connection, "workspaces")
    for owner in connection.execute("SELECT DISTINCT origin, stack FROM workspaces").all():
        sealed_tables.write_sealed(connection, Owner(*owner), partial(_seal_rows, table))


def _to_7(connection: Connection) -> None:
    """Undos, pauses, questions, answers, what syncs found and what was told have tables; nothing is known."""
    for table in _AUTOMATION_7:
        connection.execute(table)


_AUTOMATION_7 = (
    """
CREATE TABLE undos (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, run VARCHAR NOT NULL, kept_at VARCHAR NOT NULL,
    plan TEXT NOT NULL,
    PRIMARY KEY (origin, stack, run)
)""",
    """
CREATE TABLE pauses (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, since VARCHAR NOT NULL, until VARCHAR NOT NULL,
    reason VARCHAR NOT NULL, who VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack)
)""",
    """
CREATE TABLE questions (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, question VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL,
    salt VARCHAR NOT NULL, commit_id VARCHAR NOT NULL, asked_at VARCHAR NOT NULL, expires_at VARCHAR NOT NULL,
    counts TEXT NOT NULL, danger VARCHAR NOT NULL, quorum INTEGER NOT NULL, state VARCHAR NOT NULL,
    codes TEXT NOT NULL, wrong TEXT NOT NULL,
    PRIMARY KEY (origin, stack, question)
)""",
    """
CREATE TABLE answers (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, question VARCHAR NOT NULL, approver VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL, answered_at VARCHAR NOT NULL, how VARCHAR NOT NULL, detail VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, question, approver)
)""",
    """
CREATE TABLE sync_results (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace VARCHAR NOT NULL, synced_at VARCHAR NOT NULL,
    commit_id VARCHAR NOT NULL, outcome VARCHAR NOT NULL, exit_code INTEGER NOT NULL,
    fingerprint VARCHAR NOT NULL, counts TEXT NOT NULL, next_window VARCHAR NOT NULL,
    failing_since VARCHAR NOT NULL, last_good VARCHAR NOT NULL, run VARCHAR NOT NULL,
    decision VARCHAR NOT NULL, reason VARCHAR NOT NULL, expect_every_s INTEGER NOT NULL,
    PRIMARY KEY (origin, stack, workspace)
)""",
    """
CREATE TABLE told (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, channel VARCHAR NOT NULL, state_key VARCHAR NOT NULL,
    digest VARCHAR NOT NULL, told_at VARCHAR NOT NULL, failed_times INTEGER NOT NULL,
    last_error VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, channel, state_key)
)""",
)

STEPS: Mapping[int, Callable[[Connection], None]] = {
    1: _to_2,
    2: _to_3,
    3: _to_4,
    4: _to_5,
    5: _to_6,
    6: _to_7,
}


def _rebuild(connection: Connection, create: str, added: Mapping[str, str]) -> None:
    """Put the table of this statement in the place of the one with its name.

    Columns that are new get the value of `added`, a literal of SQL.
    """
    # Not ALTER TABLE ADD COLUMN: that would leave a default behind, and a table unlike one that is made new.
    name = create.split()[2]
    before = f"{name}_before"
    connection.execute(f"ALTER TABLE {name} RENAME TO {before}")
    connection.execute(create)
    columns = connection.execute(f"SELECT * FROM {name} LIMIT 0").columns
    values = ", ".join(added.get(column, column) for column in columns)
    connection.execute(f"INSERT INTO {name} ({', '.join(columns)}) SELECT {values} FROM {before}")
    connection.execute(f"DROP TABLE {before}")
