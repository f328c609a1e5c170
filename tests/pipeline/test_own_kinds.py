"""Kinds that a profile brings: planned, applied, drifted, pruned, crashed and undone like all others."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tally
from pipeline.test_resume import gone_on
from waiting import patience_s
from world import World, actions

from reconciler import pipeline
from reconciler.cli.main import run
from reconciler.cli.sandbox_collections import build_own_collections
from reconciler.core.planning.select import Selection
from reconciler.errors import ManifestError, SettingsError, UnsafePlan
from reconciler.model import address
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS, child_kinds
from reconciler.model.plans import Consent, Update
from reconciler.model.profile import RESERVED, find_kind_contradictions
from reconciler.sandbox.app import SandboxConfig
from reconciler.schema.shipped import read_schema
from reconciler.service.profile import load_profile, parse_profile
from reconciler.settings.reader import read_settings

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-kinds" / "profile.yaml"
HELLO = {"name": "hello", "subject": "A word", "body": "Good morning", "type": "defaultReply"}
FORMS = pytest.mark.parametrize("form", ["json", "xml"])


@pytest.fixture(autouse=True)
def _no_kinds_are_left() -> Iterator[None]:
    """The table is one for a process, and other tests run in this one."""
    yield
    KINDS.bring(())


def world_of(folder: Path, form: str = "json") -> World:
    """A world whose service has the kinds of the example, on both sides."""
    rows = build_own_collections(load_profile(str(EXAMPLE)))
    service = {"format": form, "profile": str(EXAMPLE)}
    return World(folder, SandboxConfig(), service=service, collections=rows)


def declare(world: World, **changes: Any) -> None:
    world.write({"templates": {"hello": {**HELLO, **changes}}})


@FORMS
def test_an_own_kind_is_made_kept_changed_cleared_and_pruned(tmp_path: Path, form: str) -> None:
    world = world_of(tmp_path, form)
    declare(world)

    planned, run = world.apply()
    assert (actions(planned.plan), run.exit_code) == (["Create"], 0), run.outcomes
    assert planned.plan.changes[0].address == "template/default/hello"
    assert actions(world.plan().plan) == []

    world.write({"templates": {"hello": {**HELLO, "body": "Good night", "subject": ""}}})
    planned, run = world.apply()
    (change,) = planned.plan.changes
    assert isinstance(change, Update)
    assert ([field.path for field in change.fields], run.exit_code) == (["body", "subject"], 0), run.outcomes
    assert actions(world.plan().plan) == []

    world.write({"templates": {}})
    planned, run = world.apply()
    assert (actions(planned.plan), run.exit_code) == (["Delete"], 0), run.outcomes
    assert actions(world.plan().plan) == []


@FORMS
def test_a_change_by_somebody_else_is_drift(tmp_path: Path, form: str) -> None:
    world = world_of(tmp_path, form)
    declare(world)
    world.apply()

    async def edit(client: Any) -> None:
        (found,) = await client["template"].list()
        await client["template"].replace(found.remote_id, {**found.body, "body": "Good grief"})

    world.behind_our_back(edit)
    (change,) = world.plan().plan.changes

    assert isinstance(change, Update)
    assert [(field.path, field.cause) for field in change.fields] == [("body", "drifted")]


@FORMS
def test_an_own_kind_is_listed_with_whose_it_is(tmp_path: Path, form: str) -> None:
    world = world_of(tmp_path, form)
    declare(world)
    world.apply()

    async def make(client: Any) -> None:
        await client["template"].create({**HELLO, "name": "by hand"})

    world.behind_our_back(make)
    found = world.run(
        pipeline.list_entities(
            world.settings,
            pipeline.validate(world.settings, {}),
            world.dependencies,
            selection=Selection(("kind:template",)),
            everyone=True,
        )
    )

    assert {(one.address, one.state, one.headline["name"]) for one in found.entities} == {
        ("template/default/hello", "owned", "hello"),
        ("", "unmanaged", "by hand"),
    }


@FORMS
def test_one_that_is_there_is_adopted_by_its_identity(tmp_path: Path, form: str) -> None:
    world = world_of(tmp_path, form)

    async def make(client: Any) -> None:
        await client["template"].create({**HELLO, "body": "By hand"})

    world.behind_our_back(make)
    declare(world)
    planned, run = world.apply()

    assert (actions(planned.plan), run.exit_code) == (["Update"], 0), run.outcomes
    assert actions(world.plan().plan) == []


NUMBERED = """\
base: service
kinds:
  rule:
    scope: account
    identity: [level]
    fields:
      name: {required: true}
      level: {type: number, required: true, own: true}
