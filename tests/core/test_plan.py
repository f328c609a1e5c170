"""Desired x Live x Recorded -> Plan: scope, adoption, renames, deletes, protection, marks, selection."""

import pytest
from core.build import (
    FILES,
    LAB,
    MARK,
    MARKED,
    MOMENT,
    NOW,
    OPS,
    RULES,
    STACK,
    at,
    contact,
    desired,
    device,
    live,
    person,
    phone,
    planned,
    record,
    recorded,
    resource,
    row,
)
from msgspec import structs

from reconciler.core.rules import Rules
from reconciler.errors import ManifestError
from reconciler.model.documents import Controls, Place
from reconciler.model.plans import Create, Delete, Plan, PlanMoment, Skip, Update, action_of
from reconciler.model.snapshots import Entity, Live, LiveEntity, Read, Scope

JANE_MAIL = "jane@example.com"
SAM_MAIL = "sam@example.com"


def jane(where: str = "ops/jane", *, controls: Controls = Controls(), devices: bool = False) -> Entity:  # noqa: B008 - a frozen value
    return contact(where, workEmailAddress1=JANE_MAIL, controls=controls, devices=devices)


def live_jane(remote_id: str = "A1", **fields: str) -> LiveEntity:
    return person(remote_id, {"workEmailAddress1": JANE_MAIL, **fields})


def story(plan: Plan) -> list[tuple[str, str]]:
    """The changes as people tell them: what is done, and to whom."""
    return [(action_of(change), str(change.address)) for change in plan.changes]


def reasons(plan: Plan) -> dict[str, str]:
    return {str(skip.address): skip.reason for skip in plan.skips}


# Scope and absence


def test_a_kind_that_no_manifest_speaks_of_is_not_touched() -> None:
    """S1: no `contacts:` key in any document of the workspace."""
    known = recorded(record("contact/ops/jane", "A1"), record("contact/lab/sam", "B2"))

    plan = planned(desired(scopes=[FILES]), live(live_jane()), known)

    assert (plan.changes, plan.gone, plan.skips, plan.owned) == ((), (), (), {"resources in ops": 0})


def test_an_empty_key_means_that_none_is_wanted() -> None:
    """S1: `contacts: {}` is in scope; what is ours goes, what is not stays."""
    there = live(live_jane(), person("B2", workEmailAddress1=SAM_MAIL))

    plan = planned(desired(scopes=[OPS]), there, recorded(record("contact/ops/jane", "A1")))

    assert story(plan) == [("delete", "contact/ops/jane")]
    assert plan.unmanaged == {"contacts in ops": 1}


@pytest.mark.parametrize("in_scope", [True, False])
def test_devices_are_in_scope_by_the_key_of_their_contact(*, in_scope: bool) -> None:
    """S1: the same for `devices:` under one contact."""
    there = live(live_jane(), phone("D1", "A1"))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1"),
    )

    plan = planned(desired(jane(devices=in_scope)), there, known)

    assert story(plan) == ([("delete", "device/ops/jane/phone")] if in_scope else [])


def test_the_same_person_in_two_workspaces_is_two_entities() -> None:
    """S1: a workspace is a world of its own, also for an e-mail address that occurs in both."""
    want = desired(jane(), contact("lab/jane", workEmailAddress1=JANE_MAIL))
    there = live(live_jane(), person("B2", workEmailAddress1=JANE_MAIL, workspace="lab"))

    plan = planned(want, there)

    assert {(one.address, one.remote_id) for one in plan.adoptions} == {
        ("contact/lab/jane", "B2"),
        ("contact/ops/jane", "A1"),
    }


def test_a_person_who_left_one_workspace_is_deleted_there_only() -> None:
    """X1: the record of one workspace says nothing of the other."""
    want = desired(jane(), scopes=[LAB])
    there = live(live_jane(), person("B2", workEmailAddress1=JANE_MAIL, workspace="lab"))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("contact/lab/jane", "B2", workEmailAddress1=JANE_MAIL),
    )

    assert story(planned(want, there, known)) == [("delete", "contact/lab/jane")]


# Which live entity is it


