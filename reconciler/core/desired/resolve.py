"""Documents to Desired: defaults, tags and the mark are applied, and what files say together is checked.

A mistake inside one file is found by its schema; here are those that only several entries or the
settings make (`crosscheck.py`). Pure: no file is read, and the order of the manifests never changes
the result (law 3).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.desired.check_values import check_values
from reconciler.core.desired.consents import find_consent_mistakes, resolve_consents
from reconciler.core.desired.crosscheck import (
    CHECKS,
    Declared,
    DeclaredEntities,
    digest_claims,
    find_alike,
    sibling_address,
    similar_declared_notices,
    unique_keys,
)
from reconciler.core.rules import Rules
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import has_edges, trim_breaks, trim_edges
from reconciler.errors import Problem
from reconciler.model.address import Address, make_address, parse_address
from reconciler.model.documents import Document, Fields, InputFile, Manifest, Place
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Options
from reconciler.model.snapshots import Desired, Entity, Scope


class Resolved(Struct, frozen=True):
    """What is wanted. With `problems` it must not be acted upon, but for workspaces that have none.

    `declared` are the entities with the documents they were made of: where each value comes from. `inputs`
    are the files that the manifests were read from.
    """

    desired: Desired
    problems: tuple[Problem, ...] = ()
    declared: Mapping[Address, Declared] = {}
    inputs: tuple[InputFile, ...] = ()


def resolve_desired(manifests: Iterable[Manifest], rules: Rules) -> Resolved:
    """Return everything that the manifests want, and every mistake they make together.

    Entities stand in the order of their addresses; problems are sorted by file and line.
    """
    ordered = sorted(manifests, key=lambda manifest: manifest.file)
    problems = [*_unknown_workspaces(ordered, rules), *_misplaced_kinds(ordered)]
    every = [one for manifest in ordered for one in _declared_entities(manifest, rules)]
    every.sort(key=lambda one: (one.document.place.file, one.document.place.line, one.document.place.column))
    first: dict[Address, Declared] = {}
    for one in every:
        first.setdefault(one.entity.address, one)
    problems.extend(_declared_twice(every, first))
    group = DeclaredEntities(tuple(every), first, find_alike(every))
    wrong, notices = check_values(group, rules.checks)
    problems.extend(wrong)
    group = structs.replace(group, unfit=frozenset(Place(one.file, one.line, one.column) for one in wrong))
    for check in CHECKS:
        problems.extend(check(group, rules))
    leaving = find_removed(ordered)
    problems.extend(find_contradictions(group, leaving))
    entities = {address: first[address].entity for address in sorted(first)}
    scopes = frozenset(Scope(kind, manifest.workspace) for manifest in ordered for kind in manifest.kinds)
    answers = tuple(sorted({one for manifest in ordered for one in manifest.answers}))
    notices += tuple(similar_declared_notices(group, rules))
    # In the order of the entities, as those of cached manifests are.
    order = {one.entity.address: number for number, one in enumerate(every)} if notices else {}
    notices = tuple(sorted(notices, key=lambda notice: order[Address(notice.subject)]))
    consents = resolve_consents(ordered)
    problems.extend(find_consent_mistakes(ordered))
    desired = Desired(entities, scopes, notices, leaving, answers, consents)
    return Resolved(desired, _sort_problems(problems), first)


def _declared_twice(every: Iterable[Declared], first: Mapping[Address, Declared]) -> Iterator[Problem]:
    for one in every:
        before = first[one.entity.address]
        if before is one or one.document.again:
            continue
        if one.owner is not None and first[one.owner.entity.address] is not one.owner:
            continue  # the whole contact is declared twice, which was said
        what = f"this name is declared twice; the first time at {before.document.place}."
        yield one.problem("", what, "give them different names, or remove one", code="E310")


def _unknown_workspaces(manifests: Sequence[Manifest], rules: Rules) -> Iterator[Problem]:
    for manifest in manifests:
        unread = manifest.workspace.startswith("?")  # said already
        if manifest.workspace not in rules.workspaces and not unread:
            known = ", ".join(sorted(rules.workspaces))
            hint = did_you_mean(
                "workspace",
                manifest.workspace,
                rules.workspaces,
                f"workspaces in the settings: {known or 'none'}",
            )
            what = f"the workspace {manifest.workspace} is not in the settings."
            yield manifest.workspace_place.problem(what, hint, code="E311")


def _misplaced_kinds(manifests: Sequence[Manifest]) -> Iterator[Problem]:
    """Yield the kinds that belong to the account and stand in a manifest of some workspace."""
    for manifest in manifests:
        for kind in sorted(manifest.kinds):
            if KINDS[kind].company and manifest.workspace not in ("default", "?"):
                plural = KINDS[kind].plural
                what = f"{plural} belong to the account, not to the workspace {manifest.workspace}."
                hint = f"move `{plural}:` into a manifest with `workspace: default`"
                yield manifest.workspace_place.problem(what, hint, code="E312")


def _declared_entities(manifest: Manifest, rules: Rules) -> Iterator[Declared]:
    keys = unique_keys(rules)
    # What belongs to an entry stands right behind it, and has its tags.
    owner: Declared | None = None
    for document in manifest.documents:
        above = owner if document.parent else None
        tags = above.entity.controls.tags if above else manifest.tags
        if document.controls.tags:
            tags = {**tags, **document.controls.tags}
        one = _make_declared(manifest, document, tags, rules, above, keys=keys)
        owner = above or one
        yield one


def _make_declared(
    manifest: Manifest,
    document: Document,
    tags: Mapping[str, str],
    rules: Rules,
    owner: Declared | None,
    *,
    keys: Mapping[str, tuple[Key, ...]],
) -> Declared:
    mark = rules.mark_of(document.kind)
    marked = mark in document.fields or mark in manifest.defaults.get(document.kind, {})
    fields, edges = _trim_fields(document.kind, _declared_fields(manifest, document, rules))
    entity = Entity(
        address=sibling_address(document, manifest.workspace, document.name),
        fields=fields,
        place=document.place,
        controls=structs.replace(document.controls, tags=tags) if tags else document.controls,
        content=document.content,
        devices_in_scope=document.devices_in_scope,
        # With any other unread field there is a problem, and no plan.
        unset_paths=document.unread & KINDS[document.kind].secret,
    )
    places = manifest.default_places.get(document.kind, {})
    claims = digest_claims(entity, keys)
    return Declared(entity, document, marked, owner, places, manifest.hidden, edges, claims)


def _declared_fields(manifest: Manifest, document: Document, rules: Rules) -> Fields:
    """Return what a document declares, with the defaults of its file and our mark (rule X5)."""
    mark, defaults = rules.mark_of(document.kind), manifest.defaults.get(document.kind)
    if not (mark or defaults):
        return document.fields  # not copied: there may be many
    return {**(defaults or {}), **document.fields, **({mark: rules.mark_text(document.name)} if mark else {})}


def _trim_fields(kind: str, fields: Fields) -> tuple[Fields, Mapping[str, str]]:
    """Return fields as they are compared and sent, and those that were written with blanks at their edges.

    A secret that people choose may have blanks: only line breaks are removed, which cannot be typed.
    """
    edges = {path: text for path, text in fields.items() if isinstance(text, str) and has_edges(text)}
    if not edges:
        return fields, edges  # not copied: there may be many
    kept = KINDS[kind].guessable
    return {
        **fields,
        **{path: (trim_breaks if path in kept else trim_edges)(text) for path, text in edges.items()},
    }, edges


def _sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda one: (one.file, one.line, one.column, one.what)))


# --- Names under `removed:` and of `forget`: the entry leaves, what is live stays (rule X7) --------
#
# What a plan does about them: core/planning/deletes.py.


_COMMAND_LINE = Place("the command line")


def find_removed(manifests: Iterable[Manifest]) -> dict[Address, Place]:
    """Return the addresses that the manifests name under `removed:`, in their order, each at its first place.

    The same name in several files says the same thing, so that is no mistake.
    """
    found: dict[Address, Place] = {}
    for manifest in manifests:
        for one in manifest.removed:
            found.setdefault(
                make_address(one.kind, manifest.workspace, one.name, parent=one.parent), one.place
            )
    return dict(sorted(found.items()))


def find_contradictions(group: DeclaredEntities, names: Mapping[Address, Place]) -> Iterator[Problem]:
    """Yield what is removed and still declared, or still claimed by a new name (rule M6)."""
    for address in names.keys() & group.first.keys():
        what = f"{address} is removed here, but still declared at {group.first[address].place()}."
        yield names[address].problem(what, "remove the entry, or this name", code="E316")
    for one in group.every:
        old = one.document.controls.renamed_from
        before = sibling_address(one.document, one.entity.address.workspace, old) if old else None
        if before is not None and before in names:
            what = f"meta.renamedFrom: {before} is removed, {names[before]}."
            hint = "a renamed entry stays ours: remove one of these two lines"
            yield one.problem("", what, hint, code="E316")


def add_forgotten(desired: Desired, options: Options) -> Desired:
    """Return what is desired, with the addresses of `forget` among those that leave."""
    named = (parse_address(text) for text in options.forget)
    more = {one: _COMMAND_LINE for one in named if one is not None}
    return structs.replace(desired, removed={**more, **desired.removed}) if more else desired
