"""Where settings come from: the file, its environment section, RECONCILER_* variables, defaults.

Belongs here: finding and reading the file and putting one layer over the other. Not here: variables
(variables.py), what the values mean (reading.py), what a secret is (credentials.py).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reconciler.core.redact import mask_private_key
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import escape_undecodable, why_not_text
from reconciler.errors import Problem, SettingsError
from reconciler.files.project_files import ReadLog
from reconciler.model.documents import Place
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import check_tree
from reconciler.settings import trust
from reconciler.settings.service_links import find_service_links
from reconciler.settings.values import (
    BY_REFERENCE,
    DEFAULTS,
    OF_DIRECTORIES,
    REFERENCES,
    Layers,
    Value,
    Values,
    refused,
)
from reconciler.settings.variables import from_environment, present

FILE = "reconciler.yaml"

_RENAME = "rename the file or the folder, or name another one"
_PLAIN = "a plain value is refused: this file is kept in git, and what was once committed stays readable."


def read_layers(
    *, config: str | None, environment: str | None, cwd: Path, environ: Mapping[str, str]
) -> Layers:
    """Return all settings: flag over environment over section over file over default."""
    # An empty --config is a variable that got lost: it names a folder, and is refused as one.
    who = trust.this_user(environ)
    named = present("RECONCILER_CONFIG", environ) if config is None else config
    if named is not None:  # before anything is done with it: a path with a NUL is none to the system
        check_path(Path(named), "the settings file")
    file = _locate(named, cwd, who)
    check_path(file, "the settings file")
    log = ReadLog(file.parent)
    log.note_links(_written(cwd, environ) / (named or ""))
    tree = _read(file, os.path.relpath(file, cwd.resolve()), who, log)
    section, origin = _section(tree, environment, environ)
    values = dict(_defaults()) | _leaves(tree, tree.value, ())
    if section:
        values |= _leaves(tree, tree.value["environments"][section], ("environments", section))
    taken = frozenset(_named_variables(tree.value))
    globs = values["variables",].raw
    links = find_service_links(environ)
    values |= from_environment(environ, taken=taken, globs=globs, links=links)
    return Layers(file, tree.file, file.parent, section, origin, values, tree.value, log, links)


def _written(cwd: Path, environ: Mapping[str, str]) -> Path:
    """Return the working directory with the links that a shell was led through, where it says so."""
    told = Path(environ.get("PWD", ""))
    try:
        return told if told.is_absolute() and told.samefile(cwd) else cwd
    except (OSError, ValueError):
        return cwd


def check_path(path: Path, what: str) -> None:
    """Raise SettingsError for a path that is no text: the store, reports and messages all lead through it."""
    if why := why_not_text(str(path)):
        raise refused(
            Problem(
                escape_undecodable(str(path)).replace("\0", "\\0"),
                0,
                0,
                f"the name of {what} {why}.",
                _RENAME,
                code="E123",
            )
        )


def _locate(config: str | None, cwd: Path, who: trust.Who) -> Path:
    """Return the file that is named, or the nearest one of this repository. Raises SettingsError."""
    if config is not None:
        return (cwd / config).resolve()
    folder = cwd.resolve()
    above = (folder, *folder.parents)
    looked_at = reach(above, who)
    for candidate in looked_at:
        if _is_there(candidate / FILE):
            return candidate / FILE
    raise _nothing_found(looked_at, above)


def nearest(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the settings file that is named or found, whatever is in it; None where there is none."""
    try:
        return _locate(present("RECONCILER_CONFIG", environ), cwd, trust.this_user(environ))
    except SettingsError:
        return None


def reach(above: tuple[Path, ...], who: trust.Who) -> tuple[Path, ...]:
    """Return the folders that settings are looked for in, of the working directory and all above it.

    Outside of a repository nobody has said where the project ends: what lies above belongs to anybody. So
    does what a repository of somebody else holds.
    """
    roots = [depth for depth, one in enumerate(above) if _is_there(one / ".git")]
    if not roots or not trust.is_ours(above[roots[0]] / ".git", who):
        return above[:1]
    return above[: roots[0] + 1]


def _nothing_found(reach: tuple[Path, ...], above: tuple[Path, ...]) -> SettingsError:
    folder = reach[0]
    where = (
        f"{folder}, nor in a folder above it up to the root of the repository, {reach[-1]}"
        if len(reach) > 1
        else f"{folder}, and a folder above it is looked at only within a git repository"
    )
    other = next((name for name in ("reconciler.yml", "reconciler.json") if _is_there(folder / name)), "")
    beyond = next((one / FILE for one in above[len(reach) :] if _is_there(one / FILE)), None)
    if other:
        hint = f"rename {other} to {FILE}"
    elif beyond is not None:
        hint = f"if {beyond} is meant, name it: --config {os.path.relpath(beyond, folder)}"
    else:
        hint = "reconciler init   (writes one; or name it with --config FILE)"
    return SettingsError(f"no {FILE} in {where}.", next=hint)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above us that may not be looked into
        return False


