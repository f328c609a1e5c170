"""What a run applied, turned round: what is set back, what cannot be, and what may still be done later."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from core.build import MOMENT, NOW, PHONE, STORE_SALT, TARGET, at, person, phone, record, recorded, row
from msgspec import structs

from reconciler.core.compare.bodies import make_update_body
from reconciler.core.compare.normalize import mask_secret
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.planning.records import make_record
from reconciler.core.runs.undo import is_undo_proved, make_undo_plan, narrow_undo, prove_undo, undo_as_desired
from reconciler.model.plans import (
    Adoption,
    Change,
    Create,
    Delete,
    FieldChange,
    Options,
    Plan,
    PlanMoment,
    Update,
)
from reconciler.model.runs import Outcome, Result, Run
from reconciler.model.snapshots import LiveEntity, Recorded

RUN = "3f0c5f0a-8a39-4d0e-9a41-2f5b1c7d9e10"
UNDO = PlanMoment("salt of the undo", "2026-03-01T12:05:00+00:00", "2026-03-02T12:05:00+00:00")
JANE = at("contact/ops/jane")
ADA = at("contact/ops/ada")
CREATED = Create(JANE, "f:1", {"firstName": "Jane"})
UPDATED = Update(
    ADA,
    "f:2",
    "A1",
    (
        FieldChange("firstName", "Ada", "Adah", "declared"),
        FieldChange("jobTitle", "Analyst", None, "no longer declared"),
    ),
)
DELETED = Delete(at("contact/ops/otto"), "C3", {"firstName": "Otto", "custom.shoeSize": "44"})
ADA_SHOWN = person("A1", firstName="Adah", department="Night")


def planned(*changes: Change, **more: object) -> Plan:
    plan = Plan(TARGET, Options(), "0" * 64, MOMENT.salt, tuple(changes), created_at=NOW)
    return structs.replace(plan, **more)


def finished(plan: Plan, results: Mapping[str, Result] | None = None) -> Run:
    """The run that applied all of the plan, but for what `results` says otherwise."""
    ended = tuple(
        Outcome(change.address, "", (results or {}).get(change.address, "applied")) for change in plan.changes
    )
    return Run(RUN, plan.fingerprint, NOW, NOW, "done", 0, ended)


def undo(
    plan: Plan,
    shown: Mapping[Any, LiveEntity] | None = None,
    known: Recorded | None = None,
    *,
    results: Mapping[str, Result] | None = None,
) -> Plan:
    rows = {at(address): one for address, one in (shown or {}).items()}
    run = finished(plan, results)
    return make_undo_plan(plan, run, rows, known or recorded(), moment=UNDO, key=STORE_SALT)


def said(plan: Plan) -> list[str]:
    return [f"{skip.address} {skip.what}" for skip in plan.skips]


def test_what_was_created_is_deleted_while_it_looks_as_it_did() -> None:
    """Whole, as the service showed it after our write: also what nobody declared."""
    made = undo(planned(CREATED), {JANE: person("J9", firstName="Jane", status="A")})

    assert made.changes == (Delete(JANE, "J9", {"firstName": "Jane", "status": "A"}, cause="undone"),)
    assert made.options.undo_of == RUN
    assert made.skips == ()


def test_a_secret_in_what_will_be_deleted_is_masked_under_the_undos_own_salt() -> None:
    """It is compared before the delete, and never kept in clear."""
    address = at("device/ops/jane/phone")
    create = Create(address, "f:1", dict(PHONE))

    made = undo(planned(create), {address: phone("D1", "J9")})

    (change,) = made.changes
    assert isinstance(change, Delete)
    assert change.parent_id == "J9"
    assert change.before["pushToken"] == mask_secret(PHONE["pushToken"], UNDO.salt)


def test_what_was_updated_gets_back_what_changed_and_nothing_else() -> None:
    """`department` was never ours."""
    known = recorded(record(ADA, "A1", firstName="Ada", jobTitle="Analyst"))

    made = undo(planned(UPDATED), {ADA: ADA_SHOWN}, known)

    assert made.changes == (
        Update(
            ADA,
            f"run {RUN[:8]}",
            "A1",
            (
                FieldChange("firstName", "Adah", "Ada", "undone"),
                FieldChange("jobTitle", None, "Analyst", "undone"),
            ),
        ),
    )


def test_a_field_that_the_run_was_the_first_to_declare_is_given_back() -> None:
    """It is somebody else's afterwards, or the next manifest without it would clear it."""
    made = undo(planned(UPDATED), {ADA: ADA_SHOWN}, recorded(record(ADA, "A1", firstName="Ada")))

    (change,) = made.changes
    assert isinstance(change, Update)
    assert [(field.path, field.cause) for field in change.fields] == [
        ("firstName", "undone"),
        ("jobTitle", "given back"),
    ]


