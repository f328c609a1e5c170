"""The guard: at the limit, one below, one above, with consent one short and exact."""

import pytest
from core.build import PLAN_SALT, TARGET, at, contact, desired, live, person, planned
from msgspec import structs

from reconciler.core.review.guard import check_plan
from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer
from reconciler.model.plans import (
    Cause,
    Change,
    Consent,
    Create,
    Delete,
    FieldChange,
    GuardReason,
    Options,
    Plan,
    Update,
)
from reconciler.model.settings import GuardLimits
from reconciler.model.snapshots import UNKNOWN, Read, Scope

LIMITS = GuardLimits()
CONTACTS = Scope("contact", "ops")


def plan(
    *changes: Change,
    owned: int = 0,
    scope: Scope = CONTACTS,
    unchanged: int = 0,
    reads: tuple[Read, ...] = (),
    gone: tuple[Address, ...] = (),
) -> Plan:
    counts = {str(scope): owned}
    return Plan(
        TARGET,
        Options(),
        "digest",
        PLAN_SALT,
        changes,
        owned=counts,
        unchanged={str(scope): unchanged},
        reads=reads,
        gone=gone,
    )


def deletes(count: int, where: str = "contact/ops") -> list[Change]:
    return [Delete(at(f"{where}/n{n}"), f"A{n}", {}) for n in range(count)]


def updates(count: int, where: str = "contact/ops", adopts: str = "") -> list[Change]:
    fields = (FieldChange("jobTitle", "a", "b", "declared"),)
    return [Update(at(f"{where}/u{n}"), "f:1", f"U{n}", fields, adopts=adopts) for n in range(count)]


def creates(count: int, cause: Cause = "gone") -> list[Change]:
    return [Create(at(f"contact/ops/c{n}"), "f:1", {}, cause) for n in range(count)]


def reasons(made: Plan, consent: Consent = Consent()) -> list[GuardReason]:  # noqa: B008 - a frozen value
    return list(check_plan(made, LIMITS, consent).reasons)


def answered(rows: int, before: int, *, name: str = "staff") -> Plan:
    return structs.replace(plan(), directories=(DirectoryAnswer(name, rows, "0" * 64, before),))


@pytest.mark.parametrize(
    ("rows", "before", "refused"),
    [
        (100, 0, False),  # the first apply knows no number
        (100, 100, False),
        (120, 100, False),
        (80, 100, False),
        (79, 100, True),
        (1, 100, True),
        (2, 5, False),  # three of five are few
        (1, 5, True),
        (9, 12, False),
    ],
)
def test_a_directory_that_answers_short_is_refused(rows: int, before: int, *, refused: bool) -> None:
    """G7: half an answer looks as if people had left."""
    assert [one.rule for one in reasons(answered(rows, before))] == (["G7"] if refused else [])


def test_consent_to_fewer_rows_is_their_number() -> None:
    """As every consent: whoever allows 60 has seen that there are 60."""
    (reason,) = reasons(answered(40, 100))

    assert (reason.scope, reason.count, reason.limit) == ("staff", 60, 20)
    assert reason.what == (
        "the directory staff returns 40 rows, 60 fewer than at the last apply (60 %; the limit is 20 %)."
    )
    assert reason.next.endswith("apply with --allow-fewer-rows 60")
    assert reasons(answered(40, 100), Consent(fewer_rows=59))
    assert not reasons(answered(40, 100), Consent(fewer_rows=60))


def test_no_other_consent_lifts_a_short_answer() -> None:
    assert reasons(answered(40, 100), Consent(deletes=1000, creates=1000, updates=1000))


def test_a_plan_without_changes_is_safe() -> None:
    assert check_plan(plan(owned=10), LIMITS, Consent()).safe


