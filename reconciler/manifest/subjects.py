"""How messages name what they speak of: the start of a sentence for a path in a file.

Settings are named by their dotted path, entities by their address. No checks, no positions.
"""

from collections.abc import Callable, Sequence
from typing import Any

Path = Sequence[str | int]
# Returns the words in front of the sentence, and how many steps of the path they have named.
Subject = Callable[[dict[str, Any], Path], tuple[str, int]]

_KIND_OF = {"contacts": "contact", "resources": "resource"}


def plain(_root: dict[str, Any], _path: Path) -> tuple[str, int]:
    """Name nothing in front: the sentence gives the whole dotted path."""
    return "", 0


def entity(root: dict[str, Any], path: Path) -> tuple[str, int]:
    """Put the address of the entity in front, as far as the path leads into one."""
    if len(path) < 2 or path[0] not in _KIND_OF:  # noqa: PLR2004 - kind and name
        return "", 0
    workspace = root.get("workspace")
    known = workspace if isinstance(workspace, str) and workspace else "?"
    if path[0] == "contacts" and len(path) > 3 and path[2] == "devices":  # noqa: PLR2004 - contact, device
        return f"device/{known}/{path[1]}/{path[3]}: ", 4
    return f"{_KIND_OF[str(path[0])]}/{known}/{path[1]}: ", 2


def dotted(path: Path) -> str:
    """Return a path as people write it: `service.auth`, `manifests[2]`."""
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text
