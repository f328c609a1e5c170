"""JSON objects as rows of texts: what stands there, number for number, under keys joined by dots.

Belongs here: what a roster in a file and the resources of a directory have in common. Not here: which rows
there are, places, limits of a table.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from reconciler.model.documents import UNSAID
from reconciler.parsing.build import DEPTH_MAX

DEEP = f"objects stand in objects here more than {DEPTH_MAX} deep."


class Digits(str):
    """A number as it stands there. It is an employee's, or a telephone's, and keeps all its digits."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in an object here.")
    return found


def _no_number(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON.")


# Raises ValueError, whose text is a sentence unless it is a JSONDecodeError, and RecursionError.
DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Digits, parse_float=Digits, parse_constant=_no_number
)

# Every type that the decoder makes of what is no object.
TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    Digits: str,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "",
    list: lambda _: UNSAID,
}


def flat(node: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, with the keys that lead to it. Raises ValueError where it is too deep."""
    if depth > DEPTH_MAX:
        raise ValueError(DEEP)
    for key, value in node.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{key}.", depth + 1)
        else:
            yield above + key, value
