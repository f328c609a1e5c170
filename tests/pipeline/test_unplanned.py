"""One workspace that cannot be read, or whose manifests have mistakes, is left out; the others are planned.

That the plan of the others is what it is without that workspace is a law of tests/laws/test_unplanned.py.
"""

from pathlib import Path
from typing import Any

import pytest
from core.build import MOMENT, RULES, TARGET, contact, desired, live, person, record, recorded
from msgspec import structs
from wire import Fault, answered, at_paths, lost_after, lost_before, shown_without
from world import PHONE, World, actions

from reconciler import pipeline
from reconciler.core.planning.plan import make_usable_plan
from reconciler.core.planning.select import Selection
from reconciler.core.planning.unplanned import PlanInputs, not_planned_exit_code
from reconciler.engine.exporting import ExportRequest
from reconciler.errors import (
    ManifestError,
    ReconcilerError,
    ServiceError,
    SettingsError,
    StalePlan,
    Unauthorized,
    Unavailable,
)
from reconciler.model.plans import Options, Plan
from reconciler.model.settings import WorkspaceRef
from reconciler.model.snapshots import Scope
from reconciler.report.text import plain, plan_lines, run_lines
from reconciler.sandbox.app import SandboxConfig

IDS = {"lab": "4C8FE1A2B3D4E5F6", "ops": "5D9FE1A2B3D4E5F7", "zoo": "6EAFE1A2B3D4E5F8"}
KIM = {"firstName": "Kim", "workEmailAddress1": "kim@example.com", "workCountry": "Australia"}
LEE = {"firstName": "Lee", "workEmailAddress1": "lee@example.com", "workCountry": "Australia"}
MAX = {"firstName": "Max", "workEmailAddress1": "max@example.com", "workCountry": "Australia"}
MISTAKE = {"fristName": "Max"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Kim is ours in lab, Lee in ops, Max in zoo; each has a manifest of its own."""
    made = World(
        tmp_path,
        config=SandboxConfig(workspaces=tuple((name.title(), one) for name, one in IDS.items())),
        workspaces={"default": WorkspaceRef(), **{name: WorkspaceRef(id=one) for name, one in IDS.items()}},
    )
    declares(made, lab={"kim": KIM}, ops={"lee": LEE}, zoo={"max": MAX})
    made.apply()
    made.clock.pass_s(60)
    return made


def declares(world: World, **workspaces: Any) -> None:
    for name, contacts in workspaces.items():
        world.write({"workspace": name, "contacts": contacts}, f"{name}.json")


def breaks(world: World, fault: Fault, *workspaces: str) -> None:
    world.meets(at_paths({IDS[name]: fault for name in workspaces}))


def left(plan: Plan) -> list[tuple[str, str]]:
    return [(one.workspace, one.by) for one in plan.left_out]


def write_text(world: World, name: str, text: str) -> None:
    (world.root / "manifests" / name).write_text(text, "utf-8")


@pytest.mark.parametrize("fault", [answered(500), answered(404), answered(403), answered(422), lost_before])
def test_a_workspace_that_cannot_be_read_is_left_out_and_the_others_are_planned(
    world: World, fault: Fault
) -> None:
    """One of two hundred would otherwise stop the work on all."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": {**LEE, "jobTitle": "Cook"}})
    breaks(world, fault, "ops")

    plan = world.plan().plan

    assert left(plan) == [("ops", "service")]
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]
    assert {one.alias for one in plan.target.workspaces} == {"lab", "zoo"}
    assert not_planned_exit_code(plan.left_out) == 1


