"""Is what was approved still what would be done? Every part of a plan, changed one at a time."""

from collections.abc import Callable, Mapping

import pytest
from core.build import (
    OPS,
    PLACE,
    PLAN_SALT,
    TARGET,
    at,
    contact,
    content_of,
    desired,
    device,
    live,
    person,
    phone,
    planned,
    record,
    recorded,
    resource,
)
from msgspec import structs

from reconciler.core.planning.deletes import forget_records
from reconciler.core.planning.fingerprint import fingerprint, manifest_digest
from reconciler.model.documents import Controls, Place
from reconciler.model.plans import (
    Adoption,
    Create,
    Delete,
    FieldChange,
    Options,
    Plan,
    Skip,
    Update,
    Workspace,
)
from reconciler.model.snapshots import Desired, Entity, Read

CREATE = Create(at("contact/ops/new"), "f:1", {"firstName": "Kim"})
UPDATE = Update(
    at("contact/ops/jane"), "f:2", "A1", (FieldChange("jobTitle", "a", "b", "declared"),), "P", "name"
)
DELETE = Delete(at("contact/ops/old"), "C3", {"firstName": "Old"}, "P", ("Tablet",))
PLAN = Plan(
    TARGET,
    Options(("kind:contact",), ("contact/ops/x",), ("device/ops/a/b",)),
    "digest",
    PLAN_SALT,
    (UPDATE, CREATE, DELETE),
    adoptions=(Adoption(at("contact/ops/sam"), "B2", "name"),),
    gone=(at("contact/ops/lost"),),
    renames={at("contact/ops/a"): at("contact/ops/b")},
)


def with_change(old: object, new: Create | Update | Delete) -> Plan:
    return structs.replace(PLAN, changes=tuple(new if one is old else one for one in PLAN.changes))


def field(**new: object) -> Plan:
    return with_change(UPDATE, structs.replace(UPDATE, fields=(structs.replace(UPDATE.fields[0], **new),)))


