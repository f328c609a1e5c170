"""`reconciler export` at work: what is live is read, and written as manifests."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.files.manifests import files_in, write_manifests
from reconciler.cli.files.secrets import secrets_files
from reconciler.cli.session import finish, outside, settings_of
from reconciler.core.declared.values import zones
from reconciler.core.exporting.envfile import env_text
from reconciler.core.exporting.export import variable_values
from reconciler.core.suggest import did_you_mean
from reconciler.engine.exporting import ExportRequest, ExportResult
from reconciler.environment.checkout import is_ignored_by_git
from reconciler.errors import SettingsError
from reconciler.files.atomic_files import read_file
from reconciler.manifest.entries import top_level_kinds
from reconciler.manifest.export import (
    append_entries,
    build_export_files,
    build_placeholders,
    list_scope_files,
    select_roster_rows,
)
from reconciler.manifest.sources import MANIFEST_SUFFIXES
from reconciler.model.kinds import KINDS
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Scope
from reconciler.report.json import report_json
from reconciler.report.project.export import Summary, export_lines, export_values

Grown = dict[str, tuple[bytes, bytes]]


def export(
    *,
    config: str | None,
    environment: str | None,
    into: str | None,
    only: tuple[str, ...],
    timezone: str,
    look: bool,
    env_file: str | None,
    secrets_file: str | None,
    full: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Write manifests, and show what was written, what was left out, and what to set."""
    if timezone and zones.check(timezone):
        raise click.UsageError(f"--timezone: {timezone[:60]!a} is not the name of a time zone.")
    settings = settings_of(config, environment, service=True)
    secrets = secrets_files(settings, env_file, secrets_file, given)
    folder = folder_of(settings, into)
    there = files_in(folder)
    sources = dict.fromkeys((*settings.manifests, *([str(folder)] if there else [])))
    declared = pipeline.load_partial_declaration(
        structs.replace(settings, manifests=tuple(sources)), os.environ
    )
    scopes = scopes_of(settings, only)
    found = _read(settings, declared, scopes, ExportRequest(timezone, look, secrets=bool(secrets)))
    new, grown = files(folder, there, found)
    values = variable_values(one for _, entries in found.entries for one in entries)
    # Before the manifests that name them: a value that is written nowhere would have to be asked for again.
    written = secrets if values else ()
    for one in written:
        one.write(env_text(values))
    if new or grown:
        write_manifests(folder, new, grown, private=True)
    summary = _summary(settings, folder, found, new, grown)
    summary = structs.replace(summary, values_in=[str(one.path) for one in written])
    for one in written:
        if one.recipients:
            summary = structs.replace(
                summary, secrets=_unnamed(settings, one.path), ignored=_ignored(one.path)
            )
    if as_json:
        output.json(report_json(export_values(summary)))
    else:
        output.lines(export_lines(summary, full=full))
    return 0


def _read(
    settings: Settings, declared: Desired, scopes: Sequence[Scope], wishes: ExportRequest
) -> ExportResult:
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        return finish(
            lambda _signals: pipeline.export(
                settings, declared, outside(settings), scopes=scopes, wishes=wishes
            )
        )


def _unnamed(settings: Settings, path: Path) -> Sequence[str]:
    """Return what `secrets.files` has to be for this file to be read; nothing where it is named already."""
    root = Path(settings.root)
    named = settings.variable_files.paths
    if any((root / one).resolve() == path.resolve() for one in named):
        return ()
    return (*named, Path(os.path.relpath(path.resolve(), root.resolve())).as_posix())


def _ignored(path: Path) -> str:
    return path.name if is_ignored_by_git(path) else ""


def _summary(
    settings: Settings, folder: Path, found: ExportResult, new: Iterable[str], grown: Iterable[str]
) -> Summary:
    """Return what is told of an export; `new` and `grown` are names of files."""
    return Summary(
        os.path.relpath(folder, settings.root),
        [one for _, entries in found.entries for one in entries],
        found.left,
        found.declared,
        found.untold,
        found.calls,
        sorted(new),
        sorted(grown),
        settings.variables,
        found.advice,
        settings.service.limits.requests_per_second,
    )


def folder_of(settings: Settings, into: str | None) -> Path:
    """Return the folder to write to. Raises SettingsError where the settings name none."""
    root = Path(settings.root)
    if into is not None:
        return Path(into).absolute()
    for one in settings.manifests:
        if not one.lower().endswith(MANIFEST_SUFFIXES):
            return root / one
    raise SettingsError("`manifests` of the settings names no folder.", next="--into FOLDER")


def scopes_of(settings: Settings, only: Iterable[str]) -> list[Scope]:
    """Return the kinds and workspaces to export. Raises UsageError for a selector that names nothing."""
    # `default` is known without the settings; who names others and not this one does not mean it.
    workspaces = sorted(settings.workspaces) or ["default"]
    every = _every_scope(workspaces)
    chosen: set[Scope] = set()
    for text in only:
        wanted = _selected(text, every)
        if not wanted:
            known = [*top_level_kinds(), *(f"workspace:{one}" for one in workspaces)]
            hint = did_you_mean("kind", text, top_level_kinds(), f"write one of {', '.join(known)}")
            raise click.UsageError(f"--only: {text[:60]!a} selects nothing; {hint}.")
        chosen.update(wanted)
    return [one for one in every if one in chosen or not chosen]


def _every_scope(workspaces: list[str]) -> list[Scope]:
    """Return each kind in each workspace; those of the company in the default one alone."""
    return [
        Scope(kind.name, workspace)
        for kind in top_level_kinds().values()
        for workspace in (["default"] if kind.company else workspaces)
    ]


def _selected(text: str, every: Iterable[Scope]) -> list[Scope]:
    """Return those that a selector names: `kind:contact`, `contacts`, `workspace:ops`."""
    head, _, rest = text.rpartition(":")
    if head == "workspace":
        return [one for one in every if one.workspace == rest]
    kind = next((one.name for one in KINDS.values() if rest in (one.name, one.plural)), rest)
    kind = KINDS[kind].parent or kind if kind in KINDS else kind
    return [one for one in every if one.kind == kind] if head in ("", "kind") else []


def files(folder: Path, there: Iterable[str], found: ExportResult) -> tuple[dict[str, bytes], Grown]:
    """Return the new files, and those of ours that grow: what was read of each, and what it becomes."""
    new: dict[str, bytes] = {}
    grown: Grown = {}
    for scope, entries in found.entries:
        if not entries:
            continue
        # Many new ones are a roster, which is a file of its own.
        for name in () if select_roster_rows(scope, entries) else list_scope_files(scope, there):
            data = read_file(folder / name)
            after = append_entries(data, scope, entries)
            if after is not None:
                grown[name] = data, after
                new |= {file.name: file.data for file in build_placeholders(entries)}
                break
        else:
            new |= {file.name: file.data for file in build_export_files(scope, entries, there)}
    return new, grown