def test_an_apply_writes_nothing_of_what_is_left_out_and_ends_with_6(world: World) -> None:
    """Also no delete, and no record of it changes."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={}, zoo={})
    breaks(world, answered(500), "ops", "zoo")
    world.wire.sent.clear()

    planned, run = world.apply()

    assert (run.exit_code, run.outcome) == (6, "partial")
    assert [one.address for one in run.outcomes] == ["contact/lab/kim"]
    assert all(IDS["lab"] in path for _, path in world.wire.writes())
    assert plain(run_lines(run)).startswith("Not planned: ops, zoo\n")
    assert "next: reconciler apply   (once what is left out can be planned; the rest is done)" in plain(
        run_lines(run)
    )
    world.wire.rules.clear()
    assert sorted(actions(world.plan().plan)) == ["Delete", "Delete"]
    assert planned.plan.left_out == run.not_planned


def test_nothing_to_do_for_the_others_ends_with_the_reason(world: World) -> None:
    """Nobody may take it for a project that is as declared."""
    breaks(world, answered(500), "ops")

    planned, run = world.apply()

    assert run.exit_code == 1
    text = plain(plan_lines(planned.plan, planned.verdict))
    assert text.startswith("Not planned: ops\n")
    assert "matches the manifests of the other workspaces" in text


@pytest.mark.parametrize(
    "text",
    [
        'version: "1"\nworkspace: ops\ncontacts:\n  lee: {fristName: Lee}\n',
        'version: "1"\nworkspace: ops\ncontacts:\n  lee: {firstName: [}\n',
        'version: "1"\nworkspace: ops\ncontacts:\n  lee: {firstName: "Lee\n',
        'version: "9"\nworkspace: ops\ncontacts: {}\n',
        '# people\n---\nworkspace: ops # all\nversion: "1"\ncontacts:\n\tlee: {}\n',
        'version: "1"\nworkspace: ops\nrosters: [{file: none.csv, name: "{id}", fields: {}}]\n',
        'version: "1"\nworkspace: ops\ncontacts:\n  lee: {firstName: "${env:NOBODY}"}\n',
    ],
)
def test_mistakes_leave_their_workspace_out(world: World, text: str) -> None:
    """Whether the file can be parsed or not: its first lines say whose it is."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}})
    (world.root / "manifests" / "ops.json").unlink()
    write_text(world, "ops.yaml", text)

    plan = world.plan().plan

    assert left(plan) == [("ops", "manifests")]
    assert "ops.yaml" in plan.left_out[0].what
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]
    assert not_planned_exit_code(plan.left_out) == 3


@pytest.mark.parametrize(
    "text",
    [
        'version: "1"\nworkspace: opss\ncontacts: {}\n',  # may be ops misspelt: nothing of ops is known then
        'version: "1"\ncontacts: {}\n',
        'contacts:\n  lee: {firstName: [}\nworkspace: ops\nversion: "1"\n',
        '{"version": "1", "contacts": {}, "workspace": "ops"',
        "\x00\x01",
        "",
    ],
)
def test_a_file_of_an_unknown_workspace_stops_everything(world: World, text: str) -> None:
    """It may declare entities of any workspace, which would be deleted there, whatever else is left out."""
    write_text(world, "more.yaml", text)
    declares(world, zoo={"max": MISTAKE})

    with pytest.raises(ManifestError):
        world.plan()


def test_a_file_that_names_two_workspaces_leaves_out_both(world: World) -> None:
    """It may belong to either."""
    write_text(world, "more.yaml", 'version: "1"\nworkspace: ops\ncontacts: {}\nworkspace: zoo\n')

    assert left(world.plan().plan) == [("ops", "manifests"), ("zoo", "manifests")]


def test_a_mistake_of_two_entries_together_leaves_out_their_workspace(world: World) -> None:
    """A duplicate in another workspace is none."""
    declares(world, ops={"lee": LEE, "leo": LEE}, zoo={"max": MAX, "lee": LEE})

    plan = world.plan().plan

    assert left(plan) == [("ops", "manifests")]
    assert [change.address for change in plan.changes] == ["contact/zoo/lee"]


def test_a_shared_roster_with_a_mistake_leaves_out_all_its_workspaces(world: World) -> None:
    """Only the first manifest met the mistake when the table was read."""
    (world.root / "people.csv").write_text("id,mail,note,note\nann,ann@example.com,a,b\n", "utf-8")
    contacts = {"firstName": "Ann", "workEmailAddress1": "{mail}"}
    roster = {"file": "../people.csv", "name": "{id}", "contacts": contacts}
    for name in ("ops", "zoo"):
        world.write({"workspace": name, "rosters": [roster]}, f"{name}.json")

    assert left(world.plan().plan) == [("ops", "manifests"), ("zoo", "manifests")]


