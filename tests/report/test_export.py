"""What an export says at its end: how long a further look takes, and what comes next."""

import pytest

from reconciler.cli.commands.export import ExportReport, Untold


def told(number: int, per_second: float) -> list[str]:
    about = ExportReport(
        folder="manifests",
        added=(),
        grown=(),
        entries=(),
        declared=0,
        unmarked=0,
        left=(),
        variables=(),
        values_in=(),
        untold=(Untold("contact", "default", number),),
        calls=number // 20,
        advice=(),
        not_planned=(),
        exported=(),
        per_second=per_second,
        secrets=(),
        ignored="",
        full=False,
    )
    return ["".join(span.text for span in one) for one in about.lines()]


@pytest.mark.parametrize(
    ("number", "per_second", "says"),
    [
        (10_000, 10, "  next: pass --devices to look: one call for each: about 17 min at 10 calls a second"),
        (10_000, 0, "  next: pass --devices to look: one call for each"),
        (55, 10, "  next: pass --devices to look: one call for each"),
    ],
    ids=["minutes", "no limit", "seconds"],
)
def test_a_look_at_each_says_how_long_it_takes(number: int, per_second: float, says: str) -> None:
    """Whoever starts it and hears nothing for a quarter of an hour stops it."""
    assert told(number, per_second)[-1] == says
