"""`reconciler config`: every setting with its value and where it came from. Reads no secret."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.report.lines import Line, line

if TYPE_CHECKING:
    from reconciler.settings.layers import SettingLayers, SettingValue


class SettingRow(Struct):
    """One setting, its value and what decided it. The value of a secret is the word (secret)."""

    name: str
    value: str | bool | int | float | list[str] | None
    origin: str


class ConfigResult(CommandResult, frozen=True):
    """Every setting. `file` names the settings file."""

    title: ClassVar[str] = "Every setting and where it comes from"
    settings: Annotated[tuple[SettingRow, ...], Doc("In the order of the documentation.")]
    file: str

    def lines(self) -> Sequence[Line]:
        """Return a row for each setting."""
        shown = [(one.name, _value_text(one.value), one.origin) for one in self.settings]
        wide = max(len(name) for name, _, _ in shown)
        middle = min(max(len(value) for _, value, _ in shown), 40)
        rows = [f"{name:<{wide}}  {value:<{middle}}  {origin}" for name, value, origin in shown]
        return tuple(map(line, [f"settings of {self.file}", "", *rows]))


@click.command()
@options.settings_options
@options.format_option
@prints_result
def config_command(*, config: str | None, environment: str | None) -> ConfigResult:
    """Show the value of every setting, and where it comes from.

    A value is taken from the first of these that sets it: a flag, an environment variable, the section of the
    environment, the rest of the settings file, the default. Secrets are not read; only their source is shown.

    Reads the settings; writes nothing.

    Exit codes: 0 shown; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler config
        reconciler config --environment staging --format json
    """
    from reconciler.cli.session import note_service_links
    from reconciler.settings.reader import read_settings, working_folder

    read = read_settings(
        config=config, environment=environment, cwd=working_folder(), environ=os.environ, service=False
    )
    note_service_links(read.layers)
    return ConfigResult(settings=tuple(_setting_rows(read.layers)), file=read.layers.shown)


def _setting_rows(layers: "SettingLayers") -> Iterator[SettingRow]:
    """Yield name, value and origin of every setting; a secret's value is the word (secret)."""
    from reconciler.database_urls import hide_url_password as shown_store
    from reconciler.settings.layers import NEVER_IN_FILE

    yield SettingRow("environment", layers.environment or None, layers.environment_origin)
    for value in layers.values.values():
        if value.path[0] == "workspaces":
            entry: Mapping[str, str] = value.raw
            yield from (SettingRow(f"{value.name}.{key}", entry[key], value.origin) for key in entry)
            if not entry:
                yield SettingRow(value.name, "the default workspace", value.origin)
        elif value.path[0] == "directories":
            yield from _directory_rows(value)
        elif value.name in NEVER_IN_FILE:
            yield _secret_row(value)
        elif value.path == ("service", "network", "proxy"):
            yield _proxy_row(value)
        elif value.path == ("store",):
            yield SettingRow(value.name, shown_store(value.raw), value.origin)
        else:
            yield SettingRow(value.name, value.typed, value.origin)


def _proxy_row(value: "SettingValue") -> SettingRow:
    """Return a proxy's row: its URL without what stands before the @, or where it comes from."""
    from reconciler.service.http.connections import show_proxy

    if isinstance(value.raw, str):
        return SettingRow(value.name, show_proxy(value.raw), value.origin)
    return _secret_row(value)


def _directory_rows(value: "SettingValue") -> Iterator[SettingRow]:
    """Yield what the settings say of a directory, without the secrets that it names."""
    ((kind, described),) = value.raw.items()
    for key, written in described.items():
        one = type(value)((*value.path, kind, key), written, value.origin, value.place)
        yield _secret_row(one) if isinstance(written, dict) else SettingRow(one.name, written, one.origin)


def _secret_row(value: "SettingValue") -> SettingRow:
    from reconciler.settings.secrets import SecretRefused, parse_secret_source

    if value.raw is None:
        return SettingRow(value.name, None, value.origin)
    try:
        source = str(parse_secret_source(value.raw))
    except SecretRefused as refusal:
        source = str(refusal)
    at = "" if value.origin == source else f", {value.origin}"
    return SettingRow(value.name, "(secret)", f"{source}{at}")


def _value_text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case str():
            return value
        case float():
            return f"{value:g}"
        case tuple() | list():
            return ", ".join(value) or "-"
        case _:
            return str(value)