def test_an_alias_that_the_service_lacks_is_left_out(world: World) -> None:
    """As a workspace that was deleted there."""
    gone = WorkspaceRef(id="7FBFE1A2B3D4E5F9")
    world.settings = structs.replace(world.settings, workspaces={**world.settings.workspaces, "ops": gone})
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}})

    plan = world.plan().plan

    assert left(plan) == [("ops", "settings")]
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]
    assert not_planned_exit_code(plan.left_out) == 3


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (answered(401), Unauthorized),
        (answered(403), Unauthorized),
        (answered(500), Unavailable),
        (lost_before, Unavailable),
    ],
)
def test_what_concerns_every_workspace_is_the_error_of_the_run(
    world: World, fault: Fault, error: type[ReconcilerError]
) -> None:
    """No plan says of two hundred workspaces that each is sick."""
    breaks(world, fault, *IDS)

    with pytest.raises((error, BaseExceptionGroup)):
        world.plan()


def test_refused_credentials_are_no_workspace(world: World) -> None:
    """After a 401 nothing is written in the same run, so nothing may be planned by halves."""
    breaks(world, answered(401), "ops")

    with pytest.raises((Unauthorized, BaseExceptionGroup)):
        world.plan()


def test_strict_scopes_plan_all_or_nothing(world: World) -> None:
    """For those who would rather wait."""
    world.settings = structs.replace(world.settings, strict_scopes="always")
    breaks(world, answered(500), "ops")
    with pytest.raises((ServiceError, BaseExceptionGroup)):
        world.plan()

    world.wire.rules.clear()
    declares(world, ops={"lee": MISTAKE})
    with pytest.raises(ManifestError):
        world.plan()


# --- Selections -------------------------------------------------------------------------------------


def test_a_project_of_one_workspace_that_cannot_be_read_whole_has_its_error(tmp_path: Path) -> None:
    """Contacts could be read and resources not: nothing else is asked for, so no run begins."""
    world = World(tmp_path)
    world.write({"contacts": {"kim": KIM}, "resources": {}})
    world.meets(at_paths({"/resources": answered(502)}))

    with pytest.raises(Unavailable, match="the service failed"):
        world.plan()


def test_what_a_selection_is_not_about_is_not_named(world: World) -> None:
    """Its exit code is that of what was asked for."""
    declares(world, ops={"lee": MISTAKE})

    assert left(world.plan(options=Options(only=("workspace:lab",))).plan) == []
    assert left(world.plan(options=Options(only=("kind:contact",))).plan) == [("ops", "manifests")]
    assert left(world.plan(options=Options(excluded=("workspace:ops",))).plan) == []


def test_a_selection_of_nothing_else_is_its_error(world: World) -> None:
    """As in a project of one workspace."""
    declares(world, ops={"lee": MISTAKE})
    with pytest.raises(ManifestError, match="ops is not planned"):
        world.plan(options=Options(only=("workspace:ops",)))

    declares(world, ops={"lee": LEE})
    breaks(world, answered(500), "ops")
    with pytest.raises((ServiceError, BaseExceptionGroup)):
        world.plan(options=Options(only=("contact/ops/lee",)))


# --- Moves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sick", "held"), [("ops", "contact/lab/kim"), ("lab", "contact/ops/kim")])
def test_nothing_of_a_move_is_done_where_one_half_is_left_out(world: World, sick: str, held: str) -> None:
    """Deleted here and not created there, she would be lost; created twice, she would be alerted twice."""
    declares(world, lab={}, ops={"lee": LEE, "kim": KIM})
    breaks(world, answered(500), sick)
    world.wire.sent.clear()

    planned, run = world.apply()

    assert [(one.address, one.reason) for one in planned.plan.skips] == [(held, "move not planned")]
    assert run.outcomes == ()
    assert not world.wire.writes()


def test_a_move_waits_for_a_workspace_with_mistakes_too(world: World) -> None:
    """What is readable of its manifests says who may have moved there."""
    declares(world, lab={}, ops={"lee": MISTAKE, "kim": KIM})

    plan = world.plan().plan

    assert [(one.address, one.reason) for one in plan.skips] == [("contact/lab/kim", "move not planned")]
    assert plan.changes == ()


