"""What is remembered: sent, shown, and for how long that holds."""

from core.build import (
    STORE_SALT,
    contact,
    desired,
    device,
    live,
    person,
    phone,
    planned,
    record,
    recorded,
    row,
)
from msgspec import structs

from reconciler.core.compare.normalize import mask_password, mask_secret
from reconciler.core.planning.records import keep_proven, make_record, refresh_records
from reconciler.model.documents import Controls
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired, Live, Recorded, RecordedEntity


def refreshed(plan: Plan, want: Desired, there: Live, known: Recorded) -> list[RecordedEntity]:
    """Return the records that an apply of this plan writes before its changes."""
    return [one.record for one in refresh_records(plan, want, there, known)]


def test_an_unselected_entity_keeps_its_record_so_that_its_change_is_not_lost() -> None:
    """Remembering a value as sent that never was would make D2 call it unchanged for ever."""
    want = desired(
        contact("ops/jane", workEmailAddress1="jane@example.com", jobTitle="Engineer"),
        contact("ops/sam", workEmailAddress1="sam@example.com", jobTitle="Engineer"),
    )
    there = live(
        person("A1", workEmailAddress1="jane@example.com", jobTitle="Clerk"),
        person("B2", workEmailAddress1="sam@example.com", jobTitle="Clerk"),
    )
    known = recorded(
        record("contact/ops/jane", "A1", workEmailAddress1="jane@example.com", jobTitle="Clerk"),
        record("contact/ops/sam", "B2", workEmailAddress1="sam@example.com", jobTitle="Clerk"),
    )

    plan = planned(want, there, known, only=("contact/ops/jane",))

    assert refreshed(plan, want, there, known) == []


def test_a_record_of_another_workspace_with_the_same_remote_id_is_not_mixed_up() -> None:
    """The service may show one contact in two workspaces under one id."""
    want = desired(
        contact("lab/jane", workEmailAddress1="jane@example.com", firstName="Jane"),
        contact("ops/jane", workEmailAddress1="jane@example.com", firstName="Janet"),
    )
    there = live(
        person("A1", workEmailAddress1="jane@example.com", firstName="Jane", workspace="lab"),
        person("A1", workEmailAddress1="jane@example.com", firstName="Janet"),
    )

    plan = planned(want, there)
    kept = {one.address: one.shown["firstName"] for one in refreshed(plan, want, there, recorded())}

    assert plan.changes == ()
    assert kept == {"contact/lab/jane": "Jane", "contact/ops/jane": "Janet"}


def test_an_adoption_without_a_change_is_recorded() -> None:
    """M5: apply just records it, and nothing is written."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com"))
    there = live(person("A1", workEmailAddress1="jane@example.com", jobTitle="Clerk"))

    (kept,) = refreshed(planned(want, there), want, there, recorded())

    assert (kept.remote_id, kept.sent, kept.shown) == (
        "A1",
        {"workEmailAddress1": "jane@example.com"},
        {"workEmailAddress1": "jane@example.com"},
    )


def test_what_is_changed_is_recorded_by_its_step_and_not_before() -> None:
    """A crash between the record and the call must not leave a record of what never happened."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com", jobTitle="Engineer"))
    there = live(person("A1", workEmailAddress1="jane@example.com"))

    assert refreshed(planned(want, there), want, there, recorded()) == []


def test_what_was_left_alone_keeps_its_record() -> None:
    """M3: an ambiguous entity is never acted on, not even in the store."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com"))
    there = live(
        person("A1", workEmailAddress1="jane@example.com"), person("B2", workEmailAddress1="jane@example.com")
    )
    known = recorded(record("contact/ops/jane", "C3", workEmailAddress1="jane@example.com"))

    assert refreshed(planned(want, there, known), want, there, known) == []


def test_a_rename_is_recorded_under_the_new_address() -> None:
    """M6: the record moves with the name."""
    want = desired(
        contact(
            "ops/jane-roe", workEmailAddress1="jane@example.com", controls=Controls(renamed_from="jane-doe")
        )
    )
    there = live(person("A1", workEmailAddress1="jane@example.com"))
    known = recorded(record("contact/ops/jane-doe", "A1", workEmailAddress1="jane@example.com"))

    (kept,) = refreshed(planned(want, there, known), want, there, known)

    assert (kept.address, kept.remote_id) == ("contact/ops/jane-roe", "A1")


def test_protection_is_remembered_and_lifted_with_the_manifest_line() -> None:
    """X2: protection outlives the entry, and ends when the entry stays and says so no more."""
    there = live(person("A1", workEmailAddress1="jane@example.com"))
    for before in (True, False):
        entity = contact(
            "ops/jane", workEmailAddress1="jane@example.com", controls=Controls(protect=not before)
        )
        known = recorded(
            record("contact/ops/jane", "A1", workEmailAddress1="jane@example.com", protected=before)
        )
        (kept,) = refreshed(planned(desired(entity), there, known), desired(entity), there, known)
        assert kept.protected is not before


def test_a_record_that_would_not_change_is_not_written_again() -> None:
    """The second apply makes no write, in the store neither."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com"))
    there = live(person("A1", workEmailAddress1="jane@example.com"))
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1="jane@example.com"))

    assert refreshed(planned(want, there, known), want, there, known) == []


