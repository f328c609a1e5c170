"""The planning rules as folders: `golden/<case>/`, named by the rule that each one shows.

    manifest.yaml    what is declared (and the roster or payload that it names)
    live.json        what the service sends: bodies by workspace and kind, devices inside their contacts; each
                     says its id, and where it differs from the one of its kind in golden/base.json
    recorded.json    what earlier runs left; secrets stand in clear here and are masked before use
    rules.json       optional: settings, options, consent, and scopes whose read was not complete
    plan.json        what has to come out of it, without what is the same in every plan

To add a case, add a folder without plan.json; to renew:

    RENEW_GOLDEN=1 script/test tests/pipeline/test_golden.py

then read the difference against docs/planning.md before it is committed.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec import Struct

from reconciler.core.compare.normalize import normalize_fields, observe_entity, redact_for_plan
from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.planning.plan import make_plan
from reconciler.core.review.guard import check_plan
from reconciler.core.rules import Rules
from reconciler.errors import ManifestError, Problem
from reconciler.manifest.load import load_manifests
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.plans import Consent, Options, Plan, PlanMoment, Target, Workspace
from reconciler.model.settings import GuardLimits, Identity
from reconciler.model.snapshots import Live, LiveEntity, Read, Recorded, RecordedEntity, Scope

T = TypeVar("T")
Body = dict[str, Any]
GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
STACK = "ops-contacts"
STORE_SALT = "salt of the store"
MOMENT = PlanMoment("salt of the plan", "2026-03-01T12:00:00+00:00", "2026-03-02T12:00:00+00:00")
WORKSPACES = (Workspace("default", ""), Workspace("lab", "CD34"), Workspace("ops", "AB12"))
# The same in every case, or a digest of all the rest.
CONSTANT = {
    "target",
    "options",
    "salt",
    "manifest_digest",
    "fingerprint",
    "created_at",
    "expires_at",
    "version",
}


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """What rules.json may say."""

    identity: tuple[str, ...] = ("workEmailAddress1",)
    mark: str = ""
    adopt: bool = True
    options: Options = Options()
    consent: Consent = Consent()
    totals: dict[str, int] = {}
    incomplete: tuple[str, ...] = ()


class Past(Struct, frozen=True, forbid_unknown_fields=True):
    """One entity of recorded.json. `shown` is as `sent` where it is not given."""

    remote_id: str
    sent: dict[str, Scalar] = {}
    shown: dict[str, Scalar] | None = None
    parent_id: str = ""
    protected: bool = False
    adopted: str = ""
    earlier: tuple[str, ...] = ()


class History(Struct, frozen=True, forbid_unknown_fields=True):
    """What recorded.json holds."""

    entities: dict[str, Past] = {}
    doubts: dict[str, str] = {}


def read(path: Path, kind: type[T]) -> T:
    return msgspec.json.decode(path.read_bytes(), type=kind)


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    """The plan of a case is the one that was reviewed."""
    folder = GOLDEN / name
    text = encode_json(outcome(folder), indent=2).decode()
    path = folder / "plan.json"
    if os.environ.get("RENEW_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text


def test_a_row_of_live_says_nothing_that_the_base_says() -> None:
    """What is the same in every case hides what the case is about."""
    for folder in (GOLDEN / name for name in CASES):
        for kinds in read(folder / "live.json", dict[str, dict[str, list[Body]]]).values():
            for plural, rows in kinds.items():
                for row in rows:
                    shorter = [
                        field
                        for field in row.keys() - {"id"}
                        if whole(plural, {name: row[name] for name in row.keys() - {field}})
                        == whole(plural, row)
                    ]
                    assert shorter == [], folder.name


def test_there_are_enough_cases() -> None:
    """A rule without a case is a rule that nobody has seen at work."""
    assert len(CASES) >= 40


def outcome(folder: Path) -> dict[str, Any]:
    """What a plan of this case says: its parts and the guard's reasons, or the problems of the input."""
    rules = _rules(folder)
    try:
        plan = planned(folder).plan
    except ManifestError as error:
        return {"problems": [_problem(one) for one in error.problems]}
    assert "canary" not in repr(plan)
    said = {key: value for key, value in msgspec.json.decode(encode_json(plan)).items() if value}
    reasons = check_plan(plan, GuardLimits(), rules.consent).reasons
    refused = [f"{one.rule}: {one.what} next: {one.next}" for one in reasons]
    parts = {key: value for key, value in said.items() if key not in CONSTANT | {"reads"}}
    return {**parts, **({"refused": refused} if refused else {})}


