"""Mistakes in manifests, and which workspaces they concern: the others are resolved without them.

    a file with mistakes --> its workspaces (NotPlanned)      any workspace, or not known --> no plan at all
    mistakes that several entries make together --> their workspace: no check compares two workspaces

Pure. What a file says is established in manifest/load.py.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct, structs

from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.rules import Rules
from reconciler.errors import Problem
from reconciler.model.documents import Manifest
from reconciler.model.snapshots import NotPlanned, NotPlannedBy


class FaultyFile(Struct, frozen=True):
    """A manifest with mistakes, its rosters' among them, and every workspace that it could be about.

    `workspaces` is empty where that is not known. `failed` are those of the problems that a directory
    causes.
    """

    file: str
    workspaces: frozenset[str]
    problems: tuple[Problem, ...]
    failed: frozenset[Problem] = frozenset()


def drop_problems(faulty: Iterable[FaultyFile], harmless: Collection[Problem]) -> tuple[FaultyFile, ...]:
    """Return the files that have other problems than these, and those problems of each."""
    others = (
        structs.replace(one, problems=tuple(each for each in one.problems if each not in harmless))
        for one in faulty
    )
    return tuple(one for one in others if one.problems)


class Isolated(Struct, frozen=True):
    """What is declared in the workspaces without a mistake. `problems` are those of the others."""

    resolved: Resolved
    problems: tuple[Problem, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the other workspaces have no manifest."""
        return not (self.resolved.desired.scopes or self.resolved.desired.removed)


def isolate_mistakes(
    manifests: Iterable[Manifest], faulty: Sequence[FaultyFile], others: Collection[Problem], rules: Rules
) -> Isolated | None:
    """Return what is declared in the workspaces without a mistake; None where that is not known.

    `manifests` are all that could be read, those with mistakes among them, and `others` are problems of no
    single file. None where a mistake may concern any workspace: a file of an unknown workspace, or a name
    that the settings do not have, which may be any other misspelt.
    """
    ordered = sorted(manifests, key=lambda one: one.file)
    sick: dict[str, list[Problem]] = {}
    failed = frozenset[Problem]().union(*(one.failed for one in faulty))
    for one in faulty:
        if not one.workspaces:
            return None
        for name in one.workspaces:
            sick.setdefault(name, []).extend(one.problems)
    groups: dict[str, list[Manifest]] = {}
    for manifest in ordered:
        groups.setdefault(manifest.workspace, []).append(manifest)
    for name, group in groups.items():
        if found := resolve_desired(group, rules).problems:
            sick.setdefault(name, []).extend(found)
    healthy = [one for one in ordered if one.workspace not in sick]
    if others or not sick or not rules.workspaces.issuperset(sick):
        return None
    resolved = resolve_desired(healthy, rules)
    if resolved.problems:
        return None
    unusable = resolve_desired([one for one in ordered if one.workspace in sick], rules).desired.entities
    left = tuple(sorted(_describe_workspace(name, found, failed) for name, found in sick.items()))
    problems = sorted({one for found in sick.values() for one in found}, key=_file_order)
    desired = structs.replace(resolved.desired, not_planned=left, unusable=unusable)
    return Isolated(structs.replace(resolved, desired=desired), tuple(problems))


def _describe_workspace(name: str, found: Iterable[Problem], failed: Collection[Problem]) -> NotPlanned:
    problems = sorted(set(found), key=_file_order)
    by: NotPlannedBy = "directory" if all(one in failed for one in problems) else "manifests"
    first, number = problems[0], len(problems)
    if by == "directory":
        return NotPlanned(name, by, first.what, first.next, first.code)
    # The mistakes themselves may quote values, and a plan travels further than the manifests do.
    said = "a mistake" if number == 1 else f"{number:,} mistakes, the first"
    what = f"its manifests have {said} at {first.where}."
    return NotPlanned(name, by, what, "reconciler validate", first.code)


def _file_order(one: Problem) -> tuple[str, int, int, str]:
    return one.file, one.line, one.column, one.what