def test_a_field_taken_over_by_somebody_else_is_forgotten_after_it_was_reported() -> None:
    """D2: what is left to others is not reported for ever."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com"))
    there = live(person("A1", workEmailAddress1="jane@example.com", jobTitle="Director"))
    known = recorded(record("contact/ops/jane", "A1", workEmailAddress1="jane@example.com", jobTitle="Clerk"))

    plan = planned(want, there, known)
    (kept,) = refreshed(plan, want, there, known)

    assert [skip.reason for skip in plan.skips] == ["taken over"]
    assert kept.sent == {"workEmailAddress1": "jane@example.com"}


def test_a_disabled_device_keeps_a_record_that_still_reports_it() -> None:
    """D4: left disabled, and shown again with every plan."""
    want = desired(
        contact("ops/jane", workEmailAddress1="jane@example.com", devices=True),
        device("ops/jane/phone", status="ACTIVE"),
    )
    there = live(person("A1", workEmailAddress1="jane@example.com"), phone("D1", "A1", status="DISABLED"))
    first = planned(want, there)
    kept = recorded(*refreshed(first, want, there, recorded()))

    second = planned(want, there, kept)

    assert [skip.reason for skip in first.skips] == [skip.reason for skip in second.skips] == ["disabled"]
    assert second.changes == ()


def test_secrets_are_remembered_only_as_digests_under_the_salt_of_the_store() -> None:
    """The store holds nothing that could be sent to a device."""
    row_ = phone("D1", "A1", pushToken="canary-token")

    kept = make_record(device("ops/jane/phone", pushToken="canary-token"), row_, salt=STORE_SALT)

    assert kept.sent["pushToken"] == kept.shown["pushToken"] == mask_secret("canary-token", STORE_SALT)
    assert "canary-token" not in repr(kept)


def test_an_ignored_field_is_remembered_as_sent_by_the_create_and_later_left_as_it_was() -> None:
    """Used on create, not compared afterwards: a later record must not claim to have sent it."""
    entity = contact(
        "ops/jane", firstName="Jane", jobTitle="Engineer", controls=Controls(ignore=frozenset({"jobTitle"}))
    )
    shown = person("A1", firstName="Jane", jobTitle="Clerk")

    created = make_record(entity, shown, salt=STORE_SALT, created=True)
    adopted = make_record(entity, shown, salt=STORE_SALT)
    later = make_record(entity, shown, salt=STORE_SALT, before=created)

    assert created.sent == {"firstName": "Jane", "jobTitle": "Engineer"}
    assert adopted.sent == {"firstName": "Jane"}
    assert (later.sent, later.shown) == (created.sent, created.shown)


def test_a_value_that_the_service_does_not_show_is_remembered_as_not_shown() -> None:
    """A cleared field that stays, or one that is never shown, must not look like drift."""
    kept = make_record(contact("ops/jane", jobTitle="", password="hush"), person("A1"), salt=STORE_SALT)

    assert kept.sent == {"jobTitle": "", "password": mask_password("hush", STORE_SALT)}
    assert kept.shown == {}


def test_the_time_of_change_is_kept_only_when_a_later_edit_must_show_another() -> None:
    """An edit in the second in which we looked would stay unseen for ever."""
    settled = row("contact", "ops", "A1", modified="2026-03-01T12:00:00Z", seen="2026-03-01T12:00:02+00:00")
    fresh = row("contact", "ops", "A1", modified="2026-03-01T12:00:00Z", seen="2026-03-01T12:00:01+00:00")

    assert make_record(contact("ops/jane"), settled, salt=STORE_SALT).modified == "2026-03-01T12:00:00Z"
    assert make_record(contact("ops/jane"), fresh, salt=STORE_SALT).modified == ""


def test_what_is_not_live_is_not_remembered() -> None:
    """A create that has not happened leaves no record."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com"))

    assert refreshed(planned(want, Live({})), want, Live({}), Recorded({})) == []


def test_a_record_that_was_put_back_is_older_than_the_time_of_change() -> None:
    """With that time it would pass for what is live, and the drift that was not set back would be quiet."""
    before = record("contact/ops/jane", "A1", jobTitle="Engineer", firstName="Jane")
    after = structs.replace(
        record("contact/ops/jane", "A1", jobTitle="Engineer", firstName="Janet"),
        shown={"jobTitle": "Director", "firstName": "Janet"},
        modified="2026-03-01T12:00:00Z",
    )

    kept = keep_proven(after, before, taken={"firstName"}, refused={"jobTitle"})

    assert kept.sent == {"jobTitle": "Engineer", "firstName": "Janet"}
    assert kept.shown == {"jobTitle": "Engineer", "firstName": "Janet"}
    assert kept.modified == ""
    assert keep_proven(after, before, taken={"firstName", "jobTitle"}).modified == after.modified
