"""Laws of planning over generated worlds: what holds whatever is declared, live and recorded."""

import random
from collections import Counter
from typing import Any

import effort
from core.build import MARKED, MOMENT, PLACE, PLAN_SALT, SALTS, STORE_SALT, TARGET, at
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from laws.worlds import (
    CANARY,
    CONTACT_FIELDS,
    Row,
    World,
    answered,
    as_resolved,
    device_fields,
    entities,
    worlds,
)
from msgspec import structs

from reconciler.core.compare import normalize
from reconciler.core.compare.bodies import make_create_body, make_update_body
from reconciler.core.compare.diff import diff_entity
from reconciler.core.compare.match import match_entities
from reconciler.core.compare.normalize import observe_entity
from reconciler.core.planning.fingerprint import fingerprint, manifest_digest
from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.records import make_record
from reconciler.core.planning.select import Selection
from reconciler.errors import ManifestError
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, Options, Plan, Update
from reconciler.model.snapshots import Desired, Entity, Live, LiveEntity, Recorded, Scope

LAW = settings(max_examples=effort.count(small=20, full=50))
LONG_LAW = settings(LAW, max_examples=effort.count(small=60, full=150))

selectors = st.sampled_from(
    [
        "kind:device",
        "kind:contact",
        "workspace:ops",
        "contact/*/ann",
        "*/lab/*",
        "tag:team=sre",
        "device/ops/*",
    ]
)
options = st.builds(
    Options,
    only=st.lists(selectors, max_size=2).map(tuple),
    excluded=st.lists(selectors, max_size=2).map(tuple),
    reactivate=st.lists(st.sampled_from(["device/ops/ann/phone", "device/lab/ben/tab"]), max_size=1).map(
        tuple
    ),
)


def made(world: World, chosen: Options = Options()) -> Plan:  # noqa: B008 - a frozen value
    """The plan of a world. Worlds that are an input error have none, and no law here is about them."""
    try:
        return world.plan(chosen)
    except ManifestError:
        event("contested")
        assume(False)
        raise


def remote_ids(plan: Plan) -> list[tuple[str, str, str]]:
    """Every live entity that the plan speaks of as one that it keeps or deletes."""
    kept = [change for change in plan.changes if not isinstance(change, Create)]
    return [(one.address.kind, one.address.workspace, one.remote_id) for one in [*kept, *plan.adoptions]]


@LAW
@given(entities(marked=False), st.booleans())
def test_planning_against_what_is_already_there_gives_nothing(
    declared: dict[Address, Entity],
    is_recorded: bool,  # noqa: FBT001 - drawn
) -> None:
    """Law 1; without a record only what cannot be read back is sent once more (D3)."""
    unique = Counter(
        (e.address.kind, e.address.workspace, str(e.fields.get("workEmailAddress1", "")).casefold())
        for e in declared.values()
        if e.address.kind == "contact"
    )
    assume(all(count == 1 for count in unique.values()))
    names = Counter((e.address.above, e.fields["deviceName"]) for e in declared.values() if e.address.above)
    assume(all(count == 1 for count in names.values()))
    rows, records = {}, {}
    ids = {address: f"A{number}" for number, address in enumerate(sorted(declared))}
    for address, entity in declared.items():
        parent = ids[address.above] if address.above else ""
        body = {"devices": [], **make_create_body(entity)}
        rows[ids[address]] = Row(address.kind, address.workspace, parent, body)
        seen = observe_entity(address.kind, address.workspace, ids[address], body, parent_id=parent)
        if is_recorded:
            records[address] = make_record(entity, seen, salt=STORE_SALT, created=True)
    scopes = frozenset(Scope(one.kind, one.workspace) for one in declared if one.kind != "device")

    plan = World(Desired(declared, scopes), rows, records, MARKED).plan()

    causes = {
        (field.path, field.cause)
        for change in plan.changes
        if isinstance(change, Update)
        for field in change.fields
    }
    assert all(isinstance(change, Update) for change in plan.changes)
    allowed = {("status", "reactivated")}
    assert causes <= allowed | (set() if is_recorded else {("content", "unknown"), ("password", "unknown")})