def test_what_the_service_did_not_take_is_not_undone() -> None:
    """It shows the old value after the write: there is nothing to set back."""
    shown = person("A1", firstName="Ada", jobTitle="Analyst")

    assert undo(planned(UPDATED), {ADA: shown}).changes == ()


def test_what_was_deleted_is_created_with_what_the_plan_held_of_it() -> None:
    """Fields that nobody declared as well; none of them is ours by that."""
    made = undo(planned(DELETED), {}, recorded(record("contact/ops/otto", "C3", firstName="Otto")))

    assert made.changes == (Create(DELETED.address, f"run {RUN[:8]}", DELETED.before, "undone"),)
    entity = undo_as_desired(made, recorded()).entities[DELETED.address]
    shown = person("C9", firstName="Otto", **{"custom.shoeSize": "44"})
    assert make_record(entity, shown, salt=STORE_SALT, created=True).sent == {}


def test_what_a_deleted_contact_took_along_is_named() -> None:
    """Its devices have push tokens, and its password was never to be read."""
    change = structs.replace(DELETED, cascades=("Tablet", "Watch"))
    known = recorded(record("contact/ops/otto", "C3", firstName="Otto", password="canary"))

    made = undo(planned(change), {}, known)

    assert len(made.changes) == 1
    assert said(made) == [
        "contact/ops/otto had the device Tablet, which was deleted with it; its push token is not kept.",
        "contact/ops/otto had the device Watch, which was deleted with it; its push token is not kept.",
        "contact/ops/otto was deleted; its password is not kept.",
    ]
    assert {skip.reason for skip in made.skips} == {"not restored", "secret not kept"}


@pytest.mark.parametrize(
    ("address", "hidden"), [("resource/ops/rota", "content"), ("device/ops/jane/phone", "pushToken")]
)
def test_what_needs_a_value_that_nobody_kept_is_not_made_again(address: str, hidden: str) -> None:
    """A resource without its content, a device without its token: worse than none."""
    made = undo(planned(Delete(at(address), "R1", {"name": "rota"})))

    assert made.changes == ()
    assert said(made) == [
        f"{address} was deleted; it cannot be created again, because its {hidden} is not kept."
    ]


def test_a_secret_that_was_replaced_stays_and_the_rest_is_set_back() -> None:
    """A plan holds a mask of the old push token, and a mask cannot be sent."""
    address = at("device/ops/jane/phone")
    fields = (
        FieldChange("deviceName", "Phone", "Pixel", "declared"),
        FieldChange("pushToken", "secret:aa", "secret:bb", "declared"),
    )
    plan = planned(Update(address, "f:1", "D1", fields, "J9"))

    made = undo(
        plan, {address: phone("D1", "J9", deviceName="Pixel")}, recorded(record(address, "D1", PHONE))
    )

    (change,) = made.changes
    assert isinstance(change, Update)
    assert [field.path for field in change.fields] == ["deviceName"]
    assert said(made) == [f"{address} got another pushToken; the earlier one is not kept."]
    assert "secret:" not in repr(made.changes)


@pytest.mark.parametrize(
    ("kind", "known", "path"),
    [("contact", {"password": "canary"}, "password"), ("resource", {"name": "rota"}, "content")],
)
def test_what_a_write_would_lose_is_left_as_it_is(kind: str, known: dict[str, str], path: str) -> None:
    """A PUT replaces everything, and nobody can read what would have to travel along."""
    address = at(f"{kind}/ops/one")
    plan = planned(Update(address, "f:1", "X1", (FieldChange("name", "a", "b", "declared"),)))

    made = undo(plan, {address: row(kind, "ops", "X1", name="b")}, recorded(record(address, "X1", known)))

    assert made.changes == ()
    assert said(made) == [f"{address} was updated and holds {path}, which a write would lose; left as it is."]


