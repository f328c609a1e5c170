"""`reconciler export`: what is live, as manifests. Sends nothing but GET."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import Struct, structs

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.core.planning.unplanned import not_planned_exit_code
from reconciler.errors import SettingsError
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, NotPlanned, Scope
from reconciler.report.lines import Line, count, fold_items, line

if TYPE_CHECKING:
    from reconciler.core.export import Exported, IdentityAdvice
    from reconciler.engine.exporting import ExportRequest, ExportResult

# --- What an export did: addresses, ids and names of fields, and no value of the service -------------------


class ExportedEntry(Struct):
    """An entity that was written into a manifest, with the service's id."""

    address: Address
    id: str


class LeftOut(Struct):
    """What was not exported: of which entity, which field or null, why, and what can be done."""

    reason: str
    subject: str
    field: str | None
    what: str
    next: str


class Variable(Struct):
    """A variable that is to be set: for which field of which entity; `allowed` by the settings already."""

    name: str
    address: Address
    field: str
    allowed: bool


class Untold(Struct):
    """A scope in which so many entities were not looked at."""

    kind: str
    workspace: str
    entities: int


class ExportReport(CommandResult, frozen=True):
    """What an export did. The fields after `advice` are for the text.

    `secrets` is what `secrets.files` of the settings has to be for the encrypted one to be read, empty where
    it is so already; `ignored` is that file where git ignores it.
    """

    title: ClassVar[str] = "What was exported"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 3, 6)
    folder: Annotated[str, Doc("Where the manifests were written.")]
    added: Annotated[tuple[str, ...], Doc("New files, below the folder.")]
    grown: Annotated[tuple[str, ...], Doc("Files that were added to.")]
    entries: Annotated[tuple[ExportedEntry, ...], Doc("What was written.")]
    declared: Annotated[int, Doc("How many entities were in manifests already.")]
    unmarked: Annotated[int, Doc("To how many the first plan writes the mark of this stack.")]
    left: Annotated[tuple[LeftOut, ...], Doc("What was left out.")]
    variables: Annotated[tuple[Variable, ...], Doc("What is to be set before a plan.")]
    values_in: Annotated[tuple[str, ...], Doc("Files that hold the values of variables.")]
    untold: Annotated[tuple[Untold, ...], Doc("What was not looked at.")]
    calls: Annotated[int, Doc("How many calls it took.")]
    advice: Annotated["tuple[IdentityAdvice, ...]", Doc("Identities that would recognize more entities.")]
    not_planned: Annotated[tuple[NotPlanned, ...], Doc("Workspaces of which nothing was exported, and why.")]
    exported: "tuple[Exported, ...]"
    per_second: float
    secrets: tuple[str, ...]
    ignored: str
    full: bool

    @property
    def exit_code(self) -> int:
        """6 where something was exported and a workspace left out; 1 or 3 where nothing was."""
        return not_planned_exit_code(self.not_planned, applied=bool(self.entries))

    def lines(self) -> Sequence[Line]:
        """Return what was written; then what was left out, by reason; then what is to be set."""
        from reconciler.report.text import left_out_lines

        kinds = Counter(one.address.kind for one in self.entries)
        files = count(len(self.added) + len(self.grown), "file")
        where = f" into {self.folder} ({files})" if self.entries else ""
        what = _count_kinds(kinds) or "nothing new"
        lines = [*left_out_lines(self.not_planned)]
        lines += [line(f"exported {what}{where}, in {count(self.calls, 'call')}.")]
        if self.declared:
            declared = count(self.declared, "entity", "entities")
            lines.append(line(f"{declared} already declared, and left as they are."))
        lines += [*_left_lines(self), *_untold_lines(self), *_variable_lines(self), *_mark_lines(self)]
        if self.entries:
            after = (
                "people whom you remove from the files before adopt are not managed, and stay at the service"
            )
            lines.append(line("next: reconciler plan, and commit the files; then reconciler adopt --all"))
            lines.append(line(f"  {after}"))
        return lines


def _count_kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds.get(name))


