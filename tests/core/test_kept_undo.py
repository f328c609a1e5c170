"""Which run is meant by the beginning of an id, and why a run cannot be undone."""

import pytest
from core.build import MOMENT, at
from core.test_guard import plan
from msgspec import structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import why_expired
from reconciler.core.runs.kept_undo import (
    KnownRun,
    RunToUndo,
    choose_undo,
    renew_undo,
    undo_changes_max,
)
from reconciler.core.runs.undo import is_undo_proved
from reconciler.core.text import parse_instant
from reconciler.errors import CorruptRecord, NotUndoable, ReconcilerError, StalePlan, UnknownRun
from reconciler.model.plans import Delete, Options, Plan, Skip

KEY = "salt of the store"
RUN = "3f2a9c41-0000-4000-8000-000000000001"
OTHER = "3f2a0000-0000-4000-8000-000000000002"
SKIP = Skip(at("contact/ops/sam"), "not restored", "was deleted; its password is not kept.")


def known(run: str = RUN, command: str = "apply", applied: int = 1, *, cut_off: bool = False) -> KnownRun:
    return KnownRun(run, "ops-contacts", command, applied, cut_off)


def undo_of(made: Plan) -> Plan:
    made = structs.replace(made, options=Options(undo_of=RUN), salt=MOMENT.salt)
    return renew_undo(made, now=MOMENT.now, expires=MOMENT.expires, key=KEY)


UNDO = undo_of(plan(Delete(at("contact/ops/jane"), "A1", {}), owned=3))
FOUND = RunToUndo((known(),), kept=UNDO)


@pytest.mark.parametrize("named", [RUN, RUN[:8], "3"])
def test_the_only_run_whose_id_begins_so_is_meant(named: str) -> None:
    assert choose_undo(named, FOUND, key=KEY) == UNDO


def test_a_whole_id_is_meant_though_another_one_is_longer() -> None:
    """Ids have one length; in a damaged or foreign store they may not."""
    found = structs.replace(FOUND, runs=(known(), known(f"{RUN}-more")))

    assert choose_undo(RUN, found, key=KEY) == UNDO


WHY = {
    "unknown": (RunToUndo(), UnknownRun, "no run of this stack"),
    "several": (RunToUndo((known(), known(OTHER))), UnknownRun, f"{RUN}, {OTHER}"),
    "another stack": (
        RunToUndo(elsewhere=(structs.replace(known(), stack="field"),)),
        UnknownRun,
        "another stack or address of the service: field",
    ),
    "nothing written": (RunToUndo((known(applied=0),)), NotUndoable, "wrote nothing"),
    "cut off": (RunToUndo((known(applied=0, cut_off=True),)), NotUndoable, "was cut off"),
    "kept no longer": (RunToUndo((known(),)), NotUndoable, "is not kept"),
    "too many": (RunToUndo((known(applied=undo_changes_max + 1),)), NotUndoable, "10,001 changes"),
    "an undo": (RunToUndo((known(command="undo"),)), NotUndoable, "an undo cannot be undone"),
    "undone before": (
        structs.replace(FOUND, undone_by=OTHER, undone_at="2026-03-01T13:00:00+00:00"),
        StalePlan,
        f"was undone before: by run {OTHER} at 2026-03-01",
    ),
    "nothing to restore": (
        structs.replace(FOUND, kept=undo_of(structs.replace(plan(), skips=(SKIP,)))),
        NotUndoable,
        "contact/ops/sam was deleted; its password is not kept. [A11]",
    ),
    "made by another store": (
        structs.replace(FOUND, kept=renew_undo(UNDO, now=MOMENT.now, expires=MOMENT.expires, key="other")),
        CorruptRecord,
        "is damaged",
    ),
    "changed": (
        structs.replace(FOUND, kept=structs.replace(UNDO, changes=(Delete(SKIP.address, "B2", {}),))),
        CorruptRecord,
        "is damaged",
    ),
}


@pytest.mark.parametrize("case", WHY)
def test_why_there_is_none_is_said(case: str) -> None:
    """Each with what to do, but where nothing is to be done."""
    found, kind, what = WHY[case]

    with pytest.raises(ReconcilerError) as caught:
        choose_undo(RUN[:4], found, key=KEY)

    assert type(caught.value) is kind
    assert what in str(caught.value)
    assert caught.value.next or case == "nothing written"


def test_an_undo_that_is_found_later_lives_from_then_on_and_is_the_same_plan() -> None:
    """It proves itself as before, and its salt says that it is carried out once, in whatever form."""
    now, later = "2026-03-05T12:00:00+00:00", "2026-03-06T12:00:00+00:00"
    again = renew_undo(UNDO, now=now, expires=later, key=KEY)
    moment = parse_instant("2026-03-05T13:00:00+00:00")

    assert moment is not None
    assert why_expired(UNDO, moment, hours=24)
    assert why_expired(again, moment, hours=24) == ""
    assert is_undo_proved(again, KEY)
    assert again.fingerprint == fingerprint(again)
    assert (again.salt, again.changes) == (UNDO.salt, UNDO.changes)
