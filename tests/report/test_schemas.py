"""The published schemas of plan files and run reports, against everything the model can hold."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from report import cases
from report.strategies import calm, plans, runs

from reconciler.core.review.saved_plans import PlanFile, open_plan_file, seal_plan, without_transient
from reconciler.model.encoding import decode_json
from reconciler.model.plans import Plan
from reconciler.model.runs import Run
from reconciler.report.json import run_json
from reconciler.schema.shipped import schema_address, schema_resources

SCHEMAS = Path(__file__).parents[2] / "schemas"


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return loaded


def validator(name: str) -> Any:
    """The schema as shipped, the common one beside it."""
    shipped = jsonschema_rs.Registry(list(schema_resources().items()), draft=jsonschema_rs.Draft202012)
    return jsonschema_rs.Draft202012Validator({"$ref": schema_address(name)}, registry=shipped)


SHIPPED = Registry().with_resources(
    (f"{name}.schema.json", DRAFT202012.create_resource(schema(name))) for name in ("common", "run")
)
PLAN = validator("plan")
RUN = validator("run")


def mistakes(validator: Any, document: Any) -> list[str]:
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", ["plan", "run"])
def test_a_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", ["plan", "run"])
def test_every_property_says_what_it_is(name: str) -> None:
    """Editors show it on hover: a title where it is defined, or where it points to."""
    whole = schema(name)

    def named(about: dict[str, Any]) -> bool:
        target = whole["$defs"].get(about.get("$ref", "").rpartition("/")[2], {})
        return bool({"title", "description"} & (about.keys() | target.keys())) or "const" in about

    def walk(node: Any) -> list[str]:
        if isinstance(node, list):
            return [path for each in node for path in walk(each)]
        if not isinstance(node, dict):
            return []
        own = (
            [key for key, about in node.get("properties", {}).items() if not named(about)]
            if "type" in node
            else []
        )
        return own + [path for each in node.values() for path in walk(each)]

    assert walk(whole) == []


@calm
@given(plans())
def test_every_plan_the_model_allows_is_a_valid_plan_file_and_reads_back(plan: Plan) -> None:
    """Law 6 for plans, and the schema promises nothing that the program does not keep."""
    data = seal_plan(plan, "0.1.0")

    assert mistakes(PLAN, json.loads(data)) == []
    assert open_plan_file(decode_json(data, PlanFile)) == without_transient(plan)


@calm
@given(runs())
def test_every_run_the_model_allows_is_a_valid_report_and_reads_back(run: Run) -> None:
    text = run_json(run)

    assert mistakes(RUN, json.loads(text)) == []
    assert decode_json(text, Run) == run


def test_both_validators_agree_on_the_examples() -> None:
    """The fast one is the gate; the other is the reference."""
    for plan in (cases.MIXED, cases.LONG, cases.WIDE):
        Draft202012Validator(schema("plan"), registry=SHIPPED).validate(json.loads(seal_plan(plan, "0.1.0")))
    for run in (cases.DONE, cases.PARTIAL):
        explaining = Draft202012Validator(schema("run"), registry=SHIPPED)
        explaining.validate(json.loads(run_json(run)))


def without(document: Any, path: tuple[str | int, ...]) -> Any:
    """A copy without what stands at the path."""
    copy = json.loads(json.dumps(document))
    at = copy
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return copy


def having(document: Any, path: tuple[str | int, ...], value: object) -> Any:
    """A copy with this value at the path."""
    copy = json.loads(json.dumps(document))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copy


PLAN_KEYS = sorted(json.loads(seal_plan(cases.MIXED, "0.1.0")))
RUN_KEYS = sorted(json.loads(run_json(cases.DONE)))

BAD_IN_PLANS: list[tuple[tuple[str | int, ...], object]] = [
    (("surprise",), 1),
    (("version",), 3),
    (("version",), "2"),
    (("fingerprint",), "7f3a91c2"),
    (("fingerprint",), cases.FINGERPRINT.upper()),
    (("fingerprint",), cases.FINGERPRINT + "\n"),
    (("manifest_digest",), ""),
    (("created_at",), "yesterday"),
    (("expires_at",), "2026-03-02T09:30:00+10:00"),
    (("salt",), "two words"),
    (("target", "origin"), None),
    (("target", "workspaces", 0, "alias"), 7),
    (("options", "only"), "kind:device"),
    (("changes",), {}),
    (("changes", 0, "action"), "upsert"),
    (("changes", 0, "action"), "delete"),
    (("changes", 0, "address"), "contact/ops"),
    (("changes", 0, "address"), "contact/ops/jane doe"),
    (("changes", 0, "address"), "device/ops/pixel"),
    (("changes", 0, "address"), "contact/ops/../x"),
    (("changes", 0, "fields", "content"), "sha256:0123"),
    (("changes", 0, "fields", "scope"), 7),
    (("changes", 0, "fields", "scope"), None),
    (("changes", 0, "cause"), "why not"),
    (("changes", 3, "fields", 0, "surprise"), 1),
    (("changes", 3, "fields", 0, "before"), ["Night"]),
    (("changes", 3, "fields", 0, "cause"), "adopted"),
    (("skips", 0, "reason"), "no idea"),
    (("adoptions", 0, "address"), "x"),
    (("gone", 0), "x"),
    (("renames", "x"), "contact/ops/y"),
    (("unchanged", "contacts in ops"), -1),
    (("reads", 0, "calls"), -1),
    (("reads", 0, "complete"), "yes"),
    (("reads", 0, "scope", "kind"), "message"),
]

BAD_IN_RUNS: list[tuple[tuple[str | int, ...], object]] = [
    (("surprise",), 1),
    (("version",), 0),
    (("exit_code",), 9),
    (("exit_code",), 1),
    (("outcome",), "fine"),
    (("outcome",), "failed"),
    (("fingerprint",), "abc"),
    (("started_at",), "09:30"),
    (("adopted",), -1),
    (("calls", "get"), 3),
    (("calls", "GET"), -3),
    (("outcomes", 0, "result"), "ok"),
    (("outcomes", 0, "action"), "upsert"),
    (("outcomes", 0, "address"), "ops/jane-doe"),
    (("outcomes", 0, "surprise"), ""),
]


@pytest.mark.parametrize(("path", "value"), BAD_IN_PLANS)
def test_a_plan_with_a_wrong_value_does_not_pass(path: tuple[str | int, ...], value: object) -> None:
    """A schema that lets everything pass says nothing."""
    assert mistakes(PLAN, having(json.loads(seal_plan(cases.MIXED, "0.1.0")), path, value))


@pytest.mark.parametrize(("path", "value"), BAD_IN_RUNS)
def test_a_run_with_a_wrong_value_does_not_pass(path: tuple[str | int, ...], value: object) -> None:
    assert mistakes(RUN, having(json.loads(run_json(cases.DONE)), path, value))


@pytest.mark.parametrize("key", PLAN_KEYS)
def test_a_plan_without_one_of_its_keys_does_not_pass(key: str) -> None:
    assert mistakes(PLAN, without(json.loads(seal_plan(cases.MIXED, "0.1.0")), (key,)))


@pytest.mark.parametrize("key", RUN_KEYS)
def test_a_run_without_one_of_its_keys_does_not_pass(key: str) -> None:
    assert mistakes(RUN, without(json.loads(run_json(cases.DONE)), (key,)))


@pytest.mark.parametrize("number", range(len(cases.MIXED.changes)))
def test_a_change_without_one_of_its_keys_does_not_pass(number: int) -> None:
    document = json.loads(seal_plan(cases.MIXED, "0.1.0"))

    for key in document["changes"][number]:
        assert mistakes(PLAN, without(document, ("changes", number, key))), key
