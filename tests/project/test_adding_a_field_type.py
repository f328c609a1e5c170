"""docs/adding-a-field-type.md, done: a type of field is one row, and no table lacks a name of its cells."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Union, get_args, get_origin

import jsonschema_rs
import msgspec
import pytest
from sabotage.workshop import ROOT, Workshop

from reconciler.model import field_types
from reconciler.model.field_types import FIELD_TYPES, FieldCheck, FieldType, TextCheck, TypeRow, require_rows
from reconciler.model.kind import Field
from reconciler.model.kinds import BUILT_IN_KINDS
from reconciler.model.settings import Checks
from reconciler.sandbox import collections
from reconciler.sandbox.openapi import SCHEMAS
from reconciler.schema.shipped import schema_address, schema_resources

PAGE = ROOT / "docs" / "adding-a-field-type.md"
# What the copy is asked to do with its new type, over both forms.
TRIED = """
import sys
from pathlib import Path
from world import World

from reconciler.core.compare.readback import reads_back_as
from reconciler.errors import ManifestError

for form in ("json", "xml"):
    root = Path(sys.argv[1]) / form
    root.mkdir()
    world = World(root, service={"format": form})
    jane = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane.doe@example.com"}
    world.write({"contacts": {"jane-doe": {**jane, "language": "en-AU"}}})
    planned, run = world.apply()
    assert run.exit_code == 0, run.outcomes
    assert world.plan().plan.changes == ()
    world.write({"contacts": {"jane-doe": {**jane, "language": "English"}}})
    try:
        world.plan()
    except ManifestError as error:
        assert "is not a language tag" in str(error.problems), error.problems
    else:
        raise AssertionError("a mistake was planned")
