"""What a run has read and a commit does not hold, in words."""

from collections.abc import Sequence

from reconciler.model.documents import InputDifference
from reconciler.parsing.build import shown

_most = 10  # files that a sentence names


def difference_words(differences: Sequence[InputDifference]) -> str:
    """Return the files and why each of them differs, as a part of a sentence; of many the first ones."""
    named = [f"{shown(one.path, most=400)} {one.why}" for one in differences[:_most]]
    more = len(differences) - len(named)
    return "; ".join([*named, *([f"and {more:,} more"] if more else [])])
