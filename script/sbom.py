# noqa: INP001 - a script, started by script/sbom; part of no package
"""Write docs/sbom.cdx.json (CycloneDX 1.6) and docs/licences.md: every library that the lock names.

cyclonedx-py says what a component is, pip-licenses under which licence it is published, the lock which are
meant. With --check nothing is written; exit code 1 says that a page is stale. A licence that is not allowed
ends it with 1 before anything is written. The same lock gives the same bytes: no time, no serial number, no
path, no address of an index.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import locked
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from reconciler.extras import EXTRAS
from reconciler.version import DISTRIBUTION, __version__

ROOT = Path(__file__).parents[1]
BILL, PAGE = ROOT / "docs" / "sbom.cdx.json", ROOT / "docs" / "licences.md"
# What packages call a licence, and its identifier (SPDX). Those of an identifier stand for themselves.
NAMES: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache Software License; MIT License": "Apache-2.0 OR MIT",  # uvloop: the choice is ours
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
# What packages do not say themselves, with where it was read.
READ: Mapping[str, str] = {
    "cronsim": "BSD-3-Clause",  # its LICENSE; its metadata say BSD, and not which
    "jinja2": "BSD-3-Clause",  # its LICENSE.txt; its metadata say BSD, and not which
    "pyrage": "MIT",  # its LICENSE; the metadata of its wheels have no word of it
}
# All of them let a program of any licence use the library as it is published, by importing it.
ALLOWED = frozenset(
    (
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "LGPL-3.0-only",
        "MIT",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
    )
)
_HEAD = """\
# Licences

Made by `script/sbom` from the lock (`requirements/run.txt`); a test holds the two together. The program
itself is under Apache-2.0 (`LICENSE`). These are the libraries that it uses, each as its authors publish it:
none is part of our files. The same list for programs is [sbom.cdx.json](sbom.cdx.json) (CycloneDX 1.6); the
wheel holds it in `.dist-info/sboms/`.

| library | version | licence | comes with |
|---|---|---|---|
"""


def main(arguments: list[str]) -> int:
    """Write both files, or with --check compare them. Returns the exit code."""
    shipped = locked.shipped()
    licences = {name: _licence(name, told) for name, told in _published(shipped).items()}
    refused = [name for name in sorted(shipped) if not is_allowed(licences.get(name, ""))]
    if refused:
        told = ", ".join(f"{name} ({licences.get(name) or 'none that is known'})" for name in refused)
        return _fail(f"not allowed: {told}.", "use another library, or allow it in script/sbom.py")
    bill = json.dumps(_bill(shipped, licences), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    assert wrong is None, wrong  # noqa: S101 - our own mistake
    made = {BILL: bill, PAGE: _page(shipped, licences)}
    if "--check" not in arguments:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    return _fail(f"{stale[0]} is stale.", "script/sbom") if stale else 0


def is_allowed(licence: str) -> bool:
    """Whether a licence, or one of a choice, is on the list; an `AND` needs all of them."""
    return any(all(one in ALLOWED for one in each.split(" AND ")) for each in licence.split(" OR "))


def _published(shipped: Mapping[str, str]) -> Mapping[str, str]:
    """Return what pip-licenses finds of each package, by its canonical name."""
    found = _told("piplicenses", "--from=mixed", "--format=json", "--packages", *shipped)
    return {canonicalize_name(row["Name"]): row["License"] for row in found}


def _licence(name: str, told: str) -> str:
    return READ.get(name) or NAMES.get(told, told)


def _bill(shipped: Mapping[str, str], licences: Mapping[str, str]) -> dict[str, Any]:
    """Return the bill of materials: what cyclonedx-py says of the environment, as far as it is shipped."""
    # Not validated there: `main` validates what is left of it.
    options = ("--no-validate", "--pyproject", "pyproject.toml", "--output-reproducible")
    whole = _told("cyclonedx_py", "environment", *options)
    parts = {canonicalize_name(one["name"]): one for one in whole["components"]}
    root = whole["metadata"]["component"] | {"bom-ref": DISTRIBUTION, "version": __version__}
    return {
        **{key: whole[key] for key in ("$schema", "bomFormat", "specVersion", "version")},
        "metadata": {"component": root, "tools": _tools(whole)},
        "components": [_component(parts[one], one, shipped[one], licences[one]) for one in sorted(shipped)],
        "dependencies": [*_dependencies(shipped)],
    }


def _component(found: Mapping[str, Any], name: str, version: str, licence: str) -> dict[str, Any]:
    assert found["version"] == version, f"{name}: .venv is not as the lock says"  # noqa: S101 - script/setup was here
    how = {"expression": licence} if " " in licence else {"license": {"id": licence}}
    return {
        **{key: found[key] for key in ("type", "name", "version", "purl", "description") if key in found},
        "bom-ref": name,
        "licenses": [how],
    }


def _dependencies(shipped: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what needs what, for every platform and Python: an environment knows its own alone."""
    graph = locked.graph(EXTRAS)
    for name in (DISTRIBUTION, *sorted(shipped)):
        yield {"ref": name, "dependsOn": sorted(graph[name] & {*shipped})}


def _tools(whole: Mapping[str, Any]) -> dict[str, Any]:
    tools = whole["metadata"]["tools"]["components"]
    return {"components": [{key: one[key] for key in ("type", "group", "name", "version")} for one in tools]}


def _page(shipped: Mapping[str, str], licences: Mapping[str, str]) -> str:
    needed = {"": locked.needed(), **{name: locked.needed([name]) for name in EXTRAS}}
    lines = []
    for name in sorted(shipped):
        by = [f"`{extra}`" for extra in EXTRAS if name in needed[extra]]
        comes = "every installation" if name in needed[""] else ", ".join(by)
        lines.append(f"| {name} | {shipped[name]} | {licences[name]} | {comes} |\n")
    return _HEAD + "".join(lines)


def _told(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-I", "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own environment
    return json.loads(done.stdout)


def _fail(what: str, hint: str) -> int:
    print(f"{what}\n  next: {hint}", file=sys.stderr)  # noqa: T201 - a script
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
