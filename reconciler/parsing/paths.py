"""How messages name what stands at a path of a file, and which paths they must not name.

Below a field that holds a secret nothing is named: to its author `password: {text}` is a secret, and to YAML
it is a key. No checks, no positions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from reconciler.model.kinds import KINDS, cache_by_kinds

Path = Sequence[str | int]
# Returns the words in front of the sentence, and how many steps of the path they have named.
Subject = Callable[[dict[str, Any], Path], tuple[str, int]]


# Fields whose value no message may show: those of manifests, and those of `service.auth`. That may be
# written as if it were the secret itself, so only its own keys are named there.
_AUTH = ("service", "auth")
_AUTH_SECRET = frozenset({"username", "password", "api_key"})
_AUTH_KEYS = _AUTH_SECRET | {"send_key"}


@cache_by_kinds
def _secret_fields() -> frozenset[str]:
    return frozenset[str]().union(*(kind.secret for kind in KINDS.values()))


@cache_by_kinds
def secret_keys() -> frozenset[str]:
    """Return every key of a file below which no message may show anything."""
    return _secret_fields() | _AUTH_SECRET | {_AUTH[-1]}


def plain(_root: dict[str, Any], _path: Path) -> tuple[str, int]:
    """Name nothing in front: the sentence gives the whole dotted path."""
    return "", 0


def dotted(path: Path) -> str:
    """Return a path as people write it: `service.auth`, `manifests[2]`."""
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def sayable(path: Path) -> tuple[str | int, ...]:
    """Return the part of a path that may be shown: up to a field that holds a secret, nothing below it."""
    steps = tuple(path)
    for end in range(1, len(steps)):
        if _secret(steps[:end]) or (steps[:end][-2:] == _AUTH and steps[end] not in _AUTH_KEYS):
            return steps[:end]
    return steps


def unsayable(path: Path) -> bool:
    """Whether the value at a path is a secret, holds one, or stands below one."""
    steps = tuple(path)
    return _secret(steps) or steps[-2:] == _AUTH or sayable(steps) != steps


def _secret(steps: tuple[str | int, ...]) -> bool:
    return bool(steps) and (
        steps[-1] in _secret_fields() or (steps[-3:-1] == _AUTH and steps[-1] in _AUTH_SECRET)
    )