def test_a_match_without_a_difference_is_an_adoption_and_no_change() -> None:
    """M5: exit 0; apply just records it."""
    plan = planned(desired(jane()), live(live_jane(jobTitle="Clerk")))

    assert plan.changes == ()
    assert [(one.address, one.remote_id, one.by) for one in plan.adoptions] == [
        ("contact/ops/jane", "A1", "workEmailAddress1")
    ]
    assert plan.unchanged == {}


def test_an_adoption_writes_only_declared_fields_and_says_how_it_was_recognized() -> None:
    """M5: shown as such."""
    entity = contact("ops/jane", workEmailAddress1=JANE_MAIL, jobTitle="Engineer")

    (change,) = planned(desired(entity), live(live_jane(jobTitle="Clerk", department="Night"))).changes

    assert isinstance(change, Update)
    assert change.adopts == "workEmailAddress1"
    assert [field.path for field in change.fields] == ["jobTitle"]


def test_the_settings_can_refuse_adoption() -> None:
    """M5: `adopt: never` leaves what exists alone, and makes no second one beside it."""
    want = desired(jane(devices=True), device("ops/jane/phone"))
    strict = Rules(RULES.stack, adopt=False)

    plan = planned(want, live(live_jane()), rules=strict)

    assert plan.changes == ()
    assert reasons(plan) == {"contact/ops/jane": "not adopted", "device/ops/jane/phone": "ambiguous"}
    ours = recorded(record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL))
    assert story(planned(want, live(live_jane()), ours, rules=strict)) == [
        ("create", "device/ops/jane/phone")
    ]


def test_an_ambiguous_entity_is_reported_and_the_others_go_on() -> None:
    """M3: with the remote ids of all candidates."""
    want = desired(
        jane(devices=True), device("ops/jane/phone"), contact("ops/sam", workEmailAddress1=SAM_MAIL)
    )

    plan = planned(want, live(live_jane("A1"), live_jane("B2")))

    assert story(plan) == [("create", "contact/ops/sam")]
    assert reasons(plan) == {"contact/ops/jane": "ambiguous", "device/ops/jane/phone": "ambiguous"}
    assert "A1, B2" in plan.skips[0].what


def test_a_candidate_of_an_ambiguous_entity_is_not_deleted_as_somebody_else() -> None:
    """M3, X1: an old entry that may be the renamed person must not be removed on a guess."""
    known = recorded(record("contact/ops/janet", "A1", workEmailAddress1=JANE_MAIL))

    plan = planned(desired(jane()), live(live_jane("A1"), live_jane("B2")), known)

    assert plan.changes == ()
    assert reasons(plan) == {"contact/ops/jane": "ambiguous", "contact/ops/janet": "ambiguous"}


def test_two_declared_entities_that_are_one_live_entity_are_an_input_error() -> None:
    """M4: names both places, and plans nothing at all."""
    first = contact("ops/jane", workEmailAddress1=JANE_MAIL, place=Place("a.yaml", 4, 3))
    second = contact("ops/janet", workEmailAddress1="JANE@example.com", place=Place("b.yaml", 9, 3))

    with pytest.raises(ManifestError) as caught:
        planned(desired(first, second), live(live_jane()))

    (problem,) = caught.value.problems
    assert problem.where == "a.yaml:4:3"
    assert "b.yaml:9" in problem.what
    assert problem.next


def test_a_rename_carries_the_record_over_without_delete_and_create() -> None:
    """M6: `meta.renamedFrom`, also when the identity changed with the name."""
    entity = contact(
        "ops/jane-roe", workEmailAddress1="roe@example.com", controls=Controls(renamed_from="jane")
    )
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL))

    plan = planned(desired(entity), live(live_jane()), known)

    assert story(plan) == [("update", "contact/ops/jane-roe")]
    assert plan.renames == {"contact/ops/jane": "contact/ops/jane-roe"}


def test_a_rename_without_its_line_is_recognized_by_identity() -> None:
    """M6: a person renamed and their old entry removed is one person, not a delete beside a create."""
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL, jobTitle="Clerk"))

    plan = planned(desired(jane("ops/jane-roe")), live(live_jane(jobTitle="Clerk")), known)

    assert plan.renames == {"contact/ops/jane": "contact/ops/jane-roe"}
    assert story(plan) == [("update", "contact/ops/jane-roe")]
    (change,) = plan.changes
    assert isinstance(change, Update)
    assert [(field.path, field.cause) for field in change.fields] == [("jobTitle", "no longer declared")]