"""


def _rules_world(folder: Path) -> World:
    profile = folder / "rules.yaml"
    profile.write_text(NUMBERED)
    rows = build_own_collections(load_profile(str(profile)))
    return World(folder, SandboxConfig(), service={"profile": str(profile)}, collections=rows)


def test_an_identity_that_is_a_number_is_the_same_in_every_spelling(tmp_path: Path) -> None:
    """Level 7 that is declared as 7.0 is there: a second one must not be created."""
    world = _rules_world(tmp_path)

    async def make(client: Any) -> None:
        await client["rule"].create({"name": "by hand", "level": 7})

    world.behind_our_back(make)
    world.write({"rules": {"seven": {"name": "by hand", "level": "7.0"}}})
    planned, run = world.apply()

    assert (actions(planned.plan), run.exit_code) == ([], 0), run.outcomes
    assert [str(one.address) for one in planned.plan.adoptions] == ["rule/default/seven"]


def test_two_entries_with_one_number_as_identity_are_a_mistake(tmp_path: Path) -> None:
    """5.0 and 5 are one level, so one of the two entries would undo the other."""
    world = _rules_world(tmp_path)
    world.write({"rules": {"x": {"name": "x", "level": "5.0"}, "y": {"name": "y", "level": "5"}}})

    with pytest.raises(ManifestError, match="the manifests cannot be used"):
        world.plan()


def test_an_undo_puts_back_what_was_changed(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    declare(world)
    world.apply()
    declare(world, body="Good night")
    saved = world.apply_with_undo()

    run = world.undo(saved)

    async def look(client: Any) -> Any:
        return await client["template"].list()

    (left,) = world.behind_our_back(look)
    assert left.body["body"] == "Good morning", run.outcomes


def begun(folder: Path, form: str) -> World:
    """A world with a store, in which a template is declared and not yet made."""
    folder.mkdir()
    world = world_of(folder, form)
    world.write({"templates": {}})
    world.apply()
    declare(world)
    return world


@FORMS
def test_killed_at_any_effect_there_is_one_in_the_end(tmp_path: Path, form: str) -> None:
    """The journal, the locks and the look afterwards know no kind: a new one has all of them."""
    for world, _, _ in gone_on(lambda name: begun(tmp_path / name, form)):
        assert world.plan().plan.changes == ()
        assert len(world.behind_our_back(lambda client: client["template"].list())) == 1
        tally.count("crash points", "of an own kind")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"subject": "A word", "body": "b"}, "name is missing; every template needs it."),
        ({"name": "n"}, "body is missing; every template needs it."),
        ({**HELLO, "type": "reply"}, "type must be defaultReply or defaultNoReply."),
        ({**HELLO, "bodies": "b"}, "bodies is not a field of a template."),
        ({**HELLO, "meta": {"ignore": ["bdy"]}}, "bdy is not a field of a template."),
    ],
)
def test_a_wrong_entry_is_told_at_its_line(tmp_path: Path, entry: dict[str, Any], what: str) -> None:
    world = world_of(tmp_path)
    world.write({"templates": {"hello": entry}})

    with pytest.raises(ManifestError) as caught:
        world.plan()

    assert any(what in one.what for one in caught.value.problems), caught.value.problems
    assert all(one.file == "manifests/main.json" and one.line for one in caught.value.problems)


def test_without_the_profile_the_section_is_a_mistake_and_records_are_not_forgotten(tmp_path: Path) -> None:
    """Somebody takes the kind out of the profile: what is live and ours must not be taken for nothing."""
    world = world_of(tmp_path)
    declare(world)
    world.apply()
    plain = World(tmp_path, SandboxConfig())

    with pytest.raises(ManifestError) as caught:
        plain.plan()
    assert "templates is not a field" in caught.value.problems[0].what

    plain.write({"templates": {}} | {"contacts": {}})
    (tmp_path / "manifests" / "main.json").write_text(
        '{"version": "1", "workspace": "default", "contacts": {}}'
    )
    with pytest.raises(Exception, match="template") as refused:
        plain.plan()
    assert "profile" in str(refused.value) + str(getattr(refused.value, "next", ""))


# A profile is data of the project: every mistake in it is told, with its line.


def settings_of(folder: Path, profile: str) -> None:
    (folder / "reconciler.yaml").write_text("version: 1\nservice: {profile: ours.yaml}\n")
    (folder / "ours.yaml").write_text(profile)
    read_settings(config=None, environment=None, cwd=folder, environ={}, service=False)


A = "fields: {a: {}}"


@pytest.mark.parametrize(
    ("kinds", "place", "what"),
    [
        ("t: {identity: [a]}", "3:3", "fields is missing"),
        (f"t: {{{A}}}", "3:3", "identity is missing"),
        (f"t: {{identity: [b], {A}}}", "3:18", "'b', which is no field"),
        ("t: {identity: [a], fields: {a: {secret: true}}}", "3:18", "not a field that can be read back"),
        (f"contact: {{identity: [a], {A}}}", "3:3", "contact is a built-in kind"),
        (f"tag: {{identity: [a], {A}}}", "3:3", "tags is already a key of manifests"),
        (f"tag: {{plural: contacts, identity: [a], {A}}}", "3:9", "contacts is already a key of manifests"),
        ("t: {identity: [a], fields: {a: {}, id: {}}}", "3:38", "every entity has its own id"),
        ("t: {identity: [a], fields: {a: {}, b.c: {}}}", "3:38", "b is no group"),
        ("t: {identity: [a], fields: {a: {pattern: '('}}}", "3:35", "not a regular expression"),
        ("t: {identity: [a], fields: {a: {pattern: 'a\\Z'}}}", "3:35", "cannot be used in a schema"),
        ("t: {identity: [a], fields: {a: {pattern: '(?=a)a'}}}", "3:35", "cannot be used in a schema"),
        ("t: {identity: [a], fields: {a: {pattern: '(a)\\1'}}}", "3:35", "cannot be used in a schema"),
        (
            "t: {identity: [a], fields: {a: {pattern: '(?:a{999}){999}'}}}",
            "3:35",
            "cannot be used in a schema",
        ),
        ("t: {identity: [a], fields: {a: {}, b: {wire: a}}}", "3:38", "the same name in bodies"),
        ("t: {identity: [a], fields: {a: {requird: true}}}", "3:35", "requird is not a field of a field"),
        (f"T: {{identity: [a], {A}}}", "3:3", "name of a kind"),
        (f"t: {{identity: [a], {A}, {A}}}", "3:39", "fields occurs twice"),
        (f"t: {{identity: [a], {A}, wave: 9}}", "3:39", "wave must be 1, 2, 3, 4 or 5"),
    ],
)
def test_a_wrong_row_is_told_with_file_line_and_column(
    tmp_path: Path, kinds: str, place: str, what: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(tmp_path, f"base: service\nkinds:\n  {kinds}\n")

    told = [str(one) for one in caught.value.problems]
    assert any(one.startswith(f"ours.yaml:{place}: ") and what in one for one in told), told


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^a*a*a*a*a*a*a*a*b$", "^(.*a){20}$"]
)
def test_no_pattern_of_a_profile_takes_long(tmp_path: Path, pattern: str) -> None:
    """It is changed in pull requests. Read by going back, forty letters take years, and nothing ends it."""
    kinds = f"t: {{identity: [name], fields: {{name: {{pattern: {json.dumps(pattern)}}}}}}}"
    (tmp_path / "ours.yaml").write_text(f"base: service\nkinds:\n  {kinds}\n")
    (tmp_path / "reconciler.yaml").write_text(
        'version: 1\nmanifests: [m.yaml]\nservice: {base_url: "http://127.0.0.1:9", profile: ours.yaml}\n'
    )
    (tmp_path / "m.yaml").write_text(f"version: 1\nworkspace: default\nts:\n  x: {{name: {'a' * 40}!}}\n")

    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "validate"],
        cwd=tmp_path, capture_output=True, text=True, timeout=patience_s, check=False,
    )  # fmt: skip

    assert done.returncode == 3, done.stderr
    assert "m.yaml:4:7" in done.stderr, done.stderr


def test_every_mistake_of_a_profile_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(tmp_path, "vendr: ours\npage_max: many\nlimits: {request_bytes: -1}\n")

    assert [one.line for one in caught.value.problems] == [1, 2, 3], caught.value.problems


def test_two_kinds_with_one_plural_are_refused() -> None:
    rest = "identity: [n], fields: {n: {}}"
    text = f"base: service\nkinds: {{a: {{plural: xs, {rest}}}, x: {{{rest}}}}}"

    with pytest.raises(SettingsError, match=r"two.yaml:2:.*xs is already a key of manifests"):
        parse_profile(text.encode(), "two.yaml")


def test_the_kinds_of_the_example_contradict_nothing() -> None:
    assert list(find_kind_contradictions(load_profile(str(EXAMPLE)).kinds)) == []


def test_no_plural_can_be_a_key_of_manifests() -> None:
    """A section of that name would be read as something else."""
    keys = read_schema("manifest")["properties"].keys()

    assert keys - {kind.plural for kind in BUILT_IN_KINDS.values()} == RESERVED


def test_kinds_are_known_until_other_settings_bring_others(tmp_path: Path) -> None:
    """A process that reads the settings of two projects must not plan one by the kinds of the other."""
    settings_of(tmp_path, EXAMPLE.read_text())
    assert address.parse_address("template/default/hello") is not None
    assert "templates" in read_schema("manifest")["properties"]
    assert "template" in json.dumps(read_schema("plan"))
    assert child_kinds("template") == ()

    settings_of(tmp_path, "base: service\n")
    assert address.parse_address("template/default/hello") is None
    assert "templates" not in read_schema("manifest")["properties"]
    assert "template" not in read_schema("plan")["$defs"]["kind"]["enum"]


def test_the_schema_of_a_project_has_its_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    """Editors underline what a schema does not know: a project with own kinds asks for its own schema."""
    assert run(["schema", "manifest", "--config", str(EXAMPLE.parent / "reconciler.yaml")]) == 0

    sections = json.loads(capsys.readouterr().out)["properties"]
    assert sections["templates"]["title"] == "Templates"


@FORMS
def test_of_brief_rows_each_is_looked_at(tmp_path: Path, form: str) -> None:
    """A list that shows a part of each would else hide a change, or look like one."""
    text = EXAMPLE.read_text().replace("identity:", "listing: brief\n    identity:", 1)
    (tmp_path / "brief.yaml").write_text(text)
    profile = str(tmp_path / "brief.yaml")
    rows = build_own_collections(load_profile(profile))
    assert rows[0].brief == ("name", "type")
    world = World(tmp_path, SandboxConfig(), service={"format": form, "profile": profile}, collections=rows)
    declare(world)
    world.apply()
    assert actions(world.plan().plan) == []

    async def edit(client: Any) -> None:
        (found,) = await client["template"].list()
        await client["template"].replace(found.remote_id, {**HELLO, "body": "Good grief"})

    world.behind_our_back(edit)

    assert actions(world.plan().plan) == ["Update"]


RULES = """\
base: service
kinds:
  rule:
    plural: rules
    path: responserules
    rows: responseRules
    media: response-rule
    scope: account
    in_use: messages on their way are answered by it
    identity: [name]
    headline: [name, priority]
    fields:
      name: {required: true, own: true, wire: ruleName}
      active: {type: flag, absent: "false"}
      priority: {type: number}
      reply: {type: group}
      reply.subject: {}
      reply.body: {required: true}
      reply.key: {secret: true, write_only: true}
      owner: {type: email}
      colour: {sticky: true, one_of: [red, green]}
      createdBy: {server_owned: true}