# --- Saved plans ------------------------------------------------------------------------------------


def test_a_saved_plan_writes_nothing_in_a_workspace_that_it_left_out(world: World) -> None:
    """It can be read now, and nobody has reviewed what would be done there."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": {**LEE, "jobTitle": "Cook"}})
    breaks(world, answered(500), "ops")
    saved = world.plan().plan
    world.wire.rules.clear()

    planned, run = world.apply(saved=saved)

    assert [one.address for one in run.outcomes] == ["contact/lab/kim"]
    assert left(planned.plan) == [("ops", "service")]
    assert run.exit_code == 6


def test_a_saved_plan_that_left_out_mistakes_stays_so_when_they_are_corrected(world: World) -> None:
    """The digest of the manifests is that of the others."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": MISTAKE})
    saved = world.plan().plan
    declares(world, ops={})

    _, run = world.apply(saved=saved)

    assert [one.address for one in run.outcomes] == ["contact/lab/kim"]


def test_a_saved_plan_is_narrowed_where_a_workspace_cannot_be_read_any_more(world: World) -> None:
    """Less is done than was reviewed, and nothing else."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": {**LEE, "jobTitle": "Cook"}})
    saved = world.plan().plan
    breaks(world, answered(500), "ops")

    _, run = world.apply(saved=saved)

    assert [one.address for one in run.outcomes] == ["contact/lab/kim"]
    assert run.exit_code == 6


@pytest.mark.parametrize("change", ["mistake", "other", "strict", "move"])
def test_a_saved_plan_is_stale_where_narrowing_it_would_not_be_what_was_reviewed(
    world: World, change: str
) -> None:
    """Its manifests differ, all or nothing is wanted, or one half of a move would be left."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": {**LEE, "jobTitle": "Cook"}})
    if change == "move":
        declares(world, lab={"kim": KIM, "lee": LEE}, ops={})
    saved = world.plan().plan
    if change == "mistake":
        declares(world, ops={"lee": MISTAKE})
    else:
        breaks(world, answered(500), "ops")
    if change == "other":
        declares(world, ops={"lee": {**LEE, "jobTitle": "Chef"}})
    if change == "strict":
        world.settings = structs.replace(world.settings, strict_scopes="always")
    world.wire.sent.clear()

    with pytest.raises((StalePlan, ServiceError, BaseExceptionGroup)):
        world.apply(saved=saved)

    assert not world.wire.writes()


