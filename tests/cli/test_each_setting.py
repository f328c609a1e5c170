"""What holds for every setting, because all of it follows from one description: `model/settings.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import SettingsError
from reconciler.model.directories import DIRECTORY_SETTINGS
from reconciler.model.setting_description import DescribedSetting, StructSection, list_own_settings
from reconciler.model.settings import SETTINGS, Settings, WorkspaceRef
from reconciler.schema.settings_schema import settings_schema
from reconciler.settings.layers import variable_of_setting
from reconciler.settings.reader import ReadSettings, read_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text("utf-8")
SHIPPED = json.loads((ROOT / "schemas" / "settings.schema.json").read_text("utf-8"))

EACH = pytest.mark.parametrize("one", SETTINGS.values(), ids=SETTINGS)


OTHER = {
    "manifests": ["more"],
    "identity.contacts": ["lastName"],
    "identity.devices": ["appId"],
    "identity.resources": ["mimeType"],
    "identity.callbacks": ["url"],
    "undo_days": "3",
}


# What has to be set beside some settings.
BESIDE: dict[str, dict[str, Any]] = {
    "notify.webhook.url": {"notify": {"webhook": {"secret": {"env": "NOTIFY_SECRET"}}}},
    "notify.people": {"policy": {"approvers": {"jane": {"phone": "+61412345678"}}}},
}


def other_value(one: DescribedSetting) -> Any:
    """A value that may stand in the file, and that is not the default."""
    if one.path in OTHER:
        return OTHER[one.path]
    choices = one.form.keywords.get("enum", ())
    numbers = ("7",) if "minimum" in one.form.keywords or "exclusiveMinimum" in one.form.keywords else ()
    found = (value for value in (*one.examples, *choices, *numbers) if value != one.written_default)
    return next(found)


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {key: joined(one[key], other[key]) for key in one.keys() & other.keys() if key != "version"}
    return {**one, **other, **both}


def beside(one: DescribedSetting) -> dict[str, Any]:
    """The settings without this one."""
    return {"version": "1", **BESIDE.get(one.path, {})}


def nested(path: str, value: object) -> dict[str, Any]:
    for step in reversed(path.split(".")):
        value = {step: value}
    return {"version": "1", **value} if isinstance(value, dict) else {}


def read(folder: Path, written: dict[str, Any], **environ: str) -> ReadSettings:
    (folder / "reconciler.yaml").write_text(json.dumps(written, indent=1), "utf-8")
    return read_settings(config=None, environment=None, cwd=folder, environ=environ, service=False)


def refusal(folder: Path, written: dict[str, Any], **environ: str) -> tuple[int, str, str]:
    """Line, sentence and hint of the one mistake for which these settings are refused."""
    with pytest.raises(SettingsError) as caught:
        read(folder, written, **environ)
    (problem,) = caught.value.problems
    return problem.line, problem.what, problem.next


def fields_by_path(
    struct: Any, above: str = "", at: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for one in list_own_settings(struct, above):
        if isinstance(one, StructSection):
            yield from fields_by_path(one.struct, f"{one.path}.", (*at, one.field))
        else:
            yield one.path, (*at, one.field)


FIELDS = dict(fields_by_path(Settings))


def field_of(settings: Any, path: str) -> Any:
    for name in FIELDS[path]:
        settings = getattr(settings, name)
    return settings


def schema_of(path: str) -> dict[str, Any]:
    """The part of the shipped schema at a path, with what it refers to."""
    found: dict[str, Any] = SHIPPED
    for step in path.split("."):
        found = found["properties"][step]
        if "$ref" in found:
            found = {**SHIPPED["$defs"][found["$ref"].rpartition("/")[2]], **found}
    return found


def test_the_shipped_schema_is_the_one_of_the_described_settings() -> None:
    """Nobody edits what is generated: `script/generate-schemas` writes it."""
    text = (ROOT / "schemas" / "settings.schema.json").read_text("utf-8")

    assert text == json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


@EACH
def test_the_schema_knows_it_and_its_default(one: DescribedSetting) -> None:
    """An editor shows what a run would do."""
    schema = schema_of(one.path)

    assert schema.get("default") == one.written_default
    assert (schema["title"], schema["description"]) == (one.setting.title, one.setting.about)
    assert schema["examples"] == [*one.examples]


@EACH
def test_it_is_read_from_the_file(one: DescribedSetting, repository: Path) -> None:
    """And without it the default holds. What is a secret, or of the network, is read for calls alone."""
    value = other_value(one)

    usual = read(repository, beside(one))
    changed = read(repository, joined(beside(one), nested(one.path, value)))

    path = tuple(one.path.split("."))
    assert usual.layers.values[path].raw == one.default
    assert changed.layers.values[path].raw == value
    if not one.form.by_reference and not one.path.startswith("service.network."):
        assert field_of(changed.settings, one.path) != field_of(usual.settings, one.path)


@EACH
def test_its_variable_goes_over_the_file(one: DescribedSetting, repository: Path) -> None:
    """A CI system sets variables; whoever sets one must not decide what a commit has to hold."""
    value = other_value(one)
    text = ",".join(value) if isinstance(value, list) else value if isinstance(value, str) else "secret"
    environ = {variable_of_setting(one.path): text}
    if one.setting.file_only:
        assert refusal(repository, {"version": "1"}, **environ)[1] == "no setting has this name."
        return

    by_variable = read(repository, beside(one), **environ)

    assert by_variable.layers.values[tuple(one.path.split("."))].variable in environ
    if isinstance(value, str | list) and not one.path.startswith("service.network."):
        by_file = read(repository, joined(beside(one), nested(one.path, value)))
        same = field_of(by_variable.settings, one.path), field_of(by_file.settings, one.path)
        if one.form.by_reference:  # secrets are equal to nothing
            same = same[0].reveal(), same[1].reveal()
        assert same[0] == same[1] or one.path == "secrets.files"


@EACH
def test_what_is_no_value_of_it_is_refused_at_its_place(one: DescribedSetting, repository: Path) -> None:
    """No setting may be empty text; a secret may be no text at all."""
    line, what, _ = refusal(repository, nested(one.path, ""))

    assert line == 3 + one.path.count(".")
    assert what.startswith((f"{one.path} must", f"{one.path} is not a", f"{one.path}: a plain value"))


@EACH
def test_a_slip_in_its_name_is_told_with_the_name(one: DescribedSetting, repository: Path) -> None:
    """At the line of the key; keys below credentials are not shown, for one could be a credential."""
    line, what, hint = refusal(repository, nested(f"{one.path}x", other_value(one)))

    name = one.path.rpartition(".")[2]
    shown = "a key here" if one.path.startswith("service.auth.") else f"{name}x"
    assert (line, hint) == (3 + one.path.count("."), f"did you mean {name}?")
    assert what.startswith(f"{shown} is not a field of")


@EACH
def test_the_page_has_a_row_of_it(one: DescribedSetting) -> None:
    """Made from the same description by `script/generate-docs`."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{one.path}` |")]

    assert one.form.values in row
    assert f"| {one.setting.about[0]}" in row


def test_entries_of_workspaces_and_directories_are_described_too() -> None:
    """They have no variables: there may be any number of them."""
    workspace = SHIPPED["$defs"]["workspace"]["properties"]
    forms = SHIPPED["$defs"]["directory"]["properties"]

    assert [*workspace] == [*WorkspaceRef.__struct_fields__]
    assert {name: [*form["properties"]] for name, form in forms.items()} == {
        name: [one.path for one in settings] for name, settings in DIRECTORY_SETTINGS.items()
    }