"""
NIGHT = {
    "name": "night",
    "active": "true",
    "priority": "5.0",
    "reply": {"subject": "Away", "body": "Call the desk", "key": "${env:RULE_KEY}"},
    "owner": "Ann@Example.com",
    "colour": "red",
}


@FORMS
def test_flags_numbers_groups_and_secrets_of_an_own_kind_come_back_as_sent(tmp_path: Path, form: str) -> None:
    """Every column of a row, over both forms: nothing is left to do, and the secret is nowhere."""
    (tmp_path / "rules.yaml").write_text(RULES)
    profile = str(tmp_path / "rules.yaml")
    world = World(
        tmp_path,
        SandboxConfig(),
        service={"format": form, "profile": profile},
        collections=build_own_collections(load_profile(profile)),
        changes={"variables": ("RULE_KEY",)},
        environ={"RULE_KEY": "a-key-that-nobody-sees-4712"},
    )
    world.write({"rules": {"night": NIGHT}})

    planned, run = world.apply()
    assert (actions(planned.plan), run.exit_code) == (["Create"], 0), run.outcomes
    assert actions(world.plan().plan) == []

    async def look(client: Any) -> Any:
        return await client["rule"].list()

    assert ("POST", "/responserules") in world.wire.sent
    (found,) = world.behind_our_back(look)
    assert (found.body["ruleName"], found.body["active"], found.body["priority"]) == ("night", True, 5)
    assert found.body["reply"] == {"subject": "Away", "body": "Call the desk"}

    world.write({"rules": {"night": {**NIGHT, "priority": "6", "active": "false"}}})
    planned, run = world.apply()
    (change,) = planned.plan.changes
    assert isinstance(change, Update)
    assert [field.path for field in change.fields] == ["active", "priority"]
    assert "a-key-that" not in repr(planned.plan) + repr(run)

    world.write({"rules": {}})
    with pytest.raises(UnsafePlan) as refused:
        world.apply(consent=Consent())
    assert "messages on their way are answered by it" in refused.value.reasons[0]


def test_an_address_in_another_letter_case_is_the_same_one(tmp_path: Path) -> None:
    """By its type and not by the name of the field: else it would be made a second time."""
    profile = tmp_path / "desks.yaml"
    profile.write_text(
        "base: service\nkinds: {desk: {identity: [mail], fields: {mail: {type: email}, note: {}}}}\n"
    )
    service = {"profile": str(profile)}
    world = World(
        tmp_path,
        SandboxConfig(),
        service=service,
        collections=build_own_collections(load_profile(str(profile))),
    )

    async def make(client: Any) -> None:
        await client["desk"].create({"mail": "Desk@Example.com", "note": "by hand"})

    world.behind_our_back(make)
    world.write({"desks": {"one": {"mail": "desk@example.com", "note": "ours"}}})

    (change,) = world.plan().plan.changes
    assert isinstance(change, Update), change


CATEGORIES = """\
base: service
kinds:
  category:
    plural: categories
    path: categories
    rows: categories
    media: category
    identity: [name]
    headline: [name]
    fields: {name: {required: true}, note: {}}
"""


def test_sentences_use_the_plural_of_the_row(tmp_path: Path) -> None:
    """`categorys` is no word of anybody's, and no key of a manifest."""
    (tmp_path / "kinds.yaml").write_text(CATEGORIES)
    profile = str(tmp_path / "kinds.yaml")
    world = World(
        tmp_path,
        SandboxConfig(),
        service={"profile": profile},
        collections=build_own_collections(load_profile(profile)),
    )

    async def make_two(client: Any) -> None:
        for note in ("one", "two"):
            await client["category"].create({"name": "night", "note": note})

    world.behind_our_back(make_two)
    world.write({"categories": {"night": {"name": "night"}}})

    (skip,) = world.plan().plan.skips
    assert skip.what.startswith("matches 2 live categories: "), skip
    leaving = read_schema("manifest")["$defs"]["removed"]["properties"]["categories"]
    assert leaving["title"] == "Categories that leave"
