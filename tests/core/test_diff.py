"""What changes, and why: rules D1 to D5, table D2 cell by cell."""

import itertools

import pytest
from core.build import (
    PHONE,
    PLAN_SALT,
    SALTS,
    STORE_SALT,
    contact,
    content_of,
    device,
    person,
    phone,
    record,
    resource,
    row,
)

from reconciler.core.compare import normalize
from reconciler.core.compare.diff import (
    Difference,
    compare_fields,
    diff_entity,
    paths_to_read,
    unchanged_since_apply,
)
from reconciler.core.compare.normalize import WITHHELD, mask_secret
from reconciler.core.planning.records import record_changes
from reconciler.model.documents import Controls
from reconciler.model.plans import FieldChange, Skip
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity

FREE = "jobTitle"  # a field without any peculiarity

# Table D2, with the values it speaks of: D declared, S and W what was sent and then shown (R), L live.
# Every combination of declared, "clear it" or absent; recorded or not; equal or different; moved or not.
VALUES = ("a", "b", "")
CELLS = [
    (d, sent, shown, now)
    for d in (None, *VALUES)
    for sent in (None, *VALUES)
    for shown in (VALUES if sent is not None else ("",))
    for now in VALUES
]


def expected(d: str | None, sent: str | None, shown: str, now: str) -> str:
    """The table as the page prints it, row by row."""
    if d is not None:
        if d == now or (d == sent and now == shown):
            return "unchanged"
        if sent is None or now == shown:
            return "declared"
        return "drifted" if d == sent else "both"
    if sent is None or now == "":  # not ours, or there is nothing left to clear
        return "unchanged"
    return "no longer declared" if now == shown else "taken over"


def compare(
    entity: Entity, there: LiveEntity, known: RecordedEntity | None = None, *, reactivate: bool = False
) -> Difference:
    return diff_entity(entity, there, known, salts=SALTS, reactivate=reactivate)


def word(result: Difference) -> str:
    """The one thing that a difference says."""
    return next((one.cause for one in result.fields), next((one.reason for one in result.skips), "unchanged"))


@pytest.mark.parametrize(("d", "sent", "shown", "now"), CELLS)
def test_every_cell_of_the_table_of_changes(d: str | None, sent: str | None, shown: str, now: str) -> None:
    """D2: the whole table, the cells that the page leaves to the reader included."""
    entity = contact("ops/jane", {} if d is None else {FREE: d}, firstName="Jane")
    there = person("A1", {FREE: now} if now else {}, firstName="Jane")
    known = None
    if sent is not None:
        known = record("contact/ops/jane", "A1", {FREE: sent}, shown={FREE: shown} if shown else {})

    result = compare(entity, there, known)

    assert word(result) == expected(d, sent, shown, now)
    assert len(result.fields) + len(result.skips) <= 1
    for change in result.fields:
        assert change == FieldChange(FREE, now or None, d or None, change.cause)


def test_the_table_was_walked_whole() -> None:
    """D2: four kinds of wish, four kinds of record with three values shown, three live values."""
    assert len(CELLS) == 4 * (1 + 3 * 3) * 3
    assert {expected(*cell) for cell in CELLS} == {
        "unchanged",
        "declared",
        "drifted",
        "both",
        "no longer declared",
        "taken over",
    }


def test_a_record_that_does_not_speak_of_a_field_is_no_record_of_it() -> None:
    """D2: a record of an older version, or from before the field was declared, lacks the path."""
    known = record("contact/ops/jane", "A1", firstName="Jane")

    assert word(compare(contact("ops/jane", {FREE: "a"}), person("A1"), known)) == "declared"
    assert compare(contact("ops/jane"), person("A1", {FREE: "a"}), known) == Difference()


def test_a_field_sent_but_never_seen_is_compared_with_nothing_shown() -> None:
    """D2: a record that was written before the value could be read back."""
    known = record("contact/ops/jane", "A1", {"timezone": "Australia/Melbourne"}, shown={})

    result = compare(contact("ops/jane", timezone="Australia/Melbourne"), person("A1", timezone="+10"), known)

    assert word(result) == "drifted"


def test_a_flag_that_is_false_already_is_not_cleared_again() -> None:
    """D5: a channel that keeps another option always has the flag, so clearing it would never end."""
    path = "messagingOptions.sms.enabled"
    known = record("contact/ops/jane", "A1", {path: "false"}, shown={path: False})
    later = record("contact/ops/jane", "A1", {path: "true"}, shown={path: True})

    assert compare(contact("ops/jane"), person("A1", {path: False}), known) == Difference()
    assert word(compare(contact("ops/jane"), person("A1", {path: True}), later)) == "no longer declared"


