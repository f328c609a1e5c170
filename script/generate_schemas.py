# noqa: INP001 - a script; part of no package
"""Writes into schemas/ what follows from the table of kinds, from settings, and from what commands print.

Run it after changing a kind, a setting, or a value that a command prints.
"""

import json
from pathlib import Path
from typing import Any

from reconciler.cli.result_schemas import event_line_schema, log_line_schema, make_output_schemas
from reconciler.schema.settings_schema import settings_schema
from reconciler.schema.shipped import bundle_schema, fill_in_kinds, is_published_schema, unbundle_schema

FOLDER = Path(__file__).parents[1] / "schemas"


def main() -> None:
    """Write every schema anew; one that follows from nothing stays as it is."""
    made = {"event": event_line_schema(), "log": log_line_schema(), "settings": settings_schema()}
    schemas = _by_hand() | make_output_schemas() | made
    for name, schema in schemas.items():
        path = FOLDER / f"{name}.schema.json"
        path.parent.mkdir(exist_ok=True)
        whole = bundle_schema(name, schemas.__getitem__) if is_published_schema(name) else schema
        if not path.exists() or json.loads(path.read_text(encoding="utf-8")) != whole:
            path.write_text(_text(whole), encoding="utf-8")


def _by_hand() -> dict[str, dict[str, Any]]:
    """Return the schemas that people edit, with what follows from the kinds, by their names."""
    found = {path.name.removesuffix(".schema.json"): path for path in sorted(FOLDER.glob("*.schema.json"))}
    written = {
        name: unbundle_schema(name, json.loads(path.read_text(encoding="utf-8")))
        for name, path in found.items()
    }
    return {name: fill_in_kinds(name, schema) for name, schema in written.items()}


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
