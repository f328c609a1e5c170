"""How far a run is that holds the lock. Rows in, values out.

Belongs here: counting, cheap enough for somebody who asks every second. Not here: whether the run is
alive (lock.py), and what a run left that is not (runs.py).
"""

from msgspec import DecodeError

from reconciler.model.encoding import decode_json
from reconciler.model.plans import ACTION_WORDS
from reconciler.model.runs import Running
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.owner import Owner

# The key under which a run that has begun keeps the number of its changes, until it ends.
PLANNED = "planned"


def count_progress(connection: Connection, owner: Owner, running: Running) -> Running:
    """Return the same run with its command and its counts, as far as it has written any down."""
    mine = {**owner.key(), "run": running.run}
    query = f"SELECT command, outcome, counts FROM runs WHERE {sealed.OWNED} AND run = :run"
    row = connection.execute(query, mine).one_or_none()
    if row is None:
        return running
    command, outcome, text = row
    counts = _decode_counts(str(text))
    # A run that has ended counts more than changes: how many it saw twice.
    of_changes = sum(
        number for word, number in counts.items() if word.partition(" ")[0] in ACTION_WORDS.values()
    )
    ended_rows = f"SELECT count(*) FROM journal WHERE {sealed.OWNED} AND run = :run AND ending <> ''"
    ended = of_changes if outcome else int(connection.execute(ended_rows, mine).scalar())
    changes = ended if outcome else counts.get(PLANNED)
    return Running(running.run, running.holder, running.since, str(command), ended, changes)


def _decode_counts(text: str) -> dict[str, int]:
    try:
        return decode_json(text, dict[str, int])
    except (DecodeError, ValueError):
        return {}  # a number that cannot be read stops nobody