def _read(file: Path, shown: str, who: trust.Who, log: ReadLog) -> Tree:
    data = _believed(file, shown, who)
    log.note(file.resolve(), data)
    log.note_links(file)
    tree = read_tree(data, shown)
    plain = tuple(_plain_secrets(tree))
    # What the schema says of a plain secret is dropped: it might show the value.
    at = {(problem.line, problem.column) for problem in plain}
    checked = () if tree.broken else check_tree("settings", tree)
    others = [found for found in (*tree.problems, *checked) if (found.line, found.column) not in at]
    problems = sorted((*plain, *others), key=lambda problem: (problem.line, problem.column))
    if problems:
        raise refused(*problems)
    return tree


def _believed(file: Path, shown: str, who: trust.Who) -> bytes:
    """Return what the file says, where nobody else on this machine could have written it."""
    shown = mask_private_key(shown)
    try:
        found = trust.read(file, who)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise SettingsError(
            f"{shown}: the settings cannot be read: {reason}.", next="check the name and its rights"
        ) from error
    if found is None:
        raise SettingsError(
            f"{shown}: the settings cannot be read: it is not a regular file.", next="name a file"
        )
    if isinstance(found, trust.Objection):
        raise SettingsError(
            f"{shown}: these settings are not read: {found.what}. "
            "Settings decide where the credentials go and which command is run to get them.",
            next=found.next,
        )
    return found


def _plain_secrets(tree: Tree) -> Iterator[Problem]:
    """Yield a problem for each secret that stands in the file itself, without the secret."""
    sections = tree.value.get("environments")
    names = sections if isinstance(sections, dict) else {}
    for start in ((), *(("environments", name) for name in names)):
        for secret in (*(tuple(one.split(".")) for one in BY_REFERENCE), *_of_directories(tree, start)):
            path = (*start, *secret)
            if isinstance(_at(tree.value, path), str):
                name = path[-1].upper()
                yield tree.problem(
                    path,
                    f"{'.'.join(secret)}: {_PLAIN}",
                    f"write {{env: {name}}}, {{file: PATH}} or {{command: WORDS}}; "
                    "change the secret if it was committed",
                    code="E100",
                )


def _of_directories(tree: Tree, start: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield where the directories of a section may have secrets."""
    directories = _at(tree.value, (*start, "directories"))
    for name in directories if isinstance(directories, dict) else ():
        yield from (("directories", name, *one) for one in OF_DIRECTORIES)


def _named_variables(node: Any) -> Iterator[str]:
    """Yield the variables that secrets come from, in whichever section: they are set on purpose."""
    if isinstance(node, dict):
        if isinstance(node.get("env"), str):
            yield node["env"]
        if isinstance(command := node.get("command"), dict):
            yield from command.get("variables", ())
        for below in node.values():
            yield from _named_variables(below)


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _section(tree: Tree, flag: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    name = flag if flag is not None else present("RECONCILER_ENVIRONMENT", environ)
    origin = "--environment" if flag is not None else "environment RECONCILER_ENVIRONMENT"
    if name is None:
        return "", "default"
    known = tuple(tree.value.get("environments", {}))
    if name in known:
        return name, origin
    there = f"there are {', '.join(known)}" if known else "it has none"
    raise SettingsError(
        f"{tree.file}: no environment {name!r} ({origin}); {there}.",
        next=did_you_mean("environment", name, known, "name one of `environments:` in the settings"),
    )


def _defaults() -> Iterator[tuple[tuple[str, ...], Value]]:
    nowhere = Place("default")
    for name, default in DEFAULTS.items():
        path = tuple(name.split("."))
        yield path, Value(path, default, "default", nowhere)
    path = ("workspaces", "default")
    yield path, Value(path, {}, "default", nowhere)


def _leaves(tree: Tree, node: Mapping[str, Any], above: tuple[str, ...]) -> Values:
    """Return what one mapping of the file says, leaf by leaf. `above` leads to the mapping."""
    found: Values = {}
    pending: list[tuple[tuple[str, ...], Any]] = [((), node)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and not _whole(path):
            pending += [((*path, key), below) for key, below in reversed(value.items())]
        elif path != ("version",):
            place = tree.place((*above, *path))
            found[path] = Value(path, value, str(place), place)
    return {path: value for path, value in found.items() if path[0] != "environments"}


def _whole(path: tuple[str, ...]) -> bool:
    """Whether what stands here is one value, though it may be written as a mapping."""
    if path[:1] == ("environments",):
        return True
    named = len(path) == 2 and path[0] in ("workspaces", "directories")  # noqa: PLR2004 - workspaces.ALIAS
    return ".".join(path) in REFERENCES or named
