"""What automation keeps: pauses, questions, answers, what syncs found, what was told. Rows in, values out.

    pauses        until when no `sync` of a stack writes
    questions     whether a plan may be carried out; at most one of a stack can still be answered
    answers       what approvers said, each once to a question
    sync_results  what the last `sync` found
    told          what was last told over a channel

What a reply means is no matter of this module: whoever counts it gets all that is known in one transaction.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from reconciler.errors import NotApproved
from reconciler.model.automation import (
    LIVE_STATES,
    ApprovalAnswer,
    ApprovalCode,
    Approvals,
    Pause,
    Question,
    SyncResult,
    Told,
    WrongTries,
)
from reconciler.model.encoding import encode_json
from reconciler.model.runs import EXIT_CODE_WORDS, Context
from reconciler.store import sealed_tables
from reconciler.store.adapter import Connection, Row
from reconciler.store.history import WHOLE
from reconciler.store.records import raise_corrupt_record
from reconciler.store.schema import ANSWERS, PAUSES, QUESTIONS, SYNC_RESULTS, TOLD, Table
from reconciler.store.sealed_tables import Owner, Seals, raise_damaged_table

V = TypeVar("V", bound=Struct)

_questions_kept_for = timedelta(days=90)

# Fields whose column has another name: what SQL reserves.
_COLUMNS = {
    ANSWERS.name: {"at": "answered_at"},
    QUESTIONS.name: {"commit": "commit_id"},
    SYNC_RESULTS.name: {"at": "synced_at", "commit": "commit_id"},
    TOLD.name: {"at": "told_at"},
}
# Fields that are kept as JSON, by the name of their column.
_JSON = {"counts": dict[str, int], "codes": dict[str, ApprovalCode], "wrong": dict[str, WrongTries]}


# --- Pauses -----------------------------------------------------------------------------------------------


def write_pause(seals: Seals, pause: Pause | None) -> None:
    """Let this be the pause of the stack; None: there is none."""
    seals.replace(PAUSES, gone=[{}], come=[_row_of(PAUSES, seals.owner, pause)] if pause else [])


def load_pause(connection: Connection, owner: Owner) -> Pause | None:
    """Return the pause of the stack, also one that is over. Raises CorruptRecord."""
    return next(iter(_load_sealed(connection, owner, PAUSES, Pause)), None)


# --- Questions and answers --------------------------------------------------------------------------------


def load_approvals(connection: Connection, owner: Owner) -> Approvals:
    """Return every question that is known, oldest first, and every answer. Raises CorruptRecord."""
    questions = _load_sealed(connection, owner, QUESTIONS, Question)
    answers = _load_sealed(connection, owner, ANSWERS, ApprovalAnswer)
    return Approvals(
        tuple(sorted(questions, key=lambda one: (one.asked_at, one.question))),
        tuple(sorted(answers, key=lambda one: (one.at, one.question, one.approver))),
    )


def write_questions(seals: Seals, changed: Iterable[Question]) -> None:
    """Let these questions be so, in the place of those with their ids."""
    rows = [_row_of(QUESTIONS, seals.owner, one) for one in changed]
    seals.replace(QUESTIONS, gone=[{"question": [str(row["question"]) for row in rows]}], come=rows)


def add_answer(seals: Seals, answer: ApprovalAnswer) -> None:
    """Add what an approver said, who has said nothing to this question so far."""
    seals.replace(ANSWERS, come=[_row_of(ANSWERS, seals.owner, answer)])


def forget_old_questions(seals: Seals, known: Approvals, now: datetime) -> None:
    """Remove questions that nobody can answer any more and that are older than 90 days, and their answers."""
    until = now - _questions_kept_for
    gone = [
        one.question
        for one in known.questions
        if one.state not in LIVE_STATES and datetime.fromisoformat(one.asked_at) < until
    ]
    for table in (QUESTIONS, ANSWERS) if gone else ():
        seals.replace(table, gone=[{"question": gone}])


def use_question(seals: Seals, question: str, *, fingerprint: str, now: datetime) -> None:
    """Use an approval up: the run that begins in this transaction carries out its plan, and no other will.

    Raises NotApproved where this question is not approved, or was asked about another plan.
    """
    known = load_approvals(seals.connection, seals.owner).questions
    found = next((one for one in known if one.question == question), None)
    why = ""
    if found is None:
        why = "nobody was asked about it"
    elif found.fingerprint != fingerprint:
        why = "the approval is for another plan"
    elif found.state != "approved":
        why = f"question {question} is {found.state}"
    elif datetime.fromisoformat(found.expires_at) <= now:
        why = f"the approval expired at {found.expires_at}"
    if why or found is None:
        raise NotApproved(
            f"this plan may not be carried out: {why}.",
            next="reconciler approvals list shows what was asked and answered; reconciler sync asks again",
        )
    write_questions(seals, [structs.replace(found, state="used")])


# --- What syncs found -------------------------------------------------------------------------------------


def write_sync_results(connection: Connection, owner: Owner, found: Iterable[SyncResult]) -> None:
    """Let these be what the last `sync` found, each with what it takes over from the one before."""
    before = {one.workspace: one for one in load_sync_results(connection, owner)}
    rows = [_row_of(SYNC_RESULTS, owner, one.after(before.get(one.workspace))) for one in found]
    connection.execute(f"DELETE FROM sync_results WHERE {sealed_tables.OWNED}", owner.key())
    if rows:
        connection.execute_many(SYNC_RESULTS.insert, rows)


def load_sync_results(connection: Connection, owner: Owner) -> tuple[SyncResult, ...]:
    """Return what the last `sync` found: the stack first, then each workspace. Raises CorruptRecord."""
    return tuple(sorted(_load(connection, owner, SYNC_RESULTS, SyncResult), key=lambda one: one.workspace))


def find_last_applied_commit(connection: Connection, owner: Owner) -> str:
    """Return the commit of the newest run that applied a whole plan and ended well; "" where none is known.

    Runs of programs that kept no `WHOLE` among their counts are none.
    """
    query = (
        f"SELECT run, context FROM runs WHERE {sealed_tables.OWNED} AND outcome = :done "
        "AND counts LIKE :whole ORDER BY number DESC LIMIT 1"
    )
    values = {**owner.key(), "done": EXIT_CODE_WORDS[0], "whole": f'%"{WHOLE}":%'}
    row = connection.execute(query, values).first()
    if row is None:
        return ""
    try:
        return msgspec.json.decode(str(row[1]), type=Context).commit
    except msgspec.DecodeError:
        raise_corrupt_record(row[0], "its context cannot be read")


_STACKS = "SELECT origin, stack FROM seals UNION SELECT origin, stack FROM sync_results"


def find_stacks(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Return every origin and stack that something is recorded for, in their order."""
    return tuple(sorted((str(origin), str(stack)) for origin, stack in connection.execute(_STACKS)))


