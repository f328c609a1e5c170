"""An export: as lines, and as JSON. What was written, what was left out and why, and what to set.

Addresses, ids and names of fields, and no value of the service. Not here: what is left out
(core/exporting/export.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, structs

from reconciler.core.exporting.export import REASONS, WHOLE, Exported, Left
from reconciler.core.exporting.recognizing import Advice
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import Scope
from reconciler.report.lines import Line, count, fold, line


class Summary(Struct, frozen=True):
    """What an export did. `added` are the new files and `grown` those that were added to, below `folder`.

    `declared` entities were in manifests already. `untold` are scopes, each with the number of entities that
    were not looked at. `allowed` are the globs of variables that manifests may read. `values_in` are the
    files that hold the values of variables. `secrets` is what `secrets.files` of the settings has to be for
    the encrypted one to be read, empty where it is so already; `ignored` is that file where git ignores it.
    """

    folder: str
    entries: Sequence[Exported]
    left: Sequence[Left]
    declared: int
    untold: Sequence[tuple[Scope, int]]
    calls: int
    added: Sequence[str] = ()
    grown: Sequence[str] = ()
    allowed: Sequence[str] = ()
    advice: Sequence[Advice] = ()
    per_second: float = 0.0
    values_in: Sequence[str] = ()
    secrets: Sequence[str] = ()
    ignored: str = ""

    def variables(self) -> Iterator[tuple[str, Exported, str]]:
        """Yield the name of each variable that is to be set, and the entry and field it stands in."""
        for one in self.entries:
            for path, name in sorted(one.variables.items()):
                yield name, one, path

    def unreadable(self) -> tuple[str, ...]:
        """Return the variables that manifests may not read yet."""
        return tuple(
            name
            for name, _, _ in self.variables()
            if not any(fnmatchcase(name, glob) for glob in self.allowed)
        )


def export_lines(about: Summary, *, full: bool) -> list[Line]:
    """Return what was written; then what was left out, by reason; then what is to be set."""
    files = len(about.added) + len(about.grown)
    kinds = Counter(one.address.kind for one in about.entries)
    what = ", ".join(count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name])
    where = f" into {about.folder} ({count(files, 'file')})" if about.entries else ""
    lines = [line(f"exported {what or 'nothing new'}{where}, in {count(about.calls, 'call')}.")]
    if about.declared:
        lines.append(
            line(f"{count(about.declared, 'entity', 'entities')} declared already: left as they are.")
        )
    left, untold = _left_lines(about, full=full), _untold_lines(about)
    variables, marks = _variable_lines(about, full=full), _mark_lines(about)
    return [*lines, *left, *untold, *variables, *marks, *_end_lines(about)]


def _left_lines(about: Summary, *, full: bool) -> Iterator[Line]:
    for reason, (says, next_step) in REASONS.items():
        found = [one for one in about.left if one.reason == reason]
        if found:
            step = _identity_step(about.advice, next_step) if reason == "identity" else next_step
            what = f"{count(len(found), *_noun(reason))}: {says}."
            yield from _reason_lines(found, what, step, full=full)


def _untold_lines(about: Summary) -> Iterator[Line]:
    for scope, number in about.untold:
        below = " and ".join(child.plural for child in child_kinds(scope.kind))
        whose = count(number, scope.kind, KINDS[scope.kind].plural)
        yield line(("! ", "warn"), f"{below} of {whose} in {scope.workspace} were not looked for.")
        yield line(f"  next: --devices looks, with a call for each{_lasts(number, about.per_second)}")


def _identity_step(advice: Sequence[Advice], otherwise: str) -> str:
    """Return the setting that recognizes more entities, where there is one."""
    if not advice:
        return otherwise
    fields = ", ".join(f"{one.kind}: [{', '.join(one.fields)}]" for one in advice)
    found = " and ".join(f"{one.number:,} of {count(one.of, *_noun('identity'))}" for one in advice)
    return f"`identity: {{{fields}}}` in the settings recognizes {found}; then export again"


def _lasts(calls: int, per_second: float) -> str:
    """Return how long so many calls take at the pace of the settings; "" below a minute."""
    minutes = calls / per_second / 60 if per_second else 0
    return f": about {minutes:,.0f} min at {per_second:g} calls a second" if minutes >= 1 else ""


def _end_lines(about: Summary) -> list[Line]:
    """Return what comes after an export that wrote something."""
    if not about.entries:
        return []
    return [
        line("next: reconciler plan, and commit the files; then reconciler adopt --all"),
        line("  whoever is removed from the files before that is not ours yet, and stays at the service"),
    ]


def _mark_lines(about: Summary) -> list[Line]:
    """Say that the first plan is not empty, where it is not: a mark is a value at the service like others."""
    unmarked = [one for one in about.entries if one.unmarked]
    if not unmarked:
        return []
    kinds = Counter(one.address.kind for one in unmarked)
    paths = ", ".join(sorted({one.unmarked for one in unmarked}))
    what = ", ".join(count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name])
    said = f"{what} without the mark of this stack (ownership.mark): the first plan writes {paths} to each."
    step = "review that plan: it changes them at the service; without ownership.mark it writes nothing"
    return [line(("! ", "warn"), said), line(f"  next: {step}")]


def _noun(reason: str) -> tuple[str, str]:
    return ("live entity", "live entities") if reason in WHOLE else ("field", "fields")


def _reason_lines(found: Sequence[Left], says: str, next_step: str, *, full: bool) -> list[Line]:
    listed, rest = fold(found, full=full)
    items = [line(f"    {one.subject}{f': {one.field}' if one.field else ''}") for one in listed]
    return [line(("! ", "warn"), says), *items, *rest, line(f"  next: {next_step}")]


def _variable_lines(about: Summary, *, full: bool) -> list[Line]:
    names = [name for name, _, _ in about.variables()]
    if not names:
        return []
    listed, rest = fold(names, full=full)
    # What is under meta.ignore is not compared, so only a write wants it.
    later = all(path in one.ignored for _, one, path in about.variables())
    when = "before what they belong to is written" if later else "before you plan"
    lines = [line(("! ", "warn"), f"set {count(len(names), 'variable')} {when}:")]
    lines += [*(line(f"    {name}") for name in listed), *rest]
    for file in about.values_in:
        lines.append(line(f"  next: their values are in {file}; keep it out of git unless it is encrypted"))
    if about.secrets:
        files = ", ".join(about.secrets)
        lines.append(
            line(f"  next: name it in the settings: secrets: {{files: [{files}]}}; commit it, and give")
        )
        lines.append(line("        a job one secret, its private key: RECONCILER_SECRETS_IDENTITY"))
    if about.ignored:
        name = about.ignored
        lines.append(line(f"  next: git ignores {name}: add the line !{name} to the end of .gitignore"))
    if unreadable := about.unreadable():
        globs = ", ".join(sorted({f"{name.partition('_')[0]}_*" for name in unreadable}))
        lines.append(line(f"  next: allow them in the settings: variables: [{globs}]"))
    return lines


def export_values(about: Summary) -> dict[str, object]:
    """Return the same for the JSON form, all of it."""
    readable = set(about.unreadable())
    return {
        "folder": about.folder,
        "added": list(about.added),
        "grown": list(about.grown),
        "entries": [{"address": one.address, "id": one.remote_id} for one in about.entries],
        "declared": about.declared,
        "unmarked": sum(1 for one in about.entries if one.unmarked),
        "left": [
            {
                "reason": one.reason,
                "subject": one.subject,
                "field": one.field or None,
                "what": REASONS[one.reason][0],
                "next": REASONS[one.reason][1],
            }
            for one in about.left
        ],
        "variables": [
            {"name": name, "address": one.address, "field": path, "allowed": name not in readable}
            for name, one, path in about.variables()
        ],
        "values_in": list(about.values_in),
        "untold": [
            {"kind": scope.kind, "workspace": scope.workspace, "entities": number}
            for scope, number in about.untold
        ],
        "calls": about.calls,
        "advice": [structs.asdict(one) for one in about.advice],
    }
