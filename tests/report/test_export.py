"""What an export says at its end: how long a further look takes, and what comes next."""

import pytest

from reconciler.cli.commands.export import Summary, export_lines
from reconciler.model.snapshots import Scope

CONTACTS = Scope("contact", "default")


def told(number: int, per_second: float) -> list[str]:
    about = Summary("manifests", [], [], 0, [(CONTACTS, number)], calls=number // 20, per_second=per_second)
    return ["".join(span.text for span in one) for one in export_lines(about, full=False)]


@pytest.mark.parametrize(
    ("number", "per_second", "says"),
    [
        (10_000, 10, "  next: --devices looks, with a call for each: about 17 min at 10 calls a second"),
        (10_000, 0, "  next: --devices looks, with a call for each"),
        (55, 10, "  next: --devices looks, with a call for each"),
    ],
    ids=["minutes", "no limit", "seconds"],
)
def test_a_look_at_each_says_how_long_it_takes(number: int, per_second: float, says: str) -> None:
    """Whoever starts it and hears nothing for a quarter of an hour stops it."""
    assert told(number, per_second)[-1] == says
