"""What is live becomes entries: who is exported, under which name, and who is told."""

from collections.abc import Mapping

from core.build import RULES
from msgspec import structs

from reconciler.core.export import Export, ExportOptions, export_live
from reconciler.manifest.flatten import list_known_fields
from reconciler.model.address import Address
from reconciler.model.documents import Place, Scalar
from reconciler.model.settings import Identity
from reconciler.model.snapshots import Desired, Entity, LiveEntity, Recorded, RecordedEntity, Scope

OPS = Scope("contact", "ops")
NOTHING = Desired({}, frozenset())
PLAIN = structs.replace(RULES, mark="", identity=Identity())


def person(remote_id: str, mail: str = "", **fields: Scalar) -> LiveEntity:
    every = {"firstName": "Ann", **fields, **({"workEmailAddress1": mail} if mail else {})}
    return LiveEntity("contact", "ops", remote_id, every)


def exported(
    *rows: LiveEntity,
    declared: Desired = NOTHING,
    records: Mapping[Address, RecordedEntity] | None = None,
    zone: str = "",
) -> Export:
    wishes = ExportOptions(zone, list_known_fields({}))
    return export_live({OPS: rows}, declared, Recorded(records or {}), PLAIN, wishes)


def names(found: Export) -> dict[str, str]:
    return {one.remote_id: one.address.name for one in found.entries}


def told(found: Export, reason: str) -> list[str]:
    return [one.subject for one in found.left if one.reason == reason]


def test_a_name_is_that_of_the_record_else_what_somebody_is_called() -> None:
    """An export after a lost folder gives everybody the name that the store, and so the plan, knows."""
    address = Address("contact/ops/the-boss")
    records = {address: RecordedEntity(address, "A1")}
    rows = (person("A1", "a@example.com"), person("A2", "b@example.com"), person("A3", "c@example.com"))

    found = exported(*rows, records=records)

    assert names(found) == {"A1": "the-boss", "A2": "ann", "A3": "ann-2"}
    assert found == exported(*reversed(rows), records=records)


def test_a_name_is_never_a_whole_address() -> None:
    """Names stand in plans, logs and file names."""
    row = LiveEntity("contact", "ops", "A1", {"workEmailAddress1": "jo.li@example.com"})
    assert names(exported(row)) == {"A1": "jo-li"}


def test_a_name_that_is_declared_is_not_given_again() -> None:
    address = Address("contact/ops/ann")
    entity = Entity(address, {"workEmailAddress1": "old@example.com"}, Place("a.yaml", 7))
    found = exported(person("A1", "a@example.com"), declared=Desired({address: entity}, frozenset({OPS})))
    assert names(found) == {"A1": "ann-2"}


def test_whoever_is_declared_is_not_exported_again() -> None:
    """Recognized as a plan recognizes them: whatever the letter case of the address."""
    address = Address("contact/ops/somebody")
    entity = Entity(address, {"workEmailAddress1": "A@example.com"}, Place("a.yaml", 7))
    found = exported(person("A1", "a@example.com"), declared=Desired({address: entity}, frozenset({OPS})))
    assert (found.entries, found.left, found.declared) == ((), (), 1)


def test_whoever_cannot_be_recognized_is_told_by_id_and_not_exported() -> None:
    """A plan would make a second one of each."""
    found = exported(person("A1"), person("A2", "b@example.com"), person("A3", "B@example.com"))
    assert found.entries == ()
    assert told(found, "identity") == ["contact in ops, id A1"]
    assert told(found, "twice") == ["contact in ops, id A2", "contact in ops, id A3"]


def test_a_time_zone_is_written_where_its_offset_fits() -> None:
    """The service shows an offset; +10 may be Melbourne, and +8 is not."""
    rows = (
        person("A1", "a@example.com", timezone="+10"),
        person("A2", "b@example.com", firstName="Bo", timezone="+8"),
    )
    found = exported(*rows, zone="Australia/Melbourne")
    assert [one.fields.get("timezone") for one in found.entries] == ["Australia/Melbourne", None]
    assert told(found, "zone") == ["contact/ops/bo"]
    assert told(exported(*rows), "zone") == ["contact/ops/ann", "contact/ops/bo"]


def test_a_field_that_manifests_do_not_know_is_told() -> None:
    found = exported(person("A1", "a@example.com", shoeSize="9"))
    assert [(one.subject, one.field) for one in found.left if one.reason == "unknown"] == [
        ("contact/ops/ann", "shoeSize")
    ]


def test_a_new_device_of_a_declared_contact_is_told() -> None:
    """Its entry stands in a file that people edit, and no export edits an entry."""
    address = Address("contact/ops/ann")
    entity = Entity(address, {"workEmailAddress1": "a@example.com"}, Place("a.yaml", 7))
    device = LiveEntity("device", "ops", "D1", {"appId": "x", "deviceName": "y"}, parent_id="A1")
    lost = LiveEntity("device", "ops", "D2", {"appId": "x", "deviceName": "y"}, parent_id="A2")
    live = {OPS: (person("A1", "a@example.com"), person("A2")), Scope("device", "ops"): (device, lost)}
    declared = Desired({address: entity}, frozenset({OPS}))

    found = export_live(live, declared, Recorded({}), PLAIN, ExportOptions("", list_known_fields({})))

    assert found.entries == ()
    assert told(found, "inside") == ["device in ops, id D1, of contact/ops/ann at a.yaml:7"]
    assert told(found, "above") == ["device in ops, id D2"]


def test_whoever_leaves_the_manifests_is_told_and_not_brought_back() -> None:
    """`removed:` and an entry of the same name contradict each other: `validate` would refuse the export."""
    removed = Desired({}, frozenset(), removed={Address("contact/ops/ann"): Place("a.yaml", 4)})
    found = exported(person("A1", "a@example.com"), person("A2", "b@example.com"), declared=removed)
    assert names(found) == {"A2": "ann-2"}
    assert told(found, "removed") == ["contact in ops, id A1"]


def test_a_value_is_exported_without_the_blanks_at_its_edges() -> None:
    """A manifest with them would be warned about; the first plan removes them at the service."""
    found = exported(person("A1", "a@example.com", jobTitle="Nurse\u00a0", lastName="Doe"))

    assert found.entries[0].fields["jobTitle"] == "Nurse"
    assert [(one.reason, one.field) for one in found.left if one.reason == "blanks"] == [
        ("blanks", "jobTitle")
    ]


def test_a_number_in_two_spellings_is_one_identity() -> None:
    """Exported apart, the two would be a mistake (E303) in the manifests that were just written."""
    rules = structs.replace(RULES, identity=Identity({"contacts": ("workMobilePhone1",)}))
    people = [
        person(one, workMobilePhone1=number, workCountry="Australia")
        for one, number in (("A1", "0491 570 156"), ("A2", "61491570156"), ("A3", "0491 570 157"))
    ]

    found = export_live({OPS: people}, NOTHING, Recorded({}), rules, ExportOptions("", list_known_fields({})))

    assert told(found, "twice") == ["contact in ops, id A1", "contact in ops, id A2"]
