"""Consent that names addresses: what a plan uses of it, what is said of the rest, what the guard counts."""

import pytest
from core.build import MOMENT, at, contact, desired
from core.test_guard import LIMITS, deletes, plan, updates
from msgspec import structs

from reconciler.core.planning.fingerprint import fingerprint, is_noop_plan, manifest_digest
from reconciler.core.review.decide import list_ask_reasons
from reconciler.core.review.guard import check_plan, list_agreements
from reconciler.core.review.named_consents import list_idle_consents, match_consents, without_consented
from reconciler.core.review.saved_plans import encode_shown
from reconciler.model.documents import ConsentAction, NamedConsent
from reconciler.model.plans import (
    Change,
    Consent,
    Delete,
    FieldChange,
    Options,
    Plan,
    RecordChange,
    Skip,
    Update,
)
from reconciler.model.settings import AskWhen, Policy
from reconciler.model.snapshots import DeletedEntity, Read, Scope

NOW = "2026-12-15T12:00:00+00:00"
JANE = at("contact/ops/jane")
GONE = DeletedEntity(JANE, "A9", "run-1", "2026-12-01T10:00:00+00:00")


def agree(
    text: str = "contact/ops/jane",
    action: ConsentAction = "delete",
    until: str = "2026-12-15",
    reason: str = "left",
    line: int = 5,
) -> NamedConsent:
    return NamedConsent(at(text), action, until, reason, f"manifests/ops.yaml:{line}")


def agree_all(count: int) -> list[NamedConsent]:
    return [agree(f"contact/ops/n{number}") for number in range(count)]


def match(
    made: Plan,
    *consents: NamedConsent,
    declared: tuple[str, ...] = (),
    deleted: tuple[DeletedEntity, ...] = (),
    now: str = NOW,
) -> Plan:
    made = structs.replace(made, created_at=now)
    known = {at(one) for one in declared}
    return match_consents(
        structs.replace(made, fingerprint=fingerprint(made)), consents, declared=known, deleted=deleted
    )


def leaving(*names: str) -> list[Change]:
    return [Delete(at(f"contact/ops/{name}"), f"A-{name}", {}) for name in names]


def test_a_consent_that_is_used_is_part_of_the_plan_and_changes_none_of_its_changes() -> None:
    """A review shows it; the fingerprint covers it, but not the line on which it stands."""
    made = plan(*leaving("jane", "sam"), owned=9)
    used = match(made, agree())
    moved = match(made, agree(line=99))

    assert used.named_consents == (agree(),)
    assert used.notices == ()
    assert used.changes == made.changes
    assert used.fingerprint == moved.fingerprint == fingerprint(used)
    others = {match(made, one).fingerprint for one in (agree(until="2027-01-01"), agree(reason="other"))}
    assert len({used.fingerprint, match(made).fingerprint, *others}) == 4


def test_a_plan_without_consents_is_returned_as_it_is() -> None:
    made = plan(*leaving("jane"), owned=9)

    assert match_consents(made, (), declared=(), deleted=()) is made


