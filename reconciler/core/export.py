"""EXPORT: what is live -> entries of manifests whose plan is empty, and everything that could not be said.

Derived from the rows of kinds. Nothing is left out without an `Omission`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from reconciler.core.compare import normalize
from reconciler.core.compare.bodies import why_not_secret
from reconciler.core.compare.identity import identity_key, identity_of, identity_text
from reconciler.core.compare.match import IdentityIndex, former_names, match_entities
from reconciler.core.rules import Rules
from reconciler.core.text import slugify, trim_edges
from reconciler.model import address
from reconciler.model.address import ENTITY_NAME, Address
from reconciler.model.documents import Fields, Place, Scalar
from reconciler.model.kind import Key, Kind
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS, child_kinds
from reconciler.model.snapshots import Desired, Entity, LiveEntity, Recorded, RecordedEntity, Scope

_SLUG_MAX = 80  # characters; a number may follow, and the limit of names is 100
_VARIABLE_MAX = 200  # characters of the name of a variable; the limit of the language is 255
_NO_VARIABLE = re.compile(r"[^A-Z0-9]+")


class Exported(Struct, frozen=True):
    """One live entity as an entry. `fields` are flat; `variables` are the names that stand there, by path.

    `values` are the live values of those variables, for the checks alone. `content` says that the payload is
    a placeholder. `ignored` are the paths of `meta.ignore`. `unmarked` is the path of the mark that it should
    carry and does not (X5), "" where it carries one or none is wanted: the first plan writes it.
    """

    address: Address
    remote_id: str
    fields: Fields
    variables: Mapping[str, str] = {}
    values: Fields = {}
    content: bool = False
    ignored: tuple[str, ...] = ()
    unmarked: str = ""


class Omission(Struct, frozen=True, order=True):
    """What the export could not say: `reason` is a key of REASONS, `subject` an address, or an id in a scope.

    `field` is the path that it is about, "" for a whole entity. No value of the service stands in it.
    """

    reason: str
    subject: str
    field: str = ""


# Each reason as the end of a sentence, and what to do next. Entities that are not exported come first.
REASONS: Mapping[str, tuple[str, str]] = {
    "identity": (
        "not exported: no identity field",
        "set one at the service, or name another field in `identity` of the settings; then export again",
    ),
    "twice": (
        "not exported: another entity has the same identity",
        "remove or correct one of them at the service, then export again",
    ),
    "declared": (
        "not exported: a declared entity has the same identity",
        "reconciler plan shows which",
    ),
    "removed": (
        "not exported: `removed:` of a manifest has its name",
        "remove the name from `removed:` to export it",
    ),
    "refused": (
        "not exported: the value of a required field fails validation",
        "correct the field at the service, then export again",
    ),
    "above": ("not exported: its parent is not exported", "see there"),
    "inside": (
        "not exported: its parent is already declared, and existing entries are not edited",
        "add it to that entry, as docs/manifest.md shows; a row of a roster has no place for it",
    ),
    "field": ("left out: the value fails validation", "correct it at the service, or leave it as it is"),
    "region": (
        "left out: a national number, and its country is not known",
        "set `checks.region` in the settings (region: AU), or a country at the service; then export again",
    ),
    "blanks": (
        "written without the blanks at the start or end of its value",
        "the first plan removes them at the service",
    ),
    "unknown": (
        "left out: unknown field",
        "add it to `fields` of the settings to manage it",
    ),
    "zone": (
        "left out: the service shows an offset, not a zone name",
        "--timezone NAME, where its offset fits",
    ),
    "secret": ("left out: it can never be read back, and need not be declared", "declare it to set it"),
    "undeclared": (
        "left out: every write sends back the value that the service shows, so it need not be declared",
        "to create or move such an entity, declare the value, with --env-file or --secrets-file",
    ),
    "masked": (
        "left out: the service shows a mask instead",
        "declare the value before you change the entity: without the value, nothing can be written",
    ),
    "withheld": (
        "in meta.ignore: it can never be read back; ignored until you set it",
        "set its variable, and remove the field from meta.ignore",
    ),
    "content": (
        "a placeholder, in meta.ignore: content cannot be read back",
        "put the real file there, and remove `content` from meta.ignore",
    ),
}
WHOLE = (
    "identity",
    "twice",
    "declared",
    "removed",
    "refused",
    "above",
    "inside",
)  # reasons for which an entity is not exported


class ExportOptions(Struct, frozen=True):
    """What the user asked for: the name of a time zone ("": none), and the known paths by kind.

    `with_secrets`: those that the service shows are declared too, each by a variable.
    """

    zone: str = ""
    known: Mapping[str, frozenset[str]] = {}
    with_secrets: bool = False


class Export(Struct, frozen=True):
    """Entries in the order of their addresses, and what was left out. `declared` were there already."""

    entries: tuple[Exported, ...] = ()
    left: tuple[Omission, ...] = ()
    declared: int = 0


def export_live(
    live: Mapping[Scope, Sequence[LiveEntity]],
    declared: Desired,
    recorded: Recorded,
    rules: Rules,
    wishes: ExportOptions,
) -> Export:
    """Return everything live as entries, without what is declared already. Same input, same result.

    `live` holds each scope with the scopes of what belongs to its entities.
    """
    work = _ExportWork(declared, recorded, rules, wishes)
    for scope in sorted(live):
        if not KINDS[scope.kind].parent:
            work.scope(scope, live)
    entries = sorted(work.entries, key=lambda one: one.address)
    return Export(tuple(entries), tuple(sorted(set(work.left))), work.declared)


class _ExportWork:
    """One export while it is made."""

    def __init__(self, declared: Desired, recorded: Recorded, rules: Rules, wishes: ExportOptions) -> None:
        self._rules = rules
        self._wishes = wishes
        self._entities: dict[tuple[Scope, str], list[Entity]] = defaultdict(list)
        for one, entity in declared.entities.items():
            self._entities[Scope.of(one), one.parent].append(entity)
        # By what they belong to as well: one map of all devices for each contact would be quadratic.
        self._records: dict[tuple[Scope, str], dict[Address, RecordedEntity]] = defaultdict(dict)
        for one, record in recorded.entities.items():
            self._records[Scope.of(one), one.parent][one] = record
        self._removed = declared.removed
        self._there: set[str] = set()
        self._variables: set[str] = set()
        self.entries: list[Exported] = []
        self.left: list[Omission] = []
        self.declared = 0

    def scope(self, scope: Scope, live: Mapping[Scope, Sequence[LiveEntity]]) -> None:
        """Export a scope, and below each of its entities what belongs to it."""
        inside: dict[tuple[str, str], list[LiveEntity]] = defaultdict(list)
        for child in child_kinds(scope.kind):
            for row in live.get(Scope(child.name, scope.workspace), ()):
                inside[child.name, row.parent_id].append(row)
        start = len(self.entries)
        named = self._named(scope, "", live[scope], inside)
        known = self._there | {row.remote_id for row, _ in named}
        for (_, owner), ones in inside.items():
            self.left += [Omission("above", describe_live(one)) for one in ones if owner not in known]
        for row, name in named:
            self._entry(row, address.make_address(scope.kind, scope.workspace, name))
            for child in child_kinds(scope.kind):
                below, rows = Scope(child.name, scope.workspace), inside[child.name, row.remote_id]
                for one, its in self._named(below, name, rows, {}):
                    self._entry(one, address.make_address(child.name, scope.workspace, its, parent=name))
        for kind in (KINDS[scope.kind], *child_kinds(scope.kind)):
            if any(one.address.kind == kind.name for one in self.entries[start:]):
                unseen = (one.name for one in kind.fields if one.write_only and not one.required)
                self.left += [
                    Omission("secret", str(Scope(kind.name, scope.workspace)), path) for path in unseen
                ]
                theirs = sorted(kind.readable_secrets) if not self._wishes.with_secrets else ()
                self.left += [
                    Omission("undeclared", str(Scope(kind.name, scope.workspace)), path) for path in theirs
                ]

    def _named(
        self,
        scope: Scope,
        parent: str,
        rows: Sequence[LiveEntity],
        inside: Mapping[tuple[str, str], Sequence[LiveEntity]],
    ) -> list[tuple[LiveEntity, str]]:
        """Return the rows that are to be exported, with their names."""
        entities, records = self._entities[scope, parent], self._records[scope, parent]
        keys = self._rules.keys(scope.kind)
        matches = match_entities(entities, rows, records, keys=keys, former=former_names(entities))
        there = {hit.live.remote_id: one for one, hit in matches.found.items()}
        self._there.update(there)
        self.declared += len(there)
        places = {one.address: one.place for one in entities}
        for (kind, owner), ones in inside.items():
            if owner in there:
                above = there[owner]
                self._undeclared_inside(Scope(kind, scope.workspace), above, places[above], ones)
        fresh = self._recognizable(scope, entities, [row for row in rows if row.remote_id not in there])
        names = _FreeNames({one.address.name for one in entities})
        owners = {record.remote_id: one for one, record in records.items()}
        given = names.given(KINDS[scope.kind], fresh, owners, self._mark(scope.kind))
        return [(row, name) for row, name in given if not self._is_removed(row, name, parent)]

    def _is_removed(self, row: LiveEntity, name: str, parent: str) -> bool:
        """Whether a manifest says that it leaves: an export would bring it back, and contradict that."""
        found = address.make_address(row.kind, row.workspace, name, parent=parent) in self._removed
        if found:
            self.left.append(Omission("removed", describe_live(row)))
        return found

    def _undeclared_inside(
        self, scope: Scope, above: Address, place: Place, rows: Sequence[LiveEntity]
    ) -> None:
        """Tell what belongs to a declared entity and is not declared: its file is left as it is."""
        entities, keys = self._entities[scope, above.name], self._rules.keys(scope.kind)
        matches = match_entities(
            entities, rows, self._records[scope, above.name], keys=keys, former=former_names(entities)
        )
        there = {hit.live.remote_id for hit in matches.found.values()}
        self.declared += len(there)
        of = f", of {above} at {place}"
        self.left += [
            Omission("inside", describe_live(row) + of) for row in rows if row.remote_id not in there
        ]

    def _recognizable(
        self, scope: Scope, entities: Iterable[Entity], rows: Sequence[LiveEntity]
    ) -> list[LiveEntity]:
        """Return the rows that a plan would recognize; the others are left, with the reason."""
        kind = KINDS[scope.kind]
        identities = self._rules.identity.of(kind.name)
        keys = tuple(dict.fromkeys((*identities, *((kind.identity_path(path),) for path in kind.unique))))
        times: dict[tuple[object, ...], int] = defaultdict(int)
        for row in rows:
            for value in _identity_values(row.fields, keys):
                times[value] += 1
        declared = IdentityIndex(entities, keys)
        fresh = []
        for row in rows:
            if not any(_identity_values(row.fields, identities)):
                self.left.append(Omission("identity", describe_live(row)))
            elif any(times[value] > 1 for value in _identity_values(row.fields, keys)):
                self.left.append(Omission("twice", describe_live(row)))
            elif declared.sharing(row.fields):
                self.left.append(Omission("declared", describe_live(row)))
            else:
                fresh.append(row)
        return fresh

    def _mark(self, kind: str) -> tuple[str, str]:
        """Return the path of our mark for a kind, and what it begins with; ("", "") where there is none."""
        path = self._rules.mark_of(kind)
        return (path, self._rules.mark_text("")) if path else ("", "")

    def _entry(self, row: LiveEntity, one: Address) -> None:
        kind, mark = KINDS[row.kind], self._rules.mark_of(row.kind)
        fields: dict[str, Scalar] = {}
        for path in sorted(row.fields):
            reason, value = self._field(kind, path, row.fields[path])
            if reason:
                self.left.append(Omission(reason, str(one), path))
            elif value != "":
                fields[path] = value if isinstance(value, bool) else trim_edges(value)
                if fields[path] != value:
                    self.left.append(Omission("blanks", str(one), path))
        hidden = [*(path for path in fields if path in kind.secret), *_required_unseen(kind)]
        variables = {path: self._variable(one, path) for path in hidden}
        unseen = [path for path in hidden if path in kind.write_only]
        self.left += [Omission("withheld", str(one), path) for path in unseen]
        if kind.content:
            self.left.append(Omission("content", str(one), kind.content))
        self.entries.append(
            Exported(
                one,
                row.remote_id,
                {path: value for path, value in fields.items() if path not in variables},
                variables,
                {path: fields.get(path, "placeholder") for path in hidden},
                bool(kind.content),
                tuple(sorted([*unseen, *([kind.content] if kind.content else [])])),
                "" if row.fields.get(mark) else mark,
            )
        )

    def _field(self, kind: Kind, path: str, value: Scalar) -> tuple[str, Scalar]:
        """Return why a field is left out, or "", and the value to write."""
        head = path.partition(".")[0]
        if path == self._mark(kind.name)[0] or path in kind.server_owned | kind.write_only:
            return "", ""
        if path in kind.readable_secrets:
            if not self._wishes.with_secrets:
                return "", ""
            # What stands for it is no value of a variable: sent, it would be the secret from then on.
            return ("masked", "") if why_not_secret(value) else ("", value)
        known = path in self._wishes.known[kind.name] or kind.type_of(path).shape == "custom"
        if not known or head in kind.server_owned:
            return "unknown", ""
        if path in kind.zones:
            fits = (
                bool(self._wishes.zone)
                and path == normalize.ZONE_PATH
                and normalize.zone_has_offset(self._wishes.zone, value)
            )
            return ("", self._wishes.zone) if fits else ("zone", "")
        return "", value

    def _variable(self, one: Address, path: str) -> str:
        """Return the name of a variable that no other secret has."""
        text = _NO_VARIABLE.sub("_", f"{one}/{_snake(path)}".upper()).strip("_")[-_VARIABLE_MAX:].lstrip("_")
        return _take_free_name(text, self._variables, "_")


class _FreeNames:
    """Names within one scope, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in taken}

    def given(
        self,
        kind: Kind,
        rows: Sequence[LiveEntity],
        owners: Mapping[str, Address],
        mark: tuple[str, str],
    ) -> Iterator[tuple[LiveEntity, str]]:
        """Yield every row with its name: by its record, by our mark, else by what it is called."""
        later = []
        for row in sorted(rows, key=lambda row: row.remote_id):
            name = owners[row.remote_id].name if row.remote_id in owners else _name_in_mark(row, mark)
            if name and name.casefold() not in self._taken:
                self._taken.add(name.casefold())
                yield row, name
            else:
                identity = "\0".join(identity_key(path, row.fields.get(path, "")) for path in kind.identity)
                later.append((_suggest_name(kind, row.fields), identity, row))
        # By identity and not by id: an entity that is removed and created again by hand keeps its name.
        later.sort(key=lambda one: (one[0], one[1], one[2].remote_id))
        for called, _, row in later:
            yield row, _take_free_name(called, self._taken, "-")


