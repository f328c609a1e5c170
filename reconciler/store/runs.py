"""Who applied what, when, and how it ended; and which plans were carried out already."""

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from reconciler.model.encoding import encode
from reconciler.model.outcomes import Run
from reconciler.store.recorded import Owner
from reconciler.store.schema import PLANS_USED, RUNS


def begin(
    connection: Connection, owner: Owner, *, run: str, command: str, fingerprint: str, started_at: str
) -> None:
    """Write down that a run has begun. A run that never ends keeps an empty outcome."""
    row = {
        **owner.key(),
        "run": run,
        "command": command,
        "fingerprint": fingerprint,
        "started_at": started_at,
        "ended_at": "",
        "outcome": "",
        "exit_code": 0,
        "counts": "{}",
    }
    connection.execute(RUNS.insert().values(row))


def end(connection: Connection, run: Run) -> None:
    """Write down how a run ended: how many changes ended in which way, and no person's data."""
    counts: dict[str, int] = {}
    for outcome in run.outcomes:
        key = f"{outcome.action} {outcome.result}"
        counts[key] = counts.get(key, 0) + 1
    values = {
        "ended_at": run.ended_at,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        "counts": encode(counts).decode(),
    }
    connection.execute(RUNS.update().where(RUNS.c.run == run.run).values(values))


def use_plan(connection: Connection, *, salt: str, run: str, used_at: str) -> bool:
    """Whether this plan, known by its salt, is carried out for the first time. From now on it is used."""
    try:
        with connection.begin_nested():
            connection.execute(PLANS_USED.insert().values(salt=salt, run=run, used_at=used_at))
    except IntegrityError:
        return False
    return True
