"""The bill of materials and the page of licences: of exactly what the lock names, under allowed licences."""

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from reconciler.version import DISTRIBUTION

ROOT = Path(__file__).parents[2]
BILL = (ROOT / "docs" / "sbom.cdx.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """script/sbom.py, imported."""
    folder = ROOT / "script"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("sbom", folder / "sbom.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def test_both_are_what_the_lock_and_the_libraries_say() -> None:
    """Made anew: a version that was locked, a licence that was changed, and neither page says so."""
    done = subprocess.run(
        [sys.executable, "script/sbom.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, ""), "run script/sbom"


def test_the_bill_is_valid_and_says_nothing_of_whoever_made_it() -> None:
    told: dict[str, Any] = json.loads(BILL)

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(BILL) is None
    assert told["specVersion"] == "1.6"
    assert "serialNumber" not in told
    assert told["metadata"].keys() == {"component", "tools"}
    assert [one for one in told["components"] if "externalReferences" in one or "properties" in one] == []


def test_everything_that_is_needed_is_a_component_that_is_led_to() -> None:
    """A scanner that follows the dependencies from the program meets each library."""
    told: dict[str, Any] = json.loads(BILL)
    needs = {one["ref"]: one["dependsOn"] for one in told["dependencies"]}
    met, ahead = set(), [DISTRIBUTION]
    while ahead:
        here = ahead.pop()
        if here not in met:
            met.add(here)
            ahead += needs[here]

    assert met == needs.keys()
    assert met == {one["bom-ref"] for one in told["components"]} | {DISTRIBUTION}


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        *(("MIT", True), ("LGPL-3.0-only", True), ("GPL-3.0-only", False), ("UNKNOWN", False), ("", False)),
        *(("GPL-2.0-only OR MIT", True), ("MIT AND GPL-2.0-only", False), ("MIT AND PSF-2.0", True)),
    ],
)
def test_a_licence_is_allowed_by_its_name_alone(script: ModuleType, licence: str, *, allowed: bool) -> None:
    assert script.is_allowed(licence) is allowed


# What stands in the text of a licence, and in that of no other that the list names.
SIGNS = {
    "BSD-3-Clause": "Neither the name of the copyright holder nor the names of its contributors may be used",
    "MIT": "The MIT License",
}


def test_what_was_read_by_people_is_still_so(script: ModuleType) -> None:
    """A library whose metadata do not say it has a file that does."""
    for name, licence in script.READ.items():
        texts = [file.read_text() for file in files(name) or () if file.name.upper().startswith("LICEN")]
        assert [one for one in texts if SIGNS[licence] in " ".join(one.split())] != [], name
