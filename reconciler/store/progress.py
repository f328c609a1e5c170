"""How far a run is that holds the lock. Rows in, values out.

Belongs here: counting, cheap enough for somebody who asks every second. Not here: whether the run is
alive (lock.py), and what a run left that is not (runs.py).
"""

from msgspec import DecodeError
from sqlalchemy import Connection, func, select

from reconciler.model.encoding import decode_json
from reconciler.model.plans import ACTION_WORDS
from reconciler.model.runs import Running
from reconciler.store.engines import sealed
from reconciler.store.engines.schema import JOURNAL, RUNS
from reconciler.store.owner import Owner

# The key under which a run that has begun keeps the number of its changes, until it ends.
PLANNED = "planned"


def progress(connection: Connection, owner: Owner, running: Running) -> Running:
    """Return the same run with its command and its counts, as far as it has written any down."""
    mine = (*sealed.of(RUNS, owner), RUNS.c.run == running.run)
    found = connection.execute(select(RUNS.c.command, RUNS.c.outcome, RUNS.c.counts).where(*mine))
    row = found.one_or_none()
    if row is None:
        return running
    counts = _counts(str(row.counts))
    # A run that has ended counts more than changes: how many it saw twice.
    of_changes = sum(
        number for word, number in counts.items() if word.partition(" ")[0] in ACTION_WORDS.values()
    )
    ended = of_changes if row.outcome else _ended(connection, owner, running.run)
    changes = ended if row.outcome else counts.get(PLANNED)
    return Running(running.run, running.holder, running.since, str(row.command), ended, changes)


def _ended(connection: Connection, owner: Owner, run: str) -> int:
    mine = (*sealed.of(JOURNAL, owner), JOURNAL.c.run == run, JOURNAL.c.ending != "")
    query = select(func.count()).select_from(JOURNAL).where(*mine)
    return connection.execute(query).scalar_one()


def _counts(text: str) -> dict[str, int]:
    try:
        return decode_json(text, dict[str, int])
    except (DecodeError, ValueError):
        return {}  # a number that cannot be read stops nobody