def test_a_time_zone_shown_as_an_offset_is_no_difference_once_it_was_sent() -> None:
    """D2: the service rewrites some values; sending them again changes nothing."""
    known = record("contact/ops/jane", "A1", {"timezone": "Australia/Melbourne"}, shown={"timezone": "+10"})

    for live_value, cause in (("+10", "unchanged"), ("+11", "unchanged"), ("+9", "drifted")):
        entity = contact("ops/jane", timezone="Australia/Melbourne")
        assert word(compare(entity, person("A1", timezone=live_value), known)) == cause
    entity = contact("ops/jane", timezone="Australia/Perth")
    assert word(compare(entity, person("A1", timezone="+10"), known)) == "declared"


def test_only_declared_fields_are_compared() -> None:
    """D1, S2: an absent field is not ours."""
    there = person("A1", firstName="Jane", jobTitle="Clerk", companyName="Example")

    assert compare(contact("ops/jane", firstName="Jane"), there) == Difference()


def test_both_sides_are_normalized_before_they_are_compared() -> None:
    """D1: space around a value and the form of its accents are no change."""
    entity = contact(
        "ops/jane", {"messagingOptions.sms.enabled": "true"}, firstName=" Zoe\u0308 ", status="Active"
    )
    there = person("A1", {"messagingOptions.sms.enabled": True}, firstName="Zoë", status="A")

    assert compare(entity, there) == Difference()


def test_every_change_names_its_field_once_and_in_order() -> None:
    """The same inputs, the same bytes, whatever order the fields were written in."""
    fields = {"c": "1", "a": "1", "b": "1"}
    results = [
        compare(contact("ops/jane", dict(some)), person("A1"))
        for some in itertools.permutations(fields.items())
    ]

    assert all(one == results[0] for one in results)
    assert [change.path for change in results[0].fields] == ["a", "b", "c"]


def test_content_without_a_recorded_digest_is_unknown_and_sent_once() -> None:
    """D3: it cannot be read back, so a lost record means unknown, not equal and not different."""
    there = row("resource", "ops", "R1", name="staff.csv", scope="private", mimeType="text/csv")
    entity = resource("ops/staff", b"new")

    (change,) = compare(entity, there).fields

    assert change == FieldChange("content", None, content_of(b"new").digest, "unknown")


def test_content_is_compared_by_the_recorded_digest() -> None:
    """D3: equal digest, nothing to do; another one, declared."""
    there = row("resource", "ops", "R1", name="staff.csv", scope="private", mimeType="text/csv")
    known = record("resource/ops/staff", "R1", content=content_of(b"old").digest)

    assert compare(resource("ops/staff", b"old"), there, known) == Difference()
    assert word(compare(resource("ops/staff", b"new"), there, known)) == "declared"


def test_a_write_only_secret_is_compared_by_its_digest_and_never_shown() -> None:
    """D3: the same for a portal password; a plan holds no digest of one."""
    known = record("contact/ops/jane", "A1", password="old-canary")

    assert compare(contact("ops/jane", password="old-canary"), person("A1"), known) == Difference()
    (change,) = compare(contact("ops/jane", password="new-canary"), person("A1"), known).fields
    assert change == FieldChange("password", None, WITHHELD, "declared")
    assert compare(contact("ops/jane", password=""), person("A1")) == Difference()
    (cleared,) = compare(contact("ops/jane", password=""), person("A1"), known).fields
    assert (cleared.after, cleared.cause) == (None, "declared")


def test_a_write_only_field_that_nobody_declares_any_more_is_left_alone() -> None:
    """D2, D3: it cannot be seen, so it cannot be known to be still ours."""
    known = record("contact/ops/jane", "A1", password="hush")

    assert compare(contact("ops/jane"), person("A1"), known) == Difference()


@pytest.mark.parametrize("spelling", ["Active", "ACTIVE", "active", "A"])
def test_a_disabled_device_stays_disabled_and_is_reported(spelling: str) -> None:
    """D4: re-enabling would charge for pushes again, so it never happens by the way."""
    result = compare(device("ops/jane/phone", status=spelling), phone("D1", "A1", status="DISABLED"))

    assert result.fields == ()
    assert [(one.reason, one.address) for one in result.skips] == [("disabled", "device/ops/jane/phone")]
    assert "--reactivate device/ops/jane/phone" in result.skips[0].next


