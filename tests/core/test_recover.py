import effort
import pytest
from core.build import OPS, at, contact, desired, device, live, planned
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from laws.test_planning import made
from laws.worlds import World, accepted, worlds
from msgspec import structs

from reconciler.core.planning.fingerprint import fingerprint, without_place
from reconciler.core.planning.scopes import order_changes
from reconciler.core.runs.recover import (
    InterruptedRun,
    Recovery,
    Remaining,
    find_remaining,
    settle_wait_s,
    sort_out_run,
)
from reconciler.model.address import Address
from reconciler.model.documents import NamedConsent
from reconciler.model.plans import Change, Consent, Create, Delete, FieldChange, Plan, Update
from reconciler.model.runs import Ending, Intent, JournalEntry

LAW = settings(max_examples=effort.count(small=40, full=150))
ENDINGS: tuple[Ending, ...] = ("", "applied", "skipped", "conflict", "failed", "absent", "not attempted")


def intent(address: Address, *, until: str = "2026-03-01T12:05:10+00:00") -> Intent:
    return Intent(address, "create", "2026-03-01T12:00:00+00:00", until)


def plan_of(*names: str) -> Plan:
    """Return a plan that makes these contacts of ops."""
    people = [contact(f"ops/{name}", firstName=name) for name in names]
    return planned(desired(*people, scopes=[OPS]), live())


def unfinished(plan: Plan | None, *entries: JournalEntry) -> InterruptedRun:
    return InterruptedRun("run-1", "apply", "2026-03-01T12:00:00+00:00", plan, Consent(), entries)


def test_a_run_that_died_before_its_first_intent_has_sent_nothing() -> None:
    plan = plan_of("jane-doe", "sam-lee")
    assert sort_out_run(unfinished(plan)) == Recovery((), (), tuple(one.address for one in plan.changes))


@pytest.mark.parametrize(
    ("ending", "where"),
    [
        ("", "in doubt"),
        ("not attempted", "never sent"),
        *[(ending, "settled") for ending in ENDINGS if ending not in {"", "not attempted"}],
    ],
)
def test_an_intent_is_what_its_ending_says(ending: Ending, where: str) -> None:
    """Open: the request may have left, and nobody knows. Anything else is known."""
    plan = plan_of("jane-doe", "sam-lee")
    jane, sam = (change.address for change in plan.changes)
    found = sort_out_run(unfinished(plan, JournalEntry("run-1", intent(jane), ending)))
    assert found.settled == ((jane,) if where == "settled" else ())
    assert found.in_doubt == ((intent(jane),) if where == "in doubt" else ())
    assert found.never_sent == ((jane, sam) if where == "never sent" else (sam,))


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(ENDINGS)), st.booleans())
def test_every_address_is_settled_in_doubt_or_never_sent_and_never_two_of_them(
    written: dict[str, Ending],
    readable: bool,  # noqa: FBT001 - drawn, not passed
) -> None:
    """Also what no plan speaks of, or a plan that nobody can read any more."""
    plan = plan_of(*"abcd") if readable else None
    entries = [JournalEntry("run-1", intent(at(f"contact/ops/{name}")), end) for name, end in written.items()]
    found = sort_out_run(unfinished(plan, *entries))
    parts = [*found.settled, *(one.address for one in found.in_doubt), *found.never_sent]
    known = {change.address for change in plan.changes} if plan else set()
    assert len(parts) == len(set(parts))
    assert set(parts) == known | {entry.intent.address for entry in entries}


def test_what_a_killed_process_sent_is_waited_out_from_the_moment_its_lock_was_taken() -> None:
    """It has sent nothing since; so its lease, which the intent allows for, need not pass."""
    intents = [intent(at("contact/ops/jane-doe"))]
    assert settle_wait_s(intents, locked_for_s=0, settle_s=10) == 10
    assert settle_wait_s(intents, locked_for_s=4, settle_s=10) == 6
    assert settle_wait_s(intents, locked_for_s=11, settle_s=10) == 0
    assert settle_wait_s([], locked_for_s=0, settle_s=10) == 0