@LONG_LAW
@given(worlds())
def test_what_was_applied_is_planned_no_more(world: World) -> None:
    """Law 2, pure: the second plan is empty, unless something had to wait for the first (it was reported)."""
    first = made(world)
    world.apply(first)
    second = made(world)
    waited = {skip.address for skip in first.skips if skip.reason == "ambiguous"}
    contacts = {one for address in waited for one in (address, address.above)}

    assert all({change.address, change.address.above} & contacts for change in second.changes)
    if not waited:
        assert (second.changes, second.adoptions, second.gone, second.renames) == ((), (), (), {})


@LAW
@given(worlds(), st.randoms(use_true_random=False), options)
def test_the_order_in_which_the_inputs_were_built_never_changes_the_bytes(
    world: World, chance: random.Random, chosen: Options
) -> None:
    """Law 3: maps, rows and files in any order."""
    first = made(world, chosen)

    def shuffled(items: dict[Any, Any]) -> dict[Any, Any]:
        pairs = list(items.items())
        chance.shuffle(pairs)
        return dict(pairs)

    other = World(
        structs.replace(
            world.desired,
            entities={
                address: structs.replace(entity, fields=shuffled(dict(entity.fields)))
                for address, entity in shuffled(dict(world.desired.entities)).items()
            },
        ),
        shuffled(world.rows),
        shuffled(world.records),
        world.rules,
    )

    assert encode_json(other.plan(chosen)) == encode_json(first)


@LAW
@given(worlds(), options)
def test_only_what_is_recorded_or_marked_is_deleted_and_nothing_protected(
    world: World, chosen: Options
) -> None:
    """Law 4, X1, X2, X5: and never what is declared."""
    plan = made(world, chosen)

    for change in plan.changes:
        if not isinstance(change, Delete):
            continue
        row = world.rows[change.remote_id]
        holders = [one for one in world.records.values() if one.remote_id == change.remote_id]
        fields = normalize.flatten_body(row.kind, row.body)
        mark = str(fields.get(world.rules.mark_path, "")) if row.kind == "contact" else ""
        assert holders or mark.startswith(f"{world.rules.stack}/")
        assert not mark or mark.startswith(f"{world.rules.stack}/")
        assert not any(one.protected for one in holders)
        assert change.address not in world.desired.entities
        guarded = {
            a for a, one in world.records.items() if a.above in {h.address for h in holders} and one.protected
        }
        assert not guarded or row.kind != "contact"


@LAW
@given(worlds(), options)
def test_a_plan_never_touches_what_the_selection_does_not_take(world: World, chosen: Options) -> None:
    """Whatever else is wrong there waits."""
    plan = made(world, chosen)
    selection = Selection(chosen.only, chosen.excluded)
    tags = {address: entity.controls.tags for address, entity in world.desired.entities.items()}
    acted = [*plan.changes, *plan.adoptions, *plan.skips]

    assert all(selection.selects(one.address, tags.get(one.address, {})) for one in acted)
    contacts = {new for new in plan.renames.values() if new.kind == "contact"}
    for new in plan.renames.values():
        assert selection.selects(new, tags.get(new, {})) or new.above in contacts
    for address in plan.gone:
        assert selection.selects(address, {}) or address.above in plan.gone


@LAW
@given(worlds(), options)
def test_a_plan_never_deletes_and_keeps_one_live_entity(world: World, chosen: Options) -> None:
    """And never names one address twice, or one live entity in two changes."""
    plan = made(world, chosen)
    counted = Counter(remote_ids(plan))
    addresses = Counter(change.address for change in plan.changes)
    deleted = {change.remote_id for change in plan.changes if isinstance(change, Delete)}
    held = {world.records[one].remote_id for one in world.desired.entities if one in world.records}

    assert all(count == 1 for count in [*counted.values(), *addresses.values()])
    assert not deleted & held
    parents = {change.parent_id for change in plan.changes if not isinstance(change, Create)}
    assert not deleted & parents
    assert len(set(plan.renames.values())) == len(plan.renames)
    assert not plan.renames.keys() & {*plan.renames.values(), *plan.gone}


