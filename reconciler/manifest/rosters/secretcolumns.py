"""Which columns of a directory manifests take for secret fields, so that no file for git gets them.

Belongs here: looking through manifests for that alone. Not here: what rosters become (load.py), the file
(snapshot.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reconciler.core.text import fold_case
from reconciler.errors import ManifestError, Problem
from reconciler.manifest.rosters.template import Template, compiled
from reconciler.manifest.sources import find_manifests, read_manifest
from reconciler.parsing.display import is_secret_path
from reconciler.parsing.tree import read_tree


def find_secret_columns(
    sources: Sequence[Path], root: Path, directory: str, header: Sequence[str], into: Path
) -> Mapping[str, str]:
    """Return the columns that fill a secret field of any roster of this directory, each with that field.

    A roster of a file counts where it is called as the directory is, or is the file `into` which the snapshot
    goes. Raises ManifestError where a manifest cannot be read: nobody knows what it takes.
    """
    files, _ = find_manifests(sources, root)  # a folder without manifests takes nothing
    found: dict[str, str] = {}
    for source in files:
        data = read_manifest(source)
        tree = data if isinstance(data, Problem) else read_tree(data, source.name)
        broken = (tree,) if isinstance(tree, Problem) else tree.problems
        if broken or isinstance(tree, Problem):
            what = f"nothing was written of {directory}: a manifest that may take secrets cannot be read."
            raise ManifestError(what, problems=broken)
        for field, column in _taken(tree.value, directory, header, source.path.parent, into):
            found.setdefault(column, field)
    return found


def _taken(
    value: Mapping[str, Any], directory: str, header: Sequence[str], folder: Path, into: Path
) -> Iterator[tuple[str, str]]:
    rosters = value.get("rosters")
    for entry in rosters if isinstance(rosters, list) else ():
        if isinstance(entry, dict) and _is_of(entry, directory, folder, into):
            for path, text in _texts(entry.get("contacts"), ()):
                template = (
                    compiled(text, header, secret=True) if is_secret_path(("contacts", *path)) else None
                )
                if isinstance(template, Template):
                    yield from ((".".join(path), header[column]) for column in template.columns)


def _is_of(entry: Mapping[str, Any], directory: str, folder: Path, into: Path) -> bool:
    if entry.get("directory") == directory:
        return True
    file = entry.get("file")
    if not isinstance(file, str) or not file or "\0" in file:
        return False
    # Where disks know no letter case, one spelling is as good as another.
    meant, there = (str((folder / file).resolve()), str(into.resolve()))
    return Path(file).stem == directory or fold_case(meant) == fold_case(there)


def _texts(node: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, dict):
        for key, below in node.items():
            yield from _texts(below, (*path, str(key)))
    elif isinstance(node, str):
        yield path, node
