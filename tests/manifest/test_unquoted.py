"""No mistake in a file quotes a secret of it: every position, every character that YAML takes for its own.

Without quotes, a secret that begins with `!`, `*`, `&` or `{` is a tag, an alias, an anchor or a key to YAML.
"""

import json
from collections.abc import Iterator

import effort
import pytest
import yaml
from cli.hands import PLAIN
from manifest.project import RULES, Project

from reconciler.core.desired.resolve import resolve_desired
from reconciler.errors import SettingsError
from reconciler.parsing import yaml_reader
from reconciler.parsing.tree import read_tree
from reconciler.parsing.tree_builder import Builder, StopReading
from reconciler.service.profile import load_profile
from reconciler.settings.reader import read_settings

SECRET = "Qv8sZ3kWx5"
_WINDOW = 4  # characters of it that no message may hold

LEADS = [*"!*&|>%@`{[}],:?-#~='\"\\\t", "!!", "! ", "* ", "& ", "{ ", "- ", "? ", "a,", "${", "<<: *"]
TAILS = ["", " and more", ": and more", " # and more", "}", "]", "'", '"', "!", ", x: y", "\\"]
_PLAIN = [f"{lead}{SECRET}" for lead in LEADS]
_LONGER = [f"{lead}{SECRET}{tail}" for lead in ["", *LEADS] for tail in (": x", "}")]
WRITTEN = [
    f"!{SECRET}!x",
    *_PLAIN,
    *(SECRET + one for one in TAILS),
    *_LONGER[: effort.count(small=0, full=len(_LONGER))],
]


_JANE = "contacts:\n  jane:\n    workEmailAddress1: jane@example.com\n"
_PHONE = "    devices:\n      phone:\n        deviceName: phone\n"
_STAFF = "rosters:\n  - file: staff.csv\n    name: '{{Name}}'\n    contacts:\n"
POSITIONS = {
    "a field": _JANE + "    password: {}\n",
    "a field before others": _JANE + "    secretAnswer: {}\n    lastName: Doe\n",
    "a field of a device": _JANE + _PHONE + "        pushToken: {}\n",
    "in braces": "contacts:\n  jane: {{password: {}}}\n",
    "in braces of a device": "contacts: {{jane: {{devices: {{phone: {{pushToken: {}, appId: a}}}}}}}}\n",
    "in a list": _JANE + "    password: [{}]\n",
    "in a block list": _JANE + "    password:\n      - {}\n",
    "on the next line": _JANE + "    password:\n      {}\n",
    "as a block": _JANE + "    password: |\n      {}\n",
    "as a wrong block": _JANE + "    password: |\n {}\n",
    "as a key of the field": _JANE + "    password: {{{}: }}\n",
    "twice as a key of the field": _JANE + "    password:\n      {0}: a\n      {0}: b\n",
    "in double quotes": _JANE + '    password: "{}"\n',
    "in single quotes": _JANE + "    password: '{}'\n",
    "quotes left open": _JANE + '    password: "{}\n',
    "the field twice": _JANE + "    password: {0}\n    password: {0}\n",
    "defaults": "defaults:\n  contacts:\n    password: {}\n",
    "a template": _STAFF + "      password: {}\n",
    "a quoted template": _STAFF + "      password: '{}'\n",
    "a template in braces": _STAFF + "      password: 'x{{{}}}'\n",
}


def leaked(text: str) -> bool:
    """Whether a text holds any piece of the secret."""
    return any(SECRET[at : at + _WINDOW] in text for at in range(len(SECRET) - _WINDOW + 1))


@pytest.mark.parametrize("position", POSITIONS)
def test_no_mistake_in_a_manifest_quotes_a_secret(project: Project, position: str) -> None:
    """No tag, anchor, alias, key below a secret field or template of one, and nothing near a syntax error."""
    project.write("manifests/staff.csv", "Name,Mail\njane,jane@example.com\n")
    seen = 0
    for written in WRITTEN:
        project.manifest(POSITIONS[position].format(written))
        loaded = project.load()
        problems = (*loaded.problems, *resolve_desired(loaded.manifests, RULES).problems)
        seen += bool(problems)
        assert not leaked(" ".join(map(str, problems))), (written, problems)
    assert seen, "none of them was a mistake, so nothing was looked at"


@pytest.mark.parametrize("position", POSITIONS)
def test_the_pure_parser_quotes_no_secret_either(position: str) -> None:
    """Where the C parser is missing; its messages quote more."""
    for written in WRITTEN:
        builder = Builder("f.yaml")
        try:
            yaml_reader.build_yaml(POSITIONS[position].format(written), builder, yaml.SafeLoader)
        except StopReading as stop:
            builder.problems.append(stop.problem)
        assert not leaked(" ".join(map(str, builder.all_problems()))), written


def test_no_mistake_in_json_quotes_a_secret() -> None:
    """A secret without its quotes, or with something after them."""
    for written in (*WRITTEN, *(json.dumps(one)[:-1] for one in WRITTEN), *map(json.dumps, WRITTEN)):
        for body in (
            '{"contacts": {"jane": {"password": %s}}}',
            '{"contacts": {"jane": {"password": {%s: 1}}}}',
        ):
            tree = read_tree((body % written).encode(), "f.json")
            assert not leaked(" ".join(map(str, tree.problems))), written


_ROSTER = """\
rosters:
  - {file: staff.csv, name: '{Name}', contacts: {firstName: '{Name}', password: '{Token}'}}
"""


