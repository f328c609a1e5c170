# noqa: INP001 - a script; part of no package
"""Writes into schemas/ what follows from the table of kinds: run it after changing one of their rows."""

import json
from pathlib import Path

from reconciler.manifest.schema.parts import with_kinds

FOLDER = Path(__file__).parents[1] / "schemas"


def main() -> None:
    """Write every schema anew; one that follows from nothing stays as it is."""
    for path in sorted(FOLDER.glob("*.schema.json")):
        before = path.read_text(encoding="utf-8")
        schema = with_kinds(path.name.removesuffix(".schema.json"), json.loads(before))
        if schema != json.loads(before):
            path.write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
