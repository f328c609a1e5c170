# noqa: INP001 - a script; part of no package
"""Writes into schemas/ what follows from the table of kinds, and schemas/output/ from that of documents.

Run it after changing a row of either, or a value that a command prints.
"""

import json
from pathlib import Path
from typing import Any

from reconciler.cli.documents.schema import documents, event_lines
from reconciler.manifest.schema.parts import with_kinds

FOLDER = Path(__file__).parents[1] / "schemas"


def main() -> None:
    """Write every schema anew; one that follows from nothing stays as it is."""
    for name, schema in {**documents(), "event": event_lines()}.items():
        path = FOLDER / f"{name}.schema.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_text(schema), encoding="utf-8")
    for path in sorted(FOLDER.glob("*.schema.json")):
        before = path.read_text(encoding="utf-8")
        schema = with_kinds(path.name.removesuffix(".schema.json"), json.loads(before))
        if schema != json.loads(before):
            path.write_text(_text(schema), encoding="utf-8")


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