@pytest.mark.parametrize("in_scope", [True, False])
def test_the_devices_of_a_renamed_contact_keep_their_records(*, in_scope: bool) -> None:
    """M6: else they would be adopted anew, and what they were sent would be forgotten."""
    want = [jane("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=in_scope)]
    want += [device("ops/jane-roe/phone")] if in_scope else []
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", device("ops/jane/phone").fields, parent="A1"),
    )

    plan = planned(desired(*want), live(live_jane(), phone("D1", "A1")), known)

    assert (plan.changes, plan.adoptions) == ((), ())
    assert plan.renames == {
        "contact/ops/jane": "contact/ops/jane-roe",
        "device/ops/jane/phone": "device/ops/jane-roe/phone",
    }


def test_a_device_and_its_contact_can_be_renamed_at_once() -> None:
    """M6: one step from the old address to the new one, never through a third."""
    want = desired(
        jane("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=True),
        device("ops/jane-roe/pixel", controls=Controls(renamed_from="phone"), deviceName="Pixel"),
    )
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", device("ops/jane/phone").fields, parent="A1"),
    )

    plan = planned(want, live(live_jane(), phone("D1", "A1")), known)

    assert story(plan) == [("update", "device/ops/jane-roe/pixel")]
    assert plan.renames == {
        "contact/ops/jane": "contact/ops/jane-roe",
        "device/ops/jane/phone": "device/ops/jane-roe/pixel",
    }


def test_a_protected_device_stays_protected_through_the_rename_of_its_contact() -> None:
    """X2, M6: its record moves with the contact, so that the contact stays held later."""
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1", protected=True),
    )
    want = desired(jane("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=True))

    plan = planned(want, live(live_jane(), phone("D1", "A1")), known)

    assert (plan.changes, reasons(plan)) == ((), {"device/ops/jane-roe/phone": "protected"})
    assert plan.renames[at("device/ops/jane/phone")] == "device/ops/jane-roe/phone"


def test_a_record_that_takes_a_new_name_stands_for_one_that_was_gone_there() -> None:
    """M6: what is kept compares with the record that moved, in whatever order the store lists the two."""
    jane = contact("ops/jane", {"workEmailAddress1": "jane@example.com"})
    there = live(person("A1", {"workEmailAddress1": "jane@example.com"}))
    moved = record(
        "contact/ops/old-jane", "A1", {"workEmailAddress1": "jane@example.com", "jobTitle": "Lead"}
    )
    past = [record("contact/ops/jane", "gone"), moved]

    plans = [planned(desired(jane), there, recorded(*known)) for known in (past, past[::-1])]

    assert plans[0] == plans[1]
    assert plans[0].renames == {moved.address: jane.address}
    assert [(one.address, one.fields) for one in plans[0].records] == [(jane.address, ("jobTitle",))]


@pytest.mark.parametrize("selected", [True, False])
def test_the_record_of_somebody_who_is_gone_goes_to_her_new_name(*, selected: bool) -> None:
    """M6, G2: forgotten, nobody would know while the run lasts, or after its kill, that she was there."""
    want = desired(jane("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=True))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1"),
    )

    plan = planned(want, live(), known, excluded=() if selected else ("contact/ops/jane-roe",))

    phone_gone = "device/ops/jane-roe/phone"
    assert story(plan) == ([("create", "contact/ops/jane-roe")] if selected else [])
    assert [one.cause for one in plan.changes if isinstance(one, Create)] == ["gone"] * selected
    assert plan.gone == ((at(phone_gone),) if selected else ())
    assert plan.renames == (
        {"contact/ops/jane": "contact/ops/jane-roe", "device/ops/jane/phone": phone_gone} if selected else {}
    )


def test_a_device_that_went_to_a_new_name_holds_nobody_under_the_old_one() -> None:
    """M6, X5: one plan deletes the copy that carries the mark of the old name, not the plan after it."""
    want = desired(jane("ops/jane-roe", controls=Controls(renamed_from="jane")))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1", protected=True),
    )
    copy = person("B2", {f"custom.{MARK}": f"{STACK}/jane", "workEmailAddress1": SAM_MAIL})

    plan = planned(want, live(live_jane(), phone("D1", "A1"), copy), known, rules=MARKED)

    (delete,) = (change for change in plan.changes if isinstance(change, Delete))
    assert (delete.address, delete.remote_id) == ("contact/ops/jane", "B2")
    assert plan.renames[at("device/ops/jane/phone")] == "device/ops/jane-roe/phone"


def test_the_record_of_somebody_who_is_gone_waits_for_a_new_name_that_is_ambiguous() -> None:
    """M6: until it is certain who she is now."""
    want = desired(jane("ops/jane-roe", controls=Controls(renamed_from="jane")))
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL))

    plan = planned(want, live(live_jane("B2"), live_jane("C3")), known)

    assert (plan.changes, plan.gone, plan.renames) == ((), (), {})
    assert reasons(plan) == {"contact/ops/jane-roe": "ambiguous"}


