"""Laws of reports over generated worlds: what no format may tell, and what none may leave out."""

import effort
from hypothesis import given, settings
from laws.test_planning import made
from laws.worlds import CANARY, World, worlds

from reconciler.core.review.guard import check_plan
from reconciler.model.plans import Consent, Delete
from reconciler.model.settings import GuardLimits
from reconciler.report.markdown import markdown
from reconciler.report.report_formats import FORMATS
from reconciler.report.review_document import Review

LAW = settings(max_examples=effort.count(small=20, full=50))


@LAW
@given(worlds())
def test_no_report_holds_a_secret_of_the_world(world: World) -> None:
    """Declared, live or recorded: a secret is masked in the plan, and no format brings it back."""
    plan = made(world)
    verdict = check_plan(plan, GuardLimits(), Consent())

    for command in ("plan", "drift"):
        for render in FORMATS.values():
            text = render(Review(command, plan, verdict, 0, show_values=True))
            assert CANARY not in text
            assert plan.salt not in text


@LAW
@given(worlds())
def test_every_delete_of_a_world_is_in_the_comment_that_is_reviewed(world: World) -> None:
    """A delete cannot be taken back, so it is named before all else."""
    plan = made(world)
    text = markdown(Review("plan", plan, check_plan(plan, GuardLimits(), Consent()), 0))
    first = text.partition("### ")[2].partition("### ")[0]

    assert all(f"\n- `{one.address}`" in first for one in plan.changes if isinstance(one, Delete))


@LAW
@given(worlds())
def test_the_same_world_gives_the_same_bytes(world: World) -> None:
    """Two reports of one plan in a pull request never differ."""
    first, second = made(world), made(world)

    for render in FORMATS.values():
        assert render(Review("plan", first, check_plan(first, GuardLimits(), Consent()), 0)) == render(
            Review("plan", second, check_plan(second, GuardLimits(), Consent()), 0)
        )
