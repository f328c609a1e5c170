"""Why a saved plan is stale: everything that differs is named, and nothing else."""

from hypothesis import given
from msgspec import structs
from report import cases
from report.strategies import calm, plans

from reconciler.core.review.saved_plans import make_stale_verdict
from reconciler.model.plans import Plan
from reconciler.report.lines import plain
from reconciler.report.plan_difference import plan_difference


@calm
@given(plans())
def test_a_plan_does_not_differ_from_itself(plan: Plan) -> None:
    assert plan_difference(plan, structs.replace(plan, created_at="2026-03-05T00:00:00Z")) == ()


@calm
@given(plans(), plans())
def test_a_difference_names_every_change_that_is_not_the_same(before: Plan, after: Plan) -> None:
    """Whoever reads it decides whether to plan again: nothing may be missing, whatever the values are."""
    lines = plan_difference(before, structs.replace(after, fingerprint="another"), full=True)
    old = {change.address for change in before.changes}
    new = {change.address for change in after.changes}

    text = plain(lines)
    assert all(span.text.isprintable() for line in lines for span in line)
    assert all(f"- {address}" in text for address in old - new)
    assert all(f"+ {address}" in text for address in new - old)


def test_a_line_that_moved_is_not_a_difference() -> None:
    """The place of an entry is where it stands, not what it does."""
    moved = structs.replace(cases.JANE, place="manifests/ops.yaml:99")
    before = structs.replace(cases.EMPTY, changes=(cases.JANE,))
    after = structs.replace(cases.EMPTY, changes=(moved,), fingerprint=cases.OTHER_FINGERPRINT)

    assert plain(plan_difference(before, after)).startswith("0 changes not as in the saved plan")


def test_the_same_secret_under_another_salt_is_not_a_difference() -> None:
    """Masks of two plans cannot be compared: they say nothing about the secret."""
    before = structs.replace(cases.EMPTY, changes=(cases.PIXEL,))
    other = structs.replace(
        cases.PIXEL,
        fields=tuple(structs.replace(f, before="secret:a", after="secret:b") for f in cases.PIXEL.fields),
    )
    after = structs.replace(cases.EMPTY, changes=(other,), salt="other", fingerprint=cases.OTHER_FINGERPRINT)

    assert "pixel" not in plain(plan_difference(before, after))
    assert "a different secret" in plain(plan_difference(before, structs.replace(after, salt=before.salt)))
    # Nor in the reports of a plan that is refused.
    assert len(make_stale_verdict(before, after, "why", "").reasons) == 1
    assert len(make_stale_verdict(before, structs.replace(after, salt=before.salt), "why", "").reasons) == 2


def test_a_difference_shows_values_before_and_after() -> None:
    text = plain(plan_difference(cases.MIXED, cases.LATER))

    assert "    department.before  Night → Day\n" in text
    assert "secret:" not in text