def test_a_contact_made_again_by_hand_is_adopted_under_its_new_id() -> None:
    """M2: the record points at an id that is gone; its devices are looked for under the new one."""
    want = desired(jane(devices=True), device("ops/jane/phone"))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1"),
    )

    plan = planned(want, live(live_jane("B2"), phone("D2", "B2")), known)

    assert (plan.changes, plan.gone) == ((), ())
    assert {(one.address, one.remote_id, one.parent_id) for one in plan.adoptions} == {
        ("contact/ops/jane", "B2", ""),
        ("device/ops/jane/phone", "D2", "B2"),
    }


def test_a_recorded_contact_that_became_somebody_else_is_drift_and_shown_whole() -> None:
    """M1: the id decides; every field that moved is in the plan before anything is written."""
    entity = contact("ops/jane", firstName="Jane", workEmailAddress1=JANE_MAIL)
    known = recorded(record("contact/ops/jane", "A1", firstName="Jane", workEmailAddress1=JANE_MAIL))

    (change,) = planned(
        desired(entity), live(person("A1", firstName="Sam", workEmailAddress1=SAM_MAIL)), known
    ).changes

    assert isinstance(change, Update)
    assert [(one.before, one.after, one.cause) for one in change.fields] == [
        ("Sam", "Jane", "drifted"),
        (SAM_MAIL, JANE_MAIL, "drifted"),
    ]


def test_an_address_that_was_given_to_a_new_person_moves_before_the_person_is_made() -> None:
    """M1, M3: nobody is created, deleted or overwritten on the strength of a borrowed e-mail address."""
    want = desired(
        contact("ops/jane", workEmailAddress1="jane.roe@example.com"),
        contact("ops/new", workEmailAddress1=JANE_MAIL),
    )
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL))

    first = planned(want, live(live_jane()), known)
    second = planned(want, live(person("A1", workEmailAddress1="jane.roe@example.com")), known)

    assert (story(first), reasons(first)) == (
        [("update", "contact/ops/jane")],
        {"contact/ops/new": "ambiguous"},
    )
    assert story(second) == [("create", "contact/ops/new")]


def test_two_people_who_swapped_names_are_updated_in_place() -> None:
    """M1, M6: also when both say that they were renamed from each other."""
    want = desired(
        jane("ops/sam", controls=Controls(renamed_from="jane")),
        contact("ops/jane", workEmailAddress1=SAM_MAIL, controls=Controls(renamed_from="sam")),
    )
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("contact/ops/sam", "B2", workEmailAddress1=SAM_MAIL),
    )

    plan = planned(want, live(live_jane(), person("B2", workEmailAddress1=SAM_MAIL)), known)

    assert story(plan) == [("update", "contact/ops/jane"), ("update", "contact/ops/sam")]
    assert plan.renames == {}


# Creates


def test_what_is_not_there_is_created_without_the_fields_to_be_cleared() -> None:
    """S2: "" has nothing to clear on something new."""
    entity = contact("ops/jane", workEmailAddress1=JANE_MAIL, jobTitle="")

    (change,) = planned(desired(entity), Live({})).changes

    assert change == Create(at("contact/ops/jane"), "manifests/ops.yaml:4", {"workEmailAddress1": JANE_MAIL})