@pytest.mark.parametrize("spelling", ["Active", "ACTIVE", "active", "A"])
@pytest.mark.parametrize("by_meta", [True, False])
def test_a_disabled_device_is_reactivated_only_when_it_is_asked_for(spelling: str, *, by_meta: bool) -> None:
    """D4: a change of its own, with its own cause."""
    entity = device("ops/jane/phone", status=spelling, controls=Controls(reactivate=by_meta))

    result = compare(entity, phone("D1", "A1", status="DISABLED"), reactivate=not by_meta)

    assert result == Difference((FieldChange("status", "DISABLED", "ACTIVE", "reactivated"),))


@pytest.mark.parametrize("controls", [Controls(), Controls(ignore=frozenset({"status"}))])
def test_a_device_can_be_reactivated_though_its_status_is_not_managed(controls: Controls) -> None:
    """D4: whoever names the device has said enough."""
    entity = device("ops/jane/phone", controls=controls)

    assert compare(entity, phone("D1", "A1", status="DISABLED")) == Difference()
    assert word(compare(entity, phone("D1", "A1", status="DISABLED"), reactivate=True)) == "reactivated"
    assert compare(entity, phone("D1", "A1"), reactivate=True) == Difference()


def test_a_device_that_the_manifest_disables_is_not_reactivated() -> None:
    """D4: the manifest wins over a forgotten option."""
    entity = device("ops/jane/phone", status="Disabled")

    assert compare(entity, phone("D1", "A1", status="DISABLED"), reactivate=True) == Difference()
    assert word(compare(entity, phone("D1", "A1"), reactivate=True)) == "declared"


@pytest.mark.parametrize(
    ("declared_as", "shown_as"),
    [*itertools.product(["Active", "ACTIVE", "active", "A"], ["ACTIVE", "Active"])],
)
def test_spellings_of_the_status_make_no_change(declared_as: str, shown_as: str) -> None:
    """D4, D5: a needless PUT would reset the service's failure counter."""
    there = row(
        "device", "ops", "D1", normalize.flatten_body("device", {**PHONE, "status": shown_as}), parent="A1"
    )

    assert compare(device("ops/jane/phone", status=declared_as), there) == Difference()


def test_a_status_that_only_the_record_knows_is_not_cleared() -> None:
    """D2, D4: the service keeps a status that a PUT leaves out, so leaving it out clears nothing."""
    known = record("device/ops/jane/phone", "D1", status="ACTIVE")
    person_known = record("contact/ops/jane", "A1", status="A")

    assert compare(device("ops/jane/phone"), phone("D1", "A1"), known) == Difference()
    assert compare(contact("ops/jane"), person("A1", status="A"), person_known) == Difference()
    assert compare(contact("ops/jane", status=""), person("A1", status="A")) == Difference()


def test_a_changed_push_token_is_shown_only_as_masks_under_the_salt_of_the_plan() -> None:
    """D1: secrets are compared in the form of the store, and shown in that of the plan."""
    known = record("device/ops/jane/phone", "D1", pushToken="old-canary")
    there = phone("D1", "A1", pushToken="old-canary")

    (change,) = compare(device("ops/jane/phone", pushToken="new-canary"), there, known).fields

    before, after = mask_secret("old-canary", PLAN_SALT), mask_secret("new-canary", PLAN_SALT)
    assert change == FieldChange("pushToken", before, after, "declared")
    assert compare(device("ops/jane/phone", pushToken="old-canary"), there, known) == Difference()


def test_a_record_masked_under_another_salt_never_hides_a_change_nor_makes_one() -> None:
    """A store whose salt was lost can only make the cause less exact."""
    known = record("device/ops/jane/phone", "D1", pushToken="token", salt="a lost salt")
    there = phone("D1", "A1", pushToken="token")

    assert compare(device("ops/jane/phone", pushToken="token"), there, known) == Difference()
    assert word(compare(device("ops/jane/phone", pushToken="other"), there, known)) == "both"


def test_a_push_token_that_the_service_does_not_show_is_not_sent_again() -> None:
    """D2, D5: as sent, and shown as it was: nothing moved."""
    entity = device("ops/jane/phone", pushToken="token")
    shown = {path: value for path, value in phone("D1", "A1").fields.items() if path != "pushToken"}
    known = record("device/ops/jane/phone", "D1", entity.fields, shown=shown)

    assert compare(entity, row("device", "ops", "D1", shown, parent="A1"), known) == Difference()


