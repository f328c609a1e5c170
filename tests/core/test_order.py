"""Waves: parents before children for what is made, after them for what goes."""

import itertools

from core.build import at

from reconciler.core.planning.scopes import order_changes, split_into_waves, wave_of
from reconciler.model.plans import Change, Create, Delete, Update

CHANGES: tuple[Change, ...] = (
    Create(at("resource/ops/staff"), "f:1", {}),
    Update(at("resource/ops/table"), "f:1", "R2", ()),
    Create(at("contact/ops/jane"), "f:1", {}),
    Update(at("contact/ops/sam"), "f:1", "A2", ()),
    Create(at("device/ops/jane/phone"), "f:1", {}),
    Delete(at("device/ops/sam/phone"), "D1", {}),
    Delete(at("contact/ops/old"), "A3", {}),
    Delete(at("resource/ops/old"), "R3", {}),
)


def test_waves_run_from_resources_to_devices_and_back() -> None:
    """A5: resources, contacts, devices; then deletes: devices, contacts, resources."""
    assert [[str(change.address) for change in group] for group in split_into_waves(CHANGES)] == [
        ["resource/ops/staff", "resource/ops/table"],
        ["contact/ops/jane", "contact/ops/sam"],
        ["device/ops/jane/phone"],
        ["device/ops/sam/phone"],
        ["contact/ops/old"],
        ["resource/ops/old"],
    ]


def test_every_delete_comes_after_everything_that_is_made() -> None:
    """A5: what goes away last can be looked at longest."""
    made = [wave_of(change) for change in CHANGES if not isinstance(change, Delete)]
    gone = [wave_of(change) for change in CHANGES if isinstance(change, Delete)]

    assert max(made) < min(gone)


def test_the_order_of_a_plan_does_not_depend_on_how_it_was_found() -> None:
    """The same changes, the same bytes: ties go by address."""
    some = CHANGES[:5]

    assert all(order_changes(one) == order_changes(some) for one in itertools.permutations(some))


def test_a_plan_without_changes_has_no_waves() -> None:
    assert split_into_waves(()) == ()
