"""Which files are manifests: the paths that were asked for, folders read recursively, in name order.

A manifest that is skipped would look like a deleted one, so everything that cannot be read is a problem
(planning rule S3). Only names that begin with a dot are skipped.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from reconciler.core.text import escape_undecodable, why_not_text
from reconciler.errors import Problem
from reconciler.files.project_files import (
    ReadLog,
    Unreadable,
    describe_os_error,
    os_error_code,
    os_error_hint,
    read_regular_file,
    require_no_link_text,
    resolve_volume_link,
    strip_volume_version,
)
from reconciler.parsing.display import show_value
from reconciler.parsing.tree import TREE_BYTES_MAX

MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_SPLIT = (
    "split it: several files may describe one workspace; or use a roster, a CSV file of up to 512 MiB "
    "(docs/manifest.md)"
)
_DEPTH_MAX = 30  # nested folders


class ManifestFile(Struct, frozen=True):
    """One manifest file: its resolved path, and its name for messages, relative to the root if below it.

    The paths in the manifest are relative to `folder`. It and the name follow from the resolved path, except
    in a Kubernetes volume, whose files lie in a folder with a new name after each update. `found` is the path
    by which the file was found; it may contain links.
    """

    path: Path
    name: str
    folder: Path
    found: Path


def find_manifests(
    sources: Sequence[Path], root: Path, log: ReadLog | None = None
) -> tuple[tuple[ManifestFile, ...], tuple[Problem, ...]]:
    """Return every manifest once, in name order, and what could not be read. Links are noted in `log`."""
    found: dict[Path, ManifestFile] = {}
    problems: list[Problem] = []
    for source in sources:
        if log is not None:
            log.note_links(root / source)
        before = len(problems)
        paths = [*_walk_manifests(root / source, root, problems, depth=0)]
        for path, at in paths:
            known = strip_volume_version(path)
            found[path] = ManifestFile(path, display_path(known, root), known.parent, at)
        if not paths and len(problems) == before:
            hint = (
                "add a .yaml file to it, or set `manifests` in the settings to the folder with your manifests"
            )
            what = "this folder contains no manifest."
            problems.append(Problem(display_path(source, root), 0, 0, what, hint, code="E116"))
    if not sources:
        hint = "name a folder or a file"
        problems.append(Problem("manifests", 0, 0, "no manifest is given.", hint, code="E116"))
    ordered = sorted(found.values(), key=lambda source: source.path.parts)
    return tuple(ordered), tuple(problems)


def is_without_manifests(source: Path, root: Path) -> bool:
    """Whether a folder can be read and holds no manifest."""
    problems: list[Problem] = []
    return not any(True for _ in _walk_manifests(root / source, root, problems, depth=0)) and not problems


def read_manifest(source: ManifestFile, log: ReadLog | None = None) -> bytes | Problem:
    """Return the bytes of a manifest, or why they cannot be read. It and links to it are noted in `log`."""
    try:
        data = read_regular_file(source.path, "the manifest", bytes_max=TREE_BYTES_MAX, hint=_SPLIT)
        require_no_link_text(source.path, data, "the manifest")
    except Unreadable as error:
        return Problem(source.name, 0, 0, str(error), error.hint, code=error.code)
    if log is not None:
        log.note(source.path, data)
        if source.found != source.path:
            log.note_links(source.found)
    return data


def display_path(path: Path, root: Path) -> str:
    """Return the name of a path in messages: relative to `root`, with forward slashes, escaped."""
    shown = (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
    return show_value(escape_undecodable(shown), most=400)


def _walk_manifests(
    path: Path, root: Path, problems: list[Problem], depth: int
) -> Iterator[tuple[Path, Path]]:
    """Yield each manifest: its resolved path, and the one at which it was found."""
    try:
        real = path.resolve(strict=True)
        followed = not path.is_symlink() or (real.is_relative_to(root) and _may_follow(path, real))
        if not followed:
            hint = "put the files themselves there; links to folders and out of the project are not followed"
            what = "this is a symbolic link."
            problems.append(Problem(display_path(path, root), 0, 0, what, hint, code="E111"))
        elif not real.is_dir():
            yield from _check_suffix(path, real, root, problems)
        elif depth == _DEPTH_MAX:
            what = f"folders are nested more than {_DEPTH_MAX} levels deep here, which is the limit."
            hint = "move the manifests further up"
            problems.append(Problem(display_path(path, root), 0, 0, what, hint, code="E108"))
        else:
            entries = sorted(entry.name for entry in os.scandir(real))
            for name in entries:
                inside = real / name
                wanted = name.lower().endswith(MANIFEST_SUFFIXES) or inside.is_dir()
                if wanted and not name.startswith(".") and (why := why_not_text(name)):
                    what = f"the name {why}."
                    hint = "rename it; files there cannot be named in messages and plans"
                    problems.append(Problem(display_path(inside, root), 0, 0, what, hint, code="E123"))
                elif wanted and not name.startswith("."):
                    yield from _walk_manifests(inside, root, problems, depth + 1)
    except OSError as error:
        what, code = f"this {describe_os_error(error)}.", os_error_code(error)
        problems.append(Problem(display_path(path, root), 0, 0, what, os_error_hint(error), code=code))
    except (RuntimeError, ValueError):  # a loop of links (3.11, 3.12); NUL in a path
        what = "this is not a valid path."
        problems.append(Problem(display_path(path, root), 0, 0, what, "check it", code="E100"))


def _may_follow(link: Path, real: Path) -> bool:
    """Whether a link within the project leads to a file, or to a folder as in a Kubernetes volume."""
    return not real.is_dir() or resolve_volume_link(link) == real


def _check_suffix(path: Path, real: Path, root: Path, problems: list[Problem]) -> Iterator[tuple[Path, Path]]:
    if not path.name.lower().endswith(MANIFEST_SUFFIXES):
        what = "this is not a manifest: its name does not end in .yaml, .yml or .json."
        hint = "rename it, or name another file"
        problems.append(Problem(display_path(path, root), 0, 0, what, hint, code="E116"))
        return
    yield real, path