@LAW
@given(worlds())
def test_a_match_gives_no_live_entity_twice_and_never_acts_on_ambiguity(world: World) -> None:
    """M3, M4: ambiguous, claimed and found exclude each other; a double is contested."""
    for scope in world.desired.scopes:
        found = [
            e for e in world.desired.entities.values() if Scope(e.address.kind, e.address.workspace) == scope
        ]
        records = {a: r for a, r in world.records.items() if Scope(a.kind, a.workspace) == scope}
        rows = world.live.entities.get(scope, ())
        result = match_entities(found, rows, records, keys=world.rules.keys(scope.kind), former={})
        ids = Counter(hit.live.remote_id for hit in result.found.values())
        doubled = {one for one, count in ids.items() if count > 1}

        contested = {address for group in result.contested for address in group}
        assert contested == {a for a, hit in result.found.items() if hit.live.remote_id in doubled}
        assert not result.found.keys() & (result.ambiguous.keys() | result.claimed.keys())
        assert all(len(candidates) > 1 for candidates in result.ambiguous.values())


@LAW
@given(worlds(), options)
def test_a_plan_holds_no_secret(world: World, chosen: Options) -> None:
    """Law 8: not in changes, not in before-values, not in reports."""
    plan = made(world, chosen)

    assert CANARY not in encode_json(plan).decode()
    assert CANARY not in repr(plan)


@LAW
@given(worlds(), options)
def test_a_plan_survives_its_file(world: World, chosen: Options) -> None:
    """Law 6: what was saved is what is read, byte for byte and with the same fingerprint."""
    plan = made(world, chosen)
    again = decode_json(encode_json(plan), Plan)

    assert again == plan
    assert encode_json(again) == encode_json(plan)
    assert fingerprint(again) == plan.fingerprint == fingerprint(plan)


@LAW
@given(worlds())
def test_no_change_is_one_that_changes_nothing(world: World) -> None:
    """D5: a no-op write is a bug."""
    for change in made(world).changes:
        if isinstance(change, Update):
            assert change.fields
            assert all(field.before != field.after for field in change.fields)
            assert len({field.path for field in change.fields}) == len(change.fields)


@LAW
@given(worlds(), st.integers(1, 500))
def test_moving_lines_changes_no_fingerprint(world: World, lines: int) -> None:
    """A1: a comment above an entry makes no plan stale."""
    before = made(world)
    world.desired = structs.replace(
        world.desired,
        entities={
            address: structs.replace(
                entity, place=structs.replace(entity.place, line=entity.place.line + lines)
            )
            for address, entity in world.desired.entities.items()
        },
    )

    assert made(world).fingerprint == before.fingerprint


@LAW
@given(worlds(), worlds())
def test_plans_that_differ_in_what_they_do_differ_in_their_fingerprint(one: World, other: World) -> None:
    """A1: also where the manifests are the same and only the service has moved."""
    there = World(one.desired, other.rows, one.records, one.rules)
    plans = [made(one), made(other), made(there)]

    for first in plans:
        for second in plans:
            same = [
                _deeds(first) == _deeds(second),
                first.manifest_digest == second.manifest_digest,
            ]
            assert (first.fingerprint == second.fingerprint) == all(same)


def _deeds(plan: Plan) -> object:
    placeless = [
        change if isinstance(change, Delete) else structs.replace(change, place="") for change in plan.changes
    ]
    return placeless, plan.adoptions, plan.gone, plan.renames


fields_of: dict[str, st.SearchStrategy[dict[str, Scalar]]] = {
    "contact": st.fixed_dictionaries({}, optional=dict(CONTACT_FIELDS)),
    "device": device_fields(),
}
foreign: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
strangers = st.dictionaries(st.sampled_from(["x1", "x2", "x3", "x4"]), foreign, max_size=4)


def _entity(kind: str, fields: dict[str, Scalar]) -> Entity:
    where = {"contact": "contact/ops/ann", "device": "device/ops/ann/phone"}[kind]
    return Entity(at(where), fields, PLACE)


