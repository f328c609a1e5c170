"""Notices: what a plan tells beside its changes (planning rule N1)."""

from core.build import FILES, OPS, contact, desired, device, live, person, phone, planned, record, recorded
from msgspec import structs

from reconciler.model.notices import Notice
from reconciler.model.plans import Plan

TYPO = Notice("value", "contact/ops/jane", "workMobilePhone1 looks improbable.", "correct it", "ops.yaml:4")
OTHER = Notice("value", "contact/ops/adam", "workMobilePhone1 looks improbable.", "correct it", "ops.yaml:9")
WANT = structs.replace(desired(contact("ops/jane"), contact("ops/adam")), notices=(TYPO, OTHER))


def test_warnings_about_declared_values_are_in_the_plan_in_order() -> None:
    """N1: the same notices in the same order, whatever order they were found in."""
    assert planned(WANT, live()).notices == (OTHER, TYPO)


def test_a_notice_about_what_is_not_selected_is_not_shown() -> None:
    """N1: a run about Jane says nothing about Adam."""
    assert planned(WANT, live(), only=("contact/ops/jane",)).notices == (TYPO,)
    assert planned(WANT, live(), excluded=("contact/ops/jane",)).notices == (OTHER,)


def test_a_notice_decides_nothing() -> None:
    """N1: two plans that do the same have the same fingerprint, with notices and without."""
    quiet = structs.replace(WANT, notices=())

    assert planned(WANT, live()).fingerprint == planned(quiet, live()).fingerprint


JANE = {"workEmailAddress1": "jane@example.com"}
KNOWN = recorded(
    record("contact/ops/jane", "A1", JANE),
    record("device/ops/jane/phone", "D1", pushToken="token-of-the-phone", parent="A1"),
)
THERE = live(person("A1", JANE), phone("D1", "A1"))


def left_behind(plan: Plan) -> list[str]:
    """The subjects of such notices."""
    return [one.subject for one in plan.notices if one.kind == "left behind"]


def test_a_recorded_device_without_a_devices_block_is_named() -> None:
    """S1: it still gets pushes, and no line of the manifest says so."""
    plan = planned(desired(contact("ops/jane", JANE)), THERE, KNOWN)

    assert left_behind(plan) == ["device/ops/jane/phone"]
    assert plan.changes == ()
    assert plan.notices[0].place == "manifests/ops.yaml:4"


def test_a_phone_that_was_moved_and_stays_behind_is_said_to_be_one_phone() -> None:
    """S1: both contacts reach it until the first one's `devices:` says otherwise."""
    moved = desired(
        contact("ops/jane", JANE),
        contact("ops/sam", workEmailAddress1="sam@example.com", devices=True),
        device("ops/sam/phone"),
    )

    (notice,) = planned(moved, THERE, KNOWN).notices

    assert "device/ops/sam/phone has the same push token" in notice.what
    assert "token-of-the-phone" not in repr(notice)


def test_a_device_that_is_planned_over_or_goes_with_its_contact_is_not_left_behind() -> None:
    """S1: `devices: {}` deletes it, and a contact that is deleted takes it along."""
    emptied = planned(desired(contact("ops/jane", JANE, devices=True)), THERE, KNOWN)
    removed = planned(desired(scopes=[OPS]), THERE, KNOWN)
    gone = planned(desired(scopes=[OPS]), live(), KNOWN)

    assert [left_behind(one) for one in (emptied, removed, gone)] == [[], [], []]


def test_a_device_whose_contact_is_neither_declared_nor_recorded_is_named() -> None:
    """S1: we added it to somebody who never was ours, and both have left the manifests."""
    orphaned = recorded(record("device/ops/jane/phone", "D1", parent="A1"))

    assert left_behind(planned(desired(scopes=[OPS]), THERE, orphaned)) == ["device/ops/jane/phone"]


def test_devices_are_counted_where_contacts_have_left_the_manifests() -> None:
    """S1: nothing of that kind is read or touched, and the plan says how much of it is ours."""
    plan = planned(desired(scopes=[FILES]), live(), KNOWN)

    assert plan.outside == {"contacts in ops": 1, "devices in ops": 1}
    assert left_behind(plan) == []
