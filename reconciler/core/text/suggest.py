"""The nearest name to a wrong one: what "did you mean ...?" needs, wherever it is said."""

import difflib
from collections.abc import Iterable

from reconciler.core.text.casing import fold_case

_ALIKE = 0.6  # difflib's own idea of close
_length_max = 100  # characters; comparing takes the product of two lengths, and no name is longer
_known_max = 1000  # names that are compared; nobody mistypes one of more


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Return the known name that `wrong` most likely means, letter case aside, or ""."""
    if len(wrong) > _length_max:
        return ""
    fitting = sorted(name for name in known if len(name) <= _length_max)
    folded = {fold_case(name): name for name in fitting[:_known_max]}
    near = difflib.get_close_matches(fold_case(wrong), folded, 1, _ALIKE)
    return folded[near[0]] if near else ""


def did_you_mean(wrong: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return "did you mean ...?" with the nearest known name, or `otherwise` where none is near."""
    near = nearest(wrong, known)
    return f"did you mean {near}?" if near else otherwise
