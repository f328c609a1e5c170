"""Entries as files: which entry stands in which file, and the text of each.

Belongs here: names and texts. Not here: writing them to a disk (cli/verbs/project/export.py).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from reconciler.core.declared.values.content import placeholder
from reconciler.core.exporting.export import Exported
from reconciler.manifest.written import rosters, yamltext
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope

_FILE_MAX = 4 * 1024 * 1024  # characters of a file: a manifest may have 10 MiB, and people add to it
_HEADER = (
    "# Written by `reconciler export`. It is yours now: a later export adds what is new,\n"
    "# and changes nothing that stands here.\n"
)


class WrittenFile(Struct, frozen=True):
    """One file of an export, its name relative to the folder."""

    name: str
    data: bytes


class EntryGroup(Struct, frozen=True):
    """One entry at the top of a manifest, with what belongs to it."""

    entry: Exported
    inside: tuple[Exported, ...] = ()


def groups(entries: Iterable[Exported]) -> tuple[EntryGroup, ...]:
    """Return entries with what belongs to them, in the order of their addresses."""
    below: dict[Address, list[Exported]] = {}
    for one in sorted(entries, key=lambda one: one.address):
        below.setdefault(one.address.above or one.address, []).append(one)
    found = []
    for top, ones in sorted(below.items()):
        entry = next((one for one in ones if one.address == top), None)
        if entry is not None:
            found.append(EntryGroup(entry, tuple(one for one in ones if one is not entry)))
    return tuple(found)


def head(scope: Scope) -> str:
    """Return how a manifest of a scope begins, up to its entries."""
    return f"{_start(scope)}{KINDS[scope.kind].plural}:\n"


def _start(scope: Scope) -> str:
    return f"{_HEADER}version: 1\nworkspace: {yamltext.quoted(scope.workspace)}\n\n"


def parts(entries: Iterable[Exported]) -> Iterator[list[EntryGroup]]:
    """Yield the entries of a scope, in parts that fit into a file each."""
    part: list[EntryGroup] = []
    size = 0
    for group in groups(entries):
        length = len(entry_text(group))
        if part and size + length > _FILE_MAX:
            yield part
            part, size = [], 0
        part.append(group)
        size += length
    if part:
        yield part


def section(part: Sequence[EntryGroup]) -> str:
    """Return the text of entries, as it stands below the key of their section."""
    return "".join(map(entry_text, part))


def entry_text(group: EntryGroup) -> str:
    """Return one entry as lines of a manifest."""
    body = _body(group.entry)
    for one in group.inside:
        kind = KINDS[one.address.kind]
        node = body.setdefault(kind.plural, {})
        assert isinstance(node, dict)  # noqa: S101 - no field is called like a kind
        node[one.address.name] = _body(one)
    return yamltext.block({group.entry.address.name: body}, 1)


def _body(one: Exported) -> dict[str, yamltext.Node]:
    kind = KINDS[one.address.kind]
    texts = {path: yamltext.scalar(value) for path, value in one.fields.items()}
    texts |= {path: yamltext.variable(name) for path, name in one.variables.items()}
    body = yamltext.nested(kind, texts)
    if one.content:
        body[kind.content] = {"file": yamltext.quoted(content_name(one))}
    if one.ignored:
        body["meta"] = {"ignore": list(one.ignored)}
    return body


def content_name(one: Exported) -> str:
    """Return the name of the file that stands for a payload nobody can read."""
    kind, workspace, name = one.address.split("/")
    return f"content/{workspace}-{KINDS[kind].plural}/{name}.placeholder"


def content_data(one: Exported) -> bytes:
    """Return what stands in that file until somebody provides the real one."""
    return placeholder(str(one.fields.get("mimeType", "")))


def files_of(scope: Scope, entries: Sequence[Exported], taken: Iterable[str] = ()) -> tuple[WrittenFile, ...]:
    """Return the new files of a scope; none has a name that is taken, in any letter case."""
    names = {name.casefold() for name in taken}
    stem = f"{scope.workspace}-{KINDS[scope.kind].plural}"
    found = []
    rows = rosters.rostered(scope, entries)
    for some in rosters.parts(rows, _FILE_MAX):
        name = _free(stem, names)
        table = f"{name.removesuffix('.yaml')}.csv"
        found.append(WrittenFile(table, rosters.table(some).encode()))
        found.append(WrittenFile(name, (_start(scope) + rosters.template(scope, some, table)).encode()))
    known = {one.address for one in rows}
    rest = parts(one for one in entries if one.address not in known)
    found += [WrittenFile(_free(stem, names), (head(scope) + section(part)).encode()) for part in rest]
    return (*found, *contents_of(entries))


def contents_of(entries: Iterable[Exported]) -> tuple[WrittenFile, ...]:
    """Return the files that stand for payloads nobody can read."""
    return tuple(WrittenFile(content_name(one), content_data(one)) for one in entries if one.content)


def _free(stem: str, taken: set[str]) -> str:
    number, name = 1, f"{stem}.yaml"
    while not taken.isdisjoint({name.casefold(), f"{name.casefold().removesuffix('.yaml')}.csv"}):
        number += 1
        name = f"{stem}-{number}.yaml"
    taken.add(name.casefold())
    return name


def names_of(scope: Scope, there: Iterable[str]) -> tuple[str, ...]:
    """Return those names in a folder that an export gives to files of a scope, the newest first."""
    stem = f"{scope.workspace}-{KINDS[scope.kind].plural}"
    form = re.compile(rf"{re.escape(stem)}(?:-([0-9]{{1,6}}))?\.yaml")
    found = [(int(match[1] or 1), name) for name in there if (match := form.fullmatch(name))]
    return tuple(name for _, name in sorted(found, reverse=True))