def _rosters() -> Iterator[str]:
    yield f"jane,{SECRET}\njoe,other\n"  # no header: the first person's cells stand there
    yield f"jane,{SECRET},{SECRET}\njoe,other,other\n"
    yield f"Name,Token\njane,{SECRET}\njane,{SECRET}\n"
    yield f"jane,{SECRET}{{\njoe,x\n"
    yield f"Name,Token\njane,{SECRET}\njoe\n"
    yield f"Name,Token\njane,{SECRET},{SECRET}\n"
    yield f'Name,Token\njane,"{SECRET}\n'
    yield f'Name,Token\njane,"{SECRET}"{SECRET}\n'
    yield f"Name,Token\njane,{SECRET}\x01\n"
    yield f"Name,Token\n!!,{SECRET}\n"


def test_no_mistake_in_a_roster_quotes_a_secret(project: Project) -> None:
    """A roster whose header was forgotten has a person's cells where names of columns are looked for."""
    for text in _rosters():
        project.write("manifests/staff.csv", text)
        project.manifest(_ROSTER)
        loaded = project.load()
        problems = (*loaded.problems, *resolve_desired(loaded.manifests, RULES).problems)
        assert problems, text
        assert not leaked(" ".join(map(str, problems))), (text, problems)


SETTINGS = {
    "the section": "service:\n  auth: {}\n",
    "all of it": "service: 'x{}'\n",
    "the password": "service:\n  auth:\n    password: {}\n",
    "the key in braces": "service: {{auth: {{api_key: {}}}}}\n",
    "in a list": "service:\n  auth: [{}]\n",
    "as a list": "service:\n  auth:\n    password:\n      - {}\n",
    "a key of the section": "service:\n  auth: {{{}: }}\n",
    "a key of the password": "service:\n  auth: {{password: {{{}: x}}}}\n",
    "a variable": "service:\n  auth: {{password: {{env: '{} x'}}}}\n",
    "a mapping as a variable": "service:\n  auth: {{password: {{env: {{{}: }}}}}}\n",
    "quotes left open": 'service:\n  auth:\n    password: "{}\n',
    "an environment": "environments:\n  prod:\n    service:\n      auth: {}\n",
    "the password of an environment": "environments: {{prod: {{service: {{auth: {{password: {}}}}}}}}}\n",
    "the store": "store: 'postgresql://me:{}@db.example.com/x'\n",
    "a misspelt store": "store: 'postgres//me:{}@db.example.com/x'\n",
    "the address": "service:\n  base_url: 'https://me:{}@api.example.com'\n",
}


@pytest.mark.parametrize("position", SETTINGS)
def test_no_mistake_in_the_settings_quotes_a_secret(project: Project, position: str) -> None:
    """Also where it stands one level too high, and where its first character made another thing of it."""
    for written in WRITTEN:
        text = "version: 1\n" + SETTINGS[position].format(written.replace("'", "''"))
        project.write("reconciler.yaml", text)
        with pytest.raises(SettingsError) as refused:
            read_settings(config=None, environment=None, cwd=project.root, environ=PLAIN, service=True)
        error = refused.value
        assert not leaked(f"{error} {error.next} {error.problems}"), (written, error.problems)


def test_no_mistake_in_a_profile_quotes_its_text(project: Project) -> None:
    """The settings may name the wrong file."""
    for written in WRITTEN:
        path = project.write("ours.yaml", f"base: service\nvendor: [{written}\n")
        with pytest.raises(SettingsError) as refused:
            load_profile(str(path))
        assert not leaked(f"{refused.value} {refused.value.next}"), written
        project.write("reconciler.yaml", "version: 1\nservice: {profile: ours.yaml}\n")
        with pytest.raises(SettingsError) as refused:
            read_settings(config=None, environment=None, cwd=project.root, environ=PLAIN, service=False)
        assert not leaked(f"{refused.value} {refused.value.problems}"), written


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("contacts:\n  jane:\n    jobTitle:\n", "contact/ops/jane: jobTitle is null, which is not allowed."),
        ("contacts:\n  jane:\n", "contact/ops/jane: the entry is null, which is not allowed."),
        ("contacts: {jane: {devices: {phone: {appId: ~}}}}\n", "device/ops/jane/phone: appId is null,"),
        ("contacts: {jane: {meta: {ignore: [a, ~]}}}\n", "contact/ops/jane: meta.ignore[2] is null,"),
        ("contacts: {jane: {custom: {team: null}}}\n", "contact/ops/jane: custom.team is null,"),
        ("rosters: [{file: ~}]\n", "rosters[1].file is null, which is not allowed."),
        ("resources:\n", "resources is null, which is not allowed."),
        ("contacts: {jane: {password: {hunter: }}}\n", "a value after a secret is null,"),
    ],
)
def test_a_null_is_named_by_its_key_and_its_entity(project: Project, body: str, expected: str) -> None:
    """The line alone says little where a whole team stands in one file."""
    project.manifest(body)

    assert any(problem.what.startswith(expected) for problem in project.problems()), project.problems()


@pytest.mark.parametrize(
    "text", ["a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  - b\n \t- c\n", "a: x\n\t- b\n"]
)
@pytest.mark.parametrize("loader", [yaml.SafeLoader, yaml_reader.LOADER])
def test_a_tab_in_the_indentation_is_named(text: str, loader: object) -> None:
    """The C parser says only that a character cannot start any token; nobody sees which one."""
    with pytest.raises(StopReading) as stopped:
        yaml_reader.build_yaml(text, Builder("f.yaml"), loader)

    assert "tab" in stopped.value.problem.next