def test_what_vanished_is_created_again_and_says_so() -> None:
    """D6: resources expire by themselves."""
    known = recorded(record("resource/ops/staff", "R1"))

    (change,) = planned(desired(resource("ops/staff")), Live({}), known).changes

    assert isinstance(change, Create)
    assert change.cause == "gone"


@pytest.mark.parametrize("now", ["2026-03-01T12:00:00+00:00", "2036-03-01T12:00:00+00:00"])
def test_a_create_in_doubt_is_not_repeated_however_late_it_is(now: str) -> None:
    """A9: a doubt ends by looking, never by a clock alone; and its devices wait with it."""
    want = desired(jane(devices=True), device("ops/jane/phone"))
    doubts = {at("contact/ops/jane"): "2026-03-01T12:00:30+00:00"}

    waiting = planned(want, Live({}), recorded(doubts=doubts), moment=PlanMoment(MOMENT.salt, now))
    settled = planned(want, Live({}), recorded(), moment=PlanMoment(MOMENT.salt, now))
    landed = planned(want, live(live_jane()), recorded(doubts=doubts))

    assert (story(waiting), reasons(waiting)["contact/ops/jane"]) == ([], "in doubt")
    assert story(settled) == [("create", "contact/ops/jane"), ("create", "device/ops/jane/phone")]
    assert story(landed) == [("create", "device/ops/jane/phone")]


def test_a_device_that_moves_to_another_contact_is_made_there_and_deleted_here() -> None:
    """A device belongs to one contact; nothing at the service moves it."""
    want = desired(
        jane(devices=True),
        contact("ops/sam", workEmailAddress1=SAM_MAIL, devices=True),
        device("ops/sam/phone"),
    )
    there = live(live_jane(), person("B2", workEmailAddress1=SAM_MAIL), phone("D1", "A1"))
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1"),
    )

    plan = planned(want, there, known)

    assert story(plan) == [("create", "device/ops/sam/phone"), ("delete", "device/ops/jane/phone")]


# Deletes


def test_only_what_is_recorded_is_deleted() -> None:
    """X1, X4: people add contacts by hand; those are counted and never touched."""
    there = live(*(person(f"A{n}", workEmailAddress1=f"p{n}@example.com") for n in range(5)))

    plan = planned(desired(scopes=[OPS]), there, recorded(record("contact/ops/p2", "A2")))

    assert story(plan) == [("delete", "contact/ops/p2")]
    assert plan.unmanaged == {"contacts in ops": 4}


def test_unmanaged_entities_are_counted_by_what_the_service_tells() -> None:
    """X4: a search reads a few of them; the service knows how many there are."""
    there = live(live_jane(), reads=(Read(OPS, "search", 2, 40, 57, complete=True),))

    assert planned(desired(jane()), there).unmanaged == {"contacts in ops": 56}


def test_what_is_not_there_any_more_is_only_forgotten() -> None:
    """X1: nothing to delete; its devices went with it and are forgotten with it."""
    known = recorded(
        record("contact/ops/jane", "A1"),
        record("device/ops/jane/phone", "D1", parent="A1"),
        record("contact/ops/sam", "B2"),
    )

    plan = planned(desired(scopes=[OPS]), live(person("B2")), known)

    assert plan.gone == ("contact/ops/jane", "device/ops/jane/phone")
    assert story(plan) == [("delete", "contact/ops/sam")]


def test_nothing_is_forgotten_on_an_incomplete_read() -> None:
    """R6: what was not seen may be there, and forgetting it would leave it behind for ever."""
    there = live(reads=(Read(OPS, "scan", 3, 0, 0, complete=False),))

    assert planned(desired(scopes=[OPS]), there, recorded(record("contact/ops/jane", "A1"))).gone == ()


