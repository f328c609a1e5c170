"""Laws of duplicates, over generated states: never one that is not provably ours, and exactly one is kept."""

from core.build import MARK, MARKED, OPS, STACK, contact, desired, live, phone, planned, record, recorded
from core.build import row as live_row
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from reconciler.model.plans import Delete, Plan
from reconciler.model.snapshots import LiveEntity, Read

MAIL = "jane@example.com"
MARKS = ("", f"{STACK}/jane", f"{STACK}/sam", "other/jane")


@st.composite
def rows(draw: st.DrawFn) -> list[LiveEntity]:
    """Some live contacts that may or may not be Jane, and may or may not be marked as ours."""
    found = []
    for number in range(draw(st.integers(0, 5))):
        fields = {"workEmailAddress1": draw(st.sampled_from([MAIL, MAIL, MAIL.upper(), "kim@example.com"]))}
        if mark := draw(st.sampled_from(MARKS)):
            fields[f"custom.{MARK}"] = mark
        modified = f"2026-02-0{draw(st.integers(1, 3))}T10:00:00Z"
        found.append(live_row("contact", "ops", f"A{number}", fields, modified=modified))
    return found


@st.composite
def states(draw: st.DrawFn) -> tuple[list[LiveEntity], list[str], str, list[str], bool]:
    """Live rows, who of them has a phone, Jane's recorded id, the ids we made before, a whole read or not."""
    there = draw(rows())
    ids = [one.remote_id for one in there]
    some = st.lists(st.sampled_from(ids), unique=True) if ids else st.just([])
    known = draw(st.sampled_from(["", "lost", *ids]))
    earlier = [one for one in draw(some) if known and one != known]
    return there, draw(some), known, earlier, draw(st.booleans())


def plan_of(
    state: tuple[list[LiveEntity], list[str], str, list[str], bool], *, protect: bool = False
) -> Plan:
    there, phones, known, earlier, complete = state
    jane = contact("ops/jane", {"workEmailAddress1": MAIL, f"custom.{MARK}": f"{STACK}/jane"})
    jane = structs.replace(jane, controls=structs.replace(jane.controls, protect=protect))
    past = [structs.replace(record("contact/ops/jane", known), earlier=tuple(earlier))] if known else []
    reads = (Read(OPS, "scan", 1, 0, len(there), complete),)
    devices = [phone(f"D{one}", one) for one in phones]
    return planned(desired(jane), live(*there, *devices, reads=reads), recorded(*past), rules=MARKED)


def duplicates(plan: Plan) -> list[Delete]:
    return [one for one in plan.changes if isinstance(one, Delete) and one.cause == "duplicate"]


@given(states())
def test_only_what_is_provably_ours_is_deleted_as_a_duplicate(
    state: tuple[list[LiveEntity], list[str], str, list[str], bool],
) -> None:
    """T2, T3: our mark with this very name, or an id that we made under it; the same person; no phone."""
    there, phones, known, earlier, complete = state
    by_id = {one.remote_id: one for one in there}

    for change in duplicates(plan_of(state)):
        row = by_id[change.remote_id]
        ours = row.fields.get(f"custom.{MARK}") == f"{STACK}/jane" or change.remote_id in earlier
        assert ours
        assert str(row.fields.get(f"custom.{MARK}", f"{STACK}/")).startswith(f"{STACK}/")
        assert str(row.fields["workEmailAddress1"]).casefold() == MAIL
        assert change.remote_id not in {known, *phones}
        assert complete


@given(states())
def test_what_is_kept_is_live_and_is_never_deleted(
    state: tuple[list[LiveEntity], list[str], str, list[str], bool],
) -> None:
    """T2: exactly one is kept: the recorded one where it is live, and nobody else."""
    there, _, known, _, _ = state
    plan = plan_of(state)
    deleted = {one.remote_id for one in plan.changes if isinstance(one, Delete)}
    kept = {one.keeps for one in duplicates(plan)}

    assert len(kept) <= 1
    assert not kept & deleted
    assert kept <= {one.remote_id for one in there}
    if known in {one.remote_id for one in there}:
        assert kept <= {known}


@given(states())
def test_somebody_protected_has_no_duplicate_deleted(
    state: tuple[list[LiveEntity], list[str], str, list[str], bool],
) -> None:
    """X2: nothing that may be her is deleted."""
    assert duplicates(plan_of(state, protect=True)) == []


@given(states(), st.data())
def test_the_order_of_rows_changes_nothing(
    state: tuple[list[LiveEntity], list[str], str, list[str], bool], data: st.DataObject
) -> None:
    """Law 3: which one is kept does not depend on the list."""
    there, phones, known, earlier, complete = state
    mixed = data.draw(st.permutations(there))

    assert plan_of((list(mixed), phones, known, earlier, complete)) == plan_of(state)
