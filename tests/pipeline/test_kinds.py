"""Every row of the table of kinds through every table, schema and form that knows kinds."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.core.compare.diff import Salts
from reconciler.core.compare.normalize import flatten_body, normalize_fields, redact_for_plan
from reconciler.core.planning.scopes import wave_of
from reconciler.core.planning.select import Selection
from reconciler.manifest.load import load_manifests
from reconciler.model import address
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, Options, Plan, Target, Update, Verdict
from reconciler.model.settings import Identity
from reconciler.model.snapshots import Scope
from reconciler.report.text import plain, plan_lines
from reconciler.schema.shipped import fill_in_kinds

SCHEMAS = Path(__file__).parents[2] / "schemas"
SALTS = Salts("store", "plan")
ROWS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def place_of(kind: Kind) -> address.Address:
    """The address of the example of a kind."""
    parent = KINDS[kind.parent].example_name if kind.parent else ""
    return address.make_address(kind.name, "ops", kind.example_name, parent=parent)


def manifest_of(kind: Kind) -> dict[str, Any]:
    """A manifest that declares the example of a kind, below its parent's where it has one."""
    section = {kind.plural: {kind.example_name: dict(kind.example)}}
    if kind.parent:
        above = KINDS[kind.parent]
        section = {above.plural: {above.example_name: {**above.example, **section}}}
    return {"version": "1", "workspace": "ops", **section}


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.schema.json")), ids=lambda path: str(path.name))
def test_the_schemas_say_what_the_rows_say(path: Path) -> None:
    """Whoever changes a row runs script/generate_schemas.py, or editors and validate disagree."""
    written = json.loads(path.read_text())

    assert fill_in_kinds(path.name.removesuffix(".schema.json"), json.loads(path.read_text())) == written


@ROWS
def test_a_declared_entity_of_every_kind_is_read_whole(kind: Kind, tmp_path: Path) -> None:
    """A kind that a stage forgets would be dropped in silence: "no mistakes", "0 entities"."""
    (tmp_path / "payloads").mkdir()
    (tmp_path / "payloads" / "staff-import.csv").write_text("name\nJane\n")
    file = tmp_path / "ops.json"
    file.write_text(json.dumps(manifest_of(kind)))

    environ = {"JANE_PUSH_TOKEN": "token", "ON_CALL_KEY": "key"}
    loaded = load_manifests([file], root=tmp_path, environ=environ, variables=list(environ))

    assert loaded.problems == ()
    (document,) = (one for one in loaded.manifests[0].documents if one.kind == kind.name)
    assert document.name == kind.example_name
    assert {path.partition(".")[0] for path in document.fields} == kind.example.keys()
    assert (kind.parent or kind.name) in loaded.manifests[0].kinds


@ROWS
def test_an_address_of_every_kind_is_parsed(kind: Kind) -> None:
    one = place_of(kind)

    assert address.parse_address(one) == one
    assert (one.kind, one.workspace, one.name) == (kind.name, "ops", kind.example_name)
    assert (one.above.kind if one.above else "") == kind.parent
    assert address.parse_address(f"{one}/more/again") is None


@ROWS
def test_parents_are_made_before_and_deleted_after_what_belongs_to_them(kind: Kind) -> None:
    if kind.parent:
        above, below = place_of(KINDS[kind.parent]), place_of(kind)
        assert wave_of(Create(above, "", {})) < wave_of(Create(below, "", {}))
        assert wave_of(Delete(below, "1", {})) < wave_of(Delete(above, "1", {}))
    last = max(wave_of(Update(place_of(other), "", "1", ())) for other in KINDS.values())
    assert last < wave_of(Delete(place_of(kind), "1", {}))


@ROWS
def test_every_kind_can_be_recognized_and_told_apart_by_its_own_fields(kind: Kind) -> None:
    names = kind.by_name.keys()

    assert kind.identity
    assert set(kind.identity) <= names
    assert set(kind.headline) <= names
    assert set(kind.telling) <= names
    assert set(kind.unique) <= names
    assert {path for key in Identity().of(kind.name) for path in key} == set(kind.identity)


@ROWS
def test_a_kind_is_selected_by_its_name(kind: Kind) -> None:
    only = Selection(only=(f"kind:{kind.name}",))

    assert [other.name for other in KINDS.values() if only.selects(place_of(other), {})] == [kind.name]


@ROWS
def test_a_sentence_names_a_scope_by_the_plural(kind: Kind) -> None:
    assert str(Scope(kind.name, "ops")) == f"{kind.plural} in ops"


@ROWS
def test_a_create_shows_the_headline_first_and_no_secret(kind: Kind) -> None:
    fields = {path: str(value) for path, value in kind.example.items() if not isinstance(value, dict)}
    change = Create(place_of(kind), "ops.yaml:1", redact_for_plan(kind.name, fields, SALTS.plan))

    plan = Plan(Target("https://api.example.com", "ops", ()), Options(), "", "", (change,))
    text = plain(plan_lines(plan, Verdict()))

    shown = [path for path in kind.headline if path in fields]
    assert all(path in text for path in shown)
    assert not any(fields[path] in text for path in kind.secret & fields.keys())


@ROWS
def test_what_is_read_back_of_every_field_has_the_name_of_the_manifest(kind: Kind) -> None:
    """A body of the service comes back under our names, without what is not ours to compare."""
    plain = [one for one in kind.fields if one.name not in kind.structured and one.type != "content"]
    body: dict[str, Any] = {}
    for one in plain:
        group, _, key = one.name.rpartition(".")
        holder = body.setdefault(kind.wire.get(group, group), {}) if group else body
        holder[key if group else one.wire or one.name] = one.example or "x"

    shown = flatten_body(kind.name, body)

    wanted = {one.name: one.example or "x" for one in plain if not (one.server_owned or one.write_only)}
    assert shown == normalize_fields(kind.name, wanted)