@pytest.mark.parametrize(("count", "refused"), [(24, False), (25, False), (26, True)])
def test_more_than_twenty_five_deletes_are_refused(count: int, *, refused: bool) -> None:
    """G1: however small their share is."""
    found = reasons(plan(*deletes(count), owned=10_000))

    assert [one.rule for one in found] == (["G1"] if refused else [])


def test_the_deletes_of_all_kinds_and_workspaces_count_together() -> None:
    """G1: 26 deletes are 26 deletes, spread or not."""
    spread = [*deletes(13), *deletes(13, "resource/lab")]

    found = reasons(plan(*spread, owned=10_000))[0]

    assert (found.scope, found.count, found.limit) == ("", 26, 25)


@pytest.mark.parametrize(
    ("count", "owned", "refused"),
    [
        (3, 4, False),  # three are never a percentage
        (3, 15, False),
        (4, 20, False),  # exactly 20 %
        (4, 19, True),
        (5, 25, False),
        (5, 24, True),
        (20, 100, False),
        (21, 100, True),
    ],
)
def test_more_than_a_fifth_is_refused_once_it_is_more_than_three(
    count: int, owned: int, *, refused: bool
) -> None:
    """G1: of the owned entities of that kind and workspace."""
    assert bool(reasons(plan(*deletes(count), owned=owned))) is refused


@pytest.mark.parametrize(
    ("count", "gone", "owned", "refused"),
    [(1, 0, 1, False), (1, 0, 2, False), (2, 0, 2, True), (2, 0, 3, False), (3, 0, 3, True), (1, 1, 2, True)],
)
def test_a_kind_that_owns_more_than_one_is_not_emptied(
    count: int, gone: int, owned: int, *, refused: bool
) -> None:
    """G1: what is not there any more does not count as left."""
    lost = tuple(at(f"contact/ops/lost{n}") for n in range(gone))

    found = reasons(plan(*deletes(count), owned=owned, gone=lost))

    assert bool(found) is refused
    assert all("none would be left" in one.what for one in found)


def test_each_kind_and_workspace_is_counted_by_itself() -> None:
    """G1: four of nineteen are too many, even beside a thousand others."""
    made = plan(*deletes(4, "resource/lab"), owned=19, scope=Scope("resource", "lab"))

    (found,) = reasons(made)

    assert found.scope == "resources in lab"
    assert "4 of 19" in found.what
    assert "21 %" in found.what
    assert "limit is 20 %" in found.what


@pytest.mark.parametrize(("allowed", "refused"), [(0, True), (25, True), (26, False), (27, False)])
def test_consent_to_deletes_is_a_number(allowed: int, *, refused: bool) -> None:
    """G3: whoever allows 26 deletes has seen that there are 26; one more needs another look."""
    found = reasons(plan(*deletes(26), owned=30), Consent(deletes=allowed))

    assert bool(found) is refused
    assert all("--allow-deletes 26" in one.next for one in found)


@pytest.mark.parametrize(
    ("count", "owned", "refused"),
    [(1, 5, False), (1, 4, True), (2, 10, False), (3, 10, True), (10, 50, False), (10, 49, True)],
)
def test_re_creates_above_a_fifth_are_refused(count: int, owned: int, *, refused: bool) -> None:
    """G2: what we recorded seems to be gone; the read was probably short."""
    found = reasons(plan(*creates(count), owned=owned))

    assert [one.rule for one in found] == (["G2"] if refused else [])
    assert all(f"--allow-creates {count}" in one.next for one in found)


@pytest.mark.parametrize(("count", "refused"), [(10, False), (11, True), (20, True)])
def test_more_than_ten_re_creates_are_refused(count: int, *, refused: bool) -> None:
    """G2: however small their share is; 20 of 100 that a short read hides would be 20 people twice."""
    found = reasons(plan(*creates(count), owned=10_000))

    assert [(one.rule, one.scope, one.limit) for one in found] == ([("G2", "", 10)] if refused else [])
    assert all(f"--allow-creates {count}" in one.next for one in found)


