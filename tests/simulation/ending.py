"""The quiet after the trouble: no faults, nobody else, and everything has to come right.

What is left in doubt is settled, the plan is empty after one apply, a second one writes nothing, what is
declared is there once, and the store says the same as the service.
"""

from collections import defaultdict

from simulation.modelservice import SIDS, Row
from simulation.oracle import SWALLOWED, flat, holds, natural
from simulation.universe import Universe

from reconciler.model.plans import Workspace
from reconciler.model.snapshots import Desired

quiet_s = 8_000.0  # longer than a lease of a clock that is an hour fast, and than anything that lands late
resumes_max = 4
OUT_OF_SCOPE = "a device of ours stays with a contact that was never ours"
MOVED = "own writes moved a list under a look, and a second apply was needed"


async def quiet(universe: Universe, desired: Desired) -> None:
    """Let it come right, and tell the oracle where it does not."""
    universe.often_s = 0.0
    universe.faults.on = False
    await universe.pass_s(quiet_s)
    tidied(universe)
    await universe.pass_s(60)  # until lists show it
    await _resumed(universe, desired)
    first = await universe.run(desired)
    if first.word == "partial":  # its own writes moved a list under a look of its own, which then refused
        universe.oracle.known[MOVED] += 1
        await universe.pass_s(60)
        first = await universe.run(desired)
    universe.released = ()
    if first.word != "done":
        universe.oracle.broken(
            f"in the quiet an apply ended as {first.word}: {first.error}{_told(first.run)}"
        )
        return
    await universe.pass_s(60)
    second = await universe.run(desired)
    if second.word != "done" or second.writes or (second.run and second.run.outcomes):
        universe.oracle.broken(
            f"the second apply in the quiet ended as {second.word} and wrote {second.writes} times"
        )
    settled(universe, desired)


_FOR_A_PERSON = ("another entity has this id", "may be the one that was created")


async def _resumed(universe: Universe, desired: Desired) -> None:
    for _ in range(resumes_max):
        end = await universe.run(desired, verb="resume")
        if end.word in ("nothing", "StalePlan"):
            return
        if end.word == "in doubt":
            # The service named somebody else as the result of a create (A12), or shows what may be it under
            # another identity. A person has looked by now (`tidied`), and says that it may be sent again.
            doubtful = [one for one in end.run.outcomes if one.result == "in doubt"] if end.run else []
            if not doubtful or not all(any(word in one.what for word in _FOR_A_PERSON) for one in doubtful):
                universe.oracle.broken(f"in the quiet a resume ended as in doubt: {_told(end.run)}")
            universe.released = tuple(str(one.address) for one in doubtful)
            return
        if end.word not in ("done", "partial", "stale", "failed"):
            universe.oracle.broken(f"in the quiet a resume ended as {end.word}: {end.error}{_told(end.run)}")
        await universe.pass_s(60)
    universe.oracle.broken(f"{resumes_max} resumes in the quiet, and still something to resume")


def _told(run: object) -> str:
    outcomes = getattr(run, "outcomes", ())
    return "; ".join(f"{one.address} {one.result} {one.what}" for one in outcomes if one.result != "applied")


def tidied(universe: Universe) -> int:
    """A person removes what stands there twice; the oracle has judged by then whose fault it is."""
    twins: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in universe.model.rows.values():
        twins[row.kind, row.workspace, *natural(row.kind, row.body, row.parent)].append(row)
    recorded = _recorded_ids(universe)
    removed = 0
    for rows in twins.values():
        rows.sort(key=lambda row: (row.id not in recorded, row.id))
        for row in rows[1:]:
            if row.id in universe.model.rows:
                universe.model.delete(row.kind, row.workspace, row.id)
                removed += 1
    return removed


def settled(universe: Universe, desired: Desired) -> None:
    """What is declared is there, once, and recorded; nothing is in doubt; the history is whole."""
    with universe.open_store() as store:
        recorded = store.recorded(tuple(Workspace(a, SIDS[a]) for a in universe.workspaces)).entities
        if store.unfinished():
            universe.oracle.broken("a run is unfinished after the quiet")
        checked = store.verify(None)
        if checked.broken_at:
            universe.oracle.broken(f"the history is broken at entry {checked.broken_at}: {checked.what}")
    for address in sorted(recorded.keys() ^ desired.entities.keys()):
        above = address.above
        if above is not None and above not in desired.entities and above not in recorded:
            universe.oracle.known[OUT_OF_SCOPE] += 1  # no manifest speaks of its contact, which is not ours
            continue
        universe.oracle.broken(f"{address} is declared or recorded, and not both")
    for address, entity in desired.entities.items():
        row = universe.model.rows.get(recorded[address].remote_id) if address in recorded else None
        if row is None:
            universe.oracle.broken(f"{address} is not there")
            continue
        for path in entity.fields:
            live = flat(row.body).get(path)
            if holds(entity, path, flat(row.body)):
                continue
            if universe.oracle.swallowed.get((row.id, path)) == live:
                universe.oracle.known[SWALLOWED] += 1
            else:
                universe.oracle.broken(f"{address} {path} is {live!r} and not {entity.fields[path]!r}")


def _recorded_ids(universe: Universe) -> set[str]:
    with universe.open_store() as store:
        held = store.recorded(tuple(Workspace(a, SIDS[a]) for a in universe.workspaces)).entities
    return {one.remote_id for one in held.values()}