class Planned(Struct, frozen=True):
    """The plan of a case, and everything that it was made from."""

    resolved: Resolved
    live: Live
    recorded: Recorded
    rules: Rules
    plan: Plan


def planned(folder: Path) -> Planned:
    """Plan a case. Raises ManifestError with every mistake of the input."""
    case = _rules(folder)
    loaded = load_manifests(
        [folder / "manifest.yaml"], root=folder, environ={"TOKEN": "canary-token"}, variables=("TOKEN",)
    )
    workspaces = frozenset(one.alias for one in WORKSPACES)
    identity = Identity({"contacts": case.identity})
    rules = Rules(STACK, identity, case.mark, adopt=case.adopt, workspaces=workspaces)
    resolved = resolve_desired(loaded.manifests, rules)
    if problems := [*loaded.problems, *resolved.problems]:
        raise ManifestError("mistakes", problems=tuple(problems))
    live = _live(read(folder / "live.json", dict[str, dict[str, list[Body]]]), case)
    recorded = _recorded(read(folder / "recorded.json", History))
    target = Target("https://api.example.com", STACK, WORKSPACES)
    plan = make_plan(
        resolved.desired,
        live,
        recorded,
        target=target,
        options=case.options,
        rules=rules,
        moment=MOMENT,
    )
    return Planned(resolved, live, recorded, rules, plan)


def _rules(folder: Path) -> Case:
    return read(folder / "rules.json", Case) if (folder / "rules.json").exists() else Case()


def _live(workspaces: dict[str, dict[str, list[Body]]], rules: Case) -> Live:
    entities: dict[Scope, tuple[LiveEntity, ...]] = {}
    for workspace, kinds in workspaces.items():
        for plural, rows_ in kinds.items():
            kind = plural.removesuffix("s")
            bodies = [whole(plural, row) for row in rows_]
            rows = [observe_entity(kind, workspace, body["id"], body) for body in bodies]
            entities[Scope(kind, workspace)] = tuple(rows)
            devices = [(body["id"], device) for body in bodies for device in body.get("devices", [])]
            if kind == "contact":
                entities[Scope("device", workspace)] = tuple(
                    observe_entity("device", workspace, device["id"], device, parent_id=parent)
                    for parent, device in devices
                )
    reads = [
        Read(scope, "scan", 1, 0, rules.totals.get(str(scope), len(rows)), str(scope) not in rules.incomplete)
        for scope, rows in entities.items()
        if scope.kind != "device"
    ]
    return Live(entities, tuple(reads))


def whole(plural: str, row: Body, *, parent: str = "") -> Body:
    """Return the body that a row of live.json stands for: what it says, over what its kind has in the base.

    null takes a field away. `{id}` in a text of the base is the row's own id, and so for any field of it;
    `{parent}` is the id of the contact that a device is of.
    """
    over = {**_base().get(plural, {}), **row}
    known = {**over, "parent": parent}
    found = {
        field: value if field in row else _filled(value, known)
        for field, value in over.items()
        if value is not None
    }
    devices = [whole("devices", one, parent=found["id"]) for one in row.get("devices", [])]
    return {**found, **({"devices": devices} if devices else {})}


def _filled(value: Any, known: Body) -> Any:
    match value:
        case str():
            return value.format_map(known)
        case list():
            return [_filled(one, known) for one in value]
        case dict():
            return {name: _filled(one, known) for name, one in value.items()}
        case _:
            return value


@cache
def _base() -> dict[str, Body]:
    return read(GOLDEN / "base.json", dict[str, Body])


def _recorded(history: History) -> Recorded:
    entities = {}
    for text, past in history.entities.items():
        address = _address(text)
        sent = redact_for_plan(address.kind, normalize_fields(address.kind, past.sent), STORE_SALT)
        shown = sent if past.shown is None else redact_for_plan(address.kind, past.shown, STORE_SALT)
        entities[address] = RecordedEntity(
            address,
            past.remote_id,
            past.parent_id,
            sent,
            shown,
            protected=past.protected,
            adopted=past.adopted,
            earlier=past.earlier,
        )
    return Recorded(entities, STORE_SALT, {_address(text): until for text, until in history.doubts.items()})


def _address(text: str) -> Address:
    address = parse_address(text)
    assert address is not None, text
    return address


def _problem(problem: Problem) -> str:
    return f"{problem.where}: {problem.what} next: {problem.next}"