def test_deleting_a_contact_takes_its_devices_in_one_change_that_says_so() -> None:
    """X3: by address where recorded, else by the name of the device."""
    there = live(live_jane(), phone("D1", "A1"), phone("D2", "A1", deviceName="Tablet"), phone("D3", "B2"))
    known = recorded(record("contact/ops/jane", "A1"), record("device/ops/jane/phone", "D1", parent="A1"))

    (change,) = planned(desired(scopes=[OPS]), there, known).changes

    assert isinstance(change, Delete)
    assert change.cascades == ("Tablet", "device/ops/jane/phone")
    assert change.before == {"workEmailAddress1": JANE_MAIL}


def test_what_is_protected_is_skipped_and_shown() -> None:
    """X2: protection is remembered, and outlives the entry in the manifest."""
    known = recorded(record("contact/ops/jane", "A1", protected=True))

    plan = planned(desired(scopes=[OPS]), live(live_jane()), known)

    assert (plan.changes, reasons(plan)) == ((), {"contact/ops/jane": "protected"})


def test_a_protected_device_holds_its_contact() -> None:
    """X2, X3: deleting the contact would delete the device."""
    known = recorded(
        record("contact/ops/jane", "A1"), record("device/ops/jane/phone", "D1", parent="A1", protected=True)
    )

    plan = planned(desired(scopes=[OPS]), live(live_jane(), phone("D1", "A1")), known)

    assert (plan.changes, reasons(plan)) == ((), {"contact/ops/jane": "protected"})
    assert "device/ops/jane/phone" in plan.skips[0].what


def test_a_live_entity_that_is_recorded_twice_is_not_deleted_twice() -> None:
    """A damaged store: one of the names may be protected. A name beside a declared one is forgotten."""
    there = live(live_jane())
    twice = recorded(record("contact/ops/jane", "A1"), record("contact/ops/janet", "A1", protected=True))

    plan = planned(desired(scopes=[OPS]), there, twice)
    declared = planned(desired(jane()), there, twice)

    assert (plan.changes, set(reasons(plan).values())) == ((), {"ambiguous"})
    assert (declared.changes, declared.gone) == ((), ("contact/ops/janet",))


# The mark


def marked(remote_id: str, name: str, mail: str = JANE_MAIL, stack: str = "ops-contacts") -> LiveEntity:
    return person(remote_id, {MARKED.mark_path: f"{stack}/{name}"}, workEmailAddress1=mail)


def marking(entity: Entity) -> Entity:
    fields = {**entity.fields, MARKED.mark_path: f"ops-contacts/{entity.address.name}"}
    return contact(f"{entity.address.workspace}/{entity.address.name}", fields, controls=entity.controls)


def test_without_a_store_the_mark_finds_and_prunes() -> None:
    """X5: what carries our mark is ours."""
    there = live(
        marked("A1", "jane"), marked("B2", "sam", SAM_MAIL), person("C3", workEmailAddress1="x@example.com")
    )

    plan = planned(desired(marking(jane())), there, rules=MARKED)

    assert story(plan) == [("delete", "contact/ops/sam")]
    assert [one.by for one in plan.adoptions] == [MARKED.mark_path]
    assert (plan.owned, plan.unmanaged) == ({"contacts in ops": 2}, {"contacts in ops": 1})


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_foreign_mark_means_hands_off(*, is_recorded: bool) -> None:
    """X5: reported, never written, its devices neither."""
    known = recorded(record("contact/ops/jane", "A1")) if is_recorded else recorded()
    there = live(marked("A1", "jane", stack="others"))

    plan = planned(desired(marking(jane())), there, known, rules=MARKED)

    assert (plan.changes, plan.adoptions, reasons(plan)) == ((), (), {"contact/ops/jane": "foreign mark"})


def test_what_is_recorded_and_carries_a_foreign_mark_is_not_deleted() -> None:
    """X5: somebody else has taken it over; leaving our manifest must not remove it."""
    known = recorded(record("contact/ops/jane", "A1"))

    plan = planned(desired(scopes=[OPS]), live(marked("A1", "jane", stack="others")), known, rules=MARKED)

    assert (plan.changes, plan.gone, reasons(plan)) == ((), (), {"contact/ops/jane": "foreign mark"})


@pytest.mark.parametrize("stack", ["ops", "ops-contacts-2", "OPS-contacts", ""])
def test_a_mark_that_only_looks_like_ours_is_not_ours(stack: str) -> None:
    """X5: the whole name of the stack counts."""
    plan = planned(desired(scopes=[OPS]), live(marked("A1", "jane", stack=stack)), rules=MARKED)

    assert plan.changes == ()


