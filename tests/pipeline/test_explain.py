"""`explain`: it says what the plan says and nothing else, where each value stands, and no secret."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from core import build
from msgspec import structs
from pipeline.test_golden import CASES, GOLDEN, Planned, planned
from world import World

from reconciler import pipeline
from reconciler.cli.sandbox_collections import build_own_collections
from reconciler.core.compare.normalize import WITHHELD
from reconciler.core.planning.select import Selection
from reconciler.core.views.explain import ExplainRequest, PlanView, make_explanations, sources_of
from reconciler.core.views.inventory import planned_words
from reconciler.errors import ManifestError, UnknownAddress
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, ExplainedField, Explanation, FieldSource, Update
from reconciler.report.explain import WHY, explain_lines, explain_values
from reconciler.report.json import report_json
from reconciler.report.lines import plain
from reconciler.sandbox.app import SandboxConfig
from reconciler.service.profile import load_profile

JANE = {
    "firstName": "Jane",
    "lastName": "Doe",
    "workEmailAddress1": "jane@example.com",
    "workCountry": "Australia",
    "timezone": "Australia/Melbourne",
}
ADDRESS = "contact/default/jane-doe"
OWN_KINDS = Path(__file__).parents[2] / "examples" / "own-kinds" / "profile.yaml"


def known_of(case: Planned, *, seen: bool = True) -> ExplainRequest:
    declared = case.resolved.declared
    sources = {address: sources_of(one, case.rules) for address, one in declared.items()}
    looked = PlanView(case.live, case.plan) if seen else None
    return ExplainRequest(case.resolved.desired, case.recorded, case.rules, sources, seen=looked)


def everybody(case: Planned) -> list[Address]:
    return sorted({*case.resolved.desired.entities, *case.resolved.desired.removed, *case.recorded.entities})


def planned_cases() -> Iterator[tuple[str, Planned]]:
    for name in CASES:
        try:
            yield name, planned(GOLDEN / name)
        except ManifestError:
            continue


def written(one: Explanation) -> dict[str, tuple[Any, ...]]:
    return {
        field.path: (field.live, field.after, field.reason)
        for field in one.fields
        if field.decision == "change"
    }


@pytest.fixture(scope="module")
def cases() -> dict[str, Planned]:
    return dict(planned_cases())


def test_it_says_exactly_what_the_plan_says(cases: dict[str, Planned]) -> None:
    """Two answers to one question would be worse than none: every reviewed plan, address by address."""
    checked = 0
    for name, case in cases.items():
        changes = {one.address: one for one in case.plan.changes}
        words = planned_words(case.plan)
        for one in make_explanations(everybody(case), known_of(case)):
            match changes.get(one.address):
                case Create() as made:
                    assert {p: after for p, (_, after, _) in written(one).items()} == dict(made.fields), name
                case Update() as update:
                    told = {f.path: (f.before, f.after, f.cause) for f in update.fields}
                    hidden = KINDS[one.address.kind].write_only
                    assert written(one) == {
                        p: ((None, *rest) if p in hidden else (before, *rest))
                        for p, (before, *rest) in told.items()
                    }, name
                case Delete() as gone:
                    assert written(one).keys() == gone.before.keys(), name
                case None:
                    assert written(one) == {}, name
            assert one.planned == words.get(one.address, ""), name
            checked += 1
    assert checked > 80


def test_it_says_why_what_the_plan_leaves_alone_is_left(cases: dict[str, Planned]) -> None:
    """Every skip and every notice about an address stands in its explanation, with what can be done."""
    reasons = set()
    for name, case in cases.items():
        found = {one.address: one for one in make_explanations(everybody(case), known_of(case))}
        for skip in case.plan.skips:
            if skip.address in found:
                told = [(one.word, one.what, one.next) for one in found[skip.address].said]
                assert (skip.reason, skip.what, skip.next) in told, name
                reasons.add(skip.reason)
        assert all(one.said for one in found.values()), name
    assert reasons >= {"ambiguous", "protected", "foreign mark", "in doubt", "disabled", "taken over"}


def test_an_ignored_field_is_left_and_never_to_be_changed(cases: dict[str, Planned]) -> None:
    """Whoever reads that it will be changed looks for a write that never comes."""
    one, *_ = make_explanations([Address("contact/ops/jane")], known_of(cases["ignore"]))

    left = {field.path: field.decision for field in one.fields if field.reason == "ignored"}

    assert left
    assert set(left.values()) == {"left"}
    assert [control.name for control in one.controls] == ["ignore"]


@pytest.mark.parametrize("declared", [False, True])
def test_of_a_token_that_nobody_declares_no_digest_is_shown(*, declared: bool) -> None:
    """A digest tells whether it has changed, and that is nobody's business whose it is not."""
    jane = build.contact("ops/jane", devices=True, workEmailAddress1="jane@example.com")
    whole = build.device("ops/jane/phone")
    bare = {path: value for path, value in whole.fields.items() if path != "pushToken"}
    phone = whole if declared else structs.replace(whole, fields=bare)
    want = build.desired(jane, phone)
    there = build.live(build.person("C1", workEmailAddress1="jane@example.com"), build.phone("D1", "C1"))
    looked = PlanView(there, build.planned(want, there))

    (one,) = make_explanations(
        [phone.address], ExplainRequest(want, build.recorded(), build.RULES, {}, seen=looked)
    )

    (token,) = (field for field in one.fields if field.path == "pushToken")
    assert (token.live == WITHHELD) is not declared
    assert (token.reason == "not declared") is not declared