def may_be_variable(kind: Kind) -> bool:
    """Whether an export may write a variable for a field: a secret that it reads, or that must be set."""
    return bool(_required_unseen(kind) or kind.readable_secrets)


def variable_values(entries: Iterable[Exported]) -> dict[str, Scalar | None]:
    """Return the live value of each variable that an export names, by name; None where none can be read."""
    return {
        name: None if path in KINDS[one.address.kind].write_only else one.values[path]
        for one in entries
        for path, name in sorted(one.variables.items())
    }


def _required_unseen(kind: Kind) -> list[str]:
    """Return the scalar fields that every entry needs and the service never shows."""
    return [name for name in kind.required if name in kind.write_only and name != kind.content]


def _identity_values(fields: Fields, keys: Iterable[Key]) -> list[tuple[object, ...]]:
    """Return each identity that an entity has, in the form in which equal means the same."""
    found: list[tuple[object, ...]] = []
    for key in keys:
        values = identity_of(key, fields)
        if values is not None:
            found.append((key, values))
    return found


def _name_in_mark(row: LiveEntity, mark: tuple[str, str]) -> str:
    path, start = mark
    text = str(row.fields.get(path, "")) if path else ""
    name = text.removeprefix(start)
    return name if path and text.startswith(start) and ENTITY_NAME.fullmatch(name) else ""