@pytest.mark.parametrize("until", ["1970-01-01T00:00:00+00:00", "9999-01-01T00:00:00+00:00", "", "soon"])
def test_no_time_in_an_intent_shortens_or_lengthens_the_wait(until: str) -> None:
    """A machine whose clock was wrong wrote it, or ours was set since: only what has passed here counts."""
    intents = [intent(at("contact/ops/jane-doe"), until=until), intent(at("contact/ops/sam-lee"))]
    assert settle_wait_s(intents, locked_for_s=3, settle_s=10) == 7


def without_places(changes: tuple[Change, ...]) -> list[Change]:
    return [without_place(change) for change in changes]


def holds_together(old: Plan, fresh: Plan) -> Remaining:
    """Return what is left, of which all that is claimed for any two plans is true."""
    left = find_remaining(old, fresh)
    for change in left.plan.changes:
        assert change in fresh.changes
        assert without_place(change) in without_places(old.changes)
    assert order_changes([*left.plan.changes, *left.beyond]) == fresh.changes
    assert order_changes(left.plan.changes) == left.plan.changes
    assert order_changes(left.beyond) == left.beyond
    assert left.plan.fingerprint == fingerprint(left.plan)
    assert structs.replace(left.plan, changes=fresh.changes, fingerprint=fresh.fingerprint) == fresh
    return left


def test_an_interrupted_run_keeps_the_consent_of_manifests_that_it_began_with() -> None:
    """It has ended, or its line is gone, while the run stood still: what it had agreed to, it had."""
    agreed = NamedConsent(at("contact/ops/ann"), "delete", "2026-03-01", "left", "manifests/ops.yaml:5")
    old = structs.replace(plan_of("ann"), consented=(agreed,))

    assert find_remaining(old, plan_of("ann")).plan.named_consents == (agreed,)
    assert find_remaining(plan_of("ann"), old).plan.named_consents == ()


@LAW
@given(worlds())
def test_the_rest_of_a_plan_that_nobody_began_is_all_of_it(world: World) -> None:
    plan = made(world)
    assert holds_together(plan, plan) == Remaining(plan, ())


@LAW
@given(worlds(), worlds())
def test_the_rest_holds_nothing_that_one_of_the_two_plans_does_not(world: World, other: World) -> None:
    """However the world has changed: what was agreed to is all that is done."""
    old, fresh = made(world), made(other)
    left = holds_together(old, fresh)
    event(f"{min(len(left.plan.changes), 1)} left, {min(len(left.beyond), 1)} beyond")


@LAW
@given(worlds().map(accepted), st.data())
def test_after_some_of_a_plan_the_rest_is_what_was_not_done(world: World, data: st.DataObject) -> None:
    """The order of the waves is that of the work, so what a crash leaves is the end of the plan.

    What the plan left alone as ambiguous may have become certain by what was done; it was agreed to by
    nobody, so it is beyond the plan. Nothing that was agreed to becomes ambiguous.
    """
    plan = made(world)
    done = data.draw(st.integers(0, len(plan.changes)))
    world.keep(plan)
    world.carry_out(plan.changes[:done])
    fresh = made(world)
    left = holds_together(plan, fresh)
    assert without_places(left.plan.changes) == without_places(plan.changes[done:])
    waited = {skip.address for skip in plan.skips if skip.reason == "ambiguous"}
    assert {change.address for change in left.beyond} <= waited
    event(f"{min(done, 3)} done, {min(len(left.plan.changes), 3)} left, {min(len(left.beyond), 1)} beyond")


