"""What `reconciler status` judges: rows of one stack or of all, in a few statements whatever their number.

No seal is compared here, because that takes every row of a stack: a page that is written each minute says
what the rows say, and a run checks them. Rows that cannot be read make their own stack unknown, and no other.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import DecodeError, Struct, ValidationError, convert

from reconciler.core.views.status import RunRow, StackRows, WorkspaceRow
from reconciler.errors import StoreError
from reconciler.model.automation import ApprovalAnswer, Pause, Question, SyncResult, Told
from reconciler.model.encoding import decode_json
from reconciler.model.runs import Context
from reconciler.store import locks, records
from reconciler.store.adapter import Connection, Row
from reconciler.store.automation import decode_value, list_value_columns
from reconciler.store.schema import ANSWERS, PAUSES, QUESTIONS, SYNC_RESULTS, TOLD, Table
from reconciler.store.sealed_tables import OWNED, Owner

runs_shown = 10  # of each stack: a page shows them, and a failure is sought among them

_RUN_COLUMNS = "run, command, started_at, ended_at, outcome, exit_code, counts, context"
_RUNS = f"""\
SELECT origin, stack, {_RUN_COLUMNS} FROM (
    SELECT origin, stack, number, {_RUN_COLUMNS},
        row_number() OVER (PARTITION BY origin, stack ORDER BY number DESC) AS place
    FROM runs WHERE {{condition}}) AS numbered
WHERE place <= {runs_shown} ORDER BY origin, stack, number DESC"""
_LOCKS = (
    f"SELECT origin, stack, {', '.join(locks.LOCK_COLUMNS)} FROM locks WHERE {{condition}} AND nonce <> ''"
)
_ALIASES = "SELECT origin, stack, number, workspace_id, alias, applied FROM workspaces WHERE {condition}"
_DOUBTS = "SELECT origin, stack, run, workspace_id, address FROM journal WHERE {condition} AND ending = ''"

_QUERIES: Mapping[str, str] = {
    "locks": _LOCKS,
    "workspaces": _ALIASES,
    "runs": _RUNS,
    "journal": _DOUBTS,
    **{
        table.name: f"SELECT origin, stack, {', '.join(list_value_columns(table))} FROM {table.name} "
        "WHERE {condition}"
        for table in (PAUSES, QUESTIONS, ANSWERS, SYNC_RESULTS, TOLD)
    },
}

_Rows = Sequence[tuple[Any, ...]]
V = TypeVar("V", bound=Struct)


def load_status_rows(connection: Connection, owner: Owner | None, *, now: datetime) -> tuple[StackRows, ...]:
    """Return the rows of one stack, or of every stack that anything is recorded of, by service and name."""
    condition, values = ("1 = 1", {}) if owner is None else (OWNED, owner.key())

    def read(query: str) -> Mapping[Owner, _Rows]:
        return _group_by_owner(connection.execute(query.format(condition=condition), values))

    rows = {name: read(query) for name, query in _QUERIES.items()}
    known = {one for found in rows.values() for one in found} | ({owner} if owner else set())
    return tuple(
        _decode_stack(one, {name: found.get(one, []) for name, found in rows.items()}, now)
        for one in sorted(known, key=lambda each: (each.origin, each.stack))
    )


def _decode_stack(owner: Owner, rows: Mapping[str, _Rows], now: datetime) -> StackRows:
    def values(table: Table, kind: type[V]) -> tuple[V, ...]:
        return tuple(decode_value(table, owner, kind, row) for row in rows[table.name])

    try:
        under_way = _find_live_run(rows["locks"], now)
        results, told = values(SYNC_RESULTS, SyncResult), values(TOLD, Told)
        pauses, questions = values(PAUSES, Pause), values(QUESTIONS, Question)
        for moment in (
            *(
                text
                for one in results
                for text in (one.at, one.failing_since, one.last_good, one.next_window)
            ),
            *(text for one in pauses for text in (one.since, one.until)),
            *(text for one in questions for text in (one.asked_at, one.expires_at)),
        ):
            _require_moment(moment)
        return StackRows(
            owner.origin,
            owner.stack,
            _decode_workspaces(rows["workspaces"], rows["journal"], under_way),
            tuple(map(_decode_run, rows["runs"])),
            under_way,
            results=results,
            pause=next(iter(pauses), None),
            questions=questions,
            answers=values(ANSWERS, ApprovalAnswer),
            expect_every_s=max((one.expect_every_s for one in results), default=0),
            undelivered=sum(one.failed_times > 0 for one in told),
        )
    except (StoreError, ValidationError, DecodeError, ValueError):
        return StackRows(owner.origin, owner.stack, damage="its rows in the store cannot be read")


def _group_by_owner(rows: Iterable[Row]) -> Mapping[Owner, _Rows]:
    found: dict[Owner, list[tuple[Any, ...]]] = {}
    for origin, stack, *columns in rows:
        # Of a damaged row neither need be text.
        found.setdefault(Owner(str(origin), str(stack)), []).append(tuple(columns))
    return found


def _find_live_run(held: _Rows, now: datetime) -> str:
    """Return the run that writes now, or ""."""
    holders = map(locks.decode_holder, held)
    return next((one.run for one in holders if not locks.may_take_over(one, now)), "")


def _decode_run(row: tuple[Any, ...]) -> RunRow:
    run, command, started_at, ended_at, outcome, exit_code, counts, context = convert(
        row, tuple[str, str, str, str, str, int, str, str]
    )
    return RunRow(
        run,
        command,
        _require_moment(started_at),
        _require_moment(ended_at),
        outcome,
        exit_code,
        decode_json(counts, dict[str, int]),
        decode_json(context, Context).commit,
    )


def _decode_workspaces(aliases: _Rows, doubts: _Rows, under_way: str) -> tuple[WorkspaceRow, ...]:
    """Return each workspace under the alias that it was last known by, with its open requests."""
    known = [records.KnownAlias(*convert(one, tuple[int, str, str, str])) for one in aliases]
    last = records.last_aliases(known)
    applied: dict[str, str] = dict.fromkeys(last.values(), "")
    for one in known:
        alias = last[one.id]
        applied[alias] = max(applied[alias], _require_moment(one.applied))
    in_doubt: dict[str, int] = {}
    for run, workspace_id, address in doubts:
        if run != under_way:
            alias = last.get(workspace_id) or records.decode_address(address).workspace
            in_doubt[alias] = in_doubt.get(alias, 0) + 1
    return tuple(
        WorkspaceRow(alias, applied.get(alias, ""), in_doubt.get(alias, 0))
        for alias in sorted({*applied, *in_doubt})
    )


def _require_moment(text: str) -> str:
    """Return a moment in ISO 8601 with its time zone, or "". Raises ValueError for any other text."""
    if text and datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(text)
    return text
