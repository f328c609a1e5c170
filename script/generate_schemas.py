# noqa: INP001 - a script; part of no package
"""Writes into schemas/ what follows from the table of kinds, settings, output of commands, and the sandbox.

Run it after changing a kind, a setting, a value that a command prints, or an address of the sandbox
(schemas/openapi.json). With --check nothing is written: it names the files that are stale, and fails.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reconciler.cli.result_schemas import event_line_schema, log_line_schema, make_output_schemas
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.openapi import openapi_document
from reconciler.schema.settings_schema import settings_schema
from reconciler.schema.shipped import bundle_schema, fill_in_kinds, is_published_schema, unbundle_schema

FOLDER = Path(__file__).parents[1] / "schemas"
OPENAPI = FOLDER / "openapi.json"


def main(arguments: list[str]) -> int:
    """Write what is stale, or only name it; return the exit code. Other files stay as they are."""
    stale = {path: text for path, text in _make_files() if not path.is_file() or _is_stale(path, text)}
    if "--check" in arguments:
        sys.stderr.writelines(f"schemas/{path.relative_to(FOLDER).as_posix()} is stale.\n" for path in stale)
        sys.stderr.write("  next: script/generate-schemas\n" if stale else "")
        return 1 if stale else 0
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def _make_files() -> Iterator[tuple[Path, str]]:
    """Yield every file with the text that it should have."""
    made = {"event": event_line_schema(), "log": log_line_schema(), "settings": settings_schema()}
    schemas = _by_hand() | make_output_schemas() | made
    for name, schema in schemas.items():
        whole = bundle_schema(name, schemas.__getitem__) if is_published_schema(name) else schema
        yield FOLDER / f"{name}.schema.json", _text(whole, indent=2)
    yield OPENAPI, _text(openapi_document(SandboxConfig()), indent=1)


def _is_stale(path: Path, text: str) -> bool:
    """Return whether the file says something else. In a schema, keys keep the order in which they stand."""
    there = path.read_text(encoding="utf-8")
    return there != text and (path == OPENAPI or json.loads(there) != json.loads(text))


def _by_hand() -> dict[str, dict[str, Any]]:
    """Return the schemas that people edit, with what follows from the kinds, by their names."""
    found = {path.name.removesuffix(".schema.json"): path for path in sorted(FOLDER.glob("*.schema.json"))}
    written = {
        name: unbundle_schema(name, json.loads(path.read_text(encoding="utf-8")))
        for name, path in found.items()
    }
    return {name: fill_in_kinds(name, schema) for name, schema in written.items()}


def _text(document: object, *, indent: int) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