def test_no_secret_is_explained_in_clear_nor_as_the_store_keeps_it(cases: dict[str, Planned]) -> None:
    """The digests of a plan are for this plan alone; those of the store would fit every later one."""
    kept = 0
    for case in cases.values():
        digests = [
            str(value)
            for record in case.recorded.entities.values()
            for value in (*record.sent.values(), *record.shown.values())
            if str(value).startswith("secret:") and value != WITHHELD
        ]
        kept += len(digests)
        for seen in (True, False):
            found = make_explanations(everybody(case), known_of(case, seen=seen))
            told = plain(explain_lines(found)) + report_json(explain_values(found))
            assert not [one for one in ("canary", *digests) if one in told]
    assert kept > 3


def test_every_value_stands_where_it_is_said_to_stand(cases: dict[str, Planned]) -> None:
    """A wrong line sends somebody to another person's entry."""
    forms = set()
    for name, case in cases.items():
        for address, one in case.resolved.declared.items():
            for path, source in sources_of(one, case.rules).fields.items():
                line = _line(GOLDEN / name, source)
                forms.add(source.form)
                if source.form in ("entry", "defaults", "roster"):
                    assert path.rpartition(".")[2] in line, (name, address, path)
                elif source.form == "cell":
                    assert str(one.entity.fields[path]) in line, (name, address, path)
    assert forms == {"entry", "defaults", "cell", "mark"}


def _line(folder: Path, source: FieldSource) -> str:
    return (folder / source.place.file).read_text(encoding="utf-8").splitlines()[source.place.line - 1]


def test_every_reason_has_words() -> None:
    """Each cause of a plan and each reason of a field: a bare word explains nothing."""
    named = ExplainedField.__annotations__["reason"]
    words = {word for union in named.__args__ for word in getattr(union, "__args__", (union,))}
    assert words == set(WHY)


def explain(world: World, *texts: str, offline: bool = False, **selection: Any) -> tuple[Explanation, ...]:
    """Explain, and claim that nothing but GET was sent and nothing was written beside the store."""
    before, stored = len(world.wire.sent), {path: path.read_bytes() for path in world.root.glob("store*")}
    declared = pipeline.resolve_manifests(world.settings, world.environ)
    found = world.run(
        pipeline.explain(
            world.settings,
            declared,
            world.dependencies,
            addresses=texts,
            selection=Selection(**selection),
            offline=offline,
        )
    )
    assert {method for method, _ in world.wire.sent[before:]} <= ({"GET"} if not offline else set())
    assert {path: path.read_bytes() for path in world.root.glob("store*")} == stored
    return found


def field(one: Explanation, path: str) -> ExplainedField:
    return next(each for each in one.fields if each.path == path)


def test_a_field_tells_its_variable_and_its_default_and_no_value(tmp_path: Path) -> None:
    """The name says where to look; the value is nobody's business."""
    world = World(tmp_path, environ={"APP_PASSWORD": "canary-password"}, changes={"variables": ("APP_*",)})
    defaults = {"contacts": {"jobTitle": "Nurse", "lastName": "Roe"}}
    world.write({"defaults": defaults, "contacts": {"jane-doe": {**JANE, "password": "${env:APP_PASSWORD}"}}})
    world.apply()

    (one,) = explain(world, ADDRESS)

    password, title, name = (field(one, path).source for path in ("password", "jobTitle", "lastName"))
    assert password
    assert password.variables == ("APP_PASSWORD",)
    assert title
    assert title.form == "defaults"
    assert name
    assert name.form == "entry"
    assert name.default is not None
    told = plain(explain_lines([one])) + report_json(explain_values([one]))
    assert "canary" not in told
    assert "environment variable APP_PASSWORD" in told
    assert (field(one, "password").decision, field(one, "password").reason) == ("none", "not readable")


