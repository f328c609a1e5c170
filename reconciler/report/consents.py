"""What a person has agreed to with a plan, in words: the first thing in every review of it.

Not here: what that is (core/review/consents.py).
"""

from collections.abc import Sequence

from reconciler.core.review.consents import Agreement

TITLE = "Agreed to, for this plan alone"
_SHOWN = 20  # subjects of one word; the plan itself shows them all


def agreement_words(one: Agreement) -> str:
    """Return what was agreed to, how it was said, and what of the plan it concerns."""
    number = f" {one.at_most}" if one.at_most else ""
    allows = f"up to {one.at_most:,} {one.allows}" if one.at_most else one.allows
    said = f"{allows} ({one.flag}{number})"
    return f"{said}: {_named(one.subjects)}" if one.subjects else f"{said}; this plan needs none of it"


def _named(subjects: Sequence[str]) -> str:
    more = f" and {len(subjects) - _SHOWN:,} more" if len(subjects) > _SHOWN else ""
    return ", ".join(subjects[:_SHOWN]) + more