@pytest.mark.parametrize("name", ["", "Jane Doe", "../jane", "jane/phone", "x" * 101])
def test_a_mark_whose_name_is_no_name_is_left_alone(name: str) -> None:
    """X5: what no manifest could have written was not written by us."""
    assert planned(desired(scopes=[OPS]), live(marked("A1", name)), rules=MARKED).changes == ()


def test_a_mark_copied_to_another_contact_deletes_neither() -> None:
    """M3, X5: two contacts carry one name; which one is ours is for a person to say."""
    there = live(marked("A1", "jane"), marked("B2", "jane", SAM_MAIL))
    for known in (recorded(), recorded(record("contact/ops/jane", "A1"))):
        plan = planned(desired(scopes=[OPS]), there, known, rules=MARKED)

        assert (plan.changes, reasons(plan)) == ((), {"contact/ops/jane": "ambiguous"})
        assert "A1, B2" in plan.skips[0].what


def test_a_mark_copied_to_another_contact_does_not_disturb_the_recorded_one() -> None:
    """M1: the record says which it is; the copy is nobody's."""
    there = live(marked("A1", "jane"), marked("B2", "jane", SAM_MAIL))
    known = recorded(record("contact/ops/jane", "A1", marking(jane()).fields))

    plan = planned(desired(marking(jane())), there, known, rules=MARKED)

    assert (plan.changes, plan.skips, plan.unmanaged) == ((), (), {"contacts in ops": 1})


def test_a_mark_with_the_old_name_of_somebody_renamed_is_pruned_at_once() -> None:
    """D5, X5: the second plan must not delete what the first one did not speak of."""
    there = live(live_jane(), marked("B2", "janet", SAM_MAIL))
    known = recorded(record("contact/ops/janet", "A1", workEmailAddress1=JANE_MAIL))

    plan = planned(desired(marking(jane())), there, known, rules=MARKED)

    assert plan.renames == {"contact/ops/janet": "contact/ops/jane"}
    assert [(one.address, one.remote_id) for one in plan.changes if isinstance(one, Delete)] == [
        ("contact/ops/janet", "B2")
    ]


def test_a_contact_made_again_with_our_mark_is_deleted_once_and_not_forgotten_as_well() -> None:
    """X5: its record is old, its mark is ours."""
    known = recorded(record("contact/ops/jane", "A1"))

    plan = planned(desired(scopes=[OPS]), live(marked("B2", "jane")), known, rules=MARKED)

    assert (story(plan), plan.gone) == ([("delete", "contact/ops/jane")], ())


# Selection


def test_what_is_not_selected_is_not_acted_on_and_not_reported() -> None:
    """The selection is part of the plan; everything else waits."""
    want = desired(jane(), contact("ops/sam", workEmailAddress1=SAM_MAIL))
    known = recorded(record("contact/ops/old", "C3"), record("contact/ops/lost", "D4"))
    there = live(person("C3"))

    plan = planned(want, there, known, only=("contact/ops/sam",))

    assert (story(plan), plan.gone, plan.skips) == ([("create", "contact/ops/sam")], (), ())


def test_a_device_is_not_made_for_a_contact_that_is_neither_there_nor_selected() -> None:
    """It would have nowhere to go."""
    want = desired(jane(devices=True), device("ops/jane/phone"))

    plan = planned(want, Live({}), only=("kind:device",))

    assert (plan.changes, reasons(plan)) == ((), {"device/ops/jane/phone": "ambiguous"})


def test_a_device_can_be_selected_without_its_contact() -> None:
    """The contact is there; what is wrong with it is another matter."""
    entity = contact("ops/jane", workEmailAddress1=JANE_MAIL, jobTitle="Engineer", devices=True)

    plan = planned(desired(entity, device("ops/jane/phone")), live(live_jane()), only=("kind:device",))

    assert story(plan) == [("create", "device/ops/jane/phone")]