def _left_lines(about: ExportReport) -> Iterator[Line]:
    from reconciler.core.export import REASONS, WHOLE

    for reason, (says, next_step) in REASONS.items():
        found = [one for one in about.left if one.reason == reason]
        if found:
            noun = ("live entity", "live entities") if reason in WHOLE else ("field", "fields")
            listed, rest = fold_items(found, full=about.full)
            yield line(("! ", "warn"), f"{count(len(found), *noun)}: {says}.")
            yield from (line(f"    {one.subject}{f': {one.field}' if one.field else ''}") for one in listed)
            yield from rest
            step = _identity_step(about.advice, next_step) if reason == "identity" else next_step
            yield line(f"  next: {step}")


def _untold_lines(about: ExportReport) -> Iterator[Line]:
    for one in about.untold:
        below = " and ".join(child.plural for child in child_kinds(one.kind))
        whose = count(one.entities, one.kind, KINDS[one.kind].plural)
        minutes = one.entities / about.per_second / 60 if about.per_second else 0
        pace = f"about {minutes:,.0f} min at {about.per_second:g} calls a second"
        yield line(("! ", "warn"), f"{below} of {whose} in {one.workspace} were not looked for.")
        yield line(f"  next: pass --devices to look: one call for each{f': {pace}' if minutes >= 1 else ''}")


def _identity_step(advice: "Sequence[IdentityAdvice]", otherwise: str) -> str:
    """Return the setting that recognizes more entities, where there is one."""
    if not advice:
        return otherwise
    fields = ", ".join(f"{one.kind}: [{', '.join(one.fields)}]" for one in advice)
    found = " and ".join(
        f"{one.number:,} of {count(one.of, 'live entity', 'live entities')}" for one in advice
    )
    return f"`identity: {{{fields}}}` in the settings recognizes {found}; then export again"


def _mark_lines(about: ExportReport) -> list[Line]:
    """Say that the first plan is not empty, where it is not: a mark is a value at the service like others."""
    unmarked = [one for one in about.exported if one.unmarked]
    if not unmarked:
        return []
    what = _count_kinds(Counter(one.address.kind for one in unmarked))
    paths = ", ".join(sorted({one.unmarked for one in unmarked}))
    said = f"{what} without the mark of this stack (ownership.mark): the first plan writes {paths} to each."
    step = (
        "review that plan: it changes these entities at the service; without ownership.mark it "
        "would change nothing"
    )
    return [line(("! ", "warn"), said), line(f"  next: {step}")]


def _variable_lines(about: ExportReport) -> list[Line]:
    names = [one.name for one in about.variables]
    if not names:
        return []
    listed, rest = fold_items(names, full=about.full)
    # What is under meta.ignore is not compared, so only a write wants it.
    later = all(path in one.ignored for one in about.exported for path in one.variables)
    when = "before the entities that use them are written" if later else "before you plan"
    lines = [line(("! ", "warn"), f"set {count(len(names), 'variable')} {when}:")]
    lines += [*(line(f"    {name}") for name in listed), *rest]
    for file in about.values_in:
        lines.append(
            line(f"  next: their values are in {file}; keep this file out of git unless it is encrypted")
        )
    if about.secrets:
        files = ", ".join(about.secrets)
        lines.append(
            line(f"  next: name it in the settings: secrets: {{files: [{files}]}}; commit it, and give")
        )
        lines.append(line("        a job one secret, its private key: RECONCILER_SECRETS_IDENTITY"))
    if about.ignored:
        name = about.ignored
        lines.append(line(f"  next: git ignores {name}: add the line !{name} to the end of .gitignore"))
    if unreadable := [one.name for one in about.variables if not one.allowed]:
        globs = ", ".join(sorted({f"{name.partition('_')[0]}_*" for name in unreadable}))
        lines.append(line(f"  next: allow them in the settings: variables: [{globs}]"))
    return lines