@pytest.mark.parametrize(
    ("before", "sent", "after"),
    [
        ("+10", "Australia/Melbourne", "Australia/Melbourne"),  # what we sent when it showed that
        ("+10", "", "Australia/Brisbane"),  # a zone that has this offset all year
        ("Etc/UTC", "", "Etc/UTC"),  # shown by name already
        ("+3:17", "", None),  # no zone is known to show that
    ],
)
def test_a_time_zone_is_written_so_that_it_shows_as_it_did(before: str, sent: str, after: str | None) -> None:
    """The service shows an offset, and reads an offset back as 0."""
    plan = planned(
        Update(ADA, "f:2", "A1", (FieldChange("timezone", before, "Australia/Perth", "declared"),))
    )
    known = record(ADA, "A1", {"timezone": sent}, shown={"timezone": before}) if sent else record(ADA, "A1")

    made = undo(plan, {ADA: person("A1", timezone="+8")}, recorded(known))

    fields = [field for change in made.changes if isinstance(change, Update) for field in change.fields]
    assert [field.after for field in fields] == ([] if after is None else [after])
    assert len(made.skips) == (1 if after is None else 0)


@pytest.mark.parametrize("result", ["skipped", "conflict", "failed", "in doubt", "not attempted"])
def test_what_was_not_applied_is_not_undone(result: Result) -> None:
    """Only what the run is known to have done; and without that there is nothing to undo."""
    plan = planned(UPDATED, CREATED, DELETED)
    shown = {JANE: person("J9"), ADA: ADA_SHOWN}

    made = undo(plan, shown, results={JANE: result, ADA: result, DELETED.address: result})

    assert (made.changes, made.skips, made.gone) == ((), (), ())


def test_what_was_not_read_back_is_not_touched() -> None:
    """Nothing would tell later whether it is still what we wrote."""
    made = undo(planned(UPDATED, CREATED))

    assert made.changes == ()
    assert [skip.address for skip in made.skips] == [ADA, JANE]


def test_what_was_adopted_is_ours_no_longer() -> None:
    """Else the next manifest without it would delete what the run found there."""
    adopted = structs.replace(UPDATED, adopts="workEmailAddress1")
    plan = planned(adopted, adoptions=(Adoption(JANE, "J9", "workEmailAddress1"),))

    made = undo(plan, {ADA: ADA_SHOWN})

    assert made.gone == (ADA, JANE)
    (change,) = made.changes
    assert isinstance(change, Update)
    assert change.adopts == ""
    assert {field.cause for field in change.fields} == {"given back"}


def test_deletes_come_last_and_children_before_their_parents() -> None:
    """The order of waves is that of every plan (A5)."""
    tablet = at("device/ops/jane/tablet")
    plan = planned(CREATED, Create(tablet, "f:3", {}), UPDATED, DELETED)
    shown = {JANE: person("J9"), tablet: phone("D1", "J9"), ADA: ADA_SHOWN}

    made = undo(plan, shown, recorded(record(ADA, "A1")))

    assert [change.address for change in made.changes] == [ADA, DELETED.address, tablet, JANE]


def test_the_guard_measures_against_what_is_owned_after_the_run() -> None:
    """Six were ours; one was made, one deleted, one adopted."""
    plan = planned(CREATED, DELETED, adoptions=(Adoption(ADA, "A1", "name"),), owned={"contacts in ops": 6})

    assert undo(plan, {JANE: person("J9")}).owned == {"contacts in ops": 7}