def test_consent_lifts_both_limits_of_re_creates() -> None:
    """G3: one number for both, and one too few lifts neither."""
    made = plan(*creates(30), owned=100)

    assert len(reasons(made, Consent(creates=29))) == 2
    assert reasons(made, Consent(creates=30)) == []


def test_creates_of_what_was_never_there_are_not_refused() -> None:
    """G2: a first apply creates everything."""
    assert reasons(plan(*creates(500, "declared"), owned=1)) == []


@pytest.mark.parametrize(("allowed", "refused"), [(2, True), (3, False)])
def test_consent_to_creates_is_a_number(allowed: int, *, refused: bool) -> None:
    """G3: the same for re-creates; creates of another cause do not use it up."""
    made = plan(*creates(3), Create(at("contact/ops/new"), "f:1", {}), owned=10)

    assert bool(reasons(made, Consent(creates=allowed))) is refused


@pytest.mark.parametrize(
    ("count", "owned", "refused"),
    [(25, 25, False), (26, 52, False), (26, 51, True), (50, 100, False), (51, 100, True)],
)
def test_updates_above_a_half_are_refused_once_they_are_more_than_twenty_five(
    count: int, owned: int, *, refused: bool
) -> None:
    """G2: a default that changed by mistake touches everybody."""
    found = reasons(plan(*updates(count), owned=owned, unchanged=owned - count))

    assert [one.rule for one in found] == (["G2"] if refused else [])
    assert all(f"--allow-updates {count}" in one.next for one in found)


@pytest.mark.parametrize(("allowed", "refused"), [(59, True), (60, False)])
def test_consent_to_updates_is_a_number(allowed: int, *, refused: bool) -> None:
    """G3: the same for updates."""
    assert bool(reasons(plan(*updates(60), owned=100), Consent(updates=allowed))) is refused


def test_a_refused_delete_of_an_adopted_entity_says_since_when_it_is_ours() -> None:
    """G5: the reader of a refusal has no plan beside it; a store that does not know says that."""
    older = [Delete(at(f"contact/ops/n{n}"), f"A{n}", {}, adopted="2026-02-01T09:00:00Z") for n in range(3)]
    unknown = Delete(at("contact/ops/zoe"), "A9", {}, adopted=UNKNOWN)

    (found,) = check_plan(plan(*older, unknown, owned=1_000), LIMITS, Consent()).reasons

    assert found.rule == "G5"
    assert "contact/ops/n2 (adopted on 2026-02-01)" in found.what
    assert found.what.endswith("contact/ops/zoe (unknown whether it existed before this stack).")


def test_adopted_entities_count_once_in_the_base_of_updates() -> None:
    """G2: with a lost store and a mark they are owned and adopted at the same time."""
    found = reasons(plan(*updates(60, adopts="custom.managedBy"), owned=100, unchanged=40))

    assert [one.rule for one in found] == ["G2"]
    assert "60 of 100" in found[0].what


def test_a_first_adoption_is_measured_by_what_it_adopts() -> None:
    """G2: nothing is owned yet, so the live entities that are declared are the base."""
    assert reasons(plan(*updates(30, adopts="workEmailAddress1"), owned=0, unchanged=30)) == []
    assert reasons(plan(*updates(30, adopts="workEmailAddress1"), owned=0, unchanged=29)) != []


def test_what_is_adopted_as_it_is_counts_in_the_base() -> None:
    """G2: through the planner, so that both count alike: 30 of 60 people are as declared, 30 are not."""
    want, there = [], []
    for number in range(60):
        mail = f"p{number}@example.com"
        want.append(contact(f"ops/p{number}", workEmailAddress1=mail, jobTitle="Engineer"))
        title = "Engineer" if number % 2 else "Clerk"
        there.append(person(f"A{number}", workEmailAddress1=mail, jobTitle=title))

    made = planned(desired(*want), live(*there))

    assert (made.count("update"), len(made.adoptions)) == (30, 30)
    assert reasons(made) == []