def test_what_others_changed_is_told_with_what_we_left(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": {**JANE, "jobTitle": "Nurse"}}})
    _, run = world.apply()
    (before,) = explain(world, ADDRESS)

    async def edit(client: Any) -> None:
        found = await client.contacts.get(before.remote_id)
        await client.contacts.replace(before.remote_id, {**found.body, "jobTitle": "Boss"})

    world.behind_our_back(edit)
    (one,) = explain(world, ADDRESS)

    title = field(one, "jobTitle")
    assert (before.state, before.planned, one.state, one.planned) == ("owned", "", "drifted", "update")
    assert (title.decision, title.reason) == ("change", "drifted")
    assert (title.desired, title.live, title.sent, title.after) == ("Nurse", "Boss", "Nurse", "Nurse")
    assert one.last_write is not None
    assert one.last_write.run == run.run


def test_one_address_among_many_takes_a_few_calls(tmp_path: Path) -> None:
    """Sixty people are no reason to read sixty people."""
    world = World(tmp_path, SandboxConfig(contacts=60))
    people = {
        f"p{number}": {**JANE, "firstName": f"P{number}", "workEmailAddress1": f"p{number}@example.com"}
        for number in range(30)
    }
    world.write({"contacts": people, "resources": {}})
    world.apply()
    world.sent()

    explain(world, "contact/default/p7")

    assert sum(world.sent().values()) <= 2


def test_offline_asks_nobody_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": JANE}})
    world.apply()

    (one,) = explain(world, ADDRESS, offline=True)

    assert [said.word for said in one.said] == ["not read"]
    assert {each.decision for each in one.fields} == {"unknown"}
    assert field(one, "firstName").sent == "Jane"
    assert one.remote_id


def test_what_is_recorded_and_no_longer_declared_is_explained(tmp_path: Path) -> None:
    """Deleted where its kind is still in scope, left where no manifest speaks of it."""
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": JANE}})
    world.apply()

    world.write({"contacts": {}})
    (gone,) = explain(world, ADDRESS)
    world.write({"resources": {}})
    world.sent()
    (left,) = explain(world, ADDRESS)

    assert (gone.planned, {each.decision for each in gone.fields}) == ("delete", {"change"})
    assert (left.state, left.planned, [said.word for said in left.said]) == ("outside", "", ["not in scope"])
    assert world.sent() == {}


def test_a_selection_that_leaves_it_out_is_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": JANE}})

    (one,) = explain(world, ADDRESS, excluded=("kind:contact",))

    assert [said.word for said in one.said] == ["not selected", "create"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("contact/default/jane-do", "did you mean contact/default/jane-doe?"),
        ("jane-doe", "use the form that plans show: contact/ops/jane-doe"),
        ("contact/default/*", "did you mean"),
        ("contact/default/\x1b[31m", "did you mean"),
        ("contact/" + "x" * 5_000, "use the form"),
        ("", "use the form"),
        ("gadget/default/jane-doe", "did you mean contact/default/jane-doe?"),
    ],
)
def test_an_unknown_address_is_refused_with_the_nearest(text: str, hint: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": JANE}})

    with pytest.raises(UnknownAddress) as refused:
        explain(world, text)

    assert refused.value.next.startswith(hint)
    assert world.sent() == {}


def test_an_own_kind_is_explained_like_any_other(tmp_path: Path) -> None:
    """A row of a profile, and no line of code."""
    rows = build_own_collections(load_profile(str(OWN_KINDS)))
    world = World(tmp_path, SandboxConfig(), service={"profile": str(OWN_KINDS)}, collections=rows)
    hello = {"name": "hello", "subject": "A word", "body": "Good morning", "type": "defaultReply"}
    try:
        world.write({"templates": {"hello": hello}})
        world.apply()
        world.write({"templates": {"hello": {**hello, "subject": "Another"}}})
        (one,) = explain(world, "template/default/hello")
        told = plain(explain_lines([one]))
    finally:
        KINDS.bring(())

    assert written(one) == {"subject": ("A word", "Another", "declared")}
    assert "template, defined by the profile" in told


def test_hostile_live_values_stay_text(tmp_path: Path) -> None:
    """Whoever can write at the service writes on nobody's terminal and orders no CI runner."""
    world = World(tmp_path)
    world.write({"contacts": {"jane-doe": {**JANE, "jobTitle": "Nurse"}}})
    world.apply()
    (before,) = explain(world, ADDRESS)

    async def edit(client: Any) -> None:
        found = await client.contacts.get(before.remote_id)
        body = {**found.body, "jobTitle": "\x1b[2J\u202e", "middleName": "a\n::set-env name=X::1"}
        await client.contacts.replace(before.remote_id, body)

    world.behind_our_back(edit)
    found = explain(world, ADDRESS)

    for text in (plain(explain_lines(found)), report_json(explain_values(found))):
        assert not [char for char in text if char in "\x1b\u202e\r"]
    assert not [one for one in plain(explain_lines(found)).splitlines() if one.lstrip().startswith("::")]
    assert json.loads(report_json(explain_values(found)))["exit_code"] == 0