@click.command()
@click.option(
    "--into",
    metavar="FOLDER",
    help="The folder to write to. Default: the first folder under `manifests:` of the settings.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SELECTOR",
    help="Export only what SELECTOR names: contact, kind:resource, or workspace:ops. Repeatable.",
)
@click.option(
    "--timezone",
    default="",
    metavar="NAME",
    help="Write this time zone for each contact with a matching offset; the service shows offsets only. "
    "Default: write no time zones.",
)
@click.option(
    "--devices",
    "look",
    is_flag=True,
    help="Also look for devices. This takes one call for each contact whose devices the list does not show.",
)
@click.option(
    "--env-file",
    metavar="FILE",
    help="Also declare push tokens, as variables, and write the values to FILE, a new file that only you "
    "can read. In a repository, git must ignore FILE.",
)
@click.option(
    "--secrets-file",
    metavar="FILE",
    help="Like --env-file, but FILE is encrypted for plan.recipients of the settings, so that you can "
    "commit it.",
)
@options.recipients_options
@options.settings_options
@options.strict_option
@options.full_option
@options.format_option
@prints_result
def export_command(
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
    **given: Any,
) -> ExportReport:
    """Write live entities into manifests, so that a plan of them has no changes.

    Entities that are declared already are skipped: those that the store has recorded for a declared address,
    and those that have the same identity as a declared entity. New entities are appended to the files that an
    earlier export wrote; if there is no such file, a new one is written. Entities that cannot be exported are
    listed.

    Push tokens are left out, because existing devices are managed without them. The key of a callback becomes
    an environment variable. The content of a resource cannot be read from the service: its manifest gets a
    placeholder, and nothing is uploaded until you replace the placeholder.

    Reads settings, manifests, the store and the service; writes manifests, and the file of --env-file or
    --secrets-file.

    Exit codes: 0 exported, or nothing new to export; 1 failed; 3 the input is invalid; 6 exported in part,
    because a workspace is left out; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler export
        reconciler export --only contact --devices --timezone Australia/Melbourne
        reconciler export --into people --only workspace:ops --format json
        reconciler export --devices --env-file tokens.env
    """
    from reconciler import pipeline
    from reconciler.cli.project_files import choose_secrets_files, list_folder, write_manifests
    from reconciler.cli.session import load_settings
    from reconciler.core.desired import value_forms
    from reconciler.core.envfile import format_env
    from reconciler.core.export import variable_values
    from reconciler.engine.exporting import ExportRequest
    from reconciler.environment.checkout import is_ignored_by_git

    if timezone and value_forms.check_zone(timezone):
        raise click.UsageError(f"--timezone: {timezone[:60]!a} is not the name of a time zone.")
    settings = load_settings(config, environment, service=True)
    secrets = choose_secrets_files(settings, env_file, secrets_file, given)
    folder = choose_export_folder(settings, into)
    there = list_folder(folder)
    sources = dict.fromkeys((*settings.manifests, *([str(folder)] if there else [])))
    declared = pipeline.load_partial_declaration(
        structs.replace(settings, manifests=tuple(sources)), os.environ
    )
    scopes = choose_export_scopes(settings, only)
    found = _read_live_entities(
        settings, declared, scopes, ExportRequest(timezone, look, secrets=bool(secrets))
    )
    new, grown = make_export_files(folder, there, found)
    values = variable_values(one for _, entries in found.entries for one in entries)
    # Before the manifests that name them: a value that is written nowhere would have to be asked for again.
    written = secrets if values else ()
    for one in written:
        one.write(format_env(values))
    if new or grown:
        write_manifests(folder, new, grown, private=True)
    encrypted = [one.path for one in written if one.recipients]
    return structs.replace(
        summarize_export(settings, folder, found, new, grown),
        values_in=tuple(str(one.path) for one in written),
        secrets=_unnamed_secrets_files(settings, encrypted[-1]) if encrypted else (),
        ignored=encrypted[-1].name if encrypted and is_ignored_by_git(encrypted[-1]) else "",
        full=full,
    )


# --- `reconciler export` at work: what is live is read, and written as manifests ------------------


Grown = dict[str, tuple[bytes, bytes]]


def _read_live_entities(
    settings: Settings, declared: Desired, scopes: Sequence[Scope], wishes: "ExportRequest"
) -> "ExportResult":
    from reconciler import pipeline
    from reconciler.cli.session import make_dependencies, run_to_end

    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        return run_to_end(
            lambda _signals: pipeline.export(
                settings, declared, make_dependencies(settings), scopes=scopes, wishes=wishes
            )
        )


def _unnamed_secrets_files(settings: Settings, path: Path) -> tuple[str, ...]:
    """Return what `secrets.files` has to be for this file to be read; nothing where it is named already."""
    root = Path(settings.root)
    named = settings.variable_files.paths
    if any((root / one).resolve() == path.resolve() for one in named):
        return ()
    return (*named, Path(os.path.relpath(path.resolve(), root.resolve())).as_posix())