def test_nothing_is_deleted_on_an_incomplete_read() -> None:
    """G4: no consent lifts it."""
    read = Read(CONTACTS, "scan", 5, 0, 100, complete=False)
    generous = Consent(deletes=1000, creates=1000, updates=1000)

    (found,) = reasons(plan(*deletes(1), owned=100, reads=(read,)), generous)

    assert (found.rule, found.count, found.limit) == ("G4", 1, 0)


def test_a_device_is_not_deleted_when_its_contacts_were_read_in_part() -> None:
    """G4: devices are read with their contacts."""
    read = Read(CONTACTS, "scan", 5, 0, 100, complete=False)
    gone = Delete(at("device/ops/jane/phone"), "D1", {}, "A1")

    (found,) = reasons(plan(gone, owned=100, scope=Scope("device", "ops"), reads=(read,)))

    assert (found.rule, found.scope) == ("G4", "devices in ops")


def test_an_incomplete_read_forbids_only_deletes_and_only_there() -> None:
    """G4: everything else is looked at again right before it is written."""
    incomplete = Read(CONTACTS, "scan", 5, 0, 100, complete=False)
    elsewhere = plan(*deletes(1, "contact/lab"), owned=9, scope=Scope("contact", "lab"), reads=(incomplete,))

    assert reasons(plan(*updates(1), owned=9, reads=(incomplete,))) == []
    assert reasons(elsewhere) == []


def test_every_reason_says_how_many_how_many_may_be_and_what_to_do() -> None:
    """G3: the count, the limit and the flag."""
    made = plan(*deletes(26), *creates(10), *updates(30), owned=40)

    for one in reasons(made):
        assert str(one.count) in one.what
        assert "--allow-" in one.next
        assert one.limit < one.count


def test_limits_come_from_the_settings() -> None:
    """A small workspace may be stricter."""
    strict = GuardLimits(deletes_max=0)

    assert not check_plan(plan(*deletes(1), owned=100), strict, Consent()).safe
    assert check_plan(plan(*deletes(1), owned=100), strict, Consent(deletes=1)).safe


SWITCHED_OFF = frozenset({("contact", "create"), ("contact", "update"), ("contact", "delete")})


def test_what_the_deployment_does_not_offer_is_refused_with_its_addresses() -> None:
    """C1: one reason for each action of a kind in a workspace; no consent lifts it."""
    everything = Consent(deletes=99, creates=99, updates=99)
    made = plan(*updates(2), *deletes(1), owned=100)

    found = check_plan(made, LIMITS, everything, SWITCHED_OFF).reasons

    assert [(one.rule, one.scope, one.count) for one in found] == [
        ("C1", "contacts in ops", 1),
        ("C1", "contacts in ops", 2),
    ]
    assert "contact/ops/n0" in found[0].what
    assert all("--except kind:contact" in one.next for one in found)


def test_nothing_else_is_blocked_by_what_is_not_offered() -> None:
    """C1: other kinds go on, and so does the one action of a kind that the specification has."""
    device = at("device/ops/jane/phone")
    update = Update(device, "a.yaml:1", "D1", (FieldChange("deviceModel", "a", "b", "declared"),))
    off = frozenset({("device", "create"), ("device", "delete")})

    assert check_plan(plan(update, *updates(1), owned=100), LIMITS, Consent(), off).safe
    assert not check_plan(plan(Create(device, "a.yaml:1", {}), owned=100), LIMITS, Consent(), off).safe


def test_a_long_list_of_refused_addresses_is_cut() -> None:
    """C1: the plan shows them all; a reason is a sentence."""
    (found,) = check_plan(plan(*updates(25), owned=100), LIMITS, Consent(), SWITCHED_OFF).reasons

    assert found.count == 25
    assert found.what.endswith("and 5 more.")