@pytest.mark.parametrize(
    "ignore", ["jobTitle", "custom.shoeSize", "custom", "messagingOptions", "messagingOptions.sms"]
)
def test_an_ignored_field_is_not_compared_and_not_cleared(ignore: str) -> None:
    """Used on create; afterwards it belongs to whoever changes it."""
    fields = {"jobTitle": "a", "custom.shoeSize": "a", "messagingOptions.sms.primary": "a"}
    mine = {path: v for path, v in fields.items() if path == ignore or path.startswith(f"{ignore}.")}
    known = record("contact/ops/jane", "A1", mine)
    theirs = dict.fromkeys(mine, "theirs")
    controls = Controls(ignore=frozenset({ignore}))

    assert compare(contact("ops/jane", mine, controls=controls), person("A1", theirs), known) == Difference()
    assert compare(contact("ops/jane", controls=controls), person("A1", mine), known) == Difference()


def test_ignore_names_whole_fields_and_not_their_beginnings() -> None:
    """`role` must not silence `role1`."""
    entity = contact("ops/jane", role1="a", controls=Controls(ignore=frozenset({"role"})))

    assert word(compare(entity, person("A1", role1="b"))) == "declared"


@pytest.mark.parametrize("field", [FREE, "custom.shoeSize", "password", "status", "timezone"])
def test_nothing_is_to_do_only_where_the_rules_find_nothing(field: str) -> None:
    """Most entities of a plan are judged at a glance: it may only say what all the rules say."""
    glances = 0
    for (d, sent, shown, now), protect, known_protected in itertools.product(
        CELLS, (False, True), (False, True)
    ):
        entity = contact("ops/jane", {} if d is None else {field: d}, controls=Controls(protect=protect))
        there = person("A1", {field: now})
        known = record(
            "contact/ops/jane",
            "A1",
            {} if sent is None else {field: sent},
            shown={} if sent is None else {field: shown},
            protected=known_protected,
        )
        if unchanged_since_apply(entity, there, known):
            glances += 1
            assert compare(entity, there, known) == Difference()
            assert not [*record_changes(entity, there, known, STORE_SALT)]

    # Where nothing was written, nothing moved and no digest is needed, no rule has to be asked.
    assert glances > 0


def test_what_the_service_disabled_is_no_glance() -> None:
    """A device that was sent as active and shown as disabled since is told with every plan (D4)."""
    entity = device("ops/jane/pixel", status="Active")
    known = record("device/ops/jane/pixel", "D1", {**PHONE, "status": "ACTIVE"}, shown={"status": "DISABLED"})
    there = row("device", "ops", "D1", {**PHONE, "status": "DISABLED"})

    assert not unchanged_since_apply(entity, there, known)
    assert not unchanged_since_apply(entity, there, known, reactivate=True)


def test_what_a_difference_will_look_at_is_told_before_it_is_read() -> None:
    """A list that brings less than this would make unread fields look empty."""
    known = record("contact/ops/jane", "A1", jobTitle="Clerk")

    assert paths_to_read([contact("ops/jane", firstName="Jane")], {"x": known}) == {"firstName", "jobTitle"}


def test_another_salt_of_the_store_is_another_digest() -> None:
    """The digests of two stores cannot be compared by whoever holds both."""
    assert mask_secret("token", STORE_SALT) != mask_secret("token", PLAN_SALT)


UNRECORDED = [
    *itertools.product(
        (FREE, "status", "timezone", "custom.employeeId", "password"),
        ("a", "", "ENABLED", "Europe/Berlin"),
        (None, "a", "b", "DISABLED", "+1"),
        (False, True),
    )
]


@pytest.mark.parametrize(("path", "value", "now", "reactivate"), UNRECORDED)
def test_who_is_live_as_declared_is_told_at_a_glance_as_field_by_field(
    path: str, value: str, now: str | None, *, reactivate: bool
) -> None:
    """Without a record `diff_entity` looks at everything at once first; nothing may follow from that."""
    entity = contact("ops/ada", {path: value, "firstName": "Ada"})
    there = person("A1", {"firstName": "Ada"} if now is None else {"firstName": "Ada", path: now})
    judged = [one for _, one in compare_fields(entity, there, None, salts=SALTS, reactivate=reactivate)]

    found = compare(entity, there, reactivate=reactivate)

    assert set(found.fields) == {one for one in judged if isinstance(one, FieldChange)}
    assert list(found.skips) == [one for one in judged if isinstance(one, Skip)]
