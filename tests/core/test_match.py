"""Which live entity is it? Rules M1 to M4 and M6, and everything that must not be taken for a match."""

import unicodedata

from core.build import MARKED, at, contact, device, person, phone, record, recorded

from reconciler.core.compare.match import IdentityIndex, Matches, Recognized, match_entities, shared_identity
from reconciler.model.address import Address
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity

MAIL = (("workEmailAddress1",),)
STAFF = (("custom.employeeId",), ("workEmailAddress1",))
JANE, SAM = at("contact/ops/jane"), at("contact/ops/sam")


def matches(
    entities: list[Entity],
    rows: list[LiveEntity],
    *records: RecordedEntity,
    keys: tuple[tuple[str, ...], ...] = MAIL,
    former: dict[Address, Address] | None = None,
) -> Matches:
    return match_entities(entities, rows, recorded(*records).entities, keys=keys, former=former or {})


def ids(result: Matches) -> dict[Address, str]:
    return {address: hit.live.remote_id for address, hit in result.found.items()}


def mail(where: str, address: str) -> Entity:
    return contact(where, workEmailAddress1=address)


def test_the_recorded_remote_id_comes_first() -> None:
    """M1: also when somebody else carries the identity now."""
    rows = [
        person("A1", workEmailAddress1="other@example.com"),
        person("B2", workEmailAddress1="jane@example.com"),
    ]

    result = matches([mail("ops/jane", "jane@example.com")], rows, record(JANE, "A1"))

    assert result.found == {JANE: Recognized(rows[0], "record", JANE)}


def test_a_recorded_id_that_is_not_live_any_more_gives_way_to_identity() -> None:
    """M2: somebody deleted the contact and made it again by hand."""
    rows = [person("B2", workEmailAddress1="jane@example.com")]

    result = matches([mail("ops/jane", "jane@example.com")], rows, record(JANE, "A1"))

    assert result.found == {JANE: Recognized(rows[0], "workEmailAddress1", None)}


def test_identity_fields_are_tried_in_their_order() -> None:
    """M2: the settings say which is the stronger one."""
    rows = [
        person("A1", {"custom.employeeId": "1"}, workEmailAddress1="old@example.com"),
        person("B2", {"custom.employeeId": "2"}, workEmailAddress1="jane@example.com"),
    ]
    jane = contact("ops/jane", {"custom.employeeId": "1"}, workEmailAddress1="jane@example.com")

    assert ids(matches([jane], rows, keys=STAFF)) == {JANE: "A1"}
    assert ids(matches([jane], rows, keys=STAFF[::-1])) == {JANE: "B2"}


def test_an_email_is_compared_exactly_but_for_case_space_and_form() -> None:
    """M2: the service's search answers "contains"; every row is compared again."""
    rows = [
        person("A1", workEmailAddress1="jane@example.com.au"),
        person("B2", workEmailAddress1=unicodedata.normalize("NFD", " Jané@Example.COM ")),
        person("C3", workEmailAddress1="xjané@example.com"),
    ]

    assert ids(matches([mail("ops/jane", "jané@example.com")], rows)) == {JANE: "B2"}


def test_an_empty_identity_matches_nobody() -> None:
    """S2, M2: "" means "clear it"; everybody without an e-mail address would be alike."""
    rows = [person("A1", firstName="Sam"), person("B2", workEmailAddress1="")]

    for entity in (mail("ops/jane", ""), mail("ops/jane", "  "), contact("ops/jane")):
        assert matches([entity], rows) == Matches({}, {}, {}, ())


def test_a_device_is_known_by_all_its_identity_fields_together() -> None:
    """M2: two apps may have a device of one name."""
    rows = [phone("D1", "A1", appId="com.example.other"), phone("D2", "A1")]
    keys = (("appId", "deviceName"),)

    assert ids(matches([device("ops/jane/phone")], rows, keys=keys)) == {at("device/ops/jane/phone"): "D2"}
    assert ids(matches([device("ops/jane/phone", deviceName="Tablet")], rows, keys=keys)) == {}


