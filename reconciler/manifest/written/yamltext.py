"""Values and entries as YAML that reads back as exactly what it was made of.

A small writer and no library: whatever is not plainly safe stands in double quotes, with the escapes that
YAML and JSON share. Live values are hostile; here they stay text. Not here: which values a manifest may hold
(sieve.py).
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Union

from reconciler.model.documents import Scalar
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind

Node = Union[str, bool, list[str], "Mapping[str, Node]"]

_INDENT = "  "
# A letter first, and nothing behind it that YAML gives a meaning: no colon, no number sign, no quotes.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.@+/-]| (?=[A-Za-z0-9_.@+/-]))*", re.ASCII)
# What some reader of YAML takes for a truth or for nothing. Ours takes all but null as text.
WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


def scalar(value: Scalar) -> str:
    """Return one value as YAML. `${` in it is text, and is written as the manifest language wants it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value.replace("${", "$${"))


def quoted(text: str) -> str:
    """Return a text as YAML, in quotes where it is not plainly safe without."""
    if _PLAIN.fullmatch(text) and text.casefold() not in WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def variable(name: str) -> str:
    """Return the reference to a variable of the environment."""
    return f'"${{env:{name}}}"'


def nested(kind: Kind, fields: Mapping[str, str]) -> dict[str, Node]:
    """Return flat fields, whose values are YAML already, as the keys of an entry in the order of the row."""
    order = {field.name: index for index, field in enumerate(kind.fields)}
    entry: dict[str, Node] = {}
    for path in sorted(fields, key=lambda path: (order.get(path.partition(".")[0], len(order)), path)):
        node: dict[str, Node] = entry
        *above, last = steps(kind, path)
        for step in above:
            node = node.setdefault(step, {})  # type: ignore[assignment]  # a mapping, because no field is both
        node[last] = fields[path]
    return entry


def steps(kind: Kind, path: str) -> list[str]:
    """Return the keys that lead to a flat path. A custom field may have a dot in its name."""
    head, dot, rest = path.partition(".")
    if not dot or head not in kind.structured:
        return [path]
    return [head, *_STEPS_BELOW[kind.structured[head]](rest)]


# The keys below a field, by its shape: names of custom values are whole.
_STEPS_BELOW: Mapping[FieldShape, Callable[[str], list[str]]] = require_rows(
    FieldShape,
    {
        "scalar": lambda rest: [rest],
        "content": lambda rest: [rest],
        "custom": lambda rest: [rest],
        "channels": lambda rest: rest.split("."),
        "group": lambda rest: rest.split("."),
    },
)


def block(node: Mapping[str, Node], depth: int) -> str:
    """Return a mapping as lines, so deep. Texts at its ends are YAML already; keys are written here."""
    lines = []
    for key, value in node.items():
        start = f"{_INDENT * depth}{quoted(key)}:"
        if isinstance(value, Mapping):
            lines.append(f"{start}\n{block(value, depth + 1)}" if value else f"{start} {{}}\n")
        elif isinstance(value, list):
            lines.append(f"{start} [{', '.join(map(quoted, value))}]\n")
        else:
            lines.append(f"{start} {value}\n")
    return "".join(lines)
