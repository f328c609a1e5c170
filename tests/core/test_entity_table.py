"""Entities as columns: what comes out is what went in, and nothing is decoded before it is asked for."""

from collections.abc import Iterable

from core.build import PLAN_SALT, at, contact, desired, device
from msgspec import structs

from reconciler.core.desired.partition import ManifestPart, join_parts
from reconciler.core.entity_table import (
    BLOCK_ROWS,
    DIGEST_BYTES,
    EntityRows,
    EntityTable,
    PlainRows,
    digest_entity,
)
from reconciler.core.planning.fingerprint import manifest_digest
from reconciler.model.documents import Controls, Place
from reconciler.model.snapshots import Desired, Entity

KEPT = Controls(protect=True, ignore=frozenset({"title", "jobTitle"}), tags={"team": "sre"})


def people(count: int, workspace: str = "ops") -> list[Entity]:
    """Some with other fields, of other files, with controls; in an order that is not that of addresses."""
    return [
        contact(
            f"{workspace}/n{number:05}",
            {"firstName": f"N{number}", **({"jobTitle": "Nurse"} if number % 3 else {})},
            place=Place("b.yaml" if number % 5 else "a.csv", number + 4, 3),
            controls=KEPT if number % 7 == 0 else Controls(),
        )
        for number in reversed(range(count))
    ]


def table(*parts: Iterable[Entity]) -> EntityTable:
    return EntityTable(map(EntityRows.of, parts))


def by_address(*parts: Iterable[Entity]) -> list[tuple[str, Entity]]:
    return sorted((one.address, one) for part in parts for one in part)


def test_what_comes_out_is_what_went_in() -> None:
    """Over several blocks and manifests: every field in its order, every place, every control."""
    first, second = people(2 * BLOCK_ROWS + 7), people(40, "lab")
    found, expected = table(first, second), by_address(first, second)

    assert list(found) == [address for address, _ in expected]
    assert [(address, found[address]) for address in found] == expected
    assert [list(found[address].fields) for address in found] == [list(one.fields) for _, one in expected]
    assert list(found.items()) == expected
    assert list(found.values()) == [one for _, one in expected]
    assert len(found) == len(expected)
    assert found.get(at("contact/ops/nobody")) is None
    assert at("contact/ops/nobody") not in found
    assert found == dict(expected)


def test_nothing_is_decoded_until_an_entity_is_asked_for_and_then_its_block_alone() -> None:
    """That is what it is for: a plan with nothing to do asks for none."""
    rows = EntityRows.of(people(2 * BLOCK_ROWS))
    unreadable = EntityRows(
        rows.addresses, rows.digests, rows.slots, rows.lines, (b"not a block", rows.blocks[1])
    )
    found = EntityTable([unreadable])
    expected = Desired(table(people(2 * BLOCK_ROWS)), frozenset())

    assert len(found) == 2 * BLOCK_ROWS
    assert manifest_digest(Desired(found, frozenset()), PLAN_SALT) == manifest_digest(expected, PLAN_SALT)
    last = rows.addresses[-1]
    assert last in found
    assert found[last].fields["firstName"] == "N0"


def test_an_entity_is_the_same_object_whenever_it_is_asked_for() -> None:
    """Callers compare them by identity; and a block is decoded once."""
    found = table(people(3))
    first = {address: found[address] for address in found}

    assert all(found[address] is one for address, one in first.items())
    assert all(one is first[address] for address, one in found.items())


def test_the_digest_of_each_entity_is_known_without_it() -> None:
    """A later plan compares them: what is equal need not be looked at."""
    entities = people(12)
    found = table(entities)

    assert {one.address: found.digest_of(one.address) for one in entities} == {
        one.address: digest_entity(one, "") for one in entities
    }
    assert len({found.digest_of(address) for address in found}) == 12
    assert {len(found.digest_of(address)) for address in found} == {DIGEST_BYTES}


def test_the_digest_of_a_manifest_is_the_same_cached_or_not() -> None:
    """Else a plan that was reviewed would be stale because a cache was there, or was not (A1)."""
    entities, others = people(30), [device("ops/n00001/phone"), contact("ops/x", password="word")]
    whole = desired(*entities, *others)
    parts = EntityTable([PlainRows({one.address: one for one in others}), EntityRows.of(entities)])

    assert manifest_digest(structs.replace(whole, entities=parts), PLAN_SALT) == manifest_digest(
        whole, PLAN_SALT
    )


def test_the_digest_of_a_manifest_tells_nothing_to_another_plan() -> None:
    """What two plans have in common is nobody's business who has only one of them."""
    found = Desired(table(people(3)), frozenset())

    assert manifest_digest(found, PLAN_SALT) != manifest_digest(found, "salt of another plan")


def test_nobody_can_try_words_on_the_digest_of_a_manifest() -> None:
    """It stands in plan files, beside the salt, and those are mailed around: no password changes it."""
    one, other = (desired(contact("ops/jane", password=word)) for word in ("Rex", "Bello"))

    assert manifest_digest(one, PLAN_SALT) == manifest_digest(other, PLAN_SALT)
    assert digest_entity(device("ops/jane/phone"), "one") != digest_entity(device("ops/jane/phone"), "other")


def test_an_address_that_two_manifests_declare_is_told() -> None:
    """Then all are read together, which finds the words for it."""
    assert table(people(3), people(2, "lab")).is_unique
    assert not table(people(3), people(1)).is_unique


def test_equal_digests_of_claims_are_never_taken_for_unequal_claims() -> None:
    """Eight bytes may be equal by chance: then all manifests are resolved together, which tells."""
    parts = [
        ManifestPart(EntityRows.of(people(1, workspace)), frozenset(), claims=(7, claim))
        for workspace, claim in (("ops", 8), ("lab", 9))
    ]

    assert join_parts(parts[:1], rows_max=0) is not None
    assert join_parts(parts, rows_max=0) is None
    assert join_parts([parts[0], structs.replace(parts[1], claims=(10, 9))], rows_max=0) is not None
