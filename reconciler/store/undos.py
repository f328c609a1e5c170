"""What undoes the last runs: kept for some days, so that a run of the history can be undone.

The text of each is a whole plan, with values of people as in a plan file and no secret. What it means, and
whether a run of this store made it, is decided in core/runs/kept_undo.py.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from reconciler.core.runs.kept_undo import KnownRun, RunToUndo
from reconciler.errors import CorruptRecord
from reconciler.model.encoding import decode_json
from reconciler.model.plans import Plan
from reconciler.store import sealed_tables
from reconciler.store.adapter import Connection, Row
from reconciler.store.history import PLANNED, decode_counts
from reconciler.store.schema import UNDOS
from reconciler.store.sealed_tables import Owner, Seals

runs_max = 20  # that keep their undo, the newest ones
characters_max = 32 * 1024 * 1024  # of all undos of a stack together: older ones go first


def keep_undo(seals: Seals, run: str, text: str, *, now: datetime, days: int) -> None:
    """Keep what undoes this run ("": nothing), and drop what is older than `days`, or too much."""
    rows = [{**seals.owner.key(), "run": run, "kept_at": now.isoformat(timespec="seconds"), "plan": text}]
    seals.replace(UNDOS, gone=[{"run": run}], come=rows if text else [])
    # Not by time: two runs may end within a second.
    query = (
        "SELECT undos.run, kept_at, length(undos.plan) FROM undos JOIN runs ON runs.run = undos.run "
        "WHERE undos.origin = :origin AND undos.stack = :stack ORDER BY number DESC"
    )
    since = (now - timedelta(days=days)).isoformat(timespec="seconds") if days else now.isoformat() + "~"
    known = seals.connection.execute(query, seals.owner.key()).all()
    gone = find_outdated(((str(run), str(at), int(size)) for run, at, size in known), since=since)
    if gone:
        seals.replace(UNDOS, gone=[{"run": gone}])


def find_outdated(
    known: Iterable[tuple[str, str, int]],
    *,
    since: str,
    runs: int = runs_max,
    characters: int = characters_max,
) -> list[str]:
    """Return the runs whose undo goes: what is older than `since`, or beyond the first so many or so much.

    `known` are runs, when each was kept, and the size of its undo; the newest first.
    """
    gone: list[str] = []
    for run, kept_at, size in known:
        runs, characters = runs - 1, characters - size
        if runs < 0 or characters < 0 or kept_at < since:
            gone.append(run)
    return gone


def find_run_to_undo(connection: Connection, owner: Owner, named: str) -> RunToUndo:
    """Return what is known of the runs whose id begins with this text. Raises CorruptRecord."""
    # No LIKE: an id may be typed with a letter that it takes for a pattern.
    query = (
        "SELECT run, origin, stack, command, counts FROM runs "
        "WHERE substr(run, 1, :size) = :named ORDER BY number, run"
    )
    rows = connection.execute(query, {"named": named, "size": len(named)}).all()
    mine = (owner.origin, owner.stack)
    runs = tuple(_known_run(row) for row in rows if (row[1], row[2]) == mine)
    others = tuple(_known_run(row) for row in rows if (row[1], row[2]) != mine)
    one = next((one for one in runs if one.run == named), runs[0] if len(runs) == 1 else None)
    plan = _load_undo(connection, owner, one.run) if one is not None else None
    if plan is None:
        return RunToUndo(runs, others)
    used = connection.execute(
        "SELECT run, used_at FROM plans_used WHERE salt = :salt", {"salt": plan.salt}
    ).first()
    by, at = used or ("", "")
    return RunToUndo(runs, others, plan, str(by), str(at))


def _load_undo(connection: Connection, owner: Owner, run: str) -> Plan | None:
    rows = connection.execute(sealed_tables.rows_query(UNDOS), owner.key()).all()
    sealed_tables.check_seal(connection, UNDOS, owner, rows)
    take = sealed_tables.pick_columns(UNDOS, "run", "plan")
    text = next((str(plan) for known, plan in map(take, rows) if known == run), "")
    try:
        return decode_json(text, Plan) if text else None
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptRecord(
            f"the undo that run {run} kept cannot be read: another version of this program wrote it.",
            next="undo it in the manifests: revert the commit, plan and apply",
        ) from error


def _known_run(row: Row) -> KnownRun:
    run, _, stack, command, counts = row
    known = decode_counts(str(counts))
    applied = sum(number for word, number in known.items() if word.endswith(" applied"))
    return KnownRun(str(run), str(stack), str(command), applied, cut_off=PLANNED in known)