def test_the_devices_of_a_renamed_contact_are_known_though_only_they_are_selected() -> None:
    """M6: the contact's record stays where it is; the device is still the recorded one."""
    want = desired(
        jane("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=True),
        device("ops/jane-roe/phone"),
    )
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", device("ops/jane/phone").fields, parent="A1"),
    )

    plan = planned(want, live(live_jane(), phone("D1", "A1")), known, only=("kind:device",))

    assert (plan.changes, plan.adoptions) == ((), ())
    assert plan.renames == {"device/ops/jane/phone": "device/ops/jane-roe/phone"}


def test_a_tag_selects_what_is_declared_with_it() -> None:
    """What is no longer declared has no tags, so a tag never selects a delete."""
    want = desired(
        jane(controls=Controls(tags={"team": "sre"})), contact("ops/sam", workEmailAddress1=SAM_MAIL)
    )
    known = recorded(record("contact/ops/old", "C3"))

    plan = planned(want, live(person("C3")), known, only=("tag:team=sre",))

    assert story(plan) == [("create", "contact/ops/jane")]


# Reactivation, counts, safety of our own making


def test_a_disabled_device_is_reactivated_by_its_address_only() -> None:
    """D4: an option for one device says nothing of the others."""
    want = desired(
        jane(devices=True),
        device("ops/jane/phone", status="ACTIVE"),
        device("ops/jane/tab", deviceName="T", status="A"),
    )
    there = live(
        live_jane(),
        phone("D1", "A1", status="DISABLED"),
        phone("D2", "A1", deviceName="T", status="DISABLED"),
    )

    plan = planned(want, there, reactivate=("device/ops/jane/tab",))

    assert (story(plan), reasons(plan)) == (
        [("update", "device/ops/jane/tab")],
        {"device/ops/jane/phone": "disabled"},
    )


def test_owned_devices_are_counted_over_the_whole_workspace() -> None:
    """G1: a share is a share of everything owned, not of the contacts that happen to be in scope."""
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1=JANE_MAIL),
        record("device/ops/jane/phone", "D1", parent="A1"),
        record("device/ops/sam/phone", "D2", parent="B2"),
    )

    plan = planned(desired(jane(devices=True)), live(live_jane(), phone("D1", "A1")), known)

    assert plan.owned == {"contacts in ops": 1, "devices in ops": 2}


def test_what_would_be_deleted_must_have_been_read_whole() -> None:
    """A delete is planned against the whole of what it removes; a brief row is our own mistake."""
    brief = row("contact", "ops", "A1", firstName="Jane", known=frozenset({"firstName"}))

    with pytest.raises(AssertionError):
        planned(desired(scopes=[OPS]), live(brief), recorded(record("contact/ops/jane", "A1")))


def test_a_plan_says_when_it_was_made_and_when_it_ends() -> None:
    """A1: it expires."""
    plan = planned(desired(scopes=[Scope("contact", "ops")]), Live({}))

    assert (plan.created_at, plan.expires_at, plan.salt) == (NOW, MOMENT.expires, MOMENT.salt)
    assert plan.fingerprint


def test_skips_say_what_can_be_done() -> None:
    """Every report ends in a way on, where there is one."""
    known = recorded(record("contact/ops/sam", "B2", protected=True))
    plan = planned(desired(jane()), live(live_jane("A1"), live_jane("C3"), person("B2")), known)

    assert [type(skip) for skip in plan.skips] == [Skip, Skip]
    assert all(skip.what.endswith(".") and skip.next for skip in plan.skips)


def test_a_plan_names_the_file_of_each_content_that_it_sends() -> None:
    """It becomes public there: a reviewer sees where it comes from. What is not sent has nothing to name."""
    sent, kept = (
        resource("ops/sites", b"a,b", name="sites.csv"),
        resource("ops/kept", b"c,d", name="kept.csv"),
    )
    files = [
        structs.replace(one, content=structs.replace(one.content, path=f"payloads/{one.address.name}.csv"))
        for one in (sent, kept)
        if one.content
    ]
    shown = row(
        "resource", "ops", "R1", {path: value for path, value in kept.fields.items() if path != "content"}
    )

    plan = planned(desired(*files), live(shown), recorded(record("resource/ops/kept", "R1", kept.fields)))

    assert plan.contents == {sent.address: "payloads/sites.csv"}
