"""The numbers that a whole run of the proofs has to show: what is missing is named, and nothing else."""

from copy import deepcopy
from typing import Any

import pytest
from tally import AT_MOST, LEAST, REQUIRED, ZERO, shortfalls


def enough() -> dict[str, Any]:
    """What a run counts that shows just enough."""
    sums = {section: dict(LEAST.get(section, {})) for section in {*REQUIRED, *LEAST}}
    for section, least in REQUIRED.items():
        sums[section]["others"] = max(0, least - sum(sums[section].values()))
    sums |= {section: {"any": 0} for section in ZERO}
    return {"sums": sums, "peaks": {section: {"any": most} for section, most in AT_MOST.items()}}


def test_a_run_that_shows_just_enough_lacks_nothing() -> None:
    assert shortfalls(enough()) == []


@pytest.mark.parametrize(
    ("section", "kind"), [(section, kind) for section, kinds in LEAST.items() for kind in kinds]
)
def test_a_kind_that_nobody_meets_any_more_is_named(section: str, kind: str) -> None:
    """The total of its section would be reached without it."""
    counted = enough()
    counted["sums"][section]["others"] = REQUIRED[section]
    del counted["sums"][section][kind]

    assert shortfalls(counted) == [f"{section}, {kind}: 0, and {LEAST[section][kind]:,.0f} are needed"]


def test_one_too_few_or_one_too_many_is_named() -> None:
    for section, least in REQUIRED.items():
        fewer = enough()
        if not fewer["sums"][section]["others"]:
            continue  # its kinds alone are more than that
        fewer["sums"][section]["others"] -= 1
        assert shortfalls(fewer) == [f"{section}: {least - 1:,.0f}, and {least:,.0f} are needed"]
    for section in ZERO:
        more = deepcopy(enough())
        more["sums"][section]["any"] = 1
        assert shortfalls(more) == [f"{section}: 1, and none may be"]


def test_what_was_never_looked_for_is_named() -> None:
    """A count that was never taken must not pass for zero."""
    counted = enough()
    del counted["sums"]["duplicates"]
    counted["peaks"] = {}

    assert shortfalls(counted) == ["duplicates: never looked for", "amplification: never measured"]
