"""Drop from an export what the manifest language refuses, until the rest passes every check.

The checks are those of `validate`: the same reader, schema, variables and rules read the text that will be
written, so this module has no rules of its own. No value is reported.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct, structs

from reconciler.core.compare.identity import number_key
from reconciler.core.desired.resolve import resolve_desired
from reconciler.core.export import Exported, Omission
from reconciler.core.rules import Rules
from reconciler.core.text import normalize_unicode
from reconciler.errors import Problem
from reconciler.manifest.entries import Steps, find_kind_at, name_entry, top_level_kinds
from reconciler.manifest.export import placeholder_data, split_entries, write_head, write_section
from reconciler.manifest.flatten import Flattener
from reconciler.manifest.variables import ManifestVariables, substitute_variables
from reconciler.model import address
from reconciler.model.address import Address
from reconciler.model.documents import Content, Manifest
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.parsing.display import UNFIT_CHARACTERS
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import find_mistakes
from reconciler.schema.shipped import ExtraFields

_KEY_MAX = 100  # characters of the name of a custom field; the schema says so too, but YAML stops before
_TURNS_MAX = 20  # dropping a field may make another one invalid; each turn drops at least one

WrongFields = set[tuple[Address, str]]  # an address and a path; "" for the whole entry


class ValidEntries(Struct, frozen=True):
    """The entries that pass every check, and what was dropped."""

    entries: tuple[Exported, ...]
    left: tuple[Omission, ...]


def drop_invalid_entries(
    scope: Scope, entries: Iterable[Exported], rules: Rules, extras: ExtraFields
) -> ValidEntries:
    """Return the entries of a scope and their children in which `validate` finds no mistake."""
    work = {one.address: one for one in entries}
    left: list[Omission] = []
    _drop_wrong(
        work, {(one.address, path) for one in work.values() for path in _find_unfit_paths(one)}, left, rules
    )
    for _ in range(_TURNS_MAX):
        wrong = _ExportValidator(scope, work, rules, extras).find_wrong_fields()
        if not wrong:
            return ValidEntries(tuple(work.values()), tuple(left))
        _drop_wrong(work, wrong, left, rules)
    raise AssertionError(scope)  # the checks and the writer do not agree


def _find_unfit_paths(one: Exported) -> Iterator[str]:
    """Yield the paths whose name or value has characters that the reader refuses."""
    for path, value in one.fields.items():
        bad = UNFIT_CHARACTERS.search(path) or (isinstance(value, str) and UNFIT_CHARACTERS.search(value))
        if bad or len(path) > _KEY_MAX or normalize_unicode("NFC", path) != path:
            yield path


def _drop_wrong(
    work: dict[Address, Exported], wrong: WrongFields, left: list[Omission], rules: Rules
) -> None:
    for one, path in sorted(wrong):
        entry = work.get(one)
        if entry is None:
            continue
        rest = {
            at: value for at, value in entry.fields.items() if at != path and not at.startswith(f"{path}.")
        }
        if path and len(rest) < len(entry.fields) and path not in KINDS[one.kind].required:
            work[one] = structs.replace(entry, fields=rest)
            reason = "region" if _lacks_country(entry, path, rules) else "field"
            left.append(Omission(reason, str(one), path))
            continue
        for gone in [at for at in work if one in (at, at.above)]:
            about = f"{gone.kind} in {gone.workspace}, id {work.pop(gone).remote_id}"
            left.append(Omission("refused", about, path if gone == one else ""))


def _lacks_country(entry: Exported, path: str, rules: Rules) -> bool:
    """Whether a value is a national phone number, and neither the entry nor the settings name a country."""
    value = entry.fields.get(path)
    at = KINDS[entry.address.kind].identity_path(path, rules.checks.region)
    if (
        at.key != "phone"
        or not isinstance(value, str)
        or at.region
        or any(map(entry.fields.get, at.countries))
    ):
        return False
    number = number_key(value)
    return bool(number) and not number.startswith("+")


class _ExportValidator:
    """One turn: write the text, read it back and check it."""

    def __init__(
        self, scope: Scope, work: Mapping[Address, Exported], rules: Rules, extras: ExtraFields
    ) -> None:
        self._scope = scope
        self._work = work
        self._rules = rules
        self._extras = extras

    def find_wrong_fields(self) -> WrongFields:
        """Return the fields and entries that the checks refuse."""
        values = {
            name: str(one.values[path]) for one in self._work.values() for path, name in one.variables.items()
        }
        trees = []
        wrong: WrongFields = set()
        for number, part in enumerate(split_entries(self._work.values())):
            text = write_head(self._scope) + write_section(part)
            tree = read_tree(text.encode(), f"{number}.yaml", subject=name_entry)
            assert not tree.problems  # noqa: S101 - the writer writes what can be read
            filled = substitute_variables(tree, ManifestVariables(values, ["*"]))
            wrong |= set(self._locate_problems(tree, filled.problems))
            found = find_mistakes("manifest", tree, extras=self._extras, subject=name_entry)
            wrong |= {self._resolve_path(one.path) for one in found}
            trees.append(replace(tree, hidden=filled.hidden))
        if wrong:
            return wrong
        resolved = resolve_desired(map(self._build_manifest, trees), self._rules)
        for tree in trees:
            wrong |= set(
                self._locate_problems(tree, (one for one in resolved.problems if one.file == tree.file))
            )
        return wrong

    def _build_manifest(self, tree: Tree) -> Manifest:
        flattener = Flattener(tree)
        documents = [
            document
            for kind in top_level_kinds().values()
            for document in flattener.documents(kind, dict(self._placeholder_contents()))
        ]
        return Manifest(
            file=tree.file,
            workspace=self._scope.workspace,
            workspace_place=tree.place(["workspace"]),
            kinds=frozenset({self._scope.kind}),
            documents=tuple(documents),
            hidden=tree.hidden,
        )

    def _placeholder_contents(self) -> Iterator[tuple[Steps, Content]]:
        for one in self._work.values():
            if one.content:
                data = placeholder_data(one)
                digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
                yield (KINDS[one.address.kind].plural, one.address.name), Content(data, digest)

    def _locate_problems(self, tree: Tree, problems: Iterable[Problem]) -> Iterator[tuple[Address, str]]:
        known: dict[tuple[int, int], Steps] = {}
        for problem in problems:
            known = known or dict(_map_positions(tree))
            yield self._resolve_path(known[problem.line, problem.column])

    def _resolve_path(self, path: Steps) -> tuple[Address, str]:
        """Return the address and the field at a path of a manifest."""
        found = find_kind_at(path)
        assert found is not None, path[:1]  # noqa: S101 - nothing is written but entries
        kind, depth = found
        names = [str(step) for step in path[1:depth:2]]
        one = address.make_address(kind.name, self._scope.workspace, names[-1], parent="".join(names[:-1]))
        field = ".".join(map(str, path[depth:]))
        return one, field


def _map_positions(tree: Tree) -> Iterator[tuple[tuple[int, int], Steps]]:
    """Yield every position of a tree with its path; of two paths at one position, the outer one."""
    found: dict[tuple[int, int], Steps] = {}
    waiting: deque[tuple[Steps, Any]] = deque([((), tree.value)])
    while waiting:
        path, node = waiting.popleft()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        if isinstance(node, dict | list):
            for key, place in zip(keys, tree.places(node), strict=True):
                found.setdefault((place.line, place.column), (*path, key))
                waiting.append(((*path, key), node[key]))
    yield from found.items()