def test_a_saved_plan_that_left_something_out_is_not_all(world: World) -> None:
    """Who wants all or nothing gets nothing of it."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": MISTAKE})
    saved = world.plan().plan
    declares(world, ops={"lee": LEE})
    world.settings = structs.replace(world.settings, strict_scopes="always")
    world.wire.sent.clear()

    with pytest.raises(StalePlan, match="leaves out ops"):
        world.apply(saved=saved)

    assert not world.wire.sent


def test_an_unknown_workspace_of_one_is_the_error_that_it_was(world: World) -> None:
    """Where nothing else is planned there is nothing to leave out."""
    gone = WorkspaceRef(id="7FBFE1A2B3D4E5F9")
    world.settings = structs.replace(world.settings, workspaces={**world.settings.workspaces, "ops": gone})
    for name in ("lab", "zoo"):
        (world.root / "manifests" / f"{name}.json").unlink()

    with pytest.raises(SettingsError, match="the service has no workspace"):
        world.plan()


def test_validate_names_every_mistake(world: World) -> None:
    """It is asked for the mistakes, and leaves nothing out."""
    declares(world, ops={"lee": MISTAKE})

    with pytest.raises(ManifestError):
        pipeline.validate(world.settings, {})


# --- What belongs to the account, and what only the plan sees ---------------------------------------

CALLBACK = {
    "name": "on-call",
    "url": "https://replies.example.com/on-call",
    "auth": {"type": "httpheader", "key": "${env:ON_CALL_KEY}"},
    "events": {"reply": "enabled", "undeliverable": "disabled"},
    "retriesEnabled": "true",
    "email": "oncall@example.com",
}


@pytest.fixture
def account(tmp_path: Path) -> World:
    """The workspace `default` has contacts and, for the account, a callback; lab has Kim."""
    made = World(
        tmp_path,
        config=SandboxConfig(callback_check=False, workspaces=(("Lab", IDS["lab"]),)),
        workspaces={"default": WorkspaceRef(), "lab": WorkspaceRef(id=IDS["lab"])},
        changes={"variables": ("ON_CALL_KEY",)},
        environ={"ON_CALL_KEY": "a-key-that-nobody-sees"},
    )
    made.write({"contacts": {"lee": LEE}, "callbacks": {"on-call": CALLBACK}})
    declares(made, lab={"kim": KIM})
    return made


@pytest.mark.parametrize(
    ("part", "kind", "planned"),
    [
        ("/callbacks", ("callback",), ["contact/default/lee", "contact/lab/kim"]),
        ("8480/contacts", ("contact", "device", "resource"), ["callback/default/on-call", "contact/lab/kim"]),
    ],
)
def test_what_belongs_to_the_account_is_left_out_by_itself(
    account: World, part: str, kind: tuple[str, ...], planned: list[str]
) -> None:
    """It is in manifests of the workspace `default`, and read from elsewhere."""
    account.meets(at_paths({part: answered(500)}))

    plan = account.plan().plan

    (one,) = plan.left_out
    assert (one.workspace, one.kinds) == ("default", kind)
    assert sorted(change.address for change in plan.changes) == planned
    _, run = account.apply()
    assert (run.exit_code, run.count("applied")) == (6, 2)
    account.wire.rules.clear()
    assert account.apply()[1].count("applied") == 1
    assert account.plan().plan.empty


def test_mistakes_of_the_default_workspace_leave_out_the_account_too(account: World) -> None:
    """Its manifests are those of both."""
    account.write({"contacts": {"lee": MISTAKE}, "callbacks": {"on-call": CALLBACK}})

    plan = account.plan().plan

    assert [(one.workspace, one.kinds) for one in plan.left_out] == [("default", ())]
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]


def test_two_names_of_one_live_entity_leave_out_their_workspace() -> None:
    """Only the plan sees it (rule M4)."""
    people = [contact(f"ops/{name}", workEmailAddress1=f"{name}@example.com") for name in ("jane", "sam")]
    wanted = desired(*people, contact("lab/kim", workEmailAddress1="kim@example.com"))
    records = recorded(*(record(f"contact/ops/{name}", "A1") for name in ("jane", "sam")))
    inputs = PlanInputs(wanted, live(person("A1")), records, TARGET)

    made, made_from = make_usable_plan(inputs, options=Options(), rules=RULES, moment=MOMENT)
    plan = made.plan

    assert left(plan) == [("ops", "manifests")]
    assert "are the same live contact" in plan.left_out[0].what
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]
    assert {scope.workspace for scope in made_from.desired.scopes} == {"lab"}
    with pytest.raises(ManifestError):
        make_usable_plan(inputs, options=Options(), rules=RULES, moment=MOMENT, strict=True)
    only = Options(only=("workspace:ops",))
    with pytest.raises(ManifestError):
        make_usable_plan(inputs, options=only, rules=RULES, moment=MOMENT)


def test_a_service_that_hides_devices_leaves_out_their_workspace(world: World) -> None:
    """Without the devices of a contact nothing is known of hers."""
    declares(
        world,
        lab={"kim": {**KIM, "jobTitle": "Nurse"}},
        ops={"lee": {**LEE, "devices": {"phone": {**PHONE, "pushToken": "t"}}}},
    )
    breaks(world, shown_without("devices"), "ops")

    plan = world.plan().plan

    assert left(plan) == [("ops", "service")]
    assert [change.address for change in plan.changes] == ["contact/lab/kim"]


# --- Earlier runs -----------------------------------------------------------------------------------


def test_what_is_in_doubt_in_a_sick_workspace_stays_so_and_the_others_are_applied(world: World) -> None:
    """It is looked for as ever, and nothing of it is sent again."""
    ann = {"firstName": "Ann", "workEmailAddress1": "ann@example.com", "workCountry": "Australia"}
    declares(world, ops={"lee": LEE, "ann": ann})
    world.wire.sent.clear()
    world.meets(lost_after, "POST")
    world.meets(at_paths({IDS["ops"]: answered(500)}), "GET", 0)
    world.wire.rules[-1].when = lambda: bool(world.wire.writes())
    _, first = world.apply()
    assert first.outcome == "in doubt"
    world.wire.rules.clear()
    breaks(world, answered(500), "ops")
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}})
    world.wire.sent.clear()

    planned, run = world.apply()

    assert {one.address: one.result for one in run.outcomes} == {
        "contact/ops/ann": "in doubt",
        "contact/lab/kim": "applied",
    }
    assert (run.exit_code, left(planned.plan)) == (8, [("ops", "service")])
    assert not [path for _, path in world.wire.writes() if IDS["ops"] in path]
    world.wire.rules.clear()
    assert world.apply()[1].exit_code == 0
    assert world.plan().plan.empty


def test_a_resumed_run_leaves_out_what_its_plan_left_out(world: World) -> None:
    """Nobody has agreed to more."""
    declares(world, lab={"kim": {**KIM, "jobTitle": "Nurse"}}, ops={"lee": {**LEE, "jobTitle": "Cook"}})
    breaks(world, answered(500), "ops")
    world.meets(lost_after, "PUT")
    world.meets(answered(500), "GET")
    world.wire.rules[-1].when = lambda: bool(world.wire.writes())
    world.wire.rules.reverse()
    world.wire.sent.clear()
    _, first = world.apply()
    assert first.outcome == "in doubt"
    world.wire.rules.clear()

    run = world.resume()

    assert run is not None
    assert [one.address for one in run.outcomes] == ["contact/lab/kim"]
    assert [(one.workspace, one.by) for one in run.not_planned] == [("ops", "service")]
    assert run.exit_code == 6


# --- Other commands ---------------------------------------------------------------------------------


def test_a_list_names_what_is_left_out(world: World) -> None:
    """Nothing of it is listed, as if there were nobody."""
    declares(world, zoo={"max": MISTAKE})
    breaks(world, answered(500), "ops")

    found = world.run(
        pipeline.list_entities(
            world.settings,
            pipeline.load_declaration(world.settings, {}).desired,
            world.dependencies,
            selection=Selection(),
            everyone=True,
        )
    )

    assert [one.address for one in found.entities] == ["contact/lab/kim"]
    assert [(one.workspace, one.by) for one in found.not_planned] == [
        ("ops", "service"),
        ("zoo", "manifests"),
    ]
    assert not [one for one in found.unread if one.workspace in ("ops", "zoo") and one.kind == "contact"]


def test_an_explanation_needs_the_workspace_of_its_address_alone(world: World) -> None:
    """Of another one nothing is asked."""
    declares(world, zoo={"max": MISTAKE})
    breaks(world, answered(500), "ops")

    def explain(address: str) -> Any:
        declared = pipeline.resolve_manifests(world.settings, {})
        return world.run(
            pipeline.explain(
                world.settings,
                declared,
                world.dependencies,
                addresses=(address,),
                selection=Selection(),
                offline=False,
            )
        )

    assert explain("contact/lab/kim")[0].state == "owned"
    with pytest.raises(ManifestError, match="zoo is not planned") as caught:
        explain("contact/zoo/max")
    assert caught.value.problems
    with pytest.raises((ServiceError, BaseExceptionGroup)):
        explain("contact/ops/lee")


def test_an_export_leaves_out_what_cannot_be_read(world: World) -> None:
    """The others are exported, and the report says who is missing."""
    for name in IDS:
        (world.root / "manifests" / f"{name}.json").unlink()
    declares(world, zoo={"max": MISTAKE})
    breaks(world, answered(500), "ops")
    declared = pipeline.load_partial_declaration(world.settings, {})

    found = world.run(
        pipeline.export(
            world.settings,
            declared,
            world.dependencies,
            scopes=[Scope("contact", name) for name in ("lab", "ops")],
            wishes=ExportRequest("", look=False),
        )
    )

    assert [one.address for _, entries in found.entries for one in entries] == ["contact/lab/kim"]
    assert [(one.workspace, one.by) for one in found.not_planned] == [("ops", "service")]