def _suggest_name(kind: Kind, fields: Fields) -> str:
    """Return what an entity is called as a name: its headline, else a part of its identity, else its kind."""
    names = kind.listing.alike or kind.headline[:1]
    texts = [" ".join(str(fields.get(path, "")) for path in names)]
    # The part before the @ alone: the address of a person stands in plans, logs and file names.
    texts += [str(fields.get(path, "")).partition("@")[0] for path in kind.identity]
    return next((name for text in texts if (name := slugify(text)[:_SLUG_MAX].strip("-"))), kind.name)


def _take_free_name(name: str, taken: set[str], joint: str) -> str:
    """Return the name, or the name with the first number from 2 that is free; then it is taken."""
    number, found = 1, name
    while found.casefold() in taken:
        number += 1
        found = f"{name}{joint}{number}"
    taken.add(found.casefold())
    return found


def describe_live(row: LiveEntity) -> str:
    """Return how a live entity is called that has no address."""
    return f"{row.kind} in {row.workspace}, id {row.remote_id}"


def _snake(path: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path)


# --- Advice: which further field would tell apart entities that no identity field recognizes ------


class IdentityAdvice(Struct, frozen=True, order=True):
    """`identity: {kind: fields}` in the settings would recognize `number` more, of so many."""

    kind: str
    fields: tuple[str, ...]
    number: int
    of: int


