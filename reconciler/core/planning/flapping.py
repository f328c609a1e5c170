"""Fields that come back: we set them back, and somebody else writes them again, run after run.

    a run sets a drifted field back  --> counted in the record of its entity (count_set_back)
    it is drifted once more, or was set back twice lately  --> a notice names it (flapping_notices)

So two repositories without marks that own the same person find out that there are two. Only what is recorded
counts: nobody can see from one store who writes. Pure; the counts are kept by store/recorded.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from reconciler.core.compare.normalize import parse_instant
from reconciler.core.planning.parts import ScopePlan
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Delete, FieldChange, Update
from reconciler.model.snapshots import Flap, Recorded

told_days = 30  # days after the last time that a field was set back; then it counts as calm again
_twice = 2


def count_set_back(before: Mapping[str, Flap], fields: Iterable[FieldChange], now: str) -> dict[str, Flap]:
    """Return how often each field was set back, once these changes have been applied at `now`.

    A field counts where somebody else changed it and we wrote again what we had written before. One that its
    owner edits begins anew: the next change of it is the first that others undo.
    """
    counts = dict(before)
    for field in fields:
        if field.cause == "drifted":
            known = counts.get(field.path)
            counts[field.path] = Flap((known.times if known else 0) + 1, known.since if known else now, now)
        else:
            counts.pop(field.path, None)
    return counts


def flapping_notices(changes: Iterable[Change], recorded: Recorded, now: str) -> Iterator[Notice]:
    """Yield a notice for each entity with fields that came back: by address, the fields by path."""
    drifting = {one.address: drifted_paths(one.fields) for one in changes if isinstance(one, Update)}
    for address, record in recorded.entities.items():
        if record.flaps:
            yield from _notices(address, record.flaps, drifting.get(address, frozenset()), now)


def shared_notices(total: ScopePlan, recorded: Recorded) -> Iterator[Notice]:
    """Yield a notice for each entity that becomes ours or is deleted, and that another stack owns too."""
    touched = [*total.adoptions, *(one for one in total.changes if isinstance(one, Delete | Update))]
    for one in touched:
        stack = recorded.shared.get((one.address.workspace, one.remote_id)) if recorded.shared else None
        deleted, adopted = isinstance(one, Delete), not isinstance(one, Update) or bool(one.adopts)
        if stack is None or not (deleted or adopted):
            continue
        what = f"stack {stack} has written it too and owns it: " + (
            "deleted here, it is made again there, or missing."
            if deleted
            else "from now on each overwrites what the other declares, and deletes it when it leaves."
        )
        step = (
            "let one stack declare it: `reconciler forget` in the other one; or give both an ownership.mark"
        )
        yield Notice("flapping", str(one.address), what, step)


def drifted_paths(fields: Iterable[FieldChange]) -> frozenset[str]:
    """Return the paths that somebody else changed, and that a plan sets back."""
    return frozenset(one.path for one in fields if one.cause == "drifted")


def _notices(
    address: Address, flaps: Mapping[str, Flap], drifting: frozenset[str], now: str
) -> Iterator[Notice]:
    said = [
        _sentence(path, flap, again=path in drifting)
        for path, flap in sorted(flaps.items())
        if path in drifting or (flap.times >= _twice and _lately(flap, now))
    ]
    if said:
        what = f"{'; '.join(said)}: somebody else writes it."
        step = (
            "find who: another repository, a script, the portal; then let one of the two declare it, or "
            "leave it to them with meta.ignore"
        )
        yield Notice("flapping", str(address), what, step)


def _sentence(path: str, flap: Flap, *, again: bool) -> str:
    times = {1: "once", 2: "twice"}.get(flap.times, f"{flap.times:,} times")
    more = ", and is changed again" if again else ""
    return f"{path} was set back {times} since {flap.since[:10]}{more}"


def _lately(flap: Flap, now: str) -> bool:
    last, moment = parse_instant(flap.last), parse_instant(now)
    return last is None or moment is None or moment - last <= timedelta(days=told_days)