assert reads_back_as("contact", "language", "en-AU", "en_au")
assert not reads_back_as("contact", "language", "en-AU", "en-GB")
"""
# The cells that may hold a name, by the `Literal` that lists the names.
CELLS = {
    "FieldShape": field_types.FieldShape,
    "NormalForm": field_types.NormalForm,
    "ReadBack": field_types.ReadBack,
    "IdentityKey": field_types.IdentityKey,
    "LookalikeRule": field_types.LookalikeRule,
    "FieldCheck": field_types.FieldCheck,
    "XmlForm": field_types.XmlForm,
    "SchemaPart": field_types.SchemaPart,
    "SandboxType": field_types.SandboxType,
}
CELLS_OF_A_ROW = msgspec.structs.fields(TypeRow)
# Every module of the program with a table of such a cell.
TABLES = sorted(
    (cell, path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."))
    for path in (ROOT / "reconciler").rglob("*.py")
    for cell in set(re.findall(r"= require_rows\(\s*(\w+),", path.read_text("utf-8")))
)
# What a body holds, by the normal form of a scalar, else by the shape.
# Services take it beside the fields of the specification, which the sandbox is written from.
UNDESCRIBED = frozenset({"personalMobilePhone1"})
JSON_TYPES = {
    "text": "string",
    "truth": "boolean",
    "number": "number",
    "content": "string",
    "custom": "array",
    "channels": "array",
    "group": "object",
}


def change() -> str:
    """The change that the page shows; RENEW_GOLDEN=1 writes it anew where the lines around it moved."""
    text = PAGE.read_text("utf-8")
    found = re.search(r"^```diff\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found
    if not os.environ.get("RENEW_GOLDEN"):
        return found[1]
    renewed = _renew_change(found[1])
    PAGE.write_text(text[: found.start(1)] + renewed + text[found.end(1) :], "utf-8")
    return renewed


def _renew_change(shown: str) -> str:
    """Return the change as git shows it where `patch` finds its places in the files of now."""
    with TemporaryDirectory() as folder:
        for name in re.findall(r"^diff --git a/(\S+) ", shown, re.MULTILINE):
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, Path(folder) / name)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
            subprocess.run([*git, *words], cwd=folder, check=True)
        patch = ["patch", "-p1", "--fuzz=3", "--no-backup-if-mismatch"]
        done = subprocess.run(patch, cwd=folder, input=shown, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"mend the change by hand: {done.stdout}"
        diff = subprocess.run(
            ["git", "diff", "--no-color", "--no-ext-diff"],
            cwd=folder,
            check=True,
            text=True,
            capture_output=True,
        )
    return re.sub(r"^index .*\n", "", diff.stdout, flags=re.MULTILINE)


def test_the_change_of_the_page_adds_a_type(tmp_path: Path) -> None:
    """A page that nobody runs is wrong after the next change."""
    workshop = Workshop(tmp_path / "copy")
    shutil.copytree(ROOT / "script", workshop.folder / "script")
    patched = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=workshop.folder,
        input=change(),
        text=True,
        capture_output=True,
        check=False,
    )
    assert patched.returncode == 0, (
        f"the lines around the change in {PAGE.name} moved; RENEW_GOLDEN=1 script/test {Path(__file__).name} "
        f"renews them: {patched.stderr}"
    )

    workshop.python("script/generate_schemas.py")
    own = "each_check or rosters or described or every_question or name_with_a_row"
    tests = workshop.run(
        [
            "tests/pipeline/test_kinds.py",
            "tests/project/test_adding_a_field_type.py",
            "-k",
            f"contact or schemas or {own}",
        ]
    )
    assert tests.returncode == 0, tests.stdout[-3000:]
    (tmp_path / "tried.py").write_text(TRIED, "utf-8")
    (tmp_path / "worlds").mkdir()
    workshop.python(str(tmp_path / "tried.py"), str(tmp_path / "worlds"), path=workshop.folder / "tests")


def test_every_cell_has_a_table() -> None:
    """A cell that no table reads means nothing."""
    assert {cell for cell, _ in TABLES} == {*CELLS, "FieldType"}
    # A cell that may hold a function holds a name of its list or that.
    named = [get_args(one.type)[0] if get_origin(one.type) is Union else one.type for one in CELLS_OF_A_ROW]
    assert {*CELLS.values()} == {*named} - {bool}


@pytest.mark.parametrize(("cell", "module"), [one for one in TABLES if one[0] != "FieldType"])
def test_no_table_starts_without_a_name_of_its_cell(cell: str, module: str) -> None:
    """A type that one layer does not know passed every check, and meant nothing there."""
    added = (
        "from typing import Literal; from reconciler.model import field_types; "
        f"field_types.{cell} = Literal[field_types.{cell}, 'unheard-of']; import {module}"
    )

    done = subprocess.run(
        [sys.executable, "-c", added], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "a table of field types has no row for unheard-of" in done.stderr


def test_a_table_has_no_row_that_no_cell_names() -> None:
    """A row that is misspelt would leave its name without one."""
    with pytest.raises(TypeError, match="no row for zone and a row for zones, which nothing names"):
        require_rows(field_types.ReadBack, {"identity": 1, "email": 2, "zones": 3})
    with pytest.raises(TypeError, match="has a row for zones, which nothing names"):
        require_rows(field_types.ReadBack, {"identity": 1, "email": 2, "zone": 3, "zones": 4})


def test_a_type_is_a_name_with_a_row() -> None:
    assert {*FIELD_TYPES} == {*get_args(FieldType)}
    with pytest.raises(TypeError, match="language: 'tongue' is no type of field"):
        Field("language", type="tongue")  # type: ignore[arg-type]  # what mypy would say, where it is run


def test_a_row_answers_every_question() -> None:
    """A default would answer a question that was not asked."""
    assert all(cell.required for cell in CELLS_OF_A_ROW)


def test_each_check_has_its_setting() -> None:
    """A check is as strict as the setting of its name says."""
    settings = {*get_args(FieldCheck)}
    settings |= {row.check.setting for row in FIELD_TYPES.values() if isinstance(row.check, TextCheck)}
    settings.discard("always")
    unknown = sorted(settings - {*Checks.__struct_fields__})
    assert not unknown, f'add {", ".join(unknown)} to Checks in reconciler/model/settings.py, or use "always"'


@pytest.mark.parametrize("kind", [name for name, row in BUILT_IN_KINDS.items() if row.rosters])
def test_a_field_that_rosters_fill_may_be_a_template(kind: str) -> None:
    """A form in the schema refuses `{Column}`; what a value must be like is said by `check`."""
    shipped = jsonschema_rs.Registry(list(schema_resources().items()), draft=jsonschema_rs.Draft202012)
    address = schema_address("manifest")
    refused = []
    for field in BUILT_IN_KINDS[kind].declarable:
        if not field.row.structured and "." not in field.name:
            place = f"#/$defs/roster{kind.title()}/properties/{field.name}"
            one = jsonschema_rs.Draft202012Validator({"$ref": f"{address}{place}"}, registry=shipped)
            refused += [] if one.is_valid("{Column}") else [f"{field.name}: {field.type}"]
    assert refused == [], 'their `schema` refuses templates of rosters; use "text", and a `check`'


def test_the_sandbox_refuses_a_type_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="language: 'tongue' is no type of field of the sandbox"):
        collections.RowField("language", type="tongue")  # type: ignore[arg-type]  # as a row of a profile could have it


@pytest.mark.parametrize("kind", BUILT_IN_KINDS)
def test_the_sandbox_describes_each_field_as_its_type_is_sent(kind: str) -> None:
    """The two share no table: what both describe has to agree."""
    described: Any = SCHEMAS[f"New{kind.capitalize()}"]["properties"]
    for field in BUILT_IN_KINDS[kind].declarable:
        head, _, part = field.name.partition(".")
        name = BUILT_IN_KINDS[kind].wire.get(head, head)
        found = _resolved(described.get(name, {}))
        if part:
            found = _resolved(found.get("properties", {}).get(part, {}))
        if field.name in UNDESCRIBED:
            continue
        assert found, f"{field.name}: add it to reconciler/sandbox/records.py and what describes it there"
        form = field.row.xml if field.row.shape == "scalar" else field.row.shape
        assert form in JSON_TYPES, (
            f"{form} has no row in JSON_TYPES: which type of JSON does the sandbox show?"
        )
        assert JSON_TYPES[form] in _json_types(found), field.name


def _resolved(schema: Any) -> Any:
    reference = schema.get("$ref", "")
    return SCHEMAS[reference.rpartition("/")[2]] if reference else schema


def _json_types(schema: Any) -> set[str]:
    """The types that a schema takes; an enumeration is of texts."""
    if "anyOf" in schema:
        return set().union(*map(_json_types, schema["anyOf"]))
    found = schema.get("type", "string")
    return {found} if isinstance(found, str) else {*found}