def test_several_live_matches_are_ambiguous_and_none_is_taken() -> None:
    """M3: reported with their remote ids; the others go on."""
    rows = [
        person("B2", workEmailAddress1="jane@example.com"),
        person("A1", workEmailAddress1="Jane@example.com"),
        person("C3", workEmailAddress1="sam@example.com"),
    ]

    result = matches([mail("ops/jane", "jane@example.com"), mail("ops/sam", "sam@example.com")], rows)

    assert result.ambiguous == {JANE: ("A1", "B2")}
    assert ids(result) == {SAM: "C3"}


def test_one_row_that_was_shown_twice_is_one_entity() -> None:
    """M3: a list that changes while it is read repeats rows."""
    rows = [person("A1", workEmailAddress1="jane@example.com")] * 2

    assert ids(matches([mail("ops/jane", "jane@example.com")], rows)) == {JANE: "A1"}


def test_a_record_resolves_an_ambiguity() -> None:
    """M1: a double made by hand does not stop what is known to be ours."""
    rows = [person(one, workEmailAddress1="jane@example.com") for one in ("A1", "B2")]

    result = matches([mail("ops/jane", "jane@example.com")], rows, record(JANE, "B2"))

    assert (ids(result), result.ambiguous) == ({JANE: "B2"}, {})


def test_two_declared_entities_that_are_one_live_entity_are_contested() -> None:
    """M4: an input error that names both."""
    entities = [mail("ops/jane", "jane@example.com"), mail("ops/sam", "JANE@example.com")]

    result = matches(entities, [person("A1", workEmailAddress1="jane@example.com")])

    assert result.contested == ((JANE, SAM),)


def test_a_live_entity_that_is_recorded_for_another_declared_one_is_not_taken_from_it() -> None:
    """M1 before M2: an e-mail address that moved on to a new person moves first, then the person is made."""
    rows = [person("A1", workEmailAddress1="team@example.com")]
    entities = [mail("ops/jane", "jane@example.com"), mail("ops/sam", "team@example.com")]

    result = matches(entities, rows, record(JANE, "A1"))

    assert (ids(result), result.claimed, result.contested) == ({JANE: "A1"}, {SAM: JANE}, ())


def test_the_same_holds_while_the_other_is_being_renamed() -> None:
    """M6: it is not an input error that a renamed person gave the address away."""
    rows = [person("A1", workEmailAddress1="team@example.com")]
    entities = [mail("ops/jane", "jane@example.com"), mail("ops/sam", "team@example.com")]
    old = at("contact/ops/janet")

    result = matches(entities, rows, record(old, "A1"), former={JANE: old})

    assert result.found == {JANE: Recognized(rows[0], "record", old)}
    assert (result.claimed, result.contested) == ({SAM: JANE}, ())


def test_a_stronger_identity_holds_a_row_against_a_weaker_one() -> None:
    """M2: with a lost store, a reassigned e-mail address must not stop the whole run."""
    rows = [person("A1", {"custom.employeeId": "1"}, workEmailAddress1="team@example.com")]
    sam = contact("ops/sam", {"custom.employeeId": "1"}, workEmailAddress1="sam@example.com")
    jane = contact("ops/jane", {"custom.employeeId": "2"}, workEmailAddress1="team@example.com")

    for entities in ([jane, sam], [sam, jane]):
        result = matches(entities, rows, keys=STAFF)
        assert (ids(result), result.claimed, result.contested) == ({SAM: "A1"}, {JANE: SAM}, ())