DIFFERENT: Mapping[str, Callable[[], Plan]] = {
    "version": lambda: structs.replace(PLAN, version=3),
    "origin": lambda: structs.replace(
        PLAN, target=structs.replace(TARGET, origin="https://other.example.com")
    ),
    "stack": lambda: structs.replace(PLAN, target=structs.replace(TARGET, stack="other")),
    "workspace id": lambda: structs.replace(
        PLAN, target=structs.replace(TARGET, workspaces=(Workspace("ops", "X"),))
    ),
    "only": lambda: structs.replace(PLAN, options=structs.replace(PLAN.options, only=())),
    "except": lambda: structs.replace(PLAN, options=structs.replace(PLAN.options, excluded=())),
    "reactivate": lambda: structs.replace(PLAN, options=structs.replace(PLAN.options, reactivate=())),
    "forget": lambda: structs.replace(
        PLAN, options=structs.replace(PLAN.options, forget=("contact/ops/sam",))
    ),
    "adopt": lambda: structs.replace(PLAN, options=structs.replace(PLAN.options, adopt=True)),
    "forgotten": lambda: structs.replace(PLAN, records=forget_records([at("contact/ops/sam")])),
    "only moved to except": lambda: structs.replace(PLAN, options=Options((), ("kind:contact",))),
    "manifest": lambda: structs.replace(PLAN, manifest_digest="other"),
    "salt": lambda: structs.replace(PLAN, salt="other"),
    "a change less": lambda: structs.replace(PLAN, changes=PLAN.changes[1:]),
    "no changes": lambda: structs.replace(PLAN, changes=()),
    "create address": lambda: with_change(CREATE, structs.replace(CREATE, address=at("contact/lab/new"))),
    "create fields": lambda: with_change(CREATE, structs.replace(CREATE, fields={"firstName": "Kit"})),
    "create cause": lambda: with_change(CREATE, structs.replace(CREATE, cause="gone")),
    "update id": lambda: with_change(UPDATE, structs.replace(UPDATE, remote_id="A2")),
    "update parent": lambda: with_change(UPDATE, structs.replace(UPDATE, parent_id="Q")),
    "update adopts": lambda: with_change(UPDATE, structs.replace(UPDATE, adopts="")),
    "field path": lambda: field(path="title"),
    "field before": lambda: field(before="x"),
    "field before absent": lambda: field(before=None),
    "field after": lambda: field(after="x"),
    "field after cleared": lambda: field(after=None),
    "field cause": lambda: field(cause="drifted"),
    "delete id": lambda: with_change(DELETE, structs.replace(DELETE, remote_id="C4")),
    "delete before": lambda: with_change(DELETE, structs.replace(DELETE, before={"firstName": "New"})),
    "delete cascades": lambda: with_change(DELETE, structs.replace(DELETE, cascades=())),
    "delete parent": lambda: with_change(DELETE, structs.replace(DELETE, parent_id="Q")),
    "adoption id": lambda: structs.replace(
        PLAN, adoptions=(structs.replace(PLAN.adoptions[0], remote_id="B3"),)
    ),
    "no adoption": lambda: structs.replace(PLAN, adoptions=()),
    "gone": lambda: structs.replace(PLAN, gone=()),
    "renames": lambda: structs.replace(PLAN, renames={}),
}
SAME: Mapping[str, Callable[[], Plan]] = {
    "place": lambda: with_change(CREATE, structs.replace(CREATE, place="f:99")),
    "time": lambda: structs.replace(
        PLAN, created_at="2026-01-01T00:00:00Z", expires_at="2026-01-02T00:00:00Z"
    ),
    "reads": lambda: structs.replace(PLAN, reads=(Read(OPS, "scan", 9, 9, 9, complete=True),)),
    "counts": lambda: structs.replace(PLAN, unchanged={"x": 1}, unmanaged={"x": 1}, owned={"x": 1}),
    "skips": lambda: structs.replace(PLAN, skips=(Skip(at("contact/ops/x"), "protected", "what"),)),
    "itself": lambda: structs.replace(PLAN, fingerprint="whatever it was"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_every_part_of_what_would_be_done_is_covered(name: str) -> None:
    """A1: service, stack, workspace ids, manifest, options, and every change with its before-values."""
    assert fingerprint(DIFFERENT[name]()) != fingerprint(PLAN)


def test_no_two_mutations_are_the_same_plan() -> None:
    """A1: parts do not run into each other."""
    assert len({fingerprint(make()) for make in DIFFERENT.values()}) == len(DIFFERENT)


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_change_the_deeds_does_not_change_the_fingerprint(name: str) -> None:
    """A1: a line moved, a later look, another count of strangers."""
    assert fingerprint(SAME[name]()) == fingerprint(PLAN)


def test_a_fingerprint_is_that_of_the_plan_it_stands_in() -> None:
    """A1: made last, over everything else."""
    plan = planned(desired(contact("ops/jane", workEmailAddress1="jane@example.com")), live())

    assert plan.fingerprint == fingerprint(plan)
    assert len(plan.fingerprint) == 64


def test_a_live_value_that_moves_makes_the_plan_stale() -> None:
    """A1: the before-values are part of it."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com", jobTitle="Engineer"))
    prints = {
        planned(want, live(person("A1", workEmailAddress1="jane@example.com", jobTitle=title))).fingerprint
        for title in ("Clerk", "Director", "Engineer")
    }

    assert len(prints) == 3


def test_a_live_value_that_nobody_declares_does_not() -> None:
    """A1: what is not ours may move."""
    want = desired(contact("ops/jane", workEmailAddress1="jane@example.com", jobTitle="Engineer"))
    prints = {
        planned(want, live(person("A1", workEmailAddress1="jane@example.com", department=one))).fingerprint
        for one in ("Day", "Night")
    }

    assert len(prints) == 1


def test_a_contact_to_be_deleted_that_moves_makes_the_plan_stale_in_any_field() -> None:
    """A1, W11: a delete is planned against the whole of what it removes."""
    known = recorded(record("contact/ops/jane", "A1"))
    prints = {
        planned(desired(scopes=[OPS]), live(person("A1", department=one), *more), known).fingerprint
        for one, more in (("Day", ()), ("Night", ()), ("Day", (phone("D1", "A1"),)))
    }

    assert len(prints) == 3


JANE = contact("ops/jane", firstName="Jane", jobTitle="")
CHANGED: Mapping[str, Entity] = {
    "value": contact("ops/jane", firstName="Janet", jobTitle=""),
    "cleared or absent": contact("ops/jane", firstName="Jane"),
    "protect": contact("ops/jane", JANE.fields, controls=Controls(protect=True)),
    "ignore": contact("ops/jane", JANE.fields, controls=Controls(ignore=frozenset({"jobTitle"}))),
    "tags": contact("ops/jane", JANE.fields, controls=Controls(tags={"team": "sre"})),
    "renamed": contact("ops/jane", JANE.fields, controls=Controls(renamed_from="janet")),
    "reactivate": contact("ops/jane", JANE.fields, controls=Controls(reactivate=True)),
    "devices in scope": contact("ops/jane", JANE.fields, devices=True),
    "name": contact("ops/jane-doe", JANE.fields),
    "workspace": contact("lab/jane", JANE.fields),
}


@pytest.mark.parametrize("name", CHANGED)
def test_every_declared_thing_is_part_of_the_digest_of_the_manifest(name: str) -> None:
    """A1: whoever edits the manifest plans again."""
    assert manifest_digest(desired(CHANGED[name]), "salt") != manifest_digest(desired(JANE), "salt")


def test_spelling_place_and_order_are_not() -> None:
    """A1: a comment, a space, another spelling of one value, a file split in two."""
    moved = contact("ops/jane", jobTitle="", firstName=" Jane ", place=Place("other.yaml", 99))
    one = desired(JANE, contact("ops/sam", status="Active"), contact("ops/kim"))
    other = desired(contact("ops/kim"), contact("ops/sam", status="A"), moved)

    assert manifest_digest(one, "salt") == manifest_digest(other, "salt")


def test_a_scope_is_part_of_the_digest_though_it_is_empty() -> None:
    """S1: `contacts: {}` and no `contacts:` are two wishes."""
    empty = Desired({}, frozenset())

    assert manifest_digest(empty, "salt") != manifest_digest(desired(scopes=[OPS]), "salt")


def test_payloads_and_secrets_are_part_of_the_digest_and_not_in_it() -> None:
    """A1: a new token or file makes a new plan; neither can be read from it."""
    one, other = resource("ops/staff", b"1"), resource("ops/staff", b"2")
    first, second = device("ops/jane/phone"), device("ops/jane/phone", pushToken="new")

    assert content_of(b"1") != content_of(b"2")
    assert manifest_digest(desired(one), "salt") != manifest_digest(desired(other), "salt")
    assert manifest_digest(desired(first), "salt") != manifest_digest(desired(second), "salt")
    assert manifest_digest(desired(first), "salt") != manifest_digest(desired(first), "other salt")


def test_the_order_of_a_set_never_changes_the_digest() -> None:
    """Law 3: sets have no order, and one run may see another one than the next."""
    names = ["a", "b", "c", "custom", "jobTitle", "title"]
    digests = {
        manifest_digest(
            desired(
                contact("ops/jane", place=PLACE, controls=Controls(ignore=frozenset(names[n:] + names[:n])))
            ),
            "s",
        )
        for n in range(len(names))
    }

    assert len(digests) == 1


def test_a_removed_name_is_part_of_what_the_manifests_say() -> None:
    """Whoever takes it out again asks for another plan: the entity would be pruned (X7)."""
    nothing = Desired({}, frozenset())
    removed = structs.replace(nothing, removed={at("contact/ops/jane"): Place("f", 1, 1)})

    assert manifest_digest(nothing, PLAN_SALT) != manifest_digest(removed, PLAN_SALT)
