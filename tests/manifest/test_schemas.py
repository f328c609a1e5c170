"""The schemas, their two validators, and the sentences for what they refuse."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hostile.manifests.yaml_inputs import CASES, FILES, HEAD, JSON_FILES
from jsonschema import Draft202012Validator

from reconciler.manifest.entries import name_entry
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree
from reconciler.schema.explain import explain_mistakes
from reconciler.schema.shipped import list_schema_names, read_schema

_GATE = read_schema("manifest")


def list_problems(text: str) -> list[tuple[int, int, str, str]]:
    tree = read_tree(text.encode(), "m.yaml")
    found = check_tree("manifest", tree, subject=name_entry)
    return [(problem.line, problem.column, problem.what, problem.next) for problem in found]


def test_all_schemas_are_draft_2020_12() -> None:
    """Editors and validators read one dialect, and the schemas themselves are valid."""
    for name in list_schema_names():
        schema = read_schema(name)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        Draft202012Validator.check_schema(schema)


def _definitions(node: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    if isinstance(node, dict):
        for section in ("properties", "$defs"):
            for name, below in node.get(section, {}).items():
                found.append((f"{path}/{name}", below))
                found.extend(_definitions(below, f"{path}/{name}"))
    return found


@pytest.mark.parametrize("name", ["manifest", "common"])
def test_everything_an_editor_shows_has_words_and_examples(name: str) -> None:
    """A hover without a title or an example teaches nothing; a $ref brings the words of its target."""
    for path, schema in [("", read_schema(name)), *_definitions(read_schema(name))]:
        if "$ref" not in schema:
            assert schema.get("title"), path
            assert schema.get("description"), path
            if path and "properties" not in schema:
                assert schema.get("examples"), path


def test_every_example_of_the_manifest_schema_fits_its_own_definition() -> None:
    """An example that the schema refuses would teach a mistake."""
    definitions = read_schema("manifest")["$defs"]
    for name, definition in definitions.items():
        for example in definition.get("examples", ()):
            section = {"contact": "contacts", "resource": "resources"}.get(name)
            if section:
                body = {"version": "1", "workspace": "ops", section: {"example": example}}
                assert check_tree("manifest", read_tree(json.dumps(body).encode(), "m.json")) == ()


def test_every_row_of_the_corpus_gets_the_same_answer_from_both_validators() -> None:
    """One decides and one explains: a tree that only one of them refuses would have no words."""
    rows = [(HEAD + body, "m.yaml") for _, body, _ in CASES]
    rows += [(data, "m.yaml") for _, data, _ in FILES] + [(data, "m.json") for _, data, _ in JSON_FILES]
    refused = 0
    for data, file in rows:
        tree = read_tree(data, file)
        if tree.broken or any("null" in problem.what for problem in tree.problems):
            continue
        explained = explain_mistakes(
            "manifest", read_schema("manifest"), tree, tree.value, subject=name_entry
        )
        assert bool(explained) == bool(check_tree("manifest", tree, subject=name_entry)), data[:200]
        assert not any("does not match the schema" in one.problem.what for one in explained)
        refused += bool(explained)
    assert refused > 50


@pytest.mark.parametrize(
    ("text", "place", "what", "hint"),
    [
        (
            "version: 1\nworkspace: ops\ncontacts:\n  jane-doe:\n    fristName: Jane\n",
            (5, 5),
            "contact/ops/jane-doe: fristName is not a field of a contact.",
            "did you mean firstName?",
        ),
        (
            "version: 1\nworkspace: ops\ncontacts:\n  jane-doe:\n    colour: red\n",
            (5, 5),
            "contact/ops/jane-doe: colour is not a field of a contact.",
            "`reconciler schema` shows every field of a contact",
        ),
        (
            "version: 1\nworkspace: ops\nresources:\n  list:\n    scope: Private\n",
            (5, 5),
            "resource/ops/list: scope must be public or private. It is 'Private'.",
            "did you mean private?",
        ),
        (
            "version: 1\n",
            (1, 1),
            "workspace is missing; a manifest needs it.",
            "add it, for example `workspace: ops`",
        ),
    ],
)
def test_a_mistake_is_told_with_place_words_and_a_way_on(
    text: str, place: tuple[int, int], what: str, hint: str
) -> None:
    """What, where, why, next: one problem for each mistake."""
    assert list_problems(text) == [(*place, what, hint)]


def test_all_mistakes_are_told_at_once() -> None:
    """A second run for the second mistake is a wasted one."""
    messages = list_problems(
        "version: 2\nworkspace: ops\ncontacts:\n  a: {fristName: x}\n  b: {lastnam: y}\nresorces: {}\n"
    )

    assert [row[0] for row in messages] == [1, 4, 5, 6]


def test_secret_values_are_neverlist_problems() -> None:
    """A push token in the wrong place would end up in a build log."""
    tree = read_tree(
        b"version: 1\nworkspace: ops\ncontacts:\n  a:\n    password: [hunter2]\n    status: hunter3\n",
        "m.yaml",
    )

    messages = " ".join(map(str, check_tree("manifest", tree)))

    assert "hunter2" not in messages
    assert "hunter3" in messages, "other values are shown, so that they can be found"


def test_fields_of_a_deployment_are_allowed_by_name() -> None:
    """The schema cannot know every deployment; the settings may name more."""
    tree = read_tree(b"version: 1\nworkspace: ops\ncontacts: {a: {pagerNumber: 5550 1234}}\n", "m.yaml")

    assert len(check_tree("manifest", tree)) == 1
    assert check_tree("manifest", tree, extras={"contact": ("pagerNumber",)}) == ()


def test_typed_values_are_named_by_their_types() -> None:
    """A caller that has turned scalars into numbers gets words for numbers."""
    tree = read_tree(b"version: 1\nworkspace: ops\n", "m.yaml")
    typed = {"version": 1, "workspace": "ops", "contacts": 5, "resources": True}

    messages = [problem.what for problem in check_tree("manifest", tree, value=typed)]

    assert messages == [
        "contacts must be a mapping, not a number.",
        "resources must be a mapping, not true or false.",
    ]


def test_an_unknown_schema_is_a_key_error() -> None:
    """The caller knows the names; it asked for one that is not there."""
    with pytest.raises(KeyError):
        read_schema("no-such-schema")


_COMMON = read_schema("common")["$defs"]
_HEX = "0123456789abcdef"
FORMATS: dict[str, tuple[list[str], list[str]]] = {
    "regionCode": (
        ["ap-southeast-2", "us-east-10"],
        ["ap-southeast-0", "AP-southeast-2", "a-b-1", "us-east-1a"],
    ),
    "tagKey": (["team", "a b", "+=._:/@-", "x" * 128], ["", "x" * 129, "aws:x", "AWS:x", "a;b", "ä", "a\tb"]),
    "tagValue": (["", "x" * 256, "é"], ["x" * 257]),
    "containerLongId": ([_HEX * 4], [_HEX * 4 + "0", _HEX * 3, "g" * 64]),
    "containerShortId": (["0123456789ab", "ABCdef123456"], ["0123456789a", "0123456789a-", "0123456789abc"]),
    "commitHash": (["a" * 40, "0" * 40], ["a" * 39, "a" * 41, "g" * 40]),
    "semanticVersion": (
        ["0.0.0", "1.2.3", "1.0.0-rc.1", "1.0.0+build.7", "1.0.0-a.b+c.d", "10.20.30", "1.0.0-0a"],
        ["1", "1.2", "01.2.3", "1.2.3-", "1.2.3+", "1.2.3-01", "v1.2.3", "1.2.3-a..b", "1.2.3 "],
    ),
    "severity": (["DEBUG", "EMERGENCY", "NOTICE"], ["debug", "WARN", "FATAL", ""]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000", "123e4567-e89b"]),
    "traceId": (
        ["1-5759e988-bd862e3fe1be46a994272793"],
        ["2-5759e988-bd862e3fe1be46a994272793", "1-5759e988-bd86"],
    ),
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_common_format_takes_exactly_its_values_in_both_validators(name: str) -> None:
    """Anchored, ASCII only, and no line feed slips in behind the end, whichever engine reads the pattern."""
    good, bad = FORMATS[name]
    definition = _COMMON[name]
    slow, fast = Draft202012Validator(definition), jsonschema_rs.validator_for(definition)
    if "maxLength" not in definition or "pattern" in definition:
        bad = [*bad, good[0] + "\n", "\n" + good[0], good[0].replace(good[0][-1], "\u0661")]
    for value in good:
        assert slow.is_valid(value), value
        assert fast.is_valid(value), value
    for value in bad:
        assert not slow.is_valid(value), value
        assert not fast.is_valid(value), value


def test_tags_are_an_object_of_keys_to_values() -> None:
    """The tenth format is made of two others."""
    tree = read_tree(b'version: 1\nworkspace: ops\ntags: {team: sre, "a b": ""}\n', "m.yaml")

    assert check_tree("manifest", tree) == ()
    assert set(_COMMON) == {*FORMATS, "tags", "notice", "notPlanned"}


def test_no_pattern_ends_in_a_bare_dollar() -> None:
    """Where $ also matches before a last line feed, a name could smuggle one in."""
    for name in ("manifest", "common"):
        for pattern in re.findall(r'"pattern": "([^"]*)"', json.dumps(read_schema(name))):
            assert pattern.startswith("^")
            assert pattern.endswith(r"$(?!\\n)")


def test_defaults_and_rosters_know_the_same_fields_as_contacts() -> None:
    """Three lists of one thing: a field that is added to one of them belongs to all."""
    definitions = _GATE["$defs"]
    contact = set(definitions["contact"]["properties"])

    assert set(definitions["contactDefaults"]["properties"]) == contact - {"devices", "meta"}
    assert set(definitions["rosterContact"]["properties"]) == contact - {"devices"}
    assert set(definitions["deviceDefaults"]["properties"]) == set(definitions["device"]["properties"]) - {
        "meta"
    }


@pytest.mark.parametrize("word", ["007", "NO", "+61491570156", "12:30", "1.10"])
def test_an_editor_that_sees_numbers_and_booleans_underlines_nothing(word: str) -> None:
    """Editors type plain scalars by themselves; the schema takes what they see."""
    import yaml  # noqa: PLC0415 - stands for the editor's own parser, used nowhere else here

    seen = yaml.safe_load(f"version: 1\nworkspace: ops\ncontacts: {{a: {{jobTitle: {word}}}}}\n")
    seen["contacts"]["a"]["meta"] = {"protect": True}
    tree = read_tree(b"version: 1\nworkspace: ops\n", "m.yaml")

    assert check_tree("manifest", tree, value=seen) == ()