# --- Notifications ----------------------------------------------------------------------------------------

_THIS_TELLING = f"{sealed_tables.OWNED} AND channel = :channel AND state_key = :state_key"


def load_told(connection: Connection, owner: Owner) -> tuple[Told, ...]:
    """Return what was last told over each channel about each thing. Raises CorruptRecord."""
    return tuple(sorted(_load(connection, owner, TOLD, Told), key=lambda one: (one.channel, one.state_key)))


def claim_telling(connection: Connection, owner: Owner, telling: Told) -> bool:
    """Whether this is news over its channel; if so it counts as told from now on, by whoever asks first."""
    known = _find_told(load_told(connection, owner), telling)
    if known is not None and known.digest == telling.digest:
        return False
    write_told(connection, owner, telling)
    return True


def write_told(connection: Connection, owner: Owner, telling: Told) -> None:
    """Let this be what was last told over its channel about its thing, and how that went."""
    row = _row_of(TOLD, owner, telling)
    connection.execute(f"DELETE FROM told WHERE {_THIS_TELLING}", row)
    connection.execute(TOLD.insert, row)


def _find_told(known: Iterable[Told], telling: Told) -> Told | None:
    key = (telling.channel, telling.state_key)
    return next((one for one in known if (one.channel, one.state_key) == key), None)


# --- Rows and values --------------------------------------------------------------------------------------


def _row_of(table: Table, owner: Owner, value: Struct) -> dict[str, object]:
    columns = _COLUMNS.get(table.name, {})
    fields = {columns.get(name, name): one for name, one in structs.asdict(value).items()}
    texts = {name: encode_json(fields[name]).decode() for name in _JSON if name in fields}
    return {**owner.key(), **fields, **texts}


def _load_sealed(connection: Connection, owner: Owner, table: Table, kind: type[V]) -> list[V]:
    rows = connection.execute(sealed_tables.rows_query(table), owner.key()).all()
    sealed_tables.check_seal(connection, table, owner, rows)
    take = sealed_tables.pick_columns(table, *list_value_columns(table))
    return [decode_value(table, owner, kind, take(row)) for row in rows]


def _load(connection: Connection, owner: Owner, table: Table, kind: type[V]) -> list[V]:
    columns = list_value_columns(table)
    query = f"SELECT {', '.join(columns)} FROM {table.name} WHERE {sealed_tables.OWNED}"
    return [decode_value(table, owner, kind, row) for row in connection.execute(query, owner.key()).all()]


def list_value_columns(table: Table) -> tuple[str, ...]:
    """Return the columns of a table of this module but those of its owner, as `decode_value` takes them."""
    return tuple(name for name in table.columns if name not in Owner.__struct_fields__)


def decode_value(table: Table, owner: Owner, kind: type[V], row: Row) -> V:
    """Return what a row of a table of this module says. Raises CorruptRecord."""
    fields = {column: name for name, column in _COLUMNS.get(table.name, {}).items()}
    values: dict[str, object] = {}
    try:
        for column, value in zip(list_value_columns(table), row, strict=True):
            decoded = msgspec.json.decode(str(value), type=_JSON[column]) if column in _JSON else value
            values[fields.get(column, column)] = decoded
        return msgspec.convert(values, kind)
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise_damaged_table(table, owner, "a row cannot be read")
