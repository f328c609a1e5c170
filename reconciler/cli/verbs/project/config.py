"""`reconciler config` at work: every setting with its value and where it came from. Reads no secret."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from reconciler.cli.console import output
from reconciler.cli.running import note_service_links
from reconciler.database_urls import hide_url_password as shown_store
from reconciler.model.runs import REPORT_VERSION
from reconciler.service.http.proxies import shown as shown_proxy
from reconciler.settings.credentials import SecretRefused, source_of
from reconciler.settings.reading import read_settings, working_folder
from reconciler.settings.values import BY_REFERENCE, Layers, Value


def config(*, config: str | None, environment: str | None, as_json: bool) -> int:
    """Show every setting, and the place that decided it."""
    read = read_settings(
        config=config, environment=environment, cwd=working_folder(), environ=os.environ, service=False
    )
    note_service_links(read.layers)
    rows = tuple(_rows(read.layers))
    if as_json:
        output.json(_as_json(rows))
    else:
        output.data(_as_text(read.layers.shown, rows))
    return 0


Row = tuple[str, Any, str]


def _rows(layers: Layers) -> Iterator[Row]:
    """Yield name, value and origin of every setting; a secret's value is the word (secret)."""
    yield "environment", layers.environment or None, layers.environment_origin
    for value in layers.values.values():
        if value.path[0] == "workspaces":
            entry: Mapping[str, str] = value.raw
            yield from ((f"{value.name}.{key}", entry[key], value.origin) for key in entry)
            if not entry:
                yield value.name, "the default workspace", value.origin
        elif value.path[0] == "directories":
            yield from _directory(value)
        elif value.name in BY_REFERENCE:
            yield _secret(value)
        elif value.path == ("service", "network", "proxy"):
            yield _proxy(value)
        elif value.path == ("store",):
            yield value.name, shown_store(value.raw), value.origin
        else:
            yield value.name, value.typed, value.origin


def _proxy(value: Value) -> Row:
    """Return a proxy's row: its URL without what stands before the @, or where it comes from."""
    return (
        (value.name, shown_proxy(value.raw), value.origin) if isinstance(value.raw, str) else _secret(value)
    )


def _directory(value: Value) -> Iterator[Row]:
    """Yield what the settings say of a directory, without the secrets that it names."""
    ((kind, described),) = value.raw.items()
    for key, written in described.items():
        one = Value((*value.path, kind, key), written, value.origin, value.place)
        yield _secret(one) if isinstance(written, dict) else (one.name, written, one.origin)


def _secret(value: Value) -> Row:
    if value.raw is None:
        return value.name, None, value.origin
    try:
        source = str(source_of(value.raw))
    except SecretRefused as refusal:
        source = str(refusal)
    at = "" if value.origin == source else f", {value.origin}"
    return value.name, "(secret)", f"{source}{at}"


def _as_text(file: str, rows: Sequence[Row]) -> str:
    shown = [(name, _plain(value), origin) for name, value, origin in rows]
    wide = max(len(name) for name, _, _ in shown)
    middle = min(max(len(value) for _, value, _ in shown), 40)
    lines = [f"{name:<{wide}}  {value:<{middle}}  {origin}" for name, value, origin in shown]
    return "\n".join([f"settings of {file}", "", *lines])


def _plain(value: Any) -> str:
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


def _as_json(rows: Sequence[Row]) -> str:
    settings = [{"name": name, "value": value, "origin": origin} for name, value, origin in rows]
    shown = {"version": REPORT_VERSION, "outcome": "done", "exit_code": 0, "settings": settings}
    return msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()
