"""Consent that manifests give by name lifts reasons of the guard, and does nothing else."""

import effort
from core.build import at
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.test_planning import made
from laws.worlds import World, worlds
from msgspec import UNSET, structs

from reconciler.core.planning.fingerprint import fingerprint, is_noop_plan
from reconciler.core.review.guard import check_plan
from reconciler.core.review.named_consents import match_consents
from reconciler.model.address import Address
from reconciler.model.documents import NamedConsent
from reconciler.model.plans import Consent, Delete, Plan, Update
from reconciler.model.settings import GuardLimits
from reconciler.model.snapshots import DeletedEntity

LAW = settings(max_examples=effort.count(small=60, full=300))

limits = st.builds(
    GuardLimits,
    deletes_max=st.integers(0, 3),
    deletes_max_percent=st.integers(0, 100),
    adopted_deletes_max=st.integers(0, 2),
    updates_max=st.integers(0, 3),
    updates_max_percent=st.integers(0, 100),
)
numbers = st.builds(Consent, deletes=st.integers(0, 3), updates=st.integers(0, 3))
ends = st.sampled_from(["2026-02-28", "2026-03-01", "2026-03-01T13:00:00+10:00", "2026-12-31"])
strangers = st.sampled_from([at("contact/ops/nobody"), at("device/lab/ann/phone"), at("contact/lab/ann")])


@st.composite
def consents_about(draw: st.DrawFn, plan: Plan, world: World) -> list[NamedConsent]:
    """Consents to what a plan does, to what is left alone, and to what nobody knows; one for each address."""
    known = [one.address for one in plan.changes] + sorted(world.desired.entities) + sorted(world.records)
    addresses = st.one_of(st.sampled_from(known), strangers) if known else strangers
    found = draw(
        st.lists(
            st.builds(
                NamedConsent,
                addresses,
                st.sampled_from(["delete", "update", "reactivate"]),
                ends,
                st.sampled_from(["left", "new phone"]),
                st.just("manifests/ops.yaml:5"),
            ),
            max_size=8,
            unique_by=lambda one: (one.address, one.action),
        )
    )
    return sorted(found)


def deleted_by_us(address: Address) -> DeletedEntity:
    return DeletedEntity(address, "A9", "run-1", "2026-02-01T10:00:00+00:00")


@LAW
@given(worlds(), st.data(), limits, numbers)
def test_consent_only_lifts_reasons(
    world: World, data: st.DataObject, limit: GuardLimits, given: Consent
) -> None:
    """The changes and all else stay; of the guard's reasons none is added, and none counts more."""
    plan = made(world)
    consents = data.draw(consents_about(plan, world))
    deleted = [deleted_by_us(one) for one in data.draw(st.lists(strangers, max_size=2))]

    agreed = match_consents(plan, consents, declared=world.desired.entities, deleted=deleted)

    bare = structs.replace(agreed, consented=UNSET, notices=plan.notices, fingerprint=plan.fingerprint)
    assert bare == plan
    assert agreed.fingerprint == fingerprint(agreed)
    assert agreed.notices[: len(plan.notices)] == plan.notices
    before = {(one.rule, one.scope): one.count for one in check_plan(plan, limit, given).reasons}
    after = {(one.rule, one.scope): one.count for one in check_plan(agreed, limit, given).reasons}
    assert after.keys() <= before.keys()
    assert all(count <= before[key] for key, count in after.items())


@LAW
@given(worlds(), st.data())
def test_each_consent_is_used_or_said_or_its_address_is(world: World, data: st.DataObject) -> None:
    """So no dead line stays unseen, and no plan with one is found again without a look (R10)."""
    plan = made(world)
    consents = data.draw(consents_about(plan, world))

    agreed = match_consents(plan, consents, declared=world.desired.entities, deleted=())

    said = {(notice.subject, notice.what.split()[2]) for notice in agreed.notices if notice.kind == "consent"}
    skipped = {one.address for one in plan.skips}
    for one in consents:
        used, told = one in agreed.named_consents, (str(one.address), one.action) in said
        assert used or told or one.address in skipped
        assert not (used and told)
    assert not (consents and is_noop_plan(agreed))
    assert match_consents(plan, (), declared=(), deleted=()) == plan


@LAW
@given(worlds(), st.data())
def test_what_is_used_has_not_ended_and_is_done_by_the_plan(world: World, data: st.DataObject) -> None:
    """A line that ended yesterday lifts nothing today."""
    plan = made(world)
    consents = data.draw(consents_about(plan, world))

    agreed = match_consents(plan, consents, declared=world.desired.entities, deleted=())

    deletes = {one.address for one in plan.changes if isinstance(one, Delete)}
    deletes |= {Address(name) for one in plan.changes if isinstance(one, Delete) for name in one.cascades}
    updates = {one.address for one in plan.changes if isinstance(one, Update)}
    for one in agreed.named_consents:
        # The moment of these plans is noon on 1 March 2026 (UTC).
        assert one.until in {"2026-03-01", "2026-12-31"}
        assert one.address in (deletes if one.action == "delete" else updates)
    in_force = [one for one in consents if one.until in {"2026-03-01", "2026-12-31"}]
    wanted = [one for one in in_force if one.action == "delete" and one.address in deletes]
    assert {*wanted} <= {*agreed.named_consents}