@LAW
@given(worlds(), st.data())
def test_what_landed_and_was_not_recorded_is_neither_made_nor_deleted_again(
    world: World, data: st.DataObject
) -> None:
    """The crash came between the answer and its record: what is live tells, not what is known."""
    plan = made(world)
    assume(plan.changes)
    done = data.draw(st.integers(1, len(plan.changes)))
    world.keep(plan)
    world.carry_out(plan.changes[: done - 1])
    known = dict(world.records)
    world.carry_out(plan.changes[done - 1 : done])
    world.records = known
    landed = plan.changes[done - 1]
    left = holds_together(plan, made(world))
    again = [change for change in left.plan.changes if change.address == landed.address]
    # A field that is never shown is sent once more: nobody can tell, and the same again does no harm.
    assert again in ([], [landed])
    assert isinstance(landed, Update) or not again
    event(type(landed).__name__)


def test_where_a_change_was_declared_does_not_matter() -> None:
    """Somebody added a comment above it meanwhile."""
    plan = plan_of("jane-doe")
    (create,) = plan.changes
    assert isinstance(create, Create)
    moved = structs.replace(plan, changes=(structs.replace(create, place="elsewhere.yaml:9"),))
    assert find_remaining(plan, moved).plan.changes == moved.changes
    assert find_remaining(plan, moved).beyond == ()


def sides() -> list[tuple[Change, Change]]:
    """Return changes of one address that are not the same: what was planned, and what would be done now."""
    plan = plan_of("jane-doe")
    (create,) = plan.changes
    jane = create.address
    assert isinstance(create, Create)
    field = planned_field()
    update = Update(jane, "", "00AB", (field,))
    delete = Delete(jane, "00AB", {"firstName": "Jane"})
    return [
        (create, structs.replace(create, fields={**create.fields, "firstName": "Janet"})),
        (create, structs.replace(create, fields={})),
        (create, structs.replace(create, cause="gone")),
        (create, update),
        (create, delete),
        (update, create),
        (update, structs.replace(update, remote_id="00AC")),
        (update, structs.replace(update, parent_id="1")),
        (update, structs.replace(update, adopts="workEmailAddress1")),
        (update, structs.replace(update, fields=())),
        (update, structs.replace(update, fields=(field, structs.replace(field, path="title")))),
        (update, structs.replace(update, fields=(structs.replace(field, before="Jo"),))),
        (update, structs.replace(update, fields=(structs.replace(field, before=None),))),
        (update, structs.replace(update, fields=(structs.replace(field, after="Jo"),))),
        (update, structs.replace(update, fields=(structs.replace(field, cause="drifted"),))),
        (delete, update),
        (delete, structs.replace(delete, remote_id="00AC")),
        (delete, structs.replace(delete, before={"firstName": "Janet"})),
        (delete, structs.replace(delete, before={})),
        (delete, structs.replace(delete, cascades=("device/ops/jane-doe/phone",))),
    ]


def planned_field() -> FieldChange:
    return FieldChange("firstName", "Jane", "Janet", "declared")


@pytest.mark.parametrize("pair", sides())
def test_whatever_else_of_a_change_is_different_it_is_beyond_the_plan(pair: tuple[Change, Change]) -> None:
    """Somebody agreed to the one, and nobody to the other."""
    old, fresh = (structs.replace(plan_of("jane-doe"), changes=(change,)) for change in pair)
    left = find_remaining(old, fresh)
    assert left.plan.changes == ()
    assert left.beyond == (pair[1],)


def test_a_device_whose_contact_is_made_beyond_the_plan_waits_with_it() -> None:
    """It would be sent to a contact that is not there."""
    phone = device("ops/jane-doe/phone")
    first = desired(contact("ops/jane-doe", devices=True, firstName="Jane"), phone)
    second = desired(contact("ops/jane-doe", devices=True, firstName="Janet"), phone)
    old, fresh = planned(first, live()), planned(second, live())
    assert len(fresh.changes) == 2
    left = find_remaining(old, fresh)
    assert left.plan.changes == ()
    assert left.beyond == fresh.changes