def identity_advice(
    live: Mapping[Scope, Sequence[LiveEntity]], left: Collection[Omission], rules: Rules
) -> tuple[IdentityAdvice, ...]:
    """Return one more identity field for each kind that has one, in the order of the kinds.

    `left` is what an export of `live` left out. The field is the one that most of those whom nothing
    recognizes have. No two entities of a workspace share a value of it, or it would make them ambiguous; but
    for those that are ambiguous already.
    """
    subjects = {
        reason: frozenset(one.subject for one in left if one.reason == reason)
        for reason in ("identity", "twice")
    }
    found = []
    for kind in BUILT_IN_KINDS.values():
        rows = [row for scope, ones in live.items() if scope.kind == kind.name for row in ones]
        strange = [row for row in rows if describe_live(row) in subjects["identity"]]
        fields = (
            [] if kind.together or kind.parent or not strange else _identity_candidates(kind, strange, rules)
        )
        for path, number in fields:
            if not _is_shared(kind.identity_path(path, rules.checks.region), rows, subjects["twice"]):
                now = rules.identity.of(kind.name)
                found.append(
                    IdentityAdvice(kind.plural, (*(one for (one,) in now), path), number, len(strange))
                )
                break
    return tuple(found)


def _identity_candidates(kind: Kind, strange: Sequence[LiveEntity], rules: Rules) -> list[tuple[str, int]]:
    """Return the paths that could be an identity, with how many have them, the most first."""
    have = Counter(
        path
        for row in strange
        for path, value in row.fields.items()
        # What reaches one person, or was made to number them. Two people of one name are nothing unusual.
        if value != "" and kind.type_of(path).recognizes and path != rules.mark_path
    )
    return sorted(have.items(), key=lambda one: (-one[1], one[0]))


def _is_shared(path: str, rows: Iterable[LiveEntity], twice: Collection[str]) -> bool:
    seen: dict[tuple[str, str], bool] = {}
    for row in rows:
        text = identity_text(path, row.fields)
        if not text:
            continue
        key, is_twice = (row.workspace, text), describe_live(row) in twice
        if key in seen and not (is_twice and seen[key]):
            return True
        seen[key] = is_twice
    return False
