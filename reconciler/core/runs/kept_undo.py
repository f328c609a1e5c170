"""Undo of a run of the history: which run is meant, whether it can be undone, and the plan that does it.

    every run at its end --make_undo_plan--> kept in the store for some days (store/undos.py)
    `reconciler undo RUN` --choose_undo----> that plan, or why there is none
                          --renew_undo-----> the same plan as one that is made now

What is kept proves itself (`is_undo_proved`), as an undo file does, and is carried out as one.
"""

from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct, structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.runs.undo import BY_MANIFEST, is_undo_proved, prove_undo
from reconciler.errors import CorruptRecord, NotUndoable, StalePlan, UnknownRun
from reconciler.model.codes import SKIP_CODES
from reconciler.model.plans import Plan

# A run with more changes keeps no undo. One of 10,000 creates has 3 MB, and all that is kept is read and
# compared with its seal where one is looked for.
undo_changes_max = 10_000
_named_max = 5  # runs, or changes, in one sentence


class KnownRun(Struct, frozen=True):
    """A run as the store knows it. `applied` counts its changes, if it has ended and was not cut off."""

    run: str
    stack: str
    command: str
    applied: int
    cut_off: bool = False


class RunToUndo(Struct, frozen=True):
    """What is known of the runs whose id begins with a text.

    `runs` are those of this stack, `elsewhere` those of others in this store. The rest is about the only
    run: the undo that it kept, if any, and the run that carried that out, and when (ISO 8601).
    """

    runs: tuple[KnownRun, ...] = ()
    elsewhere: tuple[KnownRun, ...] = ()
    kept: Plan | None = None
    undone_by: str = ""
    undone_at: str = ""


def choose_undo(named: str, found: RunToUndo, *, key: str) -> Plan:
    """Return the plan that undoes the run that `named` names, whole or by its first characters.

    `key` is the store's salt. Raises UnknownRun where it names no run, or several; NotUndoable and StalePlan
    where that run cannot be undone, or was; CorruptRecord where what is kept is not what a run made.
    """
    exact = tuple(one for one in found.runs if one.run == named)
    runs = exact or found.runs
    if len(runs) != 1:
        _raise_unknown(named, runs, found.elsewhere)
    (one,) = runs
    if found.undone_at != "":
        by = f" by run {found.undone_by}" if found.undone_by else ""
        raise StalePlan(
            f"run {one.run} was undone before:{by} at {found.undone_at}.",
            next="reconciler plan shows what differs from the manifests now",
        )
    if found.kept is None:
        what, step = _why_none_is_kept(one)
        raise NotUndoable(what, next=step)
    if not is_undo_proved(found.kept, key):
        raise CorruptRecord(
            f"the undo that run {one.run} kept is damaged: it is not what a run with this store made.",
            next=BY_MANIFEST,
        )
    if not (found.kept.changes or found.kept.gone):
        said = [f"{skip.address} {skip.what} [{SKIP_CODES[skip.reason]}]" for skip in found.kept.skips]
        more = f" and {len(said) - _named_max:,} more" if len(said) > _named_max else ""
        what = f"none of the changes of run {one.run} can be undone: {'; '.join(said[:_named_max])}{more}"
        raise NotUndoable(what, next=BY_MANIFEST)
    return found.kept


def renew_undo(plan: Plan, *, now: str, expires: str, key: str) -> Plan:
    """Return an undo as if it were made now, with its proof. Times are ISO 8601, `key` is the store's salt.

    Its salt stays: carried out in whatever form, it is carried out once.
    """
    made = structs.replace(plan, created_at=now, expires_at=expires)
    proved = structs.replace(made, options=structs.replace(made.options, undo_proof=prove_undo(made, key)))
    return structs.replace(proved, fingerprint=fingerprint(proved))


def _raise_unknown(named: str, runs: Sequence[KnownRun], elsewhere: Sequence[KnownRun]) -> NoReturn:
    if runs:
        some = ", ".join(one.run for one in runs[:_named_max])
        more = f" and {len(runs) - _named_max:,} more" if len(runs) > _named_max else ""
        raise UnknownRun(
            f"the ids of {len(runs):,} runs begin with {named!r}: {some}{more}.",
            next="write more of the id",
        )
    if elsewhere:
        stacks = ", ".join(sorted({one.stack for one in elsewhere}))
        raise UnknownRun(
            f"run {named} is one of another stack or address of the service: {stacks}.",
            next="undo it with the settings of that stack",
        )
    raise UnknownRun(
        f"no run of this stack has an id that begins with {named!r}.",
        next="reconciler history shows the runs",
    )


def _why_none_is_kept(one: KnownRun) -> tuple[str, str]:
    """Return why there is no undo of a run, and what to do."""
    if one.command == "undo":
        what = f"run {one.run} is an undo, and an undo cannot be undone."
        return what, "reconciler apply does again what the manifests say"
    if one.cut_off:
        what = f"run {one.run} has not ended, or was cut off: a run keeps what undoes it when it ends."
        return what, f"if it is unfinished: reconciler resume. To take back what it did: {BY_MANIFEST}"
    if not one.applied:
        return f"run {one.run} wrote nothing, so there is nothing to undo.", ""
    if one.applied > undo_changes_max:
        what = (
            f"run {one.run} made {one.applied:,} changes; of more than {undo_changes_max:,} no undo is kept."
        )
        return what, f"{BY_MANIFEST}; `reconciler apply --undo FILE` writes the undo of any run"
    what = (
        f"the undo of run {one.run} is not kept: only the last runs have one, for undo_days of the settings."
    )
    return what, BY_MANIFEST
