"""Who the entities of a plan are: a name beside an address, of all whose fields a plan does not hold."""

from pathlib import Path

from pipeline.test_golden import CASES, GOLDEN, planned
from world import World

from reconciler.core.review.display_names import make_display_name
from reconciler.errors import ManifestError
from reconciler.model.address import contact_address
from reconciler.model.plans import Update

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane@example.com"}


def test_everybody_who_is_updated_adopted_or_left_alone_has_a_name() -> None:
    """In every reviewed case, and never a secret. Of who is created or deleted the plan shows the fields."""
    told = 0
    for name in CASES:
        try:
            case = planned(GOLDEN / name)
        except ManifestError:
            continue
        plan = case.plan
        found = make_display_name(plan, case.resolved.desired, case.live, case.recorded, case.rules)
        wanted = {one.address for one in plan.changes if isinstance(one, Update)}
        wanted |= {one.address for one in plan.adoptions}
        names = [found(address) for address in sorted(wanted)]
        assert all(names), name
        assert "canary" not in repr(names), name
        assert "secret:" not in repr(names), name
        told += len(names)
    assert told > 40


def test_a_person_is_called_as_she_is_live_before_the_update(tmp_path: Path) -> None:
    """The new name is the change, and stands below; the reviewer knows her by the old one."""
    world = World(tmp_path)
    rest = {"workCountry": "Australia", "timezone": "Australia/Melbourne"}
    world.write({"contacts": {"jane": {**JANE, **rest}}})
    world.apply()
    world.write({"contacts": {"jane": {**JANE, **rest, "lastName": "Roe"}}})

    planned = world.plan()
    assert planned.whom(contact_address("default", "jane")) == "Jane Doe, jane@example.com"
    assert planned.whom(contact_address("default", "nobody")) == ""
