"""The shipped JSON Schemas: which there are, where, and under which address each is referred to.

Whether something fits one is asked of `check.py`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from reconciler.manifest.schema.parts import with_kinds
from reconciler.manifest.schema.published import address, compound, single
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS

_SUFFIX = ".schema.json"
OUTPUT = "output/"  # the folder of what commands print
# What else this program writes, and others read. These files carry an $id and are whole without any other;
# those of what people write carry none, so that editors resolve "common.schema.json" beside them.
WRITTEN = ("event", "log", "plan", "reply", "run")

Extras = Mapping[str, Sequence[str]]


def names() -> tuple[str, ...]:
    """Return the names of all shipped schemas, sorted: `common`, `manifest` and so on.

    `output/list` is that of what `list --format json` prints.
    """
    return tuple(sorted((*_in(_folder()), *(f"{OUTPUT}{name}" for name in _in(_folder() / OUTPUT)))))


def read_text(name: str) -> str:
    """Return a schema as it is shipped. Raises KeyError for a name that is not in `names()`."""
    if name not in names():
        raise KeyError(name)
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def read_schema(name: str, extras: Extras | None = None) -> dict[str, Any]:
    """Return a schema as a dict of the caller's own. Raises KeyError for an unknown name.

    A project's own kinds are in it. `extras` adds text fields, by name, to objects under `$defs`: a
    deployment may have fields that the schema does not know.
    """
    schema = single(name, json.loads(read_text(name)))
    if KINDS.keys() != BUILT_IN_KINDS.keys():
        schema = with_kinds(name, schema)
    for definition, fields in (extras or {}).items():
        known = schema["$defs"][definition]["properties"]
        for field in fields:
            known.setdefault(field, {"$ref": "#/$defs/text", "title": "A field of this deployment"})
    return schema


def published(name: str) -> dict[str, Any]:
    """Return a schema as it is printed, with a project's own kinds. Raises KeyError for an unknown name."""
    return compound(name, read_schema) if is_published(name) else read_schema(name)


def is_published(name: str) -> bool:
    """Whether a schema is of something that this program writes."""
    return name in WRITTEN or name.startswith(OUTPUT)


def resources() -> dict[str, dict[str, Any]]:
    """Return every schema that others refer to, by the address that their relative references resolve to.

    Nothing refers to those of outputs, and no command judges what it prints.
    """
    return {address(name): read_schema(name) for name in _in(_folder())}


def _in(folder: Traversable) -> tuple[str, ...]:
    found = (entry.name for entry in folder.iterdir())
    return tuple(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


@cache
def _folder() -> Traversable:
    packed = files("reconciler") / "data" / "schemas"
    return packed if packed.is_dir() else Path(__file__).parents[3] / "schemas"
