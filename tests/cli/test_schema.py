import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree
from reconciler.schema.shipped import read_schema

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_schemas_are_listed_and_printed(run: Run) -> None:
    """Editors get them from here, for exactly the version that runs."""
    listed = run("schema").stdout.split()
    as_json = msgspec.json.decode(run("schema", "--format", "json").stdout)

    assert {"common", "manifest", "settings"} <= set(listed)
    assert as_json == {"version": 1, "outcome": "done", "exit_code": 0, "schemas": listed}
    shipped = Path(__file__).parents[2] / "schemas" / "settings.schema.json"
    assert run("schema", "settings").stdout == shipped.read_text()


def test_an_unknown_schema_is_an_error_that_lists_them(run: Run) -> None:
    """What, and what there is."""
    done = run("schema", "manifst")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "there is no schema 'manifst'. [E001]\n  next: name one of common, event, log, manifest, "
    )


def test_a_section_may_hold_all_that_the_file_holds() -> None:
    """But its own language's version, and further sections."""
    schema = read_schema("settings")

    assert (
        schema["properties"].keys() - {"version", "environments"}
        == schema["$defs"]["environment"]["properties"].keys()
    )


def described(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        for key, below in node.items():
            if key in ("properties", "$defs") and isinstance(below, dict):
                yield from ((f"{path}.{name}", one) for name, one in below.items() if isinstance(one, dict))
            yield from described(below, f"{path}.{key}")


@pytest.mark.parametrize("name", ["settings", "message"])
def test_an_editor_shows_what_each_key_is(name: str) -> None:
    """Title, description and an example for everything that can be hovered over."""
    for path, one in described(read_schema(name)):
        if "$ref" not in one:
            assert one.get("title"), path
            assert one.get("description"), path
            assert one.get("examples") or "properties" in one, path


@pytest.mark.parametrize("name", ["settings", "message"])
def test_examples_of_the_schema_are_valid(name: str) -> None:
    """An example that is refused teaches the wrong thing."""
    schema = read_schema(name)
    validator = jsonschema.Draft202012Validator(schema)

    validator.check_schema(schema)
    for example in schema["examples"]:
        assert list(validator.iter_errors(example)) == []
    for path, one in described(schema):
        for example in one.get("examples", ()):
            checked = {**one, "$defs": schema["$defs"]}
            assert list(jsonschema.Draft202012Validator(checked).iter_errors(example)) == [], path


@pytest.mark.parametrize("text", ["version: 1", "version: '1'", '{"version": 1}'])
def test_editor_and_reader_agree_on_numbers(text: str) -> None:
    """Editors see numbers where our reader sees text; the schema takes both."""
    tree = read_tree(text.encode(), "reconciler.yaml")

    assert (*tree.problems, *check_tree("settings", tree)) == ()
    validator = jsonschema.Draft202012Validator(read_schema("settings"))
    assert validator.is_valid(
        {"version": 1, "device_limit": 3, "guard": {"deletes_max": 25}, "plan_expires_h": 0.5}
    )
    assert not validator.is_valid({"version": 1, "device_limit": 11})
