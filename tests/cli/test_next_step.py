"""The command that a plan names as its next step."""

import shlex

import pytest

from reconciler.cli.planning import make_next_step

NOTHING = {
    "config": None,
    "environment": None,
    "only": (),
    "excluded": (),
    "reactivate": (),
    "allow_deletes": None,
}


@pytest.mark.parametrize(
    ("file", "given", "wanted"),
    [
        (None, {}, "reconciler apply"),
        ("plan.json", {}, "reconciler apply plan.json"),
        (None, {"environment": "staging"}, "reconciler apply --environment staging"),
        (
            "plan.json",
            {"config": "my settings.yaml", "environment": "staging", "only": ("workspace:ops",)},
            "reconciler apply plan.json --config 'my settings.yaml' --environment staging",
        ),
        (
            None,
            {"only": ("workspace:ops", "contact/*"), "excluded": ("kind:device",), "allow_deletes": 0},
            "reconciler apply --only workspace:ops --only 'contact/*' --except kind:device --allow-deletes 0",
        ),
    ],
)
def test_the_next_step_carries_out_this_plan_and_no_other(
    file: str | None, given: dict[str, object], wanted: str
) -> None:
    """Who plans staging and follows a bare `reconciler apply` would write to production."""
    assert make_next_step(file, NOTHING | given) == wanted
    assert shlex.split(wanted)[:2] == ["reconciler", "apply"]