@pytest.mark.parametrize(
    ("now", "in_force"),
    [("2026-12-15T23:59:59+00:00", True), ("2026-12-16T00:00:00+00:00", False)],
)
def test_the_last_day_is_judged_in_the_moment_of_the_plan_in_utc(now: str, in_force: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = match(plan(*leaving("jane"), owned=9), agree(), now=now)

    assert bool(found.named_consents) is in_force
    assert [one.what for one in found.notices] == (
        [] if in_force else ["consent to delete it ended (2026-12-15), and this plan would delete it."]
    )


def test_a_consent_whose_address_is_gone_is_used_up() -> None:
    """Whether it has ended or not: the line can go."""
    for now in (NOW, "2027-05-01T00:00:00+00:00"):
        (notice,) = match(plan(), agree(), deleted=(GONE,), now=now).notices

        assert (notice.kind, notice.subject, notice.place) == ("consent", JANE, "manifests/ops.yaml:5")
        assert notice.what == "consent to delete it is used up: run run-1 deleted it on 2026-12-01."
        assert notice.next == "remove the line"


def test_a_consent_that_matches_nothing_is_said() -> None:
    """A slip of a key would else be found when the plan is refused, or never."""
    whats = {
        action: match(plan(*leaving("sam"), owned=9), agree(action=action)).notices[0].what
        for action in ("delete", "update", "reactivate")
    }

    assert whats == {
        action: f"consent to {action} it matches nothing: this plan would not {action} it."
        for action in whats
    }


def test_a_consent_that_ended_without_use_is_said() -> None:
    (notice,) = match(plan(), agree(until="2026-12-14")).notices

    assert notice.what == "consent to delete it ended (2026-12-14)."


def test_a_consent_to_delete_what_is_declared_has_no_effect() -> None:
    """It may be declared again, or be in a directory still: `validate` says so too."""
    entity = contact("ops/jane", firstName="Jane")
    (notice,) = match(plan(), agree(), declared=(JANE,), deleted=(GONE,)).notices
    idle = list_idle_consents(structs.replace(desired(entity), consents=(agree(), agree(action="update"))))

    assert notice.what == "consent to delete it has no effect: it is still declared."
    assert list(idle) == [notice]


def test_a_protected_entity_is_left_alone_whoever_consents() -> None:
    """The skip says how protection ends; the consent is neither used nor reported."""
    skip = Skip(JANE, "protected", "is no longer declared, and protected; left alone.")
    found = match(structs.replace(plan(), skips=(skip,)), agree())

    assert (found.named_consents, found.notices) == ((), ())


def test_the_devices_of_a_deleted_contact_are_part_of_its_delete() -> None:
    phone = "device/ops/jane/phone"
    made = plan(Delete(JANE, "A1", {}, cascades=(phone,)), owned=9)

    assert [one.address for one in match(made, agree(), agree(phone)).named_consents] == [JANE, at(phone)]


def test_an_update_and_a_reactivation_are_two_things() -> None:
    """To enable a device again costs money; another title does not."""
    phone = at("device/ops/jane/phone")
    fields = (FieldChange("status", "DISABLED", "ACTIVE", "reactivated"),)
    on = plan(Update(phone, "f:1", "D1", fields, "A1"), owned=9, scope=Scope("device", "ops"))
    title = plan(*updates(1), owned=9)

    assert match(on, agree(phone, "reactivate")).named_consents
    assert match(on, agree(phone, "update")).named_consents
    assert not match(title, agree("contact/ops/u0", "reactivate")).named_consents


def test_a_consent_outside_of_the_selection_is_not_said() -> None:
    """Rule N1: a notice about what the run is not about helps nobody."""
    chosen = structs.replace(plan(), options=Options(only=("contact/ops/sam",)))

    assert match(chosen, agree()).notices == ()


@pytest.mark.parametrize("options", [Options(adopt=True), Options(forget=("contact/ops/jane",))])
def test_adopt_and_forget_have_nothing_to_consent_to(options: Options) -> None:
    assert match(structs.replace(plan(), options=options), agree()).notices == ()


def test_a_plan_with_any_consent_is_no_plan_to_be_found_again() -> None:
    """Rule R10: one that has ended since would be found in it. Without one it is found again."""
    states: tuple[Plan, ...] = (
        match(plan(), agree()),
        match(plan(), agree(until="2026-01-01")),
        match(plan(), agree(), deleted=(GONE,)),
        match(plan(), agree(), declared=(JANE,)),
        match(plan(), agree(action="update"), declared=(JANE,)),
        match(structs.replace(plan(), skips=(Skip(JANE, "protected", "left."),)), agree()),
        match(plan(*leaving("jane"), owned=9), agree()),
    )

    assert is_noop_plan(match(plan()))
    assert [is_noop_plan(one) for one in states] == [False] * len(states)


# --- The guard ------------------------------------------------------------------------------------


def rules_of(made: Plan, consent: Consent = Consent()) -> list[str]:  # noqa: B008 - a frozen value
    return [reason.rule for reason in check_plan(made, LIMITS, consent).reasons]


def test_what_is_named_does_not_count() -> None:
    """26 deletes of 1,000 are one too many; so are four of six."""
    many, few = plan(*deletes(26), owned=1000), plan(*deletes(4), owned=6)

    assert rules_of(many) == rules_of(few) == ["G1"]
    assert rules_of(match(many, agree("contact/ops/n0"))) == []
    assert rules_of(match(few, agree("contact/ops/n0"))) == []


def test_what_is_not_named_counts_and_the_refusal_says_what_is() -> None:
    made = match(plan(*deletes(30), owned=1000), agree("contact/ops/n0"))

    (reason,) = check_plan(made, LIMITS, Consent()).reasons

    assert reason.what == "the plan deletes 29 entities beside the 1 under `consent:` (the limit is 25)."
    assert "--allow-deletes 29" in reason.next
    assert rules_of(made, Consent(deletes=29)) == []
    assert rules_of(made, Consent(deletes=28)) == ["G1"]


def test_the_last_ones_of_a_kind_may_be_named_but_not_all_but_one() -> None:
    """What goes by consent does not count as left, as what is gone already does not."""
    made = plan(*deletes(5), owned=5)

    assert rules_of(match(made, *agree_all(5))) == []
    assert rules_of(match(made, *agree_all(4))) == ["G1"]


def test_adopted_entities_and_callbacks_may_be_named() -> None:
    """After an export everybody is adopted: G5 and G6 are what a wanted delete meets."""
    adopted = [
        Delete(at(f"contact/ops/n{number}"), f"A{number}", {}, adopted="2026-01-01T00:00:00+00:00")
        for number in range(5)
    ]
    older = plan(*adopted, owned=100)
    callback = plan(
        Delete(at("callback/default/on-call"), "C1", {}), owned=1, scope=Scope("callback", "default")
    )

    assert rules_of(older) == ["G5"]
    assert rules_of(match(older, *agree_all(2))) == []
    assert rules_of(callback) == ["G6"]
    assert rules_of(match(callback, agree("callback/default/on-call"))) == []


def test_named_updates_do_not_count() -> None:
    made = plan(*updates(26), owned=30)
    named = [agree(f"contact/ops/u{number}", "update") for number in range(26)]

    assert rules_of(made) == ["G2"]
    assert rules_of(match(made, named[0])) == []
    assert rules_of(match(made, *(structs.replace(one, action="delete") for one in named))) == ["G2"]


def test_an_incomplete_read_is_lifted_by_no_consent() -> None:
    """Rule G4: who is named may be there all the same."""
    read = Read(Scope("contact", "ops"), "scan", 1, 0, 9, complete=False)
    unread = plan(*leaving("jane"), owned=9, reads=(read,))

    assert rules_of(match(unread, agree())) == ["G4"]


def test_agreements_list_each_reason_once_with_its_addresses() -> None:
    """The head of a review: what, until when, why, where, and who."""
    made = match(plan(*leaving("ada", "jane", "sam"), owned=9), agree(), agree("contact/ops/sam"))
    made = structs.replace(made, consent=Consent(deletes=1))

    number, named = list_agreements(made)

    assert number.subjects == ("contact/ops/ada",)
    assert (named.flag, named.allows) == (
        "consent:",
        "deletes until 2026-12-15, manifests/ops.yaml:5: left",
    )
    assert named.subjects == ("contact/ops/jane", "contact/ops/sam")


ASKING = Policy(
    mode="apply",
    ask_when=AskWhen(
        deletes=True,
        updates_more_than=0,
        protected=True,
        reactivate=True,
        overwrites_drift=True,
        callbacks=True,
    ),
)


def test_people_are_asked_about_what_is_not_named() -> None:
    """One delete and one update are left of two each; without a name nobody is spared the question."""
    made = plan(*leaving("jane", "sam"), *updates(2), owned=9)
    some = match(made, agree(), agree("contact/ops/u0", "update"))
    every = match(
        some, agree(), agree("contact/ops/sam"), *(agree(f"contact/ops/u{n}", "update") for n in (0, 1))
    )

    assert list_ask_reasons(made, ASKING) == ("2 deletes", "2 updates, and 0 need no approval")
    assert list_ask_reasons(some, ASKING) == ("1 delete", "1 update, and 0 need no approval")
    assert list_ask_reasons(every, ASKING) == ()
    assert list_ask_reasons(every, Policy(mode="approve")) == ("policy.mode is approve, 4 changes",)


def test_consent_to_an_update_is_none_to_reactivate_or_to_set_back_drift() -> None:
    """A push costs money, and what somebody else changed was not in front of whoever reviewed the line."""
    phone = at("device/ops/jane/phone")
    revived = FieldChange("status", "DISABLED", "ACTIVE", "reactivated")
    title, drifted = (FieldChange("jobTitle", "a", "b", cause) for cause in ("declared", "drifted"))
    on = plan(Update(phone, "f:1", "D1", (revived,), "A1"), owned=9, scope=Scope("device", "ops"))
    back = plan(Update(JANE, "f:1", "A1", (title, drifted)), owned=9)

    assert "1 reactivation" in list_ask_reasons(match(on, agree(phone, "update")), ASKING)
    assert list_ask_reasons(match(on, agree(phone, "reactivate")), ASKING) == ()
    assert "1 change of what others changed" in list_ask_reasons(match(back, agree(action="update")), ASKING)


def test_consent_to_an_update_lets_protection_end() -> None:
    """That is the one write to our records that people are asked about."""
    ends = structs.replace(plan(), records=(RecordChange(JANE, "no longer protected"),))

    assert list_ask_reasons(ends, ASKING) == ("1 entity no longer protected",)
    assert list_ask_reasons(match(ends, agree(action="update")), ASKING) == ()
    assert list_ask_reasons(match(ends, agree()), ASKING) == ("1 entity no longer protected",)


def test_a_plan_without_consent_is_asked_about_as_it_is() -> None:
    made = plan(*leaving("jane"), owned=9)

    assert without_consented(made) is made


# --- Digests --------------------------------------------------------------------------------------


def test_the_digest_of_the_manifests_covers_the_consent_and_is_as_before_without_any() -> None:
    bare = desired(contact("ops/jane", firstName="Jane"))
    said = [structs.replace(bare, consents=(one,)) for one in (agree(), agree(until="2027-01-01"))]
    moved = structs.replace(bare, consents=(agree(line=99),))
    digests = [manifest_digest(one, MOMENT.salt) for one in (bare, *said)]

    assert len(set(digests)) == 3
    assert manifest_digest(moved, MOMENT.salt) == digests[1]


def test_a_saved_plan_shows_its_consent() -> None:
    made = plan(*leaving("jane"), owned=9)

    assert encode_shown(match(made, agree())) != encode_shown(match(made))