def test_our_mark_is_the_strongest_identity() -> None:
    """X5: without a store, the mark finds a contact whatever became of its e-mail address."""
    path = MARKED.mark_path
    rows = [
        person("A1", {path: "ops-contacts/jane"}, workEmailAddress1="new@example.com"),
        person("B2", workEmailAddress1="jane@example.com"),
    ]
    jane = contact("ops/jane", {path: "ops-contacts/jane"}, workEmailAddress1="jane@example.com")

    result = matches([jane], rows, keys=MARKED.keys("contact"))

    assert result.found == {JANE: Recognized(rows[0], path, None)}


def test_people_who_swapped_their_addresses_stay_who_they_are() -> None:
    """M1: recorded ids hold while identities cross over."""
    rows = [
        person("A1", workEmailAddress1="sam@example.com"),
        person("B2", workEmailAddress1="jane@example.com"),
    ]
    entities = [mail("ops/jane", "jane@example.com"), mail("ops/sam", "sam@example.com")]

    assert ids(matches(entities, rows, record(JANE, "A1"), record(SAM, "B2"))) == {JANE: "A1", SAM: "B2"}


def test_a_former_name_leads_to_the_record() -> None:
    """M6: renamedFrom carries identity over, whatever else changed."""
    old = at("contact/ops/janet")
    rows = [person("A1", workEmailAddress1="janet@example.com")]

    result = matches([mail("ops/jane", "jane@example.com")], rows, record(old, "A1"), former={JANE: old})

    assert result.found == {JANE: Recognized(rows[0], "record", old)}


def test_an_own_record_is_worth_more_than_a_former_name() -> None:
    """M6: the line may stay after the rename, and its old name may be given to somebody else."""
    old = at("contact/ops/janet")
    rows = [
        person("A1", workEmailAddress1="jane@example.com"),
        person("B2", workEmailAddress1="new@example.com"),
    ]

    result = matches(
        [mail("ops/jane", "jane@example.com")],
        rows,
        record(JANE, "A1"),
        record(old, "B2"),
        former={JANE: old},
    )

    assert result.found == {JANE: Recognized(rows[0], "record", JANE)}


def test_a_new_name_for_a_recorded_person_is_found_again_by_identity() -> None:
    """M6: a rename without renamedFrom is recognized when the identity did not change."""
    old = at("contact/ops/janet")
    rows = [person("A1", workEmailAddress1="jane@example.com")]

    result = matches([mail("ops/jane", "jane@example.com")], rows, record(old, "A1"))

    assert result.found == {JANE: Recognized(rows[0], "workEmailAddress1", old)}


def test_same_identity_names_the_fields_by_which_two_are_the_same() -> None:
    """The exact lookup before a create uses the same rule as the plan."""
    fields = {"custom.employeeId": "1", "workEmailAddress1": "JANE@example.com"}

    assert shared_identity(fields, {"workEmailAddress1": "jane@example.com"}, STAFF) == "workEmailAddress1"
    assert shared_identity(fields, {"custom.employeeId": "1"}, STAFF) == "custom.employeeId"
    assert shared_identity(fields, {"custom.employeeId": "11"}, STAFF) == ""
    assert shared_identity({}, {}, STAFF) == ""
    assert shared_identity(
        dict(phone("D1", "A1").fields), phone("D2", "A1").fields, (("appId", "deviceName"),)
    ) == ("appId+deviceName")


def test_an_index_answers_with_the_first_identity_that_anybody_shares() -> None:
    """M2: a weaker identity is asked only where the stronger one finds nobody."""
    one = person("A1", {"custom.employeeId": "1"}, workEmailAddress1="a@example.com")
    two = person("B2", workEmailAddress1="b@example.com")
    index = IdentityIndex([one, two], STAFF)

    assert index.candidates({"custom.employeeId": "1", "workEmailAddress1": "b@example.com"}) == (
        "custom.employeeId",
        [one],
    )
    assert index.candidates({"custom.employeeId": "9", "workEmailAddress1": "b@example.com"}) == (
        "workEmailAddress1",
        [two],
    )
    assert index.candidates({"custom.employeeId": "9"}) == ("", [])
