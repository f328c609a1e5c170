"""Who applied what, when, and how it ended; what a run that did not end was about to do; plans used.

The plan of a run is kept from its beginning until nothing of it is left to do or to settle.
"""

import re
from collections.abc import Mapping
import msgspec
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.runs.recover import InterruptedRun
from reconciler.model.encoding import decode_json
from reconciler.model.encoding import encode_json
from reconciler.model.plans import PLAN_VERSION
from reconciler.model.plans import Consent
from reconciler.model.plans import Plan
from reconciler.model.runs import Context
from reconciler.model.runs import JournalEntry
from reconciler.model.runs import Run
from reconciler.store import journal
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.engines.schema import RUNS
from reconciler.store.engines.sealed import Seals
from reconciler.store.owner import Owner
from reconciler.store.progress import PLANNED
from reconciler.store.recorded import raise_corrupt_record




# Not by time: two runs may begin within a second, and a clock may be put back.
_ALL_RUNS = f"{sealed.rows_query(RUNS)} ORDER BY number, started_at, run"
_run_columns = sealed.pick_columns(RUNS, "run", "outcome", "plan", "command", "started_at", "consent")
_NOTHING_LEFT = {"plan": "", "consent": ""}
_SEEN = "seen "  # how the words of `Run.seen` begin among the counts of a run


class RunBegin(msgspec.Struct, frozen=True):
    """A run that is about to write: what it will carry out, by whose consent, who and where it is."""

    run: str
    command: str
    plan: Plan
    consent: Consent
    context: Context
    who: str
    started_at: str


class LastLook(msgspec.Struct, frozen=True):
    """What a run has seen: how many entities are live `twice`, and how many are `ambiguous`."""

    run: str
    ended_at: str
    seen: Mapping[str, int]


def record_run_begin(seals: Seals, began: RunBegin) -> None:
    """Write down that a run has begun. A run that never ends keeps an empty outcome."""
    last = f"SELECT max(number) FROM runs WHERE {sealed.OWNED}"
    number = seals.connection.execute(last, seals.owner.key()).scalar() or 0
    if not isinstance(number, int):
        sealed.raise_damaged_table(RUNS, seals.owner, "the number of a run cannot be read")
    row = {
        **seals.owner.key(),
        "run": began.run,
        "number": number + 1,
        "command": began.command,
        "fingerprint": began.plan.fingerprint,
        "started_at": began.started_at,
        "ended_at": "",
        "outcome": "",
        "exit_code": 0,
        "counts": encode_json({PLANNED: len(began.plan.changes)}).decode(),
        "who": began.who,
        "context": encode_json(began.context).decode(),
        "plan": encode_json(began.plan).decode(),
        "consent": encode_json(began.consent).decode(),
    }
    seals.replace(RUNS, come=[row])


def record_run_end(seals: Seals, run: Run) -> None:
    """Write down how a run ended: how many changes ended in which way, and no person's data.

    Its intents and its plan go, unless something is in doubt or was not attempted: then it can be resumed.
    """
    values = {
        "ended_at": run.ended_at,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        "counts": encode_json(count_outcomes(run)).decode(),
    }
    seals.change(RUNS, {"run": run.run}, values)
    if run.count("not attempted") == 0:
        _forget_finished(seals, run.run)


def record_run_closed(seals: Seals, run: str, *, outcome: str, ended_at: str) -> None:
    """An unfinished run is over: nobody goes on with it. How it ended stays, if it had said so itself.

    Its intents and its plan go, unless something is still in doubt.
    """
    seals.change(RUNS, {"run": run, "outcome": ""}, {"outcome": outcome, "ended_at": ended_at})
    _forget_finished(seals, run)


def load_unfinished_runs(connection: Connection, owner: Owner) -> tuple[InterruptedRun, ...]:
    """Return the runs that have not ended, or left something in doubt or not attempted; oldest first.

    Raises CorruptRecord.
    """
    rows = connection.execute(_ALL_RUNS, owner.key()).all()
    sealed.check_seal(connection, RUNS, owner, rows)
    entries: dict[str, list[JournalEntry]] = {}
    for entry in journal.load_journal(connection, owner):
        entries.setdefault(entry.run, []).append(entry)
    open_ = {run for run, written in entries.items() if any(entry.open for entry in written)}
    found = []
    for row in rows:
        run, outcome, plan, command, started_at, consent = _run_columns(row)
        if not outcome or plan or run in open_:
            texts = (str(run), str(command), str(started_at))
            written = tuple(entries.get(str(run), ()))
            found.append(
                InterruptedRun(*texts, _decode_run_plan(str(plan)), _decode_run_consent(str(consent)), written)
            )
    return tuple(found)


def count_outcomes(run: Run) -> Mapping[str, int]:
    """Return how many changes ended in which way, and what was seen twice: `create applied` -> 3."""
    found: dict[str, int] = {}
    for outcome in run.outcomes:
        key = f"{outcome.action} {outcome.result}"
        found[key] = found.get(key, 0) + 1
    return found | {f"{_SEEN}{word}": number for word, number in run.seen.items()}


def find_last_look(connection: Connection, owner: Owner, word: str = "") -> LastLook | None:
    """Return what the last run saw that looked, and ended; None where there is none.

    With `word` the last one that saw something whose word begins with it. Raises CorruptRecord.
    """
    query = f"SELECT run, ended_at, counts FROM runs WHERE {sealed.OWNED} AND counts LIKE :seen ESCAPE '/'"
    last = "ORDER BY number DESC LIMIT 1"
    seen_word = re.sub("[/%_]", r"/\g<0>", f'"{_SEEN}{word}')
    row = connection.execute(f"{query} {last}", {**owner.key(), "seen": f"%{seen_word}%"}).first()
    if row is None:
        return None
    run, ended_at, text = row
    try:
        known = decode_json(str(text), dict[str, int])
    except (msgspec.DecodeError, ValueError):
        raise_corrupt_record(run, "its counts cannot be read")
    seen = {word.removeprefix(_SEEN): number for word, number in known.items() if word.startswith(_SEEN)}
    return LastLook(str(run), str(ended_at), seen)


def mark_plan_used(connection: Connection, *, salt: str, run: str, used_at: str) -> bool:
    """Whether this plan, known by its salt, is carried out for the first time. From now on it is used."""
    new = connection.execute(
        "INSERT INTO plans_used (salt, run, used_at) VALUES (:salt, :run, :used_at) "
        "ON CONFLICT (salt) DO NOTHING",
        {"salt": salt, "run": run, "used_at": used_at},
    )
    return new.rowcount == 1


def _forget_finished(seals: Seals, run: str) -> None:
    if journal.has_open_intent(seals.connection, seals.owner, run):
        return
    journal.remove_journal(seals, run)
    seals.change(RUNS, {"run": run}, _NOTHING_LEFT)


def _decode_run_plan(text: str) -> Plan | None:
    """Return the plan that was saved, unchanged; None for one of another version."""
    try:
        plan = decode_json(text, Plan)
    except (msgspec.DecodeError, ValueError):
        return None
    known = plan.version == PLAN_VERSION and plan.fingerprint == fingerprint(plan)
    return plan if known else None


def _decode_run_consent(text: str) -> Consent:
    try:
        return decode_json(text, Consent)
    except (msgspec.DecodeError, ValueError):
        return Consent()  # nothing was agreed to: the guard asks again