def summarize_export(
    settings: Settings, folder: Path, found: "ExportResult", new: Iterable[str], grown: Iterable[str]
) -> ExportReport:
    """Return what an export did; `new` and `grown` are names of files."""
    from reconciler.core.export import REASONS

    exported = tuple(one for _, entries in found.entries for one in entries)
    variables = (
        Variable(name, one.address, path, any(fnmatchcase(name, glob) for glob in settings.variables))
        for one in exported
        for path, name in sorted(one.variables.items())
    )
    return ExportReport(
        folder=os.path.relpath(folder, settings.root),
        added=tuple(sorted(new)),
        grown=tuple(sorted(grown)),
        entries=tuple(ExportedEntry(one.address, one.remote_id) for one in exported),
        declared=found.declared,
        unmarked=sum(1 for one in exported if one.unmarked),
        left=tuple(
            LeftOut(one.reason, one.subject, one.field or None, *REASONS[one.reason]) for one in found.left
        ),
        variables=tuple(variables),
        values_in=(),
        untold=tuple(Untold(scope.kind, scope.workspace, number) for scope, number in found.untold),
        calls=found.calls,
        advice=tuple(found.advice),
        not_planned=found.not_planned,
        exported=exported,
        per_second=settings.service.limits.requests_per_second,
        secrets=(),
        ignored="",
        full=False,
    )


def choose_export_folder(settings: Settings, into: str | None) -> Path:
    """Return the folder to write to. Raises SettingsError where the settings name none."""
    from reconciler.manifest.sources import MANIFEST_SUFFIXES

    root = Path(settings.root)
    if into is not None:
        return Path(into).absolute()
    for one in settings.manifests:
        if not one.lower().endswith(MANIFEST_SUFFIXES):
            return root / one
    raise SettingsError("`manifests` of the settings names no folder.", next="--into FOLDER")


def choose_export_scopes(settings: Settings, only: Iterable[str]) -> list[Scope]:
    """Return the kinds and workspaces to export. Raises UsageError for a selector that names nothing."""
    from reconciler.core.suggest import did_you_mean
    from reconciler.manifest.entries import top_level_kinds

    # `default` is known without the settings; who names others and not this one does not mean it.
    workspaces = sorted(settings.workspaces) or ["default"]
    every = _list_export_scopes(workspaces)
    chosen: set[Scope] = set()
    for text in only:
        wanted = _select_scopes(text, every)
        if not wanted:
            known = [*top_level_kinds(), *(f"workspace:{one}" for one in workspaces)]
            hint = did_you_mean("kind", text, top_level_kinds(), f"write one of {', '.join(known)}")
            raise click.UsageError(f"--only: {text[:60]!a} selects nothing; {hint}.")
        chosen.update(wanted)
    return [one for one in every if one in chosen or not chosen]


def _list_export_scopes(workspaces: list[str]) -> list[Scope]:
    """Return each kind in each workspace; those of the company in the default one alone."""
    from reconciler.manifest.entries import top_level_kinds

    return [
        Scope(kind.name, workspace)
        for kind in top_level_kinds().values()
        for workspace in (["default"] if kind.company else workspaces)
    ]


def _select_scopes(text: str, every: Iterable[Scope]) -> list[Scope]:
    """Return those that a selector names: `kind:contact`, `contacts`, `workspace:ops`."""
    head, _, rest = text.rpartition(":")
    if head == "workspace":
        return [one for one in every if one.workspace == rest]
    kind = next((one.name for one in KINDS.values() if rest in (one.name, one.plural)), rest)
    kind = KINDS[kind].parent or kind if kind in KINDS else kind
    return [one for one in every if one.kind == kind] if head in ("", "kind") else []


def make_export_files(
    folder: Path, there: Iterable[str], found: "ExportResult"
) -> tuple[dict[str, bytes], Grown]:
    """Return the new files, and those of ours that grow: what was read of each, and what it becomes."""
    from reconciler.files.atomic_files import read_file
    from reconciler.manifest.export import (
        append_entries,
        build_export_files,
        build_placeholders,
        list_scope_files,
        select_roster_rows,
    )

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