def _seen(kind: str, body: dict[str, Any]) -> LiveEntity:
    return observe_entity(kind, "ops", "A1", body)


kinds = st.sampled_from(sorted(fields_of))


@LONG_LAW
@given(st.data(), kinds)
def test_what_a_create_sends_reads_back_as_what_was_declared(data: st.DataObject, kind: str) -> None:
    """Every path that can be written and read; "" is nothing to send."""
    fields = as_resolved(data.draw(fields_of[kind]))

    shown = normalize.flatten_body(kind, make_create_body(_entity(kind, fields)))

    wanted = normalize.normalize_fields(kind, fields)
    assert shown == {
        path: value for path, value in wanted.items() if value != "" and path not in KINDS[kind].write_only
    }


@LONG_LAW
@given(st.data(), kinds, strangers)
def test_an_update_brings_what_is_declared_and_keeps_what_is_not(
    data: st.DataObject, kind: str, unknown: dict[str, Any]
) -> None:
    """Laws 1 and 9: after its own write nothing is left to do, and no other field has moved."""
    old = data.draw(fields_of[kind])
    fresh = {**answered(kind, make_create_body(_entity(kind, old)), {}), **unknown, "id": "A1"}
    entity = _entity(kind, data.draw(fields_of[kind]))
    past = data.draw(st.none() | fields_of[kind])
    known = None
    if past is not None:
        once = _entity(kind, past)
        shown = _seen(kind, answered(kind, make_create_body(once), {}))
        known = make_record(once, shown, salt=STORE_SALT, created=True)
    result = diff_entity(entity, _seen(kind, fresh), known, salts=SALTS, reactivate=data.draw(st.booleans()))
    change = Update(entity.address, "f:1", "A1", result.fields)

    body = answered(kind, make_update_body(fresh, entity, change, known), fresh)

    assert {key: body.get(key) for key in unknown} == unknown
    before, after = normalize.flatten_body(kind, fresh), normalize.flatten_body(kind, body)
    touched = {one.path for one in result.fields}
    assert {p: v for p, v in after.items() if p not in touched} == {
        p: v for p, v in before.items() if p not in touched
    }
    kept = make_record(entity, _seen(kind, body), salt=STORE_SALT, created=True)
    assert diff_entity(entity, _seen(kind, body), kept, salts=SALTS).fields == ()


@LAW
@given(worlds())
def test_the_digest_of_the_manifest_depends_on_the_salt_of_the_plan(world: World) -> None:
    """Two plans cannot be compared for the secrets that both hold, nor one made to look like another."""
    assert manifest_digest(world.desired, PLAN_SALT) != manifest_digest(world.desired, "another")
    assert manifest_digest(world.desired, PLAN_SALT) == manifest_digest(world.desired, PLAN_SALT)


@LAW
@given(worlds())
def test_an_empty_wish_out_of_scope_is_an_empty_plan(world: World) -> None:
    """S1: no kind is in scope, so nothing is touched, whatever is recorded."""
    plan = make_plan(
        Desired({}, frozenset()),
        world.live,
        world.recorded,
        target=TARGET,
        options=Options(),
        rules=world.rules,
        moment=MOMENT,
    )

    assert (plan.changes, plan.gone, plan.skips, plan.adoptions) == ((), (), (), ())


@LAW
@given(worlds())
def test_an_empty_service_makes_only_creates(world: World) -> None:
    """R6: what is recorded and not there is created again under the cause `gone`, and the guard counts it."""
    plan = make_plan(
        world.desired,
        Live({}),
        Recorded(dict(world.records)),
        target=TARGET,
        options=Options(),
        rules=world.rules,
        moment=MOMENT,
    )

    assert all(isinstance(change, Create) for change in plan.changes)
    assert {c.address for c in plan.changes} == set(world.desired.entities)
    assert {c.address for c in plan.changes if isinstance(c, Create) and c.cause == "gone"} >= (
        world.desired.entities.keys() & world.records.keys()
    )