MADE = undo(planned(UPDATED, CREATED), {JANE: person("J9", firstName="Jane"), ADA: ADA_SHOWN})
FORGED: Mapping[str, Callable[[], Plan]] = {
    "a change less": lambda: structs.replace(MADE, changes=MADE.changes[1:]),
    "another id": lambda: structs.replace(
        MADE, changes=(*MADE.changes[:-1], structs.replace(MADE.changes[-1], remote_id="X"))
    ),
    "a later end": lambda: structs.replace(MADE, expires_at="2027-03-02T12:05:00+00:00"),
    "a later beginning": lambda: structs.replace(MADE, created_at="2026-03-09T12:05:00+00:00"),
    "another run": lambda: structs.replace(MADE, options=structs.replace(MADE.options, undo_of="x")),
    "another count": lambda: structs.replace(MADE, owned={"contacts in ops": 99}),
    "another target": lambda: structs.replace(MADE, target=structs.replace(TARGET, stack="x")),
    "another salt": lambda: structs.replace(MADE, salt="x"),
    "to be forgotten": lambda: structs.replace(MADE, gone=(JANE,)),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_undo_that_somebody_changed_is_not_proved(name: str) -> None:
    """No manifest says what it should be: only the store's salt can."""
    forged = FORGED[name]()
    forged = structs.replace(forged, fingerprint=fingerprint(forged))

    assert is_undo_proved(MADE, STORE_SALT)
    assert not is_undo_proved(forged, STORE_SALT)


@pytest.mark.parametrize("key", ["", "another store"])
def test_an_undo_belongs_to_the_store_of_its_run(key: str) -> None:
    """Another store does not know what is ours; one that is empty proves nothing, not even to itself."""
    forged = structs.replace(MADE, options=structs.replace(MADE.options, undo_proof=prove_undo(MADE, key)))

    assert not is_undo_proved(MADE, key)
    assert not is_undo_proved(forged, STORE_SALT)
    assert not is_undo_proved(forged, "")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (recorded(record(ADA, "A1"), record(JANE, "J9")), {}),
        (recorded(record(ADA, "A1")), {JANE: "it is no longer ours under this name and id."}),
        (
            recorded(record(ADA, "A1"), record(JANE, "J10")),
            {JANE: "it is no longer ours under this name and id."},
        ),
        (recorded(record(ADA, "A1"), record(JANE, "J9", protected=True)), {JANE: "it is protected now."}),
        (
            recorded(record(ADA, "A1", password="canary"), record(JANE, "J9")),
            {ADA: "it holds password now, which a write would remove and which cannot be read."},
        ),
    ],
)
def test_what_a_later_run_made_of_it_is_a_conflict(known: Recorded, expected: dict[str, str]) -> None:
    """Renamed, deleted and made again, protected: the rest goes on."""
    fit = narrow_undo(MADE, known)

    assert {one.address: one.what for one in fit.conflicts} == expected
    assert {one.result for one in fit.conflicts} <= {"conflict"}
    assert {change.address for change in fit.plan.changes} == {JANE, ADA} - expected.keys()
    assert fit.plan.owned == {"contacts in ops": len(known.entities)}


def test_a_contact_that_was_made_again_is_not_made_twice() -> None:
    """By a later run, or by an undo of another one."""
    made = undo(planned(DELETED))

    assert narrow_undo(made, recorded()).conflicts == ()
    (conflict,) = narrow_undo(made, recorded(record("contact/ops/otto", "C9"))).conflicts
    assert conflict.what == "it is recorded as ours again, so a later run created it."


def test_setting_back_keeps_the_rest_of_the_record_and_the_body() -> None:
    """Masks of secrets in it are kept as they are, and are never sent."""
    address = at("device/ops/jane/phone")
    plan = planned(
        Update(address, "f:1", "D1", (FieldChange("deviceName", "Phone", "Pixel", "declared"),), "J9")
    )
    known = recorded(record(address, "D1", {**PHONE, "deviceName": "Pixel"}))
    made = undo(
        plan, {address: phone("D1", "J9", deviceName="Pixel")}, recorded(record(address, "D1", PHONE))
    )
    (change,) = made.changes
    assert isinstance(change, Update)

    entity = undo_as_desired(made, known).entities[address]
    body = make_update_body({**PHONE, "deviceName": "Pixel", "extra": "kept"}, entity, change)
    after = make_record(entity, phone("D1", "J9"), salt=STORE_SALT, before=known.entities[address])

    assert body == {**PHONE, "deviceName": "Phone", "extra": "kept"}
    assert after.sent == record(address, "D1", PHONE).sent


def test_a_field_that_is_given_back_leaves_the_record() -> None:
    """And stays at the service as it was before anybody declared it."""
    made = undo(planned(UPDATED), {ADA: ADA_SHOWN}, recorded(record(ADA, "A1", firstName="Ada")))
    now = record(ADA, "A1", firstName="Adah", department="Night")
    (change,) = made.changes
    assert isinstance(change, Update)

    entity = undo_as_desired(made, recorded(now)).entities[ADA]
    body = make_update_body({"firstName": "Adah", "department": "Night"}, entity, change)
    shown = person("A1", firstName="Ada", jobTitle="Analyst", department="Night")
    after = make_record(entity, shown, salt=STORE_SALT, before=now)

    assert body == {"firstName": "Ada", "jobTitle": "Analyst", "department": "Night"}
    assert after.sent == {"firstName": "Ada", "department": "Night"}


def test_a_protected_entity_stays_protected() -> None:
    """Setting a field back says nothing about protection."""
    made = undo(planned(UPDATED), {ADA: ADA_SHOWN})

    entity = undo_as_desired(made, recorded(record(ADA, "A1", protected=True))).entities[ADA]

    assert entity.controls.protect
